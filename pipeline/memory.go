package pipeline

import (
	"bytes"
	"io/fs"
	"path"
	"time"
)

// writeMemory makes a shelf in memory of the artifact and its encoder.
func (b *bake) writeMemory() (fs.FS, error) {
	if err := b.encode(); err != nil {
		return nil, err
	}
	provenance, err := b.provenance()
	if err != nil {
		return nil, err
	}
	shelf := memory{}
	b.files.Shelve(shelf, b.settings.Name, provenance, b.model.files)
	return shelf, nil
}

// memory is a file system of files by path. What is not there is [fs.ErrNotExist]; folders can't be opened, which a
// reader of artifacts doesn't do.
type memory map[string][]byte

func (m memory) Open(name string) (fs.File, error) {
	data, ok := m[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{*bytes.NewReader(data), path.Base(name), len(data)}, nil
}

type memoryFile struct {
	bytes.Reader
	name string
	size int
}

func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Stat() (fs.FileInfo, error) { return memoryInfo{f.name, int64(f.size)}, nil }

type memoryInfo struct {
	name string
	size int64
}

func (i memoryInfo) Name() string     { return i.name }
func (i memoryInfo) Size() int64      { return i.size }
func (memoryInfo) Mode() fs.FileMode  { return 0o444 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }
