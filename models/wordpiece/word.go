package wordpiece

import "unicode/utf8"

// maxChars is the most characters, after folding, that a word may have. A longer one is [UNK].
const maxChars = 100

// A word collects the folded characters of one word, in canonical order, and where each came from.
// Characters beyond maxChars are counted, not kept, so that a word of any length takes no memory.
type word struct {
	n          int // characters so far
	fence      int // characters before it keep their places: a mark that stops reordering was dropped there
	last       int // end of the last character in the text
	runes      [maxChars]rune
	class      [maxChars]uint8 // canonical combining class
	start, end [maxChars]int   // bytes of the text

	// What appending the word needs.
	bytes  [maxChars * utf8.UTFMax]byte  // its characters in UTF-8
	char   [maxChars * utf8.UTFMax]uint8 // number of the character that a byte belongs to
	pieces [maxChars]piece
}

// add puts a character behind those with its combining class or a smaller one, but not before the last without one:
// the Canonical Ordering Algorithm of The Unicode Standard, section 3.11, character by character.
// Accents were left out before, which changes nothing, for the sort is stable. Spans stay in the text's order.
func (w *word) add(r rune, class uint8, start, end int) {
	w.last = end
	if w.n < maxChars {
		i := w.n
		for ; i > w.fence && w.class[i-1] > class && class > 0; i-- {
			w.runes[i], w.class[i] = w.runes[i-1], w.class[i-1]
		}
		w.runes[i], w.class[i] = r, class
		w.start[w.n], w.end[w.n] = start, end
	}
	w.n++
}
