package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

// A collection is a test collection in BEIR's layout.
type collection struct {
	documents []pipeline.CorpusDocument // none if the corpus is a folder
	queries   []beirQuery
}

type beirQuery struct {
	text      string
	judgement map[string]float64 // grades above 0 by document
}

// beir bakes a collection into a shelf of its own and measures its rankings of documents: a document's place is
// that of its best chunk.
func (c *evalCommand) beir(e *environment) error {
	col, err := readCollection(c.BEIR, c.Docs == "")
	if err != nil {
		return err
	}
	fetcher, err := c.fetcher(e)
	if err != nil {
		return err
	}
	shelf, err := os.MkdirTemp("", "larder-eval-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(shelf)
	o := pipeline.BakeOptions{Folder: c.Docs, Shelf: shelf, Embedder: c.Embedder, Mode: c.Mode, Fetcher: fetcher, Progress: e.err, Version: version,
		Documents: col.documents, Name: "collection", KeepGoing: true}
	report, err := pipeline.Bake(e, o)
	if err != nil {
		return err
	}
	report.Write(e.err)
	base, err := reader.OpenDir(report.Artifact, reader.Options{})
	if err != nil {
		return err
	}
	defer base.Close()
	if !col.judges(base) {
		return fmt.Errorf("%s: no judged document is in the corpus: corpus-id in qrels.tsv is a document's _id, or its path below --docs", c.BEIR)
	}
	list := rankersOf(base, c.Mode)
	results := make([]measures, len(list))
	for r, ranker := range list {
		all := make([]measures, len(col.queries))
		for i, q := range col.queries {
			found, err := base.Search(e, reader.Query{Text: q.text, Mode: ranker.mode, Fusion: ranker.fusion, TopK: evalDepth})
			if err != nil {
				return err
			}
			ranking := documents(found.Hits)
			all[i] = measure(ranking, ranking, q.judgement)
		}
		results[r] = mean(all)
	}
	fmt.Fprintf(e.out, "%s: %d documents, %d chunks, %d judged queries\n\n", filepath.Base(c.BEIR), len(report.Documents), report.Chunks, len(col.queries))
	writeMeasures(e.out, list, results)
	return nil
}

// judges tells whether one of the judged documents is in the base.
func (col *collection) judges(base *reader.Base) bool {
	judged := map[string]bool{}
	for _, q := range col.queries {
		for id := range q.judgement {
			judged[id] = true
		}
	}
	for i := range base.Artifact().Documents() {
		if judged[base.Artifact().Document(i).Path] {
			return true
		}
	}
	return false
}

// readCollection reads queries and judgements, and the corpus if it is wanted.
func readCollection(dir string, corpus bool) (*collection, error) {
	var col collection
	if corpus {
		err := readLines(filepath.Join(dir, "corpus.jsonl"), func(line []byte) error {
			var d struct {
				ID    string `json:"_id"`
				Title string `json:"title"`
				Text  string `json:"text"`
			}
			err := json.Unmarshal(line, &d)
			col.documents = append(col.documents, pipeline.CorpusDocument{Path: d.ID, Title: d.Title, Text: d.Text})
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, hinted{err, "name the folder of its documents with --docs"}
		}
		if err != nil {
			return nil, err
		}
		slices.SortFunc(col.documents, func(a, b pipeline.CorpusDocument) int { return cmp.Compare(a.Path, b.Path) })
	}
	judgements := map[string]map[string]float64{}
	header := true
	err := readLines(filepath.Join(dir, "qrels.tsv"), func(line []byte) error {
		if header {
			header = false
			return nil
		}
		fields := strings.Split(string(line), "\t")
		if len(fields) != 3 {
			return fmt.Errorf("%d fields, not 3", len(fields))
		}
		grade, err := strconv.ParseFloat(strings.TrimSpace(fields[2]), 64)
		if err != nil || grade <= 0 {
			return err
		}
		if judgements[fields[0]] == nil {
			judgements[fields[0]] = map[string]float64{}
		}
		judgements[fields[0]][fields[1]] = grade
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		var q struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		err := json.Unmarshal(line, &q)
		if j := judgements[q.ID]; len(j) > 0 {
			col.queries = append(col.queries, beirQuery{q.Text, j})
		}
		return err
	})
	if err == nil && len(col.queries) == 0 {
		err = fmt.Errorf("%s: no query has a judgement", dir)
	}
	return &col, err
}

// readLines hands on each line of a file that is not empty.
func readLines(file string, each func([]byte) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for n := 1; s.Scan(); n++ {
		if len(s.Bytes()) == 0 {
			continue
		}
		if err := each(s.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
