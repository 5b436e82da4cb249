package knowledge

import (
	"testing"

	"example.com/larder/internal/testkit"
)

// TestLawImports: the knowledge base bakes through the pipeline and reads through the reader, and knows nothing of what
// serves it.
func TestLawImports(t *testing.T) {
	violations, files, err := testkit.CheckImports(".", "artifact", "internal", "knowledge", "models", "pipeline", "reader", "github.com/openai/openai-go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
	if files < 8 {
		t.Errorf("only %d files read", files)
	}
}
