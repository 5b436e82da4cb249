package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/larder/pipeline"
)

type parseCommand struct {
	File   string `arg:"" help:"A .md, .txt or .pdf file."`
	JSON   bool   `help:"Print JSON: metadata, pages, blocks and where the text comes from."`
	Engine string `enum:"pdfium,ledongthuc" default:"pdfium" help:"What reads PDF files: pdfium or ledongthuc (default: pdfium)." placeholder:"NAME"`
	caching
}

// A parsedFile is what larder parse --json prints.
type parsedFile struct {
	Path        string             `json:"path"`
	Engine      string             `json:"engine,omitempty"` // for PDF files
	Verdict     pipeline.Verdict   `json:"verdict"`
	Reason      string             `json:"reason,omitempty"`
	Title       string             `json:"title,omitempty"`
	ContentType string             `json:"content_type,omitempty"`
	Topics      []string           `json:"topics,omitempty"`
	UnitID      string             `json:"unit_id,omitempty"`
	Date        string             `json:"date,omitempty"` // YYYY-MM-DD
	Pages       []pipeline.Page    `json:"pages,omitempty"`
	Text        string             `json:"text"`
	Blocks      []pipeline.Block   `json:"blocks"`
	Source      []pipeline.Segment `json:"source"` // where the text comes from
	LeftOut     map[string]int     `json:"left_out,omitempty"`
}

func (c *parseCommand) Run(e *environment) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	cache, err := c.cache()
	if err != nil {
		return err
	}
	engine, err := pipeline.NewPDFEngine(c.Engine, cache.PDF())
	if err != nil {
		return err
	}
	defer engine.Close()
	d := pipeline.Parse(e, filepath.ToSlash(c.File), data, pipeline.ParseOptions{PDF: engine})
	if c.JSON {
		p := parsedFile{
			Path: c.File, Verdict: d.Verdict, Reason: d.Reason,
			Title: d.Meta.Title, ContentType: d.Meta.ContentType, Topics: d.Meta.Topics, UnitID: d.Meta.UnitID,
			Pages: d.Pages, Text: d.Text, Blocks: append([]pipeline.Block{}, d.Blocks...),
			Source: append([]pipeline.Segment{}, d.Segments...), LeftOut: d.LeftOut,
		}
		if !d.Meta.Date.IsZero() {
			p.Date = d.Meta.Date.Format(time.DateOnly)
		}
		if strings.EqualFold(filepath.Ext(c.File), ".pdf") {
			p.Engine = engine.Name()
		}
		if err := writeJSON(e.out, p, ""); err != nil {
			return err
		}
	} else {
		c.print(e, d)
	}
	switch d.Verdict {
	case pipeline.OK, pipeline.Blank, pipeline.Draft:
		return nil
	}
	return fmt.Errorf("%s: %s: %s", c.File, d.Verdict, d.Reason)
}

// print shows the text, page by page where there are pages.
func (c *parseCommand) print(e *environment, d *pipeline.Document) {
	fmt.Fprintf(e.out, "%s: %s", c.File, d.Verdict)
	if d.Reason != "" {
		fmt.Fprintf(e.out, ": %s", d.Reason)
	}
	fmt.Fprintln(e.out)
	if len(d.Pages) == 0 {
		fmt.Fprintln(e.out, d.Text)
	}
	for _, p := range d.Pages {
		fmt.Fprintf(e.out, "\n--- page %d: %s %s\n%s\n", p.Number, p.Verdict, p.Reason, p.Text)
	}
}
