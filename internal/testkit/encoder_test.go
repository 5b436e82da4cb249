package testkit

import (
	"bytes"
	"testing"
)

func TestEncoder(t *testing.T) {
	size := 0
	again := Encoder(32)
	for name, f := range Encoder(32) {
		size += len(f.Data)
		if !bytes.Equal(f.Data, again[name].Data) {
			t.Errorf("%s is different the second time", name)
		}
	}
	if size > 30<<10 {
		t.Errorf("%d bytes, want less than 30 KB", size)
	}
	for _, dims := range []int{0, 12, 4096} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d dimensions are accepted", dims)
				}
			}()
			Encoder(dims)
		}()
	}
}
