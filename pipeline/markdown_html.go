package pipeline

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	tokenizer "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inlineTags stand within words; any other tag parts them.
var inlineTags = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Bdi: true, atom.Bdo: true,
	atom.Big: true, atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true,
	atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Label: true,
	atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true,
	atom.Strike: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true,
	atom.U: true, atom.Var: true, atom.Wbr: true,
}

// paragraphTags begin and end a block. Their kinds of block are those of the text around, but for
// headings and table rows.
var paragraphTags = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true,
	atom.Caption: true, atom.Center: true, atom.Dd: true, atom.Details: true, atom.Div: true, atom.Dl: true,
	atom.Dt: true, atom.Fieldset: true, atom.Figcaption: true, atom.Figure: true, atom.Footer: true,
	atom.Form: true, atom.Header: true, atom.Hr: true, atom.Legend: true, atom.Li: true, atom.Main: true,
	atom.Nav: true, atom.Ol: true, atom.P: true, atom.Pre: true, atom.Section: true, atom.Summary: true,
	atom.Table: true, atom.Tbody: true, atom.Tfoot: true, atom.Thead: true, atom.Tr: true, atom.Ul: true,
}

var headingTags = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}

// A htmlSource is HTML that stands in the source in pieces.
type htmlSource struct {
	raw    []byte
	pieces []htmlPiece
}

// A htmlPiece is where a piece of HTML starts.
type htmlPiece struct{ raw, source int }

func (m *markdownReader) addHTML(h *htmlSource, s text.Segment) {
	h.pieces = append(h.pieces, htmlPiece{len(h.raw), s.Start})
	h.raw = append(h.raw, m.raw(s)...)
}

// htmlBlock reads the text of an HTML block.
func (m *markdownReader) htmlBlock(n *ast.HTMLBlock, in container) {
	var h htmlSource
	for i := range n.Lines().Len() {
		m.addHTML(&h, n.Lines().At(i))
	}
	if n.HasClosure() {
		m.addHTML(&h, n.ClosureLine)
	}
	m.beginText(in)
	m.readHTML(h, in, true)
	m.finishHTML(in)
}

// inlineHTML reads HTML within a paragraph: goldmark gives each tag and comment by itself.
func (m *markdownReader) inlineHTML(n *ast.RawHTML) {
	var h htmlSource
	for i := range n.Segments.Len() {
		m.addHTML(&h, n.Segments.At(i))
	}
	m.readHTML(h, container{}, false)
}

// finishHTML ends the block that HTML has begun.
func (m *markdownReader) finishHTML(in container) {
	if m.block.Kind == Heading {
		m.endHeading(in)
	} else {
		m.end()
	}
}

// A htmlReader reads one stretch of HTML.
type htmlReader struct {
	*markdownReader
	htmlSource
	in      container
	isBlock bool // its tags begin and end blocks
	z       *tokenizer.Tokenizer
	offset  int // of the token in raw
	piece   int // that the token starts in

	hidden   bool       // what comes is not shown
	pre      []codeLine // of the preformatted text that is read
	inPre    bool
	language string // of its code
	header   string // of the table that is read: its first row, if that has header cells
	heads    bool   // the row that is read has such cells
	rows     int    // of the table so far
	rowGroup *int   // what its rows have in common
	token    []byte // the token's bytes
}

// readHTML adds the text of HTML; if blocks is set, its tags begin and end blocks.
func (m *markdownReader) readHTML(h htmlSource, in container, blocks bool) {
	r := htmlReader{markdownReader: m, htmlSource: h, in: in, isBlock: blocks, z: tokenizer.NewTokenizer(bytes.NewReader(h.raw))}
	r.z.SetMaxBuf(0)
	for {
		kind := r.z.Next()
		if kind == tokenizer.ErrorToken {
			break // the end; what is left is a tag that does not close
		}
		r.token = r.z.Raw()
		for r.piece+1 < len(h.pieces) && h.pieces[r.piece+1].raw <= r.offset {
			r.piece++
		}
		switch kind {
		case tokenizer.TextToken:
			if r.hidden {
				m.leftOut[leftScript]++
				break
			}
			r.textToken()
		case tokenizer.CommentToken:
			m.leftOut[leftComment]++
		case tokenizer.StartTagToken, tokenizer.SelfClosingTagToken, tokenizer.EndTagToken:
			m.leftOut[leftTag]++
			r.tag(kind)
		}
		r.offset += len(r.token)
	}
	r.endPre()
}

// tag reads a tag.
func (r *htmlReader) tag(kind tokenizer.TokenType) {
	at := r.pieces[r.piece].source + r.offset - r.pieces[r.piece].raw
	name, more := r.z.TagName()
	tag := atom.Lookup(name)
	component := tag == 0 || len(name) > 1 && 'A' <= r.token[1] && r.token[1] <= 'Z' && 'a' <= r.token[2] && r.token[2] <= 'z'
	start := kind != tokenizer.EndTagToken
	switch {
	case tag == atom.Script || tag == atom.Style:
		r.hidden = kind == tokenizer.StartTagToken && r.isBlock
	case r.inPre:
		switch {
		case tag == atom.Pre && !start:
			r.endPre()
			r.beginText(r.in)
		case tag == atom.Br:
			r.preText([]byte("\n"), at)
		}
	case tag == atom.Pre && start && r.isBlock:
		r.finishHTML(r.in)
		r.inPre, r.language = true, ""
	case headingTags[tag] > 0 && r.isBlock:
		r.finishHTML(r.in)
		if start {
			r.beginHeading(headingTags[tag])
		} else {
			r.beginText(r.in)
		}
	case tag == atom.Table && r.isBlock:
		r.endRow()
		r.beginText(r.in)
		r.header, r.rows, r.rowGroup = "", 0, new(int)
	case tag == atom.Tr && r.isBlock:
		r.endRow()
		if start {
			b := r.here(TableRow)
			b.Context = r.header
			if r.rowGroup == nil {
				r.rowGroup = new(int)
			}
			r.begin(b, r.rowGroup)
			r.heads = false
		} else {
			r.beginText(r.in)
		}
	case (tag == atom.Td || tag == atom.Th) && start && r.isBlock && r.block.Kind == TableRow:
		r.heads = r.heads || tag == atom.Th
		if r.visible {
			r.bars++
		}
	case paragraphTags[tag] && r.isBlock:
		if r.block.Kind == TableRow && tag != atom.Tbody && tag != atom.Thead && tag != atom.Tfoot && tag != atom.Caption {
			r.gap = true // a row is one block, whatever its cells hold
			break
		}
		r.finishHTML(r.in)
		r.beginText(r.in)
	case !inlineTags[tag]:
		r.gap = true
	}
	if !start {
		return
	}
	if tag == atom.Img {
		r.leftOut[leftImage]++
	}
	for more {
		var key, value []byte
		key, value, more = r.z.TagAttr()
		switch attribute := string(key); {
		case tag == atom.Img && attribute == "alt":
			r.shown(value, at)
			r.gap = true
		case r.inPre && (attribute == "lang" || attribute == "class") && r.language == "":
			for class := range strings.FieldsSeq(string(value)) {
				if language, ok := strings.CutPrefix(class, "language-"); ok || attribute == "lang" {
					r.language = cleanLine(language)
					break
				}
			}
		case headingTags[tag] > 0 && attribute == "id" && r.isBlock:
			r.id = cleanLine(string(value))
		case component && isShownAttribute(attribute):
			r.gap = true
			r.shown(value, at)
			r.gap = true
		}
	}
}

// shown adds the text of an attribute.
func (r *htmlReader) shown(value []byte, at int) {
	if r.inPre {
		r.preText(value, at)
	} else {
		r.decodedWords(value, at)
	}
}

// endRow ends the row of a table. The first one is the header of those after it if it has header cells.
func (r *htmlReader) endRow() {
	if r.block.Kind != TableRow {
		r.finishHTML(r.in)
		return
	}
	if !r.end() {
		return
	}
	if r.rows++; r.rows == 1 && r.heads {
		b := r.canonicalText.blocks[len(r.canonicalText.blocks)-1]
		r.header = string(r.canonicalText.text[b.Start:b.End])
	}
}

// text adds a text token, piece by piece so that its lines are known.
func (r *htmlReader) textToken() {
	for token, piece, at := r.token, r.piece, r.offset; len(token) > 0; piece++ {
		end := len(token)
		if piece+1 < len(r.pieces) {
			end = min(end, r.pieces[piece+1].raw-at)
		}
		source := r.pieces[piece].source + at - r.pieces[piece].raw
		part := token[:end]
		entities := bytes.IndexByte(part, '&') >= 0
		if entities {
			part = []byte(html.UnescapeString(string(part)))
		}
		switch {
		case r.inPre:
			r.preText(part, source)
		case entities:
			r.decodedWords(part, source)
		default:
			r.words(part, source)
		}
		r.named(nil, part)
		at += end
		token = token[end:]
	}
}

// preText adds preformatted text.
func (r *htmlReader) preText(text []byte, at int) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if n := len(r.pre); i > 0 || n == 0 {
			r.pre = append(r.pre, codeLine{nil, at})
		} else if len(r.pre[n-1].text) == 0 {
			r.pre[n-1].at = at // of the first character that is there
		}
		last := &r.pre[len(r.pre)-1]
		last.text = append(last.text, line...)
	}
}

// endPre writes the preformatted text that was read.
func (r *htmlReader) endPre() {
	if r.inPre {
		r.codeBlock(r.pre, r.language)
	}
	r.inPre, r.pre = false, nil
}
