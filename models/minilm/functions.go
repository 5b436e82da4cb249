package minilm

import "math"

// The functions of package math may differ in their last bits between architectures. These are built
// from operations that IEEE 754 rounds exactly, none of them fused, and so do not.

// exp returns e^x for x ≤ 88, with a relative error below 2e-7; it is 0 for x < -87.
//
// With n = x/ln 2 rounded and r = x - n·ln 2, it is 2^n times e^r's Taylor polynomial of degree 7.
func exp(x float32) float32 {
	const (
		log2e = 1.44269504088896340736
		ln2hi = 355.0 / 512 // few bits, so that n*ln2hi is exact
		ln2lo = 0.693147180559945309417 - ln2hi
		round = 3 << 22 // added, it leaves no place for a fraction
	)
	if x != x {
		return x
	}
	if x < -87 {
		return 0
	}
	x = min(x, 88)
	n := float32(float32(float32(x*log2e)+round) - round)
	r := float32(x-float32(n*ln2hi)) - float32(n*ln2lo)
	p := float32(1.0 / 5040)
	p = float32(p*r) + 1.0/720
	p = float32(p*r) + 1.0/120
	p = float32(p*r) + 1.0/24
	p = float32(p*r) + 1.0/6
	p = float32(p*r) + 1.0/2
	p = float32(p*r) + 1
	p = float32(p*r) + 1
	return float32(p * math.Float32frombits(uint32(int32(n)+127)<<23))
}

// erf returns the error function of x with an absolute error below 5e-7.
//
// It is x·P(x²)/Q(x²), fitted to the least greatest error over |x| ≤ 3.92; beyond, it is ±1 to
// float32's precision.
func erf(x float32) float32 {
	if x > 3.92 {
		return 1
	}
	if x < -3.92 {
		return -1
	}
	t := float32(x * x)
	p := float32(1.992144624894722e-08)
	p = float32(p*t) - 1.9943049218869698e-06
	p = float32(p*t) + 0.00014898757481007964
	p = float32(p*t) + 0.0039729187362334455
	p = float32(p*t) + 0.05139734959419784
	p = float32(p*t) + 0.20611479741072278
	p = float32(p*t) + 1.128378777396771
	q := float32(0.0010241310562396637)
	q = float32(q*t) + 0.014889266345667
	q = float32(q*t) + 0.11756479254377997
	q = float32(q*t) + 0.5159932481934413
	q = float32(q*t) + 1
	return max(-1, min(1, float32(x*p)/q))
}

// gelu returns x·Φ(x), Φ being the normal distribution's: x/2·(1+erf(x/√2)) (Hendrycks and Gimpel,
// Gaussian error linear units). Its absolute error is below 1.2e-6.
func gelu(x float32) float32 {
	return float32(x*0.5) * float32(1+erf(float32(x*(1/math.Sqrt2))))
}

// sum adds up x: element i goes to partial sum i mod 8, and those are added as pairs of pairs.
func sum(x []float32) float32 {
	var s [8]float32
	for ; len(x) >= 8; x = x[8:] {
		for i, v := range x[:8] {
			s[i] += v
		}
	}
	for i, v := range x {
		s[i] += v
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// sumSquares adds up the squares of x in sum's order.
func sumSquares(x []float32) float32 {
	var s [8]float32
	for ; len(x) >= 8; x = x[8:] {
		for i, v := range x[:8] {
			s[i] += float32(v * v)
		}
	}
	for i, v := range x {
		s[i] += float32(v * v)
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}
