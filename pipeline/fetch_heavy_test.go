//go:build heavy

package pipeline

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"example.com/larder/models"
)

// The smallest locked file of each kind and the library for this platform come through the real network
// and clients into an empty cache, and are found there afterwards.
func TestFetchForReal(t *testing.T) {
	var log bytes.Buffer
	f := &Fetcher{Cache: Cache{t.TempDir()}, Out: &log}
	defer func() { t.Log(log.String()) }()
	m, err := models.Lock().Model("all-MiniLM-L6-v2")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := f.files(context.Background(), m.Name, m.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	library, err := f.Runtime(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	f.Offline = true
	again, err := f.files(context.Background(), m.Name, m.Tokenizer)
	if err != nil || again[0] != paths[0] {
		t.Errorf("from the cache: %q, %v; want %q", again, err, paths)
	}
	if path, err := f.Runtime(context.Background()); err != nil || path != library {
		t.Errorf("from the cache: %q, %v; want %s", path, err, library)
	}
	if left, err := filepath.Glob(filepath.Join(f.Cache.Dir, "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// libtokenizers.a is in the cache, or can be built.
func TestTokenizersForReal(t *testing.T) {
	var log bytes.Buffer
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	f := &Fetcher{Cache: cache, Out: &log}
	dir, err := f.Tokenizers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(log.String())
	if err := checkTokenizers(dir); err != nil {
		t.Error(err)
	}
}
