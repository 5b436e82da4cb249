package analyze

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStems holds the stemmers to testdata/<language>.txt: a word, a tab, and its stem by the PyPI package
// snowballstemmer 3.1.1. The words are bases with endings, likely or not, and those that the definition names.
// interop compares whole vocabularies.
func TestStems(t *testing.T) {
	for name, stem := range map[string]func(string) string{"english": StemEnglish, "russian": StemRussian} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			word, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !ok {
				t.Fatalf("%s.txt: %q has no tab", name, line)
			}
			n++
			if got := stem(word); got != want {
				t.Errorf("%s: %s gives %s, want %s", name, word, got, want)
			}
		}
		if n < 500 {
			t.Errorf("%s.txt has %d words, want 500", name, n)
		}
	}
}

func FuzzStems(f *testing.F) {
	for _, s := range []string{"", "'", "'''", "'s'", "yyy", "ying", "succeed", "éed", "past", "\xffed", "нн", "аейше", "ёёё", "\xd1", "а\xb5в"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, stem := range []func(string) string{StemEnglish, StemRussian} {
			if got := stem(word); len(got) > len(word) {
				t.Fatalf("%q gives %q", word, got)
			}
		}
	})
}

// TestUnicodeIsPinned holds the package to its generated tables: package unicode changes with Go.
func TestUnicodeIsPinned(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if name == "gen.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		n++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if imp.Path.Value == `"unicode"` || imp.Path.Value == `"golang.org/x/text/unicode/norm"` {
				t.Errorf("%s imports %s", name, imp.Path.Value)
			}
		}
	}
	if n < 7 {
		t.Errorf("%d files looked at", n)
	}
	if unicodeVersion != "15.0.0" {
		t.Errorf("tables are of Unicode %s: a change of version changes terms, so raise rulesID with it", unicodeVersion)
	}
}

// TestTables holds the generated tables to the order that looking them up relies on.
func TestTables(t *testing.T) {
	for i := 1; i < len(classes); i++ {
		if classes[i].lo <= classes[i-1].hi {
			t.Errorf("classes: %#x follows %#x", classes[i].lo, classes[i-1].hi)
		}
	}
	for i := 1; i < len(folds); i++ {
		// Two runs of every second code point may interleave only where neither hides the other.
		if folds[i].lo <= folds[i-1].hi {
			t.Errorf("folds: %#x follows %#x", folds[i].lo, folds[i-1].hi)
		}
	}
	for i := 1; i < len(expansions); i++ {
		if expansions[i].from <= expansions[i-1].from {
			t.Errorf("expansions: %#x follows %#x", expansions[i].from, expansions[i-1].from)
		}
	}
	for i := 1; i < len(orders); i++ {
		if orders[i].lo <= orders[i-1].hi {
			t.Errorf("orders: %#x follows %#x", orders[i].lo, orders[i-1].hi)
		}
	}
	if len(pairs) != len(byParts) {
		t.Fatalf("%d pairs, %d of them sorted by parts", len(pairs), len(byParts))
	}
	for i, p := range pairs {
		if i > 0 && p.whole <= pairs[i-1].whole {
			t.Errorf("pairs: %#x follows %#x", p.whole, pairs[i-1].whole)
		}
		if whole, ok := join(p.first, p.second); !ok || whole != p.whole {
			t.Errorf("%#x and %#x compose to %#x, want %#x", p.first, p.second, whole, p.whole)
		}
	}
	// The narrow and the wide way to a property agree.
	fillNear()
	for r := range rune(len(near)) {
		if near[r] != search(r) {
			t.Errorf("%#x: near %v, table %v", r, near[r], search(r))
		}
	}
}
