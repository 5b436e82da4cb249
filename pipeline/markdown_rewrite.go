package pipeline

import (
	"bytes"
	"sort"
)

// A rewriting is text that another was turned into, and the way back.
//
// Documents are written for tools that read them before, or instead of, a reader of CommonMark: includes, shortcodes,
// admonitions, mathematics. Each pass below rewrites what its tool would, and leaves alone what it doesn't know; then
// goldmark reads the result.
type rewriting struct {
	text   []byte
	pieces []rewrittenPiece // in order; the first one starts at 0 if text is not empty
}

// A rewrittenPiece is where a stretch of the text comes from.
type rewrittenPiece struct {
	start  int // in the text
	source int // in the text before
	kind   pieceKind
}

type pieceKind byte

const (
	copied   pieceKind = iota // each byte from the one at source and on
	inserted                  // all of it stands for the place at source
	escape                    // a backslash that was inserted, which is no part of the text where escapes don't count
)

func (r *rewriting) piece(source int, kind pieceKind) {
	if n := len(r.pieces); n > 0 {
		last := r.pieces[n-1]
		switch {
		case last.start == len(r.text):
			r.pieces = r.pieces[:n-1] // it is empty
		case last.kind == kind && (kind == inserted && last.source == source || kind == copied && last.source+len(r.text)-last.start == source):
			return
		}
	}
	r.pieces = append(r.pieces, rewrittenPiece{len(r.text), source, kind})
}

// copy adds source[from:to].
func (r *rewriting) copy(source []byte, from, to int) {
	if from < to {
		r.piece(from, copied)
		r.text = append(r.text, source[from:to]...)
	}
}

// insert adds text that stands for the place at.
func (r *rewriting) insert(at int, text ...string) {
	for _, t := range text {
		if t != "" {
			r.piece(at, inserted)
			r.text = append(r.text, t...)
		}
	}
}

// copyEscaped adds source[from:to] so that nothing in it is markup. Bars part the cells of tables even in front of
// everything else, and stay.
func (r *rewriting) copyEscaped(source []byte, from, to int) {
	for ; from < to; from++ {
		if c := source[from]; '!' <= c && c <= '~' && c != '|' && !isWordByte(c) || c == '_' {
			r.piece(from, escape)
			r.text = append(r.text, '\\')
		}
		r.copy(source, from, from+1)
	}
}

// origin returns where the byte at an offset comes from.
func (r *rewriting) origin(offset int) int {
	i := r.find(offset)
	if i < 0 {
		return offset
	}
	p := r.pieces[i]
	if p.kind == copied {
		return p.source + offset - p.start
	}
	return p.source
}

// find returns the piece that a byte is in, or -1 if there is none.
func (r *rewriting) find(offset int) int {
	return sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].start > offset }) - 1
}

// raw returns text[from:to] without the escapes that were inserted.
func (r *rewriting) raw(from, to int) []byte {
	text := r.text[from:to]
	var without []byte
	begin := from
	for i := max(r.find(from), 0); i < len(r.pieces) && r.pieces[i].start < to; i++ {
		if p := r.pieces[i]; p.kind == escape && p.start >= from {
			without = append(without, r.text[begin:p.start]...)
			begin = p.start + 1
		}
	}
	if begin == from {
		return text
	}
	return append(without, r.text[begin:to]...)
}

// over returns the rewriting that has the effect of this one after the one before.
func (r *rewriting) over(before *rewriting) *rewriting {
	if before == nil {
		return r
	}
	out := &rewriting{text: r.text}
	for i, p := range r.pieces {
		end := len(r.text)
		if i+1 < len(r.pieces) {
			end = r.pieces[i+1].start
		}
		if p.kind != copied {
			out.pieces = append(out.pieces, rewrittenPiece{p.start, before.origin(p.source), p.kind})
			continue
		}
		// What was copied may come from several pieces.
		for j, at := before.find(p.source), p.start; at < end; j++ {
			b := before.pieces[j]
			source := p.source + at - p.start
			origin := b.source
			if b.kind == copied {
				origin += source - b.start
			}
			out.pieces = append(out.pieces, rewrittenPiece{at, origin, b.kind})
			if j+1 == len(before.pieces) {
				break
			}
			at += before.pieces[j+1].start - source
		}
	}
	return out
}

// isWordByte says whether a byte is a letter or a digit of ASCII, an underscore, or part of another character.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80
}

// A lineKind is what a line is to a reader of blocks.
type lineKind byte

const (
	textLineKind  lineKind = iota
	blankLineKind          // nothing but blanks and marks of quotes
	fenceLineKind          // opens or closes fenced code
	codeLineKind           // inside fenced code, or indented code
)

// A lineReader tells code from text line by line, without building a tree. Where it errs, some markup of other tools
// stays in the text, or goes out of a code block.
type lineReader struct {
	fence      byte  // that is open, or 0
	fenceSize  int   // its length
	fenceQuote int   // quotes around it
	fenceBase  int   // column where the content of the item around it starts
	items      []int // such columns of the items that are open, outermost first
	quote      int   // quotes around the last line
	text       bool  // the last line was text that the next one can go on
}

// A linePart is a line taken apart.
type linePart struct {
	kind   lineKind
	prefix int  // bytes of blanks and quote marks before the content
	item   int  // bytes before the content, marks of list items included
	quote  int  // quotes around
	opens  bool // of a fence: it opens one
}

// next reads the next line, which ends before its line end.
func (l *lineReader) next(line []byte) linePart {
	at, quote := quotePrefix(line)
	column, n := indentOf(line[at:])
	part := linePart{prefix: at + n, item: at + n, quote: quote}
	if quote != l.quote && !(l.text && quote < l.quote) {
		l.items = l.items[:0]
	}
	rest := line[at+n:]
	if l.fence != 0 {
		switch {
		case quote < l.fenceQuote, len(rest) > 0 && column < l.fenceBase:
			l.fence = 0 // what it stood in ends
		default:
			part.kind = codeLineKind
			if size := runLength(rest, l.fence); size >= l.fenceSize && column-l.fenceBase < 4 && len(bytes.TrimSpace(rest[size:])) == 0 {
				part.kind = fenceLineKind
				l.fence = 0
			}
			return part
		}
	}
	l.quote = quote
	if len(rest) == 0 {
		part.kind = blankLineKind
		l.text = false
		return part
	}
	if !l.text {
		for len(l.items) > 0 && l.items[len(l.items)-1] > column {
			l.items = l.items[:len(l.items)-1]
		}
	}
	base := 0
	if n := len(l.items); n > 0 {
		base = l.items[n-1]
	}
	if !l.text && column-base >= 4 {
		part.kind = codeLineKind
		return part
	}
	for range maxNesting {
		size := itemMark(rest)
		if size == 0 || size < len(rest) && (rest[size] == ' ' || rest[size] == '\t') && isRule(rest) {
			break
		}
		for len(l.items) > 0 && l.items[len(l.items)-1] > column {
			l.items = l.items[:len(l.items)-1]
		}
		blanks, n := indentOf(rest[size:])
		if blanks > 4 || n == len(rest)-size {
			blanks, n = 1, min(1, len(rest)-size)
		}
		column += size + blanks
		l.items = append(l.items, column)
		rest = rest[size+n:]
		part.item += size + n
		l.text = false
	}
	l.text = len(rest) > 0 && rest[0] != '#'
	for _, mark := range []byte("`~") {
		if size := runLength(rest, mark); size >= 3 && (mark == '~' || bytes.IndexByte(rest[size:], '`') < 0) {
			part.kind, part.opens = fenceLineKind, true
			l.fence, l.fenceSize, l.fenceQuote, l.fenceBase = mark, size, quote, 0
			if n := len(l.items); n > 0 && l.items[n-1] <= column {
				l.fenceBase = l.items[n-1]
			}
			l.text = false
		}
	}
	return part
}

// quotePrefix returns the bytes and the number of the quote marks that a line begins with.
func quotePrefix(line []byte) (at, quotes int) {
	for i := 0; i < len(line); {
		n := 0
		for n < 3 && i+n < len(line) && line[i+n] == ' ' {
			n++
		}
		if i += n; i == len(line) || line[i] != '>' {
			break
		}
		quotes++
		if i++; i < len(line) && line[i] == ' ' {
			i++
		}
		at = i
	}
	return at, quotes
}

// indentOf returns the columns and bytes of the blanks that a line begins with.
func indentOf(line []byte) (columns, n int) {
	for ; n < len(line); n++ {
		switch line[n] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, n
		}
	}
	return columns, n
}

func runLength(line []byte, c byte) int {
	n := 0
	for n < len(line) && line[n] == c {
		n++
	}
	return n
}

// itemMark returns the length of the mark of a list item, a definition or a footnote that a line begins with; 0 if it
// begins with none.
func itemMark(line []byte) int {
	n := 0
	switch c := line0(line); {
	case c == '-' || c == '+' || c == '*' || c == ':':
		n = 1
	case '0' <= c && c <= '9':
		for n < len(line) && n < 10 && '0' <= line[n] && line[n] <= '9' {
			n++
		}
		if n == len(line) || line[n] != '.' && line[n] != ')' {
			return 0
		}
		n++
	case c == '[' && len(line) > 1 && line[1] == '^':
		end := bytes.Index(line[:min(len(line), 100)], []byte("]:"))
		if end < 0 {
			return 0
		}
		return end + 2
	default:
		return 0
	}
	if n < len(line) && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

func line0(line []byte) byte {
	if len(line) == 0 {
		return 0
	}
	return line[0]
}

// isRule says whether a line of bullets is a thematic break.
func isRule(line []byte) bool {
	c, n := line[0], 0
	for _, b := range line {
		switch b {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3 && (c == '-' || c == '*')
}
