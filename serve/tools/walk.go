package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// An entry is a file or a folder that a walk met.
type entry struct {
	path string
	dir  bool
	link bool
	size func() (int64, error)
}

// A walk is what was met on the way through a tree.
type walk struct {
	files    []entry
	folders  []entry
	leftOut  int
	visited  int
	cut      bool // there was more than a walk may visit
	problems []problem
	failed   int // folders that could not be listed
}

// errEnough ends a walk that has visited what it may.
var errEnough = errors.New("visited enough")

// walk goes through a folder, and through all below if recursive is set, and keeps what keep wants of it, by path.
func (f Files) walk(ctx context.Context, root string, recursive bool, keep func(entry) bool) (*walk, error) {
	w := &walk{}
	folders := []string{root}
	for len(folders) > 0 && !w.cut {
		dir := folders[0]
		folders = folders[1:]
		err := entries(f.FS, dir, func(d fs.DirEntry) error {
			if w.visited++; w.visited > maxVisited {
				return errEnough
			}
			if w.visited%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			e, ok := f.entry(dir, d, w)
			if !ok {
				return nil
			}
			if recursive && e.dir && !e.link {
				folders = append(folders, e.path)
			}
			if !keep(e) {
				return nil
			}
			if e.dir {
				w.folders = append(w.folders, e)
			} else {
				w.files = append(w.files, e)
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		if errors.Is(err, errEnough) {
			w.cut = true
		} else if err != nil {
			w.fail(dir, err)
		}
	}
	for _, list := range [][]entry{w.files, w.folders} {
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	}
	return w, nil
}

// entry is what an entry of a folder leads to. It is not ok if nobody can ask for it.
func (f Files) entry(dir string, d fs.DirEntry, w *walk) (e entry, ok bool) {
	name := path.Join(dir, d.Name())
	asked, err := clean(name)
	if errors.Is(err, errHidden) {
		return entry{}, false
	}
	if err != nil || asked != name {
		w.leftOut++
		return entry{}, false
	}
	mode := d.Type()
	e = entry{path: name, size: func() (int64, error) { return size(d.Info()) }}
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(f.FS, name)
		if err != nil {
			w.leftOut++
			return entry{}, false
		}
		mode, e.link = info.Mode(), true
		e.size = func() (int64, error) { return info.Size(), nil }
	}
	e.dir = mode.IsDir()
	if !e.dir && !mode.IsRegular() {
		w.leftOut++
		return entry{}, false
	}
	return e, true
}

func size(info fs.FileInfo, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// fail notes that a folder could not be listed.
func (w *walk) fail(dir string, err error) {
	if w.failed++; len(w.problems) < maxProblems {
		w.problems = append(w.problems, problem{dir, reason(err)})
	}
}

// omission is what an answer lacks for what the walk met.
func (w *walk) omission() omission {
	return omission{Truncated: w.cut, LeftOut: w.leftOut, Errors: w.problems}
}

// entries calls do for each entry of a folder, in no certain order, some hundred at a time: a folder may hold very
// many.
func entries(fsys fs.FS, dir string, do func(fs.DirEntry) error) error {
	file, err := fsys.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	folder, ok := file.(fs.ReadDirFile)
	if !ok {
		return fmt.Errorf("%T opens folders that list nothing", fsys)
	}
	for {
		list, err := folder.ReadDir(512)
		for _, d := range list {
			if err := do(d); err != nil {
				return err
			}
		}
		if err == io.EOF || err == nil && len(list) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
