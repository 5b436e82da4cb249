package reader

import (
	"context"
	"fmt"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/models"
)

// An Interpreter turns questions into what an index is searched with, a vector and terms, as the artifact's manifest says.
// It is for programs that hold the index elsewhere, such as in a database; a [Base] has its own. It is safe for
// concurrent use.
type Interpreter struct {
	manifest *artifact.Manifest
	analyzer *analyze.Analyzer
	encoder  *models.Encoder // nil in keyword mode, and if the vectors are of an embedder outside
	outside  QueryEncoder    // likewise the other way round
}

// NewInterpreter returns the interpreter of an index with that manifest. encoder is the one that the manifest names, nil
// in keyword mode and for vectors of an embedder outside, which outside then is. The first of the probes is encoded and
// compared with its vector; there must be one unless the mode is keyword. Errors are [artifact.ErrCorrupt],
// [artifact.ErrUnsupported] or [ErrNoQueryEncoder] to errors.Is.
func NewInterpreter(ctx context.Context, m *artifact.Manifest, encoder *models.Encoder, outside QueryEncoder, probes []artifact.Probe) (*Interpreter, error) {
	i, err := interpret(m)
	if err != nil || m.Model == nil {
		return i, err
	}
	if len(probes) == 0 {
		return nil, fmt.Errorf("%w: no probe to test the encoder of queries with", artifact.ErrCorrupt)
	}
	if m.Model.External() {
		return i, i.useOutside(ctx, outside, probes[0])
	}
	return i, i.useEncoder(encoder, probes[:1])
}

// interpret returns an interpreter that has no encoder yet.
func interpret(m *artifact.Manifest) (*Interpreter, error) {
	analyzer, err := openAnalyzer(m.Analyzer)
	if err != nil {
		return nil, err
	}
	return &Interpreter{manifest: m, analyzer: analyzer}, nil
}

// useEncoder takes e for queries, and makes sure that it encodes as it did where the artifact was baked.
func (i *Interpreter) useEncoder(e *models.Encoder, probes []artifact.Probe) error {
	if e == nil {
		return fmt.Errorf("%w: it is the encoder %s", ErrNoQueryEncoder, i.manifest.Model.Encoder)
	}
	if err := checkCard(e.Card(), i.manifest); err != nil {
		return err
	}
	i.encoder = e
	return selfTest(e, probes)
}

func openAnalyzer(want artifact.Analyzer) (*analyze.Analyzer, error) {
	a, err := analyze.New(want.Languages)
	if err != nil {
		return nil, fmt.Errorf("%w: the artifact's terms: %w", artifact.ErrUnsupported, err)
	}
	if a.ID() != want.ID {
		return nil, fmt.Errorf("%w: its terms were made by the rules %q, and this reader has %q: bake again with the larder that the reader is part of", artifact.ErrUnsupported, want.ID, a.ID())
	}
	return a, nil
}

// checkCard compares an encoder's card with the manifest.
func checkCard(c *models.Card, m *artifact.Manifest) error {
	card := artifact.Model{
		Name: c.Name, Source: c.Source, Dimensions: c.Dimensions, MaxTokens: c.MaxTokens, Pooling: c.Pooling,
		QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, Encoder: m.Model.Encoder,
	}
	if *m.Model != card || m.Tokenizer != c.Tokenizer {
		return fmt.Errorf("%w: manifest.json: model or tokenizer are not what the encoder's %s says (rule M5)", artifact.ErrCorrupt, models.CardFile)
	}
	return nil
}

// Terms returns the terms of a query, repeats included, without its function words unless it has no others. Of more than
// 64 the rest is left out, and cut is true.
func (i *Interpreter) Terms(text string) (terms []string, cut bool) {
	terms = []string{}
	var all []string
	for t := range i.analyzer.Tokens(text) {
		if cut = len(all) == maxTerms; cut {
			break
		}
		all = append(all, t.Term)
		if !i.analyzer.FunctionWord(text[t.Start:t.End]) {
			terms = append(terms, t.Term)
		}
	}
	if len(terms) == 0 {
		terms = append(terms, all...)
	}
	return terms, cut
}

// Vector writes a query's vector, of length 1, into dst, which has the model's dimensions. cut says that the end of the
// query was left out, since the model doesn't read that far. There is none in keyword mode. It stops with the context's
// error when ctx ends.
func (i *Interpreter) Vector(ctx context.Context, dst []float32, text string) (cut bool, err error) {
	if i.manifest.Model.External() {
		return i.encodeOutside(ctx, dst, text)
	}
	return i.encoder.EncodeQueryContext(ctx, dst, text)
}

// Matches returns the bytes of text that match one of the terms, as start and end, ascending and apart from each other.
func (i *Interpreter) Matches(text string, terms []string) (spans [][2]int) {
	wanted := make(map[string]bool, len(terms))
	for _, t := range terms {
		wanted[t] = true
	}
	for t := range i.analyzer.Tokens(text) {
		if !wanted[t.Term] {
			continue
		}
		if last := len(spans) - 1; last >= 0 && t.Start < spans[last][1] {
			spans[last][1] = max(spans[last][1], t.End) // a part inside its whole
			continue
		}
		spans = append(spans, [2]int{t.Start, t.End})
	}
	return spans
}
