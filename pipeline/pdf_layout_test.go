package pipeline

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// typed returns the glyphs of a line of text on the baseline y, each half of size wide, blanks included.
func typed(text string, x, y, size float32) []glyph {
	return spacedOut(text, x, y, size, 0)
}

// spacedOut is typed with a gap after each glyph.
func spacedOut(text string, x, y, size, gap float32) []glyph {
	var out []glyph
	for _, c := range text {
		w := size / 2
		if c >= 0x3000 && c < 0xA000 {
			w = size
		}
		out = append(out, glyph{c: c, l: x, r: x + w, b: y - 0.2*size, t: y + 0.9*size})
		x += w + gap
	}
	return out
}

// without leaves the blanks out: only gaps are left of them.
func without(glyphs []glyph) []glyph {
	var out []glyph
	for _, g := range glyphs {
		if g.c != ' ' {
			out = append(out, g)
		}
	}
	return out
}

// fromRight returns a line of a script written from right to left, its end at x, its glyphs in logical order.
func fromRight(text string, x, y, size float32) []glyph {
	var out []glyph
	for _, c := range text {
		out = append(out, glyph{c: c, l: x - size/2, r: x, b: y - 0.2*size, t: y + 0.9*size})
		x -= size / 2
	}
	return out
}

// rotated turns glyphs by a number of right angles around the origin, clockwise.
func rotated(glyphs []glyph, turn uint8) []glyph {
	var out []glyph
	for _, g := range glyphs {
		for range turn {
			g.l, g.b, g.r, g.t = g.b, -g.r, g.t, -g.l
		}
		g.turn = turn
		out = append(out, g)
	}
	return out
}

func paragraph(x, y, size float32, lines ...string) []glyph {
	var out []glyph
	for i, l := range lines {
		out = append(out, typed(l, x, y-1.2*size*float32(i), size)...)
	}
	return out
}

func glyphsOf(parts ...[]glyph) []glyph {
	var out []glyph
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestLayout(t *testing.T) {
	left := []string{"the first column is read down", "to its end before the eyes go", "up to where the second column", "begins, as in any newspaper."}
	right := []string{"The second column stands to the", "right of the first, and nobody", "reads across the gap, whatever", "order a program draws lines in."}
	var across []glyph
	for i := range left {
		across = append(across, glyphsOf(typed(left[i], 50, 700-12*float32(i), 10), typed(right[i], 230, 700-12*float32(i), 10))...)
	}
	columns := strings.Join(left, "|") + "|" + strings.Join(right, "|")
	cases := []struct {
		name   string
		glyphs []glyph
		want   string // lines, "|" between them
	}{
		{"blanks of the file", typed("two words", 50, 700, 10), "two words"},
		{"gaps alone", without(typed("three small words", 50, 700, 10)), "three small words"},
		{"blanks that the next glyph covers", glyphsOf(typed("na", 50, 700, 10), []glyph{{c: ' ', l: 60, r: 62.5, b: 698, t: 709}}, typed("tive", 60.1, 700, 10)), "native"},
		{"kerned letters", glyphsOf(typed("T", 50, 700, 10), typed("o", 54, 700, 10), []glyph{{c: ' ', l: 59, r: 61.5, b: 698, t: 709}}, typed("do", 61.4, 700, 10)), "To do"},
		{"letters apart", without(spacedOut("LETTER SPACED", 50, 700, 10, 2)), "LETTER SPACED"},
		{"digits apart are numbers", without(typed("1 2 3 4", 50, 700, 10)), "1 2 3 4"},
		{"two lines", paragraph(50, 700, 10, "First", "second"), "First|second"},
		{"lines drawn bottom up", glyphsOf(typed("second", 50, 688, 10), typed("First", 50, 700, 10)), "First|second"},
		{"columns", glyphsOf(paragraph(50, 700, 10, left...), paragraph(230, 700, 10, right...)), columns},
		{"right column drawn first", glyphsOf(paragraph(230, 700, 10, right...), paragraph(50, 700, 10, left...)), columns},
		{"columns drawn row by row", across, columns},
		{"heading over columns drawn last", glyphsOf(paragraph(230, 700, 10, right...), paragraph(50, 700, 10, left...), typed("A heading over both of the columns there", 50, 730, 14)),
			"A heading over both of the columns there|" + columns},
		{"table row by row", glyphsOf(
			typed("Size", 50, 700, 10), typed("Price", 200, 700, 10), typed("Days", 300, 700, 10),
			typed("small", 50, 688, 10), typed("10", 200, 688, 10), typed("2", 300, 688, 10),
			typed("medium", 50, 676, 10), typed("12", 200, 676, 10), typed("3", 300, 676, 10),
			typed("large", 50, 664, 10), typed("15", 200, 664, 10), typed("5", 300, 664, 10)),
			"Size|Price|Days|small|10|2|medium|12|3|large|15|5"},
		{"labels beside text", glyphsOf(typed("One", 50, 700, 10), paragraph(120, 700, 10, "what is said of the first", "goes on for two lines"), typed("Two", 50, 660, 10), paragraph(120, 660, 10, "what is said of the second")),
			"One|what is said of the first|goes on for two lines|Two|what is said of the second"},
		{"bold as letters drawn twice", glyphsOf(typed("B", 50, 700, 10), typed("B", 50.3, 700, 10), typed("e", 55, 700, 10), typed("e", 55.3, 700, 10)), "Be"},
		{"bold as a line drawn twice", glyphsOf(typed("Bold words", 50, 700, 10), typed("Bold words", 50.4, 700, 10)), "Bold words"},
		{"double letters", typed("bookkeeper's wool", 50, 700, 10), "bookkeeper's wool"},
		{"ligature of two characters in one place", glyphsOf(typed("e", 50, 700, 10), []glyph{{c: 'f', l: 55, r: 60, b: 698, t: 709}, {c: 'f', l: 55, r: 60, b: 698, t: 709}}, typed("ort", 60, 700, 10)), "effort"},
		{"accent before its letter", glyphsOf(typed("caf", 50, 700, 10), []glyph{{c: '´', l: 65, r: 70, b: 698, t: 709}}, typed("e", 65, 700, 10)), "café"},
		{"accent after its letter", glyphsOf(typed("na", 50, 700, 10), typed("ı", 60, 700, 10), []glyph{{c: '¨', l: 60, r: 65, b: 698, t: 709}}, typed("ve", 65, 700, 10)), "naïve"},
		{"raised number in a word", glyphsOf(typed("word", 50, 700, 10), typed("2", 70, 704, 6), typed(" goes on", 73, 700, 10)), "word2 goes on"},
		{"mark of a footnote", glyphsOf(typed("1", 50, 704, 6), typed("The note", 53, 700, 10)), "1 The note"},
		{"initial", glyphsOf(typed("O", 50, 682, 30), typed("nce upon a time", 66, 700, 10), typed("there was a text", 66, 688, 10), typed("with a large letter", 66, 676, 10)),
			"Once upon a time|there was a text|with a large letter"},
		{"page turned", rotated(paragraph(50, 700, 10, "turned to", "the side"), 3), "turned to|the side"},
		{"page upside down", rotated(paragraph(50, 700, 10, "upside", "down"), 2), "upside|down"},
		{"label at the side", glyphsOf(rotated(typed("label", 100, 20, 10), 3), paragraph(50, 700, 10, "Some text", "and more")), "Some text|and more|label"},
		{"vertical writing", []glyph{
			{c: '縦', l: 200, r: 210, b: 690, t: 700}, {c: '書', l: 200, r: 210, b: 680, t: 690}, {c: 'き', l: 200, r: 210, b: 670, t: 680},
			{c: '二', l: 180, r: 190, b: 690, t: 700}, {c: '行', l: 180, r: 190, b: 680, t: 690}, {c: '目', l: 180, r: 190, b: 670, t: 680},
		}, "縦書き|二行目"},
		{"no blanks between ideographs", spacedOut("東京都", 50, 700, 10, 3), "東京都"},
		{"from right to left", fromRight("שלום עולם", 300, 700, 10), "שלום עולם"},
		{"number in a line from right to left", glyphsOf(fromRight("טלפון: ", 300, 700, 10), typed("050-123", 230, 700, 10)), "טלפון: 050-123"},
		{"brackets as seen", glyphsOf(fromRight("ישראל ", 300, 700, 10), typed("(2024)", 240, 700, 10)), "ישראל (2024)"},
		{"brackets as meant", glyphsOf(fromRight("ישראל ", 300, 700, 10), typed(")2024(", 240, 700, 10)), "ישראל (2024)"},
		{"Latin word in a line from right to left", glyphsOf(fromRight("קובץ ", 300, 700, 10), typed("PDF", 260, 700, 10), fromRight(" טוב", 260, 700, 10)), "קובץ PDF טוב"},
		{"lam and alef the wrong way round", []glyph{{c: 'أ', l: 50, r: 60, b: 698, t: 709}, {c: 'ل', l: 50, r: 60, b: 698, t: 709}}, "لأ"},
		{"control characters stand between words", typed("one\x03two", 50, 700, 10), "one \x03 two"},
		{"without a place", []glyph{{c: 'n', lost: true}, {c: 'o', lost: true}, {c: '\r', lost: true}, {c: '\n', lost: true}, {c: 'x', lost: true}}, "no|x"},
		{"blanks that the engine guesses", glyphsOf(typed("word", 50, 700, 10), []glyph{{c: ' ', lost: true}}, typed("s", 70, 700, 10)), "words"},
		{"nothing", nil, ""},
	}
	for _, c := range cases {
		var got []string
		for _, l := range layoutGlyphs(c.glyphs) {
			got = append(got, l.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// Whatever stands wherever: every character comes once, except those drawn twice, and lines have places.
func TestLayoutKeepsCharacters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcXYZ019 .,-()אבגسلا日本語´¨\u0301\x03")
	for range 300 {
		var glyphs []glyph
		want := map[rune]int{}
		for range r.IntN(120) {
			g := glyph{c: letters[r.IntN(len(letters))], turn: uint8(r.IntN(8) & r.IntN(8) & 3), skew: r.IntN(20) == 0}
			g.l, g.b = float32(r.IntN(400)), float32(r.IntN(40))*12
			g.r, g.t = g.l+float32(r.IntN(12)), g.b+1+float32(r.IntN(20))
			glyphs = append(glyphs, g)
			want[g.c]++
		}
		for _, l := range layoutGlyphs(glyphs) {
			if l.Size <= 0 || l.Right < l.Left {
				t.Fatalf("line %q has no place: %+v", l.Text, l)
			}
			for _, c := range l.Text {
				want[c]--
			}
		}
		for _, c := range "XYZ019" {
			if want[c] < 0 {
				t.Fatalf("%q comes %d times too often", c, -want[c])
			}
		}
	}
}

func TestVisibleGlyphs(t *testing.T) {
	on, off := typed("on", 50, 700, 10), typed("off", 5000, 700, 10)
	if got := visibleGlyphs(glyphsOf(on, off), 0, 0, 612, 792); len(got) != len(on) {
		t.Errorf("%d glyphs of %d on the page are left", len(got), len(on))
	}
	if got := visibleGlyphs(off, 0, 0, 612, 792); len(got) != len(off) {
		t.Error("a page whose box is wrong loses its text")
	}
}

func TestJoinPieces(t *testing.T) {
	piece := func(text string, left, right, bottom float32) rawLine {
		return rawLine{Text: text, Left: left, Right: right, Bottom: bottom, Size: 10}
	}
	cases := []struct {
		name   string
		pieces []rawLine
		want   string
	}{
		{"cells of a row", []rawLine{piece("a", 50, 60, 700), piece("b", 100, 110, 700)}, "a b"},
		{"touching", []rawLine{piece("a", 50, 60, 700), piece("b", 60.5, 70, 700)}, "ab"},
		{"two lines", []rawLine{piece("a", 50, 60, 700), piece("b", 50, 60, 688)}, "a|b"},
		{"back to the left", []rawLine{piece("a", 100, 110, 700), piece("b", 50, 60, 700)}, "a|b"},
		{"from right to left", []rawLine{piece("א", 100, 110, 700), piece("ב", 50, 60, 700)}, "א ב"},
		{"without a place", []rawLine{{Text: "a"}, piece("b", 50, 60, 700)}, "a|b"},
	}
	for _, c := range cases {
		var got []string
		for _, l := range joinPieces(c.pieces) {
			got = append(got, l.Text)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}

func TestBoldFont(t *testing.T) {
	for name, want := range map[string]bool{
		"Helvetica-Bold": true, "ABCDEF+Arial,BoldItalic": true, "AAAAAA+CMBX12": true, "SFBX1000": true, "NimbusRomNo9L-Medi": true,
		"Helvetica": false, "CMR10": false, "NotoSans-DemiLight": false, "Medium": false, "": false,
	} {
		if got := boldFont(name); got != want {
			t.Errorf("%s: bold %v", name, got)
		}
	}
}
