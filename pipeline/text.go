package pipeline

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// parseText reads plain text. Paragraphs end at lines without text and at form feeds. Within one:
//
//   - if every line is indented by four columns or more, or two lines hold a tab or three blanks
//     between words, it is laid out by hand: a code block, kept as it is;
//   - otherwise a line that starts with a bullet or a number begins a list item, which takes the
//     lines up to the next one; its nesting is told by how far it is indented;
//   - the lines of anything else are joined by blanks.
func parseText(data []byte, encoding string) *Document {
	source, failed := decodeSource(data, maxText, encoding)
	if failed != nil {
		return failed
	}
	t := &textReader{canonicalText: newCanonicalText(source)}
	var paragraph []textLine
	offset := 0
	for line := range bytes.Lines(source.text) {
		for part := range bytes.SplitAfterSeq(line, []byte("\f")) {
			text := textLine{bytes.TrimRight(part, "\n\f"), offset}
			offset += len(part)
			blank := cleanLine(string(text.text)) == ""
			if !blank {
				paragraph = append(paragraph, text)
			}
			if blank || bytes.HasSuffix(part, []byte("\f")) {
				t.paragraph(paragraph)
				paragraph = paragraph[:0]
			}
		}
	}
	t.paragraph(paragraph)
	return t.document()
}

// A textLine is a line without its end, and its offset in the source.
type textLine struct {
	text   []byte
	offset int
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
	paragraphs int // read so far; the items of each are a group
}

func (t *textReader) paragraph(lines []textLine) {
	switch {
	case len(lines) == 0:
		return
	case isLaidOut(lines):
		t.begin(Block{Kind: Code}, nil)
		for _, line := range lines {
			t.verbatim(line.text, line.offset)
		}
		t.end()
		return
	}
	t.paragraphs++
	t.begin(Block{Kind: Paragraph}, nil)
	var indents []int // of the items around, outermost first
	for _, line := range lines {
		if startsItem(line.text) {
			indent := line.indent()
			for len(indents) > 0 && indents[len(indents)-1] >= indent {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, indent)
			t.begin(Block{Kind: ListItem, Level: len(indents)}, t.paragraphs)
		}
		t.words(line.text, line.offset)
		t.gap = true
	}
	t.end()
}

// isLaidOut says whether blanks matter in a paragraph: in code, in tables drawn with blanks or tabs.
func isLaidOut(lines []textLine) bool {
	indented, columns := 0, 0
	for _, line := range lines {
		if line.indent() >= 4 && !startsItem(line.text) {
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
