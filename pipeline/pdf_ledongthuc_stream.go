package pipeline

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
)

// maxPDFStream is the most bytes that a stream may unpack to.
const maxPDFStream = 64 << 20

var errPDFStream = fmt.Errorf("a stream unpacks to more than %d MiB", maxPDFStream>>20)

// pdfStream returns the unpacked data of a stream. Of broken data it returns what could be unpacked. The library's
// own reader knows two filters, and panics at others and at the first error.
func pdfStream(data []byte, v pdf.Value) ([]byte, error) {
	raw := rawPDFStream(data, v)
	filter, params := v.Key("Filter"), v.Key("DecodeParms")
	if params.IsNull() {
		params = v.Key("DP")
	}
	if filter.Kind() != pdf.Array {
		return unfilter(raw, filter.Name(), params)
	}
	if filter.Len() > 8 {
		return nil, errors.New("a stream has too many filters")
	}
	var err error
	for i := range filter.Len() {
		if raw, err = unfilter(raw, filter.Index(i).Name(), params.Index(i)); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// rawPDFStream returns the bytes of a stream as they are in the file. The library tells where they begin only in
// the value's text: its dictionary, an at sign and the offset.
func rawPDFStream(data []byte, v pdf.Value) []byte {
	if v.Kind() != pdf.Stream {
		return nil
	}
	s := v.String()
	start, err := strconv.Atoi(s[strings.LastIndexByte(s, '@')+1:])
	if err != nil || start < 0 || start > len(data) {
		return nil
	}
	length := v.Key("Length").Int64()
	return data[start:pdfStreamEnd(data, start, length)]
}

// pdfStreamEnd returns where the data of a stream ends that begins at start: after length bytes if the end is
// marked there, otherwise at the next such mark.
func pdfStreamEnd(data []byte, start int, length int64) int {
	mark := []byte("endstream")
	if length >= 0 && length <= int64(len(data)-start) {
		end := start + int(length)
		if bytes.HasPrefix(bytes.TrimLeft(data[end:min(end+16, len(data))], "\r\n \t\x00"), mark) {
			return end
		}
	}
	if i := bytes.Index(data[start:], mark); i >= 0 {
		return start + i
	}
	if i := bytes.Index(data[start:], []byte("endobj")); i >= 0 {
		return start + i
	}
	return len(data)
}

// unfilter applies a filter (PDF 1.7, 7.4). Those of images give nothing.
func unfilter(data []byte, name string, params pdf.Value) ([]byte, error) {
	var err error
	switch name {
	case "", "Crypt":
		return data, nil
	case "FlateDecode", "Fl":
		data, err = inflate(data)
	case "LZWDecode", "LZW":
		early := params.Key("EarlyChange")
		data, err = unLZW(data, early.IsNull() || early.Int64() != 0)
	case "ASCIIHexDecode", "AHx":
		l := pdfLexer{data: data}
		return []byte(l.hex()), nil
	case "ASCII85Decode", "A85":
		return unASCII85(data), nil
	case "RunLengthDecode", "RL":
		return unRunLength(data)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return unpredict(data, params)
}

// inflate reads zlib data; what is behind an error is lost, and so is a wrong checksum.
func inflate(data []byte) ([]byte, error) {
	var r io.Reader
	z, err := zlib.NewReader(bytes.NewReader(data))
	switch {
	case err == nil:
		r = z
	case len(data) > 2:
		r = flate.NewReader(bytes.NewReader(data[2:])) // the header alone may be broken
	default:
		return nil, nil
	}
	out, _ := io.ReadAll(io.LimitReader(r, maxPDFStream+1))
	if len(out) > maxPDFStream {
		return nil, errPDFStream
	}
	return out, nil
}

// unLZW reads LZW data as TIFF and PDF write it: codes of 9 to 12 bits, the highest bit first. With early a
// code grows one entry too soon.
func unLZW(data []byte, early bool) ([]byte, error) {
	type entry struct {
		before int // code
		last   byte
		length int
	}
	const clear, end = 256, 257
	table := make([]entry, 258, 4096)
	for i := range 256 {
		table[i] = entry{-1, byte(i), 1}
	}
	var out []byte
	width, previous := 9, -1
	var bits, held uint32
	ahead := 0
	if early {
		ahead = 1
	}
	for _, c := range data {
		bits, held = bits<<8|uint32(c), held+8
		if held < uint32(width) {
			continue
		}
		held -= uint32(width)
		code := int(bits >> held & (1<<width - 1))
		switch {
		case code == clear:
			table, width, previous = table[:258], 9, -1
			continue
		case code == end:
			return out, nil
		case code > len(table) || code == len(table) && previous < 0:
			return out, nil // broken
		}
		start := len(out)
		from := code
		if code == len(table) { // the word that is being made: the previous one and its own first byte
			from = previous
		}
		n := table[from].length
		if start+n+1 > maxPDFStream {
			return nil, errPDFStream
		}
		out = append(out, make([]byte, n)...)
		for at := start + n - 1; from >= 0; at-- {
			out[at] = table[from].last
			from = table[from].before
		}
		if code == len(table) {
			out = append(out, out[start])
		}
		if previous >= 0 && len(table) < 4096 {
			table = append(table, entry{previous, out[start], table[previous].length + 1})
		}
		previous = code
		if len(table)+ahead >= 1<<width && width < 12 {
			width++
		}
	}
	return out, nil
}

func unASCII85(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	out := make([]byte, 4*len(data)+4)
	n, _, err := ascii85.Decode(out, data, true)
	if err != nil {
		n, _, _ = ascii85.Decode(out, data, false)
	}
	return out[:n]
}

func unRunLength(data []byte) ([]byte, error) {
	var out []byte
	for i := 0; i < len(data) && data[i] != 128; {
		n := int(data[i])
		i++
		if n < 128 {
			end := min(i+n+1, len(data))
			out = append(out, data[i:end]...)
			i = end
		} else if i < len(data) {
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			i++
		}
		if len(out) > maxPDFStream {
			return nil, errPDFStream
		}
	}
	return out, nil
}

// unpredict undoes the PNG filters; TIFF's is undone for bytes (PDF 1.7, 7.4.4.4).
func unpredict(data []byte, params pdf.Value) ([]byte, error) {
	predictor := params.Key("Predictor").Int64()
	if predictor < 2 {
		return data, nil
	}
	number := func(key string, usual int64) int64 {
		if v := params.Key(key); v.Kind() == pdf.Integer {
			return v.Int64()
		}
		return usual
	}
	colors, bits, columns := number("Colors", 1), number("BitsPerComponent", 8), number("Columns", 1)
	if colors < 1 || colors > 32 || bits < 1 || bits > 16 || columns < 1 || columns > 1<<20 {
		return nil, errors.New("a stream's predictor makes no sense")
	}
	pixel, row := int(max(1, colors*bits/8)), int((colors*bits*columns+7)/8)
	if predictor == 2 {
		for start := 0; start < len(data) && bits == 8; start += row {
			for i := start + pixel; i < min(start+row, len(data)); i++ {
				data[i] += data[i-pixel]
			}
		}
		return data, nil
	}
	out := make([]byte, 0, len(data))
	before := make([]byte, row)
	for len(data) > 1 {
		filter := data[0]
		line := make([]byte, row)
		data = data[1+copy(line, data[1:]):]
		for i := range line {
			var left, upperLeft byte
			if i >= pixel {
				left, upperLeft = line[i-pixel], before[i-pixel]
			}
			switch filter {
			case 1:
				line[i] += left
			case 2:
				line[i] += before[i]
			case 3:
				line[i] += byte((int(left) + int(before[i])) / 2)
			case 4:
				line[i] += paeth(left, before[i], upperLeft)
			}
		}
		out = append(out, line...)
		before = line
	}
	return out, nil
}

// paeth is the one of its arguments that is nearest to a+b-c.
func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	da, db, dc := p-int(a), p-int(b), p-int(c)
	da, db, dc = max(da, -da), max(db, -db), max(dc, -dc)
	switch {
	case da <= db && da <= dc:
		return a
	case db <= dc:
		return b
	}
	return c
}
