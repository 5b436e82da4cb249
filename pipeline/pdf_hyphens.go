package pipeline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// vocabulary holds the words of a document that no line's end touches, lower case, hyphens inside kept.
type vocabulary struct {
	count  map[string]int
	sorted []string
}

// wordsOf counts the words of a document.
func wordsOf(pages []*rawPage) *vocabulary {
	seen := &vocabulary{count: map[string]int{}}
	for _, p := range pages {
		for _, l := range p.Lines {
			fields := strings.Fields(l.Text)
			for i, w := range fields {
				if i == len(fields)-1 && endsInHyphen(w) {
					continue
				}
				w = strings.ReplaceAll(w, "\u2010", "-")
				if w = strings.ToLower(strings.TrimFunc(w, notLetter)); len(w) > 1 {
					seen.count[w]++
				}
			}
		}
	}
	for w := range seen.count {
		seen.sorted = append(seen.sorted, w)
	}
	slices.Sort(seen.sorted)
	return seen
}

// begins says whether a word begins with prefix.
func (seen *vocabulary) begins(prefix string) bool {
	i, _ := slices.BinarySearch(seen.sorted, prefix)
	return i < len(seen.sorted) && strings.HasPrefix(seen.sorted[i], prefix)
}

func notLetter(c rune) bool { return !unicode.IsLetter(c) }

// endsInHyphen says whether a line ends in a hyphen, or a dash that is written as one.
func endsInHyphen(s string) bool { return strings.HasSuffix(s, "-") || strings.HasSuffix(s, "\u2010") }

func withoutHyphen(s string) string {
	_, n := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-n]
}

// A joint is what stands between two lines of a paragraph.
type joint byte

const (
	softHyphen  joint = iota // the hyphen is there only because the line ends
	hardHyphen               // the hyphen belongs to the word
	gluedLines               // the script is written without blanks
	spacedLines              // a blank
)

// lineEnd says how a paragraph goes on from the line before to the line after. A hyphen stays if the document
// writes the word with it elsewhere, or if both parts are words of the document and no other word begins like the
// two together, and always before capitals and digits.
func lineEnd(before, after string, seen *vocabulary) joint {
	if !endsInHyphen(before) {
		if unspaced(before, after) {
			return gluedLines
		}
		return spacedLines
	}
	before = withoutHyphen(before)
	left := strings.ToLower(before[strings.LastIndexFunc(before, func(c rune) bool { return notLetter(c) && c != '-' })+1:])
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	switch {
	case !unicode.IsLetter(last) && !unicode.IsDigit(last) || !unicode.IsLetter(first) && !unicode.IsDigit(first):
		return spacedLines // a dash
	case !unicode.IsLower(first) || !unicode.IsLower(last) || seen.keepHyphen(left, wordAt(after)):
		return hardHyphen
	}
	return softHyphen
}

// wordAt returns the letters that text begins with, lower case.
func wordAt(text string) string {
	if end := strings.IndexFunc(text, notLetter); end >= 0 {
		text = text[:end]
	}
	return strings.ToLower(text)
}

func (seen *vocabulary) keepHyphen(left, right string) bool {
	if with, without := seen.count[left+"-"+right], seen.count[left+right]; with != without {
		return with > without
	}
	runes := []rune(right)
	if len(runes) <= 3 || utf8.RuneCountInString(left) <= 3 || seen.count[left] == 0 || seen.count[right] == 0 {
		return false
	}
	return !seen.begins(left + string(runes[:3]))
}
