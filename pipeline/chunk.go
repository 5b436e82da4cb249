package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"example.com/larder/models/wordpiece"
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
		if len(b.chunks[i]) == 0 {
			d.Reason = strings.TrimPrefix(d.Reason+"; "+noTokens, "; ")
			if d.Verdict == OK {
				d.Verdict = Blank
			}
			b.report.Documents[i].Verdict, b.report.Documents[i].Reason = d.Verdict, d.Reason
		}
	}
	b.report.Chunks = len(b.passages)
	if len(b.passages) == 0 {
		return errNoText
	}
	return nil
}

// noTokens says why a document with text has no chunk.
const noTokens = "its text has nothing to search for, such as accents without letters"

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
	noCut       cutQuality = iota // inside a word of the tokenizer, a grapheme cluster, or what is never cut since it fits
	insideRun                     // words of the tokenizer part here without a blank, as in e-mail
	headingEnd                    // a heading stays with what it heads
	wordEnd                       // a blank, or scripts that have none
	clauseEnd                     // a comma and the like, or the end of a table's cell
	sentenceEnd                   // also a line's end in code
	blockEnd                      // also an empty line in code
	sectionEnd                    // a heading follows
)

// ChunkDocument cuts a document as a bake with these settings does, counting tokens with the project's own tokenizer.
func ChunkDocument(d *Document, size, overlap int, t *wordpiece.Tokenizer) ([]Chunk, error) {
	return chunkDocument(d, size, overlap, wordPieces{t})
}

// A chunker cuts one document.
type chunker struct {
	*Document
	size, overlap int
	tokenizer     tokenSplitter
	tokens        []span       // of Text; only blanks are between them
	characters    []int        // of Text before each token, and in all
	quality       []cutQuality // of the place before each token, and of the end
	inItem        []bool       // whether the place is inside a list item that fits into a chunk
	sources       []int        // where segments start in the source, ascending
	chunks        []Chunk
}

// maxCharacters is how many characters a chunk of so many tokens may have. Text has fewer: four to five a token in
// English, ten for the most compact words. But a run that is too long for the tokenizer is one unknown token, and
// in Thai, or in a megabyte without a blank, that may be all there is.
func maxCharacters(size int) int { return max(512, 10*size) }

// chunkDocument cuts a document into windows of at most size tokens that share at most overlap tokens.
//
// Table rows, and code blocks, are never cut if they fit into a chunk, nor are headings, and a heading is the end of
// a chunk only if nothing that follows fits beside it. Otherwise cuts are, in this order, at the ends of sections,
// blocks, or sentences if one is near (of lines, in code that is too long), else at the end of a clause or a word,
// and inside a run of characters without blanks only if it alone is too long. List items are cut only if they don't fit.
// Windows share whole sentences or lines, or nothing; after a cut within a sentence the clauses or words before it.
// Nothing is shared across the start of a section, and every window ends after the one before it.
//
// The tokenizer takes words one by one, so a window has as many tokens alone as it has within the text. A word that
// is too long by itself is split alone; only a single character may then have more than size tokens.
func chunkDocument(d *Document, size, overlap int, t tokenSplitter) ([]Chunk, error) {
	tokens, err := t.spans(d.Text)
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	c := &chunker{Document: d, size: size, overlap: overlap, tokenizer: t, tokens: tokens}
	for _, s := range d.Segments {
		c.sources = append(c.sources, s.Source)
	}
	slices.Sort(c.sources)
	c.coverText()
	c.countCharacters()
	c.judgeCuts()
	for from, done := 0, 0; done < len(tokens); {
		switch to := c.bestCut(from, done); {
		case to > 0:
			c.add(tokens[from].start, tokens[to-1].end, to-from)
			from, done = c.nextStart(from, to), to
		case from < done:
			from = done // what follows does not fit beside what would be shared
		default:
			if done, err = c.splitWord(from); err != nil {
				return nil, err
			}
			from = done
		}
	}
	return c.chunks, c.addContext()
}

// coverText extends tokens over the characters that are in none of them, such as accents. Those at the beginning of a
// run of characters without blanks, or of a grapheme cluster, go to the token after them, others to the one before.
func (c *chunker) coverText() {
	text, tokens, clusters := c.Text, c.tokens, clusterEdges{text: c.Text}
	visible := func(s string) int { return len(strings.TrimRightFunc(s, unicode.IsSpace)) }
	tokens[0].start -= len(strings.TrimLeftFunc(text[:tokens[0].start], unicode.IsSpace))
	for i := 1; i < len(tokens); i++ {
		before, after := &tokens[i-1], &tokens[i]
		if after.start < before.end {
			after.continues = true
			continue
		}
		gap := text[before.end:after.start]
		if gap == "" {
			continue
		}
		blank := strings.LastIndexFunc(gap, unicode.IsSpace)
		if blank < 0 {
			if edge := clusters.before(after.start); edge > before.end {
				after.start = edge
			}
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

// countCharacters counts the characters before each token.
func (c *chunker) countCharacters() {
	c.characters = make([]int, len(c.tokens)+1)
	at, n := 0, 0
	for i, t := range c.tokens {
		if t.start > at { // tokens of one character share it
			n += utf8.RuneCountInString(c.Text[at:t.start])
			at = t.start
		}
		c.characters[i] = n
	}
	c.characters[len(c.tokens)] = n + utf8.RuneCountInString(c.Text[at:])
}

// fit reports whether a chunk can hold the tokens [from, to).
func (c *chunker) fit(from, to int) bool {
	return to-from <= c.size && c.characters[to]-c.characters[from] <= maxCharacters(c.size)
}

// judgeCuts sets the quality of every place.
func (c *chunker) judgeCuts() {
	n, tokens := len(c.tokens), c.tokens
	c.quality, c.inItem = make([]cutQuality, n+1), make([]bool, n+1)
	c.quality[0], c.quality[n] = sectionEnd, sectionEnd
	clusters := clusterEdges{text: c.Text}
	b := 0
	for from := 0; from < n; {
		// The tokens of one block; blocks without tokens have been given to their neighbours.
		for b < len(c.Blocks)-1 && c.Blocks[b].End < tokens[from].end {
			b++
		}
		block, to := c.Blocks[b], from+1
		for to < n && (tokens[to].start < block.End || tokens[to].continues) {
			to++
		}
		c.judgeBlock(block.Kind, from, to, &clusters)
		if to < n {
			c.quality[to] = blockEnd
			if block.Kind == Heading {
				c.quality[to] = headingEnd
			} else if c.block(tokens[to].start).Kind == Heading {
				c.quality[to] = sectionEnd
			}
		}
		from = to
	}
}

// judgeBlock sets the quality of the places inside a block, which has the tokens [from, to).
func (c *chunker) judgeBlock(kind BlockKind, from, to int, clusters *clusterEdges) {
	fits := c.fit(from, to)
	switch {
	case kind == Code && !fits:
		c.judgeCode(from, to, clusters)
		return
	case kind == Code, kind == TableRow && fits, kind == Heading && fits:
		return
	}
	start := c.tokens[from].start
	for i := from + 1; i < to; i++ {
		c.inItem[i] = fits && kind == ListItem
		if before, after := c.tokens[i-1].end, c.tokens[i].start; c.mayCut(i, clusters) {
			c.quality[i] = judgePlace(c.Text[start:before], c.Text[before:after], c.Text[after:])
		}
	}
}

// judgeCode sets the quality of the places inside a code block that does not fit into a chunk: between its lines, and
// inside those that do not fit.
func (c *chunker) judgeCode(from, to int, clusters *clusterEdges) {
	gap := func(i int) string { return c.Text[c.tokens[i-1].end:max(c.tokens[i-1].end, c.tokens[i].start)] }
	for line := from; line < to; {
		next := line + 1
		for next < to && !strings.Contains(gap(next), "\n") {
			next++
		}
		if !c.fit(line, next) {
			for i := line + 1; i < next; i++ {
				if c.mayCut(i, clusters) {
					c.quality[i] = min(judgePlace("", gap(i), ""), wordEnd)
				}
			}
		}
		if next < to {
			c.quality[next] = sentenceEnd
			if strings.Count(gap(next), "\n") > 1 {
				c.quality[next] = blockEnd
			}
		}
		line = next
	}
}

// mayCut reports whether the place before a token is neither inside a word of the tokenizer nor inside a grapheme
// cluster. Places must come in ascending order.
func (c *chunker) mayCut(i int, clusters *clusterEdges) bool {
	before, after := c.tokens[i-1], c.tokens[i]
	return !after.continues && (after.start > before.end || clusters.at(after.start))
}

// clusterEdges tells where grapheme clusters, by UAX 29, begin in a text.
type clusterEdges struct {
	text       string
	edges      *graphemes.Iterator[string]
	last, next int // edges around the last place asked for
}

// at reports whether a cluster begins at a place.
func (c *clusterEdges) at(place int) bool {
	if place > 0 && place < len(c.text) && c.text[place-1] < utf8.RuneSelf && c.text[place] < utf8.RuneSelf {
		return true // control characters, of which a line end may be two, have gone
	}
	return c.before(place) == place
}

// before returns the last place, up to this one, where a cluster begins. Places must come in ascending order.
func (c *clusterEdges) before(place int) int {
	if c.edges == nil {
		c.edges = graphemes.FromString(c.text)
	}
	for c.next <= place && c.edges.Next() {
		c.last, c.next = c.next, c.edges.End()
	}
	if c.next <= place {
		return c.next // the end of the text
	}
	return c.last
}

// bestCut returns the token before which to end the window that starts at from and ends after done; 0 if there is none
// that leaves whole what may not be cut. Runs without blanks are cut only if nothing is shared: without that, they may
// fit.
func (c *chunker) bestCut(from, done int) int {
	end := len(c.tokens)
	limit := min(from+c.size, end)
	for limit > from && !c.fit(from, limit) {
		limit--
	}
	// A window never runs over the start of a section, unless it would have hardly anything of the one before.
	for to := max(done+1, from+c.size/4); to <= limit; to++ {
		if c.quality[to] == sectionEnd {
			return to
		}
	}
	for _, want := range []struct {
		quality cutQuality
		least   int // tokens that the window must have then
		items   bool
	}{
		{blockEnd, c.size / 2, false}, {sentenceEnd, c.size / 2, false}, {blockEnd, c.size / 4, false}, {sentenceEnd, c.size / 4, false},
		{blockEnd, 1, false}, {sentenceEnd, c.size / 4, true}, {clauseEnd, c.size / 2, true}, {wordEnd, 1, true}, {headingEnd, 1, true}, {insideRun, 1, true},
	} {
		if want.quality == insideRun && from < done {
			break
		}
		if want.least == 1 && !want.items && !c.inItem[limit] {
			continue // a short window is better than a list item cut, but not than a sentence
		}
		for to := limit; to > done && to >= from+want.least; to-- {
			if c.quality[to] >= want.quality && (want.items || !c.inItem[to]) {
				return to
			}
		}
	}
	return 0
}

// nextStart returns the token with which the window after [from, to) starts. It is the first start of a sentence,
// block, or line of code among the last overlap tokens; if there is none, and a sentence was cut, of a clause or
// a word. It is always after from. Of what ends before a section's start in the window, nothing is shared.
func (c *chunker) nextStart(from, to int) int {
	least := max(to-c.overlap, from+1)
	for i := to; i >= least; i-- {
		if c.quality[i] == sectionEnd {
			return i
		}
	}
	for _, want := range []cutQuality{sentenceEnd, clauseEnd, wordEnd} {
		if want < sentenceEnd && c.quality[to] >= sentenceEnd {
			break
		}
		for i := least; i < to; i++ {
			if c.quality[i] >= want && !c.inItem[i] {
				return i
			}
		}
	}
	return to
}

// splitWord makes chunks of a word of the tokenizer, or a grapheme cluster, that does not fit into one, and returns
// the token after it. The tokenizer sees what is left of a word as another word.
func (c *chunker) splitWord(from int) (to int, err error) {
	for to = from + 1; c.quality[to] == noCut; to++ {
	}
	start, end := c.tokens[from].start, c.tokens[to-1].end
	for start < end {
		cut := start + lastEdge(c.Text[start:end], byteAfter(c.Text[start:end], maxCharacters(c.size)))
		tokens, err := c.tokenizer.spans(c.Text[start:cut])
		if err != nil {
			return 0, err
		}
		n := len(tokens)
		for n > c.size {
			early := earlyCut(c.Text[start:cut], tokens, c.size)
			if early == 0 {
				break
			}
			cut = start + early
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

// byteAfter returns the length of the first n characters.
func byteAfter(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// lastEdge returns the last edge of a grapheme cluster at or before a place in text; the place itself if that is
// inside the first cluster.
func lastEdge(text string, place int) int {
	_, n := utf8.DecodeRuneInString(text[place:])
	clusters := clusterEdges{text: text[:place+n]} // no more of a megabyte than is needed
	return cmp.Or(clusters.before(place), place)
}

// earlyCut returns the last place in text, between two of its tokens, that at most size tokens are before: of those
// between grapheme clusters if there is one, else of those between characters, else the end of the first character.
// It is 0 if there is none.
func earlyCut(text string, tokens []span, size int) int {
	clusters, cluster, character := clusterEdges{text: text}, 0, 0
	for i := 1; i < len(tokens) && (i <= size || character == 0); i++ {
		place := tokens[i].start
		if place < tokens[i-1].end {
			continue
		}
		character = place
		if edge := clusters.before(place); edge > 0 && edge >= tokens[i-1].end {
			cluster = edge
		}
	}
	if cluster > 0 {
		return cluster
	}
	return character
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

// addContext gives each chunk the headings above it, the document's title, and the header of the table, or the info
// string of the code block, that it starts in.
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
		if b.Context != "" {
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
