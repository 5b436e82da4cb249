//go:build heavy && ORT

package pipeline

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/larder/models"
)

// realModel opens the model that bases use by default, with its files from the user's cache or the network.
func realModel(t *testing.T, embedder string) *model {
	t.Helper()
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	b := &bake{BakeOptions: BakeOptions{Fetcher: &Fetcher{Cache: cache}}, settings: DefaultSettings("test")}
	b.settings.Embedder = embedder
	t.Cleanup(b.close)
	if err := b.loadModel(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b.model
}

func embedAll(t *testing.T, e Embedder, passages ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(context.Background(), passages)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

// farthest is the largest difference between elements of two vectors.
func farthest(a, b []float32) (d float64) {
	for i := range a {
		d = max(d, math.Abs(float64(a[i])-float64(b[i])))
	}
	return d
}

// TestONNXWindows embeds a passage that is longer than what the model takes.
func TestONNXWindows(t *testing.T) {
	m := realModel(t, ONNX)
	tokenizer := m.encoder.Tokenizer()
	var passage strings.Builder
	for i := 0; len(tokenizer.Encode(nil, passage.String(), -1)) < 1500; i++ {
		fmt.Fprintf(&passage, "In year %d the harbour of town %d shipped %d barrels of salted herring. ", 1600+i, i%17, 37*i)
	}
	text := passage.String()
	windows := models.Windows(tokenizer, m.info.PassagePrefix, text, m.info.MaxTokens)
	var joined strings.Builder
	sum, tokens := make([]float64, m.info.Dimensions), 0
	for _, w := range windows {
		if w.Tokens > m.info.MaxTokens {
			t.Errorf("a window of %d tokens", w.Tokens)
		}
		joined.WriteString(w.Text)
		tokens += w.Tokens
		for i, x := range embedAll(t, m.embedder, w.Text)[0] {
			sum[i] += float64(w.Tokens) * float64(x)
		}
	}
	if joined.String() != text || tokens < 1500 || len(windows) < 6 {
		t.Errorf("%d windows of %d tokens, %d of %d bytes", len(windows), tokens, joined.Len(), len(text))
	}
	want, norm := make([]float32, len(sum)), 0.0
	for _, x := range sum {
		norm += x * x
	}
	for i, x := range sum {
		want[i] = float32(x / math.Sqrt(norm))
	}
	got := embedAll(t, m.embedder, text)[0]
	if d := farthest(got, want); d > 1e-6 {
		t.Errorf("the mean of the windows differs by %g", d)
	}
	// Every part counts, the last one too.
	for _, other := range []string{strings.TrimSuffix(text, "herring. ") + "whale oil.", strings.Replace(text, "harbour", "desert", 1)} {
		if d := farthest(embedAll(t, m.embedder, other)[0], got); d < 1e-4 {
			t.Errorf("a changed word changes the vector by %g only", d)
		}
	}
	t.Logf("%d windows, %d tokens, largest difference %g", len(windows), tokens, farthest(got, want))
}

// TestONNXBatches embeds passages alone and with others that are longer and shorter.
func TestONNXBatches(t *testing.T) {
	m := realModel(t, ONNX)
	passages := agreementTexts(t)[:60]
	together := embedAll(t, m.embedder, passages...)
	slices.Reverse(passages)
	reversed := embedAll(t, m.embedder, passages...)
	slices.Reverse(passages)
	equal, most := 0, 0.0
	for i, p := range passages {
		alone := embedAll(t, m.embedder, p)[0]
		d := max(farthest(alone, together[i]), farthest(alone, reversed[len(passages)-1-i]))
		if most = max(most, d); d == 0 {
			equal++
		}
	}
	t.Logf("%d of %d vectors are equal alone and in batches, the largest difference is %g", equal, len(passages), most)
	if most > 1e-6 {
		t.Errorf("in a batch, a vector differs by %g", most)
	}
}

// agreementTexts are 200 texts chosen by rule: passages of the sample documents and, where it is, of the shared material,
// one of so many; then short ones, as questions are, and one that is longer than the model takes.
func agreementTexts(t *testing.T) []string {
	t.Helper()
	names := append(contentFiles(t, ".md", 30), contentFiles(t, ".txt", 2)...)
	for _, pattern := range []string{"md/*/*", "txt"} {
		more, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", filepath.FromSlash(pattern), "*"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, more...)
	}
	var passages, short []string
	for _, name := range names {
		if ext := filepath.Ext(name); ext != ".md" && ext != ".txt" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := Parse(context.Background(), name, data, ParseOptions{})
		if d.Verdict != OK {
			continue
		}
		chunks, err := chunkDocument(d, 90, 20, testTokenizer(t))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(chunks) && i < 40; i++ {
			passages = append(passages, passage(d, chunks[i]))
		}
		if title := d.Meta.Title; title != "" {
			short = append(short, title)
		}
	}
	const total, titles = 200, 40
	if len(passages) < total || len(short) < titles/2 {
		t.Fatalf("%d passages, %d titles", len(passages), len(short))
	}
	var texts []string
	for i := range min(titles, len(short)) {
		texts = append(texts, short[i*len(short)/min(titles, len(short))])
	}
	texts = append(texts, strings.Join(passages[:30], "\n"))
	for n := total - len(texts); n > 0; n-- {
		texts = append(texts, passages[n*len(passages)/total])
	}
	return texts
}

// TestNativeAgreesWithONNX compares the project's encoder, with its 8-bit weights, with the model in fp32.
func TestNativeAgreesWithONNX(t *testing.T) {
	m := realModel(t, ONNX)
	texts := agreementTexts(t)
	if len(texts) != 200 {
		t.Fatalf("%d texts", len(texts))
	}
	reference := embedAll(t, m.embedder, texts...)
	own := embedAll(t, native{m.encoder}, texts...)
	sum, least, worst := 0.0, 1.0, ""
	for i, text := range texts {
		c := cosine(own[i], reference[i])
		if sum += c; c < least {
			least, worst = c, text
		}
	}
	mean := sum / float64(len(texts))
	t.Logf("%d texts: cosine mean %.5f, least %.5f", len(texts), mean, least)
	if !(mean >= 0.998 && least >= 0.995) {
		t.Errorf("cosine mean %.5f, least %.5f of %q; want 0.998, 0.995", mean, least, worst)
	}
}

// TestTokenizersChunkAlike cuts documents with daulet/tokenizers and with the project's own WordPiece.
func TestTokenizersChunkAlike(t *testing.T) {
	m := realModel(t, ONNX)
	if _, ok := m.tokenizer.(rustTokens); !ok {
		t.Fatalf("chunks are measured with %T", m.tokenizer)
	}
	names := slices.Concat(contentFiles(t, ".md", 30), contentFiles(t, ".txt", 2), contentFiles(t, ".pdf", 1))
	if _, err := os.Stat(filepath.Join("..", "..", "shared", "data")); err == nil {
		for i, name := range sharedFiles(t, "md", ".md", 3000) {
			if i%10 == 0 {
				names = append(names, name)
			}
		}
		names = append(names, sharedFiles(t, "txt", ".txt", 1)...)
	}
	engine := testEngine(t, "pdfium", defaultPDFLimits)
	compared, documents := 0, map[string]int{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := Parse(context.Background(), name, data, ParseOptions{PDF: engine})
		d.Size = len(data)
		if d.Verdict != OK {
			continue
		}
		documents[filepath.Ext(name)]++
		for _, s := range [][2]int{{90, 20}, {7, 3}} {
			reference, err := chunkDocument(d, s[0], s[1], m.tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			own, err := chunkDocument(d, s[0], s[1], wordPieces{m.encoder.Tokenizer()})
			if err != nil {
				t.Fatal(err)
			}
			if compared += len(own); fmt.Sprint(own) != fmt.Sprint(reference) {
				t.Errorf("%s: chunks of %d tokens differ", name, s[0])
			}
		}
	}
	t.Logf("%d files, documents %v, %d chunks", len(names), documents, compared)
	if documents[".md"] < 30 || documents[".txt"] < 2 || documents[".pdf"] < 1 || compared < 500 {
		t.Errorf("documents %v, %d chunks: too few were compared", documents, compared)
	}
}

// TestONNXBakeIsReproducible bakes the same documents twice with the default embedder, with vector caches of their own
// and another number of workers.
func TestONNXBakeIsReproducible(t *testing.T) {
	filled, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenEmbedder(context.Background(), &Fetcher{Cache: filled}, DefaultSettings("test").Model, Native); err != nil {
		t.Fatal(err) // what it downloads is shared
	}
	if _, err := (&Fetcher{Cache: filled}).Runtime(context.Background()); err != nil {
		t.Fatal(err)
	}
	var trees []map[string]string
	for _, workers := range []int{1, 5} {
		dir := t.TempDir()
		cache := Cache{filepath.Join(dir, "cache")}
		if err := os.Mkdir(cache.Dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, shared := range []string{"sha256", "encoders", "pdfium"} {
			if err := os.MkdirAll(filepath.Join(filled.Dir, shared), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(filled.Dir, shared), filepath.Join(cache.Dir, shared)); err != nil {
				t.Fatal(err)
			}
		}
		old := runtime.GOMAXPROCS(workers)
		r := mustBake(t, BakeOptions{
			Folder: filepath.Join("..", "content", "refunds"), Shelf: filepath.Join(dir, "dist"), Fetcher: &Fetcher{Cache: cache, Offline: true}, Embedder: ONNX,
		})
		runtime.GOMAXPROCS(old)
		if r.Chunks < 20 || r.Embedded != r.Chunks {
			t.Errorf("with %d workers %d of %d chunks are embedded", workers, r.Embedded, r.Chunks)
		}
		tree := readTree(t, r.Artifact)
		provenance := tree["provenance.json"]
		if runtime, err := (&Fetcher{Cache: cache}).Runtime(context.Background()); err != nil || !strings.Contains(provenance, libraryDigest(runtime)) {
			t.Errorf("provenance does not name %s, %v: %s", runtime, err, provenance)
		}
		trees = append(trees, tree)
		t.Logf("%d workers: %d chunks, %d files, %s", workers, r.Chunks, len(tree), r.Digest)
	}
	sameTree(t, "two bakes", trees[1], trees[0])
}

// TestReplaceFile has many replace one file at once, in one process.
func TestReplaceFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "link")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := replaceFile(name, func(to string) error { return os.Symlink(fmt.Sprint("target", i), to) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if target, err := os.Readlink(name); err != nil || !strings.HasPrefix(target, "target") {
		t.Errorf("%s leads to %q, %v", name, target, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

// TestChunkWithRealVocabulary checks the properties of chunks with the tokenizer that bakes use.
func TestChunkWithRealVocabulary(t *testing.T) {
	m := realModel(t, ONNX)
	names := append(contentFiles(t, ".md", 30), contentFiles(t, ".txt", 2)...)
	if _, err := os.Stat(filepath.Join("..", "..", "shared", "data")); err == nil {
		for i, name := range sharedFiles(t, "md", ".md", 3000) {
			if i%10 == 0 {
				names = append(names, name)
			}
		}
	}
	chunkFiles(t, names, 40, wordPieces{m.encoder.Tokenizer()}, nil)
	chunkFiles(t, names[:min(60, len(names))], 10, m.tokenizer, nil)
}

func TestChunkPDFMaterial(t *testing.T) {
	m := realModel(t, ONNX)
	pdfs := pdfMaterial(t)
	var some []string
	for i := 0; i < len(pdfs); i += 1 + len(pdfs)/40 {
		some = append(some, pdfs[i])
	}
	chunkFiles(t, some, 10, wordPieces{m.encoder.Tokenizer()}, testEngine(t, "pdfium", defaultPDFLimits))
}
