package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"example.com/larder/artifact"
	"example.com/larder/models"
	"example.com/larder/models/minilm"
	"example.com/larder/models/wordpiece"
	"example.com/larder/reader"
)

// embed makes the vectors of all passages.
func (b *bake) embed(ctx context.Context) (err error) {
	if b.settings.Mode == string(artifact.Keyword) {
		return nil
	}
	if b.model.encoder != nil {
		if err := b.model.selfTest(ctx); err != nil {
			return err
		}
	}
	cache, err := openVectorCache(b.Fetcher.Cache.Dir)
	if err == nil && b.inMemory {
		err = cache.use(func(*bbolt.DB) error { return nil })
	}
	if err != nil && b.inMemory { // a process that starts where nothing can be written is as good as any
		newReporter(b.Progress).line("vectors are not cached: %v", err)
		cache, err = nil, nil
	}
	if err != nil {
		return err
	}
	bar := newProgress(b.Progress, "embed "+b.settings.Name, len(b.passages))
	defer bar.end()
	compare := func([]int, []float32) error { return nil }
	if b.model.outside != nil {
		compare = func(cached []int, vectors []float32) error { return b.compareCached(ctx, cached, vectors) }
	}
	b.vectors, b.report.Embedded, err = embedPassages(ctx, b.model.embedder, cache, b.passages, compare, bar.set)
	if err != nil || b.model.outside != nil {
		return err
	}
	return b.model.compareSample(b.passages, b.vectors, b.place)
}

// An Embedder turns passages into vectors of length 1. It embeds every token of a passage, however long.
type Embedder interface {
	// Identity names all that decides a vector but the passage. It is part of the cache's key.
	Identity() string
	// Dimensions is the number of elements of a vector.
	Dimensions() int
	// Embed returns the vectors of passages, in order.
	Embed(ctx context.Context, passages []string) ([][]float32, error)
	// Versions says what embeds, for provenance, such as "onnxruntime": "1.26.0".
	Versions() map[string]string
	Close() error
}

// A QueryEmbedder is an [Embedder] that makes the vectors of queries too, since the models here can't: a service, or a
// function of the user's own. Its Identity is what the artifact remembers; a reader asks for an embedder with that
// identity, and gives it queries through [reader.QueryEncoder].
type QueryEmbedder interface {
	Embedder
	EmbedQuery(ctx context.Context, query string) ([]float32, error)
	// Model is the model's name, for people.
	Model() string
}

var _ reader.QueryEncoder = QueryEmbedder(nil)

// The embedders that base.yaml can name.
const (
	ONNX   = "onnx"   // hugot with ONNX Runtime, fp32: the default
	Native = "native" // the reader's own encoder: no native libraries, the same bytes on every machine
	OpenAI = "openai" // a service that speaks OpenAI's embeddings interface
)

// Function is the embedder of a program that brings its own: base.yaml can't name it.
const Function = "function"

// ErrNoONNX says that a base wants an embedder that this program was built without.
var ErrNoONNX error = hintedError{
	"embedder: onnx needs a larder that was built with ONNX Runtime, and this one was not",
	"go tool mage build makes one (it needs a C compiler and cargo), or set embedder: native in base.yaml",
}

// A hintedError says what can be done.
type hintedError struct{ text, hint string }

func (e hintedError) Error() string { return e.text }

// Hint says what can be done.
func (e hintedError) Hint() string { return e.hint }

// native embeds with the encoder that readers use for queries.
type native struct{ *models.Encoder }

func (n native) Identity() string {
	return nativeIdentity(n.Card(), minilm.Builder, models.WindowRule, wordpiece.Rule)
}
func (n native) Versions() map[string]string { return map[string]string{"encoder": n.Card().Digest()} }
func (n native) Close() error                { return nil }

// nativeIdentity names all that decides a vector of the reader's own encoder: its card, which holds the digests of
// weights and vocabulary, the prefix and the window's size, and the code that multiplies, cuts windows and tokenizes.
func nativeIdentity(card *models.Card, builder int, windows, words string) string {
	return fmt.Sprintf("native %s minilm %d %s %s", card.Digest(), builder, windows, words)
}

// onnxIdentity names all that decides a vector of ONNX Runtime's: the graph, both tokenizers, the prefix, the windows,
// and the builds that compute on a platform, which is GOOS/GOARCH.
func onnxIdentity(m models.Model, windows, words, platform string, versions map[string]string) string {
	return fmt.Sprintf("onnx fp32 %s %s prefix %q %s %d %s onnxruntime %s %s hugot %s tokenizers %s %s",
		m.ONNX.Sources[0].SHA256, m.Tokenizer.Sources[0].SHA256, m.PassagePrefix, windows, m.MaxTokens, words,
		versions["onnxruntime"], versions["onnxruntime_sha256"], versions["hugot"], versions["tokenizers"], platform)
}

// Embed uses all cores, a passage each: a vector depends on its passage alone.
func (n native) Embed(ctx context.Context, passages []string) ([][]float32, error) {
	vectors := make([][]float32, len(passages))
	errs := make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range errs {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(passages) || errs[worker] != nil {
					return
				}
				if errs[worker] = ctx.Err(); errs[worker] != nil {
					return
				}
				vectors[i] = make([]float32, n.Dimensions())
				errs[worker] = n.EncodePassage(vectors[i], passages[i])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// embedBatch is how many passages are embedded and put into the cache at once.
const embedBatch = 128

// embedPassages returns the passages' vectors, one row each, taken from the cache where it has them. fresh counts
// those that were embedded now. Before that compare gets the numbers of the others, and the rows as far as they are
// filled. done is called with the number of passages that have their vectors.
func embedPassages(ctx context.Context, e Embedder, cache *vectorCache, passages []string, compare func(cached []int, vectors []float32) error, done func(int)) (vectors []float32, fresh int, err error) {
	d := e.Dimensions()
	vectors = make([]float32, len(passages)*d)
	missing, err := cache.get(e.Identity(), passages, d, vectors)
	if err != nil {
		return nil, 0, err
	}
	if err := compare(others(len(passages), missing), vectors); err != nil {
		return nil, 0, err
	}
	ready := len(passages) - len(missing)
	done(ready)
	for len(missing) > 0 {
		batch := missing[:min(embedBatch, len(missing))]
		texts := make([]string, len(batch))
		for i, number := range batch {
			texts[i] = passages[number]
		}
		rows, err := e.Embed(ctx, texts)
		if err != nil {
			return nil, fresh, fmt.Errorf("embed: %w", err)
		}
		for i, number := range batch {
			if len(rows[i]) != d {
				return nil, fresh, fmt.Errorf("embed: a vector of %d dimensions, not %d", len(rows[i]), d)
			}
			copy(vectors[number*d:], rows[i])
		}
		if err := cache.put(e.Identity(), texts, rows); err != nil {
			return nil, fresh, err
		}
		missing = missing[len(batch):]
		fresh += len(batch)
		done(ready + fresh)
	}
	return vectors, fresh, nil
}

// others are the numbers from 0 up to n that are not in an ascending list.
func others(n int, list []int) (rest []int) {
	for i := range n {
		if len(list) > 0 && list[0] == i {
			list = list[1:]
			continue
		}
		rest = append(rest, i)
	}
	return rest
}
