package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A glyph is a character where it stands on a page. The box is as wide as the glyph's advance and as high as
// its font, in points; y grows upwards.
type glyph struct {
	c    rune
	turn uint8 // the way its line runs: 0 to the right, 1 down, 2 to the left, 3 up
	skew bool  // its line runs in none of these directions but only close to one
	lost bool  // it has no place, or, if it is a blank, the engine guesses that there is one
	l, r float32
	b, t float32
	at   int32 // its number on the page, as the engine counts
}

// A segment is a run of glyphs on one baseline without a wide gap, in a frame in which it runs to the right.
type segment struct {
	glyphs  []glyph // blanks among them
	l, r    float32
	b, t    float32
	em      float32 // an estimate of the font's size
	order   int     // where it stands in the file's order
	initial int     // of its glyphs are the large letter that a paragraph begins with
	last    glyph   // the last one that is not blank
}

func (s *segment) height() float32 { return s.t - s.b }

// layoutGlyphs makes lines of the glyphs of a page, given in the order in which the file draws them, and puts
// them in reading order. Blanks in the file are evidence only: gaps decide.
func layoutGlyphs(glyphs []glyph) []rawLine {
	lost := lostLines(glyphs)
	glyphs = slices.DeleteFunc(slices.Clone(glyphs), func(g glyph) bool { return g.lost })
	turnVertical(glyphs)
	var count [4]int
	for _, g := range glyphs {
		count[g.turn]++
	}
	turns := []uint8{0, 1, 2, 3}
	slices.SortStableFunc(turns, func(a, b uint8) int { return cmp.Compare(count[b], count[a]) })
	var lines []rawLine
	for _, turn := range turns {
		if count[turn] == 0 {
			continue
		}
		var own []glyph
		if count[turn] == len(glyphs) {
			own = glyphs
		} else {
			for _, g := range glyphs {
				if g.turn == turn {
					own = append(own, g)
				}
			}
		}
		for i := range own {
			own[i].upright()
		}
		lines = below(lines, layoutUpright(own))
	}
	return below(lines, lost)
}

// visibleGlyphs leaves out the glyphs that stand outside of a page, unless that leaves nothing.
func visibleGlyphs(glyphs []glyph, left, bottom, right, top float32) []glyph {
	out := make([]glyph, 0, len(glyphs))
	placed := 0
	for _, g := range glyphs {
		if g.lost || g.l < right && g.r > left && g.b < top && g.t > bottom {
			out = append(out, g)
			if !g.lost {
				placed++
			}
		}
	}
	if placed == 0 {
		return glyphs
	}
	return out
}

// lostLines makes lines of glyphs without a place, one under the other, by what the engine guesses.
func lostLines(glyphs []glyph) []rawLine {
	var lines []rawLine
	var text strings.Builder
	end := func() {
		if t := strings.TrimSpace(text.String()); t != "" {
			lines = append(lines, rawLine{Text: t, Right: 6 * float32(len(t)), Bottom: -12 * float32(len(lines)), Size: 10})
		}
		text.Reset()
	}
	for _, g := range glyphs {
		switch {
		case !g.lost || g.c == '\n':
			end()
		case g.c != '\r':
			text.WriteRune(g.c)
		}
	}
	end()
	return lines
}

// turnVertical finds lines of Chinese and Japanese that run down though each of their glyphs stands upright.
func turnVertical(glyphs []glyph) {
	for i := 0; i < len(glyphs); {
		j, wide := i+1, 0
		for ; j < len(glyphs) && glyphs[j].under(glyphs[j-1]); j++ {
			if ideographic(glyphs[j].c) {
				wide++
			}
		}
		if wide >= 2 && 2*wide >= j-i-1 {
			for k := i; k < j; k++ {
				glyphs[k].turn = 1
			}
		}
		i = j
	}
}

// under says whether g stands right under p without a gap.
func (g *glyph) under(p glyph) bool {
	if g.turn != 0 || p.turn != 0 || g.skew || p.skew {
		return false
	}
	height := min(g.t-g.b, p.t-p.b)
	return abs32(g.t-p.b) < 0.35*height && min(g.r, p.r)-max(g.l, p.l) > 0.6*min(g.r-g.l, p.r-p.l) && g.l < g.r
}

// upright turns the frame of a glyph so that its line runs to the right.
func (g *glyph) upright() {
	switch g.turn {
	case 1:
		g.l, g.r, g.b, g.t = -g.t, -g.b, g.l, g.r
	case 2:
		g.l, g.r, g.b, g.t = -g.r, -g.l, -g.t, -g.b
	case 3:
		g.l, g.r, g.b, g.t = g.b, g.t, -g.r, -g.l
	}
}

// below moves lines that run in another direction under those that are there, since places on a page have to
// be comparable, and adds them.
func below(lines, more []rawLine) []rawLine {
	if len(lines) == 0 || len(more) == 0 {
		return append(lines, more...)
	}
	left, bottom := lines[0].Left, lines[0].Bottom
	for _, l := range lines {
		left, bottom = min(left, l.Left), min(bottom, l.Bottom)
	}
	first, top := more[0].Left, more[0].Bottom+more[0].Size
	for _, l := range more {
		first, top = min(first, l.Left), max(top, l.Bottom+l.Size)
	}
	for _, l := range more {
		l.Left += left - first
		l.Right += left - first
		l.Bottom += bottom - 2*l.Size - top
		lines = append(lines, l)
	}
	return lines
}

func layoutUpright(glyphs []glyph) []rawLine {
	segments := joinInitials(joinNeighbours(segmentsOf(glyphs)))
	order := readingOrder(splitColumns(blocksOf(segments)))
	lines := make([]rawLine, 0, len(segments))
	for _, b := range order {
		for _, s := range b.segments {
			if l := s.line(); l.Text != "" {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// Gaps are measured in ems.
const (
	cellGap = 1.2 // the widest one inside of a segment
	wordGap = 0.1 // the smallest one between words
)

// segmentsOf cuts glyphs into segments.
func segmentsOf(glyphs []glyph) []*segment {
	var all []*segment
	var s *segment
	var blanks []glyph
	seen := map[string][]*segment{}
	end := func() {
		if s == nil {
			return
		}
		s.measure()
		if !repeated(seen, s) {
			s.order = len(all)
			all = append(all, s)
		}
		s = nil
	}
	for _, g := range glyphs {
		if unicode.IsSpace(g.c) {
			blanks = append(blanks, g)
			continue
		}
		if s != nil && s.twice(g) {
			continue
		}
		if s != nil && !s.takes(g) {
			end()
			blanks = blanks[:0]
		}
		if s == nil {
			s = &segment{l: g.l, r: g.r, b: g.b, t: g.t, em: g.size()}
			blanks = blanks[:0]
		}
		s.glyphs = append(append(s.glyphs, blanks...), g)
		blanks = blanks[:0]
		s.l, s.r = min(s.l, g.l), max(s.r, g.r)
		s.em = max(s.em, g.size())
		s.last = g
	}
	end()
	return all
}

// size estimates the size of the font of a glyph by its height.
func (g *glyph) size() float32 { return max((g.t-g.b)/1.1, 0.1) }

// twice says whether g is the last glyph drawn once more, as some programs do for bold text.
func (s *segment) twice(g glyph) bool {
	return g.c == s.last.c && !g.sameBox(s.last) && abs32(g.b-s.last.b) < 0.12*s.em && abs32(g.l-s.last.l) < 0.12*min(s.em, 2*(g.r-g.l))
}

// sameBox says whether two characters stand in one place, as those of a ligature do.
func (g *glyph) sameBox(o glyph) bool { return g.l == o.l && g.r == o.r && g.b == o.b && g.t == o.t }

// takes says whether g goes on where s ends.
func (s *segment) takes(g glyph) bool {
	p := s.last
	if p.skew != g.skew {
		return false
	}
	if g.sameBox(p) || g.onto(p) || p.onto(g) {
		return true
	}
	em := max(s.em, g.size())
	if g.skew {
		return abs32(g.l-p.l) < 2.5*em && abs32(g.b-p.b) < 2.5*em
	}
	if !sameLine(p, g) {
		return false
	}
	if gap := g.l - p.r; gap >= -0.5*em && gap <= cellGap*em {
		return true
	}
	if unicode.Is(unicode.Mn, g.c) {
		return g.l >= s.l-em && g.r <= s.r+em
	}
	if rightToLeft(g.c) || rightToLeft(p.c) || s.rightToLeft() {
		return g.r >= s.l-cellGap*em && g.l <= s.r+cellGap*em
	}
	return false
}

// sameLine says whether two neighbours stand on one line: on one baseline, or one raised or lowered a little.
func sameLine(a, b glyph) bool {
	low, high := min(a.t-a.b, b.t-b.b), max(a.t-a.b, b.t-b.b)
	if abs32(a.b-b.b) < 0.2*low {
		return true
	}
	overlap := min(a.t, b.t) - max(a.b, b.b)
	return overlap > 0.5*low && high < 3*low
}

func (s *segment) rightToLeft() bool {
	for _, g := range s.glyphs {
		if rightToLeft(g.c) {
			return true
		}
	}
	return false
}

// measure sets the box of a segment to that of most of its glyphs, and the size of its font.
func (s *segment) measure() {
	heights := map[[2]float32]int{}
	best := 0
	var width float32
	letters := 0
	for _, g := range s.glyphs {
		if unicode.IsSpace(g.c) {
			continue
		}
		box := [2]float32{g.b, g.t}
		heights[box]++
		if heights[box] > best {
			best = heights[box]
			s.b, s.t = g.b, g.t
		}
		width += g.r - g.l
		letters++
	}
	if 2*best < letters { // glyphs as high as they are drawn, or many fonts
		var low, high []float32
		for _, g := range s.glyphs {
			if !unicode.IsSpace(g.c) {
				low, high = append(low, g.b), append(high, g.t)
			}
		}
		slices.Sort(low)
		slices.Sort(high)
		if s.b, s.t = low[len(low)/10], high[len(high)-1-len(high)/10]; s.t-s.b < 0.01 {
			s.b, s.t = low[0], high[len(high)-1]
		}
	}
	if s.t-s.b < 0.1 {
		s.t = s.b + 0.1
	}
	s.em = max(s.height()/1.1, 0.1)
	if mean := width / float32(letters); letters >= 5 && mean > 0 && s.em > 2.8*mean {
		s.em = 2.8 * mean
	}
}

// repeated says whether a segment is one that is there already, drawn once more.
func repeated(seen map[string][]*segment, s *segment) bool {
	var text strings.Builder
	for _, g := range s.glyphs {
		text.WriteRune(g.c)
	}
	for _, o := range seen[text.String()] {
		if abs32(o.l-s.l) < 0.15*s.em && abs32(o.b-s.b) < 0.15*s.em {
			return true
		}
	}
	seen[text.String()] = append(seen[text.String()], s)
	return false
}

// joinNeighbours joins segments that touch on one line though other text is drawn between them.
func joinNeighbours(segments []*segment) []*segment {
	byRow := slices.Clone(segments)
	slices.SortStableFunc(byRow, func(a, b *segment) int { return cmp.Or(cmp.Compare(b.b, a.b), cmp.Compare(a.l, b.l)) })
	gone := map[*segment]bool{}
	for i, a := range byRow {
		if gone[a] {
			continue
		}
		for {
			var next *segment
			// Only those close in the sorted order can be on the same baseline.
			for j := max(0, i-40); j < min(len(byRow), i+40); j++ {
				b := byRow[j]
				if b == a || gone[b] || abs32(a.b-b.b) > 0.12*min(a.em, b.em) || abs32(a.em-b.em) > 0.3*a.em {
					continue
				}
				most := 0.5 * a.em
				if a.rightToLeft() || b.rightToLeft() {
					most = cellGap * a.em
				}
				if gap := b.l - a.r; gap > -0.15*a.em && gap < most {
					next = b
					break
				}
			}
			if next == nil || a.glyphs[0].skew || next.glyphs[0].skew {
				break
			}
			a.glyphs = append(a.glyphs, next.glyphs...)
			a.r, a.last, a.order = max(a.r, next.r), next.last, min(a.order, next.order)
			gone[next] = true
		}
	}
	return slices.DeleteFunc(segments, func(s *segment) bool { return gone[s] })
}

// joinInitials joins a large letter at the beginning of a paragraph to the line at its top.
func joinInitials(segments []*segment) []*segment {
	out := segments[:0]
	for i, s := range segments {
		if n := len(out); i > 0 && n > 0 {
			if p := out[n-1]; p.initialOf(s) {
				s.glyphs = append(slices.Clone(p.glyphs), s.glyphs...)
				s.l, s.order, s.initial = p.l, p.order, len(p.glyphs)
				out[n-1] = s
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// initialOf says whether p is a letter two lines high or more, with the line s right of its upper half.
func (p *segment) initialOf(s *segment) bool {
	if len(p.glyphs) != 1 || !unicode.IsUpper(p.last.c) || len(s.glyphs) < 4 || p.em < 1.8*s.em {
		return false
	}
	gap := s.l - p.r
	return gap > -0.3*s.em && gap < 0.8*s.em && s.t > (p.b+p.t)/2 && s.t < p.t+0.5*s.em && (unicode.IsLower(s.glyphs[0].c) || unicode.IsUpper(s.glyphs[0].c) && unicode.IsUpper(s.glyphs[1].c))
}

// A block is a group of segments that the file draws one after the other, each one below or right of the one before.
type block struct {
	segments []*segment
	flow     int // the file draws the blocks of a flow one after the other without going back up
	l, r     float32
	b, t     float32
}

func (b *block) add(s *segment) {
	if len(b.segments) == 0 {
		b.l, b.r, b.b, b.t = s.l, s.r, s.b, s.t
	}
	b.segments = append(b.segments, s)
	b.l, b.r, b.b, b.t = min(b.l, s.l), max(b.r, s.r), min(b.b, s.b), max(b.t, s.t)
}

// blocksOf groups segments.
func blocksOf(segments []*segment) []*block {
	var blocks []*block
	var b *block
	for _, s := range segments {
		if b == nil || !b.goesOn(s) {
			flow := 0
			if b != nil {
				if flow = b.flow; s.b > b.segments[len(b.segments)-1].t {
					flow++
				}
			}
			b = &block{flow: flow}
			blocks = append(blocks, b)
		}
		b.add(s)
	}
	return blocks
}

// goesOn says whether s follows the last segment of b: on its row, or under it.
func (b *block) goesOn(s *segment) bool {
	p := b.segments[len(b.segments)-1]
	em := max(p.em, s.em)
	if abs32(p.b-s.b) < 0.45*em {
		return s.l >= p.r-0.3*em || p.rightToLeft() && s.r <= p.l+0.3*em
	}
	step := p.b - s.b
	return step > 0 && step < 2.2*em && s.l < b.r && s.r > b.l && s.t <= b.b+0.6*s.height()
}

// splitColumns splits blocks whose rows the file draws across two columns of text. Rows of a table look alike, but
// their cells are shorter.
func splitColumns(blocks []*block) []*block {
	var out []*block
	flows := 0
	for _, b := range blocks {
		left, right := b.columns()
		out = append(out, left)
		for right != nil {
			flows--
			right.flow = flows // apart from that of the other blocks
			b = right
			left, right = b.columns()
			out = append(out, left)
		}
	}
	return out
}

const (
	columnRows  = 4  // the fewest rows that make columns
	columnWidth = 18 // the fewest characters of a column's line, on average
)

// columns splits a block at a gap that goes down through all of its rows. right is nil if there is none.
func (b *block) columns() (left, right *block) {
	rows, from := 0, float32(0)
	to := b.r
	letters := [2]int{}
	for i := 0; i < len(b.segments); {
		j := i + 1
		for j < len(b.segments) && abs32(b.segments[j].b-b.segments[i].b) < 0.45*b.segments[i].em {
			j++
		}
		rows++
		if j-i == 1 { // a line of one column, the last one of a paragraph perhaps
			i = j
			continue
		}
		// The column's gap is the widest one that fits to those above.
		best := -1
		for k := i; k+1 < j; k++ {
			l, r := b.segments[k].r, b.segments[k+1].l
			if rows > 1 && from > 0 && (min(r, to)-max(l, from) <= 0) {
				continue
			}
			if best < 0 || r-l > b.segments[best+1].l-b.segments[best].r {
				best = k
			}
		}
		if best < 0 {
			return b, nil
		}
		if from == 0 {
			from = b.segments[best].r
		}
		from, to = max(from, b.segments[best].r), min(to, b.segments[best+1].l)
		for k := i; k < j; k++ {
			side := 0
			if k > best {
				side = 1
			}
			letters[side] += len(b.segments[k].glyphs)
		}
		i = j
	}
	if rows < columnRows || from <= 0 || to-from <= 0 || min(letters[0], letters[1]) < columnWidth*rows {
		return b, nil
	}
	left, right = &block{flow: b.flow}, &block{}
	for _, s := range b.segments {
		switch {
		case s.r <= to:
			left.add(s)
		case s.l >= from:
			right.add(s)
		default:
			return b, nil
		}
	}
	return left, right
}

// mostBlocks is the number of blocks of a page up to which they are put in order: that takes time with the
// square of it and, for columns, with the cube.
const mostBlocks = 400

// readingOrder puts blocks in the order in which they are read. After Breuel ("High performance document
// layout analysis", 2003), a block comes before another one if both share a part of the page's width and it
// stands higher, or if it is all to the left and no third block, between the two in height, spans both. Where
// that says nothing the file's order holds.
func readingOrder(blocks []*block) []*block {
	n := len(blocks)
	if n < 2 || n > mostBlocks {
		return blocks
	}
	before := make([][]bool, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	for i, a := range blocks {
		for j, b := range blocks {
			if i != j {
				before[i][j] = precedes(a, b, blocks)
			}
		}
	}
	state := make([]uint8, n)
	out := make([]*block, 0, n)
	var visit func(j int)
	visit = func(j int) {
		if state[j] != 0 {
			return // done, or a circle: the file's order decides
		}
		state[j] = 1
		for i := range n {
			if before[i][j] {
				visit(i)
			}
		}
		state[j] = 2
		out = append(out, blocks[j])
	}
	for j := range n {
		visit(j)
	}
	return out
}

// precedes says whether a is read before b by where they stand.
func precedes(a, b *block, all []*block) bool {
	if overlap(a.l, a.r, b.l, b.r) {
		return a.b+a.t > b.b+b.t && !overlap(a.b, a.t, b.b, b.t)
	}
	if a.l > b.l {
		return false
	}
	if a.flow == b.flow {
		return false // rows of a table, notes beside their text
	}
	low, high := min(a.t, b.t), max(a.b, b.b)
	for _, c := range all {
		if c != a && c != b && c.b >= low && c.t <= high && overlap(c.l, c.r, a.l, a.r) && overlap(c.l, c.r, b.l, b.r) {
			return false
		}
	}
	return true
}

// overlap says whether two stretches share more than a touch.
func overlap(a0, a1, b0, b1 float32) bool {
	return min(a1, b1)-max(a0, b0) > 0.1*min(a1-a0, b1-b0)
}

// line makes a line of a segment.
func (s *segment) line() rawLine {
	text := s.text()
	return rawLine{Text: text, Left: round32(s.l), Right: round32(s.r), Bottom: round32(s.b), Size: round32(s.height()),
		first: s.glyphs[0].at, last: s.last.at}
}

func round32(x float32) float32 { return points(float64(x)) }

// accents are characters for accents alone, with the combining ones that mean the same. Some programs draw
// letters with accents as two glyphs in one place.
var accents = map[rune]rune{
	'`': 0x300, '´': 0x301, 'ˆ': 0x302, '^': 0x302, '˜': 0x303, '~': 0x303, '¯': 0x304, '˘': 0x306, '˙': 0x307, '¨': 0x308,
	'˚': 0x30A, '˝': 0x30B, 'ˇ': 0x30C, '¸': 0x327, '˛': 0x328,
}

// onto says whether g is an accent drawn over or under p, and what both make is a letter.
func (g *glyph) onto(p glyph) bool {
	if g.c < 0x80 && g.c != '`' && g.c != '^' && g.c != '~' || accents[g.c] == 0 || !unicode.IsLetter(p.c) {
		return false
	}
	middle := (g.l + g.r) / 2
	common := min(g.r, p.r) - max(g.l, p.l)
	return middle > p.l && middle < p.r && common > 0.6*min(g.r-g.l, p.r-p.l) && abs32(g.b-p.b) < 0.6*(p.t-p.b) && accented(p.c, g.c) != 0
}

// accented returns the letter that a letter and an accent make, 0 if there is none.
func accented(letter, accent rune) rune {
	switch letter {
	case 'ı':
		letter = 'i'
	case 'ȷ':
		letter = 'j'
	}
	made := []rune(norm.NFC.String(string([]rune{letter, accents[accent]})))
	if len(made) != 1 {
		return 0
	}
	return made[0]
}

// compose puts accents on the letters that they are drawn at.
func compose(glyphs []glyph) []glyph {
	out := make([]glyph, 0, len(glyphs))
	for i := 0; i < len(glyphs); i++ {
		g := glyphs[i]
		if accents[g.c] != 0 {
			if i+1 < len(glyphs) && g.onto(glyphs[i+1]) {
				next := glyphs[i+1]
				next.c = accented(next.c, g.c)
				out = append(out, next)
				i++
				continue
			}
			if n := len(out); n > 0 && g.onto(out[n-1]) {
				out[n-1].c = accented(out[n-1].c, g.c)
				continue
			}
		}
		out = append(out, g)
	}
	return out
}

// text is what a segment says: blanks where gaps are, in logical order.
func (s *segment) text() string {
	glyphs := compose(s.glyphs)
	if s.rightToLeft() {
		glyphs = visual(glyphs)
	}
	// What stands between two glyphs that are not blank.
	var cells []cell
	var space, before glyph
	spaced := false
	for _, g := range glyphs {
		if unicode.IsSpace(g.c) {
			if !spaced || g.r-g.l > space.r-space.l {
				space = g
			}
			spaced = true
			continue
		}
		c := cell{c: g.c}
		if n := len(cells); n > 0 {
			if c.gap = g.l - cells[n-1].r; g.sameBox(before) {
				c.gap, spaced = 0, false
			}
			c.spaced, c.space = spaced, space.r-space.l
			if n < s.initial+1 && s.initial > 0 {
				c.gap, spaced = 0, false
			}
			c.after = spaced && c.space > 0.05*s.em && space.l > before.l && g.l > space.r-0.15*c.space
		}
		c.r, before = g.r, g
		c.b, c.h = g.b, g.t-g.b
		cells = append(cells, c)
		spaced = false
	}
	tracking, limit := letterSpacing(cells, s.em)
	mark := noteMark(cells)
	out := make([]rune, 0, len(cells)+len(cells)/5)
	for i, c := range cells {
		if i > 0 && i == mark {
			out = append(out, ' ', c.c)
			continue
		}
		if unicode.IsControl(c.c) { // it stands for nothing, but it stands between words
			out = append(out, ' ', c.c, ' ')
			continue
		}
		if i > 0 && c.blank(tracking, limit, s.em) && !(ideographic(cells[i-1].c) && ideographic(c.c) && c.gap < 0.9*s.em) {
			out = append(out, ' ')
		}
		out = append(out, c.c)
	}
	return string(logical(out))
}

// noteMark returns the number of small raised characters that a line begins with, the mark of a footnote.
func noteMark(cells []cell) int {
	for i := 1; i < min(4, len(cells)); i++ {
		a, b := cells[i-1], cells[i]
		if a.h < 0.85*b.h && a.b > b.b+0.15*b.h && unicode.IsLetter(b.c) {
			return i
		}
		if abs32(a.b-b.b) > 0.02*b.h {
			break
		}
	}
	return 0
}

type cell struct {
	c      rune
	r      float32
	gap    float32 // to the one before
	spaced bool    // a blank is drawn between
	space  float32 // its width
	after  bool    // the cell begins where that blank ends
	b, h   float32 // of the glyph's box
}

// blank says whether a blank belongs before a cell.
func (c cell) blank(tracking, limit, em float32) bool {
	if c.spaced && c.after {
		return true
	}
	if c.spaced && c.space > 0.05*em {
		return c.gap-tracking > 0.3*min(c.space, 0.3*em)
	}
	return c.gap-tracking > limit
}

// letterSpacing returns the usual gap between the letters of words, and how much wider a gap between words is.
func letterSpacing(cells []cell, em float32) (tracking, limit float32) {
	limit = wordGap * em
	gaps := make([]float32, 0, len(cells))
	letters := 0
	for _, c := range cells[min(1, len(cells)):] {
		if !c.spaced {
			gaps = append(gaps, c.gap)
		}
		if unicode.IsLetter(c.c) {
			letters++
		}
	}
	if len(gaps) < 3 {
		return 0, limit
	}
	slices.Sort(gaps)
	tracking = max(0, gaps[len(gaps)/2])
	if tracking > 0.6*em || tracking > 0.2*em && letters < len(cells)/2 {
		return 0, limit
	}
	return tracking, max(limit, 0.4*tracking)
}

// rightToLeft says whether c is a letter of a script that is written from right to left.
func rightToLeft(c rune) bool {
	return c >= 0x0590 && c <= 0x08FF && !(c >= 0x0660 && c <= 0x0669) && !(c >= 0x06F0 && c <= 0x06F9) ||
		c >= 0xFB1D && c <= 0xFDFF || c >= 0xFE70 && c <= 0xFEFC || c >= 0x10800 && c <= 0x10FFF || c >= 0x1E800 && c <= 0x1EFFF
}

// visual sorts glyphs from left to right. Those of a ligature, and marks with the letter that they stand on,
// go against the order in which they are read, as all others do then.
func visual(glyphs []glyph) []glyph {
	type group struct {
		glyphs []glyph
		middle float32
	}
	var groups []group
	for i := 0; i < len(glyphs); {
		g := glyphs[i]
		j := i + 1
		for j < len(glyphs) && (glyphs[j].sameBox(g) || unicode.Is(unicode.Mn, glyphs[j].c)) {
			j++
		}
		own := slices.Clone(glyphs[i:j])
		if j != i+2 || own[1].c != lam || !strings.ContainsRune(alefs, own[0].c) { // else lam and alef, the wrong way round
			slices.Reverse(own)
		}
		groups = append(groups, group{own, g.l + g.r})
		i = j
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.middle, b.middle) })
	out := make([]glyph, 0, len(glyphs))
	for _, g := range groups {
		out = append(out, g.glyphs...)
	}
	return out
}

const (
	lam   = 'ل'
	alefs = "اأإآٱ"
)

// logical puts characters, given as they stand from left to right, in the order in which they are read.
func logical(line []rune) []rune {
	right, left := 0, 0
	for _, c := range line {
		switch {
		case rightToLeft(c):
			right++
		case unicode.IsLetter(c):
			left++
		}
	}
	if right == 0 {
		return line
	}
	kind := make([]uint8, len(line)) // 1 left to right, 2 right to left, 0 neutral, 3 digit
	for i, c := range line {
		switch {
		case rightToLeft(c):
			kind[i] = 2
		case unicode.IsLetter(c):
			kind[i] = 1
		case unicode.IsDigit(c):
			kind[i] = 3
		}
	}
	resolve(line, kind, right >= left)
	if right >= left {
		slices.Reverse(line)
		slices.Reverse(kind)
		reverseRuns(line, kind, 1)
		return brackets(line)
	}
	reverseRuns(line, kind, 2)
	return line
}

// resolve gives digits and neutral characters a direction: digits run from left to right, single separators
// between digits with them, other neutral ones as both neighbours do, or else as the line does.
func resolve(line []rune, kind []uint8, right bool) {
	base := uint8(1)
	if right {
		base = 2
	}
	for i := 1; i+1 < len(line); i++ {
		if kind[i] == 0 && kind[i-1] == 3 && kind[i+1] == 3 && strings.ContainsRune(".,:/-–+", line[i]) {
			kind[i] = 3
		}
	}
	for i := range kind {
		if kind[i] == 3 {
			if !right && base == 1 && i > 0 && kind[i-1] == 2 {
				kind[i] = 1
				continue
			}
			kind[i] = 1
		}
	}
	for i := 0; i < len(kind); {
		if kind[i] != 0 {
			i++
			continue
		}
		j := i
		for j < len(kind) && kind[j] == 0 {
			j++
		}
		k := base
		if i > 0 && j < len(kind) && kind[i-1] == kind[j] {
			k = kind[j]
		}
		for ; i < j; i++ {
			kind[i] = k
		}
	}
}

func reverseRuns(line []rune, kind []uint8, of uint8) {
	for i := 0; i < len(line); {
		j := i
		for j < len(line) && kind[j] == kind[i] {
			j++
		}
		if kind[i] == of {
			slices.Reverse(line[i:j])
		}
		i = j
	}
}

// brackets turns the brackets of a line around if that makes pairs of them: some files hold the shape that is
// seen, others the character that is meant.
func brackets(line []rune) []rune {
	depth, bad := 0, 0
	for _, c := range line {
		switch c {
		case '(', '[', '{', '«':
			depth++
		case ')', ']', '}', '»':
			if depth--; depth < 0 {
				bad++
				depth = 0
			}
		}
	}
	if bad == 0 {
		return line
	}
	for i, c := range line {
		if m := strings.IndexRune("()[]{}«»", c); m >= 0 {
			pairs := []rune("()[]{}«»")
			at := slices.Index(pairs, c)
			line[i] = pairs[at^1]
		}
	}
	return line
}

// boldFont says whether a font's name is that of a bold one. TeX's names have their own words for it.
func boldFont(name string) bool {
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	lower := strings.ToLower(name)
	for _, word := range []string{"bold", "black", "heavy", "demi", "-medi"} {
		if strings.Contains(lower, word) {
			return !strings.Contains(lower, "demilight")
		}
	}
	for _, tex := range []string{"cmb", "cmssbx", "cmssdc", "sfbx", "ecbx", "tcbx", "lmbx"} {
		if strings.HasPrefix(lower, tex) {
			return true
		}
	}
	return false
}
