package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/larder/pipeline"
)

type parseCommand struct {
	File   string `arg:"" help:"A .md, .txt or .pdf file."`
	JSON   bool   `help:"Print JSON: pages, blocks with their spans, metadata."`
	Engine string `enum:"pdfium,ledongthuc" default:"pdfium" help:"What reads PDF files: pdfium or ledongthuc."`
}

// A parsedFile is what larder parse --json prints.
type parsedFile struct {
	Path    string             `json:"path"`
	Engine  string             `json:"engine,omitempty"` // for PDF files
	Verdict pipeline.Verdict   `json:"verdict"`
	Reason  string             `json:"reason,omitempty"`
	Title   string             `json:"title,omitempty"`
	Pages   []pipeline.Page    `json:"pages,omitempty"`
	Text    string             `json:"text"`
	Blocks  []pipeline.Block   `json:"blocks"`
	Source  []pipeline.Segment `json:"source"` // where the text comes from
	LeftOut map[string]int     `json:"left_out,omitempty"`
}

func (c *parseCommand) Run(e *environment) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	cache, err := pipeline.DefaultCache()
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
		p := parsedFile{c.File, "", d.Verdict, d.Reason, d.Meta.Title, d.Pages, d.Text, d.Blocks, d.Segments, d.LeftOut}
		if strings.EqualFold(filepath.Ext(c.File), ".pdf") {
			p.Engine = engine.Name()
		}
		enc := json.NewEncoder(e.out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p); err != nil {
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
