package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// An escaper writes text in which nothing commands a terminal: documents and artifacts may come from anybody. Each
// Write must hold whole characters.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.w, visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// visible writes control characters (C0 but line feed and tab, DEL, C1) and those that turn the direction of text as
// \u and four digits, which in JSON means the same character, and makes U+FFFD of what is not UTF-8.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// oneLine is visible for what belongs on one line, such as a path.
func oneLine(s string) string { return visible(strings.Join(strings.Fields(s), " ")) }

// writeJSON writes a value, indented if it is for people too.
func writeJSON(w io.Writer, value any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(value)
}

// A style says how to set off what matters, and how wide lines are.
type style struct {
	match, title, dim, end string
	width                  int
}

const plainWidth = 100

var (
	plain  = style{match: "*", end: "*", width: plainWidth}
	colour = style{match: "\x1b[1;33m", title: "\x1b[1m", dim: "\x1b[2m", end: "\x1b[0m", width: plainWidth}
)

// colourTerminal returns w if it is a terminal that may show colours, else nil.
func colourTerminal(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" {
		return f
	}
	return nil
}

// styled returns where to print hits, and in which style.
func (e *environment) styled() (io.Writer, style) {
	if e.terminal == nil {
		return e.out, plain
	}
	s := colour
	if width, _, err := term.GetSize(int(e.terminal.Fd())); err == nil && width > 0 {
		s.width = min(max(width, 40), 120)
	}
	return e.terminal, s
}

// paint sets text off, if the style has something for it.
func (s style) paint(with, text string) string {
	if with == "" || text == "" {
		return text
	}
	return with + text + s.end
}

// printHit prints one result: where it is from, its text, and how it was found.
func printHit(w io.Writer, s style, rank int, h found, withBase, explain bool) {
	place := h.Path
	if withBase {
		place = h.Base + "/" + place
	}
	if h.Anchor != "" {
		place += "#" + h.Anchor
	}
	line := fmt.Sprintf("%2d  %s", rank, s.paint(s.title, oneLine(place)))
	if where := whereIn(h); where != "" {
		line += s.paint(s.dim, "  "+where)
	}
	if h.HeadingPath != "" {
		line += s.paint(s.dim, "  "+oneLine(h.HeadingPath))
	}
	fmt.Fprintln(w, line)
	for _, l := range s.lines(h.Text, h.matches, s.width-4) {
		fmt.Fprintln(w, "    "+l)
	}
	if explain {
		fmt.Fprintln(w, "    "+s.paint(s.dim, explanation(h)))
	}
	fmt.Fprintln(w)
}

func whereIn(h found) string {
	span := func(word, first, last string) string {
		if first == last {
			return word + " " + first
		}
		return word + "s " + first + "–" + last
	}
	switch {
	case h.FirstPage > 0:
		return span("page", cmp.Or(h.FirstLabel, strconv.Itoa(h.FirstPage)), cmp.Or(h.LastLabel, strconv.Itoa(h.LastPage)))
	case h.FirstLine > 0:
		return span("line", strconv.Itoa(h.FirstLine), strconv.Itoa(h.LastLine))
	}
	return ""
}

func explanation(h found) string {
	parts := []string{fmt.Sprintf("score %.4f", h.Score)}
	if h.Cosine != nil {
		parts = append(parts, fmt.Sprintf("cosine %.3f", *h.Cosine))
	}
	if h.MeaningRank > 0 {
		parts = append(parts, fmt.Sprintf("meaning rank %d", h.MeaningRank))
	}
	if h.KeywordRank > 0 {
		parts = append(parts, fmt.Sprintf("BM25 %.2f, keyword rank %d", h.BM25, h.KeywordRank))
	}
	return strings.Join(append(parts, "chunk "+h.ChunkID), "; ")
}

// lines sets text in lines of at most width columns, matches (bytes of text) set off. Each line of the text begins a
// line, indented as it is; empty ones are left out. A word that is longer than a line gets one of its own.
func (s style) lines(text string, matches [][2]int, width int) (lines []string) {
	at := 0
	for line := range strings.Lines(text) {
		lines = append(lines, s.wrap(text, at, at+len(line), matches, width)...)
		at += len(line)
	}
	return lines
}

// wrap does what lines does for the one line text[at:end].
func (s style) wrap(text string, at, end int, matches [][2]int, width int) (lines []string) {
	indent, line, used := "", "", 0
	for at < end {
		word := at + skip(text[at:end], unicode.IsSpace)
		next := word + skip(text[word:end], func(r rune) bool { return !unicode.IsSpace(r) })
		if word == next {
			break // blanks at the end of the line
		}
		gap, columns := blanks(text[at:word]), utf8.RuneCountInString(visible(text[word:next]))
		switch {
		case line == "" && len(lines) == 0:
			indent = gap[:min(len(gap), width/2)]
			line, used = indent, len(indent)
		case used > len(indent) && used+len(gap)+columns > width:
			lines = append(lines, line)
			line, used = indent, len(indent)
		default:
			line, used = line+gap, used+len(gap)
		}
		line, used = line+s.mark(text, word, next, matches), used+columns
		at = next
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// skip counts the bytes at the beginning of s whose characters are such.
func skip(s string, such func(rune) bool) int {
	for i, r := range s {
		if !such(r) {
			return i
		}
	}
	return len(s)
}

// blanks makes spaces of white space, four of a tab.
func blanks(s string) string {
	n := 0
	for _, r := range s {
		if n++; r == '\t' {
			n += 3
		}
	}
	return strings.Repeat(" ", n)
}

// mark returns text[at:end] with its matches set off.
func (s style) mark(text string, at, end int, matches [][2]int) string {
	var b strings.Builder
	for _, m := range matches {
		from, to := max(m[0], at), min(m[1], end)
		if from >= to {
			continue
		}
		b.WriteString(visible(text[at:from]) + s.paint(s.match, visible(text[from:to])))
		at = to
	}
	return b.String() + visible(text[at:end])
}
