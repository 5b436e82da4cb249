//go:build ORT

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/daulet/tokenizers"
	"github.com/knights-analytics/hugot"
	"github.com/knights-analytics/hugot/options"
	"github.com/knights-analytics/hugot/pipelines"

	"example.com/larder/models"
	"example.com/larder/models/minilm"
	"example.com/larder/models/wordpiece"
)

// HasONNX says that this program was built with ONNX Runtime and the Rust tokenizers.
const HasONNX = true

// batchTokens bounds a batch: rows × tokens of the longest one. Memory grows with it, speed hardly.
const batchTokens = 4096

// onnx embeds with hugot and ONNX Runtime: the model as published, in fp32, on the CPU.
type onnx struct {
	session   *hugot.Session
	pipeline  *pipelines.FeatureExtractionPipeline
	tokenizer *wordpiece.Tokenizer
	model     models.Model
	identity  string
	versions  map[string]string
}

// newONNX starts the embedder. folder is where hugot finds the model and its runtime; it is made if missing.
func newONNX(files ModelFiles, runtimeLibrary, folder string, tokenizer *wordpiece.Tokenizer, versions map[string]string) (_ Embedder, err error) {
	if err := prepareForHugot(folder, files, runtimeLibrary); err != nil {
		return nil, fmt.Errorf("prepare %s for hugot: %w", files.Info.Name, err)
	}
	e := &onnx{tokenizer: tokenizer, model: files.Info, versions: versions}
	e.identity = onnxIdentity(e.model, models.WindowRule, wordpiece.Rule, runtime.GOOS+"/"+runtime.GOARCH, versions)
	if e.session, err = hugot.NewORTSession(options.WithOnnxLibraryPath(folder)); err != nil {
		return nil, fmt.Errorf("start ONNX Runtime %s: %w; or set embedder: native", runtimeLibrary, err)
	}
	e.pipeline, err = hugot.NewPipeline(e.session, hugot.FeatureExtractionConfig{
		ModelPath: folder, Name: e.model.Name, OnnxFilename: "model.onnx",
		Options: []hugot.FeatureExtractionOption{pipelines.WithNormalization()},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load %s: %w", files.ONNX, err), e.session.Destroy())
	}
	return e, nil
}

// prepareForHugot lays out a folder as hugot wants it: the graph, the runtime's library under its usual name, and the
// tokenizer without truncation and padding, which would embed long passages in part and silently.
func prepareForHugot(folder string, files ModelFiles, runtimeLibrary string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	tokenizer, err := untruncated(files.Tokenizer)
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(folder, "tokenizer.json"), func(to string) error { return os.WriteFile(to, tokenizer, 0o644) }); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(folder, "model.onnx"), func(to string) error { return os.Symlink(files.ONNX, to) }); err != nil {
		return err
	}
	library := map[string]string{".so": "libonnxruntime.so", ".dylib": "libonnxruntime.dylib"}[filepath.Ext(runtimeLibrary)]
	if library == "" {
		return fmt.Errorf("%s is not a library for a system that embedder: onnx supports", runtimeLibrary)
	}
	return replaceFile(filepath.Join(folder, library), func(to string) error { return os.Symlink(runtimeLibrary, to) })
}

// replaceFile has make make a file aside and renames it into place, so that two bakes at once, in one process or in
// two, see a whole one.
func replaceFile(name string, make func(to string) error) error {
	temp := fmt.Sprintf("%s.%d-%016x", name, os.Getpid(), rand.Uint64())
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer os.Remove(temp)
	if err := make(temp); err != nil {
		return err
	}
	return os.Rename(temp, name)
}

// untruncated reads a tokenizer.json and turns off truncation and padding.
func untruncated(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	members["truncation"], members["padding"] = json.RawMessage("null"), json.RawMessage("null")
	return json.Marshal(members)
}

func (e *onnx) Identity() string            { return e.identity }
func (e *onnx) Dimensions() int             { return e.model.Dimensions }
func (e *onnx) Versions() map[string]string { return e.versions }
func (e *onnx) Close() error                { return e.session.Destroy() }

// Embed cuts passages to windows that the model takes whole, embeds those in batches of like lengths, and averages
// the windows of each passage, weighted by tokens.
func (e *onnx) Embed(ctx context.Context, passages []string) ([][]float32, error) {
	type window struct {
		models.Window
		passage int
		vector  []float32
	}
	var windows []window
	for i, p := range passages {
		for _, w := range models.Windows(e.tokenizer, e.model.PassagePrefix, p, e.model.MaxTokens) {
			windows = append(windows, window{Window: w, passage: i})
		}
	}
	order := make([]int, len(windows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return windows[a].Tokens - windows[b].Tokens })
	for len(order) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := 1
		for n < len(order) && (n+1)*windows[order[n]].Tokens <= batchTokens {
			n++
		}
		texts := make([]string, n)
		for i, w := range order[:n] {
			texts[i] = e.model.PassagePrefix + windows[w].Text
		}
		out, err := e.pipeline.RunPipeline(texts)
		if err != nil {
			return nil, err
		}
		for i, w := range order[:n] {
			windows[w].vector = out.Embeddings[i]
		}
		order = order[n:]
	}
	vectors := make([][]float32, len(passages))
	for _, w := range windows {
		if vectors[w.passage] == nil {
			vectors[w.passage] = make([]float32, e.model.Dimensions)
		}
		w.AddTo(vectors[w.passage], w.vector)
	}
	for i, v := range vectors {
		if !minilm.Normalize(v) {
			return nil, fmt.Errorf("the vector of passage %d can't be normalized", i)
		}
	}
	return vectors, nil
}

// rustTokens counts tokens with daulet/tokenizers.
type rustTokens struct{ *tokenizers.Tokenizer }

// newTokenizer returns the tokenizer that chunks are measured with.
func newTokenizer(file string, _ *wordpiece.Tokenizer) (tokenSplitter, func() error, error) {
	data, err := untruncated(file)
	if err != nil {
		return nil, nil, err
	}
	t, err := tokenizers.FromBytes(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return rustTokens{t}, t.Close, nil
}

func (t rustTokens) spans(text string) ([]span, error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("the text has a NUL")
	}
	e := t.EncodeWithOptions(text, false, tokenizers.WithReturnOffsets(), tokenizers.WithReturnTokens())
	spans := make([]span, len(e.Offsets))
	for i, o := range e.Offsets {
		spans[i] = span{int(o[0]), int(o[1]), strings.HasPrefix(e.Tokens[i], "##")}
	}
	return spans, nil
}
