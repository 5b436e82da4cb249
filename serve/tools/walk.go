package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// An entry is a file or a folder that a walk met.
type entry struct {
	path string
	dir  bool
	link bool
	info fs.DirEntry // of what it leads to
}

// size is how many bytes a file has.
func (e entry) size() (int64, error) {
	info, err := e.info.Info()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// A walk is what was met on the way through a tree.
type walk struct {
	files    []entry
	folders  []entry
	below    []string // folders to walk into
	leftOut  int
	visited  int
	cut      bool // there was more than a walk may visit
	problems []problem
	failed   int // folders that could not be listed
}

// walk goes through a folder, and through all below if recursive is set, and keeps what keep wants of it, by path. It
// lists the folders of one depth in parallel.
func (f Files) walk(ctx context.Context, root string, recursive bool, keep func(entry) bool) (*walk, error) {
	w := &walk{}
	var visited atomic.Int64
	for folders := []string{root}; len(folders) > 0 && !w.cut; {
		parts := make([]walk, len(folders))
		parallel(ctx, runtime.GOMAXPROCS(0), len(folders), func(_, i int) {
			f.list(ctx, folders[i], &parts[i], &visited, keep)
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		folders = nil
		for i := range parts {
			w.add(&parts[i])
			if recursive {
				folders = append(folders, parts[i].below...)
			}
		}
	}
	for _, list := range [][]entry{w.files, w.folders} {
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	}
	return w, nil
}

// errEnough ends a walk that has visited what it may.
var errEnough = errors.New("visited enough")

// list walks over the entries of one folder.
func (f Files) list(ctx context.Context, dir string, w *walk, visited *atomic.Int64, keep func(entry) bool) {
	err := entries(f.FS, dir, func(d fs.DirEntry) error {
		if visited.Add(1) > maxVisited {
			return errEnough
		}
		if w.visited++; w.visited%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, ok := f.entry(dir, d, w)
		if !ok {
			return nil
		}
		if e.dir && !e.link {
			w.below = append(w.below, e.path)
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
	if errors.Is(err, errEnough) {
		w.cut = true
	} else if err != nil {
		w.fail(dir, err)
	}
}

// add takes over what was met in a folder.
func (w *walk) add(part *walk) {
	w.files = append(w.files, part.files...)
	w.folders = append(w.folders, part.folders...)
	w.leftOut += part.leftOut
	w.visited += part.visited
	w.cut = w.cut || part.cut
	w.failed += part.failed
	w.problems = append(w.problems, part.problems[:min(len(part.problems), maxProblems-len(w.problems))]...)
}

// entry is what an entry of a folder leads to. It is not ok if nobody can ask for it.
func (f Files) entry(dir string, d fs.DirEntry, w *walk) (e entry, ok bool) {
	name := d.Name()
	if strings.HasPrefix(name, ".") { // ../ too, should a file system give that for a name
		return entry{}, false
	}
	if dir != "." {
		name = dir + "/" + name
	}
	if !askable(name, d.Name()) {
		w.leftOut++
		return entry{}, false
	}
	mode := d.Type()
	link := mode&fs.ModeSymlink != 0
	if link {
		info, err := fs.Stat(f.FS, name)
		if err != nil {
			w.leftOut++
			return entry{}, false
		}
		d, mode = fs.FileInfoToDirEntry(info), info.Mode()
	}
	if !mode.IsDir() && !mode.IsRegular() {
		w.leftOut++
		return entry{}, false
	}
	return entry{name, mode.IsDir(), link, d}, true
}

// askable says whether [clean] takes a path as it is; its folder's it does. A name that is a path itself is a trap.
func askable(whole, name string) bool {
	return len(whole) <= maxPath && strings.Count(whole, "/") <= maxDepth && name != "" &&
		!strings.ContainsAny(name, "/\\\x00") && utf8.ValidString(name) && !drive.MatchString(whole)
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

// A visitor goes from entry to entry, and keeps the folder open that it is in: in a [Folder] the way to a file is gone
// anew for each file otherwise.
type visitor struct {
	fsys fs.FS
	dir  string
	sub  fs.FS // of dir, nil if it is in none
}

// at is where an entry can be opened, and by which name. Links may lead out of their folder, and start from the root.
func (v *visitor) at(e entry) (fs.FS, string, error) {
	dir := path.Dir(e.path)
	if e.link || dir == "." {
		return v.fsys, e.path, nil
	}
	if v.sub == nil || dir != v.dir {
		v.leave()
		sub, err := fs.Sub(v.fsys, dir)
		if err != nil {
			return nil, "", err
		}
		v.dir, v.sub = dir, sub
	}
	return v.sub, path.Base(e.path), nil
}

// leave closes the folder that the visitor is in.
func (v *visitor) leave() {
	if folder, ok := v.sub.(*Folder); ok {
		folder.Close()
	}
	v.sub = nil
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
