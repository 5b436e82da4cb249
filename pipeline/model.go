package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	_ "embed"

	"example.com/larder/artifact"
	"example.com/larder/models"
	"example.com/larder/models/wordpiece"
)

// A model is what a bake needs of the model that its settings name.
type model struct {
	info            models.Model
	tokenizer       tokenSplitter // counts tokens
	tokenizerDigest string
	embedder        Embedder          // nil in keyword mode
	outside         QueryEmbedder     // the embedder, if it is not one of the models here
	encoder         *models.Encoder   // nil in keyword mode and with an embedder outside
	files           map[string][]byte // the encoder's
	known           []knownVector     // what the model makes of some passages
}

func (b *bake) loadModel(ctx context.Context) error {
	if b.settings.Mode == string(artifact.Keyword) {
		return b.loadTokenizer(ctx)
	}
	if b.settings.Outside() {
		if err := b.loadTokenizer(ctx); err != nil {
			return err
		}
		b.model.embedder, b.model.outside = b.outside, b.outside
		return nil
	}
	b.removeStale(filepath.Join(b.Fetcher.Cache.Dir, "encoders"))
	m, files, err := openModel(ctx, b.Fetcher, b.settings.Model, b.settings.Embedder)
	if err != nil {
		return err
	}
	b.model = m
	b.closers = append(b.closers, m.embedder.Close)
	return b.openTokenizer(files.Tokenizer, m.encoder.Tokenizer())
}

// OpenEmbedder opens an embedder, [ONNX] or [Native], for a model in the lock, and the encoder that answers queries
// with it. It fetches what it needs.
func OpenEmbedder(ctx context.Context, f *Fetcher, model, embedder string) (Embedder, *models.Encoder, error) {
	m, _, err := openModel(ctx, f, model, embedder)
	if err != nil {
		return nil, nil, err
	}
	return m.embedder, m.encoder, nil
}

// openModel gets a model, its encoder and an embedder.
func openModel(ctx context.Context, f *Fetcher, name, embedder string) (*model, ModelFiles, error) {
	if embedder == ONNX && !HasONNX {
		return nil, ModelFiles{}, ErrNoONNX
	}
	files, err := f.Model(ctx, name)
	if err != nil {
		return nil, files, err
	}
	m := &model{info: files.Info, tokenizerDigest: files.Info.Tokenizer.Sources[0].SHA256}
	if m.known, err = f.knownVectors(m.info.Name); err != nil {
		return nil, files, err
	}
	folder, err := preparedEncoder(f.Cache, files)
	if err != nil {
		return nil, files, err
	}
	if m.encoder, m.files, err = loadEncoder(folder); err != nil {
		return nil, files, err
	}
	if embedder == Native {
		m.embedder = native{m.encoder}
		return m, files, nil
	}
	library, err := f.Runtime(ctx)
	if err != nil {
		return nil, files, err
	}
	version := f.lock().Runtime.Version
	digest := libraryDigest(library)
	m.embedder, err = newONNX(files, library, hugotFolder(f.Cache, files.Info, digest), m.encoder.Tokenizer(), onnxVersions(version, digest))
	return m, files, err
}

// loadTokenizer is all that a keyword base needs of its model: chunk sizes are counted in its tokens.
func (b *bake) loadTokenizer(ctx context.Context) error {
	info, file, err := b.Fetcher.ModelTokenizer(ctx, b.settings.Model)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	vocabulary, err := convertVocabulary(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	own, err := wordpiece.Parse(vocabulary)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	b.model = &model{info: info, tokenizerDigest: info.Tokenizer.Sources[0].SHA256}
	return b.openTokenizer(file, own)
}

func (b *bake) openTokenizer(file string, own *wordpiece.Tokenizer) (err error) {
	var close func() error
	if b.model.tokenizer, close, err = newTokenizer(file, own); err == nil {
		b.closers = append(b.closers, close)
	}
	return err
}

// libraryDigest is the SHA-256 of a library in the cache, whose files are named by theirs: of one version of ONNX
// Runtime there are several builds.
func libraryDigest(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// hugotFolder is where a model is laid out for hugot with one build of ONNX Runtime.
func hugotFolder(cache Cache, m models.Model, library string) string {
	return filepath.Join(cache.Dir, "hugot", m.ONNX.Sources[0].SHA256[:12]+"-"+m.Tokenizer.Sources[0].SHA256[:12]+"-"+library[:12])
}

// onnxVersions are the versions of what embeds with ONNX Runtime, and the SHA-256 of its build.
func onnxVersions(runtime, library string) map[string]string {
	versions := map[string]string{"onnxruntime": runtime, "onnxruntime_sha256": library}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "github.com/knights-analytics/hugot":
				versions["hugot"] = d.Version
			case "github.com/daulet/tokenizers":
				versions["tokenizers"] = d.Version
			}
		}
	}
	return versions
}

// preparedEncoder returns the folder of the encoder that is made from a model's files, and makes it the first time.
func preparedEncoder(cache Cache, files ModelFiles) (string, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %s %s %d %q %q", models.CardFormat, encoderBuilder, files.Info.Name, files.Info.ONNX.Sources[0].SHA256,
		files.Info.Tokenizer.Sources[0].SHA256, files.Info.MaxTokens, files.Info.QueryPrefix, files.Info.PassagePrefix))
	folder := filepath.Join(cache.Dir, "encoders", fmt.Sprintf("%x", key[:8]))
	if _, err := os.Stat(filepath.Join(folder, models.CardFile)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	onnx, err := os.ReadFile(files.ONNX)
	if err != nil {
		return "", err
	}
	tokenizer, err := os.ReadFile(files.Tokenizer)
	if err != nil {
		return "", err
	}
	_, err = PrepareEncoder(folder, onnx, tokenizer, EncoderInfo{
		Name: files.Info.Name, MaxTokens: files.Info.MaxTokens, QueryPrefix: files.Info.QueryPrefix, PassagePrefix: files.Info.PassagePrefix,
	})
	if errors.Is(err, fs.ErrExist) {
		err = nil // another bake was quicker, or what is there is not an encoder, which reading it finds
	}
	return folder, err
}

// encoderBuilder is raised when the same model gives an encoder of other bytes.
const encoderBuilder = "2"

// loadEncoder reads an encoder and its files.
func loadEncoder(folder string) (*models.Encoder, map[string][]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	for _, name := range []string{models.CardFile, models.VocabFile, models.WeightsFile} {
		if files[name], err = root.ReadFile(name); err != nil {
			return nil, nil, fmt.Errorf("%w; remove %s to have it made again", err, folder)
		}
	}
	card, err := models.ParseCard(files[models.CardFile])
	if err != nil {
		return nil, nil, fmt.Errorf("%w; remove %s to have it made again", err, folder)
	}
	e, err := models.New(card, files[models.VocabFile], files[models.WeightsFile])
	if err != nil {
		return nil, nil, fmt.Errorf("%w; remove %s to have it made again", err, folder)
	}
	return e, files, nil
}

func (m *model) manifest() *artifact.Model {
	if m.outside != nil {
		return &artifact.Model{Name: m.outside.Model(), Embedder: m.outside.Identity(), Dimensions: m.outside.Dimensions()}
	}
	return &artifact.Model{
		Name: m.info.Name, Source: m.info.ONNX.Sources[0].SHA256, Dimensions: m.info.Dimensions, MaxTokens: m.info.MaxTokens,
		Pooling: m.info.Pooling, QueryPrefix: m.info.QueryPrefix, PassagePrefix: m.info.PassagePrefix, Encoder: m.encoder.Card().Digest(),
	}
}

// known.json holds a few passages for each locked model and the vectors that the model gives them in fp32, as
// int8 codes in base64: the scale doesn't matter for a cosine.
//
//go:embed known.json
var knownJSON []byte

// A knownVector is a passage and what a model makes of it.
type knownVector struct {
	Text  string `json:"text"`
	Codes string `json:"codes"`
}

// knownVectors returns what is known of a model in the lock.
func (f *Fetcher) knownVectors(model string) ([]knownVector, error) {
	data := f.known
	if data == nil {
		data = knownJSON
	}
	var known map[string][]knownVector
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("known.json: %w", err)
	}
	if len(known[model]) == 0 {
		return nil, fmt.Errorf("known.json has no vectors of the model %s", model)
	}
	return known[model], nil
}

// Cosines that embedders must reach. The native encoder is quantized, and everything is compared through codes.
const (
	knownCosine  = 0.99 // with the model's own vectors
	sampleCosine = 0.99 // between embedder and native encoder, the lowest of a sample
	sampleSize   = 16
)

// selfTest has the embedder embed what is known, so that a broken one is found before the corpus is embedded.
func (m *model) selfTest(ctx context.Context) error {
	texts := make([]string, len(m.known))
	for i, k := range m.known {
		texts[i] = k.Text
	}
	vectors, err := m.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("self-test of the embedder: %w", err)
	}
	for i, k := range m.known {
		codes, err := base64.StdEncoding.DecodeString(k.Codes)
		if err != nil || len(codes) != len(vectors[i]) {
			return fmt.Errorf("known.json: %q: not a vector of %d dimensions", k.Text, len(vectors[i]))
		}
		want := make([]float32, len(codes))
		for j, c := range codes {
			want[j] = float32(int8(c))
		}
		if c := cosine(vectors[i], want); !(c >= knownCosine) {
			return fmt.Errorf("self-test of the embedder: a known passage has a cosine of %.4f with its vector, not %v or more: this build of it is not to be trusted", c, knownCosine)
		}
	}
	return nil
}

// compareSample has the native encoder embed some of the passages: a query, which it encodes, must be comparable
// with the vectors. place says where a passage is.
func (m *model) compareSample(passages []string, vectors []float32, place func(int) string) error {
	d := m.info.Dimensions
	step := max(1, len(passages)/sampleSize)
	own := make([]float32, d)
	for i := 0; i < len(passages); i += step {
		if err := m.encoder.EncodePassage(own, passages[i]); err != nil {
			return err
		}
		if c := cosine(own, vectors[i*d:][:d]); !(c >= sampleCosine) {
			return hintedError{
				fmt.Sprintf("%s: the embedder and the encoder of queries disagree: a cosine of %.4f, not %v or more", place(i), c, sampleCosine),
				"set embedder: native in base.yaml, or remove vectors.db from the cache folder if an older larder filled it",
			}
		}
	}
	return nil
}

// place names the document and the line, or page, of a passage.
func (b *bake) place(passage int) string {
	for i, chunks := range b.chunks {
		if passage >= len(chunks) {
			passage -= len(chunks)
			continue
		}
		switch c := chunks[passage]; {
		case c.FirstLine > 0:
			return fmt.Sprintf("%s, line %d", b.sources[i].Path, c.FirstLine)
		case c.FirstPage > 0:
			return fmt.Sprintf("%s, page %d", b.sources[i].Path, c.FirstPage)
		}
		return b.sources[i].Path
	}
	return fmt.Sprintf("passage %d", passage)
}

// probes are the known texts as queries, by the encoder, the shortest first.
func (m *model) probes(ctx context.Context) ([]artifact.Probe, error) {
	if m.outside != nil {
		return m.outsideProbes(ctx)
	}
	var probes []artifact.Probe
	for _, k := range m.known {
		p := artifact.Probe{Text: k.Text, Vector: make([]float32, m.info.Dimensions)}
		if _, err := m.encoder.EncodeQuery(p.Vector, p.Text); err != nil {
			return nil, err
		}
		probes = append(probes, p)
	}
	return probes, nil
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}
