package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/strictjson"
	"example.com/larder/models"
)

// artifactDocument turns a parsed document into what the artifact holds of it.
func artifactDocument(s Source, hash [32]byte, d *Document) artifact.Document {
	verdict, err := artifact.ParseVerdict(string(d.Verdict))
	if err != nil {
		panic(err) // both packages list the same verdicts
	}
	doc := artifact.Document{
		Path: s.Path, SHA256: hash, Size: int64(d.Size), Title: d.Meta.Title, ContentType: d.Meta.ContentType, UnitID: d.Meta.UnitID,
		Author: d.Meta.Author, Language: d.Meta.Language,
		Topics: d.Meta.Topics, Verdict: verdict, Reason: d.Reason, Pages: len(d.Pages),
	}
	if doc.Title == "" {
		doc.Title = strings.TrimSuffix(path.Base(s.Path), path.Ext(s.Path))
	}
	if !d.Meta.Date.IsZero() {
		doc.Date = d.Meta.Date.Format(time.DateOnly)
	}
	if d.hasText() {
		doc.Text, doc.Original = d.Text, d.original
	}
	return doc
}

func artifactChunk(c Chunk, terms int) artifact.Chunk {
	return artifact.Chunk{
		Start: c.Start, End: c.End, SourceStart: int64(c.SourceStart), SourceEnd: int64(c.SourceEnd),
		HeadingPath: strings.Join(c.HeadingPath, " > "), Anchor: c.Anchor, Context: c.Context,
		FirstLabel: c.FirstLabel, LastLabel: c.LastLabel,
		FirstPage: c.FirstPage, LastPage: c.LastPage, FirstLine: c.FirstLine, LastLine: c.LastLine,
		Tokens: c.Tokens, Terms: terms,
	}
}

// write puts the artifact and its encoder on the shelf. Nothing names them yet.
func (b *bake) write(context.Context) (err error) {
	base, encoders := filepath.Join(b.Shelf, b.settings.Name), filepath.Join(b.Shelf, "models")
	if b.Index != "" {
		base, encoders = b.Index, filepath.Join(filepath.Dir(filepath.Clean(b.Index)), "models")
	}
	b.removeStale(base)
	b.removeStale(encoders)
	if err := b.encode(); err != nil {
		return err
	}
	provenance, err := b.provenance()
	if err != nil {
		return err
	}
	var bundled map[string][]byte
	if b.model.encoder != nil {
		digest := b.model.encoder.Card().Digest()
		if b.Bundle || b.Index != "" && !hasEncoder(encoders, digest) {
			bundled = b.model.files
		} else if err := saveEncoder(encoders, digest, b.model.files); err != nil {
			return err
		}
	}
	b.folder, b.report.Unchanged, err = b.files.Save(base, provenance, bundled)
	b.report.Artifact = b.folder
	if err == nil && b.report.Unchanged && bundled != nil {
		if _, err := os.Stat(filepath.Join(b.folder, models.CardFile)); err != nil {
			return fmt.Errorf("%s is there without its encoder, and a version never changes: move it away, or bake into another shelf", b.folder)
		}
	}
	return err
}

// encode makes the artifact's files.
func (b *bake) encode() (err error) {
	if b.files, err = artifact.Encode(b.content, bitmap); err != nil {
		return err
	}
	b.report.Digest = b.files.Digest
	for _, data := range b.files.ByName {
		b.report.Bytes += int64(len(data))
	}
	return nil
}

// hasEncoder tells whether a shelf's folder of encoders has the one with that digest.
func hasEncoder(encoders, digest string) bool {
	_, err := os.Stat(filepath.Join(encoders, artifact.FolderName(digest), models.CardFile))
	return err == nil
}

// saveEncoder puts an encoder into shelf/<12 digits> unless it is there.
func saveEncoder(shelf, digest string, files map[string][]byte) error {
	folder := filepath.Join(shelf, artifact.FolderName(digest))
	if hasEncoder(shelf, digest) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if found, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(found, files[name]) {
				return fmt.Errorf("the encoder in %s is damaged: %s differs; move that folder away and bake again", folder, name)
			}
		}
		return nil
	}
	var list []namedFile
	for _, name := range []string{models.VocabFile, models.WeightsFile, models.CardFile} {
		list = append(list, namedFile{name, files[name]})
	}
	if err := writeFolder(folder, list); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// abandonedAfter is how old the unfinished folder of an interrupted bake must be to be removed: no bake pauses for so long
// between two files.
const abandonedAfter = time.Hour

// removeStale removes what interrupted bakes left in a folder. That it can't does not stop a bake.
func (b *bake) removeStale(dir string) {
	if err := durable.RemoveStale(dir, abandonedAfter); err != nil {
		newReporter(b.Progress).line("what an interrupted bake left in %s stays there: %v", dir, err)
	}
}

// maxLeftOut is how many of the files that are no documents the provenance lists.
const maxLeftOut = 1000

// provenance is provenance.json: how the artifact came to be. No clock time, host name or absolute path.
func (b *bake) provenance() ([]byte, error) {
	p := struct {
		Generator string            `json:"generator"`
		Revision  string            `json:"revision"`
		Embedder  string            `json:"embedder"`
		Versions  map[string]string `json:"versions"`
		PDFEngine string            `json:"pdf_engine"`
		Documents map[string]int    `json:"documents"`       // by verdict
		Reasons   map[string]string `json:"reasons"`         // of documents that were not read in whole, by path
		LeftOut   []LeftOut         `json:"left_out"`        // files that are no documents, the first of them
		Number    int               `json:"left_out_count"`  // of all of them
		Inside    map[string]int    `json:"left_out_inside"` // parts of documents, by reason
		Chunks    int               `json:"chunks"`
		Tokens    int               `json:"tokens"`
	}{
		Generator: "larder " + b.Version, Revision: b.Revision, Embedder: "none", Versions: map[string]string{}, Reasons: map[string]string{},
		PDFEngine: b.settings.PDFEngine, Documents: b.report.Verdicts(), LeftOut: b.report.LeftOut[:min(len(b.report.LeftOut), maxLeftOut)],
		Number: len(b.report.LeftOut), Inside: b.report.leftOutInside(),
		Chunks: b.report.Chunks, Tokens: b.report.Tokens,
	}
	for _, d := range b.report.Documents {
		if d.Verdict == Skipped || d.Verdict == Partial {
			p.Reasons[d.Path] = d.Reason
		}
	}
	if p.LeftOut == nil {
		p.LeftOut = []LeftOut{}
	}
	if b.model.embedder != nil {
		p.Embedder, p.Versions = b.settings.Embedder, b.model.embedder.Versions()
	}
	return strictjson.Marshal(p)
}
