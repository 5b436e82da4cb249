package wordpiece

//go:generate go run generate.go

// A kind says what becomes of a character on its way into a word, and what the number beside it means.
// The reference drops and replaces characters, sets blanks around CJK ideographs, decomposes (NFD), drops
// nonspacing marks, lowercases, and splits at blanks and punctuation. All of that depends on the character alone,
// but for the order of combining characters: the tables hold the outcome.
type kind uint8

const (
	letter      kind = iota // part of a word, after adding the number
	removed                 // nothing: a control, format or private character, or an accent that can be reordered
	starterMark             // nothing, but combining characters aren't reordered across it
	blank                   // ends a word
	alone                   // a word of its own, after adding the number: punctuation or ideograph
	nonstarter              // part of a word; the number is its canonical combining class, never 0
	several                 // part of a word, as the characters of expansions[number]
	hangul                  // part of a word, as the jamo of the syllable
)

// Bits of an entry of the tables: the kind, and above it the number.
const kindBits = 4

// fold returns what becomes of a character. A rune that is no character counts as U+FFFD.
func fold(r rune) (kind, rune) {
	if uint32(r)>>blockBits >= uint32(len(blockOf)) {
		return removed, 0
	}
	e := blocks[blockOf[r>>blockBits]][r&(1<<blockBits-1)]
	return kind(e & (1<<kindBits - 1)), e >> kindBits
}

// jamo decomposes a Hangul syllable: The Unicode Standard, section 3.12. The trailing consonant is 0 if it has none.
func jamo(r rune) (lead, vowel, trail rune) {
	const (
		sBase, lBase, vBase, tBase = 0xAC00, 0x1100, 0x1161, 0x11A7
		vCount, tCount             = 21, 28
	)
	s := r - sBase
	if trail = s % tCount; trail != 0 {
		trail += tBase
	}
	return lBase + s/(vCount*tCount), vBase + s/tCount%vCount, trail
}

// What a byte can be to the fast path for ASCII.
const (
	other = iota // a control character, or part of a character that isn't ASCII
	alnum        // a letter or a digit
	space        // a blank
	punct        // punctuation
)

// ascii holds what each byte is.
var ascii = func() (table [256]uint8) {
	for c := rune(0); c < 0x80; c++ {
		switch k, _ := fold(c); k {
		case letter:
			table[c] = alnum
		case blank:
			table[c] = space
		case alone:
			table[c] = punct
		}
	}
	return table
}()
