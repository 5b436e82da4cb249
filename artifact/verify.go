package artifact

import (
	"bytes"
	"fmt"
	"slices"
)

// Verify checks the rules that opening leaves out, but for E2, which needs the encoder.
func (a *Artifact) Verify() error {
	for _, check := range []func() error{a.verifyDocuments, a.verifyChunks, a.verifyPostings, a.verifyFilters, a.verifyStrings, a.verifyOriginals} {
		if err := check(); err != nil {
			return fmt.Errorf("verify artifact %s: %w", a.Manifest.Base, err)
		}
	}
	return nil
}

func (a *Artifact) verifyDocuments() error {
	for i := range a.Documents() {
		d := a.Document(i)
		if d.ID != DocumentID(a.Manifest.Base, d.Path) {
			return corrupt("documents.bin", "D3", "the id of %q is not its own", d.Path)
		}
		if !d.Verdict.HasText() && (d.FirstChunk != d.EndChunk || len(a.DocumentText(i)) > 0) {
			return corrupt("documents.bin", "D4", "%q has text, yet its verdict is %v", d.Path, d.Verdict)
		}
	}
	return nil
}

func (a *Artifact) verifyChunks() error {
	for doc := range a.Documents() {
		d := a.Document(doc)
		seen := map[string]int{}
		for i := d.FirstChunk; i < d.EndChunk; i++ {
			text := a.ChunkText(i)
			if ID(a.chunks.record(i)[:16]) != ChunkID(d.ID, text, seen[string(text)]) {
				return corrupt("chunks.bin", "C3", "the id of chunk %d is not its own", i)
			}
			seen[string(text)]++
		}
	}
	return nil
}

func (a *Artifact) verifyPostings() error {
	sums := make([]uint64, a.Chunks())
	for t := range a.Terms() {
		p, err := a.postings.at(t, a.Chunks())
		if err != nil {
			return err
		}
		k := 0
		for chunk := range p.Chunks.All() {
			sums[chunk] += uint64(p.Freq(k))
			k++
		}
	}
	for i, sum := range sums {
		if sum != uint64(a.ChunkTerms(i)) {
			return corrupt("postings.bin", "P3", "chunk %d has %d terms, but its length is %d", i, sum, a.ChunkTerms(i))
		}
	}
	return nil
}

func (a *Artifact) verifyFilters() error {
	infos := make([]DocumentInfo, a.Documents())
	for i := range infos {
		infos[i] = a.Document(i)
	}
	want := filtersOf(infos)
	if len(want) != a.filters.len() {
		return corrupt("filters.bin", "L2", "%d filters, but the documents imply %d", a.filters.len(), len(want))
	}
	for i, f := range want {
		b, err := a.filters.bitmap(i)
		if err != nil {
			return err
		}
		if f.field != a.filters.field(i) || f.value != a.filters.value(i) || !slices.Equal(f.chunks, b.AppendTo(nil)) {
			return corrupt("filters.bin", "L2", "filter %s=%s is not what the documents imply", f.field, f.value)
		}
	}
	return nil
}

func (a *Artifact) verifyStrings() error {
	used := make([]bool, a.strings.len())
	used[0] = true
	for i := range a.documents.len() {
		for _, at := range documentStrings {
			used[le.Uint32(a.documents.record(i)[at:])] = true
		}
	}
	for i := range a.chunks.len() {
		for _, at := range chunkStrings {
			used[le.Uint32(a.chunks.record(i)[at:])] = true
		}
	}
	for _, refs := range [][]byte{a.documents.topics, a.filters.fields, a.filters.values} {
		for i := 0; i < len(refs); i += 4 {
			used[le.Uint32(refs[i:])] = true
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return corrupt("strings.bin", "T2", "nothing refers to string %d (%.40q)", i, bytes.ToValidUTF8(a.strings.at(i), nil))
	}
	return nil
}
