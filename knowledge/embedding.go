package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/pipeline"
)

// An Embedding says what makes vectors: a recipe, of which nothing is built before Bake or Start. The zero value is
// none.
type Embedding struct {
	embedder string // as in base.yaml, or [pipeline.Function]
	model    string // of a service
	problems func() []Problem
	build    func(context.Context, access) (Embedder, error) // nil for models in the lock
}

// access is what the environment says of a service: the credential, the name of its variable, and where the service is if
// nothing else says it.
type access struct{ keyEnv, key, address string }

// An Embedder makes vectors of passages and of queries, outside of the models in models.lock. EmbedQuery may be called at
// the same time by many, and for a moment after Close.
type Embedder = pipeline.QueryEmbedder

// ONNX embeds passages with hugot and ONNX Runtime, by the base's [Model], in a program built with the tag ORT. Queries
// are encoded by the reader itself.
func ONNX() Embedding { return Embedding{embedder: pipeline.ONNX} }

// Native embeds with the reader's own encoder, by the base's [Model], in any build.
func Native() Embedding { return Embedding{embedder: pipeline.Native} }

// OpenAI embeds with a service that speaks OpenAI's embeddings interface. Its key is the value of the variable that
// [CredentialEnv] names.
func OpenAI(o OpenAIOptions) Embedding {
	return Embedding{
		embedder: pipeline.OpenAI,
		model:    o.Model,
		problems: func() (list []Problem) {
			for _, p := range o.problems() {
				list = append(list, Problem{"embed", p})
			}
			return list
		},
		build: func(ctx context.Context, a access) (Embedder, error) {
			o := o
			if a.key != "" {
				o.Key, o.KeyEnv = a.key, a.keyEnv
			}
			o.BaseURL = cmp.Or(o.BaseURL, a.address)
			return NewOpenAI(ctx, o)
		},
	}
}

// A Kind says what a text is embedded as.
type Kind int

// Texts are passages, or the query that is compared with them.
const (
	AsPassage Kind = iota
	AsQuery
)

// Function embeds with a function of the caller's own, which returns a vector of that many dimensions, of any length
// above 0, for each text. identity names all that decides a vector besides the text: model, version, prefixes. The
// artifact remembers it, and Start refuses an index that another one made. The function must be safe for concurrent
// use, since queries are.
func Function(identity string, dimensions int, embed func(ctx context.Context, texts []string, as Kind) ([][]float32, error)) Embedding {
	f := &function{identity, dimensions, embed}
	return Embedding{
		embedder: pipeline.Function,
		problems: func() (list []Problem) {
			if strings.TrimSpace(identity) == "" || len(identity) > maxIdentity || artifact.CheckEmbedder(f.Model(), f.Identity()) != nil {
				list = append(list, Problem{"embed", fmt.Sprintf("an identity of %d bytes, or not one line of text (allowed: 1 to %d bytes that name model, version and prefixes)", len(identity), maxIdentity)})
			}
			if dimensions < 1 || dimensions > maxDimensions {
				list = append(list, Problem{"embed", fmt.Sprintf("vectors of %d dimensions (allowed: 1 to %d)", dimensions, maxDimensions)})
			}
			if embed == nil {
				list = append(list, Problem{"embed", "a function that is nil (allowed: one that returns a vector for each text)"})
			}
			return list
		},
		build: func(context.Context, access) (Embedder, error) { return f, nil },
	}
}

const (
	maxIdentity   = 900 // bytes, which an artifact has quoted
	maxDimensions = 4096
)

type function struct {
	identity   string
	dimensions int
	embed      func(context.Context, []string, Kind) ([][]float32, error)
}

func (f *function) Identity() string            { return "function " + strconv.Quote(f.identity) }
func (f *function) Model() string               { return f.identity }
func (f *function) Dimensions() int             { return f.dimensions }
func (f *function) Versions() map[string]string { return map[string]string{} }
func (f *function) Close() error                { return nil }

func (f *function) Embed(ctx context.Context, passages []string) ([][]float32, error) {
	return f.embed(ctx, passages, AsPassage)
}

func (f *function) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	rows, err := f.embed(ctx, []string{query}, AsQuery)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("%d vectors for one query", len(rows))
	}
	return rows[0], nil
}

// Custom embeds with what build returns when Bake or Start calls it.
func Custom(build func(ctx context.Context) (Embedder, error)) Embedding {
	return Embedding{
		embedder: pipeline.Function,
		problems: func() []Problem {
			if build == nil {
				return []Problem{{"embed", "a function that is nil (allowed: one that returns an Embedder)"}}
			}
			return nil
		},
		build: func(ctx context.Context, _ access) (Embedder, error) {
			e, err := build(ctx)
			if err == nil && e == nil {
				err = errors.New("the function that builds the embedder returned none")
			}
			return e, err
		},
	}
}

// embeddingOf is what base.yaml declares.
func embeddingOf(s pipeline.Settings) Embedding {
	switch {
	case s.Mode == keyword:
		return Embedding{}
	case s.Embedder != pipeline.OpenAI:
		return Embedding{embedder: s.Embedder}
	}
	return OpenAI(openAIOptions(s))
}

// OpenEmbedder opens the embedder that base.yaml declares with embedder: openai, whose key lookupEnv returns for the
// variable that credential_env names. It is for [pipeline.BakeOptions].
func OpenEmbedder(lookupEnv func(string) (string, bool)) func(context.Context, pipeline.Settings) (Embedder, error) {
	return func(ctx context.Context, s pipeline.Settings) (Embedder, error) {
		e := embeddingOf(s)
		if e.build == nil {
			return nil, fmt.Errorf("embedder: %s is not one that base.yaml can declare", s.Embedder)
		}
		a, err := accessOf(s.Credential, lookupEnv)
		if err != nil {
			return nil, err
		}
		return e.build(ctx, a)
	}
}

func openAIOptions(s pipeline.Settings) OpenAIOptions {
	o := s.OpenAI
	return OpenAIOptions{
		Model: o.Model, BaseURL: o.BaseURL, Dimensions: o.Dimensions, QueryPrefix: o.QueryPrefix, PassagePrefix: o.PassagePrefix,
		Batch: o.Batch, Retries: o.Retries, Timeout: time.Duration(o.Timeout * float64(time.Second)),
	}
}
