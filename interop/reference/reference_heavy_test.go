//go:build heavy

package main

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/larder/pipeline"
)

// PDF files are read in a child process, which is this program.
func TestMain(m *testing.M) {
	pipeline.RunChild()
	os.Exit(m.Run())
}

// Over all folders by keyword, and over one with vectors: answers look the same, as do those before the start, to a
// search that fails and where nothing is found; the tool is the same; the same settings are refused; and over all
// questions of a mode, larder finds the right document and the answer's words at least as often.
func TestHeavyReference(t *testing.T) {
	questions, err := readQuestions("../../evals")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	python, err := newPython(filepath.Join(dir, "venv"), ".")
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare(t.Context(), python, "../../content", dir, questions, []baseMode{
		{"handbook", "keyword"}, {"refunds", "keyword"}, {"topics", "keyword"}, {"refunds", "meaning"}, {"refunds", "hybrid"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.write(t.Output()); err != nil {
		t.Fatal(err)
	}
	differences, err := c.differences()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Error(d)
	}
	rows, err := c.rows()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.shapes[0] != r.shapes[1] {
			t.Errorf("%s, %s: the reference's answers are %s, larder's %s", r.base, r.mode, r.shapes[0], r.shapes[1])
		}
	}
	for _, sum := range totals(rows) {
		theirSources, theirWords := count(sum.reference)
		ourSources, ourWords := count(sum.larder)
		if ourSources < theirSources || ourWords < theirWords {
			t.Errorf("%s: of %d questions the reference finds the document of %d and the words of %d, larder %d and %d",
				sum.mode, len(sum.questions), theirSources, theirWords, ourSources, ourWords)
		}
	}
}
