//go:build heavy && ORT

package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/larder/models"
	"example.com/larder/pipeline"
)

const benchModel = "all-MiniLM-L6-v2"

// openBoth opens hugot with ONNX Runtime and the project's encoder, for one model.
func openBoth(b testing.TB) (pipeline.Embedder, *models.Encoder) {
	b.Helper()
	cache, err := pipeline.DefaultCache()
	if err != nil {
		b.Fatal(err)
	}
	onnx, encoder, err := pipeline.OpenEmbedder(context.Background(), &pipeline.Fetcher{Cache: cache}, benchModel, pipeline.ONNX)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { onnx.Close() })
	return onnx, encoder
}

// BenchmarkEncoder times one text at a time, the project's encoder on one core against hugot with ONNX Runtime in
// fp32 on all of them, in interleaved rounds, and prints the medians and their ratio.
func BenchmarkEncoder(b *testing.B) {
	onnx, encoder := openBoth(b)
	for _, tokens := range []int{12, 32, 77, 128} {
		text := strings.TrimSpace(strings.Repeat("money ", tokens-2))
		b.Run(fmt.Sprintf("%d-tokens", tokens), func(b *testing.B) {
			vector := make([]float32, encoder.Dimensions())
			var own, peer []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := encoder.EncodeQuery(vector, text); err != nil {
					b.Fatal(err)
				}
				own = append(own, time.Since(start))
				start = time.Now()
				if _, err := onnx.Embed(context.Background(), []string{text}); err != nil {
					b.Fatal(err)
				}
				peer = append(peer, time.Since(start))
			}
			slices.Sort(own)
			slices.Sort(peer)
			x, y := own[len(own)/2].Seconds()*1000, peer[len(peer)/2].Seconds()*1000
			b.ReportMetric(x, "own-ms")
			b.ReportMetric(y, "onnx-ms")
			b.ReportMetric(x/y, "own/onnx")
		})
	}
}
