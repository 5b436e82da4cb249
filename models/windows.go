package models

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/larder/models/wordpiece"
)

// WindowRule names the rule that Windows cuts by. It is raised when Windows cuts elsewhere, so that vectors of
// other windows are not taken for its own.
const WindowRule = "windows-1"

// A Window is a piece of a text that an encoder takes at once.
type Window struct {
	Text   string
	Tokens int // with the prefix, [CLS] and [SEP]
}

// AddTo adds the window's vector to the sum of a passage's windows, weighted by its tokens. Scaled to length 1 the sum
// is the passage's vector.
func (w Window) AddTo(sum, vector []float32) {
	for i, x := range vector {
		sum[i] += float32(float32(w.Tokens) * x)
	}
}

// Windows cuts text into the fewest windows of maxTokens or less, each counted with the prefix before
// it, [CLS] and [SEP]. Windows end after a blank; a word is cut only if it does not fit a window by
// itself, between two of its tokens. Joined, they are the text; an empty text is one window. With a
// prefix that grows together with the first word, for want of a blank at its end, they may not be the fewest.
//
// It panics if maxTokens leaves less than 8 tokens to the text, which New has checked for an encoder's card.
func Windows(t *wordpiece.Tokenizer, prefix, text string, maxTokens int) []Window {
	room := maxTokens - 2 - len(t.Encode(nil, prefix, -1))
	if room < leastText {
		panic(fmt.Sprintf("models: %d tokens leave %d to the text beside the prefix %q", maxTokens, room, prefix))
	}
	var windows []Window
	var tokens, again []wordpiece.Token
	for {
		// As many tokens as tell whether the word that overflows this window fits the next one.
		tokens = t.Encode(tokens[:0], text, 2*room+1)
		end := len(text)
		if len(tokens) > room {
			end = cut(text, tokens, room)
		}
		// Most often this is the first try. A piece can have more tokens than it had within the text where
		// the prefix changes its beginning or the cut its end; then a smaller one fits.
		n := 0
		for {
			again = t.Encode(again[:0], prefix+text[:end], maxTokens-1)
			n = len(again) + 2
			shorter := before(text, tokens, end)
			if n <= maxTokens || shorter == 0 {
				break
			}
			end = shorter
		}
		windows = append(windows, Window{text[:end], n})
		if text = text[end:]; text == "" {
			return windows
		}
	}
}

// cut returns where to end a window that takes the first room tokens of text, of which there are more.
func cut(text string, tokens []wordpiece.Token, room int) int {
	word := room // first token of the word that overflows
	for word > 0 && !gap(text, tokens, word) {
		word--
	}
	next := room + 1 // first token of the word after it
	for next < len(tokens) && !gap(text, tokens, next) {
		next++
	}
	if word > 0 && next-word <= room {
		between := text[tokens[word-1].End:tokens[word].Start]
		blank := strings.LastIndexFunc(between, isBlank)
		_, size := utf8.DecodeRuneInString(between[blank:])
		return tokens[word-1].End + blank + size
	}
	return tokens[room-1].End
}

// gap reports whether there is a blank before token i.
func gap(text string, tokens []wordpiece.Token, i int) bool {
	from, to := tokens[i-1].End, tokens[i].Start
	return from < to && strings.ContainsFunc(text[from:to], isBlank)
}

// before returns the last end of a token that is less than end, or else the start of the character before end.
func before(text string, tokens []wordpiece.Token, end int) int {
	for i := len(tokens) - 1; i >= 0; i-- {
		if e := tokens[i].End; e < end && e > 0 {
			return e
		}
	}
	_, size := utf8.DecodeLastRuneInString(text[:end])
	return end - size
}

// isBlank reports whether the tokenizer ends a word at r. It drops control characters, form feed and
// U+0085 among them, without ending a word there.
func isBlank(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r) && !unicode.IsControl(r)
}
