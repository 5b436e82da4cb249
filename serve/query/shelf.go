package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// A Base is a base on a shelf that is open, or is being opened.
type Base interface {
	Name() string
	// Opened tells whether the base is open, without waiting for it. An error says why it can't be opened.
	Opened() (bool, error)
	// Current returns the version that answers now, nil if none does.
	Current() *reader.Base
}

// NewShelf returns a connection of bases in this process.
func NewShelf(slug string, bases []Base) Connection {
	bases = slices.SortedFunc(slices.Values(bases), func(a, b Base) int { return strings.Compare(a.Name(), b.Name()) })
	return shelfConnection{slug, bases}
}

type shelfConnection struct {
	slug  string
	bases []Base
}

func (s shelfConnection) Slug() string { return s.slug }
func (s shelfConnection) Kind() string { return "shelf" }

func (s shelfConnection) Spaces(context.Context) ([]Space, error) {
	spaces := make([]Space, len(s.bases))
	for i, b := range s.bases {
		spaces[i] = shelfSpace{b}
	}
	return spaces, nil
}

type shelfSpace struct{ base Base }

func (s shelfSpace) Name() string { return s.base.Name() }

func (s shelfSpace) State(context.Context) State {
	open, err := s.base.Opened()
	switch {
	case err != nil:
		return State{Status: Failed, Reason: Reason(err)}
	case !open:
		return State{Status: Loading}
	}
	b := s.base.Current()
	if b == nil {
		return State{Status: Failed, Reason: "it is closed"}
	}
	m := b.Manifest()
	return State{Status: Ready, Version: b.Artifact().Digest, Model: modelOf(m), Documents: m.Counts.Documents, Chunks: m.Counts.Chunks}
}

func modelOf(m *artifact.Manifest) string {
	if m.Model == nil {
		return ""
	}
	return m.Model.Name
}

// Reason tells callers why a base can't be opened. The error itself names files of this machine, which are for the log.
func Reason(err error) string {
	switch {
	case errors.Is(err, artifact.ErrCorrupt):
		return "the artifact is damaged; it must be fetched or baked again"
	case errors.Is(err, artifact.ErrUnsupported):
		return "the artifact is for another version of larder"
	case errors.Is(err, reader.ErrNoQueryEncoder):
		return "the embedder of its queries is not there"
	case errors.Is(err, fs.ErrNotExist):
		return "files are missing"
	}
	return "it can't be opened; the server's log says why"
}

func (s shelfSpace) Open(context.Context) (View, error) {
	if open, err := s.base.Opened(); !open || err != nil {
		return nil, fmt.Errorf("the base %s: %w", s.Name(), ErrUnavailable)
	}
	b := s.base.Current()
	if b == nil {
		return nil, fmt.Errorf("the base %s is closed: %w", s.Name(), ErrUnavailable)
	}
	return shelfView{b}, nil
}

// A shelfView is a version in this process.
type shelfView struct{ base *reader.Base }

func (v shelfView) Manifest() *artifact.Manifest { return v.base.Manifest() }
func (v shelfView) Version() string              { return v.base.Artifact().Digest }
func (v shelfView) Close()                       {}

func (v shelfView) Sides(ctx context.Context, text string, filters reader.Filters) (*reader.Sides, error) {
	return v.base.Sides(ctx, text, filters)
}

func (v shelfView) Hits(_ context.Context, chunks []int) ([]reader.Hit, error) {
	return v.base.Hits(chunks), nil
}

func (v shelfView) Document(_ context.Context, id artifact.ID) (*Document, error) {
	a := v.base.Artifact()
	i, ok := a.FindDocument(id)
	if !ok {
		return nil, fmt.Errorf("document %s: %w", id, fs.ErrNotExist)
	}
	return NewDocument(a.Document(i), string(a.DocumentText(i))), nil
}
