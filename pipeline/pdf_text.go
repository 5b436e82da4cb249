package pipeline

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A rawPage is a page as an engine's reader gives it.
type rawPage struct {
	Lines    []rawLine `json:"lines,omitempty"` // in reading order
	Images   int       `json:"images,omitempty"`
	Unmapped int       `json:"unmapped,omitempty"` // glyphs that no character is known for
	Failed   string    `json:"failed,omitempty"`   // why the page can't be read

	dropped int         // characters without a meaning that were taken out of Lines
	cells   [][]rawLine // what stands apart on each of Lines, once they are joined; nil for a line of one piece
}

// A rawLine is a run of text on one baseline. Lengths are in points, y grows upwards. Size is the height of
// the text; 0 says that the place is not known.
type rawLine struct {
	Text   string  `json:"t"`
	Left   float32 `json:"l,omitempty"`
	Right  float32 `json:"r,omitempty"`
	Bottom float32 `json:"b,omitempty"` // of the baseline or the glyph's box, the same for all lines of a page
	Size   float32 `json:"s,omitempty"`
	Bold   bool    `json:"B,omitempty"` // it begins and ends in a bold font

	first, last int32 // the numbers of its first and last characters on the page, as the engine counts
}

// finishPages makes pages of raw ones: their text cleaned, their verdict given. It changes raw. Pages that are not done
// when ctx ends have failed.
func finishPages(ctx context.Context, raw []*rawPage) []Page {
	pages := make([]Page, len(raw))
	for i, r := range raw {
		if ctx.Err() != nil {
			*r = rawPage{Failed: tooLongToLayOut}
		}
		pages[i].Number = i + 1
		r.judge(&pages[i])
		r.finish()
	}
	seen := wordsOf(raw)
	for i, r := range raw {
		if v := pages[i].Verdict; v != OK && v != Garbled {
			continue
		}
		if ctx.Err() != nil {
			*r = rawPage{}
			pages[i] = Page{Number: i + 1, Verdict: Failed, Reason: tooLongToLayOut}
			continue
		}
		pages[i].Text = paragraphs(r.Lines, seen)
	}
	return pages
}

const tooLongToLayOut = "laying out its text takes too long"

// finish cleans the lines of a page and joins those that are parts of one.
func (r *rawPage) finish() {
	for i := range r.Lines {
		for _, c := range r.Lines[i].Text {
			if c == utf8.RuneError || meaningless(c) {
				r.dropped++
			}
		}
		r.Lines[i].Text = cleanPDFLine(r.Lines[i].Text)
	}
	r.Lines = slices.DeleteFunc(r.Lines, func(l rawLine) bool { return l.Text == "" })
	pieces := slices.Clone(r.Lines)
	r.Lines = joinPieces(r.Lines)
	r.cells = cellsOf(r.Lines, pieces)
	r.Lines = placed(r.Lines)
}

// invisible says whether c is left out of text: zero-width blanks, byte order marks, marks of direction. The
// joiners that Persian and the scripts of India are written with stay.
func invisible(c rune) bool {
	switch {
	case c == '\u200B', c == '\u2060', c == '\uFEFF', c == '\u200E', c == '\u200F', c == '\u061C':
		return true
	}
	return c >= '\u202A' && c <= '\u202E' || c >= '\u2066' && c <= '\u2069'
}

var ligatures = map[rune]string{
	'\uFB00': "ff", '\uFB01': "fi", '\uFB02': "fl", '\uFB03': "ffi", '\uFB04': "ffl", '\uFB05': "st", '\uFB06': "st",
}

// cleanPDFLine returns the text of a line: ligatures spelled out, runs of white space single blanks, nothing
// that is no character. A soft hyphen at its end stays as a hyphen.
func cleanPDFLine(s string) string {
	s = strings.ToValidUTF8(s, "")
	var b strings.Builder
	blank := false
	for i, c := range s {
		if unicode.IsSpace(c) {
			blank = b.Len() > 0
			continue
		}
		if c == '\u00AD' && strings.TrimSpace(s[i+len("\u00AD"):]) == "" {
			c = '-'
		}
		if c == utf8.RuneError || c == '\u00AD' || meaningless(c) || invisible(c) {
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if l, ok := ligatures[c]; ok {
			b.WriteString(l)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// joinPieces joins lines that are parts of one line: on the same baseline, or raised or lowered a little,
// and further right, as after a superscript or in a row of a table; further left if they are written so.
func joinPieces(lines []rawLine) []rawLine {
	out := lines[:0]
	for _, l := range lines {
		if n := len(out) - 1; n >= 0 && l.Size > 0 && out[n].Size > 0 && out[n].join(l) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// join adds l to p if it goes on with the same line.
func (p *rawLine) join(l rawLine) bool {
	size := max(p.Size, l.Size)
	if abs32(p.Bottom-l.Bottom) >= size*0.45 || strings.HasSuffix(p.Text, "-") {
		return false
	}
	gap := l.Left - p.Right
	if gap <= -size*0.3 {
		if gap = p.Left - l.Right; gap <= -size*0.3 || !strings.ContainsFunc(p.Text, rightToLeft) && !strings.ContainsFunc(l.Text, rightToLeft) {
			return false
		}
	}
	if first, _ := utf8.DecodeRuneInString(l.Text); gap > size*0.12 && !strings.ContainsRune(",.;:)]", first) {
		p.Text += " "
	}
	p.Text += l.Text
	p.Left, p.Right = min(p.Left, l.Left), max(p.Right, l.Right)
	p.Bold = p.Bold && l.Bold
	if l.Size > p.Size {
		p.Size, p.Bottom = l.Size, l.Bottom
	}
	return true
}

// paragraphs returns the text of a page: lines end in LF, and an empty line stands between paragraphs. Line-end
// hyphens are taken out with what the document's words tell.
func paragraphs(lines []rawLine, seen *vocabulary) string {
	starts := paragraphStarts(lines)
	var b strings.Builder
	for i, l := range lines {
		text := l.Text
		if i > 0 {
			switch {
			case starts[i]:
				b.WriteString("\n\n")
			case lineEnd(lines[i-1].Text, text, seen) <= hardHyphen:
			default:
				b.WriteByte('\n')
			}
		}
		if i+1 < len(lines) && !starts[i+1] && lineEnd(text, lines[i+1].Text, seen) == softHyphen {
			text = withoutHyphen(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// placed returns lines with a place for each, as on a typewriter, if most have none.
func placed(lines []rawLine) []rawLine {
	unplaced := 0
	for _, l := range lines {
		if l.Size <= 0 {
			unplaced++
		}
	}
	if 2*unplaced <= len(lines) {
		return lines
	}
	out := make([]rawLine, len(lines))
	for i, l := range lines {
		out[i] = rawLine{Text: l.Text, Right: 6 * float32(utf8.RuneCountInString(l.Text)), Bottom: -12 * float32(i), Size: 10}
	}
	return out
}

// leading is the usual distance from line to line: the median of the steps down between lines of one size.
func leading(lines []rawLine) float32 {
	var steps []float32
	for i := 1; i < len(lines); i++ {
		p, l := lines[i-1], lines[i]
		if step := p.Bottom - l.Bottom; step > 0.5*l.Size && step < 3*l.Size && sameSize(p, l) {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	median := steps[(len(steps)-1)/2]
	if len(steps) < 3 { // it can be the gap itself
		median = min(median, 1.5*lines[0].Size)
	}
	return median
}

func sameSize(a, b rawLine) bool { return max(a.Size, b.Size) < 1.2*min(a.Size, b.Size) }

func abs32(x float32) float32 { return max(x, -x) }

// paragraphStarts says for each line of a page whether a paragraph starts with it.
func paragraphStarts(lines []rawLine) []bool {
	starts := make([]bool, len(lines))
	lead := leading(lines)
	for i := range lines {
		starts[i] = i == 0 || paragraphStart(lines, i, lead)
	}
	return starts
}

// paragraphStart says whether a paragraph ends between line i-1 and line i.
func paragraphStart(lines []rawLine, i int, lead float32) bool {
	p, l := lines[i-1], lines[i]
	if endsInHyphen(p.Text) && startsLower(l.Text) {
		return false
	}
	if p.Size <= 0 || l.Size <= 0 {
		return !continues(p.Text, l.Text)
	}
	step := p.Bottom - l.Bottom
	usual := lead
	if usual == 0 {
		usual = 1.25 * l.Size
	}
	switch {
	case step < -0.5*l.Size || step > 3*usual: // another column, or another place on the page
		return !continues(p.Text, l.Text)
	case !sameSize(p, l) || step > 1.3*max(usual, l.Size):
		return true
	case startsPDFItem(l.Text):
		return true
	case !startsLower(l.Text) && leavesRoom(lines, i-1): // a heading, a row of a table, a line of an address, a last line
		return true
	case l.Left-p.Left > 0.8*l.Size && endsSentence(p.Text): // indented first line
		return true
	case p.Left-l.Left > 0.8*l.Size && endsSentence(p.Text) && i > 1 && abs32(lines[i-2].Left-p.Left) < 0.3*l.Size: // hanging indent
		return true
	}
	return false
}

// leavesRoom says whether line i ends early enough that the word which begins the next line would have found
// room on it, by the lines around that stand in the same column.
func leavesRoom(lines []rawLine, i int) bool {
	p := lines[i]
	var left float32 = p.Left
	var rights []float32
	for _, l := range lines[max(0, i-15):min(len(lines), i+16)] {
		if sameSize(p, l) && abs32(l.Left-p.Left) < 4*p.Size && l.Right > p.Left {
			left = min(left, l.Left)
			rights = append(rights, l.Right)
		}
	}
	if len(rights) == 0 { // a line of no width
		return false
	}
	slices.Sort(rights)
	right := rights[len(rights)*9/10]
	next := lines[i+1]
	word := next.Text
	for at, c := range word {
		if unicode.IsSpace(c) || at > 0 && (ideographic(c) || c == '-') {
			word = word[:at]
			break
		}
	}
	width := (next.Right - next.Left) * float32(utf8.RuneCountInString(word)) / float32(max(1, utf8.RuneCountInString(next.Text)))
	if p.Right+width+0.4*p.Size > right {
		return false
	}
	return endsSentence(p.Text) || p.Right-left < 0.7*(right-left)
}

// startsPDFItem says whether a line begins with a bullet or a number of a list.
func startsPDFItem(s string) bool {
	mark, rest, ok := strings.Cut(s, " ")
	if !ok || rest == "" {
		return false
	}
	if strings.Contains("•◦▪●○■□–—*-‣·", mark) {
		return true
	}
	body := strings.TrimRight(mark, ".)")
	if body == mark || len(body) > 3 || body == "" {
		return false
	}
	for _, c := range body {
		if c < '0' || c > '9' {
			return len(body) == 1 && strings.HasSuffix(mark, ")") && unicode.IsLetter(c)
		}
	}
	return true
}

func startsLower(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(c)
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, `"')]»”’`)
	c, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:;…。！？", c)
}

// continues says whether a paragraph that ends in before goes on with after, over the end of a column or a page.
func continues(before, after string) bool {
	return !endsSentence(before) && startsLower(after) && !startsPDFItem(after)
}

// unspaced says whether no blank belongs between before and after, which stood on two lines: both are of a
// script that is written without blanks.
func unspaced(before, after string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	return ideographic(a) && ideographic(b) || unicode.In(a, blankless...) && unicode.In(b, blankless...)
}

func ideographic(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana) || c >= 0x3000 && c <= 0x303F || c >= 0xFF00 && c <= 0xFF65
}

// blankless are scripts that are written without blanks between words, apart from those of China and Japan.
var blankless = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// fileEndings are what titles that are file names end in, after the dot.
var fileEndings = strings.Fields("ai cdr cgi doc docm docx dot dvi dwg eps fm frm htm html indd jpg key md odp ods odt p65 pages pdf pm5 pm6 pmd png ppt pptx ps pub qxd qxp rtf tex tif tiff txt vsd wpd xls xlsm xlsx xml")

// saneTitle returns a title from a file's metadata, or "" if it is none: programs write file names there.
func saneTitle(s string) string {
	s = strings.TrimRight(strings.ToValidUTF8(s, "\uFFFD"), "\x00")
	if strings.ContainsFunc(s, func(c rune) bool { return c == utf8.RuneError || meaningless(c) }) {
		return ""
	}
	s = cleanPDFLine(s)
	lower := strings.ToLower(s)
	letters := 0
	for _, c := range s {
		if unicode.IsLetter(c) {
			letters++
		}
	}
	if letters < 2 || len(s) > 300 || strings.Contains(lower, "untitled") || strings.HasPrefix(lower, "microsoft ") || strings.ContainsAny(s, `\`) {
		return ""
	}
	if dot := strings.LastIndexByte(lower, '.'); dot >= 0 && slices.Contains(fileEndings, lower[dot+1:]) {
		return ""
	}
	return s
}
