package testkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing/fstest"
)

// Encoder returns a tiny encoder in the real format: the files model.json, vocab.txt and weights.bin,
// under 30 KB for 32 dimensions, always the same bytes. dims is a multiple of 8, from 8 to 2048. It
// takes 64 tokens at once and has no prefixes.
//
// Nothing was trained. A token's embedding is the sum of a random vector for each of its runs of one to
// three letters, and the one layer changes little, so texts that share words, or parts of words, get
// vectors that are close. The vocabulary spells every word of Latin or Cyrillic letters and digits.
//
// The files are written without package models, and so check its format from outside.
func Encoder(dims int) fstest.MapFS {
	if dims < 8 || dims > 2048 || dims%8 != 0 {
		panic(fmt.Sprintf("testkit: %d dimensions, want a multiple of 8 from 8 to 2048", dims))
	}
	vocab := vocabulary()
	lines := []byte(strings.Join(vocab, "\n") + "\n")
	weights := encoderWeights(dims, vocab)
	card := fmt.Sprintf(`{
  "format": "larder-encoder/1-draft",
  "name": "synthetic-%d",
  "source": "%x",
  "tokenizer": "%x",
  "dimensions": %d,
  "max_tokens": %d,
  "pooling": "mean",
  "query_prefix": "",
  "passage_prefix": "",
  "files": [
    {
      "name": "vocab.txt",
      "size": %d,
      "sha256": "%x"
    },
    {
      "name": "weights.bin",
      "size": %d,
      "sha256": "%x"
    }
  ]
}
`, dims, sha256.Sum256([]byte("no ONNX model")), sha256.Sum256([]byte("no tokenizer.json")), dims, encoderTokens,
		len(lines), sha256.Sum256(lines), len(weights), sha256.Sum256(weights))
	return fstest.MapFS{
		"model.json":  {Data: []byte(card), Mode: 0o444},
		"vocab.txt":   {Data: lines, Mode: 0o444},
		"weights.bin": {Data: weights, Mode: 0o444},
	}
}

const encoderTokens = 64

// vocabulary lists the synthetic encoder's tokens.
func vocabulary() []string {
	tokens := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzабвгдежзийклмнопрстуфхцчшщъыьэюя"
	for _, prefix := range []string{"", "##"} {
		for _, r := range letters {
			tokens = append(tokens, prefix+string(r))
		}
	}
	for _, r := range "!\"#$%&'()*+,-./:;<=>?@[]_" {
		tokens = append(tokens, string(r))
	}
	tokens = append(tokens, strings.Fields(`##s ##es ##ed ##er ##ing ##ly ##а ##ы ##ов ##ами
		the of and to in is it for on that with this are not can be how what when where why you your my we
		i do does get may no within after before from by or an as at
		day days week month money order refund return ship shipping policy price pay card account email phone
		customer shop item broken damaged late cancel complaint box gift receipt free cost help
		search index vector query keyword meaning text word document chunk model token encoder reader bake
		file folder page line heading table list code error time data name number set open read write
		и в не на что как по это для или где когда почему можно ли мы вы я за до от из к у о с
		день деньги заказ возврат товар магазин цена оплата доставка жалоба поиск запрос текст слово
		документ модель вектор ключ ошибка файл страница`)...)
	seen := map[string]bool{}
	unique := tokens[:0]
	for _, t := range tokens {
		if !seen[t] {
			seen[t] = true
			unique = append(unique, t)
		}
	}
	return unique
}

// encoderWeights writes weights.bin, in the format of package models/minilm.
func encoderWeights(dims int, vocab []string) []byte {
	var b bytes.Buffer
	number := func(x uint32) { b.Write(binary.LittleEndian.AppendUint32(nil, x)) }
	vector := func(n int, value func() float32) {
		for range n {
			number(math.Float32bits(value()))
		}
	}
	constant := func(x float32) func() float32 { return func() float32 { return x } }
	r := NewRandom(1)
	small := func() float32 { return float32(r.byte()) / 2048 }

	b.WriteString("LARDENC1")
	for _, x := range []int{1, dims, dims / 8, dims, len(vocab), encoderTokens} {
		number(uint32(x))
	}
	number(math.Float32bits(1e-12))

	for _, token := range vocab {
		for _, x := range spelling(token, dims) {
			b.WriteByte(byte(int(x) + 128))
		}
	}
	vector(len(vocab), constant(1.0/32))
	vector(encoderTokens*dims, small) // positions
	gain := func() { vector(dims, constant(1)) }
	gain()
	linear := func(rows, cols int) {
		for range rows * cols {
			b.WriteByte(byte(int(r.byte()) + 128))
		}
		// With about 1/√cols/4 a weight, a layer adds a quarter to its input.
		vector(rows, constant(float32(1/math.Sqrt(float64(cols))/256)))
		vector(rows, small)
	}
	linear(3*dims, dims)
	linear(dims, dims)
	gain()
	linear(dims, dims)
	linear(dims, dims)
	gain()
	vector(dims, constant(0)) // shift
	return b.Bytes()
}

// spelling returns a token's embedding: a sum of random vectors for its runs of letters.
func spelling(token string, dims int) []int8 {
	letters := []rune(strings.TrimPrefix(token, "##"))
	sum := make([]int, dims)
	for n := 1; n <= 3; n++ {
		for i := 0; i+n <= len(letters); i++ {
			h := fnv.New64a()
			h.Write([]byte(string(letters[i : i+n])))
			r := NewRandom(h.Sum64())
			for k := range sum {
				sum[k] += n * int(r.byte()) // longer runs say more
			}
		}
	}
	out := make([]int8, dims)
	for k, x := range sum {
		out[k] = int8(max(-127, min(127, x/8)))
	}
	return out
}
