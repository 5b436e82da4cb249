//go:build heavy

package pipeline

import (
	"testing"
	"time"
)

// Every file of the collection ends with a verdict, within the limits, with both engines.
func TestPDFMaterial(t *testing.T) {
	for _, engine := range []string{"pdfium", "ledongthuc"} {
		t.Run(engine, func(t *testing.T) {
			limits := defaultPDFLimits
			if engine == "ledongthuc" {
				limits.time = 5 * time.Second
			}
			readAll(t, testEngine(t, engine, limits), pdfMaterial(t))
		})
	}
}
