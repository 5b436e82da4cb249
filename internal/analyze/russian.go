package analyze

import (
	"strings"
	"unicode/utf8"
)

// StemRussian returns the stem of one word by the Snowball algorithm "russian" as of Snowball 3.1.1.
// The word is taken as it is: lower case, composed. ё counts as е. The stem is never longer than the word.
func StemRussian(word string) string {
	return string(stemRussian([]byte(word)))
}

// russian is a word being stemmed. No ending is looked for before rv; r2 binds the derivational endings alone.
type russian struct {
	w      []byte
	rv, r2 int
}

// stemRussian stems w in place and returns what is left of it.
func stemRussian(w []byte) []byte {
	for i := 0; i+1 < len(w); i++ {
		if w[i] == 0xD1 && w[i+1] == 0x91 { // ё
			w[i], w[i+1] = 0xD0, 0xB5 // е
		}
	}
	r := russian{w: w}
	r.regions()
	if !r.gerund() {
		r.cut(reflexiveEnds)
		_ = r.adjectival() || r.verb() || r.cut(nounEnds)
	}
	r.cut(finalI)
	if s := r.find(derivational); s != "" && len(r.w)-len(s) >= r.r2 {
		r.w = r.w[:len(r.w)-len(s)]
	}
	r.tidy()
	return r.w
}

func russianVowel(r rune) bool {
	switch r {
	case 'а', 'е', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я':
		return true
	}
	return false
}

// regions finds RV, after the first vowel, and R2, after the second non-vowel that follows a vowel.
func (r *russian) regions() {
	r.rv, r.r2 = len(r.w), len(r.w)
	// What is awaited next: a vowel, a non-vowel, a vowel, a non-vowel.
	state := 0
	for i := 0; i < len(r.w); {
		c, n := utf8.DecodeRune(r.w[i:])
		i += n
		if russianVowel(c) != (state%2 == 0) {
			continue
		}
		state++
		switch state {
		case 1:
			r.rv = i
		case 4:
			r.r2 = i
			return
		}
	}
}

// endings is a class of endings by the low bits of their last byte, so that a word is compared with few of them.
// A longer ending stands before those that it ends in.
type endings [64][]string

func newEndings(list string) *endings {
	var e endings
	for _, s := range strings.Fields(list) {
		k := s[len(s)-1] & 0x3F
		e[k] = append(e[k], s)
	}
	return &e
}

var (
	gerundAfterA  = newEndings("вшись вши в")
	gerundEnds    = newEndings("ившись ывшись ивши ывши ив ыв")
	adjectiveEnds = newEndings("ими ыми его ого ему ому ее ие ые ое ей ий ый ой ем им ым ом их ых ую юю ая яя ою ею")
	participleA   = newEndings("ем нн вш ющ щ")
	participle    = newEndings("ивш ывш ующ")
	reflexiveEnds = newEndings("ся сь")
	verbAfterA    = newEndings("ете йте ешь нно ла на ли ем ло но ет ют ны ть й л н")
	verbEnds      = newEndings("ейте уйте ила ыла ена ите или ыли ило ыло ено ует уют ены ить ыть ишь ей уй ил ыл им ым ен ят ит ыт ую ю")
	nounEnds      = newEndings("иями ями ами ией иям ием иях ев ов ие ье еи ии ей ой ий ям ем ам ом ах ях ию ью ия ья а е и й о у ы ь ю я")
	finalI        = newEndings("и")
	doubleN       = newEndings("нн")
	derivational  = newEndings("ость ост")
	tidyEnds      = newEndings("ейше ейш н ь")
)

// find returns the longest ending of the class that lies in RV, or "".
func (r *russian) find(e *endings) string {
	if len(r.w) <= r.rv {
		return ""
	}
	for _, s := range e[r.w[len(r.w)-1]&0x3F] {
		if n := len(r.w) - len(s); n >= r.rv && string(r.w[n:]) == s {
			return s
		}
	}
	return ""
}

// cut removes the longest ending of the class and reports whether there was one.
func (r *russian) cut(e *endings) bool {
	s := r.find(e)
	r.w = r.w[:len(r.w)-len(s)]
	return s != ""
}

// cutGrouped removes the longest ending of both classes; one of the first must follow а or я, which stays.
func (r *russian) cutGrouped(afterA, free *endings) bool {
	a, f := r.find(afterA), r.find(free)
	if len(f) > len(a) {
		r.w = r.w[:len(r.w)-len(f)]
		return true
	}
	n := len(r.w) - len(a)
	if a == "" || n-2 < r.rv {
		return false
	}
	if s := string(r.w[n-2 : n]); s != "а" && s != "я" {
		return false
	}
	r.w = r.w[:n]
	return true
}

func (r *russian) gerund() bool { return r.cutGrouped(gerundAfterA, gerundEnds) }

func (r *russian) verb() bool { return r.cutGrouped(verbAfterA, verbEnds) }

func (r *russian) adjectival() bool {
	if !r.cut(adjectiveEnds) {
		return false
	}
	r.cutGrouped(participleA, participle)
	return true
}

// tidy takes off a superlative, one н of two, or a soft sign.
func (r *russian) tidy() {
	switch r.find(tidyEnds) {
	case "ейше", "ейш":
		r.cut(tidyEnds)
		fallthrough
	case "н":
		if r.find(doubleN) != "" {
			r.w = r.w[:len(r.w)-len("н")]
		}
	case "ь":
		r.cut(tidyEnds)
	}
}
