package pipeline

import "unicode/utf16"

// A pdfCMap maps character codes of one to four bytes to text (ToUnicode) or to glyph numbers (the encoding of
// a composite font). (PDF 1.7, 9.7.5 and 9.10.3)
type pdfCMap struct {
	spaces   []pdfCodes // the codes that there are
	texts    map[pdfCode]string
	ranges   []pdfRange
	numbers  []pdfRange
	vertical bool
}

// A pdfCode is a character code with its length: <41> and <0041> differ.
type pdfCode struct {
	length int
	code   uint32
}

type pdfCodes struct {
	length int
	lo, hi uint32
}

type pdfRange struct {
	pdfCodes
	text  []uint16 // of lo; the last unit counts on
	first int      // glyph of lo
}

// maxPDFRange is the most codes that a list of texts may cover.
const maxPDFRange = 1 << 16

func codeOf(s string) (pdfCode, bool) {
	if len(s) < 1 || len(s) > 4 {
		return pdfCode{}, false
	}
	c := pdfCode{length: len(s)}
	for i := range len(s) {
		c.code = c.code<<8 | uint32(s[i])
	}
	return c, true
}

func utf16Units(s string) []uint16 {
	if len(s) == 1 { // which is wrong, and clear
		return []uint16{uint16(s[0])}
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return units
}

func parsePDFCMap(data []byte) *pdfCMap {
	m := &pdfCMap{texts: map[pdfCode]string{}}
	l := pdfLexer{data: data}
	var operands []pdfToken
	codes := func(lo, hi string) (pdfCodes, bool) {
		a, ok := codeOf(lo)
		b, ok2 := codeOf(hi)
		return pdfCodes{a.length, a.code, b.code}, ok && ok2 && a.length == b.length && a.code <= b.code
	}
	for {
		t := l.next()
		if t.kind == pdfEnd {
			return m
		}
		if t.kind != pdfOperator {
			if len(operands) < maxPDFRange {
				operands = append(operands, t)
			}
			continue
		}
		switch t.text {
		case "begincodespacerange", "beginbfchar", "beginbfrange", "begincidchar", "begincidrange":
			operands = operands[:0]
			continue
		case "endcodespacerange":
			for i := 0; i+1 < len(operands); i += 2 {
				if c, ok := codes(operands[i].text, operands[i+1].text); ok {
					m.spaces = append(m.spaces, c)
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(operands); i += 2 {
				if c, ok := codeOf(operands[i].text); ok && operands[i+1].kind == pdfString {
					m.texts[c] = string(utf16.Decode(utf16Units(operands[i+1].text)))
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(operands); i += 3 {
				c, ok := codes(operands[i].text, operands[i+1].text)
				switch to := operands[i+2]; {
				case !ok:
				case to.kind == pdfString && c.lo == c.hi:
					m.texts[pdfCode{c.length, c.lo}] = string(utf16.Decode(utf16Units(to.text)))
				case to.kind == pdfString:
					if units := utf16Units(to.text); len(units) > 0 {
						m.ranges = append(m.ranges, pdfRange{pdfCodes: c, text: units})
					}
				case to.kind == pdfArray:
					for j, u := range to.list {
						if uint32(j) <= c.hi-c.lo {
							m.texts[pdfCode{c.length, c.lo + uint32(j)}] = string(utf16.Decode(utf16Units(u.text)))
						}
					}
				}
			}
		case "endcidchar":
			for i := 0; i+1 < len(operands); i += 2 {
				if c, ok := codes(operands[i].text, operands[i].text); ok {
					m.numbers = append(m.numbers, pdfRange{pdfCodes: c, first: int(operands[i+1].num)})
				}
			}
		case "endcidrange":
			for i := 0; i+2 < len(operands); i += 3 {
				if c, ok := codes(operands[i].text, operands[i+1].text); ok {
					m.numbers = append(m.numbers, pdfRange{pdfCodes: c, first: int(operands[i+2].num)})
				}
			}
		case "def":
			if n := len(operands); n >= 2 && operands[n-2].text == "WMode" {
				m.vertical = operands[n-1].num == 1
			}
		}
		operands = operands[:0]
	}
}

// text returns the text of a code, "" if the map has none.
func (m *pdfCMap) text(c pdfCode) (string, bool) {
	if s, ok := m.texts[c]; ok {
		return s, true
	}
	for i := len(m.ranges) - 1; i >= 0; i-- {
		if r := &m.ranges[i]; r.has(c) {
			units := append([]uint16(nil), r.text...)
			units[len(units)-1] += uint16(c.code - r.lo)
			return string(utf16.Decode(units)), true
		}
	}
	return "", false
}

// number returns the glyph of a code.
func (m *pdfCMap) number(c pdfCode) (int, bool) {
	for i := len(m.numbers) - 1; i >= 0; i-- {
		if r := &m.numbers[i]; r.has(c) {
			return r.first + int(c.code-r.lo), true
		}
	}
	return 0, false
}

func (r *pdfCodes) has(c pdfCode) bool {
	return c.length == r.length && c.code >= r.lo && c.code <= r.hi
}

// next cuts a code off s, which is not empty.
func (m *pdfCMap) next(s string) (pdfCode, string) {
	for n := 1; n <= 4 && n <= len(s); n++ {
		c, _ := codeOf(s[:n])
		for i := range m.spaces {
			if m.spaces[i].has(c) {
				return c, s[n:]
			}
		}
	}
	n := 1
	if len(m.spaces) > 0 {
		n = min(m.spaces[0].length, len(s))
	}
	c, _ := codeOf(s[:n])
	return c, s[n:]
}
