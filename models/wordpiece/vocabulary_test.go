package wordpiece

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// write is the inverse of Parse.
func write(t *Tokenizer) []byte {
	var b bytes.Buffer
	for id := range t.Len() {
		b.WriteString(t.Token(int32(id)) + "\n")
	}
	return b.Bytes()
}

func TestParse(t *testing.T) {
	vocab, err := os.ReadFile("testdata/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	original := slices.Clone(vocab)
	tok, err := Parse(vocab)
	if err != nil {
		t.Fatal(err)
	}
	clear(vocab) // the tokenizer keeps nothing of it
	if !bytes.Equal(write(tok), original) {
		t.Error("what is written differs from what was parsed")
	}
	if tok.Len() != bytes.Count(original, []byte("\n")) || tok.Len() < 100 {
		t.Errorf("%d tokens", tok.Len())
	}
	for id := range int32(tok.Len()) {
		if got, ok := tok.id(tok.Token(id)); !ok || got != id {
			t.Errorf("%q is found as %d, want %d", tok.Token(id), got, id)
		}
	}
	for want, got := range map[string]int32{"[PAD]": tok.PAD(), "[UNK]": tok.UNK(), "[CLS]": tok.CLS(), "[SEP]": tok.SEP()} {
		if tok.Token(got) != want {
			t.Errorf("%s is %q", want, tok.Token(got))
		}
	}
	for _, id := range []int32{-1, int32(tok.Len()), 1 << 30} {
		if got := tok.Token(id); got != "" {
			t.Errorf("token %d is %q", id, got)
		}
	}
	for _, absent := range []string{"q", "ref\x00", "##", "refundsx"} {
		if id, ok := tok.id(absent); ok {
			t.Errorf("%q is found as %d", absent, id)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]byte(good + strings.Repeat("x", 200) + "\n")); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ vocab, want string }{
		{"", "vocabulary is empty"},
		{good + "a", "vocabulary line 5 has no line end: the file may be cut short"},
		{good + "\n", "vocabulary line 5 is empty"},
		{"\n" + good, "vocabulary line 1 is empty"},
		{good + "a\nb\na\n", `vocabulary line 7 repeats "a" of line 5`},
		{good + "a\xff\n", "vocabulary line 5 is not UTF-8"},
		{good + "a\r\n", "vocabulary line 5 has a carriage return: lines end with a line feed alone"},
		{good + strings.Repeat("x", 201) + "\n", "vocabulary line 5 has 201 bytes, the limit is 200"},
		{"[PAD]\n[UNK]\n[CLS]\na\n", "vocabulary has no [SEP]: it is not that of a BERT model"},
		{"[UNK]\n[CLS]\n[SEP]\n", "vocabulary has no [PAD]: it is not that of a BERT model"},
		{strings.Repeat("\n", 1<<20+1), "vocabulary has 1048577 lines, the limit is 1048576"},
	} {
		tok, err := Parse([]byte(c.vocab))
		if err == nil || err.Error() != c.want || tok != nil {
			t.Errorf("%.40q: %v, want %s", c.vocab, err, c.want)
		}
	}
}

// A vocabulary of one letter over and over makes the deepest trie, one of all pairs of letters the widest.
func TestParseShapes(t *testing.T) {
	var vocab strings.Builder
	vocab.WriteString("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
	for n := 1; n <= maxTokenBytes; n++ {
		vocab.WriteString(strings.Repeat("a", n) + "\n")
	}
	for a := rune(0x100); a < 0x180; a++ {
		for b := rune(0x400); b < 0x480; b++ {
			fmt.Fprintf(&vocab, "##%c%c\n", a, b)
		}
	}
	tok, err := Parse([]byte(vocab.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(write(tok)); got != vocab.String() {
		t.Error("what is written differs from what was parsed")
	}
	for id := range int32(tok.Len()) {
		if got, ok := tok.id(tok.Token(id)); !ok || got != id {
			t.Fatalf("%q is found as %d, want %d", tok.Token(id), got, id)
		}
	}
	if got := show(tok, tok.Encode(nil, strings.Repeat("A", 60), -1)); got != strings.Repeat("a", 60)+"@0:60" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\nabc\n"))
	f.Add([]byte("a\n\n"))
	f.Fuzz(func(t *testing.T, vocab []byte) {
		tok, err := Parse(vocab)
		if err != nil {
			if tok != nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v with error %q", tok, err)
			}
			return
		}
		if !bytes.Equal(write(tok), vocab) {
			t.Error("what is written differs from what was parsed")
		}
		const text = "abc [SEP] abb cab"
		if got, want := tok.Encode(nil, text, -1), naive(tok, text); !slices.Equal(got, want) {
			t.Errorf("got %s, want %s", show(tok, got), show(tok, want))
		}
	})
}
