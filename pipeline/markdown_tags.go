package pipeline

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// What goes of tags, as keys of Document.LeftOut.
const (
	leftTemplate = "shortcode or template tag"
	leftMarkList = "attribute list"
	leftSet      = "content of a comment tag"
)

// maxTag is the most bytes of a tag, its arguments included.
const maxTag = 2 << 10

// A templateTag is a shortcode of Hugo, {{< name argument="text" >}} or {{% name %}}, or a tag of Liquid, {% name %}.
type templateTag struct {
	name    string
	closing bool   // it ends what a tag of that name began
	alone   bool   // {{< name />}}, which no other tag ends
	literal bool   // {{</* name */>}}, which shows {{< name >}}
	words   string // the first argument, if it has no name
	shown   string // of its arguments, what readers see
	shownAt int    // where that starts
	end     int    // its length
}

// shownArguments are the names of those that tools show.
var shownArguments = []string{"alt", "caption", "content", "description", "header", "heading", "label", "subtitle", "summary", "text", "title"}

// readTag reads the tag that text begins with; end is 0 if it begins with none.
func readTag(text []byte) (t templateTag) {
	if len(text) < 4 || text[0] != '{' {
		return t
	}
	closer := "%}"
	at := 2
	switch {
	case text[1] == '%':
		if at < len(text) && text[at] == '-' {
			at++
		}
	case text[1] == '{' && (text[2] == '<' || text[2] == '%'):
		closer = map[byte]string{'<': ">}}", '%': "%}}"}[text[2]]
		at = 3
		if bytes.HasPrefix(text[at:], []byte("/*")) {
			end := bytes.Index(text[:min(len(text), maxTag)], []byte("*/"+closer))
			if end >= 0 && bytes.IndexByte(text[:end], '\n') < 0 {
				t.literal, t.end = true, end+len("*/")+len(closer)
			}
			return t
		}
	default:
		return t
	}
	limit := min(len(text), maxTag)
	var shown []string
	for n := 0; ; n++ {
		for at < limit && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == ',') {
			at++
		}
		rest := text[at:limit]
		switch {
		case len(rest) == 0, bytes.HasPrefix(rest, []byte("{{")), bytes.HasPrefix(rest, []byte("{%")):
			return templateTag{}
		case bytes.HasPrefix(rest, []byte("-%}")):
			rest, at = rest[1:], at+1
			fallthrough
		case bytes.HasPrefix(rest, []byte(closer)), bytes.HasPrefix(rest, []byte("/"+closer)):
			if t.alone = rest[0] == '/'; t.alone {
				at++
			}
			if t.name == "" {
				return templateTag{}
			}
			t.end = at + len(closer)
			t.shown = strings.Join(shown, " ")
			return t
		}
		if n == 0 && rest[0] == '/' {
			t.closing = true
			at++
			n--
			continue
		}
		word, quoted, size := argument(rest, closer)
		if size == 0 {
			return templateTag{}
		}
		at += size
		if t.name == "" {
			t.name = word
			if name, ok := strings.CutPrefix(word, "end"); ok && closer == "%}" && name != "" {
				t.name, t.closing = name, true
			}
			continue
		}
		key := ""
		if at < limit && (text[at] == '=' || text[at] == ':') && !quoted {
			key = word
			at++
			word, quoted, size = argument(text[at:limit], closer)
			at += size
		} else if t.words == "" {
			t.words = word
		}
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if slices.Contains(shownArguments, strings.ToLower(key)) && quoted || key == "" && quoted && isShownText(word) {
			if shown = append(shown, word); len(shown) == 1 {
				t.shownAt = at - size
			}
		}
	}
}

// argument reads a word, or a text in quotes.
func argument(text []byte, closer string) (word string, quoted bool, size int) {
	if len(text) == 0 {
		return "", false, 0
	}
	if q := text[0]; q == '"' || q == '`' || q == '\'' {
		var b strings.Builder
		for i := 1; i < len(text); i++ {
			switch {
			case text[i] == q:
				return b.String(), true, i + 1
			case text[i] == '\\' && q == '"' && i+1 < len(text):
				i++
			}
			b.WriteByte(text[i])
		}
		return "", false, 0
	}
	end, stopped := 0, false
scan:
	for ; end < len(text); end++ {
		switch c := text[end]; c {
		case ' ', '\t', '\n', '=', ',', '"', '`':
			break scan
		case ':':
			if closer == "%}" {
				break scan
			}
		case '%', '>', '/', '{':
			if rest := text[end:]; bytes.HasPrefix(rest, []byte(closer)) || bytes.HasPrefix(rest, []byte("/"+closer)) || bytes.HasPrefix(rest, []byte("{{")) {
				stopped = true
				break scan
			}
		}
	}
	if end == 0 && !stopped {
		end = 1 // a separator out of place
	}
	return string(text[:end]), false, end
}

// isShownText says whether an argument without a name is for readers: it has several words and is no path and no list
// of options.
func isShownText(text string) bool {
	return strings.Contains(text, " ") && path.Ext(text) == "" && !strings.ContainsAny(text, "/=")
}

// holdsCode says whether what stands between two tags of a name is code.
func holdsCode(name string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' }) {
		switch part {
		case "highlight", "code", "codeblock", "listing", "mermaid", "katex", "math", "chart", "goat":
			return true
		}
	}
	return false
}

// holdsNothing says whether what stands between two tags of a name is not shown.
func holdsNothing(name string) bool { return name == "comment" }

// tagEnds are where the tags that begin and end code and comments stand in a text, by name.
type tagEnds map[string]*tagPlaces

type tagPlaces struct{ opening, closing []int }

func closingTags(text []byte) tagEnds {
	c := tagEnds{}
	for at := 0; ; at++ {
		i := bytes.IndexByte(text[at:], '{')
		if i < 0 {
			return c
		}
		at += i
		rest := text[at:]
		if len(rest) < 4 || rest[1] != '%' && (rest[1] != '{' || rest[2] != '<' && rest[2] != '%') {
			continue
		}
		t := readTag(rest)
		if t.end == 0 || t.literal || t.alone || !holdsCode(t.name) && !holdsNothing(t.name) {
			continue
		}
		places := c[t.name]
		if places == nil {
			places = &tagPlaces{}
			c[t.name] = places
		}
		if t.closing {
			places.closing = append(places.closing, at)
		} else {
			places.opening = append(places.opening, at)
		}
	}
}

// pair returns the tag at an offset, and where the one that ends it starts if it begins code or a comment. One that
// another of its name follows first has no end.
func (c tagEnds) pair(text []byte, at int) (open templateTag, end int) {
	open = readTag(text[at:])
	places := c[open.name]
	if open.end == 0 || open.closing || open.literal || open.alone || places == nil {
		return open, 0
	}
	behind := at + open.end
	i, _ := slices.BinarySearch(places.closing, behind)
	if i == len(places.closing) {
		return open, 0
	}
	if j, _ := slices.BinarySearch(places.opening, behind); j < len(places.opening) && places.opening[j] < places.closing[i] {
		return open, 0
	}
	return open, places.closing[i]
}

// pairAt returns the offset behind the tag that ends the code or comment which begins at an offset; 0 if none does.
func (c tagEnds) pairAt(text []byte, at int) int {
	if len(c) == 0 {
		return 0
	}
	_, end := c.pair(text, at)
	if end == 0 {
		return 0
	}
	return end + readTag(text[end:]).end
}
