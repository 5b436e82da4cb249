package pipeline

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

const (
	maxGlob         = 1000 // bytes of a pattern
	maxAlternatives = 1000 // ways to choose one of each {a,b}, since each may have to be tried
)

// MatchGlob tells whether the slash-separated path called name, or its last element alone, matches
// pattern: *.pdf matches in every folder, faq/*.md in one.
//
// In a pattern * matches within a folder, ** as a whole element crosses folders, ? is one character,
// [a-z] and [!a-z] are classes, {a,b} alternatives, and \ quotes. Case and Unicode composition do not
// count. A pattern that [CheckGlob] refuses matches nothing.
func MatchGlob(pattern, name string) bool {
	if CheckGlob(pattern) != nil {
		return false
	}
	pattern, name = foldPath(pattern), foldPath(name)
	return doublestar.MatchUnvalidated(pattern, name) || doublestar.MatchUnvalidated(pattern, path.Base(name))
}

// CheckGlob returns an error that says why pattern is no glob that [MatchGlob] takes.
func CheckGlob(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("is empty")
	case len(pattern) > maxGlob:
		return fmt.Errorf("is longer than %d bytes", maxGlob)
	case !utf8.ValidString(pattern):
		return errors.New("is not valid UTF-8")
	case strings.HasPrefix(pattern, "/"):
		return errors.New("must be relative: without / at its start")
	case !doublestar.ValidatePattern(pattern):
		return errors.New(`is malformed: [ or { without its end, or \ at the end`)
	case alternatives(pattern) > maxAlternatives:
		return fmt.Errorf("has more than %d combinations of alternatives", maxAlternatives)
	}
	for element := range strings.SplitSeq(pattern, "/") {
		if element == "" || element == "." || element == ".." {
			return errors.New(`has an element that is empty, "." or ".."`)
		}
	}
	return nil
}

// alternatives returns at least the number of patterns without braces that pattern stands for, but stops
// counting above maxAlternatives.
func alternatives(pattern string) int {
	n := 1
	var open []int // the alternatives so far of each brace that is open
	for i := 0; i < len(pattern) && n <= maxAlternatives; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				n *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return n
}

// foldPath returns s in NFC with the least character of each set that differs in case alone, so that
// paths that a file system may take for one become equal.
func foldPath(s string) string {
	return norm.NFC.String(strings.Map(foldRune, norm.NFC.String(s)))
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
