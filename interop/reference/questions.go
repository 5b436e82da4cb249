package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var wordsFile []byte

// A question is one of evals/, which a base answers.
type question struct {
	text    string
	sources []string // names of files that answer it
	words   []string // any of these is in a passage that answers it
}

// readQuestions reads the questions of evals/<base>.yaml for which words.yaml has words, in their order.
func readQuestions(evals string) (map[string][]question, error) {
	var words map[string]map[string][]string
	d := yaml.NewDecoder(bytes.NewReader(wordsFile))
	if err := d.Decode(&words); err != nil {
		return nil, fmt.Errorf("words.yaml: %w", err)
	}
	all := map[string][]question{}
	for base, words := range words {
		file := filepath.Join(evals, base+".yaml")
		questions, err := questionsOf(file, words)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[base] = questions
	}
	if len(all) == 0 {
		return nil, errors.New("words.yaml: there are no questions")
	}
	return all, nil
}

func questionsOf(file string, words map[string][]string) (list []question, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Questions []struct {
			Question string
			Sources  sources
		}
	}
	if err := yaml.Unmarshal(data, &parsed); err != nil {
		return nil, err
	}
	left := maps.Clone(words)
	for _, q := range parsed.Questions {
		w := words[q.Question]
		if len(w) == 0 || len(q.Sources) == 0 {
			continue
		}
		delete(left, q.Question)
		list = append(list, question{q.Question, q.Sources, w})
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("it doesn't ask %q, for which words.yaml has words", slices.Sorted(maps.Keys(left)))
	}
	return list, nil
}

// sources are names of files, given as a list of paths or as a map from path to grade.
type sources []string

func (s *sources) UnmarshalYAML(n *yaml.Node) error {
	for i, one := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 0 {
			*s = append(*s, path.Base(one.Value))
		}
	}
	return nil
}

// holds tells whether one of the words is in a text, whatever the case, the blanks and Markdown's marks.
func (q question) holds(text string) bool {
	text = plain(text)
	return slices.ContainsFunc(q.words, func(w string) bool { return strings.Contains(text, plain(w)) })
}

var marks = strings.NewReplacer("*", "", "`", "", "|", " ")

func plain(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(marks.Replace(text)), " "))
}
