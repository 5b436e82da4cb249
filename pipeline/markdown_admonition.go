package pipeline

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What goes of the markup of tools that read Markdown, as keys of Document.LeftOut.
const (
	leftAdmonition = "admonition mark"
	leftModule     = "import or export"
	leftContents   = "mark of a table of contents"
)

// admonitionKinds are shown by their name where an admonition has no title. Other containers are layout.
var admonitionKinds = []string{
	"abstract", "attention", "bug", "caution", "danger", "error", "example", "fail", "failure", "hint", "important", "info", "note",
	"question", "seealso", "success", "summary", "tip", "tldr", "todo", "warning",
}

var (
	containerLine  = regexp.MustCompile(`^:{3,}[ \t]*(?:\{([^{}]*)\}|([A-Za-z][\w-]*))?(?:\[([^\]]*)\])?[ \t]*(.*)$`)
	admonitionLine = regexp.MustCompile(`^(?:!!!|\?\?\?\+?|===[+!]?)[ \t]*((?:[A-Za-z][\w-]*[ \t]*)*)(?:"([^"]*)")?[ \t]*$`)
	alertLine      = regexp.MustCompile(`^\[!([A-Za-z]+)\][+-]?[ \t]*(.*)$`)
	trailingMarks  = regexp.MustCompile(`[ \t]*(?:\{[^{}]*\})?[ \t]*:*[ \t]*$`)
	importLine     = regexp.MustCompile(`^import\s+(?:[\w$*{][^'"]*\sfrom\s+)?(?:'[^']+'|"[^"]+");?\s*$`)
	exportLine     = regexp.MustCompile(`^export\s+(?:(?:const|let|var)\s+[\w${[].*=|(?:default\s+)?(?:async\s+)?function\b.*[({]|(?:default\s+)?class\s.*\{|default\s+[\w$({[].*[;{(\[]\s*$|[{*])`)
	contentsLine   = regexp.MustCompile(`^(?:\[TOC\]|\[\[toc\]\]|\[\[_TOC_\]\]|\$\{toc\})\s*$`)
)

// An admonition is one of MkDocs that is open: its body is indented.
type admonition struct {
	quote  int
	indent int // columns that its body has at least
}

// rewriteAdmonitions turns admonitions into their titles and bodies: ::: of Docusaurus, VitePress and Pandoc, !!! and
// ??? of MkDocs with its tabs ===, [!NOTE] of GitHub. Lines of MDX that import and export go, and marks where a table
// of contents comes. It returns nil if there are none.
func rewriteAdmonitions(text []byte, leftOut map[string]int) *rewriting {
	some := false
	for _, mark := range []string{":::", "!!!", "???", "=== \"", "[!", "import ", "export ", "toc", "TOC"} {
		some = some || bytes.Contains(text, []byte(mark))
	}
	if !some {
		return nil
	}
	r := &rewriting{}
	var lines lineReader
	var open []admonition
	var stripped []byte // the line without the indents of open admonitions
	opaque := 0         // offset up to which lines are the content of a tag
	tags := closingTags(text)
	exporting, paragraph := false, false // the last line exports, is text
	quote := 0                           // quotes around the last line
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		next := min(end+1, len(text))
		line := text[start:end]
		at, quotes := quotePrefix(line)
		columns, blanks := indentOf(line[at:])
		empty := at+blanks == len(line)
		// Bodies end before a line that is not indented.
		for len(open) > 0 && (quotes < open[len(open)-1].quote || !empty && columns < open[len(open)-1].indent) {
			open = open[:len(open)-1]
		}
		cut := 0
		if n := len(open); n > 0 {
			cut = bytesOfColumns(line[at:], 4*n)
		}
		stripped = append(append(stripped[:0], line[:at]...), line[at+cut:]...)
		if start < opaque {
			r.copy(text, start, start+at)
			r.copy(text, start+at+cut, next)
			start, paragraph, lines.text = next, false, false
			continue
		}
		part := lines.next(stripped)
		body := stripped[part.prefix:]
		keep := func() {
			r.copy(text, start, start+at)
			r.copy(text, start+at+cut, next)
		}
		title := func(titles ...string) {
			leftOut[leftAdmonition]++
			prefix := string(stripped[:part.prefix])
			r.insert(start, "\n")
			for _, title := range titles {
				if title != "" {
					r.insert(start, prefix, title, "\n")
				}
			}
			r.insert(start, strings.TrimRight(prefix, " \t"), "\n")
			lines.text = false
		}
		first := !paragraph
		paragraph = part.kind == textLineKind
		switch {
		case part.kind == fenceLineKind, part.kind == codeLineKind && (lines.fence != 0 || !bytes.HasPrefix(body, []byte("!!! ")) && !bytes.HasPrefix(body, []byte("??? "))):
			keep()
		case part.kind == blankLineKind:
			exporting = false
			keep()
		case exporting:
			r.insert(start, "\n")
			paragraph = false
		case line0(body) == '{' && tags.pairAt(text, start+len(line)-len(body)) > 0:
			opaque = tags.pairAt(text, start+len(line)-len(body))
			keep()
		case bytes.HasPrefix(body, []byte(":::")):
			if t, ok := containerTitle(body); ok {
				title(t)
				paragraph = false
			} else {
				keep()
			}
		case isAdmonition(body, text[next:], columns, quotes):
			m := admonitionLine.FindSubmatch(body)
			t := string(m[2])
			if m[2] == nil {
				t = kindTitle(string(m[1]))
			}
			title(t)
			open = append(open, admonition{quotes, columns + 4})
			if len(open) > maxNesting {
				open = open[1:]
			}
			paragraph = false
		case quotes > 0 && (quotes > quote || first) && bytes.HasPrefix(body, []byte("[!")) && alertLine.Match(body):
			m := alertLine.FindSubmatch(body)
			t := string(m[2])
			if t == "" {
				t = capitalized(string(m[1]))
			}
			leftOut[leftAdmonition]++
			prefix := string(stripped[:part.prefix])
			r.insert(start, prefix, t, "\n", prefix, "\n")
			paragraph = false
		case first && quotes == 0 && columns == 0 && (importLine.Match(body) || exportLine.Match(body)):
			leftOut[leftModule]++
			exporting = body[0] == 'e' && !bytes.HasSuffix(bytes.TrimSpace(body), []byte(";"))
			r.insert(start, "\n")
			paragraph = false
		case first && contentsLine.Match(body):
			leftOut[leftContents]++
			r.insert(start, "\n")
			paragraph = false
		default:
			keep()
		}
		quote = quotes
		start = next
	}
	return r
}

// bytesOfColumns returns how many bytes of blanks make so many columns at most; a tab that goes beyond stays.
func bytesOfColumns(line []byte, columns int) int {
	column := 0
	for n, c := range line {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return n
		}
		if column > columns {
			return n
		}
		if column == columns {
			return n + 1
		}
	}
	return len(line)
}

// containerTitle returns what a line of colons shows, and whether it opens or closes a container.
func containerTitle(line []byte) (string, bool) {
	m := containerLine.FindSubmatch(line)
	if m == nil {
		return "", false
	}
	kind, title := string(m[2]), string(m[3])
	if len(m[1]) > 0 && isWordByte(m[1][0]) {
		kind = string(m[1]) // MyST's directives
	}
	if title == "" {
		title = string(trailingMarks.ReplaceAll(m[4], nil))
	}
	if title == "" {
		title = kindTitle(kind)
	}
	return title, true
}

// kindTitle returns how tools title an admonition of a kind that has no title of its own.
func kindTitle(kind string) string {
	kind, _, _ = strings.Cut(strings.TrimSpace(kind), " ")
	if !slices.Contains(admonitionKinds, strings.ToLower(kind)) {
		return ""
	}
	return capitalized(kind)
}

func capitalized(word string) string {
	word = strings.ToLower(word)
	r, n := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[n:]
}

// isAdmonition says whether a line begins one of MkDocs: an indented line follows, blank lines aside.
func isAdmonition(line, after []byte, columns, quotes int) bool {
	switch {
	case bytes.HasPrefix(line, []byte("!!! ")), bytes.HasPrefix(line, []byte("???")):
	case bytes.HasPrefix(line, []byte("===")) && bytes.IndexByte(line, '"') > 0:
	default:
		return false
	}
	if !admonitionLine.Match(line) {
		return false
	}
	for range 3 {
		following, rest, more := bytes.Cut(after, []byte("\n"))
		at, n := quotePrefix(following)
		indent, blanks := indentOf(following[at:])
		if at+blanks < len(following) {
			return n >= quotes && indent >= columns+4
		}
		if !more {
			return false
		}
		after = rest
	}
	return false
}
