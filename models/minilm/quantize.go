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
	// The values in the order of weights.parts.
	values := [][]float32{t.Words, positions, t.Norm.Gain, t.Norm.Bias}
	for i := range t.Layers {
		l := &t.Layers[i]
		values = append(values,
			slices.Concat(l.Query.Weight, l.Key.Weight, l.Value.Weight),
			slices.Concat(l.Query.Bias, l.Key.Bias, l.Value.Bias),
			l.Output.Weight, l.Output.Bias,
			l.AttentionNorm.Gain, l.AttentionNorm.Bias,
			l.Up.Weight, l.Up.Bias,
			l.Down.Weight, l.Down.Bias,
			l.OutputNorm.Gain, l.OutputNorm.Bias)
	}
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
