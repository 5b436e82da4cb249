package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A PDFEngine reads the text of PDF files. It is safe for concurrent use.
type PDFEngine interface {
	// Name is the engine's name in settings: pdfium or ledongthuc.
	Name() string
	// Pages returns the pages of a file in order, one for each page that the file has, each with its
	// verdict. An error means that the file as a whole can't be read: a *PDFError, or the context's error.
	// What takes too long, is too large or brings the engine down ends as a verdict.
	Pages(ctx context.Context, data []byte, o PDFOptions) ([]Page, error)
	// Close frees what the engine holds. Files still being read end as failed.
	Close() error
}

// PDFOptions say how one file is read.
type PDFOptions struct {
	// Passwords are tried in order if the empty one does not open the file. They are in no error and no log.
	Passwords []string
}

// A PDFError says why no page of a file can be read.
type PDFError struct {
	Verdict Verdict // Encrypted or Failed
	Reason  string  // one line without the file's text
}

func (e *PDFError) Error() string { return "pdf is " + string(e.Verdict) + ": " + e.Reason }

func pdfFailed(format string, args ...any) *PDFError {
	return &PDFError{Failed, fmt.Sprintf(format, args...)}
}

const (
	needsPassword = "a password is needed to open it"
	wrongPassword = "no password that is given opens it"
)

// notOpened is the error for a file that the given passwords don't open.
func notOpened(passwords []string) error {
	if len(passwords) == 0 {
		return &PDFError{Encrypted, needsPassword}
	}
	return &PDFError{Encrypted, wrongPassword}
}

// pdfLimits bound what one file may cost.
type pdfLimits struct {
	file   int           // bytes of the file
	pages  int           // pages of the file
	text   int           // bytes of text in all pages
	time   time.Duration // from the moment an engine is free
	memory int64         // bytes that the ledongthuc child may add to what a bare process takes
}

var defaultPDFLimits = pdfLimits{file: 256 << 20, pages: 20_000, text: 64 << 20, time: time.Minute, memory: 1 << 30}

// pdfiumMemory bounds the memory inside pdfium's sandbox, in bytes.
const pdfiumMemory = 128 << 20

// pdfEngineNames lists the engines, the default one first.
var pdfEngineNames = []string{"pdfium", "ledongthuc"}

// NewPDFEngine returns the engine of that name; "" means pdfium. Compiled code is kept in cacheDir between
// runs, which saves seconds at every start; "" keeps none.
//
// A program that calls [RunChild] first thing in main gets engines that read in child processes. Without it
// pdfium reads in this process, two to three times slower, since its sandbox then has to look at the clock in
// every loop, and ledongthuc is refused.
func NewPDFEngine(name, cacheDir string) (PDFEngine, error) {
	return newPDFEngine(name, cacheDir, defaultPDFLimits, max(1, min(runtime.GOMAXPROCS(0), 8)))
}

func newPDFEngine(name, cacheDir string, limits pdfLimits, parallel int) (PDFEngine, error) {
	switch name {
	case "", "pdfium":
		if childReady.Load() {
			return &childEngine{name: "pdfium", pool: newChildPool("pdfium", cacheDir, limits, parallel)}, nil
		}
		return newPdfiumEngine(cacheDir, limits, parallel), nil
	case "ledongthuc":
		if !childReady.Load() {
			return nil, errors.New("pdf_engine: ledongthuc reads in a child process, and this program can't be one: call pipeline.RunChild() first thing in main, or use pdf_engine: pdfium")
		}
		return &childEngine{name: "ledongthuc", pool: newChildPool("ledongthuc", "", limits, parallel)}, nil
	}
	return nil, fmt.Errorf("pdf_engine: unknown engine %q, use one of %s", name, strings.Join(pdfEngineNames, ", "))
}

// A pdfFile is what an engine found in a file. What it says of itself is "" or zero unless it looks sane.
type pdfFile struct {
	title    string
	author   string
	language string    // BCP 47
	date     time.Time // of its creation
	pages    []Page

	raw     []*rawPage     // the pages' lines, after finishPages
	outline []outlineEntry // of the file, in its order
}

// meta is what the file says of itself.
func (f *pdfFile) meta() Meta {
	return Meta{Title: f.title, Author: f.author, Language: f.language, Date: f.date}
}

// A pdfFiler is an engine that tells more of a file than its pages.
type pdfFiler interface {
	file(ctx context.Context, data []byte, o PDFOptions) (*pdfFile, error)
}

// hasText says whether the page's text becomes part of the document's. keep keeps that of garbled pages.
func (p *Page) hasText(keep bool) bool {
	return p.Text != "" && (p.Verdict == OK || keep && p.Verdict == Garbled)
}

// pageSeverity orders verdicts from best to worst.
var pageSeverity = []Verdict{Blank, OK, Scanned, Garbled, Failed, Encrypted}

// bad says whether text was lost that is there, or may be.
func (v Verdict) bad() bool { return v == Scanned || v == Garbled || v == Encrypted || v == Failed }

// pagesVerdict is the verdict of a document with these pages: that of the worst. The reason names all bad ones.
func pagesVerdict(pages []Page) (Verdict, string) {
	if len(pages) == 0 {
		return Failed, "it has no pages"
	}
	verdict := Blank
	count := map[Verdict]int{}
	for _, p := range pages {
		count[p.Verdict]++
		if slices.Index(pageSeverity, p.Verdict) > slices.Index(pageSeverity, verdict) {
			verdict = p.Verdict
		}
	}
	if !verdict.bad() {
		return verdict, ""
	}
	if verdict == Scanned && count[OK] == 0 {
		return verdict, fmt.Sprintf("no text layer (%s of images)", plural(count[Scanned], "page"))
	}
	first := pages[slices.IndexFunc(pages, func(p Page) bool { return p.Verdict == verdict })]
	if bad := badPagesOf(pages); len(bad) > 1 {
		return verdict, fmt.Sprintf("%d of %d pages: %s; page %d: %s", len(bad), len(pages), pageRanges(bad), first.Number, first.Reason)
	}
	return verdict, fmt.Sprintf("page %d of %d is %s: %s", first.Number, len(pages), verdict, first.Reason)
}

func badPagesOf(pages []Page) (bad []Page) {
	for _, p := range pages {
		if p.Verdict.bad() {
			bad = append(bad, p)
		}
	}
	return bad
}

// mostRanges is how many ranges of pages a reason names.
const mostRanges = 20

// pageRanges names pages and their verdicts, such as "1 scanned, 17-18 garbled".
func pageRanges(pages []Page) string {
	var ranges []string
	for i := 0; i < len(pages); i++ {
		v := pages[i].Verdict
		end := i
		for end+1 < len(pages) && pages[end+1].Verdict == v && pages[end+1].Number == pages[end].Number+1 {
			end++
		}
		if len(ranges) == mostRanges {
			return strings.Join(ranges, ", ") + ", and more"
		}
		name := fmt.Sprintf("%d %s", pages[i].Number, v)
		if end > i {
			name = fmt.Sprintf("%d-%d %s", pages[i].Number, pages[end].Number, v)
		}
		ranges = append(ranges, name)
		i = end
	}
	return strings.Join(ranges, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// A pdfMessage is a part of what a reader finds in a file: the first one has Count and what the file says of
// itself, then one comes for each page, then there may be one with the outline, and the last one has End. A file
// that can't be read gives a single one with Verdict and Reason.
type pdfMessage struct {
	Count    int            `json:"count,omitempty"`
	Title    string         `json:"title,omitempty"`
	Author   string         `json:"author,omitempty"`
	Created  string         `json:"created,omitempty"`  // as the file has it
	Language string         `json:"language,omitempty"` // likewise
	Number   int            `json:"number,omitempty"`   // of Page, from 1
	Label    string         `json:"label,omitempty"`    // of Page
	Page     *rawPage       `json:"page,omitempty"`
	Outline  []outlineEntry `json:"outline,omitempty"`
	End      bool           `json:"end,omitempty"`
	Verdict  Verdict        `json:"verdict,omitempty"`
	Reason   string         `json:"reason,omitempty"`
}

// A pdfReader reads one file after the other, in this process.
type pdfReader interface {
	// read emits what it finds, except the last message. It stops at the first error that emit returns.
	read(data []byte, o PDFOptions, limits pdfLimits, emit func(pdfMessage) error) error
}

// A pdfCollector makes a file of the messages of a reader, which it does not trust.
type pdfCollector struct {
	limits  pdfLimits
	opened  bool
	first   pdfMessage
	pages   []*rawPage
	labels  []string
	outline []outlineEntry
	text    int
}

// lineCost is what a line costs besides its text, in bytes of text: a page of single letters has many.
const lineCost = 32

var errPDFMessage = errors.New("unexpected message from a pdf reader")

func (c *pdfCollector) take(m pdfMessage) error {
	switch {
	case m.Verdict == Encrypted || m.Verdict == Failed:
		return &PDFError{m.Verdict, m.Reason}
	case !c.opened:
		if m.Count < 1 || m.Count > c.limits.pages || m.Page != nil {
			return errPDFMessage
		}
		c.opened, c.first = true, m
		c.pages, c.labels = make([]*rawPage, m.Count), make([]string, m.Count)
	case m.Outline != nil && c.outline == nil:
		c.outline = saneOutline(m.Outline, len(c.pages))
	case m.Page == nil || m.Number < 1 || m.Number > len(c.pages) || c.pages[m.Number-1] != nil:
		return errPDFMessage
	default:
		for _, l := range m.Page.Lines {
			c.text += len(l.Text) + lineCost
		}
		if c.text > c.limits.text {
			m.Page = &rawPage{Failed: fmt.Sprintf("the file has more than %d MiB of text", c.limits.text>>20)}
			c.text = math.MaxInt / 2 // pages are not picked by size: none follows
		}
		c.pages[m.Number-1], c.labels[m.Number-1] = m.Page, m.Label
	}
	return nil
}

// finish returns the file. err is what ended reading, nil at its regular end: pages that did not come by then
// failed for that reason.
// Any other error than a *PDFError and the context's says that the engine can't run, which is not the file's fault.
func (c *pdfCollector) finish(ctx context.Context, err error) (*pdfFile, error) {
	if !c.opened {
		if err == nil {
			err = pdfFailed("%v", errPDFMessage)
		}
		return nil, err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	reason := "the reader left it out"
	if pe := (*PDFError)(nil); errors.As(err, &pe) {
		reason = pe.Reason
	} else if err != nil {
		reason = err.Error()
	}
	for i, p := range c.pages {
		if p == nil {
			c.pages[i] = &rawPage{Failed: reason}
		}
	}
	timed, cancel := context.WithTimeout(ctx, c.limits.time)
	defer cancel()
	f := &pdfFile{
		title: saneTitle(c.first.Title), author: saneAuthor(c.first.Author), language: saneLanguage(c.first.Language),
		date: saneDate(c.first.Created), pages: finishPages(timed, c.pages), raw: c.pages, outline: c.outline,
	}
	for i, label := range c.labels {
		f.pages[i].Label = saneLabel(label, i+1)
	}
	return f, nil
}

// refusePDF says whether a file is not worth opening.
func refusePDF(data []byte, limits pdfLimits) error {
	if len(data) == 0 {
		return pdfFailed("the file is empty")
	}
	if len(data) > limits.file {
		return pdfFailed("the file has %d MiB, at most %d are read", len(data)>>20, limits.file>>20)
	}
	return nil
}
