package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/larder/internal/durable"
	"example.com/larder/knowledge"
	"example.com/larder/models"
	"example.com/larder/pipeline"
)

// lock, if set, replaces models.lock.
var lock *models.LockFile

// caching is the flag of commands that read or write the cache.
type caching struct {
	Cache string `help:"Folder for downloads and vectors (default: LARDER_CACHE, or larder in the user's cache folder)." placeholder:"DIR"`
}

func (c caching) cache() (pipeline.Cache, error) {
	if c.Cache == "" {
		return pipeline.DefaultCache()
	}
	abs, err := filepath.Abs(c.Cache)
	return pipeline.Cache{Dir: abs}, err
}

// fetching are the flags of commands that may download.
type fetching struct {
	Offline bool `help:"Use the cache only, never the network."`
	caching
}

func (f fetching) fetcher(e *environment) (*pipeline.Fetcher, error) {
	cache, err := f.cache()
	return &pipeline.Fetcher{Cache: cache, Offline: f.Offline, Out: e.err, Lock: lock}, err
}

type bakeCommand struct {
	Dir      string   `arg:"" optional:"" default:"content" help:"A base's folder, or a folder of such (default: content)."`
	Output   string   `short:"o" help:"Shelf for the artifacts (default: the index_dir that base.yaml names, or else dist)." placeholder:"DIR"`
	Base     []string `short:"b" sep:"none" help:"Bake the base in the folder of this name; may be repeated (default: all)." placeholder:"NAME"`
	Embedder string   `enum:",onnx,native" default:"" help:"Embed with onnx or native, whatever base.yaml says." placeholder:"NAME"`
	Bundle   bool     `help:"Put the encoder into the artifact's folder, so that it is complete alone."`
	Report   string   `help:"Write a page about documents and verdicts to this .html file, also if the bake fails." placeholder:"FILE"`
	Revision string   `help:"Revision of the documents, such as a commit, for provenance." placeholder:"REV"`
	fetching
}

func (bakeCommand) Help() string {
	return `A folder with documents or a base.yaml is a base; of any other folder, each folder in it is one.
A document that can't be read fails the bake, unless bad_pages or skip in base.yaml says otherwise.`
}

func (c *bakeCommand) Run(e *environment) error {
	folders, err := baseFolders(c.Dir, c.Base)
	if errors.Is(err, fs.ErrNotExist) {
		return hinted{usageError{err}, "name the folder of your documents: larder bake DIR"}
	}
	if err != nil {
		return usageError{err}
	}
	if c.Report != "" {
		if err := checkReport(c.Report); err != nil {
			return usageError{err}
		}
	}
	fetcher, err := c.fetcher(e)
	if err != nil {
		return err
	}
	var env secrets
	var errs []error
	var reports []*pipeline.Report
	for i, folder := range folders {
		if e.Err() != nil {
			errs = append(errs, fmt.Errorf("interrupted, and not baked: %s", strings.Join(folders[i:], ", ")))
			break
		}
		report, err := pipeline.Bake(e, pipeline.BakeOptions{
			Folder: folder, Shelf: cmp.Or(c.Output, "dist"), UseIndexDir: c.Output == "", OpenEmbedder: c.openEmbedder(&env), Bundle: c.Bundle, Embedder: c.Embedder, Fetcher: fetcher, Progress: e.err,
			Version: version, Revision: c.Revision, LookupEnv: env.lookup,
		})
		if env.err != nil {
			return env.err
		}
		if err == nil {
			report.Write(e.out)
		}
		errs = append(errs, err)
		reports = append(reports, report)
	}
	if c.Report != "" {
		if err := writeReport(c.Report, reports); err != nil {
			errs = append(errs, fmt.Errorf("the report was not written: %w", err))
		} else {
			fmt.Fprintln(e.out, "report:", c.Report)
		}
	}
	return errors.Join(errs...)
}

// openEmbedder opens the service that base.yaml declares.
func (c *bakeCommand) openEmbedder(env *secrets) func(context.Context, pipeline.Settings) (pipeline.QueryEmbedder, error) {
	return func(ctx context.Context, s pipeline.Settings) (pipeline.QueryEmbedder, error) {
		if c.Offline {
			address, _ := env.lookup("OPENAI_BASE_URL")
			if err := checkOffline(cmp.Or(s.OpenAI.BaseURL, address)); err != nil {
				return nil, err
			}
		}
		return knowledge.OpenEmbedder(env.lookup)(ctx, s)
	}
}

// checkReport finds out before a long bake whether its report can be written, and makes the folder for it. The
// extension keeps a slip from replacing a document.
func checkReport(name string) error {
	if extension := strings.ToLower(filepath.Ext(name)); extension != ".html" && extension != ".htm" {
		return fmt.Errorf("--report %s: the page is HTML, name a file ending in .html", name)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--report %s: not a regular file, name another one", name)
	}
	err := durable.MkdirAll(filepath.Dir(name))
	if err == nil {
		var trial *os.File
		if trial, err = os.CreateTemp(filepath.Dir(name), durable.Prefix); err == nil {
			err = errors.Join(trial.Close(), os.Remove(trial.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("--report %s: no file can be made there: %w", name, err)
	}
	return nil
}

func writeReport(name string, reports []*pipeline.Report) error {
	var page bytes.Buffer
	if err := pipeline.WriteHTML(&page, reports); err != nil {
		return err
	}
	return durable.WriteFile(name, page.Bytes())
}

// baseFolders returns the folders of the bases in dir: dir itself if it has a base.yaml or documents, else its
// folders, and the folders that links in it lead to. Names, if any, choose among them.
func baseFolders(dir string, names []string) ([]string, error) {
	dir = filepath.Clean(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		isFolder := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, fmt.Errorf("%s is a link that leads to nothing: %w; mend or remove it", filepath.Join(dir, entry.Name()), err)
			}
			isFolder = info.IsDir()
		}
		if isFolder {
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
