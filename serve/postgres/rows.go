package postgres

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pgvector/pgvector-go"

	"example.com/larder/artifact"
)

// The rows of a version's tables, one at a time.

func (p *push) document(i int) ([]any, error) {
	d := p.artifact.Document(i)
	text := string(p.artifact.DocumentText(i))
	// PostgreSQL's text holds every character but this one.
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("document %s: its text has the character NUL, which PostgreSQL can't hold: bake it again without", d.Path)
	}
	return []any{
		i, d.ID[:], d.SHA256[:], d.Size, d.Path, d.Title, d.ContentType, d.UnitID, d.Date, d.Author, d.Language, topics(d), d.Pages, text,
	}, nil
}

func topics(d artifact.DocumentInfo) []string {
	if d.Topics == nil {
		return []string{}
	}
	return d.Topics
}

func (p *push) passage(i int) ([]any, error) {
	c := p.artifact.Chunk(i)
	return []any{
		i, c.ID[:], c.Document, c.Start, c.End, c.HeadingPath, c.Anchor, c.FirstPage, c.LastPage, c.FirstLabel, c.LastLabel,
		c.FirstLine, c.LastLine, string(p.artifact.ChunkText(i)),
	}, nil
}

func (p *push) chunk(i int) ([]any, error) {
	d := p.artifact.Document(p.artifact.Chunk(i).Document)
	row := []any{i, cmp.Or(d.ContentType, artifact.DefaultContentType), d.UnitID, nil, topics(d), float32(0), []byte{}, nil}
	if d.Date != "" {
		day, err := time.Parse(time.DateOnly, d.Date)
		if err != nil {
			return nil, err
		}
		row[3] = day
	}
	if v := p.artifact.Vectors(); v != nil {
		row[5], row[6] = v.Scale(i), v.Codes(i)
		row[7] = pgvector.NewVector(v.Vector(i))
	}
	return row, nil
}

// term is a term with the BM25 weight that each of its chunks has for it.
func (p *push) term(i int) ([]any, error) {
	term := p.artifact.Term(i)
	chunks, weights, err := p.base.TermWeights(term)
	return []any{term, chunks, weights}, err
}
