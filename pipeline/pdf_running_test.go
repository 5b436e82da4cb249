package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// textPage returns a page with lines from the top, 14 points apart and 10 high; "^ " before a line makes it 18 high,
// "@n " puts it n points above the page's bottom, and "~" between parts of a line sets them apart. An empty line is a gap.
func textPage(lines ...string) *rawPage {
	p := &rawPage{}
	bottom := float32(720)
	for _, l := range lines {
		bottom -= 14
		size := float32(10)
		if rest, ok := strings.CutPrefix(l, "^ "); ok {
			l, size = rest, 18
			bottom -= 10
		}
		if strings.HasPrefix(l, "@") {
			at, rest, _ := strings.Cut(l[1:], " ")
			fmt.Sscan(at, &bottom)
			l = rest
		}
		left := float32(72)
		for i, part := range strings.Split(l, "~") {
			if i > 0 {
				left += 120
			}
			if part != "" {
				p.Lines = append(p.Lines, rawLine{Text: part, Left: left, Right: left + 0.5*size*float32(len(part)), Bottom: bottom, Size: size})
			}
		}
	}
	return p
}

func documentOf(t *testing.T, outline []outlineEntry, pages ...*rawPage) *Document {
	t.Helper()
	f := &pdfFile{pages: finishPages(context.Background(), pages), raw: pages, outline: outline}
	d := f.document(context.Background(), false)
	d.Verdict = OK
	checkPDFDocument(t, t.Name(), d)
	return d
}

func blocksText(d *Document, kinds ...BlockKind) (texts []string) {
	for _, b := range d.Blocks {
		if len(kinds) == 0 || slices.Contains(kinds, b.Kind) {
			texts = append(texts, d.Text[b.Start:b.End])
		}
	}
	return texts
}

const (
	sentence1 = "The sails of a mill are turned into the wind by the"
	sentence2 = "cap, which runs on a track of oak and is moved with a"
	sentence3 = "winch that stands behind the mill on the ground."
)

func TestPDFRunningLines(t *testing.T) {
	var numbered, changing, alternate, slides, table, short, numbersOnly, tiny, roman []*rawPage
	parts := []string{"Sails", "Caps", "Stones", "Brakes", "Sacks", "Wages"}
	for i := 1; i <= 6; i++ {
		own := fmt.Sprintf("On day %d of the year it stood still for want of wind.", 7*i)
		body := []string{[]string{sentence1, sentence2, sentence3}[i%3], []string{sentence2, sentence3, sentence1}[i%3], own, sentence3[i:]}
		page := func(first string, last string) *rawPage {
			return textPage(append(append([]string{"@760 " + first, "@720 " + body[0]}, body[1:]...), "@40 "+last)...)
		}
		numbered = append(numbered, page("Mills and their millers", fmt.Sprintf("- %d -", i)))
		changing = append(changing, page(fmt.Sprintf("%d %s", 20+i, parts[i-1]), "No. 4 of the series"))
		even := []string{"Mills and their millers", "By A. Miller"}
		alternate = append(alternate, page(even[i%2], fmt.Sprint(i)))
		slides = append(slides, textPage(append([]string{"^ Why mills turn", ""}, body...)...))
		table = append(table, textPage("Name~Sails~Height", fmt.Sprintf("Mill %d~four~12 m", i*i), fmt.Sprintf("Mill %d~six~%d m", 30-i*i, i), parts[i-1]+"~four~9 m"))
		numbersOnly = append(numbersOnly, textPage("@760 Height", "@300 "+own, fmt.Sprintf("@40 %d", i*i*7)))
		tiny = append(tiny, textPage(fmt.Sprintf("Page %d", i)))
		roman = append(roman, page("Mills", []string{"iii", "iv", "v", "vi", "vii", "viii"}[i-1]))
		if i <= 2 {
			short = append(short, page("Mills and their millers", fmt.Sprint(i)))
		}
	}
	for _, c := range []struct {
		name  string
		pages []*rawPage
		want  []string // of the third page
	}{
		{"header and number", numbered, []string{"Mills and their millers", "- 3 -"}},
		{"words change beside the number", changing, []string{"23 Stones", "No. 4 of the series"}},
		{"odd and even pages", alternate, []string{"By A. Miller", "3"}},
		{"roman numbers", roman, []string{"Mills", "v"}},
		{"titles of slides", slides, nil},
		{"header of a table", table, nil},
		{"numbers that do not count pages", numbersOnly, []string{"Height"}},
		{"pages of one line", tiny, nil},
	} {
		d := documentOf(t, nil, c.pages...)
		if got := d.Pages[2].Running; !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		n := 0
		for _, p := range d.Pages {
			n += len(p.Running)
		}
		if d.LeftOut[leftRunning] != n {
			t.Errorf("%s: %d left out, %d are running", c.name, d.LeftOut[leftRunning], n)
		}
	}
	if d := documentOf(t, nil, short...); d.LeftOut[leftRunning] != 0 {
		t.Errorf("two pages: %v", d.LeftOut)
	}
}

// A paragraph goes on over the footer and the header between its halves, and a hyphen at the page's end goes.
func TestPDFParagraphOverPages(t *testing.T) {
	var pages []*rawPage
	for i := 1; i <= 4; i++ {
		pages = append(pages, textPage("@760 Mills and their millers", "@720 in the yard stands the millstone of the old mill, the cel-", "@692 "+sentence1[i:], sentence2[i:], "It was long kept in the cel-", fmt.Sprintf("@40 %d", i)))
	}
	for i, p := range pages {
		p.Lines[1].Text = "lar, beside the " + []string{"cider", "wine", "wheat and the old stones", "tools"}[i] + ". The cellar is dry and has a door."
	}
	pages[0].Lines[1].Text = "The cellar of the mill is dry and has a door to the yard."
	d := documentOf(t, nil, pages...)
	want := "It was long kept in the cellar, beside the "
	if got := strings.Count(d.Text, want); got != 3 {
		t.Errorf("found %d times in\n%s", got, d.Text)
	}
	at := strings.Index(d.Text, want) + len("It was long kept in the cel")
	if i := d.segment(at); d.Segments[i].Start != at || d.Segments[i].Page != 2 {
		t.Errorf("segments %v, want one at %d", d.Segments, at)
	}
}

func TestPDFLineNumbers(t *testing.T) {
	var pages []*rawPage
	for i := range 4 {
		p := textPage()
		for n := 1; n <= 12; n++ {
			y := 720 - 24*float32(n)
			p.Lines = append(p.Lines, rawLine{Text: fmt.Sprintf("line %d says %d new things.", n, i*i*n), Left: 72, Right: 300, Bottom: y, Size: 10})
		}
		for n := 1; n <= 12; n++ {
			y := 712 - 24*float32(n)
			p.Lines = append(p.Lines, rawLine{Text: fmt.Sprint(n), Left: 30, Right: 36, Bottom: y, Size: 10})
		}
		pages = append(pages, p)
	}
	if d := documentOf(t, nil, pages...); d.LeftOut[leftRunning] != 48 {
		t.Errorf("%v", d.LeftOut)
	}
}

func TestRoman(t *testing.T) {
	for s, want := range map[string]int{"i": 1, "iv": 4, "xviii": 18, "xcix": 99, "iiii": 0, "vx": 0, "civil": 0, "mix": 0, "": 0, "mild": 0} {
		if got := roman(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
}

func TestPDFHyphens(t *testing.T) {
	seen := wordsOf([]*rawPage{textPage("a well-known mill", "understands the data of a base and costs effects", "third party rules")})
	for _, c := range []struct {
		before, after string
		want          joint
	}{
		{"the well-", "known mill", hardHyphen},
		{"he under-", "standing it", softHyphen},
		{"of third-", "party rules", hardHyphen},
		{"the mil-", "ler", softHyphen},
		{"in Baden-", "Baden", hardHyphen},
		{"from 3-", "4 days", hardHyphen},
		{"the mill -", "or so", spacedLines},
		{"the mil\u2010", "ler", softHyphen},
		{"the", "mill", spacedLines},
		{"返品は", "三十日", gluedLines},
		{"ภาษา", "ไทย", gluedLines},
	} {
		if got := lineEnd(c.before, c.after, seen); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.before, c.after, got, c.want)
		}
	}
}
