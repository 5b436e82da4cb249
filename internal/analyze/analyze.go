package analyze

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// maxTerm is the greatest length of a term, in bytes.
const maxTerm = 64

// rulesID names the rules of the package comment, the tables and the stemmers together. Raise it when any term
// changes: an index holds terms of one set of rules only.
const rulesID = "terms-1"

// An Analyzer turns text into terms. It is safe for concurrent use.
type Analyzer struct {
	languages []string
	latin     func([]byte) []byte // stems words of Latin letters; nil if none do
	cyrillic  func([]byte) []byte // stems words of Cyrillic letters; nil if none do
}

// Languages returns the languages that New takes, sorted.
func Languages() []string { return []string{"en", "ru"} }

// New returns an analyzer that stems each word by the language of its script: "en" for Latin, "ru" for Cyrillic.
// At most one language may be given for each script; a script without one is not stemmed. The error of an unknown
// or repeated language names those that there are.
func New(languages []string) (*Analyzer, error) {
	fillNear()
	a := &Analyzer{languages: slices.Sorted(slices.Values(languages))}
	for i, l := range a.languages {
		if i > 0 && l == a.languages[i-1] {
			return nil, fmt.Errorf("language %q is given twice: at most one for each script, of %s", l, allowed())
		}
		switch l {
		case "en":
			a.latin = stemEnglish
		case "ru":
			a.cyrillic = stemRussian
		default:
			return nil, fmt.Errorf("language %q is not supported: use %s, or none to leave words unstemmed", l, allowed())
		}
	}
	return a, nil
}

// allowed lists the supported languages for an error.
func allowed() string {
	var b strings.Builder
	for i, l := range Languages() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", l)
	}
	return b.String()
}

// ID names the rules by which text becomes terms, whatever the languages.
func (a *Analyzer) ID() string { return rulesID }

// Languages returns the languages the analyzer stems, sorted.
func (a *Analyzer) Languages() []string { return slices.Clone(a.languages) }

// A Token is a term with its place: text[Start:End], byte offsets, is what it came from. Wholes overlap their parts.
type Token struct {
	Term       string
	Start, End int
}

// Terms appends the terms of text to dst, in the order in which they begin, a whole before its parts, repeats kept.
// Terms may share memory with text and with each other: clone those that outlive both.
func (a *Analyzer) Terms(dst []string, text string) []string {
	s := scanner{a: a, text: text, emit: func(t Token) bool {
		dst = append(dst, t.Term)
		return true
	}}
	s.scan()
	return dst
}

// Tokens yields the terms of text with their places, in the order of Terms. Starts never descend.
func (a *Analyzer) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		s := scanner{a: a, text: text, emit: yield}
		s.scan()
	}
}
