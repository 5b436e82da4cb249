package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var errInjected = errors.New("injected failure")

// failAt runs f with its n-th operation (from 1) failing and returns how many operations it began, the
// one that failed and f's error.
func failAt(n int, f func() error) (count int, failed string, err error) {
	restore := SetHook(func(op, _ string) error {
		count++
		if count == n {
			failed = op
			return errInjected
		}
		return nil
	})
	defer restore()
	err = f()
	return count, failed, err
}

// names lists what is in dir, sorted.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "latest")
	for _, want := range []string{"first", "", "third, longer"} {
		if err := WriteFile(name, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, name); got != want {
			t.Errorf("content %q, want %q", got, want)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"latest"}) {
		t.Errorf("folder holds %q", got)
	}
	if err := WriteFile(filepath.Join(dir, "absent", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestWriteFileFailing(t *testing.T) {
	total, _, err := failAt(0, func() error { return WriteFile(filepath.Join(t.TempDir(), "f"), []byte("new")) })
	if err != nil || total < 5 {
		t.Fatalf("%d operations, %v", total, err)
	}
	for n := 1; n <= total; n++ {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, op, err := failAt(n, func() error { return WriteFile(name, []byte("new")) })
		if !errors.Is(err, errInjected) {
			t.Errorf("operation %d (%s) failed, error %v", n, op, err)
		}
		want := "old"
		if n == total { // the folder's sync: the rename is done
			want = "new"
		}
		if got := content(t, name); got != want {
			t.Errorf("operation %d (%s) failed: content %q, want %q", n, op, got, want)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"f"}) {
			t.Errorf("operation %d (%s) failed: folder holds %q", n, op, got)
		}
	}
	t.Logf("failed each of %d operations", total)
}

// fill makes a folder of two files and points a file at it, as a bake does.
func fill(root string) (err error) {
	d, err := CreateDir(filepath.Join(root, "base", "v2"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Abort()) }()
	if err := d.WriteFile("a", []byte("content of a")); err != nil {
		return err
	}
	if err := d.WriteFile("b", []byte("content of b")); err != nil {
		return err
	}
	if err := d.Commit(); err != nil {
		return err
	}
	return WriteFile(filepath.Join(root, "base", "latest"), []byte("v2"))
}

// checkFilled tells whether latest in root names a whole version; it reports what is wrong.
func checkFilled(t *testing.T, when, root string) {
	t.Helper()
	base := filepath.Join(root, "base")
	version := content(t, filepath.Join(base, "latest"))
	switch version {
	case "v1":
	case "v2":
		for _, f := range []string{"a", "b"} {
			if got := content(t, filepath.Join(base, "v2", f)); got != "content of "+f {
				t.Errorf("%s: %s holds %q", when, f, got)
			}
		}
	default:
		t.Errorf("%s: latest holds %q", when, version)
	}
	if got := content(t, filepath.Join(base, "v1", "a")); got != "old content" {
		t.Errorf("%s: the old version holds %q", when, got)
	}
	if _, err := os.Stat(filepath.Join(base, "v2")); err == nil {
		if got := names(t, filepath.Join(base, "v2")); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: v2 is visible with %q", when, got)
		}
	}
}

// oldVersion makes a root whose latest names version v1.
func oldVersion(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	d, err := CreateDir(filepath.Join(root, "base", "v1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFile("a", []byte("old content")); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(root, "base", "latest"), []byte("v1")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestDirFailing(t *testing.T) {
	root := oldVersion(t)
	total, _, err := failAt(0, func() error { return fill(root) })
	if err != nil || total < 15 {
		t.Fatalf("%d operations, %v", total, err)
	}
	for n := 1; n <= total; n++ {
		root := oldVersion(t)
		_, op, err := failAt(n, func() error { return fill(root) })
		when := "operation " + strconv.Itoa(n) + " (" + op + ") failed"
		if !errors.Is(err, errInjected) {
			t.Errorf("%s: error %v", when, err)
		}
		checkFilled(t, when, root)
		for _, name := range names(t, filepath.Join(root, "base")) {
			if strings.HasPrefix(name, Prefix) {
				t.Errorf("%s: %s is left", when, name)
			}
		}
		// The next run succeeds, or finds the version there already and only moves the pointer.
		if err := fill(root); errors.Is(err, fs.ErrExist) {
			err = WriteFile(filepath.Join(root, "base", "latest"), []byte("v2"))
			if err != nil {
				t.Errorf("%s: then %v", when, err)
			}
		} else if err != nil {
			t.Errorf("%s: then %v", when, err)
		}
		checkFilled(t, when+", then a second run", root)
		if got := content(t, filepath.Join(root, "base", "latest")); got != "v2" {
			t.Errorf("%s: after a second run latest holds %q", when, got)
		}
	}
	t.Logf("failed each of %d operations", total)
}

func TestDirRefuses(t *testing.T) {
	root := t.TempDir()
	final := filepath.Join(root, "d")
	if err := os.Mkdir(final, 0o777); err != nil { // empty: a plain rename would replace it
		t.Fatal(err)
	}
	d, err := CreateDir(final)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/x"} {
		if err := d.WriteFile(name, nil); err == nil {
			t.Errorf("file name %q is accepted", name)
		}
	}
	if err := d.WriteFile("a", nil); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFile("a", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second file of one name: %v", err)
	}
	if err := d.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit over a folder: %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if err := d.Commit(); err == nil {
		t.Error("commit after abort succeeds")
	}
	if err := d.WriteFile("b", nil); err == nil {
		t.Error("write after abort succeeds")
	}
	if got := names(t, root); !slices.Equal(got, []string{"d"}) {
		t.Errorf("folder holds %q", got)
	}
	if err := WriteFile(filepath.Join(root, "f"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDir(filepath.Join(root, "f", "d")); err == nil {
		t.Error("a folder below a file is made")
	}
	d, err = CreateDir(filepath.Join(root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit over a file: %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}

// TestRenameOver checks what Commit relies on when another process is quicker: rename itself refuses.
func TestRenameOver(t *testing.T) {
	root := t.TempDir()
	final := filepath.Join(root, "d")
	d, err := CreateDir(final)
	if err != nil {
		t.Fatal(err)
	}
	restore := SetHook(func(op, _ string) error {
		if op == OpRename {
			if err := os.Mkdir(final, 0o777); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(final, "quicker"), nil, 0o666)
		}
		return nil
	})
	err = d.Commit()
	restore()
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit: %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if got := names(t, final); !slices.Equal(got, []string{"quicker"}) {
		t.Errorf("folder holds %q", got)
	}
	if got := names(t, root); !slices.Equal(got, []string{"d"}) {
		t.Errorf("root holds %q", got)
	}
}

func TestRemoveStale(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"keep", Prefix + "new"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(root, Prefix+"old")
	if err := os.MkdirAll(filepath.Join(old, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{old, filepath.Join(root, "keep")} {
		if err := os.Chtimes(name, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveStale(root, time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := names(t, root); !slices.Equal(got, []string{Prefix + "new", "keep"}) {
		t.Errorf("folder holds %q", got)
	}
	if err := RemoveStale(filepath.Join(root, "absent"), 0); err != nil {
		t.Errorf("missing folder: %v", err)
	}
}

// What a reader gives before it fails is no finished file: its error is the writer's, and the folder is never seen.
func TestWriteFrom(t *testing.T) {
	root := t.TempDir()
	d, err := CreateDir(filepath.Join(root, "v1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFrom("a", iotest.OneByteReader(strings.NewReader("content"))); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(d.Path(), "a")); got != "content" {
		t.Errorf("content %q", got)
	}
	if err := d.WriteFrom("b", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errInjected))); !errors.Is(err, errInjected) {
		t.Errorf("a failing reader: %v", err)
	}
	if err := d.WriteFrom("../c", strings.NewReader("")); err == nil {
		t.Error("a file outside the folder was written")
	}
	if err := d.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, root); len(got) != 0 {
		t.Errorf("folder holds %q", got)
	}
}

func TestRemoveDir(t *testing.T) {
	make := func() (dir string) {
		dir = filepath.Join(t.TempDir(), "base", "v1")
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o666)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	total, _, err := failAt(0, func() error { return RemoveDir(make()) })
	if err != nil || total != 3 {
		t.Fatalf("%d operations, %v", total, err)
	}
	for n := 1; n <= total; n++ {
		dir := make()
		if _, op, err := failAt(n, func() error { return RemoveDir(dir) }); !errors.Is(err, errInjected) {
			t.Errorf("operation %d (%s) failed, error %v", n, op, err)
		}
		// All of it is there, or nothing under its name.
		if _, err := os.Stat(dir); err == nil {
			content(t, filepath.Join(dir, "a"))
		}
		if err := errors.Join(RemoveDir(dir), RemoveStale(filepath.Dir(dir), -time.Hour)); err != nil {
			t.Error(err)
		}
		if got := names(t, filepath.Dir(dir)); len(got) != 0 {
			t.Errorf("operation %d failed: folder holds %q in the end", n, got)
		}
	}
}
