package query

import (
	"fmt"
	"slices"
	"strings"

	"example.com/larder/internal/analyze"
	"example.com/larder/reader"
)

// explain says how the hits in list were found.
func explain(views []searched, list []ranked, passages []reader.Hit) *Explain {
	e := &Explain{
		Fusion: fmt.Sprintf("reciprocal rank fusion, k = 60, of at most %d candidates by meaning and by keyword, times the boost of the content type", reader.RRFDepth),
		Spaces: []SpaceExplain{}, Hits: []HitExplain{},
	}
	if groups := byModel(views); len(groups) > 1 {
		e.Note = fmt.Sprintf("The spaces have %d models. Each was searched by its own, and the rankings were fused by rank, since their cosines can't be compared.", len(groups))
	}
	for _, v := range views {
		e.Spaces = append(e.Spaces, SpaceExplain{
			Connection: v.connection, Space: v.Name(), Version: v.view.Version(), Model: modelOf(v.view.Manifest()), Mode: string(v.sides.Mode),
			Scope: v.sides.Scope, Meaning: len(v.sides.Meaning), Keyword: len(v.sides.Keyword), Scan: v.sides.Scan,
			Terms: append([]string{}, v.sides.Terms...), Cut: v.sides.Cut,
		})
	}
	for i, r := range list {
		v := views[r.view]
		h := HitExplain{
			ChunkID: passages[i].ChunkID, Connection: v.connection, Space: v.Name(), Path: passages[i].Path, Score: r.score, Boost: r.boost,
			MeaningRank: r.meaningRank, KeywordRank: r.keywordRank, Cosine: r.Cosine, BM25: r.BM25, Terms: matched(v, passages[i].Text),
		}
		h.Why = why(h, passages[i])
		e.Hits = append(e.Hits, h)
	}
	return e
}

// matched lists the terms of the question that a text has, in the question's order.
func matched(v searched, text string) []string {
	terms := []string{}
	a, err := analyze.New(v.view.Manifest().Analyzer.Languages)
	if err != nil {
		return terms // of an analyzer that nothing could have been found with
	}
	has := map[string]bool{}
	for t := range a.Tokens(text) {
		has[t.Term] = true
	}
	for _, t := range v.sides.Terms {
		if has[t] && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	return terms
}

// why says in words what a hit owes its place to.
func why(h HitExplain, passage reader.Hit) string {
	var parts []string
	if h.MeaningRank > 0 {
		parts = append(parts, fmt.Sprintf("meaning ranks it %d (cosine %.3f)", h.MeaningRank, *h.Cosine))
	}
	if h.KeywordRank > 0 {
		where := "its headings or title have terms of the question"
		if len(h.Terms) > 0 {
			where = "it has " + strings.Join(h.Terms, ", ")
		}
		parts = append(parts, fmt.Sprintf("keywords rank it %d (BM25 %.2f: %s)", h.KeywordRank, h.BM25, where))
	}
	if h.Boost != 1 {
		parts = append(parts, fmt.Sprintf("%s is boosted by %.2f", contentType(passage.ContentType), h.Boost))
	}
	return strings.Join(parts, "; ")
}
