package knowledge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit"
	"example.com/larder/models"
	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

func TestMain(m *testing.M) {
	pipeline.RunChild()
	os.Exit(m.Run())
}

// testFetcher has the tokenizer of the synthetic encoder in its cache, and no network.
func testFetcher(t testing.TB) *pipeline.Fetcher {
	t.Helper()
	m, err := models.Lock().Model("all-MiniLM-L6-v2")
	if err != nil {
		t.Fatal(err)
	}
	data := testkit.Tokenizer()
	pin := models.Pin{SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Size: int64(len(data))}
	m.Tokenizer = models.File{Name: "tokenizer.json", Sources: []models.Source{{Kind: models.URL, Pin: pin, URL: "https://invalid/tokenizer.json"}}}
	f := &pipeline.Fetcher{Cache: pipeline.Cache{Dir: t.TempDir()}, Offline: true, Lock: &models.LockFile{Models: []models.Model{m}}}
	writeFiles(t, "", map[string]string{f.Cache.Path("tokenizer.json", pin): string(data)})
	return f
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// documents makes a folder of a few documents.
func documents(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "refunds")
	writeFiles(t, dir, map[string]string{
		"policy/refunds.md": "# Refunds\n\nThe money is back on your card within ten days.\n\n## Damaged goods\n\nWe refund shipping too if the parcel arrives damaged. Code E-4012 says so.\n",
		"returns.txt":       "Send the parcel back within a month, with the receipt.\n",
		"заметки.txt":       "Возврат денег занимает десять дней.\n",
	})
	return dir
}

// wordsOf embeds words by their hashes, so that texts that share words are near.
type wordsOf struct {
	calls  atomic.Int64
	change func([][]float32) ([][]float32, error)
}

func (w *wordsOf) embed(_ context.Context, texts []string, _ Kind) (rows [][]float32, err error) {
	w.calls.Add(1)
	for _, text := range texts {
		v := make([]float32, 64)
		for _, word := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(word, ".,?")))
			v[h.Sum32()%64]++
		}
		v[0] += 0.01 // of a text without words too
		rows = append(rows, v)
	}
	if w.change != nil {
		return w.change(rows)
	}
	return rows, nil
}

// capture is a log that keeps everything, at every level.
type capture struct {
	sync.Mutex
	bytes.Buffer
}

func (c *capture) Write(p []byte) (int, error) {
	c.Lock()
	defer c.Unlock()
	return c.Buffer.Write(p)
}

func (c *capture) text() string {
	c.Lock()
	defer c.Unlock()
	return c.Buffer.String()
}

func (c *capture) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(c, &slog.HandlerOptions{Level: slog.Level(-100), AddSource: true}))
}

func mustNew(t testing.TB, folder string, options ...Option) *Base {
	t.Helper()
	b, err := New("refunds", folder, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func mustStart(t testing.TB, b *Base) {
	t.Helper()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const unavailable = `{"error":"lookup unavailable"}`

func TestNewListsEveryWrongField(t *testing.T) {
	embed := Embed(Function("words 1", 64, (&wordsOf{}).embed))
	for _, c := range []struct {
		name    string
		base    string
		folder  string
		options []Option
		want    []string // field: beginning of the text
	}{
		{"defaults need an embedder", "faq", "faq", nil, []string{"embed: missing, and mode hybrid needs it (allowed: ONNX(), Native(), OpenAI(…), Function(…), Custom(…); or mode keyword)"}},
		{"all at once", "No Name", " ", []Option{Mode("both"), ChunkSize(0), ChunkOverlap(-1), TopK(21), MinScore(1.5), Model("gpt"), CredentialEnv("sk-1 2")}, []string{
			`name: "No Name" can't name a base (up to 63 of a-z, 0-9, _ and -`, `mode: "both" is not one of meaning, keyword, hybrid`, "chunk_size: 0 is out of range (1 to 2048)",
			"chunk_overlap: -1 is out of range (0 to 2048)", "top_k: 21 is out of range (1 to 20)", "min_score: 1.5 is out of range (0 to 1; only 0 in keyword mode)",
			`model: "gpt" is not one of `, "credential_env: is not the name of an environment variable (", `folder: " " is not a path (allowed: the folder that holds the documents)`,
		}},
		{"overlap above size", "faq", "faq", []Option{embed, ChunkSize(10)}, []string{"chunk_overlap: 20 is out of range (0 to chunk_size, which is 10)"}},
		{"a score in keyword mode", "faq", "faq", []Option{Mode("keyword"), MinScore(0.1)}, []string{"min_score: 0.1 is out of range (only 0 in keyword mode)"}},
		{"an embedder in keyword mode", "faq", "faq", []Option{Mode("keyword"), embed}, []string{"embed: keyword mode embeds nothing (allowed: no Embed, or mode meaning or hybrid)"}},
		{"a function without an identity", "faq", "faq", []Option{Embed(Function(" ", 0, nil))}, []string{"embed: an identity of 1 bytes, or not one line of text (allowed: ", "embed: vectors of 0 dimensions (allowed: 1 to 4096)", "embed: a function that is nil ("}},
		{"a builder that is nil", "faq", "faq", []Option{Embed(Custom(nil))}, []string{"embed: a function that is nil ("}},
		{"a path with NUL", "faq", "a\x00b", []Option{Mode("keyword"), IndexDir("\x00")}, []string{`folder: "a\x00b" is not a path`, `index_dir: "\x00" is not a path`}},
	} {
		b, err := New(c.base, c.folder, c.options...)
		invalid := new(ValidationError)
		if b != nil || !errors.As(err, &invalid) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if errors.As(err, new(*Error)) {
			t.Errorf("%s: the error is an Error too", c.name)
		}
		var got []string
		for _, p := range invalid.Problems {
			got = append(got, p.Field+": "+p.Text)
			if !strings.Contains(err.Error(), p.Field+": "+p.Text) {
				t.Errorf("%s: %q lacks %q", c.name, err, p)
			}
			if !strings.Contains(p.Text, "(") && p.Field != "mode" && p.Field != "model" {
				t.Errorf("%s: %s doesn't say what is allowed: %s", c.name, p.Field, p.Text)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: problems\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			continue
		}
		for _, w := range c.want {
			if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
				t.Errorf("%s: problems\n%s\nlack %s", c.name, strings.Join(got, "\n"), w)
			}
		}
	}
}

func TestNewTakesTheLimits(t *testing.T) {
	for _, options := range [][]Option{
		{Mode("keyword")},
		{Mode("keyword"), ChunkSize(1), ChunkOverlap(0), TopK(1)},
		{Mode("keyword"), ChunkSize(2048), ChunkOverlap(2048), TopK(20), nil, Log(nil), LookupEnv(nil)},
		{Embed(ONNX())}, {Embed(Native()), Model("e5-small-v2")},
		{Mode("meaning"), MinScore(1), Embed(Function("x", 1, (&wordsOf{}).embed))},
		{Embed(OpenAI(OpenAIOptions{Model: "text-embedding-3-small"})), CredentialEnv("OPENAI_API_KEY")},
	} {
		if _, err := New("faq", "nowhere", options...); err != nil {
			t.Error(err)
		}
	}
	b := mustNew(t, "nowhere", Mode("keyword"))
	s := b.config.settings
	if s.ChunkSize != 90 || s.ChunkOverlap != 20 || s.TopK != 3 || s.MinScore != 0 || b.config.indexDir != "" || b.config.credentialEnv != "" {
		t.Errorf("defaults %+v", b.config)
	}
	if hybrid := newConfig(nil); hybrid.settings.Mode != "hybrid" {
		t.Errorf("mode %s", hybrid.settings.Mode)
	}
}

// modes are the options of each mode.
func modes(w *wordsOf) map[string][]Option {
	embed := Embed(Function("words 1", 64, w.embed))
	return map[string][]Option{
		"keyword": {Mode("keyword")}, "meaning": {Mode("meaning"), embed}, "hybrid": {embed},
	}
}

func TestShapes(t *testing.T) {
	folder := documents(t)
	for mode, options := range modes(&wordsOf{}) {
		b := mustNew(t, folder, append(options, Fetcher(testFetcher(t)), Log(nil))...)
		if got := asJSON(t, b.LookUp(t.Context(), "refund")); got != unavailable {
			t.Errorf("%s: before Start: %s", mode, got)
		}
		mustStart(t, b)
		mustStart(t, b) // a second call changes nothing
		got := b.LookUp(t.Context(), "Is shipping refunded if the parcel arrives damaged?")
		if len(got.Results) == 0 || len(got.Results) > 3 {
			t.Fatalf("%s: %s", mode, asJSON(t, got))
		}
		for i, p := range got.Results {
			if strings.ContainsAny(p.Source, `/\`) || p.Source == "" || p.Text == "" {
				t.Errorf("%s: source %q", mode, p.Source)
			}
			if (p.Score == nil) != (mode == "keyword") && mode != "hybrid" || i == 0 && mode == "hybrid" && p.Score == nil {
				t.Errorf("%s: hit %d has score %v", mode, i, p.Score)
			}
			if keys := keysOf(t, p); !slices.Equal(keys, []string{"source", "text"}) && !slices.Equal(keys, []string{"score", "source", "text"}) {
				t.Errorf("%s: a passage has %q", mode, keys)
			}
		}
		for name, query := range map[string]string{"empty": "", "blank": " \n\t", "control": "\x00\x01"} {
			if got := asJSON(t, b.LookUp(t.Context(), query)); got != `{"results":[]}` {
				t.Errorf("%s: %s: %s", mode, name, got)
			}
		}
		for name, query := range map[string]string{
			"huge": "refund " + strings.Repeat("parcel ", 1<<20/7), "binary": "refund \x00\x01\x02\xff\xfe", "invalid": "refund \xc3\x28",
		} {
			if a := b.LookUp(t.Context(), query); a.Error != "" || a.Results == nil {
				t.Errorf("%s: %s: %.200s", mode, name, asJSON(t, a))
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got := asJSON(t, b.LookUp(ended, "refund")); got != unavailable {
			t.Errorf("%s: cancelled: %s", mode, got)
		}
		var none context.Context // what a careless caller gives
		if got := asJSON(t, b.LookUp(none, "refund")); got != unavailable {
			t.Errorf("%s: without a context: %s", mode, got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if got := asJSON(t, b.LookUp(t.Context(), "refund")); got != unavailable {
			t.Errorf("%s: after Close: %s", mode, got)
		}
	}
	if got := asJSON(t, (*Base)(nil).LookUp(t.Context(), "refund")); got != unavailable {
		t.Errorf("nil: %s", got)
	}
}

func keysOf(t *testing.T, v any) []string {
	var m map[string]any
	if err := json.Unmarshal([]byte(asJSON(t, v)), &m); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestFailedSearch(t *testing.T) {
	w := &wordsOf{}
	b := mustNew(t, documents(t), Embed(Function("words 1", 64, w.embed)), Fetcher(testFetcher(t)), Log(nil))
	mustStart(t, b)
	for name, change := range map[string]func([][]float32) ([][]float32, error){
		"error":   func([][]float32) ([][]float32, error) { return nil, errors.New("refund") },
		"none":    func([][]float32) ([][]float32, error) { return nil, nil },
		"short":   func(r [][]float32) ([][]float32, error) { return [][]float32{r[0][1:]}, nil },
		"panic":   func([][]float32) ([][]float32, error) { panic("refund") },
		"no time": func([][]float32) ([][]float32, error) { return nil, context.DeadlineExceeded },
	} {
		w.change = change
		if got := asJSON(t, b.LookUp(t.Context(), "refund")); got != unavailable {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMinScoreDropsMeaningHits(t *testing.T) {
	folder := documents(t)
	query := "money within ten days"
	all := mustNew(t, folder, Mode("meaning"), TopK(20), Embed(Function("words 1", 64, (&wordsOf{}).embed)), Fetcher(testFetcher(t)), Log(nil))
	mustStart(t, all)
	some := mustNew(t, folder, Mode("meaning"), TopK(20), MinScore(0.4), Embed(Function("words 1", 64, (&wordsOf{}).embed)), Fetcher(testFetcher(t)), Log(nil))
	mustStart(t, some)
	n, above := all.LookUp(t.Context(), query), 0
	for _, p := range n.Results {
		if *p.Score >= 0.4 {
			above++
		}
	}
	if got := some.LookUp(t.Context(), query); len(got.Results) != above || above == 0 || above == len(n.Results) {
		t.Errorf("%d of %d hits, of which %d are above the least score", len(got.Results), len(n.Results), above)
	}
}

func TestBakeAndStart(t *testing.T) {
	folder := documents(t)
	for mode, options := range modes(&wordsOf{}) {
		fetcher := testFetcher(t)
		index := filepath.Join(t.TempDir(), ".index", "refunds")
		log := &capture{}
		options = append(options, IndexDir(index), Fetcher(fetcher), Log(log.logger()))
		memory := mustNew(t, folder, options...)
		mustStart(t, memory) // there is no index yet
		if !strings.Contains(log.text(), `"level":"WARN"`) || !strings.Contains(log.text(), "no baked index") {
			t.Errorf("%s: the log doesn't warn: %s", mode, log.text())
		}
		if err := memory.Bake(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The documents may be gone: Start only loads.
		hidden := folder + "-gone"
		if err := os.Rename(folder, hidden); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		w := &wordsOf{}
		options = slices.Clone(options)
		if mode != "keyword" {
			options = append(options, Embed(Function("words 1", 64, w.embed)))
		}
		baked := mustNew(t, folder, options...)
		mustStart(t, baked)
		if strings.Contains(log.text(), "WARN") || !strings.Contains(log.text(), `"msg":"loaded","base":"refunds"`) {
			t.Errorf("%s: log %s", mode, log.text())
		}
		if n := w.calls.Load(); n > 1 {
			t.Errorf("%s: Start embedded %d times; one query is its self-test", mode, n)
		}
		query := "shipping damaged parcel"
		if a, b := asJSON(t, memory.LookUp(t.Context(), query)), asJSON(t, baked.LookUp(t.Context(), query)); a != b {
			t.Errorf("%s: from memory %s, from the index %s", mode, a, b)
		}
		// A lookup opens no file: the index may be gone too.
		if err := os.RemoveAll(index); err != nil {
			t.Fatal(err)
		}
		if a := baked.LookUp(t.Context(), query); len(a.Results) == 0 {
			t.Errorf("%s: %s", mode, asJSON(t, a))
		}
		if err := os.Rename(hidden, folder); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartRefusesOtherSettings(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	index := filepath.Join(t.TempDir(), "refunds")
	embed := func(identity string, dimensions int) Option {
		w := &wordsOf{change: func(rows [][]float32) ([][]float32, error) {
			for i := range rows {
				rows[i] = rows[i][:dimensions]
			}
			return rows, nil
		}}
		return Embed(Function(identity, dimensions, w.embed))
	}
	base := func(name string, options ...Option) *Base {
		b, err := New(name, folder, append([]Option{embed("words 1", 64), IndexDir(index), Fetcher(fetcher), Log(nil)}, options...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	if err := base("refunds").Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base *Base
		want []string
	}{
		{base("refunds", Mode("meaning")), []string{"mode was hybrid and is meaning"}},
		{base("refunds", ChunkSize(64), ChunkOverlap(10)), []string{"chunk_size was 90 and is 64", "chunk_overlap was 20 and is 10"}},
		{base("refunds", TopK(5)), []string{"top_k was 3 and is 5"}},
		{base("refunds", MinScore(0.25)), []string{"min_score was 0 and is 0.25"}},
		{base("refunds", embed("words 2", 64)), []string{`model was function "words 1" and is function "words 2"`}},
		{base("other"), []string{"name was refunds and is other"}},
	} {
		err := c.base.Start(t.Context())
		failed := new(Error)
		if !errors.As(err, &failed) || failed.Op != "start" || !strings.HasSuffix(err.Error(), "; bake it again") {
			t.Errorf("%v", err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v lacks %q", err, w)
			}
		}
		if got := asJSON(t, c.base.LookUp(t.Context(), "refund")); got != unavailable {
			t.Errorf("after a failed Start: %s", got)
		}
	}
	mustStart(t, base("refunds"))
}

func TestStartRefusesABrokenIndex(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	for name, breakIt := range map[string]func(index string) error{
		"no latest":    func(index string) error { return os.Remove(filepath.Join(index, "latest")) },
		"wrong latest": func(index string) error { return os.WriteFile(filepath.Join(index, "latest"), []byte("x\n"), 0o666) },
		"a file":       func(index string) error { return errors.Join(os.RemoveAll(index), os.WriteFile(index, nil, 0o666)) },
		"a section": func(index string) error {
			names, err := filepath.Glob(filepath.Join(index, "*", "text.bin"))
			if err != nil || len(names) != 1 {
				return fmt.Errorf("%d files: %v", len(names), err)
			}
			return os.WriteFile(names[0], []byte("x"), 0o666)
		},
		"something else": func(index string) error {
			return errors.Join(os.RemoveAll(index), os.MkdirAll(index, 0o777), os.WriteFile(filepath.Join(index, "notes.txt"), nil, 0o666))
		},
	} {
		index := filepath.Join(t.TempDir(), "refunds")
		b := mustNew(t, folder, Mode("keyword"), IndexDir(index), Fetcher(fetcher), Log(nil))
		if err := b.Bake(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := breakIt(index); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(t.Context()); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), index) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What an interrupted bake leaves is no index.
	index := filepath.Join(t.TempDir(), "refunds")
	writeFiles(t, index, map[string]string{".tmp-123/text.bin": "x"})
	b := mustNew(t, folder, Mode("keyword"), IndexDir(index), Fetcher(fetcher), Log(nil))
	mustStart(t, b)
}

func TestErrorsOfDocuments(t *testing.T) {
	fetcher := testFetcher(t)
	empty, blank, scanned := t.TempDir(), t.TempDir(), t.TempDir()
	writeFiles(t, blank, map[string]string{"a.txt": " \n"})
	writeFiles(t, scanned, map[string]string{"a.txt": "text", "scan.pdf": blankPDF})
	for name, c := range map[string]struct{ folder, want string }{
		"missing":   {filepath.Join(empty, "missing"), filepath.Join(empty, "missing")},
		"empty":     {empty, "no document"},
		"no text":   {blank, "no document has text"},
		"no layer":  {scanned, "scan.pdf: "},
		"not a dir": {filepath.Join(blank, "a.txt"), "a.txt"},
	} {
		b := mustNew(t, c.folder, Mode("keyword"), IndexDir(filepath.Join(t.TempDir(), "i")), Fetcher(fetcher), Log(nil))
		for op, do := range map[string]func(context.Context) error{"start": b.Start, "bake": b.Bake} {
			err := do(t.Context())
			failed := new(Error)
			if !errors.As(err, &failed) || failed.Op != op || failed.Base != "refunds" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", name, op, err, c.want)
			}
			if errors.As(err, new(*ValidationError)) {
				t.Errorf("%s: %s: a ValidationError", name, op)
			}
		}
	}
	b := mustNew(t, documents(t), Mode("keyword"), Fetcher(fetcher), Log(nil))
	if err := b.Bake(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no index_dir") {
		t.Errorf("baked without an index_dir: %v", err)
	}
}

func TestCredential(t *testing.T) {
	const secret = "sk-very-secret"
	env := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	built := 0
	custom := Custom(func(context.Context) (Embedder, error) {
		built++
		return nil, errors.New("built")
	})
	folder := filepath.Join(t.TempDir(), "missing") // which is found out later
	b := mustNew(t, folder, Embed(custom), CredentialEnv("SOME_API_KEY"), IndexDir(t.TempDir()), LookupEnv(lookup), Fetcher(testFetcher(t)), Log(nil))
	for _, value := range []string{"", " "} {
		if value != "" {
			env["SOME_API_KEY"] = value
		}
		for _, do := range []func(context.Context) error{b.Start, b.Bake} {
			err := do(t.Context())
			if failed := new(Error); !errors.As(err, &failed) || !strings.Contains(err.Error(), "SOME_API_KEY is not set") || !strings.HasSuffix(err.Error(), failed.Hint()) || failed.Hint() == "" {
				t.Errorf("%v", err)
			}
		}
	}
	if built != 0 {
		t.Errorf("the embedder was built %d times without its key", built)
	}
	env["SOME_API_KEY"] = secret
	if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "built") || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
	// Keyword mode has no use for a key.
	mustStart(t, mustNew(t, documents(t), Mode("keyword"), CredentialEnv("MISSING_KEY"), LookupEnv(lookup), Fetcher(testFetcher(t)), Log(nil)))
}

func TestTool(t *testing.T) {
	b := mustNew(t, documents(t), Mode("keyword"), Fetcher(testFetcher(t)), Log(nil))
	const note = "The results may not answer the question. They are ordered best first, and each carries a relevance score where a higher number means a closer match. If nothing returned actually answers what was asked, say you do not have that information rather than offering the closest result."
	const schema = `"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to look up. Use the caller's own words."}},"required":["query"],"additionalProperties":false}}`
	if got, want := asJSON(t, b.Tool("", "").Tool), `{"name":"look_up","description":"`+note+`",`+schema; got != want {
		t.Errorf("%s\n%s", got, want)
	}
	tool := b.Tool("look_up_refund_policy", "Look up the refund policy.")
	if got, want := asJSON(t, tool.Tool), `{"name":"look_up_refund_policy","description":"Look up the refund policy.\n\n`+note+`",`+schema; got != want {
		t.Errorf("%s\n%s", got, want)
	}
	call := func(arguments string) (string, error) {
		a, err := tool.Call(t.Context(), json.RawMessage(arguments))
		return asJSON(t, a), err
	}
	if got, err := call(`{"query": "parcel"}`); err != nil || got != unavailable {
		t.Errorf("before Start: %s, %v", got, err)
	}
	mustStart(t, b)
	if got, err := call(`{"query": "parcel"}`); err != nil || !strings.HasPrefix(got, `{"results":[{"text":`) {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "{}", `{"query": "a"}]`, `{"QUERY": "a"}`, `{"query": 3}`, `{"query": "a", "top_k": 3}`, `"a"`, `null`, `{"query": "a"} {}`, `{"query": null}`} {
		if _, err := call(bad); !errors.Is(err, ErrArguments) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestLogsTellNothing: whatever happens, neither query nor passage is in the log.
func TestLogsTellNothing(t *testing.T) {
	const marked = "Zanzibar"
	folder := documents(t)
	writeFiles(t, folder, map[string]string{"marked.md": "# " + marked + "\n\nThe passage names " + marked + " and the parcel.\n"})
	log := &capture{}
	w := &wordsOf{}
	index := filepath.Join(t.TempDir(), "refunds")
	options := []Option{Embed(Function("words 1", 64, w.embed)), IndexDir(index), Fetcher(testFetcher(t)), Log(log.logger())}
	b := mustNew(t, folder, options...)
	lookups := func() {
		ended, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		for _, q := range []string{marked, marked + "\x00\xff", strings.Repeat(marked+" ", 1<<16), ""} {
			b.LookUp(t.Context(), q)
			b.LookUp(ended, q)
		}
		w.change = func([][]float32) ([][]float32, error) { return nil, errors.New("can't embed " + marked) }
		b.LookUp(t.Context(), marked)
		w.change = func([][]float32) ([][]float32, error) { panic(marked) }
		b.LookUp(t.Context(), marked)
		w.change = nil
	}
	lookups()
	mustStart(t, b)
	lookups()
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Close()
	lookups()
	mustStart(t, b)
	lookups()
	text := log.text()
	for _, kind := range []string{"looked up before Start", "no baked index", "baked", "loaded", `"msg":"lookup"`, "lookup failed", "lookup panicked"} {
		if !strings.Contains(text, kind) {
			t.Errorf("the log lacks %s:\n%s", kind, text)
		}
	}
	if strings.Contains(strings.ToLower(text), strings.ToLower(marked)) {
		t.Errorf("the log tells of %s:\n%s", marked, text)
	}
}

// TestBaseYAMLBeside: what New has no option for is taken from a base.yaml, and what both say must agree.
func TestBaseYAMLBeside(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	writeFiles(t, folder, map[string]string{"base.yaml": "top_k: 3\nskip: ['*.pdf']\nmetadata:\n- files: '**'\n  content_type: faq\n", "broken.pdf": "no PDF"})
	b := mustNew(t, folder, Mode("keyword"), Fetcher(fetcher), Log(nil))
	mustStart(t, b)
	if got := b.Current().Artifact().FilterValues(artifact.FieldContentType); !slices.Equal(got, []string{"faq"}) {
		t.Errorf("content types %q", got)
	}
	b = mustNew(t, folder, Mode("keyword"), TopK(5), Fetcher(fetcher), Log(nil))
	if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "top_k is 3 in base.yaml, line 1, and 5 in the program") {
		t.Errorf("%v", err)
	}
	writeFiles(t, folder, map[string]string{"base.yaml": "skip: ['*.pdf']\ncredential_env: OTHER_KEY\ntool: {name: ask}\n"})
	b = mustNew(t, folder, Mode("keyword"), Fetcher(fetcher), Log(nil))
	if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "credential_env is OTHER_KEY in base.yaml") || !strings.Contains(err.Error(), "tool is in base.yaml, line 3") {
		t.Errorf("%v", err)
	}
}

// TestIndexAmongDocuments: what is in an index would become documents.
func TestIndexAmongDocuments(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for index, ok := range map[string]bool{
		folder: false, filepath.Join(folder, "index"): false, filepath.Join(folder, "policy"): false, filepath.Join(link, "index"): false,
		filepath.Join(folder, ".index"): true, folder + "-index": true, filepath.Join(folder, "..", "index"): true,
	} {
		b := mustNew(t, folder, Mode("keyword"), IndexDir(index), Fetcher(fetcher), Log(nil))
		for _, err := range []error{b.Bake(t.Context()), b.Start(t.Context())} {
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "lies among the documents") {
				t.Errorf("%s: %v", index, err)
			}
		}
	}
}

// TestStartEnds: a context that ends also ends what Start waits for.
func TestStartEnds(t *testing.T) {
	w := &wordsOf{}
	index := filepath.Join(t.TempDir(), "refunds")
	hang := false
	embed := func(ctx context.Context, texts []string, as Kind) ([][]float32, error) {
		if hang {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return w.embed(ctx, texts, as)
	}
	b := mustNew(t, documents(t), Embed(Function("words 1", 64, embed)), IndexDir(index), Fetcher(testFetcher(t)), Log(nil))
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	hang = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Start(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDeclared(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	writeFiles(t, folder, map[string]string{"base.yaml": "name: policy\nmode: keyword\ntop_k: 2\nlanguage: en\nindex_dir: ../.index/policy\ntool: {name: look_up_policy, description: Look up the policy.}\n"})
	log := &capture{}
	declared := func() *Base {
		b, err := Declared(folder, Fetcher(fetcher), Log(log.logger()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	b := declared()
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), ".index", "policy", "latest")); err != nil {
		t.Error(err)
	}
	mustStart(t, b)
	if a := b.LookUp(t.Context(), "parcel"); len(a.Results) != 2 || b.Name() != "policy" {
		t.Errorf("%s: %s", b.Name(), asJSON(t, a))
	}
	if tool := b.Tool("", ""); tool.Name != "look_up_policy" || tool.Description != "Look up the policy.\n\n"+reader.WeakResultsNote {
		t.Errorf("%+v", tool)
	}
	// The base.yaml changes, and the index does not.
	writeFiles(t, folder, map[string]string{"base.yaml": "name: policy\nmode: keyword\ntop_k: 2\nlanguage: ru\nindex_dir: ../.index/policy\n"})
	if err := declared().Start(t.Context()); err == nil || !strings.Contains(err.Error(), "language was en and is ru") {
		t.Errorf("%v", err)
	}
	writeFiles(t, folder, map[string]string{"base.yaml": "top_k: 50\nmode: no\n"})
	_, err := Declared(folder)
	if invalid := new(ValidationError); !errors.As(err, &invalid) || len(invalid.Problems) != 2 || !strings.Contains(err.Error(), "base.yaml:1") {
		t.Errorf("%v", err)
	}
	if _, err := Declared(filepath.Join(folder, "missing")); !errors.As(err, new(*Error)) {
		t.Errorf("%v", err)
	}
	if _, err := Declared(folder, TopK(2)); !errors.As(err, new(*ValidationError)) {
		t.Errorf("%v", err)
	}
}

// TestNewVersion: a base follows the index, and stays where it is if the new one was made with other settings.
func TestNewVersion(t *testing.T) {
	folder, fetcher := documents(t), testFetcher(t)
	index := filepath.Join(t.TempDir(), "refunds")
	log := &capture{}
	options := []Option{Mode("keyword"), IndexDir(index), Fetcher(fetcher), Log(log.logger())}
	b := mustNew(t, folder, options...)
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustStart(t, b)
	writeFiles(t, folder, map[string]string{"new.txt": "Vouchers are valid for a year.\n"})
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if changed, err := b.live.Check(t.Context()); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if a := b.LookUp(t.Context(), "vouchers"); len(a.Results) == 0 || a.Results[0].Source != "new.txt" {
		t.Errorf("%s", asJSON(t, a))
	}
	other := mustNew(t, folder, append(options, TopK(7))...)
	if err := other.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.live.Check(t.Context()); err == nil {
		t.Error("a version with other settings was taken")
	}
	if a := b.LookUp(t.Context(), "vouchers"); len(a.Results) == 0 || !strings.Contains(log.text(), "top_k") {
		t.Errorf("%s\n%s", asJSON(t, a), log.text())
	}
}

// blankPDF is a PDF file with a page on which nothing but a picture is: no text layer.
const blankPDF = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
	"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>endobj\n" +
	"4 0 obj<</Length 29>>stream\nq 200 0 0 200 0 0 cm /I Do Q \nendstream endobj\n" +
	"5 0 obj<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\nA\nendstream endobj\n" +
	"trailer<</Root 1 0 R>>\n%%EOF\n"
