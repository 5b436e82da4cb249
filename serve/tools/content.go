package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

type contentArguments struct {
	Query         string `json:"query" jsonschema:"text to find" ru:"текст для поиска"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"tell upper from lower case" ru:"различать регистр"`
	FilePattern   string `json:"file_pattern,omitempty" jsonschema:"glob pattern of the files to look into" ru:"glob-шаблон для фильтрации файлов"`
}

type contentAnswer struct {
	Success       bool          `json:"success"`
	Query         string        `json:"query"`
	CaseSensitive bool          `json:"case_sensitive"`
	FilePattern   string        `json:"file_pattern"`
	Matches       []matchedFile `json:"matches"`
	FilesFound    int           `json:"files_found"`
	omission
}

type matchedFile struct {
	Path        string        `json:"path"`
	Name        string        `json:"name"`
	Occurrences int           `json:"occurrences" jsonschema:"how often the text stands in the file"`
	Matches     []matchedLine `json:"matches" jsonschema:"the first lines that hold the text, at most 5"`
	Truncated   bool          `json:"truncated,omitempty" jsonschema:"only the beginning of the file was looked into"`
}

type matchedLine struct {
	LineNumber int    `json:"line_number" jsonschema:"from 1 on"`
	Line       string `json:"line"`
	Context    string `json:"context" jsonschema:"the line with two lines before and one after it"`
}

const (
	maxQuery = 1000 // bytes
	round    = 1024 // files that are searched before their matches are gathered
)

// searchContent is kb_search_content. Files are searched in parallel and reported by path.
func (f Files) searchContent(ctx context.Context, in contentArguments) (contentAnswer, error) {
	a := contentAnswer{Query: shown(in.Query), CaseSensitive: in.CaseSensitive, FilePattern: shown(in.FilePattern), Matches: []matchedFile{}}
	if strings.TrimSpace(in.Query) == "" || len(in.Query) > maxQuery {
		return a, fmt.Errorf("%w of kb_search_content: query: it is blank, or longer than %d bytes", ErrArguments, maxQuery)
	}
	g, err := newGlob(in.FilePattern, in.CaseSensitive)
	if err != nil {
		return a, fmt.Errorf("%w of kb_search_content: file_pattern: %w", ErrArguments, err)
	}
	w, err := f.walk(ctx, ".", true, func(e entry) bool { return !e.dir && g.match(e.path) })
	if err != nil {
		return a, err
	}
	left, read, total := f.budget(ctx), 0, 0
	s := newSearch(f, in.Query, in.CaseSensitive)
	s.line = min(maxLine, max(leastLine, left/6)) // with its context, one match takes no more than the answer may have
	defer s.close()
	for start := 0; start < len(w.files); start += round {
		files := w.files[start:min(start+round, len(w.files))]
		results := s.round(ctx, files)
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		for i, r := range results {
			switch {
			case errors.Is(r.err, fs.ErrNotExist): // it has vanished
			case r.err != nil:
				w.fail(files[i].path, r.err)
			default:
				read++
			}
			if r.found.Occurrences == 0 {
				continue
			}
			if total++; left <= 0 && len(a.Matches) > 0 {
				continue
			}
			if left -= r.found.cost(); left < 0 && len(a.Matches) > 0 {
				continue
			}
			a.Matches = append(a.Matches, r.found)
		}
		s.detail = left > 0 || len(a.Matches) == 0
	}
	a.omission = w.omission()
	if left < 0 && len(a.Matches) == 1 {
		a.Matches[0].Matches, a.Truncated = a.Matches[0].fit(f.budget(ctx)), true
	}
	a.FilesFound = len(a.Matches)
	a.Success = w.failed == 0 || read > 0
	if a.FilesFound < total {
		a.Truncated, a.TotalFiles = true, total
	}
	return a, nil
}

// cost is about how many bytes of an answer the file takes.
func (m matchedFile) cost() int {
	cost := len(m.Path) + len(m.Name) + 60
	for _, l := range m.Matches {
		cost += l.cost()
	}
	return cost
}

func (l matchedLine) cost() int { return len(l.Line) + len(l.Context) + 50 }

// fit returns as many of the matches as fit into so many bytes, but one at least.
func (m matchedFile) fit(left int) []matchedLine {
	for i, l := range m.Matches {
		if left -= l.cost(); left < 0 {
			return m.Matches[:max(i, 1)]
		}
	}
	return m.Matches
}

// A search is one search through many files.
type search struct {
	finder  *finder
	lines   bool     // what is looked for spans lines
	detail  bool     // the matches are wanted, not only whether there are any
	line    int      // bytes that are shown of a line
	workers []worker // one a core
}

// A worker keeps what it needs for one file after the other.
type worker struct {
	visitor
	buffer []byte
}

type searched struct {
	found matchedFile
	err   error
}

func newSearch(f Files, query string, caseSensitive bool) *search {
	query = strings.ReplaceAll(query, "\r\n", "\n")
	s := &search{finder: newFinder(query, caseSensitive), lines: strings.Contains(query, "\n"), detail: true}
	for range runtime.GOMAXPROCS(0) {
		s.workers = append(s.workers, worker{visitor: visitor{fsys: f.FS}})
	}
	return s
}

// close lets go of the folders that the workers hold open.
func (s *search) close() {
	for i := range s.workers {
		s.workers[i].leave()
	}
}

// round searches some files in parallel.
func (s *search) round(ctx context.Context, files []entry) []searched {
	results := make([]searched, len(files))
	parallel(ctx, len(s.workers), len(files), func(worker, i int) {
		results[i].found, results[i].err = s.file(&s.workers[worker], files[i])
	})
	return results
}

// parallel calls do for the numbers below n, by some workers at once.
func parallel(ctx context.Context, workers, n int, do func(worker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := range min(workers, n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(worker, i)
			}
		})
	}
	group.Wait()
}

// file searches one file. What is no text has no matches.
func (s *search) file(w *worker, e entry) (matchedFile, error) {
	m := matchedFile{Path: e.path, Name: path.Base(e.path)}
	fsys, name, err := w.at(e)
	if err != nil {
		return m, err
	}
	data, size, err := read(fsys, name, maxSearched, w.buffer)
	if err != nil {
		return m, err
	}
	if cap(data) > cap(w.buffer) {
		w.buffer = data
	}
	m.Truncated = int64(len(data)) < size
	data = decode(data)
	if s.lines {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	number, counted, last := 1, 0, -1 // the line's number at the byte up to which lines were counted; the last line's start
	s.finder.each(data, func(start, end int) bool {
		if m.Occurrences == 0 && !isText(data) {
			return false
		}
		m.Occurrences++
		if !s.detail {
			return false
		}
		if len(m.Matches) == maxMatches {
			return true
		}
		number += bytes.Count(data[counted:start], []byte("\n"))
		counted = start
		first := bytes.LastIndexByte(data[:start], '\n') + 1
		if first != last {
			last = first
			m.Matches = append(m.Matches, s.matchLine(data, number, first, start))
		}
		return true
	})
	return m, nil
}

// matchLine describes the line that begins at first and holds a match at start.
func (s *search) matchLine(data []byte, number, first, start int) matchedLine {
	before := first
	for range 2 {
		if before > 0 {
			before = bytes.LastIndexByte(data[:before-1], '\n') + 1
		}
	}
	var lines []string
	for rest := data[before:first]; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		lines = append(lines, clip(line, 0, s.line))
	}
	line, rest, _ := bytes.Cut(data[first:], []byte("\n"))
	shown := clip(line, start-first, s.line)
	lines = append(lines, shown)
	if len(rest) > 0 {
		after, _, _ := bytes.Cut(rest, []byte("\n"))
		lines = append(lines, clip(after, 0, s.line))
	}
	return matchedLine{LineNumber: number, Line: shown, Context: strings.Join(lines, "\n")}
}

// clip returns a line without its end, and of one of more than so many bytes the part around a byte, with … where it is cut.
func clip(line []byte, around, most int) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	from, to := 0, len(line)
	if len(line) > most {
		from = boundary(line, max(0, min(around-most/4, len(line)-most)))
		to = boundary(line, min(from+most, len(line)))
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\ufffd")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
