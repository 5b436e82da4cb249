package minilm

import (
	"math"
	"testing"
)

// grid calls f with steps+1 numbers from least to most.
func grid(least, most float64, steps int, f func(x float32)) {
	for i := range steps + 1 {
		f(float32(least + (most-least)*float64(i)/float64(steps)))
	}
}

func TestExp(t *testing.T) {
	var worst float64
	check := func(x float32) {
		want := math.Exp(float64(x))
		if e := math.Abs(float64(exp(x))-want) / want; e > worst {
			worst = e
		}
	}
	grid(-87, 88, 500_000, check)
	grid(-1, 0, 200_000, check)
	t.Logf("relative error %.3g", worst)
	if worst > 2e-7 {
		t.Errorf("relative error %v", worst)
	}
	if exp(0) != 1 || exp(-88) != 0 || exp(float32(math.Inf(-1))) != 0 || exp(float32(math.NaN())) == exp(float32(math.NaN())) {
		t.Error("wrong at 0, far below it, or at what is not a number")
	}
}

func TestErf(t *testing.T) {
	var worst float64
	grid(-6, 6, 1_000_000, func(x float32) {
		worst = max(worst, math.Abs(float64(erf(x))-math.Erf(float64(x))))
		if erf(x) != -erf(-x) || erf(x) > 1 {
			t.Fatalf("erf(%v) = %v, erf(%v) = %v", x, erf(x), -x, erf(-x))
		}
	})
	t.Logf("absolute error %.3g", worst)
	if worst > 5e-7 {
		t.Errorf("absolute error %v", worst)
	}
	if nan := erf(float32(math.NaN())); nan == nan {
		t.Errorf("erf of what is not a number is %v", nan)
	}
}

func TestGelu(t *testing.T) {
	var worst float64
	grid(-10, 10, 1_000_000, func(x float32) {
		want := float64(x) / 2 * (1 + math.Erf(float64(x)/math.Sqrt2))
		worst = max(worst, math.Abs(float64(gelu(x))-want))
	})
	t.Logf("absolute error %.3g", worst)
	if worst > 1.2e-6 {
		t.Errorf("absolute error %v", worst)
	}
}

func TestSums(t *testing.T) {
	for n := range 40 {
		x := random("sums", n, 3)
		var want, squares float64
		for _, v := range x {
			want += float64(v)
			squares += float64(v) * float64(v)
		}
		if math.Abs(float64(sum(x))-want) > 1e-5 || math.Abs(float64(sumSquares(x))-squares) > 1e-4 {
			t.Errorf("%d elements: %v and %v, want %v and %v", n, sum(x), sumSquares(x), want, squares)
		}
	}
}
