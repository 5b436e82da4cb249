package testkit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLawImports: internal packages import each other and the standard library; what makes shelves for tests also
// imports what it makes them with.
func TestLawImports(t *testing.T) {
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	check := func(dir, skip string, allowed ...string) {
		t.Helper()
		violations, n, err := CheckImports(dir, allowed...)
		if err != nil {
			t.Fatal(err)
		}
		files += n
		for _, v := range violations {
			if skip == "" || !strings.HasPrefix(v, skip) {
				t.Errorf("%s: %s", dir, v)
			}
		}
	}
	for _, f := range folders {
		if f.IsDir() && f.Name() != "testkit" {
			check(filepath.Join("..", f.Name()), "", "internal")
		}
	}
	check(".", "shelf/", "internal/testkit", "internal")
	check("shelf", "", "internal/testkit", "internal", "artifact", "models")
	if files < 25 {
		t.Errorf("only %d files read", files)
	}
	t.Logf("%d files", files)
}

// TestLawCgo: cgo and the tag ORT, which brings it, are in pipeline and interop only.
func TestLawCgo(t *testing.T) {
	files, err := SourceFiles(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]int{}
	for _, f := range files {
		folder, _, _ := strings.Cut(f.Path, "/")
		folders[folder]++
		if folder == "pipeline" || folder == "interop" {
			continue
		}
		if slices.Contains(f.Imports, "C") {
			t.Errorf("%s uses cgo", f.Path)
		}
		for _, tag := range []string{"ORT", "cgo"} {
			if f.Mentions(tag) {
				t.Errorf("%s depends on the build tag %s", f.Path, tag)
			}
		}
	}
	for _, folder := range []string{"artifact", "cmd", "internal", "interop", "models", "pipeline", "reader"} {
		if folders[folder] == 0 {
			t.Errorf("no file read in %s", folder)
		}
	}
	t.Logf("%d files", len(files))
}

// The laws find what breaks them.
func TestLawsBite(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.go":           "package p\n\nimport (\n\t\"fmt\"\n\t\"example.com/larder/artifact\"\n\t\"example.com/larder/models/minilm\"\n)\n",
		"good_test.go":      "package p\n\nimport \"example.com/larder/internal/testkit/shelf\"\n",
		"ignored.go":        "//go:build ignore\n\npackage main\n\nimport \"golang.org/x/text/unicode/norm\"\n",
		"testdata/far.go":   "package q\n\nimport \"github.com/a/b\"\n",
		"below/other.go":    "package q\n\nimport \"example.com/larder/reader\"\n",
		"below/third.go":    "package q\n\nimport \"golang.org/x/text/unicode/norm\"\n",
		"below/c.go":        "package q\n\nimport \"C\"\n",
		"below/kit.go":      "package q\n\nimport \"example.com/larder/internal/testkit\"\n",
		"below/near.go":     "package q\n\nimport \"example.com/larder/artifacts\"\n",
		"below/x_test.go":   "package q\n\nimport \"github.com/a/b\"\n",
		"below/tagged.go":   "//go:build linux && (heavy || !ORT)\n\npackage q\n",
		"below/untagged.go": "// A comment about ORT.\n\npackage q\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := CheckImports(dir, "artifact", "models", "internal")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		"below/c.go imports C",
		"below/kit.go imports example.com/larder/internal/testkit",
		"below/near.go imports example.com/larder/artifacts",
		"below/other.go imports example.com/larder/reader",
		"below/third.go imports golang.org/x/text/unicode/norm",
		"below/x_test.go imports github.com/a/b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("violations\n%q, want\n%q", got, want)
	}
	files, err := SourceFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Mentions("ORT") != (f.Path == "below/tagged.go") {
			t.Errorf("%s: ORT %v", f.Path, f.Mentions("ORT"))
		}
	}
}

// TestLawFolders: Go code lies in the folders that the design names, and the magefile needs nothing but Go.
func TestLawFolders(t *testing.T) {
	files, err := SourceFiles(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"artifact", "cmd", "evals", "examples", "internal", "interop", "knowledge", "models", "pipeline", "reader", "serve"}
	for _, f := range files {
		folder, _, nested := strings.Cut(f.Path, "/")
		if nested && !slices.Contains(known, folder) {
			t.Errorf("%s is in none of the folders %q", f.Path, known)
		}
		for _, pkg := range f.Imports {
			if !nested && !Standard(pkg) {
				t.Errorf("%s imports %s", f.Path, pkg)
			}
		}
	}
}
