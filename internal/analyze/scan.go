package analyze

import (
	"strings"
	"unicode/utf8"
)

// scanner goes over one text once.
type scanner struct {
	a     *Analyzer
	text  string
	emit  func(Token) bool
	done  bool // emit wants no more
	arena strings.Builder
	words [maxWords]word
	buf   [maxTerm + 16]byte // a term being made; the room is for the code points that pass the limit
}

// char is one code point as the scanner sees it.
type char struct {
	r     rune // in ASCII for the punctuation that has such a form
	size  int  // bytes in the text; 0 at its end
	class class
	upper bool
}

// inWord reports whether a word can begin with the character, in a script written with blanks.
func (c char) inWord() bool { return c.class == letter || c.class == digit }

// at returns the character at i.
func (s *scanner) at(i int) char {
	if i >= len(s.text) {
		return char{r: -1}
	}
	r, n := rune(s.text[i]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(s.text[i:])
		r = plain(r)
	}
	p := lookup(r)
	return char{r, n, p.class, p.upper}
}

// next returns the character at i, or after the ignored ones there; its size includes them.
func (s *scanner) next(i int) char {
	c := s.at(i)
	skipped := 0
	for c.class == ignored {
		skipped += c.size
		c = s.at(i + skipped)
	}
	c.size += skipped
	return c
}

func (s *scanner) scan() {
	prev := char{}
	for i := 0; i < len(s.text) && !s.done; {
		if end := s.plainWord(i); end > i {
			s.simple(i, end)
			i, prev = end, char{class: letter}
			continue
		}
		c := s.at(i)
		switch {
		case c.inWord():
			i = s.chain(i, i)
		case c.class == gram:
			i = s.grams(i)
		case c.r == '.' && !prev.inWord() && prev.r != '.' && s.next(i+c.size).class == letter: // .NET
			i = s.chain(i, i+c.size)
			c.class = letter
		default:
			i += c.size
		}
		if c.class != ignored {
			prev = c
		}
	}
}

// plainWord returns where the word at i ends if it is one of ASCII letters, in lower or upper case or capitalized,
// that nothing can follow in a chain, as most words are. Otherwise it returns i.
func (s *scanner) plainWord(i int) int {
	k, upper := i, 0
	for k < len(s.text) {
		b := s.text[k]
		if 'A' <= b && b <= 'Z' {
			upper++
		} else if b < 'a' || 'z' < b {
			break
		}
		k++
	}
	switch {
	case k == i, k < len(s.text) && !separates[s.text[k]]:
		return i
	case upper == 0, upper == k-i, upper == 1 && s.text[i] <= 'Z':
		return k
	}
	return i
}

// separates marks bytes that end a word and can't join it to another.
var separates = func() (t [256]bool) {
	for _, b := range []byte("\t\n\r !\"$%()*,;<=>?[]^`{|}~") {
		t[b] = true
	}
	return t
}()

// simple emits the term of a word of ASCII letters.
func (s *scanner) simple(start, end int) {
	term := s.buf[:min(end-start, maxTerm)]
	for i := range term {
		term[i] = s.text[start+i] | 0x20 // lower case
	}
	if s.a.latin != nil {
		term = s.a.latin(term)
	}
	s.send(term, start, end)
}

// grams emits the run of letters of scripts without blanks that begins at i, and returns where it ends.
func (s *scanner) grams(i int) int {
	before, last, pairs := -1, -1, 0 // where the last two letters begin
	for !s.done {
		c := s.next(i)
		if c.class != gram {
			break
		}
		before, last = last, i
		i += c.size
		for c = s.next(i); c.class == mark; c = s.next(i) {
			i += c.size
		}
		if before >= 0 {
			s.fold(before, i)
			pairs++
		}
	}
	if pairs == 0 {
		s.fold(last, i)
	}
	return i
}

// fold emits a stretch of text as one term, unstemmed.
func (s *scanner) fold(start, end int) {
	s.send(cut(appendFolded(s.buf[:0], s.text[start:end], maxTerm)), start, end)
}

// cut shortens a term to what is allowed, between code points.
func cut(term []byte) []byte {
	n := min(len(term), maxTerm)
	for n < len(term) && n > 0 && !utf8.RuneStart(term[n]) {
		n--
	}
	return term[:n]
}

// send emits a term. Where the text begins with the very bytes, the term shares them; the others share blocks.
func (s *scanner) send(term []byte, start, end int) {
	if len(term) == 0 || s.done {
		return
	}
	var t string
	if raw := s.text[start:end]; strings.HasPrefix(raw, string(term)) {
		t = raw[:len(term)]
	} else {
		if s.arena.Cap()-s.arena.Len() < len(term) {
			s.arena.Reset()
			s.arena.Grow(max(len(term), min(1024, len(s.text)-start)))
		}
		at := s.arena.Len()
		s.arena.Write(term)
		t = s.arena.String()[at:]
	}
	s.done = !s.emit(Token{t, start, end})
}

// stem stems the term of a word without digits, in place, by the language of its script.
func (s *scanner) stem(term []byte) []byte {
	latin, cyrillic := false, false
	for i := 0; i < len(term); {
		r, n := rune(term[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(term[i:])
		}
		i += n
		switch {
		case 'a' <= r && r <= 'z', 0xC0 <= r && r <= 0x24F, 0x1E00 <= r && r <= 0x1EFF:
			latin = true
		case 0x400 <= r && r <= 0x52F:
			cyrillic = true
		case r == '\'', 0x300 <= r && r <= 0x36F: // of either
		default:
			return term
		}
	}
	switch {
	case latin && !cyrillic && s.a.latin != nil:
		return s.a.latin(term)
	case cyrillic && !latin && s.a.cyrillic != nil:
		return s.a.cyrillic(term)
	}
	return term
}
