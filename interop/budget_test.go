//go:build heavy

package interop

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/models"
	"example.com/larder/pipeline"
	"example.com/larder/serve/tools"
)

// TestTokensEstimate compares the estimate by which answers are kept within a budget with WordPiece's count, on the
// documents of the sample bases and on code.
func TestTokensEstimate(t *testing.T) {
	cache, err := pipeline.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	embedder, encoder, err := pipeline.OpenEmbedder(t.Context(), &pipeline.Fetcher{Cache: cache}, models.Lock().Names()[0], pipeline.Native)
	if err != nil {
		t.Fatal(err)
	}
	defer embedder.Close()
	root := filepath.Join("..")
	texts, lowest, highest := 0, 1e9, 0.0
	for _, dir := range []string{"content", "artifact", "serve"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, e fs.DirEntry, err error) error {
			extension := filepath.Ext(name)
			if err != nil || e.IsDir() || extension != ".md" && extension != ".txt" && extension != ".go" {
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text := string(data)
			count := len(encoder.Tokenizer().Encode(nil, text, -1))
			ratio := float64(tools.Tokens(text)) / float64(count)
			texts++
			lowest = min(lowest, ratio)
			if extension != ".go" && !strings.Contains(name, ".ru.") { // prose
				highest = max(highest, ratio)
			}
			if ratio < 1 {
				t.Errorf("%s: estimated %d tokens, and there are %d", name, tools.Tokens(text), count)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"退款需要多少天？请在一个月内寄回包裹。", "返金は何日かかりますか。ガギグゲゴ", "การคืนเงินใช้เวลากี่วัน", "كم يوما يستغرق استرداد الأموال", "Zażółć gęślą jaźń, 3.14159"} {
		if n, count := tools.Tokens(text), len(encoder.Tokenizer().Encode(nil, text, -1)); n < count || count == 0 {
			t.Errorf("%s: estimated %d tokens, and there are %d", text, n, count)
		}
	}
	t.Logf("%d texts: the estimate is %.2f to %.2f times WordPiece's count", texts, lowest, highest)
	if texts < 60 || highest > 2.2 {
		t.Errorf("%d texts, at most %.2f", texts, highest)
	}
}
