package minilm

import "context"

// The product of activations and weights is where an encoder spends its time. Without vector
// instructions, the fastest way found to add up products of bytes is to let one 64-bit multiplication
// do three of them: the activations of three tokens lie in the lanes of a uint64, 21 bits each, and
// are multiplied by one weight at once. A product of bytes is at most 255·255 = 65,025, so 32 of them fit
// a lane.
const (
	lanes    = 3
	laneBits = 21
	perFlush = 32
)

// quantized holds activations as a product takes them: each is (byte - zero) * scale.
type quantized struct {
	packed []uint64  // [ceil(tokens/lanes)][width]: lane i of group j belongs to token j*lanes+i
	scales []float32 // [tokens]
	zeros  []int32   // [tokens], 0 to 255
	totals []int32   // [tokens], sum of a token's bytes
}

// apply writes m · x + bias for each row x of in into dst: in is [tokens][cols], dst is [tokens][rows].
//
// Each value is float32(float32(sum) * float32(scale of x * scale of row)) + bias, where sum is the exact
// sum of (byte of x - zero of x) * (byte of row - 128).
// It stops with the context's error when ctx ends.
func (q *quantized) apply(ctx context.Context, m *linear, dst, in []float32) error {
	q.quantize(in, m.cols)
	tokens := len(q.scales)
	var sums [4][lanes]int32
	for row := 0; row < m.rows; row += 4 {
		if err := stopped(ctx, row); err != nil {
			return err
		}
		rows := m.values[row*m.cols:][:4*m.cols]
		for first := 0; first < tokens; first += lanes {
			product(&sums, q.packed[first/lanes*m.cols:][:m.cols], rows)
			for t := first; t < min(first+lanes, tokens); t++ {
				out := dst[t*m.rows+row:][:4]
				for i := range out {
					r := row + i
					sum := sums[i][t-first] - 128*q.totals[t] - q.zeros[t]*m.totals[r]
					out[i] = float32(float32(sum)*float32(q.scales[t]*m.scales[r])) + m.bias[r]
				}
			}
		}
	}
	return nil
}

// product adds up the products of packed activations and four rows of weights, as long as they are:
// sums[i][j] is that of row i and the activations of lane j. The rows lie one after the other.
func product(sums *[4][lanes]int32, packed []uint64, rows []byte) {
	*sums = [4][lanes]int32{}
	cols := len(packed)
	for k := 0; k < cols; k += perFlush {
		s0, s1, s2, s3 := multiply(packed[k:min(k+perFlush, cols)], rows[k:], cols)
		unpackTo(&sums[0], s0)
		unpackTo(&sums[1], s1)
		unpackTo(&sums[2], s2)
		unpackTo(&sums[3], s3)
	}
}

// multiply returns the sums of products of xs and four rows, which are stride apart. It is a function of
// its own so that all it works on stays in registers.
//
//go:noinline
func multiply(xs []uint64, rows []byte, stride int) (s0, s1, s2, s3 uint64) {
	r0 := rows[:len(xs)]
	r1 := rows[stride:][:len(xs)]
	r2 := rows[2*stride:][:len(xs)]
	r3 := rows[3*stride:][:len(xs)]
	for k, x := range xs {
		s0 += x * uint64(r0[k])
		s1 += x * uint64(r1[k])
		s2 += x * uint64(r2[k])
		s3 += x * uint64(r3[k])
	}
	return s0, s1, s2, s3
}

// unpackTo adds the lanes of s to sums.
func unpackTo(sums *[lanes]int32, s uint64) {
	const mask = 1<<laneBits - 1
	sums[0] += int32(s & mask)
	sums[1] += int32(s >> laneBits & mask)
	sums[2] += int32(s >> (2 * laneBits))
}

// quantize takes in the rows of x, each of the given width.
func (q *quantized) quantize(x []float32, width int) {
	tokens := len(x) / width
	fit(&q.packed, (tokens+lanes-1)/lanes*width)
	fit(&q.scales, tokens)
	fit(&q.zeros, tokens)
	fit(&q.totals, tokens)
	clear(q.packed)
	for t := range tokens {
		row := x[t*width:][:width]
		scale, zero := spread(row)
		var per float32
		if scale != 0 {
			per = 1 / scale
		}
		offset := float32(zero) + 0.5
		packed := q.packed[t/lanes*width:][:width]
		shift := t % lanes * laneBits
		var total int32
		for k, v := range row {
			b := toByte(float32(v*per) + offset)
			total += int32(b)
			packed[k] |= uint64(b) << shift
		}
		q.scales[t], q.zeros[t], q.totals[t] = scale, zero, total
	}
}

// spread returns the scale and zero with which a row's values, and 0, fit a byte. It returns 0, 0
// for a row that is zero or so near to it that its scale would have no inverse.
func spread(row []float32) (scale float32, zero int32) {
	var least, most float32
	for _, v := range row {
		least, most = min(least, v), max(most, v)
	}
	if most-least < 1e-30 {
		return 0, 0
	}
	scale = (most - least) / 255
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
