// Package serve has no code of its own: this test guards its folders.
package serve

import (
	"testing"

	"example.com/larder/internal/testkit"
)

// TestLawImports: what serves bases knows neither how they are baked nor how a knowledge base starts.
func TestLawImports(t *testing.T) {
	violations, files, err := testkit.CheckImports(".", "artifact", "internal", "models", "reader", "serve",
		"github.com/anthropics/anthropic-sdk-go", "github.com/google/jsonschema-go", "github.com/jackc/pgx", "github.com/modelcontextprotocol/go-sdk", "github.com/pgvector/pgvector-go",
		"golang.org/x/text")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
	if files < 20 {
		t.Errorf("only %d files read", files)
	}
}
