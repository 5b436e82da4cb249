package artifact

import (
	"math"
	"unicode/utf8"
)

// maxDimensions is the largest width of a vector.
const maxDimensions = 4096

// stride is the width of a row of codes: dimensions rounded up to 64.
func stride(dimensions int) int { return (dimensions + 63) / 64 * 64 }

// Vectors are the chunks' vectors: vector i is Centre + Scale(i) × Codes(i).
type Vectors struct {
	Centre []float32
	scales []byte // f32
	codes  []byte // i8, rows of stride
	stride int
}

// Len returns the number of vectors.
func (v *Vectors) Len() int { return len(v.scales) / 4 }

// Scale returns the scale of row i.
func (v *Vectors) Scale(i int) float32 { return math.Float32frombits(le.Uint32(v.scales[4*i:])) }

// Codes returns row i: two's complement bytes, len(Centre) of them.
func (v *Vectors) Codes(i int) []byte {
	return v.codes[i*v.stride:][:len(v.Centre):len(v.Centre)]
}

// Vector returns vector i as floats, which differs a little from the one that was quantized.
func (v *Vectors) Vector(i int) []float32 {
	x := make([]float32, len(v.Centre))
	for k, code := range v.Codes(i) {
		x[k] = v.Centre[k] + v.Scale(i)*float32(int8(code))
	}
	return x
}

// quantizeVectors makes the section of vectors, n rows of d (V1, V2).
func quantizeVectors(vectors []float32, d int) []byte {
	n := len(vectors) / d
	sums := make([]float64, d)
	for i := range n {
		for k, x := range vectors[i*d:][:d] {
			sums[k] += float64(x)
		}
	}
	w := newSection("vectors", n, d)
	w.array()
	centre := make([]float32, d)
	for k := range centre {
		if n > 0 {
			centre[k] = float32(sums[k] / float64(n))
		}
		w.f32(centre[k])
	}
	codes := make([]int8, n*stride(d))
	w.array()
	for i := range n {
		w.f32(QuantizeInt8(codes[i*stride(d):][:d], vectors[i*d:][:d], centre))
	}
	w.array()
	for _, c := range codes {
		w.data = append(w.data, byte(c))
	}
	return w.data
}

// QuantizeInt8 writes x - centre as codes from -127 to 127 and returns their scale, 0 if x is the centre. A nil
// centre is the origin. Halves round to even.
func QuantizeInt8(codes []int8, x, centre []float32) (scale float32) {
	largest := float32(0)
	at := func(k int) float32 {
		if centre == nil {
			return x[k]
		}
		return x[k] - centre[k]
	}
	for k := range x {
		largest = max(largest, float32(math.Abs(float64(at(k)))))
	}
	scale = largest / 127
	if scale == 0 || math.RoundToEven(float64(largest/scale)) != 127 { // too small to divide
		clear(codes)
		return 0
	}
	for k := range x {
		codes[k] = int8(math.RoundToEven(float64(at(k) / scale)))
	}
	return scale
}

func readVectors(data []byte, chunks, dimensions int) (*Vectors, error) {
	r, err := openSection("vectors", data, 2)
	if err != nil {
		return nil, err
	}
	if r.counts[0] != uint64(chunks) || r.counts[1] != uint64(dimensions) {
		return nil, corrupt(r.file, "V1", "%d vectors of %d dimensions for %d chunks and a model of %d", r.counts[0], r.counts[1], chunks, dimensions)
	}
	v := &Vectors{stride: stride(dimensions)}
	centre, err := r.array(r.counts[1], 4)
	if err != nil {
		return nil, err
	}
	if v.scales, err = r.array(r.counts[0], 4); err != nil {
		return nil, err
	}
	if v.codes, err = r.array(r.counts[0], v.stride); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if v.Centre, err = readFloats(r.file, "V1", centre); err != nil {
		return nil, err
	}
	for i := range chunks {
		if s := v.Scale(i); !finite(s) || math.Signbit(float64(s)) {
			return nil, corrupt(r.file, "V1", "scale %d is %v", i, s)
		}
		row := v.codes[i*v.stride:][:v.stride]
		if !zero(row[dimensions:]) {
			return nil, corrupt(r.file, "V1", "row %d has codes beyond its dimensions", i)
		}
		largest := byte(0)
		for _, c := range row[:dimensions] {
			if c == 0x80 {
				return nil, corrupt(r.file, "V1", "row %d has the code -128", i)
			}
			if int8(c) < 0 {
				c = -c
			}
			largest = max(largest, c)
		}
		if s := v.Scale(i); !(largest == 127 && s > 0 || largest == 0 && s == 0) {
			return nil, corrupt(r.file, "V2", "the largest code of row %d is %d, its scale %v", i, largest, s)
		}
	}
	return v, nil
}

func finite(x float32) bool { return x-x == 0 }

func readFloats(file, rule string, data []byte) ([]float32, error) {
	f := make([]float32, len(data)/4)
	for i := range f {
		if f[i] = math.Float32frombits(le.Uint32(data[4*i:])); !finite(f[i]) {
			return nil, corrupt(file, rule, "float %d is not finite", i)
		}
	}
	return f, nil
}

// A Probe is a text and the vector that the artifact's encoder gives it as a query.
type Probe struct {
	Text   string
	Vector []float32
}

func writeSelftest(probes []Probe, dimensions int) []byte {
	texts := make([]string, len(probes))
	size := 0
	for i, p := range probes {
		texts[i] = p.Text
		size += len(p.Text)
	}
	w := newSection("selftest", len(probes), dimensions, size)
	w.array()
	w.ends(texts)
	w.array()
	for _, p := range probes {
		for _, x := range p.Vector {
			w.f32(x)
		}
	}
	w.array()
	for _, t := range texts {
		w.data = append(w.data, t...)
	}
	return w.data
}

func readSelftest(data []byte, dimensions int) ([]Probe, error) {
	r, err := openSection("selftest", data, 3)
	if err != nil {
		return nil, err
	}
	if r.counts[0] < 1 || r.counts[0] > 64 || r.counts[1] != uint64(dimensions) {
		return nil, corrupt(r.file, "E1", "%d texts of %d dimensions", r.counts[0], r.counts[1])
	}
	var texts table
	if texts.ends, err = r.array(r.counts[0], 8); err != nil {
		return nil, err
	}
	vectors, err := r.array(r.counts[0]*r.counts[1], 4)
	if err != nil {
		return nil, err
	}
	if texts.bytes, err = r.array(r.counts[2], 1); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if err := texts.check(r.file, "E1"); err != nil {
		return nil, err
	}
	floats, err := readFloats(r.file, "E1", vectors)
	if err != nil {
		return nil, err
	}
	probes := make([]Probe, texts.len())
	for i := range probes {
		t := texts.at(i)
		if len(t) == 0 || !utf8.Valid(t) {
			return nil, corrupt(r.file, "E1", "text %d is empty or not valid UTF-8", i)
		}
		probes[i] = Probe{string(t), floats[i*dimensions:][:dimensions]}
	}
	return probes, nil
}
