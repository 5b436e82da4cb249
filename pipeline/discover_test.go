package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree makes a folder of files, each with its own name as content; names that end in / are folders.
func tree(t *testing.T, names ...string) *os.Root {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "base")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(full, 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func paths(found []Source) (list []string) {
	for _, d := range found {
		list = append(list, d.Path)
	}
	return list
}

func TestDiscover(t *testing.T) {
	root := tree(t,
		"base.yaml", "b.md", "a/z.TXT", "a.md", "a/b/c/d.Markdown", "A2.pdf", "пример.md", "a-b.md",
		"sub/base.yaml", "BASE.YML", "picture.jpg", "Makefile", "a/.hidden.md", ".git/config.md", "empty/", "x.md/y.md",
	)
	if err := os.WriteFile(filepath.Join(root.Name(), "nothing.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	found, leftOut, err := Discover(root, DefaultSettings("x"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A2.pdf", "a-b.md", "a.md", "a/b/c/d.Markdown", "a/z.TXT", "b.md", "nothing.md", "x.md/y.md", "пример.md"}
	if got := paths(found); !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
	for _, d := range found {
		want := int64(len(d.Name))
		if d.Path == "nothing.md" {
			want = 0
		}
		if d.Size != want {
			t.Errorf("%s has %d bytes, want %d", d.Path, d.Size, want)
		}
		data, err := ReadSource(root, d, 100)
		if err != nil || int64(len(data)) != want {
			t.Errorf("%s: read %q, %v", d.Path, data, err)
		}
	}
	settings := "settings are read from base.yaml at the top of the folder alone"
	wantOut := []LeftOut{
		{".git", "hidden folder"},
		{"BASE.YML", settings},
		{"Makefile", "no extension (documents end in .markdown, .md, .pdf or .txt)"},
		{"a/.hidden.md", "hidden file"},
		{"picture.jpg", "files ending in .jpg are not read"},
		{"sub/base.yaml", settings},
	}
	if !slices.Equal(leftOut, wantOut) {
		t.Errorf("left out\n%q, want\n%q", leftOut, wantOut)
	}
}

func TestDiscoverSettings(t *testing.T) {
	root := tree(t, "a.md", "faq/a.md", "faq/old/b.md", "c.pdf")
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	s := DefaultSettings("x")
	s.Skip = []string{"*.PDF", "*.pfd"}
	s.Metadata = []MetadataRule{
		{"**", Meta{Topics: []string{"all", "some"}, Date: day, UnitID: "u1"}},
		{"faq/**", Meta{ContentType: "faq", Topics: []string{"answers"}}},
		{"faq/old/*", Meta{ContentType: "note", UnitID: "u2", Date: day.AddDate(0, 0, 1)}},
		{"fqa/*", Meta{ContentType: "faq"}},
	}
	found, _, err := Discover(root, s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range found {
		got[d.Path] = fmt.Sprint(d.MayFail, d.Meta.ContentType, d.Meta.Topics, d.Meta.UnitID, d.Meta.Date.Format(time.DateOnly))
	}
	for path, want := range map[string]string{
		"a.md":         "false [all some]u1 2025-03-01",
		"c.pdf":        "true [all some]u1 2025-03-01",
		"faq/a.md":     "false faq[answers]u1 2025-03-01",
		"faq/old/b.md": "false note[answers]u2 2025-03-02",
	} {
		if strings.ReplaceAll(got[path], " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
	want := []string{`skip[1]: "*.pfd"`, `metadata[3].files: "fqa/*"`}
	if got := s.Unmatched(found); !slices.Equal(got, want) {
		t.Errorf("unmatched %q, want %q", got, want)
	}
	found[1].Meta.Topics[0] = "changed"
	if s.Metadata[1].Meta.Topics[0] != "answers" || s.Metadata[0].Meta.Topics[0] != "all" {
		t.Error("documents share their topics with the rules")
	}
}

// wantError checks that err says each of the words.
func wantError(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not say %q", what, err, w)
		}
	}
}

func TestDiscoverNothing(t *testing.T) {
	extensions := ".markdown, .md, .pdf or .txt"
	root := tree(t)
	_, _, err := Discover(root, DefaultSettings("x"))
	wantError(t, "empty folder", err, root.Name(), "no document", extensions)

	root = tree(t, "base.yaml", "a.docx", "b.docx")
	_, leftOut, err := Discover(root, DefaultSettings("x"))
	wantError(t, "other files", err, root.Name(), extensions, "left out: 2", "a.docx: files ending in .docx")
	if len(leftOut) != 2 {
		t.Errorf("left out %q", leftOut)
	}

	missing := filepath.Join(root.Name(), "missing")
	_, err = OpenFolder(missing)
	wantError(t, "missing folder", err, missing, extensions)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v is not ErrNotExist", err)
	}
	file := filepath.Join(root.Name(), "a.docx")
	_, err = OpenFolder(file)
	wantError(t, "a file", err, file, "not a folder")
}

func TestDiscoverLimits(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("d/", n) + "a.md" }
	root := tree(t, deep(maxDepth))
	if found, _, err := Discover(root, DefaultSettings("x")); err != nil || len(found) != 1 {
		t.Errorf("%d folders deep: %v, %v", maxDepth, found, err)
	}
	root = tree(t, deep(maxDepth+1))
	_, _, err := Discover(root, DefaultSettings("x"))
	wantError(t, "too deep", err, root.Name(), "more than 64 folders deep")

	root = tree(t, "a.md", "b.md", "c/d.md")
	w := walker{root: root, maxEntries: 4}
	if err := w.folder(".", 0, nil); err != nil {
		t.Error(err)
	}
	w = walker{root: root, maxEntries: 3}
	wantError(t, "too many", w.folder(".", 0, nil), root.Name(), "more than 3 files")
}

func TestReadSource(t *testing.T) {
	root := tree(t, "12345.md", "sub/")
	src := Source{Path: "12345.md", Name: "12345.md"}
	for _, limit := range []int64{8, 9, 1 << 40} {
		if data, err := ReadSource(root, src, limit); err != nil || string(data) != "12345.md" {
			t.Errorf("limit %d: %q, %v", limit, data, err)
		}
	}
	for _, limit := range []int64{0, 7} {
		_, err := ReadSource(root, src, limit)
		wantError(t, "limit", err, fmt.Sprintf("limit of %d bytes", limit))
		if strings.Contains(err.Error(), root.Name()) { // it goes into the report and the artifact
			t.Errorf("%v names the folder", err)
		}
	}
	_, err := ReadSource(root, Source{Name: "gone.md"}, 100)
	wantError(t, "missing", err, "no such file")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	_, err = ReadSource(root, Source{Name: "sub"}, 100)
	wantError(t, "folder", err, "no longer a regular file")
	_, err = ReadSource(root, Source{Name: "../base/12345.md"}, 100)
	wantError(t, "outside", err, "escapes")
}
