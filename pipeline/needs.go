package pipeline

import (
	"context"
	"errors"
	"slices"

	"example.com/larder/artifact"
)

// Needs are the locked files that bakes need.
type Needs struct {
	Models     []string // whole models
	Tokenizers []string // models of which only the tokenizer is needed
	Libraries  bool     // ONNX Runtime and libtokenizers
}

// NeedsOf returns what a bake of the base in folder needs.
func NeedsOf(folder string) (Needs, error) {
	s, err := ReadSettings(folder)
	switch {
	case err != nil:
		return Needs{}, err
	case s.Mode == string(artifact.Keyword):
		return Needs{Tokenizers: []string{s.Model}}, nil
	}
	if s.Outside() {
		return Needs{Tokenizers: []string{s.Model}}, nil
	}
	return Needs{Models: []string{s.Model}, Libraries: s.Embedder == ONNX}, nil
}

// Add makes n the needs of both.
func (n *Needs) Add(m Needs) {
	n.Models = append(n.Models, m.Models...)
	n.Tokenizers = append(n.Tokenizers, m.Tokenizers...)
	n.Libraries = n.Libraries || m.Libraries
	for _, list := range []*[]string{&n.Models, &n.Tokenizers} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// Fetch gets what is needed into the cache. Offline, the error names everything that is missing.
func (n Needs) Fetch(ctx context.Context, f *Fetcher) error {
	var gets []func() error
	for _, name := range n.Models {
		gets = append(gets, func() error { _, err := f.Model(ctx, name); return err })
	}
	for _, name := range n.Tokenizers {
		gets = append(gets, func() error { _, _, err := f.ModelTokenizer(ctx, name); return err })
	}
	if n.Libraries {
		gets = append(gets,
			func() error { _, err := f.Runtime(ctx); return err },
			func() error { _, err := f.Tokenizers(ctx); return err })
	}
	var missing []error
	for _, get := range gets {
		err := get()
		if err != nil && !f.Offline {
			return err
		}
		missing = append(missing, err)
	}
	return errors.Join(missing...)
}
