package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

func TestMarkdownGoldens(t *testing.T) { checkGoldens(t, "testdata/markdown/*", 8) }

// TestMarkdownMaterial reads a tenth of the test material; with the tag heavy,
// TestWholeMarkdownMaterial reads it all.
func TestMarkdownMaterial(t *testing.T) { checkMarkdownMaterial(t, 10) }

// checkMarkdownMaterial parses one of so many Markdown files of the test material, and compares their
// words with those that goldmark's own renderer shows.
func checkMarkdownMaterial(t *testing.T, oneOf int) {
	reference := goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList),
		goldmark.WithParserOptions(parser.WithHeadingAttribute()),
		goldmark.WithRendererOptions(renderer.WithUnsafe()),
	)
	var took time.Duration
	var bytesRead, blocks, words, strays, shown, missed, extra int
	verdicts := map[Verdict]int{}
	names := sharedFiles(t, "md", ".md", 3000)
	files := 0
	for i := 0; i < len(names); i += oneOf {
		name := names[i]
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files++
		began := time.Now()
		d := Parse(context.Background(), name, data, ParseOptions{})
		took += time.Since(began)
		checkDocument(t, name, data, d)
		verdicts[d.Verdict]++
		if d.Verdict != OK && d.Verdict != Blank {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
			continue
		}
		bytesRead += len(data)
		blocks += len(d.Blocks)

		source, _ := decodeText(data, maxMarkdown)
		n, stray := checkLines(source, d)
		words += n
		strays += len(stray)
		if len(stray)*20 > n && len(stray) > 2 {
			t.Errorf("%s: %d of %d words in other lines: %s", name, len(stray), n, stray[:min(5, len(stray))])
		}

		_, body, _ := parseFrontMatter(source.text)
		var page bytes.Buffer
		m := &markdownReader{canonicalText: newCanonicalText(source)}
		m.rewrite(source.text[body:], ParseOptions{}) // other tools' markup has tests of its own
		if err := reference.Convert(m.body, &page); err != nil {
			t.Fatal(err)
		}
		want := wordCounts(shownText(t, page.Bytes()))
		for _, n := range want {
			shown += n
		}
		for word, n := range wordCounts(d.Text) {
			want[word] -= n
		}
		gone := 0
		for _, n := range want {
			if n > 0 {
				gone += n
			} else {
				extra -= n
			}
		}
		missed += gone
		if gone > 5 {
			t.Logf("%s: %d words missed: %s", name, gone, sample(want))
		}
	}
	recall := 1 - float64(missed)/float64(shown)
	t.Logf("%d files %v, %d bytes, %d blocks in %v; %d of %d shown words missed (recall %.5f), %d extra; %d of %d words in other lines",
		files, verdicts, bytesRead, blocks, took.Round(time.Millisecond), missed, shown, recall, extra, strays, words)
	if recall < 0.9999 || extra*10_000 > shown {
		t.Errorf("recall of words is %.5f with %d extra, at least 0.9999 with as few is expected", recall, extra)
	}
	if strays*1000 > words {
		t.Errorf("%d of %d words are not in the line that is told", strays, words)
	}
}

func sample(counts map[string]int) string {
	var some []string
	for word, n := range counts {
		if n > 0 && len(some) < 8 {
			some = append(some, fmt.Sprintf("%s×%d", word, n))
		}
	}
	return strings.Join(some, " ")
}

func wordCounts(text string) map[string]int {
	counts := map[string]int{}
	for _, span := range wordSpans(text) {
		counts[text[span[0]:span[1]]]++
	}
	return counts
}

// shownText returns the text of a page as a browser shows it, with the alternative text of images and
// without the marks of footnotes.
func shownText(t *testing.T, page []byte) string {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch n.Type {
		case html.TextNode:
			for _, r := range n.Data {
				if leftOutAs(r) == "" || r == '\n' || r == '\t' {
					b.WriteRune(r)
				}
			}
		case html.ElementNode:
			if n.Data == "script" || n.Data == "style" {
				return
			}
			attributes := map[string]string{}
			for _, a := range n.Attr {
				attributes[a.Key] = a.Val
			}
			if strings.HasPrefix(attributes["class"], "footnote-") {
				return
			}
			if n.Data == "img" {
				b.WriteString(attributes["alt"])
			}
			for _, a := range n.Attr { // of components
				if (n.DataAtom == 0 || n.Data == "listing") && isShownAttribute(a.Key) {
					b.WriteString("\n" + a.Val + "\n")
				}
			}
		}
		apart := n.Type == html.ElementNode && !inlineTags[n.DataAtom]
		if apart {
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if apart {
			b.WriteByte('\n')
		}
	}
	walk(root)
	return b.String()
}

// hostileMarkdown grows with n: each made some parser slow, deep or large.
var hostileMarkdown = map[string]func(n int) string{
	"quotes":             func(n int) string { return strings.Repeat(">", n) + " deep" },
	"quotes and items":   func(n int) string { return strings.Repeat("> - ", n) + " deep" },
	"items":              func(n int) string { return strings.Repeat("- ", n) + "deep" },
	"stairs":             func(n int) string { return stairs(n) },
	"items, blank lines": func(n int) string { return strings.Repeat("- ", 60) + "deep\n" + strings.Repeat("\n", n) + "x" },
	"brackets":           func(n int) string { return strings.Repeat("[", n) },
	"brackets around": func(n int) string {
		return strings.Repeat("[", 900) + strings.Repeat("*a* ", n) + strings.Repeat("]", 900)
	},
	"references open":   func(n int) string { return strings.Repeat("[a][", n) },
	"references":        func(n int) string { return "[a]: b\n\n" + strings.Repeat("[a][b]", n) },
	"words":             func(n int) string { return strings.Repeat("word [x] it's ", n) },
	"quoted attributes": func(n int) string { return strings.Repeat("<a b=\"c", n) },
	"brackets nested":   func(n int) string { return strings.Repeat("[a", n) + strings.Repeat("]", n) },
	"links open":        func(n int) string { return strings.Repeat("[a](", n) },
	"link titles open":  func(n int) string { return strings.Repeat("[a](b \"\n", n) },
	"images open":       func(n int) string { return strings.Repeat("![", n) },
	"emphasis open":     func(n int) string { return strings.Repeat("*a ", n) },
	"emphasis mixed":    func(n int) string { return strings.Repeat("a_ *b ", n) },
	"emphasis nested":   func(n int) string { return strings.Repeat("*a ", n) + strings.Repeat("b* ", n) },
	"emphasis crossed":  func(n int) string { return strings.Repeat("*a_", n) + strings.Repeat("a_a*", n) },
	"struck":            func(n int) string { return strings.Repeat("~~a ", n) },
	"ticks":             func(n int) string { return ticks(n) },
	"comments open":     func(n int) string { return strings.Repeat("a <!-- ", n) },
	"data open":         func(n int) string { return strings.Repeat("a <![CDATA[", n) },
	"tags open":         func(n int) string { return strings.Repeat("<a ", n) },
	"entities":          func(n int) string { return strings.Repeat("&#x", n) },
	"definitions":       func(n int) string { return strings.Repeat("[a]: b\n", n) },
	"footnotes":         func(n int) string { return footnotes(n) },
	"wide table": func(n int) string {
		return strings.Repeat("|a", n) + "\n" + strings.Repeat("|-", n) + "\n" + strings.Repeat("|a\n", n)
	},
	"escaped bars": func(n int) string { return "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", n) },
	"terms":        func(n int) string { return "a\n" + strings.Repeat(": b\n", n) },
	"attributes":   func(n int) string { return "# a {" + strings.Repeat("a=b ", n) + "}" },
	"backslashes":  func(n int) string { return strings.Repeat("\\", n) },
	"zeros":        func(n int) string { return strings.Repeat("a b c d e f \x00", n) },
	"tags nested":  func(n int) string { return strings.Repeat("<div>\n", n) },
	"addresses":    func(n int) string { return strings.Repeat("a@a.", n) + strings.Repeat(" http://", n) },
}

func stairs(n int) string {
	var b strings.Builder
	for i := 0; i < 1000 && b.Len() < 8*n; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

func ticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < 4*n; i++ {
		b.WriteString(strings.Repeat("`", i) + " ")
	}
	return b.String()
}

func footnotes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a[^%d]\n\n[^%d]: b\n\n", i, i)
	}
	return b.String()
}

// TestHostileMarkdown shows that nothing crashes or hangs. What is too much work fails, and what is
// not keeps its words.
func TestHostileMarkdown(t *testing.T) {
	for name, make := range hostileMarkdown {
		for _, n := range []int{100, 2_000} {
			d := parseOf(t, name+".md", []byte(make(n)))
			if d.Verdict == Failed && (n == 100 || !strings.Contains(d.Reason, "reasonable time")) {
				t.Errorf("%s, %d: %s", name, n, d.Reason)
			}
			if n == 100 && strings.Contains(make(n), "deep") && !strings.Contains(d.Text, "deep") {
				t.Errorf("%s, %d: the innermost text is lost", name, n)
			}
		}
	}
}

// TestMarkdownWorkIsLimited shows that each kind of work is charged: these outgrow a small account,
// and the same parts in a number that documents have do not.
func TestMarkdownWorkIsLimited(t *testing.T) {
	const work = maxWork / 100
	for _, name := range []string{
		"items, blank lines", "brackets around", "links open", "link titles open", "references open", "emphasis mixed",
		"emphasis crossed", "struck", "data open", "definitions", "footnotes", "wide table", "escaped bars",
	} {
		for n, want := range map[int]Verdict{50: OK, 8_000: Failed} {
			data := []byte(hostileMarkdown[name](n))
			d := parseMarkdownWithin(context.Background(), data, ParseOptions{}, work)
			checkDocument(t, name, data, d)
			if d.Verdict != want && !(want == OK && d.Verdict == Blank) {
				t.Errorf("%s, %d: %s, %s", name, n, d.Verdict, d.Reason)
			}
		}
	}
}

func TestMarkdownIsSafeForConcurrentUse(t *testing.T) {
	data := []byte("# T\n\n- a *b* [c](d)\n- e\n\n| f | g |\n|---|---|\n| h | i |\n")
	want := dump(parseOf(t, "a.md", data))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if got := dump(Parse(context.Background(), "a.md", data, ParseOptions{})); got != want {
					t.Errorf("got %s", got)
					return
				}
			}
		})
	}
	group.Wait()
}

func FuzzMarkdown(f *testing.F) {
	seeds := 0
	for _, make := range hostileMarkdown {
		f.Add([]byte(make(3)))
		seeds++
	}
	for _, name := range goldenSources(f, "testdata/markdown/*") {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		seeds++
	}
	if seeds < 30 {
		f.Fatalf("%d seeds", seeds)
	}
	f.Fuzz(func(t *testing.T, data []byte) { parseOf(t, "a.md", data) })
}
