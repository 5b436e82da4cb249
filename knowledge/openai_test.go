package knowledge

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testKey     = "sk-Quagga-551955195519-Zebra"
	testPassage = "marmalade_refund_hedgehog lives in Omsk"
	testQuery   = "walrus_invoice_seventeen"
)

// An asked is a request as the service saw it.
type asked struct {
	Model      string
	Input      []string
	Dimensions *int
	key        string
	header     http.Header
}

// A fakeService answers with vectors of 4 dimensions that tell texts apart, unless answer writes something else.
type fakeService struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []asked
	answer func(w http.ResponseWriter, number int, q asked) (answered bool)
}

func newFakeService(t *testing.T, answer func(w http.ResponseWriter, number int, q asked) bool) *fakeService {
	t.Helper()
	s := &fakeService{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q asked
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		q.key, q.header = r.Header.Get("Authorization"), r.Header
		s.mu.Lock()
		s.asked = append(s.asked, q)
		number := len(s.asked)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if s.answer == nil || !s.answer(w, number, q) {
			writeVectors(w, q.Input, func(i int) int { return i })
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *fakeService) requests() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *fakeService) options() OpenAIOptions {
	return OpenAIOptions{Model: "small", BaseURL: s.URL + "/v1", Key: testKey, KeyEnv: "SHOP_KEY", Retries: -1}
}

// fakeVector is what the service makes of a text: not of length 1.
func fakeVector(text string) []float64 {
	return []float64{3, float64(len(text)), -float64(text[len(text)-1]), 0.5}
}

// writeVectors answers in the order that place gives.
func writeVectors(w io.Writer, texts []string, place func(int) int) {
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []item
	for i := range texts {
		data = append(data, item{"embedding", place(i), fakeVector(texts[place(i)])})
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "small", "usage": map[string]int{"total_tokens": 1}})
}

// checkVectors compares with what the service makes of the texts, scaled.
func checkVectors(t *testing.T, rows [][]float32, texts ...string) {
	t.Helper()
	if len(rows) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(rows), len(texts))
	}
	for i, text := range texts {
		want := fakeVector(text)
		length := 0.0
		for _, x := range want {
			length += x * x
		}
		for j, x := range want {
			if len(rows[i]) != len(want) || math.Abs(float64(rows[i][j])-x/math.Sqrt(length)) > 1e-6 {
				t.Fatalf("%.40q: %v, not %v over %v", text, rows[i], want, math.Sqrt(length))
			}
		}
	}
}

func mustOpenAI(t *testing.T, o OpenAIOptions) *openAI {
	t.Helper()
	e, err := NewOpenAI(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e.(*openAI)
}

func TestOpenAI(t *testing.T) {
	s := newFakeService(t, func(w http.ResponseWriter, _ int, q asked) bool {
		n := len(q.Input)
		writeVectors(w, q.Input, func(i int) int { return n - 1 - i })
		return true
	})
	o := s.options()
	o.Batch, o.QueryPrefix, o.PassagePrefix = 3, "query: ", "passage: "
	e := mustOpenAI(t, o)
	if e.Dimensions() != 4 || e.Model() != "small" || len(e.Versions()) != 0 {
		t.Errorf("%d dimensions, model %s, versions %v", e.Dimensions(), e.Model(), e.Versions())
	}
	if got, want := e.Identity(), `openai "small" dimensions 4 query "query: " passage "passage: "`; got != want {
		t.Errorf("identity %s, not %s", got, want)
	}
	passages := []string{"a", "bb", "ccc", "dddd", "каша", "f\u2028g\x00", "last"}
	var want []string
	for _, p := range passages {
		want = append(want, "passage: "+p)
	}
	rows, err := e.Embed(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	checkVectors(t, rows, want...)
	row, err := e.EmbedQuery(t.Context(), "how?")
	if err != nil {
		t.Fatal(err)
	}
	checkVectors(t, [][]float32{row}, "query: how?")
	if rows, err := e.Embed(t.Context(), nil); err != nil || len(rows) != 0 {
		t.Errorf("no passages: %v, %v", rows, err)
	}
	var sizes []int
	for _, q := range s.requests() {
		sizes = append(sizes, len(q.Input))
		if q.key != "Bearer "+testKey || q.Model != "small" || q.Dimensions != nil {
			t.Errorf("asked %+v", q)
		}
	}
	if fmt.Sprint(sizes) != "[1 3 3 1 1]" {
		t.Errorf("requests of %v texts", sizes)
	}
}

// TestOpenAIBatches: a request has no more passages than asked for, and no more bytes than a service takes; a passage
// that is longer goes alone.
func TestOpenAIBatches(t *testing.T) {
	for _, c := range []struct {
		lengths string // of passages, in quarters of a request's bytes, as letters: a for 0 (one byte), b for 1, …
		batch   int
		want    string
	}{
		{"aaaaa", 2, "[2 2 1]"},
		{"aaaaa", 5, "[5]"},
		{"bbbbb", 64, "[4 1]"},
		{"bbbba", 64, "[4 1]"},
		{"eb", 64, "[1 1]"},
		{"afa", 64, "[1 1 1]"},
		{"ffb", 64, "[1 1 1]"},
		{"cdacc", 64, "[1 2 2]"},
	} {
		s := newFakeService(t, nil)
		o := s.options()
		o.Dimensions, o.Batch, o.PassagePrefix = 4, c.batch, "p" // which counts
		var passages, want []string
		for i, l := range c.lengths {
			p := strings.Repeat("x", max(1, int(l-'a')*maxRequest/4-2)) + string(rune('a'+i))
			passages, want = append(passages, p), append(want, "p"+p)
		}
		rows, err := mustOpenAI(t, o).Embed(t.Context(), passages)
		if err != nil {
			t.Fatal(err)
		}
		checkVectors(t, rows, want...)
		var sizes []int
		for _, q := range s.requests() {
			sizes = append(sizes, len(q.Input))
		}
		if fmt.Sprint(sizes) != c.want {
			t.Errorf("%s by %d: requests of %v texts, not %s", c.lengths, c.batch, sizes, c.want)
		}
	}
}

// TestOpenAIDimensions: those that are given are asked for, and nothing is asked before the first passage.
func TestOpenAIDimensions(t *testing.T) {
	s := newFakeService(t, nil)
	o := s.options()
	o.Dimensions, o.Key = 4, ""
	e := mustOpenAI(t, o)
	if len(s.requests()) != 0 || e.Dimensions() != 4 {
		t.Errorf("%d requests, %d dimensions", len(s.requests()), e.Dimensions())
	}
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if q := s.requests()[0]; q.Dimensions == nil || *q.Dimensions != 4 || q.key != "" {
		t.Errorf("asked %+v", q)
	}
	o.Dimensions = 8
	_, err := mustOpenAI(t, o).Embed(t.Context(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "a vector of 4 dimensions, not the 8 that were asked for") {
		t.Errorf("a model that takes no dimensions: %v", err)
	}
}

// TestOpenAIEnvironment: of OpenAI's own variables one is read, and only where no base URL is given.
func TestOpenAIEnvironment(t *testing.T) {
	s := newFakeService(t, nil)
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"} {
		t.Setenv(name, "strange")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Strange: strange\nAuthorization: strange")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	o := s.options()
	o.Key = " \t"
	mustOpenAI(t, o)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1/")
	o.Key, o.BaseURL = testKey+"\r\n", ""
	mustOpenAI(t, o)
	requests := s.requests()
	if len(requests) != 2 || requests[0].key != "" || requests[1].key != "Bearer "+testKey {
		t.Fatalf("asked %+v", requests)
	}
	for _, q := range requests {
		for name, values := range q.header {
			if strings.Contains(name+strings.Join(values, " "), "trange") {
				t.Errorf("header %s: %v", name, values)
			}
		}
	}
	t.Setenv("OPENAI_BASE_URL", "ftp://me:secret@host")
	if _, err := NewOpenAI(t.Context(), o); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("a wrong variable: %v", err)
	}
}

// TestOpenAIHeaders: a service learns nothing of the machine that asks, also when it is asked again.
func TestOpenAIHeaders(t *testing.T) {
	s := newFakeService(t, func(w http.ResponseWriter, number int, _ asked) bool {
		if number == 1 {
			w.WriteHeader(500)
		}
		return number == 1
	})
	o := s.options()
	o.Retries = 1
	e, err := newOpenAI(o)
	if err != nil {
		t.Fatal(err)
	}
	e.pause = func(context.Context, time.Duration) error { return nil }
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent"}
	requests := s.requests()
	if len(requests) != 2 {
		t.Errorf("%d requests", len(requests))
	}
	for _, q := range requests {
		if got := slices.Sorted(maps.Keys(q.header)); !slices.Equal(got, want) {
			t.Errorf("headers %q, not %q", got, want)
		}
	}
}

func TestOpenAIProblems(t *testing.T) {
	good := OpenAIOptions{Model: "small"}
	for _, c := range []struct {
		change func(*OpenAIOptions)
		want   []string
	}{
		{func(*OpenAIOptions) {}, nil},
		{func(o *OpenAIOptions) {
			*o = OpenAIOptions{Model: "BAAI/bge-m3:latest", BaseURL: "http://[::1]:8080", Dimensions: 4096, Batch: 2048, Retries: 10, Timeout: 10 * time.Minute,
				QueryPrefix: "Instruct: find\nQuery:\t", PassagePrefix: "отрывок: "}
		}, nil},
		{func(o *OpenAIOptions) { o.Retries, o.BaseURL = -1, "HTTPS://host/a/b/" }, nil},
		{func(o *OpenAIOptions) { *o = OpenAIOptions{} }, []string{`Model "" is not a model's name (allowed: one line of 1 to 200 bytes`}},
		{func(o *OpenAIOptions) { o.Model = "a\nb" }, []string{`Model "a\nb" is not`}},
		{func(o *OpenAIOptions) { o.Model = "a\u202eb" }, []string{"is not a model's name"}},
		{func(o *OpenAIOptions) { o.Model = strings.Repeat("m", 201) }, []string{"1 to 200 bytes"}},
		{func(o *OpenAIOptions) { o.QueryPrefix, o.PassagePrefix = "\x00", "\xff" }, []string{"QueryPrefix", "PassagePrefix"}},
		{func(o *OpenAIOptions) {
			o.Model, o.QueryPrefix, o.PassagePrefix = strings.Repeat(`"`, 200), strings.Repeat("\n", 256), strings.Repeat("\n", 256)
		}, []string{"make an identity of "}},
		{func(o *OpenAIOptions) { o.Dimensions, o.Batch, o.Retries, o.Timeout = -1, -1, -2, -1 }, []string{
			"Dimensions -1 is out of range (allowed: 0 to 4096)", "Batch -1 is out of range (allowed: 0 to 2048)",
			"Retries -2 is out of range (allowed: -1 to 10)", "Timeout -1ns is out of range (allowed: 0s to 10m0s)"}},
		{func(o *OpenAIOptions) { o.Dimensions, o.Batch, o.Retries, o.Timeout = 4097, 2049, 11, 601*time.Second }, []string{"Dimensions", "Batch", "Retries", "Timeout"}},
	} {
		o := good
		c.change(&o)
		got := o.problems()
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", o, got)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%q lacks %q", got[i], want)
			}
		}
		if _, err := newOpenAI(o); (err != nil) != (c.want != nil) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, address := range []string{"host/v1", "ftp://host", "http://", "http:///v1", "https://me:secret@host", "https://secret@host", "https://host?key=secret", "https://host/?", "https://host/#secret", "http://a b", ":", "//host", "mailto:x", "http://:80"} {
		o := good
		o.BaseURL = address
		if got := o.problems(); len(got) != 1 || strings.Contains(got[0], "secret") {
			t.Errorf("%s: %q", address, got)
		}
	}
}

// TestOpenAIIdentity: whatever decides a vector changes it, nothing else does, and no value passes for others.
func TestOpenAIIdentity(t *testing.T) {
	identity := func(change func(*OpenAIOptions)) string {
		o := OpenAIOptions{Model: "m", Dimensions: 4, QueryPrefix: "q", PassagePrefix: "p"}
		change(&o)
		e, err := newOpenAI(o)
		if err != nil {
			t.Fatal(err)
		}
		return e.Identity()
	}
	same := identity(func(*OpenAIOptions) {})
	if got := identity(func(o *OpenAIOptions) {
		o.BaseURL, o.Key, o.KeyEnv, o.Batch, o.Retries, o.Timeout = "http://elsewhere", testKey, "X", 1, 1, 1
	}); got != same {
		t.Errorf("%s, not %s", got, same)
	}
	seen := map[string]bool{same: true}
	for _, change := range []func(*OpenAIOptions){
		func(o *OpenAIOptions) { o.Model = "M" },
		func(o *OpenAIOptions) { o.Dimensions = 5 },
		func(o *OpenAIOptions) { o.QueryPrefix = "p" },
		func(o *OpenAIOptions) { o.PassagePrefix = "q" },
		func(o *OpenAIOptions) { o.QueryPrefix, o.PassagePrefix = `q" passage "p`, "" },
		func(o *OpenAIOptions) { o.Model = `m" dimensions 4 query "q` },
	} {
		got := identity(change)
		if seen[got] {
			t.Errorf("%s twice", got)
		}
		seen[got] = true
	}
}

// TestOpenAIRetries: what may be over later is asked again, a number of times, and nothing else is.
func TestOpenAIRetries(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   int
		header   map[string]string
		body     string
		failures int // before the service answers
		retries  int
		requests int
		pauses   string // as asked for; * for one of back-off's own
		ok       bool
	}{
		{"rate limit, then fine", 429, map[string]string{"Retry-After": "3"}, `{}`, 2, 2, 3, "3s 3s", true},
		{"milliseconds", 429, map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, `{}`, 1, 4, 2, "250ms", true},
		{"back-off", 503, nil, `no`, 2, 4, 3, "* *", true},
		{"nonsense", 500, map[string]string{"Retry-After": "soon"}, `{}`, 1, 4, 2, "*", true},
		{"conflict", 409, nil, `{}`, 1, 4, 2, "*", true},
		{"slow", 408, nil, `{}`, 1, 4, 2, "*", true},
		{"too often", 429, map[string]string{"Retry-After": "0"}, `{}`, 9, 2, 3, "0s 0s", false},
		{"none", 502, nil, `{}`, 9, -1, 1, "", false},
		{"too long", 429, map[string]string{"Retry-After": "61"}, `{}`, 9, 4, 1, "", false},
		{"far too long", 429, map[string]string{"Retry-After": "1e400"}, `{}`, 9, 4, 1, "", false},
		{"next century", 429, map[string]string{"Retry-After": "Fri, 01 Jan 2106 00:00:00 GMT"}, `{}`, 9, 4, 1, "", false},
		{"a date that is over", 429, map[string]string{"Retry-After": "Fri, 01 Jan 2016 00:00:00 GMT"}, `{}`, 1, 4, 2, "0s", true},
		{"no quota", 429, nil, `{"error": {"code": "insufficient_quota"}}`, 9, 4, 1, "", false},
		{"wrong key", 401, nil, `{}`, 9, 4, 1, "", false},
		{"no model", 404, nil, `{}`, 9, 4, 1, "", false},
		{"refused", 400, nil, `{}`, 9, 4, 1, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFakeService(t, func(w http.ResponseWriter, number int, _ asked) bool {
				if number > c.failures {
					return false
				}
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
				return true
			})
			o := s.options()
			o.Retries = c.retries
			e, err := newOpenAI(o)
			if err != nil {
				t.Fatal(err)
			}
			var pauses []string
			e.pause = func(_ context.Context, d time.Duration) error {
				i := len(pauses)
				if longest := firstPause << i; c.header == nil || c.name == "nonsense" {
					if d <= longest/2 || d > longest {
						t.Errorf("pause %d of %v", i, d)
					}
					pauses = append(pauses, "*")
				} else {
					pauses = append(pauses, d.String())
				}
				return nil
			}
			_, err = e.Embed(t.Context(), []string{testPassage})
			if (err == nil) != c.ok || len(s.requests()) != c.requests || strings.Join(pauses, " ") != c.pauses {
				t.Errorf("%v after %d requests and the pauses %q", err, len(s.requests()), pauses)
			}
			if c.ok {
				return
			}
			pauses = nil
			before := len(s.requests())
			if _, err = e.EmbedQuery(t.Context(), testQuery); err == nil {
				t.Error("no error for a query")
			}
			if n := len(s.requests()) - before; n > 2 || n > c.requests {
				t.Errorf("%d requests for a query", n)
			}
		})
	}
	for n := range 80 {
		if d := backOff(n); d <= 0 || d > longestPause {
			t.Errorf("back-off %d is %v", n, d)
		}
	}
}

// TestOpenAIBrokenConnection: a connection that ends in an answer, or before one, is tried again.
func TestOpenAIBrokenConnection(t *testing.T) {
	s := newFakeService(t, func(w http.ResponseWriter, number int, _ asked) bool {
		switch number {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data": [`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return false
	})
	o := s.options()
	o.Retries = 2
	e, err := newOpenAI(o)
	if err != nil {
		t.Fatal(err)
	}
	e.pause = func(context.Context, time.Duration) error { return nil }
	rows, err := e.Embed(t.Context(), []string{"a"})
	if err != nil || len(s.requests()) != 3 {
		t.Fatalf("%v after %d requests", err, len(s.requests()))
	}
	checkVectors(t, rows, "a")
}

// TestOpenAISplits: what a service refuses as too much is asked for in halves.
func TestOpenAISplits(t *testing.T) {
	for _, status := range []int{400, 413, 422} {
		most := 3
		s := newFakeService(t, func(w http.ResponseWriter, _ int, q asked) bool {
			if len(q.Input) > most {
				w.WriteHeader(status)
				return true
			}
			return false
		})
		o := s.options()
		o.Dimensions = 4
		e := mustOpenAI(t, o)
		var passages []string
		for i := range 11 {
			passages = append(passages, strings.Repeat("x", i+1))
		}
		rows, err := e.Embed(t.Context(), passages)
		if err != nil {
			t.Fatal(err)
		}
		checkVectors(t, rows, passages...)
		most = 0
		before := len(s.requests())
		_, err = e.Embed(t.Context(), passages)
		if err == nil || !strings.Contains(err.Error(), "refused a request with 1 bytes in 1 texts") {
			t.Errorf("all refused: %v", err)
		}
		if n := len(s.requests()) - before; n != 4 { // 11, 5, 2, 1
			t.Errorf("%d requests before all was given up", n)
		}
	}
}

// raw answers with a status and a body.
func raw(status int, body string) func(http.ResponseWriter, int, asked) bool {
	return func(w http.ResponseWriter, _ int, _ asked) bool {
		if strings.HasPrefix(body, "<") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
		return true
	}
}

func apiError(code, kind string) string {
	text := "your key " + testKey + " and your text " + testPassage + testQuery
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": kind, "code": code, "param": text}})
	return string(b)
}

func oneVector(vector string) string {
	return `{"data": [{"index": 0, "embedding": ` + vector + `}]}`
}

var nan = func() string {
	b := make([]byte, 16)
	b[2], b[3] = 0xc0, 0x7f
	return `"` + base64.StdEncoding.EncodeToString(b) + `"`
}()

// openAIFailures are what services do wrong, and what the error must say, and the hint.
var openAIFailures = []struct {
	name       string
	answer     func(w http.ResponseWriter, number int, q asked) bool
	want, hint string
}{
	{"wrong key", raw(401, apiError("invalid_api_key", "invalid_request_error")), "the key in SHOP_KEY was refused by HOST (status 401, invalid_api_key)", "check that the key"},
	{"forbidden", raw(403, "<html>"+testKey), "the key in SHOP_KEY was refused by HOST (status 403)", "check that the key"},
	{"unknown model", raw(404, apiError("model_not_found", "")), "HOST has no such model (status 404, model_not_found)", "check the model's name"},
	{"not found", raw(404, testPassage), "HOST has no such model, or no embeddings at this address (status 404)", "/v1"},
	{"rate", raw(429, apiError("rate_limit_exceeded", "")), "HOST limits the rate of requests (status 429, rate_limit_exceeded)", "wait"},
	{"quota", raw(429, apiError("insufficient_quota", "")), "HOST: the quota of the key in SHOP_KEY is used up (status 429, insufficient_quota)", "raise the quota"},
	{"too long", raw(400, apiError("context_length_exceeded", "")), "HOST refused a request with ", "texts that long"},
	{"only a type", raw(500, apiError("", "server_error")), "HOST failed (status 500, server_error)", ""},
	{"odd status", raw(418, apiError("I am a teapot", "I am a teapot")), "HOST refused the request (status 418)", ""},
	{"code is the key", raw(401, apiError(testKey, testKey)), "(status 401)", ""},
	{"code is the text", raw(500, apiError("bad_marmalade_refund_hedgehog", "walrus_invoice_seventeen")), "(status 500)", ""},
	{"code is a number", raw(500, `{"error": {"code": 551955195519}}`), "(status 500)", ""},
	{"error of a wrong shape", raw(500, `{"error": ["`+testPassage+`"]}`), "(status 500)", ""},
	{"error that is text", raw(500, `{"error": "`+testPassage+`"}`), "(status 500)", ""},
	{"a huge error", func(w http.ResponseWriter, _ int, _ asked) bool {
		w.WriteHeader(500)
		for range 100 {
			w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		return true
	}, "HOST: an answer that is larger than its vectors can be", ""},
	{"HTML", raw(200, "<html>"+testPassage), "HOST does not speak OpenAI's embeddings interface: status 200 with an HTML page", "/v1"},
	{"nothing", raw(200, ""), "does not speak OpenAI's", "/v1"},
	{"no content", raw(204, ""), "does not speak OpenAI's embeddings interface: status 204", "/v1"},
	{"text", raw(200, testPassage), "does not speak OpenAI's", "/v1"},
	{"a list", raw(200, `[]`), "does not speak OpenAI's", "/v1"},
	{"null", raw(200, `null`), "does not speak OpenAI's", "/v1"},
	{"other JSON", raw(200, `{"embedding": [1, 2]}`), "does not speak OpenAI's", "/v1"},
	{"half", raw(200, `{"data": [{"index": 0, "embedding": [1, 2`), "does not speak OpenAI's", "/v1"},
	{"data of a wrong type", raw(200, `{"data": "`+testPassage+`"}`), "does not speak OpenAI's", "/v1"},
	{"index of a wrong type", raw(200, `{"data": [{"index": "0", "embedding": [1,2,3,4]}]}`), "does not speak OpenAI's", "/v1"},
	{"NaN", raw(200, oneVector("[NaN,1,1,1]")), "does not speak OpenAI's", "/v1"},
	{"deep", raw(200, oneVector(strings.Repeat("[", 50_000))), "does not speak OpenAI's", "/v1"},
	{"no vectors", raw(200, `{"data": []}`), "HOST: 0 vectors for 1 texts", ""},
	{"many objects", raw(200, `{"data": [`+strings.Repeat("{},", 20_000)+`{}]}`), "HOST: more than 1 vectors for 1 texts", ""},
	{"no index", raw(200, `{"data": [{"embedding": [1,2,3,4]}]}`), "a vector without an index", ""},
	{"wrong index", raw(200, `{"data": [{"index": 7, "embedding": [1,2,3,4]}]}`), "a vector with the index 7, for 1 texts", ""},
	{"negative index", raw(200, `{"data": [{"index": -1, "embedding": [1,2,3,4]}]}`), "a vector with the index -1", ""},
	{"short", raw(200, oneVector("[1,2,3]")), "a vector of 3 dimensions, not 4", ""},
	{"long", raw(200, oneVector("[1,2,3,4,5]")), "a vector of 5 dimensions, not 4", ""},
	{"no vector", raw(200, `{"data": [{"index": 0}]}`), "a vector of 0 dimensions, not 4", ""},
	{"null as vector", raw(200, oneVector("null")), "not a list of numbers", ""},
	{"empty", raw(200, oneVector("[]")), "not a list of numbers", ""},
	{"null inside", raw(200, oneVector("[1,null,3,4]")), "not a list of numbers", ""},
	{"text inside", raw(200, oneVector(`["1","2","3","4"]`)), "not a list of numbers", ""},
	{"lists inside", raw(200, oneVector(`[[1,2,3,4]]`)), "not a list of numbers", ""},
	{"an object", raw(200, oneVector(`{"a": 1}`)), "not a list of numbers", ""},
	{"NaN in base64", raw(200, oneVector(nan)), "not a list of numbers", ""},
	{"beyond float32", raw(200, oneVector("[1e39,1,1,1]")), "not a list of numbers within range", ""},
	{"beyond float64", raw(200, oneVector("[1e999,1,1,1]")), "not a list of numbers within range", ""},
	{"a length beyond float32", raw(200, oneVector("[1e38,1e38,1,1]")), "a vector that is zero or not finite", ""},
	{"zero", raw(200, oneVector("[0,0.0,-0,0e0]")), "a vector that is zero or not finite", ""},
	{"tiny", raw(200, oneVector("[1e-40,0,0,0]")), "a vector that is zero or not finite", ""},
	{"very long", raw(200, oneVector("[1"+strings.Repeat(",1", 4096)+"]")), "4097, not up to 4096", ""},
	{"huge", func(w http.ResponseWriter, _ int, _ asked) bool {
		io.WriteString(w, `{"data": [{"index": 0, "embedding": [1`)
		for range 1 << 10 { // up to 1 GB, unless the client goes
			if _, err := w.Write(bytes.Repeat([]byte(",1"), 1<<19)); err != nil {
				return true
			}
		}
		return true
	}, "HOST: an answer that is larger than its vectors can be", ""},
	{"a bomb", func(w http.ResponseWriter, _ int, _ asked) bool {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 1 << 6 {
			z.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
		z.Close()
		return true
	}, "HOST: an answer that is larger than its vectors can be", ""},
	{"huge headers", func(w http.ResponseWriter, _ int, _ asked) bool {
		w.Header().Set("X-Large", strings.Repeat("x", 1<<20))
		return false
	}, "HOST can't be reached", "check the base URL"},
	{"redirected", func(w http.ResponseWriter, _ int, _ asked) bool {
		w.Header().Set("Location", "http://127.0.0.1:1/"+testKey)
		w.WriteHeader(307)
		return true
	}, "HOST redirects, and neither key nor texts go elsewhere", "if you trust it"},
	{"redirected nowhere", raw(302, ""), "does not speak OpenAI's embeddings interface: status 302", "/v1"},
	{"broken off", func(w http.ResponseWriter, _ int, _ asked) bool {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "{")
		return true
	}, "HOST broke its answer off", ""},
	{"hung up", func(http.ResponseWriter, int, asked) bool { panic(http.ErrAbortHandler) }, "HOST can't be reached", "check the base URL"},
}

// TestOpenAIFailures: each has its error, and no error, hint or log line has the key, a text, or what the service wrote.
func TestOpenAIFailures(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defaultLogger := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(defaultLogger); log.SetOutput(os.Stderr) })
	checked := 0
	check := func(t *testing.T, err error, want, hint string) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		text, advice := err.Error(), ""
		if h := (interface{ Hint() string })(nil); errors.As(err, &h) {
			advice = h.Hint()
		}
		if !strings.HasPrefix(text, `openai "small": `) || !strings.Contains(text, want) || !strings.Contains(advice, hint) || strings.Contains(text, "\n") {
			t.Errorf("%s; hint: %s; not %q and %q", text, advice, want, hint)
		}
		everything := strings.ToLower(fmt.Sprintf("%v %+v %#v %s", err, err, err, advice))
		for _, secret := range []string{"quagga", "551955195519", "marmalade", "hedgehog", "omsk", "walrus", "seventeen", "teapot"} {
			if strings.Contains(everything, secret) {
				t.Errorf("%s holds %s", everything, secret)
			}
		}
		checked++
	}
	for _, c := range openAIFailures {
		t.Run(c.name, func(t *testing.T) {
			s := newFakeService(t, c.answer)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			want := strings.ReplaceAll(c.want, "HOST", strings.TrimPrefix(s.URL, "http://"))
			e, err := newOpenAI(s.options())
			if err != nil {
				t.Fatal(err)
			}
			e.dimensions = 4 // as learned
			_, err = e.Embed(t.Context(), []string{testPassage})
			check(t, err, want, c.hint)
			_, err = e.EmbedQuery(t.Context(), testQuery)
			check(t, err, want, c.hint)
			if _, err := NewOpenAI(t.Context(), s.options()); err != nil {
				check(t, err, "", "")
			} else if c.name != "short" && c.name != "long" {
				t.Error("dimensions were learned from it")
			}
			for _, dump := range []string{fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
				if strings.Contains(dump, testKey) {
					t.Error("the embedder prints its key")
				}
			}
		})
	}
	t.Run("several vectors", func(t *testing.T) {
		for body, want := range map[string]string{
			`{"data": [{"index": 0, "embedding": [1,2,3,4]}, {"index": 0, "embedding": [1,2,3,4]}]}`: "two vectors with the index 0",
			`{"data": [{"index": 1, "embedding": [1,2,3,4]}]}`:                                       "1 vectors for 2 texts",
		} {
			e, err := newOpenAI(newFakeService(t, raw(200, body)).options())
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Embed(t.Context(), []string{testPassage, testPassage})
			check(t, err, want, "")
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = NewOpenAI(t.Context(), OpenAIOptions{Model: "small", BaseURL: "http://" + l.Addr().String(), Key: testKey, Retries: -1})
		check(t, err, l.Addr().String()+" can't be reached", "the service is up")
	})
	t.Run("no such host", func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: testKey, IsNotFound: true}
		}
		_, err := NewOpenAI(t.Context(), OpenAIOptions{Model: "small", BaseURL: "https://nowhere.invalid/v1", Key: testKey, Retries: -1,
			HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}})
		check(t, err, "nowhere.invalid:443 can't be reached: there is no such host", "check the base URL")
	})
	t.Run("a strange certificate", func(t *testing.T) {
		s := httptest.NewTLSServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
		_, err := NewOpenAI(t.Context(), OpenAIOptions{Model: "small", BaseURL: s.URL, Key: testKey, Retries: 1})
		check(t, err, "the certificate of "+s.Listener.Addr().String()+" is not one that this machine trusts", "")
	})
	t.Run("no key", func(t *testing.T) {
		o := newFakeService(t, raw(401, apiError("", ""))).options()
		o.Key, o.KeyEnv = "", ""
		_, err := NewOpenAI(t.Context(), o)
		check(t, err, "wants a key, and none was given (status 401)", "credential_env")
	})
	t.Run("a key of another kind", func(t *testing.T) {
		for _, key := range []string{testKey + "\nX-Other: 1", testKey + " " + testKey, testKey + "é", "\x00" + testKey} {
			_, err := NewOpenAI(t.Context(), OpenAIOptions{Model: "small", Key: key, KeyEnv: "SHOP_KEY"})
			check(t, err, "the key in SHOP_KEY holds characters that no key has", "the key alone")
		}
	})
	t.Run("empty texts", func(t *testing.T) {
		s := newFakeService(t, nil)
		e := mustOpenAI(t, s.options())
		_, err := e.Embed(t.Context(), []string{testPassage, " \n"})
		check(t, err, "passage 2 of 2 is empty", "")
		_, err = e.EmbedQuery(t.Context(), "\t")
		check(t, err, "the query is empty", "")
		if n := len(s.requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	if checked < 150 {
		t.Errorf("checked %d errors", checked)
	}
	if logged.Len() > 0 {
		t.Errorf("logged %s", &logged)
	}
}

// hanging never answers, or drips its answer, until the test ends.
func hanging(t *testing.T, drip bool) *fakeService {
	t.Helper()
	over := make(chan struct{})
	s := newFakeService(t, func(w http.ResponseWriter, _ int, _ asked) bool {
		for {
			if drip {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
			}
			select {
			case <-over:
				return true
			case <-time.After(time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { close(over) }) // before the server is closed, which waits for it
	return s
}

// TestOpenAIHangs: a service that doesn't answer, or never ends its answer, is given up; the caller's own end is told
// from that.
func TestOpenAIHangs(t *testing.T) {
	for _, drip := range []bool{false, true} {
		s := hanging(t, drip)
		o := s.options()
		o.Timeout, o.Retries = 30*time.Millisecond, 1
		e, err := newOpenAI(o)
		if err != nil {
			t.Fatal(err)
		}
		e.pause = func(context.Context, time.Duration) error { return nil }
		_, passages := e.Embed(t.Context(), []string{testPassage})
		_, query := e.EmbedQuery(t.Context(), testQuery)
		for _, err := range []error{passages, query} {
			if err == nil || !strings.Contains(err.Error(), ": no answer within 30ms") || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a service that hangs: %v", err)
			}
		}
		if n := len(s.requests()); n != 3 { // a query has no time left for its retry
			t.Errorf("%d requests", n)
		}
	}
	s := hanging(t, false)
	e, err := newOpenAI(s.options())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := e.Embed(ctx, []string{testPassage}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err := e.EmbedQuery(ctx, testQuery); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := e.Embed(ctx, []string{testPassage}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "marmalade") {
		t.Errorf("cancelled before: %v", err)
	}
}

// TestOpenAICancelledPause: a pause ends with the context, and one that the context would cut short isn't begun.
func TestOpenAICancelledPause(t *testing.T) {
	s := newFakeService(t, func(w http.ResponseWriter, _ int, _ asked) bool {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(429)
		return true
	})
	o := s.options()
	o.Retries = 0 // the default
	e, err := newOpenAI(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.EmbedQuery(t.Context(), testQuery); err == nil || !strings.Contains(err.Error(), "limits the rate") || len(s.requests()) != 1 {
		t.Errorf("a query: %v after %d requests", err, len(s.requests()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := e.Embed(ctx, []string{testPassage}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOpenAIConcurrently: queries come at the same time, and each gets its own vector.
func TestOpenAIConcurrently(t *testing.T) {
	e := mustOpenAI(t, newFakeService(t, nil).options())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			query := strings.Repeat("q", i+1)
			row, err := e.EmbedQuery(t.Context(), query)
			if err != nil {
				t.Error(err)
				return
			}
			if want := fakeVector(query); math.Abs(float64(row[1]/row[0])-want[1]/want[0]) > 1e-5 {
				t.Errorf("%s: %v", query, row)
			}
		})
	}
	wg.Wait()
}
