package minilm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tiny is the shape of the synthetic encoder that most tests use.
var tiny = Config{Layers: 2, Hidden: 32, Heads: 4, Intermediate: 64, Vocab: 50, Positions: 40, Epsilon: 1e-12}

// random returns n numbers around 0, at most size away from it; the same with every version of Go.
func random(name string, n int, size float64) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	state := h.Sum64()
	v := make([]float32, n)
	for i := range v {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		v[i] = float32((float64(state>>11)/(1<<53)*2 - 1) * size)
	}
	return v
}

// synthetic makes tensors by rule, about as large as those of a trained encoder.
func synthetic(c Config) Tensors {
	linear := func(name string, out, in int) Linear {
		return Linear{random(name, out*in, 1.7/math.Sqrt(float64(in))), random(name+" bias", out, 0.2)}
	}
	norm := func(name string) Norm {
		gain := random(name, c.Hidden, 0.3)
		for i := range gain {
			gain[i]++
		}
		return Norm{gain, random(name+" bias", c.Hidden, 0.2)}
	}
	t := Tensors{
		Words:     random("words", c.Vocab*c.Hidden, 1),
		Positions: random("positions", c.Positions*c.Hidden, 0.3),
		Type:      random("type", c.Hidden, 0.1),
		Norm:      norm("norm"),
	}
	for i := range c.Layers {
		l := fmt.Sprint("layer ", i)
		t.Layers = append(t.Layers, Layer{
			Query: linear(l+"query", c.Hidden, c.Hidden), Key: linear(l+"key", c.Hidden, c.Hidden),
			Value: linear(l+"value", c.Hidden, c.Hidden), Output: linear(l+"output", c.Hidden, c.Hidden),
			AttentionNorm: norm(l + "attention norm"),
			Up:            linear(l+"up", c.Intermediate, c.Hidden), Down: linear(l+"down", c.Hidden, c.Intermediate),
			OutputNorm: norm(l + "output norm"),
		})
	}
	return t
}

func write(t testing.TB, c Config, tensors Tensors) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parse(t testing.TB, data []byte) *Encoder {
	t.Helper()
	e, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// someIDs returns n ids.
func someIDs(c Config, n int) []int32 {
	ids := make([]int32, n)
	for i, x := range random(fmt.Sprint("ids ", n), n, 0.5) {
		ids[i] = int32((x + 0.5) * float32(c.Vocab-1))
	}
	return ids
}

func encode(t testing.TB, e *Encoder, ids []int32) []float32 {
	t.Helper()
	v := make([]float32, e.Config().Hidden)
	if err := e.Encode(v, ids); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestReference compares with a forward pass in float64 over the tensors before they are quantized.
// Rounding weights and activations to a byte moves each by up to 1/254 of a row's range; over two
// layers the vectors stay within a cosine of 0.999.
func TestReference(t *testing.T) {
	shapes := []Config{
		tiny,
		{Layers: 1, Hidden: 4, Heads: 1, Intermediate: 4, Vocab: 7, Positions: 9, Epsilon: 1e-5},
		{Layers: 3, Hidden: 36, Heads: 3, Intermediate: 100, Vocab: 20, Positions: 70, Epsilon: 1e-12},
		{Layers: 2, Hidden: 96, Heads: 2, Intermediate: 384, Vocab: 20, Positions: 30, Epsilon: 1e-12},
	}
	for _, c := range shapes {
		tensors := synthetic(c)
		e := parse(t, write(t, c, tensors))
		least := 1.0
		for n := 1; n <= c.Positions; n++ {
			ids := someIDs(c, n)
			got, want := encode(t, e, ids), reference(c, tensors, ids)
			var cosine, length float64
			for i, x := range got {
				cosine += float64(x) * want[i]
				length += float64(x) * float64(x)
			}
			if math.Abs(length-1) > 1e-6 {
				t.Errorf("%+v, %d ids: length %v", c, n, math.Sqrt(length))
			}
			least = min(least, cosine)
		}
		t.Logf("%+v: least cosine %.6f", c, least)
		if least < 0.999 {
			t.Errorf("%+v: cosine %v to the reference", c, least)
		}
	}
}

// reference is an encoder's forward pass as its paper has it (Devlin and others, BERT), in float64.
func reference(c Config, t Tensors, ids []int32) []float64 {
	linear := func(l Linear, x []float64) []float64 {
		y := make([]float64, len(l.Bias))
		for o := range y {
			y[o] = float64(l.Bias[o])
			for k, v := range x {
				y[o] += v * float64(l.Weight[o*len(x)+k])
			}
		}
		return y
	}
	norm := func(p Norm, x []float64) []float64 {
		var mean, variance float64
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(len(x))
		}
		y := make([]float64, len(x))
		for k, v := range x {
			y[k] = (v-mean)/math.Sqrt(variance+float64(c.Epsilon))*float64(p.Gain[k]) + float64(p.Bias[k])
		}
		return y
	}
	plus := func(x, y []float64) []float64 {
		z := slices.Clone(x)
		for k := range z {
			z[k] += y[k]
		}
		return z
	}
	n, width := c.Hidden, c.Hidden/c.Heads
	state := make([][]float64, len(ids))
	for i, id := range ids {
		x := make([]float64, n)
		for k := range x {
			x[k] = float64(t.Words[int(id)*n+k]) + float64(t.Positions[i*n+k]) + float64(t.Type[k])
		}
		state[i] = norm(t.Norm, x)
	}
	for _, l := range t.Layers {
		var q, k, v [][]float64
		for _, x := range state {
			q, k, v = append(q, linear(l.Query, x)), append(k, linear(l.Key, x)), append(v, linear(l.Value, x))
		}
		next := make([][]float64, len(state))
		for i := range state {
			context := make([]float64, n)
			for head := 0; head < n; head += width {
				p := make([]float64, len(state))
				var total float64
				for j := range state {
					for d := head; d < head+width; d++ {
						p[j] += q[i][d] * k[j][d]
					}
					p[j] = math.Exp(p[j] / math.Sqrt(float64(width)))
					total += p[j]
				}
				for j := range state {
					for d := head; d < head+width; d++ {
						context[d] += p[j] / total * v[j][d]
					}
				}
			}
			x := norm(l.AttentionNorm, plus(state[i], linear(l.Output, context)))
			middle := linear(l.Up, x)
			for m, v := range middle {
				middle[m] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
			}
			next[i] = norm(l.OutputNorm, plus(x, linear(l.Down, middle)))
		}
		state = next
	}
	mean := make([]float64, n)
	for _, x := range state {
		mean = plus(mean, x)
	}
	var length float64
	for _, v := range mean {
		length += v * v
	}
	for i := range mean {
		mean[i] /= math.Sqrt(length)
	}
	return mean
}

// TestGolden holds the bits of some vectors: every architecture must give them.
func TestGolden(t *testing.T) {
	data := write(t, tiny, synthetic(tiny))
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != goldenWeights {
		t.Errorf("weights have the SHA-256 %s, want %s", got, goldenWeights)
	}
	e := parse(t, data)
	all := sha256.New()
	for n := 1; n <= tiny.Positions; n++ {
		v := encode(t, e, someIDs(tiny, n))
		for _, x := range v {
			fmt.Fprintf(all, "%08x", math.Float32bits(x))
		}
		if want, ok := goldenVectors[n]; ok {
			var got strings.Builder
			for _, x := range v[:8] {
				fmt.Fprintf(&got, "%08x ", math.Float32bits(x))
			}
			if strings.TrimSpace(got.String()) != want {
				t.Errorf("%d ids: the vector begins with %s, want %s", n, got.String(), want)
			}
		}
	}
	if got := fmt.Sprintf("%x", all.Sum(nil)); got != goldenAll {
		t.Errorf("all vectors have the SHA-256 %s, want %s", got, goldenAll)
	}
}

func TestEncodeArguments(t *testing.T) {
	e := parse(t, write(t, tiny, synthetic(tiny)))
	for _, c := range []struct {
		dims int
		ids  []int32
		want string
	}{
		{31, []int32{1}, "31 elements, want 32"},
		{32, nil, "0 token ids, want 1 to 40"},
		{32, make([]int32, 41), "41 token ids, want 1 to 40"},
		{32, []int32{1, 50}, "token id 50 is outside of 0 to 49"},
		{32, []int32{-1}, "token id -1 is outside"},
	} {
		err := e.Encode(make([]float32, c.dims), c.ids)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d elements, ids %v: error %v, want %q", c.dims, c.ids, err, c.want)
		}
	}
}

// TestNotFinite has weights that are in range and overflow all the same.
func TestNotFinite(t *testing.T) {
	tensors := synthetic(tiny)
	for i := range tensors.Layers[1].OutputNorm.Gain {
		tensors.Layers[1].OutputNorm.Gain[i] = 3e38
	}
	e := parse(t, write(t, tiny, tensors))
	if err := e.Encode(make([]float32, 32), []int32{1, 2, 3}); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("error %v", err)
	}
}

// A countdown is a context that ends when it is asked for the n-th time, n being ends; 0 is never.
type countdown struct {
	context.Context
	ends, asked int
}

func (c *countdown) Err() error {
	c.asked++
	if c.ends > 0 && c.asked >= c.ends {
		return context.DeadlineExceeded
	}
	return nil
}

// TestEncodeContext ends the context at every look at it.
func TestEncodeContext(t *testing.T) {
	e := parse(t, write(t, tiny, synthetic(tiny)))
	v := make([]float32, tiny.Hidden)
	for _, tokens := range []int{1, 12, 40} {
		ids := someIDs(tiny, tokens)
		want := encode(t, e, ids)
		never := &countdown{Context: t.Context()}
		if err := e.EncodeContext(never, v, ids); err != nil || !slices.Equal(v, want) {
			t.Errorf("%d ids: %v, or another vector than without a context", tokens, err)
		}
		per := func(rows int) int { return (rows + pollRows - 1) / pollRows }
		looks := tiny.Layers * (per(3*tiny.Hidden) + 2*per(tiny.Hidden) + per(tiny.Intermediate) + (tiny.Heads+1)*per(tokens))
		if never.asked != looks {
			t.Errorf("%d ids: %d looks, want %d", tokens, never.asked, looks)
		}
		for n := 1; n <= looks; n++ {
			c := &countdown{Context: t.Context(), ends: n}
			if err := e.EncodeContext(c, v, ids); !errors.Is(err, context.DeadlineExceeded) || c.asked != n {
				t.Errorf("%d ids: ended at look %d, looked %d times: %v", tokens, n, c.asked, err)
			}
			if n%7 == 0 && !slices.Equal(encode(t, e, ids), want) {
				t.Errorf("%d ids: another vector after a stop at look %d", tokens, n)
			}
		}
	}
	c, cancel := context.WithCancel(t.Context())
	ids := someIDs(tiny, 12)
	if n := testing.AllocsPerRun(200, func() {
		if err := e.EncodeContext(c, v, ids); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations an encoding", n)
	}
	cancel()
	if err := e.EncodeContext(c, v, ids); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestConcurrent(t *testing.T) {
	e := parse(t, write(t, tiny, synthetic(tiny)))
	want := make([][]float32, tiny.Positions+1)
	for n := 1; n <= tiny.Positions; n++ {
		want[n] = encode(t, e, someIDs(tiny, n))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			v := make([]float32, tiny.Hidden)
			for i := range 100 {
				n := (worker*31+i*17)%tiny.Positions + 1
				if err := e.Encode(v, someIDs(tiny, n)); err != nil {
					t.Error(err)
				} else if !slices.Equal(v, want[n]) {
					t.Errorf("%d ids: another vector than alone", n)
				}
			}
		})
	}
	all.Wait()
}

func TestAllocations(t *testing.T) {
	e := parse(t, write(t, tiny, synthetic(tiny)))
	v, ids := make([]float32, tiny.Hidden), someIDs(tiny, 12)
	// A collection may empty the pool, so a few are allowed.
	if n := testing.AllocsPerRun(200, func() {
		if err := e.Encode(v, ids); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations an encoding", n)
	}
}

func Benchmark(b *testing.B) {
	for _, shape := range []struct {
		name string
		Config
	}{
		{"tiny", Config{2, 32, 4, 64, 50, 128, 1e-12}},
		{"MiniLM", Config{6, 384, 12, 1536, 1000, 128, 1e-12}},
	} {
		e := parse(b, write(b, shape.Config, synthetic(shape.Config)))
		for _, n := range []int{12, 32, 77, 128} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				v, ids := make([]float32, shape.Hidden), someIDs(shape.Config, n)
				b.ReportAllocs()
				for b.Loop() {
					if err := e.Encode(v, ids); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
