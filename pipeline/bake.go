package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/larder/artifact"
)

// BakeOptions say what to bake and where to put it.
type BakeOptions struct {
	Folder   string    // the base's folder
	Shelf    string    // the artifact goes to <Shelf>/<base>/<version>, its encoder to <Shelf>/models
	Embedder string    // onnx or native, whatever base.yaml says; "" for what it says
	Mode     string    // likewise
	Bundle   bool      // put the encoder into the artifact's folder, so that it is complete alone
	Fetcher  *Fetcher  // gets the locked files
	Progress io.Writer // stages as they run, and progress; nil for none
	Version  string    // of the program, for provenance
	Revision string    // of the documents, such as a git commit, for provenance

	// LookupEnv returns environment variables with passwords, those that base.yaml names; nil means [os.LookupEnv].
	LookupEnv func(name string) (string, bool)

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
	b := &bake{BakeOptions: o, report: &Report{Folder: o.Folder, Version: o.Version, Revision: o.Revision, start: time.Now()}}
	defer b.close()
	defer b.addDetails()
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"settings", b.loadSettings},
		{"discover", b.discover},
		{"parse", b.parse},
		{"model", b.loadModel},
		{"chunk", b.chunk},
		{"embed", b.embed},
		{"index", b.index},
		{"write", b.write},
		{"verify", b.verify},
		{"publish", b.publish},
	} {
		start, err := time.Now(), ctx.Err()
		if err != nil {
			err = fmt.Errorf("interrupted before stage %s: %w", stage.name, err)
		} else {
			err = stage.run(ctx)
		}
		b.report.Stages = append(b.report.Stages, Stage{stage.name, time.Since(start)})
		if err != nil {
			b.report.FailedIn, b.report.Failure = stage.name, err
			return b.report, fmt.Errorf("bake %s: %w", o.Folder, err)
		}
	}
	return b.report, nil
}

// A bake is what the stages hand on, each in the order of the stages that make it.
type bake struct {
	BakeOptions
	report *Report

	root      *os.Root
	settings  Settings          // settings
	sources   []Source          // discover
	documents []*Document       // parse: one a source
	hashes    [][32]byte        // parse: of the source files
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
	}
	if b.Mode != "" {
		b.settings.Mode = b.Mode
	}
	if b.KeepGoing {
		b.settings.Skip = []string{"**"}
	}
	b.report.Settings = b.settings
	return b.settings.Validate()
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
