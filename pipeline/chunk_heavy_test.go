//go:build heavy

package pipeline

import "testing"

// The properties of chunks hold for every file of the collections.

func TestChunkWholeMarkdownMaterial(t *testing.T) {
	chunkFiles(t, sharedFiles(t, "md", ".md", 3000), 200, testTokenizer(t), nil)
}

func TestChunkWholePDFMaterial(t *testing.T) {
	chunkFiles(t, pdfMaterial(t), 20, testTokenizer(t), testEngine(t, "pdfium", defaultPDFLimits))
}

// Poppler's texts are plain text of every kind: tables, indexes, listings, many languages.
func TestChunkWholePopplerMaterial(t *testing.T) {
	chunkFiles(t, sharedFiles(t, "pdf", ".txt", 100), 20, testTokenizer(t), nil)
}
