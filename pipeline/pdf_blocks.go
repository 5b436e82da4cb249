package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// leftMeaningless counts characters of a font's own, as a key of Document.LeftOut.
const leftMeaningless = "character without a meaning"

// A pdfLine is a line of a page and what it is in the document.
type pdfLine struct {
	rawLine
	page    int       // from 1
	cells   []rawLine // what stands apart on it, nil if nothing does
	running bool      // it repeats over pages
	starts  bool      // a paragraph, or another block, starts with it
	heading int       // its level; 0 for a line that is none
	row     *pdfRow   // of a table
}

// parsePDF reads a PDF file. Text is the pages' text block by block, without the lines that repeat over pages; a
// paragraph that runs over the end of a page is one block. The verdict is that of the worst page, where a blank page
// counts as good.
func parsePDF(ctx context.Context, data []byte, o ParseOptions) *Document {
	file := &pdfFile{}
	var err error
	if f, ok := o.PDF.(pdfFiler); ok {
		file, err = f.file(ctx, data, PDFOptions{o.Passwords})
	} else {
		file.pages, err = o.PDF.Pages(ctx, data, PDFOptions{o.Passwords})
	}
	if err != nil {
		d := failedDocument("%v", err)
		if pe := (*PDFError)(nil); errors.As(err, &pe) {
			d.Verdict, d.Reason = pe.Verdict, pe.Reason
		} else if ctx.Err() == nil {
			d.fault = fmt.Errorf("pdf_engine %s: %w", o.PDF.Name(), err)
		}
		return d
	}
	timed, cancel := context.WithTimeout(ctx, defaultPDFLimits.time)
	defer cancel()
	d := file.document(timed, o.KeepGarbled)
	if timed.Err() != nil {
		return &Document{Pages: file.pages, Meta: file.meta(), Verdict: Failed, Reason: tooLongToLayOut}
	}
	d.Verdict, d.Reason = pagesVerdict(file.pages)
	return d
}

// document makes a document of a file's pages, all but its verdict. keepGarbled keeps the text of garbled pages. It is
// unfinished if ctx ends.
func (f *pdfFile) document(ctx context.Context, keepGarbled bool) *Document {
	lines := f.lines(keepGarbled)
	markRunning(lines)
	d := &Document{Pages: f.pages, Meta: f.meta(), LeftOut: map[string]int{}}
	for i, page := range lines {
		if n := f.raw[i].dropped; n > 0 && len(page) > 0 {
			d.LeftOut[leftMeaningless] += n
		}
		kept := page[:0]
		for _, l := range page {
			if l.running {
				d.Pages[i].Running = append(d.Pages[i].Running, l.Text)
				d.LeftOut[leftRunning]++
				continue
			}
			kept = append(kept, l)
		}
		lines[i] = kept
	}
	body := bodySize(lines)
	for _, page := range lines {
		startParagraphs(page, body)
	}
	markTables(ctx, lines)
	if title := markHeadings(lines, f.outline); d.Meta.Title == "" {
		d.Meta.Title = saneTitle(title)
	}
	w := pdfTextWriter{document: d, seen: wordsOf(f.raw)}
	for _, page := range lines {
		if ctx.Err() != nil {
			return d
		}
		for _, l := range page {
			w.line(l)
		}
	}
	w.end()
	d.Text = w.text.String()
	return d
}

// lines returns the lines of each page, none for a page without text.
func (f *pdfFile) lines(keepGarbled bool) [][]*pdfLine {
	if f.raw == nil {
		for _, p := range f.pages {
			f.raw = append(f.raw, typewritten(p.Text))
		}
	}
	lines := make([][]*pdfLine, len(f.pages))
	for i, p := range f.pages {
		if !p.hasText(keepGarbled) {
			continue
		}
		for j, l := range f.raw[i].Lines {
			line := &pdfLine{rawLine: l, page: p.Number}
			if j < len(f.raw[i].cells) {
				line.cells = f.raw[i].cells[j]
			}
			lines[i] = append(lines[i], line)
		}
	}
	return lines
}

// typewritten returns a page with the lines of text, places as on a typewriter.
func typewritten(text string) *rawPage {
	p := &rawPage{}
	for i, l := range strings.Split(text, "\n") {
		if l = cleanPDFLine(l); l != "" {
			p.Lines = append(p.Lines, rawLine{Text: l, Right: 6 * float32(len(l)), Bottom: -12 * float32(i), Size: 10})
		}
	}
	return p
}

// startParagraphs says which lines of a page start paragraphs. Of text larger than the body's, which is headings, those
// of other sizes are other paragraphs.
func startParagraphs(lines []*pdfLine, body float32) {
	raw := make([]rawLine, len(lines))
	for i, l := range lines {
		raw[i] = l.rawLine
	}
	for i, starts := range paragraphStarts(raw) {
		lines[i].starts = starts
		if i > 0 {
			a, b := min(lines[i].Size, lines[i-1].Size), max(lines[i].Size, lines[i-1].Size)
			lines[i].starts = starts || a > 1.12*body && b > 1.07*a
		}
	}
}

// bodySize is the size of most of the text, in points.
func bodySize(pages [][]*pdfLine) float32 {
	letters := map[int]int{}
	best := 0
	for _, lines := range pages {
		for _, l := range lines {
			half := int(2*l.Size + 0.5)
			letters[half] += len(l.Text)
			if letters[half] > letters[best] || letters[half] == letters[best] && half < best {
				best = half
			}
		}
	}
	return float32(best) / 2
}

// A pdfTextWriter writes the text of a document from its lines, with blocks and segments.
type pdfTextWriter struct {
	document *Document
	seen     *vocabulary
	text     strings.Builder
	lines    []*pdfLine // of the block begun
	path     []pathStep // the headings above
	indents  []float32  // of the list items that the last block is in, from the outermost
	header   string     // of the table that the last row is in
	table    *pdfTable  // of the last block
}

// line takes the next line of the document.
func (w *pdfTextWriter) line(l *pdfLine) {
	if n := len(w.lines); n > 0 && !w.goesOn(w.lines[n-1], l) {
		w.end()
	}
	w.lines = append(w.lines, l)
}

// goesOn says whether l is in the same block as the line before it.
func (w *pdfTextWriter) goesOn(p, l *pdfLine) bool {
	switch {
	case p.row != nil || l.row != nil:
		return p.row == l.row
	case p.heading > 0 || l.heading > 0:
		return p.heading == l.heading && !l.starts
	case p.page != l.page:
		between := w.document.Pages[p.page : l.page-1]
		return continues(p.Text, l.Text) && !slices.ContainsFunc(between, func(p Page) bool { return p.Verdict.bad() })
	}
	return !l.starts
}

// end writes the block begun.
func (w *pdfTextWriter) end() {
	if len(w.lines) == 0 {
		return
	}
	first := w.lines[0]
	b := Block{Kind: Paragraph}
	var table *pdfTable
	switch {
	case first.row != nil:
		b.Kind, table = TableRow, first.row.table
	case first.heading > 0:
		b.Kind, b.Level = Heading, first.heading
	case startsPDFItem(first.Text):
		b.Kind, b.Level = ListItem, w.nesting(first)
	}
	if b.Kind != ListItem {
		w.indents = w.indents[:0]
	}
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
		if last := w.document.Blocks[len(w.document.Blocks)-1]; !(b.Kind == ListItem && last.Kind == ListItem || table != nil && table == w.table) {
			w.text.WriteByte('\n')
		}
	}
	b.Start = w.text.Len()
	if b.Kind == TableRow {
		w.row(first.row)
	} else {
		w.flow()
	}
	b.End = w.text.Len()
	text := w.text.String()[b.Start:b.End]
	switch b.Kind {
	case Heading:
		for len(w.path) > 0 && w.path[len(w.path)-1].level >= b.Level {
			w.path = w.path[:len(w.path)-1]
		}
		w.path = append(w.path, pathStep{level: b.Level, title: text})
	case TableRow:
		if table != w.table {
			w.header = ""
		}
		b.Context = w.header
		if first.row.header {
			w.header = text
		}
	}
	for _, step := range w.path {
		b.Path = append(b.Path, step.title)
	}
	w.table = table
	w.document.Blocks = append(w.document.Blocks, b)
	w.lines = w.lines[:0]
}

// nesting returns how deep an item of a list is, by its indent.
func (w *pdfTextWriter) nesting(l *pdfLine) int {
	for len(w.indents) > 0 && w.indents[len(w.indents)-1] > l.Left-0.5*l.Size {
		w.indents = w.indents[:len(w.indents)-1]
	}
	w.indents = append(w.indents, l.Left)
	return len(w.indents)
}

// flow writes the lines of a block as one.
func (w *pdfTextWriter) flow() {
	for i, l := range w.lines {
		text := l.Text
		if i > 0 && lineEnd(w.lines[i-1].Text, text, w.seen) == spacedLines {
			w.text.WriteByte(' ')
		}
		if i+1 < len(w.lines) && lineEnd(text, w.lines[i+1].Text, w.seen) == softHyphen {
			text = withoutHyphen(text)
		}
		w.from(l.page)
		w.text.WriteString(text)
	}
}

// row writes the cells of a table's row.
func (w *pdfTextWriter) row(r *pdfRow) {
	w.from(w.lines[0].page)
	w.text.WriteString(r.text(w.seen))
}

// from says that what follows is on a page.
func (w *pdfTextWriter) from(page int) {
	s := w.document.Segments
	if len(s) == 0 || s[len(s)-1].Page != page {
		w.document.Segments = append(s, Segment{Start: w.text.Len(), Page: page})
	}
}
