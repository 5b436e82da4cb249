package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

type showCommand struct {
	Artifact  string `arg:"" help:"An artifact's folder, or a base's folder on a shelf."`
	Documents bool   `help:"List every document."`
	Document  string `help:"Print this document only: its path below the base's folder." placeholder:"PATH"`
	Chunks    bool   `help:"With --document: print how it was cut."`
	JSON      bool   `help:"With --document: print JSON, for programs."`
}

func (c *showCommand) Run(e *environment) error {
	if c.Document == "" && (c.Chunks || c.JSON) {
		return usageError{errors.New("--chunks and --json are for one document: name it with --document")}
	}
	a, err := openArtifact(c.Artifact)
	if err != nil {
		return err
	}
	if c.Document != "" {
		return c.document(e, a)
	}
	m := a.Manifest
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("base", "%s", m.Base)
	row("version", "%s", a.Digest)
	row("format", "%s, builder %d, serial %d", m.Format, m.Builder, m.Serial)
	row("settings", "mode %s, chunk_size %d, chunk_overlap %d, top_k %d, min_score %v", m.Settings.Mode, m.Settings.ChunkSize,
		m.Settings.ChunkOverlap, m.Settings.TopK, m.Settings.MinScore)
	row("terms by", "%s, languages %s", m.Analyzer.ID, strings.Join(m.Analyzer.Languages, " "))
	if mo := m.Model; mo != nil {
		if mo.External() {
			row("model", "%s, %d dimensions", mo.Name, mo.Dimensions)
			row("embedder", "%s", mo.Embedder)
		} else {
			row("model", "%s, %d dimensions, %d tokens, %s pooling", mo.Name, mo.Dimensions, mo.MaxTokens, mo.Pooling)
			row("encoder", "%s", mo.Encoder)
		}
	}
	if m.Tool != nil {
		row("tool", "%s", cmp.Or(m.Tool.Name, "look_up"))
	}
	row("counts", "%d documents, %d chunks, %d terms", m.Counts.Documents, m.Counts.Chunks, m.Counts.Terms)
	for i, s := range m.Sections {
		name := ""
		if i == 0 {
			name = "sections"
		}
		row(name, "%-10s %10d bytes  %s", s.Name, s.Size, s.SHA256[:12])
	}
	row("originals", "%s", originals(a))
	verdicts := map[artifact.Verdict]int{}
	for i := range a.Documents() {
		verdicts[a.Document(i).Verdict]++
	}
	var list []string
	for v := artifact.OK; v <= artifact.Partial; v++ {
		if n := verdicts[v]; n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, v))
		}
	}
	row("verdicts", "%s", strings.Join(list, ", "))
	if err := w.Flush(); err != nil {
		return err
	}
	return c.documents(e, a)
}

// originals says what the artifact publishes of the documents' files.
func originals(a *artifact.Artifact) string {
	if !a.HasOriginals() {
		return "none"
	}
	n, size := 0, 0
	for i := range a.Documents() {
		if data, ok := a.Original(i); ok {
			n, size = n+1, size+len(data)
		}
	}
	return fmt.Sprintf("%d files, %d bytes", n, size)
}

// documents lists the documents: all of them, or those that are not simply ok.
func (c *showCommand) documents(e *environment, a *artifact.Artifact) error {
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for i := range a.Documents() {
		d := a.Document(i)
		if !c.Documents && d.Verdict == artifact.OK {
			continue
		}
		note := d.Reason
		if note == "" {
			note = fmt.Sprintf("%d chunks", d.EndChunk-d.FirstChunk)
			if d.Pages > 0 {
				note += fmt.Sprintf(", %d pages", d.Pages)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.Verdict, oneLine(d.Path), oneLine(note))
	}
	return w.Flush()
}

// openArtifact opens an artifact without its encoder.
func openArtifact(dir string) (*artifact.Artifact, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, digest, err := artifact.Locate(root.FS(), ".")
	if err != nil {
		return nil, shelfHint(dir, fmt.Errorf("%s: %w", dir, err))
	}
	return artifact.Open(root.FS(), folder, digest)
}

// shelfHint names a base in dir if it is a shelf, where an artifact was expected.
func shelfHint(dir string, err error) error {
	if names, listErr := basesOn(dir); listErr == nil {
		return hinted{err, dir + " is a shelf: name a base on it, such as " + filepath.Join(dir, names[0])}
	}
	return err
}

type verifyCommand struct {
	Artifact string `arg:"" help:"An artifact's folder, or a base's folder on a shelf."`
}

func (c *verifyCommand) Run(e *environment) error {
	b, err := reader.Verify(c.Artifact, reader.Options{})
	if err != nil {
		return shelfHint(c.Artifact, err)
	}
	defer b.Close()
	m := b.Manifest()
	size := int64(0)
	for _, s := range m.Sections {
		size += s.Size
	}
	fmt.Fprintf(e.out, "ok: %s %s, %d documents, %d chunks, %d bytes in %d sections", m.Base, b.Artifact().Digest[:12],
		m.Counts.Documents, m.Counts.Chunks, size, len(m.Sections))
	if m.Model.External() {
		fmt.Fprintf(e.out, ", not compared with the embedder of queries, %s", m.Model.Embedder)
	} else if n := len(b.Artifact().Probes()); n > 0 {
		fmt.Fprintf(e.out, ", encoder agrees on %d texts", n)
	}
	fmt.Fprintln(e.out)
	return nil
}
