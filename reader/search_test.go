package reader

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
)

func search(t testing.TB, b *Base, q Query) *Results {
	t.Helper()
	r, err := b.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return r
}

func number(x float64) *float64 { return &x }

func TestModes(t *testing.T) {
	b := openShop(t, Hybrid)
	query := Query{Text: "E-4012", Mode: Keyword}
	r := search(t, b, query)
	if found(r) != "faq/refunds.md:The" || r.Hits[0].Cosine != nil || r.Hits[0].BM25 <= 0 || r.Hits[0].KeywordRank != 1 || r.Hits[0].MeaningRank != 0 {
		t.Errorf("keyword: %s %+v", found(r), r.Hits)
	}
	if r.Hits[0].Score != r.Hits[0].BM25 || len(r.Terms) == 0 || r.Mode != Keyword || r.Scope != 7 || r.Cut {
		t.Errorf("keyword: %+v", r)
	}
	query = Query{Text: "A damaged box can be refused at the door.", Mode: Meaning}
	r = search(t, b, query)
	if len(r.Hits) != 3 || r.Hits[0].Path != "faq/shipping.md" || !strings.HasPrefix(r.Hits[0].Text, "A damaged") || len(r.Terms) != 0 {
		t.Errorf("meaning: %s", found(r))
	}
	for i, h := range r.Hits {
		if h.MeaningRank != i+1 || h.KeywordRank != 0 || h.BM25 != 0 || h.Cosine == nil || *h.Cosine != h.Score {
			t.Errorf("meaning: hit %d: %+v", i, h)
		}
	}
	query.Mode = ""
	r = search(t, b, query)
	if r.Mode != Hybrid || len(r.Hits) != 3 || !strings.HasPrefix(r.Hits[0].Text, "A damaged") {
		t.Errorf("hybrid: %s", found(r))
	}
	if h := r.Hits[0]; h.Cosine == nil || h.BM25 <= 0 || h.MeaningRank != 1 || h.KeywordRank != 1 || h.Score != 2*ReciprocalRanks(1) {
		t.Errorf("hybrid: %+v", h)
	}
	if r = search(t, b, Query{Text: "возвраты товаров", Mode: Keyword}); found(r) != "notes/возврат.txt:Деньги" {
		t.Errorf("Russian stems: %s", found(r))
	}
	for _, mode := range []artifact.Mode{Keyword, Meaning} {
		b := openShop(t, mode)
		if r := search(t, b, Query{Text: "refund", Fusion: Interleave}); r.Mode != mode || len(r.Hits) == 0 {
			t.Errorf("a base in %s mode: %+v", mode, r)
		}
	}
}

// A hit says where it is: its offsets give its text, its ids those of the artifact.
func TestHits(t *testing.T) {
	b := openShop(t, Hybrid)
	a := b.Artifact()
	n := 0
	for _, h := range search(t, b, Query{Text: "refund money shipping complaints возврат", TopK: 100}).Hits {
		n++
		c := a.Chunk(h.chunk)
		d := a.Document(c.Document)
		if string(a.DocumentText(c.Document)[h.Start:h.End]) != h.Text {
			t.Errorf("%s: bytes %d to %d are not %q", h.Path, h.Start, h.End, h.Text)
		}
		want := Hit{
			ChunkID: artifact.ChunkID(d.ID, []byte(h.Text), 0).String(), DocumentID: artifact.DocumentID("shop", h.Path).String(),
			Source: h.Path[strings.LastIndex(h.Path, "/")+1:], Path: d.Path, Title: d.Title, ContentType: d.ContentType,
			HeadingPath: c.HeadingPath, Text: string(a.ChunkText(h.chunk)), FirstLine: c.FirstLine, LastLine: c.LastLine,
			Start: c.Start, End: c.End,
			Score: h.Score, Cosine: h.Cosine, BM25: h.BM25, MeaningRank: h.MeaningRank, KeywordRank: h.KeywordRank, chunk: h.chunk,
		}
		if !reflect.DeepEqual(h, want) {
			t.Errorf("hit\n%+v, not\n%+v", h, want)
		}
		if h.Path == "faq/refunds.md" && h.HeadingPath != "Refunds > How long" {
			t.Errorf("heading path %q", h.HeadingPath)
		}
	}
	if n != 7 {
		t.Errorf("%d hits, want all 7 chunks", n)
	}
}

// min_score drops meaning hits; one that keyword search found too stays as its hit.
func TestMinScore(t *testing.T) {
	b := openShop(t, Hybrid)
	for _, fusion := range []Fusion{RRF, Interleave} {
		all := search(t, b, Query{Text: "gift", Fusion: fusion, TopK: 10})
		if len(all.Hits) != 7 {
			t.Fatalf("%s: %d hits without a least score", fusion, len(all.Hits))
		}
		r := search(t, b, Query{Text: "gift", Fusion: fusion, TopK: 10, MinScore: number(1)})
		if found(r) != "policy.md:Gift" {
			t.Fatalf("%s: %s", fusion, found(r))
		}
		if h := r.Hits[0]; h.MeaningRank != 0 || h.KeywordRank != 1 || h.Cosine == nil || *h.Cosine >= 1 {
			t.Errorf("%s: %+v", fusion, h)
		}
		// A least score that is a hit's own keeps it.
		least := *all.Hits[0].Cosine
		for _, h := range all.Hits {
			least = max(least, *h.Cosine)
		}
		r = search(t, b, Query{Text: "gift", Mode: Meaning, MinScore: &least})
		if len(r.Hits) != 1 || r.Hits[0].Score != least {
			t.Errorf("%s: %s with a least score of %v", fusion, found(r), least)
		}
	}
	base := shop(Hybrid)
	base.MinScore = 1
	if r := search(t, openBase(t, base), Query{Text: "nothing of this"}); slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.MeaningRank > 0 }) {
		t.Errorf("the base's own least score: %s", found(r))
	}
}

func TestFilters(t *testing.T) {
	b := openShop(t, Hybrid)
	const (
		refunds, shipping, note, policy = 1, 2, 4, 8
	)
	size := map[int]int{refunds: 2, shipping: 2, note: 1, policy: 2}
	paths := map[string]int{"faq/refunds.md": refunds, "faq/shipping.md": shipping, "notes/возврат.txt": note, "policy.md": policy}
	for _, c := range []struct {
		name string
		f    Filters
		want int
	}{
		{"none", Filters{}, refunds | shipping | note | policy},
		{"content type", Filters{ContentType: []string{"faq"}}, refunds | shipping},
		{"content types", Filters{ContentType: []string{"note", "faq"}}, refunds | shipping | note},
		{"topic", Filters{Topics: []string{"returns"}}, refunds | note},
		{"topics are or", Filters{Topics: []string{"money", "delivery"}}, refunds | shipping},
		{"unit", Filters{UnitID: []string{"u1"}}, refunds | policy},
		{"fields are and", Filters{UnitID: []string{"u1"}, ContentType: []string{"faq"}}, refunds},
		{"three fields", Filters{UnitID: []string{"u1", "u2"}, ContentType: []string{"faq"}, Topics: []string{"delivery"}}, shipping},
		{"from", Filters{DateFrom: "2026-02-20"}, shipping | note},
		{"to", Filters{DateTo: "2026-02-20"}, refunds | shipping},
		{"one day", Filters{DateFrom: "2026-02-20", DateTo: "2026-02-20"}, shipping},
		{"between days", Filters{DateFrom: "2026-02-21", DateTo: "2026-03-29"}, 0},
		{"the wrong way round", Filters{DateFrom: "2026-03-30", DateTo: "2026-01-01"}, 0},
		{"date and type", Filters{DateFrom: "2026-01-01", ContentType: []string{"note", "reference"}}, note},
		{"an unknown value", Filters{ContentType: []string{"song"}}, 0},
		{"an empty value", Filters{ContentType: []string{""}}, 0},
		{"nothing in common", Filters{ContentType: []string{"note"}, UnitID: []string{"u1"}}, 0},
	} {
		scope := 0
		for bit, n := range size {
			if c.want&bit != 0 {
				scope += n
			}
		}
		for _, mode := range []artifact.Mode{Meaning, Keyword, Hybrid} {
			r := search(t, b, Query{Text: "refund shipping complaints gift деньги card order", Mode: mode, TopK: 10, Filters: c.f})
			got := 0
			for _, h := range r.Hits {
				got |= paths[h.Path]
			}
			if r.Scope != scope || got&^c.want != 0 || mode != Keyword && (got != c.want || len(r.Hits) != scope) || r.Hits == nil || r.Terms == nil {
				t.Errorf("%s, %s: scope %d, want %d; %s", c.name, mode, r.Scope, scope, found(r))
			}
		}
	}
}

func TestBoost(t *testing.T) {
	b := openShop(t, Hybrid)
	for _, mode := range []artifact.Mode{Keyword, Hybrid} {
		query := Query{Text: "return refund card", Mode: mode, TopK: 10}
		plain := search(t, b, query)
		query.Boost = true
		boosted := search(t, b, query)
		if len(plain.Hits) < 3 || len(plain.Hits) != len(boosted.Hits) {
			t.Fatalf("%s: %d and %d hits", mode, len(plain.Hits), len(boosted.Hits))
		}
		factors := map[string]float64{"faq": 1.2, "note": 0.9, "reference": 1}
		for i, h := range boosted.Hits {
			at := slices.IndexFunc(plain.Hits, func(p Hit) bool { return p.ChunkID == h.ChunkID })
			if want := plain.Hits[at].Score * factors[h.ContentType]; h.Score != want {
				t.Errorf("%s: %s has the score %v, want %v", mode, h.Path, h.Score, want)
			}
			if i > 0 && h.Score > boosted.Hits[i-1].Score {
				t.Errorf("%s: not in order: %s", mode, found(boosted))
			}
		}
	}
	// A boost reaches a hit that is below the top-k without it.
	many := shelf.Base{Name: "many", Mode: Keyword, Boosts: map[string]float64{"faq": 10}}
	for _, path := range []string{"a", "b", "c"} {
		many.Documents = append(many.Documents, shelf.Document{Path: path, Chunks: []string{"apple apple"}})
	}
	many.Documents = append(many.Documents, shelf.Document{Path: "d", ContentType: "faq", Chunks: []string{"apple and a pear or two"}})
	if r := search(t, openBase(t, many), Query{Text: "apple", TopK: 1, Boost: true}); found(r) != "d:apple" {
		t.Errorf("boosted from below: %s", found(r))
	}
}

func TestOddQueries(t *testing.T) {
	b := openShop(t, Hybrid)
	for _, blank := range []string{"", " ", "\n\t\r", "\u00a0\u2003\u3000", "\x00\x01\x7f"} {
		for _, mode := range []artifact.Mode{Meaning, Keyword, Hybrid} {
			if r := search(t, b, Query{Text: blank, Mode: mode}); len(r.Hits) != 0 || r.Hits == nil || r.Scope != 7 || r.Cut {
				t.Errorf("%q in %s mode: %+v", blank, mode, r)
			}
		}
	}
	binary := make([]byte, 1<<16)
	rand.NewChaCha8([32]byte{1}).Read(binary)
	for name, c := range map[string]struct {
		text string
		cut  bool
	}{
		"words":         {strings.Repeat("refund card ", 1<<20/12), true},
		"one word":      {strings.Repeat("a", 1<<20), false},
		"64 terms":      {strings.Repeat("a ", 62), false},
		"65 terms":      {strings.Repeat("a ", 65), true},
		"punctuation":   {strings.Repeat("!?", 1<<19), true},
		"binary":        {string(binary), true},
		"invalid UTF-8": {"refund \xff\xfe\xc0 card", false},
		"a surrogate":   {"refund \xed\xa0\x80", false},
		"marks":         {"e" + strings.Repeat("\u0301", 1<<18), false},
	} {
		for _, mode := range []artifact.Mode{Meaning, Keyword, Hybrid} {
			r := search(t, b, Query{Text: c.text, Mode: mode})
			if mode == Hybrid && r.Cut != c.cut {
				t.Errorf("%s: cut is %v", name, r.Cut)
			}
			if len(r.Terms) > maxTerms {
				t.Errorf("%s: %d terms", name, len(r.Terms))
			}
			if mode != Keyword && len(r.Hits) != 3 {
				t.Errorf("%s: %d hits in %s mode", name, len(r.Hits), mode)
			}
			for _, h := range r.Hits {
				if math.IsNaN(h.Score) {
					t.Errorf("%s: the score of %s is not a number", name, h.Path)
				}
			}
		}
	}
	if r := search(t, b, Query{Text: "refund \xff\xfe", Mode: Keyword}); len(r.Hits) == 0 {
		t.Error("invalid bytes hide the word before them")
	}
}

// The first 64 terms of a query count, no others.
func TestTermsLimit(t *testing.T) {
	b := openShop(t, Keyword)
	filler := strings.Repeat("zzz ", maxTerms-1)
	if r := search(t, b, Query{Text: filler + "gift"}); len(r.Hits) != 1 || r.Cut {
		t.Errorf("term 64: %s, cut %v", found(r), r.Cut)
	}
	if r := search(t, b, Query{Text: filler + "zzz gift"}); len(r.Hits) != 0 || !r.Cut {
		t.Errorf("term 65: %s, cut %v", found(r), r.Cut)
	}
}

func TestTopK(t *testing.T) {
	b := openShop(t, Hybrid)
	for k, want := range map[int]int{0: 3, 1: 1, 5: 5, MaxTopK: 7} {
		for _, fusion := range []Fusion{RRF, Interleave} {
			if r := search(t, b, Query{Text: "refund", TopK: k, Fusion: fusion}); len(r.Hits) != want {
				t.Errorf("top-k %d by %s: %d hits, want %d", k, fusion, len(r.Hits), want)
			}
		}
	}
}

func TestErrQuery(t *testing.T) {
	for _, c := range []struct {
		base artifact.Mode
		q    Query
		says string
	}{
		{Hybrid, Query{Mode: "both"}, `mode "both" is not one of meaning, keyword, hybrid`},
		{Keyword, Query{Mode: Meaning}, "baked in keyword mode and can't answer in meaning mode"},
		{Keyword, Query{Mode: Hybrid}, "baked in keyword mode"},
		{Meaning, Query{Mode: Keyword}, "baked in meaning mode"},
		{Hybrid, Query{TopK: -1}, "top-k -1 is not from 1 to 1000"},
		{Hybrid, Query{TopK: MaxTopK + 1}, "top-k 1001"},
		{Hybrid, Query{Fusion: "sum"}, `fusion "sum" is not one of rrf, interleave`},
		{Hybrid, Query{Fusion: Interleave, Boost: true}, "boost needs fusion rrf"},
		{Meaning, Query{Fusion: Interleave, Boost: true}, "boost needs fusion rrf"},
		{Keyword, Query{Fusion: Interleave, Boost: true}, "boost needs fusion rrf"},
		{Hybrid, Query{MinScore: number(1.01)}, "min score 1.01 is not from -1 to 1"},
		{Hybrid, Query{MinScore: number(math.NaN())}, "min score NaN"},
		{Hybrid, Query{Filters: Filters{DateFrom: "yesterday"}}, `date "yesterday" is not a day`},
		{Hybrid, Query{Filters: Filters{DateTo: "2026-02-30"}}, `date "2026-02-30" is not a day`},
	} {
		b := openShop(t, c.base)
		c.q.Text = "refund"
		r, err := b.Search(t.Context(), c.q)
		if r != nil || !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "search shop: ") {
			t.Errorf("%+v: %v, want %q", c.q, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "refund") {
			t.Errorf("the error quotes the query: %v", err)
		}
	}
}

// Many goroutines on one base get what one gets.
func TestConcurrent(t *testing.T) {
	b := openShop(t, Hybrid)
	queries := []Query{
		{Text: "refund"}, {Text: "E-4012", Mode: Keyword}, {Text: "broken box", Mode: Meaning}, {Text: "возврат денег", Fusion: Interleave},
		{Text: "gift", Filters: Filters{UnitID: []string{"u1"}}}, {Text: "card order", Boost: true, TopK: 7},
	}
	var want []*Results
	for _, q := range queries {
		want = append(want, search(t, b, q))
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 30 {
				k := (g + i) % len(queries)
				r, err := b.Search(t.Context(), queries[k])
				if err != nil || !reflect.DeepEqual(r, want[k]) {
					t.Errorf("%q: %v, another result: %+v", queries[k].Text, err, r)
					return
				}
				if i%10 == 0 {
					b.LookUp(t.Context(), queries[k].Text)
				}
			}
		})
	}
	wg.Wait()
}

// countdown is a context that ends when it has been asked n times.
type countdown struct {
	context.Context
	asked, ends int
}

func (c *countdown) Err() error {
	c.asked++
	if c.ends > 0 && c.asked >= c.ends {
		return context.DeadlineExceeded
	}
	return nil
}

// rule is a base of many chunks in which each holds the word "apple", and whose vectors are made by rule.
func rule(chunks, dimensions int) shelf.Base {
	r := rand.New(rand.NewPCG(1, uint64(chunks)))
	b := shelf.Base{Name: "rule", Dimensions: dimensions, Vectors: make([]float32, chunks*dimensions)}
	var text bytes.Buffer
	c := func(c *artifact.Content) {
		d := artifact.Document{Path: "a"}
		for i := range chunks {
			start := text.Len()
			text.WriteString("apple")
			d.Chunks = append(d.Chunks, artifact.Chunk{Start: start, End: text.Len(), Terms: 1 + i%3 + i%7})
		}
		d.Text = text.String()
		c.Documents = []artifact.Document{d}
		c.Terms = []artifact.Term{{Text: "appl"}, {Text: "pear"}} // the second makes the chunks' lengths differ
		for i := range chunks {
			for k, freq := range []int{1 + i%3, i % 7} {
				if t := &c.Terms[k]; freq > 0 {
					t.Chunks, t.Freqs = append(t.Chunks, uint32(i)), append(t.Freqs, uint32(freq))
				}
			}
		}
	}
	b.Change = c
	for i := range chunks {
		unit(r, b.Vectors[i*dimensions:][:dimensions])
	}
	return b
}

// unit makes v a random vector of length 1.
func unit(r *rand.Rand, v []float32) {
	sum := 0.0
	for k := range v {
		v[k] = float32(r.NormFloat64())
		sum += float64(v[k]) * float64(v[k])
	}
	for k := range v {
		v[k] = float32(float64(v[k]) / math.Sqrt(sum))
	}
}

// The context is asked once before anything, then while the query is encoded, and then every 4,096 chunks, in both
// sides.
func TestDeadlineIsPolled(t *testing.T) {
	const chunks = 5*checkEvery + 10
	b := openBase(t, rule(chunks, 8))
	before := map[artifact.Mode]*Results{}
	for _, mode := range []artifact.Mode{Meaning, Keyword, Hybrid} {
		before[mode] = search(t, b, Query{Text: "apple", Mode: mode})
	}
	encoding := &countdown{Context: t.Context()}
	if _, err := b.questions.encoder.EncodeQueryContext(encoding, make([]float32, 8), "apple"); err != nil || encoding.asked < 5 {
		t.Fatalf("encoding asks %d times: %v", encoding.asked, err)
	}
	for mode, least := range map[artifact.Mode]int{
		Meaning: 1 + encoding.asked + 6, Keyword: 1 + 6 + 6, Hybrid: 1 + encoding.asked + 6 + 6 + 6,
	} {
		never := &countdown{Context: t.Context()}
		if _, err := b.Search(never, Query{Text: "apple", Mode: mode}); err != nil || never.asked < least || never.asked > least+3 {
			t.Errorf("%s: asked %d times, want %d; %v", mode, never.asked, least, err)
		}
		// It stops at once, wherever the context ends.
		for n := 1; n <= never.asked; n++ {
			c := &countdown{Context: t.Context(), ends: n}
			r, err := b.Search(c, Query{Text: "apple", Mode: mode})
			if r != nil || !errors.Is(err, context.DeadlineExceeded) || c.asked != n {
				t.Errorf("%s: ended at poll %d, asked %d times: %v", mode, n, c.asked, err)
			}
		}
		// What was stopped leaves nothing behind.
		if after := search(t, b, Query{Text: "apple", Mode: mode}); !reflect.DeepEqual(after, before[mode]) {
			t.Errorf("%s: another result after a stop", mode)
		}
	}
}

func TestTopKAgainstSort(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 2000 {
		n, k := r.IntN(60), 1+r.IntN(20)
		list := make([]candidate, n)
		for i := range list {
			list[i] = candidate{i, float64(r.IntN(8))} // many ties
		}
		top := topK{k: k}
		for _, i := range r.Perm(n) {
			top.add(list[i])
		}
		slices.SortFunc(list, better)
		if got, want := top.ranked(), list[:min(n, k)]; !slices.Equal(got, want) {
			t.Fatalf("best %d of %d: %v, want %v", k, n, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	b := openShop(t, Keyword)
	for _, c := range []struct{ query, text, want string }{
		{"refunds", "A refund, and refunded money. No Refund!", "refund|refunded|Refund"},
		{"E-4012", "The error E-4012.", "E-4012"},
		{"4012", "The error E-4012.", "4012"},
		{"error", "getErrorCode and error", "Error|error"},
		{"возвраты", "Возврат товара.", "Возврат"},
		{"nothing", "A refund.", ""},
		{"", "A refund.", ""},
		{"refund", "", ""},
		{"refund", "\xff refund \xff", "refund"},
	} {
		terms, _ := b.questions.Terms(c.query)
		var got []string
		last := 0
		for _, span := range b.Matches(c.text, terms) {
			if span[0] < last || span[1] <= span[0] {
				t.Fatalf("%q in %q: spans %v", c.query, c.text, b.Matches(c.text, terms))
			}
			last = span[1]
			got = append(got, c.text[span[0]:span[1]])
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q in %q: %q, want %q", c.query, c.text, got, c.want)
		}
	}
}
