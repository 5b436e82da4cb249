package pipeline

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:generate sh -c "go run pdf_garbled_gen.go $SNOWBALL >pdf_garbled_table.go"

// An alphabet knows what it costs, in eighths of bits, that one letter of a script follows another.
type alphabet struct {
	script *unicode.RangeTable
	index  map[rune]int // of letters, and of what stands for one; marks are taken off before
	size   int          // letters and one more, which stands for the ends of a word
	pairs  string       // size rows of size
}

var alphabets = []*alphabet{
	newAlphabet(unicode.Latin, "abcdefghijklmnopqrstuvwxyz", "øo æa œo ßs łl đd ıi ðd þt ŋn ħh", latinPairs),
	newAlphabet(unicode.Cyrillic, "абвгдежзийклмнопрстуфхцчшщъыьэюя", "ёе іи їи єе ґг ўу јй љл њн џч ђч ћч ѓг ќк ѕз", cyrillicPairs),
	newAlphabet(unicode.Greek, "αβγδεζηθικλμνξοπρστυφχψω", "ςσ", greekPairs),
}

func newAlphabet(script *unicode.RangeTable, letters, same, pairs string) *alphabet {
	a := &alphabet{script: script, index: map[rune]int{}, pairs: pairs}
	for _, c := range letters {
		a.index[c] = a.size
		a.size++
	}
	for _, two := range strings.Fields(same) {
		c := []rune(two)
		a.index[c[0]] = a.index[c[1]]
	}
	a.size++
	return a
}

// unknownBits is what a pair with a letter that is not of the alphabet costs: its script may have rare ones.
const unknownBits = 8

// cost returns the bits, in eighths, that a word in lower case without marks costs.
func (a *alphabet) cost(word []rune) (bits int) {
	last := a.size - 1
	for i := 0; i <= len(word); i++ {
		next, known := a.size-1, true
		if i < len(word) {
			next, known = a.index[word[i]]
		}
		if known && last >= 0 {
			bits += int(a.pairs[last*a.size+next] - '!')
		} else {
			bits += 8 * unknownBits
		}
		if last = next; !known {
			last = -1
		}
	}
	return bits
}

// longestWord is how many letters of a word are looked at.
const longestWord = 40

// wordsIn counts the words of a text whose characters are moved by a number first.
func wordsIn(text string, by rune) wordTally {
	var w wordTally
	if by != 0 {
		text = strings.Map(func(c rune) rune {
			if unicode.IsSpace(c) { // drawn as a gap
				return c
			}
			if c += by; c <= 0 || c > unicode.MaxRune || 0xD800 <= c && c < 0xE000 {
				return ' '
			}
			return c
		}, text)
	}
	for _, c := range text {
		if c >= 'À' && c <= 'ÿ' {
			w.accented++
		}
	}
	seen := map[string]bool{}
	for _, field := range strings.FieldsFunc(norm.NFD.String(text), unicode.IsSpace) {
		w.field(field, seen)
	}
	return w
}

// field counts what stands between two blanks. A word of it is a run of letters that is written small, with a
// capital first or all in capitals, and touches no digit: others are codes.
func (w *wordTally) field(field string, seen map[string]bool) {
	var word []rune
	before, letters, odd, mixed := rune(0), 0, false, w.mixed
	w.scripts = w.scripts[:0]
	end := func(after rune) {
		if len(word) > 0 && unicode.IsDigit(after) || unicode.IsDigit(before) {
			word = word[:0]
		}
		w.run(word, seen)
		word, before = word[:0], after
	}
	for _, c := range field {
		switch {
		case unicode.Is(unicode.Mn, c) || invisible(c):
		case unicode.IsLetter(c):
			letters++
			odd = odd || len(word) == 0 && w.letters+letters > 1 && oddInside(before)
			if l, ok := ligatures[c]; ok {
				word = append(word, []rune(l)...)
			} else if len(word) < longestWord {
				word = append(word, c)
			}
		default:
			w.chars++
			end(c)
		}
	}
	end(0)
	w.chars += letters
	w.letters += letters
	if odd {
		w.odd += letters
	}
	if len(w.scripts) > 2 {
		w.mixed = mixed + letters
	}
}

// oddInside says whether c is a sign that no language has inside of words.
func oddInside(c rune) bool {
	return c > unicode.MaxASCII && unicode.In(c, unicode.Pi, unicode.Pf, unicode.No, unicode.S) && !strings.ContainsRune("’×·→", c)
}

// run counts a run of letters.
func (w *wordTally) run(word []rune, seen map[string]bool) {
	if len(word) == 0 {
		return
	}
	latin, others := false, make([]*unicode.RangeTable, 0, 4)
	for _, c := range word {
		switch s := w.scriptOf(c); {
		case s == unicode.Latin:
			latin = true
		case s == nil: // such as the letters of formulas
			return
		case !slices.Contains(others, s):
			others = append(others, s)
			if !slices.Contains(w.scripts, s) {
				w.scripts = append(w.scripts, s)
			}
		}
	}
	if len(others) > 1 || latin && slices.Contains(others, unicode.Cyrillic) {
		w.mixed += len(word)
		return
	}
	if len(word) < 2 {
		return
	}
	script := unicode.Latin
	if len(others) == 1 {
		script = others[0]
	}
	i := slices.IndexFunc(alphabets, func(a *alphabet) bool { return a.script == script })
	if i < 0 || latin && script != unicode.Latin || !isCasedAsWords(word) {
		return
	}
	w.inWords += len(word)
	if unicode.IsLower(word[len(word)-1]) {
		w.small += len(word)
	}
	for i, c := range word {
		word[i] = unicode.ToLower(c)
	}
	if !seen[string(word)] {
		seen[string(word)] = true
		a := alphabets[i]
		w.bits += a.cost(word)
		w.pairs += len(word) + 1
		for _, c := range word {
			if j, ok := a.index[c]; ok {
				w.counts[j]++
			}
		}
	}
}

// isCasedAsWords says whether a run of letters is written as a word is: small, with a capital first, or all in capitals.
func isCasedAsWords(word []rune) bool {
	upper := 0
	for _, c := range word {
		if unicode.IsUpper(c) {
			upper++
		}
	}
	return upper == 0 || upper == len(word) || upper == 1 && unicode.IsUpper(word[0])
}

// wordScripts are those of Unicode in which a word is written, Latin first; those that Japanese and Korean mix count as one.
var wordScripts = func() (list []*unicode.RangeTable) {
	list = append(list, unicode.Latin)
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		if !slices.Contains([]string{"Common", "Inherited", "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"}, name) {
			list = append(list, unicode.Scripts[name])
		}
	}
	return list
}()

// scriptOf returns the script of a letter; nil for one of several scripts.
func (w *wordTally) scriptOf(c rune) *unicode.RangeTable {
	if w.script != nil && unicode.Is(w.script, c) {
		return w.script
	}
	if unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) {
		return unicode.Han
	}
	for _, s := range wordScripts {
		if unicode.Is(s, c) {
			w.script = s
			return s
		}
	}
	return nil
}

// shiftsOf returns the numbers by which the characters of a text may be moved so that it becomes one of a language,
// the likeliest first: those that make most of its characters small letters and blanks.
func shiftsOf(text string) []rune {
	const most = 4
	counts := map[rune]int{}
	total := 0
	for _, c := range text {
		if c != '\n' {
			counts[c]++
			total++
		}
	}
	type shift struct{ by, fits int }
	var found []shift
	try := func(by, low, high rune) {
		fits := counts[' '-by] + counts[' ']
		for c := low; c <= high; c++ {
			fits += counts[c-by]
		}
		if 2*fits > total {
			found = append(found, shift{int(by), fits})
		}
	}
	for by := rune(-96); by <= 96; by++ {
		if by != 0 {
			try(by, 'a', 'z')
			try(by, 'а', 'я')
			try(by, 'α', 'ω')
		}
	}
	try(movedCyrillic, 'а', 'я')
	try(movedGreek, 'α', 'ω')
	slices.SortStableFunc(found, func(a, b shift) int { return b.fits - a.fits })
	var list []rune
	for _, s := range found[:min(len(found), most)] {
		list = append(list, rune(s.by))
	}
	return list
}

// By these numbers the letters of Windows-1251 and ISO 8859-7 are moved when they are taken for Latin-1.
const (
	movedCyrillic = 'А' - 'À'
	movedGreek    = 'Α' - 'Á'
)
