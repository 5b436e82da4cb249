package answer

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lineEnds are all that may end a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// clean returns s with lines that end in \n, and without what is not seen but has an effect. Text that is ordinary comes
// back as it is.
func clean(s string) string {
	return visible(lineEnds.Replace(strings.ToValidUTF8(s, "\uFFFD")))
}

// visible returns s without control characters, but \t and \n, and without those that turn the direction of text or
// hide in it.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(hidden, r)) {
			return -1
		}
		return r
	}, s)
}

// hidden are characters that nobody sees and that texts do without: those that turn directions, invisible operators,
// byte order marks, annotations, tags, and what is no character. Scripts need joiners, breaks of no width, soft hyphens
// and variation selectors: those stay.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x061C, 0x061C, 1}, {0x200E, 0x200F, 1}, {0x202A, 0x202E, 1}, {0x2060, 0x206F, 1},
		{0xFDD0, 0xFDEF, 1}, {0xFEFF, 0xFEFF, 1}, {0xFFF9, 0xFFFB, 1}, {0xFFFE, 0xFFFF, 1},
	},
	R32: []unicode.Range32{{0xE0000, 0xE00FF, 1}},
}

var (
	// A line that could begin a section of the prompt, another source, a code block, or what someone else says.
	lineMark = regexp.MustCompile(`(?i)^[\s\pZ]*(?:` +
		`(?:#+\s|###)[\s#]*[*_]*(?:questions?|sources?|answers?)(?:[^\pL\pN]|$)` +
		"|\\[\\s*\\p{Nd}+\\s*\\]|```|~~~" +
		`|[*_#]*\s*(?:human|user|assistant|system)\s*[*_]*\s*:)`)

	// A tag as prompts have them, anywhere in a line.
	tagMark = regexp.MustCompile(`(?i)<(?:\||/?(?:antml:|(?:` +
		`system|user|human|assistant|instructions?|prompt|questions?|query|sources?|documents?|answers?|context|thinking|` +
		`tool_use|tool_result|tools?|functions?|function_calls|function_results|invoke|result)(?:[\s/>_-]|$)))`)
)

// escape puts a backslash before each mark of the prompt that a line of s imitates. Other lines come back as they are.
func escape(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = escapeLine(line)
	}
	return strings.Join(lines, "\n")
}

func escapeLine(line string) string {
	if lineMark.MatchString(line) || lineMark.MatchString(plainForm(line)) {
		rest := strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || ignorable(r) })
		line = line[:len(line)-len(rest)] + `\` + rest
	}
	if !tagMark.MatchString(line) && tagMark.MatchString(plainForm(line)) {
		line = plainForm(line) // what only looks like a tag becomes one, to be escaped
	}
	return tagMark.ReplaceAllStringFunc(line, func(tag string) string { return `\` + tag })
}

// plainForm is how a line looks: compatibility forms such as fullwidth letters as the usual ones, without what is not
// seen.
func plainForm(line string) string {
	return strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(line))
}

// ignorable tells whether r shows nothing.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
