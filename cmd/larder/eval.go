package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/metrics"
	"example.com/larder/reader"
)

type evalCommand struct {
	Bases     []string `arg:"" optional:"" name:"base" help:"Bases to measure (default: all that have a question file)."`
	Shelf     string   `default:"dist" help:"Shelf with the artifacts (default: dist)." placeholder:"DIR"`
	Questions string   `default:"evals" help:"Folder with a question file BASE.yaml for each base (default: evals)." placeholder:"DIR"`
	Write     bool     `help:"Write the results to BASE.txt beside the question file."`
	BEIR      string   `help:"Measure a collection in BEIR's layout instead: corpus.jsonl, queries.jsonl, qrels.tsv." placeholder:"DIR"`
	Docs      string   `help:"With --beir: the corpus is this folder, and ids are paths below it." placeholder:"DIR"`
	Mode      string   `enum:",meaning,keyword,hybrid" default:"" help:"Measure only this mode: meaning, keyword or hybrid." placeholder:"MODE"`
	Embedder  string   `enum:",onnx,native" default:"" help:"With --beir: embed with onnx or native (default: onnx)." placeholder:"NAME"`
	fetching
}

func (evalCommand) Help() string {
	return `Prints hit@3, MRR@10, recall@10 and nDCG@10 by mode, and the rank of the first expected document for each
question. A measure below its floor in the question file is a failure.`
}

// check refuses flags that would do nothing.
func (c *evalCommand) check() error {
	for _, f := range []struct {
		given      bool
		flag       string
		collection bool // it belongs to --beir
	}{
		{c.Docs != "", "--docs", true}, {c.Embedder != "", "--embedder", true},
		{c.Write, "--write", false}, {len(c.Bases) > 0, "a base's name", false},
	} {
		if f.given && f.collection != (c.BEIR != "") {
			return usageError{fmt.Errorf("%s and --beir %s", f.flag, map[bool]string{true: "go together", false: "exclude each other"}[f.collection])}
		}
	}
	return nil
}

// A ranker is one way to rank: a mode and, in hybrid mode, a fusion.
type ranker struct {
	name   string
	mode   artifact.Mode
	fusion reader.Fusion
}

var rankers = []ranker{
	{"keyword", reader.Keyword, ""},
	{"meaning", reader.Meaning, ""},
	{"hybrid rrf", reader.Hybrid, reader.RRF},
	{"hybrid interleave", reader.Hybrid, reader.Interleave},
}

// rankersOf returns the ways in which a base can rank, only those of a mode unless it is "".
func rankersOf(base *reader.Base, mode string) (list []ranker) {
	own := base.Manifest().Settings.Mode
	for _, r := range rankers {
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
	// Floors are the least measures of rankers, by the ranker's name and the measure's.
	Floors map[string]map[string]float64 `yaml:"floors"`
}

// readQuestions reads the question file of a base.
func readQuestions(file, base string) (*questionFile, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var q questionFile
	if err := d.Decode(&q); err != nil && !errors.Is(err, io.EOF) {
		return nil, usageError{yamlError(file, err)}
	}
	if err := q.check(base); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return &q, nil
}

var (
	yamlLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
	yamlUnknown = regexp.MustCompile(`field (.+) not found in type main\.\w+$`)
)

// yamlError tells the mistakes that the YAML parser found as others are told: file:line: what.
func yamlError(file string, err error) error {
	problems := []string{err.Error()}
	var several *yaml.TypeError
	if errors.As(err, &several) {
		problems = several.Errors
	}
	for i, p := range problems {
		p = yamlUnknown.ReplaceAllString(p, "unknown key $1")
		if m := yamlLine.FindStringSubmatch(p); m != nil {
			p = m[1] + ": " + p[len(m[0]):]
		}
		problems[i] = file + ":" + p
	}
	return errors.New(strings.Join(problems, "\n"))
}

func (q *questionFile) check(base string) error {
	if q.Base != base {
		return fmt.Errorf("base is %q, and the file's name says %q", q.Base, base)
	}
	if len(q.Questions) == 0 {
		return errors.New("there are no questions")
	}
	for i, one := range q.Questions {
		if strings.TrimSpace(one.Question) == "" || one.Unanswerable == (len(one.Sources) > 0) {
			return fmt.Errorf("question %d needs words, and either sources or unanswerable: true", i+1)
		}
		for path, grade := range one.Sources {
			if !(grade > 0) {
				return fmt.Errorf("question %d gives %s the grade %v: grades are above 0", i+1, path, grade)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Floors)) {
		if !slices.ContainsFunc(rankers, func(r ranker) bool { return r.name == name }) {
			return fmt.Errorf("floors: %q is not one of keyword, meaning, hybrid rrf, hybrid interleave", name)
		}
		for _, measure := range slices.Sorted(maps.Keys(q.Floors[name])) {
			if !slices.Contains(measureNames, measure) {
				return fmt.Errorf("floors: %s: %q is not one of %s", name, measure, strings.Join(measureNames, ", "))
			}
			if floor := q.Floors[name][measure]; !(floor >= 0 && floor <= 1) {
				return fmt.Errorf("floors: %s: %s: %v is out of range (0 to 1)", name, measure, floor)
			}
		}
	}
	return nil
}

func (c *evalCommand) Run(e *environment) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.BEIR != "" {
		return c.beir(e)
	}
	files, err := filepath.Glob(filepath.Join(c.Questions, "*.yaml"))
	if err != nil || len(files) == 0 {
		return hinted{fmt.Errorf("there is no question file BASE.yaml in %s", c.Questions), "name their folder with --questions"}
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
	if onShelf, err := basesOn(c.Shelf); err == nil && len(c.Bases) == 0 {
		for _, base := range onShelf {
			if !slices.Contains(names, base) {
				fmt.Fprintf(e.err, "larder: %s is not measured: there is no %s\n", base, filepath.Join(c.Questions, base+".yaml"))
			}
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

// measureNames are the names of measures, in their order.
var measureNames = []string{"hit@3", "MRR@10", "recall@10", "nDCG@10"}

// measures of a ranker are means over the answerable questions, in the order of measureNames.
type measures [4]float64

// measure is what one ranking of documents is worth. The first three hits may be chunks of fewer documents.
func measure(ranking, first []string, judgements map[string]float64) measures {
	return measures{
		metrics.Hit(first, judgements, 3),
		metrics.ReciprocalRank(ranking, judgements, 10),
		metrics.Recall(ranking, judgements, 10),
		metrics.NDCG(ranking, judgements, 10),
	}
}

// mean is the mean of the measures of some questions; 0 of none.
func mean(list []measures) (m measures) {
	for k := range m {
		for _, one := range list {
			m[k] += one[k]
		}
		m[k] /= float64(max(len(list), 1))
	}
	return m
}

// evalBase measures one base with its question file, prints the table and compares it with the floors.
func (c *evalCommand) evalBase(e *environment, name string) error {
	q, err := readQuestions(filepath.Join(c.Questions, name+".yaml"), name)
	if err != nil {
		return err
	}
	base, err := openBase(e, c.Shelf, name, c.Mode == string(reader.Keyword))
	if errors.Is(err, fs.ErrNotExist) {
		return hinted{err, "bake it first: larder bake --base " + name}
	}
	if err != nil {
		return err
	}
	defer base.Close()
	if err := c.checkSources(base, q); err != nil {
		return err
	}
	list := rankersOf(base, c.Mode)
	if len(list) == 0 {
		return usageError{fmt.Errorf("%s was baked in %s mode and can't answer in %s mode", name, base.Manifest().Settings.Mode, c.Mode)}
	}
	ranks := make([][]int, len(q.Questions)) // of the first relevant source, by question and ranker
	results := make([]measures, len(list))
	for r, ranker := range list {
		var all []measures
		for i, one := range q.Questions {
			found, err := base.Search(e, reader.Query{Text: one.Question, Mode: ranker.mode, Fusion: ranker.fusion, TopK: evalDepth})
			if err != nil {
				return err
			}
			if one.Unanswerable {
				continue
			}
			ranking := documents(found.Hits)
			ranks[i] = append(ranks[i], slices.IndexFunc(ranking, func(p string) bool { return one.Sources[p] > 0 })+1)
			all = append(all, measure(ranking, documents(found.Hits[:min(3, len(found.Hits))]), one.Sources))
		}
		results[r] = mean(all)
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
	return checkFloors(name, q, rankersOf(base, ""), list, results)
}

// checkSources makes sure that the question file speaks of documents that there are.
func (c *evalCommand) checkSources(base *reader.Base, q *questionFile) error {
	have := map[string]bool{}
	for i := range base.Artifact().Documents() {
		have[base.Artifact().Document(i).Path] = true
	}
	for i, one := range q.Questions {
		for _, path := range slices.Sorted(maps.Keys(one.Sources)) {
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
	fmt.Fprintf(w, "%-18s", "mode")
	for _, name := range measureNames {
		fmt.Fprintf(w, "%11s", name)
	}
	for r, m := range results {
		fmt.Fprintf(w, "\n%-18s", list[r].name)
		for _, x := range m {
			fmt.Fprintf(w, "%11.3f", x)
		}
	}
	fmt.Fprintln(w)
}

// checkFloors returns an error that names every measure below its floor. What was not measured, because only one mode
// was asked for, is not compared; a floor for what the base can't do is an error.
func checkFloors(name string, q *questionFile, able, measured []ranker, results []measures) error {
	var below []string
	for _, floor := range slices.Sorted(maps.Keys(q.Floors)) {
		if !slices.ContainsFunc(able, func(r ranker) bool { return r.name == floor }) {
			return usageError{fmt.Errorf("%s.yaml: floors: %s is not what the base can do: bake it in another mode or remove its floors", name, floor)}
		}
	}
	for r, ranker := range measured {
		for k, measure := range measureNames {
			if floor, ok := q.Floors[ranker.name][measure]; ok && results[r][k] < floor {
				below = append(below, fmt.Sprintf("%s %s is %.3f, its floor %.3f", ranker.name, measure, results[r][k], floor))
			}
		}
	}
	if len(below) == 0 {
		return nil
	}
	return hinted{fmt.Errorf("%s answers worse than its floors allow: %s", name, strings.Join(below, "; ")),
		"larder eval " + name + " shows every question; floors stand in its question file"}
}
