package pipeline

import (
	"bytes"
	"regexp"
	"sort"
	"strings"
)

const leftExpression = "expression of MDX"

// maxMath is the most bytes of mathematics between its marks.
const maxMath = 8 << 10

var (
	attributeList = regexp.MustCompile(`^(?:\{:[ \t]*[.#:/\w][^{}\n]*\}|\{:[ \t]*/\}|\{[.#][A-Za-z][^{}\n]*\})`)
	texCommand    = regexp.MustCompile(`(?:^|[^\\])\\[A-Za-z]{2,}|[\^_]\{|[\w)}\]]\^`)
	htmlName      = regexp.MustCompile(`^</?[A-Za-z][\w.-]*`)
)

// An inlineRewriter takes tags of templates, attribute lists and expressions of MDX out of text and protects
// mathematics from being read as markup. Code stays as it is.
type inlineRewriter struct {
	text    []byte
	out     rewriting
	done    int // of text that is in out
	lines   lineReader
	tags    tagEnds
	leftOut map[string]int
	seen    map[string]closerSearch // by the closer that was looked for

	// Of the unit that is read:
	next  map[string]int // where marks come next, or its end
	ticks map[int][]int  // where runs of ticks start, by their length; nil if not looked for
}

// rewriteInlines returns text without markup of templates, or nil if there is none.
func rewriteInlines(text []byte, leftOut map[string]int) *rewriting {
	if !mayHaveInlines(text) {
		return nil
	}
	w := &inlineRewriter{text: text, tags: closingTags(text), leftOut: leftOut}
	for at := 0; at < len(text); {
		at = w.unit(at)
	}
	if w.done == 0 {
		return nil
	}
	w.out.copy(text, w.done, len(text))
	return &w.out
}

func mayHaveInlines(text []byte) bool {
	if bytes.IndexByte(text, '$') >= 0 {
		return true
	}
	for _, mark := range []string{"{{<", "{{%", "{%", "{:", "{.", "{#", "{/*", "={", `\(`, `\[`} {
		if bytes.Contains(text, []byte(mark)) {
			return true
		}
	}
	return false
}

// replace puts something else in the place of text[from:to].
func (w *inlineRewriter) replace(from, to int, with ...string) {
	w.out.copy(w.text, w.done, from)
	w.out.insert(from, with...)
	w.done = to
}

// lineEnd returns the offset of the end of the line that at is in.
func (w *inlineRewriter) lineEnd(at int) int {
	if i := bytes.IndexByte(w.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(w.text)
}

// unit reads what begins at the start of a line: a line of code, or lines of text up to one that no span of code and no
// mathematics can cross. It returns where the next one begins.
func (w *inlineRewriter) unit(start int) int {
	end := w.lineEnd(start)
	part := w.lines.next(w.text[start:end])
	body := start + part.prefix
	switch part.kind {
	case blankLineKind:
		return end + 1
	case fenceLineKind, codeLineKind:
		w.literalTags(start, end)
		return end + 1
	}
	if next := w.region(start, body); next > 0 {
		return next
	}
	if next := w.display(start, body, end); next > 0 {
		return next
	}
	if w.text[body] == '{' && attributeList.Match(w.text[body:min(end, body+maxTag)]) {
		if m := attributeList.Find(w.text[body:min(end, body+maxTag)]); len(bytes.TrimSpace(w.text[body+len(m):end])) == 0 {
			w.leftOut[leftMarkList]++
			w.replace(body, end)
			return end + 1
		}
	}
	alone := w.text[body] == '#' || w.text[body] == '|'
	for !alone && end < len(w.text) {
		next := w.lineEnd(end + 1)
		line := w.text[end+1 : next]
		at, quote := quotePrefix(line)
		_, blanks := indentOf(line[at:])
		rest := line[at+blanks:]
		if len(rest) == 0 || quote != w.lines.quote || itemMark(rest) > 0 || rest[0] == '#' || rest[0] == '|' || rest[0] == '`' || rest[0] == '~' ||
			bytes.HasPrefix(rest, []byte("$$")) || rest[0] == '{' {
			break
		}
		w.lines.next(line)
		end = next
	}
	return w.inlines(body, end) + 1
}

// region reads tags that begin at the start of a line and hold code or a comment. It returns where what follows them
// begins, and 0 if there are none.
func (w *inlineRewriter) region(start, body int) int {
	if w.text[body] != '{' {
		return 0
	}
	open, end := w.tags.pair(w.text, body)
	if end == 0 {
		return 0
	}
	behind := end + readTag(w.text[end:]).end
	w.leftOut[leftTemplate] += 2
	inner := w.text[body+open.end : end]
	switch {
	case holdsNothing(open.name):
		w.leftOut[leftSet]++
		w.replace(body, behind)
	case bytes.IndexByte(inner, '\n') < 0:
		w.replace(body, body+open.end, open.shown, " ")
		w.codeSpan(body+open.end, end)
		w.replace(end, behind)
	default:
		prefix := string(w.text[start:body])
		language := ""
		if strings.EqualFold(open.name, "highlight") || open.name == "code" || open.name == "codeblock" {
			language = open.words
		}
		fence := fenceFor(inner)
		from := body + open.end
		if i := bytes.IndexByte(inner, '\n'); len(bytes.TrimSpace(inner[:i])) == 0 {
			from += i + 1
		}
		if open.shown != "" {
			w.replace(body, body, open.shown, "\n", strings.TrimRight(prefix, " \t"), "\n", prefix)
		}
		w.replace(body, from, fence, language, "\n")
		if from == body+open.end {
			w.out.insert(from, prefix)
		}
		to := end
		if i := bytes.LastIndexByte(w.text[from:to], '\n'); i >= 0 && len(bytes.Trim(w.text[from+i:to], " \t\n>")) == 0 {
			to = from + i
		}
		w.replace(to, behind, "\n", prefix, fence, "\n")
	}
	w.lines.text = false
	// What stands behind in the same line is text.
	if lineEnd := w.lineEnd(behind); len(bytes.TrimSpace(w.text[behind:lineEnd])) == 0 {
		return lineEnd + 1
	}
	return w.inlines(behind, w.lineEnd(behind)) + 1
}

// fenceFor returns a fence that is in no line of some code.
func fenceFor(code []byte) string {
	n := 3
	for i := 0; i < len(code); i++ {
		run := runLength(code[i:], '~')
		n = max(n, run+1)
		i += run
	}
	return strings.Repeat("~", n)
}

// codeSpan makes text[from:to] a span of code.
func (w *inlineRewriter) codeSpan(from, to int) {
	n := 1
	for i := from; i < to; i++ {
		run := runLength(w.text[i:to], '`')
		n = max(n, run+1)
		i += run
	}
	ticks := strings.Repeat("`", n)
	if len(bytes.TrimSpace(w.text[from:to])) == 0 {
		return
	}
	w.replace(from, from, ticks, " ")
	w.replace(to, to, " ", ticks)
}

// display reads mathematics that stands in lines of its own, $$ before and behind it, or \[ and \], as a block of code
// whose lines are kept. It returns where what follows begins, and 0 if there is none.
func (w *inlineRewriter) display(start, body, end int) int {
	line := bytes.TrimSpace(w.text[body:end])
	closer := "$$"
	if string(line) == `\[` {
		closer = `\]`
	} else if string(line) != "$$" {
		return 0
	}
	// Lines that were looked at before hold no closer, so each is looked at once for each closer.
	seen := w.seen[closer]
	at := end + 1
	if at < seen.to {
		if seen.stopped {
			return 0
		}
		at = seen.to
	}
	for stopped := false; at < len(w.text) && at-start < maxMath; w.look(closer, at, stopped) {
		next := w.lineEnd(at)
		prefix, _ := quotePrefix(w.text[at:next])
		rest := bytes.TrimSpace(w.text[at+prefix : next])
		if string(rest) == closer {
			prefix := string(w.text[start:body])
			w.replace(start, start, prefix, "~~~math\n")
			w.replace(next, next, "\n", prefix, "~~~\n")
			w.lines.text = false
			return next + 1
		}
		at = next + 1
		if stopped = len(rest) == 0 || bytes.HasPrefix(rest, []byte("~~~")); stopped {
			w.look(closer, at, true)
			break
		}
	}
	return 0
}

// A closerSearch is how far the closing line of mathematics was looked for in vain.
type closerSearch struct {
	to      int  // offset up to which there is none
	stopped bool // the line before it ends the search
}

func (w *inlineRewriter) look(closer string, to int, stopped bool) {
	if w.seen == nil {
		w.seen = map[string]closerSearch{}
	}
	w.seen[closer] = closerSearch{to, stopped}
}

// literalTags shows in code what {{</* name */>}} stands for.
func (w *inlineRewriter) literalTags(from, to int) {
	for {
		i := bytes.Index(w.text[from:to], []byte("/*"))
		if i < 0 {
			return
		}
		if at := from + i - len("{{<"); i >= len("{{<") {
			if t := readTag(w.text[at:to]); t.literal {
				w.literal(at, t, "<")
				from = at + t.end
				continue
			}
		}
		from += i + 2
	}
}

// literal writes a tag that is to be shown.
func (w *inlineRewriter) literal(at int, t templateTag, less string) {
	w.leftOut[leftTemplate]++
	if w.text[at+2] == '%' {
		less = "%"
	}
	w.replace(at, at+len("{{</*"), "{{", less)
	w.replace(at+t.end-len("*/>}}"), at+t.end-len(">}}"))
}

// inlines reads text[at:end] and returns where it stopped, at a line's end.
func (w *inlineRewriter) inlines(at, end int) int {
	clear(w.next)
	w.ticks = nil
	begin := at
	heading := at < end && w.text[at] == '#'
	for at < end {
		i := bytes.IndexAny(w.text[at:end], "\\`${<")
		if i < 0 {
			break
		}
		at += i
		rest := w.text[at:end]
		switch rest[0] {
		case '\\':
			n := 0
			if len(rest) > 1 && (rest[1] == '(' || rest[1] == '[') {
				n = w.escapedMath(at, end)
			}
			at += max(n, min(2, len(rest)))
		case '`':
			at += w.span(at, end)
		case '$':
			at += w.dollarMath(at, begin, end)
		case '{':
			at += w.braces(at, begin, end, heading)
			if at > end { // a tag over several lines
				end = w.lineEnd(at)
				clear(w.next)
				w.ticks = nil
			}
		case '<':
			at += w.angle(at, end)
		}
	}
	return end
}

// find returns where a mark comes next in text[at:end], which is the rest of the unit; -1 if it does not.
func (w *inlineRewriter) find(mark string, at, end int) int {
	next, ok := w.next[mark]
	if !ok || next < at {
		if next = bytes.Index(w.text[at:end], []byte(mark)); next < 0 {
			next = end
		} else {
			next += at
		}
		if w.next == nil {
			w.next = map[string]int{}
		}
		w.next[mark] = next
	}
	if next == end {
		return -1
	}
	return next
}

// span returns the length of a span of code, or of the ticks that begin none.
func (w *inlineRewriter) span(at, end int) int {
	if w.ticks == nil {
		w.ticks = map[int][]int{}
		for i := at; i < end; {
			if i += max(0, bytes.IndexByte(w.text[i:end], '`')); w.text[i] != '`' {
				break
			}
			n := runLength(w.text[i:end], '`')
			w.ticks[n] = append(w.ticks[n], i)
			i += n
		}
	}
	size := runLength(w.text[at:end], '`')
	starts := w.ticks[size]
	i := sort.SearchInts(starts, at+size)
	if i == len(starts) {
		return size
	}
	w.literalTags(at+size, starts[i])
	return starts[i] + size - at
}

// escapedMath reads \( \) and \[ \], which are escaped brackets too: what looks like mathematics is. It returns 0 if
// it does not.
func (w *inlineRewriter) escapedMath(at, end int) int {
	closer := `\)`
	if w.text[at+1] == '[' {
		closer = `\]`
	}
	to := w.find(closer, at+2, end)
	if to < 0 || to > at+maxMath {
		return 0
	}
	inner := w.text[at+2 : to]
	if i := bytes.Index(inner, w.text[at:at+2]); i >= 0 || bytes.IndexByte(inner, '`') >= 0 || !looksLikeMath(inner) {
		return 0
	}
	w.protect(at, to+2)
	return to + 2 - at
}

// looksLikeMath says whether text has commands of TeX, an index or a power, or nothing but terms of a formula. An
// escape of Markdown, such as \_, is none.
func looksLikeMath(text []byte) bool { return texCommand.Match(text) }

// protect keeps text[from:to] from being read as markup.
func (w *inlineRewriter) protect(from, to int) {
	w.out.copy(w.text, w.done, from)
	w.out.copyEscaped(w.text, from, to)
	w.done = to
}

// dollarMath reads $…$ and $$…$$ by the rules of GitHub and Pandoc: no blank follows the first dollar or stands before
// the last, behind which there is no letter or digit. It returns how far it came.
func (w *inlineRewriter) dollarMath(at, begin, end int) int {
	size := runLength(w.text[at:end], '$')
	if size > 2 {
		return size
	}
	from := at + size
	mark := strings.Repeat("$", size)
	to := from
	for {
		to = w.find(mark, to, end)
		if to < 0 || to > at+maxMath {
			return size
		}
		if w.text[to-1] != '\\' {
			break
		}
		if to++; to == end { // it is escaped
			return size
		}
	}
	inner := w.text[from:to]
	if size == 1 && (to+1 < len(w.text) && w.text[to+1] == '$') {
		return size
	}
	switch {
	case len(inner) == 0 || len(bytes.TrimSpace(inner)) == 0:
		return size
	case bytes.IndexByte(inner, '`') >= 0:
		// GitHub writes $`…`$, too.
		if size > 1 || inner[0] != '`' || inner[len(inner)-1] != '`' || bytes.Count(inner, []byte("`")) > 2 {
			return size
		}
	case size == 1 && (isBlankByte(inner[0]) || isBlankByte(inner[len(inner)-1]) ||
		at > begin && (isWordByte(w.text[at-1]) && w.text[at-1] < 0x80 || w.text[at-1] == '\\') ||
		to+1 < end && isWordByte(w.text[to+1]) && w.text[to+1] < 0x80 ||
		bytes.Contains(inner, []byte("](")) || bytes.Contains(inner, []byte("{{"))):
		return size
	}
	w.protect(at, to+size)
	return to + size - at
}

func isBlankByte(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// braces reads tags, attribute lists and comments of MDX. It returns how far it came.
func (w *inlineRewriter) braces(at, begin, end int, heading bool) int {
	rest := w.text[at:end]
	if len(rest) < 3 {
		return 1
	}
	switch {
	case rest[1] == '%' || rest[1] == '{' && (rest[2] == '<' || rest[2] == '%'):
		t := readTag(w.text[at:])
		switch {
		case t.end == 0:
			return 2
		case t.literal:
			w.literal(at, t, "&lt;")
		default:
			w.leftOut[leftTemplate]++
			shown := t.shown
			if shown != "" && at > begin && isWordByte(w.text[at-1]) {
				shown = " " + shown
			}
			after := ""
			if shown != "" && at == begin && len(bytes.TrimSpace(w.text[at+t.end:w.lineEnd(at+t.end)])) == 0 {
				after = "\n" // it is a paragraph
			}
			w.replace(at, at+t.end)
			w.out.insert(at+t.shownAt, shown, after)
			if open, to := w.tags.pair(w.text, at); to > 0 && to < end && holdsCode(open.name) {
				w.codeSpan(at+t.end, to)
				closing := readTag(w.text[to:end])
				w.replace(to, to+closing.end)
				return to + closing.end - at
			}
		}
		return t.end
	case rest[1] == '/' && rest[2] == '*':
		to := w.find("*/}", at, end)
		if to < 0 {
			return 3
		}
		w.leftOut[leftComment]++
		w.replace(at, to+len("*/}"))
		return to + len("*/}") - at
	case rest[1] == ':' || rest[1] == '.' || rest[1] == '#':
		list := attributeList.Find(rest[:min(len(rest), maxTag)])
		if list == nil {
			return 1
		}
		atEnd := at+len(list) == end || w.text[at+len(list)] == '\n'
		if heading && atEnd { // goldmark reads these
			if rest[1] == ':' {
				w.replace(at+1, at+1+len(list)-1-len(bytes.TrimLeft(list[1:], ": \t")))
			}
			return len(list)
		}
		behind := at > begin && bytes.IndexByte([]byte(")]`*_>"), w.text[at-1]) >= 0
		if !behind && !(rest[1] == ':' && atEnd) {
			return len(list)
		}
		w.leftOut[leftMarkList]++
		w.replace(at, at+len(list))
		return len(list)
	}
	return 1
}

// angle reads components of JSX whose attributes are expressions: others are tags of HTML. It returns how far it came.
func (w *inlineRewriter) angle(at, end int) int {
	rest := w.text[at:end]
	if bytes.HasPrefix(rest, []byte("<!--")) {
		if to := w.find("-->", at+2, end); to >= 0 {
			return to + len("-->") - at
		}
		return 1
	}
	rest = rest[:min(len(rest), maxTag)]
	name := htmlName.Find(rest)
	if name == nil {
		return 1
	}
	var shown []string
	braces, expressions := 0, false
	key := 0 // where an attribute's name may start
	for i := len(name); i < len(rest); i++ {
		c := rest[i]
		switch {
		case c == '{':
			braces++
			expressions = true
		case c == '}':
			braces--
			if braces < 0 {
				return 1
			}
		case braces > 0:
		case c == '"' || c == '\'':
			n := bytes.IndexByte(rest[i+1:], c)
			if n < 0 {
				return 1
			}
			if isShownAttribute(string(bytes.TrimRight(rest[key:i], "= \t\n"))) {
				shown = append(shown, string(rest[i+1:i+1+n]))
			}
			i += n + 1
			key = i + 1
		case c == '<':
			return 1
		case c == '>':
			if !expressions {
				return i + 1
			}
			w.leftOut[leftExpression]++
			w.replace(at, at+i+1, strings.Join(shown, " "))
			return i + 1
		case isBlankByte(c):
			key = i + 1
		}
	}
	return 1
}

// isShownAttribute says whether a component shows an attribute's value.
func isShownAttribute(name string) bool {
	switch name {
	case "title", "caption", "label", "summary", "heading", "alt", "description", "header":
		return true
	}
	return false
}
