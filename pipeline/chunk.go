package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunk cuts all documents and makes the passages that are embedded and indexed.
func (b *bake) chunk(ctx context.Context) error {
	b.chunks = make([][]Chunk, len(b.documents))
	for i, d := range b.documents {
		if !d.hasText() {
			continue
		}
		err := ctx.Err()
		if err != nil {
			return err
		}
		if b.chunks[i], err = chunkDocument(d, b.settings.ChunkSize, b.settings.ChunkOverlap, b.model.tokenizer); err != nil {
			return fmt.Errorf("chunk %s: %w", b.sources[i].Path, err)
		}
		for _, c := range b.chunks[i] {
			b.passages = append(b.passages, passage(d, c))
			b.report.Tokens += c.Tokens
		}
		b.report.Documents[i].Chunks = len(b.chunks[i])
	}
	b.report.Chunks = len(b.passages)
	if len(b.passages) == 0 {
		return errNoText
	}
	return nil
}

// passage is what is embedded and indexed of a chunk: its context and its text.
func passage(d *Document, c Chunk) string {
	text := d.Text[c.Start:c.End]
	if c.Context == "" {
		return text
	}
	return c.Context + "\n" + text
}

// A span is a token's bytes in a text. Tokens of one character have the same bytes, such as those of 한.
type span struct {
	start, end int
	continues  bool // the word of the token before: cut between the two, both would become other tokens
}

// A tokenSplitter splits text into the model's tokens. daulet/tokenizers is one and the project's own WordPiece
// another; both give the same spans.
type tokenSplitter interface {
	spans(text string) ([]span, error)
}

// A Chunk is a passage: a slice of its document's text and what is needed to understand and to cite it.
type Chunk struct {
	Start, End          int // in Document.Text
	Tokens              int // at most the base's chunk_size
	HeadingPath         []string
	Anchor              string // of the nearest heading above
	Context             string // title, headings and table header, at most contextTokens; not part of the text
	FirstPage, LastPage int
	// Labels of these pages; "" where the label is the number.
	FirstLabel, LastLabel string
	FirstLine, LastLine   int
	// The lines that the chunk comes from, as bytes of the source file; 0 to 0 for formats without lines.
	SourceStart, SourceEnd int
}

// contextTokens is the most that a chunk's context may have.
const contextTokens = 32

// How good a place is for a cut, between two tokens.
type cutQuality byte

const (
	insideWord cutQuality = iota // of the tokenizer
	insideRun                    // words of the tokenizer part here without a blank, as in e-mail
	wordEnd                      // a blank, or scripts that have none
	sentenceEnd
	blockEnd
	sectionEnd // a heading follows
)

// A chunker cuts one document.
type chunker struct {
	*Document
	tokenizer tokenSplitter
	tokens    []span       // of Text; only blanks are between them
	quality   []cutQuality // of the place before each token, and of the end
	sources   []int        // where segments start in the source, ascending
	chunks    []Chunk
}

// chunkDocument cuts a document into windows of at most size tokens that share about overlap tokens, at the ends of
// sections, blocks or sentences where one is near, else at the end of a word, and inside a run of characters without
// blanks only if it alone has more than size tokens. Nothing is shared across the start of a section, and every window
// ends after the one before it.
//
// The tokenizer takes words one by one, so a window has as many tokens alone as it has within the text. A word that
// has more than size tokens by itself is split alone; only a single character may then exceed the size.
func chunkDocument(d *Document, size, overlap int, t tokenSplitter) ([]Chunk, error) {
	tokens, err := t.spans(d.Text)
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	c := &chunker{Document: d, tokenizer: t, tokens: tokens}
	for _, s := range d.Segments {
		c.sources = append(c.sources, s.Source)
	}
	slices.Sort(c.sources)
	c.coverText()
	c.judgeCuts()
	for from, done := 0, 0; done < len(tokens); {
		switch to := c.bestCut(from, done, size); {
		case to > 0:
			c.add(tokens[from].start, tokens[to-1].end, to-from)
			from, done = c.nextStart(from, to, overlap), to
		case from < done:
			from = done // what follows does not fit beside what would be shared
		default:
			if done, err = c.splitWord(from, size); err != nil {
				return nil, err
			}
			from = done
		}
	}
	return c.chunks, c.addContext()
}

// coverText extends tokens over the characters that are in none of them, such as accents. Those at the beginning of a
// run of characters without blanks go to the token after them, others to the one before.
func (c *chunker) coverText() {
	text, tokens := c.Text, c.tokens
	visible := func(s string) int { return len(strings.TrimRightFunc(s, unicode.IsSpace)) }
	tokens[0].start -= len(strings.TrimLeftFunc(text[:tokens[0].start], unicode.IsSpace))
	for i := 1; i < len(tokens); i++ {
		before, after := &tokens[i-1], &tokens[i]
		if after.start < before.end {
			after.continues = true
			continue
		}
		gap := text[before.end:after.start]
		blank := strings.LastIndexFunc(gap, unicode.IsSpace)
		if blank < 0 {
			before.end = after.start
			continue
		}
		_, n := utf8.DecodeRuneInString(gap[blank:])
		after.start = before.end + blank + n
		before.end += visible(gap[:blank])
	}
	last := &tokens[len(tokens)-1]
	last.end += visible(text[last.end:])
}

// judgeCuts sets the quality of every place.
func (c *chunker) judgeCuts() {
	tokens, blocks := c.tokens, c.Blocks
	c.quality = make([]cutQuality, len(tokens)+1)
	c.quality[0], c.quality[len(tokens)] = sectionEnd, sectionEnd
	block := 0
	for i := 1; i < len(tokens); i++ {
		before, after := tokens[i-1], tokens[i]
		if after.continues {
			continue
		}
		for block < len(blocks) && blocks[block].End < before.end {
			block++
		}
		switch {
		case block == len(blocks) || after.start < blocks[block].End:
			c.quality[i] = judgeCut(c.Text[:before.end], c.Text[after.start:], after.start > before.end)
		case blocks[block].Kind == Heading:
			c.quality[i] = wordEnd // a heading stays with what it heads
		case block+1 < len(blocks) && blocks[block+1].Kind == Heading:
			c.quality[i] = sectionEnd
		default:
			c.quality[i] = blockEnd
		}
	}
}

// judgeCut judges a place inside a block, which blank says is one.
func judgeCut(before, after string, blank bool) cutQuality {
	last, n := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	end := last // of the sentence, if it ends, without the quotes and brackets that it closes
	for i := 0; i < 3 && unicode.In(end, closing...); i++ {
		before = before[:len(before)-n]
		end, n = utf8.DecodeLastRuneInString(before)
	}
	switch end {
	case '.': // and not an abbreviation before more of the sentence
		if blank && !unicode.IsLower(first) {
			return sentenceEnd
		}
	case '!', '?', '…', '؟', '۔', '।':
		if blank {
			return sentenceEnd
		}
	case '。', '！', '？', '．', '｡':
		if !unicode.In(first, closing...) {
			return sentenceEnd
		}
	}
	switch {
	case blank:
		return wordEnd
	case (unicode.In(last, spaceless...) || unicode.In(first, spaceless...)) && !unicode.In(first, unicode.Pe, unicode.Pf, unicode.Po) && !unicode.In(last, unicode.Ps, unicode.Pi):
		return wordEnd
	}
	return insideRun
}

var (
	// closing are quotes and brackets at the end of what they enclose.
	closing = []*unicode.RangeTable{unicode.Pe, unicode.Pf, {R16: []unicode.Range16{{Lo: '"', Hi: '"', Stride: 1}, {Lo: '\'', Hi: '\'', Stride: 1}}, LatinOffset: 2}}
	// spaceless are the scripts whose words stand side by side without blanks.
	spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}
)

// bestCut returns the token before which to end the window of at most size tokens that starts at from and ends after
// done; 0 if there is none that leaves all words whole. Runs without blanks are cut only if nothing is shared: without
// that, they may fit.
func (c *chunker) bestCut(from, done, size int) int {
	end := len(c.tokens)
	limit := min(from+size, end)
	// A window never runs over the start of a section, unless it would have hardly anything of the one before.
	for to := max(done+1, from+size/4); to <= limit; to++ {
		if c.quality[to] == sectionEnd {
			return to
		}
	}
	if limit == end {
		return end
	}
	for _, want := range []struct {
		quality cutQuality
		least   int // tokens that the window must have then
	}{{blockEnd, size / 2}, {sentenceEnd, size / 2}, {wordEnd, 1}, {insideRun, 1}} {
		if want.quality == insideRun && from < done {
			break
		}
		for to := limit; to > done && to >= from+want.least; to-- {
			if c.quality[to] >= want.quality {
				return to
			}
		}
	}
	return 0
}

// nextStart returns the token with which the window after [from, to) starts: the first start of a block, or else of a
// sentence, or else of a word, among the last overlap tokens, and always after from. Of what ends before a section's start in the window,
// nothing is shared.
func (c *chunker) nextStart(from, to, overlap int) int {
	least := max(to-overlap, from+1)
	for i := to; i >= least; i-- {
		if c.quality[i] == sectionEnd {
			return i
		}
	}
	for _, want := range []cutQuality{blockEnd, sentenceEnd, wordEnd} {
		for i := least; i < to; i++ {
			if c.quality[i] >= want {
				return i
			}
		}
	}
	return to
}

// splitWord makes chunks of a word of the tokenizer that has more than size tokens, and returns the token after it.
// The tokenizer sees what is left of a word as another word.
func (c *chunker) splitWord(from, size int) (to int, err error) {
	for to = from + 1; c.quality[to] == insideWord; to++ {
	}
	start, end := c.tokens[from].start, c.tokens[to-1].end
	for start < end {
		tokens, err := c.tokenizer.spans(c.Text[start:end])
		if err != nil {
			return 0, err
		}
		cut, n := end, len(tokens)
		for n > size {
			// The last place that is early enough, or the end of the first character.
			early := 0
			for i := 1; i < n; i++ {
				if tokens[i].start >= tokens[i-1].end && (i <= size || early == 0) {
					early = i
				}
			}
			if early == 0 {
				break
			}
			cut = start + tokens[early].start
			if tokens, err = c.tokenizer.spans(c.Text[start:cut]); err != nil {
				return 0, err
			}
			n = len(tokens)
		}
		c.add(start, cut, n)
		start = cut
	}
	return to, nil
}

// add adds the chunk Text[start:end].
func (c *chunker) add(start, end, tokens int) {
	segments := c.Segments[c.segment(start) : c.segment(end-1)+1]
	chunk := Chunk{Start: start, End: end, Tokens: tokens,
		FirstPage: segments[0].Page, LastPage: segments[0].Page, FirstLine: segments[0].Line, LastLine: segments[0].Line, SourceStart: segments[0].Source}
	last := 0 // start of the last line in the source; footnotes come out of order
	for _, s := range segments {
		chunk.FirstPage, chunk.LastPage = min(chunk.FirstPage, s.Page), max(chunk.LastPage, s.Page)
		chunk.FirstLine, chunk.LastLine = min(chunk.FirstLine, s.Line), max(chunk.LastLine, s.Line)
		chunk.SourceStart, last = min(chunk.SourceStart, s.Source), max(last, s.Source)
	}
	if chunk.FirstLine > 0 {
		chunk.SourceEnd = c.Size
		if i, _ := slices.BinarySearch(c.sources, last+1); i < len(c.sources) {
			chunk.SourceEnd = c.sources[i]
		}
	}
	chunk.FirstLabel, chunk.LastLabel = c.label(chunk.FirstPage), c.label(chunk.LastPage)
	c.chunks = append(c.chunks, chunk)
}

// label returns the label of a page; "" where it is the number.
func (d *Document) label(page int) string {
	if page < 1 || page > len(d.Pages) {
		return ""
	}
	return d.Pages[page-1].Label
}

// segment returns the index of the segment that a byte of the text is in.
func (d *Document) segment(at int) int {
	i, found := slices.BinarySearchFunc(d.Segments, at, func(s Segment, at int) int { return s.Start - at })
	if !found {
		i--
	}
	return i
}

// block returns the block that a byte of the text is in, or the one before it.
func (d *Document) block(at int) *Block {
	i, found := slices.BinarySearchFunc(d.Blocks, at, func(b Block, at int) int { return b.Start - at })
	if !found {
		i--
	}
	return &d.Blocks[max(i, 0)]
}

// addContext gives each chunk the headings above it, the document's title, and the header of the table that it
// starts in.
func (c *chunker) addContext() (err error) {
	for i := range c.chunks {
		chunk := &c.chunks[i]
		b := c.block(chunk.Start)
		chunk.HeadingPath, chunk.Anchor = b.Path, b.Anchor
		above := b.Path
		if b.Kind == Heading && chunk.Start <= b.Start && len(above) > 0 {
			above = above[:len(above)-1] // the heading is in the text itself
		}
		if title := c.Meta.Title; title != "" && (len(above) == 0 || above[0] != title) && !(b.Kind == Heading && c.Text[b.Start:b.End] == title) {
			above = append([]string{title}, above...)
		}
		context := strings.Join(above, " > ")
		if b.Kind == TableRow && b.Context != "" {
			context = strings.TrimPrefix(context+"\n"+b.Context, "\n")
		}
		if chunk.Context, err = firstTokens(context, contextTokens, c.tokenizer); err != nil {
			return err
		}
	}
	return nil
}

// firstTokens cuts text at the end of the last word that n tokens hold whole.
func firstTokens(text string, n int, t tokenSplitter) (string, error) {
	tokens, err := t.spans(text)
	if err != nil || len(tokens) <= n {
		return text, err
	}
	for ; n > 0; n-- {
		if end, next := tokens[n-1].end, tokens[n].start; end < next && strings.ContainsFunc(text[end:next], unicode.IsSpace) {
			break
		}
	}
	if n == 0 {
		return "", nil
	}
	return text[:tokens[n-1].end], nil
}
