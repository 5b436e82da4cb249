package answer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func page(n int) *int { return &n }

// testSources: two pages of one document, one without pages, and titles that are hard to cite.
func testSources() []CitedSource {
	return []CitedSource{
		{Number: 1, Title: "Refund Policy", Page: page(3)},
		{Number: 2, Title: "Refund Policy", Page: page(4)},
		{Number: 3, Title: "FAQ"},
		{Number: 4, Title: "Fees, taxes; and more: part 2", Page: page(7)},
		{Number: 5, Title: "[Draft] Условия возврата", Page: page(12)},
		{Number: 6, Title: "2024", Page: page(1)},
		{Number: 7, Title: "### Answer", Page: page(1)},
	}
}

// mark1 returns a text as the marker passes it in one piece.
func mark1(text string) (string, *marker) {
	m := newMarker(testSources())
	out := m.write(text)
	out += m.end()
	return out, m
}

var citationTests = []struct{ text, want, cites string }{
	// one
	{"It takes days [1:3].", "It takes days [1:3].", "1"},
	{"[1:3]", "[1:3]", "1"},
	{"x [1:p.3] [1:p. 3] [1: 3] [1 : 3]", "x [1:p.3] [1:p. 3] [1: 3] [1 : 3]", "1 1 1 1"},
	{"x [1 p.3] [1 (p.3)] [Refund Policy (p.4)] [1:page 3]", "x [1 p.3] [1 (p.3)] [Refund Policy (p.4)] [1:page 3]", "1 1 2 1"},
	{"x [1] [Source 1] [source 2:4] [#3]", "x [1] [Source 1] [source 2:4] [#3]", "1 1 2 3"},
	{"x [3:?] [1:?] [3:p.?]", "x [3:?] [1:?] [3:p.?]", "3 1 3"},
	{"x [1:2-4] [1:2–4]", "x [1:2-4] [1:2–4]", "1 1"},
	{"x [Refund Policy:3] [refund  policy:4] [FAQ:?] [FAQ]", "x [Refund Policy:3] [refund  policy:4] [FAQ:?] [FAQ]", "1 2 3 3"},
	{"x [[Draft] Условия возврата:12] [[draft] условия возврата]", "x [[Draft] Условия возврата:12] [[draft] условия возврата]", "5 5"},
	{"x [2024:1] [2024]", "x [2024:1] [2024]", "6 6"},
	{`x [### Answer:1] [\### Answer:1]`, `x [### Answer:1] [\### Answer:1]`, "7 7"},
	{"x [1][2:4]", "x [1][2:4]", "1 2"},
	{"x [1:3]: y", "x [1:3]: y", "1"},

	// several
	{"x [1:3; 2:4]", "x [1:3; 2:4]", "1 2"},
	{"x [1:3,2:4;FAQ]", "x [1:3,2:4;FAQ]", "1 2 3"},
	{"x [1, 2, 3]", "x [1, 2, 3]", "1 2 3"},
	{"x [1, p.3]", "x [1, p.3]", "1 1"},
	{"x [1:3;]", "x [1:3;]", "1"},
	{"x [Fees, taxes; and more: part 2:7; 1:3]", "x [Fees, taxes; and more: part 2:7; 1:3]", "4 1"},
	{"x [3; Fees, taxes; and more: part 2]", "x [3; Fees, taxes; and more: part 2]", "3 4"},

	// wrong
	{"x [9:3].", "x [9:3] (no such source).", "0!"},
	{"x [9]", "x [9] (no such source)", "0!"},
	{"x [0:3]", "x [0:3] (no such source)", "0!"},
	{"x [Price List:3]", "x [Price List:3] (no such source)", "0!"},
	{"x [1:9]", "x [1:9] (no such page)", "1!"},
	{"x [3:1]", "x [3:1] (no such page)", "3!"},
	{"x [Refund Policy:5]", "x [Refund Policy:5] (no such page)", "1!"},
	{"x [1:4-9]", "x [1:4-9] (no such page)", "1!"},
	{"x [1, p.9]", "x [1, p.9] (no such page: p.9)", "1 1!"},
	{"x [1:3; 9:2; 2:5]", "x [1:3; 9:2; 2:5] (no such source: 9:2; no such page: 2:5)", "1 0! 2!"},
	{"x [999999:999999]", "x [999999:999999] (no such source)", "0!"},
	{"[9:3]\n[9:3]", "[9:3] (no such source)\n[9:3] (no such source)", "0! 0!"},
	{"x [9:3][1:3]", "x [9:3] (no such source)[1:3]", "0! 1"},

	// none
	{"x [sic] [...] [] [ ] [x] [;] [,] [:] [a:b] [^1]", "", ""},
	{"x [2023] [0, 1] [1:3, emphasis added] [see https://x.org:80]", "", ""},
	{"x [1:3](https://x.org) ![9:9](x.png) [see [9:3]](u)", "", ""},
	{"x `[9:3]` and ``a ` [9:3]``", "", ""},
	{"```\n[9:3]\n```\n", "", ""},
	{"a\n  ~~~ go\n[9:3]\n```\n[9:3]\n~~~~\n", "", ""},
	{"```go\n[9:3] never closed", "", ""},
	{`x \[9:3] \\`, "", ""},
	{"x [9:\n3]", "", ""},
	{"x [" + strings.Repeat("a", 2*hold) + ":3]", "", ""},

	// what looks like code or a bracket, and isn't
	{"a ` b [9:3]", "a ` b [9:3] (no such source)", "0!"},
	{"a ` b\n` [9:3]", "a ` b\n` [9:3] (no such source)", "0!"},
	{"a `` b ` [9:3]", "a `` b ` [9:3] (no such source)", "0!"},
	{"a ```\n[9:3]", "a ```\n[9:3] (no such source)", "0!"},
	{"``` a ` b\n[9:3]", "``` a ` b\n[9:3] (no such source)", "0!"},
	{"```\n```\n[9:3]", "```\n```\n[9:3] (no such source)", "0!"},
	{"a [b [9:3] c", "a [b [9:3] (no such source) c", "0!"},
	{"a [b [9:3] c]", "a [b [9:3] (no such source) c]", "0!"},
	{"a [" + strings.Repeat("b", 2*hold) + " [9:3]", "a [" + strings.Repeat("b", 2*hold) + " [9:3] (no such source)", "0!"},
	{`a \\[9:3]`, `a \\[9:3] (no such source)`, "0!"},
	{"[9:3] (a)", "[9:3] (no such source) (a)", "0!"},
}

func TestCitations(t *testing.T) {
	for _, c := range citationTests {
		if c.want == "" {
			c.want = c.text
		}
		got, m := mark1(c.text)
		if got != c.want {
			t.Errorf("%q\n gives %q,\n   not %q", c.text, got, c.want)
		}
		var cites []string
		for _, x := range m.citations {
			s := string(rune('0' + x.Source))
			if x.Problem != "" {
				s += "!"
			}
			cites = append(cites, s)
		}
		if s := strings.Join(cites, " "); s != c.cites {
			t.Errorf("%q cites %q, not %q", c.text, s, c.cites)
		}
	}
}

// However a text is cut, what comes out is the same, and so are the citations.
func TestCitationsSplit(t *testing.T) {
	for _, c := range citationTests {
		want, whole := mark1(c.text)
		same := func(how string, pieces ...string) {
			m := newMarker(testSources())
			got := ""
			for _, p := range pieces {
				got += m.write(p)
			}
			if got += m.end(); got != want || !slices.Equal(m.citations, whole.citations) || m.plain.String() != whole.plain.String() {
				t.Errorf("%q %s gives %q and %v, not %q and %v", c.text, how, got, m.citations, want, whole.citations)
			}
		}
		for i := range len(c.text) + 1 {
			same("cut once", c.text[:i], c.text[i:])
		}
		same("by bytes", strings.Split(c.text, "")...)
		for i := 0; i+2 < len(c.text) && i < 60; i++ {
			same("cut twice", c.text[:i], c.text[i:i+2], c.text[i+2:])
		}
	}
}

// Nothing is held back for longer than it takes to decide.
func TestMarkerHold(t *testing.T) {
	m := newMarker(testSources())
	for _, c := range []struct{ piece, shown string }{
		{"Yes, it", "Yes, it"},
		{" does [1", " does "},
		{":3]", ""},
		{".", "[1:3]."},
		{" [see", " "},
		{"\n", "[see\n"},
		{"[" + strings.Repeat("a", hold-1), ""},
		{"a", "[" + strings.Repeat("a", hold)},
	} {
		if got := m.write(c.piece); got != c.shown {
			t.Errorf("%q: %q is shown, not %q", c.piece, got, c.shown)
		}
	}
}

// Long texts of what matters to a marker, in which brackets, spans and lines pass the limit of what is held back.
func TestMarkerLong(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"[", "]", "[1:3]", "[9:3]", "`", "```", "~~~", "\\", "\n", " ", "(", ";", ",", "FAQ", strings.Repeat("a", 150), strings.Repeat(" ", 150), strings.Repeat("`", 150), "д"}
	for range 2000 {
		text := ""
		for range 1 + random.IntN(30) {
			text += parts[random.IntN(len(parts))]
		}
		want, whole := mark1(text)
		m := newMarker(testSources())
		got := ""
		for rest := text; rest != ""; {
			n := min(len(rest), 1+random.IntN(100))
			got += m.write(rest[:n])
			rest = rest[n:]
		}
		if got += m.end(); got != want || !slices.Equal(m.citations, whole.citations) || m.plain.String() != whole.plain.String() {
			t.Fatalf("%q in pieces gives\n%q, not\n%q", text, got, want)
		}
	}
}

func FuzzMarker(f *testing.F) {
	for i, c := range citationTests {
		f.Add(c.text, uint8(i), uint8(3*i))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint8) {
		want, whole := mark1(text)
		m := newMarker(testSources())
		unmarked := ""
		m.seen = func(s string, isMark bool) {
			if !isMark {
				unmarked += s
			}
		}
		got := ""
		for rest, size := text, int(a); rest != ""; size = int(b) {
			n := min(len(rest), max(1, size))
			got += m.write(rest[:n])
			rest = rest[n:]
			if len(m.held) > hold {
				t.Fatalf("%d bytes are held back", len(m.held))
			}
		}
		if got += m.end(); got != want {
			t.Errorf("in pieces: %q, whole: %q", got, want)
		}
		if !slices.Equal(m.citations, whole.citations) || m.plain.String() != whole.plain.String() {
			t.Errorf("in pieces: %v %q, whole: %v %q", m.citations, m.plain.String(), whole.citations, whole.plain.String())
		}
		if unmarked != text {
			t.Errorf("without marks: %q, not %q", unmarked, text)
		}
		unsupported(whole.plain.String())
	})
}
