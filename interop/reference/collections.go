package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// askCollections compares over test collections in BEIR's layout, whose questions nobody here wrote: by keyword, and with
// vectors in the other modes too. A collection whose name has an = and a folder after it takes its documents
// from there: aws-docs-qa=md/aws-docs.
func askCollections(ctx context.Context, w io.Writer, python, dir string, collections []string, vectors bool) error {
	questions := map[string][]question{}
	var asked []baseMode
	content := filepath.Join(dir, "content")
	for _, c := range collections {
		from, corpus, _ := strings.Cut(c, "=")
		name := filepath.Base(from)
		if questions[name] != nil {
			return fmt.Errorf("%s: there are two of that name", name)
		}
		var err error
		if questions[name], err = layOut(from, corpus, filepath.Join(content, name)); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		asked = append(asked, baseMode{name, "keyword"})
		if vectors {
			asked = append(asked, baseMode{name, "meaning"}, baseMode{name, "hybrid"})
		}
	}
	c, err := compare(ctx, python, content, dir, questions, asked)
	if err != nil {
		return err
	}
	rows, err := c.rows()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "unmute-core %s and larder over test collections: passages of 90 tokens, 20 shared, 3 a lookup\n\n", c.reference.Version)
	if err := writeTable(w, rows); err != nil {
		return err
	}
	writeShapes(w, rows)
	return nil
}

// layOut writes the documents of a collection as files into a folder and returns its judged questions.
func layOut(collection, corpus, folder string) ([]question, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var err error
	files := map[string]string{} // names by id
	if corpus == "" {
		err = layOutLines(filepath.Join(collection, "corpus.jsonl"), folder, files)
	} else {
		err = layOutFolder(corpus, folder, files)
	}
	if err != nil {
		return nil, err
	}
	sources, err := readJudgements(filepath.Join(collection, "qrels.tsv"), files)
	if err != nil {
		return nil, err
	}
	var list []question
	err = readLines(filepath.Join(collection, "queries.jsonl"), func(line []byte) error {
		var q struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		err := json.Unmarshal(line, &q)
		if s := sources[q.ID]; len(s) > 0 {
			list = append(list, question{text: q.Text, sources: s})
		}
		return err
	})
	if err == nil && len(list) == 0 {
		err = errors.New("no question is judged")
	}
	return list, err
}

// layOutLines writes a file for each document of a corpus.jsonl that is not empty.
func layOutLines(corpus, folder string, files map[string]string) error {
	return readLines(corpus, func(line []byte) error {
		var d struct {
			ID    string `json:"_id"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		text, extension := d.Text, ".txt"
		if d.Title != "" {
			text, extension = "# "+d.Title+"\n\n"+d.Text, ".md"
		}
		if strings.TrimSpace(d.Text) == "" {
			return nil
		}
		files[d.ID] = strings.ReplaceAll(d.ID, "/", "--") + extension
		return os.WriteFile(filepath.Join(folder, files[d.ID]), []byte(text+"\n"), 0o644)
	})
}

// layOutFolder writes the files of a folder into one without others in it, with their paths in their names.
func layOutFolder(from, folder string, files map[string]string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		id, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		id = filepath.ToSlash(id)
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files[id] = strings.ReplaceAll(id, "/", "--")
		return os.WriteFile(filepath.Join(folder, files[id]), data, 0o644)
	})
}

// readJudgements returns the names of the files that answer a question, by its id.
func readJudgements(qrels string, files map[string]string) (map[string][]string, error) {
	sources := map[string][]string{}
	header := true
	err := readLines(qrels, func(line []byte) error {
		if header {
			header = false
			return nil
		}
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			return fmt.Errorf("%q has no three fields", line)
		}
		grade, err := strconv.ParseFloat(fields[2], 64)
		if name := files[fields[1]]; name != "" && grade > 0 && !slices.Contains(sources[fields[0]], name) {
			sources[fields[0]] = append(sources[fields[0]], name)
		}
		return err
	})
	return sources, err
}

func readLines(name string, take func(line []byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for n := 1; s.Scan(); n++ {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			if err := take(line); err != nil {
				return fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
	}
	return s.Err()
}
