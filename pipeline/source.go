package pipeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// A sourceText is a file's content as UTF-8 with LF line ends, and the way back to the file's bytes.
type sourceText struct {
	text     []byte
	lines    []sourceLine
	encoding string // by the WHATWG's name, or utf-32le or utf-32be
	unit     int    // bytes of a unit of UTF-16 and UTF-32; 0 for other encodings
	// For legacy encodings.
	legacy encoding.Encoding
	data   []byte // the file
}

// A sourceLine is where a line starts.
type sourceLine struct {
	start  int // in text
	source int // in the file
}

// maxControls is the share of control characters, one in so many, above which a file is no text.
const maxControls = 5

// decodeSource decodes a file. LF, CRLF and CR end a line. The encoding is the first that holds:
//
//  1. what a byte order mark says: UTF-8, UTF-16 or UTF-32;
//  2. UTF-8, if the bytes are valid as such and none is a control character;
//  3. forced, one of the WHATWG's names, if it is not empty;
//  4. UTF-16 or UTF-32 of either byte order, if the file has NULs or many control characters, and
//     one of them makes a text of it; and
//     ISO-2022-JP, if it has the escape sequences of that;
//  5. UTF-8 with some control characters;
//  6. the legacy encoding that [detectEncoding] finds.
//
// It returns nil and a document without text if there are more than limit bytes, if they are not what
// they claim to be, or if they are not text, which fails; and if it is not certain which text they are,
// which is [Garbled].
func decodeSource(data []byte, limit int, forced string) (*sourceText, *Document) {
	if len(data) > limit {
		return nil, failedDocument("%d bytes are more than the limit of %d; split the file", len(data), limit)
	}
	for _, m := range byteOrderMarks {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return decodeAs(data, m.encoding, len(m.mark))
		}
	}
	controls, _ := countControls(data)
	bad := invalidUTF8(data)
	switch {
	case bad < 0 && controls == 0, strings.EqualFold(forced, "utf-8"):
		return decodeAs(data, "utf-8", 0)
	case forced != "":
		return decodeAs(data, forced, 0)
	}
	if bad < 0 && (bytes.Contains(data, []byte("\x1b$B")) || bytes.Contains(data, []byte("\x1b$@"))) {
		return decodeAs(data, "iso-2022-jp", 0)
	}
	if bytes.IndexByte(data, 0) >= 0 || controls > len(data)/maxControls {
		if name := detectWide(data); name != "" {
			return decodeAs(data, name, 0)
		}
	}
	if bad < 0 {
		return decodeAs(data, "utf-8", 0)
	}
	if reason := binaryReason(data, controls); reason != "" {
		return nil, failedDocument("not text: %s", reason)
	}
	const remedy = "name it by encoding: in base.yaml, or convert the file to UTF-8"
	if n, valid := countUTF8(data); valid > 3*n {
		return nil, garbledDocument("UTF-8 but for %d of its bytes, the first 0x%02X at offset %d (line %d): it is damaged; mend it, or if it has another encoding, %s",
			n, data[bad], bad, 1+countLineEnds(data[:bad]), remedy)
	}
	name, reason := detectEncoding(data)
	if name != "" {
		s, failed := decodeAs(data, name, 0)
		if failed == nil {
			return s, nil
		}
		reason = failed.Reason
	}
	return nil, garbledDocument("not UTF-8 (byte 0x%02X at offset %d, line %d), and its encoding is not certain: %s; %s",
		data[bad], bad, 1+countLineEnds(data[:bad]), reason, remedy)
}

// byteOrderMarks in an order in which the first that fits is meant.
var byteOrderMarks = []struct{ mark, encoding string }{
	{"\xff\xfe\x00\x00", "utf-32le"},
	{"\x00\x00\xfe\xff", "utf-32be"},
	{"\xff\xfe", "utf-16le"},
	{"\xfe\xff", "utf-16be"},
	{"\xef\xbb\xbf", "utf-8"},
}

// decodeAs decodes a file of a known encoding, behind a byte order mark of some bytes.
func decodeAs(data []byte, name string, mark int) (*sourceText, *Document) {
	s := &sourceText{encoding: strings.ToLower(name)}
	body := data[mark:]
	var problem string
	switch s.encoding {
	case "utf-8":
		if i := invalidUTF8(body); i >= 0 {
			problem = fmt.Sprintf("not UTF-8: invalid byte 0x%02X at offset %d (line %d); convert it to UTF-8",
				body[i], mark+i, 1+countLineEnds(body[:i]))
		}
	case "utf-16le", "utf-16":
		s.unit = 2
		body, problem = decodeUTF16(body, binary.LittleEndian, mark)
	case "utf-16be":
		s.unit = 2
		body, problem = decodeUTF16(body, binary.BigEndian, mark)
	case "utf-32le":
		s.unit = 4
		body, problem = decodeUTF32(body, binary.LittleEndian, mark)
	case "utf-32be":
		s.unit = 4
		body, problem = decodeUTF32(body, binary.BigEndian, mark)
	default:
		e, err := htmlindex.Get(name)
		if err != nil {
			return nil, failedDocument("encoding %q is not known; the WHATWG's list of encodings has those that are", name)
		}
		s.legacy, s.data = e, data
		body, problem = nil, s.decodeLegacy()
	}
	if problem != "" {
		return nil, failedDocument("%s", problem)
	}
	if s.legacy != nil {
		body = s.text
	}
	if n, first := countControls(body); n > len(body)/maxControls {
		return nil, failedDocument("not text: %d of %d characters are control characters, the first in line %d",
			n, utf8.RuneCount(body), 1+countLineEnds(body[:first]))
	}
	if s.legacy == nil {
		s.splitLines(body, mark)
	}
	return s, nil
}

// decodeLegacy decodes line by line. In none of these encodings is the byte of a line end a part of a longer
// character, and those that shift begin each line anew.
func (s *sourceText) decodeLegacy() string {
	decoder := s.legacy.NewDecoder()
	text := make([]byte, 0, len(s.data)+len(s.data)/2)
	for source := 0; ; {
		s.lines = append(s.lines, sourceLine{len(text), source})
		line := s.data[source:]
		end := bytes.IndexAny(line, "\r\n")
		if end >= 0 {
			line = line[:end]
		}
		decoder.Reset()
		text = slices.Grow(text, 3*len(line)+utf8.UTFMax)
		start := len(text)
		n, _, err := decoder.Transform(text[start:cap(text)], line, true)
		text = text[:start+n]
		if i := bytes.Index(text[start:], replacement); i >= 0 || err != nil {
			offset := source
			if i >= 0 {
				offset = s.legacyOffset(source, i)
			}
			return fmt.Sprintf("not %s: invalid byte 0x%02X at offset %d (line %d); convert it to UTF-8",
				s.encoding, s.data[min(offset, len(s.data)-1)], offset, len(s.lines))
		}
		if end < 0 {
			s.text = text
			return ""
		}
		text = append(text, '\n')
		source += end + 1
		if s.data[source-1] == '\r' && source < len(s.data) && s.data[source] == '\n' {
			source++
		}
	}
}

// legacyOffset returns where in the file the character starts that is n bytes of text behind the start of a line.
func (s *sourceText) legacyOffset(line, n int) int {
	_, read, _ := s.legacy.NewDecoder().Transform(make([]byte, n), s.data[line:], true)
	return line + read
}

// binaryReason says why bytes that are not UTF-8 are not text at all, or nothing if they may be.
func binaryReason(data []byte, controls int) string {
	if kind := http.DetectContentType(data); !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream" {
		return "its bytes are " + kind
	}
	if controls > len(data)/100 {
		return fmt.Sprintf("%d of %d bytes are control characters", controls, len(data))
	}
	return ""
}

// countUTF8 counts the bytes that are in no character of UTF-8, and the characters of several bytes.
func countUTF8(b []byte) (bad, valid int) {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if n > 1 {
			valid++
		} else if r == utf8.RuneError {
			bad++
		}
		i += n
	}
	return bad, valid
}

// decodeUTF32 decodes units that follow a byte order mark of some bytes.
func decodeUTF32(data []byte, order binary.ByteOrder, mark int) ([]byte, string) {
	body := make([]byte, 0, len(data)/2)
	for i := 0; i < len(data); i += 4 {
		if i+4 > len(data) {
			return nil, fmt.Sprintf("not UTF-32: part of a unit at offset %d, the file's end; it may be cut short", mark+i)
		}
		r := order.Uint32(data[i:])
		if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
			return nil, fmt.Sprintf("not UTF-32: no character at offset %d (line %d); convert it to UTF-8", mark+i, 1+countLineEnds(body))
		}
		body = utf8.AppendRune(body, rune(r))
	}
	return body, ""
}

// decodeUTF16 decodes units that follow a byte order mark of some bytes.
func decodeUTF16(data []byte, order binary.ByteOrder, mark int) ([]byte, string) {
	body := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += 2 {
		if i+1 == len(data) {
			return nil, fmt.Sprintf("not UTF-16: half a unit at offset %d, the file's end; it may be cut short", mark+i)
		}
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+3 < len(data) {
				low = rune(order.Uint16(data[i+2:]))
			}
			pair := utf16.DecodeRune(r, low)
			if pair == utf8.RuneError {
				return nil, fmt.Sprintf("not UTF-16: half a surrogate pair at offset %d (line %d); convert it to UTF-8",
					mark+i, 1+countLineEnds(body))
			}
			r = pair
			i += 2
		}
		body = utf8.AppendRune(body, r)
	}
	return body, ""
}

func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// countLineEnds counts LF, CRLF and CR.
func countLineEnds(b []byte) int {
	return bytes.Count(b, []byte("\n")) + bytes.Count(b, []byte("\r")) - bytes.Count(b, []byte("\r\n"))
}

// countControls counts the control characters of ASCII other than white space.
func countControls(b []byte) (n, first int) {
	for i, c := range b {
		if c < ' ' && (c < '\t' || c > '\r') || c == 0x7f {
			if n == 0 {
				first = i
			}
			n++
		}
	}
	return n, first
}

// splitLines turns line ends into LF and notes where lines start. source is the offset of body in
// the file.
func (s *sourceText) splitLines(body []byte, source int) {
	text := body
	returns := bytes.IndexByte(body, '\r') >= 0
	if returns {
		text = make([]byte, 0, len(body))
	}
	start := 0
	for {
		s.lines = append(s.lines, sourceLine{start, source})
		n := bytes.IndexAny(body, "\r\n")
		if n < 0 {
			break
		}
		end := n + 1
		if body[n] == '\r' && end < len(body) && body[end] == '\n' {
			end++
		}
		if returns {
			text = append(append(text, body[:n]...), '\n')
		}
		start += n + 1
		source += s.fileLength(body[:end])
		body = body[end:]
	}
	if returns {
		text = append(text, body...)
	}
	s.text = text
}

// fileLength returns how many bytes of the file text stands for that is in no legacy encoding.
func (s *sourceText) fileLength(text []byte) int {
	switch s.unit {
	case 0:
		return len(text)
	case 4:
		return 4 * utf8.RuneCount(text)
	}
	units := 0
	for _, r := range string(text) {
		units += utf16.RuneLen(r)
	}
	return 2 * units
}

// line returns the number of the line that holds the offset, from 1.
func (s *sourceText) line(offset int) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i].start > offset })
}

// fileOffset returns the offset in the file of an offset in the text that lies in the line of that
// number.
func (s *sourceText) fileOffset(offset, line int) int {
	l := s.lines[line-1]
	if s.legacy != nil {
		return s.legacyOffset(l.source, offset-l.start)
	}
	return l.source + s.fileLength(s.text[l.start:offset])
}

// knownEncoding reports whether the WHATWG's list of encodings has that name, for one that text can have.
func knownEncoding(name string) bool {
	e, err := htmlindex.Get(name)
	return err == nil && e != encoding.Replacement && e != charmap.XUserDefined
}
