package pipeline

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The most bytes of a file. The densest Markdown, one letter a paragraph, takes some 300 bytes of
// memory for each of its own; the densest text takes some 110.
const (
	maxMarkdown = 4 << 20
	maxText     = 16 << 20
)

// ParseOptions choose how files are read.
type ParseOptions struct {
	PDF PDFEngine // reads PDF files
	// Passwords are tried in order on PDF files that don't open with the empty one.
	Passwords []string
	// KeepGarbled makes text of garbled pages of PDF files too.
	KeepGarbled bool
	// Encoding is that of text files, as one of the WHATWG's names; "" finds out.
	Encoding string
	// Open reads another file of the base, by its slash-separated path below the base's folder, for formats that
	// include files; nil refuses all.
	Open func(name string) ([]byte, error)

	name string // of the file that is parsed
}

// formats names the parser of each extension.
var formats = map[string]func(ctx context.Context, data []byte, o ParseOptions) *Document{
	".md":       parseMarkdown,
	".markdown": parseMarkdown,
	".txt":      func(_ context.Context, data []byte, o ParseOptions) *Document { return parseText(data, o.Encoding) },
	".pdf":      func(ctx context.Context, data []byte, o ParseOptions) *Document { return parsePDF(ctx, data, o) },
}

// Formats returns the extensions of the files that [Parse] reads, in lower case with their dot, sorted.
func Formats() []string {
	var extensions []string
	for extension := range formats {
		extensions = append(extensions, extension)
	}
	slices.Sort(extensions)
	return extensions
}

// Parse reads one file. name is its slash-separated path below the base's folder; its extension, in
// any case, decides the format. Parse never fails and never panics: of a file that can't be read it
// returns a document without text, whose verdict and one-line reason say why. It is safe for
// concurrent use. A cancelled ctx ends it early with [Failed].
func Parse(ctx context.Context, name string, data []byte, o ParseOptions) (d *Document) {
	// The readers are third-party code: a fault in one of them costs a document, not the bake. The
	// value of a panic may quote the document, so its type alone is told.
	defer func() {
		if fault := recover(); fault != nil {
			d = failedDocument("the parser crashed (%T)", fault)
		}
	}()
	if err := ctx.Err(); err != nil {
		return failedDocument("parsing was stopped: %v", err)
	}
	extension := strings.ToLower(path.Ext(name))
	parse, ok := formats[extension]
	if !ok {
		return failedDocument("files ending in %q are not read; known are %s", extension, strings.Join(Formats(), ", "))
	}
	o.name = name
	d = parse(ctx, data, o)
	if err := ctx.Err(); err != nil && d.Verdict == OK {
		return failedDocument("parsing was stopped: %v", err)
	}
	return d
}

// failedDocument returns a document of which only the reason for its failure is known.
func failedDocument(format string, args ...any) *Document {
	return &Document{Verdict: Failed, Reason: fmt.Sprintf(format, args...)}
}

// garbledDocument returns a document whose text can't be told.
func garbledDocument(format string, args ...any) *Document {
	return &Document{Verdict: Garbled, Reason: fmt.Sprintf(format, args...)}
}
