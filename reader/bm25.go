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
	average := b.averageTerms()
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
		weight := float64(weights[t] * idf(n, p.Chunks.Len()))
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
		scores[chunk] += b.part(weight, p.Freq(i), int(chunk), average)
		i++
	}
	return nil
}

// part is a term's part of a chunk's score, if the chunk has it freq times.
func (b *Base) part(weight float64, freq, chunk int, average float64) float64 {
	tf := float64(freq)
	norm := float64(k1 * (1 - b0 + float64(b0*float64(b.artifact.ChunkTerms(chunk))/average)))
	return float64(weight * tf / (tf + norm))
}

// idf is the inverse document frequency of a term that df of n chunks hold.
func idf(n, df int) float64 {
	return ln(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// TermWeights returns the chunks that hold a term, ascending, and the part of their BM25 score that a query with the term
// has from it, for indexes elsewhere that add these up.
func (b *Base) TermWeights(term string) (chunks []int32, weights []float64, err error) {
	p, ok, err := b.artifact.Postings(term)
	if err != nil || !ok {
		return nil, nil, err
	}
	n := b.artifact.Chunks()
	weight, average := idf(n, p.Chunks.Len()), b.averageTerms()
	for chunk := range p.Chunks.All() {
		weights = append(weights, b.part(weight, p.Freq(len(chunks)), int(chunk), average))
		chunks = append(chunks, int32(chunk))
	}
	return chunks, weights, nil
}

// averageTerms is the average length of a chunk.
func (b *Base) averageTerms() float64 {
	return float64(b.artifact.TotalTerms()) / float64(max(b.artifact.Chunks(), 1))
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
