package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// openFrom reads the files of a map, as ParseOptions.Open does those of a base.
func openFrom(files map[string]string, opened *[]string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		*opened = append(*opened, name)
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
}

func parseIncluding(t *testing.T, name, text string, files map[string]string) (*Document, []string) {
	t.Helper()
	var opened []string
	d := Parse(context.Background(), name, []byte(text), ParseOptions{Open: openFrom(files, &opened)})
	checkDocument(t, name, []byte(text), d)
	return d, opened
}

// lineOfText returns the line of the source that a part of a document's text comes from.
func lineOfText(t *testing.T, d *Document, part string) int {
	t.Helper()
	at := strings.Index(d.Text, part)
	if at < 0 {
		t.Fatalf("no %q in %q", part, d.Text)
	}
	line := 0
	for _, s := range d.Segments {
		if s.Start <= at {
			line = s.Line
		}
	}
	return line
}

func TestMarkdownIncludes(t *testing.T) {
	files := map[string]string{
		"book/part.md":      "part one\n\n{{#include deep/more.md}}\n\npart end\n",
		"book/deep/more.md": "more\n",
		"code/a.rs":         "one\n// ANCHOR: x\ntwo\n// ANCHOR: y\nthree\n// ANCHOR_END: x\nfour\n// ANCHOR_END: y\nfive\n",
		"secret.txt":        "hidden words",
	}
	for _, c := range []struct{ name, text, want string }{
		{"a file with another in it", "before\n\n{{#include part.md}}\n\nafter", "before\n\npart one\n\nmore\n\npart end\n\nafter"},
		{"all of a file", "```\n{{#include ../code/a.rs}}\n```", "one\ntwo\nthree\nfour\nfive"},
		{"one line", "```\n{{#include ../code/a.rs:3}}\n```", "two"},
		{"lines", "```\n{{#include ../code/a.rs:3:5}}\n```", "two\n// ANCHOR: y\nthree"},
		{"to the end", "```\n{{#include ../code/a.rs:9:}}\n```", "five"},
		{"from the start", "```\n{{#include ../code/a.rs::1}}\n```", "one"},
		{"an anchor", "```\n{{#rustdoc_include ../code/a.rs:x}}\n```", "two\nthree"},
		{"another anchor", "```\n{{#include ../code/a.rs:y}}\n```", "three\nfour"},
		{"within a quote", "> {{#include deep/more.md}}\n> b", "more b"},
		{"escaped", `a \{{#include part.md}}`, "a {{#include part.md}}"},
		{"another verb", "{{#other part.md}}", "{{#other part.md}}"},
		{"no end", "{{#include part.md", "{{#include part.md"},
	} {
		d, _ := parseIncluding(t, "book/a.md", c.text, files)
		if got := strings.TrimSpace(d.Text); got != c.want && got != strings.ReplaceAll(c.want, "\n\n", "\n") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	d, _ := parseIncluding(t, "book/a.md", "{{#title The title}}\n# Heading\n", files)
	if d.Meta.Title != "The title" {
		t.Errorf("title %q", d.Meta.Title)
	}
}

// TestMarkdownIncludesStayInside shows what is refused before any file is opened, and that nothing fails over it.
func TestMarkdownIncludesStayInside(t *testing.T) {
	files := map[string]string{"loop.md": "a {{#include loop.md}} b", "big.txt": strings.Repeat("x", maxIncludeFile+1)}
	for _, c := range []struct {
		argument, why string
		opens         bool
	}{
		{"../secret.txt", leftIncludeOutside, false},
		{"x/../../secret.txt", leftIncludeOutside, false},
		{"/etc/passwd", leftIncludeOutside, false},
		{`..\secret.txt`, leftIncludeOutside, false},
		{".git/config", leftIncludeOutside, false},
		{"a/.hidden/b.txt", leftIncludeOutside, false},
		{"missing.txt", leftIncludeMissing, true},
		{"loop.md:nothing", leftIncludeMissing, true},
		{"loop.md", leftIncludeTooMuch, true},
		{"big.txt", leftIncludeTooMuch, true},
	} {
		d, opened := parseIncluding(t, "a.md", "before\n\n{{#include "+c.argument+"}}\n\nafter\n", files)
		if d.Verdict != OK || d.LeftOut[c.why] == 0 || !strings.Contains(d.Text, "before") || !strings.Contains(d.Text, "after") {
			t.Errorf("%s: %s %s, left out %v, text %.60q", c.argument, d.Verdict, d.Reason, d.LeftOut, d.Text)
		}
		if len(opened) > 0 != c.opens {
			t.Errorf("%s: opened %q", c.argument, opened)
		}
		if len(opened) > 20 {
			t.Errorf("%s: %d files opened", c.argument, len(opened))
		}
	}
	// Without a way to open files all are refused.
	if d := parseOf(t, "a.md", []byte("a {{#include b.md}}")); d.LeftOut[leftIncludeMissing] != 1 || strings.TrimSpace(d.Text) != "a" {
		t.Errorf("left out %v, text %q", d.LeftOut, d.Text)
	}
}

// TestMarkdownIncludesAreBounded shows that a document can't grow without end by what it includes, nor read without
// end.
func TestMarkdownIncludesAreBounded(t *testing.T) {
	bomb := map[string]string{}
	for i := range 20 {
		bomb[fmt.Sprintf("%d.md", i)] = strings.Repeat(fmt.Sprintf("{{#include %d.md}}\n", i+1), 50)
	}
	read := 0
	open := func(name string) ([]byte, error) {
		text, ok := bomb[name]
		if !ok {
			return nil, errors.New("missing")
		}
		read += len(text)
		return []byte(text), nil
	}
	text := strings.Repeat("{{#include 0.md}}\n", 50_000)
	d := Parse(context.Background(), "a.md", []byte(text), ParseOptions{Open: open})
	if d.LeftOut[leftIncludeTooMuch] == 0 || read > 2*maxIncluded {
		t.Errorf("%s: %d bytes read, left out %v", d.Verdict, read, d.LeftOut)
	}
	// The blanks before a directive are put before each line of what it includes.
	bomb["lines"] = strings.Repeat("\n", maxIncludeFile/2)
	text = strings.Repeat(" ", 1000) + "{{#include lines}}\n"
	d = Parse(context.Background(), "a.md", []byte("x\n\n"+text), ParseOptions{Open: open})
	if len(d.Text) > maxRewritten {
		t.Errorf("%d bytes of text", len(d.Text))
	}
}

func TestMarkdownDialectText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a tag without an end", "{{< code-toggle config=a />}}\n\n## b\n\n{{< code-toggle >}}\nc\n{{< /code-toggle >}}", "b\n\nc"},
		{"options are not shown", "a {{< highlight go \"x=true, y=true\" >}}b{{< /highlight >}} c", "a b c"},
		{"arguments that are shown", "{{< figure src=\"a.png\" alt=\"b c\" title=\"d\" width=\"9\" >}}", "b c d"},
		{"text within", "{{% note %}}a *b*{{% /note %}}", "a b"},
		{"a literal tag", "`{{</* a */>}}`", "{{< a >}}"},
		{"tags of Liquid", "{% if a %}b{% endif %} {% include c.html %}d", "b d"},
		{"a comment of Liquid", "a\n\n{% comment %}\nb\n{% endcomment %}\n\nc", "a\n\nc"},
		{"lists of attributes", "# a {#b .c}\n\nd\n{: .e}\n\nf[g](h){:target=\"_blank\"}", "a\n\nd\n\nfg"},
		{"containers", ":::tip Advice\na\n:::\n\n::: warning\nb\n:::", "Advice\n\na\n\nWarning\n\nb"},
		{"admonitions", "!!! note\n    a\n\n??? tip \"b\"\n    c\n\nd", "Note\n\na\n\nb\n\nc\n\nd"},
		{"alerts", "> [!TIP]\n> a", "Tip\n\na"},
		{"modules", "import A from './a'\n\nexport const b = 1;\n\n<A title=\"c\" d={e}>f</A>\n\n{/* g */}h", "cf\n\nh"},
		{"mathematics", "a $x_1 * y_2 * z$ b $$p_*q_*$$ c \\(u_{1}*v*w\\) d, $5 and $6", "a $x_1 * y_2 * z$ b $$p_*q_*$$ c \\(u_{1}*v*w\\) d, $5 and $6"},
		{"code stays", "`{{ a }} {: .b} $c$`\n\n    :::note\n\n```\n!!! d\n    e\n```", "{{ a }} {: .b} $c$\n\n:::note\n\n!!! d\n    e"},
		{"lines in Chinese", "你好，\n世界 and\nwords", "你好，世界 and words"},
		{"preformatted", "<pre>\na\n  b &lt;\n</pre>", "a\n  b <"},
		{"details", "<details><summary>a</summary>\n\nb\n\n</details>", "a\n\nb"},
	} {
		d := parseOf(t, "a.md", []byte(c.text))
		if got := strings.TrimSpace(d.Text); got != c.want && got != strings.ReplaceAll(c.want, "\n\n", "\n") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMarkdownDialectLines shows that text is in the lines of the file, whatever was rewritten before it.
func TestMarkdownDialectLines(t *testing.T) {
	text := "---\ntitle: t\n---\n{{< figure\n  src=\"a.png\"\n  caption=\"Shown caption here\" >}}\n\nalpha\n\n" + // 1–9
		"{{#include many.txt}}\n\nbeta\n\n" + // 10–13
		"!!! note \"Titled\"\n    gamma\n\n    delta\n\n" + // 14–18
		":::tip[Advice]\nepsilon\n:::\n\n" + // 19–22
		"$$\n\\sum zeta\n$$\n\nomicron\n\n" + // 23–28
		"{{< highlight go >}}\nfunc theta() {}\n{{< /highlight >}}\n\n" + // 29–32
		"> [!WARNING]\n> iota\n\nkappa {{% x %}}lambda{{% /x %}}\n" // 33–36
	d, _ := parseIncluding(t, "a.md", text, map[string]string{"many.txt": "in one\n\nin two\n\nin three\n"})
	for part, want := range map[string]int{
		"Shown caption": 6, "alpha": 8, "in one": 10, "in two": 10, "in three": 10, "beta": 12, "Titled": 14, "gamma": 15,
		"delta": 17, "Advice": 19, "epsilon": 20, `\sum`: 24, "omicron": 27, "theta": 30, "Warning": 33, "iota": 34,
		"kappa": 36, "lambda": 36,
	} {
		if got := lineOfText(t, d, part); got != want {
			t.Errorf("%q is in line %d, want %d", part, got, want)
		}
	}
	if t.Failed() {
		t.Log(dump(d))
	}
}

func TestMarkdownAnchors(t *testing.T) {
	text := "# One & *two*\n\na\n\n## Dup\n\nb\n\n## Dup\n\n## Dup 1\n\n## dup-1\n\nc\n\n### Привет, `Мир`!\n\nd\n\n" +
		"## [Link](x) ![alt](y) {#own}\n\n- e\n\n> # In a quote\n\n## a_b snake\n\n## 日本語 見出し\n\n## ?!\n\nf\n\n## ΑΣ İ\n\n<h2 id=\"html\">By id</h2>\n\ng\n"
	d := parseOf(t, "a.md", []byte(text))
	var got []string
	for _, b := range d.Blocks {
		got = append(got, b.Anchor+"="+d.Text[b.Start:b.End])
	}
	want := []string{
		"one--two=One & two", "one--two=a", "dup=Dup", "dup=b", "dup-1=Dup", "dup-1-1=Dup 1", "dup-1-2=dup-1", "dup-1-2=c",
		"привет-мир=Привет, Мир!", "привет-мир=d", "own=Link alt", "own=e", "in-a-quote=In a quote", "a_b-snake=a_b snake",
		"日本語-見出し=日本語 見出し", "one--two=?!", "one--two=f", "ας-i̇=ΑΣ İ", "html=By id", "html=g",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestHostileDialects shows that nothing crashes, hangs or grows over markup of other tools; with the tag heavy,
// TestLargeHostileDialects shows it for a megabyte of each.
func TestHostileDialects(t *testing.T) { checkHostileDialects(t, 1<<14) }

func checkHostileDialects(t *testing.T, size int) {
	parts := []string{
		":::", ":::\n", ":::note\n", ":::note[", "::: {", "{{<", "{{%", "{{< a >}}", "{{< a \"", "{{< a b=", "{{</* a ", "{{</* a */>}}", "{%", "{% raw %}", "{% comment %}",
		"{{< highlight >}}\n", "{{< highlight >}}", "{{< /highlight >}}", "{{#", "{{#include", "{{#include a.md}}", "\\{{#include a}}", "!!!", "!!! note\n", "!!! note\n    ", "??? a\n    b\n",
		"=== \"a\"\n    b\n", "$", "$$", "$a", "$a$", "$$\n", "$\n", "a $ b ", "\\(", "\\[", "\\[\n", "\\[\n#\n", "\\[\na\n", "\\(a^b\\)", "{:", "{: .a", "{.a", "{.a}", "{#a}", "{/*", "<a{",
		"<A b={", "<A b={c}>", "<A b=\"c\" d={", "> [!NOTE]\n", "[!NOTE]\n", "[TOC]\n", "import a from 'b'\n", "export const a = {\n", "import ", "export default {\n\n",
		"a{", "{", "}", "`$", "`", "``` {.a", "# a {", "# {#a}\n", "# a\n", "<pre>", "<pre>\n", "<table><tr><td>", "<tr>", "<h2>a", "<details><summary>a", "\t$", "> ", "| $a | \n", "- $$\n", "1. !!! note\n",
	}
	for _, part := range parts {
		for _, text := range []string{strings.Repeat(part, size/len(part)), "a " + strings.Repeat(part+" ", size/(len(part)+1))} {
			d := Parse(context.Background(), "a.md", []byte(text), ParseOptions{Open: func(string) ([]byte, error) { return []byte("{{#include a.md}}\n\n$x"), nil }})
			if d.Verdict == Failed && !strings.Contains(d.Reason, "reasonable time") {
				t.Errorf("%q: %s", part, d.Reason)
			}
			if len(d.Text) > 4*size {
				t.Errorf("%q: %d bytes of text", part, len(d.Text))
			}
		}
	}
}

func FuzzMarkdownDialects(f *testing.F) {
	for _, text := range []string{
		"{{< a b=\"c\" >}}d{{< /a >}}", "{{#include a.md:1:2}}", "!!! note \"a\"\n    b\n", ":::note[a]\nb\n:::", "$a^b$ $$\nc\n$$", "> [!NOTE] a\n> b",
		"<A b={c} title=\"d\">e</A>", "{% highlight a %}\nb\n{% endhighlight %}", "# a {#b}\n\nc\n{: .d}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Parse(context.Background(), "a/a.md", data, ParseOptions{Open: func(string) ([]byte, error) { return bytes.Clone(data), nil }})
		checkDocument(t, "a.md", data, d)
	})
}
