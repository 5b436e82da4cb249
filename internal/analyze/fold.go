package analyze

import "unicode/utf8"

// maxMarks is how many marks of one letter count; more are left out.
const maxMarks = 16

// appendFolded appends the folded form of a stretch of text: lower case, without compatibility variants, composed,
// ignored characters and separators left out, apostrophes as ASCII. It stops once dst is longer than limit.
func appendFolded(dst []byte, text string, limit int) []byte {
	var c cluster
	for i := 0; i < len(text) && len(dst) <= limit; {
		b := text[i]
		if b < utf8.RuneSelf {
			i++
			if p := &near[b]; p.class != other {
				dst = c.next(dst, rune(b)+p.delta)
			} else if b == '\'' {
				dst = c.next(dst, '\'')
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if plain(r) == '\'' {
			dst = c.next(dst, '\'')
			continue
		}
		p := lookup(r)
		switch {
		case p.class == other || p.class == ignored:
		case p.more.len > 0:
			for _, r := range expansionText[p.more.at:][:p.more.len] {
				dst = c.add(dst, r)
			}
		case p.class == mark:
			c.push(r + p.delta)
		default:
			dst = c.add(dst, r+p.delta)
		}
	}
	return c.flush(dst)
}

// plain returns the ASCII form of the punctuation that has one: full-width forms, typographic apostrophes, hyphens.
func plain(r rune) rune {
	switch {
	case r < 0x2BC:
	case 0xFF01 <= r && r <= 0xFF5E:
		return r - 0xFF01 + '!'
	case r == 0x2019, r == 0x2018, r == 0x2BC:
		return '\''
	case r == 0x2010, r == 0x2011:
		return '-'
	}
	return r
}

// cluster is a letter and the marks on it, waiting for what follows.
type cluster struct {
	r [1 + maxMarks]rune
	n int
}

// add takes the next folded code point, and appends the cluster before it if that is complete.
func (c *cluster) add(dst []byte, r rune) []byte {
	if c.n > 0 && r >= 0x300 && follows(r) {
		c.push(r)
		return dst
	}
	return c.next(dst, r)
}

// next begins a cluster, and appends the one before it.
func (c *cluster) next(dst []byte, r rune) []byte {
	dst = c.flush(dst)
	c.r[0], c.n = r, 1
	return dst
}

// push adds to the cluster.
func (c *cluster) push(r rune) {
	if c.n < len(c.r) {
		c.r[c.n] = r
		c.n++
	}
}

// follows reports whether r joins the code point before it.
func follows(r rune) bool {
	return lookup(r).class == mark || jamoFollows(r)
}

// jamoFollows reports whether r is a Hangul vowel or trailing consonant, which join the syllable before them.
func jamoFollows(r rune) bool {
	return 0x1161 <= r && r <= 0x1175 || 0x11A8 <= r && r <= 0x11C2
}

func (c *cluster) flush(dst []byte) []byte {
	switch c.n {
	case 0:
		return dst
	case 1:
		if r := c.r[0]; r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	default:
		for _, r := range c.compose() {
			dst = utf8.AppendRune(dst, r)
		}
	}
	c.n = 0
	return dst
}

// compose returns the cluster in Unicode's normalization form C, without the marks that carry no meaning here.
// It works on the cluster's own memory.
func (c *cluster) compose() []rune {
	var room [4 * len(c.r)]rune // no code point decomposes to more than four
	d := room[:0]
	for _, r := range c.r[:c.n] {
		d = appendDecomposed(d, r)
	}
	d = d[:min(len(d), len(c.r))]

	// Marks in canonical order: by class, those of one class as they came, none across one of class 0.
	var class [len(c.r)]uint8
	for i, r := range d {
		class[i] = order(r)
		for k := i; k > 0 && class[k] != 0 && class[k-1] > class[k]; k-- {
			d[k], d[k-1] = d[k-1], d[k]
			class[k], class[k-1] = class[k-1], class[k]
		}
	}

	// Compose each mark with the last code point of class 0, unless one between them stands in its way.
	out := c.r[:0]
	start, last := 0, uint8(0)
	for i, r := range d {
		if i > 0 && silent(d[0], r) {
			continue
		}
		if n := len(out); n > 0 && (start == n-1 || last != 0 && last < class[i]) {
			if whole, ok := join(out[start], r); ok {
				out[start] = whole
				continue
			}
		}
		if class[i] == 0 {
			start = len(out)
		}
		last = class[i]
		out = append(out, r)
	}
	return out
}

// appendDecomposed appends the canonical decomposition of r. Hangul stays whole: join takes it as it is.
func appendDecomposed(d []rune, r rune) []rune {
	if first, second, ok := split(r); ok {
		return append(appendDecomposed(d, first), second)
	}
	return append(d, r)
}

// silent reports whether a mark on a letter is left out: the two dots of ё, the stress on a Cyrillic vowel, and the
// dot that lower-casing the Turkish İ leaves above i.
func silent(letter, mark rune) bool {
	switch mark {
	case 0x301:
		switch letter {
		case 'а', 'е', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я', 'є', 'і':
			return true
		}
	case 0x307:
		return letter == 'i'
	case 0x308:
		return letter == 'е'
	}
	return false
}
