package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.com/larder/pipeline"
)

// A pdfBar is what the files of a kind have to reach.
type pdfBar struct{ words, order float64 }

// pdfBars are the bars of kinds; those of no entry have otherBar's. A bar of 0 is none.
var (
	pdfBars = map[string]pdfBar{
		"latex": {0.98, 0.95}, "columns": {0.98, 0.95}, "ligatures": {0.98, 0}, "producer": {0.98, 0}, "large": {0.98, 0},
		"incremental": {0.98, 0}, "encrypted": {0.98, 0}, "forms": {0.98, 0},
	}
	otherBar = pdfBar{words: 0.97}
)

// Words that are not expected but stand inside the expected text without its blanks, as a share, from which a file
// is named: glued there, split in the reverse.
const gluedBar = 0.05

// measurePDF scores the text of PDF files against poppler's, as pdftotext writes it.
//
// The folder DATA holds files/KIND/NAME.pdf and expected/KIND/NAME.txt, whose pages end in a form feed. A file
// counts if five words or more are expected and its kind is not malicious; one that fails counts 0.
//
// Words are runs of letters, numbers and underscores after NFKC, without marks of direction and soft hyphens, with
// line-end hyphens taken out on both sides; characters of Chinese and Japanese are words of their own. Recall is
// the share of expected words that were found, precision the share of found words that are expected, both as
// multisets; order the longest increasing run of places among words that occur once on both sides, as a share,
// where there are ten or more; page the share of words, once in the expected text, that are on the same page on
// both sides, in files of more than one page. All means are over files.
func measurePDF(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("pdf", flag.ContinueOnError)
	engineName := flags.String("engine", "pdfium", "the engine: pdfium or ledongthuc")
	only := flags.String("only", "", "a JSON `file` with the list of the KIND/NAME.pdf to read")
	perFile := flags.Bool("files", false, "print a row for each file")
	timed := flags.Bool("time", false, "print pages per second")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("pdf [--engine E] [--only LIST.json] [--files] [--time] DATA: name the folder that holds files/ and expected/")
	}
	names, err := pdfNames(flags.Arg(0), *only)
	if err != nil {
		return err
	}
	engine, err := openEngine(*engineName)
	if err != nil {
		return err
	}
	defer engine.Close()
	var rows []pdfRow
	verdicts := map[pipeline.Verdict]int{}
	pages, spent := 0, time.Duration(0)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(flags.Arg(0), "files", filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		start := time.Now()
		d := pipeline.Parse(context.Background(), name, data, pipeline.ParseOptions{PDF: engine})
		spent += time.Since(start)
		pages += len(d.Pages)
		verdicts[d.Verdict]++
		expected, err := os.ReadFile(filepath.Join(flags.Arg(0), "expected", filepath.FromSlash(strings.TrimSuffix(name, ".pdf")+".txt")))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text := strings.ToValidUTF8(string(expected), "\uFFFD")
		kind, _, _ := strings.Cut(name, "/")
		if kind == "malicious" || len(wordsOf(text)) < 5 {
			continue
		}
		var got []string
		for _, p := range d.Pages {
			got = append(got, p.Text)
		}
		rows = append(rows, pdfRow{name: name, kind: kind, verdict: d.Verdict, reason: d.Reason, pdfScore: scorePDF(strings.Split(text, "\f"), got)})
	}
	if len(rows) == 0 {
		return errors.New("no file to score")
	}
	fmt.Fprintf(w, "PDF text against poppler's, engine %s\n\n", engine.Name())
	printPDF(w, rows, *perFile)
	fmt.Fprintf(w, "\n%d files read, %d scored; verdicts:", len(names), len(rows))
	for _, v := range []pipeline.Verdict{pipeline.OK, pipeline.Blank, pipeline.Partial, pipeline.Scanned, pipeline.Garbled, pipeline.Encrypted, pipeline.Failed} {
		if verdicts[v] > 0 {
			fmt.Fprintf(w, " %s %d", v, verdicts[v])
		}
	}
	fmt.Fprintln(w)
	if *timed {
		fmt.Fprintf(w, "%d pages, %.0f a second, one file at a time\n", pages, float64(pages)/spent.Seconds())
	}
	return nil
}

func openEngine(name string) (pipeline.PDFEngine, error) {
	cache, err := pipeline.DefaultCache()
	if err != nil {
		return nil, err
	}
	return pipeline.NewPDFEngine(name, cache.PDF())
}

// pdfNames returns the slash-separated names of the PDF files under DATA/files, or of those on the list, sorted
// folder by folder.
func pdfNames(data, list string) ([]string, error) {
	var only []string
	if list != "" {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &only); err != nil {
			return nil, fmt.Errorf("%s: a JSON list of names is needed: %w", list, err)
		}
	}
	root := filepath.Join(data, "files")
	var names []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".pdf" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); list == "" || slices.Contains(only, name) {
			names = append(names, name)
		}
		return err
	})
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no PDF file to read", root)
	}
	return names, err
}

type pdfRow struct {
	name, kind string
	verdict    pipeline.Verdict
	reason     string
	pdfScore
}

// misses says which bars a file does not reach.
func (r *pdfRow) misses() []string {
	bar, ok := pdfBars[r.kind]
	if !ok {
		bar = otherBar
	}
	var out []string
	for _, m := range []struct {
		name  string
		value share
		bar   float64
	}{{"recall", r.recall, bar.words}, {"precision", r.precision, bar.words}, {"order", r.order, bar.order}, {"page", r.page, 1}} {
		if m.value.given && m.value.of < m.bar {
			digits := 3
			if m.value.of > 0.9985 {
				digits = 5
			}
			out = append(out, fmt.Sprintf("%s %.*f", m.name, digits, m.value.of))
		}
	}
	for _, m := range []struct {
		name  string
		value share
	}{{"glued", r.glued}, {"split", r.split}} {
		if m.value.of > gluedBar {
			out = append(out, fmt.Sprintf("%s %.3f", m.name, m.value.of))
		}
	}
	return out
}

func printPDF(w io.Writer, rows []pdfRow, perFile bool) {
	if perFile {
		fmt.Fprintf(w, "%-60s %6s %6s %6s %6s %6s %6s  verdict\n", "file", "recall", "prec.", "order", "page", "glued", "split")
		for _, r := range rows {
			fmt.Fprintf(w, "%-60s %6s %6s %6s %6s %6s %6s  %s\n", r.name, r.recall, r.precision, r.order, r.page, r.glued, r.split, r.verdict)
		}
		fmt.Fprintln(w)
	}
	var kinds []string
	for _, r := range rows {
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	slices.Sort(kinds)
	fmt.Fprintf(w, "%-12s %3s %6s %6s %6s %6s  worst\n", "kind", "n", "recall", "prec.", "order", "page")
	line := func(name string, rows []pdfRow, worst string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-12s %3d %6s %6s %6s %6s  %s", name, len(rows),
			meanOf(rows, func(s *pdfScore) share { return s.recall }), meanOf(rows, func(s *pdfScore) share { return s.precision }),
			meanOf(rows, func(s *pdfScore) share { return s.order }), meanOf(rows, func(s *pdfScore) share { return s.page }), worst), " "))
	}
	for _, kind := range kinds {
		of := slices.DeleteFunc(slices.Clone(rows), func(r pdfRow) bool { return r.kind != kind })
		worst := slices.MinFunc(of, func(a, b pdfRow) int { return cmp.Compare(a.recall.of, b.recall.of) })
		line(kind, of, fmt.Sprintf("%s %.2f", worst.name, worst.recall.of))
	}
	line("all", rows, "")
	for _, m := range []struct {
		name string
		of   func(*pdfRow) share
	}{{"glued", func(r *pdfRow) share { return r.glued }}, {"split", func(r *pdfRow) share { return r.split }}} {
		fmt.Fprintf(w, "\nwords %s above 5 %%:", m.name)
		n := 0
		for i := range rows {
			if m.of(&rows[i]).of > gluedBar {
				fmt.Fprintf(w, " %s", rows[i].name)
				n++
			}
		}
		if n == 0 {
			fmt.Fprint(w, " in no file")
		}
	}
	fmt.Fprint(w, "\n\nfiles that miss a bar\n")
	n := 0
	for _, r := range rows {
		if m := r.misses(); len(m) > 0 {
			fmt.Fprintf(w, "%s: %s", r.name, strings.Join(m, ", "))
			if r.reason != "" {
				fmt.Fprintf(w, " (%s)", r.reason)
			}
			fmt.Fprintln(w)
			n++
		}
	}
	fmt.Fprintf(w, "%d of %d\n", n, len(rows))
}

// A share is a measure from 0 to 1 that a file may not have.
type share struct {
	of    float64
	given bool
}

func shareOf(part, all int) share {
	if all == 0 {
		return share{0, true}
	}
	return share{float64(part) / float64(all), true}
}

func (s share) String() string {
	if !s.given {
		return "-"
	}
	return fmt.Sprintf("%.3f", s.of)
}

func meanOf(rows []pdfRow, of func(*pdfScore) share) share {
	sum, n := 0.0, 0
	for i := range rows {
		if s := of(&rows[i].pdfScore); s.given {
			sum += s.of
			n++
		}
	}
	if n == 0 {
		return share{}
	}
	return share{sum / float64(n), true}
}

type pdfScore struct{ recall, precision, order, glued, split, page share }

func scorePDF(wantPages, gotPages []string) pdfScore {
	want, wantWords := wordPages(wantPages)
	got, gotWords := wordPages(gotPages)
	wantCount, gotCount := counted(wantWords), counted(gotWords)
	hit := 0
	for word, n := range wantCount {
		hit += min(n, gotCount[word])
	}
	s := pdfScore{recall: shareOf(hit, len(wantWords)), precision: shareOf(hit, len(gotWords)), order: orderOf(wantWords, gotWords, wantCount, gotCount)}
	s.glued = shareOf(inside(gotCount, wantCount, strings.Join(wantWords, "")), len(gotWords))
	s.split = shareOf(inside(wantCount, gotCount, strings.Join(gotWords, "")), len(wantWords))
	if len(wantPages) > 2 {
		s.page = samePage(want, got, wantCount)
	}
	return s
}

func wordPages(pages []string) (words [][]string, all []string) {
	for _, p := range pages {
		words = append(words, wordsOf(p))
		all = append(all, words[len(words)-1]...)
	}
	return words, all
}

func counted(words []string) map[string]int {
	n := map[string]int{}
	for _, w := range words {
		n[w]++
	}
	return n
}

// inside counts the words of five letters or more that a has more often than b, and that are in b's text.
func inside(a, b map[string]int, text string) int {
	n := 0
	for w, more := range a {
		if more -= b[w]; more > 0 && utf8.RuneCountInString(w) >= 5 && strings.Contains(text, w) {
			n += more
		}
	}
	return n
}

func orderOf(want, got []string, wantCount, gotCount map[string]int) share {
	at := map[string]int{}
	for i, w := range got {
		if gotCount[w] == 1 {
			at[w] = i
		}
	}
	var tails []int // the least end of an increasing run of each length
	n := 0
	for _, w := range want {
		i, ok := at[w]
		if !ok || wantCount[w] != 1 {
			continue
		}
		n++
		if j, _ := slices.BinarySearch(tails, i); j < len(tails) {
			tails[j] = i
		} else {
			tails = append(tails, i)
		}
	}
	if n < 10 {
		return share{}
	}
	return shareOf(len(tails), n)
}

func samePage(want, got [][]string, wantCount map[string]int) share {
	there := map[string]int{}
	for i, p := range got {
		for _, w := range p {
			there[w] = i
		}
	}
	same, both := 0, 0
	for i, p := range want {
		for _, w := range p {
			if wantCount[w] != 1 {
				continue
			}
			if j, ok := there[w]; ok {
				both++
				if i == j {
					same++
				}
			}
		}
	}
	if both < 10 {
		return share{}
	}
	return shareOf(same, both)
}

// wordsOf cuts text into words.
func wordsOf(text string) []string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c >= 0x200B && c <= 0x200F, c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069, c == 0xFEFF, c == 0xAD, c == 0, c == 0xFFFE, c == 2:
			return -1
		}
		return c
	}, text)
	var b strings.Builder
	for _, c := range norm.NFKC.String(joinLineEnds(text)) {
		if c >= 0x3040 && c <= 0x30FF || c >= 0x3400 && c <= 0x9FFF || c >= 0xF900 && c <= 0xFAFF {
			b.WriteString(" " + string(c) + " ")
		} else {
			b.WriteRune(c)
		}
	}
	return strings.FieldsFunc(b.String(), func(c rune) bool { return !inWord(c) })
}

// inWord says whether c is a letter, a number of any kind, or an underscore. Combining marks are none of these.
func inWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c) }

// joinLineEnds takes out hyphens between letters, with the line ends behind them.
func joinLineEnds(text string) string {
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		if (c == '-' || c == '‐' || c == '‑') && i > 0 && inWord(runes[i-1]) {
			j, ends := i+1, false
			for ; j < len(runes) && blank(runes[j]); j++ {
				ends = ends || runes[j] == '\n' || runes[j] == '\r'
			}
			if ends && j < len(runes) && inWord(runes[j]) {
				i = j - 1
				continue
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}

func blank(c rune) bool { return unicode.IsSpace(c) || c >= 0x1C && c <= 0x1F }
