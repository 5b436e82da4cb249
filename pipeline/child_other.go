//go:build !linux

package pipeline

import (
	"os"
	"runtime/metrics"
	"time"
)

// limitMemory ends this process when the Go heap has grown by extra bytes. The kernel's own limit is not
// used here: elsewhere than on Linux it is not enforced, or missing.
func limitMemory(extra int64) error {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	total := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	limit := total() + extra
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			if total() > limit {
				os.Stderr.WriteString("out of memory\n")
				os.Exit(2)
			}
		}
	}()
	return nil
}

// limitCPU does nothing: the parent watches the time, and its end closes this process's input.
func limitCPU(time.Duration) error { return nil }
