package pipeline

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ledongthuc/pdf"
)

// A ledongthucReader reads with ledongthuc/pdf, of which it uses the object parser alone: filters, fonts,
// character maps and the content of pages are read here. Files can make the library panic, overflow the stack,
// run forever or ask for any amount of memory: it belongs into a child process.
type ledongthucReader struct{}

func (ledongthucReader) read(data []byte, o PDFOptions, limits pdfLimits, emit func(pdfMessage) error) error {
	f, err := openLedongthuc(data, o.Passwords, limits)
	if err != nil {
		return err
	}
	var title string
	attempt(func() { title = f.title() })
	if err := emit(pdfMessage{Count: len(f.pages), Title: title}); err != nil {
		return err
	}
	for i, v := range f.pages {
		p := &rawPage{Failed: "ledongthuc can't read it"}
		attempt(func() { p = f.page(v) })
		if err := emit(pdfMessage{Number: i + 1, Page: p}); err != nil {
			return err
		}
	}
	return nil
}

// attempt runs f and says whether it ended without a panic, which is how the library reports errors.
func attempt(f func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	f()
	return true
}

// A ledongthucFile is an open file.
type ledongthucFile struct {
	data      []byte // mended: what the library's offsets are of
	reader    *pdf.Reader
	encrypted bool // strings outside of streams are not deciphered
	pages     []pdf.Value
	fonts     map[string]*pdfFont // by what the library says of their dictionaries
}

// maxPDFFonts bounds the fonts that are kept.
const maxPDFFonts = 1000

// openLedongthuc opens a file. Its tables are made anew if the library can't read them.
func openLedongthuc(data []byte, passwords []string, limits pdfLimits) (*ledongthucFile, error) {
	data, err := mendPDFEnds(data)
	if err != nil {
		return nil, err
	}
	f := &ledongthucFile{data: data, fonts: map[string]*pdfFont{}}
	if bytes.Contains(f.data, encryptKey) {
		if err := f.decipher(append([]string{""}, passwords...)); err != nil {
			return nil, err
		}
	}
	if !tablesLoop(f.data) {
		attempt(func() { f.reader, err = pdf.NewReader(bytes.NewReader(f.data), int64(len(f.data))) })
		if f.reader != nil && err == nil {
			if f.pages, err = ledongthucPages(f.reader, limits.pages); err == nil {
				return f, nil
			}
			if pe := (*PDFError)(nil); errors.As(err, &pe) && strings.Contains(pe.Reason, "more than") {
				return nil, err
			}
		}
	}
	if err := f.rebuild(); err != nil {
		return nil, err
	}
	f.pages, err = ledongthucPages(f.reader, limits.pages)
	return f, err
}

func (f *ledongthucFile) title() string {
	if f.encrypted {
		return ""
	}
	title := f.reader.Trailer().Key("Info").Key("Title").Text()
	if len(title) > 4096 {
		return ""
	}
	return title
}

// ledongthucPages walks the page tree once; the library itself starts at the root for every page.
func ledongthucPages(file *pdf.Reader, most int) (pages []pdf.Value, err error) {
	budget := 4 * most // of nodes: a tree can hold itself
	var walk func(node pdf.Value, depth int) error
	walk = func(node pdf.Value, depth int) error {
		budget--
		if budget < 0 || depth > 64 {
			return pdfFailed("its page tree has no end")
		}
		kids := node.Key("Kids")
		if node.Key("Type").Name() != "Pages" && kids.Kind() != pdf.Array {
			if node.Kind() != pdf.Dict {
				return nil
			}
			if len(pages) == most {
				return pdfFailed("it has more than %d pages", most)
			}
			pages = append(pages, node)
			return nil
		}
		for i := range kids.Len() {
			var kid pdf.Value
			if !attempt(func() { kid = kids.Index(i) }) {
				continue
			}
			if err := walk(kid, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if !attempt(func() { err = walk(file.Trailer().Key("Root").Key("Pages"), 0) }) {
		return nil, pdfFailed("ledongthuc can't read its page tree")
	}
	if err == nil && len(pages) == 0 {
		err = pdfFailed("it has no pages")
	}
	return pages, err
}

// inherited returns an entry of a page, or of the nodes above it.
func inherited(page pdf.Value, key string) pdf.Value {
	for range 64 {
		if v := page.Key(key); !v.IsNull() {
			return v
		}
		if page = page.Key("Parent"); page.IsNull() {
			break
		}
	}
	return pdf.Value{}
}

// page reads a page. It panics where the library does.
func (f *ledongthucFile) page(v pdf.Value) *rawPage {
	p := &pdfPainter{file: f, box: [4]float64{0, 0, 612, 792}}
	if b := inherited(v, "MediaBox"); b.Len() == 4 { // what is cropped counts: real text is found there
		n := func(i int) float64 { return b.Index(i).Float64() }
		p.box = [4]float64{min(n(0), n(2)), min(n(1), n(3)), max(n(0), n(2)), max(n(1), n(3))}
	}
	resources := inherited(v, "Resources")
	content, err := f.content(v.Key("Contents"))
	if err == nil {
		attempted := attempt(func() { err = p.paint(content, resources, pdfIdentity) })
		if !attempted && len(p.glyphs) == 0 {
			return &rawPage{Failed: "ledongthuc can't read it"}
		}
	}
	if err == nil {
		attempt(func() { err = f.annotations(p, v.Key("Annots")) })
	}
	if err != nil {
		return &rawPage{Failed: err.Error()}
	}
	raw := &rawPage{Lines: pdfLines(p.glyphs), Unmapped: p.unmapped}
	if len(raw.Lines) == 0 {
		raw.Images = p.images
	}
	return raw
}

// content joins the content streams of a page.
func (f *ledongthucFile) content(v pdf.Value) ([]byte, error) {
	if v.Kind() != pdf.Array {
		return f.stream(v)
	}
	var all []byte
	for i := range v.Len() {
		var part []byte
		var err error
		attempt(func() { part, err = f.stream(v.Index(i)) })
		if err != nil {
			return nil, err
		}
		all = append(append(all, part...), '\n')
		if len(all) > maxPDFStream {
			return nil, errPDFStream
		}
	}
	return all, nil
}

func (f *ledongthucFile) stream(v pdf.Value) ([]byte, error) { return pdfStream(f.data, v) }

// font returns a font, which is loaded once. Two fonts of which the library says the same are the same: what is
// not in the dictionary itself is named there by its object's number.
func (f *ledongthucFile) font(v pdf.Value) *pdfFont {
	if v.Kind() != pdf.Dict {
		return nil
	}
	key := v.String()
	if font, ok := f.fonts[key]; ok {
		return font
	}
	var font *pdfFont
	attempt(func() { font = f.loadFont(v) })
	if len(f.fonts) < maxPDFFonts {
		f.fonts[key] = font
	}
	return font
}

// annotations draws what fields of forms and other annotations show (PDF 1.7, 12.5.5).
func (f *ledongthucFile) annotations(p *pdfPainter, list pdf.Value) error {
	const hidden = 1<<1 | 1<<5 // hidden, not to be viewed
	for i := range min(list.Len(), 10_000) {
		a := list.Index(i)
		form := a.Key("AP").Key("N")
		if form.Kind() == pdf.Dict {
			form = form.Key(a.Key("AS").Name())
		}
		if form.Kind() != pdf.Stream || a.Key("Flags").Int64()&hidden != 0 || a.Key("F").Int64()&hidden != 0 || a.Key("Subtype").Name() == "Popup" {
			continue
		}
		m := matrixOf(form.Key("Matrix"))
		box, rect := form.Key("BBox"), a.Key("Rect")
		if box.Len() != 4 || rect.Len() != 4 {
			continue
		}
		left, bottom, right, top := transformedBox(m, box)
		rl, rb := min(rect.Index(0).Float64(), rect.Index(2).Float64()), min(rect.Index(1).Float64(), rect.Index(3).Float64())
		rr, rt := max(rect.Index(0).Float64(), rect.Index(2).Float64()), max(rect.Index(1).Float64(), rect.Index(3).Float64())
		sx, sy := 1.0, 1.0
		if right > left && top > bottom {
			sx, sy = (rr-rl)/(right-left), (rt-rb)/(top-bottom)
		}
		fit := pdfMatrix{sx, 0, 0, sy, rl - left*sx, rb - bottom*sy}
		data, err := f.stream(form)
		if err != nil {
			return err
		}
		if err := p.paint(data, form.Key("Resources"), m.then(fit)); err != nil {
			return err
		}
	}
	return nil
}

func transformedBox(m pdfMatrix, box pdf.Value) (left, bottom, right, top float64) {
	for i, at := range [4][2]int{{0, 1}, {2, 1}, {2, 3}, {0, 3}} {
		x, y := m.apply(box.Index(at[0]).Float64(), box.Index(at[1]).Float64())
		if i == 0 {
			left, right, bottom, top = x, x, y, y
		}
		left, right, bottom, top = min(left, x), max(right, x), min(bottom, y), max(top, y)
	}
	return left, bottom, right, top
}
