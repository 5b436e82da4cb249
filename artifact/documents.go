package artifact

import (
	"crypto/sha256"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

const documentSize = 128

// DocumentID is the id of the document at path in base (D3).
func DocumentID(base, path string) ID {
	h := sha256.New()
	h.Write([]byte(base))
	h.Write([]byte{0})
	h.Write([]byte(path))
	return ID(h.Sum(nil)[:16])
}

// A DocumentInfo is what an artifact holds of one document, apart from its text.
type DocumentInfo struct {
	ID          ID
	SHA256      [32]byte // of the source file
	Size        int64    // of the source file, in bytes
	Path        string   // below the base's folder
	Title       string
	ContentType string // "" if none is given
	UnitID      string
	Date        string // YYYY-MM-DD, or ""
	Author      string
	Language    string // BCP 47, or ""
	Topics      []string
	Verdict     Verdict
	Reason      string // of the verdict
	Pages       int    // 0 for formats without pages
	FirstChunk  int    // its chunks are FirstChunk up to EndChunk
	EndChunk    int
}

// documentStrings are the offsets in a record at which it refers to strings.
var documentStrings = []int{72, 76, 80, 84, 88, 92, 104, 108}

// documents is the parsed section: records and topics.
type documents struct {
	records []byte
	topics  []byte
}

func (d documents) len() int            { return len(d.records) / documentSize }
func (d documents) record(i int) []byte { return d.records[i*documentSize:][:documentSize] }

// The ends that a record holds; those of the record before it, or 0, are its starts.
func (d documents) textEnd(i int) uint64  { return d.end64(i, 56) }
func (d documents) chunkEnd(i int) uint32 { return d.end32(i, 64) }
func (d documents) topicEnd(i int) uint32 { return d.end32(i, 68) }

func (d documents) end64(i, at int) uint64 {
	if i < 0 {
		return 0
	}
	return le.Uint64(d.record(i)[at:])
}

func (d documents) end32(i, at int) uint32 {
	if i < 0 {
		return 0
	}
	return le.Uint32(d.record(i)[at:])
}

func (d documents) topic(i uint32) uint32 { return le.Uint32(d.topics[4*int(i):]) }

// localPath reports whether p is a path below a folder: slash-separated, without empty, . and .. elements and NUL.
func localPath(p string) bool {
	return p != "." && fs.ValidPath(p) && !strings.ContainsRune(p, 0)
}

// dateOK reports whether a date is a day as YYYY-MM-DD, or empty.
func dateOK(date string) bool {
	_, err := time.Parse(time.DateOnly, date)
	return date == "" || err == nil
}

// readDocuments checks what makes every later access safe, and D1 and D2.
func readDocuments(data []byte, texts table, textSize uint64, chunks int) (documents, error) {
	r, err := openSection("documents", data, 2)
	if err != nil {
		return documents{}, err
	}
	var d documents
	if r.counts[0] > maxCount || r.counts[1] > maxCount {
		return d, corrupt(r.file, "M4", "%d documents with %d topics", r.counts[0], r.counts[1])
	}
	if d.records, err = r.array(r.counts[0], documentSize); err != nil {
		return d, err
	}
	if d.topics, err = r.array(r.counts[1], 4); err != nil {
		return d, err
	}
	if err := r.end(); err != nil {
		return d, err
	}
	topics := uint32(len(d.topics) / 4)
	for i := range topics {
		if s := d.topic(i); s == 0 || !texts.has(s) {
			return d, corrupt(r.file, "T1", "topic %d is string %d", i, s)
		}
	}
	for i := range d.len() {
		rec := d.record(i)
		for _, at := range documentStrings {
			if !texts.has(le.Uint32(rec[at:])) {
				return d, corrupt(r.file, "T1", "document %d refers to string %d", i, le.Uint32(rec[at:]))
			}
		}
		switch {
		case le.Uint32(rec[96:]) >= verdicts:
			return d, corrupt(r.file, "S4", "document %d has verdict %d", i, le.Uint32(rec[96:]))
		case !zero(rec[112:]):
			return d, corrupt(r.file, "S1", "document %d has reserved bytes that are not zero", i)
		case le.Uint64(rec[48:]) > MaxSection || le.Uint32(rec[100:]) > maxCount:
			return d, corrupt(r.file, "M4", "document %d is too large", i)
		case d.textEnd(i) < d.textEnd(i-1) || d.textEnd(i) > textSize,
			d.chunkEnd(i) < d.chunkEnd(i-1) || int64(d.chunkEnd(i)) > int64(chunks),
			d.topicEnd(i) < d.topicEnd(i-1) || d.topicEnd(i) > topics:
			return d, corrupt(r.file, "D1", "document %d ends before it starts or outside", i)
		case !localPath(string(texts.at(int(le.Uint32(rec[72:]))))):
			return d, corrupt(r.file, "D1", "the path of document %d is not one below a folder", i)
		case !dateOK(string(texts.at(int(le.Uint32(rec[88:]))))):
			return d, corrupt(r.file, "D5", "the date of document %d is not a day as YYYY-MM-DD", i)
		case i > 0 && le.Uint32(rec[72:]) <= le.Uint32(d.record(i - 1)[72:]):
			return d, corrupt(r.file, "D1", "the path of document %d is not above the one before it", i)
		}
		// Strings ascend, so references compare as the strings do.
		for t := d.topicEnd(i-1) + 1; t < d.topicEnd(i); t++ {
			if d.topic(t) <= d.topic(t-1) {
				return d, corrupt(r.file, "D2", "topics of document %d do not ascend", i)
			}
		}
	}
	last := d.len() - 1
	if d.textEnd(last) != textSize || int64(d.chunkEnd(last)) != int64(chunks) || d.topicEnd(last) != topics {
		return d, corrupt(r.file, "D1", "text, chunks or topics belong to no document")
	}
	return d, nil
}

// readText checks the text section.
func readText(data []byte) ([]byte, error) {
	r, err := openSection("text", data, 1)
	if err != nil {
		return nil, err
	}
	text, err := r.array(r.counts[0], 1)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, corrupt(r.file, "X1", "not valid UTF-8")
	}
	return text, r.end()
}
