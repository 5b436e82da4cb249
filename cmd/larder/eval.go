package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/metrics"
	"example.com/larder/reader"
)

type evalCommand struct {
	Bases     []string `arg:"" optional:"" help:"Bases to measure (default: all with a question file)."`
	Shelf     string   `default:"dist" help:"Shelf with the artifacts (default: dist)." placeholder:"DIR"`
	Questions string   `default:"evals" help:"Folder with <base>.yaml question files (default: evals)." placeholder:"DIR"`
	Write     bool     `help:"Write the results to <base>.txt beside the question file."`
	BEIR      string   `help:"Measure a collection in BEIR's layout instead: corpus.jsonl, queries.jsonl, qrels.tsv." placeholder:"DIR"`
	Docs      string   `help:"With --beir: the corpus is this folder, and ids are paths below it." placeholder:"DIR"`
	Mode      string   `enum:",meaning,keyword,hybrid" default:"" help:"Measure only this mode."`
	Embedder  string   `enum:",onnx,native" default:"" help:"With --beir: embed with onnx or native."`
	fetching
}

// A ranker is one way to answer: a mode and, in hybrid mode, a fusion.
type ranker struct {
	name   string
	mode   artifact.Mode
	fusion reader.Fusion
}

var runs = []ranker{
	{"keyword", reader.Keyword, ""},
	{"meaning", reader.Meaning, ""},
	{"hybrid rrf", reader.Hybrid, reader.RRF},
	{"hybrid interleave", reader.Hybrid, reader.Interleave},
}

// runsFor are the runs that a base can do, in the mode asked for if any.
func runsFor(base *reader.Base, mode string) (list []ranker) {
	own := base.Manifest().Settings.Mode
	for _, r := range runs {
		if (own == reader.Hybrid || own == r.mode) && (mode == "" || artifact.Mode(mode) == r.mode) {
			list = append(list, r)
		}
	}
	return list
}

// evalDepth is how many chunks are fetched for a ranking of documents.
const evalDepth = 100

// A question is one of a question file.
type question struct {
	Question     string  `yaml:"question"`
	Sources      sources `yaml:"sources"`      // what answers it: a list of paths, or paths with grades
	Unanswerable bool    `yaml:"unanswerable"` // the base has no answer
}

// sources are paths and their grades, above 0.
type sources map[string]float64

func (s *sources) UnmarshalYAML(n *yaml.Node) error {
	*s = sources{}
	if n.Kind == yaml.MappingNode {
		return n.Decode((*map[string]float64)(s))
	}
	var paths []string
	if err := n.Decode(&paths); err != nil {
		return err
	}
	for _, p := range paths {
		(*s)[p] = 1
	}
	return nil
}

// A questionFile is evals/<base>.yaml.
type questionFile struct {
	Base      string     `yaml:"base"`
	Questions []question `yaml:"questions"`
	// Floors are the least measures of a run, by the run's name and the measure's.
	Floors map[string]map[string]float64 `yaml:"floors"`
}

func readQuestions(file string) (*questionFile, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var q questionFile
	if err := d.Decode(&q); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	for i, one := range q.Questions {
		if strings.TrimSpace(one.Question) == "" || one.Unanswerable == (len(one.Sources) > 0) {
			return nil, usageError{fmt.Errorf("%s: question %d needs words, and either sources or unanswerable: true", file, i+1)}
		}
	}
	if len(q.Questions) == 0 {
		return nil, usageError{fmt.Errorf("%s: there are no questions", file)}
	}
	return &q, nil
}

func (c *evalCommand) Run(e *environment) error {
	if c.BEIR != "" {
		return c.beir(e)
	}
	files, err := filepath.Glob(filepath.Join(c.Questions, "*.yaml"))
	if err != nil || len(files) == 0 {
		return hinted{fmt.Errorf("there are no question files <base>.yaml in %s", c.Questions), "name their folder with --questions"}
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	for _, b := range c.Bases {
		if !slices.Contains(names, b) {
			return usageError{fmt.Errorf("there is no %s.yaml in %s: it has %s", b, c.Questions, strings.Join(names, ", "))}
		}
	}
	var errs []error
	for _, name := range names {
		if len(c.Bases) == 0 || slices.Contains(c.Bases, name) {
			errs = append(errs, c.evalBase(e, name))
		}
	}
	return errors.Join(errs...)
}

// measures of a run, means over the answerable questions.
type measures struct{ hit3, mrr10, ndcg10, recall10 float64 }

func (m measures) named() map[string]float64 {
	return map[string]float64{"hit@3": m.hit3, "MRR@10": m.mrr10, "nDCG@10": m.ndcg10, "recall@10": m.recall10}
}

// evalBase measures one base with its question file, prints the table and compares it with the floors.
func (c *evalCommand) evalBase(e *environment, name string) error {
	q, err := readQuestions(filepath.Join(c.Questions, name+".yaml"))
	if err != nil {
		return err
	}
	base, err := reader.Open(os.DirFS(c.Shelf), name, reader.Options{})
	if err != nil {
		return hinted{err, "bake it first: larder bake --base " + name}
	}
	defer base.Close()
	if err := c.checkSources(base, q); err != nil {
		return err
	}
	list := runsFor(base, c.Mode)
	ranks := make([][]int, len(q.Questions)) // of the first relevant source, by question and run
	results := make([]measures, len(list))
	for r, run := range list {
		answerable := 0.0
		for i, one := range q.Questions {
			hits, err := base.Search(e, reader.Query{Text: one.Question, Mode: run.mode, Fusion: run.fusion, TopK: evalDepth})
			if err != nil {
				return err
			}
			if one.Unanswerable {
				continue
			}
			ranking, first := documents(hits.Hits), documents(hits.Hits[:min(3, len(hits.Hits))])
			ranks[i] = append(ranks[i], slices.IndexFunc(ranking, func(p string) bool { return one.Sources[p] > 0 })+1)
			answerable++
			results[r].hit3 += metrics.Hit(first, one.Sources, 3)
			results[r].mrr10 += metrics.ReciprocalRank(ranking, one.Sources, 10)
			results[r].ndcg10 += metrics.NDCG(ranking, one.Sources, 10)
			results[r].recall10 += metrics.Recall(ranking, one.Sources, 10)
		}
		for _, m := range []*float64{&results[r].hit3, &results[r].mrr10, &results[r].ndcg10, &results[r].recall10} {
			*m /= max(answerable, 1)
		}
	}
	var text bytes.Buffer
	writeEval(&text, name, q, list, results, ranks)
	if _, err := e.out.Write(text.Bytes()); err != nil {
		return err
	}
	if c.Write {
		if err := durable.WriteFile(filepath.Join(c.Questions, name+".txt"), text.Bytes()); err != nil {
			return err
		}
	}
	return checkFloors(name, q, list, results)
}

// checkSources makes sure that the question file speaks of documents that there are.
func (c *evalCommand) checkSources(base *reader.Base, q *questionFile) error {
	have := map[string]bool{}
	for i := range base.Artifact().Documents() {
		have[base.Artifact().Document(i).Path] = true
	}
	for i, one := range q.Questions {
		for path := range one.Sources {
			if !have[path] {
				return usageError{fmt.Errorf("%s: question %d expects %q, which is no document of the base", base.Manifest().Base, i+1, path)}
			}
		}
	}
	return nil
}

// documents are the paths of hits, each at its best place.
func documents(hits []reader.Hit) (paths []string) {
	seen := map[string]bool{}
	for _, h := range hits {
		if !seen[h.Path] {
			seen[h.Path] = true
			paths = append(paths, h.Path)
		}
	}
	return paths
}

func writeEval(w io.Writer, name string, q *questionFile, list []ranker, results []measures, ranks [][]int) {
	answerable := 0
	for _, one := range q.Questions {
		if !one.Unanswerable {
			answerable++
		}
	}
	fmt.Fprintf(w, "%s: %d answerable questions, %d unanswerable\n\n", name, answerable, len(q.Questions)-answerable)
	writeMeasures(w, list, results)
	fmt.Fprintf(w, "\nrank of the first expected document, 0 if it is not found:\n")
	for _, r := range list {
		fmt.Fprintf(w, "%18s", r.name)
	}
	fmt.Fprintln(w)
	for i, one := range q.Questions {
		for k := range list {
			if one.Unanswerable {
				fmt.Fprintf(w, "%18s", "-")
			} else {
				fmt.Fprintf(w, "%18d", ranks[i][k])
			}
		}
		fmt.Fprintf(w, "  %s\n", one.Question)
	}
	fmt.Fprintln(w)
}

func writeMeasures(w io.Writer, list []ranker, results []measures) {
	fmt.Fprintf(w, "%-18s %7s %7s %9s %8s\n", "mode", "hit@3", "MRR@10", "recall@10", "nDCG@10")
	for r, m := range results {
		fmt.Fprintf(w, "%-18s %7.3f %7.3f %9.3f %8.3f\n", list[r].name, m.hit3, m.mrr10, m.recall10, m.ndcg10)
	}
}

// checkFloors returns an error that names every measure below its floor.
func checkFloors(name string, q *questionFile, list []ranker, results []measures) error {
	var below []string
	for r, run := range list {
		for _, measure := range []string{"hit@3", "MRR@10", "recall@10", "nDCG@10"} {
			floor, ok := q.Floors[run.name][measure]
			if got := results[r].named()[measure]; ok && got < floor {
				below = append(below, fmt.Sprintf("%s %s is %.3f, its floor %.3f", run.name, measure, got, floor))
			}
		}
	}
	if len(below) == 0 {
		return nil
	}
	return hinted{fmt.Errorf("%s answers worse than its floors allow: %s", name, strings.Join(below, "; ")),
		"larder eval " + name + " shows every question; floors stand in its question file"}
}
