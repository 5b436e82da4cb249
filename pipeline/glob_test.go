package pipeline

import (
	"strings"
	"testing"
)

func TestMatchGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.md", "a.md", true},
		{"*.md", "x/y/a.md", true}, // by the bare name
		{"*.md", "a.txt", false},
		{"x/*.md", "x/a.md", true},
		{"x/*.md", "x/y/a.md", false},
		{"x/*.md", "w/x/a.md", false}, // anchored
		{"x/**", "x/y/z/a.md", true},
		{"x/**", "y/x/a.md", false},
		{"**", "x/y/a.md", true},
		{"**/a.md", "a.md", true},
		{"**/y/*.md", "x/y/a.md", true},
		{"x/**/a.md", "x/a.md", true},
		{"?.md", "x/a.md", true},
		{"?.md", "x/ab.md", false},
		{"x?a.md", "x/a.md", false},
		{"[ab].md", "b.md", true},
		{"[!ab].md", "b.md", false},
		{"[a-c].MD", "B.md", true},
		{"{a,b}/*.{md,txt}", "b/c.txt", true},
		{"{a,b}/*.{md,txt}", "c/c.txt", false},
		{`a\*.md`, "a*.md", true},
		{`a\*.md`, "ab.md", false},
		{"README.md", "readme.MD", true},
		{"ЗАМЕТКИ/*.md", "заметки/о.md", true},
		{"[а-я].md", "Ж.md", true},
		{"straße.md", "STRAẞE.md", true},
		{"Σ.md", "ς.md", true},
		{"caf\u00e9.md", "cafe\u0301.md", true},
		{"cafe\u0301.md", "CAF\u00c9.md", true},
		{"?.md", "\u00e9.md", true},
		{"?.md", "e\u0301.md", true},
		{"", "a.md", false},
		{"[", "[", false},
	} {
		if got := MatchGlob(c.pattern, c.path); got != c.want {
			t.Errorf("MatchGlob(%q, %q) is %v", c.pattern, c.path, got)
		}
	}
}

func TestCheckGlob(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"**/*.md", ""},
		{"{a,b}{c,d}", ""},
		{"", "is empty"},
		{"a[", "malformed"},
		{"{a", "malformed"},
		{`a\`, "malformed"},
		{"/a", "must be relative"},
		{"../a", "element"},
		{"./a", "element"},
		{"a//b", "element"},
		{"a/", "element"},
		{"a\xff", "UTF-8"},
		{strings.Repeat("a", 1001), "longer than 1000"},
		{strings.Repeat("{a,b}", 9), ""},
		{strings.Repeat("{a,b}", 10), "combinations"},
		{strings.Repeat("{a,{b,c}}", 200), "longer than 1000"},
		{strings.Repeat("{a,{b,c}}", 100), "combinations"},
	} {
		err := CheckGlob(c.pattern)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("CheckGlob(%.40q): %v, want %q", c.pattern, err, c.want)
		}
	}
}

func FuzzMatchGlob(f *testing.F) {
	f.Add("x/**/{a,b}*[!c-d]?.md", "x/y/abc.md")
	f.Add(`\{[^\]]**`, "{a")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(path) < 1000 && MatchGlob(pattern, path) && CheckGlob(pattern) != nil {
			t.Errorf("%q matches", pattern)
		}
	})
}
