package artifact

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

const (
	headerSize = 64
	alignment  = 64
	maxCount   = 1<<31 - 1 // of whatever is counted, but bytes (M4)
)

var le = binary.LittleEndian

// magic is a section's name, cut or filled up to 8 bytes.
func magic(name string) (m [8]byte) {
	copy(m[:], name)
	return m
}

// A sectionWriter builds a section: header, then arrays at multiples of 64 bytes.
type sectionWriter struct{ data []byte }

func newSection(name string, counts ...int) *sectionWriter {
	m := magic(name)
	w := &sectionWriter{append(make([]byte, 0, headerSize), m[:]...)}
	for i := range 7 {
		n := 0
		if i < len(counts) {
			n = counts[i]
		}
		w.data = le.AppendUint64(w.data, uint64(n))
	}
	return w
}

// array begins the next array.
func (w *sectionWriter) array() {
	for len(w.data)%alignment != 0 {
		w.data = append(w.data, 0)
	}
}

func (w *sectionWriter) u32(v uint32)  { w.data = le.AppendUint32(w.data, v) }
func (w *sectionWriter) u64(v uint64)  { w.data = le.AppendUint64(w.data, v) }
func (w *sectionWriter) f32(v float32) { w.u32(math.Float32bits(v)) }

// A sectionReader takes a section apart, checking S1 to S3.
type sectionReader struct {
	file   string
	data   []byte
	at     int
	counts [7]uint64
}

func openSection(name string, data []byte, counts int) (*sectionReader, error) {
	r := &sectionReader{file: name + ".bin", data: data, at: headerSize}
	if len(data) < headerSize {
		return nil, corrupt(r.file, "S2", "%d bytes are no section", len(data))
	}
	if [8]byte(data[:8]) != magic(name) {
		return nil, corrupt(r.file, "S4", "its magic is %q", data[:8])
	}
	for i := range r.counts {
		r.counts[i] = le.Uint64(data[8+8*i:])
		if r.counts[i] > MaxSection {
			return nil, corrupt(r.file, "M4", "count %d is %d", i, r.counts[i])
		}
		if i >= counts && r.counts[i] != 0 {
			return nil, corrupt(r.file, "S1", "count %d is not zero", i)
		}
	}
	return r, nil
}

// array returns the next array of n elements of size bytes each. A size is below 2^14, so nothing overflows.
func (r *sectionReader) array(n uint64, size int) ([]byte, error) {
	start := (r.at + alignment - 1) / alignment * alignment
	if start > len(r.data) || n*uint64(size) > uint64(len(r.data)-start) {
		return nil, corrupt(r.file, "S3", "%d elements of %d bytes do not fit into %d bytes", n, size, len(r.data))
	}
	if !zero(r.data[r.at:start]) {
		return nil, corrupt(r.file, "S1", "padding before byte %d is not zero", start)
	}
	r.at = start + int(n)*size
	return r.data[start:r.at:r.at], nil
}

func (r *sectionReader) end() error {
	if r.at != len(r.data) {
		return corrupt(r.file, "S2", "%d bytes follow its last array", len(r.data)-r.at)
	}
	return nil
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// A table is a list of byte strings in a section: cumulative ends, and the bytes.
type table struct {
	ends  []byte // u64 each
	bytes []byte
}

func (t table) len() int { return len(t.ends) / 8 }

// has says if a reference is one, also where int has 32 bits.
func (t table) has(ref uint32) bool { return uint64(ref) < uint64(t.len()) }

func (t table) at(i int) []byte {
	start := uint64(0)
	if i > 0 {
		start = le.Uint64(t.ends[8*(i-1):])
	}
	return t.bytes[start:le.Uint64(t.ends[8*i:])]
}

// check makes at safe: ends don't fall, and the last one is the length of the bytes.
func (t table) check(file, rule string) error {
	last := uint64(0)
	for i := range t.len() {
		end := le.Uint64(t.ends[8*i:])
		if end < last || end > uint64(len(t.bytes)) {
			return corrupt(file, rule, "entry %d ends at %d", i, end)
		}
		last = end
	}
	if last != uint64(len(t.bytes)) {
		return corrupt(file, rule, "%d bytes belong to no entry", uint64(len(t.bytes))-last)
	}
	return nil
}

// checkText makes sure that entries are valid UTF-8 and strictly ascend; the first may be empty if empty is true,
// and is then so.
func (t table) checkText(file, rule string, empty bool) error {
	if err := t.check(file, rule); err != nil {
		return err
	}
	if empty && (t.len() == 0 || len(t.at(0)) != 0) {
		return corrupt(file, rule, "string 0 is not the empty one")
	}
	for i := range t.len() {
		s := t.at(i)
		switch {
		case !utf8.Valid(s):
			return corrupt(file, rule, "entry %d is not valid UTF-8", i)
		case len(s) == 0 && !(empty && i == 0):
			return corrupt(file, rule, "entry %d is empty", i)
		case i > 0 && string(t.at(i-1)) >= string(s):
			return corrupt(file, rule, "entry %d is not above the one before it", i)
		}
	}
	return nil
}

// readTable reads a section that is one table: strings or terms.
func readTable(name, rule string, data []byte, empty bool) (table, error) {
	r, err := openSection(name, data, 2)
	if err != nil {
		return table{}, err
	}
	var t table
	if r.counts[0] > maxCount {
		return t, corrupt(r.file, "M4", "%d entries", r.counts[0])
	}
	if t.ends, err = r.array(r.counts[0], 8); err != nil {
		return t, err
	}
	if t.bytes, err = r.array(r.counts[1], 1); err != nil {
		return t, err
	}
	if err := r.end(); err != nil {
		return t, err
	}
	return t, t.checkText(r.file, rule, empty)
}

// writeTable is the reverse of readTable.
func writeTable(name string, entries []string) []byte {
	total := 0
	for _, e := range entries {
		total += len(e)
	}
	w := newSection(name, len(entries), total)
	w.array()
	w.ends(entries)
	w.array()
	for _, e := range entries {
		w.data = append(w.data, e...)
	}
	return w.data
}

// ends writes the cumulative ends of entries.
func (w *sectionWriter) ends(entries []string) {
	end := 0
	for _, e := range entries {
		end += len(e)
		w.u64(uint64(end))
	}
}
