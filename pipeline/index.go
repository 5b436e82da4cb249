package pipeline

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
)

// index makes the content of the artifact.
func (b *bake) index(ctx context.Context) error {
	analyzer, err := analyze.New(b.settings.Languages)
	if err != nil {
		return err
	}
	terms, lengths := indexTerms(b.passages, analyzer)
	b.report.Terms = len(terms)
	b.content = &artifact.Content{
		Base: b.settings.Name, Serial: b.settings.Serial,
		Settings: artifact.Settings{
			Mode: artifact.Mode(b.settings.Mode), ChunkSize: b.settings.ChunkSize, ChunkOverlap: b.settings.ChunkOverlap,
			TopK: b.settings.TopK, MinScore: b.settings.MinScore,
		},
		Analyzer:  artifact.Analyzer{ID: analyzer.ID(), Languages: analyzer.Languages()},
		Tokenizer: b.model.tokenizerDigest,
		Boosts:    b.settings.Boosts,
		Tool:      b.settings.tool(),
		Terms:     terms,
		Vectors:   b.vectors,
		Originals: b.settings.Originals,
	}
	if b.vectors != nil {
		b.content.Model = b.model.manifest()
		if b.content.Probes, err = b.model.probes(ctx); err != nil {
			return err
		}
	}
	number := 0
	for i, d := range b.documents {
		doc := artifactDocument(b.sources[i], b.hashes[i], d)
		for _, c := range b.chunks[i] {
			doc.Chunks = append(doc.Chunks, artifactChunk(c, lengths[number]))
			number++
		}
		b.content.Documents = append(b.content.Documents, doc)
	}
	return nil
}

// indexTerms finds the terms of every passage, which its chunk's number names, and counts each passage's terms.
func indexTerms(passages []string, a *analyze.Analyzer) (terms []artifact.Term, lengths []int) {
	postings := map[string]*artifact.Term{}
	lengths = make([]int, len(passages))
	var words []string
	for number, text := range passages {
		words = a.Terms(words[:0], text)
		lengths[number] = len(words)
		for _, w := range words {
			t := postings[w]
			if t == nil {
				w = strings.Clone(w) // terms share memory with the text
				t = &artifact.Term{Text: w}
				postings[w] = t
			}
			if n := len(t.Chunks); n > 0 && t.Chunks[n-1] == uint32(number) {
				t.Freqs[n-1]++
				continue
			}
			t.Chunks = append(t.Chunks, uint32(number))
			t.Freqs = append(t.Freqs, 1)
		}
	}
	for _, w := range slices.Sorted(maps.Keys(postings)) {
		terms = append(terms, *postings[w])
	}
	return terms, lengths
}

// bitmap writes a set in the RoaringBitmap portable format.
func bitmap(members []uint32) []byte {
	b := roaring.BitmapOf(members...)
	b.RunOptimize()
	data, err := b.ToBytes()
	if err != nil {
		panic(err) // writing to memory does not fail
	}
	return data
}
