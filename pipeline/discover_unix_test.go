//go:build unix

package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestDiscoverFIFO(t *testing.T) {
	root := tree(t, "a.md")
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "pipe.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	found, leftOut, err := Discover(root, DefaultSettings("x"))
	if err != nil || len(found) != 1 || len(leftOut) != 1 || leftOut[0] != (LeftOut{"pipe.md", "not a regular file"}) {
		t.Errorf("found %v, left out %v, %v", found, leftOut, err)
	}
	_, err = ReadSource(root, Source{Name: "pipe.md"}, 100)
	wantError(t, "a pipe", err, "regular file")
}

func TestDiscoverLinks(t *testing.T) {
	outside := tree(t, "secret.md")
	root := tree(t, "a.md", "sub/b.md")
	for link, to := range map[string]string{
		"out.md":  filepath.Join(outside.Name(), "secret.md"),
		"out":     outside.Name(),
		"in.md":   "a.md",
		"in":      "sub",
		"gone.md": "nowhere.md",
		"loop":    ".",
	} {
		if err := os.Symlink(to, filepath.Join(root.Name(), link)); err != nil {
			t.Fatal(err)
		}
	}
	found, leftOut, err := Discover(root, DefaultSettings("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(found); !slices.Equal(got, []string{"a.md", "sub/b.md"}) {
		t.Errorf("found %q", got)
	}
	if len(leftOut) != 6 {
		t.Errorf("left out %q", leftOut)
	}
	for _, l := range leftOut {
		if l.Reason != "symbolic link" {
			t.Errorf("%s is left out as %s", l.Path, l.Reason)
		}
	}

	// A file that became a link after it was found is not read, nor is one behind a folder that did.
	_, err = ReadSource(root, Source{Path: "out.md", Name: "out.md"}, 100)
	wantError(t, "a link", err, "regular file")
	if data, err := ReadSource(root, Source{Path: "out/secret.md", Name: "out/secret.md"}, 100); err == nil {
		t.Errorf("read %q outside of the root", data)
	}
}

// TestReadSourceChanges changes files while they are read: the reader of a pipe can't be stopped in the middle of a
// file, so what is read is a file whose state before and after differ.
func TestReadSourceChanges(t *testing.T) {
	root := tree(t, "a.md")
	name := filepath.Join(root.Name(), "a.md")
	info, err := root.Lstat("a.md")
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		_, err := readUnchanged(root, "a.md", info, 100)
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime().Add(1)); err != nil {
		t.Fatal(err)
	}
	wantError(t, "touched", read(), "changed while it was read")
	if err := os.WriteFile(name, []byte("longer than before"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantError(t, "longer", read(), "changed while it was read")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("b.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantError(t, "replaced", read(), "changed while it was read")
}

// TestOpenFolderLink opens a folder by a link to it.
func TestOpenFolderLink(t *testing.T) {
	root := tree(t, "a.md")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root.Name(), link); err != nil {
		t.Fatal(err)
	}
	linked, err := OpenFolder(link)
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	if found, _, err := Discover(linked, DefaultSettings("x")); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}
