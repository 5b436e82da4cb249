// Package reader answers questions from a baked artifact, by meaning and by keyword, with nothing but Go's
// standard library: no server, no database, no network, no cgo.
//
//	b, err := reader.OpenDir("dist/refunds", reader.Options{})
//	…
//	results, err := b.Search(ctx, reader.Query{Text: "When do I get my money back?"})
//
// [Base.Search] gives full results, [Base.LookUp] what an agent's tool returns, [Base.Tool] that tool's description.
// [OpenLive] opens a base that follows the newest version while the program runs.
package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"

	"example.com/larder/artifact"
	"example.com/larder/models"
)

// Options change how a base is opened. The zero value checks everything.
type Options struct {
	// Logger gets one line a lookup: counts and milliseconds, never a query or a passage. Nil logs nothing.
	Logger *slog.Logger
	// QueryEncoder makes the vectors of queries for an artifact whose own were made by a service, or by a function of the
	// user's own. Artifacts of the models in models.lock need none.
	QueryEncoder QueryEncoder
	// KeywordAlone opens a base whose QueryEncoder is needed and not there: searches by keyword work, and others are
	// [ErrNoQueryEncoder].
	KeywordAlone bool
	// Context, if not nil, ends the opening. It has no part in what comes after.
	Context context.Context

	accept func(*artifact.Manifest) error // if not nil, is asked before the encoder is opened
}

func (o Options) context() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

// A Base is an open knowledge base. It is safe for concurrent use.
type Base struct {
	artifact  *artifact.Artifact
	questions *Interpreter
	log       *slog.Logger
	scratch   sync.Pool // of *scratch
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
	return open(o.context(), shelf, folder, digest, []place{{shelf, "models"}}, encoders.get, o)
}

// OpenDir opens the artifact in a folder: one that holds a manifest, or one with a file latest that names a
// version. The encoder is taken from the artifact's own folder if it is there, else from the folder models on the
// shelf that dir is part of.
func OpenDir(dir string, o Options) (*Base, error) { return openDir(dir, encoders.get, o) }

func openDir(dir string, load loadEncoder, o Options) (*Base, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open base: %w", err)
	}
	defer root.Close()
	folder, digest, err := artifact.Locate(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("open base %s: %w", dir, err)
	}
	return openVersion(o.context(), root, dir, folder, digest, load, o)
}

// Inspect reads the manifest of the artifact that dir names, as [OpenDir] does, and nothing else: to know what it is before
// it is opened.
func Inspect(dir string) (*artifact.Manifest, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, _, err := artifact.Locate(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	return artifact.Inspect(root.FS(), folder)
}

// openRoot opens a folder. [os.OpenRoot] alone would wait for the writer of a pipe.
func openRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a folder")}
	}
	return os.OpenRoot(dir)
}

// openVersion opens the artifact in a folder of root, which is open at dir.
func openVersion(ctx context.Context, root *os.Root, dir, folder, digest string, load loadEncoder, o Options) (*Base, error) {
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
	if models, err := openRoot(filepath.Join(shelf, "models")); err == nil {
		defer models.Close()
		places = append(places, place{models.FS(), "."})
	}
	return open(ctx, root.FS(), folder, digest, places, load, o)
}

// A place is a folder that may hold encoders, each in a folder named by its digest.
type place struct {
	fsys fs.FS
	dir  string
}

func open(ctx context.Context, fsys fs.FS, folder, digest string, places []place, load loadEncoder, o Options) (*Base, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a, err := artifact.Open(fsys, folder, digest)
	if err != nil {
		return nil, err
	}
	if o.accept != nil {
		if err := o.accept(a.Manifest); err != nil {
			return nil, err
		}
	}
	questions, err := interpret(a.Manifest)
	if err != nil {
		return nil, err
	}
	b := &Base{artifact: a, questions: questions, log: o.Logger}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.scratch.New = func() any { return newScratch(a) }
	if a.Manifest.Model.External() {
		if o.QueryEncoder == nil && o.KeywordAlone {
			return b, nil
		}
		if err := questions.useOutside(ctx, o.QueryEncoder, a.Probes()[0]); err != nil {
			return nil, err
		}
		return b, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.Manifest.Model != nil {
		encoder, err := findEncoder(fsys, folder, places, load, a.Manifest)
		if err != nil {
			return nil, err
		}
		if err := questions.useEncoder(encoder, a.Probes()[:1]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// encoders holds each encoder once a process, for as long as a base uses it.
var encoders = encoderCache{open: map[string]weakEncoder{}}

// findEncoder opens the encoder that the manifest names. One inside the artifact's folder is the only one that counts.
func findEncoder(fsys fs.FS, folder string, places []place, load loadEncoder, m *artifact.Manifest) (*models.Encoder, error) {
	digest := m.Model.Encoder
	if _, err := fs.Stat(fsys, path.Join(folder, models.CardFile)); err == nil {
		e, err := openEncoder(place{fsys, folder}, load, digest)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the encoder inside the artifact is incomplete: copy the artifact again or bake again: %w", err)
		}
		return e, err
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for an encoder inside the artifact: %w", err)
	}
	for _, p := range places {
		p.dir = path.Join(p.dir, artifact.FolderName(digest))
		if e, err := openEncoder(p, load, digest); !errors.Is(err, fs.ErrNotExist) {
			return e, err
		}
	}
	return nil, fmt.Errorf("the encoder of %s is missing: copy the folder models/%s from the shelf that the artifact comes from, or bake with --bundle to have it inside: %w", m.Model.Name, artifact.FolderName(digest), fs.ErrNotExist)
}

// openEncoder opens the encoder of that digest in a place.
func openEncoder(p place, load loadEncoder, digest string) (*models.Encoder, error) {
	e, err := load(p.fsys, p.dir, digest)
	if unreadable := new(fs.PathError); errors.As(err, &unreadable) || errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if errors.Is(err, models.ErrFormat) {
		return nil, fmt.Errorf("%w: %w", artifact.ErrUnsupported, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", artifact.ErrCorrupt, err)
	}
	return e, nil
}

// Manifest says what the base was baked with. It must not be changed.
func (b *Base) Manifest() *artifact.Manifest { return b.artifact.Manifest }

// Artifact gives access to documents, chunks and terms.
func (b *Base) Artifact() *artifact.Artifact { return b.artifact }

// Encoder returns the encoder of queries, nil in keyword mode and with a [QueryEncoder].
func (b *Base) Encoder() *models.Encoder { return b.questions.encoder }

// Close lets go of what the base holds. No method may be called after it.
func (b *Base) Close() error { return nil }
