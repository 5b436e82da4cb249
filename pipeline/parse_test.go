package pipeline

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var updateGoldens = flag.Bool("update", false, "write the golden files of parsing")

func parseOf(t testing.TB, name string, data []byte) *Document {
	t.Helper()
	d := Parse(context.Background(), name, data, ParseOptions{})
	checkDocument(t, name, data, d)
	return d
}

// checkDocument checks what holds for every document of a format with lines.
func checkDocument(t testing.TB, name string, data []byte, d *Document) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	switch d.Verdict {
	case OK, Draft:
	case Blank:
		if d.Text != "" {
			fail("blank, but has text")
		}
	default:
		if d.Text != "" || len(d.Blocks) > 0 || len(d.Segments) > 0 {
			fail("verdict %s, but has text", d.Verdict)
		}
	}
	if (d.Verdict == OK) != (d.Reason == "") || strings.ContainsAny(d.Reason, "\n\r") {
		fail("verdict %s with reason %q", d.Verdict, d.Reason)
	}
	if (d.Text == "") != (len(d.Blocks) == 0) || (d.Text == "") != (len(d.Segments) == 0) {
		fail("%d bytes of text in %d blocks, %d segments", len(d.Text), len(d.Blocks), len(d.Segments))
	}
	if !utf8.ValidString(d.Text) {
		fail("text is not UTF-8")
	}
	for _, r := range d.Text {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || leftOutAs(r) != "") {
			fail("text has %U", r)
		}
	}
	end := 0
	for i, b := range d.Blocks {
		if b.Start < end || b.End <= b.Start || b.End > len(d.Text) {
			fail("block %d is [%d, %d) behind %d of %d", i, b.Start, b.End, end, len(d.Text))
		}
		if gap := d.Text[end:b.Start]; strings.TrimSpace(gap) != "" || i == 0 && gap != "" || i > 0 && gap != "\n" && gap != "\n\n" {
			fail("before block %d stands %q", i, gap)
		}
		text := d.Text[b.Start:b.End]
		if b.Kind != Code {
			if text != strings.TrimSpace(text) || strings.Contains(text, "  ") || strings.Contains(text, "\t") {
				fail("block %d (%s) has blanks that count: %q", i, b.Kind, text)
			}
			if b.Kind != ListItem && strings.Contains(text, "\n") {
				fail("block %d (%s) has a line end: %q", i, b.Kind, text)
			}
		}
		if b.Kind == Heading && (len(b.Path) == 0 || b.Path[len(b.Path)-1] != text) {
			fail("heading %q has path %q", text, b.Path)
		}
		if (b.Level > 0) != (b.Kind == Heading || b.Kind == ListItem) {
			fail("block %d (%s) has level %d", i, b.Kind, b.Level)
		}
		end = b.End
	}
	if end != len(d.Text) {
		fail("text goes on behind the last block: %q", d.Text[end:])
	}
	wide := bytes.IndexByte(data, 0) >= 0 // lines are checked where every byte of a line end is one
	line, counted := 1, 0
	for i, s := range d.Segments {
		if i == 0 && s.Start != 0 || i > 0 && s.Start <= d.Segments[i-1].Start || s.Start >= len(d.Text) {
			fail("segment %d starts at %d", i, s.Start)
		}
		if s.Source < 0 || s.Source >= len(data) || (s.Page != 0) != (len(d.Pages) > 0) || s.Page > len(d.Pages) {
			fail("segment %d is %+v of %d bytes", i, s, len(data))
		}
		if wide {
			continue
		}
		if s.Source < counted {
			line, counted = 1, 0 // footnotes
		}
		line += countLineEnds(data[counted:s.Source])
		if counted = s.Source; s.Line != line {
			fail("segment %d says line %d, byte %d is in line %d", i, s.Line, s.Source, line)
		}
	}
}

// checkLines checks that each word of the text stands in the source line that its segment names, and
// returns the number of words and those that don't: markup and entities may stand in them.
func checkLines(source *sourceText, d *Document) (words int, strays []string) {
	lines := strings.Split(string(source.text), "\n")
	segment := 0
	decoded := map[int]string{}
	for _, b := range d.Blocks {
		for _, span := range wordSpans(d.Text[b.Start:b.End]) {
			start, word := b.Start+span[0], d.Text[b.Start+span[0]:b.Start+span[1]]
			for segment+1 < len(d.Segments) && d.Segments[segment+1].Start <= start {
				segment++
			}
			n := d.Segments[segment].Line
			line, ok := decoded[n]
			if !ok {
				line = strings.Map(func(r rune) rune {
					if leftOutAs(r) != "" {
						return -1
					}
					return r
				}, lines[n-1]+"\n"+html.UnescapeString(lines[n-1]))
				decoded[n] = line
			}
			words++
			if !strings.Contains(line, word) {
				strays = append(strays, fmt.Sprintf("%d:%s", n, word))
			}
		}
	}
	return words, strays
}

// wordSpans returns where runs of letters, marks and digits stand.
func wordSpans(text string) [][2]int {
	var spans [][2]int
	start := -1
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			if start < 0 {
				start = i
			}
		} else if start >= 0 {
			spans = append(spans, [2]int{start, i})
			start = -1
		}
	}
	if start >= 0 {
		spans = append(spans, [2]int{start, len(text)})
	}
	return spans
}

// dump shows a document as a golden file does.
func dump(d *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s\n", d.Verdict)
	if d.Reason != "" {
		fmt.Fprintf(&b, "reason: %s\n", d.Reason)
	}
	if m := d.Meta; m.Title != "" {
		fmt.Fprintf(&b, "title: %s\n", m.Title)
	}
	if m := d.Meta; m.ContentType != "" || m.Topics != nil || m.UnitID != "" || !m.Date.IsZero() || m.Draft {
		fmt.Fprintf(&b, "meta: type %q, topics %q, unit %q, date %s, draft %v\n",
			m.ContentType, m.Topics, m.UnitID, m.Date.Format(time.DateOnly), m.Draft)
	}
	var reasons []string
	for reason, n := range d.LeftOut {
		if n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, n))
		}
	}
	sort.Strings(reasons)
	if len(reasons) > 0 {
		fmt.Fprintf(&b, "left out: %s\n", strings.Join(reasons, ", "))
	}
	lineAt := func(offset int) int {
		i := sort.Search(len(d.Segments), func(i int) bool { return d.Segments[i].Start > offset })
		return d.Segments[i-1].Line
	}
	end := 0
	for _, block := range d.Blocks {
		if d.Text[end:block.Start] != "\n" {
			b.WriteByte('\n')
		}
		end = block.End
		fmt.Fprintf(&b, "%s", block.Kind)
		if block.Level > 0 {
			fmt.Fprintf(&b, " %d", block.Level)
		}
		fmt.Fprintf(&b, " | lines %d-%d", lineAt(block.Start), lineAt(block.End-1))
		if len(block.Path) > 0 {
			fmt.Fprintf(&b, " | %s", strings.Join(block.Path, " > "))
		}
		if block.Context != "" {
			fmt.Fprintf(&b, " | context: %s", block.Context)
		}
		b.WriteByte('\n')
		for _, line := range strings.Split(d.Text[block.Start:block.End], "\n") {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// checkGoldens parses the files that match and compares them with what was seen to be right.
func checkGoldens(t *testing.T, glob string, least int) {
	t.Helper()
	names, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		cases++
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(parseOf(t, name, data))
			golden := name + ".golden"
			if *updateGoldens {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s has changed; if it is right, run the test with -update. Got:\n%s", golden, got)
			}
		})
	}
	if cases < least {
		t.Errorf("%d files match %s, at least %d are expected", cases, glob, least)
	}
}

// sharedFiles returns the files of the test material below a folder, by path; it skips the test where
// the material is absent.
func sharedFiles(t *testing.T, folder, extension string, least int) []string {
	t.Helper()
	root := filepath.Join("..", "..", "shared", "data", folder)
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no test material: %v", err)
	}
	var names []string
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, extension) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < least {
		t.Fatalf("%d files in %s, at least %d are expected", len(names), root, least)
	}
	return names
}

func TestParseChoosesByExtension(t *testing.T) {
	for name, want := range map[string]BlockKind{
		"a.md": Heading, "a/b.MARKDOWN": Heading, "a.b.Md": Heading, "a.txt": Paragraph, "A.TXT": Paragraph,
	} {
		if d := parseOf(t, name, []byte("# one")); len(d.Blocks) != 1 || d.Blocks[0].Kind != want {
			t.Errorf("%s: %+v", name, d.Blocks)
		}
	}
	for _, name := range []string{"a.docx", "a", "md", "", "a.md/b"} {
		d := parseOf(t, name, []byte("# one"))
		if d.Verdict != Failed || !strings.Contains(d.Reason, ".md") {
			t.Errorf("%q: %s, %s", name, d.Verdict, d.Reason)
		}
	}
	if got := Formats(); !sort.StringsAreSorted(got) || len(got) < 3 {
		t.Errorf("formats: %q", got)
	}
}

func TestParseStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d := Parse(ctx, "a.md", []byte("# one"), ParseOptions{}); d.Verdict != Failed || !strings.Contains(d.Reason, "canceled") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
	// The same where a file's markup is read.
	if d := parseMarkdown(ctx, []byte("- [a](b)"), ParseOptions{}); d.Verdict != Failed || !strings.Contains(d.Reason, "canceled") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestParseCatchesPanics(t *testing.T) {
	formats[".boom"] = func(context.Context, []byte, ParseOptions) *Document { panic("secret of the document") }
	defer delete(formats, ".boom")
	d := parseOf(t, "a.boom", nil)
	if d.Verdict != Failed || strings.Contains(d.Reason, "secret") || !strings.Contains(d.Reason, "crashed") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestParseLimitsSize(t *testing.T) {
	for name, limit := range map[string]int{"a.md": maxMarkdown, "a.txt": maxText} {
		if d := parseOf(t, name, make([]byte, limit+1)); d.Verdict != Failed || !strings.Contains(d.Reason, "limit") {
			t.Errorf("%s: %s, %s", name, d.Verdict, d.Reason)
		}
	}
}
