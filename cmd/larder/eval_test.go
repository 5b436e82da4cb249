package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/larder/reader"
)

// Documents rank at the place of their best chunk.
func TestDocuments(t *testing.T) {
	hits := []reader.Hit{{Path: "b"}, {Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "a"}}
	if got := documents(hits); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("documents are %v", got)
	}
}

func TestMeasure(t *testing.T) {
	// The document of grade 1 is at rank 2, that of grade 2 at rank 4.
	got := measure([]string{"x", "one", "y", "two"}, []string{"x"}, map[string]float64{"one": 1, "two": 2, "three": 1})
	gain := 1/math.Log2(3) + 2/math.Log2(5)
	ideal := 2 + 1/math.Log2(3) + 1/math.Log2(4)
	want := measures{0, 0.5, 2.0 / 3, gain / ideal}
	for k := range want {
		if math.Abs(got[k]-want[k]) > 1e-12 {
			t.Errorf("%s is %v, want %v", measureNames[k], got[k], want[k])
		}
	}
	if got := mean([]measures{{1, 1, 0.5, 0}, {0, 0.5, 0.5, 0}}); got != (measures{0.5, 0.75, 0.5, 0}) {
		t.Errorf("the mean is %v", got)
	}
	if got := mean(nil); got != (measures{}) {
		t.Errorf("the mean of none is %v", got)
	}
}

func TestReadCollection(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"corpus.jsonl":  `{"_id":"b","title":"B","text":"two"}` + "\n\n" + `{"_id":"a","title":"A","text":"one"}`,
		"queries.jsonl": `{"_id":"q1","text":"first"}` + "\n" + `{"_id":"q2","text":"second"}` + "\n",
		"qrels.tsv":     "query-id\tcorpus-id\tscore\nq1\ta\t2\r\nq1\tb\t0\nq2\tb\t0\nq3\ta\t1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readCollection(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.documents) != 2 || c.documents[0].Path != "a" || c.documents[1].Title != "B" || c.documents[1].Text != "two" {
		t.Errorf("documents are %+v", c.documents)
	}
	if len(c.queries) != 1 || c.queries[0].text != "first" || len(c.queries[0].judgement) != 1 || c.queries[0].judgement["a"] != 2 {
		t.Errorf("queries are %+v", c.queries)
	}
	if c, err := readCollection(dir, false); err != nil || c.documents != nil || len(c.queries) != 1 {
		t.Errorf("without corpus: %+v, %v", c, err)
	}
}

// The question files of the sample bases are in order, and ask at least twenty questions each.
func TestSampleQuestions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "evals", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("there are %d question files, %v", len(files), err)
	}
	for _, file := range files {
		base := filepath.Base(file[:len(file)-len(".yaml")])
		q, err := readQuestions(file, base)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(q.Questions) < 20 {
			t.Errorf("%s asks %d questions", file, len(q.Questions))
		}
		for i, one := range q.Questions {
			for path := range one.Sources {
				if _, err := os.Stat(filepath.Join(root, "content", base, filepath.FromSlash(path))); err != nil {
					t.Errorf("%s: question %d: %v", file, i+1, err)
				}
			}
		}
	}
}

func TestYAMLError(t *testing.T) {
	err := yamlError("f.yaml", errors.New("yaml: line 3: did not find expected key"))
	if err.Error() != "f.yaml:3: did not find expected key" {
		t.Error(err)
	}
	err = yamlError("f.yaml", &yaml.TypeError{Errors: []string{"line 1: field sources_ not found in type main.question", "line 2: cannot unmarshal !!str `x` into bool"}})
	if err.Error() != "f.yaml:1: unknown key sources_\nf.yaml:2: cannot unmarshal !!str `x` into bool" {
		t.Error(err)
	}
}
