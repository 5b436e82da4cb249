package pipeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leftRunning counts lines that repeat over pages, as a key of Document.LeftOut.
const leftRunning = "running header or footer line"

const (
	edgeRows     = 5   // rows at the top and at the bottom of a page among which running lines are looked for
	longRunning  = 300 // characters from which a line is body text
	mostNumbers  = 16  // numbers of a line that are looked at
	runningPages = 3   // the pages on which a line repeats at least
)

// A runningLine is a line near the top or the bottom of a page, which may repeat on others.
type runningLine struct {
	line    *pdfLine
	bottom  bool    // near the bottom
	row     int     // from the edge, from 0
	pos     float32 // of its baseline, in points from the page's bottom
	key     string  // its text, numbers as #
	numbers []int   // those of its text
	ends    []int   // of them, those that its first and its last word are
	apart   bool    // more than the usual gap is between it and what is further inside, or it is smaller
	alone   bool    // its page has little else, or the same once more
	inner   *runningLine
	cluster *runningCluster
}

// A runningCluster are lines alike in text, place and size.
type runningCluster struct {
	lines   []*runningLine // one a page, in order
	running bool
}

// markRunning finds the lines of a document's pages that repeat over pages: headers, footers, numbers of pages.
// pages holds the lines of each page, none for a page without text.
//
// A line counts if lines alike stand at the same place of three pages or more, at the top or the bottom, with
// nothing but such lines further out. Where it carries no number that goes up with the pages, it has to be set
// apart from the text by a gap, must not be larger than it, and has to be on a good part of the pages between its
// first and its last: a table's header or the title of a slide is not running.
func markRunning(pages [][]*pdfLine) {
	body := bodySize(pages)
	var all []*runningLine
	edges := make([][2][][]*runningLine, len(pages)) // the rows of each page, top and bottom
	low, high := extent(pages)
	withText := make([]int, len(pages)+1) // pages with text up to each
	for i, lines := range pages {
		withText[i+1] = withText[i]
		if len(lines) == 0 {
			continue
		}
		withText[i+1]++
		edges[i] = edgesOf(lines, low, high)
		for _, rows := range edges[i] {
			for _, row := range rows {
				all = append(all, row...)
			}
		}
	}
	clusters := runningClusters(all)
	for _, c := range clusters {
		c.judge(body, withText)
	}
	markNumberedPlaces(clusters, withText)
	for _, peeled := range []bool{false, true} { // lines of most of a page's text are its text, where that is so on most of their pages
		for i := range pages {
			for _, l := range pages[i] {
				l.running = false
			}
			for _, rows := range edges[i] {
				peel(rows)
			}
		}
		if peeled {
			break
		}
		for _, c := range clusters {
			if c.mostOfPages(pages) {
				c.running = false
			}
		}
	}
	markLineNumbers(pages)
}

// mostOfPages says whether a cluster's lines and the running ones further out are most of the text of most pages that
// it is on, though what repeats are words and not the numbers of pages.
func (c *runningCluster) mostOfPages(pages [][]*pdfLine) bool {
	if !c.running || c.numbered() {
		return false
	}
	most := 0
	for _, r := range c.lines {
		running, all := 0, 0
		for _, l := range pages[r.line.page-1] {
			all += len(l.Text)
			if l.running && (r.bottom && l.Bottom <= r.pos || !r.bottom && l.Bottom >= r.pos) {
				running += len(l.Text)
			}
		}
		if 2*running > all {
			most++
		}
	}
	return 2*most > len(c.lines)
}

// markLineNumbers marks the numbers that count the lines of each page beside them: ten or more, each one below the one
// before, at the same place on three pages or more.
func markLineNumbers(pages [][]*pdfLine) {
	type place struct{ left, bottom int }
	columns := map[place][][]*pdfLine{}
	for _, lines := range pages {
		type numbered struct {
			*pdfLine
			n int
		}
		var numbers []numbered
		for _, l := range lines {
			if n := lineNumber(l.Text); n > 0 && l.Size > 0 {
				numbers = append(numbers, numbered{l, n})
			}
		}
		slices.SortStableFunc(numbers, func(a, b numbered) int { return cmp.Compare(b.Bottom, a.Bottom) })
		tries := 0
		for i, first := range numbers {
			if first.n != 1 {
				continue
			}
			if tries++; tries > 20 {
				break
			}
			column := []*pdfLine{first.pdfLine}
			last := first
			for _, l := range numbers[i+1:] {
				if l.n == last.n+1 && abs32(l.Left-first.Left) < 20 && last.Bottom > l.Bottom {
					column = append(column, l.pdfLine)
					last = l
				}
			}
			if len(column) >= 10 {
				p := place{int(first.Left / 4), int(first.Bottom / 4)}
				columns[p] = append(columns[p], column)
				break
			}
		}
	}
	for _, found := range columns {
		if len(found) < runningPages {
			continue
		}
		for _, column := range found {
			for _, l := range column {
				l.running = true
			}
		}
	}
}

// lineNumber returns the number that a text is, but for two other characters at most; 0 if it is none.
func lineNumber(text string) int {
	digits := strings.TrimFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if len(digits) == 0 || len(digits) > 3 || len(text) > len(digits)+2 {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// extent returns the lowest and the highest place of a line.
func extent(pages [][]*pdfLine) (low, high float32) {
	for _, lines := range pages {
		for _, l := range lines {
			low, high = min(low, l.Bottom), max(high, l.Bottom)
		}
	}
	return low, high
}

// edgesOf returns the rows at the top and the bottom of a page, outermost first. The pages' text is between low and
// high.
func edgesOf(lines []*pdfLine, low, high float32) (edges [2][][]*runningLine) {
	times := map[string]int{}
	for _, l := range lines {
		times[l.Text]++
	}
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b *pdfLine) int { return cmp.Compare(b.Bottom, a.Bottom) })
	var rows [][]*pdfLine
	for _, l := range sorted {
		if l.Size <= 0 {
			continue
		}
		if n := len(rows) - 1; n >= 0 && rows[n][0].Bottom-l.Bottom < 0.4*min(l.Size, rows[n][0].Size) {
			rows[n] = append(rows[n], l)
		} else {
			rows = append(rows, []*pdfLine{l})
		}
	}
	var raw []rawLine
	for _, l := range lines {
		raw = append(raw, l.rawLine)
	}
	lead := leading(raw)
	for side := range edges {
		var inner *runningLine
		for i := min(edgeRows, len(rows)) - 1; i >= 0; i-- {
			row, next := rows[i], i+1
			if side == 1 {
				row, next = rows[len(rows)-1-i], len(rows)-2-i
			}
			if middle := (low + high) / 2; high > 0 && (row[0].Bottom < middle) != (side == 1) {
				inner = nil
				continue
			}
			var gap, size float32 = 1e6, 0
			if next >= 0 && next < len(rows) {
				gap, size = abs32(row[0].Bottom-rows[next][0].Bottom), rows[next][0].Size
			}
			var found []*runningLine
			for _, l := range row {
				r := &runningLine{line: l, bottom: side == 1, row: i, pos: l.Bottom, inner: inner, alone: len(rows) < 3 || times[l.Text] > 1}
				r.key, r.numbers = runningKey(l.Text)
				r.ends = endNumbers(l.Text)
				usual := lead
				if usual == 0 {
					usual = 1.2 * min(l.Size, max(size, 1))
				}
				r.apart = gap > 1.5*usual || l.Size < 0.85*size
				found = append(found, r)
			}
			edges[side] = append(edges[side], found)
			inner = found[0]
		}
		slices.Reverse(edges[side])
	}
	return edges
}

// runningKey returns text with numbers as #, in lower case, and the numbers. Roman ones count where they are the first
// or the last word.
func runningKey(text string) (key string, numbers []int) {
	if len(text) > longRunning*utf8.UTFMax || utf8.RuneCountInString(text) > longRunning {
		return "", nil
	}
	fields := strings.Fields(strings.ToLower(text))
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		if n := roman(f); n > 0 && (i == 0 || i == len(fields)-1) {
			numbers = append(numbers, n)
			b.WriteByte('#')
			continue
		}
		for len(f) > 0 {
			c, size := utf8.DecodeRuneInString(f)
			if !unicode.IsDigit(c) {
				b.WriteRune(c)
				f = f[size:]
				continue
			}
			end := strings.IndexFunc(f, func(c rune) bool { return !unicode.IsDigit(c) })
			if end < 0 {
				end = len(f)
			}
			n, err := strconv.Atoi(f[:end])
			if err != nil {
				n = -1 // no page has it
			}
			numbers = append(numbers, n)
			b.WriteByte('#')
			f = f[end:]
		}
	}
	return b.String(), numbers[:min(len(numbers), mostNumbers)]
}

// endNumbers returns the numbers that the first and the last word of a text are, unless most of its words are numbers,
// as in a row of a table.
func endNumbers(text string) (ends []int) {
	if len(text) > longRunning {
		return nil
	}
	fields := strings.Fields(strings.ToLower(text))
	numbers := 0
	for i, f := range fields {
		if strings.ContainsAny(f, "0123456789") {
			numbers++
		}
		n, err := strconv.Atoi(f)
		if err != nil {
			n = roman(f)
		}
		if n <= 0 {
			continue
		}
		if i == 0 || i == len(fields)-1 {
			ends = append(ends, n)
		}
	}
	if numbers > 1 && numbers == len(fields) || numbers > 2 && 2*numbers > len(fields) {
		return nil
	}
	return ends
}

// roman returns the value of a Roman number in lower case below 400, 0 if s is none.
func roman(s string) int {
	value := map[byte]int{'i': 1, 'v': 5, 'x': 10, 'l': 50, 'c': 100}
	if len(s) == 0 || len(s) > 12 {
		return 0
	}
	n := 0
	for i := range len(s) {
		v := value[s[i]]
		if v == 0 {
			return 0
		}
		if i+1 < len(s) && v < value[s[i+1]] {
			n -= v
		} else {
			n += v
		}
	}
	if n <= 0 || romanOf(n) != s {
		return 0
	}
	return n
}

func romanOf(n int) string {
	var b strings.Builder
	for _, d := range []struct {
		value int
		mark  string
	}{{100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= d.value; n -= d.value {
			b.WriteString(d.mark)
		}
	}
	return b.String()
}

// runningClusters groups lines.
func runningClusters(all []*runningLine) []*runningCluster {
	all = slices.DeleteFunc(all, func(r *runningLine) bool { return r.key == "" })
	slices.SortStableFunc(all, func(a, b *runningLine) int {
		return cmp.Or(cmp.Compare(a.key, b.key), compareBool(a.bottom, b.bottom), cmp.Compare(a.pos, b.pos))
	})
	var clusters []*runningCluster
	for i := 0; i < len(all); {
		c := &runningCluster{}
		j := i
		for ; j < len(all); j++ {
			a, b := all[max(i, j-1)], all[j]
			if b.key != a.key || b.bottom != a.bottom || b.pos-a.pos > max(2, 0.4*min(a.line.Size, b.line.Size)) {
				break
			}
			c.lines = append(c.lines, b)
		}
		i = j
		// Those of another size are other lines.
		sizes := make([]float32, len(c.lines))
		for k, r := range c.lines {
			sizes[k] = r.line.Size
		}
		slices.Sort(sizes)
		median := sizes[len(sizes)/2]
		c.lines = slices.DeleteFunc(c.lines, func(r *runningLine) bool { return abs32(r.line.Size-median) > 0.15*median })
		slices.SortStableFunc(c.lines, func(a, b *runningLine) int { return cmp.Compare(a.line.page, b.line.page) })
		for _, r := range c.lines {
			r.cluster = c
		}
		clusters = append(clusters, c)
	}
	return clusters
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// pages counts the pages that a cluster is on.
func (c *runningCluster) pages() int {
	n := 0
	for i, r := range c.lines {
		if i == 0 || r.line.page != c.lines[i-1].line.page {
			n++
		}
	}
	return n
}

// judge says whether a cluster's lines are running by what they are themselves.
func (c *runningCluster) judge(body float32, withText []int) {
	n := c.pages()
	if n < runningPages {
		return
	}
	first, last := c.lines[0].line.page, c.lines[len(c.lines)-1].line.page
	span := withText[last] - withText[first-1]
	alone, apart, odd := 0, 0, 0
	texts := map[string]int{}
	same := 0
	for _, r := range c.lines {
		if r.alone {
			alone++
		}
		if r.isApart() {
			apart++
		}
		odd += r.line.page % 2
		texts[r.line.Text]++
		same = max(same, texts[r.line.Text])
	}
	if 10*odd <= len(c.lines) || 10*odd >= 9*len(c.lines) { // on every other page
		span = (span + 1) / 2
	}
	switch {
	case 2*alone > n:
	case c.numbered():
		c.running = 10*n >= 3*span
	case 10*n < 6*span || 10*apart < 6*n || 2*same < n || n < 5 && withText[len(withText)-1] > 12:
	case !c.lines[0].bottom && c.lines[0].line.Size > 1.2*body && n < 8: // the title of slides that go on
	default:
		c.running = true
	}
}

// isApart says whether a gap is between a line and the text, or only lines that repeat as often.
func (r *runningLine) isApart() bool {
	for range edgeRows {
		if r.apart {
			return true
		}
		if r.inner == nil || r.inner.cluster == nil || 2*r.inner.cluster.pages() < r.cluster.pages() {
			return false
		}
		r = r.inner
	}
	return false
}

// numbered says whether one of the numbers of a cluster's lines goes up with the pages.
func (c *runningCluster) numbered() bool {
	for slot := range c.lines[0].numbers {
		steps, up := 0, 0
		for i := 1; i < len(c.lines); i++ {
			p, r := c.lines[i-1], c.lines[i]
			if pages := r.line.page - p.line.page; pages > 0 && slot < len(p.numbers) && slot < len(r.numbers) {
				steps++
				if r.numbers[slot]-p.numbers[slot] == pages {
					up++
				}
			}
		}
		if up >= runningPages-1 && 4*up >= 3*steps {
			return true
		}
	}
	return false
}

// markNumberedPlaces makes lines running that stand at the same place as others and carry, first or last, a number
// that goes up with the pages, though the words beside it change from page to page or from chapter to chapter.
func markNumberedPlaces(clusters []*runningCluster, withText []int) {
	type place struct {
		bottom bool
		pos    int // in steps of 4 points
		offset int // of the number to the page
	}
	const step = 4
	places := map[place][]int{} // pages
	each := func(r *runningLine, do func(place)) {
		if r.alone {
			return
		}
		for _, n := range r.ends {
			for d := range 2 {
				do(place{r.bottom, int(r.pos/step) + d, n - r.line.page})
			}
		}
	}
	for _, c := range clusters {
		for _, r := range c.lines {
			each(r, func(p place) { places[p] = append(places[p], r.line.page) })
		}
	}
	good := map[place]bool{}
	for p, pages := range places {
		slices.Sort(pages)
		pages = slices.Compact(pages)
		if span := withText[pages[len(pages)-1]] - withText[pages[0]-1]; len(pages) >= runningPages && 2*len(pages) >= span {
			good[p] = true
		}
	}
	for _, c := range clusters {
		if c.running {
			continue
		}
		in := 0
		for _, r := range c.lines {
			found := false
			each(r, func(p place) { found = found || good[p] })
			if found {
				in++
			}
		}
		c.running = in == len(c.lines)
	}
}

// peel marks the running lines of a page's edge, from the outside on: what stands further in than text is text.
func peel(rows [][]*runningLine) {
	for _, row := range rows {
		all := true
		for _, r := range row {
			if r.cluster != nil && r.cluster.running {
				r.line.running = true
			} else {
				all = false
			}
		}
		if !all {
			return
		}
	}
}
