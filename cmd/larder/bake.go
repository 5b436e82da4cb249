package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/larder/pipeline"
)

// fetching are the flags of commands that may download.
type fetching struct {
	Offline bool   `help:"Use the cache only, never the network."`
	Cache   string `help:"Folder for downloads and vectors (default: LARDER_CACHE, or larder in the user's cache folder)." placeholder:"DIR"`
}

func (f fetching) fetcher(e *environment) (*pipeline.Fetcher, error) {
	cache := pipeline.Cache{Dir: f.Cache}
	if f.Cache == "" {
		var err error
		if cache, err = pipeline.DefaultCache(); err != nil {
			return nil, err
		}
	}
	abs, err := filepath.Abs(cache.Dir)
	if err != nil {
		return nil, err
	}
	return &pipeline.Fetcher{Cache: pipeline.Cache{Dir: abs}, Offline: f.Offline, Out: e.err}, nil
}

type bakeCommand struct {
	Dir      string   `arg:"" optional:"" default:"content" help:"A base's folder, or a folder of such (default: content)."`
	Output   string   `short:"o" default:"dist" help:"Shelf for the artifacts (default: dist)." placeholder:"DIR"`
	Base     []string `help:"Bake only this base; may be repeated." placeholder:"NAME"`
	Embedder string   `help:"Embed with onnx or native, whatever base.yaml says." enum:",onnx,native" default:""`
	Bundle   bool     `help:"Put the encoder into the artifact's folder too, so that it is complete alone."`
	Revision string   `help:"Revision of the documents, for provenance." placeholder:"REV"`
	fetching
}

func (c *bakeCommand) Run(e *environment) error {
	folders, err := baseFolders(c.Dir, c.Base)
	if err != nil {
		return usageError{err}
	}
	fetcher, err := c.fetcher(e)
	if err != nil {
		return err
	}
	var errs []error
	for _, folder := range folders {
		report, err := pipeline.Bake(e, pipeline.BakeOptions{
			Folder: folder, Shelf: c.Output, Bundle: c.Bundle, Embedder: c.Embedder, Fetcher: fetcher, Progress: e.err,
			Version: version, Revision: c.Revision,
		})
		if err == nil {
			report.Write(e.out)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// baseFolders returns the folders of the bases in dir: dir itself if it has a base.yaml or documents, else its
// folders. Names, if any, choose among them.
func baseFolders(dir string, names []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if entry.IsDir() {
			folders = append(folders, filepath.Join(dir, entry.Name()))
		} else if entry.Name() == "base.yaml" || slices.Contains(pipeline.Formats(), strings.ToLower(filepath.Ext(entry.Name()))) {
			folders = []string{dir}
			break
		}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%s has neither documents (%s) nor folders of such", dir, strings.Join(pipeline.Formats(), ", "))
	}
	if len(names) == 0 {
		return folders, nil
	}
	var chosen, known []string
	for _, f := range folders {
		known = append(known, filepath.Base(f))
		if slices.Contains(names, filepath.Base(f)) {
			chosen = append(chosen, f)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no base %q in %s: it has %s", name, dir, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
