package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An outlineEntry is a line of a file's outline, in the outline's order.
type outlineEntry struct {
	Title string  `json:"title"`
	Level int     `json:"level"`         // from 1
	Page  int     `json:"page"`          // from 1
	Top   float32 `json:"top,omitempty"` // points from the page's bottom; 0 if it is not known
}

const (
	headingLevels = 6
	headingLines  = 4   // of a heading in an outline; one less in a heading known by its looks
	headingRunes  = 160 // of a heading known by its looks
)

// markHeadings finds the headings among the lines of a document: those that the file's outline names, and those that
// are set like headings. A document with an outline that fits its text has only the former and those set like them.
// It returns the document's title, "" if it is not sure that there is one.
func markHeadings(pages [][]*pdfLine, outline []outlineEntry) (title string) {
	found := markOutline(pages, outline)
	styles := newHeadingStyles(pages)
	title = styles.title()
	if 2*found >= len(outline) && found >= 3 {
		styles.learn()
	} else {
		styles.mark()
	}
	return title
}

// headingKey returns the letters and digits of text in lower case, and the same without the name and the number of a
// part in front.
func headingKey(text string) (whole, unnumbered string) {
	fields := strings.Fields(strings.ToLower(cleanPDFLine(text)))
	whole = lettersAndDigits(fields)
	named := len(fields) > 2 && slices.Contains(partNames, fields[0])
	if named {
		fields = fields[1:]
	}
	if len(fields) > 1 {
		number := strings.TrimRight(fields[0], ".:)-–—")
		if strings.Trim(number, "0123456789.-") == "" || (named || number != fields[0]) && (len(number) == 1 || roman(number) > 0 || slices.Contains(spelledNumbers, number)) {
			fields = fields[1:]
		}
	}
	return whole, lettersAndDigits(fields)
}

var (
	partNames      = strings.Fields("chapter part section appendix annex kapitel teil abschnitt anhang chapitre partie section annexe capítulo parte sección capitolo sezione hoofdstuk глава часть раздел приложение")
	spelledNumbers = strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
)

func lettersAndDigits(fields []string) string {
	var b strings.Builder
	for _, f := range fields {
		for _, c := range f {
			if unicode.IsLetter(c) || unicode.IsDigit(c) {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// outlineLines is how many lines are looked at for all entries of an outline; a long book takes a tenth of them.
const outlineLines = 1_000_000

// markOutline marks the lines that an outline names and returns how many of its entries were found.
func markOutline(pages [][]*pdfLine, outline []outlineEntry) (found int) {
	budget := outlineLines
	for _, e := range outline {
		if e.Page < 1 || e.Page > len(pages) {
			continue
		}
		for _, page := range []int{e.Page, e.Page + 1, e.Page - 1} {
			if page < 1 || page > len(pages) {
				continue
			}
			lines := pages[page-1]
			if budget -= len(lines); budget < 0 {
				return found
			}
			from, to := findOutlineEntry(lines, e, page == e.Page)
			if from == to {
				continue
			}
			for i := from; i < to; i++ {
				lines[i].heading, lines[i].starts = min(max(1, e.Level), headingLevels), i == from
			}
			if to < len(lines) {
				lines[to].starts = true
			}
			found++
			break
		}
	}
	return found
}

// findOutlineEntry returns the lines of a page that are what an entry names: the largest ones, and among those the
// nearest to its place.
func findOutlineEntry(lines []*pdfLine, e outlineEntry, placed bool) (from, to int) {
	whole, unnumbered := headingKey(e.Title)
	if whole == "" {
		return 0, 0
	}
	better := func(a, b *pdfLine) bool {
		if abs32(a.Size-b.Size) > 0.05*b.Size {
			return a.Size > b.Size
		}
		return placed && e.Top > 0 && abs32(a.Bottom+a.Size-e.Top) < abs32(b.Bottom+b.Size-e.Top)
	}
	for i, l := range lines {
		if l.heading > 0 || l.row != nil {
			continue
		}
		text := ""
		for j := i; j < min(len(lines), i+headingLines); j++ {
			p := lines[j]
			if p.heading > 0 || p.row != nil || j > i && !sameSize(p.rawLine, l.rawLine) && len(text) > 12 || len(text)+len(p.Text) > 2*len(e.Title)+40 {
				break
			}
			text += " " + p.Text
			w, u := headingKey(text)
			if w != whole && (u != unnumbered || utf8.RuneCountInString(u) < 3) {
				continue
			}
			if from == to || better(l, lines[from]) {
				from, to = i, j+1
			}
			break
		}
	}
	return from, to
}

// A headingStyle is how headings of a kind are set.
type headingStyle struct {
	half  int // twice the size in points
	bold  bool
	depth int // of the number in front, 0 or 1 for 1, 2 for 1.1 and so on
}

// A headingGroup is a paragraph that may be a heading.
type headingGroup struct {
	lines []*pdfLine
	style headingStyle
	text  string
	looks bool // it is set and worded like a heading
	large bool // by its size, and not only in bold
	body  bool // it is text that a heading can stand above
}

// headingStyles are the paragraphs of a document with what they look like.
type headingStyles struct {
	groups []headingGroup
	body   float32 // size of most text
}

func newHeadingStyles(pages [][]*pdfLine) *headingStyles {
	body := bodySize(pages)
	boldBody := mostlyBold(pages)
	s := &headingStyles{body: body}
	for _, lines := range pages {
		for i := 0; i < len(lines); {
			j := i + 1
			for j < len(lines) && !lines[j].starts {
				j++
			}
			s.groups = append(s.groups, newHeadingGroup(lines[i:j], body, boldBody))
			i = j
		}
	}
	return s
}

// mostlyBold says whether most of a document is bold.
func mostlyBold(pages [][]*pdfLine) bool {
	bold, all := 0, 0
	for _, lines := range pages {
		for _, l := range lines {
			all += len(l.Text)
			if l.Bold {
				bold += len(l.Text)
			}
		}
	}
	return 3*bold > all
}

func newHeadingGroup(lines []*pdfLine, body float32, boldBody bool) headingGroup {
	g := headingGroup{lines: lines}
	var text strings.Builder
	bold := true
	low, high := lines[0].Size, lines[0].Size
	for i, l := range lines {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(l.Text)
		bold = bold && l.Bold
		low, high = min(low, l.Size), max(high, l.Size)
	}
	t := text.String()
	g.style = headingStyle{half: int(2*high + 0.5), bold: bold && !boldBody, depth: max(1, numberDepth(t))}
	g.body = (len(t) > 40 || startsPDFItem(t) || lines[0].row != nil) && high < 1.12*body
	if lines[0].row != nil || lines[0].Size <= 0 || inCells(lines) || high > 1.1*low || len(lines) >= headingLines || !wordedAsHeading(t) {
		return g
	}
	g.text = t
	g.large = high > 1.12*body
	g.looks = g.large || g.style.bold && high > 0.95*body && body > 0
	return g
}

// inCells says whether parts of lines stand apart, other than a number in front.
func inCells(lines []*pdfLine) bool {
	return slices.ContainsFunc(lines, func(l *pdfLine) bool {
		return len(l.cells) > 2 || len(l.cells) == 2 && numberDepth(l.cells[0].Text+" x") == 0
	})
}

// wordedAsHeading says whether text reads like a heading and not like a sentence, an item of a list, a caption, a
// formula or a line of a table of contents.
func wordedAsHeading(t string) bool {
	runes := utf8.RuneCountInString(t)
	if runes > headingRunes || runes < 2 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(t)
	last, _ := utf8.DecodeLastRuneInString(t)
	letters, digits := 0, 0
	for _, c := range t {
		switch {
		case unicode.IsLetter(c):
			letters++
		case unicode.IsDigit(c):
			digits++
		case unicode.Is(unicode.Sm, c) && c != '+' && c != '~' && c != '<' && c != '>' || c >= 0xE000 && c <= 0xF8FF:
			return false // a formula
		}
	}
	switch {
	case unicode.IsLower(first) || !unicode.IsLetter(first) && !unicode.IsDigit(first) && !strings.ContainsRune("“\"‘'«¿¡§„「『《【", first):
		return false
	case strings.ContainsRune(".,;:-…=/。！？；：、", last) && !isNumbering(t):
		return false
	case strings.Count(t, ", ") > 2 || strings.ContainsAny(t, "∗*†‡§@"): // names of authors
		return false
	case !hasWord(t) || 2*(letters) < runes-strings.Count(t, " ")-digits/2:
		return false
	case strings.Contains(t, "...") || strings.Contains(t, ". . .") || strings.ContainsAny(t, "=|{}@\\"):
		return false
	case isCaption(t):
		return false
	}
	return true
}

// hasWord says whether text has three letters in a row, or two of a script whose words are as short.
func hasWord(t string) bool {
	run := 0
	for _, c := range t {
		switch {
		case ideographic(c) || unicode.Is(unicode.Hangul, c):
			run += 2
		case unicode.IsLetter(c) || unicode.Is(unicode.Mn, c):
			run++
		default:
			run = 0
		}
		if run >= 3 {
			return true
		}
	}
	return false
}

// isNumbering says whether text is only the name and the number of a part, as in Chapter 3.
func isNumbering(t string) bool {
	return len(strings.Fields(t)) <= 2 && numberDepth(t) == 0 && strings.HasSuffix(t, ".") && len(t) < 16
}

var captions = strings.Fields("figure fig. fig table tab. tabelle abbildung abb. tableau tabla figura рис. рисунок таблица listing algorithm source: note: 図 表 图")

func isCaption(t string) bool {
	first, rest, _ := strings.Cut(strings.ToLower(t), " ")
	if !slices.Contains(captions, first) {
		return false
	}
	c, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsDigit(c) || strings.HasSuffix(first, ":")
}

// numberDepth returns how deep the section number in front of text is: 1 for "3 " or "3. ", 2 for "3.1 ", 0 for text
// without one.
func numberDepth(t string) int {
	number, _, ok := strings.Cut(t, " ")
	if !ok {
		return 0
	}
	parts := strings.Split(strings.TrimSuffix(number, "."), ".")
	for i, p := range parts {
		if len(p) == 0 || len(p) > 3 {
			return 0
		}
		letter := i == 0 && len(p) == 1 && p[0] >= 'A' && p[0] <= 'Z' && len(parts) > 1
		if strings.Trim(p, "0123456789") != "" && !letter {
			return 0
		}
	}
	return len(parts)
}

// mark marks the groups that look like headings and stand like them, with levels by their styles.
func (s *headingStyles) mark() {
	var chosen []*headingGroup
	letters := map[headingStyle]int{}
	all := 0
	for i := range s.groups {
		for _, l := range s.groups[i].lines {
			letters[s.groups[i].style] += len(l.Text)
			all += len(l.Text)
		}
	}
	s.dropLabels()
	for i := 0; i < len(s.groups); {
		if !s.groups[i].looks {
			i++
			continue
		}
		j := i
		for j < len(s.groups) && s.groups[j].looks {
			j++
		}
		// Headings may follow one another, but a page of large text is no page of headings.
		run := s.groups[i:j]
		largest := 0
		for k := range run {
			if run[k].style.half > run[largest].style.half {
				largest = k
			}
		}
		for k := range run {
			if len(run) <= 3 || k == largest {
				chosen = append(chosen, &run[k])
			}
		}
		i = j
	}
	chosen = slices.DeleteFunc(chosen, func(g *headingGroup) bool { return 5*letters[g.style] > all && all > 2000 })
	var styles []headingStyle
	for _, g := range chosen {
		styles = append(styles, g.style)
	}
	slices.SortFunc(styles, func(a, b headingStyle) int {
		return cmp.Or(cmp.Compare(b.half, a.half), -compareBool(a.bold, b.bold), cmp.Compare(a.depth, b.depth))
	})
	level := map[headingStyle]int{}
	n := 0
	var first headingStyle // of the level
	for i, st := range styles {
		// Sizes that hardly differ are one.
		if i == 0 || float32(st.half) < 0.95*float32(first.half) || st.bold != first.bold || st.depth != first.depth {
			n++
			first = st
		}
		level[st] = min(n, headingLevels)
	}
	for _, g := range chosen {
		g.set(level[g.style])
	}
}

func (g *headingGroup) set(level int) {
	for _, l := range g.lines {
		l.heading = level
	}
}

// mostRepeats is how often a heading's text may stand in a document.
const mostRepeats = 3

// dropLabels takes what is repeated too often for a heading, and what is bold and has no text under it, for labels of
// forms and the like.
func (s *headingStyles) dropLabels() {
	times := map[string]int{}
	for _, g := range s.groups {
		if g.looks {
			times[g.text]++
		}
	}
	above := false // text that a heading may stand above
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := &s.groups[i]
		switch {
		case !g.looks:
			above = g.body
		case times[g.text] > mostRepeats || !g.large && !above:
			g.looks, above = false, false
		}
	}
}

// title returns the text that is set as the title of a document: before the first text of the first page, larger than
// anything else of the document. It returns "" if that is not sure.
func (s *headingStyles) title() string {
	var best *headingGroup
	for i := range s.groups {
		g := &s.groups[i]
		if g.body || g.lines[0].page != s.groups[0].lines[0].page {
			break
		}
		if g.looks && (best == nil || g.style.half > best.style.half) {
			best = g
		}
	}
	if best == nil || float32(best.style.half)/2 < 1.35*s.body || numberDepth(best.text) > 0 || len(strings.Fields(best.text)) < 2 && !strings.ContainsFunc(best.text, ideographic) {
		return ""
	}
	if slices.ContainsFunc(s.groups, func(g headingGroup) bool {
		return g.looks && g.style.half >= best.style.half && g.text != best.text
	}) {
		return ""
	}
	return best.text
}

// learn marks the groups that are set like headings which the outline names.
func (s *headingStyles) learn() {
	levels := map[headingStyle]map[int]int{}
	s.dropLabels()
	for _, g := range s.groups {
		if h := g.lines[0].heading; h > 0 {
			if levels[g.style] == nil {
				levels[g.style] = map[int]int{}
			}
			levels[g.style][h]++
		}
	}
	for i := range s.groups {
		g := &s.groups[i]
		if !g.looks || g.lines[0].heading > 0 {
			continue
		}
		best := 0
		for l := 1; l <= headingLevels; l++ {
			if n := levels[g.style][l]; n >= 2 && n > levels[g.style][best] {
				best = l
			}
		}
		if best > 0 {
			g.set(best)
		}
	}
}
