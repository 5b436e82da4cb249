package tools

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

type readArguments struct {
	Paths []string `json:"paths" jsonschema:"paths of files, relative to the root of the knowledge base; 10 to 20 at a time are best" ru:"относительные пути к файлам; лучше не более 10-20 за раз"`
}

type readAnswer struct {
	Success    bool       `json:"success"`
	FilesRead  int        `json:"files_read"`
	Results    []readFile `json:"results"`
	Errors     []problem  `json:"errors"`
	Truncated  bool       `json:"truncated,omitempty" jsonschema:"the answer is cut: see truncated of the files, and total_paths"`
	TotalPaths int        `json:"total_paths,omitempty" jsonschema:"how many paths were given, if that is too many: the rest was not looked at"`
}

type readFile struct {
	Path      string `json:"path"`
	FullPath  string `json:"full_path"`
	Content   string `json:"content"`
	Size      int64  `json:"size" jsonschema:"bytes of the whole file"`
	Truncated bool   `json:"truncated,omitempty" jsonschema:"content is the beginning of the file only"`
	Lossy     bool   `json:"lossy,omitempty" jsonschema:"bytes that are no UTF-8 stand in content as U+FFFD"`
}

// readFiles is kb_read_file. Each path is answered for by itself, in the order given.
func (f Files) readFiles(ctx context.Context, in readArguments) (readAnswer, error) {
	a := readAnswer{Results: []readFile{}}
	if len(in.Paths) > maxPaths {
		a.Truncated, a.TotalPaths = true, len(in.Paths)
		in.Paths = in.Paths[:maxPaths]
	}
	left := f.budget()
	for _, name := range in.Paths {
		if ctx.Err() != nil {
			return a, cancelled(ctx)
		}
		r, err := f.readFile(name, min(left, maxRead))
		if err != nil {
			a.Errors = append(a.Errors, problem{shown(name), reason(err)})
			a.Truncated = a.Truncated || err == errFull
			continue
		}
		left -= len(r.Content)
		a.Truncated = a.Truncated || r.Truncated
		a.Results = append(a.Results, r)
	}
	a.FilesRead = len(a.Results)
	a.Success = a.FilesRead > 0
	return a, nil
}

// readFile reads the beginning of a file, up to limit bytes.
func (f Files) readFile(name string, limit int) (readFile, error) {
	if name == "" {
		return readFile{}, errEmpty
	}
	found, info, err := f.resolve(name)
	if err != nil {
		return readFile{}, err
	}
	if info.IsDir() {
		return readFile{}, errFolder
	}
	if limit == 0 && info.Size() > 0 {
		return readFile{}, errFull
	}
	data, size, err := f.read(found, limit, nil)
	if err != nil {
		return readFile{}, err
	}
	whole := int64(len(data)) == size
	if !whole {
		data = data[:len(data)-partial(data)]
	}
	content, ok := text(data)
	if !ok {
		return readFile{}, errBinary
	}
	if len(content) > limit { // UTF-16 grows
		content, whole = content[:boundary(content, limit)], false
	}
	return readFile{
		Path: name, FullPath: f.FullPath(found), Size: size, Truncated: !whole,
		Content: string(bytes.ToValidUTF8(content, []byte("\ufffd"))), Lossy: !utf8.Valid(content),
	}, nil
}

// read reads the first bytes of a regular file, at most limit, into a buffer that grows as needed. size is that of the
// whole file; where the file grows meanwhile, it is that of what was read if that is all, and more than it if not.
func (f Files) read(name string, limit int, buffer []byte) (data []byte, size int64, err error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // it was one a moment ago
		return nil, 0, errIrregular
	}
	// One byte more than the file has tells that it ends there.
	if want := int(min(info.Size(), int64(limit))) + 1; cap(buffer) < want {
		buffer = make([]byte, want)
	}
	buffer = buffer[:cap(buffer)]
	n := 0
	for n <= limit {
		if n == len(buffer) {
			buffer = append(buffer, make([]byte, min(n, limit+1-n))...)
		}
		m, err := file.Read(buffer[n:])
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if n <= limit {
		return buffer[:n], int64(n), nil
	}
	return buffer[:limit], max(info.Size(), int64(n)), nil
}

// partial is the length of the character that the end of a text cuts, 0 if it cuts none.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// sample is how many bytes of a file tell whether it is a text.
const sample = 8 << 10

// text returns a file's bytes as UTF-8 without a byte order mark. It is not ok if they are no text: a NUL among the
// first 8 KiB, as Git has it, or no UTF-8 in more than a tenth of them. UTF-16 is told by its mark.
func text(data []byte) (content []byte, ok bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	}
	if order != nil {
		data = fromUTF16(data[2:], order)
	}
	head := data[:min(len(data), sample)]
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, false
	}
	if utf8.Valid(head) {
		return data, true
	}
	return data, invalid(head)*10 <= len(head)+30 // a short text, and a character that the sample cuts, may have three
}

// invalid counts the bytes that are no UTF-8.
func invalid(data []byte) (n int) {
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			n++
		}
		data = data[size:]
	}
	return n
}

func fromUTF16(data []byte, order binary.ByteOrder) (text []byte) {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	for _, r := range utf16.Decode(units) {
		text = utf8.AppendRune(text, r)
	}
	return text
}
