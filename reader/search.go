package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"example.com/larder/artifact"
	"example.com/larder/internal/roaring"
)

// The modes of a search.
const (
	Meaning = artifact.Meaning
	Keyword = artifact.Keyword
	Hybrid  = artifact.Hybrid
)

// A Fusion makes one ranking of the two sides of a hybrid search.
type Fusion string

const (
	// RRF is reciprocal rank fusion with k = 60 over the best 100 of each side
	// (Cormack, Clarke and Büttcher, SIGIR 2009).
	RRF Fusion = "rrf"
	// Interleave takes the best top-k of each side in turn, meaning first.
	Interleave Fusion = "interleave"
)

// MaxTopK is the most hits that a search returns.
const MaxTopK = 1000

// maxTerms is how many terms of a query count.
const maxTerms = 64

// A Query is a question and how to answer it. Zero fields mean the base's settings.
type Query struct {
	Text     string
	Mode     artifact.Mode // a hybrid base answers in all three, others only in their own
	TopK     int           // 1 to MaxTopK
	MinScore *float64      // least cosine of a meaning hit that keyword search did not find too
	Fusion   Fusion        // RRF by default
	Boost    bool          // multiply scores above 0 by the boost of the document's content type; RRF only
	Filters  Filters
}

// Results are what a search found, best first.
type Results struct {
	Hits  []Hit         `json:"hits"`
	Mode  artifact.Mode `json:"mode"`
	Scope int           `json:"scope"` // chunks that the filters let through
	Cut   bool          `json:"cut"`   // the query was longer than what the model reads, or had over 64 terms
	Terms []string      `json:"terms"` // the query's terms, empty in meaning mode
}

// A Hit is a chunk that was found.
type Hit struct {
	ChunkID     string   `json:"chunk_id"`
	DocumentID  string   `json:"document_id"`
	Source      string   `json:"source"` // the file's name
	Path        string   `json:"path"`   // below the base's folder
	Title       string   `json:"title"`
	ContentType string   `json:"content_type,omitempty"`
	HeadingPath string   `json:"heading_path,omitempty"` // joined by " > "
	Anchor      string   `json:"anchor,omitempty"`       // of the heading above in the rendered document, for a link to path#anchor
	Text        string   `json:"text"`
	FirstPage   int      `json:"first_page,omitempty"` // from 1; 0 for formats without pages
	LastPage    int      `json:"last_page,omitempty"`
	FirstLabel  string   `json:"first_label,omitempty"` // of the pages, such as iv, where it is not the number
	LastLabel   string   `json:"last_label,omitempty"`
	FirstLine   int      `json:"first_line,omitempty"` // from 1 in the source file; 0 if unknown
	LastLine    int      `json:"last_line,omitempty"`
	Start       int      `json:"start"` // bytes in the document's canonical text
	End         int      `json:"end"`
	Score       float64  `json:"score"`  // what the hits are ordered by; comparable within one result only
	Cosine      *float64 `json:"cosine"` // nil in keyword bases and keyword mode
	BM25        float64  `json:"bm25"`   // 0 if no term matches
	// Ranks in each side, from 1; 0 if the side did not find it among its candidates.
	MeaningRank int `json:"meaning_rank"`
	KeywordRank int `json:"keyword_rank"`

	chunk int
}

// Search answers a query. An empty or blank one finds nothing. It stops with the context's error when ctx ends.
func (b *Base) Search(ctx context.Context, q Query) (*Results, error) {
	p, err := b.plan(q)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", b.artifact.Manifest.Base, err)
	}
	r, err := b.search(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", b.artifact.Manifest.Base, err)
	}
	return r, nil
}

// A plan is a query with everything decided.
type plan struct {
	Query
	minScore   float64
	candidates int // of each side
}

// ErrQuery says that a query asks for something that the base or this package doesn't have.
var ErrQuery = errors.New("invalid query")

func (b *Base) plan(q Query) (*plan, error) {
	s := b.artifact.Manifest.Settings
	p := &plan{Query: q, minScore: s.MinScore}
	if p.Mode == "" {
		p.Mode = s.Mode
	}
	if p.TopK == 0 {
		p.TopK = s.TopK
	}
	if p.Fusion == "" {
		p.Fusion = RRF
	}
	if q.MinScore != nil {
		p.minScore = *q.MinScore
	}
	p.candidates = p.TopK
	if p.Fusion == RRF && (p.Mode == Hybrid || p.Boost) { // what is reordered is more than what is returned
		p.candidates = max(p.TopK, RRFDepth)
	}
	switch {
	case p.Mode != Meaning && p.Mode != Keyword && p.Mode != Hybrid:
		return nil, fmt.Errorf("%w: mode %q is not one of meaning, keyword, hybrid", ErrQuery, p.Mode)
	case p.Mode != s.Mode && s.Mode != Hybrid:
		return nil, fmt.Errorf("%w: the base was baked in %s mode and can't answer in %s mode", ErrQuery, s.Mode, p.Mode)
	case p.TopK < 1 || p.TopK > MaxTopK:
		return nil, fmt.Errorf("%w: top-k %d is not from 1 to %d", ErrQuery, p.TopK, MaxTopK)
	case p.Fusion != RRF && p.Fusion != Interleave:
		return nil, fmt.Errorf("%w: fusion %q is not one of rrf, interleave", ErrQuery, p.Fusion)
	case p.Boost && p.Fusion != RRF:
		return nil, fmt.Errorf("%w: boost needs fusion rrf", ErrQuery)
	case !(p.minScore >= -1 && p.minScore <= 1):
		return nil, fmt.Errorf("%w: min score %v is not from -1 to 1", ErrQuery, p.minScore)
	}
	for _, day := range []string{p.Filters.DateFrom, p.Filters.DateTo} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return nil, fmt.Errorf("%w: date %q is not a day as YYYY-MM-DD", ErrQuery, day)
		}
	}
	return p, nil
}

func (b *Base) search(ctx context.Context, p *plan) (*Results, error) {
	s := b.scratch.Get().(*scratch)
	defer b.scratch.Put(s)
	r, meaning, keyword, err := b.candidates(ctx, s, p)
	if err != nil {
		return nil, err
	}
	var boost func(chunk int) float64
	if p.Boost {
		boost = b.boost
	}
	for _, f := range fuse(p, meaning, keyword, boost) {
		r.Hits = append(r.Hits, b.hit(s, p.Mode, f))
	}
	return r, nil
}

// candidates are what the two sides find. The results hold everything but hits; the query's vector is in s afterwards.
func (b *Base) candidates(ctx context.Context, s *scratch, p *plan) (r *Results, meaning, keyword []candidate, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	scope, err := b.scope(p.Filters)
	if err != nil {
		return nil, nil, nil, err
	}
	r = &Results{Mode: p.Mode, Hits: []Hit{}, Terms: []string{}, Scope: scope.size}
	if Blank(p.Text) || scope.size == 0 {
		return r, nil, nil, nil
	}
	if p.Mode != Keyword {
		if r.Cut, err = b.encode(ctx, s, p.Text); err != nil {
			return nil, nil, nil, err
		}
		if meaning, err = b.scan(ctx, s, scope, p.candidates); err != nil {
			return nil, nil, nil, err
		}
	}
	if p.Mode != Meaning {
		var cut bool
		if r.Terms, cut = b.questions.Terms(p.Text); cut {
			r.Cut = true
		}
		if keyword, err = b.bm25(ctx, s, r.Terms, scope, p.candidates); err != nil {
			return nil, nil, nil, err
		}
	}
	return r, dropBelow(meaning, p.minScore), keyword, nil
}

// hit gathers what is known of a fused candidate.
func (b *Base) hit(s *scratch, mode artifact.Mode, f fused) Hit {
	h := b.passage(f.chunk)
	h.Score, h.BM25, h.MeaningRank, h.KeywordRank = f.score, f.bm25, f.meaningRank, f.keywordRank
	if mode != Keyword {
		cosine := b.cosine(s, f.chunk)
		h.Cosine = &cosine
	}
	return h
}

// passage is a chunk's text and place.
func (b *Base) passage(chunk int) Hit {
	c := b.artifact.Chunk(chunk)
	d := b.artifact.Document(c.Document)
	return Hit{
		ChunkID: c.ID.String(), DocumentID: d.ID.String(), Source: path.Base(d.Path), Path: d.Path, Title: d.Title,
		ContentType: d.ContentType, HeadingPath: c.HeadingPath, Anchor: c.Anchor, Text: string(b.artifact.ChunkText(chunk)),
		FirstPage: c.FirstPage, LastPage: c.LastPage, FirstLabel: c.FirstLabel, LastLabel: c.LastLabel, FirstLine: c.FirstLine, LastLine: c.LastLine,
		Start: c.Start, End: c.End, chunk: chunk,
	}
}

// Blank reports whether a question is nothing but white space and control characters.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsControl(r) })
}

// A scope is the chunks that filters let through; a nil set means all.
type scope struct {
	set  roaring.Set
	size int
}

func (s scope) has(chunk int) bool { return s.set == nil || s.set.Contains(uint32(chunk)) }

// A candidate is a chunk that one side found.
type candidate struct {
	chunk int
	score float64
}

// better orders candidates: higher scores first, then lower chunk numbers.
func better(a, b candidate) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return a.chunk - b.chunk
}

// A topK keeps the best k candidates in a heap whose root is the worst of them.
type topK struct {
	k    int
	heap []candidate
}

func (t *topK) add(c candidate) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, c)
		if len(t.heap) == t.k {
			for i := t.k/2 - 1; i >= 0; i-- {
				t.down(i)
			}
		}
		return
	}
	if better(c, t.heap[0]) < 0 {
		t.heap[0] = c
		t.down(0)
	}
}

func (t *topK) down(i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.heap); c++ {
			if better(t.heap[c], t.heap[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

// ranked returns the candidates, best first.
func (t *topK) ranked() []candidate {
	slices.SortFunc(t.heap, better)
	return t.heap
}

// scratch is the work space of one search.
type scratch struct {
	vector []float32 // the query's
	query  QueryVector
	scores []float64 // BM25 of every chunk; all zero between searches
}

func newScratch(a *artifact.Artifact) *scratch {
	s := &scratch{scores: make([]float64, a.Chunks())}
	if v := a.Vectors(); v != nil {
		s.vector = make([]float32, len(v.Centre))
	}
	return s
}

// checkEvery is how many chunks are looked at between two looks at the context.
const checkEvery = 4096

func stopped(ctx context.Context, i int) error {
	if i%checkEvery != 0 {
		return nil
	}
	return ctx.Err()
}

// encode makes the query's vector and says whether the text was cut.
func (b *Base) encode(ctx context.Context, s *scratch, text string) (cut bool, err error) {
	if cut, err = b.questions.Vector(ctx, s.vector, text); err != nil {
		return cut, err
	}
	s.query.Set(s.vector, b.artifact.Vectors().Centre)
	return cut, nil
}

// scan compares the query with every vector in scope. The score is the cosine.
func (b *Base) scan(ctx context.Context, s *scratch, in scope, k int) ([]candidate, error) {
	top := topK{k: k}
	for i := range b.artifact.Chunks() {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		if in.has(i) {
			top.add(candidate{i, b.cosine(s, i)})
		}
	}
	return top.ranked(), nil
}

func (b *Base) cosine(s *scratch, chunk int) float64 {
	v := b.artifact.Vectors()
	return s.query.Cosine(v.Scale(chunk), v.Codes(chunk))
}

// dropBelow removes meaning hits under the least score; ranks are counted after it. What keyword search found too
// stays in the result as its hit.
func dropBelow(meaning []candidate, least float64) []candidate {
	return slices.DeleteFunc(meaning, func(c candidate) bool { return c.score < least })
}

// boost is the factor of a chunk's content type.
func (b *Base) boost(chunk int) float64 {
	return Boost(b.artifact.Manifest, b.contentType(chunk))
}

// contentType is never "".
func (b *Base) contentType(chunk int) string {
	return cmp.Or(b.artifact.Document(b.artifact.Chunk(chunk).Document).ContentType, artifact.DefaultContentType)
}

// Boost is the factor of a content type in a base.
func Boost(m *artifact.Manifest, contentType string) float64 {
	if f, ok := m.Boosts[contentType]; ok {
		return f
	}
	return 1
}

// round3 rounds to three decimals, never to negative zero.
func round3(x float64) float64 { return math.Round(x*1000)/1000 + 0 }

// Matches returns the bytes of text that match one of the terms, which [Results] names, as start and end, ascending
// and apart from each other.
func (b *Base) Matches(text string, terms []string) (spans [][2]int) {
	return b.questions.Matches(text, terms)
}
