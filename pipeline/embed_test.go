package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/larder/models"
)

// TestNativeIdentity changes each thing that decides a vector: none may be given the vector of another.
func TestNativeIdentity(t *testing.T) {
	type parts struct {
		card           models.Card
		builder        int
		windows, words string
		text           string
	}
	key := func(change func(*parts)) string {
		p := parts{
			card: models.Card{
				Format: models.CardFormat, Name: "m", Source: "a", Tokenizer: "b", Dimensions: 4, MaxTokens: 64, Pooling: "mean", PassagePrefix: "p ",
				Files: []models.EncoderFile{{Name: models.VocabFile, Size: 1, SHA256: "c"}, {Name: models.WeightsFile, Size: 1, SHA256: "d"}},
			},
			builder: 1, windows: "windows-1", words: "wordpiece-1", text: "text",
		}
		change(&p)
		return string(vectorKey(nativeIdentity(&p.card, p.builder, p.windows, p.words), p.text))
	}
	differ(t, key, map[string]func(*parts){
		"nothing":    func(*parts) {},
		"model":      func(p *parts) { p.card.Name = "n" },
		"graph":      func(p *parts) { p.card.Source = "z" },
		"tokenizer":  func(p *parts) { p.card.Tokenizer = "z" },
		"max tokens": func(p *parts) { p.card.MaxTokens = 63 },
		"prefix":     func(p *parts) { p.card.PassagePrefix = "q " },
		"vocabulary": func(p *parts) { p.card.Files[0].SHA256 = "z" },
		"weights":    func(p *parts) { p.card.Files[1].SHA256 = "z" },
		"builder":    func(p *parts) { p.builder = 2 },
		"windows":    func(p *parts) { p.windows = "windows-2" },
		"wordpiece":  func(p *parts) { p.words = "wordpiece-2" },
		"text":       func(p *parts) { p.text = "texts" },
	})
}

func TestONNXIdentity(t *testing.T) {
	type parts struct {
		model                    models.Model
		windows, words, platform string
		versions                 map[string]string
		text                     string
	}
	file := func(digest string) models.File {
		return models.File{Sources: []models.Source{{Pin: models.Pin{SHA256: digest}}}}
	}
	key := func(change func(*parts)) string {
		p := parts{
			model:   models.Model{Name: "m", MaxTokens: 64, PassagePrefix: "p ", ONNX: file("a"), Tokenizer: file("b")},
			windows: "windows-1", words: "wordpiece-1", platform: "linux/amd64",
			versions: map[string]string{"onnxruntime": "1", "onnxruntime_sha256": "c", "hugot": "v1", "tokenizers": "v1"}, text: "text",
		}
		change(&p)
		return string(vectorKey(onnxIdentity(p.model, p.windows, p.words, p.platform, p.versions), p.text))
	}
	differ(t, key, map[string]func(*parts){
		"nothing":       func(*parts) {},
		"graph":         func(p *parts) { p.model.ONNX = file("z") },
		"tokenizer":     func(p *parts) { p.model.Tokenizer = file("z") },
		"max tokens":    func(p *parts) { p.model.MaxTokens = 63 },
		"prefix":        func(p *parts) { p.model.PassagePrefix = "q " },
		"windows":       func(p *parts) { p.windows = "windows-2" },
		"wordpiece":     func(p *parts) { p.words = "wordpiece-2" },
		"platform":      func(p *parts) { p.platform = "linux/arm64" },
		"runtime":       func(p *parts) { p.versions["onnxruntime"] = "2" },
		"runtime build": func(p *parts) { p.versions["onnxruntime_sha256"] = "z" },
		"hugot":         func(p *parts) { p.versions["hugot"] = "v2" },
		"tokenizers":    func(p *parts) { p.versions["tokenizers"] = "v2" },
		"text":          func(p *parts) { p.text = "texts" },
	})
}

// differ requires another key for each change.
func differ[P any](t *testing.T, key func(func(*P)) string, changes map[string]func(*P)) {
	t.Helper()
	seen := map[string]string{}
	for name, change := range changes {
		k := key(change)
		if k != key(change) {
			t.Errorf("%s: the key is not always the same", name)
		}
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[k] = name
	}
}

// TestRuntimeBuilds has two builds of one version of ONNX Runtime: they share neither vectors nor a folder.
func TestRuntimeBuilds(t *testing.T) {
	m, err := synthetic()
	if err != nil {
		t.Fatal(err)
	}
	cache := Cache{t.TempDir()}
	var folders []string
	for _, build := range []string{"one", "two"} {
		pin := pinOf([]byte(build))
		digest := libraryDigest(cache.Path("libonnxruntime.so", pin))
		if versions := onnxVersions("1.2.3", digest); digest != pin.SHA256 || versions["onnxruntime"] != "1.2.3" || versions["onnxruntime_sha256"] != pin.SHA256 {
			t.Errorf("versions are %v, want those of %s", versions, pin.SHA256)
		}
		folders = append(folders, hugotFolder(cache, m.info, digest))
	}
	other := m.info
	other.Tokenizer = models.File{Sources: []models.Source{{Pin: pinOf([]byte("other"))}}}
	folders = append(folders, hugotFolder(cache, other, pinOf([]byte("one")).SHA256))
	if folders[0] == folders[1] || folders[0] == folders[2] {
		t.Errorf("folders are %q", folders)
	}
}

// TestEncoderOfAnotherName has two models of the same files: the name is in the card, so each has an encoder of its own.
func TestEncoderOfAnotherName(t *testing.T) {
	f := testFetcher(t, t.TempDir())
	files, err := f.Model(context.Background(), syntheticName)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{syntheticName, "another"} {
		files.Info.Name = name
		folder, err := preparedEncoder(f.Cache, files)
		if err != nil {
			t.Fatal(err)
		}
		if e, _, err := loadEncoder(folder); err != nil || e.Card().Name != name {
			t.Errorf("the encoder of %s: %v, of %s", name, err, e.Card().Name)
		}
	}
}

// TestSampleDisagrees has vectors that the encoder of queries would not make.
func TestSampleDisagrees(t *testing.T) {
	o := shop(t, shopFiles())
	mustBake(t, o)
	b := &bake{BakeOptions: o, report: &Report{}}
	t.Cleanup(b.close)
	for _, stage := range []func(context.Context) error{b.loadSettings, b.discover, b.parse, b.loadModel, b.chunk, b.embed} {
		if err := stage(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	number, want := 0, ""
	for i, chunks := range b.chunks {
		if b.sources[i].Path == "refunds.md" {
			want = "refunds.md, line 1: "
			break
		}
		number += len(chunks)
	}
	d := b.model.info.Dimensions
	only := func(n int) error {
		return b.model.compareSample(b.passages[n:n+1], b.vectors[n*d:][:d], func(i int) string { return b.place(n + i) })
	}
	if err := only(number); err != nil {
		t.Fatal(err)
	}
	for k := range d {
		b.vectors[number*d+k] *= -1
	}
	err := only(number)
	var hinted interface{ Hint() string }
	if want == "" || err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &hinted) ||
		!strings.Contains(hinted.Hint(), "embedder: native") || !strings.Contains(hinted.Hint(), "vectors.db") {
		t.Errorf("error is %v, want %q and a hint", err, want)
	}
	last := len(b.passages) - 1
	if place := b.place(last); !strings.HasPrefix(place, b.sources[len(b.sources)-1].Path) {
		t.Errorf("the last passage is at %q", place)
	}
}

// TestVectorCacheRefused has a cache that the system refuses to open or to fill: it is not damaged, and not to be
// removed.
func TestVectorCacheRefused(t *testing.T) {
	o := shop(t, shopFiles())
	file := filepath.Join(o.Fetcher.Cache.Dir, "vectors.db")
	refused := func(name string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "set LARDER_CACHE") || strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if err := os.Mkdir(file, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Bake(context.Background(), o)
	refused("a folder", err)
	if err == nil || !strings.Contains(err.Error(), "vector cache "+file) {
		t.Errorf("error is %v, want one that names %s", err, file)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := errors.Join(os.Remove(file), os.Symlink("/dev/full", file)); err != nil {
			t.Fatal(err)
		}
		_, err := Bake(context.Background(), o)
		refused("a full disk", err)
	}
	_, err = openVectorCache(filepath.Join(o.Folder, "base.yaml", "cache"))
	refused("below a file", err)
	for _, err := range []error{
		&os.PathError{Op: "open", Path: file, Err: syscall.EACCES}, &os.PathError{Op: "write", Path: file, Err: syscall.ENOSPC}, syscall.EROFS,
		errors.New("file resize error: no space left on device"),
	} {
		refused(err.Error(), errors.New(cacheRemedy(err)))
	}
	if got := cacheRemedy(errors.New("damaged: a fault")); !strings.Contains(got, "remove it") || strings.Contains(got, "LARDER_CACHE") {
		t.Errorf("the remedy of damage is %q", got)
	}
}
