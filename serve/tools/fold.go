package tools

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A finder finds a text in others: as it is, or with case folded. Folding is Unicode's simple one, one character to one:
// k is also K and the sign for kelvin, s also ſ; ß is not ss, and İ is itself alone, since in Turkish alone it is a
// capital i.
type finder struct {
	exact    string
	folded   []rune   // the text, if case is folded
	anchor   int      // the character of it that is looked for first
	variants [][]byte // how that one is written
	border   []int    // for each length, how much of the text's beginning stands at the end of that much of it
}

func newFinder(query string, caseSensitive bool) *finder {
	f := &finder{exact: query}
	if caseSensitive {
		return f
	}
	for _, r := range query {
		f.folded = append(f.folded, fold(r))
	}
	for i, r := range f.folded {
		if rarity(r) > rarity(f.folded[f.anchor]) {
			f.anchor = i
		}
	}
	first := f.folded[f.anchor]
	f.variants = append(f.variants, []byte(string(first)))
	for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
		f.variants = append(f.variants, []byte(string(r)))
	}
	f.border = borders(f.folded)
	return f
}

// fold is the least of the characters that are equal but for case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			return r - ('a' - 'A')
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// frequent are characters by how often they stand in texts, roughly, the most frequent first.
const frequent = " EТAOИETIONSНRHСРLВDКМCUДПMГЯFЬЫPGЗWБYBЧЙХЖVШЮЦЩЭKФ.,-\n\"'():/XJQZЪЁ"

// rarity is higher for characters that are rarer.
func rarity(r rune) int {
	if i := strings.IndexRune(frequent, r); i >= 0 {
		return i
	}
	if r < utf8.RuneSelf {
		return len(frequent)
	}
	return len(frequent) + 1
}

// each calls found with where the text stands, from left to right and without overlap, until found says no.
func (f *finder) each(text []byte, found func(start, end int) bool) {
	if f.folded == nil {
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte(f.exact))
			if i < 0 || !found(at+i, at+i+len(f.exact)) {
				return
			}
			at += i + len(f.exact)
		}
	}
	f.eachFolded(text, found)
}

// eachFolded looks for the rarest character of the text, in every way to write it, and compares what stands around it.
// That is as fast as the search for a byte where the rest seldom fits. Where it nearly fits again and again, comparing
// could take as long as both texts multiplied: then eachSlowly goes on.
func (f *finder) eachFolded(text []byte, found func(start, end int) bool) {
	next := make([]int, len(f.variants)) // where each variant stands next
	for i := range next {
		next[i] = index(text, 0, f.variants[i])
	}
	at, work := 0, 0
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		anchor := next[first]
		if anchor == len(text) {
			return
		}
		next[first] = index(text, anchor+1, f.variants[first])
		if anchor < at { // inside the last one found
			continue
		}
		start, before := f.before(text[at:anchor])
		end, after := 0, 0
		if start >= 0 {
			end, after = f.after(text[anchor:])
		}
		if start >= 0 && end >= 0 {
			if !found(at+start, anchor+end) {
				return
			}
			at = anchor + end
		} else if work += before + after; work > 4*len(text)+4096 {
			f.eachSlowly(text, at, found)
			return
		}
	}
}

// index is where what stands next in text from at on, the text's length if it doesn't.
func index(text []byte, at int, what []byte) int {
	if i := bytes.Index(text[at:], what); i >= 0 {
		return at + i
	}
	return len(text)
}

// before compares what is before the anchor with the end of text, and returns where it starts there, -1 if it is not
// there, and how many characters were compared.
func (f *finder) before(text []byte) (start, compared int) {
	start = len(text)
	for i := f.anchor - 1; i >= 0; i-- {
		r, size := utf8.DecodeLastRune(text[:start])
		if size == 0 || !f.same(i, r, size) {
			return -1, f.anchor - i
		}
		start -= size
	}
	return start, f.anchor
}

// after compares the anchor and what is after it with the start of text, and returns where it ends there.
func (f *finder) after(text []byte) (end, compared int) {
	for i := f.anchor; i < len(f.folded); i++ {
		r, size := utf8.DecodeRune(text[end:])
		if size == 0 || !f.same(i, r, size) {
			return -1, i - f.anchor + 1
		}
		end += size
	}
	return end, len(f.folded) - f.anchor
}

// same says whether a character of the text is the i-th one looked for. Bytes that are no UTF-8 are none.
func (f *finder) same(i int, r rune, size int) bool {
	return fold(r) == f.folded[i] && (r != utf8.RuneError || size > 1)
}

// borders is the table of Knuth, Morris and Pratt: Fast pattern matching in strings, SIAM Journal on Computing 6 (1977).
func borders(text []rune) []int {
	table := make([]int, len(text)+1)
	table[0] = -1
	for i, k := 0, -1; i < len(text); {
		for k >= 0 && text[i] != text[k] {
			k = table[k]
		}
		i, k = i+1, k+1
		table[i] = k
	}
	return table
}

// eachSlowly looks at every character from at on once.
func (f *finder) eachSlowly(text []byte, at int, found func(start, end int) bool) {
	k := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		for k >= 0 && !f.same(k, r, size) {
			k = f.border[k]
		}
		if k++; k < len(f.folded) {
			continue
		}
		start := at
		for range f.folded {
			_, size := utf8.DecodeLastRune(text[:start])
			start -= size
		}
		if !found(start, at) {
			return
		}
		k = 0
	}
}
