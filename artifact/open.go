package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"sort"
	"sync"

	"example.com/larder/internal/roaring"
)

// An Artifact is a parsed and checked artifact. It is safe for concurrent use, and what its methods return must
// not be changed.
type Artifact struct {
	Manifest *Manifest
	Digest   string // of the manifest: the version

	strings   table
	text      []byte
	documents documents
	chunks    chunks
	terms     table
	postings  postings
	filters   filters
	vectors   *Vectors
	probes    []Probe
	originals originals
}

// Open reads the artifact in folder dir of fsys, "." for its root. It checks every byte against its digest, and
// every rule of SPEC.md but those marked (verify). A digest that is not "" must be the manifest's.
func Open(fsys fs.FS, dir, digest string) (*Artifact, error) {
	a, err := open(fsys, dir, digest)
	if err != nil {
		return nil, fmt.Errorf("open artifact %s: %w", dir, err)
	}
	return a, nil
}

func open(fsys fs.FS, dir, digest string) (*Artifact, error) {
	data, err := ReadFile(fsys, path.Join(dir, ManifestFile), MaxManifest)
	if err != nil {
		return nil, err
	}
	a := &Artifact{Digest: Digest(data)}
	if digest != "" && a.Digest != digest {
		return nil, corrupt(ManifestFile, "R1", "its digest is %s, not %s", a.Digest, digest)
	}
	if a.Manifest, err = ParseManifest(data); err != nil {
		return nil, err
	}
	if err := checkSeal(fsys, dir, a.Digest); err != nil {
		return nil, err
	}
	sections, err := readSections(fsys, dir, a.Manifest.Sections)
	if err != nil {
		return nil, err
	}
	return a, a.parse(sections)
}

// Inspect reads the manifest in a folder of fsys and nothing else: to know what an artifact is before it is opened.
func Inspect(fsys fs.FS, folder string) (*Manifest, error) {
	data, err := ReadFile(fsys, path.Join(folder, ManifestFile), MaxManifest)
	if err != nil {
		return nil, err
	}
	return ParseManifest(data)
}

// Version returns the digest of the manifest in a folder: the version of what is there, of which nothing is checked.
func Version(fsys fs.FS, folder string) (string, error) {
	data, err := ReadFile(fsys, path.Join(folder, ManifestFile), MaxManifest)
	if err != nil {
		return "", err
	}
	return Digest(data), nil
}

// ReadFile reads a file of at most limit bytes.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := openRegular(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, corrupt(path.Base(name), "R1", "longer than %d bytes", limit)
	}
	return data, nil
}

// openRegular opens a file, but nothing that could block or never end, such as a pipe.
func openRegular(fsys fs.FS, name string) (fs.File, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, corrupt(path.Base(name), "R2", "not a regular file")
	}
	return fsys.Open(name)
}

// readSections reads the sections in parallel and compares size and digest (R1).
func readSections(fsys fs.FS, dir string, list []Section) (map[string][]byte, error) {
	datas, errs := make([][]byte, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { datas[i], errs[i] = readSection(fsys, dir, s) })
	}
	wg.Wait()
	sections := map[string][]byte{}
	for i, s := range list {
		sections[s.Name] = datas[i]
	}
	return sections, errors.Join(errs...)
}

func readSection(fsys fs.FS, dir string, s Section) ([]byte, error) {
	file := s.Name + ".bin"
	f, err := openRegular(fsys, path.Join(dir, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// The manifest may claim any size: nothing is allocated before the file is known to have it.
	if info.Size() != s.Size {
		return nil, corrupt(file, "R1", "%d bytes, not %d", info.Size(), s.Size)
	}
	if s.Size > math.MaxInt {
		return nil, unsupported(file, "M4", "%d bytes are too many for this machine", s.Size)
	}
	data := make([]byte, s.Size)
	if _, err := io.ReadFull(f, data); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, corrupt(file, "R1", "it ends before its %d bytes", s.Size)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	sum := sha256.Sum256(data)
	if found := hex.EncodeToString(sum[:]); found != s.SHA256 {
		return nil, corrupt(file, "R1", "its SHA-256 is %s, not %s", found, s.SHA256)
	}
	return data, nil
}

// parse checks the sections, each after those that it refers to.
func (a *Artifact) parse(sections map[string][]byte) (err error) {
	m := a.Manifest
	if a.strings, err = readTable("strings", "T1", sections["strings"], true); err != nil {
		return err
	}
	if a.text, err = readText(sections["text"]); err != nil {
		return err
	}
	if a.chunks, err = readChunks(sections["chunks"], a.strings); err != nil {
		return err
	}
	if a.documents, err = readDocuments(sections["documents"], a.strings, uint64(len(a.text)), a.chunks.len()); err != nil {
		return err
	}
	if err = checkChunks(a.chunks, a.documents, a.text); err != nil {
		return err
	}
	if a.terms, err = readTable("terms", "K1", sections["terms"], false); err != nil {
		return err
	}
	if got := (Counts{a.documents.len(), a.chunks.len(), a.terms.len()}); got != m.Counts {
		return corrupt(ManifestFile, "M2", "its counts are %v, but the sections hold %v", m.Counts, got)
	}
	if a.postings, err = readPostings(sections["postings"], a.terms.len(), a.chunks.len()); err != nil {
		return err
	}
	if a.filters, err = readFilters(sections["filters"], a.strings, a.chunks.len()); err != nil {
		return err
	}
	if m.HasOriginals() {
		if a.originals, err = readOriginals(sections["originals"], a.documents); err != nil {
			return err
		}
	}
	if m.Model == nil {
		return nil
	}
	if a.vectors, err = readVectors(sections["vectors"], a.chunks.len(), m.Model.Dimensions); err != nil {
		return err
	}
	a.probes, err = readSelftest(sections["selftest"], m.Model.Dimensions)
	return err
}

// Documents returns the number of documents.
func (a *Artifact) Documents() int { return a.documents.len() }

// Chunks returns the number of chunks.
func (a *Artifact) Chunks() int { return a.chunks.len() }

// Terms returns the number of terms.
func (a *Artifact) Terms() int { return a.terms.len() }

// Vectors returns the chunks' vectors, nil in keyword mode.
func (a *Artifact) Vectors() *Vectors { return a.vectors }

// Probes returns the self-test's texts and vectors, none in keyword mode.
func (a *Artifact) Probes() []Probe { return a.probes }

func (a *Artifact) str(record []byte, at int) string {
	return string(a.strings.at(int(le.Uint32(record[at:]))))
}

// Document returns document i.
func (a *Artifact) Document(i int) DocumentInfo {
	r := a.documents.record(i)
	d := DocumentInfo{
		ID: ID(r[:16]), SHA256: [32]byte(r[16:48]), Size: int64(le.Uint64(r[48:])),
		Path: a.str(r, 72), Title: a.str(r, 76), ContentType: a.str(r, 80), UnitID: a.str(r, 84), Date: a.str(r, 88),
		Reason: a.str(r, 92), Verdict: Verdict(le.Uint32(r[96:])), Pages: int(le.Uint32(r[100:])),
		Author: a.str(r, 104), Language: a.str(r, 108),
		FirstChunk: int(a.documents.chunkEnd(i - 1)), EndChunk: int(a.documents.chunkEnd(i)),
	}
	for t := a.documents.topicEnd(i - 1); t < a.documents.topicEnd(i); t++ {
		d.Topics = append(d.Topics, string(a.strings.at(int(a.documents.topic(t)))))
	}
	return d
}

// DocumentText returns the canonical text of document i.
func (a *Artifact) DocumentText(i int) []byte {
	return a.text[a.documents.textEnd(i-1):a.documents.textEnd(i)]
}

// Chunk returns chunk i.
func (a *Artifact) Chunk(i int) ChunkInfo {
	r := a.chunks.record(i)
	u32 := func(at int) int { return int(le.Uint32(r[at:])) }
	doc := u32(48)
	base := a.documents.textEnd(doc - 1)
	return ChunkInfo{
		ID: ID(r[:16]), Document: doc, Start: int(a.chunks.start(i) - base), End: int(a.chunks.end(i) - base),
		SourceStart: int64(le.Uint64(r[32:])), SourceEnd: int64(le.Uint64(r[40:])),
		HeadingPath: a.str(r, 52), Context: a.str(r, 56), FirstPage: u32(60), LastPage: u32(64),
		FirstLine: u32(68), LastLine: u32(72), Tokens: u32(76), Terms: u32(80),
		Anchor: a.str(r, 84), FirstLabel: a.str(r, 88), LastLabel: a.str(r, 92),
	}
}

// FindDocument returns the number of the document with that id.
func (a *Artifact) FindDocument(id ID) (int, bool) {
	for i := range a.documents.len() {
		if ID(a.documents.record(i)[:16]) == id {
			return i, true
		}
	}
	return 0, false
}

// FindChunk returns the number of the chunk with that id.
func (a *Artifact) FindChunk(id ID) (int, bool) {
	for i := range a.chunks.len() {
		if ID(a.chunks.record(i)[:16]) == id {
			return i, true
		}
	}
	return 0, false
}

// ChunkText returns the text of chunk i.
func (a *Artifact) ChunkText(i int) []byte { return a.text[a.chunks.start(i):a.chunks.end(i)] }

// ChunkTerms returns the length of chunk i in terms.
func (a *Artifact) ChunkTerms(i int) int { return int(a.chunks.terms(i)) }

// TotalTerms returns the sum of the lengths of all chunks in terms.
func (a *Artifact) TotalTerms() uint64 { return a.chunks.totalTerms }

// Term returns term i.
func (a *Artifact) Term(i int) string { return string(a.terms.at(i)) }

// Postings returns the postings of a term, and false if no chunk has it.
func (a *Artifact) Postings(term string) (Postings, bool, error) {
	i := sort.Search(a.terms.len(), func(i int) bool { return string(a.terms.at(i)) >= term })
	if i == a.terms.len() || string(a.terms.at(i)) != term {
		return Postings{}, false, nil
	}
	p, err := a.postings.at(i, a.chunks.len())
	return p, err == nil, err
}

// FilterValues returns the values that documents with chunks have in a field, ascending.
func (a *Artifact) FilterValues(field string) (values []string) {
	i, _ := a.filters.find(field, "")
	for ; i < a.filters.len() && a.filters.field(i) == field; i++ {
		values = append(values, a.filters.value(i))
	}
	return values
}

// FilterChunks adds to set the chunks whose document has the value in the field.
func (a *Artifact) FilterChunks(set roaring.Set, field, value string) error {
	i, ok := a.filters.find(field, value)
	if !ok {
		return nil
	}
	b, err := a.filters.bitmap(i)
	if err != nil {
		return err
	}
	set.Or(b)
	return nil
}
