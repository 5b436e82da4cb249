package models_test

import (
	"testing"

	"example.com/larder/internal/testkit"
)

// TestLawImports: encoders know nothing but each other and internal packages.
func TestLawImports(t *testing.T) {
	violations, files, err := testkit.CheckImports(".", "internal", "models")
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
