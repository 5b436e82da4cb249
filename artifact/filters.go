package artifact

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"example.com/larder/internal/roaring"
)

// The fields that filters exist for, sorted.
const (
	FieldContentType = "content_type"
	FieldDate        = "date"
	FieldTopics      = "topics"
	FieldUnitID      = "unit_id"
)

// DefaultContentType is what documents without a content type count as.
const DefaultContentType = "article"

// filters is the parsed section: one bitmap of chunks for each field and value.
type filters struct {
	texts          table
	fields, values []byte // u32 strings
	bitmaps        table
	chunks         int
}

func (f filters) len() int           { return f.bitmaps.len() }
func (f filters) field(i int) string { return string(f.texts.at(int(le.Uint32(f.fields[4*i:])))) }
func (f filters) value(i int) string { return string(f.texts.at(int(le.Uint32(f.values[4*i:])))) }

// bitmap parses the i-th bitmap, which readFilters has checked.
func (f filters) bitmap(i int) (roaring.Bitmap, error) {
	b, err := roaring.Parse(f.bitmaps.at(i), uint32(f.chunks))
	if err == nil && b.Len() == 0 {
		return b, corrupt("filters.bin", "P1", "filter %d is empty", i)
	}
	if err != nil {
		return b, corrupt("filters.bin", "P1", "filter %d: %v", i, err)
	}
	return b, nil
}

// find returns the place of field and value, or where it would be.
func (f filters) find(field, value string) (int, bool) {
	i := sort.Search(f.len(), func(i int) bool {
		g := f.field(i)
		return g > field || g == field && f.value(i) >= value
	})
	return i, i < f.len() && f.field(i) == field && f.value(i) == value
}

func readFilters(data []byte, texts table, chunks int) (filters, error) {
	f := filters{texts: texts, chunks: chunks}
	r, err := openSection("filters", data, 2)
	if err != nil {
		return f, err
	}
	if f.fields, err = r.array(r.counts[0], 4); err != nil {
		return f, err
	}
	if f.values, err = r.array(r.counts[0], 4); err != nil {
		return f, err
	}
	if f.bitmaps.ends, err = r.array(r.counts[0], 8); err != nil {
		return f, err
	}
	if f.bitmaps.bytes, err = r.array(r.counts[1], 1); err != nil {
		return f, err
	}
	if err := r.end(); err != nil {
		return f, err
	}
	if err := f.bitmaps.check(r.file, "S4"); err != nil {
		return f, err
	}
	for i := range f.len() {
		field, value := le.Uint32(f.fields[4*i:]), le.Uint32(f.values[4*i:])
		if !texts.has(field) || !texts.has(value) {
			return f, corrupt(r.file, "T1", "filter %d refers to a string that is not there", i)
		}
		switch f.field(i) {
		case FieldContentType, FieldDate, FieldTopics, FieldUnitID:
		default:
			return f, unsupported(r.file, "F4", "filter field %q is unknown to this reader", f.field(i))
		}
		// Strings ascend, so references compare as the strings do.
		if value == 0 || i > 0 && (field < le.Uint32(f.fields[4*(i-1):]) ||
			field == le.Uint32(f.fields[4*(i-1):]) && value <= le.Uint32(f.values[4*(i-1):])) {
			return f, corrupt(r.file, "L1", "filter %d has no value or is not above the one before it", i)
		}
		if _, err := f.bitmap(i); err != nil {
			return f, err
		}
	}
	return f, nil
}

// A filter is the set of chunks, ascending, whose document has a value.
type filter struct {
	field, value string
	chunks       []uint32
}

// filtersOf lists the filters that documents imply, in order (L1, L2).
func filtersOf(documents []DocumentInfo) []filter {
	sets := map[[2]string][]uint32{}
	for _, d := range documents {
		add := func(field, value string) {
			if value == "" {
				return
			}
			for i := d.FirstChunk; i < d.EndChunk; i++ {
				sets[[2]string{field, value}] = append(sets[[2]string{field, value}], uint32(i))
			}
		}
		add(FieldContentType, d.ContentType)
		add(FieldDate, d.Date)
		add(FieldUnitID, d.UnitID)
		for _, t := range d.Topics {
			add(FieldTopics, t)
		}
	}
	list := make([]filter, 0, len(sets))
	for key, set := range sets {
		list = append(list, filter{key[0], key[1], set})
	}
	slices.SortFunc(list, func(a, b filter) int {
		return cmp.Or(strings.Compare(a.field, b.field), strings.Compare(a.value, b.value))
	})
	return list
}

func writeFilters(list []filter, ref func(string) uint32, bitmap BitmapWriter) []byte {
	bitmaps := make([]string, len(list))
	size := 0
	for i, f := range list {
		bitmaps[i] = string(bitmap(f.chunks))
		size += len(bitmaps[i])
	}
	w := newSection("filters", len(list), size)
	w.array()
	for _, f := range list {
		w.u32(ref(f.field))
	}
	w.array()
	for _, f := range list {
		w.u32(ref(f.value))
	}
	w.array()
	w.ends(bitmaps)
	w.array()
	for _, b := range bitmaps {
		w.data = append(w.data, b...)
	}
	return w.data
}
