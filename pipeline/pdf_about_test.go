package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// annualPDF has a title page, pages numbered by letters, metadata and an outline.
func annualPDF() *pdfWriter {
	w := newPDFWriter()
	for i := range 4 {
		w.page(lines(fmt.Sprintf("Page number %d.", i+1)))
	}
	kid := func(i int) string { return w.kids[i] }
	root := len(w.objects) + 1
	w.add(fmt.Sprintf("<< /First %d 0 R /Last %d 0 R /Count 2 >>", root+1, root+3))
	w.add(fmt.Sprintf("<< /Title (Summary) /Parent %d 0 R /Next %d 0 R /First %d 0 R /Last %d 0 R /Dest [%s /XYZ 72 700 null] >>", root, root+3, root+2, root+2, kid(1)))
	w.add(fmt.Sprintf("<< /Title <FEFF00DC006200650072> /Parent %d 0 R /A << /S /GoTo /D [%s /Fit] >> >>", root+1, kid(2)))
	w.add(fmt.Sprintf("<< /Title (Elsewhere) /Parent %d 0 R /Prev %d 0 R /A << /S /URI /URI (https://example.com/) >> >>", root, root+1))
	w.objects[0] = fmt.Sprintf("<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R /Lang (pt-br) /PageLabels << /Nums [0 << /S /r >> 2 << /S /D /P (A-) /St 3 >>] >> >>", root)
	w.trailer = fmt.Sprintf("/Info %d 0 R", w.add("<< /Title (Annual report) /Author (Ada Example) /CreationDate (D:20240229235959+02'00') >>"))
	return w
}

func TestPDFAbout(t *testing.T) {
	for _, name := range []string{"pdfium", "pdfium in process"} {
		e := testEngine(t, name, defaultPDFLimits).(pdfFiler)
		f, err := e.file(context.Background(), annualPDF().bytes(), PDFOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := Meta{Title: "Annual report", Author: "Ada Example", Language: "pt-BR", Date: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}
		if got := f.meta(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %+v", name, got)
		}
		var labels []string
		for _, p := range f.pages {
			labels = append(labels, p.Label)
		}
		if !slices.Equal(labels, []string{"i", "ii", "A-3", "A-4"}) {
			t.Errorf("%s: labels %q", name, labels)
		}
		if outline := []outlineEntry{{"Summary", 1, 2, 700}, {"Über", 2, 3, 0}}; !slices.Equal(f.outline, outline) {
			t.Errorf("%s: outline %v", name, f.outline)
		}
	}
}

// An outline that points at itself has an end, and costs the pages nothing.
func TestPDFOutlineLoops(t *testing.T) {
	for name, loop := range map[string]func(w *pdfWriter, root int) string{
		"sibling": func(w *pdfWriter, root int) string {
			return fmt.Sprintf("<< /Title (One) /Next %d 0 R /Dest [%s /Fit] >>", root+1, w.kids[0])
		},
		"child": func(w *pdfWriter, root int) string {
			return fmt.Sprintf("<< /Title (One) /First %d 0 R /Dest [%s /Fit] >>", root+1, w.kids[0])
		},
		"both": func(w *pdfWriter, root int) string {
			return fmt.Sprintf("<< /Title (One) /First %d 0 R /Next %d 0 R /Dest [%s /Fit] >>", root+2, root+2, w.kids[0])
		},
	} {
		w := newPDFWriter().page(lines("One page."))
		root := len(w.objects) + 1
		w.add(fmt.Sprintf("<< /First %d 0 R >>", root+1))
		w.add(loop(w, root))
		w.add(fmt.Sprintf("<< /Title (Two) /First %d 0 R /Next %d 0 R /Dest [%s /Fit] >>", root+1, root+1, w.kids[0]))
		w.objects[0] = fmt.Sprintf("<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>", root)
		f, err := testEngine(t, "pdfium", defaultPDFLimits).(pdfFiler).file(context.Background(), w.bytes(), PDFOptions{})
		if err != nil || len(f.pages) != 1 || f.pages[0].Text != "One page." || len(f.outline) > maxOutline {
			t.Errorf("%s: %v, %+v", name, err, f)
		} else {
			t.Logf("%s: %d entries", name, len(f.outline))
		}
	}
}

func TestPDFSaneMetadata(t *testing.T) {
	for in, want := range map[string]string{
		"D:20240229120000Z": "2024-02-29", "20240229": "2024-02-29", "D:20240230": "", "D:00010101": "", "D:2024": "", "D:21000101": "",
		"yesterday": "", "": "", "D:19700101000000Z": "",
	} {
		got := ""
		if d := saneDate(in); !d.IsZero() {
			got = d.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("date %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"en": "en", "EN-us": "en-US", "pt_BR": "pt-BR", "zh-Hant": "zh-Hant", "english": "", "x-none": "", "und": "", "": "", "de\x00": "de",
		strings.Repeat("a", 99): "",
	} {
		if got := saneLanguage(in); got != want {
			t.Errorf("language %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"Ada Example": "Ada Example", "user": "", "Administrator": "", "Microsoft Office User": "", "https://example.com": "", "A\uFFFDB": "",
		"Ada Example; Bo Sample": "Ada Example; Bo Sample",
	} {
		if got := saneAuthor(in); got != want {
			t.Errorf("author %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"iv": "iv", "A-3": "A-3", "7": "", "8": "8", strings.Repeat("x", 21): "", "a\x01b": "ab", "a\u202Eb": "ab"} {
		if got := saneLabel(in, 7); got != want {
			t.Errorf("label %q: got %q, want %q", in, got, want)
		}
	}
	big := make([]outlineEntry, maxOutline+1)
	if got := saneOutline(big, 1); len(got) != 0 {
		t.Errorf("%d entries", len(got))
	}
	if got := saneOutline([]outlineEntry{{"a", 1, 2, 5}, {" ", 1, 1, 0}, {"b", 0, 1, 0}, {"c", 33, 1, 0}, {"d", 2, 1, -4}}, 1); !slices.Equal(got, []outlineEntry{{"d", 2, 1, 0}}) {
		t.Errorf("got %v", got)
	}
}

func TestPDFPasswords(t *testing.T) {
	data := newPDFWriter().page(lines("secret")).protect("sesame").bytes()
	for _, name := range []string{"pdfium", "pdfium in process"} {
		e := testEngine(t, name, defaultPDFLimits)
		for _, c := range []struct {
			passwords []string
			want      string
		}{
			{nil, "encrypted"},
			{[]string{"open", ""}, "encrypted"},
			{[]string{"open", "sesame"}, `ok "secret"`},
		} {
			d := parsePDF(context.Background(), data, ParseOptions{PDF: e, Passwords: c.passwords})
			if got := describePages(d); got != c.want || strings.Contains(d.Reason, "open"+"\"") {
				t.Errorf("%s %q: %s (%s)", name, c.passwords, got, d.Reason)
			}
		}
		many := make([]string, 1)
		many[0] = strings.Repeat("x", 2<<20)
		if d := parsePDF(context.Background(), data, ParseOptions{PDF: e, Passwords: many}); d.Verdict == OK {
			t.Errorf("%s: opened by a megabyte", name)
		}
	}
}
