package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/models"
	"example.com/larder/reader"
)

// outsider is an embedder outside: it counts words by their hashes. Its vectors are not of length 1.
type outsider struct {
	sync.Mutex
	salt     string
	identity string
	embedded int // passages
	closed   int
	change   func([][]float32) [][]float32
}

func (o *outsider) Identity() string            { return o.identity }
func (o *outsider) Model() string               { return "words" }
func (o *outsider) Dimensions() int             { return 64 }
func (o *outsider) Versions() map[string]string { return map[string]string{"words": "1"} }
func (o *outsider) Close() error                { o.closed++; return nil }

func (o *outsider) EmbedQuery(_ context.Context, query string) ([]float32, error) {
	v := make([]float32, 64)
	for _, word := range strings.Fields(strings.ToLower(query)) {
		h := fnv.New32a()
		h.Write([]byte(o.salt + strings.Trim(word, ".,?")))
		v[h.Sum32()%64]++
	}
	return v, nil
}

func (o *outsider) Embed(ctx context.Context, passages []string) (rows [][]float32, err error) {
	o.Lock()
	defer o.Unlock()
	o.embedded += len(passages)
	for _, p := range passages {
		v, _ := o.EmbedQuery(ctx, p)
		rows = append(rows, v)
	}
	if o.change != nil {
		rows = o.change(rows)
	}
	return rows, nil
}

func outsideShop(t *testing.T, e *outsider) BakeOptions {
	t.Helper()
	o := shop(t, shopFiles())
	o.Embedder = Function
	o.OpenEmbedder = func(_ context.Context, s Settings) (QueryEmbedder, error) {
		if !s.Outside() {
			t.Errorf("settings %+v are not of an embedder outside", s)
		}
		return e, nil
	}
	return o
}

func TestBakeOutside(t *testing.T) {
	e := &outsider{identity: `words "1"`}
	o := outsideShop(t, e)
	r, err := Bake(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if e.embedded != r.Chunks || e.closed != 1 {
		t.Errorf("%d of %d passages embedded, closed %d times", e.embedded, r.Chunks, e.closed)
	}
	folder := filepath.Join(o.Shelf, "shop")
	if _, err := reader.OpenDir(folder, reader.Options{}); !errors.Is(err, reader.ErrNoQueryEncoder) {
		t.Errorf("opened without the embedder: %v", err)
	}
	b, err := reader.OpenDir(folder, reader.Options{QueryEncoder: e})
	if err != nil {
		t.Fatal(err)
	}
	if want := (artifact.Model{Name: "words", Embedder: `words "1"`, Dimensions: 64}); *b.Manifest().Model != want {
		t.Errorf("model %+v", *b.Manifest().Model)
	}
	results, err := b.Search(t.Context(), reader.Query{Text: "refund the cost of shipping", Mode: reader.Meaning})
	if err != nil || len(results.Hits) == 0 || results.Hits[0].Path != "refunds.md" {
		t.Errorf("%v, %v", results, err)
	}
	// Once more: everything is in the cache but the sample that is compared.
	before := e.embedded
	if r, err = Bake(t.Context(), o); err != nil || r.Embedded != 0 || !r.Unchanged {
		t.Errorf("the second bake embedded %d passages, unchanged %v: %v", r.Embedded, r.Unchanged, err)
	}
	if n := e.embedded - before; n == 0 || n > r.Chunks/2 {
		t.Errorf("%d passages compared with the cache", n)
	}
	// Another model behind the same identity is found out, also if few of many passages come from the cache, and before
	// anything else is embedded.
	e.salt = "x"
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "Return %d of the order is in the shop with a card and a receipt.\n\n", i)
	}
	writeFiles(t, o.Folder, map[string]string{"many.txt": many.String()})
	before = e.embedded
	if _, err := Bake(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another model by the same name") {
		t.Errorf("another model: %v", err)
	}
	if n := e.embedded - before; n > cachedSample {
		t.Errorf("%d passages embedded by another model", n)
	}
}

func TestBakeOutsideRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func([][]float32) [][]float32
		want   string
	}{
		"one too few":  {func(r [][]float32) [][]float32 { return r[1:] }, "vectors for"},
		"short vector": {func(r [][]float32) [][]float32 { r[0] = r[0][1:]; return r }, "63 dimensions, not 64"},
		"zero vector":  {func(r [][]float32) [][]float32 { clear(r[0]); return r }, "zero or not finite"},
	} {
		_, err := Bake(t.Context(), outsideShop(t, &outsider{identity: "x", change: c.change}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := outsideShop(t, &outsider{})
	if _, err := Bake(t.Context(), o); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("no identity: %v", err)
	}
	o.OpenEmbedder = nil
	if _, err := Bake(t.Context(), o); err == nil || !strings.Contains(err.Error(), "embedder: function is not known") {
		t.Errorf("no embedder: %v", err)
	}
}

// TestBakeInMemory makes the same artifact as Bake, and nothing on the disk but what is cached.
func TestBakeInMemory(t *testing.T) {
	for _, mode := range []string{"keyword", "hybrid"} {
		o := shop(t, shopFiles())
		o.Mode = mode
		shelf, r, err := BakeInMemory(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(readTree(t, filepath.Dir(o.Folder))) != len(shopFiles()) {
			t.Error("files were written beside the documents")
		}
		b, err := reader.Open(shelf, "shop", reader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a := b.LookUp(t.Context(), "damaged item"); len(a.Results) == 0 {
			t.Errorf("%s: nothing found: %+v", mode, a)
		}
		if baked := mustBake(t, o); baked.Digest != r.Digest || b.Artifact().Digest != r.Digest {
			t.Errorf("%s: version %s in memory, %s on the disk", mode, r.Digest, baked.Digest)
		}
	}
}

// TestBakeIndex puts artifacts into a folder of their own.
func TestBakeIndex(t *testing.T) {
	o := shop(t, shopFiles())
	dir := filepath.Dir(o.Shelf)
	o.Index = filepath.Join(dir, "index", "of-the-shop")
	r, err := Bake(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(r.Artifact) != o.Index || len(readTree(t, dir)) == 0 {
		t.Errorf("the artifact is in %s", r.Artifact)
	}
	if _, err := reader.OpenDir(o.Index, reader.Options{}); err != nil {
		t.Error(err)
	}
	if _, ok := readTree(t, r.Artifact)[models.CardFile]; !ok {
		t.Error("the encoder is not with the artifact")
	}
	// On a shelf that has the encoder, it stays where it is.
	o.Index = ""
	mustBake(t, o)
	o.Index = filepath.Join(o.Shelf, "other")
	if r, err = Bake(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, ok := readTree(t, r.Artifact)[models.CardFile]; ok {
		t.Error("the encoder is with the artifact, though it is on the shelf")
	}
	if _, err := reader.OpenDir(o.Index, reader.Options{}); err != nil {
		t.Error(err)
	}
	// base.yaml says where, if it is asked.
	files := shopFiles()
	files["base.yaml"] += "index_dir: ../.index/shop\n"
	o = shop(t, files)
	o.UseIndexDir = true
	if r, err = Bake(t.Context(), o); err != nil || filepath.Dir(r.Artifact) != filepath.Join(filepath.Dir(o.Folder), ".index", "shop") {
		t.Errorf("%s, %v", r.Artifact, err)
	}
}

func TestConfigure(t *testing.T) {
	o := shop(t, shopFiles())
	o.Configure = func(s *Settings) error {
		s.Tool = artifact.Tool{Name: "look_up_refunds", Description: "Look up refunds."}
		s.TopK = 50
		return nil
	}
	if _, err := Bake(t.Context(), o); err == nil || !strings.Contains(err.Error(), "top_k: 50 is out of range") {
		t.Errorf("%v", err)
	}
	o.Configure = func(s *Settings) error {
		s.Tool = artifact.Tool{Name: "look_up_refunds", Description: "Look up refunds."}
		return nil
	}
	mustBake(t, o)
	b, err := reader.OpenDir(filepath.Join(o.Shelf, "shop"), reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tool := b.Tool("", ""); tool.Name != "look_up_refunds" || tool.Description != "Look up refunds.\n\n"+reader.WeakResultsNote {
		t.Errorf("%+v", tool)
	}
	if tool := b.Tool("other", ""); tool.Name != "other" || !strings.HasPrefix(tool.Description, "Look up refunds.\n\n") {
		t.Errorf("%+v", tool)
	}
}
