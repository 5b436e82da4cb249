package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/ledongthuc/pdf"
)

// A ledongthucReader reads with ledongthuc/pdf. Files can make that library panic, overflow the stack, run
// forever or ask for any amount of memory: it belongs into a child process.
type ledongthucReader struct{}

func (ledongthucReader) read(data []byte, o PDFOptions, limits pdfLimits, emit func(pdfMessage) error) error {
	left := o.Passwords
	file, err := pdf.NewReaderEncrypted(bytes.NewReader(data), int64(len(data)), func() string {
		for len(left) > 0 && left[0] == "" { // it was tried, and ends the trials
			left = left[1:]
		}
		if len(left) == 0 {
			return ""
		}
		password := left[0]
		left = left[1:]
		return password
	})
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return notOpened(o.Passwords)
	case err != nil && strings.HasPrefix(err.Error(), "unsupported PDF: encryption"):
		return &PDFError{Encrypted, "its encryption is of a kind that ledongthuc does not read"}
	case err != nil && strings.HasPrefix(err.Error(), "not a PDF file"):
		return pdfFailed("it is no pdf as ledongthuc knows them: header or end is missing")
	case err != nil: // the error quotes the file
		return pdfFailed("ledongthuc can't open it: its tables are broken")
	}
	var title string
	pages, err := ledongthucPages(file, limits.pages)
	if err != nil {
		return err
	}
	attempt(func() { title = file.Trailer().Key("Info").Key("Title").Text() })
	if len(title) > 4096 {
		title = ""
	}
	if err := emit(pdfMessage{Count: len(pages), Title: title}); err != nil {
		return err
	}
	for i, v := range pages {
		p := &rawPage{}
		if !attempt(func() { p = ledongthucPage(pdf.Page{V: v}) }) {
			p = &rawPage{Failed: "ledongthuc can't read it"}
		}
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
			if err := walk(kids.Index(i), depth+1); err != nil {
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

// A textRun is text that is drawn in one go, from x to end on the baseline y.
type textRun struct {
	text          strings.Builder
	glyphs        int
	x, y, end     float64
	size          float64
	sized         bool    // the font says how wide its glyphs are
	last, lastGap float64 // where the last glyph begins, and the width that it was given
}

// ledongthucPage reads the glyphs of a page and sorts them into lines.
func ledongthucPage(page pdf.Page) *rawPage {
	p := &rawPage{}
	runs := textRuns(page.Content().Text)
	// Lines from top to bottom, their runs from left to right; the order in which they are drawn decides
	// between those at the same place.
	slices.SortStableFunc(runs, func(a, b *textRun) int { return cmp.Compare(b.y, a.y) })
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[0].y-runs[n].y <= 0.4*max(runs[0].size, runs[n].size) {
			n++
		}
		if l := runLine(runs[:n]); l.Text != "" {
			p.Lines = append(p.Lines, l)
		}
		runs = runs[n:]
	}
	if len(p.Lines) == 0 {
		attempt(func() { p.Images = ledongthucImages(page.V.Key("Contents"), page.Resources(), 1) })
	}
	return p
}

// textRuns joins glyphs, given in the order in which they are drawn, to runs, with a blank where a gap is.
//
// The library does not know how wide the glyphs of composite fonts and of the standard fonts are: it draws all
// of a run in one place, moved only by what the file says between them.
func textRuns(text []pdf.Text) []*textRun {
	var runs []*textRun
	var r *textRun
	turn := turnOf(text)
	for _, t := range text {
		if t.S == "\n" { // the library's own, at the end of a TJ operator
			if r != nil && !r.sized {
				r = nil
			}
			continue
		}
		if outside(t.X) || outside(t.Y) || outside(t.FontSize) || outside(t.W) {
			continue
		}
		x, y, size, width := t.X, t.Y, math.Abs(t.FontSize), math.Abs(t.W)
		turned := size < 0.01
		switch {
		case turned: // the library gives neither size nor width then
			x, y, size = turn*t.Y, -turn*t.X, 10
		case t.FontSize < 0: // upside down
			x, y = -x, -y
		}
		sized := width > 0
		if r != nil {
			gap := x - r.last - r.lastGap
			if r.sized != sized || math.Abs(y-r.y) > 0.1*size || gap < -0.5*size || gap > size && !(turned && gap < 3*size) {
				r = nil
			} else if gap > 0.15*size && t.S != " " && !turned {
				r.text.WriteByte(' ')
			}
		}
		if r == nil {
			r = &textRun{x: x, y: y, end: x, size: size, sized: sized}
			runs = append(runs, r)
		}
		r.text.WriteString(t.S)
		r.glyphs++
		r.last, r.lastGap = x, 0
		if sized {
			r.lastGap = width
			r.end = max(r.end, x+width)
		} else {
			r.end = max(r.end, x) + 0.5*size
		}
	}
	return runs
}

// turnOf says which way text turned by a right angle goes: 1 for upwards, -1 for downwards.
func turnOf(text []pdf.Text) float64 {
	up := 0
	for i := 1; i < len(text); i++ {
		if a, b := text[i-1], text[i]; math.Abs(b.FontSize) < 0.01 && a.X == b.X {
			switch {
			case b.Y > a.Y:
				up++
			case b.Y < a.Y:
				up--
			}
		}
	}
	if up < 0 {
		return -1
	}
	return 1
}

// outside says whether x is no length that a page can have.
func outside(x float64) bool { return math.IsNaN(x) || math.Abs(x) > 1e6 }

// runLine joins the runs of a line, with a blank where a gap is.
func runLine(runs []*textRun) rawLine {
	slices.SortStableFunc(runs, func(a, b *textRun) int { return cmp.Compare(a.x, b.x) })
	l := rawLine{Left: points(runs[0].x), Bottom: points(runs[0].y)}
	var text strings.Builder
	var end, size float64
	for i, r := range runs {
		if i > 0 {
			before := runs[i-1]
			if r.x-before.end > 0.15*min(r.size, before.size) || !before.sized && before.glyphs > 1 {
				text.WriteByte(' ')
			}
			end = max(end, r.end)
		} else {
			end = r.end
		}
		text.WriteString(r.text.String())
		size = max(size, r.size)
	}
	l.Right, l.Size, l.Text = points(end), points(size), strings.TrimSpace(text.String())
	return l
}

// ledongthucImages counts the images that a content stream draws, those of forms too.
func ledongthucImages(content, resources pdf.Value, depth int) int {
	images := 0
	objects := resources.Key("XObject")
	var forms []pdf.Value
	pdf.Interpret(content, func(stack *pdf.Stack, op string) {
		var last pdf.Value
		for n := stack.Len(); n > 0; n-- {
			if v := stack.Pop(); last.IsNull() {
				last = v
			}
		}
		switch op {
		case "BI":
			images++
		case "Do":
			switch o := objects.Key(last.Name()); o.Key("Subtype").Name() {
			case "Image":
				images++
			case "Form":
				if depth < 4 && len(forms) < 100 {
					forms = append(forms, o)
				}
			}
		}
	})
	for _, f := range forms {
		if images == 0 {
			images += ledongthucImages(f, f.Key("Resources"), depth+1)
		}
	}
	return images
}
