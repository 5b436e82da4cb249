//go:build unix

package reader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
)

// What stands in latest's place may be anything. The old version answers, and the log has one line of it.
func TestLiveLatest(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "latest")
	for name, c := range map[string]struct {
		spoil func(e *editions) error
		says  string
	}{
		"gone":             {func(e *editions) error { return nil }, "neither manifest.json nor latest"},
		"empty":            {func(e *editions) error { return os.WriteFile(e.dir+"/latest", nil, 0o666) }, "rule F1"},
		"half":             {func(e *editions) error { return os.WriteFile(e.dir+"/latest", []byte(e.digests[1][:30]), 0o666) }, "rule F1"},
		"two lines":        {func(e *editions) error { return os.WriteFile(e.dir+"/latest", []byte(e.digests[1]+"\n\n"), 0o666) }, "rule F1"},
		"a path":           {func(e *editions) error { return os.WriteFile(e.dir+"/latest", []byte("../../etc\n"), 0o666) }, "rule F1"},
		"endless":          {func(e *editions) error { return os.Truncate(touch(e.dir+"/latest"), 1<<40) }, "longer than 1024 bytes"},
		"a pipe":           {func(e *editions) error { return syscall.Mkfifo(e.dir+"/latest", 0o666) }, "not a regular file"},
		"a folder":         {func(e *editions) error { return os.Mkdir(e.dir+"/latest", 0o777) }, "not a regular file"},
		"a link outside":   {func(e *editions) error { return os.Symlink(outside, e.dir+"/latest") }, "escapes"},
		"a link to itself": {func(e *editions) error { return os.Symlink("latest", e.dir+"/latest") }, "latest"},
		"of no version": {func(e *editions) error {
			return artifact.SetLatest(e.dir, strings.Repeat("0", 64))
		}, "000000000000/manifest.json"},
		"the folder gone": {func(e *editions) error { return os.Rename(e.dir, e.dir+"-old") }, "no such file"},
		"a file for folder": {func(e *editions) error {
			return errors.Join(os.Rename(e.dir, e.dir+"-old"), os.WriteFile(e.dir, nil, 0o666))
		}, "not a folder"},
		"a pipe for folder": {func(e *editions) error {
			return errors.Join(os.Rename(e.dir, e.dir+"-old"), syscall.Mkfifo(e.dir, 0o666))
		}, "not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditions(t, Keyword, nil, nil)
			if err := os.WriteFile(outside, []byte(e.digests[1]+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			l, log := e.open(t, LiveOptions{})
			if err := errors.Join(os.Remove(e.dir+"/latest"), c.spoil(e)); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if changed, err := l.Check(t.Context()); changed || err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%v, %v; want %s", changed, err, c.says)
				}
			}
			mustAnswer(t, l, 0)
			if got := log.one(t); !strings.Contains(got, c.says) {
				t.Errorf("%s\nwant … %s", got, c.says)
			}
			// Whole again, it is followed at the next check.
			if _, err := os.Stat(e.dir + "-old"); err == nil {
				if err := errors.Join(os.RemoveAll(e.dir), os.Rename(e.dir+"-old", e.dir)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(e.dir + "/latest"); err != nil {
				t.Fatal(err)
			}
			e.set(t, 1)
			check(t, l, true)
			mustAnswer(t, l, 1)
			log.one(t)
		})
	}
}

func touch(file string) string {
	_ = os.WriteFile(file, nil, 0o666)
	return file
}

// A folder may be replaced as a whole: renamed, by a link that is set anew, or when it is one version, without latest.
func TestLiveReplacedFolder(t *testing.T) {
	e := newEditions(t, Hybrid, nil, nil, func(b *shelf.Base) { b.Name = "store" })
	for i := range e.digests { // a shelf each
		dir := filepath.Join(e.shelf, fmt.Sprint(i))
		if err := errors.Join(os.CopyFS(dir, os.DirFS(e.shelf+"/shop")), artifact.SetLatest(dir, e.digests[i])); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(dir string, by string) error {
		return errors.Join(os.RemoveAll(dir), os.Rename(by, dir))
	}
	l, _ := e.open(t, LiveOptions{})
	if err := replace(e.dir, e.shelf+"/1"); err != nil {
		t.Fatal(err)
	}
	check(t, l, true)
	mustAnswer(t, l, 1)
	if err := replace(e.dir, e.shelf+"/2"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "it is of the base store, not of shop") {
		t.Error(err)
	}

	// A link to the folder of a version, as tools that deploy set it.
	current := filepath.Join(e.dir, "current")
	if err := os.Symlink(artifact.FolderName(e.digests[0]), current); err != nil {
		t.Fatal(err)
	}
	t.Chdir(e.dir)
	l, err := OpenLive("current", LiveOptions{Every: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // a path that was relative still leads there
	check(t, l, false)
	mustAnswer(t, l, 0)
	if err := errors.Join(os.Remove(current), os.Symlink(artifact.FolderName(e.digests[1]), current)); err != nil {
		t.Fatal(err)
	}
	check(t, l, true)
	mustAnswer(t, l, 1)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
