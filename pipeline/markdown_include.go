package pipeline

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Limits on what a document includes.
const (
	maxIncludeDepth = 8       // includes in includes
	maxIncludes     = 2_000   // in a document, nested ones too
	maxIncludeFile  = 1 << 20 // bytes of one file
	maxIncluded     = 4 << 20 // bytes read for a document, whatever is taken of them
	maxDirective    = 1 << 10 // bytes of a directive
)

// What became of includes, as keys of Document.LeftOut.
const (
	leftDirective       = "include directive"
	leftIncludeOutside  = "include refused: outside of the base, or hidden"
	leftIncludeMissing  = "include missing: its file or its part of it can't be read"
	leftIncludeTooMuch  = "include refused: too many, too deep or too large"
	leftHiddenCode      = "hidden line of code"
	leftIncludeMarkings = "anchor in an included file"
)

// An includer replaces mdBook's directives, {{#include file:10:20}} and the like, by what they name. As mdBook does,
// it looks for them everywhere, in code too.
type includer struct {
	open     func(name string) ([]byte, error)
	encoding string // of files, "" finds out
	leftOut  map[string]int
	title    string // of {{#title}}
	count    int    // of includes so far
	read     int    // bytes read so far
	broken   map[string]bool
}

// rewrite returns text with its directives replaced, or nil if it has none. name is the file that holds it.
func (e *includer) rewrite(name string, text []byte) *rewriting {
	if !bytes.Contains(text, []byte("{{#")) {
		return nil
	}
	r := &rewriting{}
	done := 0
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("{{#"))
		if i < 0 {
			break
		}
		at += i
		verb, argument, end := directive(text[at:])
		if end == 0 {
			at += len("{{#")
			continue
		}
		if at > 0 && text[at-1] == '\\' { // escaped
			r.copy(text, done, at-1)
			done = at
			at += end
			continue
		}
		r.copy(text, done, at)
		e.leftOut[leftDirective]++
		switch verb {
		case "title":
			if e.title == "" {
				e.title = cleanLine(argument)
			}
		case "include", "rustdoc_include", "playground", "playpen":
			included := e.include(name, argument, 0)
			r.insert(at, indented(included, text[:at]))
		}
		at += end
		done = at
	}
	if done == 0 {
		return nil
	}
	r.copy(text, done, len(text))
	return r
}

// directive takes a directive apart that text begins with; end is 0 if it is none.
func directive(text []byte) (verb, argument string, end int) {
	text = text[:min(len(text), maxDirective)]
	end = bytes.Index(text, []byte("}}"))
	if end < 0 || bytes.IndexByte(text[:end], '\n') >= 0 {
		return "", "", 0
	}
	verb, argument, _ = strings.Cut(strings.TrimSpace(string(text[len("{{#"):end])), " ")
	switch verb {
	case "include", "rustdoc_include", "playground", "playpen", "title":
		return verb, strings.TrimSpace(argument), end + len("}}")
	}
	return "", "", 0
}

// indented puts the blanks and quote marks before a directive before each further line of what it includes.
func indented(text string, before []byte) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	if len(line) == 0 || len(bytes.Trim(line, " \t>")) > 0 {
		return text
	}
	return strings.ReplaceAll(text, "\n", "\n"+string(line))
}

// include returns what a directive's argument names: a file and perhaps lines or an anchor in it.
func (e *includer) include(from, argument string, depth int) string {
	file, part := argument, ""
	if i := strings.IndexByte(argument, ':'); i >= 0 {
		file, part = argument[:i], argument[i+1:]
	}
	if fields := strings.Fields(file); len(fields) > 0 {
		file = fields[0] // words behind the file are classes for the code block
	}
	part, _, _ = strings.Cut(part, " ")
	name, ok := includedName(from, file)
	if !ok {
		e.leftOut[leftIncludeOutside]++
		return ""
	}
	if e.count++; depth >= maxIncludeDepth || e.count > maxIncludes {
		e.leftOut[leftIncludeTooMuch]++
		return ""
	}
	if e.open == nil || e.broken[name] {
		e.leftOut[leftIncludeMissing]++
		return ""
	}
	data, err := e.open(name)
	if err == nil && (len(data) > maxIncludeFile || e.read+len(data) > maxIncluded) {
		e.leftOut[leftIncludeTooMuch]++
		return ""
	}
	e.read += len(data)
	var text []byte
	if err == nil {
		source, failed := decodeSource(data, maxIncludeFile, e.encoding)
		if ok = failed == nil; ok {
			text, ok = e.part(source.text, part)
		}
	}
	if err != nil || !ok {
		if err != nil {
			e.broken[name] = true
		}
		e.leftOut[leftIncludeMissing]++
		return ""
	}
	return e.nested(name, text, depth)
}

// nested replaces the directives in what was included.
func (e *includer) nested(name string, text []byte, depth int) string {
	var b strings.Builder
	for {
		i := bytes.Index(text, []byte("{{#"))
		if i < 0 {
			break
		}
		verb, argument, end := directive(text[i:])
		switch {
		case end == 0:
			end = len("{{#")
			b.Write(text[:i+end])
		case i > 0 && text[i-1] == '\\':
			b.Write(text[:i-1])
			b.Write(text[i : i+end])
		default:
			b.Write(text[:i])
			e.leftOut[leftDirective]++
			if verb != "title" {
				b.WriteString(e.include(name, argument, depth+1))
			}
		}
		text = text[i+end:]
	}
	b.Write(text)
	return b.String()
}

// includedName returns the path below the base of a file that another one includes. Absolute paths, those out of the
// base and hidden files are refused.
func includedName(from, file string) (name string, ok bool) {
	if file == "" || path.IsAbs(file) || strings.ContainsAny(file, "\\\x00") {
		return "", false
	}
	name = path.Join(path.Dir(from), file)
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	return name, true
}

var anchorMark = regexp.MustCompile(`ANCHOR(_END)?:\s*([\w-]+)`)

// part returns a part of a file: all of it, lines such as 10, 10:20, 10: and :20 (from 1, the last one included), or
// what stands between the lines with "ANCHOR: name" and "ANCHOR_END: name". The lines of anchors go.
func (e *includer) part(text []byte, part string) ([]byte, bool) {
	first, last, isRange := lineRange(part)
	anchor := ""
	if part != "" && !isRange {
		anchor = part
	}
	var out []byte
	number, inside, found := 0, anchor == "", anchor == ""
	for line := range bytes.Lines(text) {
		number++
		if m := anchorMark.FindSubmatch(line); m != nil {
			if string(m[2]) == anchor {
				inside = len(m[1]) == 0
				found = true
			}
			if inside {
				e.leftOut[leftIncludeMarkings]++
			}
			if !isRange || part == "" {
				continue
			}
		}
		if inside && (!isRange || first <= number && number <= last) {
			out = append(out, line...)
		}
	}
	return bytes.TrimSuffix(out, []byte("\n")), found
}

// lineRange reads 10, 10:20, 10:, :20 and : as first and last line. The empty part is all lines.
func lineRange(part string) (first, last int, ok bool) {
	const all = int(^uint(0) >> 1)
	if part == "" {
		return 1, all, true
	}
	from, to, two := strings.Cut(part, ":")
	to, _, _ = strings.Cut(to, ":")
	number := func(s string, missing int) int {
		if s == "" {
			return missing
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			ok = false
		}
		return n
	}
	ok = true
	first = number(from, 1)
	last = first
	if two {
		last = number(to, all)
	}
	return first, last, ok
}
