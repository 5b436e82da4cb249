//go:build heavy

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
)

// What the ranking by keyword is compared with: method "lucene" of the PyPI package bm25s.
var bm25sPackages = []string{"bm25s==0.3.16", "numpy==2.4.6"}

// bm25s reads {"dtype", "k", "documents", "queries"}, documents and queries as lists of terms, and writes for each
// query {"ids", "scores"}, best first.
const bm25sScript = `
import json, sys, bm25s
task = json.load(sys.stdin)
index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype=task["dtype"])
index.index(task["documents"], show_progress=False)
for query in task["queries"]:
    ids, scores = index.retrieve([query], k=task["k"], show_progress=False)
    print(json.dumps({"ids": ids[0].tolist(), "scores": scores[0].tolist()}))
`

type bm25sTask struct {
	Dtype     string     `json:"dtype"`
	K         int        `json:"k"`
	Documents [][]string `json:"documents"`
	Queries   [][]string `json:"queries"`
}

// A ranked list is documents, best first, without those that score 0.
type ranked struct {
	IDs    []int     `json:"ids"`
	Scores []float64 `json:"scores"`
}

func bm25s(t *testing.T, python string, task bm25sTask) []ranked {
	t.Helper()
	input, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", bm25sScript)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bm25s: %v\n%s", err, stderr.Bytes())
	}
	var results []ranked
	for line := range bytes.Lines(out) {
		var r ranked
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		for i, s := range r.Scores {
			if s == 0 {
				r.IDs, r.Scores = r.IDs[:i], r.Scores[:i]
				break
			}
		}
		results = append(results, r)
	}
	if len(results) != len(task.Queries) {
		t.Fatalf("bm25s gave %d results for %d queries", len(results), len(task.Queries))
	}
	return results
}

// A collection is documents of one chunk each, and queries.
type collection struct {
	name      string
	documents []shelf.Document
	queries   []string
}

// scifact reads the collection from ../shared, nil where it is absent.
func scifact(t *testing.T) *collection {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "data", "retrieval", "scifact")
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	c := &collection{name: "scifact"}
	each := func(name string, f func(title, text string)) {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var record struct{ Title, Text string }
			if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f(record.Title, record.Text)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	each("corpus.jsonl", func(title, text string) {
		path := fmt.Sprintf("%06d", len(c.documents))
		c.documents = append(c.documents, shelf.Document{Path: path, Title: title, Chunks: []string{text}})
	})
	each("queries.jsonl", func(_, text string) { c.queries = append(c.queries, text) })
	if len(c.documents) < 5000 || len(c.queries) < 300 {
		t.Fatalf("%s is not whole: %d documents, %d queries", dir, len(c.documents), len(c.queries))
	}
	return c
}

// TestBM25EqualsBM25s compares the best 100 documents of every query, and their scores, with the reference on the
// same terms. Documents may change places only where the reference's scores are equal within its rounding.
func TestBM25EqualsBM25s(t *testing.T) {
	python := newVenv(t, bm25sPackages...)
	analyzer, err := analyze.New([]string{"en"})
	if err != nil {
		t.Fatal(err)
	}
	collections := []*collection{{"by rule", shelf.Documents(800, 1), shelf.Questions(120)}}
	if c := scifact(t); c != nil {
		collections = append(collections, c)
	} else {
		t.Log("without ../shared, on the collection by rule only")
	}
	for _, c := range collections {
		s, err := shelf.New(shelf.Base{Name: "bm25", Mode: artifact.Keyword, Languages: []string{"en"}, Documents: c.documents})
		if err != nil {
			t.Fatal(err)
		}
		base, err := reader.Open(s, "bm25", reader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		task := bm25sTask{K: 100}
		number := map[string]int{}
		for i, d := range c.documents {
			number[d.Path] = i
			task.Documents = append(task.Documents, analyzer.Terms([]string{}, d.Title+"\n"+d.Chunks[0]))
		}
		var ours []ranked
		for _, q := range c.queries {
			r, err := base.Search(t.Context(), reader.Query{Text: q, TopK: task.K})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Terms) == 0 {
				t.Fatalf("%q has no terms", q)
			}
			task.Queries = append(task.Queries, r.Terms)
			var list ranked
			for _, h := range r.Hits {
				list.IDs, list.Scores = append(list.IDs, number[h.Path]), append(list.Scores, h.BM25)
			}
			ours = append(ours, list)
		}
		for _, precision := range []struct {
			dtype   string
			epsilon float64
		}{{"float32", 0x1p-20}, {"float64", 0x1p-48}} { // relative; a score is a sum of up to 64 rounded terms
			task.Dtype = precision.dtype
			compared, places, swapped := 0, 0, 0
			for i, want := range bm25s(t, python, task) {
				n, err := differ(ours[i], want, task.K, precision.epsilon)
				if err != nil {
					t.Errorf("%s, %s: %q: %v", c.name, precision.dtype, c.queries[i], err)
				}
				compared++
				places += len(want.IDs)
				swapped += n
			}
			t.Logf("%s: %d documents, %d queries compared in %s, %d places, %d of them ties in another order",
				c.name, len(c.documents), compared, precision.dtype, places, swapped)
			if compared < 50 || places < 20*compared {
				t.Errorf("%s: only %d queries and %d places", c.name, compared, places)
			}
		}
	}
}

// differ compares two rankings of at most k documents, and counts the places where ties are in another order.
func differ(got, want ranked, k int, epsilon float64) (swapped int, err error) {
	if len(got.IDs) != len(want.IDs) {
		return 0, fmt.Errorf("%d documents, want %d", len(got.IDs), len(want.IDs))
	}
	equal := func(a, b float64) bool { return math.Abs(a-b) <= epsilon*max(a, b) }
	score := map[int]float64{}
	for i, id := range want.IDs {
		score[id] = want.Scores[i]
	}
	for i, id := range got.IDs {
		if !equal(got.Scores[i], want.Scores[i]) {
			return swapped, fmt.Errorf("place %d has the score %v, want %v", i+1, got.Scores[i], want.Scores[i])
		}
		if id == want.IDs[i] {
			continue
		}
		swapped++
		theirs, ok := score[id]
		// A document that the reference doesn't list may only tie with its last.
		if !ok && len(want.IDs) == k {
			theirs = want.Scores[k-1]
		}
		if !equal(theirs, got.Scores[i]) {
			return swapped, fmt.Errorf("place %d is document %d with %v, want %d with %v", i+1, id, got.Scores[i], want.IDs[i], want.Scores[i])
		}
	}
	return swapped, nil
}
