package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// MaxFile is the largest file that is read, in bytes; formats have limits of their own below it.
const MaxFile = 256 << 20

// parse reads and parses all documents, on all cores, and decides what a bad one means: a document that could not
// be read fails the bake unless the skip list names it.
func (b *bake) parse(ctx context.Context) error {
	passwords, err := b.passwords()
	if err != nil {
		return err
	}
	engine, err := NewPDFEngine(b.settings.PDFEngine, b.Fetcher.Cache.PDF())
	if err != nil {
		return err
	}
	defer engine.Close()
	n := len(b.sources)
	b.documents, b.hashes = make([]*Document, n), make([][32]byte, n)
	errs := make([]error, n)
	options := ParseOptions{PDF: engine, Passwords: passwords, KeepGarbled: b.settings.BadPages == "keep", Encoding: b.settings.Encoding, Open: b.include}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = b.parseOne(ctx, i, options)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", b.sources[i].Path, err)
		}
	}
	return b.judge()
}

func (b *bake) parseOne(ctx context.Context, i int, o ParseOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	source := b.sources[i]
	if b.Documents != nil {
		data := []byte(b.Documents[i].Text)
		d := parseText(data, "utf-8")
		d.Size, d.Meta.Title = len(data), b.Documents[i].Title
		b.documents[i], b.hashes[i] = d, sha256.Sum256(data)
		return nil
	}
	data, err := ReadSource(b.root, source, MaxFile)
	if err != nil { // it counts as a document that can't be read, which the skip list may name
		b.documents[i] = &Document{Verdict: Failed, Reason: err.Error(), Size: int(source.Size), Meta: source.Meta, fault: err}
		return nil
	}
	d := Parse(ctx, source.Path, data, o)
	if err := ctx.Err(); err != nil {
		return err // a document that was cut short says nothing about itself
	}
	if d.fault != nil {
		return d.fault
	}
	d.Size = len(data)
	d.Meta = merge(source.Path, source.Meta, d.Meta)
	b.documents[i], b.hashes[i] = d, sha256.Sum256(data)
	if b.settings.Originals {
		d.original = data
	}
	return nil
}

// include reads a file that a document includes. It goes the way of documents: below the base's folder, a regular file.
func (b *bake) include(name string) ([]byte, error) {
	return ReadSource(b.root, Source{Name: name}, maxIncludeFile)
}

// passwords returns the values of the variables that base.yaml names. A missing one is an error that names it.
func (b *bake) passwords() (passwords []string, err error) {
	lookup := b.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	for _, name := range b.settings.PasswordEnv {
		value, ok := lookup(name)
		if !ok {
			return nil, missingPassword(name)
		}
		passwords = append(passwords, value)
	}
	return passwords, nil
}

type missingPassword string

func (e missingPassword) Error() string {
	return fmt.Sprintf("pdf_password_env: the environment variable %s is not set", string(e))
}

// Hint says what to do.
func (e missingPassword) Hint() string {
	return fmt.Sprintf("set it, or write %s=… into a file .env in the current folder", string(e))
}

// merge lets what a document says of itself win over what base.yaml says of it. The metadata of PDF files is
// another matter: programs write it, so base.yaml wins over their dates.
func merge(path string, rules, own Meta) Meta {
	if strings.EqualFold(filepath.Ext(path), ".pdf") && !rules.Date.IsZero() {
		own.Date = rules.Date
	}
	own.Author, own.Language = cmp.Or(own.Author, rules.Author), cmp.Or(own.Language, rules.Language)
	if own.Title == "" {
		own.Title = rules.Title
	}
	if own.ContentType == "" {
		own.ContentType = rules.ContentType
	}
	if len(own.Topics) == 0 {
		own.Topics = rules.Topics
	}
	if own.UnitID == "" {
		own.UnitID = rules.UnitID
	}
	if own.Date.IsZero() {
		own.Date = rules.Date
	}
	return own
}

// judge decides what documents that were not read in whole mean, by bad_pages and the skip list, and puts every
// document into the report. The error names all that fail the bake.
func (b *bake) judge() error {
	var failed []string
	anything, pages := false, false
	for i, d := range b.documents {
		if d.Verdict.bad() {
			switch {
			case b.sources[i].MayFail:
				d.skip()
			case b.settings.BadPages != "fail" && d.fault == nil:
				d.leaveOut()
			default:
				failed = append(failed, fmt.Sprintf("%s: %s: %s", b.sources[i].Path, d.Verdict, d.Reason))
				pages = pages || d.Text != ""
			}
		}
		if !d.hasText() {
			d.original = nil // the artifact leaves it out: make room
		}
		anything = anything || d.hasText()
		b.report.Documents = append(b.report.Documents, DocumentReport{
			Path: b.sources[i].Path, Verdict: d.Verdict, Reason: d.Reason, Pages: len(d.Pages), LeftOut: d.LeftOut,
		})
	}
	if len(failed) > 0 {
		return &DocumentsError{failed, pages}
	}
	if !anything {
		return errNoText
	}
	return nil
}

// skip makes a document that was not read in whole one that is left out.
func (d *Document) skip() {
	d.Verdict, d.Reason = Skipped, string(d.Verdict)+": "+d.Reason
}

// leaveOut makes a document that was not read in whole one without its bad pages, if text is left then. Garbled pages
// whose text is part of the document's are kept.
func (d *Document) leaveOut() {
	if d.Text == "" {
		d.skip()
		return
	}
	if len(d.Pages) == 0 {
		d.Verdict, d.Reason = Partial, "kept though "+string(d.Verdict)+": "+d.Reason
		return
	}
	kept := map[int]bool{}
	for _, s := range d.Segments {
		kept[s.Page] = d.Pages[s.Page-1].Verdict == Garbled
	}
	var out, in []Page
	for _, p := range d.Pages {
		if p.Verdict.bad() && kept[p.Number] {
			in = append(in, p)
		} else if p.Verdict.bad() {
			out = append(out, p)
		}
	}
	var reasons []string
	if len(out) > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %s left out: %s", len(out), plural(len(d.Pages), "page"), pageRanges(out)))
	}
	if len(in) > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %s kept: %s", len(in), plural(len(d.Pages), "page"), pageRanges(in)))
	}
	d.Verdict, d.Reason = Partial, strings.Join(reasons, "; ")
}

var errNoText = errors.New("no document has text: there is nothing to search")

// A DocumentsError says which documents could not be read.
type DocumentsError struct {
	Documents []string // path, verdict and reason of each
	Pages     bool     // some of them have good pages
}

func (e *DocumentsError) Error() string {
	return fmt.Sprintf("%s could not be read:\n  %s", plural(len(e.Documents), "document"), strings.Join(e.Documents, "\n  "))
}

// Hint says what to do.
func (e *DocumentsError) Hint() string {
	if e.Pages {
		return "mend or remove them, list them under skip: in base.yaml to bake without them, or set bad_pages: skip to leave out their bad pages alone"
	}
	return "mend or remove them, list them under skip: in base.yaml to bake without them, or set bad_pages: skip to leave out whatever can't be read"
}
