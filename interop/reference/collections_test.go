package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A collection's documents become files, of which the empty ones are none, and a question knows the names of those that
// answer it; one that has no answer left is not asked.
func TestLayOut(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("fruit/corpus.jsonl", `{"_id": "a", "title": "Apples", "text": "They keep."}`+"\n"+
		`{"_id": "b", "title": "", "text": "Pears do not."}`+"\n"+`{"_id": "c", "title": "Nothing", "text": " "}`+"\n")
	write("fruit/queries.jsonl", `{"_id": "1", "text": "what keeps"}`+"\n"+`{"_id": "2", "text": "nothing?"}`+"\n"+`{"_id": "3", "text": "all"}`+"\n")
	write("fruit/qrels.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\tc\t1\n3\tb\t2\n3\ta\t1\n")
	write("guide/queries.jsonl", `{"_id": "1", "text": "what keeps"}`+"\n")
	write("guide/qrels.tsv", "query-id\tcorpus-id\tscore\n1\tshelf/a.md\t1\n")
	write("pages/shelf/a.md", "Apples keep.\n")
	write("pages/a.md", "Another page.\n")

	for _, c := range []struct {
		collection, corpus string
		sources            [][]string
		files              map[string]string
	}{
		{"fruit", "", [][]string{{"a.md"}, {"b.txt", "a.md"}}, map[string]string{"a.md": "# Apples\n\nThey keep.\n", "b.txt": "Pears do not.\n"}},
		{"guide", "pages", [][]string{{"shelf--a.md"}}, map[string]string{"shelf--a.md": "Apples keep.\n", "a.md": "Another page.\n"}},
	} {
		corpus, folder := "", filepath.Join(t.TempDir(), "new", c.collection)
		if c.corpus != "" {
			corpus = filepath.Join(dir, c.corpus)
		}
		questions, err := layOut(filepath.Join(dir, c.collection), corpus, folder)
		if err != nil {
			t.Fatal(err)
		}
		var sources [][]string
		for _, q := range questions {
			sources = append(sources, q.sources)
		}
		if !slices.EqualFunc(sources, c.sources, slices.Equal) {
			t.Errorf("%s: %q", c.collection, sources)
		}
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != len(c.files) {
			t.Errorf("%s: %d files, %v", c.collection, len(files), err)
		}
		for name, want := range c.files {
			if got, err := os.ReadFile(filepath.Join(folder, name)); string(got) != want {
				t.Errorf("%s: %s is %q, %v", c.collection, name, got, err)
			}
		}
	}
	write("bad/corpus.jsonl", "{\n")
	write("none/corpus.jsonl", "")
	write("none/queries.jsonl", "")
	write("none/qrels.tsv", "query-id\tcorpus-id\tscore\n")
	for _, name := range []string{"bad", "none", "missing"} {
		if _, err := layOut(filepath.Join(dir, name), "", t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
