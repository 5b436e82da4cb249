package tools

import (
	"cmp"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Union makes one tree of several, each in a folder of its name. A single one stays as it is.
func Union(trees map[string]Files) Files {
	if len(trees) == 1 {
		for _, f := range trees {
			return f
		}
	}
	return Files{FS: union(trees), FullPath: func(path string) string {
		name, rest, _ := strings.Cut(path, "/")
		return trees[name].FullPath(rest)
	}}
}

type union map[string]Files

// split finds the tree that a path leads into, and the path there. The root leads into none.
func (u union) split(op, path string) (fs.FS, string, error) {
	name, rest, _ := strings.Cut(path, "/")
	tree, ok := u[name]
	if !ok || !fs.ValidPath(path) {
		return nil, "", &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist}
	}
	return tree.FS, cmp.Or(rest, "."), nil
}

func (u union) Open(path string) (fs.File, error) {
	if path == "." {
		return &unionRoot{union: u}, nil
	}
	tree, rest, err := u.split("open", path)
	if err != nil {
		return nil, err
	}
	f, err := tree.Open(rest)
	if folder, ok := f.(fs.ReadDirFile); ok && err == nil && rest == "." {
		return unionTree{folder, path}, nil
	}
	return f, err
}

// Sub is a folder of a tree, which may have a way of its own to give it.
func (u union) Sub(path string) (fs.FS, error) {
	if path == "." {
		return u, nil
	}
	tree, rest, err := u.split("open", path)
	if err != nil || rest == "." {
		return tree, err
	}
	return fs.Sub(tree, rest)
}

// unionTree is the open root of a tree, which has its name.
type unionTree struct {
	fs.ReadDirFile
	name string
}

func (t unionTree) Stat() (fs.FileInfo, error) { return unionFolder(t.name), nil }

func (u union) Stat(path string) (fs.FileInfo, error) {
	if path == "." {
		return unionFolder("."), nil
	}
	tree, rest, err := u.split("stat", path)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(tree, rest)
	if err == nil && rest == "." {
		return unionFolder(path), nil
	}
	return info, err
}

// unionRoot is the open root: a folder of the trees.
type unionRoot struct {
	union
	read int // entries
}

func (r *unionRoot) Stat() (fs.FileInfo, error) { return unionFolder("."), nil }
func (r *unionRoot) Close() error               { return nil }
func (r *unionRoot) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

func (r *unionRoot) ReadDir(n int) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for name := range r.union {
		all = append(all, fs.FileInfoToDirEntry(unionFolder(name)))
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	all = all[min(r.read, len(all)):]
	if n > 0 {
		if len(all) == 0 {
			return nil, io.EOF
		}
		all = all[:min(n, len(all))]
	}
	r.read += len(all)
	return all, nil
}

// unionFolder is the folder of a tree, by its name.
type unionFolder string

func (f unionFolder) Name() string     { return string(f) }
func (unionFolder) Size() int64        { return 0 }
func (unionFolder) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (unionFolder) ModTime() time.Time { return time.Time{} }
func (unionFolder) IsDir() bool        { return true }
func (unionFolder) Sys() any           { return nil }
