package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A bomb is a file and what it may end as.
type bomb struct {
	name string
	data func(t *testing.T) []byte
	want []Verdict // of pdfium
}

// objectsPDF has a page and many objects that nobody needs.
func objectsPDF(n int) []byte {
	w := newPDFWriter().page(lines("One page."))
	for range n {
		w.objects = append(w.objects, "0")
	}
	return w.bytes()
}

// bombs are files that ask for too much, or lie. Each ends as a verdict, with both engines, within the limits.
var bombs = []bomb{
	{"many objects", func(*testing.T) []byte { return objectsPDF(100_000) }, []Verdict{OK}},
	{"deep arrays", func(*testing.T) []byte {
		return newPDFWriter().page(strings.Repeat("[", 1_000_000)).bytes()
	}, []Verdict{Blank, Failed}},
	{"deep dictionaries", func(*testing.T) []byte {
		w := newPDFWriter()
		w.objects[0] = "<< /Type /Catalog /Pages 2 0 R /X " + strings.Repeat("<< /X ", 200_000) + strings.Repeat(">> ", 200_000) + " >>"
		return w.page(lines("Deep.")).bytes()
	}, []Verdict{OK, Failed}},
	{"an image of a terapixel", func(*testing.T) []byte {
		w := newPDFWriter()
		w.objects[4] = stream("/Type /XObject /Subtype /Image /Width 1000000 /Height 1000000 /ColorSpace /DeviceRGB /BitsPerComponent 16", "\x80")
		return w.page("/Im Do").bytes()
	}, []Verdict{Scanned, Blank}},
	{"a broken JBIG2 image", func(*testing.T) []byte {
		w := newPDFWriter()
		w.objects[4] = stream("/Type /XObject /Subtype /Image /Width 65535 /Height 65535 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /JBIG2Decode",
			"\x00\x00\x00\x00\x30\x00\x01\x00\x00\x00\x13\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		return w.page("/Im Do").bytes()
	}, []Verdict{Scanned}},
	{"unknown encryption", func(*testing.T) []byte {
		data := newPDFWriter().page(lines("secret")).protect("").bytes()
		return bytes.Replace(data, []byte("/Filter /Standard /V 1 /R 2"), []byte("/Filter /Homemade /V 9 /R 9"), 1)
	}, []Verdict{Encrypted}},
	{"no pages but a tree of trees", func(*testing.T) []byte {
		w := newPDFWriter()
		kids := ""
		for i := range 1000 {
			kids += fmt.Sprintf("%d 0 R ", len(w.objects)+1)
			w.add(fmt.Sprintf("<< /Type /Pages /Count 1000 /Kids [%s] >>", strings.Repeat(fmt.Sprintf("%d 0 R ", 8+(i+1)%1000), 10)))
		}
		w.objects[1] = "<< /Type /Pages /Count 1000000 /Kids [" + kids + "] >>"
		return w.bytes()
	}, []Verdict{Failed}},
	{"rows that are no table", func(*testing.T) []byte {
		rows := "BT /F1 1 Tf"
		for i := range 2000 {
			rows += fmt.Sprintf(" 1 0 0 1 72 %g Tm (*) Tj 1 0 0 1 76 %[1]g Tm (x%d) Tj", 780-1.5*float64(i), i)
		}
		w := newPDFWriter().page(rows + " ET")
		last := len(w.objects) - 1
		w.objects[last] = strings.Replace(w.objects[last], "[0 0 612 792]", "[0 -9000 612 792]", 1)
		for range 3 {
			w.kids = append(w.kids, w.kids[0])
		}
		return w.bytes()
	}, []Verdict{OK}},
	{"hyphens before many words", func(*testing.T) []byte {
		w := newPDFWriter()
		for page := range 100 {
			var text []string
			for i := range 25 {
				text = append(text, fmt.Sprintf("abcdefg%c%c%c efgh it is abcd-", 'a'+page/26, 'a'+page%26, 'a'+i))
			}
			w.page(lines(text...))
		}
		return w.bytes()
	}, []Verdict{Garbled}},
	{"characters moved by one", func(*testing.T) []byte {
		text := movedBy(1)(prose["English"])
		return newPDFWriter().page(lines(text[:70], text[70:140], text[140:])).bytes()
	}, []Verdict{Garbled}},
}

func TestPDFBombs(t *testing.T) { detonate(t, bombs) }

func detonate(t *testing.T, bombs []bomb) {
	for _, engine := range []string{"pdfium", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			limits := defaultPDFLimits
			limits.time = 10 * time.Second
			e := testEngine(t, engine, limits)
			var peak int64
			e.(*childEngine).pool.watch = func(c *child) { peak = max(peak, peakOf(c)) }
			for _, b := range bombs {
				d := parsePDF(context.Background(), b.data(t), ParseOptions{PDF: e})
				t.Logf("%s: %s (%s)", b.name, describePages(d)[:min(60, len(describePages(d)))], d.Reason)
				checkPDFDocument(t, b.name, d)
				if engine == "pdfium" && !slices.Contains(b.want, d.Verdict) {
					t.Errorf("%s: %s (%s), want one of %s", b.name, d.Verdict, d.Reason, b.want)
				}
				if (d.Reason == "") != (d.Verdict == OK || d.Verdict == Blank) {
					t.Errorf("%s: %s with reason %q", b.name, d.Verdict, d.Reason)
				}
			}
			t.Logf("peak memory of a child %d MiB", peak>>20)
			if d := parsePDF(context.Background(), newPDFWriter().page(lines("After it.")).bytes(), ParseOptions{PDF: e}); d.Text != "After it." {
				t.Errorf("after the bombs: %s (%s)", d.Verdict, d.Reason)
			}
		})
	}
}

// peakOf returns the most bytes that a child has held by now, 0 where the system does not tell.
func peakOf(c *child) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
