package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.com/larder/reader"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain\ttext,\nдве строки ñ 漢字", "plain\ttext,\nдве строки ñ 漢字"},
		{"\x1b[2J", `\u001b[2J`},
		{"a\r\nb\x00\x07\x7f", `a\u000d` + "\n" + `b\u0000\u0007\u007f`},
		{"\u009b2J\u0085", `\u009b2J\u0085`},                       // C1 as UTF-8
		{"\x9b2J", "\ufffd2J"},                                     // and as a byte
		{"\u202egnp.exe\u2066\u2069", `\u202egnp.exe\u2066\u2069`}, // overrides and isolates
	} {
		if got := visible(c.text); got != c.want {
			t.Errorf("visible(%q) = %q, want %q", c.text, got, c.want)
		}
		var b bytes.Buffer
		if n, err := (escaper{&b}).Write([]byte(c.text)); n != len(c.text) || err != nil || b.String() != c.want {
			t.Errorf("Write(%q) = %d, %v and %q, want %q", c.text, n, err, b.String(), c.want)
		}
	}
	if got := oneLine(" a\n\tb \u2028c"); got != "a b c" {
		t.Errorf("oneLine is %q", got)
	}
}

// What is escaped in JSON is still the same value.
func TestVisibleJSON(t *testing.T) {
	want := "\x1b]0;title\a \u009b2J \u202e <b> \x7f\n"
	var b bytes.Buffer
	if err := writeJSON(escaper{&b}, want, "  "); err != nil {
		t.Fatal(err)
	}
	noCommands(t, b.String())
	var got string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != want {
		t.Errorf("%s is %q, %v, want %q", b.Bytes(), got, err, want)
	}
	if !strings.Contains(b.String(), "<b>") {
		t.Errorf("%s escapes what needs no escape", b.Bytes())
	}
}

// noCommands fails the test if text holds what a terminal might obey.
func noCommands(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%q holds %U at %d", text, r, i)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		matches    []string
		want       []string
	}{
		{"a line", "A word or two.", 40, nil, []string{"A word or two."}},
		{"nothing", "", 40, nil, nil},
		{"lines stay", "Head\n\nOne.\nTwo.\n", 40, nil, []string{"Head", "One.", "Two."}},
		{"long lines are wrapped", "one two three four", 9, nil, []string{"one two", "three", "four"}},
		{"exactly as wide", "one two three", 7, nil, []string{"one two", "three"}},
		{"indentation stays", "if x {\n\tgo  on\n}", 40, nil, []string{"if x {", "    go  on", "}"}},
		{"and goes on", "  one two three", 9, nil, []string{"  one two", "  three"}},
		{"not beyond half of the width", strings.Repeat(" ", 90) + "deep deep", 10, nil, []string{"     deep", "     deep"}},
		{"longer than a line", "a incomprehensible b", 6, nil, []string{"a", "incomprehensible", "b"}},
		{"columns, not bytes", "где мой заказ", 7, nil, []string{"где мой", "заказ"}},
		{"matches", "error E-4012, twice: E-4012", 40, []string{"E-4012"}, []string{"error *E-4012*, twice: *E-4012*"}},
		{"matches over blanks and lines", "one two\nthree", 40, []string{"ne two\nth"}, []string{"o*ne* *two*", "*th*ree"}},
		{"marks take no room", "one two three", 7, []string{"one", "two"}, []string{"*one* *two*", "three"}},
		{"two in a word", "user@host", 40, []string{"user", "host"}, []string{"*user*@*host*"}},
		{"hostile", "\x1b[2Jone\rtwo\u202e\x9b", 40, []string{"[2Jone"}, []string{`\u001b*[2Jone* two\u202e` + "\ufffd"}},
	} {
		var spans [][2]int
		for _, m := range c.matches {
			for at := 0; ; {
				i := strings.Index(c.text[at:], m)
				if i < 0 {
					break
				}
				spans = append(spans, [2]int{at + i, at + i + len(m)})
				at += i + len(m)
			}
		}
		if got := plain.lines(c.text, spans, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An artifact may come from anybody: nothing in a hit commands the terminal, and it can't look like another hit.
func TestHostileHit(t *testing.T) {
	evil := "\x1b[31mred\u009b0m\r\u202eback\n 9  forged.md\x00\x9b"
	h := found{Base: "base", Hit: reader.Hit{Path: evil, HeadingPath: evil, Text: evil, ChunkID: "00", FirstLine: 1, LastLine: 2}, matches: [][2]int{{0, len(evil)}}}
	var b bytes.Buffer
	printHit(&b, plain, 1, h, true, true)
	noCommands(t, b.String())
	for i, line := range strings.Split(b.String(), "\n") {
		if i > 0 && line != "" && !strings.HasPrefix(line, "    ") {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	b.Reset()
	printHit(&b, colour, 1, h, true, true)
	for _, mark := range []string{colour.match, colour.title, colour.dim, colour.end} {
		if !strings.Contains(b.String(), mark) {
			t.Errorf("%q lacks %q", b.String(), mark)
		}
	}
	noCommands(t, strings.NewReplacer(colour.match, "", colour.title, "", colour.dim, "", colour.end, "").Replace(b.String()))
}

func TestHostileError(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := run(context.Background(), []string{"show", "no\x1b[2J\u202efolder"}, &out, &errOut); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if out.Len() > 0 || !strings.HasPrefix(errOut.String(), "larder: error: ") {
		t.Errorf("printed %q and %q", out.String(), errOut.String())
	}
	noCommands(t, errOut.String())
}

func TestWhereIn(t *testing.T) {
	for _, c := range []struct {
		hit  reader.Hit
		want string
	}{
		{reader.Hit{FirstPage: 3, LastPage: 3, FirstLine: 7, LastLine: 9}, "page 3"},
		{reader.Hit{FirstPage: 3, LastPage: 4}, "pages 3–4"},
		{reader.Hit{FirstLine: 7, LastLine: 7}, "line 7"},
		{reader.Hit{FirstLine: 7, LastLine: 9}, "lines 7–9"},
		{reader.Hit{}, ""},
	} {
		if got := whereIn(found{Hit: c.hit}); got != c.want {
			t.Errorf("%+v is at %q, want %q", c.hit, got, c.want)
		}
	}
}

func TestRank(t *testing.T) {
	hits := func() []found {
		return []found{
			{Base: "a", Hit: reader.Hit{Path: "a1", Score: 9}, rank: 0}, {Base: "a", Hit: reader.Hit{Path: "a2", Score: 8}, rank: 1},
			{Base: "b", Hit: reader.Hit{Path: "b1", Score: 8.5}, rank: 0}, {Base: "b", Hit: reader.Hit{Path: "b2", Score: 8}, rank: 1},
		}
	}
	for byScore, want := range map[bool]string{true: "a1 b1 a2 b2", false: "a1 b1 a2 b2"} {
		list := hits()
		if !byScore {
			list[2].Score, list[3].Score = 0.02, 0.01
		}
		rank(list, byScore)
		var got []string
		for _, h := range list {
			got = append(got, h.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by score %v: %v, want %s", byScore, got, want)
		}
	}
}
