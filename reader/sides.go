package reader

import (
	"context"
	"fmt"

	"example.com/larder/artifact"
)

// A Candidate is a chunk that one side of a search found.
type Candidate struct {
	Chunk       int      // its number in the version
	Cosine      *float64 // nil in keyword bases
	BM25        float64  // 0 where meaning found it
	ContentType string   // of its document; [artifact.DefaultContentType] where that has none
}

// Sides are the two rankings of a question before they are fused.
type Sides struct {
	Meaning, Keyword []Candidate // best first, at most [RRFDepth] each
	Mode             artifact.Mode
	Scope            int      // chunks that the filters let through
	Cut              bool     // the question was longer than what the model reads, or had over 64 terms
	Terms            []string // the question's terms, empty in meaning mode
	Scan             string   // how meaning was searched: "exact" here; "" in keyword bases
}

// Sides ranks the chunks for a question by meaning and by keyword, as the base's mode and least score say, and leaves it
// to the caller to fuse the two: with those of other bases, for instance. An empty or blank question finds nothing.
func (b *Base) Sides(ctx context.Context, text string, filters Filters) (*Sides, error) {
	sides, err := b.sides(ctx, text, filters)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", b.artifact.Manifest.Base, err)
	}
	return sides, nil
}

func (b *Base) sides(ctx context.Context, text string, filters Filters) (*Sides, error) {
	p, err := b.plan(Query{Text: text, TopK: RRFDepth, Filters: filters})
	if err != nil {
		return nil, err
	}
	s := b.scratch.Get().(*scratch)
	defer b.scratch.Put(s)
	r, meaning, keyword, err := b.candidates(ctx, s, p)
	if err != nil {
		return nil, err
	}
	sides := &Sides{Mode: p.Mode, Scope: r.Scope, Cut: r.Cut, Terms: r.Terms}
	if p.Mode != Keyword {
		sides.Scan = "exact"
	}
	for _, c := range meaning {
		sides.Meaning = append(sides.Meaning, Candidate{Chunk: c.chunk, Cosine: &c.score, ContentType: b.contentType(c.chunk)})
	}
	for _, c := range keyword {
		one := Candidate{Chunk: c.chunk, BM25: c.score, ContentType: b.contentType(c.chunk)}
		if p.Mode != Keyword {
			cosine := b.cosine(s, c.chunk)
			one.Cosine = &cosine
		}
		sides.Keyword = append(sides.Keyword, one)
	}
	return sides, nil
}

// Hits are the texts and places of chunks, in their order, without scores.
func (b *Base) Hits(chunks []int) []Hit {
	hits := make([]Hit, len(chunks))
	for i, chunk := range chunks {
		hits[i] = b.passage(chunk)
	}
	return hits
}
