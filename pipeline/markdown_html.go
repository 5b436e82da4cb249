package pipeline

import (
	"bytes"
	"html"

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

func (h *htmlSource) add(s text.Segment, body []byte, offset int) {
	h.pieces = append(h.pieces, htmlPiece{len(h.raw), offset + s.Start})
	h.raw = append(h.raw, s.Value(body)...)
}

// htmlBlock reads the text of an HTML block.
func (m *markdownReader) htmlBlock(n *ast.HTMLBlock, in container) {
	var h htmlSource
	for i := range n.Lines().Len() {
		h.add(n.Lines().At(i), m.body, m.offset)
	}
	if n.HasClosure() {
		h.add(n.ClosureLine, m.body, m.offset)
	}
	m.beginText(in)
	m.readHTML(h, in, true)
	m.finishHTML(in)
}

// inlineHTML reads HTML within a paragraph: goldmark gives each tag and comment by itself.
func (m *markdownReader) inlineHTML(n *ast.RawHTML) {
	var h htmlSource
	for i := range n.Segments.Len() {
		h.add(n.Segments.At(i), m.body, m.offset)
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

// readHTML adds the text of HTML; if blocks is set, its tags begin and end blocks.
func (m *markdownReader) readHTML(h htmlSource, in container, blocks bool) {
	z := tokenizer.NewTokenizer(bytes.NewReader(h.raw))
	z.SetMaxBuf(0)
	raw := 0     // offset of the token
	hidden := "" // the element whose text is not shown
	piece := 0
	for {
		kind := z.Next()
		if kind == tokenizer.ErrorToken {
			return // the end; what is left is a tag that does not close
		}
		token := z.Raw()
		for piece+1 < len(h.pieces) && h.pieces[piece+1].raw <= raw {
			piece++
		}
		switch kind {
		case tokenizer.TextToken:
			if hidden != "" {
				m.leftOut[leftScript]++
				break
			}
			m.htmlText(token, raw, piece, h)
		case tokenizer.CommentToken:
			m.leftOut[leftComment]++
		case tokenizer.StartTagToken, tokenizer.SelfClosingTagToken, tokenizer.EndTagToken:
			m.leftOut[leftTag]++
			at := h.pieces[piece].source + raw - h.pieces[piece].raw
			name, more := z.TagName()
			tag := atom.Lookup(name)
			start := kind != tokenizer.EndTagToken
			switch {
			case tag == atom.Script || tag == atom.Style:
				hidden = ""
				if kind == tokenizer.StartTagToken && blocks {
					hidden = string(name)
				}
			case headingTags[tag] > 0 && blocks:
				m.finishHTML(in)
				if start {
					m.beginHeading(headingTags[tag])
				} else {
					m.beginText(in)
				}
			case tag == atom.Tr && start && blocks:
				m.finishHTML(in)
				m.begin(Block{Kind: TableRow, Path: m.headings()}, nil)
			case (tag == atom.Td || tag == atom.Th) && start && blocks && m.block.Kind == TableRow && m.visible:
				m.bars++
			case paragraphTags[tag] && blocks:
				m.finishHTML(in)
				m.beginText(in)
			case !inlineTags[tag]:
				m.gap = true
			}
			if tag == atom.Img && start {
				m.leftOut[leftImage]++
				for more {
					var key, value []byte
					key, value, more = z.TagAttr()
					if string(key) == "alt" {
						m.decodedWords(value, at)
						m.gap = true
					}
				}
			}
		}
		raw += len(token)
	}
}

// htmlText adds a text token, piece by piece so that its lines are known.
func (m *markdownReader) htmlText(token []byte, raw, piece int, h htmlSource) {
	for len(token) > 0 {
		end := len(token)
		if piece+1 < len(h.pieces) {
			end = min(end, h.pieces[piece+1].raw-raw)
		}
		at := h.pieces[piece].source + raw - h.pieces[piece].raw
		part := token[:end]
		if bytes.IndexByte(part, '&') >= 0 {
			m.decodedWords([]byte(html.UnescapeString(string(part))), at)
		} else {
			m.words(part, at)
		}
		raw += end
		token = token[end:]
		piece++
	}
}
