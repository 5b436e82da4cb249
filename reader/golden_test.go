package reader

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
)

var update = flag.Bool("update", false, "write testdata/golden.txt")

// TestGolden holds rankings and the bits of scores to what is committed, so that every architecture gives them, and
// so that a change of ranking is a readable diff.
func TestGolden(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := 0
	fmt.Fprintf(&out, "# Rankings and scores of two fixed bases; go test ./reader -run TestGolden -update writes them.\n")
	fmt.Fprintf(&out, "# chunk score cosine BM25 meaning-rank keyword-rank\n")
	for _, c := range []struct {
		base    shelf.Base
		queries []string
	}{
		{shop(Hybrid), []string{"When do I get my money back?", "E-4012", "возврат денег", "complaint about a damaged box"}},
		{shelf.Base{Name: "rule", Documents: shelf.Documents(40, 5)}, shelf.Questions(8)},
	} {
		c.base.Boosts = map[string]float64{"faq": 1.2, "note": 0.9, "reference": 1.15}
		b := openBase(t, c.base)
		fmt.Fprintf(&out, "\n%s %s\n", c.base.Name, b.Artifact().Digest)
		for _, text := range c.queries {
			for _, q := range []Query{
				{Mode: artifact.Meaning}, {Mode: artifact.Keyword}, {Mode: artifact.Hybrid}, {Mode: artifact.Hybrid, Fusion: Interleave},
				{Mode: artifact.Hybrid, Boost: true},
			} {
				q.Text, q.TopK = text, 5
				fmt.Fprintf(&out, "\n%s %s boost=%v %q\n", q.Mode, q.Fusion, q.Boost, text)
				for _, h := range search(t, b, q).Hits {
					cosine := "-"
					if h.Cosine != nil {
						cosine = fmt.Sprintf("%x", *h.Cosine)
					}
					fmt.Fprintf(&out, "%d %x %s %x %d %d\n", h.chunk, h.Score, cosine, h.BM25, h.MeaningRank, h.KeywordRank)
					lines++
				}
			}
		}
	}
	if lines < 200 {
		t.Errorf("only %d hits", lines)
	}
	file := filepath.Join("testdata", "golden.txt")
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(old)) {
		if got[i] != old[i] {
			t.Fatalf("%s:%d: %q, was %q", file, i+1, got[i], old[i])
		}
	}
	if len(got) != len(old) {
		t.Errorf("%s has %d lines, want %d", file, len(old), len(got))
	}
}
