package minilm

import (
	"math"
	"testing"
)

// TestProduct compares with plain sums, also where every product is the greatest there is.
func TestProduct(t *testing.T) {
	fills := map[string]func(i int) byte{
		"greatest": func(int) byte { return 255 },
		"least":    func(int) byte { return 0 },
		"mixed":    func(i int) byte { return byte(i * i * 31 >> 3) },
	}
	for name, fill := range fills {
		for _, cols := range []int{1, 4, 31, 32, 33, 64, 100, 1536, 8192} {
			rows, xs, packed := make([]byte, 4*cols), make([]byte, lanes*cols), make([]uint64, cols)
			for i := range rows {
				rows[i] = fill(i)
			}
			for i := range xs {
				xs[i] = fill(i + 77)
				packed[i%cols] |= uint64(xs[i]) << (i / cols * laneBits)
			}
			sums := [4][lanes]int32{{1, 2, 3}} // what was there must not count
			product(&sums, packed, rows)
			for r := range 4 {
				for lane := range lanes {
					var want int32
					for k := range cols {
						want += int32(rows[r*cols+k]) * int32(xs[lane*cols+k])
					}
					if sums[r][lane] != want {
						t.Fatalf("%s, %d columns: sum of row %d and lane %d is %d, want %d", name, cols, r, lane, sums[r][lane], want)
					}
				}
			}
		}
	}
}

// TestQuantize requires that activations come back within half a step, 0 exactly.
func TestQuantize(t *testing.T) {
	var q quantized
	for _, c := range []struct {
		name   string
		change func([]float32)
	}{
		{"mixed", func([]float32) {}},
		{"positive", func(x []float32) { each(x, func(v float32) float32 { return v + 9 }) }},
		{"negative", func(x []float32) { each(x, func(v float32) float32 { return v - 9 }) }},
		{"an outlier", func(x []float32) { x[5] = 300 }},
		{"zero", func(x []float32) { clear(x) }},
		{"small", func(x []float32) { each(x, func(v float32) float32 { return v * 1e-27 }) }},
		{"as good as zero", func(x []float32) { each(x, func(v float32) float32 { return v * 1e-37 }) }},
	} {
		const width = 50
		for tokens := 1; tokens <= 7; tokens++ {
			x := random(c.name, tokens*width, 3)
			x[7] = 0
			c.change(x)
			q.quantize(x, width)
			for i, v := range x {
				token, k := i/width, i%width
				b := int32(q.packed[token/lanes*width+k] >> (token % lanes * laneBits) & (1<<laneBits - 1))
				if b > 255 {
					t.Fatalf("%s: byte %d", c.name, b)
				}
				got := float64(b-q.zeros[token]) * float64(q.scales[token])
				if math.Abs(got-float64(v)) > float64(q.scales[token])*0.5001+1e-36 && v != 0 || v == 0 && got != 0 {
					t.Errorf("%s, %d tokens: %v became %v, a step is %v", c.name, tokens, v, got, q.scales[token])
				}
			}
		}
	}
}

func each(x []float32, f func(float32) float32) {
	for i, v := range x {
		x[i] = f(v)
	}
}

func TestToByte(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for x, want := range map[float32]byte{-1: 0, -inf: 0, 0: 0, 0.99: 0, 1: 1, 254.99: 254, 255: 255, 256: 255, 1e9: 255, inf: 255} {
		if got := toByte(x); got != want {
			t.Errorf("toByte(%v) = %d, want %d", x, got, want)
		}
	}
	if got := toByte(nan); got != 0 {
		t.Errorf("toByte(NaN) = %d", got)
	}
}
