package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pdfCase is a file of one feature or one fault, and what a reader has to make of it: the verdict, then each page
// as its verdict, or as its text in quotes if it is ok, after its label if it has one. White space is single blanks:
// lines and paragraphs are not what is tried here.
type pdfCase struct {
	name string
	want string
	data func(t *testing.T) []byte
}

// A pdfDeviation is what an engine makes of a case instead, and why that is so.
type pdfDeviation struct{ got, why string }

var pdfCases = []pdfCase{
	// Pages and their verdicts.
	{"text", `ok "Returns are accepted within thirty days of delivery, with the receipt. Refunds are paid within a week."`, func(*testing.T) []byte {
		return newPDFWriter().page(lines("Returns are accepted within thirty days of", "delivery, with the receipt.", "", "Refunds are paid within a week.")).bytes()
	}},
	{"two pages", `ok "This sentence begins here and" "ends on the second page."`, func(*testing.T) []byte {
		return newPDFWriter().page(lines("This sentence begins here and")).page(lines("ends on the second page.")).bytes()
	}},
	{"blank page between", `ok "One." blank "Three."`, func(*testing.T) []byte {
		return newPDFWriter().page(lines("One.")).page("").page(lines("Three.")).bytes()
	}},
	{"only blank pages", `blank blank blank`, func(*testing.T) []byte { return newPDFWriter().page("").page("0 0 m 9 9 l S").bytes() }},
	{"only images", `scanned scanned scanned`, func(*testing.T) []byte {
		return newPDFWriter().page("q 600 0 0 700 0 0 cm /Im Do Q").page("/Im Do").bytes()
	}},
	{"image among text", `scanned "One." scanned`, func(*testing.T) []byte { return newPDFWriter().page(lines("One.")).page("/Im Do").bytes() }},
	{"inline image", `ok "Before. After."`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td (Before.) Tj ET q 9 0 0 9 300 300 cm BI /W 4 /H 4 /BPC 8 /CS /G ID (Tj EI\x00\xff) EI \x01)( EI Q BT /F1 12 Tf 136 700 Td (After.) Tj ET").bytes()
	}},
	{"page labels", `ok i:"Preface." ii:"Contents." A-7:"Appendix."`, func(*testing.T) []byte {
		w := newPDFWriter().page(lines("Preface.")).page(lines("Contents.")).page(lines("Appendix."))
		w.objects[0] = "<< /Type /Catalog /Pages 2 0 R /PageLabels << /Nums [0 << /S /r >> 2 << /S /D /P (A-) /St 7 >>] >> >>"
		return w.bytes()
	}},

	// Encodings.
	{"windows and mac", "ok \"Zoë’s café – 5 € Zoë’s café – 5\"", func(*testing.T) []byte {
		w := newPDFWriter()
		fonts := w.courier("FM", "/Encoding /MacRomanEncoding")
		return w.pageWith("BT /F1 12 Tf 72 720 Td (Zo\xeb\x92s caf\xe9 \x96 5 \x80) Tj 0 -14 Td /FM 12 Tf (Zo\x91\xd5s caf\x8e \xd0 5) Tj ET", fonts, "", "").bytes()
	}},
	{"differences", "ok \"Łódź and Ёлка, naïve\"", func(*testing.T) []byte {
		w := newPDFWriter()
		fonts := w.courier("FD", "/Encoding << /Type /Encoding /Differences [1 /Lslash /oacute /d /zacute 16 /afii10023 /afii10077 /afii10076 /uni0430 20 /idieresis] >>")
		return w.pageWith("BT /FD 12 Tf 72 720 Td (\\001\\002\\003\\004 and \\020\\021\\022\\023, na\\024ve) Tj ET", fonts, "", "").bytes()
	}},
	{"to unicode", `ok "Привет, мир"`, func(*testing.T) []byte {
		w := newPDFWriter()
		m := w.add(stream("", characterMap("<00> <FF>", "2 beginbfchar <41> <041F> <42> <0440> endbfchar 2 beginbfrange <43> <46> [<0438> <0432> <0435> <0442>] <61> <62> <043C> endbfrange\n1 beginbfchar <63> <0440> endbfchar 1 beginbfrange <20> <2C> <0020> endbfrange 1 beginbfchar <62> <0438> endbfchar")))
		fonts := w.courier("FU", fmt.Sprintf("/Encoding /WinAnsiEncoding /ToUnicode %d 0 R", m))
		return w.pageWith("BT /FU 12 Tf 72 720 Td (ABCDEF, abc) Tj ET", fonts, "", "").bytes()
	}},
	{"identity-h", `ok "glyphs by number"`, func(*testing.T) []byte {
		w := newPDFWriter()
		fonts := w.composite("FI", "1 beginbfrange <0003> <0060> <0020> endbfrange")
		return w.pageWith("BT /FI 12 Tf 72 720 Td <"+codesOf("glyphs by number", 29)+"> Tj ET", fonts, "", "").bytes()
	}},
	{"identity-h without a map", `garbled garbled`, func(*testing.T) []byte {
		w := newPDFWriter()
		fonts := w.composite("FI", "")
		return w.pageWith("BT /FI 12 Tf 72 720 Td <"+codesOf("nobody knows these letters", 29)+"> Tj ET", fonts, "", "").bytes()
	}},
	{"surrogates", `ok "a𝒜b"`, func(*testing.T) []byte {
		w := newPDFWriter()
		fonts := w.composite("FI", "3 beginbfchar <0001> <0061> <0002> <D835DC9C> <0003> <0062> endbfchar")
		return w.pageWith("BT /FI 12 Tf 72 720 Td <000100020003> Tj ET", fonts, "", "").bytes()
	}},
	{"ligature", `ok "office file"`, func(*testing.T) []byte { return newPDFWriter().page(fontLines("F2", "of\xaece \xaele")).bytes() }},
	{"private use", `garbled garbled`, func(*testing.T) []byte { return newPDFWriter().page(fontLines("F3", "nobody can read this")).bytes() }},
	{"predefined map", `ok "返品は三十日以内"`, func(*testing.T) []byte {
		w := newPDFWriter()
		glyphs := w.add("<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /DW 1000 /FontDescriptor " +
			fmt.Sprint(w.add("<< /Type /FontDescriptor /FontName /Ryumin-Light /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>")) + " 0 R >>")
		font := w.add(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin-Light-90ms-RKSJ-H /Encoding /90ms-RKSJ-H /DescendantFonts [%d 0 R] >>", glyphs))
		return w.pageWith("BT /FJ 12 Tf 72 720 Td <95D4 9569 82CD 8E4F 8F5C 93FA 88C8 93E0> Tj ET", fmt.Sprintf("/FJ %d 0 R", font), "", "").bytes()
	}},

	// Places.
	{"hyphenated", `ok "The embedding is of a well-known kind, and well-known it was for its hyphens."`, func(*testing.T) []byte {
		return newPDFWriter().page(lines("The embed-", "ding is of a well-known kind, and well-", "known it was for its hyph-", "ens.")).bytes()
	}},
	{"gaps", `ok "two words, kerned far"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td [(two) -600 (words, ) (k) 20 (erned)] TJ ET BT /F1 12 Tf 272 700 Td (far) Tj ET").bytes()
	}},
	{"letter-spaced", `ok "wide spaced heading and text"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td 3 Tc (wide spaced heading) Tj 0 Tc 0 -14 Td (and text) Tj ET").bytes()
	}},
	{"glyph by glyph", `ok "each letter in its place"`, func(*testing.T) []byte {
		s := "BT /F1 10 Tf "
		for i, c := range "each letter in its place" {
			if c != ' ' {
				s += fmt.Sprintf("1 0 0 1 %d 700 Tm (%c) Tj ", 72+6*i, c)
			}
		}
		return newPDFWriter().page(s + "ET").bytes()
	}},
	{"lines drawn bottom up", `ok "First and second line."`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 686 Td (second line.) Tj 0 14 Td (First and) Tj ET").bytes()
	}},
	{"right column drawn first", `ok "line 1 of one column line 2 of one column line 3 of one column line 4 of one column line 5 of one column line 6 of one column line 7 of one column line 8 of one column"`, func(*testing.T) []byte {
		column := func(x, from int) string {
			s := fmt.Sprintf("BT /F1 10 Tf %d 700 Td", x)
			for i := range 4 {
				s += fmt.Sprintf(" (line %d of one column) Tj 0 -12 Td", from+i)
			}
			return s + " ET "
		}
		return newPDFWriter().page(column(330, 5) + column(72, 1)).bytes()
	}},
	{"blanks that are drawn over, and none where a gap is", `ok "native words"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td [(nat ) 600 (ive) -300 (words)] TJ ET").bytes()
	}},
	{"bold by drawing twice", `ok "bold words"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td (bold words) Tj ET BT /F1 12 Tf 72.4 700 Td (bold words) Tj ET").bytes()
	}},
	{"far outside of the page", `ok "seen"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 700 Td (seen) Tj 2000 0 Td (unseen) Tj ET").bytes()
	}},
	{"a field without a form", `ok "Name: filled in"`, func(*testing.T) []byte {
		w := newPDFWriter()
		look := w.add(stream("/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 3 0 R >> >>", "BT /F1 12 Tf 2 5 Td (filled in) Tj ET"))
		w.page(lines("Name:"))
		last := len(w.objects) - 1
		w.objects[last] = strings.Replace(w.objects[last], "/MediaBox", fmt.Sprintf("/Annots [<< /Type /Annot /Subtype /Widget /FT /Tx /F 4 /T (n) /Rect [72 690 272 710] /AP << /N %d 0 R >> >>] /MediaBox", look), 1)
		return w.bytes()
	}},
	{"two columns", `ok "The left column is read from its top to its end before the right one is read in the same way."`, func(*testing.T) []byte {
		s := "BT /F1 10 Tf "
		left := []string{"The left column is read", "from its top to its end"}
		right := []string{"before the right one is", "read in the same way."}
		for i := range left { // row by row, as some programs draw
			s += fmt.Sprintf("1 0 0 1 72 %d Tm (%s) Tj 1 0 0 1 330 %d Tm (%s) Tj ", 700-12*i, left[i], 700-12*i, right[i])
		}
		return newPDFWriter().page(s + "ET").bytes()
	}},
	{"turned text", `ok "turned text" "turned text" "turned text"`, func(*testing.T) []byte {
		turned := func(matrix string) string { return "BT /F1 12 Tf " + matrix + " Tm (turned text) Tj ET" }
		return newPDFWriter().page(turned("0 1 -1 0 300 300")).page(turned("0 -1 1 0 300 300")).page(turned("-1 0 0 -1 300 300")).bytes()
	}},
	{"turned page", `ok "Lines of a page that is turned to be seen."`, func(*testing.T) []byte {
		return newPDFWriter().pageWith("BT /F1 12 Tf 0 1 -1 0 100 100 Tm (Lines of a page that) Tj 0 -14 Td (is turned to be seen.) Tj ET", "", "", "/Rotate 90").bytes()
	}},
	{"right to left", "ok \"שלום עולם 42\"", func(*testing.T) []byte {
		w := newPDFWriter() // drawn as it looks, from left to right
		fonts := w.composite("FI", "1 beginbfrange <0001> <001B> <05D0> endbfrange 1 beginbfrange <0020> <0039> <0020> endbfrange")
		return w.pageWith("BT /FI 12 Tf 72 720 Td <00340032 0020 000E000D00060013 0020 000E0006000D001A> Tj ET", fonts, "", "").bytes()
	}},

	// Forms, and content that is broken.
	{"form", `ok "Drawn by a form. Outside of it."`, func(*testing.T) []byte {
		w := newPDFWriter()
		form := w.add(stream("/Type /XObject /Subtype /Form /BBox [0 0 600 200] /Matrix [1 0 0 1 72 600] /Resources << /Font << /FX 3 0 R >> >>", "BT /FX 12 Tf 0 100 Td (Drawn by a form.) Tj ET"))
		return w.pageWith("/Fm Do BT /F1 12 Tf 72 686 Td (Outside of it.) Tj ET", "", fmt.Sprintf("/Fm %d 0 R", form), "").bytes()
	}},
	{"field", `ok "Name: Ada Lovelace"`, func(*testing.T) []byte {
		w := newPDFWriter()
		look := w.add(stream("/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 3 0 R >> >>", "/Tx BMC BT /F1 12 Tf 2 5 Td (Ada Lovelace) Tj ET EMC"))
		field := w.add(fmt.Sprintf("<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /F 4 /Rect [72 680 272 700] /AP << /N %d 0 R >> >>", look))
		w.objects[0] = fmt.Sprintf("<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [%d 0 R] >> >>", field)
		return w.pageWith("BT /F1 12 Tf 72 706 Td (Name:) Tj ET", "", "", fmt.Sprintf("/Annots [%d 0 R]", field)).bytes()
	}},
	{"actual text", `ok "office hours"`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 720 Td (of) Tj /Span << /ActualText <FEFF00660069> >> BDC (#) Tj EMC (ce hours) Tj ET").bytes()
	}},
	{"broken content", `ok "Before the fault and after it."`, func(*testing.T) []byte {
		return newPDFWriter().page("BT /F1 12 Tf 72 720 Td (Before the fault) Tj ] >> } ) 1 2 3 nonsense /X 0.0.1 ET BT /F1 12 Tf 194.4 720 Td (and after it.\\q) pop (and after it.) Tj ET").bytes()
	}},
	{"filters", `ok "In hexadecimal."`, func(*testing.T) []byte {
		w := newPDFWriter().page("")
		content := lines("In hexadecimal.")
		w.objects[len(w.objects)-2] = stream("/Filter [/ASCIIHexDecode /RunLengthDecode]", fmt.Sprintf("%02x%x80>", len(content)-1, content))
		return w.bytes()
	}},
	{"bomb", `failed "first" failed "third"`, func(t *testing.T) []byte {
		w := newPDFWriter().page(lines("first")).page("")
		w.objects[len(w.objects)-2] = deflated(t, 160<<20)
		return w.page(lines("third")).bytes()
	}},

	// Tables of the file.
	{"object streams", `ok "Packed."`, func(*testing.T) []byte { return newPDFWriter().page(lines("Packed.")).packed() }},
	{"object streams, no end", `ok "Packed."`, func(*testing.T) []byte {
		d := newPDFWriter().page(lines("Packed.")).packed()
		return d[:bytes.LastIndex(d, []byte("startxref"))]
	}},
	{"incremental update", `ok "The second version."`, func(*testing.T) []byte {
		w := newPDFWriter().page(lines("The first version."))
		return updated(w.bytes(), len(w.objects)-1, stream("", lines("The second version."))+"\nendstream")
	}},
	{"offset start", `ok "Behind a letter's head."`, func(*testing.T) []byte {
		return append([]byte("From: someone\r\n\r\n"), newPDFWriter().page(lines("Behind a letter's head.")).bytes()...)
	}},
	{"wrong length of a stream", `ok "Longer than it says."`, func(*testing.T) []byte {
		w := newPDFWriter().page(lines("Longer than it says."))
		w.objects[len(w.objects)-2] = strings.Replace(w.objects[len(w.objects)-2], "/Length ", "/Length 1 /Was ", 1)
		return w.bytes()
	}},
	{"truncated", `ok "Cut."`, func(*testing.T) []byte {
		d := newPDFWriter().page(lines("Cut.")).bytes()
		return d[:bytes.Index(d, []byte("startxref"))]
	}},
	{"no table", `ok "No table."`, func(*testing.T) []byte {
		d := newPDFWriter().page(lines("No table.")).bytes()
		return append(d[:bytes.LastIndex(d, []byte("xref\n0 "))], "trailer << /Root 1 0 R >>\n"...)
	}},
	{"table points at itself", `ok "Loop."`, func(*testing.T) []byte {
		w := newPDFWriter()
		w.trailer = "/Prev %d"
		return w.page(lines("Loop.")).bytes()
	}},
	{"cut in half", `failed`, func(*testing.T) []byte {
		d := newPDFWriter().page(lines("Cut.")).bytes()
		return d[:len(d)/3]
	}},
	{"tree holds itself", `failed`, func(*testing.T) []byte {
		w := newPDFWriter()
		w.objects[1] = "<< /Type /Pages /Count 1000000 /Kids [2 0 R 2 0 R] >>"
		return w.page(lines("never")).bytes()
	}},
	{"claims a billion pages", `ok "one"`, func(*testing.T) []byte {
		w := newPDFWriter()
		w.count = 1_000_000_000
		return w.page(lines("one")).bytes()
	}},
	{"no pages", `failed`, func(*testing.T) []byte { return newPDFWriter().bytes() }},
	{"empty", `failed`, func(*testing.T) []byte { return nil }},
	{"garbage", `failed`, func(*testing.T) []byte { return []byte(strings.Repeat("this is no pdf\n", 100)) }},

	// Encryption.
	{"encrypted", `encrypted`, func(*testing.T) []byte { return newPDFWriter().page(lines("secret")).protect("sesame").bytes() }},
	{"empty password", `ok "Open."`, func(*testing.T) []byte { return newPDFWriter().page(lines("Open.")).protect("").bytes() }},
	{"unknown encryption", `encrypted`, func(*testing.T) []byte {
		w := newPDFWriter().page(lines("secret"))
		w.encrypt = "/Encrypt << /Filter /Made.Up /V 1 >> /ID [(a) (b)]"
		return w.bytes()
	}},
}

// codesOf returns text as hexadecimal codes of two bytes, each lower than the character by shift.
func codesOf(text string, shift rune) (codes string) {
	for _, c := range text {
		codes += fmt.Sprintf("%04X", c-shift)
	}
	return codes
}

var pdfDeviations = map[string]map[string]pdfDeviation{
	"pdfium": {
		"two columns":              {`ok "The left column is read before the right one is from its top to its end read in the same way."`, "two lines are too few to tell columns from a table"},
		"identity-h without a map": {"ok \"QRERG\\\\ NQRZV WKHVH OHWWHUV\"", "it takes the numbers of glyphs for characters, and the page is too short to notice"},
	},
	"ledongthuc": {
		"page labels":              {`ok "Preface." "Contents." "Appendix."`, "not read"},
		"lines drawn bottom up":    {`ok "second line. First and"`, "lines keep the order in which they are drawn"},
		"right column drawn first": {`ok "line 5 of one column line 6 of one column line 7 of one column line 8 of one column line 1 of one column line 2 of one column line 3 of one column line 4 of one column"`, "lines keep the order in which they are drawn"},
		"two columns":              {`ok "The left column is read before the right one is from its top to its end read in the same way."`, "pieces on one height are taken for one line"},
		"blanks that are drawn over, and none where a gap is": {`ok "nat ive words"`, "a blank is a blank wherever it is drawn"},
		"bold by drawing twice":                               {`ok "bold words bold words"`, "nothing is taken for drawn twice"},
	},
}

func describePages(d *Document) string {
	s := string(d.Verdict)
	for _, p := range d.Pages {
		s += " "
		if p.Label != "" {
			s += p.Label + ":"
		}
		if p.Verdict == OK {
			s += fmt.Sprintf("%q", strings.Join(strings.Fields(p.Text), " "))
		} else {
			s += string(p.Verdict)
		}
	}
	return s
}

// Each engine makes of each case what is stated, or what is listed as its deviation, no more and no less. The table
// of all is kept as text.
func TestPDFConformance(t *testing.T) {
	names := map[string]bool{}
	for _, c := range pdfCases {
		if names[c.name] {
			t.Fatalf("two cases are named %s", c.name)
		}
		names[c.name] = true
	}
	for engine, list := range pdfDeviations {
		for name, d := range list {
			if !names[name] || d.why == "" {
				t.Errorf("%s: the deviation %q has no case or no reason", engine, name)
			}
		}
	}
	limits := defaultPDFLimits
	limits.time = 20 * time.Second
	for _, name := range []string{"pdfium", "pdfium in process", "ledongthuc"} {
		t.Run(name, func(t *testing.T) {
			e := testEngine(t, name, limits)
			for _, c := range pdfCases {
				d := parsePDF(context.Background(), c.data(t), ParseOptions{PDF: e})
				got, want := describePages(d), c.want
				if dev, ok := pdfDeviations[e.Name()][c.name]; ok {
					if got == want {
						t.Errorf("%s: %s no longer deviates (%s): take it off the list", c.name, e.Name(), dev.why)
						continue
					}
					want = dev.got
				}
				if got != want {
					t.Errorf("%s:\n got %s\nwant %s\n(%s)", c.name, got, want, d.Reason)
				}
				if (d.Reason == "") != (d.Verdict == OK || d.Verdict == Blank) {
					t.Errorf("%s: verdict %s with reason %q", c.name, d.Verdict, d.Reason)
				}
				checkPDFDocument(t, c.name, d)
			}
		})
	}
	if t.Failed() {
		return // the table would say what is not so
	}
	table := conformanceTable()
	path := filepath.Join("..", "evals", "pdf-conformance.txt")
	if *updateGoldens {
		if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != table {
		t.Errorf("%s is out of date: run go test -run TestPDFConformance -update", path)
	}
}

func conformanceTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "What the PDF engines make of %d small files, each of one feature or one fault: the verdict, then each page as its\n", len(pdfCases))
	b.WriteString("verdict, or as its text in quotes if it is ok, after its label if it has one. White space is single blanks. Written by\n\n    go test ./pipeline -run TestPDFConformance -update\n\n")
	for _, engine := range pdfEngineNames {
		fmt.Fprintf(&b, "%s: %d as stated, %d deviate\n", engine, len(pdfCases)-len(pdfDeviations[engine]), len(pdfDeviations[engine]))
	}
	for _, c := range pdfCases {
		fmt.Fprintf(&b, "\n%s\n    stated      %s\n", c.name, c.want)
		for _, engine := range slices.Sorted(slices.Values(pdfEngineNames)) {
			if d, ok := pdfDeviations[engine][c.name]; ok {
				fmt.Fprintf(&b, "    %-11s %s\n                (%s)\n", engine, d.got, d.why)
			} else {
				fmt.Fprintf(&b, "    %-11s as stated\n", engine)
			}
		}
	}
	return b.String()
}
