package knowledge

import (
	"log/slog"

	"example.com/larder/pipeline"
)

// An Option sets a field of a knowledge base.
type Option func(*config)

func setting(name string, set func(*config)) Option {
	return func(c *config) {
		c.given = append(c.given, name)
		set(c)
	}
}

// IndexDir is where Bake writes the index and where Start looks for it, such as dist/refunds. Without it, Bake is an
// error and Start always embeds in memory.
func IndexDir(dir string) Option { return func(c *config) { c.indexDir = dir } }

// Mode is meaning, which uses embeddings, keyword, which uses BM25, or hybrid, the default, which runs both and
// interleaves the hits.
func Mode(mode string) Option {
	return setting("mode", func(c *config) { c.settings.Mode = mode })
}

// ChunkSize is the size of a passage in WordPiece tokens, 1 to 2048. The default is 90, about 65 words.
func ChunkSize(tokens int) Option {
	return setting("chunk_size", func(c *config) { c.settings.ChunkSize = tokens })
}

// ChunkOverlap is how many tokens neighbouring passages share, 0 to the chunk size. The default is 20.
func ChunkOverlap(tokens int) Option {
	return setting("chunk_overlap", func(c *config) { c.settings.ChunkOverlap = tokens })
}

// TopK is how many passages a lookup returns, 1 to 20. The default is 3.
func TopK(passages int) Option {
	return setting("top_k", func(c *config) { c.settings.TopK = passages })
}

// MinScore drops meaning hits below this cosine, 0 to 1, and only 0, the default, in keyword mode. Keyword hits are
// always kept.
func MinScore(cosine float64) Option {
	return setting("min_score", func(c *config) { c.settings.MinScore = cosine })
}

// Embed says what makes the vectors. Modes meaning and hybrid need it; keyword mode takes none. Nothing is built before
// Bake or Start.
func Embed(e Embedding) Option {
	return setting("embed", func(c *config) { c.embedding = e })
}

// CredentialEnv names the environment variable that the embedder needs, such as OPENAI_API_KEY. Bake and Start check
// it before any work.
func CredentialEnv(name string) Option {
	return setting("credential_env", func(c *config) { c.credentialEnv = name })
}

// Model is the model in models.lock whose tokens chunk sizes count, and with which [ONNX] and [Native] embed. The
// default is all-MiniLM-L6-v2.
func Model(name string) Option {
	return setting("model", func(c *config) { c.settings.Model = name })
}

// Log is where lines go: counts and milliseconds, names of documents that were left out, never a query or a passage.
// The default is [slog.Default].
func Log(l *slog.Logger) Option {
	return func(c *config) {
		if c.log = l; l == nil {
			c.log = slog.New(slog.DiscardHandler)
		}
	}
}

// Fetcher gets the files of models.lock. The default one downloads what the cache lacks.
func Fetcher(f *pipeline.Fetcher) Option { return func(c *config) { c.fetcher = f } }

// LookupEnv returns environment variables: the credential, and passwords of PDF files. The default is [os.LookupEnv];
// a program that reads a file .env gives another.
func LookupEnv(lookup func(name string) (value string, ok bool)) Option {
	return func(c *config) {
		if lookup != nil {
			c.lookupEnv = lookup
		}
	}
}
