//go:build heavy && ORT

package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/daulet/tokenizers"

	"example.com/larder/models/wordpiece"
	"example.com/larder/pipeline"
)

// wordPiecePair is our tokenizer and the reference with the same vocabulary.
type wordPiecePair struct {
	ours      *wordpiece.Tokenizer
	reference *tokenizers.Tokenizer
}

// tokenizerFile is the tokenizer.json of the default model, from the user's cache or the network.
func tokenizerFile(t testing.TB) string {
	t.Helper()
	cache, err := pipeline.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	_, path, err := (&pipeline.Fetcher{Cache: cache}).ModelTokenizer(context.Background(), "all-MiniLM-L6-v2")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newWordPiecePair reads tokenizer.json. With a vocabulary, it takes the place of the one in the file.
func newWordPiecePair(t testing.TB, vocab []string) wordPiecePair {
	t.Helper()
	path := tokenizerFile(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file, model map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := json.Unmarshal(file["model"], &model); err != nil {
		t.Fatalf("%s: model: %v", path, err)
	}
	ids := map[string]int{}
	if vocab == nil {
		if err := json.Unmarshal(model["vocab"], &ids); err != nil {
			t.Fatalf("%s: model.vocab: %v", path, err)
		}
		vocab = make([]string, len(ids))
		for token, id := range ids {
			vocab[id] = token
		}
	} else {
		for id, token := range vocab {
			ids[token] = id
		}
		var added []map[string]any
		if err := json.Unmarshal(file["added_tokens"], &added); err != nil {
			t.Fatalf("%s: added_tokens: %v", path, err)
		}
		for _, a := range added {
			a["id"] = ids[a["content"].(string)]
		}
		file["added_tokens"] = mustJSON(t, added)
		file["post_processor"] = mustJSON(t, map[string]any{"type": "BertProcessing",
			"cls": []any{"[CLS]", ids["[CLS]"]}, "sep": []any{"[SEP]", ids["[SEP]"]}})
	}
	model["vocab"] = mustJSON(t, ids)
	file["model"] = mustJSON(t, model)
	file["truncation"], file["padding"] = json.RawMessage("null"), json.RawMessage("null")

	var pair wordPiecePair
	if pair.ours, err = wordpiece.Parse([]byte(strings.Join(vocab, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	if pair.reference, err = tokenizers.FromBytes(mustJSON(t, file)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pair.reference.Close() })
	return pair
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// want returns the reference's tokens, without the [CLS] and [SEP] around them.
func (p wordPiecePair) want(t *testing.T, text string) []wordpiece.Token {
	t.Helper()
	e := p.reference.EncodeWithOptions(text, true, tokenizers.WithReturnOffsets())
	n := len(e.IDs) - 1
	if n < 1 || len(e.Offsets) != n+1 || int32(e.IDs[0]) != p.ours.CLS() || int32(e.IDs[n]) != p.ours.SEP() {
		t.Fatalf("%q: the reference gives %d ids and %d offsets", text, len(e.IDs), len(e.Offsets))
	}
	want := make([]wordpiece.Token, 0, n)
	for i := 1; i < n; i++ {
		want = append(want, wordpiece.Token{ID: int32(e.IDs[i]), Start: int(e.Offsets[i][0]), End: int(e.Offsets[i][1])})
	}
	return want
}

// differences compares ids, and spans too when told, and stops the test after ten differences.
type differences struct {
	wordPiecePair
	spans                   bool
	texts, found, reordered int
	got                     []wordpiece.Token
}

// keptCombining are the characters with a combining class that the reference keeps: spacing ones, and those younger
// than its categories. When it sorts one past an accent, each gets the other's span, and then the accent is dropped.
// Ours keeps to the characters that make up the token.
var keptCombining = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x8d4, Hi: 0x8e1, Stride: 1}, {Lo: 0x1b44, Hi: 0x1b44, Stride: 1}, {Lo: 0x1baa, Hi: 0x1baa, Stride: 1},
		{Lo: 0x1bf2, Hi: 0x1bf3, Stride: 1}, {Lo: 0x1dfb, Hi: 0x1dfb, Stride: 1}, {Lo: 0x302e, Hi: 0x302f, Stride: 1},
		{Lo: 0xa953, Hi: 0xa953, Stride: 1}, {Lo: 0xa9c0, Hi: 0xa9c0, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x111c0, Hi: 0x111c0, Stride: 1}, {Lo: 0x11235, Hi: 0x11235, Stride: 1}, {Lo: 0x1134d, Hi: 0x1134d, Stride: 1},
		{Lo: 0x11442, Hi: 0x11446, Stride: 4}, {Lo: 0x116b6, Hi: 0x116b6, Stride: 1}, {Lo: 0x11c3f, Hi: 0x11c3f, Stride: 1},
		{Lo: 0x1d165, Hi: 0x1d166, Stride: 1}, {Lo: 0x1d16d, Hi: 0x1d172, Stride: 1}, {Lo: 0x1e000, Hi: 0x1e02a, Stride: 1},
		{Lo: 0x1e944, Hi: 0x1e94a, Stride: 1}},
}

func (d *differences) compare(t *testing.T, text string) {
	t.Helper()
	want := d.want(t, text)
	d.got = d.ours.Encode(d.got[:0], text, -1)
	d.texts++
	equal := slices.Equal(d.got, want)
	if !equal && slices.EqualFunc(d.got, want, func(a, b wordpiece.Token) bool { return a.ID == b.ID }) {
		if equal = !d.spans; d.spans && strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(keptCombining, r) }) {
			d.reordered++
			equal = true
		}
	}
	if equal {
		return
	}
	t.Errorf("%q:\n got %v\nwant %v", text, d.got, want)
	if d.found++; d.found == 10 {
		t.FailNow()
	}
}

func (d *differences) log(t *testing.T, what string) {
	t.Logf("%s: %d texts compared, %d differences, %d with spans mixed up by reordering", what, d.texts, d.found, d.reordered)
}

// scalars calls f with each Unicode scalar value of [from, to), but for U+0000: the reference's Go binding hands
// texts over as C strings, which end there.
func scalars(from, to rune, f func(string)) (n int) {
	for r := max(from, 1); r < to; r++ {
		if utf8.ValidRune(r) {
			f(string(r))
			n++
		}
	}
	return n
}

// TestWordPieceCodePoints compares every code point alone and between letters, with the model's vocabulary.
func TestWordPieceCodePoints(t *testing.T) {
	d := differences{wordPiecePair: newWordPiecePair(t, nil), spans: true}
	n := scalars(0, utf8.MaxRune+1, func(c string) {
		d.compare(t, c)
		d.compare(t, "a"+c+"b")
	})
	if n != 0x110000-0x800-1 {
		t.Errorf("%d code points compared", n)
	}
	d.log(t, "code points alone and between letters")
}

var wordPieceSpecials = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// TestWordPieceFolds does the same with vocabularies that hold every character, so that each shows what it becomes,
// where the model's would give [UNK] for most.
func TestWordPieceFolds(t *testing.T) {
	for _, half := range []struct {
		name   string
		ranges [][2]rune
		inside bool
	}{
		{"planes 0 to 2 and 14", [][2]rune{{0, 0x30000}, {0xE0000, 0xF0000}}, true},
		{"planes 3 to 13, 15 and 16", [][2]rune{{0x30000, 0xE0000}, {0xF0000, 0x110000}}, false},
	} {
		t.Run(half.name, func(t *testing.T) {
			vocab := slices.Clone(wordPieceSpecials)
			if !half.inside {
				vocab = append(vocab, "a", "b", "##b")
			}
			for _, r := range half.ranges {
				scalars(r[0], r[1], func(c string) {
					if c != "\n" && c != "\r" { // never in a word
						vocab = append(vocab, c)
						if half.inside {
							vocab = append(vocab, "##"+c)
						}
					}
				})
			}
			d := differences{wordPiecePair: newWordPiecePair(t, vocab), spans: true}
			for _, r := range half.ranges {
				scalars(r[0], r[1], func(c string) {
					d.compare(t, c)
					d.compare(t, "a"+c+"b")
				})
			}
			d.log(t, half.name)
			if !half.inside {
				return
			}

			// Combining characters that are kept, dropped, dropped and in the way of reordering, and what may
			// carry them. Ids alone: here most spans are mixed up.
			alphabet := []rune("aB\u00e9 -[\u4e00\uf900\uac00\uac01\u0001" + // letters, blank, punctuation, ideographs, syllables, control
				"\u08d4\u1b44\u1baa\u1dfb\u302e\ua953\U0001d165\U0001d166\U0001d16d\U0001e000" + // kept
				"\u0300\u0316\u0327\u0345\u05b0\u3099" + // dropped
				"\u0900\u034f\u0d41\u0dd2" + // dropped, in the way
				"\u0344\u0390\u09cb\u0ddd\u0ccb\u1b06\u1b43\U0001d15e\U0001d164\U0001d1bd") // fall apart
			rng := rand.New(rand.NewPCG(1, 2))
			d = differences{wordPiecePair: d.wordPiecePair}
			for range 100_000 {
				rs := make([]rune, 2+rng.IntN(8))
				for i := range rs {
					rs[i] = alphabet[rng.IntN(len(alphabet))]
				}
				d.compare(t, string(rs))
			}
			d.log(t, "combining characters in any order")
		})
	}
}

// TestWordPieceLines compares ids and spans on lines made from every stretch of 128 code points,
// and on lines of ../shared where it is present.
func TestWordPieceLines(t *testing.T) {
	d := differences{wordPiecePair: newWordPiecePair(t, nil), spans: true}
	for _, line := range blockLines() {
		d.compare(t, line)
	}
	if d.texts < 2000 {
		t.Errorf("%d lines were made, at least 2000 are needed", d.texts)
	}
	if d.reordered > d.texts/100 {
		t.Errorf("%d lines have spans unlike the reference's", d.reordered)
	}
	d.log(t, "lines made by rule")

	t.Run("shared", func(t *testing.T) {
		root := filepath.Join("..", "..", "shared", "data")
		if _, err := os.Stat(root); err != nil {
			t.Skip("../shared is not here")
		}
		d := differences{wordPiecePair: d.wordPiecePair, spans: true}
		for _, glob := range []string{"retrieval/xquad-*/corpus.jsonl", "retrieval/xquad-*/queries.jsonl", "txt/*", "md/*/*/*.md",
			"md/*/*/*/*.md"} {
			files, err := filepath.Glob(filepath.Join(root, glob))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d files, %v", glob, len(files), err)
			}
			for _, file := range files {
				for _, line := range someLines(t, file, 1+2000/len(files)) {
					d.compare(t, line)
				}
			}
		}
		if d.texts < 2000 || d.reordered > 0 {
			t.Errorf("%d lines were found, at least 2000 are needed; %d have spans unlike the reference's", d.texts, d.reordered)
		}
		d.log(t, "lines of ../shared")
	})
}

// blockLines makes a line from every 128 code points of planes 0 and 1 (surrogates and private use apart) and two
// from every 1,024 of plane 2: words of 1 to 12 characters, a third of them English, accents strewn in.
func blockLines() (lines []string) {
	rng := rand.New(rand.NewPCG(3, 4))
	english := strings.Fields("The refund Policy, v1.0.21 (E-4012) isn't getUserById user@host C++ 3,14 %50 untranslatable")
	line := func(from, size rune) {
		var words []string
		for range 4 + rng.IntN(12) {
			if rng.IntN(3) == 0 {
				words = append(words, english[rng.IntN(len(english))])
				continue
			}
			var w strings.Builder
			for range 1 + rng.IntN(12) {
				w.WriteRune(from + rng.Int32N(int32(size)))
				if rng.IntN(10) == 0 {
					w.WriteRune(0x300 + rng.Int32N(0x70))
				}
			}
			words = append(words, strings.ReplaceAll(w.String(), "\x00", ""))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	for range 2 {
		for from := rune(0); from < 0x20000; from += 128 {
			if from < 0xD800 || from >= 0xF900 {
				line(from, 128)
			}
		}
		for from := rune(0x20000); from < 0x30000; from += 1024 {
			line(from, 1024)
		}
	}
	return lines
}

// someLines returns at most n lines of a file, evenly spread, none empty or beyond 10,000 bytes.
func someLines(t *testing.T, file string, n int) (lines []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		line := in.Text()
		if strings.HasSuffix(file, ".jsonl") {
			var record struct{ Text string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			line = record.Text
		}
		if len(line) > 0 && len(line) <= 10_000 && utf8.ValidString(line) && !strings.Contains(line, "\x00") {
			lines = append(lines, line)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(lines) <= n {
		return lines
	}
	some := make([]string, n)
	for i := range some {
		some[i] = lines[i*len(lines)/n]
	}
	return some
}

// TestWordPieceLiterals compares special tokens that are written out, and words about as long as they may be.
func TestWordPieceLiterals(t *testing.T) {
	d := differences{wordPiecePair: newWordPiecePair(t, nil), spans: true}
	for _, s := range wordPieceSpecials {
		for _, text := range []string{"%s", "a%sb", " %s ", "%[1]s%[1]s", "[%s]", "[[%s", "%s]", "caf\u00e9%s\u0301", "\u4e00%s\u4e00",
			"un%saffable", "%s\u0301"} {
			d.compare(t, fmt.Sprintf(text, s))
		}
		d.compare(t, strings.ToLower(s))
		d.compare(t, s[:len(s)-1])
		d.compare(t, s[:2]+"\u0001"+s[2:])
		d.compare(t, s[:2]+"\u0301"+s[2:])
	}
	for _, text := range []string{"", " ", "##ing", "[ SEP ]", "\u0130stanbul", "\u1e9e\u212a\u2126", "\u0391\u03a3 \u03c3\u03c2", "a\u00a0b\u3000c\u2028d\u0085e\vf\fg",
		"a\u200bb\u00adc\ufeffd", "\u2260\u226e\u1fef", "\u1100\u1161\u11a8", "\ud55c\uae00"} {
		d.compare(t, text)
	}
	for _, unit := range []string{"a", "A", "7", "\u00e9", "e\u0301", "\u0436", "\u0e01", "\uac00", "\uac01", "\u302e", "\u09cb", "\U0001d164", "\U00010400", "a\u0001"} {
		for _, n := range []int{24, 25, 33, 34, 49, 50, 51, 99, 100, 101, 1000} {
			d.compare(t, strings.Repeat(unit, n))
			d.compare(t, "x "+strings.Repeat(unit, n)+"!\u0301")
		}
	}
	d.log(t, "literals and long words")

	// Spans are of the text as the reference sees it, with U+FFFD in the place of bytes that aren't UTF-8.
	d = differences{wordPiecePair: d.wordPiecePair}
	for _, text := range []string{"a\xffb", "\xff", "caf\xc3", "\xed\xa0\x80x", "\xf0\x9f\x98 \xc0\x80ok", "\xe2\x82\xe2\x82\xac"} {
		d.compare(t, text)
	}
	d.log(t, "bytes that aren't UTF-8")

	if got, want := d.ours.Encode(nil, "un\x00believable", -1), d.want(t, "unbelievable"); len(got) != len(want) || got[0].ID != want[0].ID {
		t.Errorf("U+0000 inside a word: got %v, want %v", got, want)
	}
}

// BenchmarkWordPiece times ours against the reference, with the model's vocabulary.
func BenchmarkWordPiece(b *testing.B) {
	p := newWordPiecePair(b, nil)
	english := strings.Repeat("A customer who returns an item within thirty days, unused and in its packaging, is refunded in full "+
		"to the card that paid; later returns (up to ninety days) are credited to the account. ", 100)
	russian := strings.Repeat("Покупатель, который возвращает товар в течение тридцати дней, получает всю сумму на карту. ", 100)
	for _, c := range []struct{ name, text string }{
		{"query", "how do I get a refund for my damaged order?"},
		{"english", english},
		{"russian", russian},
	} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			var dst []wordpiece.Token
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = p.ours.Encode(dst[:0], c.text, -1)
			}
			b.ReportMetric(float64(len(dst)), "tokens")
		})
		b.Run(c.name+"/reference", func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				p.reference.EncodeWithOptions(c.text, true)
			}
		})
	}
}
