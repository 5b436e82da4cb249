package pipeline

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestPDFTables(t *testing.T) {
	prose := textPage("@700 The mill stands on a hill above~and its sails can be seen from all",
		"the village, where the wind is strong~the farms around, which brought their",
		"in winter and in spring, and weak~grain in the autumn of every year",
		"only in the weeks of the harvest~and paid the miller with a sack of it")
	for _, c := range []struct {
		name  string
		page  *rawPage
		rows  []string
		about string // Context of the last row
	}{
		{"numbers under names", textPage("Mills of the county", "", "Name~Sails~Height (m)", "Hill mill~4~12", "Lake mill~6~9", "Monks' mill~4~11", "", sentence1, sentence2),
			[]string{"Name | Sails | Height (m)", "Hill mill | 4 | 12", "Lake mill | 6 | 9", "Monks' mill | 4 | 11"}, "Name | Sails | Height (m)"},
		{"words only", textPage("cap~carries the sails", "stone~grinds the grain", "brake~stops the sails"),
			[]string{"cap | carries the sails", "stone | grinds the grain", "brake | stops the sails"}, ""},
		{"cells of several lines", textPage("Name~Owner~Built", "Hill mill~the village and~1712", "~the farms a-", "~round", "", "Lake mill~the monks~1690", "", "Old mill~nobody~1544"),
			[]string{"Name | Owner | Built", "Hill mill | the village and the farms around | 1712", "Lake mill | the monks | 1690", "Old mill | nobody | 1544"}, "Name | Owner | Built"},
		{"an empty cell", textPage("Name~Sails~Height", "Hill mill~4~12", "Lake mill~~9", "Old mill~4~11"),
			[]string{"Name | Sails | Height", "Hill mill | 4 | 12", "Lake mill | | 9", "Old mill | 4 | 11"}, "Name | Sails | Height"},
		{"two columns of prose", prose, nil, ""},
		{"two rows", textPage("Name~Sails", "Hill mill~4", "", sentence1), nil, ""},
		{"a list", textPage("1.~the cap is turned", "2.~the brake is released", "3.~the stones are let down"), nil, ""},
		{"code with line numbers", textPage("10~for sail := range sails {", "11~turn(sail)", "12~}"), nil, ""},
	} {
		d := documentOf(t, nil, c.page)
		if got := blocksText(d, TableRow); !slices.Equal(got, c.rows) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.rows)
		}
		about := ""
		for _, b := range d.Blocks {
			if b.Kind == TableRow {
				about = b.Context
			}
		}
		if about != c.about {
			t.Errorf("%s: context %q, want %q", c.name, about, c.about)
		}
	}
}

// A table goes on over the end of a page, where its columns do.
// A cell of two lines in the first row stands above and below the others.
func TestPDFTableStackedHead(t *testing.T) {
	cell := func(text string, left, bottom float32) rawLine {
		return rawLine{Text: text, Left: left, Right: left + 5*float32(len(text)), Bottom: bottom, Size: 10, Bold: bottom > 690}
	}
	p := &rawPage{Lines: []rawLine{
		cell("Zone", 72, 700), cell("Standard", 172, 700), cell("Room of", 272, 708), cell("choice", 272, 692), cell("Remark", 372, 700),
	}}
	for i, zone := range []string{"A", "B", "C", "D"} {
		y := 675 - 16*float32(i)
		p.Lines = append(p.Lines, cell(zone, 72, y), cell("2.90", 172, y), cell("57.00", 272, y), cell("by van", 372, y))
	}
	d := documentOf(t, nil, p)
	if got := blocksText(d, TableRow); len(got) != 5 || got[0] != "Zone | Standard | Room of choice | Remark" || d.Blocks[4].Context != got[0] {
		t.Errorf("rows %q, context %q", got, d.Blocks[len(d.Blocks)-1].Context)
	}
}

func TestPDFTableOverPages(t *testing.T) {
	d := documentOf(t, nil, textPage(sentence1, sentence2, sentence3, "", "Name~Sails~Height", "Hill mill~4~12", "Lake mill~6~9", "Old mill~4~11"),
		textPage("New mill~4~17", "Far mill~6~19", "Low mill~4~7", "", sentence1, sentence2, sentence3))
	rows := 0
	for _, b := range d.Blocks {
		if b.Kind == TableRow {
			if rows++; rows > 1 && b.Context != "Name | Sails | Height" {
				t.Errorf("row %q has context %q", d.Text[b.Start:b.End], b.Context)
			}
		}
	}
	if rows != 7 {
		t.Errorf("%d rows in %q", rows, blocksText(d))
	}
}

func TestPDFHeadings(t *testing.T) {
	body := []string{sentence1, sentence2, sentence3, ""}
	page := func(lines ...string) *rawPage {
		var all []string
		for _, l := range lines {
			if all = append(all, l); !strings.HasPrefix(l, "^^") {
				all = append(append(all, ""), body...)
			}
		}
		return textPage(all...)
	}
	paths := func(d *Document) (paths []string) {
		for _, b := range d.Blocks {
			if b.Kind == Heading {
				paths = append(paths, strings.Join(b.Path, " > "))
			}
		}
		return paths
	}
	for _, c := range []struct {
		name    string
		outline []outlineEntry
		pages   []*rawPage
		want    []string
	}{
		{"by size", nil, []*rawPage{page("^ Mills", "^ Sails"), page("^ Stones")}, []string{"Mills", "Sails", "Stones"}},
		{"not a sentence", nil, []*rawPage{page("^ It stood still.", "^ and so on", "^ Figure 3 of a mill")}, nil},
		{"by outline", []outlineEntry{{"1 Mills", 1, 1, 0}, {"1.1 Sails", 2, 1, 0}, {"Stones", 1, 2, 0}, {"Elsewhere", 1, 2, 0}},
			[]*rawPage{page("1. Mills", "Sails"), page("CHAPTER TWO: Stones")}, []string{"1. Mills", "1. Mills > Sails", "CHAPTER TWO: Stones"}},
		{"outline of another file", []outlineEntry{{"Cheese", 1, 1, 0}, {"Wine", 1, 9, 0}, {"Beer", 1, -1, 0}}, []*rawPage{page("^ Mills", "^ Sails")}, []string{"Mills", "Sails"}},
	} {
		d := documentOf(t, c.outline, c.pages...)
		if got := paths(d); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		for _, b := range d.Blocks {
			if b.Kind == Paragraph && len(c.want) > 0 && len(b.Path) == 0 {
				t.Errorf("%s: %q is under no heading", c.name, d.Text[b.Start:b.End])
			}
		}
	}
}

func TestPDFHeadingsInBold(t *testing.T) {
	bold := func(text string, page *rawPage) *rawPage {
		for i := range page.Lines {
			if page.Lines[i].Text == text {
				page.Lines[i].Bold = true
			}
		}
		return page
	}
	for _, c := range []struct {
		name string
		page *rawPage
		want []string
	}{
		{"above text", bold("Sails", textPage(sentence1, sentence2, sentence3, "", "Sails", "", sentence1, sentence2)), []string{"Sails"}},
		{"label of a form", bold("Sails", textPage(sentence1, sentence2, sentence3, "", "Sails", "", "four")), nil},
		{"all is bold", bold(sentence1, textPage(sentence1)), nil},
	} {
		if got := blocksText(documentOf(t, nil, c.page), Heading); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPDFTitle(t *testing.T) {
	for _, c := range []struct {
		name string
		page *rawPage
		want string
	}{
		{"largest", textPage("^ Mills of the county", "", sentence1, sentence2, sentence3), "Mills of the county"},
		{"two as large", textPage("^ Mills of the county", "", sentence1, sentence2, "", "^ Their sails", "", sentence3), ""},
		{"after text", textPage(sentence1, sentence2, sentence3, "", "^ Mills of the county"), ""},
		{"a numbered part", textPage("^ 1. Mills of the county", "", sentence1, sentence2, sentence3), ""},
	} {
		if got := documentOf(t, nil, c.page).Meta.Title; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPDFLists(t *testing.T) {
	page := textPage(sentence1, sentence2, sentence3, "", "• the cap", "~- of oak", "~- of iron", "• the brake, which is", "of poplar", "", sentence1)
	d := documentOf(t, nil, page)
	var got []string
	for _, b := range d.Blocks {
		if b.Kind == ListItem {
			got = append(got, strings.Repeat(">", b.Level)+d.Text[b.Start:b.End])
		}
	}
	if want := []string{">• the cap", ">>- of oak", ">>- of iron", ">• the brake, which is of poplar"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Places come from a process that a file may have taken over: whatever they are, a document is made.
func TestPDFStrangePlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	places := []float32{0, 0, 1, -1, 10, 12, 72, 72, 300, 540, 700, 712, 724, 1e-30, 1e9, -1e9, math.MaxFloat32, -math.MaxFloat32}
	texts := []string{"a", "-", "Some words of a line", "and goes on-", "1", "2", "12.5", "• item", "1. First", "HEAD", "是の", "שלום", "x y", "Total 5 6 7"}
	place := func() float32 { return places[random.IntN(len(places))] }
	for range 3000 {
		var pages []*rawPage
		for range 1 + random.IntN(5) {
			p := &rawPage{}
			for range random.IntN(40) {
				l := rawLine{Text: texts[random.IntN(len(texts))], Left: place(), Right: place(), Bottom: place(), Size: place(), Bold: random.IntN(4) == 0}
				if random.IntN(2) == 0 {
					l.Size, l.Left, l.Right = 10, 72, 72+place()
				}
				p.Lines = append(p.Lines, l)
			}
			pages = append(pages, p)
		}
		f := &pdfFile{pages: finishPages(context.Background(), pages), raw: pages, outline: []outlineEntry{{"HEAD", 1, 1, place()}, {"1. First", 9, 2, place()}, {"a", -1, 99, 0}}}
		d := f.document(context.Background(), true)
		at := 0
		for _, b := range d.Blocks {
			if b.Start < at || b.End <= b.Start || b.End > len(d.Text) || strings.TrimSpace(d.Text[at:b.Start]) != "" {
				t.Fatalf("block %d to %d after %d", b.Start, b.End, at)
			}
			at = b.End
		}
		for i, s := range d.Segments {
			if s.Start >= len(d.Text) || s.Page < 1 || s.Page > len(pages) || i > 0 && s.Page <= d.Segments[i-1].Page {
				t.Fatalf("segment %d is %v", i, s)
			}
		}
	}
}

// Laying pages out ends with its time.
func TestPDFLayoutEnds(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	pages := finishPages(over, []*rawPage{{Lines: []rawLine{{Text: "words", Right: 9, Size: 9}}}, {Images: 1}})
	for _, p := range pages {
		if p.Verdict != Failed || p.Reason != tooLongToLayOut || p.Text != "" {
			t.Errorf("%+v", p)
		}
	}
}
