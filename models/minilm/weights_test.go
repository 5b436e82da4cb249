package minilm

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

// small is a shape whose file is short enough to try every byte of it.
var small = Config{Layers: 1, Hidden: 4, Heads: 2, Intermediate: 4, Vocab: 5, Positions: 3, Epsilon: 1e-12}

// rewrite parses data and, if that succeeds, requires that writing gives it back and that the encoder
// does not panic.
func rewrite(t testing.TB, data []byte) (ok bool) {
	t.Helper()
	e, err := Parse(bytes.Clone(data))
	if err != nil {
		if !strings.HasPrefix(err.Error(), "minilm: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
		return false
	}
	var b bytes.Buffer
	if err := e.write(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), data) {
		t.Error("parsed and written, the weights differ")
	}
	ids := make([]int32, min(4, e.config.Positions))
	for i := range ids {
		ids[i] = int32(i % e.config.Vocab)
	}
	v := make([]float32, e.config.Hidden)
	if err := e.Encode(v, ids); err == nil {
		for _, x := range v {
			if !finite(x) || x < -1.001 || x > 1.001 {
				t.Errorf("element %v of a vector of length 1", x)
			}
		}
	}
	return true
}

func TestParseWrite(t *testing.T) {
	for _, c := range []Config{small, tiny} {
		if !rewrite(t, write(t, c, synthetic(c))) {
			t.Errorf("%+v: refused", c)
		}
	}
}

func TestParseTruncated(t *testing.T) {
	data := write(t, small, synthetic(small))
	for n := range data {
		if _, err := Parse(data[:n:n]); err == nil {
			t.Errorf("accepted %d of %d bytes", n, len(data))
		}
	}
	if _, err := Parse(append(bytes.Clone(data), 0)); err == nil {
		t.Error("accepted a trailing byte")
	}
}

// TestParseCorrupted changes each byte to each other value. What is still accepted has another meaning,
// and its own encoding.
func TestParseCorrupted(t *testing.T) {
	data := write(t, small, synthetic(small))
	accepted, refused := 0, 0
	for i, old := range data {
		for b := range 256 {
			if byte(b) == old {
				continue
			}
			data[i] = byte(b)
			if rewrite(t, data) {
				accepted++
			} else {
				refused++
			}
		}
		data[i] = old
	}
	t.Logf("%d bytes: %d changes accepted, %d refused", len(data), accepted, refused)
	// Each byte of the magic and of the shape but for heads must count, and a zero in each matrix.
	if refused < 255*(len(magic)+5*4)+4 {
		t.Errorf("only %d changes refused", refused)
	}
}

func TestParseErrors(t *testing.T) {
	good := write(t, small, synthetic(small))
	words := headerSize
	scales := words + small.Vocab*small.Hidden
	positions := scales + 4*small.Vocab
	set := func(at int, b ...byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], b)
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an encoder's weights"},
		{"magic", set(0, 'X'), "not an encoder's weights"},
		{"no layers", set(8, 0), "layers is 0, want 1 to 64"},
		{"many layers", set(8, 255, 255, 255, 255), "want 1 to 64"},
		{"hidden", set(12, 6), "multiples of 4"},
		{"heads", set(16, 3), "3 heads do not divide hidden, 4"},
		{"vocab", set(24, 6), "bytes, want"},
		{"epsilon", set(32, 0, 0, 0, 0), "epsilon is 0"},
		{"infinite epsilon", set(32, 0, 0, 0x80, 0x7f), "epsilon is +Inf"},
		{"zero byte", set(words+5, 0), "words: byte 1 of row 1 is 0"},
		{"scale", set(scales+4, 0, 0, 0x80, 0xff), "words: value 1 is not finite"},
		{"negative scale", set(scales+8+3, 0xbf), "words: the scale of row 2 is negative"},
		{"position", set(positions, 1, 0, 0xc0, 0x7f), "positions: value 0 is not finite"},
	} {
		_, err := Parse(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestParseBounds has headers that speak of more than there is; their tensors must not be allocated.
func TestParseBounds(t *testing.T) {
	good := write(t, small, synthetic(small))
	for at := 8; at < 32; at += 4 {
		for _, b := range [][]byte{{0, 8, 0, 0}, {0, 0, 16, 0}, {64, 0, 0, 0}, {255, 255, 255, 255}, {0, 0, 0, 128}} {
			data := bytes.Clone(good)
			copy(data[at:], b)
			if n := testing.AllocsPerRun(1, func() {
				if _, err := Parse(data); err == nil {
					t.Errorf("accepted %v at %d", b, at)
				}
			}); n > 1000 {
				t.Errorf("%v at %d: %v allocations", b, at, n)
			}
		}
	}
}

func TestWriteErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		change func(*Config, *Tensors)
		want   string
	}{
		{"config", func(c *Config, _ *Tensors) { c.Heads = 0 }, "heads is 0"},
		{"layers", func(c *Config, _ *Tensors) { c.Layers = 2 }, "1 layers of tensors, want 2"},
		{"type", func(_ *Config, t *Tensors) { t.Type = nil }, "type embedding has 0 values, want 4"},
		{"words", func(_ *Config, t *Tensors) { t.Words = t.Words[1:] }, "words has 19 values, want 20"},
		{"bias", func(_ *Config, t *Tensors) { t.Layers[0].Up.Bias = nil }, "layer 0 up bias has 0 values, want 4"},
		{"key", func(_ *Config, t *Tensors) { t.Layers[0].Key.Weight = nil }, "layer 0 attention in has 32 values, want 48"},
		{"norm", func(_ *Config, t *Tensors) { t.Norm.Bias = nil }, "norm has 4 gains and 0 biases, want 4 of each"},
		{"attention norm", func(_ *Config, t *Tensors) { t.Layers[0].AttentionNorm.Gain = nil }, "layer 0 attention norm has 0 gains"},
		{"output norm", func(_ *Config, t *Tensors) { t.Layers[0].OutputNorm.Bias = nil }, "layer 0 output norm has 4 gains"},
		{"not a number", func(_ *Config, t *Tensors) { t.Layers[0].Down.Weight[3] = nan }, "layer 0 down: value 3 is not finite"},
	} {
		config, tensors := small, synthetic(small)
		c.change(&config, &tensors)
		var b bytes.Buffer
		if err := Write(&b, config, tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if b.Len() != 0 {
			t.Errorf("%s: %d bytes were written all the same", c.name, b.Len())
		}
	}
	full := errors.New("disk full")
	if err := Write(failing{full}, small, synthetic(small)); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestZeroRow has rows of zeros, whose scale is zero.
func TestZeroRow(t *testing.T) {
	tensors := synthetic(tiny)
	clear(tensors.Words[:tiny.Hidden])
	clear(tensors.Layers[0].Up.Weight)
	clear(tensors.Layers[0].Up.Bias)
	e := parse(t, write(t, tiny, tensors))
	got, want := encode(t, e, []int32{0, 1, 0}), reference(tiny, tensors, []int32{0, 1, 0})
	for i := range got {
		if math.Abs(float64(got[i])-want[i]) > 0.02 {
			t.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(write(f, small, synthetic(small)))
	f.Add(write(f, tiny, synthetic(tiny)))
	f.Fuzz(func(t *testing.T, data []byte) { rewrite(t, data) })
}
