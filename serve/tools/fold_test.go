package tools

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// found lists where a finder finds its text.
func found(f *finder, text string) (places [][2]int) {
	f.each([]byte(text), func(start, end int) bool {
		places = append(places, [2]int{start, end})
		return true
	})
	return places
}

// naive lists the same by trying every place.
func naive(query, text string) (places [][2]int) {
	for at := 0; at < len(text); {
		end, fits := at, true
		for _, want := range query {
			r, size := utf8.DecodeRuneInString(text[end:])
			if size == 0 || r == utf8.RuneError && size == 1 || !strings.EqualFold(string(r), string(want)) {
				fits = false
				break
			}
			end += size
		}
		if fits {
			places = append(places, [2]int{at, end})
			at = end
			continue
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return places
}

func TestFinder(t *testing.T) {
	for _, c := range []struct {
		query, text string
		want        int
	}{
		{"machine learning", "Machine LEARNING and machine\nlearning", 1},
		{"обучение", "ОБУЧЕНИЕ Обучение обучение обучения", 3},
		{"ёж", "ЁЖ ёж еж", 2},
		{"kelvin", "Kelvin \u212aelvin KELVIN", 3}, // the sign for kelvin has three bytes
		{"k", "\u212a\u212ak", 3},
		{"fast", "FAST fa\u017ft", 2}, // ſ
		{"s", "sSſß", 3},
		{"i", "iIİı", 2}, // İ and ı are other letters
		{"İ", "iIİı", 1},
		{"straße", "STRASSE STRAẞE straße", 2},
		{"σ", "ΣΌΣσς", 4},
		{"ǆ", "ǄǅǆǄ", 4},
		{"aa", "aaaaa", 2},
		{"aba", "ababa", 1},
		{"\ufffd", "\xff\ufffd\xfe", 1}, // bytes that are no UTF-8 are not the character for that
		{"é", "e\u0301É", 1},
		{"a\nb", "A\nB", 1},
		{"😀", "😀😁", 1},
	} {
		got := found(newFinder(c.query, false), c.text)
		if len(got) != c.want || !slices.Equal(got, naive(c.query, c.text)) {
			t.Errorf("%q in %q: at %v, want %d, a plain search has %v", c.query, c.text, got, c.want, naive(c.query, c.text))
		}
	}
	if got := found(newFinder("aba", true), "Aba ababa"); !slices.Equal(got, [][2]int{{4, 7}}) {
		t.Errorf("with case: %v", got)
	}
}

// The fast search, the slow one that it gives way to, and a plain one agree.
func TestFinderAgrees(t *testing.T) {
	letters := []string{"a", "A", "b", "k", "K", "\u212a", "s", "ſ", "и", "И", "\xff", "\xd0", "İ", " "}
	random := rand.New(rand.NewPCG(3, 4))
	word := func(max int) string {
		var b strings.Builder
		for range 1 + random.IntN(max) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	matches := 0
	for range 20_000 {
		query, text := strings.ToValidUTF8(word(4), "x"), word(60)
		f := newFinder(query, false)
		want := naive(query, text)
		matches += len(want)
		if got := found(f, text); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", query, text, got, want)
		}
		var slow [][2]int
		f.eachSlowly([]byte(text), 0, func(start, end int) bool {
			slow = append(slow, [2]int{start, end})
			return true
		})
		if !slices.Equal(slow, want) {
			t.Fatalf("slowly, %q in %q: %v, want %v", query, text, slow, want)
		}
	}
	if matches < 10_000 {
		t.Errorf("only %d matches", matches)
	}
}

// A text in which the query nearly stands everywhere is searched in time that doesn't multiply; this one would take
// minutes.
func TestFinderNearlyEverywhere(t *testing.T) {
	query := strings.Repeat("a", 499) + "A"
	text := strings.Repeat(strings.Repeat("a", 499)+"b", 20_000) + query
	if got := found(newFinder(query, false), text); len(got) != 1 || got[0][1] != len(text) {
		t.Errorf("found at %v", got)
	}
}
