package pipeline

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"html"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// What is left out of Markdown, as keys of Document.LeftOut.
const (
	leftLink      = "link target"
	leftImage     = "image"
	leftComment   = "comment"
	leftTag       = "html tag"
	leftScript    = "script or style"
	leftFootnote  = "footnote mark"
	leftUnused    = "footnote without a mark"
	leftAttribute = "heading attribute"
)

var markdownParser parser.Parser = newMarkdownParser()

// parseMarkdown reads CommonMark with GFM, footnotes, definition lists, mathematics and front matter, and what writes
// of documents for Hugo, mdBook, Docusaurus, MkDocs, Jekyll and the like add to it: their text is kept, their markup
// goes.
//
// Blocks come in the order of the source, but footnotes last. Paragraphs of a list item that follow
// one another are one block; so are a term and its definitions. Headings inside block quotes and list
// items are blocks, but no part of the path of what follows.
func parseMarkdown(ctx context.Context, data []byte, o ParseOptions) *Document {
	return parseMarkdownWithin(ctx, data, o, maxWork)
}

// parseMarkdownWithin reads Markdown that costs no more than some work.
func parseMarkdownWithin(ctx context.Context, data []byte, o ParseOptions, work int) *Document {
	source, failed := decodeSource(data, maxMarkdown, o.Encoding)
	if failed != nil {
		return failed
	}
	meta, body, problem := parseFrontMatter(source.text)
	if problem != "" {
		return failedDocument("%s", problem)
	}
	m := &markdownReader{canonicalText: newCanonicalText(source), anchors: slugger{}}
	title := m.rewrite(source.text[body:], o)
	if len(m.body) > maxRewritten {
		return failedDocument("%d bytes with what it includes are more than the limit of %d; split the file", len(m.body), maxRewritten)
	}
	m.origin = func(offset int) int { return body + m.rewritten.origin(offset) }
	pc, account := newMarkdownContext(ctx, work)
	root := markdownParser.Parse(text.NewReader(m.body), parser.WithContext(pc))
	if account.overdrawn() {
		if err := ctx.Err(); err != nil {
			return failedDocument("parsing was stopped: %v", err)
		}
		return failedDocument("markup that is nested or left open too often to be read in reasonable time; split the file or mend its markup")
	}
	m.blocksOf(root, container{})
	if unused := account.footnotes - m.footnotes; unused > 0 {
		m.leftOut[leftUnused] = unused
	}
	d := m.document()
	d.Meta = meta
	d.Meta.Title = cmp.Or(meta.Title, title, m.title)
	if d.Meta.Draft {
		d.Verdict, d.Reason = Draft, "front matter says draft"
	}
	return d
}

// A markdownReader turns goldmark's tree into canonical text.
type markdownReader struct {
	*canonicalText
	body      []byte     // the source behind the front matter, rewritten; goldmark's offsets belong to it
	rewritten *rewriting // what made it
	at        int        // where inline text was last read in body

	footnotes int // that text refers to

	title   string     // of the first heading of level 1
	path    []pathStep // the headings above
	anchors slugger    // of the headings so far
	slug    []byte     // text of the heading that is read, blanks and all; what its anchor is made of
	id      string     // the anchor that it has by itself
}

type pathStep struct {
	level  int
	title  string
	anchor string
}

// maxRewritten is the most bytes of Markdown with all it includes.
const maxRewritten = 2 * maxMarkdown

// rewrite turns the source behind the front matter into the body, and returns a title that it sets.
func (m *markdownReader) rewrite(source []byte, o ParseOptions) (title string) {
	m.body, m.rewritten = source, &rewriting{text: source}
	var all *rewriting
	add := func(r *rewriting) {
		if r != nil {
			all = r.over(all)
			m.body, m.rewritten = all.text, all
		}
	}
	includes := &includer{open: o.Open, encoding: o.Encoding, leftOut: m.leftOut, broken: map[string]bool{}}
	add(includes.rewrite(o.name, m.body))
	if len(m.body) <= maxRewritten {
		add(rewriteAdmonitions(m.body, m.leftOut))
		add(rewriteInlines(m.body, m.leftOut))
	}
	return includes.title
}

// A container is what a block stands in.
type container struct {
	level  int      // lists around
	list   ast.Node // the outermost of them
	item   ast.Node // the list item or definition, if no other container is nearer
	quote  bool     // a block quote is nearer than any list
	inside bool     // it is not the document itself
}

func (m *markdownReader) headings() []string {
	if len(m.path) == 0 {
		return nil
	}
	titles := make([]string, len(m.path))
	for i, step := range m.path {
		titles[i] = step.title
	}
	return titles
}

// anchor returns that of the nearest heading above which has one.
func (m *markdownReader) anchor() string {
	for i := len(m.path) - 1; i >= 0; i-- {
		if a := m.path[i].anchor; a != "" {
			return a
		}
	}
	return ""
}

// here returns a block at this place in the document.
func (m *markdownReader) here(kind BlockKind) Block {
	return Block{Kind: kind, Path: m.headings(), Anchor: m.anchor()}
}

// blocksOf reads the blocks in a node. Nesting is limited by the parser.
func (m *markdownReader) blocksOf(parent ast.Node, in container) {
	var item ast.Node // the item whose text the last block is
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		before := item
		item = nil
		switch n := n.(type) {
		case *ast.Heading:
			m.heading(n, in)
		case *ast.Paragraph, *ast.TextBlock:
			if m.paragraph(n, in, before != nil) {
				item = in.item
			} else {
				item = before
			}
		case *ast.List:
			for li := n.FirstChild(); li != nil; li = li.NextSibling() {
				m.blocksOf(li, in.within(n, li))
			}
		case *tables.DefinitionList:
			m.definitions(n, in)
		case *ast.Blockquote:
			m.blocksOf(n, container{level: in.level, list: in.list, quote: true, inside: true})
		case *ast.FencedCodeBlock:
			info := ""
			if n.Info != nil {
				info = cleanLine(string(resolveText(n.Info.Segment.Value(m.body))))
			}
			m.code(n.Lines(), info)
		case *ast.CodeBlock:
			m.code(n.Lines(), "")
		case *ast.HTMLBlock:
			m.htmlBlock(n, in)
		case *tables.Table:
			m.table(n)
		case *tables.FootnoteList:
			m.path = nil
			for note := n.FirstChild(); note != nil; note = note.NextSibling() {
				m.footnotes++
				m.blocksOf(note, container{inside: true})
			}
		case *ast.LinkReferenceDefinition:
			m.leftOut[leftLink]++
			item = before
		case *ast.ThematicBreak:
		default:
			m.blocksOf(n, in)
		}
	}
}

// within returns the container that an item of a list in this one is.
func (in container) within(list, item ast.Node) container {
	outermost := in.list
	if outermost == nil {
		outermost = list
	}
	return container{level: in.level + 1, list: outermost, item: item, inside: true}
}

// text returns the kind of block that a container's plain text is.
func (in container) text() BlockKind {
	switch {
	case in.item != nil:
		return ListItem
	case in.quote:
		return Quote
	}
	return Paragraph
}

// beginText begins a block of a container's plain text.
func (m *markdownReader) beginText(in container) {
	b := m.here(in.text())
	if b.Kind == ListItem {
		b.Level = in.level
		m.begin(b, in.list)
		return
	}
	m.begin(b, nil)
}

// paragraph reads a paragraph, as part of the last block if resume is set, and says whether it has text.
func (m *markdownReader) paragraph(n ast.Node, in container, resume bool) bool {
	if resume {
		m.resume()
	} else {
		m.beginText(in)
	}
	m.inlines(n)
	return m.end()
}

func (m *markdownReader) heading(n *ast.Heading, in container) {
	m.beginHeading(n.Level)
	if id, ok := n.AttributeString("id"); ok {
		if id, ok := id.([]byte); ok {
			m.id = cleanLine(string(id))
		}
	}
	m.inlines(n)
	m.leftOut[leftAttribute] += len(n.Attributes())
	m.endHeading(in)
}

func (m *markdownReader) beginHeading(level int) {
	m.begin(Block{Kind: Heading, Level: level}, nil)
	m.slug, m.id = m.slug[:0], ""
}

// named adds a node's text to what the anchor of the heading that is read is made of. The text of images is no part
// of that.
func (m *markdownReader) named(n ast.Node, text []byte) {
	if m.block.Kind != Heading {
		return
	}
	for depth := 0; n != nil && depth < maxNesting; n, depth = n.Parent(), depth+1 {
		if n.Kind() == ast.KindImage {
			return
		}
	}
	m.slug = append(m.slug, text...)
}

// endHeading ends the block of a heading and makes it part of the path.
func (m *markdownReader) endHeading(in container) {
	level := m.block.Level
	anchor := m.id
	if anchor == "" {
		anchor = m.anchors.slug(string(m.slug))
	}
	above := slices.Clone(m.path)
	for len(above) > 0 && above[len(above)-1].level >= level {
		above = above[:len(above)-1]
	}
	outer := m.path
	m.path = above
	if m.end() {
		b := &m.blocks[len(m.blocks)-1]
		title := string(m.text[b.Start:b.End])
		m.path = append(above, pathStep{level, title, anchor})
		b.Path, b.Anchor = m.headings(), m.anchor()
		if level == 1 && m.title == "" && !in.inside {
			m.title = title
		}
	}
	if in.inside {
		m.path = outer
	}
}

// definitions reads terms and what they mean: each term begins an item, which its definitions are part of.
func (m *markdownReader) definitions(list ast.Node, in container) {
	in = in.within(list, list)
	begun := false
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.(type) {
		case *tables.DefinitionTerm:
			begun = m.paragraph(n, in, false)
		default:
			if p := n.FirstChild(); begun && p != nil && (p.Kind() == ast.KindParagraph || p.Kind() == ast.KindTextBlock) {
				// The first paragraph belongs to the term; the node is read only once.
				m.paragraph(p, in, true)
				n.RemoveChild(n, p)
			}
			m.blocksOf(n, in)
			begun = n.FirstChild() == nil
		}
	}
}

// A codeLine is a line of code without its end, and where in the body it starts.
type codeLine struct {
	text []byte
	at   int
}

func (m *markdownReader) code(lines *text.Segments, info string) {
	code := make([]codeLine, 0, lines.Len())
	for i := range lines.Len() {
		line := lines.At(i)
		code = append(code, codeLine{bytes.TrimSuffix(m.raw(line), []byte("\n")), line.Start})
	}
	if language, _, _ := strings.Cut(info, ","); strings.HasPrefix(language, "rust") {
		code = m.shownRust(code)
	}
	m.codeBlock(code, info)
}

// shownRust leaves out the lines that rustdoc and mdBook hide: those that begin with a lone number sign. Of two, one
// is shown.
func (m *markdownReader) shownRust(code []codeLine) []codeLine {
	shown := code[:0]
	for _, line := range code {
		rest := bytes.TrimLeft(line.text, " \t")
		switch indent := len(line.text) - len(rest); {
		case bytes.HasPrefix(rest, []byte("##")):
			line.text = slices.Concat(line.text[:indent], rest[1:])
		case string(rest) == "#", bytes.HasPrefix(rest, []byte("# ")):
			m.leftOut[leftHiddenCode]++
			continue
		}
		shown = append(shown, line)
	}
	return shown
}

// codeBlock writes code without the empty lines around it.
func (m *markdownReader) codeBlock(code []codeLine, info string) {
	empty := func(line codeLine) bool { return cleanLine(string(line.text)) == "" }
	for len(code) > 0 && empty(code[0]) {
		code = code[1:]
	}
	for len(code) > 0 && empty(code[len(code)-1]) {
		code = code[:len(code)-1]
	}
	if len(code) == 0 {
		return
	}
	b := m.here(Code)
	b.Context = info
	m.begin(b, nil)
	for _, line := range code {
		m.verbatim(line.text, line.at)
	}
	m.end()
}

func (m *markdownReader) table(n ast.Node) {
	header := ""
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		b := m.here(TableRow)
		b.Context = header
		m.begin(b, n)
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			if cell.PreviousSibling() != nil {
				m.bars++
			}
			m.inlines(cell)
		}
		if m.end() && row.Kind() == tables.KindTableHeader {
			b := m.blocks[len(m.blocks)-1]
			header = string(m.text[b.Start:b.End])
		}
	}
}

// inlines adds the text of a node's inline children. It does not recurse, since emphasis nests as
// deep as a file is long.
func (m *markdownReader) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; {
		if m.inline(n) && n.FirstChild() != nil {
			n = n.FirstChild()
			continue
		}
		for n.NextSibling() == nil {
			if n = n.Parent(); n == parent {
				return
			}
		}
		n = n.NextSibling()
	}
}

// inline adds a node's own text and says whether its children are to follow.
func (m *markdownReader) inline(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(m.body)
		m.at = n.Segment.Start
		if n.IsRaw() || !hasEscapes(value) {
			m.words(value, n.Segment.Start-n.Segment.Padding)
		} else {
			value = resolveText(value)
			m.decodedWords(value, n.Segment.Start)
		}
		m.named(n, value)
		if n.HardLineBreak() {
			m.gap = true
		} else if n.SoftLineBreak() {
			m.breakLine()
		}
	case *ast.String:
		value := n.Value
		if !n.IsRaw() && !n.IsCode() {
			value = resolveText(value)
		}
		m.decodedWords(value, m.at)
		m.named(n, value)
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				m.at = t.Segment.Start
				value := m.raw(t.Segment)
				m.words(value, t.Segment.Start-t.Segment.Padding)
				m.named(n, value)
			}
		}
		return false
	case *ast.AutoLink:
		if pos := n.Pos(); pos >= 0 {
			m.at = pos
		}
		m.decodedWords(n.Label(m.body), m.at)
		m.named(n, n.Label(m.body))
	case *ast.RawHTML:
		m.inlineHTML(n)
	case *ast.Link:
		m.leftOut[leftLink]++
	case *ast.Image:
		m.leftOut[leftImage]++
	case *tables.FootnoteLink:
		m.leftOut[leftFootnote]++
	case *tables.FootnoteBacklink, *tables.TaskCheckBox:
		return false
	}
	return true
}

// raw returns a segment in which escapes do not count.
func (m *markdownReader) raw(s text.Segment) []byte {
	value := m.rewritten.raw(s.Start, s.Stop)
	if s.Padding > 0 {
		value = append(bytes.Repeat([]byte(" "), s.Padding), value...)
	}
	if s.ForceNewline && !bytes.HasSuffix(value, []byte("\n")) {
		value = append(slices.Clip(value), '\n')
	}
	return value
}

// hasEscapes says whether text may hold an entity or a backslash escape.
func hasEscapes(text []byte) bool { return bytes.ContainsAny(text, `&\`) }

// resolveText resolves backslash escapes and entities as goldmark's renderer does; what it writes is
// HTML, in which only the marks of HTML itself are entities.
func resolveText(text []byte) []byte {
	if !hasEscapes(text) {
		return text
	}
	var b bytes.Buffer
	w := bufio.NewWriterSize(&b, 2*len(text))
	renderer.DefaultWriter.Write(w, bytes.ReplaceAll(text, []byte{0}, nil))
	w.Flush() // a bytes.Buffer takes everything
	return []byte(html.UnescapeString(b.String()))
}
