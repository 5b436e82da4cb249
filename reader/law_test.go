package reader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/internal/testkit"
)

// TestLawImports: the reader, and what is below it, imports artifact, models and internal packages.
func TestLawImports(t *testing.T) {
	violations, files, err := testkit.CheckImports(".", "reader", "artifact", "models", "internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
	if files < 10 {
		t.Errorf("only %d files read", files)
	}
}

// TestLawNoRequirement: the root module requires no module, so that whoever imports the reader gets none.
func TestLawNoRequirement(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) > 0 && f[0] != "module" && f[0] != "go" {
			rest = append(rest, strings.Join(f, " "))
		}
	}
	if len(rest) > 0 {
		t.Errorf("go.mod has more than module and go: %q", rest)
	}
	if _, err := os.Stat(filepath.Join("..", "go.sum")); err == nil {
		t.Error("there is a go.sum")
	}
}
