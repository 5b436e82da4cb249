package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A style says how to set off what matters: in colour on a terminal, by signs elsewhere.
type style struct{ match, title, dim, end string }

var (
	plain  = style{match: "*", end: "*"}
	colour = style{match: "\x1b[1;33m", title: "\x1b[1m", dim: "\x1b[2m", end: "\x1b[0m"}
)

// styleFor is colour only if w is a terminal and NO_COLOR is not set.
func styleFor(w io.Writer) style {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" {
		return colour
	}
	return plain
}

// paint sets text off, if the style has something for it.
func (s style) paint(with, text string) string {
	if with == "" {
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
	line := fmt.Sprintf("%2d  %s", rank, s.paint(s.title, place))
	if where := whereIn(h); where != "" {
		line += s.paint(s.dim, "  "+where)
	}
	if h.HeadingPath != "" {
		line += s.paint(s.dim, "  "+h.HeadingPath)
	}
	fmt.Fprintln(w, line)
	for _, l := range wrap(mark(printable(h.Text, h.matches), s), 100) {
		fmt.Fprintln(w, "    "+l)
	}
	if explain {
		fmt.Fprintln(w, "    "+s.paint(s.dim, explanation(h)))
	}
	fmt.Fprintln(w)
}

func whereIn(h found) string {
	span := func(word string, first, last int) string {
		if first == last {
			return fmt.Sprintf("%s %d", word, first)
		}
		return fmt.Sprintf("%ss %d–%d", word, first, last)
	}
	switch {
	case h.FirstPage > 0:
		return span("page", h.FirstPage, h.LastPage)
	case h.FirstLine > 0:
		return span("line", h.FirstLine, h.LastLine)
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

// A piece is a stretch of text that matches or doesn't.
type piece struct {
	text  string
	match bool
}

// printable cuts text at its matches and makes blanks of what would break lines or command the terminal.
func printable(text string, matches [][2]int) (pieces []piece) {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				return ' '
			}
			return r
		}, s)
	}
	at := 0
	for _, m := range matches {
		pieces = append(pieces, piece{clean(text[at:m[0]]), false}, piece{clean(text[m[0]:m[1]]), true})
		at = m[1]
	}
	return append(pieces, piece{clean(text[at:]), false})
}

// mark joins the pieces into words, matches set off.
func mark(pieces []piece, s style) (words []word) {
	glue := false
	for _, p := range pieces {
		text := p.text
		fields := strings.Fields(text)
		for i, f := range fields {
			shown := f
			if p.match {
				shown = s.paint(s.match, f)
			}
			if i == 0 && glue && !strings.HasPrefix(text, " ") && len(words) > 0 {
				last := &words[len(words)-1]
				last.shown, last.width = last.shown+shown, last.width+len([]rune(f))
				continue
			}
			words = append(words, word{shown, len([]rune(f))})
		}
		if text != "" {
			glue = !strings.HasSuffix(text, " ")
		}
	}
	return words
}

// A word is printed as shown and takes width columns.
type word struct {
	shown string
	width int
}

// wrap sets words in lines of at most width columns.
func wrap(words []word, width int) (lines []string) {
	var line strings.Builder
	used := 0
	for _, w := range words {
		if used > 0 && used+1+w.width > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(w.shown)
		used += w.width
	}
	return append(lines, line.String())
}
