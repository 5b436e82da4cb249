package minilm

// The product of activations and weights is where an encoder spends its time. Without vector
// instructions, the fastest way found to add up products of bytes is to let one 64-bit multiplication
// do three of them: the activations of three tokens lie in the lanes of an int64, 21 bits each, and
// are multiplied by one weight at once.
//
// A lane holds a signed sum. Its borrow out of the lane above is undone when the sums are taken out,
// lowest first. A product lies within ±255·127 = ±32,385, so 32 of them fit a lane's ±2^20.
const (
	lanes    = 3
	laneBits = 21
	perFlush = 32
)

// quantized holds activations as a product takes them.
type quantized struct {
	packed []int64   // [ceil(tokens/lanes)][width]: lane i of group j belongs to token j*lanes+i
	scales []float32 // [tokens]
	zeros  []int32   // [tokens], 0 to 255: an activation is (byte - zero) * scale
}

// apply writes m · x + bias for each row x of in into dst: in is [tokens][cols], dst is [tokens][rows].
//
// Each value is float32(float32(sum) * float32(scale of x * scale of row)) + bias, where sum is the exact
// sum of (byte of x - zero of x) * weight.
func (q *quantized) apply(m *linear, dst, in []float32) {
	q.quantize(in, m.cols)
	tokens := len(q.scales)
	var sums [4][lanes]int32
	for row := 0; row < m.rows; row += 4 {
		w := m.values[row*m.cols:][:4*m.cols]
		w0, w1, w2, w3 := w[:m.cols], w[m.cols:2*m.cols], w[2*m.cols:3*m.cols], w[3*m.cols:]
		for first := 0; first < tokens; first += lanes {
			product(&sums, q.packed[first/lanes*m.cols:][:m.cols], w0, w1, w2, w3)
			for t := first; t < min(first+lanes, tokens); t++ {
				out := dst[t*m.rows+row:][:4]
				for i := range out {
					r := row + i
					sum := sums[i][t-first] - q.zeros[t]*m.totals[r]
					out[i] = float32(float32(sum)*float32(q.scales[t]*m.scales[r])) + m.bias[r]
				}
			}
		}
	}
}

// product adds up the products of packed activations and four rows of weights, int8 each, all of one
// length: sums[i][j] is that of row i and the activations of lane j.
func product(sums *[4][lanes]int32, packed []int64, w0, w1, w2, w3 []byte) {
	*sums = [4][lanes]int32{}
	for len(packed) > 0 {
		n := min(len(packed), perFlush)
		xs := packed[:n]
		v0, v1, v2, v3 := w0[:len(xs)], w1[:len(xs)], w2[:len(xs)], w3[:len(xs)]
		var s0, s1, s2, s3 int64
		for k, x := range xs {
			s0 += x * int64(int8(v0[k]))
			s1 += x * int64(int8(v1[k]))
			s2 += x * int64(int8(v2[k]))
			s3 += x * int64(int8(v3[k]))
		}
		unpackTo(&sums[0], s0)
		unpackTo(&sums[1], s1)
		unpackTo(&sums[2], s2)
		unpackTo(&sums[3], s3)
		packed, w0, w1, w2, w3 = packed[n:], w0[n:], w1[n:], w2[n:], w3[n:]
	}
}

// unpackTo adds the lanes of s to sums.
func unpackTo(sums *[lanes]int32, s int64) {
	for i := range sums {
		lane := s << (64 - laneBits) >> (64 - laneBits)
		sums[i] += int32(lane)
		s = (s - lane) >> laneBits
	}
}

// quantize takes in the rows of x, each of the given width.
func (q *quantized) quantize(x []float32, width int) {
	tokens := len(x) / width
	fit(&q.packed, (tokens+lanes-1)/lanes*width)
	fit(&q.scales, tokens)
	fit(&q.zeros, tokens)
	clear(q.packed)
	for t := range tokens {
		row := x[t*width:][:width]
		scale, zero := spread(row)
		q.scales[t], q.zeros[t] = scale, zero
		if scale == 0 {
			continue // every element is 0, and so is zero
		}
		per, offset := 1/scale, float32(zero)+0.5
		packed := q.packed[t/lanes*width:][:width]
		shift := t % lanes * laneBits
		for k, v := range row {
			packed[k] += int64(toByte(float32(v*per)+offset)) << shift
		}
	}
}

// spread returns the scale and zero with which a row's values, and 0, fit a byte. It returns 0, 0
// for a row of zeros.
func spread(row []float32) (scale float32, zero int32) {
	var least, most float32
	for _, v := range row {
		least, most = min(least, v), max(most, v)
	}
	scale = (most - least) / 255
	if scale == 0 {
		return 0, 0
	}
	return scale, int32(toByte(-least/scale + 0.5))
}

// toByte rounds x down into 0 to 255; what is not a number becomes 0.
func toByte(x float32) byte {
	switch {
	case x >= 255:
		return 255
	case x > 0:
		return byte(x)
	}
	return 0
}
