package reader

import (
	"slices"
	"testing"

	"example.com/larder/artifact"
)

// TestSides: the two sides, fused by hand, are what Search makes of them.
func TestSides(t *testing.T) {
	for _, mode := range []artifact.Mode{Hybrid, Meaning, Keyword} {
		b := openShop(t, mode)
		const question = "refund to the card after E-4012"
		sides, err := b.Sides(t.Context(), question, Filters{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Search(t.Context(), Query{Text: question, TopK: MaxTopK, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) == 0 || sides.Scope != r.Scope || sides.Mode != mode || !slices.Equal(sides.Terms, r.Terms) || (sides.Scan == "exact") == (mode == Keyword) {
			t.Fatalf("%s: %+v, yet a search finds %+v", mode, sides, r)
		}
		for _, h := range r.Hits {
			if h.MeaningRank > 0 {
				if c := sides.Meaning[h.MeaningRank-1]; c.Chunk != h.chunk || *c.Cosine != *h.Cosine {
					t.Errorf("%s: meaning rank %d is %+v, not %+v", mode, h.MeaningRank, c, h)
				}
			}
			if h.KeywordRank > 0 {
				c := sides.Keyword[h.KeywordRank-1]
				if c.Chunk != h.chunk || c.BM25 != h.BM25 || (c.Cosine == nil) != (h.Cosine == nil) || c.Cosine != nil && *c.Cosine != *h.Cosine {
					t.Errorf("%s: keyword rank %d is %+v, not %+v", mode, h.KeywordRank, c, h)
				}
			}
			passage := b.Hits([]int{h.chunk})[0]
			if passage.ChunkID != h.ChunkID || passage.Text != h.Text || passage.Path != h.Path || passage.Score != 0 {
				t.Errorf("%s: the passage %+v is not %+v", mode, passage, h)
			}
		}
	}
}

// TestUntypedDocumentsAreArticles: in filters, and in boosts.
func TestUntypedDocumentsAreArticles(t *testing.T) {
	base := shop(Keyword)
	base.Change = func(c *artifact.Content) {
		c.Boosts = map[string]float64{"article": 3}
		for i := range c.Documents {
			c.Documents[i].ContentType = []string{"", "note", "article"}[i%3]
		}
	}
	b := openBase(t, base)
	count := func(types ...string) int {
		sides, err := b.Sides(t.Context(), "card", Filters{ContentType: types})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range sides.Keyword {
			if !slices.Contains(types, c.ContentType) {
				t.Errorf("a filter for %q lets %+v through", types, c)
			}
			if want := map[string]float64{"article": 3, "note": 1}[c.ContentType]; b.boost(c.Chunk) != want {
				t.Errorf("%+v is boosted by %v, not %v", c, b.boost(c.Chunk), want)
			}
		}
		return sides.Scope
	}
	articles, notes, both := count("article"), count("note"), count("article", "note")
	if articles <= notes || notes == 0 || both != articles+notes || both != b.Artifact().Chunks() {
		t.Errorf("%d articles, %d notes, %d both, of %d", articles, notes, both, b.Artifact().Chunks())
	}
}
