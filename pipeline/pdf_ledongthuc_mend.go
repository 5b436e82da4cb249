package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// mendPDFEnds returns a copy of a file that begins and ends as the library insists on. What stands before the
// header is cut off, as offsets are counted from it.
func mendPDFEnds(data []byte) ([]byte, error) {
	head := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if head < 0 || len(data)-head < 32 {
		return nil, pdfFailed("it is no pdf: no header is near its begin")
	}
	data = bytes.Clone(data[head:])
	copy(data, "%PDF-1.7")
	if data[8] != '\r' && data[8] != '\n' {
		data[8] = '\n'
	}
	// Whatever is behind the last startxref is what the library looks at.
	if at, ok := lastTable(data); ok {
		return fmt.Appendf(data, "\nstartxref\n%d\n%%%%EOF\n", at), nil
	}
	return data, nil
}

var startTable = regexp.MustCompile(`startxref\s+(\d{1,10})\s`)

// lastTable returns the offset of the cross-reference table that a file names last.
func lastTable(data []byte) (int, bool) {
	for end := len(data); ; {
		i := bytes.LastIndex(data[:end], []byte("startxref"))
		if i < 0 {
			return 0, false
		}
		if m := startTable.FindSubmatch(append(bytes.Clone(data[i:min(i+40, len(data))]), ' ')); m != nil {
			at, _ := strconv.Atoi(string(m[1]))
			return at, at > 0 && at < len(data)
		}
		end = i
	}
}

var previousTable = regexp.MustCompile(`/Prev\s+(\d{1,10})`)

// tablesLoop says whether a file's tables name one another in a circle, which the library follows forever.
func tablesLoop(data []byte) bool {
	at, ok := lastTable(data)
	seen := map[int]bool{}
	for ok && at < len(data) {
		if seen[at] || len(seen) > 10_000 {
			return true
		}
		seen[at] = true
		part := data[at:]
		if i := bytes.Index(part, []byte("trailer")); bytes.HasPrefix(bytes.TrimSpace(part[:min(16, len(part))]), []byte("xref")) && i >= 0 {
			part = part[i:]
		}
		end := len(part)
		for _, mark := range []string{"startxref", "stream", "endobj"} {
			if i := bytes.Index(part[:end], []byte(mark)); i >= 0 {
				end = i
			}
		}
		m := previousTable.FindSubmatch(part[:end])
		if ok = m != nil; ok {
			at, _ = strconv.Atoi(string(m[1]))
		}
	}
	return false
}

// A pdfObject is where an object is in a file.
type pdfObject struct {
	number, generation int
	at, start          int // of its header, of its value
	head               []byte
	stream, end        int // of a stream's data
}

var pdfObjectStart = regexp.MustCompile(`(\d{1,10})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`)

// The most objects that a file is searched for, and their highest number.
const maxPDFObjects = 2_000_000

// scanPDFObjects finds objects by their headers, in the order of the file. Data of streams is skipped.
func scanPDFObjects(data []byte) []pdfObject {
	var objects []pdfObject
	lengths := map[int]int64{} // whole numbers, which streams name as their length
	for at := 0; len(objects) < maxPDFObjects; {
		m := pdfObjectStart.FindSubmatchIndex(data[at:])
		if m == nil {
			break
		}
		o := pdfObject{at: at + m[0], start: at + m[1]}
		o.number, _ = strconv.Atoi(string(data[at+m[2] : at+m[3]]))
		o.generation, _ = strconv.Atoi(string(data[at+m[4] : at+m[5]]))
		rest := data[o.start:]
		end := bytes.Index(rest, []byte("endobj"))
		if end < 0 {
			end = len(rest)
		}
		stream := bytes.Index(rest[:end], []byte("stream"))
		if stream >= 0 {
			o.head = rest[:stream]
			o.stream = o.start + stream + len("stream")
			if o.stream < len(data) && data[o.stream] == '\r' {
				o.stream++
			}
			if o.stream < len(data) && data[o.stream] == '\n' {
				o.stream++
			}
			o.end = pdfStreamEnd(data, o.stream, streamLength(o.head, lengths))
			at = o.end
		} else {
			o.head = rest[:end]
			at = o.start
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(o.head[:min(len(o.head), 24)])), 10, 64); err == nil {
				lengths[o.number] = n
			}
		}
		if o.number < maxPDFObjects && o.generation < 65536 {
			objects = append(objects, o)
		}
	}
	return objects
}

var (
	lengthHere  = regexp.MustCompile(`/Length\s+(\d{1,10})(\s+\d+\s+R)?`)
	rootThere   = regexp.MustCompile(`/Root\s+(\d{1,10})\s+(\d{1,5})\s+R`)
	infoThere   = regexp.MustCompile(`/Info\s+(\d{1,10})\s+(\d{1,5})\s+R`)
	catalogHere = regexp.MustCompile(`/Type\s*/Catalog\b`)
	packHere    = regexp.MustCompile(`/Type\s*/ObjStm\b`)
	tableHere   = regexp.MustCompile(`/Type\s*/XRef\b`)
)

func streamLength(head []byte, lengths map[int]int64) int64 {
	m := lengthHere.FindSubmatch(head)
	if m == nil {
		return -1
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	if len(m[2]) == 0 {
		return n
	}
	if n, ok := lengths[int(n)]; ok {
		return n
	}
	return -1
}

// rebuild finds the objects of a file itself and opens it with a table of its own behind the file's end.
// Objects that are packed in streams are unpacked there.
func (f *ledongthucFile) rebuild() error {
	objects := scanPDFObjects(f.data)
	if len(objects) == 0 {
		return pdfFailed("it is no pdf, or broken beyond repair")
	}
	last := map[int]place{}
	root, info := "", ""
	packs := map[int]bool{}
	for i, o := range objects {
		last[o.number] = place{o.at, o.generation, i}
		if catalogHere.Match(o.head) {
			root = fmt.Sprintf("%d %d R", o.number, o.generation)
		}
		if packHere.Match(o.head) {
			packs[i] = true
		}
	}
	for _, m := range rootThere.FindAllSubmatch(f.data, -1) {
		if n, _ := strconv.Atoi(string(m[1])); last[n].at > 0 || len(packs) > 0 {
			root = fmt.Sprintf("%s %s R", m[1], m[2])
		}
	}
	if m := infoThere.FindSubmatch(f.data); m != nil {
		info = fmt.Sprintf("/Info %s %s R", m[1], m[2])
	}
	if len(packs) > 0 {
		if err := f.open(last, root, info, objects, packs); err != nil {
			return err
		}
		for i, o := range objects {
			if !packs[i] || last[o.number].order != i {
				continue
			}
			attempt(func() { f.unpack(i, last) })
		}
	}
	if root == "" {
		for _, n := range slices.Sorted(maps.Keys(last)) {
			if end := min(last[n].at+4096, len(f.data)); catalogHere.Match(f.data[last[n].at:end]) {
				root = fmt.Sprintf("%d 0 R", n)
				break
			}
		}
	}
	if root == "" {
		return pdfFailed("it is no pdf, or broken beyond repair: no catalog is in it")
	}
	return f.open(last, root, info, nil, nil)
}

// A place is where an object's header begins, and its rank among the objects of the file.
type place struct{ at, generation, order int }

// open writes a table of objects behind the data and has the library read it. Packs are named in the trailer,
// since the library gives objects by reference only.
func (f *ledongthucFile) open(last map[int]place, root, info string, objects []pdfObject, packs map[int]bool) error {
	table := len(f.data) + 1
	b := append(f.data, '\n')
	b = append(b, "xref\n"...)
	highest := 0
	for _, n := range slices.Sorted(maps.Keys(last)) {
		b = fmt.Appendf(b, "%d 1\n%010d %05d n \n", n, last[n].at, last[n].generation)
		highest = max(highest, n)
	}
	b = fmt.Appendf(b, "trailer\n<< /Size %d %s", highest+1, info)
	if root != "" {
		b = fmt.Appendf(b, " /Root %s", root)
	}
	for _, i := range slices.Sorted(maps.Keys(packs)) {
		b = fmt.Appendf(b, " /Pack%d %d %d R", i, objects[i].number, objects[i].generation)
	}
	b = fmt.Appendf(b, " >>\nstartxref\n%d\n%%%%EOF\n", table)
	var err error
	attempt(func() { f.reader, err = pdf.NewReader(bytes.NewReader(b), int64(len(b))) })
	if f.reader == nil || err != nil {
		return pdfFailed("it is no pdf, or broken beyond repair")
	}
	f.data = b
	return nil
}

// unpack writes the objects of a pack behind the data (PDF 1.7, 7.5.7).
func (f *ledongthucFile) unpack(order int, last map[int]place) {
	v := f.reader.Trailer().Key(fmt.Sprintf("Pack%d", order))
	data, err := f.stream(v)
	first := int(v.Key("First").Int64())
	if err != nil || first < 0 || first > len(data) || len(f.data)+len(data) > 4*maxPDFStream {
		return
	}
	l := pdfLexer{data: data[:first]}
	var numbers []int
	for t := l.next(); t.kind == pdfNumber && len(numbers) < maxPDFObjects; t = l.next() {
		numbers = append(numbers, int(t.num))
	}
	for i := 0; i+1 < len(numbers); i += 2 {
		number, start, end := numbers[i], first+numbers[i+1], len(data)
		if i+3 < len(numbers) {
			end = first + numbers[i+3]
		}
		if number < 0 || number >= maxPDFObjects || start < first || end > len(data) || start >= end {
			continue
		}
		if l, ok := last[number]; ok && l.order > order {
			continue
		}
		last[number] = place{len(f.data), 0, order}
		f.data = fmt.Appendf(f.data, "%d 0 obj\n%s\nendobj\n", number, data[start:end])
	}
}
