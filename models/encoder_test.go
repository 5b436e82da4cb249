package models_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"example.com/larder/internal/testkit"
	"example.com/larder/models"
	"example.com/larder/models/minilm"
)

func open(t testing.TB, fsys fs.FS) *models.Encoder {
	t.Helper()
	e, err := models.Open(fsys, ".", "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// prefixed returns the synthetic encoder with prefixes.
func prefixed(t testing.TB) *models.Encoder {
	t.Helper()
	fsys := testkit.Encoder(32)
	card, err := models.ParseCard(fsys[models.CardFile].Data)
	if err != nil {
		t.Fatal(err)
	}
	card.QueryPrefix, card.PassagePrefix = "query: ", "passage: "
	e, err := models.New(card, fsys[models.VocabFile].Data, fsys[models.WeightsFile].Data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func query(t testing.TB, e *models.Encoder, text string) []float32 {
	t.Helper()
	v := make([]float32, e.Dimensions())
	if _, err := e.EncodeQuery(v, text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func passage(t testing.TB, e *models.Encoder, text string) []float32 {
	t.Helper()
	v := make([]float32, e.Dimensions())
	if err := e.EncodePassage(v, text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestSyntheticEncoder(t *testing.T) {
	for _, dims := range []int{8, 32, 64, 384} {
		e := open(t, testkit.Encoder(dims))
		if e.Dimensions() != dims || e.Card().Dimensions != dims || e.Tokenizer().Len() < 200 {
			t.Errorf("%d dimensions: %+v, %d tokens", dims, e.Card(), e.Tokenizer().Len())
		}
	}
	e := open(t, testkit.Encoder(32))
	// Each text is nearer to the second than to the third.
	for _, c := range [][3]string{
		{"how can i return a broken item", "return of a broken item within 30 days", "index the vectors of a document"},
		{"refund policy", "our refund policies", "read the file"},
		{"возврат денег за товар", "где возврат за товар", "модель ищет текст"},
		{"E-4012 error code", "code E-4012 is an error", "shipping price to the customer"},
	} {
		q := query(t, e, c[0])
		near, far := cosine(q, passage(t, e, c[1])), cosine(q, passage(t, e, c[2]))
		t.Logf("%q: %.3f to %q, %.3f to %q", c[0], near, c[1], far, c[2])
		if near <= far {
			t.Errorf("%q is nearer to %q (%v) than to %q (%v)", c[0], c[2], far, c[1], near)
		}
	}
}

// TestOpenCorrupted flips one bit of each byte of each file.
func TestOpenCorrupted(t *testing.T) {
	fsys := testkit.Encoder(8)
	digest := open(t, fsys).Card().Digest()
	flips := 0
	for _, name := range []string{models.CardFile, models.VocabFile, models.WeightsFile} {
		for i := range fsys[name].Data {
			fsys[name].Data[i] ^= 1 << (i % 8)
			if _, err := models.Open(fsys, ".", digest); err == nil {
				t.Fatalf("%s: opened with a flipped bit in byte %d", name, i)
			}
			fsys[name].Data[i] ^= 1 << (i % 8)
			flips++
		}
	}
	if flips < 5000 {
		t.Errorf("only %d flips", flips)
	}
	if _, err := models.Open(fsys, ".", digest); err != nil {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	good := testkit.Encoder(32)
	replace := func(name, old, new string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) {
			data := bytes.Replace(fsys[name].Data, []byte(old), []byte(new), 1)
			if bytes.Equal(data, fsys[name].Data) {
				t.Fatalf("%s has no %q", name, old)
			}
			fsys[name] = &fstest.MapFile{Data: data}
		}
	}
	for _, c := range []struct {
		name   string
		digest string
		change func(fstest.MapFS)
		want   string
	}{
		{"no card", "", func(f fstest.MapFS) { delete(f, "m/model.json") }, "model.json: file does not exist"},
		{"no weights", "", func(f fstest.MapFS) { delete(f, "m/weights.bin") }, "weights.bin: file does not exist"},
		{"digest", strings.Repeat("0", 64), func(fstest.MapFS) {}, "its digest is"},
		{"short vocabulary", "", replace("m/vocab.txt", "[PAD]\n", ""), "vocab.txt"},
		{"long weights", "", func(f fstest.MapFS) {
			f["m/weights.bin"] = &fstest.MapFile{Data: append(slices.Clone(f["m/weights.bin"].Data), 0)}
		}, "weights.bin has"},
		{"weights", "", replace("m/weights.bin", "LARD", "BARD"), "weights.bin has the SHA-256"},
		{"dimensions", "", replace("m/model.json", `"dimensions": 32`, `"dimensions": 64`), "dimensions is 64"},
		{"no room", "", replace("m/model.json", `"max_tokens": 64`, `"max_tokens": 9`), "max_tokens is 9, want 10 or more"},
		{"more than positions", "", replace("m/model.json", `"max_tokens": 64`, `"max_tokens": 65`), "max_tokens is 65, but weights.bin takes 64"},
		{"huge card", "", func(f fstest.MapFS) { f["m/model.json"] = &fstest.MapFile{Data: make([]byte, 1<<20)} }, "65536 or less"},
	} {
		fsys := fstest.MapFS{}
		for name, f := range good {
			fsys["m/"+name] = f
		}
		c.change(fsys)
		_, err := models.Open(fsys, "m", c.digest)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := models.Open(fstest.MapFS{}, ".", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v does not wrap fs.ErrNotExist", err)
	}
}

// noOpen is a file system in which to open a certain file is to wait for ever.
type noOpen struct {
	fstest.MapFS
	t    *testing.T
	name string
}

func (f noOpen) Open(name string) (fs.File, error) {
	if name == f.name {
		f.t.Errorf("%s is opened", name)
		return nil, fs.ErrInvalid
	}
	return f.MapFS.Open(name)
}

func TestOpenRefusesPipes(t *testing.T) {
	for _, name := range []string{models.CardFile, models.VocabFile, models.WeightsFile} {
		for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeDevice, fs.ModeDir} {
			fsys := testkit.Encoder(8)
			fsys[name].Mode |= mode
			_, err := models.Open(noOpen{fsys, t, name}, ".", "")
			if err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
				t.Errorf("%s of mode %v: %v", name, mode, err)
			}
		}
	}
}

func TestEncodeQuery(t *testing.T) {
	e, plain := prefixed(t), open(t, testkit.Encoder(32))
	if !slices.Equal(query(t, e, "return policy"), query(t, plain, "query: return policy")) {
		t.Error("the prefix does not count")
	}
	long := strings.Repeat("refund ", 62) // with [CLS] and [SEP], 64 tokens
	v := make([]float32, 32)
	if cut, err := plain.EncodeQuery(v, long); cut || err != nil {
		t.Errorf("64 tokens: cut %v, error %v", cut, err)
	}
	want := slices.Clone(v)
	for _, more := range []string{"box", strings.Repeat("box ", 100_000)} {
		if cut, err := plain.EncodeQuery(v, long+more); !cut || err != nil {
			t.Errorf("more than 64 tokens: cut %v, error %v", cut, err)
		}
		if !slices.Equal(v, want) {
			t.Error("what is cut off counts")
		}
	}
	if cut, err := plain.EncodeQuery(v, ""); cut || err != nil {
		t.Errorf("an empty query: cut %v, error %v", cut, err)
	}
	if _, err := plain.EncodeQuery(v[:31], "x"); err == nil {
		t.Error("a vector of 31 elements is accepted")
	}
}

func TestEncodeQueryContext(t *testing.T) {
	e := prefixed(t)
	want := query(t, e, "return policy")
	v := make([]float32, e.Dimensions())
	ctx, cancel := context.WithCancel(t.Context())
	if cut, err := e.EncodeQueryContext(ctx, v, "return policy"); cut || err != nil || !slices.Equal(v, want) {
		t.Errorf("cut %v, error %v, or another vector than without a context", cut, err)
	}
	cancel()
	if _, err := e.EncodeQueryContext(ctx, v, "return policy"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if !slices.Equal(query(t, e, "return policy"), want) {
		t.Error("another vector after a stop")
	}
}

// TestEncodePassage computes the mean of windows by its definition.
func TestEncodePassage(t *testing.T) {
	e := prefixed(t)
	short := "return of a broken item"
	if !slices.Equal(passage(t, e, short), query(t, open(t, testkit.Encoder(32)), "passage: "+short)) {
		t.Error("a short passage is not its one window")
	}
	long := strings.Repeat("the customer returns a broken item within 14 days; ", 20) + "жалоба"
	windows := models.Windows(e.Tokenizer(), "passage: ", long, 64)
	if len(windows) < 4 {
		t.Fatalf("%d windows", len(windows))
	}
	mean := make([]float64, 32)
	for _, w := range windows {
		for i, x := range passage(t, e, w.Text) {
			mean[i] += float64(x) * float64(w.Tokens)
		}
	}
	var square float64
	for _, x := range mean {
		square += x * x
	}
	for i, x := range passage(t, e, long) {
		if want := mean[i] / math.Sqrt(square); math.Abs(float64(x)-want) > 1e-6 {
			t.Errorf("element %d is %v, want %v", i, x, want)
		}
	}
	// Its end counts.
	if slices.Equal(passage(t, e, long), passage(t, e, long[:len(long)-len("жалоба")])) {
		t.Error("the last word of a long passage does not count")
	}
}

func TestConcurrent(t *testing.T) {
	e := prefixed(t)
	texts := make([]string, 20)
	want := make([][]float32, len(texts))
	for i := range texts {
		texts[i] = strings.Repeat(fmt.Sprintf("item %d of order, ", i), i+1)
		want[i] = passage(t, e, texts[i])
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			v := make([]float32, 32)
			for i := range texts {
				i = (i + worker*5) % len(texts)
				if err := e.EncodePassage(v, texts[i]); err != nil {
					t.Error(err)
				} else if !slices.Equal(v, want[i]) {
					t.Errorf("%q: another vector than alone", texts[i])
				}
			}
		})
	}
	all.Wait()
}

func TestNew(t *testing.T) {
	fsys := testkit.Encoder(8)
	vocab, weights := fsys[models.VocabFile].Data, fsys[models.WeightsFile].Data
	given := models.Card{Name: "a-model", Source: strings.Repeat("ab", 32), Tokenizer: strings.Repeat("cd", 32), MaxTokens: 64}
	card, err := models.NewCard(given, vocab, weights)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.New(card, vocab, weights); err != nil {
		t.Error(err)
	}
	if card.Dimensions != 8 || card.Pooling != "mean" || card.Format != models.CardFormat {
		t.Errorf("%+v", card)
	}
	for _, c := range []struct {
		change         func(*models.Card)
		vocab, weights []byte
		want           string
	}{
		{func(c *models.Card) { c.Name = "a model" }, vocab, weights, "other characters"},
		{func(c *models.Card) {}, vocab, weights[1:], "weights.bin: minilm: not an encoder's weights"},
		{func(c *models.Card) {}, nil, weights, "size of vocab.txt is 0"},
	} {
		card := given
		c.change(&card)
		if _, err := models.NewCard(card, c.vocab, c.weights); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	// A vocabulary of another size has its own digest, but does not fit the weights.
	more := append(slices.Clone(vocab), "another\n"...)
	card, err = models.NewCard(given, more, weights)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.New(card, more, weights); err == nil || !strings.Contains(err.Error(), "but weights.bin is for") {
		t.Errorf("error %v", err)
	}
	if _, err := minilm.Parse(weights); err != nil {
		t.Error(err)
	}
}
