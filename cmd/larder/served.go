package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/knowledge"
	"example.com/larder/reader"
	"example.com/larder/serve/tools"
)

// A servedBase is a base that tools look things up in, and the files that it is made of.
type servedBase struct {
	name    string
	tool    *artifact.Tool                       // that it declares
	opened  func() error                         // opens the base, the first time, and waits until it is open
	current func() *reader.Base                  // likewise; nil if it can't be opened, or is closed
	files   func(local bool) (tools.Files, bool) // false if the artifact has none; local shows the paths of this machine
	close   func() error
}

func (b servedBase) Name() string             { return b.name }
func (b servedBase) Declared() *artifact.Tool { return b.tool }
func (b servedBase) Current() *reader.Base    { return b.current() }

// served are all the bases that a command names: on shelves, of artifacts, and of folders with documents.
type served struct {
	bases []servedBase
}

func (s *served) Close() error {
	var errs []error
	for _, b := range s.bases {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}

// opened opens all bases and waits for them.
func (s *served) opened() error {
	errs := make([]error, len(s.bases))
	var wg sync.WaitGroup
	for i, b := range s.bases {
		wg.Go(func() { errs[i] = b.opened() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// table is what an agent can call: the lookups, search and fetch, and the file tools where there are files.
func (s *served) table(local bool) ([]tools.Tool, error) {
	var bases []tools.Base
	trees := map[string]tools.Files{}
	for _, b := range s.bases {
		bases = append(bases, b)
		if files, ok := b.files(local); ok {
			trees[b.name] = files
		}
	}
	list, err := tools.LookUpTools(bases)
	if err != nil {
		return nil, err
	}
	list = append(list, tools.SearchTools(bases)...)
	if len(trees) > 0 {
		list = append(list, tools.FileTools(tools.Union(trees))...)
	}
	names := map[string]bool{}
	for _, t := range list {
		if names[t.Name] {
			return nil, hinted{usageError{fmt.Errorf("two tools are called %s", t.Name)}, "set another tool.name in base.yaml, and bake again"}
		}
		names[t.Name] = true
	}
	return list, nil
}

// serveOptions are what the commands that serve tools have in common.
type serveOptions struct {
	From []string `arg:"" optional:"" name:"place" help:"Shelves, artifacts, or folders of documents (default: dist)." placeholder:"PLACE"`
	fetching
}

// open names all bases, of which only manifests and settings are read before they are opened: a client waits for the list
// of tools, and the model takes a moment until it calls one. A folder of documents is started as its base.yaml declares it.
func (o serveOptions) open(e *environment, log *slog.Logger) (*served, error) {
	places := o.From
	if len(places) == 0 {
		places = []string{"dist"}
	}
	s := &served{}
	for _, place := range places {
		bases, err := o.openPlace(e, place, log)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.bases = append(s.bases, bases...)
	}
	from := map[string]bool{}
	for _, b := range s.bases {
		if from[b.name] {
			return nil, errors.Join(hinted{usageError{fmt.Errorf("two bases are called %s", b.name)}, "serve one of them, or set name in base.yaml"}, s.Close())
		}
		from[b.name] = true
	}
	return s, nil
}

func (o serveOptions) openPlace(e *environment, place string, log *slog.Logger) ([]servedBase, error) {
	info, err := os.Stat(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hinted{usageError{fmt.Errorf("there is no %s", place)}, "name a shelf, an artifact or a folder of documents; larder bake makes a shelf"}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, hinted{usageError{fmt.Errorf("%s is not a folder", place)}, "name a shelf, an artifact or a folder of documents"}
	}
	if isArtifact(place) {
		b, err := o.openLive(e, place, log)
		return []servedBase{b}, err
	}
	if names, err := basesOn(place); err == nil {
		var list []servedBase
		for _, name := range names {
			b, err := o.openLive(e, filepath.Join(place, name), log)
			if err != nil {
				return nil, errors.Join(err, (&served{list}).Close())
			}
			list = append(list, b)
		}
		return list, nil
	}
	folders, err := baseFolders(place, nil)
	if err != nil {
		return nil, hinted{usageError{fmt.Errorf("%s is neither a shelf nor an artifact, and %w", place, err)}, "bake a shelf with larder bake"}
	}
	var list []servedBase
	for _, folder := range folders {
		b, err := o.startFolder(e, folder, log)
		if err != nil {
			return nil, errors.Join(err, (&served{list}).Close())
		}
		list = append(list, b)
	}
	return list, nil
}

// isArtifact tells whether a folder is an artifact, or holds the versions of one.
func isArtifact(folder string) bool {
	for _, name := range []string{"manifest.json", "latest"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// openLive opens an artifact and follows it.
func (o serveOptions) openLive(e *environment, folder string, log *slog.Logger) (servedBase, error) {
	m, err := reader.Inspect(folder)
	if err != nil {
		return servedBase{}, fmt.Errorf("%s: %w", folder, err)
	}
	ctx, stop := context.WithCancel(e)
	var live *reader.Live
	opened := sync.OnceValue(func() error {
		start := time.Now()
		encoder, err := queryEncoder(ctx, m, o.Offline)
		if err == nil {
			live, err = reader.OpenLive(folder, reader.LiveOptions{Options: reader.Options{Logger: log, QueryEncoder: encoder, Context: ctx}})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		log.Info("open", "base", m.Base, "version", version12(live.Base()), "ms", time.Since(start).Milliseconds())
		return nil
	})
	current := func() *reader.Base {
		if opened() != nil {
			return nil
		}
		return live.Base()
	}
	return servedBase{
		name: m.Base, tool: m.Tool, opened: opened, current: current,
		close: func() error {
			stop()
			_ = opened() // which is told elsewhere, or doesn't begin now
			return live.Close()
		},
		files: func(bool) (tools.Files, bool) {
			return tools.Files{FS: liveFiles(current), FullPath: func(path string) string { return liveURI(current(), path) }}, m.HasOriginals()
		},
	}, nil
}

// liveFiles are the originals in the version that answers now.
type liveFiles func() *reader.Base

var errNotOpen = errors.New("the base is not open")

func (f liveFiles) tree(op, name string) (fs.FS, error) {
	if b := f(); b != nil {
		return b.Artifact().Originals(), nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: errNotOpen}
}

func (f liveFiles) Open(name string) (fs.File, error) {
	tree, err := f.tree("open", name)
	if err != nil {
		return nil, err
	}
	return tree.Open(name)
}

// Stat describes a file or a folder.
func (f liveFiles) Stat(name string) (fs.FileInfo, error) {
	tree, err := f.tree("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(tree, name)
}

// liveURI names a file in the version that answers now.
func liveURI(b *reader.Base, path string) string {
	if b == nil {
		return ""
	}
	return tools.URI(b.Manifest().Base + "@" + version12(b))(path)
}

// startFolder starts the base that a folder of documents declares.
func (o serveOptions) startFolder(e *environment, folder string, log *slog.Logger) (servedBase, error) {
	fetcher, err := o.fetcher(e)
	if err != nil {
		return servedBase{}, err
	}
	var env secrets
	b, err := knowledge.Declared(folder, knowledge.Fetcher(fetcher), knowledge.Log(log), knowledge.LookupEnv(env.lookup))
	if err != nil {
		return servedBase{}, usageError{err}
	}
	tree, err := tools.OpenFolder(folder)
	if err != nil {
		return servedBase{}, err
	}
	ctx, stop := context.WithCancel(e)
	opened := sync.OnceValue(func() error {
		err := b.Start(ctx)
		if failed := (*knowledge.Error)(nil); errors.As(err, &failed) { // without its hint, which is printed apart
			err = fmt.Errorf("%s: %w", folder, failed.Err)
		}
		return cmp.Or(env.err, err)
	})
	return servedBase{
		name: b.Name(), tool: b.Declared(), opened: opened,
		current: func() *reader.Base {
			_ = opened() // before it, there is none
			return b.Current()
		},
		close: func() error {
			stop()
			_ = opened()
			return errors.Join(b.Close(), tree.Close())
		},
		files: func(local bool) (tools.Files, bool) {
			if local {
				return tools.Files{FS: tree, FullPath: tree.FullPath}, true
			}
			return tools.Files{FS: tree, FullPath: func(path string) string { return liveURI(b.Current(), path) }}, true
		},
	}, nil
}

func version12(b *reader.Base) string {
	if b == nil {
		return "closed"
	}
	return artifact.FolderName(b.Artifact().Digest)
}

var _ tools.Base = servedBase{}
