//go:build heavy

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/larder/pipeline"
)

// TestHeavyScripts runs what needs the locked model, which must be in the cache.
func TestHeavyScripts(t *testing.T) {
	cache, err := pipeline.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, "heavy", func(env *testscript.Env) error {
		env.Setenv("LARDER_CACHE", cache.Dir)
		return nil
	})
}
