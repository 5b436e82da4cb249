package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/larder/artifact"
	"example.com/larder/models/minilm"
)

// openOutside opens the embedder that is not one of the models here, and the tokenizer that counts.
func (b *bake) openOutside(ctx context.Context) error {
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
	if e.Identity() == "" || e.Model() == "" {
		return errors.New("an embedder without an identity or a model's name: the artifact must remember both")
	}
	if err := b.loadTokenizer(ctx); err != nil {
		return err
	}
	b.model.embedder, b.model.outside = unitEmbedder{e}, e
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
	unit := make([][]float32, len(rows))
	for i, row := range rows {
		if len(row) != u.Dimensions() {
			return nil, fmt.Errorf("embedder %s: a vector of %d dimensions, not %d", u.Identity(), len(row), u.Dimensions())
		}
		unit[i] = slices.Clone(row)
		if !minilm.Normalize(unit[i]) {
			return nil, fmt.Errorf("embedder %s: a vector is zero or not finite", u.Identity())
		}
	}
	return unit, nil
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
		if len(vector) != m.outside.Dimensions() {
			return nil, fmt.Errorf("embedder %s: a query's vector has %d dimensions, a passage's %d", m.outside.Identity(), len(vector), m.outside.Dimensions())
		}
		probes = append(probes, artifact.Probe{Text: text, Vector: vector})
	}
	return probes, nil
}

const (
	cachedSample = 4     // passages
	cachedCosine = 0.999 // between a vector of the cache and what the embedder makes of the passage now
)

// compareCached embeds some of the passages anew whose vectors came from the cache: behind the same identity there may
// be another model by now.
func (b *bake) compareCached(ctx context.Context) error {
	n := len(b.passages)
	if b.report.Embedded == n {
		return nil
	}
	var numbers []int
	var texts []string
	for i := 0; i < n; i += max(1, n/cachedSample) {
		numbers, texts = append(numbers, i), append(texts, b.passages[i])
	}
	rows, err := b.model.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	d := b.model.embedder.Dimensions()
	for i, number := range numbers {
		if c := cosine(rows[i], b.vectors[number*d:][:d]); !(c >= cachedCosine) {
			return hintedError{
				fmt.Sprintf("%s: the cache's vector and the embedder's differ: a cosine of %.4f, not %v or more: it is another model by the same name", b.place(number), c, cachedCosine),
				"remove vectors.db from the cache folder " + b.Fetcher.Cache.Dir,
			}
		}
	}
	return nil
}
