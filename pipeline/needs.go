package pipeline

import (
	"context"
	"path/filepath"
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
	root, err := OpenFolder(folder)
	if err != nil {
		return Needs{}, err
	}
	defer root.Close()
	abs, err := filepath.Abs(folder)
	if err != nil {
		return Needs{}, err
	}
	s, err := LoadSettings(root, filepath.Base(abs))
	switch {
	case err != nil:
		return Needs{}, err
	case s.Mode == string(artifact.Keyword):
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

// Fetch gets what is needed into the cache.
func (n Needs) Fetch(ctx context.Context, f *Fetcher) error {
	for _, name := range n.Models {
		if _, err := f.Model(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range n.Tokenizers {
		if _, _, err := f.ModelTokenizer(ctx, name); err != nil {
			return err
		}
	}
	if !n.Libraries {
		return nil
	}
	if _, err := f.Runtime(ctx); err != nil {
		return err
	}
	_, err := f.Tokenizers(ctx)
	return err
}
