package analyze

// Rules 5 and 7 to 11: words, and the chains they are joined to.

const (
	maxWords = 64 // words of a chain
	maxTurns = 4  // changes between letters and digits in a word that has parts
)

// word is a word in a chain.
type word struct {
	start, end int  // in the text
	tail       int  // where a sign after it ends (++ or #); end if there is none
	join       int  // where what joins it to the word before begins
	path       bool // what joins it is of rule 9
	letters    bool // it has letters
	digits     bool // it has digits
	parts      bool // it has more than one part
	single     bool // it is one letter
}

// Kinds of characters, between which parts begin.
const (
	none = iota // at the beginning, and after an apostrophe
	lower
	upper
	number
)

// word reads the word that begins at i. It writes to bounds where the parts after the first begin, as far as there
// is room, and returns their count.
func (s *scanner) word(i int, bounds []int) (w word, n int) {
	w.start = i
	var (
		kind    = none
		run     = 0     // how many upper case letters in a row
		last    = 0     // where the last of them begins
		turns   = 0     // changes between letters and digits
		count   = 0     // letters and digits
		grouped = false // digits in groups of three
	)
	bound := func(at int) {
		w.parts = true
		if n < len(bounds) {
			bounds[n] = at
			n++
		}
	}
	for {
		c := s.next(i)
		switch {
		case c.class == mark && count > 0, count > 0 && jamoFollows(c.r):
			i += c.size
			continue
		case c.r == '\'' && (kind == lower || kind == upper) && s.next(i+c.size).class == letter:
			kind, run = none, 0
			i += c.size
			continue
		case c.r == ',' && kind == number && !w.letters && (grouped || count <= 3) && s.thousand(i+c.size):
			grouped = true
			i += c.size
			continue
		}
		if !c.inWord() {
			break
		}
		k := lower
		switch {
		case c.class == digit:
			k = number
			w.digits = true
		case c.upper:
			k = upper
			w.letters = true
		default:
			w.letters = true
		}
		switch {
		case kind == none:
		case (kind == number) != (k == number):
			turns++
			bound(i)
		case k == upper && kind == lower: // userName
			bound(i)
		case k == lower && kind == upper && run > 1 && !s.plural(i): // HTTPServer, not IDs
			bound(last)
		}
		if k == upper {
			run, last = run+1, i
		} else {
			run = 0
		}
		kind = k
		count++
		i += c.size
	}
	w.end, w.tail = i, i
	w.single = count == 1 && w.letters
	w.parts = w.parts && turns <= maxTurns
	if w.letters {
		w.tail += s.sign(i)
	}
	return w, n
}

// plural reports whether the s of a plural such as IDs stands at i.
func (s *scanner) plural(i int) bool {
	c := s.next(i)
	if c.r != 's' {
		return false
	}
	c = s.next(i + c.size)
	return c.class != letter && c.class != mark || c.upper
}

// thousand reports whether three digits and no more stand at i.
func (s *scanner) thousand(i int) bool {
	for range 3 {
		c := s.next(i)
		if c.class != digit {
			return false
		}
		i += c.size
	}
	c := s.next(i)
	return !c.inWord() && c.class != mark
}

// sign returns the size of the ++ or # at i, 0 if what is there is no such sign.
func (s *scanner) sign(i int) int {
	c := s.next(i)
	after := s.next(i + c.size)
	switch {
	case c.r == '#' && !after.inWord() && after.r != '#':
		return c.size
	case c.r == '+' && after.r == '+' && s.next(i+c.size+after.size).r != '+':
		return c.size + after.size
	}
	return 0
}

// joiner returns the size of what joins a word that ends at i to the next one, 0 if nothing does, and whether it
// does so by rule 9.
func (s *scanner) joiner(i int) (size int, path bool) {
	c := s.next(i)
	size = c.size
	switch c.r {
	case '.', '-', '&':
	case '_':
		for c = s.next(i + size); c.r == '_'; c = s.next(i + size) {
			size += c.size
		}
	case '@', '#':
		path = true
	case '/', '\\', ':':
		path = true
		for range 2 {
			if c = s.next(i + size); c.r != '/' && c.r != '\\' && c.r != ':' {
				break
			}
			size += c.size
		}
	default:
		return 0, false
	}
	if !s.next(i + size).inWord() {
		return 0, false
	}
	return size, path
}

// chain emits the chain whose first word begins at i, and returns where it ends. It starts before i if a dot
// belongs to it.
func (s *scanner) chain(start, i int) (end int) {
	n, paths := 0, false
	for join, path := i, false; ; {
		w, _ := s.word(i, nil)
		w.join, w.path = join, path
		s.words[n] = w
		n++
		paths = paths || path
		end = w.tail
		if n == maxWords {
			break
		}
		size := 0
		if w.tail == w.end || !s.next(end).inWord() { // after a sign a word may follow at once: C++17
			if size, path = s.joiner(end); size == 0 {
				break
			}
		} else {
			path = false
		}
		join, i = end, end+size
	}
	words := s.words[:n]
	if paths {
		s.whole(words, start)
	}
	for len(words) > 0 && !s.done {
		k := 1
		for k < len(words) && !words[k].path {
			k++
		}
		s.compound(words[:k], start)
		if words = words[k:]; len(words) > 0 {
			start = words[0].start
		}
	}
	return end
}

// compound emits words that are joined by rule 8; one word is a compound too.
func (s *scanner) compound(words []word, start int) {
	first, last := words[0], words[len(words)-1]
	switch {
	case len(words) == 1 && start == first.start: // a sign after it is the word's own business
	case s.acronym(words):
		s.joined(words)
		return
	case start < first.start || !s.prose(words):
		s.whole(words, start)
		if len(words) == 2 && s.next(last.join).r == '-' && (first.digits || last.digits) &&
			(!first.digits || !last.digits) && first.tail == first.end && last.tail == last.end && start == first.start {
			s.joined(words)
		}
	}
	for _, w := range words {
		s.parts(w)
	}
}

// acronym reports whether words are single letters joined by dots.
func (s *scanner) acronym(words []word) bool {
	for i, w := range words {
		if !w.single || w.tail > w.end || i > 0 && s.next(w.join).r != '.' {
			return false
		}
	}
	return len(words) > 1
}

// prose reports whether words are letters joined by hyphens.
func (s *scanner) prose(words []word) bool {
	for i, w := range words {
		if w.digits || w.tail > w.end || i > 0 && s.next(w.join).r != '-' {
			return false
		}
	}
	return true
}

// whole emits words with what joins them as one term, if it is not too long.
func (s *scanner) whole(words []word, start int) {
	term := s.buf[:0]
	at := start
	for _, w := range words {
		term = s.appendSigns(term, at, w.start)
		term = appendFolded(term, s.text[w.start:w.end], maxTerm)
		term = s.appendSigns(term, w.end, w.tail)
		if len(term) > maxTerm {
			return
		}
		at = w.tail
	}
	s.send(term, start, at)
}

// appendSigns appends the punctuation between two offsets; once term is too long it stops.
func (s *scanner) appendSigns(term []byte, i, end int) []byte {
	for i < end && len(term) <= maxTerm {
		c := s.next(i)
		if i += c.size; i <= end {
			term = append(term, byte(c.r))
		}
	}
	return term
}

// joined emits words without what joins them as one term, if it is not too long.
func (s *scanner) joined(words []word) {
	term := s.buf[:0]
	for _, w := range words {
		term = appendFolded(term, s.text[w.start:w.end], maxTerm)
		if len(term) > maxTerm {
			return
		}
	}
	s.send(term, words[0].start, words[len(words)-1].end)
}

// parts emits a word with its sign, the word, and its parts.
func (s *scanner) parts(w word) {
	if w.tail > w.end {
		s.whole([]word{w}, w.start)
	}
	term := appendFolded(s.buf[:0], s.text[w.start:w.end], maxTerm)
	long := len(term) > maxTerm
	if term = cut(term); !w.digits {
		term = s.stem(term)
	}
	s.send(term, w.start, w.end)
	if !w.parts || long {
		return
	}
	var bounds [maxTerm]int // a part has a byte or more, so there are not as many bounds
	_, n := s.word(w.start, bounds[:])
	start := w.start
	for i := range n + 1 {
		end := w.end
		if i < n {
			end = bounds[i]
		}
		term := cut(appendFolded(s.buf[:0], s.text[start:end], maxTerm))
		s.send(s.stem(term), start, end)
		start = end
	}
}
