package reader

import (
	"context"
	"math"
	"slices"

	"example.com/larder/artifact"
	"example.com/larder/internal/roaring"
)

// BM25 as Lucene has it: the sum over the query's terms, repeats counted, of
//
//	idf × tf / (tf + k1 × (1 - b + b × length/average)),  idf = ln(1 + (N - n + 0.5)/(n + 0.5))
//
// with N chunks, n of them holding the term (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009;
// the constant factor k1 + 1 is left out, which changes no ranking).
const (
	k1 = 1.2
	b0 = 0.75
)

// bm25 scores the chunks in scope that hold a term of the query and returns the best k.
func (b *Base) bm25(ctx context.Context, s *scratch, terms []string, in scope, k int) ([]candidate, error) {
	defer clear(s.scores)
	n := b.artifact.Chunks()
	average := float64(b.artifact.TotalTerms()) / float64(max(n, 1))
	weights := map[string]float64{} // how often a term is in the query
	var distinct []string
	for _, t := range terms {
		if weights[t]++; weights[t] == 1 {
			distinct = append(distinct, t)
		}
	}
	for _, t := range distinct {
		p, ok, err := b.artifact.Postings(t)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		df := float64(p.Chunks.Len())
		weight := float64(weights[t] * ln(1+(float64(n)-df+0.5)/(df+0.5)))
		if err := b.accumulate(ctx, s.scores, p, weight, average); err != nil {
			return nil, err
		}
	}
	top := topK{k: k}
	for i, score := range s.scores {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		if score > 0 && in.has(i) {
			top.add(candidate{i, score})
		}
	}
	return top.ranked(), nil
}

// accumulate adds a term's part to the score of each of its chunks. The conversions keep products from being fused
// with sums on some architectures.
func (b *Base) accumulate(ctx context.Context, scores []float64, p artifact.Postings, weight, average float64) error {
	i := 0
	for chunk := range p.Chunks.All() {
		if err := stopped(ctx, i); err != nil {
			return err
		}
		tf := float64(p.Freq(i))
		norm := float64(k1 * (1 - b0 + float64(b0*float64(b.artifact.ChunkTerms(int(chunk)))/average)))
		scores[chunk] += float64(weight * tf / (tf + norm))
		i++
	}
	return nil
}

// ln is the natural logarithm, by the series of the inverse hyperbolic tangent; math.Log differs in the last bit
// between architectures. The error is below 1e-15 for the values here.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1) // |s| < 0.172
	square := float64(s * s)
	sum, power := 0.0, s
	for k := 1.0; k < 24; k += 2 {
		sum += power / k
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(e)*math.Ln2)
}

// addUntyped adds the chunks of documents without a content type.
func (b *Base) addUntyped(set roaring.Set) {
	for i := range b.artifact.Documents() {
		if d := b.artifact.Document(i); d.ContentType == "" && d.FirstChunk < d.EndChunk {
			set.AddRange(d.FirstChunk, d.EndChunk)
		}
	}
}

// scope turns filters into the set of chunks that they let through.
func (b *Base) scope(f Filters) (scope, error) {
	n := b.artifact.Chunks()
	if f.empty() {
		return scope{size: n}, nil
	}
	var set roaring.Set
	for _, field := range f.fields(b.artifact) {
		one := roaring.NewSet(n)
		for _, value := range field.values {
			if err := b.artifact.FilterChunks(one, field.name, value); err != nil {
				return scope{}, err
			}
		}
		if field.name == artifact.FieldContentType && slices.Contains(field.values, artifact.DefaultContentType) {
			b.addUntyped(one)
		}
		if set == nil {
			set = one
		} else {
			set.And(one)
		}
	}
	return scope{set, set.Count()}, nil
}
