package tools

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"slices"
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
	left := f.budget(ctx)
	for i, name := range in.Paths {
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		if i == maxPaths || i > 0 && left <= 0 {
			a.Truncated, a.TotalPaths = true, len(in.Paths)
			break
		}
		r, err := f.readFile(ctx, name, min(left, maxRead))
		if err != nil {
			p := problem{shown(name), reason(err)}
			a.Errors = append(a.Errors, p)
			left -= len(p.Path) + len(p.Error) + 30 // and the names of the fields
			continue
		}
		left -= len(r.Content) + len(r.Path) + len(r.FullPath) + 60
		a.Truncated = a.Truncated || r.Truncated
		a.Results = append(a.Results, r)
	}
	a.FilesRead = len(a.Results)
	a.Success = a.FilesRead > 0
	return a, nil
}

// readFile reads the beginning of a file, up to limit bytes.
func (f Files) readFile(ctx context.Context, name string, limit int) (readFile, error) {
	if name == "" {
		return readFile{}, errEmpty
	}
	found, info, err := f.resolve(ctx, name)
	if err != nil {
		return readFile{}, err
	}
	if info.IsDir() {
		return readFile{}, errFolder
	}
	if !info.Mode().IsRegular() { // and it is not opened, which can have effects on devices
		return readFile{}, errIrregular
	}
	data, size, err := read(f.FS, found, limit, nil)
	if err != nil {
		return readFile{}, err
	}
	whole := int64(len(data)) == size
	if !whole {
		data = data[:len(data)-partial(data)]
	}
	content := decode(data)
	if !isText(content) {
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
// whole file when it was opened, or that of what was read if that is more. Some files say that they have none and give
// something all the same.
func read(fsys fs.FS, name string, limit int, buffer []byte) (data []byte, size int64, err error) {
	file, err := fsys.Open(name)
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
	size = info.Size()
	want := int(min(size, int64(limit)))
	if size <= 0 {
		want, size = limit, 0
	}
	data = buffer[:0]
	for len(data) < want {
		data = slices.Grow(data, min(want-len(data), max(len(data), 512, int(size))))
		n, err := file.Read(data[len(data):min(cap(data), want)])
		data = data[:len(data)+n]
		if err == io.EOF {
			size = int64(len(data)) // it has shrunk, or ended
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return data, max(size, int64(len(data))), nil
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

// decode returns a file's bytes as UTF-8 without a byte order mark. UTF-16 is told by its mark.
func decode(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	return data
}

// isText says whether bytes are a text: no NUL among the first 8 KiB, as Git has it, and no UTF-8 in at most a tenth of
// them.
func isText(data []byte) bool {
	head := data[:min(len(data), sample)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	return utf8.Valid(head) || invalid(head)*10 <= len(head)+30 // in a short text, a few may be; and the sample's end cuts
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
