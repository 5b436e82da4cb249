package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Folder is a live folder of files that shows nothing outside of it, whatever links it holds: it stands on os.Root,
// where os.DirFS would follow them out. Only links that are relative can lead somewhere. It is an fs.FS, safe for use
// by several goroutines.
type Folder struct {
	root *os.Root
	path string
}

// OpenFolder opens a folder. Close it when it is no longer used.
func OpenFolder(dir string) (*Folder, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Folder{root, path}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// FullPath is a file's absolute path on this machine.
func (f *Folder) FullPath(path string) string { return filepath.Join(f.path, filepath.FromSlash(path)) }

// Open opens a file or a folder. What is neither is not opened: a pipe that was put in the place of a file is not waited
// for, since opening it doesn't block, and is closed again.
func (f *Folder) Open(name string) (fs.File, error) {
	if !local(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return opened{file, info}, nil
}

// opened is an open file that remembers what it was when it was opened.
type opened struct {
	*os.File
	info fs.FileInfo
}

func (o opened) Stat() (fs.FileInfo, error) { return o.info, nil }

// Sub opens a folder below, which shows nothing outside of itself and is to be closed, too. Many files in one folder are
// opened faster so, since the way to it is gone only once.
func (f *Folder) Sub(dir string) (fs.FS, error) {
	if !local(dir) {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: fs.ErrInvalid}
	}
	root, err := f.root.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	return &Folder{root, f.FullPath(dir)}, nil
}

// Stat describes what a path leads to.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	if !local(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.Stat(filepath.FromSlash(name))
}

// local says whether a path is one that may be asked of the system: it has no .., no leading slash, and nothing that
// this system gives a meaning of its own, such as drives, streams and devices on Windows.
func local(name string) bool {
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name))
}
