package pipeline

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// A slugger gives the headings of one document their anchors as GitHub does.
type slugger map[string]int // how many anchors were made from one

// slug returns a heading's anchor: its text in lower case, with hyphens for blanks, and without anything but letters,
// marks, digits, hyphens and what joins words (Unicode's class Pc, such as the underscore). If that is taken, the
// first free one of -1, -2 and so on is added.
func (s slugger) slug(heading string) string {
	var b strings.Builder
	for _, r := range cases.Lower(language.Und).String(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic):
			b.WriteRune(r)
		}
	}
	base := b.String()
	anchor := base
	for {
		if _, taken := s[anchor]; !taken {
			break
		}
		s[base]++
		anchor = base + "-" + strconv.Itoa(s[base])
	}
	s[anchor] = 0
	return anchor
}
