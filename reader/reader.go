// Package reader answers questions from a baked artifact, by meaning and by keyword, with nothing but Go's
// standard library: no server, no database, no network, no cgo.
//
//	b, err := reader.OpenDir("dist/refunds", reader.Options{})
//	…
//	results, err := b.Search(ctx, reader.Query{Text: "When do I get my money back?"})
//
// [Base.Search] gives full results, [Base.LookUp] what an agent's tool returns, [Base.Tool] that tool's description.
package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/models"
)

// Options change how a base is opened. The zero value checks everything.
type Options struct {
	// Logger gets one line a lookup: counts and milliseconds, never a query or a passage. Nil logs nothing.
	Logger *slog.Logger
}

// A Base is an open knowledge base. It is safe for concurrent use.
type Base struct {
	artifact *artifact.Artifact
	encoder  *models.Encoder // nil in keyword mode
	analyzer *analyze.Analyzer
	log      *slog.Logger
	scratch  sync.Pool // of *scratch
}

// Open opens the version of base that the shelf's <base>/latest names. The encoder is taken from the artifact's
// own folder if it is there, else from the shelf's models folder. Every byte is checked; errors are
// [artifact.ErrCorrupt], [artifact.ErrUnsupported] or [fs.ErrNotExist] to errors.Is.
func Open(shelf fs.FS, base string, o Options) (*Base, error) {
	if err := artifact.CheckBaseName(base); err != nil {
		return nil, fmt.Errorf("open base: %w", err)
	}
	folder, digest, err := artifact.Locate(shelf, base)
	if err != nil {
		return nil, fmt.Errorf("open base %s: %w", base, err)
	}
	return open(shelf, folder, digest, []place{{shelf, "models"}}, encoders.get, o)
}

// OpenDir opens the artifact in a folder: one that holds a manifest, or one with a file latest that names a
// version. The encoder is taken from the artifact's own folder if it is there, else from the folder models on the
// shelf that dir is part of.
func OpenDir(dir string, o Options) (*Base, error) { return openDir(dir, encoders.get, o) }

func openDir(dir string, load loadEncoder, o Options) (*Base, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open base: %w", err)
	}
	defer root.Close()
	folder, digest, err := artifact.Locate(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("open base %s: %w", dir, err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open base %s: %w", dir, err)
	}
	// dir is <shelf>/<base> or <shelf>/<base>/<version>.
	shelf := filepath.Dir(abs)
	if folder == "." {
		shelf = filepath.Dir(shelf)
	}
	var places []place
	if models, err := os.OpenRoot(filepath.Join(shelf, "models")); err == nil {
		defer models.Close()
		places = append(places, place{models.FS(), "."})
	}
	return open(root.FS(), folder, digest, places, load, o)
}

// A place is a folder that may hold encoders, each in a folder named by its digest.
type place struct {
	fsys fs.FS
	dir  string
}

func open(fsys fs.FS, folder, digest string, places []place, load loadEncoder, o Options) (*Base, error) {
	a, err := artifact.Open(fsys, folder, digest)
	if err != nil {
		return nil, err
	}
	analyzer, err := openAnalyzer(a.Manifest.Analyzer)
	if err != nil {
		return nil, err
	}
	b := &Base{artifact: a, analyzer: analyzer, log: o.Logger}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.scratch.New = func() any { return newScratch(a) }
	if m := a.Manifest.Model; m != nil {
		if b.encoder, err = findEncoder(fsys, folder, places, load, m); err != nil {
			return nil, err
		}
		if err := selfTest(b.encoder, a.Probes()[:1]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func openAnalyzer(want artifact.Analyzer) (*analyze.Analyzer, error) {
	a, err := analyze.New(want.Languages)
	if err != nil {
		return nil, fmt.Errorf("%w: the artifact's terms: %w", artifact.ErrUnsupported, err)
	}
	if a.ID() != want.ID {
		return nil, fmt.Errorf("%w: its terms were made by the rules %q, and this reader has %q: bake again with the larder that the reader is part of", artifact.ErrUnsupported, want.ID, a.ID())
	}
	return a, nil
}

// encoders holds each encoder once a process, for as long as a base uses it.
var encoders = encoderCache{open: map[string]weakEncoder{}}

func findEncoder(fsys fs.FS, folder string, places []place, load loadEncoder, m *artifact.Model) (*models.Encoder, error) {
	if _, err := fs.Stat(fsys, path.Join(folder, models.CardFile)); err == nil {
		places = []place{{fsys, folder}}
	} else {
		for i := range places {
			places[i].dir = path.Join(places[i].dir, artifact.FolderName(m.Encoder))
		}
	}
	for _, p := range places {
		e, err := load(p.fsys, p.dir, m.Encoder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var unreadable *fs.PathError
		if errors.As(err, &unreadable) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", artifact.ErrCorrupt, err)
		}
		if e.Dimensions() != m.Dimensions {
			return nil, fmt.Errorf("%w: encoder of %d dimensions for vectors of %d", artifact.ErrCorrupt, e.Dimensions(), m.Dimensions)
		}
		return e, nil
	}
	return nil, fmt.Errorf("the encoder of %s is missing: copy the folder models/%s from the shelf that the artifact comes from, or bake with --bundle to have it inside: %w", m.Name, artifact.FolderName(m.Encoder), fs.ErrNotExist)
}

// Manifest says what the base was baked with. It must not be changed.
func (b *Base) Manifest() *artifact.Manifest { return b.artifact.Manifest }

// Artifact gives access to documents, chunks and terms.
func (b *Base) Artifact() *artifact.Artifact { return b.artifact }

// Encoder returns the encoder of queries, nil in keyword mode.
func (b *Base) Encoder() *models.Encoder { return b.encoder }

// Close lets go of what the base holds. No method may be called after it.
func (b *Base) Close() error { return nil }
