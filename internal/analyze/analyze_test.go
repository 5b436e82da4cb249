package analyze

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustNew(t testing.TB, languages ...string) *Analyzer {
	t.Helper()
	a, err := New(languages)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRules holds each rule of the package comment to its lines in testdata/rules.txt.
func TestRules(t *testing.T) {
	a := mustNew(t, "en", "ru")
	f, err := os.Open("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, rules := 0, map[string]int{}
	rule := ""
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "## "); ok {
			rule = name
			continue
		}
		in, want, ok := strings.Cut(line, " => ")
		if !ok {
			if line != "" && line[0] != '#' {
				t.Fatalf("rules.txt:%d: neither a comment nor input => terms", n)
			}
			continue
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(in, `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("rules.txt:%d: input: %v", n, err)
		}
		if want, err = strconv.Unquote(`"` + strings.ReplaceAll(want, `"`, `\"`) + `"`); err != nil {
			t.Fatalf("rules.txt:%d: terms: %v", n, err)
		}
		cases++
		rules[rule]++
		if got := strings.Join(a.Terms(nil, text), " "); got != want {
			t.Errorf("rules.txt:%d (%s): %s\n got %s\nwant %s", n, rule, in, got, want)
		}
		checkTokens(t, a, text)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if cases < 80 || len(rules) != 11 {
		t.Errorf("%d cases for %d rules, want 80 and 11", cases, len(rules))
	}
}

// checkTokens holds Tokens to Terms, to its order, and to the limits.
func checkTokens(t *testing.T, a *Analyzer, text string) {
	t.Helper()
	terms := a.Terms(nil, text)
	n, start := 0, 0
	for tok := range a.Tokens(text) {
		if n >= len(terms) || tok.Term != terms[n] {
			t.Fatalf("%q: token %d is %q, not as in %q", text, n, tok.Term, terms)
		}
		n++
		if tok.Start < start || tok.End <= tok.Start || tok.End > len(text) {
			t.Fatalf("%q: %q is at %d:%d after a start at %d", text, tok.Term, tok.Start, tok.End, start)
		}
		start = tok.Start
		if tok.Term == "" || len(tok.Term) > maxTerm || !utf8.ValidString(tok.Term) {
			t.Fatalf("%q: bad term %q", text, tok.Term)
		}
	}
	if n != len(terms) {
		t.Fatalf("%q: %d tokens, %d terms", text, n, len(terms))
	}
	if len(terms) > 2*len(text)+1 {
		t.Fatalf("%q: %d terms", text, len(terms))
	}
}

func TestTokensGivePlaces(t *testing.T) {
	a := mustNew(t, "en")
	text := "Run E\u2011401, Café\u0301s! getUser .NET"
	want := []struct{ term, from string }{
		{"run", "Run"}, {"e-401", "E\u2011401"}, {"e401", "E\u2011401"}, {"e", "E"}, {"401", "401"},
		{"café\u0301", "Café\u0301s"}, {"getus", "getUser"}, {"get", "get"}, {"user", "User"}, {".net", ".NET"}, {"net", "NET"},
	}
	i := 0
	for tok := range a.Tokens(text) {
		if i == len(want) {
			t.Fatalf("one more token: %q", tok.Term)
		}
		if from := text[tok.Start:tok.End]; tok.Term != want[i].term || from != want[i].from {
			t.Errorf("token %d: %q from %q, want %q from %q", i, tok.Term, from, want[i].term, want[i].from)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d tokens, want %d", i, len(want))
	}
}

func TestTokensStopsWhenAsked(t *testing.T) {
	a := mustNew(t)
	for _, text := range []string{"one two three", "E-4012 getUserById", "東京都庁", "a/b.c/d"} {
		all := len(a.Terms(nil, text))
		for stop := 1; stop <= all; stop++ {
			n := 0
			for range a.Tokens(text) {
				if n++; n == stop {
					break
				}
			}
			if n != stop {
				t.Errorf("%q: %d tokens when stopped at %d", text, n, stop)
			}
		}
	}
}

func TestTermsAppend(t *testing.T) {
	got := mustNew(t).Terms([]string{"before"}, "Running книгами")
	if want := []string{"before", "running", "книгами"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLanguages(t *testing.T) {
	if got := Languages(); !slices.Equal(got, []string{"en", "ru"}) {
		t.Errorf("supported: %q", got)
	}
	a := mustNew(t, "ru", "en")
	if got := a.Languages(); !slices.Equal(got, []string{"en", "ru"}) {
		t.Errorf("languages: %q", got)
	}
	if a.ID() != "terms-1" {
		t.Errorf("id: %q", a.ID())
	}
	for _, c := range []struct {
		languages []string
		terms     string
	}{
		{nil, "houses дома"}, {[]string{"en"}, "hous дома"}, {[]string{"ru"}, "houses дом"}, {[]string{"ru", "en"}, "hous дом"},
	} {
		if got := strings.Join(mustNew(t, c.languages...).Terms(nil, "Houses дома"), " "); got != c.terms {
			t.Errorf("%q: %q, want %q", c.languages, got, c.terms)
		}
	}
	for _, c := range []struct {
		languages []string
		err       string
	}{
		{[]string{"de"}, `language "de" is not supported: use "en", "ru", or none to leave words unstemmed`},
		{[]string{"en", ""}, `language "" is not supported: use "en", "ru", or none to leave words unstemmed`},
		{[]string{"EN"}, `language "EN" is not supported: use "en", "ru", or none to leave words unstemmed`},
		{[]string{"en", "ru", "en"}, `language "en" is given twice: at most one for each script, of "en", "ru"`},
	} {
		if _, err := New(c.languages); err == nil || err.Error() != c.err {
			t.Errorf("%q: error %v, want %s", c.languages, err, c.err)
		}
	}
}

// TestHostileText holds text made to grow to the limits. It would take minutes if anything were quadratic.
func TestHostileText(t *testing.T) {
	a := mustNew(t, "en", "ru")
	const size = 1 << 17
	for _, unit := range []string{
		"a", "aB", "A1", "é", "a.", "a-", "a_", "a/", "a@b", ".", "_", "+", "#", "'", "a'", "1,000,", "\u00ad", "a\u00ad", "a\u00ad.\u00ad",
		"\u0301", "e\u0301", "\u0323\u0301", "東", "か\u3099", "\u1112\u1161\u11ab", "ﷺ", "\u0390", "\xff", "a\xff", ":/\\", "a://", "c++", "c#",
	} {
		for _, text := range []string{strings.Repeat(unit, size/len(unit)), "a" + strings.Repeat(unit, size/len(unit)) + "b"} {
			checkTokens(t, a, text)
		}
	}
}

// decomposed returns text with each letter taken apart, as a file name from another system may have it.
func decomposed(text string) string {
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError {
			_, n := utf8.DecodeRuneInString(text[i:])
			b.WriteString(text[i : i+n])
			continue
		}
		if s := r - 0xAC00; 0 <= s && s < 11172 {
			b.WriteRune(0x1100 + s/588)
			b.WriteRune(0x1161 + s%588/28)
			if s%28 > 0 {
				b.WriteRune(0x11A7 + s%28)
			}
			continue
		}
		for _, r := range appendDecomposed(nil, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// crowded reports whether some letter carries more marks than count.
func crowded(text string) bool {
	n := 0
	for _, r := range decomposed(text) {
		switch p := lookup(r); {
		case p.class == mark, jamoFollows(r):
			n++
		case p.more.len > 0:
			n = 3
		case p.class != ignored:
			n = 0
		}
		if n > maxMarks {
			return true
		}
	}
	return false
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{
		"", "E-4012 getUserById v1.0.21 C++ .NET", "Жёлтый Е\u0308ж замо́к", "cafe\u0301 \u1112\u1161\u11ab", "東京 か\u3099 2008年", "1,000,000 U.S.A. a\u00adb",
		"https://x.y/z?q=1#f", "\xff\xc3(", "İıſßΣς", "ﬁ\u0323\u0307", "a\u0345\u0301",
	} {
		f.Add(s)
	}
	a := mustNew(f, "en", "ru")
	f.Fuzz(func(t *testing.T, text string) {
		checkTokens(t, a, text)
		if crowded(text) {
			return
		}
		terms := a.Terms(nil, text)
		apart := decomposed(text)
		if got := a.Terms(nil, apart); !slices.Equal(got, terms) {
			t.Fatalf("%q gives %q, taken apart (%q) %q", text, terms, apart, got)
		}
		// A term folds to itself.
		for _, term := range mustNew(t).Terms(nil, text) {
			if again := string(cut(appendFolded(nil, strings.Map(signless, term), maxTerm))); again != strings.Map(signless, term) {
				t.Fatalf("%q: %q folds to %q", text, term, again)
			}
		}
	})
}

// signless drops what joins words.
func signless(r rune) rune {
	if r < utf8.RuneSelf && r != '\'' && lookup(r).class == other {
		return -1
	}
	return r
}

func BenchmarkTerms(b *testing.B) {
	a := mustNew(b, "en", "ru")
	for _, c := range []struct{ name, text string }{
		{"query", "how do I get a refund for order E-4012"},
		{"english", strings.Repeat("Refunds are paid to the card you used within five working days of the parcel reaching us. ", 10)},
		{"russian", strings.Repeat("Деньги возвращаются на карту, которой вы платили, в течение пяти рабочих дней после получения посылки. ", 10)},
		{"code", strings.Repeat("func getUserById(id int) error { return users.find_by_id(v1.0.21) } ", 10)},
		{"chinese", strings.Repeat("退款将在收到包裹后五个工作日内退回到您使用的卡上。", 10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			var terms []string
			for b.Loop() {
				terms = a.Terms(terms[:0], c.text)
			}
		})
	}
}
