package pipeline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A span is a token's bytes in a text.
type span struct{ start, end int }

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
	Context             string // title, headings and table header, at most contextTokens; not part of the text
	FirstPage, LastPage int
	FirstLine, LastLine int
	// The lines that the chunk comes from, as bytes of the source file; 0 to 0 for formats without lines.
	SourceStart, SourceEnd int
}

// contextTokens is the most that a chunk's context may have.
const contextTokens = 32

// How good a place is for a cut, between two tokens.
type cutQuality byte

const (
	insideWord cutQuality = iota
	wordEnd
	sentenceEnd
	blockEnd
	sectionEnd // a heading follows
)

// chunkDocument cuts a document into windows of at most size tokens that share about overlap tokens, at the ends of
// sections, blocks or sentences where one is near, else at the end of a word, and inside a word only if the word
// alone has more than size tokens. Nothing is shared across the start of a section.
func chunkDocument(d *Document, size, overlap int, t tokenSplitter) ([]Chunk, error) {
	tokens, err := t.spans(d.Text)
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	quality := cutQualities(d, tokens)
	var chunks []Chunk
	for from := 0; ; {
		to := bestCut(quality, from, size)
		c, err := makeChunk(d, tokens, from, to, t)
		if err != nil {
			return nil, err
		}
		// A word cut open tokenizes differently at its new ends.
		for c.Tokens > size && to > from+1 {
			to--
			if c, err = makeChunk(d, tokens, from, to, t); err != nil {
				return nil, err
			}
		}
		chunks = append(chunks, c)
		if to == len(tokens) {
			break
		}
		from = nextStart(quality, from, to, overlap)
	}
	if err := addContext(d, chunks, t); err != nil {
		return nil, err
	}
	return chunks, nil
}

// cutQualities judges the place before each token, and the end of the text.
func cutQualities(d *Document, tokens []span) []cutQuality {
	quality := make([]cutQuality, len(tokens)+1)
	quality[0], quality[len(tokens)] = sectionEnd, sectionEnd
	block := 0
	for i := 1; i < len(tokens); i++ {
		before, after := tokens[i-1], tokens[i]
		gap := d.Text[before.end:after.start]
		last, _ := utf8.DecodeLastRuneInString(d.Text[:before.end])
		first, _ := utf8.DecodeRuneInString(d.Text[after.start:])
		switch {
		case sentenceEnds(d.Text[before.start:before.end], gap):
			quality[i] = sentenceEnd
		case strings.ContainsFunc(gap, unicode.IsSpace) || spaceless(last) || spaceless(first):
			quality[i] = wordEnd
		}
		if closing(d.Text[before.start:before.end]) && quality[i-1] >= sentenceEnd && gap != "" && i > 1 &&
			tokens[i-2].end == before.start {
			quality[i], quality[i-1] = sentenceEnd, insideWord // the quote belongs to the sentence that it closes
		}
		for block < len(d.Blocks) && d.Blocks[block].End <= before.start {
			block++
		}
		if block < len(d.Blocks) && after.start >= d.Blocks[block].End {
			quality[i] = blockEnd
			if block+1 < len(d.Blocks) && d.Blocks[block+1].Kind == Heading && d.Blocks[block].Kind != Heading {
				quality[i] = sectionEnd
			}
		}
	}
	return quality
}

// sentenceEnds says if a sentence ends with the token, given what stands between it and the next one.
func sentenceEnds(token, gap string) bool {
	last, _ := utf8.DecodeLastRuneInString(token)
	switch last {
	case '。', '！', '？', '．', '｡':
		return true
	case '.', '!', '?', '…', '؟', '۔', '।':
		return gap != ""
	}
	return false
}

func closing(token string) bool {
	switch token {
	case `"`, "'", ")", "]", "”", "’", "»", "」", "』", "）":
		return true
	}
	return false
}

// spaceless says if words of the rune's script stand side by side without blanks.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// bestCut returns the token before which to end the window of at most size tokens that starts at from.
func bestCut(quality []cutQuality, from, size int) int {
	end := len(quality) - 1
	limit := min(from+size, end)
	for _, want := range []struct {
		quality cutQuality
		least   int // tokens that the window must have then
	}{{sectionEnd, size / 4}, {blockEnd, size / 2}, {sentenceEnd, size / 2}, {wordEnd, 1}} {
		if limit == end && want.quality < sectionEnd {
			return end // the rest fits
		}
		// A window never runs over the start of a section if it can end there.
		for to := limit; to > from && to-from >= want.least; to-- {
			if quality[to] >= want.quality {
				if want.quality == sectionEnd {
					to = firstSection(quality, from+max(want.least, 1), to)
				}
				return to
			}
		}
	}
	return limit
}

// firstSection returns the first section end from lo to hi, which is one.
func firstSection(quality []cutQuality, lo, hi int) int {
	for i := lo; i < hi; i++ {
		if quality[i] == sectionEnd {
			return i
		}
	}
	return hi
}

// nextStart returns the token with which the window after [from, to) starts: the start of a sentence or else of a
// word among the last overlap tokens, and always after from.
func nextStart(quality []cutQuality, from, to, overlap int) int {
	if quality[to] == sectionEnd || overlap == 0 {
		return to
	}
	least := max(to-overlap, from+1)
	for _, want := range []cutQuality{sentenceEnd, wordEnd} {
		for i := least; i < to; i++ {
			if quality[i] >= want {
				return i
			}
		}
	}
	return to
}

// makeChunk makes the chunk of tokens from up to to. It takes along what stands beside the first and the last
// token without a blank and is no token, such as a character that the model doesn't know.
func makeChunk(d *Document, tokens []span, from, to int, t tokenSplitter) (Chunk, error) {
	c := Chunk{Start: tokens[from].start, End: tokens[to-1].end, Tokens: to - from}
	low, high := 0, len(d.Text)
	if from > 0 {
		low = tokens[from-1].end
	}
	if to < len(tokens) {
		high = tokens[to].start
	}
	if i := strings.LastIndexFunc(d.Text[low:c.Start], unicode.IsSpace); i >= 0 {
		_, n := utf8.DecodeRuneInString(d.Text[low+i:])
		c.Start = low + i + n
	} else if from == 0 {
		c.Start = 0
	}
	if rest := strings.IndexFunc(d.Text[c.End:high], unicode.IsSpace); rest >= 0 {
		c.End += rest
	} else {
		c.End = high
	}
	found, err := t.spans(d.Text[c.Start:c.End])
	c.Tokens = len(found)
	first, last := d.segment(c.Start), d.segment(c.End-1)
	c.FirstLine, c.FirstPage, c.SourceStart = d.Segments[first].Line, d.Segments[first].Page, d.Segments[first].Source
	c.LastLine, c.LastPage = d.Segments[last].Line, d.Segments[last].Page
	if c.FirstLine > 0 {
		c.SourceEnd = d.Size
		if last+1 < len(d.Segments) {
			c.SourceEnd = d.Segments[last+1].Source
		}
		c.SourceEnd = max(c.SourceEnd, c.SourceStart)
	}
	return c, err
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
func addContext(d *Document, chunks []Chunk, t tokenSplitter) error {
	for i := range chunks {
		c := &chunks[i]
		b := d.block(c.Start)
		c.HeadingPath = b.Path
		above := b.Path
		if b.Kind == Heading && c.Start <= b.Start && len(above) > 0 {
			above = above[:len(above)-1] // the heading is in the text itself
		}
		parts := above
		if d.Meta.Title != "" && (len(above) == 0 || above[0] != d.Meta.Title) && !(b.Kind == Heading && d.Text[b.Start:b.End] == d.Meta.Title) {
			parts = append([]string{d.Meta.Title}, above...)
		}
		context := strings.Join(parts, " > ")
		if b.Kind == TableRow && b.Context != "" {
			context = strings.TrimPrefix(context+"\n"+b.Context, "\n")
		}
		var err error
		if c.Context, err = firstTokens(context, contextTokens, t); err != nil {
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
		if strings.ContainsFunc(text[tokens[n-1].end:tokens[n].start], unicode.IsSpace) {
			break
		}
	}
	if n == 0 {
		return "", nil
	}
	return text[:tokens[n-1].end], nil
}
