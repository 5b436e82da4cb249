package pipeline

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseText reads plain text. Paragraphs end at lines without text and at form feeds. In order, what one is:
//
//   - a line underlined by a row of = or - is a heading of level 1 or 2, with or without such a row above it;
//   - a line alone is a heading if it begins with a section's number such as 2.1, a number that goes on from the last such
//     heading, or a word like Chapter, or if it is in capitals; then lines that are indented may follow directly;
//   - a row of signs alone is left out;
//   - lines of which most begin with a time (a log), or all with a name and a colon (the head of an e-mail), are a block
//     each, with the lines that go on from it;
//   - if every line is indented by four columns or more than most of the file is, or two lines hold a tab or three blanks
//     between words, it is laid out by hand: a code block, kept as it is;
//   - otherwise a line that starts with a bullet or a number begins a list item, which takes the
//     lines up to the next one; its nesting is told by how far it is indented;
//   - the lines of anything else are joined by blanks.
//
// If there are form feeds, and not too many, the document has pages. Lines that three pages or more have at their beginning or end, but for
// numbers, are left out.
func parseText(data []byte, encoding string) *Document {
	source, failed := decodeSource(data, maxText, encoding)
	if failed != nil {
		return failed
	}
	t := &textReader{canonicalText: newCanonicalText(source), base: usualIndent(source.text)}
	t.findPages()
	var paragraph []textLine
	for line := range textLines(source.text) {
		for len(t.running) > 0 && t.running[0] < line.offset {
			t.running = t.running[1:]
		}
		if len(t.running) > 0 && t.running[0] == line.offset {
			t.leftOut[leftRunning]++
			line.text = nil
		}
		blank := isBlank(line.text)
		if !blank {
			paragraph = append(paragraph, line)
		}
		if blank || line.ends {
			t.add(paragraph)
			paragraph = paragraph[:0]
		}
	}
	t.add(paragraph)
	t.add(nil)
	d := t.document()
	t.number(d)
	d.Meta.Title = t.title
	return d
}

// maxTextPages is how many pages a text may have; one with more form feeds has none.
const maxTextPages = 20_000

// leftRuler counts lines of signs that part sections, as a key of Document.LeftOut.
const leftRuler = "row of signs"

// textLines are the lines of a text, parted at form feeds too.
func textLines(text []byte) iter.Seq[textLine] {
	return func(yield func(textLine) bool) {
		offset := 0
		for line := range bytes.Lines(text) {
			for part := range bytes.SplitAfterSeq(line, []byte("\f")) {
				l := textLine{bytes.TrimRight(part, "\n\f"), offset, bytes.HasSuffix(part, []byte("\f"))}
				offset += len(part)
				if !yield(l) {
					return
				}
			}
		}
	}
}

func isBlank(line []byte) bool {
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		if !unicode.IsSpace(r) && leftOutAs(r) == "" {
			return false
		}
		i += n
	}
	return true
}

// usualIndent returns by how many columns the body of a text is indented that is laid out as a manual page: its headings
// are in capitals, with indented lines directly below.
func usualIndent(text []byte) int {
	manual, counts := false, map[int]int{}
	var before []byte
	for line := range textLines(text) {
		indent := 0
		if !isBlank(line.text) {
			indent = min(line.indent(), 40)
			counts[indent]++
		}
		if indent >= 4 && len(before) > 0 && before[0] != ' ' && inCapitals(cleanLine(string(before[:min(len(before), 4*maxHeading)]))) {
			manual = true
		}
		before = line.text
	}
	usual := 0
	for indent := 4; manual && indent <= 40; indent++ {
		if counts[indent] > counts[usual] || usual == 0 {
			usual = indent
		}
	}
	return usual
}

// A textLine is a line without its end, and its offset in the source.
type textLine struct {
	text   []byte
	offset int
	ends   bool // its page
}

// indent returns the columns before a line's first character; tabs stop at every fourth.
func (l textLine) indent() int {
	column := 0
	for _, c := range l.text {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return column
		}
	}
	return column
}

// A textReader turns paragraphs of plain text into canonical text.
type textReader struct {
	*canonicalText
	base       int        // columns by which most lines are indented
	paragraphs int        // read so far; the items of each are a group
	held       []textLine // the paragraph that waits for the one after it
	headings   []textHeading
	title      string // an underlined heading that comes first
	section    int    // the number of the last heading that has a single one
	item       int    // the number that the last paragraph began with, if it was an item

	pages   []int // where they start in the source, if there is a form feed
	texts   []string
	page    int   // pages begun
	shared  []int // where lines start that pages share
	running []int // those that are still to come
}

// A textHeading is one that is above what follows.
type textHeading struct {
	level int
	text  string
}

// add takes the next paragraph, or none at the end.
func (t *textReader) add(lines []textLine) {
	if len(lines) == 0 && lines != nil {
		return
	}
	if len(t.held) > 0 {
		t.paragraph(t.held, lines)
	}
	t.held = append(t.held[:0], lines...)
}

// paragraph writes a paragraph that another one follows.
func (t *textReader) paragraph(lines, next []textLine) {
	t.paragraphs++
	for t.page < len(t.pages) && t.pages[t.page] <= lines[0].offset {
		t.page++
		t.canonicalText.line = 0 // a page begins in the middle of a line, too
	}
	item := 0
	defer func() { t.item = item }()
	for len(lines) > 0 {
		rest := t.heading(lines, next)
		if len(rest) == len(lines) {
			break
		}
		lines = rest
	}
	switch {
	case len(lines) == 0:
		return
	case len(lines) == 1 && isRuler(lines[0].text):
		t.leftOut[leftRuler]++
		return
	case t.records(lines):
		return
	case t.isLaidOut(lines):
		t.begin(t.block(Code, 0), nil)
		for _, line := range lines {
			t.verbatim(line.text, line.offset)
		}
		t.end()
		return
	}
	item, _ = itemNumber(lines[0].text)
	t.begin(t.block(Paragraph, 0), nil)
	var indents []int // of the items around, outermost first
	for _, line := range lines {
		if startsItem(line.text) {
			indent := line.indent()
			for len(indents) > 0 && indents[len(indents)-1] >= indent {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, indent)
			t.begin(t.block(ListItem, len(indents)), t.paragraphs)
		}
		t.words(line.text, line.offset)
		t.gap = true
	}
	t.end()
}

// block returns a block below the headings above.
func (t *textReader) block(kind BlockKind, level int) Block {
	b := Block{Kind: kind, Level: level}
	for _, h := range t.headings {
		b.Path = append(b.Path, h.text)
	}
	return b
}

// heading writes the heading that lines begin with, if they do, and returns the lines after it.
func (t *textReader) heading(lines, next []textLine) []textLine {
	title := lines
	if len(lines) >= 3 && isRuler(lines[0].text) && underlines(lines[2].text, lines[1].text) > 0 {
		title = lines[1:]
		t.leftOut[leftRuler]++
	}
	if len(title) >= 2 {
		if level := underlines(title[1].text, title[0].text); level > 0 {
			t.leftOut[leftRuler]++
			if len(t.blocks) == 0 {
				t.title = cleanLine(string(title[0].text))
			}
			t.writeHeading(title[0], level)
			return title[2:]
		}
	}
	text := cleanLine(string(lines[0].text))
	level := 0
	switch n, depth := sectionNumber(text); {
	case len(text) > 4*maxHeading || utf8.RuneCountInString(text) > maxHeading || lines[0].indent() >= 4:
	case len(lines) == 1 && depth == 1:
		// A number alone may be an item of a list.
		after := 0
		if len(next) > 0 {
			after, _ = itemNumber(next[0].text)
		}
		if n == t.section+1 && after != n+1 && (t.item == 0 || t.item != n-1) {
			t.section, level = n, 1
		}
	case len(lines) == 1 && depth == chapter:
		level = 1
	case len(lines) == 1 && depth > 1:
		level = depth
	case inCapitals(text) && (len(lines) == 1 || isBody(lines[1:], lines[0].indent())):
		level = 1
	}
	if level == 0 {
		return lines
	}
	t.writeHeading(lines[0], min(level, 6))
	return lines[1:]
}

func (t *textReader) writeHeading(line textLine, level int) {
	for len(t.headings) > 0 && t.headings[len(t.headings)-1].level >= level {
		t.headings = t.headings[:len(t.headings)-1]
	}
	t.headings = append(t.headings, textHeading{level, cleanLine(string(line.text))})
	t.begin(t.block(Heading, level), nil)
	t.words(line.text, line.offset)
	t.end()
}

// isBody says whether lines are indented below a heading.
func isBody(lines []textLine, indent int) bool {
	return !slices.ContainsFunc(lines, func(l textLine) bool { return l.indent() < indent+2 })
}

// records writes lines that are records, and says whether they are.
func (t *textReader) records(lines []textLine) bool {
	starts := startsRecord(lines)
	if starts == nil {
		return false
	}
	for i, line := range lines {
		if starts[i] || i == 0 {
			t.begin(t.block(Paragraph, 0), t.paragraphs)
		}
		t.words(line.text, line.offset)
		t.gap = true
	}
	t.end()
	return true
}

// findPages finds where pages start and which lines they share, if there is a form feed.
func (t *textReader) findPages() {
	if n := bytes.Count(t.source.text, []byte("\f")); n == 0 || n >= maxTextPages {
		return
	}
	t.pages = []int{0}
	edges := map[string]int{} // how many pages begin or end with a line, with # for numbers
	var page []textLine
	var all []pageEdge
	var text strings.Builder
	finish := func() {
		found := textEdges(page)
		all = append(all, found...)
		slices.SortFunc(found, func(a, b pageEdge) int { return strings.Compare(a.key, b.key) })
		for _, e := range slices.CompactFunc(found, func(a, b pageEdge) bool { return a.key == b.key }) {
			edges[e.key]++
		}
		page = page[:0]
		t.texts = append(t.texts, strings.TrimSpace(text.String()))
		text.Reset()
	}
	for line := range textLines(t.source.text) {
		if page = append(page, line); !isBlank(line.text) {
			text.WriteString(cleanLine(string(line.text)))
			text.WriteByte('\n')
		}
		if line.ends {
			finish()
			t.pages = append(t.pages, line.offset+len(line.text)+1)
		}
	}
	finish()
	if end := len(t.pages) - 1; t.texts[end] == "" { // a form feed ends the last page
		t.pages, t.texts = t.pages[:end], t.texts[:end]
	}
	for _, e := range all {
		if edges[e.key] >= 3 && edges[e.key]*2 > len(t.pages) {
			t.shared = append(t.shared, e.offset)
		}
	}
	t.running = t.shared
}

// A pageEdge is a line at the beginning or end of a page.
type pageEdge struct {
	key    string
	offset int
}

// textEdges returns the lines that may be a page's header or footer: up to two at each end that a line without text parts
// from the rest, or else one.
func textEdges(page []textLine) (edges []pageEdge) {
	for len(page) > 0 && isBlank(page[0].text) {
		page = page[1:]
	}
	for len(page) > 0 && isBlank(page[len(page)-1].text) {
		page = page[:len(page)-1]
	}
	add := func(line textLine) {
		if len(line.text) <= maxRunning {
			edges = append(edges, pageEdge{withoutNumbers(cleanLine(string(line.text))), line.offset})
		}
	}
	n := len(page)
	if n > 0 {
		add(page[0])
	}
	if n > 2 && !isBlank(page[1].text) && isBlank(page[2].text) {
		add(page[1])
	}
	if n > 5 && !isBlank(page[n-2].text) && isBlank(page[n-3].text) {
		add(page[n-2])
	}
	if n > 1 {
		add(page[n-1])
	}
	return edges
}

// number gives a document its pages.
func (t *textReader) number(d *Document) {
	if t.pages == nil {
		return
	}
	running := map[int][]string{}
	page := 0
	for line := range textLines(t.source.text) {
		for page < len(t.pages) && t.pages[page] <= line.offset {
			page++
		}
		if _, found := slices.BinarySearch(t.shared, line.offset); found {
			running[page] = append(running[page], cleanLine(string(line.text)))
		}
	}
	sources := make([]int, len(t.pages))
	for i, offset := range t.pages {
		sources[i] = t.source.fileOffset(offset, t.source.line(offset))
		p := Page{Number: i + 1, Text: t.texts[i], Verdict: OK, Running: running[i+1]}
		if p.Text == "" {
			p.Verdict, p.Reason = Blank, "no text"
		}
		d.Pages = append(d.Pages, p)
	}
	page = 0
	for i := range d.Segments {
		for page < len(sources) && sources[page] <= d.Segments[i].Source {
			page++
		}
		d.Segments[i].Page = page
	}
}

// isLaidOut says whether blanks matter in a paragraph: in code, in tables drawn with blanks or tabs.
func (t *textReader) isLaidOut(lines []textLine) bool {
	indented, columns := 0, 0
	for _, line := range lines {
		if line.indent() >= t.base+4 && !startsItem(line.text) {
			indented++
		}
		inner := bytes.TrimSpace(line.text)
		if bytes.IndexByte(inner, '\t') >= 0 || bytes.Contains(inner, []byte("   ")) {
			columns++
		}
	}
	return indented == len(lines) || columns >= 2
}

// bullets begin a list item when a blank follows.
var bullets = []rune("-*+•‣◦▪●–—")

// startsItem says whether a line starts with a bullet, or a number of up to three digits or one
// letter followed by '.' or ')', and a blank.
func startsItem(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	r, n := utf8.DecodeRune(line)
	switch {
	case slices.Contains(bullets, r):
	case '0' <= r && r <= '9':
		n = len(line) - len(bytes.TrimLeft(line, "0123456789"))
		if n > 3 {
			return false
		}
		fallthrough
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		if n >= len(line) || line[n] != ')' && (line[n] != '.' || 'A' <= r && r <= 'Z') {
			return false
		}
		n++
	default:
		return false
	}
	rest := line[n:]
	return len(rest) > 1 && (rest[0] == ' ' || rest[0] == '\t') && cleanLine(string(rest)) != ""
}
