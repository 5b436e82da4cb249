package pipeline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is left out of the canonical text, as keys of Document.LeftOut. The rule for characters:
//
//   - white space of any kind (tab, line and paragraph separators, no-break and wide blanks) is a
//     blank, and a run of it one blank; in code, blanks, tabs and line feeds stay as they are;
//   - other control characters (U+0000 to U+001F, U+007F to U+009F) go;
//   - marks that change the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
//     U+2069) go: they are not part of words, and they can hide what a passage says;
//   - characters that show nothing (soft hyphen, zero-width blank, word joiner, byte order mark,
//     invisible operators, interlinear marks, tags U+E0000 to U+E007F) go, in the middle of words too;
//   - the zero-width joiner and non-joiner stay: words of several scripts, and emoji, need them.
const (
	leftControl   = "control character"
	leftBidi      = "bidi mark"
	leftInvisible = "invisible character"
)

// leftOutAs returns why a character is left out, or "" if it stays.
func leftOutAs(r rune) string {
	switch {
	case r < 0x20 || 0x7f <= r && r <= 0x9f:
		return leftControl
	case r < 0x7f:
		return ""
	case r == 0x061c, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return leftBidi
	case r == 0x00ad, r == 0x180e, r == 0x200b, 0x2060 <= r && r <= 0x2064, 0x206a <= r && r <= 0x206f,
		r == 0xfeff, 0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe007f:
		return leftInvisible
	}
	return ""
}

// cleanLine returns text as one line of canonical text.
func cleanLine(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			gap = b.Len() > 0
		case leftOutAs(r) == "":
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// A canonicalText writes a document's text, its blocks and the segments that lead back to the source.
//
// A block is begun, given text, and ended; it comes to be with its first visible character, so that
// blocks are never empty. Between blocks stands an empty line, but between two of the same group (the
// items of one list, the rows of one table) only a line end.
type canonicalText struct {
	source   *sourceText
	text     []byte
	blocks   []Block
	segments []Segment
	leftOut  map[string]int

	// origin returns where in the source the byte of an offset comes from; nil means at that offset.
	origin func(offset int) int

	block   Block // the one begun; its Start holds once visible
	visible bool  // it has text
	gap     bool  // a blank is due before the next character
	broken  bool  // the gap is a line break, which is no blank between characters of scripts that have none
	bars    int   // cell separators are due before the next character
	group   any   // of the block begun; nil is a group of its own
	last    any   // group of the last block that came to be
	resumed bool  // the block begun goes on from the last one
	line    int   // of the last segment
}

func newCanonicalText(source *sourceText) *canonicalText {
	return &canonicalText{source: source, leftOut: map[string]int{}}
}

// begin ends the block begun before and begins one. b.Start and b.End are ignored.
func (c *canonicalText) begin(b Block, group any) {
	c.end()
	c.block, c.group = b, group
}

// resume ends the block begun before and goes on with the last one in a new line.
func (c *canonicalText) resume() {
	c.end()
	c.block = c.blocks[len(c.blocks)-1]
	c.group = c.last
	c.resumed = true
}

// end ends the block begun and says whether it came to be.
func (c *canonicalText) end() bool {
	came := c.visible
	if came {
		c.block.End = len(c.text)
		if c.resumed {
			c.blocks[len(c.blocks)-1] = c.block
		} else {
			c.blocks = append(c.blocks, c.block)
		}
		c.last = c.group
	}
	c.block, c.group = Block{}, nil
	c.visible, c.gap, c.broken, c.bars, c.resumed = false, false, false, 0, false
	return came
}

// show makes the block come to be if it has not, and notes where the next character comes from.
// A blank or cell separators that are due are written before it.
func (c *canonicalText) show(offset int, next rune) {
	if !c.visible {
		switch {
		case len(c.text) == 0:
		case c.resumed || c.group != nil && c.group == c.last:
			c.text = append(c.text, '\n')
		default:
			c.text = append(c.text, "\n\n"...)
		}
		c.visible = true
		if !c.resumed {
			c.block.Start = len(c.text)
		}
	} else if c.bars > 0 || c.gap && !(c.broken && c.joins(next)) {
		c.text = append(c.text, ' ')
	}
	if c.origin != nil {
		offset = c.origin(offset)
	}
	if line := c.source.line(offset); line != c.line {
		c.line = line
		c.segments = append(c.segments, Segment{Start: len(c.text), Source: c.source.fileOffset(offset, line), Line: line})
	}
	for ; c.bars > 0; c.bars-- {
		c.text = append(c.text, "| "...)
	}
	c.gap, c.broken = false, false
}

// breakLine notes that a line of the source ends, which stands for a blank.
func (c *canonicalText) breakLine() {
	c.broken = c.broken || !c.gap
	c.gap = true
}

// joins says whether what is written and the next character belong to scripts that set no blanks, whose lines are
// joined without one.
func (c *canonicalText) joins(next rune) bool {
	last, _ := utf8.DecodeLastRune(c.text)
	return setsNoBlanks(last) && setsNoBlanks(next)
}

// setsNoBlanks says whether a character is of Chinese or Japanese, their punctuation and full-width forms included.
func setsNoBlanks(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo) ||
		0x3000 < r && r <= 0x303f || r == 0x30fb || r == 0x30fc || 0xff01 <= r && r <= 0xff9f)
}

// words adds text of the source, whose white space does not count. offset is where it stands there.
func (c *canonicalText) words(text []byte, offset int) {
	c.addWords(text, offset, 1)
}

// decodedWords adds text that stands for the part of a source line at offset, such as an entity.
func (c *canonicalText) decodedWords(text []byte, offset int) {
	c.addWords(text, offset, 0)
}

// addWords adds text whose byte i comes from offset + i*step.
func (c *canonicalText) addWords(text []byte, offset, step int) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == '\n' {
			c.breakLine()
		} else if unicode.IsSpace(r) {
			c.gap = true
		} else if why := leftOutAs(r); why != "" {
			c.leftOut[why]++
		} else {
			if c.gap || !c.visible || c.bars > 0 {
				c.show(offset+i*step, r)
			}
			c.text = append(c.text, text[i:i+n]...)
		}
		i += n
	}
}

// verbatim adds one line of code, without its line end.
func (c *canonicalText) verbatim(text []byte, offset int) {
	if c.visible {
		c.text = append(c.text, '\n')
	}
	c.show(offset, 0)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch why := leftOutAs(r); {
		case strings.ContainsRune("\v\f\u0085\u2028\u2029", r):
			c.text = append(c.text, ' ')
		case why != "" && r != '\t':
			c.leftOut[why]++
		default:
			c.text = append(c.text, text[i:i+n]...)
		}
		i += n
	}
}

// document ends the last block and returns what was written, with a verdict.
func (c *canonicalText) document() *Document {
	c.end()
	d := &Document{Text: string(c.text), Blocks: c.blocks, Segments: c.segments, LeftOut: c.leftOut, Verdict: OK}
	if len(d.Blocks) == 0 {
		d.Verdict, d.Reason = Blank, "no text"
	}
	return d
}
