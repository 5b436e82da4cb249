package wordpiece

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a vocabulary.
const (
	maxTokens     = 1 << 20 // lines
	maxTokenBytes = 200     // bytes of a token
)

// Parse reads a vocabulary: one token a line, each line ended by "\n", the token's id its line's number from 0.
//
// It takes what a vocabulary can be and nothing else: UTF-8, no token empty, repeated, longer than 200 bytes or with
// a carriage return, at most 1<<20 of them, [PAD], [UNK], [CLS] and [SEP] among them. So the tokens, each followed by
// "\n", are the bytes that were read. An error names the line, counted from 1.
func Parse(vocab []byte) (*Tokenizer, error) {
	n := bytes.Count(vocab, []byte{'\n'})
	switch {
	case len(vocab) == 0:
		return nil, fmt.Errorf("vocabulary is empty")
	case vocab[len(vocab)-1] != '\n':
		return nil, fmt.Errorf("vocabulary line %d has no line end: the file may be cut short", n+1)
	case n > maxTokens:
		return nil, fmt.Errorf("vocabulary has %d lines, the limit is %d", n, maxTokens)
	}
	t := &Tokenizer{tokens: make([]string, n)}
	text := string(vocab)
	for i := range t.tokens {
		token, rest, _ := strings.Cut(text, "\n")
		switch {
		case token == "":
			return nil, fmt.Errorf("vocabulary line %d is empty", i+1)
		case len(token) > maxTokenBytes:
			return nil, fmt.Errorf("vocabulary line %d has %d bytes, the limit is %d", i+1, len(token), maxTokenBytes)
		case !utf8.ValidString(token):
			return nil, fmt.Errorf("vocabulary line %d is not UTF-8", i+1)
		case strings.Contains(token, "\r"):
			return nil, fmt.Errorf("vocabulary line %d has a carriage return: lines end with a line feed alone", i+1)
		}
		t.tokens[i], text = token, rest
	}
	sorted := sortTokens(t.tokens)
	for i := 1; i < n; i++ {
		if a, b := sorted[i-1], sorted[i]; t.tokens[a] == t.tokens[b] {
			return nil, fmt.Errorf("vocabulary line %d repeats %q of line %d", b+1, t.tokens[b], a+1)
		}
	}
	t.trie = newTrie(t.tokens, sorted)

	for _, s := range []struct {
		text     string
		id       *int32
		optional bool
	}{{"[PAD]", &t.pad, false}, {"[UNK]", &t.unk, false}, {"[CLS]", &t.cls, false}, {"[SEP]", &t.sep, false},
		{"[MASK]", new(int32), true}} {
		id, ok := t.id(s.text)
		if !ok && s.optional {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("vocabulary has no %s: it is not that of a BERT model", s.text)
		}
		*s.id = id
		t.specials = append(t.specials, special{s.text, id})
	}
	return t, nil
}

// id returns the id of a token, which isn't empty.
func (t *Tokenizer) id(token string) (id int32, ok bool) {
	n := t.trie.word[token[0]]
	for i := 1; i < len(token); i++ {
		n = t.trie.child(n, token[i])
	}
	id = t.trie.nodes[n].id
	return id, id >= 0
}
