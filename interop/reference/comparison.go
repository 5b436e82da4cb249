package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
)

// A comparison is what both sides answered.
type comparison struct {
	task              task
	questions         map[string][]question
	reference, larder *side
}

// A row compares a base in one mode.
type row struct {
	base, mode string
	questions  []question
	reference  []found // by question
	larder     []found
	passages   [2]int // of the reference and of larder
	shapes     [2]string
}

// found tells whether an answer has a passage of a document that answers the question, and one that holds the words.
type found struct{ source, words bool }

// rows measures the bases that were asked all questions.
func (c *comparison) rows() (rows []row, err error) {
	for i, b := range c.task.Bases {
		questions := c.questions[b.Name]
		if len(b.Questions) != len(questions) || b.MinScore > 0 {
			continue
		}
		r := row{base: b.Name, mode: b.Mode, questions: questions}
		for j, s := range []*side{c.reference, c.larder} {
			answers := s.Bases[i]
			r.passages[j] = answers.Passages
			if r.shapes[j], err = shapesOf(answers.Answers); err != nil {
				return nil, err
			}
			list, err := measure(questions, answers.Answers)
			if err != nil {
				return nil, err
			}
			if j == 0 {
				r.reference = list
			} else {
				r.larder = list
			}
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New("nothing was compared")
	}
	return rows, nil
}

func measure(questions []question, answers []json.RawMessage) (list []found, err error) {
	if len(questions) != len(answers) {
		return nil, fmt.Errorf("%d answers to %d questions", len(answers), len(questions))
	}
	for i, q := range questions {
		var a struct {
			Results []struct{ Text, Source string }
			Error   string
		}
		if err := json.Unmarshal(answers[i], &a); err != nil {
			return nil, err
		}
		if a.Error != "" {
			return nil, fmt.Errorf("%q: %s", q.text, a.Error)
		}
		var f found
		for _, p := range a.Results {
			f.source = f.source || slices.Contains(q.sources, p.Source)
			f.words = f.words || q.holds(p.Text)
		}
		list = append(list, f)
	}
	return list, nil
}

// totals adds up the rows of each mode, in the order of the modes.
func totals(rows []row) (list []row) {
	for _, r := range rows {
		i := slices.IndexFunc(list, func(sum row) bool { return sum.mode == r.mode })
		if i < 0 {
			i = len(list)
			list = append(list, row{base: "all", mode: r.mode, shapes: r.shapes})
		}
		sum := &list[i]
		sum.questions = append(sum.questions, r.questions...)
		sum.reference = append(sum.reference, r.reference...)
		sum.larder = append(sum.larder, r.larder...)
		for j := range r.passages {
			sum.passages[j] += r.passages[j]
		}
		if r.shapes[0] != r.shapes[1] {
			sum.shapes = r.shapes
		}
	}
	return list
}

func count(list []found) (sources, words int) {
	for _, f := range list {
		if f.source {
			sources++
		}
		if f.words {
			words++
		}
	}
	return sources, words
}

// differences lists what of the promises differs: the answer before the start, the one to a search that fails and the one
// that finds nothing, the tools, and the settings that are taken.
func (c *comparison) differences() (list []string, err error) {
	differ := func(what string, reference, larder json.RawMessage, exact bool) error {
		same, err := equal(reference, larder, exact)
		if err == nil && !same {
			list = append(list, fmt.Sprintf("%s: %s, and of larder %s", what, reference, larder))
		}
		return err
	}
	for i, b := range c.task.Bases {
		theirs, ours := c.reference.Bases[i], c.larder.Bases[i]
		err = errors.Join(err, differ(b.Name+", before the start", theirs.BeforeStart, ours.BeforeStart, true))
		if len(b.Questions) == 1 {
			err = errors.Join(err, differ(b.Questions[0], theirs.Answers[0], ours.Answers[0], true))
		}
	}
	for i, tool := range c.reference.Tools {
		err = errors.Join(err, differ("tool", tool, c.larder.Tools[i], false))
	}
	for i, s := range c.task.Settings {
		if theirs, ours := c.reference.Refusals[i], c.larder.Refusals[i]; (theirs == nil) != (ours == nil) {
			text, _ := json.Marshal(s)
			list = append(list, fmt.Sprintf("settings %s: refused by the reference: %t, by larder: %t", text, theirs != nil, ours != nil))
		}
	}
	return list, err
}

// equal compares two values as JSON: byte by byte but for blanks, or else by value, without the order of keys.
func equal(a, b json.RawMessage, exact bool) (bool, error) {
	if exact {
		var x, y bytes.Buffer
		err := errors.Join(json.Compact(&x, a), json.Compact(&y, b))
		return bytes.Equal(x.Bytes(), y.Bytes()), err
	}
	var x, y any
	err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y))
	return reflect.DeepEqual(x, y), err
}

func (c *comparison) write(w io.Writer) error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	differences, err := c.differences()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "unmute-core %s and larder: passages of 90 tokens, 20 shared, 3 a lookup\n\n", c.reference.Version)
	if err := writeTable(w, append(slices.Clone(rows), totals(rows)...)); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nTools, answers before the start, to a search that fails and where nothing is found, and which of %d settings are refused: ", len(c.task.Settings))
	if len(differences) == 0 {
		fmt.Fprintln(w, "equal")
	} else {
		fmt.Fprintf(w, "different\n%s\n", strings.Join(differences, "\n"))
	}
	writeShapes(w, rows)
	fmt.Fprintln(w, "\nWhat one of the two found and the other did not: a passage of the right document (d), and the words (w)\n\n"+
		"reference  larder  folder    mode")
	for _, r := range rows {
		for i, q := range r.questions {
			if r.reference[i] != r.larder[i] {
				fmt.Fprintf(w, "%9s  %6s  %-8s  %-7s  %s\n", r.reference[i], r.larder[i], r.base, r.mode, q.text)
			}
		}
	}
	return nil
}

// writeTable writes a line for each row. Questions without words are measured by their documents alone.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "folder\tmode\tquestions\tpassages: reference\tlarder\thit@3: reference\tlarder\twords: reference\tlarder\tshapes equal\t")
	for _, r := range rows {
		share := func(n int) string { return fmt.Sprintf("%.3f", float64(n)/float64(len(r.questions))) }
		theirSources, theirWords := count(r.reference)
		ourSources, ourWords := count(r.larder)
		words := [2]string{share(theirWords), share(ourWords)}
		if !slices.ContainsFunc(r.questions, func(q question) bool { return len(q.words) > 0 }) {
			words = [2]string{"–", "–"}
		}
		equal := "yes"
		if r.shapes[0] != r.shapes[1] {
			equal = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", r.base, r.mode, len(r.questions), r.passages[0], r.passages[1],
			share(theirSources), share(ourSources), words[0], words[1], equal)
	}
	return t.Flush()
}

// writeShapes tells where the answers of the two look different.
func writeShapes(w io.Writer, rows []row) {
	for _, r := range rows {
		if r.shapes[0] != r.shapes[1] {
			fmt.Fprintf(w, "\nShapes of %s, %s:\nreference  %s\nlarder     %s\n", r.base, r.mode, r.shapes[0], r.shapes[1])
		}
	}
}

func (f found) String() string {
	s := ""
	if f.source {
		s = "d"
	}
	if f.words {
		s += " w"
	}
	if s == "" {
		return "–"
	}
	return strings.TrimSpace(s)
}
