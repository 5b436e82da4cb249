package reader

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/larder/internal/analyze"
	"example.com/larder/internal/testkit/shelf"
)

// ln is math.Log but for the last bits.
func TestLn(t *testing.T) {
	n, worst := 0, 0.0
	check := func(x float64) {
		n++
		want := math.Log(x)
		ulp := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
		// Near 1 the logarithm is small, and its error is measured by that of 1.
		off := math.Abs(ln(x)-want) / max(ulp, 0x1p-53)
		worst = max(worst, off)
		if off > 4 {
			t.Errorf("ln(%v) is %v, %v ulp from %v", x, ln(x), off, want)
		}
	}
	for x := 1.0; x < 40; x += 1.0 / 512 {
		check(x)
	}
	for e := -60; e <= 60; e++ {
		for k := range 64 {
			check(math.Ldexp(1+float64(k)/64, e))
		}
	}
	for chunks := 1.0; chunks < 1e10; chunks *= 3 { // as idf asks
		for df := 1.0; df <= chunks; df *= 1.7 {
			check(1 + (chunks-df+0.5)/(df+0.5))
		}
	}
	if ln(1) != 0 {
		t.Errorf("ln(1) is %v", ln(1))
	}
	t.Logf("%d values, at most %.2f ulp", n, worst)
}

// plainBM25 follows the formula word by word over the texts, with nothing of an index. Function words of the query count
// where there are no others.
func plainBM25(analyzer *analyze.Analyzer, passages []string, query string) []float64 {
	texts := make([][]string, len(passages))
	total := 0
	for i, p := range passages {
		texts[i] = analyzer.Terms(nil, p)
		total += len(texts[i])
	}
	average := float64(total) / float64(len(passages))
	scores := make([]float64, len(passages))
	var asked []string
	for t := range analyzer.Tokens(query) {
		if !analyzer.FunctionWord(query[t.Start:t.End]) {
			asked = append(asked, t.Term)
		}
	}
	if asked == nil {
		asked = analyzer.Terms(nil, query)
	}
	for _, term := range asked {
		n := 0.0
		for _, text := range texts {
			if slices.Contains(text, term) {
				n++
			}
		}
		idf := math.Log(1 + (float64(len(passages))-n+0.5)/(n+0.5))
		for i, text := range texts {
			tf := 0.0
			for _, w := range text {
				if w == term {
					tf++
				}
			}
			scores[i] += idf * tf / (tf + 1.2*(1-0.75+0.75*float64(len(text))/average))
		}
	}
	return scores
}

// The index gives the scores that the formula gives, repeated terms of a query counted each time.
func TestBM25(t *testing.T) {
	t.Parallel()
	documents := shelf.Documents(30, 4)
	b := openBase(t, shelf.Base{Name: "plain", Mode: Keyword, Documents: documents})
	analyzer, err := analyze.New(analyze.Languages())
	if err != nil {
		t.Fatal(err)
	}
	var passages []string
	for _, d := range documents {
		for _, c := range d.Chunks {
			passages = append(passages, d.Title+"\n"+c)
		}
	}
	queries := append(shelf.Questions(40), "ba", "ba ba ba", "ba ca ba da", "unheard")
	scored := 0
	for _, q := range queries {
		want := plainBM25(analyzer, passages, q)
		got := make([]float64, len(passages))
		for _, h := range search(t, b, Query{Text: q, TopK: MaxTopK}).Hits {
			got[h.chunk] = h.BM25
			scored++
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("%q: chunk %d scores %v, want %v", q, i, got[i], want[i])
			}
		}
	}
	if scored < 500 {
		t.Errorf("only %d scores compared", scored)
	}
}

// The scan of 8-bit codes finds what exact arithmetic on the vectors that were baked finds.
func TestScanAgainstExact(t *testing.T) {
	t.Parallel()
	const chunks, dimensions, queries = 5000, 384, 100
	base := rule(chunks, dimensions)
	b := openBase(t, base)
	r := rand.New(rand.NewPCG(7, 7))
	s := newScratch(b.artifact)
	all := scope{size: chunks}
	same, worst := 0, 0.0
	for range queries {
		unit(r, s.vector)
		exact := topK{k: 10}
		for i := range chunks {
			exact.add(candidate{i, dot(s.vector, base.Vectors[i*dimensions:][:dimensions])})
		}
		s.query.Set(s.vector, b.artifact.Vectors().Centre)
		got, err := b.scan(t.Context(), s, all, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range exact.ranked() {
			if slices.ContainsFunc(got, func(c candidate) bool { return c.chunk == want.chunk }) {
				same++
			}
			worst = max(worst, math.Abs(b.cosine(s, want.chunk)-want.score))
		}
	}
	recall := float64(same) / (10 * queries)
	t.Logf("recall@10 %.4f over %d queries; cosines differ by %.5f at most", recall, queries, worst)
	if recall < 0.97 || worst > 0.003 {
		t.Errorf("recall@10 is %.4f, and cosines differ by %.5f", recall, worst)
	}
}

// Function words of a question are left out, names in capitals are not, and a question of nothing else keeps them. Those
// that are left out count among the terms that a query may have.
func TestQueryTerms(t *testing.T) {
	b := openShop(t, Keyword)
	for _, c := range []struct {
		query string
		want  []string
		cut   bool
	}{
		{"How do I get a refund?", []string{"get", "refund"}, false},
		{"как вернуть товар", []string{"вернут", "товар"}, false},
		{"What does IT say to us", []string{"it", "say"}, false},
		{"what is it", []string{"what", "is", "it"}, false},
		{strings.Repeat("the ", maxTerms) + "refund", slices.Repeat([]string{"the"}, maxTerms), true},
		{"", []string{}, false},
	} {
		if got, cut := b.questions.Terms(c.query); !slices.Equal(got, c.want) || got == nil || cut != c.cut {
			t.Errorf("%.30q: %q, %t", c.query, got, cut)
		}
	}
}
