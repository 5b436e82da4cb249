package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// withOriginals is tiny content with its source files.
func withOriginals() *Content {
	c := tiny(Keyword)
	c.Originals = true
	for i, text := range map[int]string{0: "# Apples\r\n\nApples grow on trees.", 2: "%PDF\x00\xff"} {
		d := &c.Documents[i]
		d.Original, d.Size, d.SHA256 = []byte(text), int64(len(text)), sha256.Sum256([]byte(text))
	}
	return c
}

func TestOriginals(t *testing.T) {
	c := withOriginals()
	f, err := Encode(c, bitmap)
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := f.Save(t.TempDir(), []byte("{}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := load(t, dir)
	a, err := Open(files, ".", "")
	if err != nil {
		t.Fatal(err)
	}
	if !a.HasOriginals() || !a.Manifest.HasOriginals() {
		t.Error("no originals")
	}
	for i, d := range c.Documents {
		got, ok := a.Original(i)
		if ok != d.Verdict.HasText() || string(got) != string(d.Original) {
			t.Errorf("%s: %q, %v", d.Path, got, ok)
		}
	}
	if err := fstest.TestFS(a.Originals(), "a.md", "b/c.pdf"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(a.Originals(), "b/blank.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a document without text: %v", err)
	}

	// Below the seal: other bytes are found by verify, other lengths by opening.
	original := files["originals.bin"].Data
	flipped := slices.Clone(original)
	flipped[64] ^= 1
	files["originals.bin"].Data = flipped
	reseal(t, files)
	if a, err := Open(files, ".", ""); err != nil || !errors.Is(a.Verify(), ErrCorrupt) {
		t.Errorf("another file: %v", err)
	}
	for name, bad := range map[string][]byte{
		"cut":        original[:len(original)-1],
		"longer":     append(slices.Clone(original), 0),
		"all gone":   newSection("originals", 0).data,
		"one longer": append(newSection("originals", len(original)-64+1).data, append(slices.Clone(original[64:]), 0)...),
	} {
		files["originals.bin"].Data = bad
		reseal(t, files)
		if _, err := Open(files, ".", ""); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none, err := Open(load(t, saved(t, Keyword)), ".", "")
	if err != nil || none.HasOriginals() {
		t.Fatal(err)
	}
	if _, ok := none.Original(0); ok {
		t.Error("an original of an artifact without")
	}
	if err := fstest.TestFS(none.Originals()); err != nil {
		t.Error(err)
	}
}

func TestOriginalsFlips(t *testing.T) {
	f, err := Encode(withOriginals(), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := f.Save(t.TempDir(), []byte("{}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := load(t, dir)
	for _, name := range []string{"originals.bin", "documents.bin"} {
		data := files[name].Data
		for i := range data {
			data[i] ^= 1 << (i % 8)
			reseal(t, files)
			if a, err := Open(files, ".", ""); err == nil {
				use(a)
				_ = fs.WalkDir(a.Originals(), ".", func(string, fs.DirEntry, error) error { return nil })
			}
			data[i] ^= 1 << (i % 8)
		}
	}
}

func TestEncodeRefusesOriginals(t *testing.T) {
	for name, change := range map[string]func(*Content){
		"not asked for":  func(c *Content) { c.Originals = false },
		"another size":   func(c *Content) { c.Documents[0].Size++ },
		"another digest": func(c *Content) { c.Documents[0].SHA256[0] ^= 1 },
		"without text":   func(c *Content) { c.Documents[1].Original = []byte("x") },
		"missing":        func(c *Content) { c.Documents[0].Original = nil },
	} {
		c := withOriginals()
		change(c)
		if _, err := Encode(c, bitmap); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

// TestOriginalsTree: names of which one begins as another, and a folder where a file is.
func TestOriginalsTree(t *testing.T) {
	c := tiny(Keyword)
	c.Originals = true
	c.Terms = nil
	paths := []string{"a", "a.md", "a/b", "a0", "b/c/d.md", "b/c.md", "x-y/z", "x/y", "ж/я"}
	slices.Sort(paths)
	c.Documents = nil
	for _, p := range paths {
		c.Documents = append(c.Documents, Document{Path: p, Original: []byte(p), Size: int64(len(p)), SHA256: sha256.Sum256([]byte(p)), Text: "x"})
	}
	f, err := Encode(c, bitmap)
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := f.Save(t.TempDir(), []byte("{}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(load(t, dir), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(a.Originals(), slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "a/b" })...); err != nil {
		t.Error(err)
	}
	var names []string
	entries, err := fs.ReadDir(a.Originals(), ".")
	for _, e := range entries {
		names = append(names, fmt.Sprint(e.Name(), e.IsDir()))
	}
	if got := strings.Join(names, " "); err != nil || got != "afalse a.mdfalse a0false btrue xtrue x-ytrue жtrue" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := a.Originals().Open("a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file below a file: %v", err)
	}
	// A name of a million folders: time is in proportion to its length, or this test does not end.
	if _, err := a.Originals().Open(strings.Repeat("z/", 1<<20) + "z"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a long name: %.60v", err)
	}
}
