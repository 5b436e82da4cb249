package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.com/larder/artifact"
)

// BakeOptions say what to bake and where to put it.
type BakeOptions struct {
	Folder   string    // the base's folder
	Shelf    string    // the artifact goes to <Shelf>/<base>/<version>, its encoder to <Shelf>/models
	Index    string    // in place of Shelf: the artifact goes to <Index>/<version>, with its encoder unless Index is on a shelf that has it
	Embedder string    // onnx or native, whatever base.yaml says; "" for what it says
	Mode     string    // likewise
	Bundle   bool      // put the encoder into the artifact's folder, so that it is complete alone
	Fetcher  *Fetcher  // gets the locked files
	Progress io.Writer // stages as they run, and progress; nil for none
	Version  string    // of the program, for provenance
	Revision string    // of the documents, such as a git commit, for provenance

	// LookupEnv returns environment variables with passwords, those that base.yaml names; nil means [os.LookupEnv].
	LookupEnv func(name string) (string, bool)

	// UseIndexDir lets base.yaml's index_dir, if it has one, say what Index is.
	UseIndexDir bool

	// Configure, if not nil, changes what base.yaml says, before it is checked.
	Configure func(*Settings) error

	// OpenEmbedder opens an embedder that is not one of the models here, for settings whose Outside is true.
	OpenEmbedder func(context.Context, Settings) (QueryEmbedder, error)

	// Documents, if there are any, are baked in place of a folder's files, with default settings, as a base called Name.
	Documents []CorpusDocument
	Name      string
	KeepGoing bool // leave out documents that can't be read, as if the skip list named them all
}

// A CorpusDocument is one of a test collection.
type CorpusDocument struct {
	Path, Title, Text string
}

// Bake turns a folder of documents into an artifact on a shelf and makes it the latest version of its base. The
// report is there even if the bake fails because of documents, and says which; nothing is written then.
func Bake(ctx context.Context, o BakeOptions) (*Report, error) {
	b := newBake(o)
	defer b.close()
	return b.report, b.run(ctx, append(b.stages(), []stage{
		{"write", b.write},
		{"verify", b.verify},
		{"publish", b.publish},
	}...))
}

// BakeInMemory does what Bake does, but for writing: the shelf with the artifact and its encoder is in memory.
func BakeInMemory(ctx context.Context, o BakeOptions) (shelf fs.FS, report *Report, err error) {
	b := newBake(o)
	b.inMemory = true
	defer b.close()
	err = b.run(ctx, append(b.stages(), stage{"write", func(context.Context) (err error) {
		shelf, err = b.writeMemory()
		return err
	}}))
	return shelf, b.report, err
}

func newBake(o BakeOptions) *bake {
	return &bake{BakeOptions: o, report: &Report{Folder: o.Folder, Version: o.Version, Revision: o.Revision, start: time.Now()}}
}

type stage struct {
	name string
	run  func(context.Context) error
}

// stages make the content of an artifact.
func (b *bake) stages() []stage {
	return []stage{
		{"settings", b.loadSettings},
		{"embedder", b.openOutside},
		{"discover", b.discover},
		{"parse", b.parse},
		{"model", b.loadModel},
		{"chunk", b.chunk},
		{"embed", b.embed},
		{"index", b.index},
	}
}

// run runs the stages. The report says how far they came.
func (b *bake) run(ctx context.Context, stages []stage) error {
	defer b.addDetails()
	for _, stage := range stages {
		start, err := time.Now(), ctx.Err()
		if err != nil {
			err = fmt.Errorf("interrupted before stage %s: %w", stage.name, err)
		} else {
			err = stage.run(ctx)
		}
		b.report.Stages = append(b.report.Stages, Stage{stage.name, time.Since(start)})
		if err != nil {
			b.report.FailedIn, b.report.Failure = stage.name, err
			return fmt.Errorf("bake %s: %w", b.Folder, err)
		}
	}
	return nil
}

// A bake is what the stages hand on, each in the order of the stages that make it.
type bake struct {
	BakeOptions
	report *Report

	inMemory  bool // nothing but the cache is written, and not that if it can't be
	root      *os.Root
	settings  Settings          // settings
	sources   []Source          // discover
	documents []*Document       // parse: one a source
	hashes    [][32]byte        // parse: of the source files
	outside   QueryEmbedder     // embedder: nil for models here
	model     *model            // model
	chunks    [][]Chunk         // chunk: one list a document
	passages  []string          // chunk: what is embedded and indexed, of all chunks in order
	vectors   []float32         // embed: one row a passage
	content   *artifact.Content // index
	files     *artifact.Files   // write
	folder    string            // write: where the artifact is
	closers   []func() error
}

func (b *bake) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
}

func (b *bake) loadSettings(context.Context) (err error) {
	if b.settings, err = b.readSettings(); err != nil {
		return err
	}
	if b.Embedder != "" {
		b.settings.Embedder = b.Embedder
		if b.Embedder != OpenAI {
			b.settings.OpenAI = OpenAISettings{}
		}
	}
	if b.Mode != "" {
		b.settings.Mode = b.Mode
	}
	if b.KeepGoing {
		b.settings.Skip = []string{"**"}
	}
	if b.Configure != nil {
		if err := b.Configure(&b.settings); err != nil {
			return err
		}
	}
	if b.UseIndexDir && b.settings.IndexDir != "" {
		b.Index = filepath.Join(b.Folder, filepath.FromSlash(b.settings.IndexDir))
	}
	b.report.Settings = b.settings
	if err := b.settings.Validate(); err != nil || b.Index == "" {
		return err
	}
	return CheckIndexDir(b.Folder, b.Index)
}

func (b *bake) readSettings() (s Settings, err error) {
	if len(b.Documents) > 0 {
		return DefaultSettings(b.Name), nil
	}
	if b.root, err = OpenFolder(b.Folder); err != nil {
		return s, err
	}
	b.closers = append(b.closers, b.root.Close)
	abs, err := filepath.Abs(b.Folder)
	if err != nil {
		return s, err
	}
	return LoadSettings(b.root, cmp.Or(b.Name, filepath.Base(abs)))
}
