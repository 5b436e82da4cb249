package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"example.com/larder/models/wordpiece"
	"example.com/larder/pipeline"
)

//go:embed chunks.py
var pysbdScript string

// The settings that chunks are measured with, which are the defaults.
const (
	measuredSize    = 90
	measuredOverlap = 20
)

// measureChunks tells how often chunks begin and end where a sentence or a block does. Where blocks end the parser
// says; where sentences end is judged by others: github.com/rivo/uniseg, which follows UAX 29 and knows no
// abbreviations, and, if a Python that has it is named, PyPI's pysbd 0.3.4, which knows those of several languages.
//
//	chunks VOCABULARY DATA [PYTHON]
//
// VOCABULARY is the vocab.txt of an encoder; DATA holds md, txt, pdf/expected and retrieval/xquad-*.
func measureChunks(w io.Writer, args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return errors.New("chunks wants a vocabulary, a folder of material, and perhaps a Python that has pysbd")
	}
	vocabulary, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	tokenizer, err := wordpiece.Parse(vocabulary)
	if err != nil {
		return err
	}
	sets, err := chunkedSets(args[1])
	if err != nil {
		return err
	}
	ratio := 0.0 // of times, for the largest set, which comes first
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tdocuments\tchunks\ttokens\tshared\tbegin\tend\tboth\tby pysbd: begin\tend\tboth\tcut blocks\t")
	for _, s := range sets {
		m, err := measureSet(s, tokenizer, args[2:])
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n := float64(m.chunks)
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f\t%.1f\t", s.name, m.documents, m.chunks, float64(m.tokens)/n, float64(m.shared)/n)
		for _, e := range [][3]int{m.uniseg, m.pysbd} {
			for _, count := range e {
				if m.judged == 0 && e == m.pysbd {
					fmt.Fprint(t, "–\t")
				} else {
					fmt.Fprintf(t, "%.1f %%\t", 100*float64(count)/n)
				}
			}
		}
		fmt.Fprintf(t, "%d\t\n", m.cut)
		if ratio == 0 {
			ratio = m.chunking.Seconds() / m.parsing.Seconds()
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nTime to cut %s over the time to parse it: %.1f\n", sets[0].name, ratio)
	return err
}

// A chunkedSet is documents of one kind.
type chunkedSet struct {
	name, language string // the language as pysbd names it; "" if it has none
	documents      []sourceDocument
}

type sourceDocument struct {
	name string // its extension decides how it is read
	data []byte
}

func chunkedSets(data string) (sets []chunkedSet, err error) {
	for _, s := range []struct{ name, folder, extension, language string }{
		{"md", "md", ".md", ""}, {"txt", "txt", ".txt", ""}, {"pdf (poppler's text)", "pdf/expected", ".txt", ""},
	} {
		set := chunkedSet{name: s.name, language: s.language}
		err := filepath.WalkDir(filepath.Join(data, s.folder), func(name string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != s.extension {
				return err
			}
			text, err := os.ReadFile(name)
			set.documents = append(set.documents, sourceDocument{name, text})
			return err
		})
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	for _, language := range []string{"en", "de", "ru", "ar", "zh", "th"} {
		set := chunkedSet{name: "xquad-" + language, language: language}
		if language == "th" {
			set.language = ""
		}
		corpus, err := os.ReadFile(filepath.Join(data, "retrieval", set.name, "corpus.jsonl"))
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(corpus) {
			var d struct{ Text string }
			if err := json.Unmarshal(line, &d); err != nil {
				return nil, err
			}
			set.documents = append(set.documents, sourceDocument{"x.txt", []byte(d.Text)})
		}
		sets = append(sets, set)
	}
	for _, s := range sets {
		if len(s.documents) == 0 {
			return nil, fmt.Errorf("%s: no document", s.name)
		}
	}
	return sets, nil
}

// A chunkMeasure counts what is found in a set.
type chunkMeasure struct {
	documents, chunks, tokens, shared int
	uniseg, pysbd                     [3]int // chunks that begin, end, and do both at an end
	judged                            int    // chunks that pysbd judged
	cut                               int    // table rows, headings and code blocks that no chunk has whole and one could
	parsing, chunking                 time.Duration
}

func measureSet(s chunkedSet, tokenizer *wordpiece.Tokenizer, python []string) (m chunkMeasure, err error) {
	var documents []*pipeline.Document
	var cuts [][]pipeline.Chunk
	for _, source := range s.documents {
		start := time.Now()
		d := pipeline.Parse(context.Background(), source.name, source.data, pipeline.ParseOptions{})
		d.Size = len(source.data)
		m.parsing += time.Since(start)
		if d.Verdict != pipeline.OK {
			continue
		}
		start = time.Now()
		chunks, err := pipeline.ChunkDocument(d, measuredSize, measuredOverlap, tokenizer)
		if err != nil {
			return m, err
		}
		m.chunking += time.Since(start)
		documents, cuts = append(documents, d), append(cuts, chunks)
		m.documents++
		m.chunks += len(chunks)
		for i, c := range chunks {
			m.tokens += c.Tokens
			if i > 0 && c.Start < chunks[i-1].End {
				m.shared += len(tokenizer.Encode(nil, d.Text[c.Start:chunks[i-1].End], -1))
			}
		}
		m.cut += cutBlocks(d, chunks, tokenizer)
		m.uniseg = plus(m.uniseg, countEnds(d, chunks, sentencesOf(d, unisegSentences)))
	}
	if s.language == "" || len(python) == 0 {
		return m, nil
	}
	ends, err := pysbdSentences(python[0], s.language, documents)
	if err != nil {
		return m, err
	}
	for i, d := range documents {
		m.pysbd = plus(m.pysbd, countEnds(d, cuts[i], ends[i]))
		m.judged += len(cuts[i])
	}
	return m, nil
}

func plus(a, b [3]int) [3]int { return [3]int{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// countEnds counts the chunks that begin at a start, end where only white space is before one, and do both. A block's
// first and last byte count too.
func countEnds(d *pipeline.Document, chunks []pipeline.Chunk, starts []int) (n [3]int) {
	for _, b := range d.Blocks {
		starts = append(starts, b.Start, next(d.Text, b.End))
	}
	slices.Sort(starts)
	is := func(at int) bool { _, found := slices.BinarySearch(starts, at); return found }
	for _, c := range chunks {
		begins, ends := is(c.Start), is(next(d.Text, c.End))
		if begins {
			n[0]++
		}
		if ends {
			n[1]++
		}
		if begins && ends {
			n[2]++
		}
	}
	return n
}

// next returns the place of the first visible character at or behind a place.
func next(text string, at int) int {
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += n
	}
	return at
}

// sentencesOf returns where sentences start in a document; for code, where lines do.
func sentencesOf(d *pipeline.Document, split func(text string) []int) (starts []int) {
	for _, b := range d.Blocks {
		text, at := d.Text[b.Start:b.End], b.Start
		if b.Kind == pipeline.Code {
			for line := range strings.Lines(text) {
				starts = append(starts, next(d.Text, at))
				at += len(line)
			}
			continue
		}
		for _, i := range split(text) {
			starts = append(starts, next(d.Text, at+i))
		}
	}
	return starts
}

func unisegSentences(text string) (starts []int) {
	at, state := 0, -1
	for text != "" {
		var sentence string
		sentence, text, state = uniseg.FirstSentenceInString(text, state)
		starts = append(starts, at)
		at += len(sentence)
	}
	return starts
}

// pysbdSentences returns where sentences start in documents of one language.
func pysbdSentences(python, language string, documents []*pipeline.Document) (starts [][]int, err error) {
	var in, out bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, d := range documents {
		for _, b := range d.Blocks {
			if b.Kind == pipeline.Code {
				continue
			}
			if err := enc.Encode(d.Text[b.Start:b.End]); err != nil {
				return nil, err
			}
		}
	}
	c := exec.Command(python, "-c", pysbdScript, language)
	c.Stdin, c.Stdout, c.Stderr = &in, &out, os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s with pysbd: %w", python, err)
	}
	lines := bufio.NewReader(&out)
	for _, d := range documents {
		next := func(string) (starts []int) {
			line, readErr := lines.ReadBytes('\n')
			err = cmp.Or(err, readErr, json.Unmarshal(line, &starts))
			return starts
		}
		starts = append(starts, sentencesOf(d, next))
	}
	return starts, err
}

// cutBlocks counts the table rows, headings and code blocks that a chunk begins or ends inside although they have no
// more tokens than a chunk may have.
func cutBlocks(d *pipeline.Document, chunks []pipeline.Chunk, tokenizer *wordpiece.Tokenizer) (n int) {
	for _, b := range d.Blocks {
		if b.Kind != pipeline.TableRow && b.Kind != pipeline.Heading && b.Kind != pipeline.Code {
			continue
		}
		text := strings.TrimSpace(d.Text[b.Start:b.End]) // chunks have no blanks at their ends
		start := b.Start + strings.Index(d.Text[b.Start:b.End], text)
		inside := func(at int) bool { return start < at && at < start+len(text) }
		i, _ := slices.BinarySearchFunc(chunks, b.Start, func(c pipeline.Chunk, at int) int { return c.End - at })
		for ; i < len(chunks) && chunks[i].Start < b.End; i++ {
			if inside(chunks[i].Start) || inside(chunks[i].End) {
				if len(tokenizer.Encode(nil, text, -1)) <= measuredSize {
					n++
				}
				break
			}
		}
	}
	return n
}
