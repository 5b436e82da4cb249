package pipeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// A sourceText is a file's content as UTF-8 with LF line ends, and the way back to the file's bytes.
type sourceText struct {
	text  []byte
	lines []sourceLine
	wide  bool // the file is UTF-16: two bytes a unit
}

// A sourceLine is where a line starts.
type sourceLine struct {
	start  int // in text
	source int // in the file
}

var (
	utf8BOM    = []byte("\xef\xbb\xbf")
	utf16LEBOM = []byte("\xff\xfe")
	utf16BEBOM = []byte("\xfe\xff")
	utf32LEBOM = []byte("\xff\xfe\x00\x00")
	utf32BEBOM = []byte("\x00\x00\xfe\xff")
)

// decodeText decodes a file: UTF-8 with or without byte order mark, or UTF-16 with one. LF, CRLF and
// CR end a line. It returns nil and a reason if there are more than limit bytes, or if they are not
// what they claim to be.
//
// More than a fifth of control characters is not text: so look binary files, and UTF-16 and UTF-32
// without byte order mark, which can be valid UTF-8.
func decodeText(data []byte, limit int) (*sourceText, string) {
	if len(data) > limit {
		return nil, fmt.Sprintf("%d bytes are more than the limit of %d; split the file", len(data), limit)
	}
	s := &sourceText{}
	body, mark := data, 0
	switch {
	case bytes.HasPrefix(data, utf32LEBOM), bytes.HasPrefix(data, utf32BEBOM):
		return nil, "UTF-32 is not read; convert it to UTF-8"
	case bytes.HasPrefix(data, utf16LEBOM), bytes.HasPrefix(data, utf16BEBOM):
		var order binary.ByteOrder = binary.LittleEndian
		if data[0] == 0xfe {
			order = binary.BigEndian
		}
		var reason string
		if body, reason = decodeUTF16(data[2:], order); reason != "" {
			return nil, reason
		}
		s.wide, mark = true, len(utf16LEBOM)
	case bytes.HasPrefix(data, utf8BOM):
		mark = len(utf8BOM)
		body = data[mark:]
	}
	if n, first := countControls(body); n > len(body)/5 {
		return nil, fmt.Sprintf("not text: %d of %d bytes are control characters, the first in line %d; if it is UTF-16, convert it to UTF-8",
			n, len(body), 1+countLineEnds(body[:first]))
	}
	if i := invalidUTF8(body); i >= 0 {
		return nil, fmt.Sprintf("not UTF-8: invalid byte 0x%02X at offset %d (line %d); convert it to UTF-8",
			body[i], mark+i, 1+countLineEnds(body[:i]))
	}
	s.splitLines(body, mark)
	return s, ""
}

// decodeUTF16 decodes units that follow a byte order mark, which counts in the offsets it reports.
func decodeUTF16(data []byte, order binary.ByteOrder) ([]byte, string) {
	body := make([]byte, 0, len(data))
	for i := 0; i < len(data); i += 2 {
		if i+1 == len(data) {
			return nil, fmt.Sprintf("not UTF-16: half a unit at offset %d, the file's end; it may be cut short", i+2)
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
					i+2, 1+countLineEnds(body))
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

// fileLength returns how many bytes of the file text stands for.
func (s *sourceText) fileLength(text []byte) int {
	if !s.wide {
		return len(text)
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
	return l.source + s.fileLength(s.text[l.start:offset])
}

// knownEncoding reports whether the WHATWG's list of encodings has that name.
func knownEncoding(name string) bool {
	_, err := htmlindex.Get(name)
	return err == nil
}
