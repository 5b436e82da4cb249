package minilm

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// Tensors are an encoder's weights before they are quantized. Matrices are row-major, and a row
// belongs to an output channel.
type Tensors struct {
	Words     []float32 // [Vocab][Hidden]
	Positions []float32 // [Positions][Hidden]
	Type      []float32 // [Hidden], the embedding of token type 0
	Norm      Norm
	Layers    []Layer
}

// A Layer holds one layer's tensors.
type Layer struct {
	Query, Key, Value Linear // Hidden to Hidden
	Output            Linear // Hidden to Hidden
	AttentionNorm     Norm
	Up                Linear // Hidden to Intermediate
	Down              Linear // Intermediate to Hidden
	OutputNorm        Norm
}

// A Linear is a layer y = Weight · x + Bias.
type Linear struct {
	Weight []float32 // [out][in]
	Bias   []float32 // [out]
}

// A Norm is a layer norm's scale and shift.
type Norm struct{ Gain, Bias []float32 } // [Hidden] each

// Write quantizes an encoder's tensors, each row of a matrix on its own, and writes them in the
// format that the package comment describes. The same tensors give the same bytes.
// The error names the tensor that has another size than c says, or a value that is not finite.
func Write(w io.Writer, c Config, t Tensors) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(t.Layers) != c.Layers {
		return fmt.Errorf("minilm: %d layers of tensors, want %d", len(t.Layers), c.Layers)
	}
	if len(t.Type) != c.Hidden {
		return fmt.Errorf("minilm: the type embedding has %d values, want %d", len(t.Type), c.Hidden)
	}
	positions := slices.Clone(t.Positions)
	for i := range positions {
		positions[i] += t.Type[i%c.Hidden]
	}
	if err := t.Norm.check(c, "norm"); err != nil {
		return err
	}
	// The values in the order of weights.parts. Each norm's bias moves on to what takes the norm's output.
	values := [][]float32{t.Words, positions, t.Norm.Gain}
	shift := t.Norm.Bias
	for i := range t.Layers {
		l := &t.Layers[i]
		if err := l.AttentionNorm.check(c, fmt.Sprintf("layer %d attention norm", i)); err != nil {
			return err
		}
		if err := l.OutputNorm.check(c, fmt.Sprintf("layer %d output norm", i)); err != nil {
			return err
		}
		in := Linear{
			slices.Concat(l.Query.Weight, l.Key.Weight, l.Value.Weight),
			slices.Concat(l.Query.Bias, l.Key.Bias, l.Value.Bias),
		}
		values = append(values,
			in.Weight, in.shifted(shift),
			l.Output.Weight, sumOf(l.Output.Bias, shift),
			l.AttentionNorm.Gain,
			l.Up.Weight, l.Up.shifted(l.AttentionNorm.Bias),
			l.Down.Weight, sumOf(l.Down.Bias, l.AttentionNorm.Bias),
			l.OutputNorm.Gain)
		shift = l.OutputNorm.Bias
	}
	values = append(values, shift)

	out := weights{config: c, layers: make([]layer, c.Layers)}
	for i, p := range out.parts() {
		v := values[i]
		if len(v) != p.rows*p.cols {
			return fmt.Errorf("minilm: %s has %d values, want %d", p.name, len(v), p.rows*p.cols)
		}
		for i, x := range v {
			if !finite(x) {
				return fmt.Errorf("minilm: %s: value %d is not finite", p.name, i)
			}
		}
		if p.matrix != nil {
			*p.matrix = quantizeRows(v, p.rows, p.cols)
		} else {
			*p.vector = v
		}
	}
	return out.write(w)
}

func (n *Norm) check(c Config, name string) error {
	if len(n.Gain) != c.Hidden || len(n.Bias) != c.Hidden {
		return fmt.Errorf("minilm: %s has %d gains and %d biases, want %d of each", name, len(n.Gain), len(n.Bias), c.Hidden)
	}
	return nil
}

// shifted returns the bias of a layer whose input lacks shift: Weight · shift + Bias. A weight that has
// not as many values as that takes leaves the bias as it is; Write refuses it.
func (l *Linear) shifted(shift []float32) []float32 {
	if len(l.Weight) != len(l.Bias)*len(shift) {
		return l.Bias
	}
	b := make([]float32, len(l.Bias))
	for o := range b {
		total := float64(l.Bias[o])
		for k, x := range shift {
			total += float64(l.Weight[o*len(shift)+k]) * float64(x) // exact, and so the same if fused
		}
		b[o] = float32(total)
	}
	return b
}

// sumOf returns the sums of a and b, or a if their lengths differ; Write refuses it then.
func sumOf(a, b []float32) []float32 {
	if len(a) != len(b) {
		return a
	}
	a = slices.Clone(a)
	addTo(a, b)
	return a
}

// quantizeRows rounds each row to multiples of its greatest absolute value over 127.
func quantizeRows(v []float32, rows, cols int) matrix {
	m := matrix{rows: rows, cols: cols, values: make([]byte, rows*cols), scales: make([]float32, rows)}
	for r := range rows {
		row := v[r*cols:][:cols]
		var most float32
		for _, x := range row {
			most = max(most, float32(math.Abs(float64(x))))
		}
		scale := most / 127
		m.scales[r] = scale
		for k, x := range row {
			q := 0.0
			if scale != 0 {
				q = math.RoundToEven(float64(x) / float64(scale))
			}
			m.values[r*cols+k] = byte(128 + max(-127, min(127, q)))
		}
	}
	return m
}
