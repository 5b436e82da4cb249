package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shownBlocks shows a document's blocks, one a line.
func shownBlocks(d *Document) string {
	var b strings.Builder
	for _, block := range d.Blocks {
		text := strings.ReplaceAll(d.Text[block.Start:block.End], "\n", "⏎")
		switch block.Kind {
		case Paragraph:
			fmt.Fprintf(&b, "%s\n", text)
		case Code:
			fmt.Fprintf(&b, "code(%s): %s\n", block.Context, text)
		default:
			fmt.Fprintf(&b, "%s: %s\n", block.Kind, text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestMarkdownOfTools shows that of what tools add to Markdown the text is kept and the markup is not.
func TestMarkdownOfTools(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		// Hugo
		{"shortcode alone", "a\n\n{{< youtube 0RKpf3rK57I >}}\n\nb", "a\nb"},
		{"shortcode in text", "a {{< icon \"star\" >}} b{{% icon %}}c", "a bc"},
		{"around text", "{{% note %}}\nOne *two*.\n{{% /note %}}", "One two."},
		{"shown arguments", `{{< figure src="a.png" title="The *one*" caption="A kitten" class="wide" >}}`, "The one A kitten"},
		{"an argument for readers", `See {{% term "default order" %}} and {{< ref "some file.md" >}}.`, "See default order and ."},
		{"over lines", "a {{< figure\n  src=\"a.png\"\n  alt=\"Two cats\"\n>}} b\nc", "a Two cats b c"},
		{"closed by itself", "{{< new-in 0.1.0 />}} x", "x"},
		{"shown as it is", "Write {{</* ref \"x\" */>}} or `{{%/* y */%}}`.", "Write {{< ref \"x\" >}} or {{% y %}}."},
		{"shown as it is in code", "```\n{{</* ref \"x\" */>}}\n{{< z >}}\n```", "code(): {{< ref \"x\" >}}⏎{{< z >}}"},
		{"highlight", "a\n{{< highlight go \"linenos=true\" >}}\nx := \"*a*\"\n\n~~~\n{{< /highlight >}}\nb", "a\ncode(go): x := \"*a*\"⏎⏎~~~\nb"},
		{"highlight in a line", "Call {{< highlight go \"inline=true, a=b\" >}}a*b*c{{< /highlight >}} now.", "Call a*b*c now."},
		{"code in an item", "- a\n\n  {{< code-toggle file=hugo >}}\n  x = 1\n  {{< /code-toggle >}}\n- b", "list item: a\ncode(): x = 1\nlist item: b"},
		{"code that has no end", "{{< code-toggle config=x />}}\n\na\n\n{{< code file=\"x\" >}}\n\nb\n\n{{< code-toggle >}}\nx = 1\n{{< /code-toggle >}}", "a\nb\ncode(): x = 1"},
		{"code after one that has no end", "{{< code file=\"x\" >}}\n\n*b*\n\n{{< code >}}\nx = 1\n{{< /code >}}", "b\ncode(): x = 1"},
		{"a fence in code", "{{< highlight md >}}\n~~~\n{{< /highlight >}}\n\n:::tip\nBody.\n:::", "code(md): ~~~\nTip\nBody."},
		{"comment", "a\n\n{{< comment >}}\nsecret\n\nsecret\n{{< /comment >}}\n\nb", "a\nb"},
		{"no shortcode", "Write {{< and {{% and {% here.", "Write {{< and {{% and {% here."},
		{"variables", "The {{ page.title }} stays.", "The {{ page.title }} stays."},
		// Jekyll and Liquid
		{"tags", "{% if x %}\nyes\n{% else %}\nno\n{% endif %}", "yes\nno"},
		{"include with text", `{% include note.html content="Mind this." %}`, "Mind this."},
		{"hint", "{% hint style=\"info\" %}\nBody.\n{% endhint %}", "Body."},
		{"tab", "{% tab title=\"Linux\" %}\nBody.\n{% endtab %}", "Linux\nBody."},
		{"highlight of Liquid", "{% highlight ruby linenos %}\nputs \"*x*\"\n{% endhighlight %}", "code(ruby): puts \"*x*\""},
		{"comment of Liquid", "a {%- comment -%}secret{%- endcomment -%} b", "a secret b"},
		{"attributes of a block", "Text.\n{: .note #id}\n\n{:.x}\n> quote", "Text.\nquote: quote"},
		{"attributes of a link", "A [link](x){:target=\"_blank\"} and *word*{.x} and `code`{:.ruby}.", "A link and word and code."},
		{"attributes of another kind", "{.wide #top}\n\nUse {:?} in {.x} text.", "Use {:?} in {.x} text."},
		{"attributes of a heading", "## One {: #first .x}\n\n## Two {#second}", "heading: One\nheading: Two"},
		// Admonitions
		{"container", ":::note\nBody *one*.\n:::\nafter", "Note\nBody one.\nafter"},
		{"container with a title", "before\n:::tip[Read *this*]\n\nBody.\n\n:::\n\n::: warning Mind the gap\nBody.\n:::", "before\nRead this\nBody.\nMind the gap\nBody."},
		{"layout", "::: {.columns}\n:::: code-group\ntext\n::::\n:::", "text"},
		{"directive", "```{note} in code\n```\n:::{warning} Careful\nBody.\n:::", "Careful\nBody."},
		{"nested", "::::info\n:::danger Hot\nInner.\n:::\n::::", "Info\nHot\nInner."},
		{"in code", "```\n:::note\n!!! tip\n    x\n```", "code(): :::note⏎!!! tip⏎    x"},
		{"in an item", "- item\n\n  :::note\n  Body.\n  :::\n- next", "list item: item⏎Note⏎Body.\nlist item: next"},
		{"MkDocs", "!!! note \"Read this\"\n    Body\n    more.\n\n    - item\n\n    ```py\n    if x:\n        y\n    ```\n\nafter", "Read this\nBody more.\nlist item: item\ncode(py): if x:⏎    y\nafter"},
		{"MkDocs without a title", "!!! warning\n\n    Body.\n\n??? tip\n    More.\n\n???+ custom \"\"\n    Even more.", "Warning\nBody.\nTip\nMore.\nEven more."},
		{"MkDocs nested", "!!! note\n    One.\n\n    !!! tip \"In\"\n        Two.\n\n    Three.\n", "Note\nOne.\nIn\nTwo.\nThree."},
		{"MkDocs in an item", "1. item\n\n    !!! note\n        Body.\n\n2. next", "list item: item⏎Note⏎Body.\nlist item: next"},
		{"tabs", "=== \"Linux\"\n\n    Body.\n\n=== \"Windows\"\n    Other.\n", "Linux\nBody.\nWindows\nOther."},
		{"exclaimed", "!!! What a day\n\nNext.", "!!! What a day\nNext."},
		{"alert", "> [!NOTE]\n> Body\n> more.\n\n> [!WARNING]+ Radiation\n> - item", "quote: Note\nquote: Body more.\nquote: Radiation\nlist item: item"},
		{"no alert", "> see [!NOTE]\n\n[!TIP]", "quote: see [!NOTE]\n[!TIP]"},
		{"table of contents", "[TOC]\n\n# a\n\n[[toc]]", "heading: a"},
		// MDX and Vue
		{"modules", "import Tabs from '@theme/Tabs';\nimport './x.css'\n\nexport const a = {\n  b: 1,\n};\n\ntext", "text"},
		{"words like modules", "import duties are due\n\nexport const is a word\n\nexport default settings to a file.", "import duties are due\nexport const is a word\nexport default settings to a file."},
		{"components", "<Tabs items={['a', `b`]} label=\"Pick one\">\n<TabItem value=\"a\" label=\"Linux\">\n\ninner\n\n</TabItem>\n</Tabs>", "Pick one Linux\ninner"},
		{"component with a caption", "<Listing number=\"1\" caption=\"A `User`\">\n\n```rust\nx\n```\n\n</Listing>", "A `User`\ncode(rust): x"},
		{"comment of MDX", "a {/* secret */} b", "a b"},
		// Mathematics
		{"inline", "Let $a_1 * b_1 = c_1*d$ and $x$.", "Let $a_1 * b_1 = c_1*d$ and $x$."},
		{"prices", "From $5 to $10, *about* US$7 or $8.", "From $5 to $10, about US$7 or $8."},
		{"displayed", "a\n\n$$\nx_1 &= y \\\\\n- z\n$$\n\nb", "a\ncode(math): $$⏎x_1 &= y \\\\⏎- z⏎$$\nb"},
		{"displayed in a line", "It is $$a_b*c*d$$ here.", "It is $$a_b*c*d$$ here."},
		{"brackets", "So \\(\\alpha_i * \\beta_i\\) and \\[x^2 * y^2\\], \\(no math\\) \\[at all\\].", "So \\(\\alpha_i * \\beta_i\\) and \\[x^2 * y^2\\], (no math) [at all]."},
		{"in spans of code", "`$a` and *b* `$c`; `\\(x^2\\)`", "$a and b $c; \\(x^2\\)"},
		{"in indented code", "a\n\n    echo $x_1$ {{< z >}}", "a\ncode(): echo $x_1$ {{< z >}}"},
		{"in HTML", "<div>$x_1*y$ &amp; \\(x^2\\)</div>", "$x_1*y$ & \\(x^2\\)"},
		{"in a table", "| a | b |\n|---|---|\n| $x_1$ | $y|z$ |", "table row: a | b\ntable row: $x_1$ | $y"},
		{"in GitHub's code", "Now $`a_b*c*`$.", "Now $`a_b*c*`$."},
		{"links", "Costs $5 [here](x) or 6$ there.", "Costs $5 here or 6$ there."},
		// HTML
		{"preformatted", "<pre><code class=\"language-go\">a := 1 &amp;&amp; 2\n\n  <b>b</b> := 2\n</code></pre>", "code(go): a := 1 && 2⏎⏎  b := 2"},
		{"details", "<details>\n<summary>More <b>here</b></summary>\n\nBody.\n\n</details>", "More here\nBody."},
		{"table", "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td><p>1</p></td><td>2<br>3</td></tr>\n</table>", "table row: A | B\ntable row: 1 | 2 3"},
		{"escapes and anchors", "# One \\(two\\)<a name=\"x\"></a>\n\nA\\_b\\.", "heading: One (two)\nA_b."},
		// Lines
		{"Chinese", "漢字の\n続きです。\n次 Latin\nかな\n한국\n어", "漢字の続きです。次 Latin かな 한국 어"},
		{"Chinese in HTML", "<p>漢字の\n   続き<br>です</p>", "漢字の続き です"},
		{"hidden lines", "```rust,ignore\n# fn main() {\n##[x]\n#[derive(Debug)]\nlet a = 1;\n#\n# }\n```\n\n```sh\n# shown\n```", "code(rust,ignore): #[x]⏎#[derive(Debug)]⏎let a = 1;\ncode(sh): # shown"},
	} {
		d := parseOf(t, "a.md", []byte(c.text))
		if got := shownBlocks(d); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		if strings.Contains(d.Text, "secret") && !strings.Contains(c.want, "secret") {
			t.Errorf("%s: a comment is in the text", c.name)
		}
	}
}

// TestMarkdownLinesOfTools shows that lines are those of the file, whatever was taken out before them or put in.
func TestMarkdownLinesOfTools(t *testing.T) {
	files := map[string]string{"inc/x.md": "Included one.\n\nIncluded two.\n"}
	open := func(name string) ([]byte, error) { return []byte(files[name]), nil }
	text := "---\ntitle: T\n---\n" + // 1 to 3
		"{{< figure\n  alt=\"Cats\"\n>}} behind\n" + // 4 to 6
		"\n{{#include inc/x.md}}\n\n" + // 7 to 9
		"!!! note\n    Body.\n\n" + // 10 to 12
		"$$\na\n$$\n" + // 13 to 15
		":::tip\nlast\r\n:::\n" // 16 to 18
	d := Parse(t.Context(), "a.md", []byte(text), ParseOptions{Open: open})
	checkDocument(t, "a.md", []byte(text), d)
	want := []string{"Cats 5", "behind 6", "Included one. 8", "Included two. 8", "Note 10", "Body. 11", "$$ 13", "Tip 16", "last 17"}
	for _, w := range want {
		word, line, _ := strings.Cut(w, " ")
		if i := strings.LastIndexByte(w, ' '); i >= 0 {
			word, line = w[:i], w[i+1:]
		}
		at := strings.Index(d.Text, word)
		if at < 0 {
			t.Errorf("%q is not in %q", word, d.Text)
			continue
		}
		if got := fmt.Sprint(d.Segments[d.segment(at)].Line); got != line {
			t.Errorf("%q is said to be in line %s, not %s", word, got, line)
		}
	}
	for i, s := range d.Segments {
		if s.Source >= len(text) || i > 0 && s.Source < d.Segments[i-1].Source {
			t.Errorf("segment %+v of %d bytes", s, len(text))
		}
	}
}

func TestAnchors(t *testing.T) {
	text := `before

# The *First*, and ` + "`best`" + ` one!

text

## Über uns: 漢字 & Ελλάς

- item

## The First, and best one
## Same
### Same
> ## Same

still there

#### Same-1
#   Two   blanks_and - hyphens
### Own {#my-id}
code

<h2>In HTML <b>too</b></h2>

<h2 id="given">In HTML</h2>

## ![alt](x.png)

under an image

## [Link](x) <a name="old"></a>
## A\_b &amp; c
Setext
over lines
---
## Same
`
	var got []string
	d := parseOf(t, "a.md", []byte(text))
	for _, b := range d.Blocks {
		got = append(got, d.Text[b.Start:b.End]+" #"+b.Anchor)
	}
	want := []string{
		"before #", "The First, and best one! #the-first-and-best-one", "text #the-first-and-best-one",
		"Über uns: 漢字 & Ελλάς #über-uns-漢字--ελλάς", "item #über-uns-漢字--ελλάς",
		"The First, and best one #the-first-and-best-one-1", "Same #same", "Same #same-1", "Same #same-2", "still there #same-1",
		"Same-1 #same-1-1", "Two blanks_and - hyphens #two---blanks_and---hyphens", "Own #my-id", "code #my-id",
		"In HTML too #in-html-too", "In HTML #given", "alt #two---blanks_and---hyphens", "under an image #two---blanks_and---hyphens",
		"Link #link-", "A_b & c #a_b--c", "Setext over lines #setextover-lines", "Same #same-3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
