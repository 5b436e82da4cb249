package pipeline

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/unicode/norm"

	"example.com/larder/internal/analyze"
)

func goldenSources(t testing.TB, glob string) []string {
	t.Helper()
	names, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, name := range names {
		if !strings.HasSuffix(name, ".golden") {
			sources = append(sources, name)
		}
	}
	if len(sources) == 0 {
		t.Fatalf("no file matches %s", glob)
	}
	return sources
}

func TestTextGoldens(t *testing.T) { checkGoldens(t, "testdata/text/*", 9) }

// wide encodes text as UTF-16 with a byte order mark.
func wide(order binary.AppendByteOrder, text string) []byte {
	data := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		data = order.AppendUint16(data, unit)
	}
	return data
}

func TestEncodings(t *testing.T) {
	const text = "Первая строка,\r\nи вторая 𝄞.\r\rabc\nd"
	const want = "Первая строка, и вторая 𝄞.\n\nabc d"
	lines := []int{1, 2, 4, 5}
	for name, data := range map[string][]byte{
		"UTF-8":          []byte(text),
		"UTF-8 with BOM": []byte("\ufeff" + text),
		"UTF-16LE":       wide(binary.LittleEndian, text),
		"UTF-16BE":       wide(binary.BigEndian, text),
	} {
		d := parseOf(t, "a.txt", data)
		if d.Verdict != OK || d.Text != want || len(d.Segments) != len(lines) {
			t.Errorf("%s: %s %s: %q, %+v", name, d.Verdict, d.Reason, d.Text, d.Segments)
			continue
		}
		for i, s := range d.Segments {
			var r rune
			switch name {
			case "UTF-16LE":
				r = rune(binary.LittleEndian.Uint16(data[s.Source:]))
			case "UTF-16BE":
				r = rune(binary.BigEndian.Uint16(data[s.Source:]))
			default:
				r, _ = utf8.DecodeRune(data[s.Source:])
			}
			if s.Line != lines[i] || r != []rune(d.Text[s.Start:])[0] {
				t.Errorf("%s: segment %+v is of %c", name, s, r)
			}
		}
	}
}

func TestUndecodable(t *testing.T) {
	remedy := "name it by encoding: in base.yaml, or convert the file to UTF-8"
	for _, c := range []struct {
		name, data string
		verdict    Verdict
		reasons    []string
	}{
		{"latin-1 behind a BOM", "\xef\xbb\xbfcaf\xe9", Failed, []string{"not UTF-8: invalid byte 0xE9 at offset 6 (line 1); convert it to UTF-8"}},
		{"cut short", "abc\r\n\xd0", Garbled, []string{"not UTF-8 (byte 0xD0 at offset 5, line 2)", "it may be", remedy}},
		{"two letters", "a\xed\xa0\x80", Garbled, []string{"not UTF-8 (byte 0xED at offset 1, line 1)", "it may be windows-1252 or ", remedy}},
		{"damaged UTF-8", "Ещё одна строка.\nИ еще\xd0\n", Garbled, []string{"UTF-8 but for 1 of its bytes, the first 0xD0 at offset 39 (line 2): it is damaged; mend it", remedy}},
		{"half a unit", "\xff\xfea\x00b", Failed, []string{"not UTF-16: half a unit at offset 4, the file's end; it may be cut short"}},
		{"half a pair", "\xff\xfea\x00\n\x00\x00\xd8b\x00", Failed, []string{"not UTF-16: half a surrogate pair at offset 6 (line 2); convert it to UTF-8"}},
		{"half a pair at the end", "\xfe\xff\x00a\xd8\x00", Failed, []string{"not UTF-16: half a surrogate pair at offset 4 (line 1); convert it to UTF-8"}},
		{"part of a unit", "\xff\xfe\x00\x00a\x00\x00\x00\x00", Failed, []string{"not UTF-32: part of a unit at offset 8, the file's end; it may be cut short"}},
		{"no character", "\x00\x00\xfe\xff\x00\x00\x00\n\x00\x11\x00\x00", Failed, []string{"not UTF-32: no character at offset 8 (line 2); convert it to UTF-8"}},
		{"a zip archive", "PK\x03\x04\x14\x00\x00\x00\x08\x00\xe9\xa1\x5a\x59", Failed, []string{"not text: its bytes are application/zip"}},
		{"a picture", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00", Failed, []string{"not text: its bytes are image/png"}},
		{"a program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00\xe8\x91", Failed, []string{"not text: ", "control characters"}},
		{"NULs", strings.Repeat("\x00", 64), Failed, []string{"not text: 64 of 64 characters are control characters, the first in line 1"}},
		{"control characters", "a\n\x01\x02\x03\x04b", Failed, []string{"not text: 4 of 7 characters are control characters, the first in line 2"}},
	} {
		d := parseOf(t, "a.txt", []byte(c.data))
		if d.Verdict != c.verdict {
			t.Errorf("%s: %s: %s", c.name, d.Verdict, d.Reason)
		}
		for _, reason := range c.reasons {
			if !strings.Contains(d.Reason, reason) {
				t.Errorf("%s: %s does not say %q", c.name, d.Reason, reason)
			}
		}
	}
}

func TestForcedEncoding(t *testing.T) {
	cafe := "caf\xe9 \xa4"
	for _, c := range []struct{ encoding, data, want string }{
		{"iso-8859-15", cafe, "café €"},
		{"ISO-8859-15", cafe, "café €"},
		{"windows-1251", cafe, "cafй ¤"},
		{"windows-1251", "caf\u00e9", "café"},        // valid UTF-8 is UTF-8
		{"windows-1251", "\xff\xfea\x00b\x00", "ab"}, // a mark is believed
		{"utf-16be", "\x00a\x00\n\x00b", "a b"},
		{"utf-16be", "plain", "plain"},
		{"iso-2022-jp", "a\x1b$B$\"$$\x1b(Bb\nc", "aあいb c"},
		{"", "a\x1b$B$\"$$\x1b(Bb\nc", "aあいb c"},
	} {
		d := Parse(t.Context(), "a.txt", []byte(c.data), ParseOptions{Encoding: c.encoding})
		if d.Verdict != OK || d.Text != c.want {
			t.Errorf("%q as %s: %s %s: %q, want %q", c.data, c.encoding, d.Verdict, d.Reason, d.Text, c.want)
		}
	}
	for _, c := range []struct{ encoding, data, want string }{
		{"windows-1253", "a\r\nb\xd2c", "not windows-1253: invalid byte 0xD2 at offset 4 (line 2)"},
		{"shift_jis", "\x82\xa0\n\x82", "not shift_jis: invalid byte 0x82 at offset 3 (line 2)"},
		{"utf-8", "caf\xe9", "not UTF-8: invalid byte 0xE9 at offset 3"},
		{"windows-1252", "\xe9\x01\x02\x03", "not text: 3 of 4 characters"},
		{"nonsense", "\xe9", `encoding "nonsense" is not known`},
	} {
		d := Parse(t.Context(), "a.txt", []byte(c.data), ParseOptions{Encoding: c.encoding})
		if d.Verdict != Failed || !strings.Contains(d.Reason, c.want) {
			t.Errorf("%q as %s: %s %s, want %s", c.data, c.encoding, d.Verdict, d.Reason, c.want)
		}
	}
	for name, known := range map[string]bool{"windows-1251": true, "UTF-8": true, "latin1": true, "replacement": false, "x-user-defined": false, "": false} {
		if knownEncoding(name) != known {
			t.Errorf("knownEncoding(%q) is %v", name, !known)
		}
	}
}

// encodings are those that each sample below testdata/encodings is written in.
var encodings = map[string][]string{
	"bg": {"windows-1251", "koi8-r", "ibm866", "iso-8859-5", "x-mac-cyrillic"}, "uk": {"windows-1251", "koi8-u", "iso-8859-5"},
	"en": {"windows-1252"}, "fr": {"windows-1252", "iso-8859-15", "macintosh"}, "es": {"windows-1252", "iso-8859-15"},
	"it": {"windows-1252"}, "pt": {"windows-1252", "macintosh"}, "sv": {"windows-1252", "macintosh"},
	"cs": {"windows-1250", "iso-8859-2"}, "hu": {"windows-1250", "iso-8859-2"}, "pl": {"windows-1250", "iso-8859-2"}, "ro": {"windows-1250"},
	"el": {"windows-1253", "iso-8859-7"}, "he": {"windows-1255", "iso-8859-8-i"}, "tr": {"windows-1254"},
	"ja": {"shift_jis", "euc-jp", "iso-2022-jp"}, "ko": {"euc-kr"}, "zh-Hant": {"big5", "gb18030"},
}

// encode writes text in an encoding, without what it can't hold.
func encode(t testing.TB, name, text string) []byte {
	t.Helper()
	var e encoding.Encoding
	switch {
	case strings.HasPrefix(name, "utf-32"):
		e = encodingOf(name)
	default:
		var err error
		if e, err = htmlindex.Get(name); err != nil {
			t.Fatal(err)
		}
	}
	var kept strings.Builder
	for _, r := range text {
		if _, err := e.NewEncoder().String(string(r)); err == nil {
			kept.WriteRune(r)
		}
	}
	data, err := e.NewEncoder().String(kept.String())
	if err != nil {
		t.Fatal(err)
	}
	return []byte(data)
}

// TestEncodingsFound writes samples of many languages in their encodings and reads them back.
func TestEncodingsFound(t *testing.T) {
	names := goldenSources(t, "testdata/encodings/*.txt")
	cases := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		language := strings.TrimSuffix(filepath.Base(name), ".txt")
		if len(encodings[language]) == 0 {
			t.Errorf("no encoding for %s", name)
		}
		for _, e := range append([]string{"utf-16le", "utf-16be", "utf-32le", "utf-32be"}, encodings[language]...) {
			for _, end := range []string{"\n", "\r\n", "\r"} {
				cases++
				written := encode(t, e, strings.ReplaceAll(string(data), "\n", end))
				s, failed := decodeSource(written, maxText, "")
				if failed != nil {
					t.Errorf("%s in %s: %s", language, e, failed.Reason)
					continue
				}
				known, failed := decodeAs(written, e, 0)
				if failed != nil {
					t.Fatal(failed.Reason)
				}
				if !bytes.Equal(s.text, known.text) {
					t.Errorf("%s in %s is read as %s: %.60q", language, e, s.encoding, s.text)
				}
				checkOffsets(t, s, written)
			}
		}
	}
	if t.Logf("%d samples in %d encodings", len(names), cases/3); cases < 300 {
		t.Error("too few")
	}
}

// checkOffsets requires that what stands in the file between the offsets of two words is that part of the text.
func checkOffsets(t *testing.T, s *sourceText, data []byte) {
	t.Helper()
	for n, l := range s.lines {
		end := len(s.text)
		if n+1 < len(s.lines) {
			end = s.lines[n+1].start - 1
		}
		line := string(s.text[l.start:end])
		for i := range line {
			if i%7 != 0 && i != 0 {
				continue
			}
			from, to := s.fileOffset(l.start+i, n+1), s.fileOffset(end, n+1)
			part, failed := decodeAs(data[from:to], s.encoding, 0)
			if failed != nil && strings.HasPrefix(failed.Reason, "not text") || s.encoding == "iso-2022-jp" {
				continue // of what was shifted before, a part of a line does not know
			}
			if failed != nil || string(part.text) != line[i:] {
				t.Fatalf("%s: bytes %d to %d are not %q of line %d", s.encoding, from, to, line[i:], n+1)
			}
		}
	}
}

// TestRandomBytes: bytes at random are no text, be they of all kinds or without control characters.
func TestRandomBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cases := 0
	for range 300 {
		any, high := make([]byte, 40+random.IntN(400)), make([]byte, 40+random.IntN(400))
		for i := range any {
			any[i] = byte(random.Uint32())
		}
		for i := range high {
			if high[i] = byte(random.Uint32()) | 0x80; i%8 == 7 {
				high[i] = ' '
			}
		}
		for _, data := range [][]byte{any, high} {
			cases++
			if d := parseOf(t, "a.txt", data); d.Verdict != Failed && d.Verdict != Garbled {
				t.Errorf("%q: %s", data, d.Text)
			}
		}
	}
	t.Logf("%d cases", cases)
}

func TestOneCharacterManyEncodings(t *testing.T) {
	// Where readings differ in a character that tells nothing, none is chosen.
	d := parseOf(t, "a.txt", []byte("price: 5 \xa4"))
	if d.Verdict != Garbled || !strings.Contains(d.Reason, "iso-8859-15") || !strings.Contains(d.Reason, "windows-1252") {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

func TestBlank(t *testing.T) {
	for _, data := range []string{"", "\ufeff", " \n\t\r\n\f", "\u200b\u202e", "\xff\xfe"} {
		for _, name := range []string{"a.txt", "a.md"} {
			if d := parseOf(t, name, []byte(data)); d.Verdict != Blank {
				t.Errorf("%q as %s: %s: %s", data, name, d.Verdict, d.Reason)
			}
		}
	}
	if d := parseOf(t, "a.md", []byte("<!-- nothing -->\n\n***\n\n[a]: b\n")); d.Verdict != Blank || d.LeftOut[leftComment] != 1 {
		t.Errorf("%s, %v", d.Verdict, d.LeftOut)
	}
}

func TestCharactersLeftOut(t *testing.T) {
	const text = "in\u200bvis\u00adible \u202edesrever\u202c a\u00a0\u3000b \x1b[1m \ufeffx नी\u200dल \U000e0041tag zero\x00d"
	const want = "invisible desrever a b [1m x नी\u200dल tag zerod"
	for _, name := range []string{"a.txt", "a.md"} {
		d := parseOf(t, name, []byte(text))
		if d.Text != want {
			t.Errorf("%s: %q", name, d.Text)
		}
		if d.LeftOut[leftInvisible] != 4 || d.LeftOut[leftBidi] != 2 || d.LeftOut[leftControl] != 2 {
			t.Errorf("%s: %v", name, d.LeftOut)
		}
	}
}

// TestTextMaterial parses every text file of the test material.
func TestTextMaterial(t *testing.T) {
	verdicts := map[string]Verdict{"invalid-utf8.txt": Garbled, "random-binary.txt": Failed, "only-bom.txt": Blank}
	names := sharedFiles(t, "txt", ".txt", 20)
	words, missing := 0, 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := parseOf(t, name, data)
		base := filepath.Base(name)
		want := cmp.Or(verdicts[base], OK)
		if d.Verdict != want {
			t.Errorf("%s: %s: %s", base, d.Verdict, d.Reason)
		}
		if d.Verdict != OK {
			t.Logf("%s: %s: %s", base, d.Verdict, d.Reason)
			continue
		}
		source, _ := decodeText(data, maxText)
		n, strays := checkLines(source, d)
		if words += n; len(strays) > 0 && base != "control-chars.txt" && base != "zero-width-bidi.txt" {
			t.Errorf("%s: words in other lines: %q", base, strays)
		}
		// Every character but white space and those left out is there, in order.
		if got, want := squeeze(d.Text), squeeze(string(source.text)); got != want {
			missing++
			t.Errorf("%s: the text differs from the source", base)
		}
	}
	t.Logf("%d files, %d words", len(names), words)
}

// squeeze leaves nothing but the characters that count.
func squeeze(text string) string {
	return strings.ReplaceAll(cleanLine(text), " ", "")
}

// withoutRows leaves out the signs that rows are of, which may be left out.
func withoutRows(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("=-_*~#+", r) {
			return -1
		}
		return r
	}, squeeze(text))
}

func TestTextPages(t *testing.T) {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "The book of tea\n\nOn page %d stands\nthis.\n\nAda    [%d]\n\f", i+1, i+1)
	}
	for _, encoding := range []string{"utf-8", "utf-16le", "utf-16be"} {
		data := []byte(b.String())
		if encoding != "utf-8" {
			data = encode(t, encoding, b.String())
		}
		d := parseOf(t, "a.txt", data)
		if len(d.Pages) != 4 || d.LeftOut[leftRunning] != 8 || len(d.Segments) != 8 {
			t.Fatalf("%d pages, %v, %d segments", len(d.Pages), d.LeftOut, len(d.Segments))
		}
		for i, p := range d.Pages {
			running := []string{"The book of tea", fmt.Sprintf("Ada [%d]", i+1)}
			if p.Number != i+1 || p.Verdict != OK || !slices.Equal(p.Running, running) || !strings.Contains(p.Text, running[1]) {
				t.Errorf("page %d: %+v", i+1, p)
			}
			if s := d.Segments[2*i]; s.Page != i+1 || !strings.HasPrefix(d.Text[s.Start:], fmt.Sprintf("On page %d", i+1)) {
				t.Errorf("segment %+v", s)
			}
		}
	}
	d := parseOf(t, "a.txt", []byte("one\ftwo\n\f\f\nthree"))
	var pages []int
	for _, s := range d.Segments {
		pages = append(pages, s.Page)
	}
	if !slices.Equal(pages, []int{1, 2, 4}) || d.Pages[2].Verdict != Blank || d.Text != "one\n\ntwo\n\nthree" {
		t.Errorf("pages %v of %q, %+v", pages, d.Text, d.Pages)
	}
	if d := parseOf(t, "a.txt", []byte("one")); d.Pages != nil {
		t.Errorf("pages %v without a form feed", d.Pages)
	}
	if d := parseOf(t, "a.txt", []byte("\f\f")); d.Verdict != Blank || len(d.Pages) != 2 {
		t.Errorf("%s, %v", d.Verdict, d.Pages)
	}
}

func TestTextHeadings(t *testing.T) {
	for text, want := range map[string]string{
		"Title\n=====\ntext":              "Title",
		"Title\n---\n\ntext":              "Title",
		"Long title of it\n---\ntext":     "", // too short a row
		"a\tb\n-----\n1\t2":               "", // a table
		"2.1 Scope\n\ntext":               "2.1 Scope",
		"2.1 Scope\ntext":                 "",
		"2.1 million were there\n\ntext":  "",
		"1. Scope\n\ntext":                "1. Scope",
		"2. Scope\n\ntext":                "", // no first one
		"1. One\n\n2. Two":                "", // a list
		"1. One.\n\ntext":                 "", // a sentence
		"WARRANTY\n\ntext":                "WARRANTY",
		"ГАРАНТИЯ\n\ntext":                "ГАРАНТИЯ",
		"WARRANTY\ntext":                  "",
		"WARRANTY\n   text":               "WARRANTY",
		"STOP THIS NOW.\n\ntext":          "",
		"X-1\n\ntext":                     "",
		"Chapter IV\n\ntext":              "Chapter IV",
		"Глава 2. О чае\n\ntext":          "Глава 2. О чае",
		"第三章\n\ntext":                     "第三章",
		"chapter and verse\n\ntext":       "",
		strings.Repeat("A", 61) + "\n\nb": "",
	} {
		d := parseOf(t, "a.txt", []byte(text))
		got := ""
		for _, b := range d.Blocks {
			if b.Kind == Heading {
				got += d.Text[b.Start:b.End]
			}
		}
		if got != want {
			t.Errorf("%q: heading %q, want %q", text, got, want)
		}
		if last := d.Blocks[len(d.Blocks)-1]; want != "" && (len(last.Path) != 1 || last.Path[0] != want) {
			t.Errorf("%q: path %q", text, last.Path)
		}
	}
}

// TestDecomposed: the text keeps its Unicode form, and terms are the same in all.
func TestDecomposed(t *testing.T) {
	a, err := analyze.New(analyze.Languages())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Зимний чай ещё тёплый", "café crème à l’hôtel", "Ångström", "Việt Nam", "한글"} {
		composed, decomposed := norm.NFC.String(text), norm.NFD.String(text)
		d := parseOf(t, "a.txt", []byte(decomposed))
		if d.Text != decomposed || composed == decomposed {
			t.Errorf("%q has become %q", decomposed, d.Text)
		}
		if got, want := a.Terms(nil, d.Text), a.Terms(nil, composed); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%q has the terms %q, composed %q", decomposed, got, want)
		}
	}
}

// TestLargeTexts parses text of shapes that cost much if lines are looked at more than once.
func TestLargeTexts(t *testing.T) {
	for name, part := range map[string]string{
		"one word": "a", "one line": "Words and words. ", "short lines": "a\n", "paragraphs": "a\n\n", "form feeds": "a\f", "rows": "a\n---\n",
		"headings": "1.1 A\n\n", "log": "2026-03-01 10:00:00 a\n", "blanks": " ", "items": "- a\n  ", "returns": "\r",
	} {
		data := []byte(strings.Repeat(part, 1<<20/len(part)))
		d := Parse(t.Context(), "a.txt", data, ParseOptions{})
		if d.Verdict != OK && d.Verdict != Blank {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, name := range goldenSources(f, "testdata/text/*") {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(wide(binary.LittleEndian, "a\r\nb\n\n\t1) c"))
	f.Add(wide(binary.BigEndian, "𝄞\f- a\n  - b"))
	f.Add([]byte("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0!\r\xca\xe0\xea \xe4\xe5\xeb\xe0?"))
	f.Add([]byte("\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\n"))
	f.Add([]byte("a\x00\rb\r\r\n\u2028c\u0085"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := parseOf(t, "a.txt", data)
		source, failed := decodeSource(data, maxText, "")
		if failed != nil {
			if d.Verdict != failed.Verdict || d.Reason != failed.Reason {
				t.Fatalf("%s, but %q", d.Verdict, failed.Reason)
			}
			return
		}
		checkOffsets(t, source, data)
		if d.LeftOut[leftRunning] > 0 {
			return
		}
		if withoutRows(d.Text) != withoutRows(string(source.text)) {
			t.Fatalf("text %q of %q", d.Text, source.text)
		}
	})
}

// decodeText decodes a file whose encoding is found out. It returns nil and a reason if it can't be.
func decodeText(data []byte, limit int) (*sourceText, string) {
	s, failed := decodeSource(data, limit, "")
	if failed != nil {
		return nil, failed.Reason
	}
	return s, ""
}
