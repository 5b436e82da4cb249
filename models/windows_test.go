package models_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"example.com/larder/internal/testkit"
	"example.com/larder/models"
)

// checkWindows holds what is true of the windows of any text.
func checkWindows(t *testing.T, e *models.Encoder, prefix, text string, maxTokens int) []models.Window {
	t.Helper()
	tokenizer := e.Tokenizer()
	count := func(s string) int { return len(tokenizer.Encode(nil, prefix+s, -1)) + 2 }
	windows := models.Windows(tokenizer, prefix, text, maxTokens)
	var joined strings.Builder
	for i, w := range windows {
		joined.WriteString(w.Text)
		if n := count(w.Text); n != w.Tokens || n > maxTokens {
			t.Errorf("%.40q with %q: window %d has %d tokens and says %d, at most %d", text, prefix, i, n, w.Tokens, maxTokens)
		}
		if w.Text == "" && text != "" {
			t.Errorf("%.40q: window %d is empty", text, i)
		}
		if utf8.ValidString(text) && !utf8.ValidString(w.Text) {
			t.Errorf("%.40q: window %d cuts a character", text, i)
		}
	}
	if joined.String() != text {
		t.Errorf("%.40q: joined, the windows are %.40q", text, joined.String())
	}
	// Greedy is fewest: no window could take the next one's first word.
	if prefix != "" && !strings.HasSuffix(prefix, " ") {
		return windows
	}
	for i := range windows[:len(windows)-1] {
		a, b := windows[i].Text, windows[i+1].Text
		if last, _ := utf8.DecodeLastRuneInString(a); !blank(last) {
			continue
		}
		start := len(b) - len(strings.TrimLeftFunc(b, blank))
		if word := start + strings.IndexFunc(b[start:]+" ", blank); word > start {
			if n := count(a + b[:word]); n <= maxTokens && count(b[:word]) > count("") {
				t.Errorf("%.40q: window %d has room for %q", text, i, b[:word])
			}
		}
	}
	return windows
}

func blank(r rune) bool {
	return unicode.IsSpace(r) && (!unicode.IsControl(r) || strings.ContainsRune("\t\n\r", r))
}

func TestWindows(t *testing.T) {
	e := open(t, testkit.Encoder(8))
	for _, c := range []struct {
		prefix, text string
		max          int
		want         []string
	}{
		{"", "", 10, []string{""}},
		{"", " \n ", 10, []string{" \n "}},
		{"", "return", 10, []string{"return"}},
		{"", "a b c d e f g h", 10, []string{"a b c d e f g h"}},
		{"", "a b c d e f g h i", 10, []string{"a b c d e f g h ", "i"}},
		{"", "a b c d e f g  \n h i", 10, []string{"a b c d e f g  \n h ", "i"}},
		// A word that fits a window is not cut.
		{"", "a b c d e qxqx f", 10, []string{"a b c d e ", "qxqx f"}},
		// One that does not is cut at once.
		{"", "a b c d e qxqxqxqxqxqx f", 10, []string{"a b c d e qxq", "xqxqxqxq", "x f"}},
		{"", "return-return-return-return-return", 10, []string{"return-return-return-return-", "return"}},
		// The prefix takes room: two tokens of "no:", each time.
		{"no: ", "a b c d e f g h i", 12, []string{"a b c d e f g h ", "i"}},
		// A special token in the text is one token.
		{"", "[SEP] [SEP] [SEP] [SEP] [SEP] [SEP] [SEP] [SEP] a", 10, []string{"[SEP] [SEP] [SEP] [SEP] [SEP] [SEP] [SEP] [SEP] ", "a"}},
		// Chinese characters are words without blanks.
		{"", "中中中中中中中中中", 10, []string{"中中中中中中中中", "中"}},
	} {
		var got []string
		for _, w := range checkWindows(t, e, c.prefix, c.text, c.max) {
			got = append(got, w.Text)
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q: windows %q, want %q", c.text, got, c.want)
		}
	}
}

// TestWindowsRandom tries texts of what is awkward for a tokenizer.
func TestWindowsRandom(t *testing.T) {
	e := open(t, testkit.Encoder(8))
	pieces := []string{
		"a", "b", "return", "refunds", " ", "  ", "\n", "\u00a0", "\u0085", "\u200b", "-", "...", "中", "文", "é", "e\u0301", "\u0301",
		"한", "각", "ё", "Й", "[CLS]", "[", "]", "\xff", "\x00", "İ", "ﬁ", "x", "1234", "возврат", strings.Repeat("z", 101), "😀",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var text strings.Builder
		for range r.IntN(120) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		prefix := []string{"", "no: ", "return"}[r.IntN(3)]
		checkWindows(t, e, prefix, text.String(), 13+r.IntN(30))
	}
}

func TestWindowsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a window without room for text is accepted")
		}
	}()
	models.Windows(open(t, testkit.Encoder(8)).Tokenizer(), "no: ", "text", 11)
}

// TestWindowsFiles cuts real texts, one of a megabyte without blanks among them.
func TestWindowsFiles(t *testing.T) {
	files, err := filepath.Glob("../../shared/data/txt/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../../shared/data/txt"); err != nil {
		t.Skip("../shared is absent")
	}
	e := open(t, testkit.Encoder(8))
	windows := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		windows += len(checkWindows(t, e, "", string(data), 64))
	}
	t.Logf("%d files, %d windows", len(files), windows)
	if len(files) < 10 || windows < 500 {
		t.Errorf("only %d files and %d windows", len(files), windows)
	}
}
