package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is garbled when its characters are not those that a reader of the page sees, as from fonts that do not
// say what their glyphs mean. It is given away by characters that mean nothing outside a font, words that mix scripts
// or have signs inside that stand in no word, and words whose letters follow each other as those of no language do.
// Where moving all characters by one number turns nonsense into words, that is said.

const (
	// meaninglessShare is the share of characters that stand for nothing from which a page is garbled. Good pages
	// with symbol fonts for their bullets stay below a tenth.
	meaninglessShare = 0.2
	// mixedShare is the share of letters in words of several scripts from which a page is garbled.
	mixedShare = 0.3
	// oddShare is the share of letters beside signs that stand in no word.
	oddShare = 0.2
	// Words cost bits for each pair of letters, a word's ends being letters too. Those of languages cost 3.3 to 4.2
	// on average, letters that are drawn at random 6 to 7.
	wordBits    = 4.9
	capitalBits = 5.3 // of words in capitals, which can be code
	readBits    = 4.3 // at most, of what a page with moved characters should have said
	// fewLetters is the share of the six commonest letters from which words are not looked at: they are genes, say,
	// or hexadecimal. Languages stay below 0.7.
	fewLetters = 0.8
	// leastPairs is how many pairs are needed to tell. The fewer there are, the more bits they may cost.
	leastPairs = 60
)

// judge sets the page's verdict and reason.
func (r *rawPage) judge(p *Page) {
	if r.Failed != "" {
		p.Verdict, p.Reason = Failed, r.Failed
		return
	}
	var text strings.Builder
	for _, l := range r.Lines {
		text.WriteString(l.Text)
		text.WriteByte('\n')
	}
	empty, reason := garbled(text.String(), r.Unmapped)
	switch {
	case empty && r.Images > 0:
		p.Verdict, p.Reason = Scanned, "an image and no text"
	case empty:
		p.Verdict = Blank
	case reason != "":
		p.Verdict, p.Reason = Garbled, reason
	default:
		p.Verdict = OK
	}
}

// GarbledText says in a line why a page's text is garbled, as the text of a font is that does not say what its glyphs
// mean; "" if it is not, or if there is too little of it to tell.
func GarbledText(text string) string {
	_, reason := garbled(text, 0)
	return reason
}

// garbled says why text is garbled, and whether there is none. unmapped counts glyphs that no character is known for.
func garbled(text string, unmapped int) (empty bool, reason string) {
	bad, all := unmapped, unmapped
	for _, c := range text {
		if unicode.IsSpace(c) || invisible(c) {
			continue
		}
		all++
		if c == utf8.RuneError || meaningless(c) || unassigned(c) {
			bad++
		}
	}
	if float64(bad) > meaninglessShare*float64(all) {
		return false, fmt.Sprintf("%d of %d characters stand for nothing (the font does not say which)", bad, all)
	}
	return all == 0, nonsense(text)
}

// meaningless says whether c has no meaning outside the font that draws it.
func meaningless(c rune) bool {
	return unicode.Is(unicode.Co, c) || unicode.Is(unicode.Cc, c) && c != '\t' && c != '\n' && c != '\r' ||
		c&0xFFFE == 0xFFFE || c >= 0xFDD0 && c <= 0xFDEF
}

// unassigned says whether no character has this number yet.
func unassigned(c rune) bool { return unicode.Is(unicode.Cn, c) }

// nonsense says why text is none of any language; "" if it may be.
func nonsense(text string) string {
	w := wordsIn(text, 0)
	if w.letters > leastPairs && float64(w.mixed) > mixedShare*float64(w.letters) {
		return "its words mix the letters of several scripts (the font does not say which they are)"
	}
	strange := w.strange() || 2*w.accented > w.letters
	if strange || w.chars > leastPairs && 2*w.inWords < w.chars {
		for _, by := range shiftsOf(text) {
			if m := wordsIn(text, by); m.readable() && (strange || 2*m.inWords > 3*w.inWords) {
				return fmt.Sprintf("its characters are moved by %d (the font does not say which they are)", -by)
			}
		}
	}
	switch {
	case w.odd > leastPairs && float64(w.odd) > oddShare*float64(w.letters) && w.mean() > readBits:
		return "its words have signs inside that no language has there (the font does not say which letters they are)"
	case w.strange() && (2*w.small > w.inWords || w.pairs > 4*leastPairs && w.mean() > capitalBits):
		return "its words are those of no language (the font does not say which letters they have)"
	}
	return ""
}

// A wordTally is what is known of the words of a text.
type wordTally struct {
	chars   int     // that are not blank
	letters int     // of them
	mixed   int     // letters in runs that mix scripts
	odd     int     // letters between blanks with an odd sign inside
	inWords int     // letters in words of the alphabets
	small   int     // of them, in words that are not all in capitals
	pairs   int     // of letters, in distinct words
	bits    int     // eighths of bits that these pairs cost
	counts  [64]int // of each letter of an alphabet, in distinct words

	accented int // letters that Latin-1 has and ASCII has not

	script  *unicode.RangeTable   // of the letter before
	scripts []*unicode.RangeTable // of the letters between two blanks, Latin apart
}

// mean returns the bits that a pair costs.
func (w *wordTally) mean() float64 { return float64(w.bits) / 8 / float64(max(w.pairs, 1)) }

// strange says whether the words cost too much, and most letters are in words.
func (w *wordTally) strange() bool {
	return w.pairs >= leastPairs && 2*w.inWords > w.letters && !w.few() && w.mean() > wordBits+4/math.Sqrt(float64(w.pairs))
}

// readable says whether the text is made of words of a language.
func (w *wordTally) readable() bool {
	return w.pairs >= leastPairs && 2*w.inWords > w.chars && !w.few() && w.mean() < readBits
}

// few says whether six letters make up nearly all words.
func (w *wordTally) few() bool {
	counts := slices.Sorted(slices.Values(w.counts[:]))
	six, all := 0, 0
	for i, n := range counts {
		if all += n; i >= len(counts)-6 {
			six += n
		}
	}
	return float64(six) > fewLetters*float64(all)
}
