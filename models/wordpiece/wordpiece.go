// Package wordpiece turns text into the token ids of an uncased BERT model.
//
// The reference is Hugging Face tokenizers 0.22 with the settings of all-MiniLM-L6-v2: BertNormalizer
// (clean_text, handle_chinese_chars, strip_accents, lowercase), BertPreTokenizer, and WordPiece with
// "##" and at most 100 characters a word. Ids are equal to the reference's for every text, whatever
// version of Unicode the program is built with: the tables are generated from the reference's own.
package wordpiece

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Rule names the rules and tables that text is cut by. It is raised when a text gets other ids, so that vectors of the
// old ones are not taken for new. The test of the tables says when, for those.
const Rule = "wordpiece-1"

// A Token is one word piece and the bytes text[Start:End] of the original text that it came from.
//
// What the reference drops (control characters, accents) belongs to a span only inside it, never at its ends.
// A character that splits into several, such as a Hangul syllable, can be shared by tokens that follow one another.
type Token struct {
	ID         int32
	Start, End int
}

// A Tokenizer holds one vocabulary. It doesn't change, so goroutines can share it.
type Tokenizer struct {
	tokens             []string
	trie               trie
	specials           []special
	cls, sep, pad, unk int32
}

// A special is a token that the reference finds in the text as it was written, before anything else is done to it.
type special struct {
	text string
	id   int32
}

// Len returns the number of tokens. Ids are 0 to Len()-1.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns the token of an id as the vocabulary writes it, and "" for an id that there isn't.
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.tokens) {
		return ""
	}
	return t.tokens[id]
}

// CLS returns the id of [CLS], which opens a sequence.
func (t *Tokenizer) CLS() int32 { return t.cls }

// SEP returns the id of [SEP], which closes a sequence.
func (t *Tokenizer) SEP() int32 { return t.sep }

// PAD returns the id of [PAD], which fills a batch.
func (t *Tokenizer) PAD() int32 { return t.pad }

// UNK returns the id of [UNK], which stands for a word that no pieces make up.
func (t *Tokenizer) UNK() int32 { return t.unk }

// Encode appends the tokens of text to dst, without [CLS] and [SEP] around them, and returns it.
// It stops once it has appended limit tokens; a negative limit is none. A limit gives a prefix of what
// no limit gives. Starts and ends never decrease. Bytes that aren't UTF-8 are read as U+FFFD, which is dropped.
//
// [CLS], [SEP], [PAD], [UNK] and [MASK] written out in text, in capitals, become those tokens, as in the reference.
// U+0000 is dropped, as the reference does; its Go binding, which hands over C strings, cuts the text there instead.
// It allocates nothing but what dst needs, and takes time in proportion to the text read.
func (t *Tokenizer) Encode(dst []Token, text string, limit int) []Token {
	end := math.MaxInt
	if limit >= 0 && limit < end-len(dst) {
		end = len(dst) + limit
	}
	var w word
	for i := 0; i < len(text) && len(dst) < end; {
		if w.n == 0 {
			switch ascii[text[i]] {
			case space:
				i++
				continue
			case alnum:
				j := i + 1
				for j < len(text) && ascii[text[j]] == alnum {
					j++
				}
				// Most words end here. Before a control or a non-ASCII character this one may still go on.
				if j == len(text) || ascii[text[j]] != other {
					dst = t.appendASCII(dst, text[i:j], i, end, &w)
					i = j
					continue
				}
			}
		}
		if text[i] == '[' {
			if s := t.special(text[i:]); s != nil {
				if dst = t.appendWord(dst, &w, end); len(dst) < end {
					dst = append(dst, Token{s.id, i, i + len(s.text)})
				}
				i += len(s.text)
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		j := i + size
		switch kind, n := fold(r); kind {
		case letter:
			w.add(r+n, 0, i, j)
		case nonstarter:
			w.add(r, uint8(n), i, j)
		case starterMark:
			w.fence = w.n
		case removed:
		case blank:
			dst = t.appendWord(dst, &w, end)
		case alone:
			dst = t.appendWord(dst, &w, end)
			w.add(r+n, 0, i, j)
			if len(dst) < end {
				dst = t.appendWord(dst, &w, end)
			}
		case hangul:
			l, v, t := jamo(r)
			w.add(l, 0, i, j)
			w.add(v, 0, i, j)
			if t != 0 {
				w.add(t, 0, i, j)
			}
		case several:
			for _, r := range expansions[n] {
				class := uint8(0)
				if kind, n := fold(r); kind == nonstarter {
					class = uint8(n)
				}
				w.add(r, class, i, j)
			}
		}
		i = j
	}
	if len(dst) < end {
		dst = t.appendWord(dst, &w, end)
	}
	return dst
}

// special returns the special token that text begins with, nil if there is none.
func (t *Tokenizer) special(text string) *special {
	for i := range t.specials {
		if strings.HasPrefix(text, t.specials[i].text) {
			return &t.specials[i]
		}
	}
	return nil
}

// appendASCII appends the pieces of a word of ASCII letters and digits, which starts at byte `at` of the text.
func (t *Tokenizer) appendASCII(dst []Token, s string, at, end int, w *word) []Token {
	n := 0
	if len(s) <= maxChars {
		for i := 0; i < len(s); i++ {
			c := s[i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			w.bytes[i] = c
		}
		n = t.trie.split(w.bytes[:len(s)], &w.pieces)
	}
	if n == 0 {
		return append(dst, Token{t.unk, at, at + len(s)})
	}
	start := 0
	for _, p := range w.pieces[:min(n, end-len(dst))] {
		dst = append(dst, Token{p.id, at + start, at + p.end})
		start = p.end
	}
	return dst
}

// appendWord appends the pieces of w, if it holds a word, and empties it.
func (t *Tokenizer) appendWord(dst []Token, w *word, end int) []Token {
	if w.n == 0 {
		return dst
	}
	n := 0
	if w.n <= maxChars {
		b := w.bytes[:0]
		for i, r := range w.runes[:w.n] {
			from := len(b)
			b = utf8.AppendRune(b, r)
			for ; from < len(b); from++ {
				w.char[from] = uint8(i)
			}
		}
		n = t.trie.split(b, &w.pieces)
	}
	if n == 0 {
		dst = append(dst, Token{t.unk, w.start[0], w.last})
	} else {
		start := 0
		for _, p := range w.pieces[:min(n, end-len(dst))] {
			dst = append(dst, Token{p.id, w.start[w.char[start]], w.end[w.char[p.end-1]]})
			start = p.end
		}
	}
	w.n, w.fence = 0, 0
	return dst
}
