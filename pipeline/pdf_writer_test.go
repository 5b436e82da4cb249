package pipeline

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// A pdfWriter writes small PDF files, the same bytes for the same calls. Object 1 is the catalog, 2 the page
// tree, 3 the font F1 (Courier, every glyph 600 wide), 4 the font F2 (with a ligature at byte 174), 5 an image,
// 6 the font F3, whose characters map to the private-use area, and 7 its map.
type pdfWriter struct {
	objects []string // object i+1; a stream's dictionary and data are cut at "stream\n"
	kids    []string
	title   string
	count   int    // of pages, as the tree claims; 0 tells the truth
	trailer string // more entries of the trailer, with %d for the offset of the table
	key     []byte // of the encryption
	encrypt string // the encryption dictionary
}

func newPDFWriter() *pdfWriter {
	w := &pdfWriter{objects: make([]string, 7)}
	widths := strings.Repeat("600 ", 224)
	w.objects[0] = "<< /Type /Catalog /Pages 2 0 R >>"
	font := "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /FirstChar 32 /LastChar 255 /Widths [" + widths + "] "
	w.objects[2] = font + "/Encoding /WinAnsiEncoding >>"
	w.objects[3] = font + "/Encoding << /Type /Encoding /Differences [174 /fi] >> >>"
	w.objects[4] = stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "\x80")
	w.objects[5] = font + "/ToUnicode 7 0 R >>"
	w.objects[6] = stream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <00> <FF> endcodespacerange\n1 beginbfrange <20> <7E> <E020> endbfrange\nendcmap end end")
	return w
}

func stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s", dict, len(data), data)
}

func (w *pdfWriter) add(object string) (number int) {
	w.objects = append(w.objects, object)
	return len(w.objects)
}

// page adds a page with that content stream.
func (w *pdfWriter) page(content string) *pdfWriter {
	c := w.add(stream("", content))
	w.kids = append(w.kids, fmt.Sprintf("%d 0 R", w.add(fmt.Sprintf(
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 6 0 R >> /XObject << /Im 5 0 R /Fm 8 0 R >> >> >>", c))))
	return w
}

// pageWith adds a page whose resources name these fonts and objects, and with more entries of its own.
func (w *pdfWriter) pageWith(content, fonts, objects, more string) *pdfWriter {
	c := w.add(stream("", content))
	w.kids = append(w.kids, fmt.Sprintf("%d 0 R", w.add(fmt.Sprintf(
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R %s >> /XObject << %s >> >> %s >>", c, fonts, objects, more))))
	return w
}

// courier adds a font like F1 with other entries and returns its entry in a page's resources.
func (w *pdfWriter) courier(name, entries string) string {
	return fmt.Sprintf("/%s %d 0 R ", name, w.add("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /FirstChar 0 /LastChar 255 /Widths ["+strings.Repeat("600 ", 256)+"] "+entries+" >>"))
}

// composite adds a font whose codes have two bytes and are the numbers of its glyphs, each 600 wide, with a map
// to Unicode unless that is "", and returns its entry in a page's resources.
func (w *pdfWriter) composite(name, unicode string) string {
	if unicode != "" {
		unicode = fmt.Sprintf("/ToUnicode %d 0 R", w.add(stream("", characterMap("<0000> <FFFF>", unicode))))
	}
	descriptor := w.add("<< /Type /FontDescriptor /FontName /Made /Flags 4 /FontBBox [0 -200 600 800] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>")
	glyphs := w.add(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Made /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /DW 600 /CIDToGIDMap /Identity >>", descriptor))
	return fmt.Sprintf("/%s %d 0 R ", name, w.add(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /Made /Encoding /Identity-H /DescendantFonts [%d 0 R] %s >>", glyphs, unicode)))
}

func characterMap(codes, entries string) string {
	return "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /Made def /CMapType 2 def\n1 begincodespacerange " + codes + " endcodespacerange\n" + entries + "\nendcmap end end"
}

// lines returns the content of a page with these lines of text from the top, an empty one as a gap.
func lines(text ...string) string { return fontLines("F1", text...) }

func fontLines(font string, text ...string) string {
	s := "BT /" + font + " 12 Tf 72 720 Td\n"
	for _, t := range text {
		s += "(" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(t) + ") Tj 0 -14 Td\n"
	}
	return s + "ET"
}

var passwordPadding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// protect encrypts the file with the standard handler's revision 2 (PDF 1.7, 7.6.3: RC4, 40 bits).
func (w *pdfWriter) protect(user string) *pdfWriter {
	pad := func(s string) []byte { return append([]byte(s), passwordPadding...)[:32] }
	owner := md5.Sum(pad("owner"))
	o := rc4Bytes(owner[:5], pad(user))
	permissions := int32(-4)
	h := md5.New()
	h.Write(pad(user))
	h.Write(o)
	binary.Write(h, binary.LittleEndian, permissions)
	h.Write([]byte("0123456789abcdef"))
	w.key = h.Sum(nil)[:5]
	w.encrypt = fmt.Sprintf("/Encrypt << /Filter /Standard /V 1 /R 2 /O <%x> /U <%x> /P %d >> /ID [<%x> <%x>]",
		o, rc4Bytes(w.key, passwordPadding), permissions, "0123456789abcdef", "0123456789abcdef")
	return w
}

func rc4Bytes(key, data []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil {
		panic(err)
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

func (w *pdfWriter) bytes() []byte {
	count := w.count
	if count == 0 {
		count = len(w.kids)
	}
	if w.objects[1] == "" {
		w.objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", count, strings.Join(w.kids, " "))
	}
	more := w.trailer
	if w.title != "" {
		more += fmt.Sprintf(" /Info %d 0 R", w.add("<< /Title ("+w.title+") >>"))
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(w.objects))
	for i, o := range w.objects {
		if o == "" {
			o = "null"
		}
		offsets[i] = b.Len()
		if dict, data, ok := strings.Cut(o, "stream\n"); ok {
			if w.key != nil {
				k := md5.Sum(append(append([]byte{}, w.key...), byte(i+1), byte((i+1)>>8), byte((i+1)>>16), 0, 0))
				data = string(rc4Bytes(k[:10], []byte(data)))
			}
			o = dict + "stream\n" + data + "\nendstream"
		}
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(w.objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	if strings.Contains(more, "%d") {
		more = fmt.Sprintf(more, table)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s %s >>\nstartxref\n%d\n%%%%EOF\n", len(w.objects)+1, w.encrypt, more, table)
	return b.Bytes()
}

// packed returns the file with its objects in an object stream and its table in a cross-reference stream (PDF 1.7,
// 7.5.7 and 7.5.8).
func (w *pdfWriter) packed() []byte {
	w.bytes() // which fills in the page tree
	var head, body, b, table bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	pack := len(w.objects) + 1
	row := func(kind, at, index int) {
		table.Write([]byte{byte(kind), byte(at >> 16), byte(at >> 8), byte(at), byte(index)})
	}
	row(0, 0, 255)
	packed := 0
	for i, o := range w.objects {
		if dict, data, ok := strings.Cut(o, "stream\n"); ok {
			row(1, b.Len(), 0)
			fmt.Fprintf(&b, "%d 0 obj\n%sstream\n%s\nendstream\nendobj\n", i+1, dict, data)
			continue
		}
		row(2, pack, packed)
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		fmt.Fprintf(&body, "%s\n", o)
		packed++
	}
	row(1, b.Len(), 0)
	fmt.Fprintf(&b, "%d 0 obj\n%s\nendstream\nendobj\n", pack, stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d", packed, head.Len()), head.String()+body.String()))
	at := b.Len()
	row(1, at, 0)
	fmt.Fprintf(&b, "%d 0 obj\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", pack+1,
		stream(fmt.Sprintf("/Type /XRef /Size %d /W [1 3 1] /Root 1 0 R", pack+2), table.String()), at)
	return b.Bytes()
}

// updated returns the file with an incremental update behind it that puts another object in the place of one.
func updated(data []byte, number int, object string) []byte {
	before := bytes.LastIndex(data, []byte("xref\n0 "))
	at := len(data)
	data = fmt.Appendf(bytes.Clone(data), "%d 0 obj\n%s\nendobj\n", number, object)
	table := len(data)
	return fmt.Appendf(data, "xref\n%d 1\n%010d 00000 n \ntrailer\n<< /Size 100 /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n", number, at, before, table)
}

// slowPDF returns a file whose second page draws a form that draws another one ten times, and so on, five deep; the
// last one has much to read and nothing to keep, so that a reader runs out of time and not of memory.
func slowPDF() []byte {
	return formsPDF(5, strings.Repeat("q Q ", 20_000))
}

// doublingPDF returns a file of a few kilobytes whose second page draws a form that draws another one ten times, and
// so on, depth deep.
func doublingPDF(depth int) []byte { return formsPDF(depth, "") }

func formsPDF(depth int, last string) []byte {
	w := newPDFWriter()
	for i := range depth {
		next := len(w.objects) + 2
		content := strings.Repeat("/Fm Do ", 10)
		if i == depth-1 {
			content, next = last, 5
		}
		w.add(stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /Fm %d 0 R >> >>", next), content))
	}
	return w.page(lines("first")).page("/Fm Do").bytes()
}

// deflated returns data as a stream object that unpacks to size zero bytes, bombs inside.
func deflated(t *testing.T, size int) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(bytes.Repeat([]byte(" "), size)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return stream("/Filter /FlateDecode", b.String())
}
