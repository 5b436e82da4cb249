package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/larder/pipeline"
)

type parseCommand struct {
	Files       []string `arg:"" name:"file" help:"A .md, .txt or .pdf file; more may follow."`
	JSON        bool     `help:"Print JSON, a line for each file: metadata, pages, blocks and where the text comes from."`
	Engine      string   `enum:"pdfium,ledongthuc" default:"pdfium" help:"What reads PDF files: pdfium or ledongthuc (default: pdfium)." placeholder:"NAME"`
	PasswordEnv []string `sep:"none" help:"Environment variable with a password of PDF files; may be repeated. A file .env is read too." placeholder:"NAME"`
	Encoding    string   `help:"Encoding of text files that bear no mark of it, such as windows-1251 (default: found out)." placeholder:"NAME"`
	caching
}

func (parseCommand) Help() string {
	return `The exit code is that of the worst file: 1 if text of one could not be read, in whole or in part.`
}

// maxIncluded is the most bytes of a file that another one includes.
const maxIncluded = 1 << 20

// A parsedFile is what larder parse --json prints.
type parsedFile struct {
	Path        string             `json:"path"`
	Engine      string             `json:"engine,omitempty"` // for PDF files
	Verdict     pipeline.Verdict   `json:"verdict"`
	Reason      string             `json:"reason,omitempty"`
	Title       string             `json:"title,omitempty"`
	Author      string             `json:"author,omitempty"`
	Language    string             `json:"language,omitempty"` // BCP 47
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
	settings := pipeline.DefaultSettings("parse")
	settings.Encoding = c.Encoding
	if err := settings.Validate(); err != nil {
		return usageError{err}
	}
	var passwords []string
	var env secrets
	for _, name := range c.PasswordEnv {
		password, ok := env.lookup(name)
		if env.err != nil {
			return env.err
		}
		if !ok {
			return hinted{usageError{fmt.Errorf("--password-env: the environment variable %s is not set", name)},
				"set it, or write " + name + "=… into a file .env in the current folder"}
		}
		passwords = append(passwords, password)
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
	var errs []error
	for i, name := range c.Files {
		if e.Err() != nil {
			errs = append(errs, fmt.Errorf("interrupted, and not read: %s", strings.Join(c.Files[i:], ", ")))
			break
		}
		if i > 0 && !c.JSON {
			fmt.Fprintln(e.out)
		}
		errs = append(errs, c.parse(e, name, pipeline.ParseOptions{PDF: engine, Passwords: passwords, Encoding: c.Encoding}))
	}
	return errors.Join(errs...)
}

// parse reads and prints a file. The error says why it was not read in whole.
func (c *parseCommand) parse(e *environment, name string, o pipeline.ParseOptions) error {
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	data, err := readNamed(name)
	if err != nil {
		return err
	}
	o.Open = func(included string) ([]byte, error) {
		return pipeline.ReadSource(folder, pipeline.Source{Name: included}, maxIncluded)
	}
	d := pipeline.Parse(e, filepath.Base(name), data, o)
	engine := ""
	if strings.EqualFold(filepath.Ext(name), ".pdf") {
		engine = o.PDF.Name()
	}
	if c.JSON {
		p := parsedFile{
			Path: name, Engine: engine, Verdict: d.Verdict, Reason: d.Reason,
			Title: d.Meta.Title, Author: d.Meta.Author, Language: d.Meta.Language,
			ContentType: d.Meta.ContentType, Topics: d.Meta.Topics, UnitID: d.Meta.UnitID,
			Pages: d.Pages, Text: d.Text, Blocks: append([]pipeline.Block{}, d.Blocks...),
			Source: append([]pipeline.Segment{}, d.Segments...), LeftOut: d.LeftOut,
		}
		if !d.Meta.Date.IsZero() {
			p.Date = d.Meta.Date.Format(time.DateOnly)
		}
		if err := writeJSON(e.out, p, ""); err != nil {
			return err
		}
	} else {
		printParsed(e, name, engine, d)
	}
	switch d.Verdict {
	case pipeline.OK, pipeline.Blank, pipeline.Draft:
		return nil
	}
	return fmt.Errorf("%s: %s: %s", name, d.Verdict, d.Reason)
}

// readNamed reads a file that the command line names, as far as a bake would.
func readNamed(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, usageError{fmt.Errorf("%s: not a file; name the files to read", name)}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, pipeline.MaxFile+1))
	if err == nil && len(data) > pipeline.MaxFile {
		err = fmt.Errorf("%s: larger than the limit of %d bytes; split it", name, pipeline.MaxFile)
	}
	return data, err
}

// printParsed shows what was read, page by page where there are pages.
func printParsed(e *environment, name, engine string, d *pipeline.Document) {
	fmt.Fprintf(e.out, "%s: %s", name, d.Verdict)
	if d.Reason != "" {
		fmt.Fprintf(e.out, ": %s", d.Reason)
	}
	if engine != "" {
		fmt.Fprintf(e.out, " (read by %s)", engine)
	}
	fmt.Fprintln(e.out)
	for _, field := range []struct{ name, value string }{
		{"title", d.Meta.Title}, {"author", d.Meta.Author}, {"language", d.Meta.Language},
	} {
		if field.value != "" {
			fmt.Fprintf(e.out, "%s: %s\n", field.name, field.value)
		}
	}
	if len(d.Pages) == 0 {
		fmt.Fprintln(e.out, d.Text)
	}
	for _, p := range d.Pages {
		fmt.Fprintf(e.out, "\n--- page %d", p.Number)
		if p.Label != "" {
			fmt.Fprintf(e.out, " (%s)", p.Label)
		}
		fmt.Fprintf(e.out, ": %s", p.Verdict)
		if p.Reason != "" {
			fmt.Fprintf(e.out, ": %s", p.Reason)
		}
		fmt.Fprintln(e.out)
		for _, r := range p.Running {
			fmt.Fprintf(e.out, "[repeats: %s]\n", r)
		}
		if p.Text != "" {
			fmt.Fprintln(e.out, p.Text)
		}
	}
}
