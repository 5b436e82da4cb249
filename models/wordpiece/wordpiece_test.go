package wordpiece

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// small reads the vocabulary that the tests share, written for them.
func small(t testing.TB) *Tokenizer {
	t.Helper()
	vocab, err := os.ReadFile("testdata/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// show writes tokens as "token@start:end ...".
func show(tok *Tokenizer, tokens []Token) string {
	var s []string
	for _, t := range tokens {
		s = append(s, fmt.Sprintf("%s@%d:%d", tok.Token(t.ID), t.Start, t.End))
	}
	return strings.Join(s, " ")
}

func TestEncode(t *testing.T) {
	tok := small(t)
	for _, c := range []struct{ rule, text, want string }{
		{"nothing", "", ""},
		{"blanks alone", " \t\r\n\u00a0\u3000\u2028", ""},
		{"whole words", "the refund", "the@0:3 refund@4:10"},
		{"longest piece first", "refunds refund", "refunds@0:7 refund@8:14"},
		{"pieces", "unaffable", "un@0:2 ##aff@2:5 ##able@5:9"},
		{"no way back: the longest piece is kept though a shorter one would do", "refun", "ref@0:3 ##un@3:5"},
		{"word of no pieces", "q refundq the", "[UNK]@0:1 [UNK]@2:9 the@10:13"},
		{"continuation alone", "##a", "#@0:1 #@1:2 a@2:3"},
		{"lower case", "The REFUND", "the@0:3 refund@4:10"},
		{"ASCII symbols are punctuation", "a$b+c=~`|", "a@0:1 $@1:2 b@2:3 +@3:4 c@4:5 =@5:6 ~@6:7 `@7:8 |@8:9"},
		{"other symbols are not", "a€ ◌", "a@0:1 ##€@1:4 ◌@5:8"},
		{"punctuation beyond ASCII", "¿a·b„", "¿@0:2 a@2:3 ·@3:5 b@5:6 „@6:9"},
		{"accents composed", "Café", "cafe@0:5"},
		{"accents apart, the last outside the span", "cafe\u0301 a\u0301b", "cafe@0:4 a@7:8 ##b@10:11"},
		{"accents before and alone", "\u0301a \u0301", "a@2:3"},
		{"accents in Cyrillic", "Й й й", "и@0:2 и@3:5 и@6:8"},
		{"decomposition to punctuation", "a\u2260b \u1fef \u037e", "a@0:1 =@1:4 b@4:5 `@6:9 ;@10:12"},
		{"dotted capital I", "İstanbul", "istanbul@0:9"},
		{"lower case is not folding", "Straße", "straße@0:7"},
		{"no final sigma", "ΣΣ ς", "σ@0:2 ##σ@2:4 ς@5:7"},
		{"signs that decompose to capitals", "\u2126 \u212a", "ω@0:3 k@4:7"},
		{"lower case of Georgian, Cherokee and Deseret", "\u1c90Ა Ꮿ \U00010400", "ა@0:3 ##ა@3:6 ꮿ@7:10 𐐨@11:15"},
		{"control, format and private characters drop out", "c\x01a\x7ff\u00ade\u200b\ufeff\ue000", "cafe@0:8"},
		{"vertical tab, form feed and next line are no blanks", "c\va\ff\u0085e", "cafe@0:8"},
		{"blanks", "a\tb\rc\nd\u2003e\u1680f", "a@0:1 b@2:3 c@4:5 d@6:7 e@10:11 f@14:15"},
		{"U+0000 and U+FFFD drop out", "c\x00af\ufffde", "cafe@0:8"},
		{"bytes that aren't UTF-8 drop out", "\xffc\xc3af\xed\xa0\x80e\xe2\x82", "cafe@1:9"},
		{"ideographs stand alone", "a中文b", "a@0:1 中@1:4 文@4:7 b@7:8"},
		{"compatibility ideographs too, decomposed", "\uf900a", "豈@0:3 a@3:4"},
		{"ideographs of plane 2", "a\U00020000a", "a@0:1 𠀀@1:5 a@5:6"},
		{"an ideograph takes no combining character along", "中\u302e", "中@0:3 〮@3:6"},
		{"Hangul in jamo, which share the syllable's span", "한 글 한글", "ᄒ@0:3 ##ᅡ@0:3 ##ᆫ@0:3 ᄀ@4:7 ##ᅳ@4:7 ##ᆯ@4:7 [UNK]@8:14"},
		{"vowel signs fall apart", "\u09cb", "ে@0:3 ##া@0:3"},
		{"notes fall apart", "\U0001d160", "𝅘@0:4 ##𝅥@0:4 ##𝅮@0:4"},
		{"kept combining characters in canonical order", "a\u08d4\u302e\u1bf2", "a@0:1 ##᯲@1:4 ##〮@4:7 ##\u08d4@7:10"},
		{"an accent that drops out doesn't stop the order", "a\u302f\u0301\u302e", "a@0:1 ##〯@1:4 ##〮@6:9"},
		{"a mark without a class does", "a\u08d4\u034f\u1bf2", "a@0:1 ##\u08d4@1:4 ##᯲@6:9"},
		{"special tokens", "a[SEP]b [CLS]", "a@0:1 [SEP]@1:6 b@6:7 [CLS]@8:13"},
		{"special tokens by the letter", "[sep] [ SEP] [SE\u0301P]", "[@0:1 [UNK]@1:4 ]@4:5 [@6:7 [UNK]@8:11 ]@11:12 [@13:14 [UNK]@14:19 ]@19:20"},
		{"special tokens one by one", "[[PAD][UNK]]\u0301[MASK]", "[@0:1 [PAD]@1:6 [UNK]@6:11 ]@11:12 [MASK]@14:20"},
		{"a word that goes on after ASCII", "refund\u0301s refund\x01s", "refunds@0:9 refunds@10:18"},
	} {
		if got := show(tok, tok.Encode(nil, c.text, -1)); got != c.want {
			t.Errorf("%s: %q:\n got %s\nwant %s", c.rule, c.text, got, c.want)
		}
	}
}

func TestLongWords(t *testing.T) {
	tok := small(t)
	for _, c := range []struct {
		unit   string
		length int // characters that a unit becomes
	}{{"a", 1}, {"A", 1}, {"e\u0301", 1}, {"é", 1}, {"ᅡ", 1}, {"a\x01", 1}, {"한", 3}, {"\u302e", 1}, {"\U0001d160", 3}} {
		for _, n := range []int{1, 33, 34, 50, 99, 100, 101, 400} {
			text := strings.Repeat(c.unit, n)
			got := tok.Encode(nil, "("+text+")", -1)
			if len(got) < 3 || got[0] != (Token{tok.mustID(t, "("), 0, 1}) || got[len(got)-1] != (Token{tok.mustID(t, ")"), len(text) + 1, len(text) + 2}) {
				t.Fatalf("%q, %d times: %s", c.unit, n, show(tok, got))
			}
			whole := len(got) == 3 && got[1].ID == tok.UNK()
			if tooLong := n*c.length > 100; tooLong && !whole {
				t.Errorf("%q, %d times: %s", c.unit, n, show(tok, got))
			} else if !tooLong && !slices.Equal(got, naive(tok, "("+text+")")) {
				t.Errorf("%q, %d times: %s", c.unit, n, show(tok, got))
			}
		}
	}
	if got := tok.Encode(nil, strings.Repeat("a", 100), -1); len(got) != 100 {
		t.Errorf("100 letters give %d tokens", len(got))
	}
}

func (t *Tokenizer) mustID(tb testing.TB, token string) int32 {
	tb.Helper()
	id, ok := t.id(token)
	if !ok {
		tb.Fatalf("no token %q", token)
	}
	return id
}

// Texts that would hurt a tokenizer that keeps a word, or the marks of a character, or tries all splits.
func TestHostile(t *testing.T) {
	tok := small(t)
	for i, c := range []struct {
		name, unit string
		tokens     int // -1 for two per unit
	}{
		{"one word", "a", 1},
		{"accents", "\u0301", 0},
		{"accents without a class", "\u034f", 0},
		{"kept combining characters, out of order", "\u08d4\u302e\u1bf2", 1},
		{"letters and accents", "a\u0301\u0316", 1},
		{"syllables", "한", 1},
		{"controls", "a\x01", 1},
		{"brackets", "[SEP", -1},
		{"blanks", " ", 0},
		{"not UTF-8", "\xf0\x9f", 0},
	} {
		size := 1 << 20
		if i < 2 {
			size = 10 << 20
		}
		text := strings.Repeat(c.unit, size/len(c.unit))
		got := tok.Encode(nil, text, -1)
		want := c.tokens
		if want < 0 {
			want = 2 * (size / len(c.unit)) // "[" and an unknown word
		}
		if len(got) != want {
			t.Errorf("%s: %d tokens, want %d", c.name, len(got), want)
		}
		if few := tok.Encode(nil, text, 3); len(few) != min(3, want) || !slices.Equal(few, got[:len(few)]) {
			t.Errorf("%s: with a limit of 3: %s", c.name, show(tok, few))
		}
	}
}

func TestLimit(t *testing.T) {
	tok := small(t)
	const text = "unaffable refund, the [SEP] unaffableq 中文 한 unaffable"
	all := tok.Encode(nil, text, -1)
	if len(all) != 16 {
		t.Fatalf("%d tokens: %s", len(all), show(tok, all))
	}
	before := []Token{{7, 1, 2}}
	for limit := range len(all) + 3 {
		got := tok.Encode(slices.Clone(before), text, limit)
		if want := append(slices.Clone(before), all[:min(limit, len(all))]...); !slices.Equal(got, want) {
			t.Errorf("limit %d: %s", limit, show(tok, got))
		}
	}
	const most = int(^uint(0) >> 1)
	if got := tok.Encode(before, text, most); len(got) != len(all)+1 {
		t.Errorf("the greatest limit gives %d tokens", len(got))
	}
}

func TestEncodeAllocates(t *testing.T) {
	tok := small(t)
	dst := make([]Token, 0, 100)
	for _, text := range []string{"the refund of unaffable cafe, 2 a", "Привет, отель; ΣΣ 中文 한글 cafe\u0301 [SEP]\xff", strings.Repeat("a", 500)} {
		if n := testing.AllocsPerRun(100, func() { dst = tok.Encode(dst[:0], text, -1) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
	// A limit also bounds what dst needs, in the middle of a word.
	dst = make([]Token, 0, 2)
	if n := testing.AllocsPerRun(100, func() { dst = tok.Encode(dst[:0], "unaffable", 2) }); n != 0 {
		t.Errorf("with a limit: %v allocations", n)
	}
}

func TestEncodeConcurrently(t *testing.T) {
	tok := small(t)
	const text = "The unaffable Café, 한글 [SEP] refunds"
	want := tok.Encode(nil, text, -1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var got []Token
			for range 200 {
				if got = tok.Encode(got[:0], text, -1); !slices.Equal(got, want) {
					t.Errorf("got %s", show(tok, got))
					return
				}
			}
		})
	}
	wg.Wait()
}

// naive is Encode written for clarity: the steps one after another over the whole text, the tables apart.
func naive(tok *Tokenizer, text string) []Token {
	type char struct {
		r          rune
		class      uint8
		start, end int
		kind       kind // letter, starterMark, blank, or alone
	}
	var tokens []Token
	vocab := map[string]int32{}
	for id, token := range tok.tokens {
		vocab[token] = int32(id)
	}

	var chars []char
	finish := func() {
		// Canonical order: sort each run of characters with a class.
		for i := 0; i < len(chars); {
			j := i
			for j < len(chars) && chars[j].class != 0 {
				j++
			}
			run := slices.Clone(chars[i:j])
			slices.SortStableFunc(run, func(a, b char) int { return int(a.class) - int(b.class) })
			for k := range run { // spans stay
				chars[i+k].r, chars[i+k].class = run[k].r, run[k].class
			}
			i = j + 1
		}
		var words [][]char
		var w []char
		for _, c := range chars {
			switch c.kind {
			case letter:
				w = append(w, c)
			case alone:
				words = append(words, w, []char{c})
				w = nil
			case blank:
				words = append(words, w)
				w = nil
			}
		}
		words = append(words, w)
		for _, w := range words {
			if len(w) == 0 {
				continue
			}
			var pieces []Token
			for at := 0; at < len(w) && len(w) <= maxChars; {
				var s string
				if at > 0 {
					s = "##"
				}
				var longest Token
				next := at
				for end := at; end < len(w); end++ {
					s += string(w[end].r)
					if id, ok := vocab[s]; ok {
						longest, next = Token{id, w[at].start, w[end].end}, end+1
					}
				}
				if next == at {
					pieces = nil
					break
				}
				pieces, at = append(pieces, longest), next
			}
			if pieces == nil {
				pieces = []Token{{tok.unk, w[0].start, w[len(w)-1].end}}
			}
			tokens = append(tokens, pieces...)
		}
		chars = nil
	}
next:
	for i := 0; i < len(text); {
		for _, s := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
			if id, ok := vocab[s]; ok && strings.HasPrefix(text[i:], s) {
				finish()
				tokens = append(tokens, Token{id, i, i + len(s)})
				i += len(s)
				continue next
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch k, n := fold(r); k {
		case removed:
		case letter, alone, blank, starterMark:
			chars = append(chars, char{r + n, 0, i, i + size, k})
		case nonstarter:
			chars = append(chars, char{r, uint8(n), i, i + size, letter})
		case several:
			for _, r := range expansions[n] {
				class := uint8(0)
				if k, n := fold(r); k == nonstarter {
					class = uint8(n)
				}
				chars = append(chars, char{r, class, i, i + size, letter})
			}
		case hangul:
			lead, vowel, trail := jamo(r)
			for _, r := range []rune{lead, vowel, trail} {
				if r != 0 {
					chars = append(chars, char{r, 0, i, i + size, letter})
				}
			}
		}
		i += size
	}
	finish()
	return tokens
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"The unaffable refund, 中文", "cafe\u0301\xffs [SEP]한\u302e\u08d4\u1bf2\u034f\u302e", "a\x01b[[CLS]]\u2260\U0001d160\u1bf2 É",
		"\u0301\u302e refund\x01s refunds\u0301", strings.Repeat("a", 101) + "!"} {
		f.Add(s, 3)
	}
	tok := small(f)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		all := tok.Encode(nil, text, -1)
		if len(text) < 2000 {
			if want := naive(tok, text); !slices.Equal(all, want) {
				t.Errorf("%q:\n got %s\nwant %s", text, show(tok, all), show(tok, want))
			}
		}
		valid := utf8.ValidString(text)
		for i, a := range all {
			if a.Start < 0 || a.Start >= a.End || a.End > len(text) {
				t.Errorf("%q: span %d:%d", text, a.Start, a.End)
			}
			if i > 0 && (a.Start < all[i-1].Start || a.End < all[i-1].End) {
				t.Errorf("%q: span %d:%d goes back", text, a.Start, a.End)
			}
			if valid && !(utf8.RuneStart(text[a.Start]) && (a.End == len(text) || utf8.RuneStart(text[a.End]))) {
				t.Errorf("%q: span %d:%d cuts a character", text, a.Start, a.End)
			}
			if tok.Token(a.ID) == "" {
				t.Errorf("%q: id %d", text, a.ID)
			}
		}
		if limit >= 0 {
			if got := tok.Encode(nil, text, limit); !slices.Equal(got, all[:min(limit, len(all))]) {
				t.Errorf("%q: limit %d: %s", text, limit, show(tok, got))
			}
		}
		var joined []Token
		at := 0
		for _, word := range strings.SplitAfter(text, " ") {
			from := len(joined)
			joined = tok.Encode(joined, word, -1)
			for i := range joined[from:] {
				joined[from+i].Start += at
				joined[from+i].End += at
			}
			at += len(word)
		}
		if !slices.Equal(all, joined) {
			t.Errorf("%q: word by word: %s", text, show(tok, joined))
		}
	})
}

// The tables are part of what an artifact's vectors depend on: they must not change with Go, Rust or Unicode.
// The digest is that of tables which gave the reference's ids for every character. Whoever changes it raises Rule.
func TestTables(t *testing.T) {
	const want = "b46f8a125b4e5c17a2685b250bbb72b2d40b5021dc17015e179aa28124b018e4"
	h := sha256.New()
	var b [4]byte
	put := func(r rune) {
		binary.LittleEndian.PutUint32(b[:], uint32(r))
		h.Write(b[:])
	}
	counts := map[kind]int{}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		k, n := fold(r)
		counts[k]++
		put(rune(k))
		switch k {
		case letter, alone:
			put(r + n)
			if again, m := fold(r + n); again != k || m != 0 {
				t.Errorf("%U becomes %U, which becomes something else", r, r+n)
			}
		case nonstarter:
			put(n)
			if n < 1 || n > 254 {
				t.Errorf("%U: combining class %d", r, n)
			}
		case several:
			for _, e := range expansions[n] {
				put(e)
			}
		case hangul:
			lead, vowel, trail := jamo(r)
			put(lead)
			put(vowel)
			put(trail)
		}
	}
	if counts[hangul] != 11172 || counts[several] != len(expansions) {
		t.Errorf("kinds: %v", counts)
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("the tables have changed: digest %s, want %s", got, want)
	}
	for _, r := range []rune{-1, utf8.MaxRune + 1, 0xD800, 0x7fffffff} {
		if k, _ := fold(r); k != removed {
			t.Errorf("%d is of kind %d", r, k)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := small(b)
	for _, c := range []struct{ name, text string }{
		{"query", "the refund unaffable cafe a the refunds, e"},
		{"english", strings.Repeat("The refund is unaffable; a cafe, the affable (2.1) refunds. ", 1000)},
		{"russian", strings.Repeat("Отель от привет й; ", 1000)},
		{"hangul", strings.Repeat("한글 ", 1000)},
		{"accents", strings.Repeat("\u0301", 10_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var dst []Token
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = tok.Encode(dst[:0], c.text, -1)
			}
		})
	}
}
