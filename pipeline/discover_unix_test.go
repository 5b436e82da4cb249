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
