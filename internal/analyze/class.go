package analyze

import (
	"sort"
	"sync"
)

//go:generate go run gen.go

// class says what part a code point plays in a word.
type class uint8

const (
	other   class = iota // separates words
	letter               // letters and letter numbers of scripts written with blanks between words
	digit                // decimal digits, superscripts and the like
	mark                 // belongs to the code point before it
	gram                 // letters of scripts written without blanks
	ignored              // taken as not there: soft hyphen, zero-width and directional characters
)

type (
	classRun struct {
		lo, hi rune
		class  class
	}
	foldRun struct {
		lo, hi rune
		step   rune // 1: every code point, 2: every second
		upper  bool
		delta  rune
	}
	expansion struct {
		from    rune
		at, len uint16 // in expansionText
	}
	orderRun struct {
		lo, hi rune
		class  uint8
	}
	pair struct{ whole, first, second rune }
)

// property is all that is known of one code point.
type property struct {
	class class
	upper bool
	delta rune      // what folding adds to it
	more  expansion // what it folds to where that is several code points; len 0 elsewhere
}

// near holds the properties below the Hebrew block, where most text is. New fills it.
var (
	near     [0x590]property
	fillNear = sync.OnceFunc(func() {
		for r := range near {
			near[r] = search(rune(r))
		}
	})
)

// lookup returns the property of r.
func lookup(r rune) property {
	switch {
	case int(r) < len(near):
		return near[r]
	case 0x4E00 <= r && r <= 0x9FFF:
		return property{class: gram}
	case 0xAC00 <= r && r <= 0xD7A3:
		return property{class: letter}
	}
	return search(r)
}

func search(r rune) (p property) {
	if r < 0x80 {
		switch {
		case 'a' <= r && r <= 'z':
			p.class = letter
		case 'A' <= r && r <= 'Z':
			p = property{class: letter, upper: true, delta: 'a' - 'A'}
		case '0' <= r && r <= '9':
			p.class = digit
		}
		return p
	}
	i := sort.Search(len(classes), func(i int) bool { return classes[i].hi >= r })
	if i == len(classes) || r < classes[i].lo {
		return p
	}
	p.class = classes[i].class
	i = sort.Search(len(folds), func(i int) bool { return folds[i].hi >= r })
	if i < len(folds) {
		if f := folds[i]; f.lo <= r && (r-f.lo)%f.step == 0 {
			p.delta, p.upper = f.delta, f.upper
			return p
		}
	}
	i = sort.Search(len(expansions), func(i int) bool { return expansions[i].from >= r })
	if i < len(expansions) && expansions[i].from == r {
		p.more = expansions[i]
	}
	return p
}

// order returns the canonical combining class of r.
func order(r rune) uint8 {
	i := sort.Search(len(orders), func(i int) bool { return orders[i].hi >= r })
	if i < len(orders) && orders[i].lo <= r {
		return orders[i].class
	}
	return 0
}

// split returns the letter and the mark that r is composed of.
func split(r rune) (first, second rune, ok bool) {
	i := sort.Search(len(pairs), func(i int) bool { return pairs[i].whole >= r })
	if i < len(pairs) && pairs[i].whole == r {
		return pairs[i].first, pairs[i].second, true
	}
	return 0, 0, false
}

// join returns what the two compose to.
func join(first, second rune) (whole rune, ok bool) {
	// Hangul: a leading consonant and a vowel, then a trailing consonant.
	if 0x1100 <= first && first < 0x1113 && 0x1161 <= second && second < 0x1176 {
		return 0xAC00 + ((first-0x1100)*21+second-0x1161)*28, true
	}
	if 0xAC00 <= first && first <= 0xD7A3 && (first-0xAC00)%28 == 0 && 0x11A7 < second && second < 0x11C3 {
		return first + second - 0x11A7, true
	}
	i := sort.Search(len(byParts), func(i int) bool {
		p := pairs[byParts[i]]
		return p.first > first || p.first == first && p.second >= second
	})
	if i < len(byParts) {
		if p := pairs[byParts[i]]; p.first == first && p.second == second {
			return p.whole, true
		}
	}
	return 0, false
}
