package pipeline

import (
	"context"
	"fmt"
	"slices"

	"example.com/larder/artifact"
	"example.com/larder/models/minilm"
)

// openOutside opens the embedder, if it is not one of the models here: before any work, since its key may be missing.
func (b *bake) openOutside(ctx context.Context) error {
	if !b.settings.Outside() || b.settings.Mode == string(artifact.Keyword) {
		return nil
	}
	if b.OpenEmbedder == nil {
		return fmt.Errorf("embedder: %s is not known to this program", b.settings.Embedder)
	}
	e, err := b.OpenEmbedder(ctx, b.settings)
	if err != nil {
		return err
	}
	b.closers = append(b.closers, e.Close)
	if d := e.Dimensions(); d < 1 || d > maxDimensions {
		return fmt.Errorf("embedder %s: vectors of %d dimensions (1 to %d can be stored)", e.Identity(), d, maxDimensions)
	}
	if err := artifact.CheckEmbedder(e.Model(), e.Identity()); err != nil {
		return fmt.Errorf("embedder: %w", err)
	}
	b.outside = unitEmbedder{e}
	b.report.Model = e.Model()
	return nil
}

// A unitEmbedder gives the vectors of an embedder outside, which may have any length, the length 1.
type unitEmbedder struct{ QueryEmbedder }

func (u unitEmbedder) Embed(ctx context.Context, passages []string) ([][]float32, error) {
	rows, err := u.QueryEmbedder.Embed(ctx, passages)
	if err != nil {
		return nil, err
	}
	if len(rows) != len(passages) {
		return nil, fmt.Errorf("embedder %s: %d vectors for %d passages", u.Identity(), len(rows), len(passages))
	}
	units := make([][]float32, len(rows))
	for i, row := range rows {
		if units[i], err = u.unit(row, "a vector"); err != nil {
			return nil, err
		}
	}
	return units, nil
}

func (u unitEmbedder) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	vector, err := u.QueryEmbedder.EmbedQuery(ctx, query)
	if err != nil {
		return nil, err
	}
	return u.unit(vector, "a query's vector")
}

// unit is a vector of length 1. what names the vector in errors.
func (u unitEmbedder) unit(vector []float32, what string) ([]float32, error) {
	if len(vector) != u.Dimensions() {
		return nil, fmt.Errorf("embedder %s: %s has %d dimensions, not %d", u.Identity(), what, len(vector), u.Dimensions())
	}
	vector = slices.Clone(vector)
	if !minilm.Normalize(vector) {
		return nil, fmt.Errorf("embedder %s: %s is zero or not finite", u.Identity(), what)
	}
	return vector, nil
}

// outsideTexts are embedded as queries, for readers to compare with.
var outsideTexts = []string{"How long does a refund take?", "Сколько времени занимает возврат денег?"}

// outsideProbes are texts as queries, by the embedder outside.
func (m *model) outsideProbes(ctx context.Context) ([]artifact.Probe, error) {
	var probes []artifact.Probe
	for _, text := range outsideTexts {
		vector, err := m.outside.EmbedQuery(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("embed a known text as a query: %w", err)
		}
		probes = append(probes, artifact.Probe{Text: text, Vector: vector})
	}
	return probes, nil
}

const (
	cachedSample = 4     // passages
	cachedCosine = 0.999 // between a vector of the cache and what the embedder makes of the passage now
)

// compareCached embeds anew some of the passages whose vectors came from the cache: behind the same identity there may be
// another model by now. It comes before anything else is embedded, since vectors of two models would be of no use
// together, neither in an artifact nor in the cache.
func (b *bake) compareCached(ctx context.Context, cached []int, vectors []float32) error {
	if len(cached) == 0 {
		return nil
	}
	var numbers []int
	var texts []string
	n := min(cachedSample, len(cached))
	for i := range n { // the first, the last, and evenly between
		number := cached[i*(len(cached)-1)/max(1, n-1)]
		numbers, texts = append(numbers, number), append(texts, b.passages[number])
	}
	rows, err := b.model.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	d := b.model.embedder.Dimensions()
	for i, number := range numbers {
		if c := cosine(rows[i], vectors[number*d:][:d]); !(c >= cachedCosine) {
			return hintedError{
				fmt.Sprintf("%s: the cache's vector and the embedder's differ: a cosine of %.4f, not %v or more: it is another model by the same name", b.place(number), c, cachedCosine),
				"remove vectors.db from the cache folder " + b.Fetcher.Cache.Dir,
			}
		}
	}
	return nil
}
