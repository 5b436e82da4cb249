package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/testkit"
	"example.com/larder/models"
	"example.com/larder/models/minilm"
	"example.com/larder/reader"
)

var updateReport = flag.Bool("update-report", false, "write testdata/report.txt")

// syntheticName is a name that base.yaml may use: the lock of the tests gives it to a model of their own.
const syntheticName = "all-MiniLM-L6-v2"

// A syntheticModel is a model in the form in which real ones are downloaded: a graph of random weights, and a tokenizer
// with the vocabulary of the synthetic encoder.
type syntheticModel struct {
	info            models.Model
	onnx, tokenizer []byte
	known           []byte
}

var synthetic = sync.OnceValues(func() (*syntheticModel, error) {
	vocabulary := strings.Split(strings.TrimSuffix(string(testkit.Encoder(8)["vocab.txt"].Data), "\n"), "\n")
	m := &syntheticModel{tokenizer: testkit.Tokenizer()}
	m.onnx = makeONNXOf(minilm.Config{Layers: 2, Hidden: 16, Heads: 2, Intermediate: 24, Vocab: len(vocabulary), Positions: 64, Epsilon: 1e-12}).bytes()
	pin := func(data []byte) models.Pin {
		return models.Pin{SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Size: int64(len(data))}
	}
	m.info = models.Model{
		Name: syntheticName, Dimensions: 16, MaxTokens: 64, Pooling: "mean", PassagePrefix: "text ",
		ONNX:      models.File{Name: "model.onnx", Sources: []models.Source{{Kind: models.URL, Pin: pin(m.onnx), URL: "https://invalid/model.onnx"}}},
		Tokenizer: models.File{Name: "tokenizer.json", Sources: []models.Source{{Kind: models.URL, Pin: pin(m.tokenizer), URL: "https://invalid/tokenizer.json"}}},
	}

	dir, err := os.MkdirTemp("", "larder-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "encoder")
	_, err = PrepareEncoder(folder, m.onnx, m.tokenizer, EncoderInfo{Name: m.info.Name, MaxTokens: m.info.MaxTokens, PassagePrefix: m.info.PassagePrefix})
	if err != nil {
		return nil, err
	}
	e, err := models.Open(os.DirFS(folder), ".", "")
	if err != nil {
		return nil, err
	}
	var known []knownVector
	for _, text := range []string{"refund", "when can i return the order?"} {
		v := make([]float32, e.Dimensions())
		if err := e.EncodePassage(v, text); err != nil {
			return nil, err
		}
		codes := make([]byte, len(v))
		for i, x := range v {
			codes[i] = byte(int8(math.Round(float64(x) * 127)))
		}
		known = append(known, knownVector{text, base64.StdEncoding.EncodeToString(codes)})
	}
	m.known, err = json.Marshal(map[string][]knownVector{syntheticName: known})
	return m, err
})

// testFetcher returns a fetcher whose cache, in dir, has the files of the synthetic model.
func testFetcher(t testing.TB, dir string) *Fetcher {
	t.Helper()
	m, err := synthetic()
	if err != nil {
		t.Fatal(err)
	}
	f := &Fetcher{Cache: Cache{dir}, Offline: true, Lock: &models.LockFile{Models: []models.Model{m.info}}, known: m.known}
	writeFiles(t, "", map[string]string{
		f.Cache.Path(m.info.ONNX.Name, m.info.ONNX.Sources[0].Pin):           string(m.onnx),
		f.Cache.Path(m.info.Tokenizer.Name, m.info.Tokenizer.Sources[0].Pin): string(m.tokenizer),
	})
	return f
}

// writeFiles writes files below dir, and the folders that they are in.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// readTree returns the content of the files below dir.
func readTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree compares two folders byte by byte.
func sameTree(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("%s: files\n%q\nwant\n%q", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		return
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// shopFiles are the documents of a small base.
func shopFiles() map[string]string {
	return map[string]string{
		"base.yaml": "name: shop\nembedder: native\nchunk_size: 24\nchunk_overlap: 6\nmetadata:\n  - files: \"faq/**\"\n    content_type: faq\n" +
			"    topics: [money]\n  - files: \"**/return*\"\n    unit_id: unit-7\n    date: 2024-05-06\n",
		"refunds.md": "# Refunds\n\nWe can refund the order within ten days. The money is back on your card in a week.\n\n" +
			"## Damaged items\n\nIf the item is damaged, we refund the cost of shipping too. Code E-4012 says so.\n\n" +
			"| item | cost |\n|---|---|\n| box | free |\n| gift card | price of the gift |\n",
		"faq/returns.md":    "---\ntitle: How to return\ntopics: [returns, money]\n---\nTake the item to the shop with the receipt.\n\n- Email the shop.\n- Or phone it.\n",
		"faq/shipping.txt":  "Shipping is free for orders of ten or more items.\n\nIt does not cost anything on a Monday.\n",
		"заметки/заказ.txt": "Когда можно отменить заказ? До того, как он в пути.\n",
		"long.txt":          strings.Repeat("We can return the order, and the shop can refund the money to your card or account. ", 12) + "\n",
	}
}

// shop is a base in a folder of its own, and the options of its bake.
func shop(t *testing.T, files map[string]string) BakeOptions {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "content", "shop")
	writeFiles(t, folder, files)
	return BakeOptions{Folder: folder, Shelf: filepath.Join(dir, "dist"), Fetcher: testFetcher(t, filepath.Join(dir, "cache")), Version: "v0.1.0", Revision: "abc123"}
}

func mustBake(t *testing.T, o BakeOptions) *Report {
	t.Helper()
	r, err := Bake(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkShelf(t, o.Shelf)
	return r
}

// checkShelf requires that whatever can be seen on a shelf is whole.
func checkShelf(t *testing.T, shelf string) {
	t.Helper()
	entries, err := os.ReadDir(shelf)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		versions, err := os.ReadDir(filepath.Join(shelf, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			folder := filepath.Join(shelf, e.Name(), v.Name())
			switch {
			case strings.HasPrefix(v.Name(), durable.Prefix):
			case e.Name() == "models":
				if _, err := models.Open(os.DirFS(folder), ".", ""); err != nil {
					t.Errorf("%s: %v", folder, err)
				}
			default:
				if v.Name() == "latest" {
					folder = filepath.Dir(folder)
				}
				base, err := reader.Verify(folder, reader.Options{})
				if err != nil {
					t.Errorf("%s: %v", folder, err)
					continue
				}
				base.Close()
			}
		}
	}
}

// leftovers are the unfinished files and folders below dir.
func leftovers(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), durable.Prefix) {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestBakeIsReproducible bakes the same documents in two places, with caches of their own and another number of
// workers.
func TestBakeIsReproducible(t *testing.T) {
	for _, mode := range []string{"keyword", "meaning", "hybrid"} {
		var trees []map[string]string
		for _, workers := range []int{1, 5} {
			o := shop(t, shopFiles())
			o.Mode = mode
			old := runtime.GOMAXPROCS(workers)
			r := mustBake(t, o)
			runtime.GOMAXPROCS(old)
			if r.Unchanged || len(r.Digest) != 64 || r.Chunks < 15 || (r.Embedded == r.Chunks) != (mode != "keyword") {
				t.Errorf("%s: report %+v", mode, r)
			}
			if left := leftovers(t, filepath.Dir(o.Shelf)); len(left) > 0 {
				t.Errorf("%s: left behind: %q", mode, left)
			}
			trees = append(trees, readTree(t, o.Shelf))
		}
		sameTree(t, mode, trees[1], trees[0])
		if len(trees[0]) < 11 {
			t.Errorf("%s: %d files only", mode, len(trees[0]))
		}
	}
}

func TestBakeAgain(t *testing.T) {
	files := shopFiles()
	o := shop(t, files)
	first := mustBake(t, o)
	tree := readTree(t, o.Shelf)

	again := mustBake(t, o)
	if again.Embedded != 0 || !again.Unchanged || again.Digest != first.Digest || again.Chunks != first.Chunks {
		t.Errorf("the second time: %d embedded, unchanged %v, digest %s", again.Embedded, again.Unchanged, again.Digest)
	}
	sameTree(t, "unchanged", readTree(t, o.Shelf), tree)

	// Provenance is not part of the identity, and what is on the shelf does not change.
	o.Revision = "another"
	if r := mustBake(t, o); !r.Unchanged {
		t.Error("another revision of the same documents makes another version")
	}
	sameTree(t, "another revision", readTree(t, o.Shelf), tree)

	old := passagesOf(t, first.Artifact)
	files["faq/shipping.txt"] = strings.Replace(files["faq/shipping.txt"], "Monday", "Friday", 1)
	writeFiles(t, o.Folder, files)
	changed := mustBake(t, o)
	fresh := 0
	for p := range passagesOf(t, changed.Artifact) {
		if !old[p] {
			fresh++
		}
	}
	if changed.Digest == first.Digest || changed.Unchanged || changed.Embedded != fresh || fresh < 1 || fresh >= changed.Chunks {
		t.Errorf("a changed document: %d of %d passages embedded, %d are new", changed.Embedded, changed.Chunks, fresh)
	}
	now := readTree(t, o.Shelf)
	for name, data := range tree {
		if now[name] != data && name != "shop/latest" {
			t.Errorf("a changed document changes %s of the version before", name)
		}
	}
	if now["shop/latest"] != changed.Digest+"\n" {
		t.Errorf("latest is %q", now["shop/latest"])
	}

	// Another model of the same name may not get the vectors of this one.
	if key := vectorKey("native a", "b"); bytes.Equal(key, vectorKey("native", "a b")) {
		t.Error("identity and passage run together")
	}
}

// passagesOf returns what was embedded of an artifact's chunks.
func passagesOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	a := openArtifact(t, folder)
	passages := map[string]bool{}
	for i := range a.Chunks() {
		passages[passageOf(a, i)] = true
	}
	return passages
}

func passageOf(a *artifact.Artifact, chunk int) string {
	text := string(a.ChunkText(chunk))
	if c := a.Chunk(chunk).Context; c != "" {
		return c + "\n" + text
	}
	return text
}

func openArtifact(t *testing.T, folder string) *artifact.Artifact {
	t.Helper()
	a, err := artifact.Open(os.DirFS(folder), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestBakeLeavesOut(t *testing.T) {
	files := shopFiles()
	files["draft.md"] = "---\ndraft: true\n---\nNot yet.\n"
	files["empty.txt"] = ""
	files["blank.md"] = " \n\n\t\n"
	files["picture.png"] = "PNG"
	files[".hidden.md"] = "hidden"
	o := shop(t, files)
	r := mustBake(t, o)
	a := openArtifact(t, r.Artifact)
	verdicts := map[string]string{}
	for i := range a.Documents() {
		d := a.Document(i)
		verdicts[d.Path] = fmt.Sprintf("%s %s", d.Verdict, d.Reason)
		if (d.Verdict == artifact.OK) != (len(a.DocumentText(i)) > 0) {
			t.Errorf("%s: %s, with %d bytes of text", d.Path, d.Verdict, len(a.DocumentText(i)))
		}
		if report := r.Documents[i]; report.Path != d.Path || string(report.Verdict) != d.Verdict.String() || report.Reason != d.Reason {
			t.Errorf("the report says %+v of %+v", report, d)
		}
	}
	for path, want := range map[string]string{"draft.md": "draft ", "empty.txt": "blank ", "blank.md": "blank ", "refunds.md": "ok "} {
		if !strings.HasPrefix(verdicts[path], want) {
			t.Errorf("%s is %q, want %q", path, verdicts[path], want)
		}
	}
	for p := range passagesOf(t, r.Artifact) {
		if strings.Contains(p, "Not yet") {
			t.Errorf("the draft is in a passage: %q", p)
		}
	}
	if len(r.LeftOut) != 2 || r.LeftOut[0].Path != ".hidden.md" || r.LeftOut[1].Path != "picture.png" {
		t.Errorf("left out: %v", r.LeftOut)
	}
	if want := map[string]int{"ok": 5, "blank": 2, "draft": 1}; !maps.Equal(r.Verdicts(), want) {
		t.Errorf("verdicts %v, want %v", r.Verdicts(), want)
	}
}

func TestBakeFailingDocuments(t *testing.T) {
	files := shopFiles()
	files["faq/broken.txt"] = "\xef\xbb\xbfcaf\xe9 latin-1\n"
	files["half.md"] = "\xff\xfeH"
	o := shop(t, files)
	r, err := Bake(context.Background(), o)
	var list *DocumentsError
	if !errors.As(err, &list) || len(list.Documents) != 2 || !strings.Contains(list.Hint(), "skip:") {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{o.Folder, "faq/broken.txt: failed: not UTF-8: invalid byte 0xE9 at offset 6 (line 1)", "half.md: failed: not UTF-16"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if r == nil || len(r.Documents) != 7 || r.Verdicts()["failed"] != 2 || r.Artifact != "" {
		t.Errorf("report %+v", r)
	}
	if _, err := os.Stat(o.Shelf); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is on the shelf: %v", err)
	}

	files["base.yaml"] += "skip: [\"faq/*.txt\", half.md]\n"
	writeFiles(t, o.Folder, files)
	r = mustBake(t, o)
	a := openArtifact(t, r.Artifact)
	skipped := 0
	for i := range a.Documents() {
		if d := a.Document(i); d.Verdict == artifact.Skipped {
			skipped++
			if !strings.HasPrefix(d.Reason, "failed: ") || d.Size != int64(len(files[d.Path])) {
				t.Errorf("skipped %+v", d)
			}
		}
	}
	if skipped != 2 || r.Verdicts()["skipped"] != 2 || r.Verdicts()["ok"] != 5 {
		t.Errorf("%d skipped, verdicts %v", skipped, r.Verdicts())
	}

	// A bake of another mode does not need what the skip list says to be said twice.
	files["base.yaml"] = shopFiles()["base.yaml"]
	writeFiles(t, o.Folder, files)
	o.KeepGoing = true
	if r := mustBake(t, o); r.Verdicts()["skipped"] != 2 {
		t.Errorf("keeping going: verdicts %v", r.Verdicts())
	}
}

func TestBakeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		change func(*BakeOptions)
		want   []string
	}{
		{"no document", map[string]string{"picture.png": "PNG"}, nil, []string{"no document found", ".md"}},
		{"no text", map[string]string{"a.txt": "", "b.md": "\n"}, nil, []string{"no document has text"}},
		{"only drafts", map[string]string{"a.md": "---\ndraft: true\n---\nText.\n"}, nil, []string{"no document has text"}},
		{"settings", map[string]string{"a.txt": "text", "base.yaml": "name: Shop\nmode: both\nchunk_size: 0\ntop_k: 21\ncolour: red\nmetadata:\n  - files: \"[\"\n"}, nil,
			[]string{"base.yaml:1: name", "base.yaml:2: mode", "base.yaml:3: chunk_size", "base.yaml:4: top_k", "base.yaml:5: colour", "base.yaml:7: metadata[0].files"}},
		{"missing folder", shopFiles(), func(o *BakeOptions) { o.Folder = filepath.Join(o.Folder, "absent") }, []string{"absent", "make a folder"}},
		{"known vectors", shopFiles(), func(o *BakeOptions) {
			known := append([]byte{}, o.Fetcher.known...)
			i := bytes.LastIndex(known, []byte(`"codes":"`)) + len(`"codes":"`)
			copy(known[i:], base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7, 0xf9, 7}, 5)))
			o.Fetcher.known = known
		}, []string{"self-test of the embedder", "not to be trusted"}},
		{"no known vectors", shopFiles(), func(o *BakeOptions) { o.Fetcher.known = []byte("{}") }, []string{"no vectors of the model"}},
		{"offline without a model", shopFiles(), func(o *BakeOptions) { o.Fetcher.Cache.Dir = filepath.Join(o.Shelf, "cache") }, []string{"the network is forbidden"}},
		{"encoder in the way", shopFiles(), func(o *BakeOptions) {
			files, err := o.Fetcher.Model(context.Background(), syntheticName)
			if err != nil {
				t.Fatal(err)
			}
			folder, err := preparedEncoder(o.Fetcher.Cache, files)
			if err != nil {
				t.Fatal(err)
			}
			writeFiles(t, folder, map[string]string{models.WeightsFile: "damaged"})
		}, []string{"weights.bin", "remove ", "to have it made again"}},
	} {
		o := shop(t, c.files)
		if c.change != nil {
			c.change(&o)
		}
		_, err := Bake(context.Background(), o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q in it", c.name, err, want)
			}
		}
		if _, err := os.Stat(filepath.Join(o.Shelf, "shop")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something is on the shelf: %v", c.name, err)
		}
	}

	o := shop(t, shopFiles())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Bake(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBakeMetadata follows metadata from base.yaml and front matter to filters.
func TestBakeMetadata(t *testing.T) {
	o := shop(t, shopFiles())
	a := openArtifact(t, mustBake(t, o).Artifact)
	var got []string
	for i := range a.Documents() {
		d := a.Document(i)
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%s", d.Path, d.Title, d.ContentType, d.UnitID, d.Date, strings.Join(d.Topics, ",")))
	}
	want := []string{
		"faq/returns.md|How to return|faq|unit-7|2024-05-06|money,returns",
		"faq/shipping.txt|shipping|faq|||money",
		"long.txt|long||||",
		"refunds.md|Refunds||||",
		"заметки/заказ.txt|заказ||||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("documents\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if values := a.FilterValues("topics"); !slices.Equal(values, []string{"money", "returns"}) {
		t.Errorf("topics %q", values)
	}
	if s := a.Manifest.Settings; s.ChunkSize != 24 || s.ChunkOverlap != 6 || a.Manifest.Base != "shop" {
		t.Errorf("settings %+v of %s", s, a.Manifest.Base)
	}
}

// TestProvenanceTellsNothingOfTheMachine looks for what would differ between two machines.
func TestProvenanceTellsNothingOfTheMachine(t *testing.T) {
	o := shop(t, shopFiles())
	r := mustBake(t, o)
	data, err := artifact.Provenance(os.DirFS(r.Artifact), ".")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Generator, Revision, Embedder string
		Versions                      map[string]string
		Documents                     map[string]int
		Chunks                        int
	}
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	encoder := openArtifact(t, r.Artifact).Manifest.Model.Encoder
	if p.Generator != "larder v0.1.0" || p.Revision != "abc123" || p.Embedder != "native" || p.Versions["encoder"] != encoder || p.Documents["ok"] != 5 || p.Chunks != r.Chunks {
		t.Errorf("provenance %s", data)
	}
	host, err := os.Hostname()
	if err != nil || len(host) < 3 {
		host = "no host name"
	}
	home, err := os.UserHomeDir()
	if err != nil || len(home) < 3 {
		home = "no home folder"
	}
	day := time.Now()
	for name, text := range readTree(t, o.Shelf) {
		for _, secret := range []string{filepath.Dir(o.Shelf), os.TempDir(), host, home, day.Format(time.DateOnly), day.UTC().Format(time.DateOnly)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
}

func TestReport(t *testing.T) {
	files := shopFiles()
	files["draft.md"] = "---\ndraft: true\n---\nNot yet.\n"
	files["broken.txt"] = "\xef\xbb\xbfcaf\xe9\n"
	files["picture.png"] = "PNG"
	files["base.yaml"] += "skip: [broken.txt]\n"
	o := shop(t, files)
	var b strings.Builder
	for _, mode := range []string{"hybrid", "hybrid", "keyword"} {
		o.Mode = mode
		mustBake(t, o).Write(&b)
	}
	got := strings.ReplaceAll(b.String(), o.Shelf, "dist")
	got = regexp.MustCompile(`took [0-9.]+ s.*`).ReplaceAllString(got, "took … s")
	golden := filepath.Join("testdata", "report.txt")
	if *updateReport {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("report (go test -run TestReport -update-report writes it)\n%s\nwant\n%s%v", got, want, err)
	}
}

// TestBakeBundle moves an artifact's folder away from its shelf.
func TestBakeBundle(t *testing.T) {
	o := shop(t, shopFiles())
	o.Bundle = true
	r := mustBake(t, o)
	alone := filepath.Join(t.TempDir(), "alone")
	if err := os.CopyFS(alone, os.DirFS(r.Artifact)); err != nil {
		t.Fatal(err)
	}
	base, err := reader.Verify(alone, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	if _, err := os.Stat(filepath.Join(o.Shelf, "models")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the shelf has an encoder too: %v", err)
	}
	if results, err := base.Search(context.Background(), reader.Query{Text: "damaged item"}); err != nil || len(results.Hits) == 0 {
		t.Errorf("results %+v, %v", results, err)
	}
}

// TestBakeCorpus bakes documents that are in no folder.
func TestBakeCorpus(t *testing.T) {
	o := shop(t, shopFiles())
	o.Folder, o.Name, o.Embedder = "", "corpus", Native
	o.Documents = []CorpusDocument{{"1", "Refund", "We can refund the order."}, {"2", "", "Shipping is free."}, {"3", "", ""}}
	a := openArtifact(t, mustBake(t, o).Artifact)
	if a.Documents() != 3 || a.Chunks() != 2 || a.Manifest.Base != "corpus" {
		t.Errorf("%d documents, %d chunks of %s", a.Documents(), a.Chunks(), a.Manifest.Base)
	}
	for i := range a.Chunks() {
		if c := a.Chunk(i); c.SourceEnd <= c.SourceStart || c.FirstLine != 1 {
			t.Errorf("chunk %+v", c)
		}
	}
}

// TestBakesAtOnce bakes into one shelf with one cache, the same documents and others.
func TestBakesAtOnce(t *testing.T) {
	want := map[string]string{}
	alone := shop(t, shopFiles())
	mustBake(t, alone)
	for name, data := range readTree(t, alone.Shelf) {
		want[name] = data
	}
	o := shop(t, shopFiles())
	other := o
	other.Folder, other.Name, other.Embedder = "", "other", Native
	other.Documents = []CorpusDocument{{"1", "Refund", "We can refund the order."}}
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			o := o
			if i == 3 {
				o = other
			}
			_, errs[i] = Bake(context.Background(), o)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	checkShelf(t, o.Shelf)
	if left := leftovers(t, filepath.Dir(o.Shelf)); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	got := readTree(t, o.Shelf)
	maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, "other/") })
	sameTree(t, "bakes at once", got, want)
}

// TestDamagedVectorCache damages the cache in many ways: a bake gives the right artifact, or an error that names the
// file and the remedy. It never crashes.
func TestDamagedVectorCache(t *testing.T) {
	o := shop(t, shopFiles())
	first := mustBake(t, o)
	file := filepath.Join(o.Fetcher.Cache.Dir, "vectors.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	type damage struct {
		name string
		data []byte
	}
	damages := []damage{{"garbage", bytes.Repeat([]byte("garbage "), 10_000)}, {"short", []byte("x")}}
	for at := 0; at < len(whole); at += page {
		zero, ones := bytes.Clone(whole), bytes.Clone(whole)
		clear(zero[at:min(at+page, len(zero))])
		for i := at; i < min(at+page, len(ones)); i++ {
			ones[i] = 0xff
		}
		damages = append(damages, damage{fmt.Sprintf("zeros at %d", at), zero}, damage{fmt.Sprintf("ones at %d", at), ones})
		if at > 0 {
			damages = append(damages, damage{fmt.Sprintf("cut at %d", at), whole[:at]})
		}
	}
	refused, healed := 0, 0
	for _, d := range damages {
		// A new file each time: until this process ends, a damaged one may stay locked.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, d.data, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := Bake(context.Background(), o)
		switch {
		case err != nil && strings.Contains(err.Error(), "vector cache "+file) && strings.Contains(err.Error(), "remove it"):
			refused++
		case err != nil:
			t.Errorf("%s: %v", d.name, err)
		case r.Digest != first.Digest:
			t.Errorf("%s: another artifact", d.name)
		default:
			healed++
		}
	}
	if refused == 0 || healed == 0 {
		t.Errorf("%d refused, %d healed", refused, healed)
	}

	// A flipped bit in a vector is found by its checksum.
	at := bytes.Index(whole, vectorKey(identityOf(t, o), passageOf(openArtifact(t, first.Artifact), 0)))
	if at < 0 {
		t.Fatal("the first passage is not in the cache")
	}
	flipped := bytes.Clone(whole)
	flipped[at+32+9] ^= 0x40
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, flipped, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := mustBake(t, o); r.Embedded != 1 || r.Digest != first.Digest {
		t.Errorf("a flipped bit: %d embedded, same artifact %v", r.Embedded, r.Digest == first.Digest)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := mustBake(t, o); r.Embedded != r.Chunks || r.Digest != first.Digest {
		t.Errorf("without a cache: %d embedded, same artifact %v", r.Embedded, r.Digest == first.Digest)
	}
	t.Logf("%d kinds of damage: %d refused, %d without harm", len(damages), refused, healed)
}

// identityOf is the identity of the embedder that a bake uses.
func identityOf(t *testing.T, o BakeOptions) string {
	t.Helper()
	files, err := o.Fetcher.Model(context.Background(), syntheticName)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := preparedEncoder(o.Fetcher.Cache, files)
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := loadEncoder(folder)
	if err != nil {
		t.Fatal(err)
	}
	return native{e}.Identity()
}
