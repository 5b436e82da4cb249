package pipeline

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
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

func TestTextGoldens(t *testing.T) { checkGoldens(t, "testdata/text/*", 4) }

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
	for _, c := range []struct{ name, data, reason string }{
		{"latin-1", "one\ntwo\r\n\r\ncaf\xe9", "not UTF-8: invalid byte 0xE9 at offset 14 (line 4); convert it to UTF-8"},
		{"latin-1 behind a BOM", "\xef\xbb\xbfcaf\xe9", "not UTF-8: invalid byte 0xE9 at offset 6 (line 1); convert it to UTF-8"},
		{"cut short", "abc\xd0", "not UTF-8: invalid byte 0xD0 at offset 3 (line 1); convert it to UTF-8"},
		{"surrogate", "a\xed\xa0\x80", "not UTF-8: invalid byte 0xED at offset 1 (line 1); convert it to UTF-8"},
		{"UTF-16 without BOM", "a\x00b\x00c\x00\n\x00d\x00", "not text: 5 of 10 bytes are control characters, the first in line 1; if it is UTF-16, convert it to UTF-8"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32 is not read; convert it to UTF-8"},
		{"half a unit", "\xff\xfea\x00b", "not UTF-16: half a unit at offset 4, the file's end; it may be cut short"},
		{"half a pair", "\xff\xfea\x00\n\x00\x00\xd8b\x00", "not UTF-16: half a surrogate pair at offset 6 (line 2); convert it to UTF-8"},
		{"half a pair at the end", "\xfe\xff\x00a\xd8\x00", "not UTF-16: half a surrogate pair at offset 4 (line 1); convert it to UTF-8"},
	} {
		for _, name := range []string{"a.txt", "a.md"} {
			if d := parseOf(t, name, []byte(c.data)); d.Verdict != Failed || d.Reason != c.reason {
				t.Errorf("%s as %s: %s: %s", c.name, name, d.Verdict, d.Reason)
			}
		}
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
	failed := map[string]bool{
		"de-latin1.txt": true, "de-utf16le-nobom.txt": true, "de-utf32le-bom.txt": true, "es-cp1252-crlf.txt": true,
		"invalid-utf8.txt": true, "random-binary.txt": true, "ru-cp1251.txt": true, "zh-gb18030.txt": true,
	}
	names := sharedFiles(t, "txt", ".txt", 20)
	words, missing := 0, 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := parseOf(t, name, data)
		base := filepath.Base(name)
		want := OK
		if failed[base] {
			want = Failed
		} else if base == "only-bom.txt" {
			want = Blank
		}
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
	f.Add([]byte("a\x00\rb\r\r\n\u2028c\u0085"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := parseOf(t, "a.txt", data)
		source, problem := decodeText(data, maxText)
		if (problem != "") != (d.Verdict == Failed) {
			t.Fatalf("%s, but %q", d.Verdict, problem)
		}
		if problem == "" && squeeze(d.Text) != squeeze(string(source.text)) {
			t.Fatalf("text %q of %q", d.Text, source.text)
		}
	})
}
