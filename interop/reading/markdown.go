package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"example.com/larder/pipeline"
)

//go:embed markdown.py
var markdownScript string

// markdownFloor is the share of the rendered words of a file which are to be in its text.
const markdownFloor = 0.999

// A renderedPage is what the script says of a file.
type renderedPage struct{ Text string }

// markdownCounts are of the files of one set.
type markdownCounts struct {
	files, failed, below, words, missed, extra int
}

// measureMarkdown tells which share of the words that a renderer shows are in the text of Markdown files: of
// PyPI's markdown-it-py 4.0.0 with mdit-py-plugins 0.5.0 and linkify-it-py 2.0.3. Words are runs of letters, marks and
// digits, in lower case, each as often as it is there.
//
//	markdown DATA PYTHON
//
// DATA is a folder with one of files for each set; PYTHON has the packages.
func measureMarkdown(w io.Writer, args []string) error {
	if len(args) != 2 {
		return errors.New("markdown wants a folder of material and a Python that has markdown-it-py")
	}
	var names []string
	err := filepath.WalkDir(args[0], func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no .md files in %s", args[0])
	}
	pages, err := renderMarkdown(args[1], names)
	if err != nil {
		return err
	}
	sets := map[string]*markdownCounts{}
	all := &markdownCounts{}
	var below []string
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(args[0], name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		set, _, _ := strings.Cut(relative, "/")
		if sets[set] == nil {
			sets[set] = &markdownCounts{}
		}
		d := pipeline.Parse(context.Background(), relative, data, pipeline.ParseOptions{})
		words, missed, extra, which := compareWords(pages[i].Text, d.Text)
		failed := d.Verdict == pipeline.Failed || d.Verdict == pipeline.Garbled
		low := float64(missed) > (1-markdownFloor)*float64(words)
		if low {
			below = append(below, fmt.Sprintf("%s: %d of %d words: %s", relative, missed, words, which))
		}
		for _, c := range []*markdownCounts{sets[set], all} {
			c.files++
			c.words += words
			c.missed += missed
			c.extra += extra
			if failed {
				c.failed++
			}
			if low {
				c.below++
			}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tfiles\tnot read\twords shown\tmissed\tfound\tother words\tfiles below 99.9 %\t")
	row := func(name string, c *markdownCounts) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.4f %%\t%d\t%d\t\n", name, c.files, c.failed, c.words, c.missed,
			100*(1-float64(c.missed)/float64(max(c.words, 1))), c.extra, c.below)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		row(name, sets[name])
	}
	row("all", all)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(below) > 0 {
		_, err = fmt.Fprintf(w, "\nfiles below 99.9 %%, and words that they miss:\n%s\n", strings.Join(below, "\n"))
	}
	return err
}

// renderMarkdown returns what the script says of files, in their order.
func renderMarkdown(python string, names []string) ([]renderedPage, error) {
	cmd := exec.Command(python, "-c", markdownScript)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONUTF8=1")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	pages := make([]renderedPage, 0, len(names))
	for line := range bytes.Lines(out) {
		var page renderedPage
		if err := json.Unmarshal(line, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", python, err)
		}
		pages = append(pages, page)
	}
	if len(pages) != len(names) {
		return nil, fmt.Errorf("%s: %d answers for %d files", python, len(pages), len(names))
	}
	return pages, nil
}

// compareWords counts the words of want, those of them that got lacks, and those that got has beside them; which
// names some that are lacking.
func compareWords(want, got string) (words, missed, extra int, which string) {
	counts := map[string]int{}
	for _, word := range shownWords(want) {
		counts[word]++
		words++
	}
	for _, word := range shownWords(got) {
		counts[word]--
	}
	var some []string
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		n := counts[word]
		if n < 0 {
			extra -= n
			continue
		}
		missed += n
		if n > 0 && len(some) < 6 {
			some = append(some, word)
		}
	}
	return words, missed, extra, strings.Join(some, " ")
}

// shownWords returns the words of a text. Format characters, such as soft hyphens, show nothing.
func shownWords(text string) []string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
}
