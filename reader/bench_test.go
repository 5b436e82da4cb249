package reader

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
)

// large is a base of so many chunks, with vectors of 384 dimensions and postings made by rule: 2,000 terms of which
// term t0 is in half of the chunks, and tn in 1/(n+2) of them.
func large(chunks int) shelf.Base {
	const dimensions, terms = 384, 2000
	r := rand.New(rand.NewPCG(1, uint64(chunks)))
	b := shelf.Base{Name: "large", Dimensions: dimensions, Vectors: make([]float32, chunks*dimensions)}
	for i := range chunks {
		unit(r, b.Vectors[i*dimensions:][:dimensions])
	}
	b.Change = func(c *artifact.Content) {
		lengths := make([]int, chunks)
		byName := make([]artifact.Term, terms)
		for n := range byName {
			t := &byName[n]
			t.Text = "t" + strconv.Itoa(n)
			for i := r.IntN(n + 2); i < chunks; i += 1 + r.IntN(2*n+3) {
				f := 1 + r.IntN(3)
				t.Chunks, t.Freqs = append(t.Chunks, uint32(i)), append(t.Freqs, uint32(f))
				lengths[i] += f
			}
		}
		c.Terms = slices.SortedFunc(slices.Values(byName), func(a, b artifact.Term) int { return strings.Compare(a.Text, b.Text) })
		const perDocument = 10
		for at := 0; at < chunks; at += perDocument {
			d := artifact.Document{Path: fmt.Sprintf("%08d", at), UnitID: "u" + strconv.Itoa(at/perDocument%7)}
			var text bytes.Buffer
			for i := at; i < min(at+perDocument, chunks); i++ {
				start := text.Len()
				fmt.Fprintf(&text, "chunk %d\n", i)
				d.Chunks = append(d.Chunks, artifact.Chunk{Start: start, End: text.Len(), Terms: lengths[i]})
			}
			d.Text = text.String()
			c.Documents = append(c.Documents, d)
		}
	}
	return b
}

var largeBases = map[int]func() (*Base, error){10_000: sync.OnceValues(openLarge(10_000)), 100_000: sync.OnceValues(openLarge(100_000))}

func openLarge(chunks int) func() (*Base, error) {
	return func() (*Base, error) {
		s, err := shelf.New(large(chunks))
		if err != nil {
			return nil, err
		}
		b, err := Open(s, "large", Options{})
		if err != nil {
			return nil, err
		}
		vector := make([]float32, 384)
		unit(rand.New(rand.NewPCG(5, 5)), vector)
		b.questions.encoder, b.questions.outside = nil, fixed(vector)
		outside := artifact.Manifest{Model: &artifact.Model{Embedder: "fixed"}}
		b.questions.manifest = &outside
		return b, nil
	}
}

// fixed is the vector that every query has.
type fixed []float32

func (f fixed) Identity() string                                      { return "fixed" }
func (f fixed) EmbedQuery(context.Context, string) ([]float32, error) { return f, nil }

// BenchmarkSearch measures whole searches but for the encoding of the query, whose vector is given.
func BenchmarkSearch(b *testing.B) {
	const text = "t0 t3 t17 t120 t555 t1500"
	for _, chunks := range []int{10_000, 100_000} {
		for _, c := range []struct {
			name string
			q    Query
		}{
			{"keyword", Query{Mode: Keyword}},
			{"meaning", Query{Mode: Meaning}},
			{"hybrid", Query{Mode: Hybrid}},
			{"hybrid-filtered", Query{Mode: Hybrid, Filters: Filters{UnitID: []string{"u3"}}}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, chunks), func(b *testing.B) {
				base, err := largeBases[chunks]()
				if err != nil {
					b.Fatal(err)
				}
				c.q.Text, c.q.TopK = text, 10
				b.ReportAllocs()
				for b.Loop() {
					if r, err := base.Search(b.Context(), c.q); err != nil || len(r.Hits) != 10 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOpen measures opening with every check, without the encoder, and says how many bytes that are.
func BenchmarkOpen(b *testing.B) {
	s, err := shelf.New(large(10_000))
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for name, f := range s.MapFS {
		if strings.HasPrefix(name, "large/") {
			size += len(f.Data)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := artifact.Open(s, s.Folder("large"), ""); err != nil {
			b.Fatal(err)
		}
	}
}
