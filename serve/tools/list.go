package tools

import (
	"context"
	"fmt"
	"path"
)

type listArguments struct {
	Path      string `json:"path" jsonschema:"path of the folder, relative to the root of the knowledge base; empty for the root" ru:"относительный путь к папке; пустая строка для корня"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"list all folders below too" ru:"рекурсивно перечислить все подпапки"`
}

type searchArguments struct {
	Pattern       string `json:"pattern" jsonschema:"name or glob pattern: * and ? match within a name, [] one of some characters, ** any number of folders" ru:"название или glob-шаблон: * и ? внутри имени, [] один из символов, ** любое число папок"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"tell upper from lower case" ru:"различать регистр"`
}

type listAnswer struct {
	Success   bool   `json:"success"`
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
	listing
}

type searchAnswer struct {
	Success       bool   `json:"success"`
	Pattern       string `json:"pattern"`
	CaseSensitive bool   `json:"case_sensitive"`
	listing
}

// A listing is files and folders, by path.
type listing struct {
	Files          []listedFile   `json:"files"`
	Directories    []listedFolder `json:"directories"`
	FileCount      int            `json:"file_count"`
	DirectoryCount int            `json:"directory_count"`
	omission
}

type listedFile struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type listedFolder struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// listDirectory is kb_list_directory.
func (f Files) listDirectory(ctx context.Context, in listArguments) (listAnswer, error) {
	a := listAnswer{Path: shown(in.Path), Recursive: in.Recursive, listing: nothing()}
	dir, info, err := f.resolve(ctx, in.Path)
	switch {
	case err != nil || info.IsDir():
	case info.Mode().IsRegular():
		err = errFile
	default:
		err = errIrregular
	}
	if err != nil {
		a.Errors = []problem{{shown(in.Path), reason(err)}}
		return a, nil
	}
	w, err := f.walk(ctx, dir, in.Recursive, func(entry) bool { return true })
	if err != nil {
		return a, err
	}
	a.listing = f.listing(ctx, w)
	a.Success = w.visited > 0 || w.failed == 0
	return a, nil
}

// searchFiles is kb_search_files.
func (f Files) searchFiles(ctx context.Context, in searchArguments) (searchAnswer, error) {
	a := searchAnswer{Pattern: shown(in.Pattern), CaseSensitive: in.CaseSensitive, listing: nothing()}
	g, err := newGlob(in.Pattern, in.CaseSensitive)
	if err != nil {
		return a, fmt.Errorf("%w of kb_search_files: pattern: %w", ErrArguments, err)
	}
	w, err := f.walk(ctx, ".", true, func(e entry) bool { return g.match(e.path) })
	if err != nil {
		return a, err
	}
	a.listing = f.listing(ctx, w)
	a.Success = w.visited > 0 || w.failed == 0
	return a, nil
}

func nothing() listing { return listing{Files: []listedFile{}, Directories: []listedFolder{}} }

// listing shows what a walk met, as far as the budget goes, folders first: they lead to the files. What has vanished
// since is not shown.
func (f Files) listing(ctx context.Context, w *walk) listing {
	l := nothing()
	l.omission = w.omission()
	left := f.budget(ctx)
	fits := func(e entry) bool {
		left -= len(e.path) + len(path.Base(e.path)) + 40 // and the names of the fields
		return left >= 0
	}
	for _, e := range w.folders {
		if !fits(e) {
			break
		}
		l.Directories = append(l.Directories, listedFolder{e.path, path.Base(e.path)})
	}
	seen := 0
	for _, e := range w.files {
		if !fits(e) {
			break
		}
		seen++
		if size, err := e.size(); err == nil {
			l.Files = append(l.Files, listedFile{e.path, path.Base(e.path), size})
		}
	}
	l.FileCount, l.DirectoryCount = len(l.Files), len(l.Directories)
	if seen < len(w.files) || l.DirectoryCount < len(w.folders) {
		l.Truncated, l.TotalFiles, l.TotalDirectories = true, len(w.files), len(w.folders)
	}
	return l
}
