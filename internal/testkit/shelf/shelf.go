// Package shelf makes real artifacts for tests: documents given as chunks go through the analyzer, the synthetic
// encoder and the format's own writer. Only tests may import it.
package shelf

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"example.com/larder/artifact"
	"example.com/larder/internal/analyze"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/roaring"
	"example.com/larder/internal/testkit"
	"example.com/larder/models"
)

// A Document becomes a document of which each chunk is a paragraph.
type Document struct {
	Path        string
	Title       string // also the context of its chunks
	ContentType string
	UnitID      string
	Date        string
	Topics      []string
	HeadingPath string // of all its chunks
	Chunks      []string
}

// A Base is what an artifact is made from. Zero fields mean: the name "sample", hybrid mode, top-k 3, 32 dimensions,
// English and Russian stemmers.
type Base struct {
	Name       string
	Mode       artifact.Mode
	TopK       int
	MinScore   float64
	Dimensions int
	Languages  []string
	Boosts     map[string]float64
	Documents  []Document
	// Vectors, if not nil, are the chunks' vectors in place of those that the encoder gives, one row of Dimensions
	// each.
	Vectors []float32
	// Change, if not nil, is called with the content before it is encoded.
	Change func(*artifact.Content)
}

func (b Base) withDefaults() Base {
	if b.Name == "" {
		b.Name = "sample"
	}
	if b.Mode == "" {
		b.Mode = artifact.Hybrid
	}
	if b.TopK == 0 {
		b.TopK = 3
	}
	if b.Dimensions == 0 {
		b.Dimensions = 32
	}
	if b.Languages == nil {
		b.Languages = analyze.Languages()
	}
	if b.Boosts == nil {
		b.Boosts = map[string]float64{}
	}
	return b
}

// A Shelf holds artifacts and their encoders in memory, with paths as on a disk.
type Shelf struct{ fstest.MapFS }

// New makes a shelf of bases, each with a file latest. Errors are those of the format's writer.
func New(bases ...Base) (Shelf, error) {
	s := Shelf{fstest.MapFS{}}
	for _, b := range bases {
		if err := s.Add(b); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Add puts a base on the shelf, with its encoder if it needs one.
func (s Shelf) Add(b Base) error {
	b = b.withDefaults()
	files, encoder, err := b.Files()
	if err != nil {
		return err
	}
	// The artifact's own writer decides which files there are; it writes to a disk only.
	tmp, err := os.MkdirTemp("", "larder-shelf-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	folder, _, err := files.Save(tmp, []byte("{}\n"), nil)
	if err != nil {
		return err
	}
	if err := artifact.SetLatest(tmp, files.Digest); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.put(b.Name+"/"+filepath.Base(folder)+"/"+e.Name(), filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	if files.Manifest.Model.External() {
		encoder = nil
	}
	for name, data := range encoder {
		s.MapFS["models/"+artifact.FolderName(files.Manifest.Model.Encoder)+"/"+name] = &fstest.MapFile{Data: data, Mode: 0o444}
	}
	return s.put(b.Name+"/latest", filepath.Join(tmp, "latest"))
}

func (s Shelf) put(name, from string) error {
	data, err := os.ReadFile(from)
	s.MapFS[name] = &fstest.MapFile{Data: data, Mode: 0o444}
	return err
}

// Save writes the shelf to a folder.
func (s Shelf) Save(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(s.MapFS)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := durable.WriteFile(path, s.MapFS[name].Data); err != nil {
			return err
		}
	}
	return nil
}

// Folder returns the folder of the version that a base's file latest names.
func (s Shelf) Folder(base string) string {
	digest := bytes.TrimSpace(s.MapFS[base+"/latest"].Data)
	return base + "/" + artifact.FolderName(string(digest))
}

// Copy returns a shelf with copies of all bytes.
func (s Shelf) Copy() Shelf {
	c := Shelf{fstest.MapFS{}}
	for name, f := range s.MapFS {
		c.MapFS[name] = &fstest.MapFile{Data: bytes.Clone(f.Data), Mode: f.Mode}
	}
	return c
}

// Files returns the artifact's files, and those of the encoder that it names, nil in keyword mode.
func (b Base) Files() (files *artifact.Files, encoder map[string][]byte, err error) {
	b = b.withDefaults()
	analyzer, err := analyze.New(b.Languages)
	if err != nil {
		return nil, nil, err
	}
	c := &artifact.Content{
		Base:      b.Name,
		Settings:  artifact.Settings{Mode: b.Mode, ChunkSize: 90, ChunkOverlap: 20, TopK: b.TopK, MinScore: b.MinScore},
		Analyzer:  artifact.Analyzer{ID: analyzer.ID(), Languages: analyzer.Languages()},
		Tokenizer: fmt.Sprintf("%x", sha256.Sum256([]byte("no tokenizer.json"))),
		Boosts:    b.Boosts,
	}
	var passages []string
	for _, d := range b.Documents {
		document := d.content()
		for i, text := range d.Chunks {
			passage := text
			if d.Title != "" {
				passage = d.Title + "\n" + text
			}
			passages = append(passages, passage)
			document.Chunks[i].Terms = len(analyzer.Terms(nil, passage))
		}
		c.Documents = append(c.Documents, document)
	}
	c.Terms = terms(analyzer, passages)
	if b.Mode != artifact.Keyword {
		if encoder, err = b.embed(c, passages); err != nil {
			return nil, nil, err
		}
	}
	if b.Change != nil {
		b.Change(c)
	}
	files, err = artifact.Encode(c, func(members []uint32) []byte { return roaring.Append(nil, members) })
	return files, encoder, err
}

// content is a document with its chunks' places.
func (d Document) content() artifact.Document {
	text := strings.Join(d.Chunks, "\n\n")
	a := artifact.Document{
		Path: d.Path, SHA256: sha256.Sum256([]byte(text)), Size: int64(len(text)), Title: d.Title, ContentType: d.ContentType,
		UnitID: d.UnitID, Date: d.Date, Topics: d.Topics, Text: text,
	}
	at, line := 0, 1
	for _, chunk := range d.Chunks {
		lines := strings.Count(chunk, "\n")
		a.Chunks = append(a.Chunks, artifact.Chunk{
			Start: at, End: at + len(chunk), SourceStart: int64(at), SourceEnd: int64(at + len(chunk)),
			HeadingPath: d.HeadingPath, Context: d.Title, FirstLine: line, LastLine: line + lines,
			Tokens: len(strings.Fields(chunk)),
		})
		at += len(chunk) + len("\n\n")
		line += lines + 2
	}
	if text == "" {
		a.Verdict, a.Reason = artifact.Blank, "no text"
	}
	return a
}

// terms indexes the passages, whose chunks have their numbers.
func terms(analyzer *analyze.Analyzer, passages []string) (list []artifact.Term) {
	byText := map[string]*artifact.Term{}
	for i, passage := range passages {
		for _, term := range analyzer.Terms(nil, passage) {
			t := byText[term]
			if t == nil {
				t = &artifact.Term{Text: term}
				byText[term] = t
			}
			if last := len(t.Chunks) - 1; last >= 0 && t.Chunks[last] == uint32(i) {
				t.Freqs[last]++
				continue
			}
			t.Chunks = append(t.Chunks, uint32(i))
			t.Freqs = append(t.Freqs, 1)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		list = append(list, *byText[text])
	}
	return list
}

// embed fills in what the synthetic encoder gives, and returns the encoder's files.
func (b Base) embed(c *artifact.Content, passages []string) (files map[string][]byte, err error) {
	fsys := testkit.Encoder(b.Dimensions)
	encoder, err := models.Open(fsys, ".", "")
	if err != nil {
		return nil, err
	}
	card := encoder.Card()
	c.Model = &artifact.Model{
		Name: card.Name, Source: card.Source, Dimensions: card.Dimensions, MaxTokens: card.MaxTokens, Pooling: card.Pooling,
		QueryPrefix: card.QueryPrefix, PassagePrefix: card.PassagePrefix, Encoder: card.Digest(),
	}
	if c.Vectors = b.Vectors; c.Vectors == nil {
		c.Vectors = make([]float32, len(passages)*b.Dimensions)
		for i, passage := range passages {
			if err := encoder.EncodePassage(c.Vectors[i*b.Dimensions:][:b.Dimensions], passage); err != nil {
				return nil, err
			}
		}
	}
	for _, text := range []string{"How long does a refund take?", "Сколько ждать возврата?"} {
		p := artifact.Probe{Text: text, Vector: make([]float32, b.Dimensions)}
		if _, err := encoder.EncodeQuery(p.Vector, text); err != nil {
			return nil, err
		}
		c.Probes = append(c.Probes, p)
	}
	files = map[string][]byte{}
	for name, f := range fsys {
		files[name] = f.Data
	}
	return files, nil
}
