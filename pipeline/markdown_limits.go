package pipeline

import (
	"bytes"
	"context"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Some Markdown takes time or memory that grows with the square of its size: links that never close,
// emphasis that never ends, tables that are all empty cells, deep nesting. The parsers of such parts
// are wrapped: each charges what it may cost to the document's account, and declines once that is
// overdrawn, so that the rest is read as plain text at once and the document fails.
const (
	// maxWork is what a document may cost. A unit is about a nanosecond.
	maxWork = 2_000_000_000
	// maxNesting is how deep containers nest: a list and its item count as two. Markers beyond it are text.
	maxNesting = 64

	containerWork = 300     // a container looking at a line
	cellWork      = 2_000   // a table cell, for its memory more than for its time
	escapeWork    = 8       // an escaped bar looking at another
	delimiterWork = 3       // one delimiter of emphasis looking at another
	bracketWork   = 16      // a byte of a link's text
	targetWork    = 6       // a byte behind a link that may be its target
	codeWork      = 3       // a byte behind a tick that may be code
	ctxWork       = 1 << 20 // between looks at the context
)

// A markdownAccount counts the work on one document.
type markdownAccount struct {
	ctx       context.Context
	left      int // of maxWork
	look      int // look at ctx when left falls below this
	block     ast.Node
	marks     int   // delimiters of emphasis in block
	brackets  []int // where brackets were left open in block
	footnotes int   // defined so far
	escapes   int   // escaped bars in code in tables so far
}

var accountKey = parser.NewContextKey()

// newMarkdownContext returns a context for parsing one document, and its account.
func newMarkdownContext(ctx context.Context, work int) (parser.Context, *markdownAccount) {
	account := &markdownAccount{ctx: ctx, left: work, look: work}
	pc := parser.NewContext()
	pc.Set(accountKey, account)
	return pc, account
}

func accountOf(pc parser.Context) *markdownAccount { return pc.Get(accountKey).(*markdownAccount) }

// charge takes work from the account and says whether there is more.
func (a *markdownAccount) charge(work int) bool {
	if a.left < 0 || work < 0 { // below 0 is work beyond what an int holds
		a.left = -1
		return false
	}
	a.left -= work
	if a.left < a.look {
		a.look = a.left - ctxWork
		if a.ctx.Err() != nil {
			a.left = -1
		}
	}
	return a.left >= 0
}

func (a *markdownAccount) overdrawn() bool { return a.left < 0 }

// A limitedContainer parses block quotes, lists and their items, up to maxNesting.
type limitedContainer struct{ parser.BlockParser }

func (l limitedContainer) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxNesting || !accountOf(pc).charge(containerWork) {
		return nil, parser.NoChildren
	}
	return l.BlockParser.Open(parent, reader, pc)
}

func (l limitedContainer) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if !accountOf(pc).charge(containerWork) {
		return parser.Close
	}
	return l.BlockParser.Continue(node, reader, pc)
}

// A limitedFootnote counts the definitions of footnotes, since each mark looks through all of them.
type limitedFootnote struct{ parser.BlockParser }

func (l limitedFootnote) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := l.BlockParser.Open(parent, reader, pc)
	if node != nil {
		account := accountOf(pc)
		account.footnotes++
		account.charge(2 * account.footnotes)
	}
	return node, state
}

// A limitedInline parses inline markup, at the cost of looking at other parts of the block.
type limitedInline struct {
	parser.InlineParser
	cost func(call inlineCall) int
}

// An inlineCall is what a parser of inline markup was called with, and whether it found anything.
type inlineCall struct {
	account *markdownAccount
	line    []byte // from the mark on
	before  int    // bytes of the block before it
	behind  int    // and from it on
	found   bool
}

func (l limitedInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	account := accountOf(pc)
	if account.overdrawn() {
		return nil
	}
	if account.block != parent {
		account.block, account.marks, account.brackets = parent, 0, account.brackets[:0]
	}
	line, at := block.PeekLine()
	call := inlineCall{account: account, line: line}
	if lines := parent.Lines(); lines.Len() > 0 {
		call.before = max(0, at.Start-lines.At(0).Start)
		call.behind = max(0, lines.At(lines.Len()-1).Stop-at.Start)
	}
	node := l.InlineParser.Parse(parent, block, pc)
	call.found = node != nil
	account.charge(l.cost(call))
	return node
}

// codeSpanCost is of looking for the end of a code span that has none.
func codeSpanCost(call inlineCall) int {
	if call.found {
		return 0
	}
	return codeWork * call.behind
}

// rawHTMLCost is of looking for the end of a comment or the like that has none.
func rawHTMLCost(call inlineCall) int {
	if call.found || len(call.line) < 2 || call.line[1] != '!' && call.line[1] != '?' {
		return 0
	}
	return call.behind / 4
}

// linkCost is of looking for another link in a link's text, and for the end of its target. It follows
// the brackets as the parser does: each closing one takes the last one open.
func linkCost(call inlineCall) int {
	account := call.account
	if call.line[0] != ']' {
		if call.found {
			account.brackets = append(account.brackets, call.before)
		}
		return 0
	}
	cost := 0
	if last := len(account.brackets) - 1; last >= 0 {
		cost = bracketWork * (call.before - account.brackets[last])
		account.brackets = account.brackets[:last]
	}
	if !call.found && len(call.line) > 1 && (call.line[1] == '(' || call.line[1] == '[') {
		cost += targetWork * call.behind
	}
	return cost
}

// emphasisCost is of a delimiter looking at those before it.
func emphasisCost(call inlineCall) int {
	call.account.marks++
	return delimiterWork * call.account.marks
}

// footnoteCost is of a mark looking through the definitions.
func footnoteCost(call inlineCall) int {
	if len(call.line) < 2 || call.line[1] != '^' && call.line[0] != '!' {
		return 0
	}
	return 5 * call.account.footnotes
}

// A limitedLink is the parser of links, which wants to know where blocks end.
type limitedLink struct {
	limitedInline
	parser.CloseBlocker
}

func newLimitedLink() parser.InlineParser {
	p := parser.NewLinkParser()
	return limitedLink{limitedInline{p, linkCost}, p.(parser.CloseBlocker)}
}

// A limitedParagraph turns paragraphs into tables or link definitions.
type limitedParagraph struct {
	parser.ParagraphTransformer
	cost func(account *markdownAccount, lines *text.Segments, source []byte) int
}

func (l limitedParagraph) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	account := accountOf(pc)
	if account.charge(l.cost(account, node.Lines(), reader.Source())) {
		l.ParagraphTransformer.Transform(node, reader, pc)
	}
}

// definitionCost is of taking link definitions off the head of a paragraph one by one.
func definitionCost(_ *markdownAccount, lines *text.Segments, source []byte) int {
	if first := lines.At(0); !bytes.HasPrefix(bytes.TrimLeft(first.Value(source), " \t"), []byte("[")) {
		return 0
	}
	return lines.Len() * lines.Len()
}

// tableCost is of a table's cells, of which every row has as many as the longest line has bars, and
// of escaped bars in code, each of which is compared with all others.
func tableCost(account *markdownAccount, lines *text.Segments, source []byte) int {
	bars, escapes := 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		value := line.Value(source)
		bars = max(bars, bytes.Count(value, []byte("|")))
		if bytes.IndexByte(value, '`') >= 0 {
			escapes += bytes.Count(value, []byte(`\|`))
		}
	}
	if bars == 0 {
		return 0
	}
	before := account.escapes
	account.escapes += escapes
	return cellWork*bars*lines.Len() + escapeWork*(account.escapes*account.escapes-before*before)
}

// newMarkdownParser returns goldmark's parser of CommonMark with GFM, footnotes and definition lists,
// within limits. It is safe for concurrent use; each document needs a context of its own from
// newMarkdownContext.
func newMarkdownParser() parser.Parser {
	headings := parser.WithHeadingAttribute()
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(headings), 100),
			util.Prioritized(limitedContainer{extension.NewDefinitionListParser()}, 101),
			util.Prioritized(limitedContainer{extension.NewDefinitionDescriptionParser()}, 102),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(limitedContainer{parser.NewListParser()}, 300),
			util.Prioritized(limitedContainer{parser.NewListItemParser()}, 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(headings), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(limitedContainer{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(limitedContainer{limitedFootnote{extension.NewFootnoteBlockParser()}}, 999),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(limitedInline{parser.NewCodeSpanParser(), codeSpanCost}, 100),
			util.Prioritized(limitedInline{extension.NewFootnoteParser(), footnoteCost}, 101),
			util.Prioritized(newLimitedLink(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(limitedInline{parser.NewRawHTMLParser(), rawHTMLCost}, 400),
			util.Prioritized(limitedInline{parser.NewEmphasisParser(), emphasisCost}, 500),
			util.Prioritized(limitedInline{extension.NewStrikethroughParser(), emphasisCost}, 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(limitedParagraph{parser.LinkReferenceParagraphTransformer, definitionCost}, 100),
			util.Prioritized(limitedParagraph{extension.NewTableParagraphTransformer(), tableCost}, 200),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
			util.Prioritized(extension.NewFootnoteASTTransformer(), 999),
		),
	)
}
