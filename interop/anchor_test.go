//go:build heavy

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/rangetable"

	"example.com/larder/pipeline"
)

// slugScript gives the headings of each document, lists of texts one a line, their anchors.
const slugScript = `
import GithubSlugger from 'github-slugger'
import { createInterface } from 'node:readline'
for await (const line of createInterface({ input: process.stdin })) {
  const slugger = new GithubSlugger()
  console.log(JSON.stringify(JSON.parse(line).map(text => slugger.slug(text))))
}
`

// newSlugger installs npm's github-slugger and returns a function that runs it.
func newSlugger(t *testing.T) func(documents [][]string) [][]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slug.mjs"), []byte(slugScript), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "github-slugger@2.0.0")
	return func(documents [][]string) [][]string {
		var in bytes.Buffer
		encoder := json.NewEncoder(&in)
		for _, headings := range documents {
			if headings == nil {
				headings = []string{}
			}
			if err := encoder.Encode(headings); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("node", "slug.mjs")
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &in, os.Stderr
		return decodeLines[[]string](t, cmd, len(documents))
	}
}

// decodeLines runs a command that prints so many JSON values, one a line.
func decodeLines[T any](t *testing.T, cmd *exec.Cmd, n int) (values []T) {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	for line := range bytes.Lines(out) {
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if len(values) != n {
		t.Fatalf("%s: %d answers, want %d", cmd, len(values), n)
	}
	return values
}

// anchorsOf returns the anchors of a document's headings; bare headings without one have that of the heading above.
func anchorsOf(d *pipeline.Document) (anchors []string) {
	for _, b := range d.Blocks {
		if b.Kind == pipeline.Heading {
			anchors = append(anchors, b.Anchor)
		}
	}
	return anchors
}

// TestAnchorsOfCharacters gives headings of all kinds of characters the anchors of github-slugger.
func TestAnchorsOfCharacters(t *testing.T) {
	slug := newSlugger(t)
	documents := [][]string{
		{"Dup", "Dup", "dup 1", "Dup-1", "Dup", "dup 1 1"},
		{"constructor", "toString", "constructor"},
		{"Привет, мир!", "ΑΣ ΣΑΣ", "İstanbul", "ǅ", "Straße", "日本語 見出し", "हिन्दी", "ภาษาไทย", "e\u0301", "Ⅳ ² ½ ① Ⓐ", "a\u203fb _c_d", "“q” – — …", "🚀 go 👩‍💻"},
	}
	// The characters of the Basic Multilingual Plane that text may hold, one in a heading, of the version of Unicode
	// that github-slugger's tables are of.
	assigned := rangetable.Assigned("13.0.0")
	var all []string
	for r := rune('!'); r < 0xfffd; r++ {
		if r >= 0xd800 && r < 0xf900 || strings.ContainsRune("`*_[]<>&\\!~#|$:@{}", r) || !unicode.In(r, assigned) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) {
			continue
		}
		all = append(all, fmt.Sprintf("x%cx %x", r, r))
	}
	documents = append(documents, all)
	for i, want := range slug(documents) {
		var text strings.Builder
		for _, heading := range documents[i] {
			text.WriteString("# " + strings.ReplaceAll(heading, "_", "\\_") + "\n\n")
		}
		got := anchorsOf(pipeline.Parse(context.Background(), "a.md", []byte(text.String()), pipeline.ParseOptions{}))
		if len(got) != len(want) {
			t.Errorf("%d headings, want %d", len(got), len(want))
			continue
		}
		wrong := 0
		for j := range want {
			if got[j] != want[j] {
				if wrong++; wrong < 20 {
					t.Errorf("%+q: got %+q, want %+q", documents[i][j], got[j], want[j])
				}
			}
		}
		t.Logf("%d headings, %d wrong", len(want), wrong)
	}
}

// TestAnchorsOfMaterial compares the anchors of the test material's headings with those that github-slugger gives the
// headings that markdown-it-py renders; headings that give themselves an anchor have that one.
func TestAnchorsOfMaterial(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "data", "md")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no test material: %v", err)
	}
	var names []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 3000 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	python := newVenv(t, "markdown-it-py==4.0.0", "mdit-py-plugins==0.5.0", "linkify-it-py==2.0.3")
	slug := newSlugger(t)
	cmd := exec.Command(python, filepath.Join("reading", "markdown.py"))
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(names, "\n")), os.Stderr
	type page struct{ Headings [][2]string } // text and own anchor
	pages := decodeLines[page](t, cmd, len(names))
	documents := make([][]string, len(pages))
	for i, p := range pages {
		for _, heading := range p.Headings {
			if heading[1] == "" {
				documents[i] = append(documents[i], heading[0])
			}
		}
	}
	headings, own, wrong := 0, 0, 0
	for i, slugs := range slug(documents) {
		var want []string
		for _, heading := range pages[i].Headings {
			anchor := heading[1]
			if anchor == "" {
				anchor, slugs = slugs[0], slugs[1:]
			} else {
				own++
			}
			if strings.TrimSpace(heading[0]) != "" { // a heading without text is no block
				want = append(want, anchor)
			}
		}
		data, err := os.ReadFile(names[i])
		if err != nil {
			t.Fatal(err)
		}
		got := anchorsOf(pipeline.Parse(context.Background(), names[i], data, pipeline.ParseOptions{}))
		headings += len(want)
		if len(got) != len(want) {
			wrong++
			t.Logf("%s: %d headings, want %d: %.300q, want %.300q", names[i], len(got), len(want), got, want)
			continue
		}
		for j := range want {
			if got[j] != want[j] {
				wrong++
				t.Logf("%s: got %q, want %q", names[i], got[j], want[j])
			}
		}
	}
	t.Logf("%d files, %d headings, %d with an anchor of their own, %d wrong", len(names), headings, own, wrong)
	if headings < 10_000 || wrong > 0 {
		t.Errorf("%d of %d anchors are wrong", wrong, headings)
	}
}
