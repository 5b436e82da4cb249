package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/larder/models"
)

// A file that can't be read is a document that failed: the skip list may name it, and others are still judged.
func TestBakeUnreadableFile(t *testing.T) {
	files := shopFiles()
	o := shop(t, files)
	big := filepath.Join(o.Folder, "big.txt")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, MaxFile+1); err != nil { // sparse
		t.Fatal(err)
	}
	writeFiles(t, o.Folder, map[string]string{"broken.txt": "\xef\xbb\xbfcaf\xe9\n"})
	_, err := Bake(context.Background(), o)
	var documents *DocumentsError
	if !errors.As(err, &documents) || len(documents.Documents) != 2 || !strings.Contains(err.Error(), "big.txt: failed: larger than the limit") {
		t.Fatalf("both documents are to be named once: %v", err)
	}
	writeFiles(t, o.Folder, map[string]string{"base.yaml": files["base.yaml"] + "skip: [big.txt, broken.txt]\n"})
	report := mustBake(t, o)
	if n := report.Verdicts()["skipped"]; n != 2 {
		t.Errorf("%d skipped", n)
	}
}

// A glob that matches nothing is most often a slip, and is said.
func TestBakeUnmatchedGlobs(t *testing.T) {
	files := shopFiles()
	files["base.yaml"] += "skip: [\"*.pfd\"]\n"
	report := mustBake(t, shop(t, files))
	if !slices.Contains(report.Unmatched, `skip[0]: "*.pfd"`) {
		t.Errorf("unmatched: %q", report.Unmatched)
	}
	var text strings.Builder
	report.Write(&text)
	if !strings.Contains(text.String(), `base.yaml: skip[0]: "*.pfd" matches no document`) {
		t.Errorf("the report says nothing of it:\n%s", text.String())
	}
}

// An interrupted bake is an error, in whatever stage it is, and publishes nothing.
func TestBakeInterrupted(t *testing.T) {
	o := shop(t, shopFiles())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Bake(ctx, o); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted before stage settings") {
		t.Errorf("interrupted at the start: %v", err)
	}
	if _, err := os.Stat(o.Shelf); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is on the shelf: %v", err)
	}
}

// A damaged encoder on the shelf is named, with the folder to move away, and moving it away helps.
func TestBakeDamagedEncoder(t *testing.T) {
	o := shop(t, shopFiles())
	mustBake(t, o)
	folders, err := filepath.Glob(filepath.Join(o.Shelf, "models", "*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	weights := filepath.Join(folders[0], models.WeightsFile)
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(weights, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Bake(context.Background(), o); err == nil || !strings.Contains(err.Error(), folders[0]+" is damaged") {
		t.Fatalf("baked beside a damaged encoder: %v", err)
	}
	if err := os.RemoveAll(folders[0]); err != nil {
		t.Fatal(err)
	}
	mustBake(t, o)
}

// A version that is there without its encoder can't be bundled any more, which must not pass in silence.
func TestBakeBundleTooLate(t *testing.T) {
	o := shop(t, shopFiles())
	mustBake(t, o)
	o.Bundle = true
	if _, err := Bake(context.Background(), o); err == nil || !strings.Contains(err.Error(), "without its encoder") {
		t.Errorf("%v", err)
	}
}
