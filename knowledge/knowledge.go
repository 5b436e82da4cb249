// Package knowledge is a knowledge base for agents: a folder of documents that is baked once, loaded when a process
// starts, and looked up in by a tool.
//
//	refunds, err := knowledge.New("refunds", "knowledge/refunds",
//		knowledge.IndexDir("knowledge/.index/refunds"),
//		knowledge.Embed(knowledge.OpenAI(knowledge.OpenAIOptions{Model: "text-embedding-3-small"})),
//		knowledge.CredentialEnv("OPENAI_API_KEY"))
//	…
//	err = refunds.Start(ctx)                      // once a process, before the first call
//	answer := refunds.LookUp(ctx, "When do I get my money back?")
//
// [Base.Bake] makes the index when an image is built; [Base.Start] then only loads it. [Base.Tool] is what a language
// model calls.
//
// A program whose documents are PDF files, or that starts without an index, calls pipeline.RunChild first thing in main:
// PDF files are read in a child process, which is the program itself.
package knowledge

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/larder/artifact"
	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

// A Base is a knowledge base. It is safe for concurrent use.
type Base struct {
	config   config
	starting sync.Mutex             // one Start or Close at a time
	live     *reader.Live           // of a baked index; guarded by starting
	outside  Embedder               // guarded by starting; nil for models in the lock
	answers  atomic.Pointer[source] // nil before Start, and after Close
}

// A source gives the version that answers now.
type source struct{ current func() *reader.Base }

// config is what options say, over the defaults.
type config struct {
	name, folder  string
	indexDir      string
	settings      pipeline.Settings // of these only what options can set counts, but for a declared base
	given         []string          // the settings that options set
	declared      bool              // base.yaml says it all
	embedding     Embedding
	credentialEnv string
	lookupEnv     func(string) (string, bool)
	log           *slog.Logger
	fetcher       *pipeline.Fetcher
}

// New makes the knowledge base called name of the documents in folder: Markdown, text and PDF files. Nothing is read
// before Bake or Start, but everything is checked: the error is a [*ValidationError] that lists every wrong field with
// what is allowed.
//
// A base.yaml in the folder may say what New has no option for, such as metadata, or documents to skip. Where it gives
// another value than an option does, Bake and Start refuse both.
func New(name, folder string, options ...Option) (*Base, error) {
	c := newConfig(options)
	c.name, c.folder = name, folder
	c.settings.Name = name
	if problems := c.problems(); len(problems) > 0 {
		return nil, &ValidationError{Base: name, Problems: problems}
	}
	return newBase(c)
}

// Declared makes the knowledge base that the base.yaml in folder declares, with its mode, embedder, credential_env,
// index_dir and tool; without the file all are defaults, with the embedder onnx and no index_dir. Of the options only
// IndexDir, Log, Fetcher and LookupEnv may be given. Errors are an [*Error] where the file can't be read, or a
// [*ValidationError].
func Declared(folder string, options ...Option) (*Base, error) {
	c := newConfig(options)
	c.declared, c.folder = true, folder
	if len(c.given) > 0 {
		e := &ValidationError{Base: folder}
		for _, name := range c.given {
			e.Problems = append(e.Problems, Problem{name, "is for New: base.yaml declares it here (allowed: IndexDir, Log, Fetcher, LookupEnv)"})
		}
		return nil, e
	}
	settings, err := pipeline.ReadSettings(folder)
	if err != nil {
		return nil, declaredError(folder, err)
	}
	c.name, c.settings, c.credentialEnv = settings.Name, settings, settings.Credential
	if c.indexDir == "" && settings.IndexDir != "" {
		c.indexDir = filepath.Join(folder, filepath.FromSlash(settings.IndexDir))
	}
	c.embedding = embeddingOf(settings)
	return newBase(c)
}

// newBase makes paths absolute: the program may change its folder before it starts the base.
func newBase(c config) (*Base, error) {
	for _, p := range []*string{&c.folder, &c.indexDir} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return nil, &Error{c.name, "declare", err}
		}
		*p = abs
	}
	return &Base{config: c}, nil
}

func newConfig(options []Option) config {
	c := config{settings: pipeline.DefaultSettings(""), lookupEnv: os.LookupEnv, log: slog.Default()}
	for _, set := range options {
		if set != nil {
			set(&c)
		}
	}
	slices.Sort(c.given)
	return c
}

// Name returns the base's name.
func (b *Base) Name() string { return b.config.name }

// Declared returns the tool that the base's base.yaml declares, nil if it declares none or the base was made by [New].
func (b *Base) Declared() *artifact.Tool {
	if b.config.settings.Tool == (artifact.Tool{}) {
		return nil
	}
	tool := b.config.settings.Tool
	return &tool
}
