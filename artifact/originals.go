package artifact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
)

// originals are the parsed section: the source files of the documents with text.
type originals struct {
	bytes  []byte
	starts []uint64 // of each document, and the end; nil if the artifact has no originals
}

func writeOriginals(documents []Document) []byte {
	size := 0
	for _, d := range documents {
		size += len(d.Original)
	}
	w := newSection("originals", size)
	w.array()
	for _, d := range documents {
		w.data = append(w.data, d.Original...)
	}
	return w.data
}

// readOriginals checks O1.
func readOriginals(data []byte, documents documents) (o originals, err error) {
	r, err := openSection("originals", data, 1)
	if err != nil {
		return o, err
	}
	if o.bytes, err = r.array(r.counts[0], 1); err != nil {
		return o, err
	}
	if err := r.end(); err != nil {
		return o, err
	}
	o.starts = make([]uint64, documents.len()+1)
	for i := range documents.len() {
		rec, size := documents.record(i), uint64(0)
		if Verdict(le.Uint32(rec[96:])).HasText() {
			size = le.Uint64(rec[48:])
		}
		o.starts[i+1] = o.starts[i] + size // of two numbers below 2^41 (M4): no overflow
		if o.starts[i+1] > r.counts[0] {
			return o, corrupt(r.file, "O1", "document %d ends outside", i)
		}
	}
	if end := o.starts[documents.len()]; end != r.counts[0] {
		return o, corrupt(r.file, "O1", "%d bytes, but the documents have %d", r.counts[0], end)
	}
	return o, nil
}

// HasOriginals tells whether the artifact holds the source files of its documents.
func (a *Artifact) HasOriginals() bool { return a.originals.starts != nil }

// Original returns the source file of document i, false if it is not there: in an artifact without originals, and of
// documents without text.
func (a *Artifact) Original(i int) ([]byte, bool) {
	if !a.HasOriginals() || !Verdict(le.Uint32(a.documents.record(i)[96:])).HasText() {
		return nil, false
	}
	return a.originals.bytes[a.originals.starts[i]:a.originals.starts[i+1]], true
}

func (a *Artifact) verifyOriginals() error {
	for i := range a.Documents() {
		if data, ok := a.Original(i); ok && sha256.Sum256(data) != [32]byte(a.documents.record(i)[16:48]) {
			return corrupt("originals.bin", "O2", "the original of %q is not the file that its SHA-256 names", a.Document(i).Path)
		}
	}
	return nil
}

// Originals is the tree of the source files: those that were read, by their paths. It is empty in an artifact without
// originals. Files have neither times nor permissions of their own.
func (a *Artifact) Originals() fs.FS {
	t := tree{artifact: a}
	for i := range a.Documents() {
		if _, ok := a.Original(i); ok {
			t.files = append(t.files, node{a.str(a.documents.record(i), 72), i})
		}
	}
	return t
}

// A tree has files in the order of their paths, as documents are. A file whose path leads through another file, which
// no folder can hold, is not in it.
type tree struct {
	artifact *Artifact
	files    []node
}

type node struct {
	path     string
	document int
}

// at is the number of the first file whose path is not below p.
func (t tree) at(p string) int {
	return sort.Search(len(t.files), func(i int) bool { return t.files[i].path >= p })
}

func (t tree) Open(name string) (fs.File, error) {
	if f, ok := t.open(name); ok {
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat describes a file or a folder.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	if f, ok := t.open(name); ok {
		return f.Stat()
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

func (t tree) open(name string) (fs.File, bool) {
	if !fs.ValidPath(name) || t.throughFile(name) {
		return nil, false
	}
	if i := t.at(name); i < len(t.files) && t.files[i].path == name {
		data, _ := t.artifact.Original(t.files[i].document)
		return &originalFile{*bytes.NewReader(data), originalInfo{path.Base(name), int64(len(data)), false}}, true
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	} else if i := t.at(prefix); i == len(t.files) || !strings.HasPrefix(t.files[i].path, prefix) {
		return nil, false
	}
	return &originalFolder{tree: t, prefix: prefix, info: originalInfo{path.Base(name), 0, true}}, true
}

// throughFile tells whether a folder on the way to name is a file. It cuts name rather than clean it again and again: names
// may be long.
func (t tree) throughFile(name string) bool {
	for end, c := range name {
		if c != '/' {
			continue
		}
		if i := t.at(name[:end]); i < len(t.files) && t.files[i].path == name[:end] {
			return true
		}
	}
	return false
}

// entries lists what is directly below a prefix, in order.
func (t tree) entries(prefix string) (list []fs.DirEntry) {
	for i := t.at(prefix); i < len(t.files) && strings.HasPrefix(t.files[i].path, prefix); {
		name, _, deeper := strings.Cut(t.files[i].path[len(prefix):], "/")
		if deeper {
			list = append(list, fs.FileInfoToDirEntry(originalInfo{name, 0, true}))
			i = t.at(prefix + name + "0") // '0' comes after '/': behind all that is in the folder
			continue
		}
		data, _ := t.artifact.Original(t.files[i].document)
		list = append(list, fs.FileInfoToDirEntry(originalInfo{name, int64(len(data)), false}))
		i++
	}
	// "a.md" comes before "a/b" among paths, and "a" before "a.md" among names. Of a file and a folder of one name the file
	// stays.
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), cmp.Compare(a.Type(), b.Type()))
	})
	return slices.CompactFunc(list, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() })
}

type originalFile struct {
	bytes.Reader
	info originalInfo
}

func (f *originalFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *originalFile) Close() error               { return nil }

type originalFolder struct {
	tree
	prefix string
	info   originalInfo
	list   []fs.DirEntry
	listed bool
}

func (f *originalFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *originalFolder) Close() error               { return nil }
func (f *originalFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

func (f *originalFolder) ReadDir(n int) (list []fs.DirEntry, err error) {
	if !f.listed {
		f.list, f.listed = f.entries(f.prefix), true
	}
	if n <= 0 {
		list, f.list = f.list, nil
		return list, nil
	}
	if len(f.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.list))
	list, f.list = f.list[:n], f.list[n:]
	return list, nil
}

type originalInfo struct {
	name   string
	size   int64
	folder bool
}

func (i originalInfo) Name() string     { return i.name }
func (i originalInfo) Size() int64      { return i.size }
func (originalInfo) ModTime() time.Time { return time.Time{} }
func (i originalInfo) IsDir() bool      { return i.folder }
func (originalInfo) Sys() any           { return nil }
func (i originalInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
