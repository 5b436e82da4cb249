package pipeline

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPDFLexer(t *testing.T) {
	l := pdfLexer{data: []byte("/A#42 (a\\(b(c)\\051\\12) <4 14> [1 -.5 +3 4.-5 [(x)]] << /K 1 /L [2] >> true % gone\n--7 T* 1e3 (open")}
	var got []string
	for t := l.next(); t.kind != pdfEnd; t = l.next() {
		got = append(got, describeToken(t))
	}
	want := []string{"/AB", `(a(b(c))` + "\n)", "(A@)", "[1 -0.5 3 4 [(x)]]", "<</K 1 /L [2]>>", "true", "-7", "T*", "1000", "(open)"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func describeToken(t pdfToken) string {
	list := func() string {
		var parts []string
		for _, p := range t.list {
			parts = append(parts, describeToken(p))
		}
		return strings.Join(parts, " ")
	}
	switch t.kind {
	case pdfNumber:
		return strconv.FormatFloat(t.num, 'g', -1, 64)
	case pdfName:
		return "/" + t.text
	case pdfString:
		return "(" + t.text + ")"
	case pdfArray:
		return "[" + list() + "]"
	case pdfDict:
		return "<<" + list() + ">>"
	}
	return t.text
}

func TestGlyphText(t *testing.T) {
	for name, want := range map[string]string{
		"A": "A", "eacute": "é", "Zcaron": "Ž", "f_f_i": "ffi", "fi": "fi", "uni04140435": "Де", "u1D49C": "𝒜", "afii10023": "Ё", "afii10097": "я",
		"one.oldstyle": "1", "Gcommaaccent": "Ģ", "alphatonos": "ά", ".notdef": "", "g41": "", "nothing": "", "uniXYZW": "", "space": " ",
	} {
		if got := glyphText(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestStandardEncodings(t *testing.T) {
	n := 0
	for _, c := range pdfStandard {
		if c != 0 {
			n++
		}
	}
	if n != 149 {
		t.Errorf("the standard encoding has %d characters, want 149", n)
	}
	if pdfWinAnsi[0x80] != '€' || pdfWinAnsi[0x95] != '•' || pdfMacRoman[0xD5] != '’' || pdfStandard[0xAE] != 'ﬁ' || pdfSymbol['a'] != 'α' {
		t.Error("an encoding is wrong")
	}
	if len(cffNames) != 79 {
		t.Errorf("%d names, want 79", len(cffNames))
	}
}

func TestPDFFilters(t *testing.T) {
	// The example of PDF 1.7, 7.4.4.2.
	out, err := unLZW([]byte{0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01}, true)
	if want := []byte{45, 45, 45, 45, 45, 65, 45, 45, 45, 66}; err != nil || !bytes.Equal(out, want) {
		t.Errorf("LZW: got %v, %v", out, err)
	}
	if out := unASCII85([]byte("<~87cURD]i,\"Ebo80~>")); string(out) != "Hello World!" {
		t.Errorf("ASCII85: got %q", out)
	}
	if out, err := unRunLength([]byte{2, 'a', 'b', 'c', 254, 'x', 128, 'y'}); err != nil || string(out) != "abcxxx" {
		t.Errorf("run length: got %q, %v", out, err)
	}
	if paeth(10, 20, 15) != 15 || paeth(10, 20, 25) != 10 || paeth(1, 200, 1) != 200 {
		t.Error("paeth is wrong")
	}
}

// Whatever bytes come, parsing ends, without a panic and within bounds.
func TestPDFHostileParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("begincmap endbfrange beginbfchar endbfchar beginbfrange endcodespacerange <0000> <FFFF> <00> <FFFFFFFF> [ ] << >> ( ) 1 -1 99999999999 def /WMode /Encoding dup put eexec begincidrange endcidrange %")
	for range 3000 {
		var b []byte
		for range r.IntN(60) {
			switch r.IntN(4) {
			case 0:
				b = append(b, byte(r.IntN(256)))
			default:
				b = append(append(b, words[r.IntN(len(words))]...), ' ')
			}
		}
		m := parsePDFCMap(b)
		for rest := "\x00\x41\xff\xff\x00"; rest != ""; {
			var c pdfCode
			c, rest = m.next(rest)
			m.text(c)
			m.number(c)
		}
		var texts [256]string
		type1Encoding(b, &texts)
		cffEncoding(b, &texts)
		scanPDFObjects(b)
		tablesLoop(b)
		mendPDFEnds(b)
		l := pdfLexer{data: b}
		l.skipImage()
		for _, early := range []bool{false, true} {
			if out, err := unLZW(b, early); err == nil && len(out) > 4096*len(b)+1 {
				t.Fatalf("LZW: %d bytes of %d", len(out), len(b))
			}
		}
		unASCII85(b)
		unRunLength(b)
		inflate(b)
	}
	deep := pdfLexer{data: []byte(strings.Repeat("[", 1<<20))}
	for deep.next().kind != pdfEnd {
	}
}

// A valid file with bytes changed is read to some end: the reader in this process, where a panic would show.
func TestPDFMutated(t *testing.T) {
	w := newPDFWriter()
	fonts := w.composite("FI", "1 beginbfrange <0003> <0060> <0020> endbfrange") + w.courier("FD", "/Encoding << /Differences [65 /b /c] >>")
	w.pageWith("BT /FI 12 Tf 72 720 Td <"+codesOf("glyphs by number", 29)+"> Tj /FD 9 Tf (AB) Tj ET", fonts, "", "")
	files := [][]byte{w.bytes(), newPDFWriter().page(lines("packed")).packed(), newPDFWriter().page(lines("secret")).protect("").bytes()}
	r := rand.New(rand.NewPCG(3, 4))
	limits := defaultPDFLimits
	limits.pages = 100
	for i := range 600 {
		data := bytes.Clone(files[i%len(files)])
		for range 1 + r.IntN(4) {
			at := r.IntN(len(data))
			if i%2 == 0 {
				data[at] = byte(r.IntN(256))
			} else {
				data[at] = "0123456789<>[]()/R "[r.IntN(19)]
			}
		}
		pages := 0
		err := ledongthucReader{}.read(data, PDFOptions{}, limits, func(m pdfMessage) error {
			if m.Page != nil {
				pages++
			}
			return nil
		})
		if err != nil && pages > 0 {
			t.Fatalf("file %d: %d pages and %v", i, pages, err)
		}
	}
}
