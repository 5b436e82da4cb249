package analyze

import "testing"

func TestFunctionWord(t *testing.T) {
	both, english, none := mustNew(t, "en", "ru"), mustNew(t, "en"), mustNew(t)
	for _, c := range []struct {
		a    *Analyzer
		word string
		want bool
	}{
		{both, "how", true}, {both, "How", true}, {both, "I", true}, {both, "don’t", true}, {both, "don't", true},
		{both, "что", true}, {both, "Как", true}, {both, "её", true},
		{both, "refund", false}, {both, "возврат", false}, {both, "", false}, {both, "\xff", false},
		{both, "IT", false}, {both, "WHO", false}, {both, "US", false}, {both, "E-4012", false}, {both, "3", false},
		{english, "how", true}, {english, "что", false}, {none, "how", false}, {none, "что", false},
	} {
		if got := c.a.FunctionWord(c.word); got != c.want {
			t.Errorf("%q with %q: %t", c.word, c.a.Languages(), got)
		}
	}
}
