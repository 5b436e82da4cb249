package artifact

import "example.com/larder/internal/roaring"

// Postings are the chunks that hold a term, and how often.
type Postings struct {
	Chunks roaring.Bitmap
	freqs  []byte
	width  int
}

// Freq returns the frequency of the term in the i-th chunk of Chunks.
func (p Postings) Freq(i int) int {
	switch p.width {
	case 1:
		return int(p.freqs[i])
	case 2:
		return int(le.Uint16(p.freqs[2*i:]))
	}
	return int(le.Uint32(p.freqs[4*i:]))
}

// postings is the parsed section.
type postings struct {
	entries table
	bitmaps []byte // u32: bytes of each bitmap
	dfs     []byte // u32
}

func (p postings) df(i int) int { return int(le.Uint32(p.dfs[4*i:])) }

// at parses entry i, which readPostings has checked.
func (p postings) at(i int, chunks int) (Postings, error) {
	entry := p.entries.at(i)
	size, df := le.Uint32(p.bitmaps[4*i:]), p.df(i)
	if uint64(size) > uint64(len(entry)) {
		return Postings{}, corrupt("postings.bin", "P1", "the bitmap of term %d is longer than its entry", i)
	}
	b, err := roaring.Parse(entry[:size], uint32(chunks))
	if err != nil {
		return Postings{}, corrupt("postings.bin", "P1", "term %d: %v", i, err)
	}
	if b.Len() != df || df == 0 {
		return Postings{}, corrupt("postings.bin", "P1", "term %d: %d chunks, but df is %d", i, b.Len(), df)
	}
	freqs := entry[size:]
	width := len(freqs) / df
	if len(freqs)%df != 0 || width != 1 && width != 2 && width != 4 {
		return Postings{}, corrupt("postings.bin", "P2", "term %d: %d bytes of frequencies for %d chunks", i, len(freqs), df)
	}
	return Postings{b, freqs, width}, nil
}

func readPostings(data []byte, terms, chunks int) (postings, error) {
	r, err := openSection("postings", data, 2)
	if err != nil {
		return postings{}, err
	}
	var p postings
	if p.entries.ends, err = r.array(r.counts[0], 8); err != nil {
		return p, err
	}
	if p.bitmaps, err = r.array(r.counts[0], 4); err != nil {
		return p, err
	}
	if p.dfs, err = r.array(r.counts[0], 4); err != nil {
		return p, err
	}
	if p.entries.bytes, err = r.array(r.counts[1], 1); err != nil {
		return p, err
	}
	if err := r.end(); err != nil {
		return p, err
	}
	if p.entries.len() != terms {
		return p, corrupt(r.file, "S4", "%d entries for %d terms", p.entries.len(), terms)
	}
	if err := p.entries.check(r.file, "S4"); err != nil {
		return p, err
	}
	for i := range terms {
		entry, err := p.at(i, chunks)
		if err != nil {
			return p, err
		}
		largest := 0
		for k := range p.df(i) {
			f := entry.Freq(k)
			if f < 1 || f > maxCount { // negative where int has 32 bits
				return p, corrupt(r.file, "P2", "term %d has the frequency %d", i, f)
			}
			largest = max(largest, f)
		}
		if entry.width != frequencyWidth(largest) {
			return p, corrupt(r.file, "P2", "term %d needs %d bytes a frequency and has %d", i, frequencyWidth(largest), entry.width)
		}
	}
	return p, nil
}

// frequencyWidth is the least number of bytes that holds largest (P2).
func frequencyWidth(largest int) int {
	switch {
	case largest < 1<<8:
		return 1
	case largest < 1<<16:
		return 2
	}
	return 4
}

func writePostings(terms []Term, bitmap BitmapWriter) []byte {
	size := 0
	bitmaps := make([][]byte, len(terms))
	ends := make([]int, len(terms))
	widths := make([]int, len(terms))
	for i, t := range terms {
		largest := uint32(0)
		for _, f := range t.Freqs {
			largest = max(largest, f)
		}
		widths[i] = frequencyWidth(int(largest))
		bitmaps[i] = bitmap(t.Chunks)
		size += len(bitmaps[i]) + widths[i]*len(t.Freqs)
		ends[i] = size
	}
	w := newSection("postings", len(terms), size)
	w.array()
	for _, end := range ends {
		w.u64(uint64(end))
	}
	w.array()
	for _, b := range bitmaps {
		w.u32(uint32(len(b)))
	}
	w.array()
	for _, t := range terms {
		w.u32(uint32(len(t.Freqs)))
	}
	w.array()
	for i, t := range terms {
		w.data = append(w.data, bitmaps[i]...)
		for _, f := range t.Freqs {
			switch widths[i] {
			case 1:
				w.data = append(w.data, byte(f))
			case 2:
				w.data = le.AppendUint16(w.data, uint16(f))
			default:
				w.data = le.AppendUint32(w.data, f)
			}
		}
	}
	return w.data
}
