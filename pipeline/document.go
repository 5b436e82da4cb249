// Package pipeline turns a folder of documents into an artifact.
//
// Its stages run in the order of the functions that [Bake] calls: discover, parse, chunk, embed,
// index, write, verify. Each stage is one file.
package pipeline

import "time"

// A Verdict says what became of a page or of a document.
type Verdict string

const (
	OK        Verdict = "ok"        // text was read
	Blank     Verdict = "blank"     // nothing is there: no text and no image
	Scanned   Verdict = "scanned"   // an image and no text layer
	Garbled   Verdict = "garbled"   // text was found, but it is not text of any language
	Encrypted Verdict = "encrypted" // a password is needed
	Failed    Verdict = "failed"    // could not be read
	Draft     Verdict = "draft"     // left out: front matter says draft
	Skipped   Verdict = "skipped"   // failed, and the base lets it
	Partial   Verdict = "partial"   // of a document: some of its pages are left out or kept though garbled, the others were read
)

// A Document is what parsing makes of one file.
type Document struct {
	// Text is the canonical text: UTF-8, LF line ends, no control characters but tab and LF, runs of
	// blanks single except in code blocks. Chunks are slices of it.
	Text string
	// Blocks are the parts of Text in order. They do not overlap, and every byte of Text outside them
	// is white space.
	Blocks []Block
	// Segments map Text to the source, in order of Start; the first one starts at 0 if Text is not empty.
	Segments []Segment
	// Pages holds a verdict a page, for formats that have pages.
	Pages   []Page
	Meta    Meta
	Size    int // of the source file, in bytes
	Verdict Verdict
	// Reason says why Verdict is neither OK nor Blank, in one line without the document's text.
	Reason string
	fault  error // why it could not even be tried, which is not the document's fault

	original []byte // the source file, if the artifact is to hold it
	// LeftOut counts what was read and is in no block, by reason, such as "comment" or "link target".
	LeftOut map[string]int
}

// hasText reports whether the document is cut into chunks.
func (d *Document) hasText() bool { return d.Verdict == OK || d.Verdict == Partial }

// A BlockKind is the role of a block of text.
type BlockKind string

const (
	Heading   BlockKind = "heading"
	Paragraph BlockKind = "paragraph"
	ListItem  BlockKind = "list item"
	Code      BlockKind = "code"
	TableRow  BlockKind = "table row"
	Quote     BlockKind = "quote"
)

// A Block is a part of a document's text that belongs together.
type Block struct {
	Kind    BlockKind `json:"kind"`
	Level   int       `json:"level,omitempty"` // of a heading, 1 to 6; nesting depth of a list item, from 1; 0 otherwise
	Start   int       `json:"start"`
	End     int       `json:"end"`               // Text[Start:End]
	Path    []string  `json:"path,omitempty"`    // the headings above, outermost first; for a heading, itself included
	Anchor  string    `json:"anchor,omitempty"`  // of the nearest heading above, or the heading's own: the part of a link behind #
	Context string    `json:"context,omitempty"` // what a part needs to be understood: a table's header row, a code block's info string
}

// A Segment says where a stretch of text came from: Text[Start:] up to the next segment's Start.
type Segment struct {
	Start  int `json:"start"`          // offset in Text
	Source int `json:"source"`         // byte offset in the source file; 0 for a PDF
	Line   int `json:"line,omitempty"` // line in the source file, from 1; 0 for a PDF
	Page   int `json:"page,omitempty"` // page, from 1; 0 for formats without pages
}

// A Page is one page of a document. A garbled one has its Text, for those who want it anyway.
type Page struct {
	Number  int     `json:"number"`          // from 1
	Label   string  `json:"label,omitempty"` // as the document numbers it, such as iv or A-3; "" where that is Number
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Text    string  `json:"text"` // as the engine gave it after cleaning, repeated headers and footers included; "" if there is none
	// Running are the lines of Text that repeat over pages, such as headers, footers and page numbers. They are not in
	// the document's text.
	Running []string `json:"running,omitempty"`
}

// Meta is what a document says of itself, or base.yaml says of it.
type Meta struct {
	Title       string
	Author      string
	Language    string   // BCP 47, such as en or pt-BR; "" if none is given
	ContentType string   // article, decision, faq, lesson, note, reference, transcript, tutorial or another word
	Topics      []string // sorted, unique
	UnitID      string
	Date        time.Time // a day, UTC; zero if none is given
	Draft       bool
}
