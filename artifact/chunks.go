package artifact

import (
	"crypto/sha256"
	"slices"
	"unicode/utf8"
)

const chunkSize = 96

// ChunkID is the id of a chunk: occurrence counts the earlier chunks of the document with the same text (C3).
func ChunkID(document ID, text []byte, occurrence int) ID {
	h := sha256.New()
	h.Write(document[:])
	h.Write(text)
	h.Write(le.AppendUint32(nil, uint32(occurrence)))
	return ID(h.Sum(nil)[:16])
}

// A ChunkInfo is what an artifact holds of one chunk, apart from its text.
type ChunkInfo struct {
	ID                     ID
	Document               int
	Start, End             int // in the document's canonical text
	SourceStart, SourceEnd int64
	HeadingPath            string // joined by " > "
	Anchor                 string // of the heading above, in the rendered document; "" if there is none
	Context                string // embedded and indexed with the text
	FirstPage, LastPage    int    // from 1; 0 for formats without pages
	FirstLabel, LastLabel  string // of the pages, such as iv; "" where the label is the number
	FirstLine, LastLine    int    // from 1; 0 if unknown
	Tokens                 int    // of the text
	Terms                  int    // of context and text
}

// chunkStrings are the offsets in a record at which it refers to strings.
var chunkStrings = []int{52, 56, 84, 88, 92}

// chunks is the parsed section.
type chunks struct {
	records    []byte
	totalTerms uint64
}

func (c chunks) len() int            { return len(c.records) / chunkSize }
func (c chunks) record(i int) []byte { return c.records[i*chunkSize:][:chunkSize] }
func (c chunks) start(i int) uint64  { return le.Uint64(c.record(i)[16:]) }
func (c chunks) end(i int) uint64    { return le.Uint64(c.record(i)[24:]) }
func (c chunks) terms(i int) uint32  { return le.Uint32(c.record(i)[80:]) }

func readChunks(data []byte, strings table) (chunks, error) {
	r, err := openSection("chunks", data, 2)
	if err != nil {
		return chunks{}, err
	}
	c := chunks{totalTerms: r.counts[1]}
	if r.counts[0] > maxCount {
		return c, corrupt(r.file, "M4", "%d chunks", r.counts[0])
	}
	if c.records, err = r.array(r.counts[0], chunkSize); err != nil {
		return c, err
	}
	if err := r.end(); err != nil {
		return c, err
	}
	total := uint64(0)
	for i := range c.len() {
		rec := c.record(i)
		total += uint64(c.terms(i))
		switch {
		case slices.ContainsFunc(chunkStrings, func(at int) bool { return !strings.has(le.Uint32(rec[at:])) }):
			return c, corrupt(r.file, "T1", "chunk %d refers to a string that is not there", i)
		case c.start(i) >= c.end(i),
			le.Uint64(rec[32:]) > le.Uint64(rec[40:]) || le.Uint64(rec[40:]) > MaxSection,
			!spanOK(le.Uint32(rec[60:]), le.Uint32(rec[64:])),
			!spanOK(le.Uint32(rec[68:]), le.Uint32(rec[72:])):
			return c, corrupt(r.file, "C1", "chunk %d ends before it starts", i)
		case le.Uint32(rec[76:]) > maxCount || c.terms(i) > maxCount:
			return c, corrupt(r.file, "M4", "chunk %d is too long", i)
		}
	}
	if total != c.totalTerms {
		return c, corrupt(r.file, "S4", "its total of terms is %d, not %d", c.totalTerms, total)
	}
	return c, nil
}

// spanOK says if first to last is a span of pages or lines, or 0 to 0 for none.
func spanOK(first, last uint32) bool {
	return first <= last && last <= maxCount && (first > 0 || last == 0)
}

// checkChunks checks C1 and C2 against the documents and the text.
func checkChunks(c chunks, d documents, text []byte) error {
	const file = "chunks.bin"
	for doc := range d.len() {
		from, to := d.textEnd(doc-1), d.textEnd(doc)
		if to < uint64(len(text)) && !utf8.RuneStart(text[to]) {
			return corrupt("documents.bin", "D1", "the text of document %d ends inside a character", doc)
		}
		for i := int(d.chunkEnd(doc - 1)); i < int(d.chunkEnd(doc)); i++ {
			switch {
			case int(le.Uint32(c.record(i)[48:])) != doc:
				return corrupt(file, "C2", "chunk %d names another document than the one it lies in", i)
			case c.start(i) < from || c.end(i) > to:
				return corrupt(file, "C1", "chunk %d is outside its document", i)
			case !utf8.RuneStart(text[c.start(i)]), c.end(i) < uint64(len(text)) && !utf8.RuneStart(text[c.end(i)]):
				return corrupt(file, "C1", "chunk %d begins or ends inside a character", i)
			case i > int(d.chunkEnd(doc-1)) && (c.start(i) <= c.start(i-1) || c.end(i) < c.end(i-1)):
				return corrupt(file, "C2", "chunk %d does not come after the one before it", i)
			}
		}
	}
	return nil
}
