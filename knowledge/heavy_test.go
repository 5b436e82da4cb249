//go:build heavy

package knowledge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/pipeline"
)

// heavyFetcher has the cache that all heavy tests share, and fills it.
func heavyFetcher(t *testing.T) *pipeline.Fetcher {
	t.Helper()
	cache, err := pipeline.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	return &pipeline.Fetcher{Cache: cache}
}

// TestHeavyFolder: Markdown, text and PDF files with the real models, by both embedders that are built in, baked and in
// memory. The second model has prefixes and twice the layers.
func TestHeavyFolder(t *testing.T) {
	refunds := filepath.Join("..", "content", "refunds")
	fetcher := heavyFetcher(t)
	for _, c := range []struct {
		name, model, folder string
		embedding           Embedding
		prefix              string // of queries
		kinds               string // of documents
	}{
		{"onnx", "all-MiniLM-L6-v2", refunds, ONNX(), "", "map[.md:true .pdf:true .txt:true]"},
		{"native", "all-MiniLM-L6-v2", refunds, Native(), "", "map[.md:true .pdf:true .txt:true]"},
		{"onnx, another model", "e5-small-v2", documents(t), ONNX(), "query: ", "map[.md:true .txt:true]"},
		{"native, another model", "e5-small-v2", documents(t), Native(), "query: ", "map[.md:true .txt:true]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &capture{}
			index := filepath.Join(t.TempDir(), "refunds")
			options := []Option{Model(c.model), Embed(c.embedding), IndexDir(index), Fetcher(fetcher), Log(log.logger())}
			memory := mustNew(t, c.folder, options...)
			mustStart(t, memory)
			if err := memory.Bake(t.Context()); err != nil {
				t.Fatal(err)
			}
			log.Reset()
			baked := mustNew(t, c.folder, options...)
			mustStart(t, baked)
			if strings.Contains(log.text(), "embedded") {
				t.Errorf("Start embedded: %s", log.text())
			}
			m := baked.Current().Manifest()
			if m.Model.Name != c.model || m.Model.QueryPrefix != c.prefix || m.Settings.Mode != artifact.Hybrid {
				t.Errorf("model %+v", m.Model)
			}
			kinds := map[string]bool{}
			a := baked.Current().Artifact()
			for i := range a.Documents() {
				kinds[filepath.Ext(a.Document(i).Path)] = true
			}
			if fmt.Sprint(kinds) != c.kinds {
				t.Errorf("documents of the kinds %v", kinds)
			}
			query := "How long until I get my money back?"
			want, got := memory.LookUp(t.Context(), query), baked.LookUp(t.Context(), query)
			if len(got.Results) != 3 || got.Results[0].Score == nil || asJSON(t, want) != asJSON(t, got) {
				t.Errorf("from memory %s\nfrom the index %s", asJSON(t, want), asJSON(t, got))
			}
			if c.folder != refunds && got.Results[0].Source != "refunds.md" {
				t.Errorf("found %s", asJSON(t, got))
			}
			t.Logf("%.120s", asJSON(t, got))
		})
	}
}
