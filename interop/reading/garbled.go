package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"example.com/larder/pipeline"
)

// knownGarbled are files of the collection whose text layer is garbage, and what kind of it.
var knownGarbled = map[string]string{
	"type3/Issue33.pdf":       "moved by -29",
	"broken/TIKA-469-0.pdf":   "Arabic in a font that names its glyphs wrongly",
	"cyrillic/issue12963.pdf": "Russian, recognized as Latin letters",
}

// measureGarbled measures the verdict garbled. Good pages are those of DATA/files on which the text that is read agrees with
// DATA/expected; bad ones are the known ones, and good ones changed as fonts without a map to characters change them.
func measureGarbled(w io.Writer, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: garbled DATA, a folder with files/ and expected/")
	}
	cache, err := pipeline.DefaultCache()
	if err != nil {
		return err
	}
	engine, err := pipeline.NewPDFEngine("pdfium", cache.PDF())
	if err != nil {
		return err
	}
	defer engine.Close()
	judge := func(text string) bool { return pipeline.GarbledText(text) != "" }

	good, unknown := 0, 0
	var alarms, missed []string
	kinds := []kindCount{}
	for _, k := range distortions {
		kinds = append(kinds, kindCount{name: k.name})
	}
	known, knownFound := 0, 0
	root := filepath.Join(args[0], "files")
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".pdf" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d := pipeline.Parse(context.Background(), name, data, pipeline.ParseOptions{PDF: engine})
		expected, _ := os.ReadFile(filepath.Join(args[0], "expected", strings.TrimSuffix(name, ".pdf")+".txt"))
		pages := strings.Split(string(expected), "\f")
		for i, p := range d.Pages {
			if p.Text == "" {
				continue
			}
			label := fmt.Sprintf("%s page %d", name, p.Number)
			if knownGarbled[name] != "" {
				known++
				if p.Verdict == pipeline.Garbled {
					knownFound++
				} else {
					missed = append(missed, label+": "+knownGarbled[name])
				}
				continue
			}
			if i >= len(pages) || !agree(p.Text, pages[i]) {
				unknown++
				if p.Verdict == pipeline.Garbled {
					alarms = append(alarms, label+" (does not agree with poppler): "+p.Reason)
				}
				continue
			}
			good++
			if p.Verdict == pipeline.Garbled {
				alarms = append(alarms, label+": "+p.Reason)
				continue
			}
			if seen[p.Text] || letters(p.Text) < 100 {
				continue
			}
			seen[p.Text] = true
			for j, k := range distortions {
				bad, ok := k.change(p.Text)
				if !ok {
					continue
				}
				kinds[j].pages++
				if judge(bad) {
					kinds[j].found++
				} else if kinds[j].pages-kinds[j].found <= 5 {
					missed = append(missed, label+": "+k.name)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if good == 0 {
		return errors.New("no good page: is this the right folder?")
	}
	fmt.Fprintf(w, "good pages (text agrees with poppler)  %6d\n", good)
	fmt.Fprintf(w, "other pages with text                  %6d\n", unknown)
	fmt.Fprintf(w, "false alarms                           %6d  %.3f %%\n", len(alarms), 100*float64(len(alarms))/float64(good+unknown))
	for _, a := range alarms {
		fmt.Fprintf(w, "  %s\n", a)
	}
	fmt.Fprintf(w, "\n%-40s %6s %6s %8s\n", "garbled pages", "pages", "found", "recall")
	fmt.Fprintf(w, "%-40s %6d %6d %7.1f%%\n", "of the collection", known, knownFound, 100*float64(knownFound)/float64(max(known, 1)))
	pages, found := 0, 0
	for _, k := range kinds {
		fmt.Fprintf(w, "%-40s %6d %6d %7.1f%%\n", k.name, k.pages, k.found, 100*float64(k.found)/float64(max(k.pages, 1)))
		pages, found = pages+k.pages, found+k.found
	}
	fmt.Fprintf(w, "%-40s %6d %6d %7.1f%%\n", "all that are made", pages, found, 100*float64(found)/float64(max(pages, 1)))
	fmt.Fprintf(w, "\nmissed (of each kind that is made, the first five)\n")
	for _, m := range missed {
		fmt.Fprintf(w, "  %s\n", m)
	}
	return nil
}

type kindCount struct {
	name         string
	pages, found int
}

// agree says whether most words of a page are in another reader's text of it.
func agree(text, expected string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(norm.NFKC.String(s), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	}
	there := map[string]bool{}
	for _, x := range words(expected) {
		there[x] = true
	}
	all := words(text)
	hit := 0
	for _, x := range all {
		if there[x] {
			hit++
		}
	}
	return len(all) > 0 && 10*hit >= 8*len(all)
}

func letters(s string) (n int) {
	for _, c := range s {
		if unicode.IsLetter(c) {
			n++
		}
	}
	return n
}

// distortions change a page's text as fonts do that do not say, or say wrongly, which characters they draw. They pass
// when a text has nothing that they change.
var distortions = []struct {
	name   string
	change func(string) (string, bool)
}{
	{"moved by -29", moved(-29)},
	{"moved by 29", moved(29)},
	{"moved by 1", moved(1)},
	{"moved by -1, blanks kept", func(s string) (string, bool) {
		out, ok := moved(-1)(strings.ReplaceAll(s, " ", "\u2028"))
		return strings.ReplaceAll(out, "\u2027", " "), ok
	}},
	{"moved by 3", moved(3)},
	{"letters changed for others", changedLetters},
	{"every third character replaced", func(s string) (string, bool) {
		n := 0
		return strings.Map(func(c rune) rune {
			if unicode.IsSpace(c) {
				return c
			}
			if n++; n%3 == 0 {
				return unicode.ReplacementChar
			}
			return c
		}, s), true
	}},
	{"private-use characters", moved(0xE000)},
	{"glyph ids of a subset", func(s string) (string, bool) { return glyphIDs(s, 1, 1), true }},
	{"glyph ids of a large font", func(s string) (string, bool) { return glyphIDs(s, 800, 131), true }},
}

func moved(by rune) func(string) (string, bool) {
	return func(s string) (string, bool) {
		small := 0
		out := strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'а' && c <= 'я' {
				small++
			}
			if c == '\n' || c+by <= 0 {
				return c
			}
			return c + by
		}, s)
		return out, 2*small > letters(s)
	}
}

func changedLetters(s string) (string, bool) {
	r := rand.New(rand.NewPCG(uint64(len(s)), 7))
	to, changed := map[rune]rune{}, 0
	for _, a := range []string{"abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω"} {
		from := []rune(a)
		for i, j := range r.Perm(len(from)) {
			to[from[i]], to[unicode.ToUpper(from[i])] = from[j], unicode.ToUpper(from[j])
		}
	}
	out := strings.Map(func(c rune) rune {
		if d, ok := to[c]; ok {
			changed++
			return d
		}
		return c
	}, s)
	return out, 10*changed > 9*letters(s)
}

func glyphIDs(s string, from, step rune) string {
	ids := map[rune]rune{}
	return strings.Map(func(c rune) rune {
		if c == '\n' {
			return c
		}
		if ids[c] == 0 {
			ids[c] = from + step*rune(len(ids))%3000
		}
		return ids[c]
	}, s)
}
