package pipeline

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// A pdfMatrix maps x, y to ax+cy+e, bx+dy+f.
type pdfMatrix struct{ a, b, c, d, e, f float64 }

var pdfIdentity = pdfMatrix{a: 1, d: 1}

// then returns the matrix that applies m first and n after it.
func (m pdfMatrix) then(n pdfMatrix) pdfMatrix {
	return pdfMatrix{
		float64(m.a*n.a) + float64(m.b*n.c), float64(m.a*n.b) + float64(m.b*n.d),
		float64(m.c*n.a) + float64(m.d*n.c), float64(m.c*n.b) + float64(m.d*n.d),
		float64(m.e*n.a) + float64(m.f*n.c) + n.e, float64(m.e*n.b) + float64(m.f*n.d) + n.f,
	}
}

func (m pdfMatrix) apply(x, y float64) (float64, float64) {
	return float64(m.a*x) + float64(m.c*y) + m.e, float64(m.b*x) + float64(m.d*y) + m.f
}

func matrixOf(v pdf.Value) pdfMatrix {
	if v.Len() != 6 {
		return pdfIdentity
	}
	n := func(i int) float64 { return v.Index(i).Float64() }
	return pdfMatrix{n(0), n(1), n(2), n(3), n(4), n(5)}
}

// A pdfState is the graphics state as far as text needs it.
type pdfState struct {
	ctm                               pdfMatrix
	font                              *pdfFont
	size, charSpace, wordSpace, width float64
	leading, rise                     float64
}

// A pdfPlaced is a glyph on the page. Its direction is a unit vector along the baseline.
type pdfPlaced struct {
	text   string
	x0, y0 float64 // where it begins on the baseline
	x1, y1 float64 // and ends
	dx, dy float64
	size   float64
}

// The most of what a page, or a form drawn on it again and again, may hold.
const (
	maxPDFOperands = 1 << 12
	maxPDFStates   = 1 << 10
	maxPDFForms    = 16 // in one another
	maxPDFGlyphs   = 1 << 20
	maxPDFContent  = 256 << 20 // bytes of content streams, each time one is drawn
)

var errPDFPage = errors.New("it draws without end")

// A pdfPainter reads what a page draws.
type pdfPainter struct {
	file     *ledongthucFile
	box      [4]float64
	glyphs   []pdfPlaced
	images   int
	unmapped int
	read     int
	depth    int
	actual   []actualText
}

// An actualText is marked content, whose text may be given (PDF 1.7, 14.9.4).
type actualText struct {
	given bool
	text  string
	first int // of the glyphs
}

// paint reads a content stream. It stops at what is over a limit.
func (p *pdfPainter) paint(data []byte, resources pdf.Value, ctm pdfMatrix) error {
	if p.read += len(data); p.read > maxPDFContent {
		return errPDFPage
	}
	s := pdfState{ctm: ctm, width: 1}
	var stack []pdfState
	var text, line pdfMatrix
	text, line = pdfIdentity, pdfIdentity
	l := pdfLexer{data: data}
	var operands []pdfToken
	num := func(i int) float64 { // counted from the last operand
		if n := len(operands) - 1 - i; n >= 0 && operands[n].kind == pdfNumber {
			return operands[n].num
		}
		return 0
	}
	last := func() pdfToken {
		if len(operands) == 0 {
			return pdfToken{}
		}
		return operands[len(operands)-1]
	}
	move := func(x, y float64) {
		line = pdfMatrix{1, 0, 0, 1, x, y}.then(line)
		text = line
	}
	marks := len(p.actual)
	defer func() { p.actual = p.actual[:min(marks, len(p.actual))] }()
	for {
		t := l.next()
		if t.kind == pdfEnd {
			return nil
		}
		if t.kind != pdfOperator {
			if len(operands) == maxPDFOperands {
				operands = operands[:0]
			}
			operands = append(operands, t)
			continue
		}
		switch t.text {
		case "q":
			if len(stack) < maxPDFStates {
				stack = append(stack, s)
			}
		case "Q":
			if n := len(stack); n > 0 {
				s, stack = stack[n-1], stack[:n-1]
			}
		case "cm":
			s.ctm = pdfMatrix{num(5), num(4), num(3), num(2), num(1), num(0)}.then(s.ctm)
		case "BT":
			text, line = pdfIdentity, pdfIdentity
		case "Tf":
			s.size = num(0)
			if n := len(operands); n >= 2 {
				s.font = p.file.font(resources.Key("Font").Key(operands[n-2].text))
			}
		case "Tc":
			s.charSpace = num(0)
		case "Tw":
			s.wordSpace = num(0)
		case "Tz":
			s.width = num(0) / 100
		case "TL":
			s.leading = num(0)
		case "Ts":
			s.rise = num(0)
		case "gs":
			if f := resources.Key("ExtGState").Key(last().text).Key("Font"); f.Len() == 2 {
				s.font, s.size = p.file.font(f.Index(0)), f.Index(1).Float64()
			}
		case "Td":
			move(num(1), num(0))
		case "TD":
			s.leading = -num(0)
			move(num(1), num(0))
		case "Tm":
			line = pdfMatrix{num(5), num(4), num(3), num(2), num(1), num(0)}
			text = line
		case "T*":
			move(0, -s.leading)
		case "Tj":
			p.show(&s, &text, last().text)
		case "'":
			move(0, -s.leading)
			p.show(&s, &text, last().text)
		case "\"":
			s.wordSpace, s.charSpace = num(2), num(1)
			move(0, -s.leading)
			p.show(&s, &text, last().text)
		case "TJ":
			for _, o := range last().list {
				switch o.kind {
				case pdfString:
					p.show(&s, &text, o.text)
				case pdfNumber:
					d := -o.num / 1000 * s.size
					if s.font != nil && s.font.vertical {
						text = pdfMatrix{1, 0, 0, 1, 0, d}.then(text)
					} else {
						text = pdfMatrix{1, 0, 0, 1, d * s.width, 0}.then(text)
					}
				}
			}
		case "BI":
			p.images++
		case "ID":
			l.skipImage()
		case "Do":
			if err := p.object(resources.Key("XObject").Key(last().text), resources, s.ctm); err != nil {
				return err
			}
		case "BMC", "BDC":
			m := actualText{first: len(p.glyphs)}
			if t.text == "BDC" {
				m.text, m.given = p.actualOf(last(), resources)
			}
			if len(p.actual) < maxPDFStates {
				p.actual = append(p.actual, m)
			}
		case "EMC":
			if n := len(p.actual); n > marks {
				p.replace(p.actual[n-1])
				p.actual = p.actual[:n-1]
			}
		}
		if len(p.glyphs) == maxPDFGlyphs {
			return errPDFPage
		}
		operands = operands[:0]
	}
}

func (p *pdfPainter) actualOf(properties pdfToken, resources pdf.Value) (string, bool) {
	if properties.kind == pdfName {
		v := resources.Key("Properties").Key(properties.text).Key("ActualText")
		return v.Text(), v.Kind() == pdf.String
	}
	for i := 0; i+1 < len(properties.list); i += 2 {
		if v := properties.list[i+1]; properties.list[i].text == "ActualText" && v.kind == pdfString {
			return pdfTextOf(v.text), true
		}
	}
	return "", false
}

// pdfTextOf decodes a text string (PDF 1.7, 7.9.2.2).
func pdfTextOf(s string) string {
	switch {
	case strings.HasPrefix(s, "\xfe\xff"):
		return string(utf16.Decode(utf16Units(s[2:])))
	case strings.HasPrefix(s, "\xef\xbb\xbf"):
		return strings.ToValidUTF8(s[3:], "")
	}
	var b strings.Builder
	for i := range len(s) {
		if c := pdfWinAnsi[s[i]]; c != 0 {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// replace puts the text that marked content has in place of what its glyphs say.
func (p *pdfPainter) replace(m actualText) {
	if !m.given || m.first >= len(p.glyphs) {
		return
	}
	first, last := p.glyphs[m.first], p.glyphs[len(p.glyphs)-1]
	if first.dx != last.dx || math.Abs(first.y0-last.y1)+math.Abs(first.x0-last.x1) > 20*first.size { // over lines
		return
	}
	first.text, first.x1, first.y1 = m.text, last.x1, last.y1
	p.glyphs = append(p.glyphs[:m.first], first)
}

// object draws a form or counts an image.
func (p *pdfPainter) object(o, resources pdf.Value, ctm pdfMatrix) error {
	switch o.Key("Subtype").Name() {
	case "Image":
		p.images++
	case "Form":
		if p.depth++; p.depth > maxPDFForms {
			p.depth--
			return nil
		}
		defer func() { p.depth-- }()
		if r := o.Key("Resources"); r.Kind() == pdf.Dict {
			resources = r
		}
		data, err := p.file.stream(o)
		if err != nil {
			return err
		}
		return p.paint(data, resources, matrixOf(o.Key("Matrix")).then(ctm))
	}
	return nil
}

// show draws a string and moves the text matrix behind it.
func (p *pdfPainter) show(s *pdfState, text *pdfMatrix, codes string) {
	if s.font == nil {
		return
	}
	s.font.glyphs(codes, func(g pdfGlyph) {
		advance := g.width*s.size + s.charSpace
		if g.space {
			advance += s.wordSpace
		}
		m := text.then(s.ctm)
		ink := g.width * s.size
		var x0, y0, x1, y1 float64
		if s.font.vertical {
			advance = -s.size + s.charSpace
			x0, y0 = m.apply(0, 0)
			x1, y1 = m.apply(0, -s.size)
			*text = pdfMatrix{1, 0, 0, 1, 0, advance}.then(*text)
		} else {
			x0, y0 = m.apply(0, s.rise)
			x1, y1 = m.apply(ink*s.width, s.rise)
			*text = pdfMatrix{1, 0, 0, 1, advance * s.width, 0}.then(*text)
		}
		if !g.known {
			p.unmapped++
			return
		}
		if g.text == " " && g.width > 0.1 && advance < pdfSqueezed*s.size && !s.font.vertical {
			return // a blank that spacing has taken back
		}
		q := pdfPlaced{text: g.text, x0: x0, y0: y0, x1: x1, y1: y1}
		q.size = math.Hypot(m.c, m.d) * math.Abs(s.size)
		q.dx, q.dy = m.a*s.size, m.b*s.size
		if s.font.vertical {
			q.dx, q.dy = -m.c*s.size, -m.d*s.size
			q.size = math.Hypot(m.a, m.b) * math.Abs(s.size)
		}
		n := math.Hypot(q.dx, q.dy)
		if !(n > 0) || len(p.glyphs) == maxPDFGlyphs || outside(x0) || outside(y0) || outside(x1) || outside(y1) || outside(q.size) ||
			x0 < p.box[0]-1 || x0 > p.box[2]+1 || y0 < p.box[1]-1 || y0 > p.box[3]+1 {
			return
		}
		q.dx, q.dy = q.dx/n, q.dy/n
		p.glyphs = append(p.glyphs, q)
	})
}

// outside says whether x is no length that a page can have.
func outside(x float64) bool { return math.IsNaN(x) || math.Abs(x) > 1e6 }

// Gaps between glyphs, as shares of the size of the text.
const (
	pdfWordGap   = 0.13 // a blank is there
	pdfSqueezed  = 0.05 // none is, though one was drawn
	pdfLineGap   = 1.8  // another line begins
	pdfBackGap   = 0.6  // the same, to the left
	pdfShift     = 0.2  // the same, up or down
	pdfAdjacent  = 0.4  // glyphs written to the left, one by one, touch
	pdfSpacedGap = 0.25 // letter-spaced words are that much closer than their words
)

// A pdfRun is glyphs on one baseline. Along it, from and to, across it, off.
type pdfRun struct {
	glyphs   []pdfPlaced
	dx, dy   float64
	from, to float64
	off      float64
	size     float64
}

func (q *pdfPlaced) along() (u0, u1, v float64) {
	return float64(q.x0*q.dx) + float64(q.y0*q.dy), float64(q.x1*q.dx) + float64(q.y1*q.dy), float64(q.y0*q.dx) - float64(q.x0*q.dy)
}

// pdfRuns cuts glyphs, in the order in which they are drawn, into runs.
func pdfRuns(glyphs []pdfPlaced) []*pdfRun {
	var runs []*pdfRun
	var r *pdfRun
	for _, g := range glyphs {
		u0, u1, v := g.along()
		u0, u1 = min(u0, u1), max(u0, u1)
		if r != nil {
			size := max(r.size, g.size)
			gap, before := u0-r.to, r.from-u1
			switch {
			case float64(r.dx*g.dx)+float64(r.dy*g.dy) < 0.999, math.Abs(v-r.off) > pdfShift*size:
				r = nil
			case gap > -pdfBackGap*size && gap < pdfLineGap*size:
				r.to = max(r.to, u1)
			case math.Abs(before) < pdfAdjacent*size && r.leftward(g.text):
				r.from = min(r.from, u0)
			case u0 >= r.from-pdfBackGap*size && u1 <= r.to && strings.TrimSpace(g.text) == "":
				continue // a blank drawn over words
			default:
				r = nil
			}
		}
		if r == nil {
			r = &pdfRun{dx: g.dx, dy: g.dy, from: u0, to: u1, off: v}
			runs = append(runs, r)
		}
		r.size = max(r.size, g.size)
		r.glyphs = append(r.glyphs, g)
	}
	return joinLeftward(runs)
}

// joinLeftward joins runs on one baseline that follow one another where a line with words written to the left
// is drawn word by word.
func joinLeftward(runs []*pdfRun) []*pdfRun {
	backward := func(r *pdfRun) bool {
		return slices.ContainsFunc(r.glyphs, func(g pdfPlaced) bool { return startsRightToLeft(g.text) })
	}
	out := runs[:0]
	for _, r := range runs {
		if n := len(out) - 1; n >= 0 {
			p := out[n]
			size := max(p.size, r.size)
			if float64(r.dx*p.dx)+float64(r.dy*p.dy) > 0.999 && math.Abs(r.off-p.off) <= pdfShift*size &&
				max(r.from-p.to, p.from-r.to) < pdfLineGap*size && (backward(p) || backward(r)) {
				p.glyphs = append(p.glyphs, r.glyphs...)
				p.from, p.to, p.size = min(p.from, r.from), max(p.to, r.to), size
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// leftward says whether text that follows the run belongs to its left.
func (r *pdfRun) leftward(text string) bool {
	if startsRightToLeft(text) {
		return true
	}
	for i := len(r.glyphs) - 1; i >= 0; i-- {
		switch {
		case startsRightToLeft(r.glyphs[i].text):
			return true
		case strings.ContainsFunc(r.glyphs[i].text, unicode.IsLetter):
			return false
		}
	}
	return false
}

func startsRightToLeft(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return rightToLeft(c)
}
