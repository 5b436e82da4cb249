package tools

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A glob is a pattern of paths: * and ? match within a name, [] matches one of some characters, and ** as a whole name
// matches any number of folders. Everything else matches itself: there are no braces and no escapes ([*] is a star).
// It runs as a regular expression of Go's, which takes time in proportion to the path, whatever the pattern, and folds
// case as Unicode has it, ranges of characters too.
type glob struct {
	expression *regexp.Regexp
	anchored   bool // there is a slash in it: it matches no bare name, unless the path too
}

const maxPattern = 300 // bytes

func newGlob(pattern string, caseSensitive bool) (*glob, error) {
	switch {
	case pattern == "":
		return nil, errors.New("it is empty")
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	case !utf8.ValidString(pattern) || strings.Contains(pattern, "\x00"):
		return nil, errors.New("it is no text")
	case strings.Contains(pattern, `\`):
		return nil, errors.New(`it has a backslash: folders are parted by /, and [*] is a star`)
	case strings.HasPrefix(pattern, "/") || drive.MatchString(pattern):
		return nil, errors.New("it is absolute: it starts at the root of the knowledge base, without a slash")
	}
	flags := "(?si)"
	if caseSensitive {
		flags = "(?s)"
	}
	var b strings.Builder
	b.WriteString(flags + "^")
	parts := strings.Split(norm.NFC.String(pattern), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == "" || part == ".":
			return nil, errors.New("it has a folder without a name: between slashes, at the end, or as a dot")
		case part == "..":
			return nil, errors.New("it has .., which leads outside of the knowledge base")
		case part == "**" && last:
			b.WriteString("[^/]+(?:/[^/]+)*")
		case part == "**":
			b.WriteString("(?:[^/]+/)*")
		default:
			if err := writeName(&b, part); err != nil {
				return nil, err
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	b.WriteString("$")
	expression, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errors.New("it is too complex")
	}
	return &glob{expression, len(parts) > 1}, nil
}

// writeName writes what matches a name.
func writeName(b *strings.Builder, part string) error {
	for i := 0; i < len(part); {
		r, size := utf8.DecodeRuneInString(part[i:])
		switch r {
		case '*':
			if !strings.HasSuffix(part[:i], "*") { // several are one
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			length, err := writeClass(b, part[i:])
			if err != nil {
				return err
			}
			size = length
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		i += size
	}
	return nil
}

// writeClass writes what matches one of the characters in brackets at the start of part, and returns its length there.
// A bracket that closes stands for itself in the first place.
func writeClass(b *strings.Builder, part string) (int, error) {
	start := 1
	if strings.HasPrefix(part[1:], "!") || strings.HasPrefix(part[1:], "^") {
		start = 2
	}
	end := start + 1
	if end < len(part) {
		end += strings.IndexByte(part[end:], ']')
	}
	if end <= start || end >= len(part) {
		return 0, fmt.Errorf("%s has no closing bracket, or nothing in it ([[] is a bracket)", part)
	}
	chars := []rune(part[start:end])
	b.WriteString("[")
	if start == 2 {
		b.WriteString("^/")
	}
	for i := 0; i < len(chars); i++ {
		from, to := chars[i], chars[i]
		if i+2 < len(chars) && chars[i+1] == '-' {
			to = chars[i+2]
			i += 2
		}
		if from > to {
			return 0, fmt.Errorf("the range %c-%c runs backwards", from, to)
		}
		if from < '/' && to > '/' { // a slash is never in a name
			fmt.Fprintf(b, `\x{%x}-.`, from)
			from = '/' + 1
		}
		fmt.Fprintf(b, `\x{%x}-\x{%x}`, from, to)
	}
	b.WriteString("]")
	return end + 1, nil
}

// match says whether the pattern matches a path from the root on, or its last name alone. Normal forms are equal.
func (g *glob) match(name string) bool {
	if !g.anchored {
		name = path.Base(name)
	}
	return g.expression.MatchString(norm.NFC.String(name))
}
