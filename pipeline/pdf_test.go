package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// testCache holds compiled code, so that only the first run of the tests compiles.
func testCache(t *testing.T) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(dir, "larder", "pdfium")
}

func testEngine(t *testing.T, name string, limits pdfLimits) PDFEngine {
	t.Helper()
	var e PDFEngine
	var err error
	if name == "pdfium in process" {
		e = newPdfiumEngine(testCache(t), limits, 2)
	} else if e, err = newPDFEngine(name, testCache(t), limits, 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// checkPDFDocument checks what holds for every document from a PDF.
func checkPDFDocument(t *testing.T, name string, d *Document) {
	t.Helper()
	if !slices.Contains(pageSeverity, d.Verdict) {
		t.Errorf("%s: verdict %q", name, d.Verdict)
	}
	if !utf8.ValidString(d.Text) {
		t.Errorf("%s: text is not UTF-8", name)
	}
	if strings.Contains(d.Text, "  ") || strings.Contains(d.Text, "\n\n\n") {
		t.Errorf("%s: runs of blanks", name)
	}
	for _, c := range d.Text {
		if unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Co, c) || c == utf8.RuneError {
			t.Errorf("%s: text holds %U", name, c)
			break
		}
	}
	at := 0
	for _, b := range d.Blocks {
		if b.Start < at || b.End <= b.Start || b.End > len(d.Text) || strings.TrimSpace(d.Text[at:b.Start]) != "" {
			t.Fatalf("%s: block %d to %d after %d", name, b.Start, b.End, at)
		}
		if strings.Contains(d.Text[b.Start:b.End], "\n") {
			t.Errorf("%s: paragraph with line ends", name)
		}
		at = b.End
	}
	if at != len(d.Text) {
		t.Errorf("%s: blocks end at %d of %d", name, at, len(d.Text))
	}
	if len(d.Text) > 0 && (len(d.Segments) == 0 || d.Segments[0].Start != 0) {
		t.Fatalf("%s: segments do not begin at 0: %v", name, d.Segments)
	}
	for i, p := range d.Pages {
		if p.Number != i+1 || p.Verdict != Garbled && (p.Verdict != OK) != (p.Text == "") {
			t.Errorf("%s: page %d has number %d, verdict %s and %d bytes", name, i+1, p.Number, p.Verdict, len(p.Text))
		}
		if (p.Reason == "") != (p.Verdict == OK || p.Verdict == Blank) || strings.Contains(p.Reason, "\n") {
			t.Errorf("%s: page %d is %s with reason %q", name, p.Number, p.Verdict, p.Reason)
		}
	}
	// What the pages say and does not repeat is in the text, on their page, once, and nothing else is.
	said := make([]map[rune]int, len(d.Pages))
	for i, p := range d.Pages {
		said[i] = map[rune]int{}
		if p.Verdict != OK && !slices.ContainsFunc(d.Segments, func(s Segment) bool { return s.Page == p.Number }) {
			continue // a bad page that is left out
		}
		countRunes(said[i], p.Text, 1)
		for _, r := range p.Running {
			countRunes(said[i], r, -1)
		}
	}
	for i, s := range d.Segments {
		end := len(d.Text)
		if i+1 < len(d.Segments) {
			end = d.Segments[i+1].Start
		}
		if s.Page < 1 || s.Page > len(d.Pages) || end <= s.Start || i > 0 && s.Page <= d.Segments[i-1].Page {
			t.Fatalf("%s: segment %d is %v, ends at %d", name, i, s, end)
		}
		countRunes(said[s.Page-1], d.Text[s.Start:end], -1)
	}
	for i, counts := range said {
		for c, n := range counts {
			if n != 0 {
				t.Errorf("%s: page %d has %q %d times more than the document's text", name, i+1, c, n)
				break
			}
		}
	}
	for i, b := range d.Blocks {
		first, last := d.Segments[d.segment(b.Start)].Page, d.Segments[d.segment(b.End-1)].Page
		if first == last && len(d.Pages[first-1].Running) == 0 && b.Kind != TableRow && !strings.Contains(compact(d.Pages[first-1].Text), compact(d.Text[b.Start:b.End])) {
			t.Errorf("%s: block %d is not on page %d: %q", name, i, first, d.Text[b.Start:b.End])
		}
		if (b.Kind == Heading) != (b.Kind == Heading && b.Level >= 1 && b.Level <= 6) || b.Kind == Heading && (len(b.Path) == 0 || b.Path[len(b.Path)-1] != d.Text[b.Start:b.End]) {
			t.Errorf("%s: block %d is a heading of level %d with path %q", name, i, b.Level, b.Path)
		}
	}
}

// countRunes adds n for each character of s, but for blanks, and what stands between lines and cells.
func countRunes(counts map[rune]int, s string, n int) {
	for _, c := range s {
		if !unicode.IsSpace(c) && c != '-' && c != '\u2010' && c != '|' {
			counts[c] += n
		}
	}
}

// compact returns s without white space.
func compact(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, s)
}

func TestPDFDocument(t *testing.T) {
	w := newPDFWriter().page(lines("A sentence that is not at its end at the", "end of the page goes on")).page(lines("over here.", "", "Another one."))
	w.title = "Refunds"
	d := parsePDF(context.Background(), w.bytes(), ParseOptions{PDF: testEngine(t, "pdfium", defaultPDFLimits)})
	want := "A sentence that is not at its end at the end of the page goes on over here.\n\nAnother one."
	if d.Text != want || d.Meta.Title != "Refunds" {
		t.Errorf("got %q, title %q", d.Text, d.Meta.Title)
	}
	second := strings.Index(want, "over")
	if !slices.Equal(d.Segments, []Segment{{Page: 1}, {Start: second, Page: 2}}) {
		t.Errorf("segments %v", d.Segments)
	}
	if len(d.Blocks) != 2 || d.Blocks[0].Kind != Paragraph || d.Blocks[1].Start != strings.Index(want, "Another") {
		t.Errorf("blocks %v", d.Blocks)
	}
}

// What takes too long ends as a verdict, pages read by then stay, and the next file is read.
func TestPDFTimeLimit(t *testing.T) {
	limits := defaultPDFLimits
	limits.time = 2 * time.Second
	for _, c := range []struct {
		engine string
		data   []byte
		want   string
	}{
		{"pdfium", slowPDF(), `failed "first" failed`},
		{"pdfium in process", slowPDF(), `failed "first" failed`},
		{"ledongthuc", slowPDF(), `failed "first" failed`},
	} {
		t.Run(c.engine, func(t *testing.T) {
			t.Parallel()
			e := testEngine(t, c.engine, limits)
			d := parsePDF(context.Background(), c.data, ParseOptions{PDF: e})
			if describePages(d) != c.want || !strings.Contains(d.Reason, "took more than 2s") {
				t.Errorf("got %s: %s", describePages(d), d.Reason)
			}
			if d := parsePDF(context.Background(), newPDFWriter().page(lines("Next.")).bytes(), ParseOptions{PDF: e}); d.Text != "Next." {
				t.Errorf("after it: %s %q (%s)", d.Verdict, d.Text, d.Reason)
			}
		})
	}
}

func TestPDFLimits(t *testing.T) {
	small := defaultPDFLimits
	small.pages, small.text, small.file = 2, 100, 10_000
	three := newPDFWriter().page(lines("1")).page(lines("2")).page(lines("3")).bytes()
	long := newPDFWriter().page(lines("short")).page(lines(slices.Repeat([]string{"long long long long"}, 20)...)).bytes()
	large := newPDFWriter().page(lines("large")).bytes()
	large = append(large, make([]byte, 10_000)...)
	for _, engine := range []string{"pdfium", "pdfium in process", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			e := testEngine(t, engine, small)
			if d := parsePDF(context.Background(), three, ParseOptions{PDF: e}); d.Verdict != Failed || len(d.Pages) != 0 || !strings.Contains(d.Reason, "2") {
				t.Errorf("three pages: %s (%s)", describePages(d), d.Reason)
			}
			if d := parsePDF(context.Background(), long, ParseOptions{PDF: e}); describePages(d) != `failed "short" failed` || d.Text != "short" {
				t.Errorf("long page: %s", describePages(d))
			}
			if d := parsePDF(context.Background(), large, ParseOptions{PDF: e}); d.Verdict != Failed || !strings.Contains(d.Reason, "MiB") {
				t.Errorf("large file: %s (%s)", describePages(d), d.Reason)
			}
		})
	}
}

func TestPDFMemoryLimit(t *testing.T) {
	w := newPDFWriter().page(lines("first"))
	w.page("")
	w.objects[len(w.objects)-2] = deflated(t, 160<<20)
	data := w.page(lines("third")).bytes()
	for _, engine := range []string{"pdfium", "pdfium in process"} {
		d := parsePDF(context.Background(), data, ParseOptions{PDF: testEngine(t, engine, defaultPDFLimits)})
		if got := describePages(d); got != `failed "first" failed "third"` {
			t.Errorf("%s: %s (%s)", engine, got, d.Reason)
		}
	}
}

// The child of ledongthuc may not take more memory than it is given.
func TestPDFChildMemory(t *testing.T) {
	limits := defaultPDFLimits
	limits.memory = 128 << 20
	w := newPDFWriter().page(lines("first")).page("")
	w.objects[len(w.objects)-2] = deflated(t, 60<<20)
	if d := parsePDF(context.Background(), w.bytes(), ParseOptions{PDF: testEngine(t, "ledongthuc", limits)}); describePages(d) != `failed "first" failed` || !strings.Contains(d.Reason, "memory") {
		t.Errorf("%s (%s)", describePages(d), d.Reason)
	}
}

func TestPDFCancel(t *testing.T) {
	for _, engine := range []string{"pdfium", "pdfium in process", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			e := testEngine(t, engine, defaultPDFLimits)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			data := doublingPDF(15)
			if _, err := e.Pages(ctx, data, PDFOptions{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPDFConcurrent(t *testing.T) {
	for _, engine := range []string{"pdfium", "pdfium in process", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			e := testEngine(t, engine, defaultPDFLimits)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					text := fmt.Sprintf("This is file %d.", i)
					d := parsePDF(context.Background(), newPDFWriter().page(lines(text)).bytes(), ParseOptions{PDF: e})
					if d.Text != text {
						t.Errorf("file %d: %s %q (%s)", i, d.Verdict, d.Text, d.Reason)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestPDFEngineNames(t *testing.T) {
	if _, err := NewPDFEngine("poppler", ""); err == nil || !strings.Contains(err.Error(), "pdfium, ledongthuc") {
		t.Errorf("got %v", err)
	}
	for _, name := range append([]string{""}, pdfEngineNames...) {
		e, err := NewPDFEngine(name, "")
		if err != nil {
			t.Fatal(err)
		}
		if want := cmpOr(name, "pdfium"); e.Name() != want {
			t.Errorf("got %s, want %s", e.Name(), want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if d := parsePDF(context.Background(), newPDFWriter().page("").bytes(), ParseOptions{PDF: e}); d.Verdict != Failed || !strings.Contains(d.Reason, "closed") {
			t.Errorf("%s after Close: %s (%s)", name, d.Verdict, d.Reason)
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// A program that does not call RunChild must not start itself again.
func TestPDFWithoutRunChild(t *testing.T) {
	childReady.Store(false)
	defer childReady.Store(true)
	if _, err := NewPDFEngine("ledongthuc", ""); err == nil || !strings.Contains(err.Error(), "RunChild") {
		t.Errorf("got %v", err)
	}
	e, err := NewPDFEngine("pdfium", testCache(t))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, ok := e.(*pdfiumEngine); !ok {
		t.Errorf("pdfium reads with %T", e)
	}
}

func TestPDFChildRefuses(t *testing.T) {
	for _, args := range [][]string{
		{childArg},
		{childArg, "nope", "", "1", "1", "1", "1", "1"},
		{childArg, "pdfium", "", "1", "1", "many", "1", "1"},
		{childArg, "pdfium", filepath.Join(os.Args[0], "is no folder"), "1", "1", "1", "1", "1"},
	} {
		if _, err := startChild(context.Background(), args); err == nil || !strings.Contains(err.Error(), "can't be started: larder: pdf child:") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A child whose parent is gone does not read on: its input ends then.
func TestPDFChildEndsWithItsInput(t *testing.T) {
	for _, engine := range pdfEngineNames {
		limits := defaultPDFLimits
		limits.time = time.Hour
		c, err := startChild(t.Context(), childArgs(engine, testCache(t), limits))
		if err != nil {
			t.Fatal(err)
		}
		defer c.end()
		c.out.left = 1 << 20
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.exchange(doublingPDF(20), PDFOptions{}, func(m pdfMessage) error {
				if m.Page != nil { // the first page; ledongthuc never ends with the second one
					c.in.Close()
				}
				return nil
			})
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("%s: it reads on", engine)
		}
	}
}

func TestSaneTitle(t *testing.T) {
	for in, want := range map[string]string{
		"Refund  policy":             "Refund policy",
		" Of\uFB01ce\u00A0hours\x00": "Office hours",
		"Microsoft Word - x.doc":     "",
		"untitled":                   "",
		"report-final.PDF":           "",
		`C:\docs\x`:                  "",
		"12345":                      "",
		"Node.js in practice":        "Node.js in practice",
		"larder v1.0":                "larder v1.0",
	} {
		if got := saneTitle(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestParagraphBreaks(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"A line that is long enough to be a full one,|and its end.|A new sentence that is in its own paragraph.", "A line that is long enough to be a full one,\nand its end.\n\nA new sentence that is in its own paragraph."},
		{"Things to bring along when you come to visit us:|• a coat for the evening|• a book", "Things to bring along when you come to visit us:\n\n• a coat for the evening\n\n• a book"},
		{"1. first step of the two that are to be taken|2. second", "1. first step of the two that are to be taken\n\n2. second"},
	} {
		var raw []rawLine
		for _, l := range strings.Split(c.lines, "|") {
			raw = append(raw, rawLine{Text: l})
		}
		if got := paragraphs(raw, wordsOf(nil)); got != c.want {
			t.Errorf("got %q\nwant %q", got, c.want)
		}
	}
}

// pdfMaterial returns the files of a collection beside the repository.
func pdfMaterial(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "shared", "data", "pdf", "files")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no collection of PDFs beside the repository")
	}
	var files []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".pdf" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}

func readAll(t *testing.T, e PDFEngine, files []string) {
	t.Helper()
	verdicts := map[Verdict]int{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d := parsePDF(context.Background(), data, ParseOptions{PDF: e})
		checkPDFDocument(t, f, d)
		verdicts[d.Verdict]++
	}
	t.Logf("%s: %d files: %v", e.Name(), len(files), verdicts)
}

func TestPDFMaterialSmall(t *testing.T) {
	files := slices.DeleteFunc(pdfMaterial(t), func(f string) bool {
		i, err := os.Stat(f)
		return err != nil || i.Size() > 20_000
	})
	if len(files) < 50 {
		t.Fatalf("%d files", len(files))
	}
	readAll(t, testEngine(t, "pdfium", defaultPDFLimits), files)
}
