package pipeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pdfLines makes lines of the glyphs of a page, in the order in which they are drawn. A page whose text is
// turned is turned back.
func pdfLines(glyphs []pdfPlaced) []rawLine {
	dx, dy := mostlyAlong(glyphs)
	var lines []rawLine
	for _, r := range pdfRuns(glyphs) {
		text := r.text()
		if text == "" {
			continue
		}
		first, last := r.glyphs[0], r.glyphs[0]
		for _, g := range r.glyphs {
			if u, _, _ := g.along(); u < first.u() {
				first = g
			}
			if _, u, _ := g.along(); u > last.end() {
				last = g
			}
		}
		x0, y0 := float64(first.x0*dx)+float64(first.y0*dy), float64(first.y0*dx)-float64(first.x0*dy)
		x1, y1 := float64(last.x1*dx)+float64(last.y1*dy), float64(last.y1*dx)-float64(last.x1*dy)
		lines = append(lines, rawLine{Text: text, Left: points(min(x0, x1)), Right: points(max(x0, x1)), Bottom: points(min(y0, y1)), Size: points(r.size)})
	}
	return lines
}

func (q *pdfPlaced) u() float64   { u, _, _ := q.along(); return u }
func (q *pdfPlaced) end() float64 { _, u, _ := q.along(); return u }

// mostlyAlong returns the one of four directions that most glyphs run along.
func mostlyAlong(glyphs []pdfPlaced) (dx, dy float64) {
	var count [4]int // right, up, left, down
	for _, g := range glyphs {
		switch {
		case math.Abs(g.dx) >= math.Abs(g.dy) && g.dx > 0:
			count[0]++
		case math.Abs(g.dx) >= math.Abs(g.dy):
			count[2]++
		case g.dy > 0:
			count[1]++
		default:
			count[3]++
		}
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	return []float64{1, 0, -1, 0}[best], []float64{0, 1, 0, -1}[best]
}

// text returns the text of a run, with blanks where gaps are.
func (r *pdfRun) text() string {
	backward := slices.ContainsFunc(r.glyphs, func(g pdfPlaced) bool { return startsRightToLeft(g.text) })
	if backward {
		slices.SortStableFunc(r.glyphs, func(a, b pdfPlaced) int { return cmp.Compare(a.u(), b.u()) })
	}
	gaps := make([]float64, len(r.glyphs)) // before each glyph
	var between []float64                  // those inside words, or between letter-spaced ones
	end := math.Inf(-1)
	for i, g := range r.glyphs {
		u0, u1, _ := g.along()
		u0, u1 = min(u0, u1), max(u0, u1)
		if i > 0 {
			gaps[i] = (u0 - end) / max(g.size, 0.01)
			if strings.TrimSpace(g.text) != "" && strings.TrimSpace(r.glyphs[i-1].text) != "" {
				between = append(between, gaps[i])
			}
		}
		end = max(end, u1)
	}
	limit := pdfWordGap
	if len(between) > 4 {
		slices.Sort(between)
		if median := between[len(between)/2]; median > pdfWordGap*0.8 { // letter-spaced
			limit = median + pdfSpacedGap
		}
	}
	var pieces []string
	for i, g := range r.glyphs {
		if i > 0 && gaps[i] > limit && !(ideographicText(g.text) && ideographicText(r.glyphs[i-1].text)) {
			pieces = append(pieces, " ")
		}
		pieces = append(pieces, g.text)
	}
	if backward {
		pieces = logicalOrder(pieces)
	}
	return strings.TrimSpace(strings.Join(pieces, ""))
}

func ideographicText(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return ideographic(c)
}

// logicalOrder puts the pieces of a line with words written to the left, given from left to right, into the
// order in which they are read. Words and numbers written to the right stay as they are.
func logicalOrder(pieces []string) []string {
	left, right := 0, 0
	for _, p := range pieces {
		if startsRightToLeft(p) {
			left++
		} else if strings.ContainsFunc(p, unicode.IsLetter) {
			right++
		}
	}
	const neutral, toLeft, toRight = 0, 1, 2
	kind := func(p string) int {
		switch {
		case startsRightToLeft(p):
			return toLeft
		case strings.ContainsFunc(p, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
			return toRight
		}
		return neutral
	}
	base := toLeft
	if right > 2*left {
		base = toRight
	}
	// Runs of one direction: what is neutral joins the words around it if they agree, else the line's direction.
	var runs [][]string
	var kinds []int
	for i := 0; i < len(pieces); {
		k := kind(pieces[i])
		j := i + 1
		if k == neutral {
			k = base
		}
		last := j
		for ; j < len(pieces); j++ {
			n := kind(pieces[j])
			if n == k {
				last = j + 1
			} else if n != neutral {
				break
			}
		}
		if j == len(pieces) && k == base {
			last = j
		}
		runs, kinds = append(runs, pieces[i:last]), append(kinds, k)
		i = last
	}
	if base == toLeft {
		slices.Reverse(runs)
		slices.Reverse(kinds)
	}
	var out []string
	for i, r := range runs {
		if kinds[i] == toLeft {
			r = slices.Clone(r)
			slices.Reverse(r)
		}
		out = append(out, r...)
	}
	return out
}
