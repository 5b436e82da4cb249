package knowledge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

// wordServer is a service whose vectors count words by their hashes. It takes the key "sesame" alone, and knows no
// dimensions but those of its model.
func wordServer(t *testing.T) *httptest.Server {
	t.Helper()
	w := &wordsOf{}
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var in struct {
			Input      []string
			Model      string
			Dimensions int
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Dimensions != 0 || r.Header.Get("Authorization") != "Bearer sesame" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		rows, _ := w.embed(r.Context(), in.Input, AsPassage)
		type row struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []row
		for i, v := range rows {
			data = append(data, row{"embedding", i, v})
		}
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(map[string]any{"object": "list", "model": in.Model, "data": data, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
	}))
	t.Cleanup(s.Close)
	return s
}

// TestService: base.yaml declares the service; the artifact remembers its model, and who reads it finds the service by the
// environment.
func TestService(t *testing.T) {
	server := wordServer(t)
	folder, fetcher := documents(t), testFetcher(t)
	writeFiles(t, folder, map[string]string{"base.yaml": "name: policy\nembedder: openai\nopenai: {model: words, base_url: '" + server.URL + "/v1', query_prefix: 'query: ', batch: 2}\ncredential_env: WORDS_KEY\nindex_dir: ../dist/policy\n"})
	env := map[string]string{"WORDS_KEY": "sesame", "OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "sesame"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	b, err := Declared(folder, Fetcher(fetcher), Log(nil), LookupEnv(lookup))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Bake(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustStart(t, b)
	want := asJSON(t, b.LookUp(t.Context(), "money back within ten days"))
	if !strings.Contains(want, `"score"`) {
		t.Errorf("%s", want)
	}

	// The command line bakes it too, by pipeline alone.
	o := pipeline.BakeOptions{Folder: folder, Shelf: filepath.Join(filepath.Dir(folder), "shelf"), Fetcher: fetcher, OpenEmbedder: OpenEmbedder(lookup)}
	report, err := pipeline.Bake(t.Context(), o)
	if err != nil || report.Embedded != 0 {
		t.Fatalf("%d embedded, %v", report.Embedded, err)
	}
	m := b.Current().Manifest()
	if m.Model.Embedder != `openai "words" dimensions 64 query "query: " passage ""` || m.Model.Name != "words" {
		t.Errorf("%+v", m.Model)
	}
	e, err := QueryEncoder(t.Context(), m, lookup)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.OpenDir(report.Artifact, reader.Options{QueryEncoder: e})
	if err != nil {
		t.Fatal(err)
	}
	if got := asJSON(t, r.LookUp(t.Context(), "money back within ten days")); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	// Without the key, with a wrong one, and of an embedder that nobody else has.
	env["OPENAI_API_KEY"] = "wrong"
	if _, err := QueryEncoder(t.Context(), m, lookup); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
	if _, err := QueryEncoder(t.Context(), &artifact.Manifest{Model: &artifact.Model{Name: "x", Embedder: `function "x"`, Dimensions: 3}}, lookup); err == nil {
		t.Error("a function was found")
	}
	env["OPENAI_API_KEY"] = "sesame"
	delete(env, "OPENAI_BASE_URL")
	if _, err := QueryEncoder(t.Context(), m, lookup); err == nil || !strings.Contains(err.(interface{ Hint() string }).Hint(), "OPENAI_BASE_URL") {
		t.Errorf("an artifact alone had somebody asked: %v", err)
	}
	if e, err := QueryEncoder(t.Context(), &artifact.Manifest{}, lookup); e != nil || err != nil {
		t.Errorf("%v, %v", e, err)
	}
	delete(env, "WORDS_KEY")
	for _, do := range []error{b.Bake(t.Context()), func() error { _, err := pipeline.Bake(t.Context(), o); return err }()} {
		if do == nil || !strings.Contains(do.Error(), "WORDS_KEY is not set") {
			t.Errorf("%v", do)
		}
	}
}

func TestParseIdentity(t *testing.T) {
	for _, o := range []OpenAIOptions{
		{Model: "m", Dimensions: 3}, {Model: `a "b" dimensions 3 query`, Dimensions: 1536, QueryPrefix: `"`, PassagePrefix: "я\n"},
	} {
		if got, ok := parseIdentity(o.identity(o.Dimensions)); !ok || got != o {
			t.Errorf("%+v of %s", got, o.identity(o.Dimensions))
		}
	}
	for _, bad := range []string{"", "openai", `openai "m" dimensions 0 query "" passage "" x`, `openai  "m" dimensions 3 query "" passage ""`, `openai "" dimensions 3 query "" passage ""`, `function "m"`} {
		if o, ok := parseIdentity(bad); ok {
			t.Errorf("%q: %+v", bad, o)
		}
	}
}

// TestServiceByEnvironment: where a service is, and its key, come from the same place.
func TestServiceByEnvironment(t *testing.T) {
	server := wordServer(t)
	env := map[string]string{"WORDS_KEY": "sesame", "OPENAI_BASE_URL": server.URL + "/v1"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	b := mustNew(t, documents(t), Embed(OpenAI(OpenAIOptions{Model: "words"})), CredentialEnv("WORDS_KEY"), LookupEnv(lookup), Fetcher(testFetcher(t)), Log(nil))
	mustStart(t, b)
	if a := b.LookUp(t.Context(), "money back"); len(a.Results) == 0 {
		t.Errorf("%s", asJSON(t, a))
	}
}

// TestKeyIsNotPrinted, however a base is printed.
func TestKeyIsNotPrinted(t *testing.T) {
	o := OpenAIOptions{Model: "words", Key: "sesame"}
	b := mustNew(t, "nowhere", Embed(OpenAI(o)))
	for _, v := range []any{o, &o, b, OpenAI(o)} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, "sesame") {
				t.Errorf("%s of %T: %s", format, v, got)
			}
		}
	}
}

// TestLongQuery: of a query that is too long for the model its beginning is asked for.
func TestLongQuery(t *testing.T) {
	longest := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		if len(in.Input[0]) > 500 {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		longest = max(longest, len(in.Input[0]))
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"data": [{"index": 0, "embedding": [1, 2]}]}`))
	}))
	defer server.Close()
	e, err := NewOpenAI(t.Context(), OpenAIOptions{Model: "words", BaseURL: server.URL, Dimensions: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.EmbedQuery(t.Context(), strings.Repeat("вопрос ", 400)); err != nil || longest < 200 {
		t.Errorf("%v, %d bytes", err, longest)
	}
}
