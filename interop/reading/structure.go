package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/larder/pipeline"
)

// measurePDFStructure counts what the PDF files below a folder are made of, by the folders directly below it: lines
// that repeat over pages, headings, list items, rows of tables (and those with a header as context), paragraphs, and
// the share of paragraphs that end where a sentence does.
func measurePDFStructure(w io.Writer, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("pdf-structure: name a folder of PDF files")
	}
	engine, err := pipeline.NewPDFEngine("pdfium", os.Getenv("LARDER_CACHE"))
	if err != nil {
		return err
	}
	defer engine.Close()
	type counts struct{ files, pages, running, headings, items, rows, headed, paragraphs, whole int }
	var kinds []string
	byKind := map[string]*counts{}
	total := &counts{}
	err = filepath.WalkDir(args[0], func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.EqualFold(filepath.Ext(path), ".pdf") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(args[0], path)
		if err != nil {
			return err
		}
		kind, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if byKind[kind] == nil {
			byKind[kind] = &counts{}
			kinds = append(kinds, kind)
		}
		d := pipeline.Parse(context.Background(), "file.pdf", data, pipeline.ParseOptions{PDF: engine})
		for _, c := range []*counts{byKind[kind], total} {
			c.files++
			c.pages += len(d.Pages)
			for _, p := range d.Pages {
				c.running += len(p.Running)
			}
			for _, b := range d.Blocks {
				switch b.Kind {
				case pipeline.Heading:
					c.headings++
				case pipeline.ListItem:
					c.items++
				case pipeline.TableRow:
					c.rows++
					if b.Context != "" {
						c.headed++
					}
				default:
					c.paragraphs++
					if strings.ContainsAny(lastRune(d.Text[b.Start:b.End]), ".!?:;…。！？”\")’") {
						c.whole++
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if total.files == 0 {
		return fmt.Errorf("pdf-structure: no PDF file below %s", args[0])
	}
	fmt.Fprintf(w, "%-12s %5s %6s %8s %8s %6s %7s %7s %10s %6s\n", "kind", "files", "pages", "running", "headings", "items", "rows", "headed", "paragraphs", "whole")
	for _, k := range append(kinds, "all") {
		c := byKind[k]
		if k == "all" {
			c = total
		}
		fmt.Fprintf(w, "%-12s %5d %6d %8d %8d %6d %7d %7d %10d %6.2f\n", k, c.files, c.pages, c.running, c.headings, c.items, c.rows, c.headed, c.paragraphs, float64(c.whole)/float64(max(1, c.paragraphs)))
	}
	return nil
}

func lastRune(s string) string {
	r := []rune(s)
	return string(r[len(r)-1:])
}
