//go:build heavy

package interop

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.com/larder/internal/analyze"
)

// snowballVersion is the release of the PyPI package snowballstemmer that the stemmers follow.
const snowballVersion = "3.1.1"

// oracle stems words in the order given. It is the reference implementation, run in a virtual environment.
type oracle func(t *testing.T, algorithm string, words []string) []string

func newOracle(t *testing.T) oracle {
	t.Helper()
	python := newVenv(t, "snowballstemmer=="+snowballVersion)
	const script = `
import sys, snowballstemmer
stem = snowballstemmer.stemmer(sys.argv[1]).stemWord
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(stem(line.decode().rstrip("\n")).encode() + b"\n")
`
	return func(t *testing.T, algorithm string, words []string) []string {
		t.Helper()
		cmd := exec.Command(python, "-c", script, algorithm)
		cmd.Stdin = strings.NewReader(strings.Join(words, "\n") + "\n")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("snowballstemmer: %v\n%s", err, stderr.Bytes())
		}
		stems := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(stems) != len(words) {
			t.Fatalf("snowballstemmer gave %d stems for %d words", len(stems), len(words))
		}
		return stems
	}
}

// vocabularies returns the word lists that come with the Snowball project, by algorithm, from the crate
// rust-stemmers.
func vocabularies(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	const manifest = `[package]
name = "vocabularies"
version = "0.0.0"
edition = "2021"

[dependencies]
rust-stemmers = "=1.2.0"
`
	if err := os.MkdirAll(filepath.Join(dir, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"Cargo.toml": manifest, "src/lib.rs": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "cargo", "vendor", "--quiet")
	lists := map[string][]string{}
	for algorithm, name := range map[string]string{"english": "voc_en.txt", "russian": "voc_ru.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, "vendor", "rust-stemmers", "test_data", name))
		if err != nil {
			t.Fatal(err)
		}
		lists[algorithm] = strings.Fields(string(text))
	}
	return lists
}

// sharedTexts calls f with every text of ../shared/data and returns how many there are, 0 where it is absent.
func sharedTexts(t *testing.T, f func(name, text string)) int {
	t.Helper()
	root := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(root); err != nil {
		return 0
	}
	n := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(name) {
		case ".txt", ".md", ".jsonl":
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n++
		f(name, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 1000 {
		t.Fatalf("%s has %d texts: it is not whole", root, n)
	}
	return n
}

// script returns the algorithm for a word of letters of one script, "" for others.
func script(word string) string {
	latin, cyrillic := false, false
	for _, r := range word {
		switch {
		case r == '\'':
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic = true
		default:
			return ""
		}
	}
	switch {
	case latin && !cyrillic:
		return "english"
	case cyrillic && !latin:
		return "russian"
	}
	return ""
}

// combinations are words that no text has: beginnings, middles and endings that the definitions treat apart.
func combinations() map[string][]string {
	sets := map[string][3]string{
		"english": {
			"_ a y ye sh é aé éa ö past gener inter x str o' ' b ab oy qu univers organ later emerg commun arsen cyc ll il proc exc succ inn out cann herr earr even",
			"_ at bl iz bb dd ff tt rr l y e log og é s t c w x ay past ry all",
			"_ s es ed edly ing ingly eed eedly ied ies sses us ss 's 's' ' y ly tional ational enci anci abli entli izer ization ation ator alism aliti alli fulness ousli ousness iveness iviti biliti bli ogi ogist fulli lessli li icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion e l ll",
		},
		"russian": {
			"_ а я б аб ва ств бра ё аёб стоян прои",
			"_ в вши вшись ив ивши ыв ем нн вш ющ щ ивш ывш ующ ла на ете й л н ть ешь ила ена ует ить ост ость ейш ейше",
			"_ ее ие ые ое ими ей ий ый ой ем им ым ом его ему их ую юю ая яя ою ею ся сь ла йте ли н но ют ны нно уйте ите или ят ит ишь ю а ев ов ье иями ами еи и ией иям ам о у ах ы ь ию ью ия ья ост ость ейше нн",
		},
	}
	words := map[string][]string{}
	for algorithm, set := range sets {
		var part [3][]string
		for i, s := range set {
			part[i] = strings.Fields(s)
			part[i][0] = ""
		}
		for _, a := range part[0] {
			for _, b := range part[1] {
				for _, c := range part[2] {
					words[algorithm] = append(words[algorithm], a+b+c)
				}
			}
		}
	}
	return words
}

// TestStemmersEqualSnowball compares every stem with the reference: over the official vocabularies, over words made
// of what the rules look at, over the committed samples, and over the words of the test material where it is.
func TestStemmersEqualSnowball(t *testing.T) {
	stem := newOracle(t)
	sets := map[string]map[string]bool{"english": {}, "russian": {}}
	for algorithm, words := range vocabularies(t) {
		if len(words) < 29000 {
			t.Errorf("%s: the vocabulary has %d words", algorithm, len(words))
		}
		for _, w := range words {
			sets[algorithm][w] = true
		}
	}
	for algorithm, words := range combinations() {
		for _, w := range words {
			sets[algorithm][w] = true
		}
	}
	bare, err := analyze.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	before := len(sets["english"]) + len(sets["russian"])
	n := sharedTexts(t, func(_, text string) {
		terms = bare.Terms(terms[:0], text)
		for _, w := range terms {
			if algorithm := script(w); algorithm != "" {
				if set := sets[algorithm]; !set[w] {
					set[strings.Clone(w)] = true
				}
			}
		}
	})
	t.Logf("%d texts of ../shared/data gave %d more words", n, len(sets["english"])+len(sets["russian"])-before)

	for algorithm, ours := range map[string]func(string) string{"english": analyze.StemEnglish, "russian": analyze.StemRussian} {
		delete(sets[algorithm], "")
		words := slices.Sorted(maps.Keys(sets[algorithm]))
		if len(words) < 30000 {
			t.Errorf("%s: %d words, want 30,000", algorithm, len(words))
		}
		different := 0
		for i, want := range stem(t, algorithm, words) {
			if got := ours(words[i]); got != want {
				if different++; different <= 20 {
					t.Errorf("%s: %q gives %q, want %q", algorithm, words[i], got, want)
				}
			}
		}
		t.Logf("%s: %d words, %d different", algorithm, len(words), different)
	}

	for _, algorithm := range []string{"english", "russian"} {
		text, err := os.ReadFile(filepath.Join("..", "internal", "analyze", "testdata", algorithm+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		var words, want []string
		for line := range strings.Lines(string(text)) {
			w, s, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			words, want = append(words, w), append(want, s)
		}
		if got := stem(t, algorithm, words); !slices.Equal(got, want) {
			t.Errorf("%s.txt is not what snowballstemmer gives", algorithm)
		}
	}
}

// TestTermsIgnoreForm holds every assigned code point, alone and with marks, and every text of the test material to equal
// terms in Unicode's normalization forms C and D, and every term to form C.
func TestTermsIgnoreForm(t *testing.T) {
	a, err := analyze.New([]string{"en", "ru"})
	if err != nil {
		t.Fatal(err)
	}
	var terms, other []string
	cases := 0
	check := func(name, text string) bool {
		cases++
		terms = a.Terms(terms[:0], text)
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if other = a.Terms(other[:0], form.String(text)); !slices.Equal(terms, other) {
				for i := range min(len(terms), len(other)) {
					if terms[i] != other[i] {
						t.Errorf("%s: term %d is %+q, and %+q in another form", name, i, terms[i], other[i])
						return false
					}
				}
				t.Errorf("%s: %d terms, %d in another form", name, len(terms), len(other))
				return false
			}
		}
		for _, term := range terms {
			if !norm.NFC.IsNormalString(term) {
				t.Errorf("%s: term %+q is not in form C", name, term)
				return false
			}
		}
		return true
	}
	for r, bad := rune(0), 0; r <= unicode.MaxRune && bad < 20; r++ {
		if !utf8.ValidRune(r) || 0x32000 <= r && r < 0xE0000 || 0xE0200 <= r { // the large planes are empty or private
			continue
		}
		s := string(r)
		for _, text := range []string{s, "a" + s + "b", s + "\u0301\u0323", "e\u0302" + s, s + s, "か" + s + "\u3099", "i" + s + "\u0307", "е" + s + "\u0308", "\u1112" + s, s + "-1"} {
			if !check(fmt.Sprintf("%U in %+q", r, text), text) {
				bad++
				break
			}
		}
	}
	n := sharedTexts(t, func(name, text string) {
		if filepath.Base(name) != "zalgo-combining.txt" { // more marks on a letter than count
			check(name, text)
		}
	})
	t.Logf("%d strings, among them %d texts of ../shared/data", cases, n)
	if cases < 2_000_000 && !t.Failed() {
		t.Errorf("%d strings, want 2,000,000", cases)
	}
}

// TestTablesAreGenerated compares the committed tables with what the generator writes.
func TestTablesAreGenerated(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("..", "internal", "analyze"))
	if err != nil {
		t.Fatal(err)
	}
	work, err := filepath.Abs(filepath.Join("..", "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", filepath.Join(dir, "gen.go"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK="+work)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(cmd.Dir, "tables.go"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "tables.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/analyze/tables.go is stale: go generate ./internal/analyze")
	}
}
