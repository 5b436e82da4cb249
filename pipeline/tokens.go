package pipeline

import (
	"strings"

	"example.com/larder/models/wordpiece"
)

// wordPieces counts tokens with the project's own WordPiece.
type wordPieces struct{ *wordpiece.Tokenizer }

func (w wordPieces) spans(text string) ([]span, error) {
	tokens := w.Encode(nil, text, -1)
	spans := make([]span, len(tokens))
	for i, t := range tokens {
		spans[i] = span{t.Start, t.End, strings.HasPrefix(w.Token(t.ID), "##")}
	}
	return spans, nil
}
