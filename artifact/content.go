package artifact

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Content is all that an artifact is made from.
type Content struct {
	Base      string
	Serial    uint64
	Settings  Settings
	Analyzer  Analyzer
	Tokenizer string // SHA-256 of tokenizer.json
	Model     *Model // nil in keyword mode
	Boosts    map[string]float64
	Tool      *Tool      // nil if the base declares none
	Documents []Document // in ascending order of paths
	Terms     []Term     // in ascending order
	Vectors   []float32  // one row of Model.Dimensions for each chunk, in order; nil in keyword mode
	Probes    []Probe    // nil in keyword mode
	Originals bool       // the source files of documents with text are part of the artifact
}

// A Document is a file of a base and the chunks of its text.
type Document struct {
	Path        string
	SHA256      [32]byte
	Size        int64
	Title       string
	ContentType string
	UnitID      string
	Date        string
	Author      string
	Language    string   // BCP 47
	Topics      []string // ascending
	Verdict     Verdict
	Reason      string
	Pages       int
	Original    []byte // the source file, if the content has originals and the document has text
	Text        string
	Chunks      []Chunk
}

// A Chunk is a slice of its document's text.
type Chunk struct {
	Start, End             int // in the document's text
	SourceStart, SourceEnd int64
	HeadingPath            string
	Anchor                 string
	Context                string
	FirstPage, LastPage    int
	FirstLabel, LastLabel  string
	FirstLine, LastLine    int
	Tokens, Terms          int
}

// A Term is a keyword, the chunks that hold it (ascending) and how often each does.
type Term struct {
	Text   string
	Chunks []uint32
	Freqs  []uint32
}

// A BitmapWriter returns the portable form of a set, of which it gets the members in ascending order, with each
// container in its smallest kind (P1). github.com/RoaringBitmap/roaring/v2 after RunOptimize is one.
type BitmapWriter func(members []uint32) []byte

// Files are an artifact's files, by name, and its digest.
type Files struct {
	Manifest *Manifest
	Digest   string
	ByName   map[string][]byte
}

// Encode turns content into files. The same content gives the same bytes. An error means that content breaks a
// rule of the format.
func Encode(c *Content, bitmap BitmapWriter) (*Files, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Base, err)
	}
	infos := documentInfos(c)
	filters := filtersOf(infos)
	texts := gatherStrings(c, filters)
	ref := func(s string) uint32 {
		i, _ := slices.BinarySearch(texts, s)
		return uint32(i)
	}
	terms := make([]string, len(c.Terms))
	for i, t := range c.Terms {
		terms[i] = t.Text
	}
	sections := map[string][]byte{
		"strings":   writeTable("strings", texts),
		"text":      writeText(c.Documents),
		"documents": writeDocuments(c.Documents, infos, ref),
		"chunks":    writeChunks(c.Documents, infos, ref),
		"terms":     writeTable("terms", terms),
		"postings":  writePostings(c.Terms, bitmap),
		"filters":   writeFilters(filters, ref, bitmap),
	}
	if c.Model != nil {
		sections["vectors"] = quantizeVectors(c.Vectors, c.Model.Dimensions)
		sections["selftest"] = writeSelftest(c.Probes, c.Model.Dimensions)
	}
	if c.Originals {
		sections["originals"] = writeOriginals(c.Documents)
	}
	files, err := encodeManifest(c, sections, len(infos))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Base, err)
	}
	// What the parser would refuse is not handed out.
	a := &Artifact{Digest: files.Digest}
	if a.Manifest, err = ParseManifest(files.ByName[ManifestFile]); err == nil {
		if err = a.parse(sections); err == nil {
			err = a.Verify()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Base, err)
	}
	return files, nil
}

// encodeManifest makes the manifest over the sections.
func encodeManifest(c *Content, sections map[string][]byte, documents int) (*Files, error) {
	m := &Manifest{
		Format: Format, Features: []string{}, Builder: Builder, Serial: c.Serial, Base: c.Base, Settings: c.Settings,
		Analyzer: c.Analyzer, Tokenizer: c.Tokenizer, Model: c.Model, Boosts: c.Boosts, Tool: c.Tool,
		Counts: Counts{documents, c.chunks(), len(c.Terms)},
	}
	files := map[string][]byte{}
	for _, name := range sectionNames(c.Model != nil, c.Originals) {
		data := sections[name]
		m.Sections = append(m.Sections, Section{name, int64(len(data)), Digest(data)})
		files[name+".bin"] = data
	}
	data, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	files[ManifestFile] = data
	return &Files{m, Digest(data), files}, nil
}

func (c *Content) chunks() (n int) {
	for _, d := range c.Documents {
		n += len(d.Chunks)
	}
	return n
}

// check finds content that would make an artifact that its own parser refuses.
func (c *Content) check() error {
	last := ""
	for _, d := range c.Documents {
		if d.Path <= last {
			return fmt.Errorf("document %q does not come after %q", d.Path, last)
		}
		last = d.Path
		if err := d.check(); err != nil {
			return fmt.Errorf("document %q: %w", d.Path, err)
		}
		if !c.Originals && d.Original != nil {
			return fmt.Errorf("document %q: an original, yet the content has none", d.Path)
		}
	}
	last = ""
	for _, t := range c.Terms {
		if t.Text <= last || !utf8.ValidString(t.Text) {
			return fmt.Errorf("term %q is not text or does not come after %q", t.Text, last)
		}
		last = t.Text
		if len(t.Chunks) == 0 || len(t.Chunks) != len(t.Freqs) || slices.Contains(t.Freqs, 0) {
			return fmt.Errorf("term %q: %d chunks and %d frequencies", t.Text, len(t.Chunks), len(t.Freqs))
		}
	}
	if c.Model == nil {
		return nil
	}
	if d := c.Model.Dimensions; d < 1 || d > maxDimensions {
		return fmt.Errorf("vectors of %d dimensions", d)
	}
	for _, p := range c.Probes {
		if len(p.Vector) != c.Model.Dimensions {
			return fmt.Errorf("probe %q: a vector of %d dimensions, not %d", p.Text, len(p.Vector), c.Model.Dimensions)
		}
	}
	if len(c.Vectors) != c.chunks()*c.Model.Dimensions {
		return fmt.Errorf("%d floats for %d vectors of %d dimensions", len(c.Vectors), c.chunks(), c.Model.Dimensions)
	}
	for i, x := range c.Vectors {
		if !finite(x) || math.Abs(float64(x)) > 1e18 {
			return fmt.Errorf("the vector of chunk %d is not finite", i/c.Model.Dimensions)
		}
	}
	return nil
}

func (d *Document) check() error {
	for _, s := range []string{d.Path, d.Title, d.ContentType, d.UnitID, d.Author, d.Language, d.Reason, d.Text, strings.Join(d.Topics, "")} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("not valid UTF-8: %.60q", s)
		}
	}
	if !slices.IsSorted(d.Topics) || len(slices.Compact(slices.Clone(d.Topics))) != len(d.Topics) || slices.Contains(d.Topics, "") {
		return fmt.Errorf("topics %q are empty, repeated or not sorted", d.Topics)
	}
	if !d.Verdict.HasText() && (d.Text != "" || len(d.Chunks) > 0) {
		return fmt.Errorf("its verdict is %v, yet it has text", d.Verdict)
	}
	for i, ch := range d.Chunks {
		if ch.Start < 0 || ch.Start >= ch.End || ch.End > len(d.Text) ||
			i > 0 && (ch.Start <= d.Chunks[i-1].Start || ch.End < d.Chunks[i-1].End) {
			return fmt.Errorf("chunk %d (%d to %d of %d bytes) is out of place", i, ch.Start, ch.End, len(d.Text))
		}
		if !utf8.ValidString(ch.HeadingPath + ch.Context + ch.Anchor + ch.FirstLabel + ch.LastLabel) {
			return fmt.Errorf("chunk %d: context is not valid UTF-8", i)
		}
	}
	return nil
}

// documentInfos numbers the chunks of the documents.
func documentInfos(c *Content) []DocumentInfo {
	infos := make([]DocumentInfo, len(c.Documents))
	chunk := 0
	for i, d := range c.Documents {
		infos[i] = DocumentInfo{
			ID: DocumentID(c.Base, d.Path), ContentType: d.ContentType, UnitID: d.UnitID, Date: d.Date, Topics: d.Topics,
			FirstChunk: chunk, EndChunk: chunk + len(d.Chunks),
		}
		chunk += len(d.Chunks)
	}
	return infos
}

// gatherStrings returns every string that the sections refer to, ascending (T1).
func gatherStrings(c *Content, filters []filter) []string {
	texts := []string{""}
	for _, d := range c.Documents {
		texts = append(texts, d.Path, d.Title, d.ContentType, d.UnitID, d.Date, d.Reason, d.Author, d.Language)
		texts = append(texts, d.Topics...)
		for _, ch := range d.Chunks {
			texts = append(texts, ch.HeadingPath, ch.Context, ch.Anchor, ch.FirstLabel, ch.LastLabel)
		}
	}
	for _, f := range filters {
		texts = append(texts, f.field)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func writeText(documents []Document) []byte {
	size := 0
	for _, d := range documents {
		size += len(d.Text)
	}
	w := newSection("text", size)
	w.array()
	for _, d := range documents {
		w.data = append(w.data, d.Text...)
	}
	return w.data
}

func writeDocuments(documents []Document, infos []DocumentInfo, ref func(string) uint32) []byte {
	topics := 0
	for _, d := range documents {
		topics += len(d.Topics)
	}
	w := newSection("documents", len(documents), topics)
	w.array()
	textEnd, topicEnd := 0, 0
	for i, d := range documents {
		textEnd += len(d.Text)
		topicEnd += len(d.Topics)
		w.data = append(w.data, infos[i].ID[:]...)
		w.data = append(w.data, d.SHA256[:]...)
		w.u64(uint64(d.Size))
		w.u64(uint64(textEnd))
		w.u32(uint32(infos[i].EndChunk))
		w.u32(uint32(topicEnd))
		for _, s := range []string{d.Path, d.Title, d.ContentType, d.UnitID, d.Date, d.Reason} {
			w.u32(ref(s))
		}
		w.u32(uint32(d.Verdict))
		w.u32(uint32(d.Pages))
		w.u32(ref(d.Author))
		w.u32(ref(d.Language))
		w.data = append(w.data, make([]byte, 16)...)
	}
	w.array()
	for _, d := range documents {
		for _, t := range d.Topics {
			w.u32(ref(t))
		}
	}
	return w.data
}

func writeChunks(documents []Document, infos []DocumentInfo, ref func(string) uint32) []byte {
	n, terms := 0, 0
	for _, d := range documents {
		n += len(d.Chunks)
		for _, c := range d.Chunks {
			terms += c.Terms
		}
	}
	w := newSection("chunks", n, terms)
	w.array()
	base := 0
	for i, d := range documents {
		seen := map[string]int{}
		for _, c := range d.Chunks {
			text := d.Text[c.Start:c.End]
			id := ChunkID(infos[i].ID, []byte(text), seen[text])
			seen[text]++
			w.data = append(w.data, id[:]...)
			w.u64(uint64(base + c.Start))
			w.u64(uint64(base + c.End))
			w.u64(uint64(c.SourceStart))
			w.u64(uint64(c.SourceEnd))
			w.u32(uint32(i))
			w.u32(ref(c.HeadingPath))
			w.u32(ref(c.Context))
			for _, v := range []int{c.FirstPage, c.LastPage, c.FirstLine, c.LastLine, c.Tokens, c.Terms} {
				w.u32(uint32(v))
			}
			w.u32(ref(c.Anchor))
			w.u32(ref(c.FirstLabel))
			w.u32(ref(c.LastLabel))
		}
		base += len(d.Text)
	}
	return w.data
}
