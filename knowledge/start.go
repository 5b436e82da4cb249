package knowledge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/models"
	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

// Bake reads the documents, splits them into passages, and writes the index to the index folder. Run it when you build
// an image. Errors are an [*Error].
func (b *Base) Bake(ctx context.Context) error {
	c := b.config
	if c.indexDir == "" {
		return b.failed("bake", hintedError{"there is no index_dir to write to", "give IndexDir, or index_dir in base.yaml"})
	}
	if err := c.checkCredential(); err != nil {
		return b.failed("bake", err)
	}
	o, err := c.bakeOptions(nil)
	if err != nil {
		return b.failed("bake", err)
	}
	o.Index = c.indexDir
	report, err := pipeline.Bake(ctx, o)
	b.logDocuments(ctx, report)
	if err != nil {
		return b.failed("bake", err)
	}
	b.logBake(ctx, slog.LevelInfo, "baked", report)
	return nil
}

// Start loads the index, and follows it: when a later bake puts another version into the index folder, lookups answer
// from that one as soon as it is checked. Without an index Start reads and embeds the documents in memory, and the log
// warns. An index of other settings is refused with both values, a broken one is never built anew. Call it once a
// process, before the first call; a base that is started stays as it is. Errors are an [*Error].
func (b *Base) Start(ctx context.Context) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	if b.answers.Load() != nil {
		return nil
	}
	if err := b.start(ctx); err != nil {
		return b.failed("start", err)
	}
	return nil
}

func (b *Base) start(ctx context.Context) error {
	c := b.config
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.checkCredential(); err != nil {
		return err
	}
	outside, err := c.openOutside(ctx)
	if err != nil {
		return err
	}
	o := reader.Options{Logger: c.log, Context: ctx}
	if outside != nil { // an interface that holds nothing is not nil
		o.QueryEncoder = outside
	}
	baked, err := c.hasIndex()
	if err == nil && baked {
		err = b.load(ctx, o)
	} else if err == nil {
		err = b.startInMemory(ctx, outside, o)
	}
	if outside != nil && err != nil {
		return errors.Join(err, outside.Close())
	}
	b.outside = outside
	return err
}

// load opens the index.
func (b *Base) load(ctx context.Context, o reader.Options) error {
	c, start := b.config, time.Now()
	manifest, err := reader.Inspect(c.indexDir)
	if err != nil {
		return fmt.Errorf("the index %s is broken: %w; bake it again", c.indexDir, err)
	}
	// Before anything large is read: of other settings, errors would tell of encoders that are not there.
	if err := c.matches(manifest, o.QueryEncoder); err != nil {
		return err
	}
	live, err := reader.OpenLive(c.indexDir, reader.LiveOptions{Options: o})
	if err != nil {
		return fmt.Errorf("the index %s can't be opened: %w", c.indexDir, err)
	}
	if err := c.matches(live.Base().Manifest(), o.QueryEncoder); err != nil {
		return errors.Join(err, live.Close())
	}
	b.live = live
	b.answers.Store(&source{live.Base})
	a := live.Base().Artifact()
	c.log.LogAttrs(ctx, slog.LevelInfo, "loaded", slog.String("base", c.name), slog.String("version", a.Digest[:12]),
		slog.Int("passages", a.Chunks()), slog.Int64("ms", time.Since(start).Milliseconds()))
	return nil
}

// startInMemory makes the index in memory.
func (b *Base) startInMemory(ctx context.Context, outside Embedder, o reader.Options) error {
	c := b.config
	c.log.LogAttrs(ctx, slog.LevelWarn, "no baked index: this process reads and embeds the documents itself, and so does every other one; call Bake when you build the image",
		slog.String("base", c.name), slog.String("index_dir", c.indexDir))
	options, err := c.bakeOptions(outside)
	if err != nil {
		return err
	}
	shelf, report, err := pipeline.BakeInMemory(ctx, options)
	b.logDocuments(ctx, report)
	if err != nil {
		return err
	}
	base, err := reader.Open(shelf, report.Settings.Name, o)
	if err != nil {
		return err
	}
	b.answers.Store(&source{func() *reader.Base { return base }})
	b.logBake(ctx, slog.LevelInfo, "embedded in memory", report)
	return nil
}

// Close stops following the index. Lookups are unavailable after it.
func (b *Base) Close() error {
	b.starting.Lock()
	defer b.starting.Unlock()
	b.answers.Store(nil)
	live, outside := b.live, b.outside
	b.live, b.outside = nil, nil
	var errs []error
	if live != nil {
		errs = append(errs, live.Close())
	}
	if outside != nil {
		errs = append(errs, outside.Close())
	}
	return errors.Join(errs...)
}

// bakeOptions say how to bake the base. An embedder that is open already is used as it is.
func (c *config) bakeOptions(outside Embedder) (pipeline.BakeOptions, error) {
	fetcher := c.fetcher
	if fetcher == nil {
		cache, err := pipeline.DefaultCache()
		if err != nil {
			return pipeline.BakeOptions{}, err
		}
		fetcher = &pipeline.Fetcher{Cache: cache}
	}
	return pipeline.BakeOptions{
		Folder: c.folder, Name: c.name, Fetcher: fetcher, Version: "knowledge", LookupEnv: c.lookupEnv, Configure: c.configure,
		OpenEmbedder: func(ctx context.Context, _ pipeline.Settings) (pipeline.QueryEmbedder, error) {
			if outside != nil {
				return shared{outside}, nil
			}
			return c.openOutside(ctx)
		},
	}, nil
}

// shared is an embedder that goes on after the bake.
type shared struct{ Embedder }

func (shared) Close() error { return nil }

// configure puts what options say over base.yaml. Where both say something else, neither is taken.
func (c *config) configure(s *pipeline.Settings) error {
	if c.declared {
		return nil
	}
	own := c.settings
	var both []string
	compare := func(key string, file, option any) {
		if line := s.Line(key); line > 0 && file != option {
			both = append(both, fmt.Sprintf("%s is %v in base.yaml, line %d, and %v in the program", key, file, line, option))
		}
	}
	compare("name", s.Name, own.Name)
	compare("mode", s.Mode, own.Mode)
	compare("chunk_size", s.ChunkSize, own.ChunkSize)
	compare("chunk_overlap", s.ChunkOverlap, own.ChunkOverlap)
	compare("top_k", s.TopK, own.TopK)
	compare("min_score", s.MinScore, own.MinScore)
	compare("model", s.Model, own.Model)
	if own.Mode != keyword {
		compare("embedder", s.Embedder, c.embedding.embedder)
	}
	compare("credential_env", s.Credential, c.credentialEnv)
	for _, key := range []string{"openai", "index_dir", "tool"} { // which options say otherwise, or a call
		if line := s.Line(key); line > 0 {
			both = append(both, fmt.Sprintf("%s is in base.yaml, line %d, which the program does not look at", key, line))
		}
	}
	if both != nil {
		return hintedError{
			"base.yaml and the program disagree: " + strings.Join(both, "; "),
			"remove one of the two, or use Declared, which takes everything from base.yaml",
		}
	}
	s.Name, s.Mode, s.ChunkSize, s.ChunkOverlap = own.Name, own.Mode, own.ChunkSize, own.ChunkOverlap
	s.TopK, s.MinScore, s.Model = own.TopK, own.MinScore, own.Model
	s.Embedder, s.OpenAI = pipeline.Native, pipeline.OpenAISettings{} // which keyword mode doesn't look at
	if own.Mode != keyword {
		s.Embedder, s.OpenAI.Model = c.embedding.embedder, c.embedding.model
	}
	return nil
}

// openOutside builds the embedder, if it is not one of the models in the lock; otherwise it is nil.
func (c *config) openOutside(ctx context.Context) (Embedder, error) {
	if c.embedding.build == nil {
		return nil, nil
	}
	a, err := accessOf(c.credentialEnv, c.lookupEnv)
	if err != nil {
		return nil, err
	}
	return c.embedding.build(ctx, a)
}

// checkCredential makes sure that the credential is there, before any work.
func (c *config) checkCredential() error {
	if c.embedding.embedder == "" {
		return nil // keyword mode needs no key
	}
	_, err := accessOf(c.credentialEnv, c.lookupEnv)
	return err
}

// accessOf looks up a credential in the variable called name, if there is a name, and where a service is. Errors name the
// variable, never its value.
func accessOf(name string, lookupEnv func(string) (string, bool)) (a access, err error) {
	a.keyEnv = name
	a.address, _ = lookupEnv(baseURLEnv)
	if name == "" {
		return a, nil
	}
	var ok bool
	if a.key, ok = lookupEnv(name); !ok || strings.TrimSpace(a.key) == "" {
		if name != strings.ToUpper(name) && name != strings.ToLower(name) { // it might be the key itself
			name = "that it names"
		}
		return a, hintedError{
			fmt.Sprintf("credential_env: the environment variable %s is not set", name),
			"set it to the key of the embedder, in the environment or in a file .env that the program reads",
		}
	}
	return a, nil
}

// hasIndex tells whether there is an index, whole or broken. An empty folder, hidden files, and what an interrupted bake
// left, are none.
func (c *config) hasIndex() (bool, error) {
	if c.indexDir == "" {
		return false, nil
	}
	if err := pipeline.CheckIndexDir(c.folder, c.indexDir); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(c.indexDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("index_dir: %w; name a folder for the index alone", err)
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") }), nil
}

// matches returns an error that names every remembered setting which is not the program's, with both values.
func (c *config) matches(m *artifact.Manifest, outside reader.QueryEncoder) error {
	s := c.settings
	var differ []string
	compare := func(name string, baked, now any) {
		if baked != now {
			differ = append(differ, fmt.Sprintf("%s was %v and is %v", name, baked, now))
		}
	}
	compare("name", m.Base, s.Name)
	compare("mode", string(m.Settings.Mode), s.Mode)
	compare("chunk_size", m.Settings.ChunkSize, s.ChunkSize)
	compare("chunk_overlap", m.Settings.ChunkOverlap, s.ChunkOverlap)
	compare("top_k", m.Settings.TopK, s.TopK)
	compare("min_score", m.Settings.MinScore, s.MinScore)
	tokenizer, model, err := c.lockedDigests()
	if err != nil {
		return err
	}
	compare("tokenizer", m.Tokenizer, tokenizer)
	compare("model", modelOf(m), func() string {
		switch {
		case s.Mode == keyword:
			return "none"
		case outside != nil:
			return outside.Identity()
		}
		return s.Model + " " + model
	}())
	// The languages are base.yaml's, which a declared base has read. Otherwise the artifact's are what counts, by rules
	// that are this program's.
	languages := m.Analyzer.Languages
	if c.declared {
		languages = s.Languages
	}
	analyzer, err := analyze.New(languages)
	if err != nil {
		return err
	}
	compare("language", strings.Join(m.Analyzer.Languages, ", "), strings.Join(languages, ", "))
	compare("analyzer", m.Analyzer.ID, analyzer.ID())
	if differ != nil {
		return hintedError{
			fmt.Sprintf("the index %s was baked with other settings: %s", c.indexDir, strings.Join(differ, "; ")),
			"bake it again",
		}
	}
	return nil
}

// modelOf names what made the vectors of an artifact.
func modelOf(m *artifact.Manifest) string {
	switch {
	case m.Model == nil:
		return "none"
	case m.Model.External():
		return m.Model.Embedder
	}
	return m.Model.Name + " " + m.Model.Source
}

// lockedDigests are those of the model's tokenizer and graph.
func (c *config) lockedDigests() (tokenizer, graph string, err error) {
	lock := models.Lock()
	if c.fetcher != nil && c.fetcher.Lock != nil {
		lock = c.fetcher.Lock
	}
	m, err := lock.Model(c.settings.Model)
	if err != nil {
		return "", "", err
	}
	return m.Tokenizer.Sources[0].SHA256, m.ONNX.Sources[0].SHA256, nil
}

func (b *Base) failed(op string, err error) error { return &Error{b.config.name, op, err} }

// logDocuments names the documents that are not in the index, or not in whole.
func (b *Base) logDocuments(ctx context.Context, report *pipeline.Report) {
	for _, d := range report.Documents {
		if d.Verdict != pipeline.OK {
			b.config.log.LogAttrs(ctx, slog.LevelWarn, "document not read in whole", slog.String("base", b.config.name),
				slog.String("document", filepath.ToSlash(d.Path)), slog.String("verdict", string(d.Verdict)))
		}
	}
}

func (b *Base) logBake(ctx context.Context, level slog.Level, message string, report *pipeline.Report) {
	took := time.Duration(0)
	for _, s := range report.Stages {
		took += s.Took
	}
	b.config.log.LogAttrs(ctx, level, message, slog.String("base", b.config.name), slog.String("version", report.Digest[:12]),
		slog.Int("documents", len(report.Documents)), slog.Int("passages", report.Chunks), slog.Int("embedded", report.Embedded),
		slog.Bool("unchanged", report.Unchanged), slog.Int64("ms", took.Milliseconds()))
}
