package artifact_test

import (
	"testing"

	"example.com/larder/internal/testkit"
)

// TestLawImports: the format knows nothing but internal packages.
func TestLawImports(t *testing.T) {
	violations, files, err := testkit.CheckImports(".", "internal")
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
