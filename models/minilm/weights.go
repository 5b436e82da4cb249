package minilm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	magic      = "LARDENC1"
	headerSize = len(magic) + 7*4
)

// weights are what a file holds.
type weights struct {
	config    Config
	words     matrix
	positions []float32
	gain      []float32
	layers    []layer
	shift     []float32
}

type layer struct {
	attentionIn   linear // query, key and value
	attentionOut  linear
	attentionGain []float32
	up, down      linear
	outputGain    []float32
}

// A matrix holds weights: each is (byte - 128) * scale of its row.
type matrix struct {
	rows, cols int
	values     []byte    // [rows][cols], 1 to 255
	scales     []float32 // [rows]
}

type linear struct {
	matrix
	totals []int32 // [rows], sum of a row's bytes, less 128 each
	bias   []float32
}

// A part is a tensor at its place in the file: a matrix or a vector.
type part struct {
	name   string
	matrix *matrix
	vector *[]float32
	rows   int
	cols   int // 1 for a vector
}

func (p *part) size() int64 {
	if p.matrix != nil {
		return int64(p.rows)*int64(p.cols) + 4*int64(p.rows)
	}
	return 4 * int64(p.rows)
}

// parts lists what follows the header, in order. Reading and writing both go by it.
func (w *weights) parts() []part {
	c := &w.config
	var all []part
	vector := func(name string, v *[]float32, n int) {
		all = append(all, part{name: name, vector: v, rows: n, cols: 1})
	}
	both := func(name string, l *linear, rows, cols int) {
		all = append(all, part{name: name, matrix: &l.matrix, rows: rows, cols: cols})
		vector(name+" bias", &l.bias, rows)
	}
	all = append(all, part{name: "words", matrix: &w.words, rows: c.Vocab, cols: c.Hidden})
	vector("positions", &w.positions, c.Positions*c.Hidden)
	vector("gain", &w.gain, c.Hidden)
	for i := range w.layers {
		l := &w.layers[i]
		name := fmt.Sprintf("layer %d ", i)
		both(name+"attention in", &l.attentionIn, 3*c.Hidden, c.Hidden)
		both(name+"attention out", &l.attentionOut, c.Hidden, c.Hidden)
		vector(name+"attention gain", &l.attentionGain, c.Hidden)
		both(name+"up", &l.up, c.Intermediate, c.Hidden)
		both(name+"down", &l.down, c.Hidden, c.Intermediate)
		vector(name+"output gain", &l.outputGain, c.Hidden)
	}
	vector("shift", &w.shift, c.Hidden)
	return all
}

// check says what is wrong with a shape. Its limits keep every size and every integer sum in range:
// a sum of Intermediate products is within 8192·255·255, far below 2^31.
func (c *Config) check() error {
	for _, f := range []struct {
		name              string
		value, least, max int
	}{
		{"layers", c.Layers, 1, 64},
		{"hidden", c.Hidden, 4, 2048},
		{"heads", c.Heads, 1, 2048},
		{"intermediate", c.Intermediate, 4, 8192},
		{"vocab", c.Vocab, 1, 1 << 20},
		{"positions", c.Positions, 1, 2048},
	} {
		if f.value < f.least || f.value > f.max {
			return fmt.Errorf("minilm: %s is %d, want %d to %d", f.name, f.value, f.least, f.max)
		}
	}
	if c.Hidden%4 != 0 || c.Intermediate%4 != 0 {
		return fmt.Errorf("minilm: hidden is %d and intermediate %d, want multiples of 4", c.Hidden, c.Intermediate)
	}
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("minilm: %d heads do not divide hidden, %d", c.Heads, c.Hidden)
	}
	if !(c.Epsilon > 0 && c.Epsilon <= math.MaxFloat32) {
		return fmt.Errorf("minilm: epsilon is %v, want a positive number", c.Epsilon)
	}
	return nil
}

// Parse reads an encoder's weights, in the format that the package comment describes, and checks all
// of it. It keeps references into data.
func Parse(data []byte) (*Encoder, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("minilm: not an encoder's weights: they do not begin with %q and a header of %d bytes", magic, headerSize)
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(data[len(magic)+4*i:]) }
	e := new(Encoder)
	for i, p := range e.config.fields() {
		// Where int has 32 bits, what does not fit becomes negative, which check refuses.
		*p = int(field(i))
	}
	e.config.Epsilon = math.Float32frombits(field(6))
	if err := e.config.check(); err != nil {
		return nil, err
	}
	e.layers = make([]layer, e.config.Layers)
	parts := e.parts()
	want := int64(headerSize)
	for i := range parts {
		want += parts[i].size()
	}
	if int64(len(data)) != want {
		return nil, fmt.Errorf("minilm: the weights have %d bytes, want %d for their shape", len(data), want)
	}
	data = data[headerSize:]
	for i := range parts {
		p := &parts[i]
		n := p.size()
		if err := p.parse(data[:n:n]); err != nil {
			return nil, fmt.Errorf("minilm: %s: %w", p.name, err)
		}
		data = data[n:]
	}
	for i := range e.layers {
		l := &e.layers[i]
		for _, l := range []*linear{&l.attentionIn, &l.attentionOut, &l.up, &l.down} {
			l.sum()
		}
	}
	return e, nil
}

// fields lists the header's integers in order.
func (c *Config) fields() [6]*int {
	return [...]*int{&c.Layers, &c.Hidden, &c.Heads, &c.Intermediate, &c.Vocab, &c.Positions}
}

func (p *part) parse(data []byte) (err error) {
	if p.vector != nil {
		*p.vector, err = parseFloats(data)
		return err
	}
	n := p.rows * p.cols
	m := p.matrix
	m.rows, m.cols, m.values = p.rows, p.cols, data[:n:n]
	if i := bytes.IndexByte(m.values, 0); i >= 0 {
		return fmt.Errorf("byte %d of row %d is 0, want 1 to 255", i%p.cols, i/p.cols)
	}
	if m.scales, err = parseFloats(data[n:]); err != nil {
		return err
	}
	for i, s := range m.scales {
		if math.Signbit(float64(s)) {
			return fmt.Errorf("the scale of row %d is negative", i)
		}
	}
	return nil
}

// parseFloats reads float32 values and checks that they are finite.
func parseFloats(data []byte) ([]float32, error) {
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !finite(v[i]) {
			return nil, fmt.Errorf("value %d is not finite", i)
		}
	}
	return v, nil
}

func finite(x float32) bool { return x-x == 0 }

// sum computes the totals.
func (l *linear) sum() {
	l.totals = make([]int32, l.rows)
	for r := range l.totals {
		var total int32
		for _, b := range l.values[r*l.cols:][:l.cols] {
			total += int32(b) - 128
		}
		l.totals[r] = total
	}
}

// write writes the header and all parts.
func (w *weights) write(out io.Writer) error {
	b := []byte(magic)
	for _, p := range w.config.fields() {
		b = binary.LittleEndian.AppendUint32(b, uint32(*p))
	}
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w.config.Epsilon))
	for _, p := range w.parts() {
		floats := p.vector
		if p.matrix != nil {
			b = append(b, p.matrix.values...)
			floats = &p.matrix.scales
		}
		for _, x := range *floats {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("minilm: %s: %w", p.name, err)
		}
		b = b[:0]
	}
	return nil
}
