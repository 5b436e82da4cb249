package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// maxFile is the largest file that is read, in bytes; formats have limits of their own below it.
const maxFile = 256 << 20

// parse reads and parses all documents, on all cores, and decides what a bad one means: a document that could not
// be read fails the bake unless the skip list names it.
func (b *bake) parse(ctx context.Context) error {
	engine, err := NewPDFEngine(b.settings.PDFEngine, b.Fetcher.Cache.PDF())
	if err != nil {
		return err
	}
	defer engine.Close()
	n := len(b.sources)
	b.documents, b.hashes = make([]*Document, n), make([][32]byte, n)
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = b.parseOne(ctx, i, engine)
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

func (b *bake) parseOne(ctx context.Context, i int, engine PDFEngine) error {
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
	data, err := ReadSource(b.root, source, maxFile)
	if err != nil { // it counts as a document that can't be read, which the skip list may name
		b.documents[i] = &Document{Verdict: Failed, Reason: err.Error(), Size: int(source.Size), Meta: source.Meta}
		return nil
	}
	d := Parse(ctx, source.Path, data, ParseOptions{PDF: engine, Encoding: b.settings.Encoding})
	if err := ctx.Err(); err != nil {
		return err // a document that was cut short says nothing about itself
	}
	d.Size = len(data)
	d.Meta = merge(source.Meta, d.Meta)
	b.documents[i], b.hashes[i] = d, sha256.Sum256(data)
	return nil
}

// merge lets what a document says of itself win over what base.yaml says of it.
func merge(rules, own Meta) Meta {
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

// judge applies the skip list and puts every document into the report. The error names all that fail the bake.
func (b *bake) judge() error {
	var failed []string
	anything := false
	for i, d := range b.documents {
		switch d.Verdict {
		case OK:
			anything = true
		case Scanned, Garbled, Encrypted, Failed:
			if b.sources[i].MayFail {
				d.Reason = string(d.Verdict) + ": " + d.Reason
				d.Verdict = Skipped
			} else {
				failed = append(failed, fmt.Sprintf("%s: %s: %s", b.sources[i].Path, d.Verdict, d.Reason))
			}
		}
		b.report.Documents = append(b.report.Documents, DocumentReport{
			Path: b.sources[i].Path, Verdict: d.Verdict, Reason: d.Reason, Pages: len(d.Pages), LeftOut: d.LeftOut,
		})
	}
	if len(failed) > 0 {
		return &DocumentsError{failed}
	}
	if !anything {
		return errNoText
	}
	return nil
}

var errNoText = errors.New("no document has text: there is nothing to search")

// A DocumentsError says which documents could not be read.
type DocumentsError struct {
	Documents []string // path, verdict and reason of each
}

func (e *DocumentsError) Error() string {
	return fmt.Sprintf("%d documents could not be read:\n  %s", len(e.Documents), strings.Join(e.Documents, "\n  "))
}

// Hint says what to do.
func (e *DocumentsError) Hint() string {
	return "mend or remove them, or list them under skip: in base.yaml to bake without them"
}
