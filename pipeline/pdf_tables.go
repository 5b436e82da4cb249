package pipeline

import (
	"unicode/utf8"
)

// A pdfTable is a table found by its columns.
type pdfTable struct{}

// A pdfRow is a row of a table; it may have several lines.
type pdfRow struct {
	table  *pdfTable
	header bool
}

func (r *pdfRow) text(seen *vocabulary) string { return "" }

func markTables(pages [][]*pdfLine) {}

// cellGap is the gap from which parts of a line stand apart, in heights of the text.
const cellsApart = 0.9

// cellsOf returns what stands apart on each of lines, which are joined from pieces: nil for a line of one part.
func cellsOf(lines, pieces []rawLine) [][]rawLine {
	cells := make([][]rawLine, len(lines))
	at := 0
	for i, l := range lines {
		want := letters(l.Text)
		var parts []rawLine
		for have := 0; have < want && at < len(pieces); at++ {
			p := pieces[at]
			have += letters(p.Text)
			if n := len(parts) - 1; n >= 0 && p.Left-parts[n].Right < cellsApart*max(p.Size, parts[n].Size) {
				parts[n] = joinPieces([]rawLine{parts[n], p})[0]
				continue
			}
			parts = append(parts, p)
		}
		if len(parts) > 1 {
			cells[i] = parts
		}
	}
	return cells
}

// letters counts the characters of text that are no blanks.
func letters(text string) int {
	n := utf8.RuneCountInString(text)
	for _, c := range text {
		if c == ' ' {
			n--
		}
	}
	return n
}
