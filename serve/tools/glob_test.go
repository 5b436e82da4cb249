package tools

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string // paths, parted by blanks
	}{
		{"*.md", "x.md ai/x.md ai/deep/x.MD .md", "x.mdx x.txt"},
		{"ai/*.md", "ai/x.md AI/X.md", "x.md ai/deep/x.md my/ai/x.md"},
		{"ai/**/*.md", "ai/x.md ai/deep/x.md ai/very/deep/x.md", "x.md my/ai/x.md ai"},
		{"**/x.md", "x.md ai/x.md ai/deep/x.md", "ai/xx.md"},
		{"**", "x.md ai/x.md ai", ""},
		{"ai/**", "ai/x.md ai/deep/x.md", "ai aix/x.md"},
		{"**/ai/**", "ai/x my/ai/deep/x", "ai my/ai"},
		{"a**b", "ab axb d/axxb", "a/b ac"},
		{"*neural*", "neural my-neural-net.md ai/neural.txt", "neural/x.md"},
		{"?.md", "x.md é.md 𝛼.md ai/x.md", "xx.md .md"},
		{"[abc].md", "a.md B.md", "d.md abc.md"},
		{"[!abc].md", "d.md", "a.md B.md"},
		{"[^a-c].md", "d.md", "a.md B.md"},
		{"[]x].md", "].md x.md", "y.md"},
		{"[[]x].md", "[x].md", "x.md"},
		{"[a-]x", "ax -x", "bx"},
		{"[*?]x", "*x ?x", "ax"},
		{"a[+-9]b", "a-b a0b", "a/b"},
		{"a[^x]b", "ayb", "a/b axb"},
		{"{a,b}.md", "{a,b}.md", "a.md b.md"},
		{"a.b", "a.b", "axb"},
		{"(a|b)+$", "(a|b)+$", "a b"},
		{"НЕЙРО*", "нейросети.md Нейросети.md ai/нейро", "сети"},
		{"[А-Я].md", "б.md Б.md", "z.md"},
		{"ёлка", "ёлка ЁЛКА", "елка"}, // the pattern's first letter is two characters
		{"kſ", "KS ks \u212as", "k"},
		{"straße", "STRAẞE", "strasse"},
		{"\n*", "\nx", "x"},
	} {
		g, err := newGlob(c.pattern, false)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for name := range strings.FieldsFuncSeq(c.yes, func(r rune) bool { return r == ' ' }) {
			if !g.match(name) {
				t.Errorf("%q doesn't match %q", c.pattern, name)
			}
		}
		for name := range strings.FieldsFuncSeq(c.no, func(r rune) bool { return r == ' ' }) {
			if g.match(name) {
				t.Errorf("%q matches %q", c.pattern, name)
			}
		}
	}
	g, err := newGlob("X[a-z]*.md", true)
	if err != nil || !g.match("Xa.md") || g.match("xa.md") || g.match("XA.md") {
		t.Errorf("case counts if it is to: %v", err)
	}
}

func TestGlobBad(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                        "empty",
		"[a":                      "closing bracket",
		"[]":                      "closing bracket",
		"[!]":                     "closing bracket",
		"x[":                      "closing bracket",
		"[a/b]":                   "closing bracket",
		"[z-a]":                   "z-a runs backwards",
		`a\*`:                     "backslash",
		"/etc/*":                  "absolute",
		"C:/*":                    "absolute",
		"../*":                    "..",
		"a/../*":                  "..",
		"a//b":                    "without a name",
		"a/":                      "without a name",
		"./a":                     "without a name",
		"a\x00":                   "no text",
		"a\xff":                   "no text",
		strings.Repeat("a", 1000): "longer than",
	} {
		if _, err := newGlob(pattern, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error that says %q", pattern, err, want)
		}
	}
}

// The worst patterns for matchers that go back are answered at once.
func TestGlobBlowUp(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("*a", 140) + "b", strings.Repeat("**/", 90) + "b", strings.Repeat("**/*a*/", 40) + "b", strings.Repeat("?*", 140)} {
		g, err := newGlob(pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		g.match(strings.Repeat("a", 2000))
		if g.match(strings.Repeat("aaa/", 200) + "c") {
			t.Errorf("%.20q… matches", pattern)
		}
	}
}
