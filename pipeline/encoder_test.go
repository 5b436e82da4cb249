package pipeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/larder/models"
	"example.com/larder/models/minilm"
)

// An onnxFile is a BERT encoder as PyTorch exports it to ONNX, in parts that a test can change.
type onnxFile struct {
	tensors map[string][]byte // TensorProto
	nodes   map[string][]byte // NodeProto
}

var onnxConfig = minilm.Config{Layers: 11, Hidden: 8, Heads: 2, Intermediate: 12, Vocab: 9, Positions: 20, Epsilon: 1e-12}

func message(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func bytesField(number protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), data)
}

func numberField(number protowire.Number, value int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(value))
}

func tensorProto(name string, kind int, raw []byte, dims ...int) []byte {
	var m []byte
	for _, d := range dims {
		m = append(m, numberField(1, d)...)
	}
	return message(m, numberField(2, kind), bytesField(8, []byte(name)), bytesField(9, raw))
}

func nodeProto(name, op string, inputs, outputs []string, attributes ...[]byte) []byte {
	var m []byte
	for _, in := range inputs {
		m = append(m, bytesField(1, []byte(in))...)
	}
	for _, out := range outputs {
		m = append(m, bytesField(2, []byte(out))...)
	}
	m = message(m, bytesField(3, []byte(name)), bytesField(4, []byte(op)))
	for _, a := range attributes {
		m = append(m, bytesField(5, a)...)
	}
	return m
}

func constantProto(name string, kind int, raw []byte) []byte {
	value := message(bytesField(1, []byte("value")), bytesField(5, tensorProto("", kind, raw)))
	return nodeProto(name, "Constant", nil, []string{name + "_output_0"}, value)
}

func floatBytes(v []float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// tensor returns a tensor's values, made by rule of its name.
func tensor(name string, n int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	state := h.Sum64()
	v := make([]float32, n)
	for i := range v {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		v[i] = float32(state>>40)/(1<<24) - 0.5
	}
	return v
}

func makeONNX() *onnxFile { return makeONNXOf(onnxConfig) }

func makeONNXOf(c minilm.Config) *onnxFile {
	f := &onnxFile{map[string][]byte{}, map[string][]byte{}}
	add := func(name string, dims ...int) {
		n := 1
		for _, d := range dims {
			n *= d
		}
		f.tensors[name] = tensorProto(name, onnxFloat, floatBytes(tensor(name, n)), dims...)
	}
	add("embeddings.word_embeddings.weight", c.Vocab, c.Hidden)
	add("embeddings.position_embeddings.weight", c.Positions, c.Hidden)
	add("embeddings.token_type_embeddings.weight", 2, c.Hidden)
	add("embeddings.LayerNorm.weight", c.Hidden)
	add("embeddings.LayerNorm.bias", c.Hidden)
	f.nodes["/embeddings/LayerNorm/Constant_1"] = constantProto("/embeddings/LayerNorm/Constant_1", onnxFloat, floatBytes([]float32{c.Epsilon}))
	f.nodes["/embeddings/LayerNorm/Add"] = nodeProto("/embeddings/LayerNorm/Add", "Add",
		[]string{"variance", "/embeddings/LayerNorm/Constant_1_output_0"}, []string{"sum"})
	for i := range c.Layers {
		layer := fmt.Sprintf("layer.%d", i)
		for _, l := range []struct {
			role    string
			in, out int
		}{
			{"attention/self/query", c.Hidden, c.Hidden},
			{"attention/self/key", c.Hidden, c.Hidden},
			{"attention/self/value", c.Hidden, c.Hidden},
			{"attention/output/dense", c.Hidden, c.Hidden},
			{"intermediate/dense", c.Hidden, c.Intermediate},
			{"output/dense", c.Intermediate, c.Hidden},
		} {
			add("encoder."+layer+"."+strings.ReplaceAll(l.role, "/", ".")+".bias", l.out)
			weight := fmt.Sprintf("onnx::MatMul_%d", 700+len(f.tensors))
			add(weight, l.in, l.out)
			node := "/encoder/" + layer + "/" + l.role + "/MatMul"
			f.nodes[node] = nodeProto(node, "MatMul", []string{"x", weight}, []string{node + "_output_0"})
		}
		for _, norm := range []string{"attention.output", "output"} {
			add("encoder."+layer+"."+norm+".LayerNorm.weight", c.Hidden)
			add("encoder."+layer+"."+norm+".LayerNorm.bias", c.Hidden)
		}
		erf := "/encoder/" + layer + "/intermediate/intermediate_act_fn/Erf"
		f.nodes[erf] = nodeProto(erf, "Erf", []string{"x"}, []string{"y" + layer})
	}
	concat := "/encoder/layer.0/attention/self/Concat"
	for name, x := range map[string]int{concat + "_heads": c.Heads, concat + "_width": c.Hidden / c.Heads} {
		f.nodes[name] = constantProto(name, onnxInt64, binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
	f.nodes[concat] = nodeProto(concat, "Concat", []string{"batch", "tokens", concat + "_heads_output_0", concat + "_width_output_0"}, []string{"shape"})
	return f
}

func (f *onnxFile) bytes() []byte {
	var graph []byte
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		graph = append(graph, bytesField(1, f.nodes[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		graph = append(graph, bytesField(5, f.tensors[name])...)
	}
	return message(numberField(1, 6), bytesField(2, []byte("pytorch")), bytesField(7, graph))
}

const tokenizerJSON = `{"version": "1.0", "truncation": {"max_length": 128}, "padding": null, "added_tokens": [],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "return": 5, "##s": 6, "<&>": 7, "товар": 8}}}`

var encoderInfo = EncoderInfo{Name: "tiny", MaxTokens: 20, QueryPrefix: "return "}

func TestPrepareEncoder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models", "tiny")
	digest, err := PrepareEncoder(dir, makeONNX().bytes(), []byte(tokenizerJSON), encoderInfo)
	if err != nil {
		t.Fatal(err)
	}
	e, err := models.Open(os.DirFS(dir), ".", digest)
	if err != nil {
		t.Fatal(err)
	}
	card := *e.Card()
	card.Source, card.Tokenizer, card.Files = "", "", nil
	if fmt.Sprint(card) != fmt.Sprint(models.Card{Format: models.CardFormat, Name: "tiny", Dimensions: 8, MaxTokens: 20, Pooling: "mean", QueryPrefix: "return "}) {
		t.Errorf("card %+v", card)
	}
	if cut, err := e.EncodeQuery(make([]float32, 8), "returns товар"); cut || err != nil {
		t.Error(cut, err)
	}
	vocab, err := os.ReadFile(filepath.Join(dir, models.VocabFile))
	if want := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nreturn\n##s\n<&>\nтовар\n"; string(vocab) != want || err != nil {
		t.Errorf("vocabulary %q, want %q, error %v", vocab, want, err)
	}

	again, err := PrepareEncoder(filepath.Join(t.TempDir(), "again"), makeONNX().bytes(), []byte(tokenizerJSON), encoderInfo)
	if again != digest || err != nil {
		t.Errorf("the second time, the digest is %s, want %s, error %v", again, digest, err)
	}
}

// TestConvertWeights requires each tensor at its place, weights transposed.
func TestConvertWeights(t *testing.T) {
	f := makeONNX()
	c, got, err := convertWeights(f.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if c != onnxConfig {
		t.Errorf("config %+v, want %+v", c, onnxConfig)
	}
	equal := func(what string, got []float32, name string) {
		if !slices.Equal(got, tensor(name, len(got))) || len(got) == 0 {
			t.Errorf("%s is not %s", what, name)
		}
	}
	equal("words", got.Words, "embeddings.word_embeddings.weight")
	equal("positions", got.Positions, "embeddings.position_embeddings.weight")
	equal("type", got.Type, "embeddings.token_type_embeddings.weight")
	equal("gain", got.Norm.Gain, "embeddings.LayerNorm.weight")
	if len(got.Type) != c.Hidden || len(got.Layers) != c.Layers {
		t.Errorf("%d values of a type embedding, %d layers", len(got.Type), len(got.Layers))
	}
	for i, l := range got.Layers {
		name := fmt.Sprintf("encoder.layer.%d.", i)
		equal(name+"query", l.Query.Bias, name+"attention.self.query.bias")
		equal(name+"key", l.Key.Bias, name+"attention.self.key.bias")
		equal(name+"value", l.Value.Bias, name+"attention.self.value.bias")
		equal(name+"output", l.Output.Bias, name+"attention.output.dense.bias")
		equal(name+"attention norm", l.AttentionNorm.Gain, name+"attention.output.LayerNorm.weight")
		equal(name+"attention norm", l.AttentionNorm.Bias, name+"attention.output.LayerNorm.bias")
		equal(name+"up", l.Up.Bias, name+"intermediate.dense.bias")
		equal(name+"down", l.Down.Bias, name+"output.dense.bias")
		equal(name+"output norm", l.OutputNorm.Gain, name+"output.LayerNorm.weight")
		equal(name+"output norm", l.OutputNorm.Bias, name+"output.LayerNorm.bias")
	}
	g, err := readONNX(f.bytes())
	if err != nil {
		t.Fatal(err)
	}
	weight := g.nodes["/encoder/layer.10/output/dense/MatMul"].inputs[1]
	raw := tensor(weight, c.Hidden*c.Intermediate) // [in][out]
	for in := range c.Intermediate {
		for out := range c.Hidden {
			if got.Layers[10].Down.Weight[out*c.Intermediate+in] != raw[in*c.Hidden+out] {
				t.Fatalf("weight from %d to %d is not transposed", in, out)
			}
		}
	}
}

func TestConvertWeightsErrors(t *testing.T) {
	query := "/encoder/layer.3/attention/self/query/MatMul"
	concat := "/encoder/layer.0/attention/self/Concat"
	norm := "encoder.layer.10.output.LayerNorm.bias"
	for _, c := range []struct {
		change func(f *onnxFile)
		want   string
	}{
		{func(f *onnxFile) { delete(f.tensors, norm) }, `no tensor "` + norm + `" of shape [8]`},
		{func(f *onnxFile) { delete(f.tensors, "embeddings.word_embeddings.weight") }, "not a BERT encoder"},
		{func(f *onnxFile) { delete(f.tensors, "embeddings.token_type_embeddings.weight") }, `no tensor "embeddings.token_type_embeddings.weight"`},
		{func(f *onnxFile) { delete(f.nodes, query) }, `no node "` + query + `"`},
		{func(f *onnxFile) { f.nodes[query] = nodeProto(query, "Gemm", nil, nil) }, "is Gemm, want MatMul"},
		{func(f *onnxFile) { f.nodes[query] = nodeProto(query, "MatMul", []string{"x"}, nil) }, "has 1 inputs, want 2"},
		{func(f *onnxFile) { f.nodes[query] = nodeProto(query, "MatMul", []string{"x", "y"}, nil) }, `no tensor "y" of shape [8 8]`},
		{func(f *onnxFile) { delete(f.nodes, concat) }, "no node " + `"` + concat},
		{func(f *onnxFile) { delete(f.nodes, concat+"_heads") }, "is not a constant"},
		{func(f *onnxFile) { f.nodes[concat] = nodeProto(concat, "Concat", []string{"x"}, nil) }, "has 1 inputs"},
		{func(f *onnxFile) {
			f.nodes[concat+"_heads"] = constantProto(concat+"_heads", onnxInt64, []byte{3, 0, 0, 0, 0, 0, 0, 0})
		}, "3 heads of width 4 do not make hidden states of width 8"},
		{func(f *onnxFile) { delete(f.nodes, "/encoder/layer.2/intermediate/intermediate_act_fn/Erf") }, "(Erf)"},
		{func(f *onnxFile) { f.tensors[norm] = tensorProto(norm, onnxFloat, make([]byte, 32), 2, 4) }, "has shape [2 4], want [8]"},
		{func(f *onnxFile) { f.tensors[norm] = tensorProto(norm, onnxFloat, make([]byte, 31), 8) }, "of shape [8] has 31 bytes"},
		{func(f *onnxFile) { f.tensors[norm] = tensorProto(norm, 10, make([]byte, 16), 8) }, "take the fp32 model"},
		{func(f *onnxFile) { f.tensors[norm] = append(f.tensors[norm], numberField(14, 1)...) }, "in another file"},
		{func(f *onnxFile) { f.tensors[norm] = append(f.tensors[norm], bytesField(4, make([]byte, 4))...) }, "not raw data"},
		{func(f *onnxFile) { f.tensors["twice"] = f.tensors[norm] }, "two initializers have the name"},
		{func(f *onnxFile) { f.nodes["twice"] = f.nodes[query] }, "two nodes have the name"},
		{func(f *onnxFile) { f.tensors[norm] = append(f.tensors[norm], 0xff) }, "not an ONNX model: initializer"},
		{func(f *onnxFile) {
			f.tensors[norm] = tensorProto(norm, onnxFloat, floatBytes([]float32{0, 0, 0, float32(math.NaN()), 0, 0, 0, 0}), 8)
		}, "is not finite"},
	} {
		f := makeONNX()
		c.change(f)
		dir := filepath.Join(t.TempDir(), "m")
		_, err := PrepareEncoder(dir, f.bytes(), []byte(tokenizerJSON), encoderInfo)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "tiny: onnx model: ") {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: a folder is left behind", c.want)
		}
	}
	for _, data := range [][]byte{nil, []byte("<html>"), makeONNX().bytes()[:1000]} {
		if _, err := readONNX(data); err == nil || !strings.Contains(err.Error(), "not an ONNX model") {
			t.Errorf("error %v", err)
		}
	}
}

func TestConvertVocabularyErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{tokenizerJSON, "{", "unexpected end"},
		{tokenizerJSON, "{}", "model.type is , only WordPiece is supported"},
		{`"lowercase": true`, `"lowercase": false`, "normalizer.lowercase is false, only true is supported"},
		{`"strip_accents": null`, `"strip_accents": false`, "normalizer.strip_accents is false"},
		{`: 100`, `: 200`, "max_input_chars_per_word is 200, only 100 is supported"},
		{`"return": 5`, `"return": 6`, "want 5: ids must be"},
		{`"return": 5`, `"re\nturn": 5`, "is not one line"},
		{`"return": 5`, `"": 5`, "is not one line"},
		{`"[CLS]": 2`, `"[cls]": 2`, "[CLS]"},
		{`, "товар": 8`, ``, "has 8 tokens, but weights.bin is for 9"},
	} {
		tokenizer := strings.Replace(tokenizerJSON, c.old, c.new, 1)
		if tokenizer == tokenizerJSON {
			t.Fatalf("there is no %q", c.old)
		}
		_, err := PrepareEncoder(t.TempDir(), makeONNX().bytes(), []byte(tokenizer), encoderInfo)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.new, err, c.want)
		}
	}
	if !json.Valid([]byte(tokenizerJSON)) {
		t.Error("the test's tokenizer is not JSON")
	}
}

func FuzzReadONNX(f *testing.F) {
	f.Add(makeONNX().bytes())
	f.Fuzz(func(t *testing.T, data []byte) { convertWeights(data) })
}
