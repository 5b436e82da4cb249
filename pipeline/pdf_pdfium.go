package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// openPdfium compiles pdfium, or takes what cacheDir holds of an earlier run. Its sandbox sees no file, no
// clock and no output of this process. A stoppable one can be killed while it runs, which takes about three
// times as long; the other kind can only be stopped together with its process.
func openPdfium(cacheDir string, parallel int, stoppable bool) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(pdfiumMemory >> 16).
		WithCloseOnContextDone(stoppable)
	if cacheDir != "" {
		if err := os.MkdirAll(cacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("pdfium: compilation cache: %w", err)
		}
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("pdfium: compilation cache: %w", err)
		}
		config = config.WithCompilationCache(cache)
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context:       context.Background(),
		MaxTotal:      parallel,
		FSConfig:      wazero.NewFSConfig(),
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("pdfium: %w", err)
	}
	return pool, nil
}

// A pdfiumEngine reads with pdfium in this process.
type pdfiumEngine struct {
	cacheDir string
	limits   pdfLimits
	parallel int
	free     chan struct{} // one for each file that may be read at a time

	open   sync.Once
	pool   pdfium.Pool
	failed error
}

func newPdfiumEngine(cacheDir string, limits pdfLimits, parallel int) *pdfiumEngine {
	e := &pdfiumEngine{cacheDir: cacheDir, limits: limits, parallel: parallel, free: make(chan struct{}, parallel)}
	for range parallel {
		e.free <- struct{}{}
	}
	return e
}

func (e *pdfiumEngine) Name() string { return "pdfium" }

func (e *pdfiumEngine) Pages(ctx context.Context, data []byte, o PDFOptions) ([]Page, error) {
	f, err := e.file(ctx, data, o)
	if err != nil {
		return nil, err
	}
	return f.pages, nil
}

func (e *pdfiumEngine) file(ctx context.Context, data []byte, o PDFOptions) (*pdfFile, error) {
	if err := refusePDF(data, e.limits); err != nil {
		return nil, err
	}
	select {
	case <-e.free:
		defer func() { e.free <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.open.Do(func() { e.pool, e.failed = openPdfium(e.cacheDir, e.parallel, true) })
	if e.failed != nil {
		return nil, e.failed
	}
	timed, cancel := context.WithTimeout(ctx, e.limits.time)
	defer cancel()
	var guard killGuard
	defer guard.end()
	next := func() (pdfium.Pdfium, error) {
		guard.end()
		if err := timed.Err(); err != nil {
			return nil, err
		}
		instance, err := e.pool.GetInstance(time.Minute)
		if err == nil {
			guard.watch(timed, instance)
		}
		return instance, err
	}
	c := pdfCollector{limits: e.limits}
	err := readPdfium(next, data, o, e.limits, func(m pdfMessage) error {
		if m.Page != nil && m.Page.Failed != "" && timed.Err() != nil {
			return timed.Err() // killed: the page itself is not to blame
		}
		return c.take(m)
	})
	if err != nil && timed.Err() != nil {
		if err = ctx.Err(); err == nil {
			err = overTime(e.limits)
		}
	}
	return c.finish(ctx, err)
}

// A killGuard ends an instance once: by killing it when a context is done, or else by closing it.
type killGuard struct {
	instance pdfium.Pdfium
	unwatch  func() bool
	done     chan struct{}
}

func (g *killGuard) watch(ctx context.Context, instance pdfium.Pdfium) {
	done := make(chan struct{})
	g.instance, g.done = instance, done
	g.unwatch = context.AfterFunc(ctx, func() { instance.Kill(); close(done) })
}

// end ends the instance, if there is one.
func (g *killGuard) end() {
	if g.instance == nil {
		return
	}
	if g.unwatch() {
		g.instance.Close()
	} else {
		<-g.done
	}
	g.instance = nil
}

func overTime(limits pdfLimits) error { return pdfFailed("reading took more than %v", limits.time) }

func (e *pdfiumEngine) Close() error {
	var err error
	e.open.Do(func() { e.failed = errors.New("pdfium: the engine is closed") })
	if e.pool != nil {
		err = e.pool.Close()
	}
	return err
}

// A pdfiumReader reads in a child process.
type pdfiumReader struct{ pool pdfium.Pool }

// read takes a fresh instance for each file, so that none can leave anything behind for the next.
func (r *pdfiumReader) read(data []byte, o PDFOptions, limits pdfLimits, emit func(pdfMessage) error) error {
	var instance pdfium.Pdfium
	end := func() {
		if instance != nil {
			instance.Close()
		}
	}
	defer func() { end() }()
	return readPdfium(func() (_ pdfium.Pdfium, err error) {
		end()
		instance, err = r.pool.GetInstance(time.Minute)
		return instance, err
	}, data, o, limits, emit)
}

// pdfiumInMemory is the size in bytes up to which a file is copied into the sandbox; larger ones are read
// from outside piece by piece, which is slower but leaves the sandbox's memory to the work.
const pdfiumInMemory = 16 << 20

// A pdfiumFile is a file opened in an instance.
type pdfiumFile struct {
	in    pdfium.Pdfium
	doc   references.FPDF_DOCUMENT
	count int
	forms bool // it has form fields
}

// openPdfiumFile opens a file with the empty password or the first of the given ones that fits.
func openPdfiumFile(in pdfium.Pdfium, data []byte, o PDFOptions, limits pdfLimits) (*pdfiumFile, error) {
	var opened *responses.OpenDocument
	var err error
	for i := -1; i < len(o.Passwords); i++ {
		open := &requests.OpenDocument{File: &data}
		if len(data) > pdfiumInMemory {
			open = &requests.OpenDocument{FileReader: bytes.NewReader(data), FileReaderSize: int64(len(data))}
		}
		if i >= 0 {
			open.Password = &o.Passwords[i]
		}
		if opened, err = in.OpenDocument(open); !errors.Is(err, pdfiumerrors.ErrPassword) {
			break
		}
	}
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword):
		return nil, notOpened(o.Passwords)
	case errors.Is(err, pdfiumerrors.ErrSecurity):
		return nil, &PDFError{Encrypted, "its encryption is of an unknown kind"}
	case errors.Is(err, pdfiumerrors.ErrFormat):
		return nil, pdfFailed("it is no pdf, or broken beyond repair")
	case err != nil:
		return nil, pdfFailed("it can't be opened: %s", sandboxReason(err))
	}
	f := &pdfiumFile{in: in, doc: opened.Document}
	count, err := in.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: f.doc})
	if err != nil {
		return nil, pdfFailed("its pages can't be counted: %s", sandboxReason(err))
	}
	if f.count = count.PageCount; f.count < 1 {
		return nil, pdfFailed("it has no pages")
	}
	if f.count > limits.pages {
		return nil, pdfFailed("it has %d pages, at most %d are read", f.count, limits.pages)
	}
	form, err := in.FPDF_GetFormType(&requests.FPDF_GetFormType{Document: f.doc})
	f.forms = err == nil && form.FormType != enums.FPDF_FORMTYPE_NONE
	return f, nil
}

// pdfiumRestarts is how many pages of a file may bring an instance down before the rest is given up.
const pdfiumRestarts = 20

// readPdfium emits what a file holds. It takes instances from next, one and another one after each page that
// brings one down: that leaves memory in no known state. Whoever gives them closes them.
func readPdfium(next func() (pdfium.Pdfium, error), data []byte, o PDFOptions, limits pdfLimits, emit func(pdfMessage) error) error {
	var f *pdfiumFile
	restarts := 0
	for i := 0; f == nil || i < f.count; i++ {
		if f == nil {
			in, err := next()
			if err != nil {
				return pdfFailed("pdfium: %v", err)
			}
			if f, err = openPdfiumFile(in, data, o, limits); err != nil {
				return err
			}
			if i == 0 {
				if err := emit(f.about()); err != nil {
					return err
				}
			}
		}
		p, err := f.page(i, limits)
		label := ""
		if err == nil {
			label = f.label(i)
		} else {
			p = &rawPage{Failed: "pdfium can't read it: " + sandboxReason(err)}
		}
		if err := emit(pdfMessage{Number: i + 1, Label: label, Page: p}); err != nil {
			return err
		}
		if err != nil && !errors.Is(err, pdfiumerrors.ErrPage) && i+1 < f.count {
			if restarts++; restarts > pdfiumRestarts {
				return pdfFailed("more than %d pages bring the engine down", pdfiumRestarts)
			}
			f = nil
		}
	}
	if outline := f.outline(); len(outline) > 0 { // last, so that a broken one costs nothing else
		return emit(pdfMessage{Outline: outline})
	}
	return nil
}

// sandboxReason returns the first line of an error: those of the sandbox go on with its call stack.
func sandboxReason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimSuffix(strings.TrimSpace(line), " (recovered by wazero)")
	if len(line) > 200 {
		line = line[:200]
	}
	return cleanPDFLine(line)
}

// page reads a page; index counts from 0.
func (f *pdfiumFile) page(index int, limits pdfLimits) (*rawPage, error) {
	in := f.in
	load := &requests.FPDF_LoadPage{Document: f.doc, Index: index}
	loaded, err := in.FPDF_LoadPage(load)
	if err != nil {
		return nil, err
	}
	if f.forms || pdfiumFields(in, requests.Page{ByReference: &loaded.Page}) { // what is filled in becomes part of the page, which has to be loaded anew to see it
		in.FPDFPage_Flatten(&requests.FPDFPage_Flatten{Page: requests.Page{ByReference: &loaded.Page}, Usage: requests.FPDFPage_FlattenUsageNormalDisplay})
		in.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
		if loaded, err = in.FPDF_LoadPage(load); err != nil {
			return nil, err
		}
	}
	defer in.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	page := requests.Page{ByReference: &loaded.Page}
	text, err := in.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return nil, err
	}
	defer in.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	chars, err := in.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil {
		return nil, err
	}
	p := &rawPage{}
	if chars.Count > limits.text {
		p.Failed = fmt.Sprintf("the page has more than %d Mi characters", limits.text>>20)
		return p, nil
	}
	found := 0
	switch {
	case chars.Count > mostGlyphs:
		got, err := in.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: chars.Count})
		if err != nil {
			return nil, err
		}
		p.Lines, found = pdfiumLines(in, text.TextPage, got.Text)
	case chars.Count > 0:
		glyphs, err := pdfiumGlyphs(in, text.TextPage, chars.Count)
		if err != nil {
			return nil, err
		}
		if left, bottom, right, top, ok := pdfiumSheet(in, page); ok {
			glyphs = visibleGlyphs(glyphs, left, bottom, right, top)
		}
		p.Lines = layoutGlyphs(glyphs)
		pdfiumBold(in, text.TextPage, p.Lines)
		found = len(p.Lines)
	}
	if found == 0 {
		p.Images = pdfiumImages(in, page)
		for i := range min(chars.Count, 10_000) {
			bad, err := in.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: text.TextPage, Index: i})
			if err != nil {
				break // not every build of pdfium knows
			}
			if bad.HasUnicodeMapError {
				p.Unmapped++
			}
		}
	}
	return p, nil
}

// pdfiumFields says whether a page has fields or text boxes: files without a form have them too.
func pdfiumFields(in pdfium.Pdfium, page requests.Page) bool {
	count, err := in.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page})
	if err != nil {
		return false
	}
	for i := range min(count.Count, 50) {
		a, err := in.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: page, Index: i})
		if err != nil {
			return false
		}
		kind, err := in.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a.Annotation})
		in.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: a.Annotation})
		if err == nil && (kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_WIDGET || kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_FREETEXT) {
			return true
		}
	}
	return false
}

// pdfiumBold finds out which lines are bold.
func pdfiumBold(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, lines []rawLine) {
	for i := range lines {
		l := &lines[i]
		l.Bold = pdfiumBoldAt(in, page, l.first) && (l.first == l.last || pdfiumBoldAt(in, page, l.last))
	}
}

func pdfiumBoldAt(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, at int32) bool {
	font, err := in.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: page, Index: int(at)})
	return err == nil && (font.Flags&(1<<18) != 0 || boldFont(font.FontName))
}

// pdfiumSheet returns the sheet that a page is cut from, as far as it matters: what stands close to the page but
// outside of it is read too, since real text is found there beside printers' marks.
func pdfiumSheet(in pdfium.Pdfium, page requests.Page) (left, bottom, right, top float32, ok bool) {
	box, err := in.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: page})
	if err != nil {
		return 0, 0, 0, 0, false
	}
	left, bottom, right, top = box.Rect.Left, box.Rect.Bottom, box.Rect.Right, box.Rect.Top
	margin := max(72, 0.15*(right-left), 0.15*(top-bottom))
	return left - margin, bottom - margin, right + margin, top + margin, right > left && top > bottom
}

// mostGlyphs is the number of characters of a page up to which each one's place is asked for.
const mostGlyphs = 200_000

// pdfiumGlyphs returns the characters of a page that the file draws, in its order. Those that pdfium adds, for
// gaps and ends of lines that it guesses, are left out.
func pdfiumGlyphs(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, count int) ([]glyph, error) {
	glyphs := make([]glyph, 0, count)
	char := requests.FPDFText_GetUnicode{TextPage: page}
	place := requests.FPDFText_GetLooseCharBox{TextPage: page}
	angle := requests.FPDFText_GetCharAngle{TextPage: page}
	var last glyph
	half, first := rune(0), -2 // the first half of a pair of surrogates, and its index
	for i := range count {
		char.Index, place.Index, angle.Index = i, i, i
		u, err := in.FPDFText_GetUnicode(&char)
		if err != nil {
			return nil, err
		}
		g := glyph{c: rune(u.Unicode), at: int32(i)}
		if utf16.IsSurrogate(g.c) {
			if i == first+1 && utf16.DecodeRune(half, g.c) != unicode.ReplacementChar {
				g.c = utf16.DecodeRune(half, g.c)
			} else {
				half, first = g.c, i
				continue
			}
		}
		switch g.c {
		case 0:
			continue
		case 2, 0xFFFE: // a hyphen at the end of a line
			g.c = '-'
		}
		b, err := in.FPDFText_GetLooseCharBox(&place)
		if err == nil {
			g.l, g.r, g.b, g.t = b.Rect.Left, b.Rect.Right, b.Rect.Bottom, b.Rect.Top
		}
		if !(g.t-g.b > 0.01) || !(g.r-g.l < 1e6 && g.t-g.b < 1e6) || g.r < g.l { // none, or one that pdfium adds
			g.lost = true
			glyphs = append(glyphs, g)
			continue
		}
		if g.b != last.b || g.t != last.t {
			a, err := in.FPDFText_GetCharAngle(&angle)
			if err == nil && a.CharAngle >= 0 {
				quarters := float64(a.CharAngle) / (math.Pi / 2)
				g.turn = uint8(int(math.Round(quarters)) & 3)
				g.skew = math.Abs(quarters-math.Round(quarters)) > 0.05
			}
		} else {
			g.turn, g.skew = last.turn, last.skew
		}
		glyphs = append(glyphs, g)
		last = g
	}
	return glyphs, nil
}

// hyphenMark is what pdfium puts in place of a line-end hyphen and the line end after it.
const hyphenMark = "\uFFFE"

// pdfiumLines cuts the text of a page into lines and asks for the place of each. It returns the number of
// characters that are not blank too.
func pdfiumLines(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, text string) (lines []rawLine, found int) {
	at := 0 // the character at which line begins, as pdfium counts
	for len(text) > 0 {
		end := strings.IndexAny(text, "\n"+hyphenMark)
		line, rest, hyphen := text, "", false
		if end >= 0 {
			line = text[:end]
			hyphen = text[end] != '\n'
			if rest = text[end+1:]; hyphen {
				rest = text[end+len(hyphenMark):]
			}
		}
		first, last, n := -1, -1, 0
		for _, c := range line {
			if !unicode.IsSpace(c) {
				if first < 0 {
					first = n
				}
				last = n
				found++
			}
			n++
		}
		l := rawLine{Text: line}
		if first >= 0 {
			if hyphen {
				l.Text += "-"
			}
			l.place(in, page, at+first, at+last)
			lines = append(lines, l)
		}
		at += n
		if end >= 0 {
			at++
		}
		text = rest
	}
	return lines, found
}

// place sets where a line is by its first and last character, numbered as in the page's text. It leaves a
// line without a place that is not written from left to right.
func (l *rawLine) place(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, first, last int) {
	a, ok := charBox(in, page, first)
	if !ok {
		return
	}
	b := a
	if last != first {
		if b, ok = charBox(in, page, last); !ok {
			return
		}
	}
	size := a.top - a.bottom
	if size <= 0 || math.Abs(a.bottom-b.bottom) > size || b.right <= a.left || math.IsInf(size, 0) {
		return
	}
	l.Left, l.Right, l.Bottom, l.Size = points(a.left), points(b.right), points(a.bottom), points(size)
}

// points rounds a length to a hundredth of a point.
func points(x float64) float32 { return float32(math.Round(x*100) / 100) }

type box struct{ left, right, bottom, top float64 }

func charBox(in pdfium.Pdfium, page references.FPDF_TEXTPAGE, textIndex int) (box, bool) {
	i, err := in.FPDFText_GetCharIndexFromTextIndex(&requests.FPDFText_GetCharIndexFromTextIndex{TextPage: page, NTextIndex: textIndex})
	if err != nil || i.CharIndex < 0 {
		return box{}, false
	}
	b, err := in.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: page, Index: i.CharIndex})
	if err != nil {
		return box{}, false
	}
	return box{float64(b.Rect.Left), float64(b.Rect.Right), float64(b.Rect.Bottom), float64(b.Rect.Top)}, true
}

// pdfiumImages counts the images of a page, those inside of forms too, as far as a bounded search finds them.
func pdfiumImages(in pdfium.Pdfium, page requests.Page) int {
	budget := 10_000
	objects, err := in.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return 0
	}
	images := 0
	for i := 0; i < objects.Count && budget > 0; i++ {
		if o, err := in.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i}); err == nil {
			images += pdfiumObjectImages(in, o.PageObject, 1, &budget)
		}
	}
	return images
}

func pdfiumObjectImages(in pdfium.Pdfium, object references.FPDF_PAGEOBJECT, depth int, budget *int) int {
	*budget--
	kind, err := in.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if err != nil {
		return 0
	}
	switch kind.Type {
	case enums.FPDF_PAGEOBJ_IMAGE:
		return 1
	case enums.FPDF_PAGEOBJ_FORM:
		inner, err := in.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: object})
		if err != nil || depth > 8 {
			return 0
		}
		images := 0
		for i := 0; i < inner.Count && *budget > 0; i++ {
			if o, err := in.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: object, Index: uint64(i)}); err == nil {
				images += pdfiumObjectImages(in, o.PageObject, depth+1, budget)
			}
		}
		return images
	}
	return 0
}
