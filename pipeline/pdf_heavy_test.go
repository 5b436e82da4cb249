//go:build heavy

package pipeline

import (
	"sync"
	"testing"
	"time"
)

// childMemory is what a child may hold at its peak: pdfium's sandbox or ledongthuc's limit, the file twice, and the
// program with its compiled code.
const childMemory = 1<<30 + 512<<20

// Every file of the collection ends with a verdict, within the limits, with both engines.
func TestPDFMaterial(t *testing.T) {
	for _, engine := range []string{"pdfium", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			limits := defaultPDFLimits
			if engine == "ledongthuc" {
				limits.time = 5 * time.Second
			}
			e := testEngine(t, engine, limits)
			var mu sync.Mutex
			var peak int64
			e.(*childEngine).pool.watch = func(c *child) {
				mu.Lock()
				defer mu.Unlock()
				peak = max(peak, peakOf(c))
			}
			readAll(t, e, pdfMaterial(t))
			t.Logf("peak memory of a child %d MiB", peak>>20)
			if peak > childMemory {
				t.Errorf("a child held %d MiB", peak>>20)
			}
		})
	}
}

func TestPDFHeavyBombs(t *testing.T) {
	detonate(t, []bomb{
		{"a million objects", func(*testing.T) []byte { return objectsPDF(1_000_000) }, []Verdict{OK}},
		{"a page that unpacks to 160 MiB", func(t *testing.T) []byte {
			w := newPDFWriter().page("")
			w.objects[len(w.objects)-2] = deflated(t, 160<<20)
			return w.bytes()
		}, []Verdict{Failed}},
	})
}
