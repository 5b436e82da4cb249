package analyze

import "unicode/utf8"

// StemEnglish returns the stem of one word by the Snowball algorithm "english" (Porter2) as of Snowball 3.1.1.
// The word is taken as it is: lower case, composed, apostrophes as ASCII. The stem is never longer than the word.
func StemEnglish(word string) string {
	return string(stemEnglish([]byte(word)))
}

// english is a word being stemmed. Letters of the algorithm are ASCII, every other byte counts as a non-vowel, so
// it works on bytes; where the definition counts letters, continuation bytes are passed over.
// A y that acts as a consonant is written Y until the end.
type english struct {
	w      []byte
	r1, r2 int // where the regions R1 and R2 begin
}

// stemEnglish stems w in place and returns what is left of it.
func stemEnglish(w []byte) []byte {
	switch string(w) { // words that the rules get wrong
	case "skies":
		return append(w[:2], 'y')
	case "skis", "idly", "gently", "singly":
		return w[:len(w)-1]
	case "ugly", "early", "only":
		w[len(w)-1] = 'i'
		return w
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return w
	}
	if utf8.RuneCount(w) < 3 {
		return w
	}
	if w[0] == '\'' {
		w = w[1:] // two letters or more are left
	}
	marked := false
	for i, c := range w {
		if c == 'y' && (i == 0 || vowel(w[i-1])) {
			w[i], marked = 'Y', true
		}
	}
	e := english{w: w}
	e.regions()
	e.step1a()
	e.step1b()
	e.step1c()
	e.step2()
	e.step3()
	e.step4()
	e.step5()
	if marked {
		for i, c := range e.w {
			if c == 'Y' {
				e.w[i] = 'y'
			}
		}
	}
	return e.w
}

func vowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

// englishR1 lists beginnings after which R1 starts, whatever the letters say: it keeps general apart from generic.
var englishR1 = [...]string{"arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers"}

func (e *english) regions() {
	for _, p := range englishR1 {
		if e.w[0] == p[0] && len(e.w) >= len(p) && string(e.w[:len(p)]) == p {
			e.r1 = len(p)
			e.r2 = e.region(e.r1)
			return
		}
	}
	e.r1 = e.region(0)
	e.r2 = e.region(e.r1)
}

// region returns the offset after the first non-vowel that follows a vowel at or after from.
func (e *english) region(from int) int {
	i, n := from, len(e.w)
	for i < n && !vowel(e.w[i]) {
		i++
	}
	for i < n && vowel(e.w[i]) {
		i++
	}
	if i < n {
		i++
	}
	for i < n && !utf8.RuneStart(e.w[i]) {
		i++
	}
	return i
}

func (e *english) ends(suffix string) bool {
	n := len(e.w) - len(suffix)
	return n >= 0 && string(e.w[n:]) == suffix
}

// replace puts to in place of the last n bytes.
func (e *english) replace(n int, to string) {
	e.w = append(e.w[:len(e.w)-n], to...)
}

// hasVowel reports whether one of the first n bytes is a vowel.
func (e *english) hasVowel(n int) bool {
	for i := 0; i < n; i++ {
		if vowel(e.w[i]) {
			return true
		}
	}
	return false
}

// short reports whether the first n bytes end in a short syllable.
func (e *english) short(n int) bool {
	w := e.w[:n]
	if n >= 4 && string(w[n-4:]) == "past" {
		return true
	}
	// The last letter may be of several bytes: its first one is what the syllable is looked at from.
	i := n - 1
	for i > 0 && !utf8.RuneStart(w[i]) {
		i--
	}
	if i < 1 || vowel(w[i]) || !vowel(w[i-1]) {
		return false
	}
	if i == 1 {
		return true
	}
	return !vowel(w[i-2]) && w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'Y'
}

func (e *english) step1a() {
	switch {
	case e.ends("'s'"):
		e.replace(3, "")
	case e.ends("'s"):
		e.replace(2, "")
	case e.ends("'"):
		e.replace(1, "")
	}
	switch {
	case e.ends("sses"):
		e.replace(2, "")
	case e.ends("ied"), e.ends("ies"):
		if utf8.RuneCount(e.w) > 4 {
			e.replace(2, "")
		} else {
			e.replace(1, "")
		}
	case e.ends("us"), e.ends("ss"):
	case e.ends("s"):
		i := len(e.w) - 2 // the letter before the s does not count
		for i > 0 && !utf8.RuneStart(e.w[i]) {
			i--
		}
		if i > 0 && e.hasVowel(i) {
			e.replace(1, "")
		}
	}
}

func (e *english) step1b() {
	n := 0
	switch {
	case e.ends("eedly"):
		n = 5
	case e.ends("eed"):
		n = 3
	}
	if n > 0 {
		stem := len(e.w) - n
		switch string(e.w[:stem]) {
		case "proc", "exc", "succ":
			return
		}
		if stem >= e.r1 {
			e.replace(n, "ee")
		}
		return
	}
	switch {
	case e.ends("ingly"):
		n = 5
	case e.ends("edly"):
		n = 4
	case e.ends("ing"):
		n = 3
		stem := e.w[:len(e.w)-n]
		switch string(stem) {
		case "inn", "out", "cann", "herr", "earr", "even":
			return
		}
		if k := len(stem) - 1; k > 0 && stem[k] == 'y' && utf8.RuneCount(stem) == 2 && !vowel(stem[0]) {
			e.replace(n+1, "ie")
			return
		}
	case e.ends("ed"):
		n = 2
	default:
		return
	}
	stem := len(e.w) - n
	if !e.hasVowel(stem) {
		return
	}
	e.w = e.w[:stem]
	switch {
	case e.ends("at"), e.ends("bl"), e.ends("iz"):
		e.replace(0, "e")
	case e.double():
		if stem == 3 && (e.w[0] == 'a' || e.w[0] == 'e' || e.w[0] == 'o') {
			return
		}
		e.replace(1, "")
	case stem == e.r1 && e.short(stem):
		e.replace(0, "e")
	}
}

// double reports whether the word ends in one of the doubled letters that lose one of the two.
func (e *english) double() bool {
	n := len(e.w)
	if n < 2 || e.w[n-1] != e.w[n-2] {
		return false
	}
	switch e.w[n-1] {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return true
	}
	return false
}

func (e *english) step1c() {
	n := len(e.w)
	if n < 3 || e.w[n-1] != 'y' && e.w[n-1] != 'Y' || vowel(e.w[n-2]) {
		return
	}
	i := n - 2
	for i > 0 && !utf8.RuneStart(e.w[i]) {
		i--
	}
	if i > 0 {
		e.w[n-1] = 'i'
	}
}

// suffix is an ending and what takes its place. Lists are ordered so that a longer ending stands before a shorter
// one that it ends in: the first that fits is the longest.
type suffix struct{ from, to string }

// find returns the longest ending of the list that the word has, and the offset where it begins, or -1.
func (e *english) find(list []suffix) (s suffix, at int) {
	for _, s := range list {
		if e.ends(s.from) {
			return s, len(e.w) - len(s.from)
		}
	}
	return suffix{}, -1
}

// Endings by last letter, so that most words are compared with few of them.
var (
	step2List = map26(
		suffix{"ational", "ate"}, suffix{"tional", "tion"},
		suffix{"ization", "ize"}, suffix{"ation", "ate"},
		suffix{"enci", "ence"}, suffix{"anci", "ance"}, suffix{"ogi", "og"},
		suffix{"abli", "able"}, suffix{"bli", "ble"}, suffix{"alli", "al"}, suffix{"fulli", "ful"},
		suffix{"lessli", "less"}, suffix{"ousli", "ous"}, suffix{"entli", "ent"}, suffix{"li", ""},
		suffix{"aliti", "al"}, suffix{"biliti", "ble"}, suffix{"iviti", "ive"},
		suffix{"alism", "al"}, suffix{"izer", "ize"}, suffix{"ator", "ate"},
		suffix{"iveness", "ive"}, suffix{"fulness", "ful"}, suffix{"ousness", "ous"}, suffix{"ogist", "og"},
	)
	step3List = map26(
		suffix{"ational", "ate"}, suffix{"tional", "tion"}, suffix{"ical", "ic"}, suffix{"ful", ""},
		suffix{"icate", "ic"}, suffix{"ative", ""}, suffix{"alize", "al"}, suffix{"iciti", "ic"}, suffix{"ness", ""},
	)
	step4List = map26(
		suffix{"ic", ""}, suffix{"ance", ""}, suffix{"ence", ""}, suffix{"able", ""}, suffix{"ible", ""},
		suffix{"ate", ""}, suffix{"ive", ""}, suffix{"ize", ""}, suffix{"iti", ""}, suffix{"al", ""},
		suffix{"ism", ""}, suffix{"ion", ""}, suffix{"er", ""}, suffix{"ous", ""},
		suffix{"ement", ""}, suffix{"ment", ""}, suffix{"ent", ""}, suffix{"ant", ""},
	)
)

// map26 groups endings by their last letter, in the order given.
func map26(list ...suffix) (m [26][]suffix) {
	for _, s := range list {
		c := s.from[len(s.from)-1] - 'a'
		m[c] = append(m[c], s)
	}
	return m
}

// byLast returns the endings whose last letter is the word's.
func (e *english) byLast(m *[26][]suffix) []suffix {
	if n := len(e.w); n > 0 {
		if c := e.w[n-1] - 'a'; c < 26 {
			return m[c]
		}
	}
	return nil
}

func (e *english) step2() {
	s, at := e.find(e.byLast(&step2List))
	if at < e.r1 || at < 0 {
		return
	}
	switch s.from {
	case "ogi":
		if at == 0 || e.w[at-1] != 'l' {
			return
		}
	case "li":
		if at == 0 {
			return
		}
		switch e.w[at-1] {
		case 'c', 'd', 'e', 'g', 'h', 'k', 'm', 'n', 'r', 't':
		default:
			return
		}
	}
	e.replace(len(s.from), s.to)
}

func (e *english) step3() {
	s, at := e.find(e.byLast(&step3List))
	if at < e.r1 || at < 0 || s.from == "ative" && at < e.r2 {
		return
	}
	e.replace(len(s.from), s.to)
}

func (e *english) step4() {
	s, at := e.find(e.byLast(&step4List))
	if at < e.r2 || at < 0 {
		return
	}
	if s.from == "ion" && (at == 0 || e.w[at-1] != 's' && e.w[at-1] != 't') {
		return
	}
	e.replace(len(s.from), s.to)
}

func (e *english) step5() {
	n := len(e.w) - 1
	switch {
	case e.ends("e"):
		if n >= e.r2 || n >= e.r1 && !e.short(n) {
			e.w = e.w[:n]
		}
	case e.ends("ll"):
		if n >= e.r2 {
			e.w = e.w[:n]
		}
	}
}
