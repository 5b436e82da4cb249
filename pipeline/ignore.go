package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

// IgnoreFile is the name of the files that say what is no document. Each holds for its folder and those below, in the
// syntax of gitignore(5).
const IgnoreFile = ".larderignore"

const (
	maxIgnoreFile = 64 << 10 // bytes
	maxIgnoreRule = 1000     // bytes of a pattern
	maxIgnoreAll  = 1000     // patterns that hold in one folder
)

// An ignoreRule is a line of an ignore file.
type ignoreRule struct {
	folder  string // where it holds, "." for the base's folder
	glob    string // matched with the path below that folder, or with the last element of it
	name    bool   // with the last element
	folders bool   // it matches folders alone
	keep    bool   // what it matches is not ignored
}

// parseIgnore returns the rules of an ignore file. Errors name the line.
func parseIgnore(data []byte, folder string) ([]ignoreRule, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8; convert it")
	}
	var rules []ignoreRule
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		line = trimIgnored(strings.TrimRight(line, "\r\n"))
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) > maxIgnoreRule {
			return nil, fmt.Errorf("line %d is longer than %d bytes", n, maxIgnoreRule)
		}
		rule := ignoreRule{folder: folder}
		if line[0] == '!' {
			rule.keep, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			rule.folders, line = true, strings.TrimSuffix(line, "/")
		}
		if rule.name = !strings.Contains(line, "/"); !rule.name {
			line = strings.TrimPrefix(line, "/")
		}
		glob, err := ignoreGlob(norm.NFC.String(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if rule.glob = glob; glob != "" {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// trimIgnored cuts the blanks at a line's end off, but not one that a backslash quotes.
func trimIgnored(line string) string {
	for strings.HasSuffix(line, " ") {
		before := strings.TrimRight(line[:len(line)-1], `\`)
		if (len(line)-1-len(before))%2 == 1 {
			break
		}
		line = line[:len(line)-1]
	}
	return line
}

// ignoreClasses are the classes of characters that may stand in brackets, within ASCII.
var ignoreClasses = strings.NewReplacer(
	"[:alnum:]", "a-zA-Z0-9", "[:alpha:]", "a-zA-Z", "[:blank:]", " \t", "[:digit:]", "0-9", "[:lower:]", "a-z",
	"[:space:]", " \t", "[:upper:]", "A-Z", "[:xdigit:]", "0-9a-fA-F",
)

// ignoreGlob turns a pattern of gitignore into one of doublestar, which differ: there braces have a meaning, x/**
// matches x, and ] at the beginning of brackets ends them.
func ignoreGlob(pattern string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '{', '}':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\\':
			if i++; i == len(pattern) {
				return "", errors.New(`a backslash at the end quotes nothing`)
			}
			b.WriteByte('\\')
			b.WriteByte(pattern[i])
		case '[':
			end := bracketEnd(pattern[i:])
			if end < 0 {
				return "", errors.New("[ without its ]")
			}
			inner := pattern[i+1 : i+end]
			not := inner[0] == '!' || inner[0] == '^'
			if b.WriteByte('['); not {
				b.WriteByte('!')
				inner = inner[1:]
			}
			if inner[0] == ']' {
				b.WriteByte('\\')
			}
			b.WriteString(ignoreClasses.Replace(inner))
			b.WriteByte(']')
			i += end
		default:
			b.WriteByte(c)
		}
	}
	glob := b.String()
	if strings.HasSuffix(glob, "/**") {
		glob += "/*"
	}
	if !doublestar.ValidatePattern(glob) {
		return "", fmt.Errorf("%s is malformed", excerpt(pattern))
	}
	return glob, nil
}

// bracketEnd returns where the bracket ends that a pattern starts with, or -1.
func bracketEnd(pattern string) int {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch {
		case pattern[i] == ']' && i > first:
			return i
		case pattern[i] == '\\':
			i++
		case strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i:], ":]"); end > 0 {
				i += end + 1
			}
		}
	}
	return -1
}

// matches says whether a rule is about the file or folder with that path below the base's folder, in NFC.
func (r ignoreRule) matches(name string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	if r.name {
		return doublestar.MatchUnvalidated(r.glob, path.Base(name))
	}
	if r.folder != "." {
		name = strings.TrimPrefix(name, r.folder+"/")
	}
	return doublestar.MatchUnvalidated(r.glob, name)
}

// ignored says whether the last rule that matches ignores a file or a folder.
func ignored(rules []ignoreRule, name string, folder bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(name, folder) {
			return !rules[i].keep
		}
	}
	return false
}

// readIgnore returns the rules that hold in a folder: those above, which are given, and those of its own file, if it
// has one.
func readIgnore(root *os.Root, folder string, above []ignoreRule) ([]ignoreRule, error) {
	name := path.Join(folder, IgnoreFile)
	wrong := func(err error) error { return fmt.Errorf("%s: %s: %w", root.Name(), name, cause(err)) }
	info, err := root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return above, nil
	}
	if err != nil {
		return nil, wrong(err)
	}
	if !info.Mode().IsRegular() {
		return nil, wrong(errors.New("is not a regular file"))
	}
	data, err := ReadSource(root, Source{Name: name}, maxIgnoreFile)
	if err != nil {
		return nil, wrong(err)
	}
	own, err := parseIgnore(data, norm.NFC.String(folder))
	if err != nil {
		return nil, wrong(err)
	}
	if len(above)+len(own) > maxIgnoreAll {
		return nil, wrong(fmt.Errorf("more than %d patterns, those of the folders above included", maxIgnoreAll))
	}
	return append(above[:len(above):len(above)], own...), nil
}
