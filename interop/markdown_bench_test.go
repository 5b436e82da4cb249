//go:build heavy

package interop

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"example.com/larder/pipeline"
)

// BenchmarkMarkdown reads the test material's Markdown, and has goldmark parse it, with GFM, footnotes and definition
// lists: what it takes beyond that is the way to canonical text.
func BenchmarkMarkdown(b *testing.B) {
	var files [][]byte
	var size int64
	root := filepath.Join("..", "..", "shared", "data", "md")
	if _, err := os.Stat(root); err != nil {
		b.Skipf("no test material: %v", err)
	}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasSuffix(name, ".md") {
			return err
		}
		data, err := os.ReadFile(name)
		files, size = append(files, data), size+int64(len(data))
		return err
	})
	if err != nil || len(files) == 0 {
		b.Fatalf("%d files: %v", len(files), err)
	}
	b.Run("larder", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, data := range files {
				if d := pipeline.Parse(context.Background(), "a.md", data, pipeline.ParseOptions{}); d.Verdict == pipeline.Failed {
					b.Fatal(d.Reason)
				}
			}
		}
	})
	b.Run("goldmark", func(b *testing.B) {
		parser := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList)).Parser()
		b.SetBytes(size)
		for b.Loop() {
			for _, data := range files {
				parser.Parse(text.NewReader(data))
			}
		}
	})
}
