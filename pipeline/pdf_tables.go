package pipeline

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A pdfTable is a table found by its columns.
type pdfTable struct {
	columns [][2]float32 // from left to right: where each begins and ends
	rows    []*pdfRow
}

// A pdfRow is a row of a table; it may have several lines.
type pdfRow struct {
	table  *pdfTable
	header bool
	lines  []*pdfLine
	cells  [][]string // of each column: lines
}

const (
	tableRows    = 3   // rows of two cells or more that a table has at least
	tablePending = 8   // lines of one cell between two such rows
	tableWidth   = 4e3 // points
	tableLines   = 400 // of a page that are looked at for one table, since a false start costs all of them
)

// text returns the cells with bars between, empty ones too, but for those at the end.
func (r *pdfRow) text(seen *vocabulary) string {
	var b strings.Builder
	bars := 0
	for _, lines := range r.cells {
		if len(lines) > 0 {
			for ; bars > 0; bars-- {
				if b.Len() > 0 {
					b.WriteByte(' ')
				}
				b.WriteByte('|')
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			joinLines(&b, lines, seen)
		}
		bars++
	}
	return b.String()
}

// joinLines writes lines as one.
func joinLines(b *strings.Builder, lines []string, seen *vocabulary) {
	for i, text := range lines {
		if i > 0 && lineEnd(lines[i-1], text, seen) == spacedLines {
			b.WriteByte(' ')
		}
		if i+1 < len(lines) && lineEnd(text, lines[i+1], seen) == softHyphen {
			text = withoutHyphen(text)
		}
		b.WriteString(text)
	}
}

// markTables finds tables: rows of parts that stand apart, one under the other in columns.
func markTables(ctx context.Context, pages [][]*pdfLine) {
	var last *pdfTable // at the end of the page before
	for _, lines := range pages {
		if ctx.Err() != nil {
			return
		}
		ending := last
		last = nil
		for i := 0; i < len(lines); {
			end := tableEnd(lines, i)
			if end == i {
				i++
				continue
			}
			t := newPDFTable(lines[i:end])
			if t == nil {
				i++
				continue
			}
			if i == 0 && ending != nil && !t.rows[0].header && t.sameColumns(ending) {
				t.goOn(ending)
			}
			if end < len(lines) {
				lines[end].starts = true
			} else {
				last = t
			}
			i = end
		}
	}
}

// tableEnd returns the line behind a table that may begin with line i, or i if none does.
func tableEnd(lines []*pdfLine, i int) int {
	if len(lines[i].cells) < 2 {
		return i
	}
	left, right := lines[i].Left, lines[i].Right
	end, rows := i+1, 1
	for j := i + 1; j < min(len(lines), i+tableLines) && j-end <= tablePending; j++ {
		p, l := lines[j-1], lines[j]
		step := p.Bottom - l.Bottom
		beside := l.Left >= p.Right && (abs32(step) < 0.3*l.Size || rows == 1 && l.besideHead(lines[i]))
		if l.Size <= 0 || l.heading > 0 || !beside && (step < 0.3*l.Size || step > 4*l.Size) || max(p.Size, l.Size) > 1.35*min(p.Size, l.Size) {
			break
		}
		switch {
		case beside:
			right = max(right, l.Right)
			if j == end {
				end = j + 1
			}
		case len(l.cells) > 1:
			left, right = min(left, l.Left), max(right, l.Right)
			end = j + 1
			rows++
		case step > 2*l.Size || l.Left < left-l.Size || l.Right > right+2*l.Size:
			j = len(lines)
		}
	}
	if rows < tableRows {
		return i
	}
	// What hangs under the last row, in a column that is not the first.
	for end < len(lines) && end > i {
		p, l := lines[end-1], lines[end]
		if len(l.cells) > 1 || p.Bottom-l.Bottom > 1.25*l.Size || p.Bottom-l.Bottom < 0.3*l.Size || l.Left < left+2*l.Size || l.heading > 0 || l.Right > right+l.Size {
			break
		}
		end++
	}
	return end
}

// parts returns the cells of a line, itself if nothing stands apart on it.
func (l *pdfLine) parts() []rawLine {
	if l.cells != nil {
		return l.cells
	}
	return []rawLine{l.rawLine}
}

// newPDFTable makes a table of lines, or returns nil if they are none.
func newPDFTable(lines []*pdfLine) *pdfTable {
	t := &pdfTable{columns: tableColumns(lines)}
	if len(t.columns) < 2 {
		return nil
	}
	// Lines whose cells have columns of their own.
	rows, fitting := 0, 0
	for _, l := range lines {
		if len(l.cells) < 2 {
			continue
		}
		rows++
		used := -1
		fits := true
		for _, c := range l.cells {
			column := t.column(c)
			fits = fits && column > used
			used = column
		}
		if fits {
			fitting++
		}
	}
	if 5*fitting < 4*rows || t.isProse(lines) {
		return nil
	}
	head := headerLines(lines)
	stacked := stackedHead(lines)
	usual := t.rowStep(lines)
	for i, l := range lines {
		if i == 0 || i >= max(head, stacked) && t.startsRow(lines, i, usual) {
			t.rows = append(t.rows, &pdfRow{table: t, cells: make([][]string, len(t.columns))})
		}
		row := t.rows[len(t.rows)-1]
		row.lines = append(row.lines, l)
		for _, c := range l.parts() {
			column := t.column(c)
			row.cells[column] = append(row.cells[column], c.Text)
		}
	}
	filled := 0
	for _, r := range t.rows {
		if n := slices.IndexFunc(r.cells, func(c []string) bool { return len(c) > 0 }); slices.ContainsFunc(r.cells[n+1:], func(c []string) bool { return len(c) > 0 }) {
			filled++
		}
	}
	if filled < tableRows || 5*filled < 3*len(t.rows) {
		return nil
	}
	t.rows[0].header = head > 0 || t.headed()
	for _, r := range t.rows {
		for i, l := range r.lines {
			l.row, l.starts = r, i == 0
		}
	}
	return t
}

// tableColumns returns the columns of lines: what is between stretches that hardly any line has text in.
func tableColumns(lines []*pdfLine) (columns [][2]float32) {
	left, right := lines[0].Left, lines[0].Right
	var size float32
	for _, l := range lines {
		left, right, size = min(left, l.Left), max(right, l.Right), max(size, l.Size)
	}
	if right-left > tableWidth || right <= left {
		return nil
	}
	covered := make([]int, int(right-left)+2)
	rows := 0
	for _, l := range lines {
		if len(l.cells) < 2 {
			continue
		}
		rows++
		for _, c := range l.cells {
			for x := max(0, int(c.Left-left)); x <= min(len(covered)-1, int(c.Right-left)); x++ {
				covered[x]++
			}
		}
	}
	few := rows / 8
	for x := 0; x < len(covered); {
		if covered[x] <= few {
			x++
			continue
		}
		end := x
		for gap := 0; end+gap < len(covered) && float32(gap) < 0.35*size; {
			if covered[end+gap] > few {
				end += gap + 1
				gap = 0
			} else {
				gap++
			}
		}
		columns = append(columns, [2]float32{left + float32(x), left + float32(end)})
		x = end + 1
	}
	return columns
}

// column returns the column that a cell begins in, or else is nearest to.
func (t *pdfTable) column(c rawLine) int {
	best := 0
	var most float32 = -1e9
	for i, col := range t.columns {
		if overlap := min(c.Right, col[1]) - max(c.Left, col[0]); overlap > most {
			best, most = i, overlap
			if overlap > 0 && c.Left >= col[0]-1 {
				break // a cell that runs into the next column belongs where it begins
			}
		}
	}
	return best
}

// isProse says whether columns are those of running text, or items of a list or lines of code behind their marks or
// numbers.
func (t *pdfTable) isProse(lines []*pdfLine) bool {
	if len(t.columns) > 3 {
		return false
	}
	rows, long, marks, counted := 0, 0, 0, 0
	last := -1
	for _, l := range lines {
		if len(l.cells) < 2 {
			continue
		}
		rows++
		n := 0
		for _, c := range l.cells {
			if utf8.RuneCountInString(c.Text) > 28 {
				n++
			}
		}
		if n >= 2 {
			long++
		}
		if len(l.cells) == 2 {
			if isMark(l.cells[0].Text) {
				marks++
			}
			first, end := counts(l.cells[0].Text)
			if end > 0 && first > last && first <= last+3 {
				counted++
			}
			last = end
		}
	}
	return 2*long > rows || 2*marks > rows || 3*counted > 2*(rows-1)
}

// counts returns the first and the last word of text if all its words are numbers, else 0 and -1.
func counts(text string) (first, last int) {
	for i, f := range strings.Fields(text) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, -1
		}
		if last = n; i == 0 {
			first = n
		}
	}
	return first, last
}

// isMark says whether text is what stands in front of an item of a list or of a reference.
func isMark(text string) bool {
	c, n := utf8.DecodeRuneInString(text)
	return startsPDFItem(text+" x") || n == len(text) && !unicode.IsLetter(c) && !unicode.IsDigit(c) || c == '[' && len(text) < 6
}

// headerLines returns how many lines the header has, if a gap larger than the one between its lines is behind it and
// it is of several lines; 0 if that can't be told.
func headerLines(lines []*pdfLine) int {
	for i := 1; i < min(4, len(lines)-1); i++ {
		step := lines[i-1].Bottom - lines[i].Bottom
		if step > 1.25*lines[i].Size {
			if i > 1 && step > 1.4*(lines[i-2].Bottom-lines[i-1].Bottom) {
				return i
			}
			return 0
		}
	}
	return 0
}

// besideHead says whether l is beside the first line of a table, which has cells of one line, as part of a cell of two.
func (l *pdfLine) besideHead(first *pdfLine) bool {
	return abs32(first.Bottom-l.Bottom) < 1.2*l.Size && sameSize(first.rawLine, l.rawLine)
}

// stackedHead returns how many lines the first row has if some of its cells have two lines, above and below those of
// the others; 0 if none has.
func stackedHead(lines []*pdfLine) int {
	n, stacked := 1, false
	for n < len(lines) && n <= tablePending && len(lines[n].cells) < 2 && lines[n].besideHead(lines[0]) {
		stacked = stacked || abs32(lines[0].Bottom-lines[n].Bottom) > 0.3*lines[n].Size
		n++
	}
	if !stacked {
		return 0
	}
	return n
}

// rowStep returns the smallest step down to a line that has a first cell and others.
func (t *pdfTable) rowStep(lines []*pdfLine) float32 {
	var least float32 = 1e6
	for i := 1; i < len(lines); i++ {
		l := lines[i]
		if step := lines[i-1].Bottom - l.Bottom; step > 0.3*l.Size && len(l.cells) > 1 && t.column(l.cells[0]) == 0 {
			least = min(least, step)
		}
	}
	return least
}

// startsRow says whether line i begins a row. usual is the step from row to row.
func (t *pdfTable) startsRow(lines []*pdfLine, i int, usual float32) bool {
	l := lines[i]
	step := lines[i-1].Bottom - l.Bottom
	switch {
	case step < 0.3*l.Size: // beside
		return false
	case t.column(l.parts()[0]) == 0:
		// A first cell of several lines stands alone on them.
		return len(l.cells) > 1 || step > 1.2*l.Size
	case len(l.cells) < 2 && step < 0.9*usual && step < 2.5*l.Size:
		return false
	}
	return step > 1.5*l.Size
}

// headed says whether the first row names the columns: it is of words, and a column under it is of numbers.
func (t *pdfTable) headed() bool {
	for _, cell := range t.rows[0].cells {
		if len(cell) > 0 && isNumeric(cell[0]) {
			return false
		}
	}
	for column := range t.columns {
		if len(t.rows[0].cells[column]) == 0 {
			continue
		}
		numbers, all := 0, 0
		for _, r := range t.rows[1:] {
			if len(r.cells[column]) > 0 {
				all++
				if isNumeric(r.cells[column][0]) {
					numbers++
				}
			}
		}
		if numbers >= tableRows-1 && 3*numbers >= 2*all {
			return true
		}
	}
	return false
}

// isNumeric says whether text is a number or a date, with its unit or sign.
func isNumeric(text string) bool {
	digits, letters := 0, 0
	for _, c := range text {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsLetter(c):
			letters++
		}
	}
	return digits > 0 && digits >= letters || roman(strings.ToLower(text)) > 0
}

// sameColumns says whether another table's columns are these, by where they begin or end.
func (t *pdfTable) sameColumns(other *pdfTable) bool {
	return slices.EqualFunc(t.columns, other.columns, func(a, b [2]float32) bool {
		return abs32(a[0]-b[0]) < 4 || abs32(a[1]-b[1]) < 4
	})
}

// goOn makes the rows of t those of the table before it.
func (t *pdfTable) goOn(before *pdfTable) {
	for _, r := range t.rows {
		r.table = before
	}
}

// cellsApart is the gap from which parts of a line stand apart, in heights of the text.
const cellsApart = 0.9

// cellsOf returns what stands apart on each of lines, which are joined from pieces: nil for a line of one part.
func cellsOf(lines, pieces []rawLine) [][]rawLine {
	cells := make([][]rawLine, len(lines))
	at := 0
	for i, l := range lines {
		want := letters(l.Text)
		var parts []rawLine
		for have := 0; have < want && at < len(pieces); at++ {
			p := pieces[at]
			have += letters(p.Text)
			if n := len(parts) - 1; n >= 0 && p.Left-parts[n].Right < cellsApart*max(p.Size, parts[n].Size) {
				parts[n] = joinPieces([]rawLine{parts[n], p})[0]
				continue
			}
			parts = append(parts, p)
		}
		if len(parts) > 1 {
			cells[i] = parts
		}
	}
	return cells
}

// letters counts the characters of text that are no blanks.
func letters(text string) int {
	n := utf8.RuneCountInString(text)
	for _, c := range text {
		if c == ' ' {
			n--
		}
	}
	return n
}
