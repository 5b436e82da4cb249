package answer

import "strings"

// hold is how many bytes of a bracket, a code span or the beginning of a code block are held back at most until its end
// comes. What is longer is text.
const hold = 400

// A marker marks citations that are wrong in a text that comes in pieces, and passes all else as it is. Code, links
// and brackets with a backslash before them hold no citations. How the text is cut into pieces makes no difference.
type marker struct {
	register  register
	held      string // what is not decided yet
	midLine   bool
	fence     string // what opened the code block that is open
	citations []Citation

	text  strings.Builder // what has passed, with marks
	plain strings.Builder // for unsupported: citations as signs, code without its text
	shown int             // bytes of text that were handed out
	seen  func(s string, isMark bool)
}

func newMarker(sources []CitedSource) *marker {
	return &marker{register: newRegister(sources)}
}

// write takes a piece, and returns what can be shown.
func (m *marker) write(piece string) string { return m.run(piece, false) }

// end returns the rest.
func (m *marker) end() string { return m.run("", true) }

func (m *marker) run(piece string, final bool) string {
	m.held += piece
	for m.held != "" {
		n := m.step(m.held, final)
		if n == 0 {
			break
		}
		m.midLine = m.held[n-1] != '\n'
		m.held = m.held[n:]
	}
	fresh := m.text.String()[m.shown:]
	m.shown = m.text.Len()
	return fresh
}

// step passes the beginning of s, and returns its length: 0 if it takes more of the text to decide. Nothing behind the
// first hold bytes and one more decides.
func (m *marker) step(s string, final bool) int {
	window := s[:min(len(s), hold)]
	whole := final || len(s) > hold // nothing that comes can change the window, nor the byte behind it
	if !m.midLine || m.fence != "" {
		if n, decided := m.codeBlock(window, whole); n > 0 || !decided {
			return n
		}
	}
	switch s[0] {
	case '\\':
		if len(s) == 1 && !final {
			return 0
		}
		if len(s) > 1 && strings.IndexByte("\\[]`", s[1]) >= 0 {
			return m.pass(s[:2], s[1:2])
		}
		return m.pass(s[:1], "")
	case '`':
		return m.codeSpan(window, whole)
	case '[':
		return m.bracket(s, window, whole)
	}
	n := strings.IndexAny(s[1:], "\\`[\n") + 1
	switch {
	case s[0] == '\n':
		n = 1
	case n == 0:
		n = len(s)
	case s[n] == '\n':
		n++
	}
	return m.pass(s[:n], s[:n])
}

// pass hands on s, which unsupported sees as plain.
func (m *marker) pass(s, plain string) int {
	m.text.WriteString(s)
	m.plain.WriteString(plain)
	if m.seen != nil {
		m.seen(s, false)
	}
	return len(s)
}

// codeBlock passes a line that opens or closes a code block, or a piece of one that is inside. It returns 0 if s begins
// otherwise, or if that is not decided.
func (m *marker) codeBlock(s string, whole bool) (n int, decided bool) {
	end := strings.IndexByte(s, '\n') + 1
	if m.midLine { // inside, and the line is no fence
		if end == 0 {
			end = len(s)
		}
		return m.pass(s[:end], ""), true
	}
	open := end == 0
	if open {
		end = len(s)
	}
	line := strings.TrimLeft(s[:end], " \t")
	run := fenceRun(line)
	if open && !whole && (run == len(line) || run >= 3) {
		return 0, false // the line's end decides
	}
	switch rest := line[run:]; {
	case m.fence != "":
		if run >= len(m.fence) && line[0] == m.fence[0] && strings.TrimSpace(rest) == "" {
			m.fence = ""
			return m.pass(s[:end], "\n"), true
		}
		return m.pass(s[:end], ""), true
	case run < 3 || line[0] == '`' && strings.Contains(rest, "`"):
		return 0, true
	}
	m.fence = line[:run]
	return m.pass(s[:end], "\n"), true
}

// fenceRun counts the backticks or tildes that a line begins with.
func fenceRun(line string) int {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, line[:1]))
}

// codeSpan passes backticks, and up to as many again what is between.
func (m *marker) codeSpan(s string, whole bool) int {
	run := fenceRun(s)
	for i := run; ; {
		next := strings.IndexAny(s[i:], "`\n")
		if next < 0 {
			if !whole {
				return 0
			}
			break
		}
		if i += next; s[i] == '\n' {
			break
		}
		closing := fenceRun(s[i:])
		if i += closing; i == len(s) && !whole {
			return 0
		}
		if closing == run {
			return m.pass(s[:i], "code")
		}
	}
	return m.pass(s[:run], "")
}

// bracket passes a link or a citation with its mark, or else the bracket's first byte alone, since there may be another
// bracket inside. s goes one byte beyond the window, where there is one.
func (m *marker) bracket(s, window string, whole bool) int {
	end := bracketEnd(window)
	switch {
	case end < 0 && !whole && !strings.Contains(window, "\n"):
		return 0
	case end < 0:
		return m.pass(s[:1], "")
	case end == len(s) && !whole:
		return 0 // what follows tells a link
	case end < len(s) && s[end] == '(':
		return m.pass(s[:end], s[1:end-1])
	}
	list := m.register.citations(s[1 : end-1])
	if list == nil {
		return m.pass(s[:1], "")
	}
	sign := badCitation
	for _, c := range list {
		if c.Problem == "" {
			sign = goodCitation
		}
	}
	m.pass(s[:end], sign)
	if note := mark(list); note != "" {
		m.text.WriteString(note)
		if m.seen != nil {
			m.seen(note, true)
		}
	}
	m.citations = append(m.citations, list...)
	return end
}

// bracketEnd returns where the bracket at the beginning of s is closed, in the same line: behind its end, -1 if it is not.
func bracketEnd(s string) int {
	depth := 0
	for i := 0; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
