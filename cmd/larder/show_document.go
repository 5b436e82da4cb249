package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// A shownDocument is what larder show --document --json prints.
type shownDocument struct {
	Path        string       `json:"path"`
	DocumentID  string       `json:"document_id"`
	Verdict     string       `json:"verdict"`
	Reason      string       `json:"reason,omitempty"`
	Title       string       `json:"title"`
	ContentType string       `json:"content_type,omitempty"`
	Topics      []string     `json:"topics,omitempty"`
	UnitID      string       `json:"unit_id,omitempty"`
	Date        string       `json:"date,omitempty"` // YYYY-MM-DD
	Author      string       `json:"author,omitempty"`
	Language    string       `json:"language,omitempty"` // BCP 47
	Pages       int          `json:"pages,omitempty"`
	Size        int64        `json:"size"` // of the source file, in bytes
	ChunkCount  int          `json:"chunk_count"`
	Chunks      []shownChunk `json:"chunks,omitempty"` // with --chunks
}

type shownChunk struct {
	Number      int    `json:"number"` // in the document, from 1
	ChunkID     string `json:"chunk_id"`
	Tokens      int    `json:"tokens"`
	FirstPage   int    `json:"first_page,omitempty"`
	LastPage    int    `json:"last_page,omitempty"`
	FirstLabel  string `json:"first_label,omitempty"`
	LastLabel   string `json:"last_label,omitempty"`
	FirstLine   int    `json:"first_line,omitempty"`
	LastLine    int    `json:"last_line,omitempty"`
	HeadingPath string `json:"heading_path,omitempty"`
	Anchor      string `json:"anchor,omitempty"`
	Context     string `json:"context,omitempty"` // what is embedded and indexed with the text
	Start       int    `json:"start"`             // bytes in the document's canonical text
	End         int    `json:"end"`
	Shared      int    `json:"shared"` // bytes at the beginning that the chunk before has too
	Text        string `json:"text"`
}

// document prints one document, and how it was cut if that was asked for.
func (c *showCommand) document(e *environment, a *artifact.Artifact) error {
	i, err := findDocument(a, c.Document)
	if err != nil {
		return err
	}
	d := a.Document(i)
	shown := shownDocument{
		Path: d.Path, DocumentID: d.ID.String(), Verdict: d.Verdict.String(), Reason: d.Reason, Title: d.Title,
		ContentType: d.ContentType, Topics: d.Topics, UnitID: d.UnitID, Date: d.Date, Author: d.Author, Language: d.Language,
		Pages: d.Pages, Size: d.Size, ChunkCount: d.EndChunk - d.FirstChunk,
	}
	if c.Chunks {
		reach := 0
		for n := d.FirstChunk; n < d.EndChunk; n++ {
			k := a.Chunk(n)
			shown.Chunks = append(shown.Chunks, shownChunk{
				Number: n - d.FirstChunk + 1, ChunkID: k.ID.String(), Tokens: k.Tokens,
				FirstPage: k.FirstPage, LastPage: k.LastPage, FirstLabel: k.FirstLabel, LastLabel: k.LastLabel,
				FirstLine: k.FirstLine, LastLine: k.LastLine, HeadingPath: k.HeadingPath, Anchor: k.Anchor, Context: k.Context,
				Start: k.Start, End: k.End, Shared: max(0, reach-k.Start), Text: string(a.ChunkText(n)),
			})
			reach = k.End
		}
	}
	if c.JSON {
		return writeJSON(e.out, shown, "  ")
	}
	shown.print(e)
	return nil
}

func (d *shownDocument) print(e *environment) {
	w, s := e.styled()
	line := fmt.Sprintf("%s  %s, %d chunks", s.paint(s.title, oneLine(d.Path)), d.Verdict, d.ChunkCount)
	if d.Pages > 0 {
		line += fmt.Sprintf(", %d pages", d.Pages)
	}
	if d.Reason != "" {
		line += ": " + oneLine(d.Reason)
	}
	fmt.Fprintln(w, line)
	for _, field := range [][2]string{
		{"title", d.Title}, {"author", d.Author}, {"language", d.Language}, {"type", d.ContentType}, {"topics", strings.Join(d.Topics, ", ")},
		{"unit", d.UnitID}, {"date", d.Date},
	} {
		if field[1] != "" {
			fmt.Fprintf(w, "%-8s  %s\n", field[0], oneLine(field[1]))
		}
	}
	for _, c := range d.Chunks {
		c.print(e)
	}
}

func (c *shownChunk) print(e *environment) {
	w, s := e.styled()
	line := fmt.Sprintf("\n%3d  %s  %d tokens", c.Number, s.paint(s.title, c.ChunkID[:12]), c.Tokens)
	place := whereIn(found{Hit: reader.Hit{FirstPage: c.FirstPage, LastPage: c.LastPage, FirstLabel: c.FirstLabel, LastLabel: c.LastLabel,
		FirstLine: c.FirstLine, LastLine: c.LastLine}})
	if c.Anchor != "" {
		c.Anchor = "#" + c.Anchor
	}
	for _, part := range []string{place, c.HeadingPath, c.Anchor} {
		if part != "" {
			line += s.paint(s.dim, "  "+oneLine(part))
		}
	}
	fmt.Fprintln(w, line)
	if c.Context != "" {
		fmt.Fprintln(w, "     "+s.paint(s.dim, "context: "+oneLine(c.Context)))
	}
	// What the chunk before has too is set off.
	for _, l := range s.lines(c.Text, [][2]int{{0, c.Shared}}, s.width-5) {
		fmt.Fprintln(w, "     "+l)
	}
}

// findDocument returns the number of the document with that path. The error's hint names paths that are like it.
func findDocument(a *artifact.Artifact, name string) (int, error) {
	type candidate struct {
		path     string
		likeness float64
	}
	var near []candidate
	for i := range a.Documents() {
		p := a.Document(i).Path
		if p == name {
			return i, nil
		}
		like := max(likeness(name, p), likeness(path.Base(name), path.Base(p)))
		if like >= 0.5 {
			near = append(near, candidate{p, like})
		}
	}
	err := error(usageError{fmt.Errorf("base %s has no document %q", a.Manifest.Base, name)})
	hint := "larder show --documents lists them all"
	if len(near) > 0 {
		slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(b.likeness, a.likeness) })
		var paths []string
		for _, c := range near[:min(len(near), 3)] {
			paths = append(paths, oneLine(c.path))
		}
		hint = "like it: " + strings.Join(paths, ", ") + "; " + hint
	}
	return 0, hinted{err, hint}
}

// likeness is the share of pairs of bytes that two words have in common, whatever their case (Dice's coefficient).
func likeness(a, b string) float64 {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a == b {
		return 1
	}
	pairs, common := map[string]int{}, 0
	for i := 1; i < len(a); i++ {
		pairs[a[i-1:i+1]]++
	}
	for i := 1; i < len(b); i++ {
		if pairs[b[i-1:i+1]] > 0 {
			pairs[b[i-1:i+1]]--
			common++
		}
	}
	return 2 * float64(common) / float64(max(1, len(a)+len(b)-2))
}
