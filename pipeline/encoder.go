package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/models"
	"example.com/larder/models/minilm"
)

// EncoderInfo is what a model's files do not say.
type EncoderInfo struct {
	Name          string // such as all-MiniLM-L6-v2
	MaxTokens     int    // most tokens of a text, [CLS] and [SEP] included
	QueryPrefix   string // put before each query
	PassagePrefix string // put before each passage
}

// PrepareEncoder converts a sentence embedding model to the encoder that readers use, and makes the
// folder dir, which appears whole, with its model.json, vocab.txt and weights.bin. The model is an fp32
// BERT encoder exported to ONNX, and its tokenizer an uncased WordPiece tokenizer.json. It returns the
// encoder's digest. The same input gives the same bytes. Errors name the tensor, its shape, or the
// tokenizer's setting; if dir exists, the error is fs.ErrExist.
func PrepareEncoder(dir string, onnx, tokenizer []byte, m EncoderInfo) (digest string, err error) {
	vocab, err := convertVocabulary(tokenizer)
	if err != nil {
		return "", fmt.Errorf("%s: tokenizer.json: %w", m.Name, err)
	}
	c, t, err := convertWeights(onnx)
	if err != nil {
		return "", fmt.Errorf("%s: onnx model: %w", m.Name, err)
	}
	var weights bytes.Buffer
	if err := minilm.Write(&weights, c, t); err != nil {
		return "", fmt.Errorf("%s: onnx model: %w", m.Name, err)
	}
	card, err := models.NewCard(models.Card{
		Name:          m.Name,
		Source:        artifact.Digest(onnx),
		Tokenizer:     artifact.Digest(tokenizer),
		MaxTokens:     m.MaxTokens,
		QueryPrefix:   m.QueryPrefix,
		PassagePrefix: m.PassagePrefix,
	}, vocab, weights.Bytes())
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	// What a reader would refuse is not written.
	if _, err := models.New(card, vocab, weights.Bytes()); err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	err = writeFolder(dir, []namedFile{
		{models.VocabFile, vocab},
		{models.WeightsFile, weights.Bytes()},
		{models.CardFile, card.Marshal()},
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	return card.Digest(), nil
}

type namedFile struct {
	name string
	data []byte
}

// writeFolder makes the folder dir with these files, whole or not at all. If there is one already, the error is
// fs.ErrExist.
func writeFolder(dir string, files []namedFile) (err error) {
	d, err := durable.CreateDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Abort()) }()
	for _, f := range files {
		if err := d.WriteFile(f.name, f.data); err != nil {
			return err
		}
	}
	return d.Commit()
}

// convertVocabulary returns the tokens of a tokenizer.json, one a line in the order of their ids, after
// checking that package wordpiece does what the tokenizer's settings say.
func convertVocabulary(tokenizer []byte) ([]byte, error) {
	var t struct {
		Normalizer struct {
			Type         string `json:"type"`
			CleanText    bool   `json:"clean_text"`
			Chinese      bool   `json:"handle_chinese_chars"`
			StripAccents *bool  `json:"strip_accents"` // null means as lowercase
			Lowercase    bool   `json:"lowercase"`
		} `json:"normalizer"`
		PreTokenizer struct {
			Type string `json:"type"`
		} `json:"pre_tokenizer"`
		Model struct {
			Type      string           `json:"type"`
			Unknown   string           `json:"unk_token"`
			Prefix    string           `json:"continuing_subword_prefix"`
			WordLimit int              `json:"max_input_chars_per_word"`
			Vocab     map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(tokenizer, &t); err != nil {
		return nil, err
	}
	n := t.Normalizer
	for _, s := range []struct {
		name      string
		got, want any
	}{
		{"model.type", t.Model.Type, "WordPiece"},
		{"model.unk_token", t.Model.Unknown, "[UNK]"},
		{"model.continuing_subword_prefix", t.Model.Prefix, "##"},
		{"model.max_input_chars_per_word", t.Model.WordLimit, 100},
		{"normalizer.type", n.Type, "BertNormalizer"},
		{"normalizer.clean_text", n.CleanText, true},
		{"normalizer.handle_chinese_chars", n.Chinese, true},
		{"normalizer.lowercase", n.Lowercase, true},
		{"normalizer.strip_accents", n.StripAccents == nil || *n.StripAccents, true},
		{"pre_tokenizer.type", t.PreTokenizer.Type, "BertPreTokenizer"},
	} {
		if s.got != s.want {
			return nil, fmt.Errorf("%s is %v, only %v is supported", s.name, s.got, s.want)
		}
	}
	if len(t.Model.Vocab) == 0 {
		return nil, fmt.Errorf("model.vocab is empty")
	}
	tokens := slices.SortedFunc(maps.Keys(t.Model.Vocab), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Model.Vocab[a], t.Model.Vocab[b]), cmp.Compare(a, b))
	})
	var lines bytes.Buffer
	for i, token := range tokens {
		if id := t.Model.Vocab[token]; int(id) != i {
			return nil, fmt.Errorf("model.vocab gives %q the id %d, want %d: ids must be 0, 1, 2 and so on", token, id, i)
		}
		if token == "" || strings.ContainsAny(token, "\r\n") {
			return nil, fmt.Errorf("model.vocab: token %d, %q, is not one line", i, token)
		}
		lines.WriteString(token)
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
}

// convertWeights finds an encoder's tensors in an ONNX model. Embeddings, biases and norms have names;
// the weight of a product has none of use, and is what the product's node, whose name tells its role,
// takes as its second input.
func convertWeights(model []byte) (c minilm.Config, t minilm.Tensors, err error) {
	g, err := readONNX(model)
	if err != nil {
		return c, t, err
	}
	if c, err = g.config(); err != nil {
		return c, t, err
	}
	take := func(name string, dims ...int) (v []float32) {
		if err == nil {
			v, err = g.floats(name, dims...)
		}
		return v
	}
	linear := func(layer, role string, out, in int) (l minilm.Linear) {
		if err == nil {
			l.Weight, err = g.product("/encoder/"+layer+"/"+role+"/MatMul", in, out)
		}
		l.Bias = take("encoder."+layer+"."+strings.ReplaceAll(role, "/", ".")+".bias", out)
		return l
	}
	norm := func(name string) minilm.Norm {
		return minilm.Norm{Gain: take(name+".LayerNorm.weight", c.Hidden), Bias: take(name+".LayerNorm.bias", c.Hidden)}
	}

	t.Words = take("embeddings.word_embeddings.weight", c.Vocab, c.Hidden)
	t.Positions = take("embeddings.position_embeddings.weight", c.Positions, c.Hidden)
	if types := g.tensors["embeddings.token_type_embeddings.weight"]; types != nil && len(types.dims) == 2 && types.dims[0] > 0 {
		t.Type = take("embeddings.token_type_embeddings.weight", types.dims[0], c.Hidden)
		t.Type = t.Type[:min(len(t.Type), c.Hidden)]
	} else {
		take("embeddings.token_type_embeddings.weight", 2, c.Hidden)
	}
	t.Norm = norm("embeddings")
	for i := range c.Layers {
		name := fmt.Sprintf("layer.%d", i)
		if err == nil {
			_, err = g.node("/encoder/"+name+"/intermediate/intermediate_act_fn/Erf", "Erf")
		}
		t.Layers = append(t.Layers, minilm.Layer{
			Query:         linear(name, "attention/self/query", c.Hidden, c.Hidden),
			Key:           linear(name, "attention/self/key", c.Hidden, c.Hidden),
			Value:         linear(name, "attention/self/value", c.Hidden, c.Hidden),
			Output:        linear(name, "attention/output/dense", c.Hidden, c.Hidden),
			AttentionNorm: norm("encoder." + name + ".attention.output"),
			Up:            linear(name, "intermediate/dense", c.Intermediate, c.Hidden),
			Down:          linear(name, "output/dense", c.Hidden, c.Intermediate),
			OutputNorm:    norm("encoder." + name + ".output"),
		})
	}
	return c, t, err
}

// config reads an encoder's shape off its tensors, and what no tensor shows off its constants.
func (g *onnxGraph) config() (c minilm.Config, err error) {
	shape := func(name string, n int) []int {
		t := g.tensors[name]
		switch {
		case err != nil:
		case t == nil:
			err = fmt.Errorf("no tensor %q of %d dimensions: not a BERT encoder", name, n)
		case len(t.dims) != n:
			err = fmt.Errorf("tensor %q has shape %d, want %d dimensions", name, t.dims, n)
		default:
			return t.dims
		}
		return make([]int, n)
	}
	words := shape("embeddings.word_embeddings.weight", 2)
	c.Vocab, c.Hidden = words[0], words[1]
	c.Positions = shape("embeddings.position_embeddings.weight", 2)[0]
	c.Intermediate = shape("encoder.layer.0.intermediate.dense.bias", 1)[0]
	// The last layer counts, so that a missing one in between is missed.
	for name := range g.tensors {
		if rest, ok := strings.CutPrefix(name, "encoder.layer."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(number); err == nil && i < 1000 {
				c.Layers = max(c.Layers, i+1)
			}
		}
	}
	if err != nil {
		return c, err
	}
	split, err := g.node("/encoder/layer.0/attention/self/Concat", "Concat") // of hidden into heads × width
	if err != nil {
		return c, err
	}
	heads, err := g.constant(split, len(split.inputs)-2)
	if err != nil {
		return c, err
	}
	width, err := g.constant(split, len(split.inputs)-1)
	if err != nil {
		return c, err
	}
	c.Heads = int(heads)
	if heads*width != float64(c.Hidden) {
		return c, fmt.Errorf("%v heads of width %v do not make hidden states of width %d", heads, width, c.Hidden)
	}
	norm, err := g.node("/embeddings/LayerNorm/Add", "Add")
	if err != nil {
		return c, err
	}
	epsilon, err := g.constant(norm, 1)
	c.Epsilon = float32(epsilon)
	return c, err
}

// product returns the weight [out][in] of a MatMul node, which holds it as [in][out].
func (g *onnxGraph) product(node string, in, out int) ([]float32, error) {
	n, err := g.node(node, "MatMul")
	if err != nil {
		return nil, err
	}
	if len(n.inputs) != 2 {
		return nil, fmt.Errorf("node %q has %d inputs, want 2", node, len(n.inputs))
	}
	v, err := g.floats(n.inputs[1], in, out)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node, err)
	}
	w := make([]float32, len(v))
	for i := range in {
		for o := range out {
			w[o*in+i] = v[i*out+o]
		}
	}
	return w, nil
}
