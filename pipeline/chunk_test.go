package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"example.com/larder/internal/testkit"
	"example.com/larder/models/wordpiece"
)

// testTokenizer counts tokens with the vocabulary of the synthetic encoder.
func testTokenizer(t testing.TB) tokenSplitter {
	t.Helper()
	tokenizer, err := wordpiece.Parse(testkit.Encoder(8)["vocab.txt"].Data)
	if err != nil {
		t.Fatal(err)
	}
	return wordPieces{tokenizer}
}

// chunkSizes are the sizes and overlaps that the properties are checked with.
var chunkSizes = [][2]int{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {8, 0}, {8, 3}, {8, 8}, {90, 0}, {90, 20}, {90, 90}, {2048, 0}, {2048, 20}}

// checkChunks cuts a document and checks what holds for the chunks of every document. It returns their number.
func checkChunks(t *testing.T, name string, d *Document, size, overlap int, tokenizer tokenSplitter) int {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s, size %d, overlap %d: %.1000s", name, size, overlap, fmt.Sprintf(format, args...))
	}
	chunks, err := chunkDocument(d, size, overlap, tokenizer)
	if err != nil {
		fail("%v", err)
	}
	all, err := tokenizer.spans(d.Text)
	if err != nil {
		fail("%v", err)
	}
	if len(all) == 0 {
		if len(chunks) > 0 {
			fail("%d chunks of a text without tokens", len(chunks))
		}
		return 0
	}
	clusters := graphemeEdges(d.Text)
	covered, reach := 0, 0
	for i, c := range chunks {
		for _, at := range []int{c.Start, c.End} {
			if edge, _ := slices.BinarySearch(clusters, at); at > 0 && clusters[edge] != at {
				cluster := d.Text[clusters[edge-1]:clusters[edge]]
				if first, _ := utf8.DecodeRuneInString(cluster); unicode.IsSpace(first) {
					continue // a mark without a letter
				}
				if n, _ := tokenizer.spans(cluster); len(n) <= size {
					fail("chunk %d cuts %q", i, cluster)
				}
			}
		}
		switch {
		case c.Start < 0 || c.End <= c.Start || c.End > len(d.Text):
			fail("chunk %d is [%d, %d) of %d", i, c.Start, c.End, len(d.Text))
		case !utf8.RuneStart(d.Text[c.Start]) || c.End < len(d.Text) && !utf8.RuneStart(d.Text[c.End]):
			fail("chunk %d cuts a character", i)
		case i > 0 && (c.Start <= chunks[i-1].Start || c.End <= chunks[i-1].End):
			fail("chunk %d is [%d, %d) after [%d, %d)", i, c.Start, c.End, chunks[i-1].Start, chunks[i-1].End)
		case strings.TrimSpace(d.Text[min(reach, c.Start):c.Start]) != "":
			fail("before chunk %d, %q is in none", i, d.Text[reach:c.Start])
		}
		text := d.Text[c.Start:c.End]
		if text != strings.TrimSpace(text) {
			fail("chunk %d begins or ends with a blank: %q", i, text)
		}
		tokens, err := tokenizer.spans(text)
		if err != nil {
			fail("%v", err)
		}
		if len(tokens) != c.Tokens || c.Tokens > size && utf8.RuneCountInString(text) > 1 {
			fail("chunk %d says %d tokens and has %d: %q", i, c.Tokens, len(tokens), text)
		}
		if i > 0 && c.Start < reach {
			if shared, _ := tokenizer.spans(d.Text[c.Start:reach]); len(shared) > overlap {
				fail("chunk %d shares %d tokens", i, len(shared))
			}
		}
		if c.Context != "" {
			if n, _ := tokenizer.spans(c.Context); len(n) > contextTokens {
				fail("chunk %d has a context of %d tokens", i, len(n))
			}
		}
		// A run of characters without blanks is cut only if it does not fit.
		near := 4 * maxCharacters(size)
		if start := c.Start - len(lastRun(d.Text[max(0, c.Start-near):c.Start])); start < c.Start {
			run := d.Text[start : c.Start+len(firstRun(d.Text[c.Start:min(len(d.Text), c.Start+near)]))]
			n, _ := tokenizer.spans(run)
			if len(n) <= size && utf8.RuneCountInString(run) <= maxCharacters(size) && !strings.ContainsFunc(run, func(r rune) bool {
				return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
			}) {
				fail("chunk %d begins inside %q of %d tokens, after %q", i, run, len(n), d.Text[chunks[max(i-1, 0)].Start:c.Start])
			}
		}
		checkUnits(d, chunks, i, size, tokenizer, func(format string, args ...any) { t.Helper(); fail("chunk %d: %s", i, fmt.Sprintf(format, args...)) })
		checkPlace(d, c, func(format string, args ...any) { t.Helper(); fail("chunk %d: %s", i, fmt.Sprintf(format, args...)) })
		covered, reach = covered+c.Tokens, max(reach, c.End)
	}
	if rest := d.Text[reach:]; strings.TrimSpace(rest) != "" {
		fail("%q at the end is in no chunk", rest)
	}
	return len(chunks)
}

// checkUnits requires of a chunk that it begins and ends in no table row, code block or heading that fits into one, and
// that a heading is the last of it only if it is all of it.
func checkUnits(d *Document, chunks []Chunk, i, size int, tokenizer tokenSplitter, fail func(string, ...any)) {
	c := chunks[i]
	for _, at := range []int{c.Start, c.End} {
		b := d.block(at)
		if b.Kind != TableRow && b.Kind != Code && b.Kind != Heading {
			continue
		}
		text := strings.TrimSpace(d.Text[b.Start:b.End])
		start := b.Start + strings.Index(d.Text[b.Start:b.End], text)
		if at <= start || at >= start+len(text) || utf8.RuneCountInString(text) > maxCharacters(size) {
			continue
		}
		if n, _ := tokenizer.spans(text); len(n) <= size && len(n) > 0 {
			fail("cuts a %s of %d tokens: %q", b.Kind, len(n), text)
		}
	}
	last := d.block(c.End - 1)
	if last.Kind == Heading && c.End >= last.End && i < len(chunks)-1 && d.block(c.Start).Kind != Heading {
		fail("ends with the heading %q", d.Text[last.Start:last.End])
	}
}

// graphemeEdges returns where grapheme clusters end.
func graphemeEdges(text string) (ends []int) {
	for it := graphemes.FromString(text); it.Next(); {
		ends = append(ends, it.End())
	}
	return ends
}

func firstRun(s string) string {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i]
	}
	return s
}

func lastRun(s string) string {
	return s[len(strings.TrimRightFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })):]
}

// checkPlace compares lines, pages and source bytes of a chunk with those of each of its segments.
func checkPlace(d *Document, c Chunk, fail func(string, ...any)) {
	firstPage, lastPage, firstLine, lastLine := 1<<30, 0, 1<<30, 0
	for i, s := range d.Segments {
		end := len(d.Text)
		if i+1 < len(d.Segments) {
			end = d.Segments[i+1].Start
		}
		if end <= c.Start || s.Start >= c.End {
			continue
		}
		firstPage, lastPage = min(firstPage, s.Page), max(lastPage, s.Page)
		firstLine, lastLine = min(firstLine, s.Line), max(lastLine, s.Line)
		if s.Line > 0 && (s.Source < c.SourceStart || s.Source >= c.SourceEnd) {
			fail("source bytes %d to %d are without the line at %d", c.SourceStart, c.SourceEnd, s.Source)
		}
	}
	if c.FirstPage != firstPage || c.LastPage != lastPage || c.FirstLine != firstLine || c.LastLine != lastLine {
		fail("pages %d to %d, lines %d to %d; want %d to %d, %d to %d", c.FirstPage, c.LastPage, c.FirstLine, c.LastLine, firstPage, lastPage, firstLine, lastLine)
	}
	if c.SourceEnd > d.Size || c.FirstLine > 0 && c.SourceEnd <= c.SourceStart {
		fail("source bytes %d to %d of %d", c.SourceStart, c.SourceEnd, d.Size)
	}
}

// checkChunkWords requires that the first and the last word of a chunk stand in the page that it names, or in the lines
// of the source file and in its bytes. It returns how many did not: markup and entities may be inside words.
func checkChunkWords(d *Document, chunks []Chunk, data []byte) (words, strays int) {
	var lines []string
	var wide bool
	if len(d.Pages) == 0 {
		source, _ := decodeText(data, maxText)
		lines, wide = strings.Split(string(source.text), "\n"), source.encoding != "utf-8"
	}
	for _, c := range chunks {
		spans := wordSpans(d.Text[c.Start:c.End])
		if len(spans) == 0 {
			continue
		}
		for i, s := range [][2]int{spans[0], spans[len(spans)-1]} {
			word := d.Text[c.Start+s[0] : c.Start+s[1]]
			words++
			found := false
			if len(d.Pages) > 0 {
				page := []int{c.FirstPage, c.LastPage}[i]
				found = strings.Contains(d.Pages[page-1].Text, word)
			} else {
				found = strings.Contains(strings.Join(lines[c.FirstLine-1:c.LastLine], "\n"), word) &&
					(wide || strings.Contains(string(data[c.SourceStart:c.SourceEnd]), word))
			}
			if !found {
				strays++
			}
		}
	}
	return words, strays
}

// chunkFiles checks the chunks of files, with all sizes for one of so many and with those that are usual for all.
func chunkFiles(t *testing.T, names []string, oneOf int, tokenizer tokenSplitter, engine PDFEngine) {
	documents, chunks, words, strays := 0, 0, 0, 0
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := Parse(context.Background(), name, data, ParseOptions{PDF: engine})
		d.Size = len(data)
		if !d.hasText() {
			continue
		}
		documents++
		for _, s := range chunkSizes {
			if i%oneOf != 0 && s != [2]int{90, 20} {
				continue
			}
			chunks += checkChunks(t, name, d, s[0], s[1], tokenizer)
		}
		list, err := chunkDocument(d, 90, 20, tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		w, s := checkChunkWords(d, list, data)
		words, strays = words+w, strays+s
	}
	t.Logf("%d documents, %d chunks; of %d words at their ends, %d are not as such in the source", documents, chunks, words, strays)
	if documents == 0 {
		t.Error("no document")
	}
	if strays > words/100 {
		t.Errorf("%d of %d words are not where their chunk says", strays, words)
	}
}

// contentFiles lists the sample documents with that extension.
func contentFiles(t testing.TB, extension string, least int) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join("..", "content"), func(name string, e os.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == extension {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < least {
		t.Fatalf("%d sample documents in %s, %v; at least %d are expected", len(names), extension, err, least)
	}
	return names
}

func TestChunkContent(t *testing.T) {
	chunkFiles(t, append(contentFiles(t, ".md", 30), contentFiles(t, ".txt", 2)...), 3, testTokenizer(t), nil)
}

func TestChunkContentPDF(t *testing.T) {
	chunkFiles(t, contentFiles(t, ".pdf", 1), 1, testTokenizer(t), testEngine(t, "pdfium", defaultPDFLimits))
}

func TestChunkMarkdownMaterial(t *testing.T) {
	names := sharedFiles(t, "md", ".md", 3000)
	var some []string
	for i := 0; i < len(names); i += 40 {
		some = append(some, names[i])
	}
	chunkFiles(t, some, 20, testTokenizer(t), nil)
}

func TestChunkTextMaterial(t *testing.T) {
	names := sharedFiles(t, "txt", ".txt", 1)
	chunkFiles(t, names, 20, testTokenizer(t), nil)
}

// TestChunkRandomText cuts texts that documents rarely hold.
func TestChunkRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	many := func(n int, s func() string) string {
		var b strings.Builder
		for range n {
			b.WriteString(s())
		}
		return b.String()
	}
	kinds := []func() string{
		func() string {
			return many(1+r.IntN(12), func() string { return string(rune('a' + r.IntN(26))) }) + " "
		},
		func() string {
			return many(r.IntN(300), func() string { return string(rune('a' + r.IntN(26))) }) + pick(" ", "")
		}, // long words
		func() string {
			return many(r.IntN(60), func() string { return pick("x", "-", "/", ".", "7", "ß", "é", "ы") })
		},
		func() string { return string(rune(0x4e00+r.IntN(0x5000))) + pick("", "", "。", "、", "「") },
		func() string {
			return pick("カ", "タ", "の", "ไ", "ท", "ย", "한", "글", "각", "ห", "힣")
		},
		func() string {
			return pick("😀", "👩\u200d👩\u200d👧", "🇩🇪", "\ufe0f", "\u200d", "\u0301", "\u0338", "e\u0301", "\u0345", "ᾳ")
		},
		func() string {
			return pick("न", "ि", "ी", "़", "क", "्", "ொ", "ு", "𑂚", "\u0f71\u0f72")
		},
		func() string { return pick(". ", "! ", "? ", `." `, ") ", "… ", "»", "\n", "\n\n", "\t", "  ") },
		func() string { return pick("[SEP]", "[UNK]", "[CLS", "##s", "\u00a0", "\u2028", "\u3000") },
		func() string { return string(rune(r.IntN(0x30000))) },
	}
	tokenizer, texts, chunks := testTokenizer(t), 0, 0
	for texts = 0; texts < 120; texts++ {
		few := kinds
		if texts%2 == 0 {
			few = []func() string{kinds[r.IntN(len(kinds))], kinds[r.IntN(len(kinds))]}
		}
		var source strings.Builder
		for range r.IntN(80) {
			if r.IntN(40) == 0 {
				source.WriteString(pick("\n# Heading\n", "\n\n## H\n\n", "\n- item ", "\n\n"))
			}
			source.WriteString(few[r.IntN(len(few))]())
		}
		data := []byte(strings.ToValidUTF8(source.String(), "?"))
		d := Parse(context.Background(), pick("x.md", "x.txt"), data, ParseOptions{})
		d.Size = len(data)
		if d.Verdict != OK {
			continue
		}
		for _, s := range chunkSizes {
			chunks += checkChunks(t, fmt.Sprintf("text %d", texts), d, s[0], s[1], tokenizer)
		}
	}
	t.Logf("%d texts, %d chunks", texts, chunks)
}

// cutText shows a document's chunks, one a line.
func cutText(t *testing.T, name, text string, size, overlap int) string {
	t.Helper()
	d := Parse(context.Background(), name, []byte(text), ParseOptions{})
	d.Size = len(text)
	if d.Verdict != OK {
		t.Fatalf("%s: %s", d.Verdict, d.Reason)
	}
	checkChunks(t, text, d, size, overlap, testTokenizer(t))
	chunks, err := chunkDocument(d, size, overlap, testTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range chunks {
		lines = append(lines, strings.ReplaceAll(d.Text[c.Start:c.End], "\n", "⏎"))
	}
	return strings.Join(lines, "\n")
}

// TestCuts says where cuts fall. Of the vocabulary, "we", "can" and so on are one token, and other words one a letter.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		name          string
		size, overlap int
		text, want    string
	}{
		{"fits", 8, 3, "we can refund the order", "we can refund the order"},
		{"words", 4, 0, "we can refund the order for you", "we can refund the\norder for you"},
		{"words, overlap", 4, 1, "we can refund the order for you", "we can refund the\nthe order for you"},
		{"sentence", 8, 0, "We can refund the order. You can return the order. We can.", "We can refund the order.\nYou can return the order.\nWe can."},
		{"sentence, overlap begins at a sentence", 12, 8, "We can refund the order. You can. We can return the order for you.", "We can refund the order. You can.\nYou can. We can return the order for you."},
		{"sentence too early", 10, 0, "We can. You can return the order for the customer at the shop", "We can.\nYou can return the order for the customer at the\nshop"},
		{"quote stays with its sentence", 10, 0, `We say "you can." You can return the order.`, "We say \"you can.\"\nYou can return the order."},
		{"abbreviation", 8, 0, "we can return i. e. refund the order for you", "we can return i. e. refund\nthe order for you"},
		{"question", 6, 0, "Can we return? We can return the order.", "Can we return?\nWe can return the order."},
		{"ideographs", 6, 0, "日本語日。本語日本", "日本語日。\n本語日本"},
		{"no closing mark begins a chunk", 4, 0, "日本語日、本語日本", "日本語\n日、\n本語日本"},
		{"block", 8, 0, "We can refund the order\n\nYou can. We can return the order", "We can refund the order\nYou can. We can return the order"},
		{"no word is cut", 4, 2, "we can zzz the order", "we can\ncan zzz\nthe order"},
		{"no word is cut for what is shared", 4, 2, "we can we can zzzz the order", "we can we can\nzzzz\nthe order"},
		{"run with a hyphen", 4, 0, "we can we-can-we the order", "we can\nwe-can-\nwe the order"},
		{"long word", 4, 2, "we zzzzzzzzzz can", "we\nzzzz\nzzzz\nzz\ncan"},
		{"long word at the end", 2, 0, "we zzz", "we\nzz\nz"},
		{"sentences are shared whole or not", 8, 3, "We can refund the order. You can return the order. We can.", "We can refund the order.\nYou can return the order.\nWe can."},
		{"words are shared where a sentence is cut", 6, 2, "We can refund the order for you at the shop", "We can refund the order for\norder for you at the shop"},
		{"clauses are shared before words", 9, 6, "We can, you can return the order for you", "We can, you can return the order for\nyou can return the order for you"},
		{"clause", 8, 0, "We can refund the order, you can return the order", "We can refund the order,\nyou can return the order"},
		{"emoji and accents stay whole", 1, 0, "we👩\u200d👩\u200d👧 e\u0301 we", "we👩\u200d👩\u200d👧\ne\u0301\nwe"},
		{"keycaps stay whole", 2, 0, "we #\ufe0f\u20e3 we", "we\n#\ufe0f\u20e3\nwe"},
		{"one token", 1, 1, "we zz can.", "we\nz\nz\ncan\n."},
		{"accents", 1, 0, "we \u0301can\u0301 \u0301 we", "we\n\u0301can\u0301 \u0301\nwe"},
	} {
		if got := cutText(t, "x.txt", c.text, c.size, c.overlap); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name          string
		size, overlap int
		text, want    string
	}{
		{"section", 12, 4, "# Refund\n\nWe can.\n\n# Return\n\nYou can return the order.", "Refund⏎⏎We can.\nReturn⏎⏎You can return the order."},
		{"short section joins the next", 40, 4, "# Refund\n\nWe can.\n\n# Return\n\nYou can return the order.", "Refund⏎⏎We can.⏎⏎Return⏎⏎You can return the order."},
		{"heading stays with its text", 6, 0, "We can refund order.\n\n# Return\n\nYou can return.", "We can refund order.\nReturn⏎⏎You can return."},
		{"headings stay together", 9, 0, "# Refund\n\n## Return\n\n### Order\n\nYou can return the order.", "Refund⏎⏎Return⏎⏎Order⏎⏎You can return the order."},
		{"overlap begins at an item", 6, 5, "- We. Can refund\n- you can\n- return the order", "We. Can refund⏎you can\nyou can⏎return the order"},
		{"a row is never cut", 6, 0, "| we | can |\n|---|---|\n| you can | return |\n| the order | for you |", "we | can\nyou can | return\nthe order | for you"},
		{"a row longer than what is shared is shared whole or not", 11, 3, "| we | can |\n|---|---|\n| you can | return |\n| the order | for you |\n| we | can |", "we | can⏎you can | return\nthe order | for you⏎we | can"},
		{"a row that fits is shared whole", 9, 3, "| we | can |\n|---|---|\n| you can | return |\n| we | can |\n| the order | for you |", "we | can⏎you can | return\nwe | can⏎the order | for you"},
		{"a row that is too long ends at a cell", 6, 0, "| we | can |\n|---|---|\n| we can you return | the order for you can |", "we | can\nwe can you return |\nthe order for you can"},
		{"code that fits starts a chunk", 8, 3, "We can refund the order.\n\n```\nwe can\n\nrefund the order\n```\n\nYou can.", "We can refund the order.\nwe can⏎⏎refund the order⏎⏎You can."},
		{"code that is too long ends at an empty line", 6, 0, "```\nwe can\nrefund\n\nthe order\nfor you\nwe can\n```", "we can⏎refund\nthe order⏎for you⏎we can"},
		{"or at a line, of which whole ones are shared", 5, 2, "```\nwe can\nrefund\nthe order\nfor\nyou\nwe can\n```", "we can⏎refund⏎the order\nthe order⏎for⏎you\nfor⏎you⏎we can"},
		{"a line that is too long ends at a word", 4, 0, "```\nwe can refund the order for you\nwe can\n```", "we can refund the\norder for you\nwe can"},
		{"a heading does not end a chunk", 7, 2, "We can.\n\n# Refund\n\n```\nwe can refund the order for\n```", "We can.\nRefund⏎⏎we can refund the order for"},
		{"unless what follows does not fit beside it", 6, 2, "# Refund\n\n```\nwe can refund the order for\n```", "Refund\nwe can refund the order for"},
		{"a heading that is too long is cut", 4, 0, "# We can refund the order\n\nYou can.", "We can refund the\norder⏎⏎You can."},
		{"a heading without text joins the next", 8, 2, "We can return the order.\n\n## Refund\n\n# Return\n\nYou can.", "We can return the order.\nRefund⏎⏎Return⏎⏎You can."},
		{"items stay whole", 9, 4, "We can return:\n\n- we can. We refund the order for you\n- you can", "We can return:\nwe can. We refund the order for you\nyou can"},
		{"an item that is too long is cut at sentences", 6, 0, "- We can refund. You can return. We can.", "We can refund.\nYou can return.\nWe can."},
		{"an item is cut rather than a heading left alone", 8, 0, "# Refund\n\n- we can refund. You can order it", "Refund⏎⏎we can refund.\nYou can order it"},
		{"items", 6, 0, "- we can refund\n- we can return the order\n- we can", "we can refund\nwe can return the order\nwe can"},
	} {
		if got := cutText(t, "x.md", c.text, c.size, c.overlap); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestChunkContext(t *testing.T) {
	text := "---\ntitle: Shop policy\n---\n# Refund\n\nWe can refund the order.\n\n## Return\n\nYou can return.\n\n| day | price |\n|---|---|\n| day | free |\n| week | cost |\n"
	d := Parse(context.Background(), "x.md", []byte(text), ParseOptions{})
	d.Size = len(text)
	chunks, err := chunkDocument(d, 8, 0, testTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range chunks {
		got = append(got, fmt.Sprintf("%q under %q in %q", c.Context, c.HeadingPath, d.Text[c.Start:c.End]))
	}
	want := []string{
		`"Shop policy" under ["Refund"] in "Refund\n\nWe can refund the order."`,
		`"Shop policy > Refund" under ["Refund" "Return"] in "Return\n\nYou can return.\n\nday | price"`,
		`"Shop policy > Refund > Return\nday | price" under ["Refund" "Return"] in "day | free\nweek | cost"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("chunks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Contexts are cut at a word, also where a character makes several tokens.
	for _, title := range []string{strings.Repeat("word ", 50), strings.Repeat("한", 50), strings.Repeat("zzz ", 50), strings.Repeat("각 ", 50), ""} {
		context, err := firstTokens(strings.TrimSpace(title), contextTokens, testTokenizer(t))
		tokens, _ := testTokenizer(t).spans(context)
		if err != nil || len(tokens) > contextTokens || !strings.HasPrefix(title, context) {
			t.Errorf("context %q of %d tokens, %v", context, len(tokens), err)
		}
	}
}
