package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
	"example.com/larder/serve/tools"
)

type base struct {
	*reader.Base
	panics bool
}

func (b base) Name() string             { return "shop" }
func (b base) Declared() *artifact.Tool { return nil }
func (b base) Current() *reader.Base {
	if b.panics {
		panic("Zanzibar")
	}
	return b.Base
}

const marked = "Zanzibar"

func openShop(t testing.TB) *reader.Base {
	t.Helper()
	var chunks []string
	for i := range 40 {
		chunks = append(chunks, fmt.Sprintf("Step %d on the way to %s: %s", i, marked, strings.Repeat("walk on, ", 60)))
	}
	s, err := shelf.New(shelf.Base{Name: "shop", TopK: 20, Documents: []shelf.Document{{Path: "way.md", Title: "The way", Chunks: chunks}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := reader.Open(s, "shop", reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func table(t testing.TB, b tools.Base) []tools.Tool {
	t.Helper()
	list, err := tools.LookUpTools([]tools.Base{b})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, tools.SearchTools([]tools.Base{b})...)
	files := fstest.MapFS{"a/way.md": {Data: []byte("the way to " + marked + "\n")}, "long.md": {Data: []byte(strings.Repeat("walk on, ", 20000))}}
	return append(list, tools.FileTools(tools.Files{FS: files, FullPath: tools.URI("shop")})...)
}

// A log that tests read while servers write.
type log struct {
	sync.Mutex
	bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) { l.Lock(); defer l.Unlock(); return l.Buffer.Write(p) }
func (l *log) String() string              { l.Lock(); defer l.Unlock(); return l.Buffer.String() }

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.Level(-100)}))
}

// sessions are clients of the server, one over each transport.
func sessions(t *testing.T, list []tools.Tool, o Options) map[string]*sdk.ClientSession {
	t.Helper()
	client := func(transport sdk.Transport) *sdk.ClientSession {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), NewServer(list, o), fromClient, toClient) }()
	stdio := client(&sdk.IOTransport{Reader: fromServer, Writer: toServer})
	web := httptest.NewServer(Handler(NewServer(list, o), HTTPOptions{}))
	t.Cleanup(web.Close)
	return map[string]*sdk.ClientSession{"stdio": stdio, "http": client(&sdk.StreamableClientTransport{Endpoint: web.URL + Path})}
}

func call1(t *testing.T, s *sdk.ClientSession, name string, arguments any) *sdk.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func text(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text
}

func TestServer(t *testing.T) {
	lines := &log{}
	for transport, s := range sessions(t, table(t, base{Base: openShop(t)}), Options{Version: "v1", Logger: lines.logger()}) {
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			a := tool.Annotations
			if !a.ReadOnlyHint || !a.IdempotentHint || *a.DestructiveHint || *a.OpenWorldHint || tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
				t.Errorf("%s: %s: %+v", transport, tool.Name, tool)
			}
		}
		if got := strings.Join(names, " "); got != "fetch kb_get_stats kb_list_directory kb_read_file kb_search_content kb_search_files look_up search" {
			t.Errorf("%s: tools %s", transport, got)
		}
		for name, arguments := range map[string]map[string]any{
			"look_up": {"query": marked}, "search": {"query": marked}, "kb_read_file": {"paths": []string{"a/way.md", "../x", "long.md"}},
			"kb_list_directory": {"path": ""}, "kb_search_files": {"pattern": "*.md"}, "kb_search_content": {"query": marked}, "kb_get_stats": {},
		} {
			r := call1(t, s, name, arguments)
			if r.IsError {
				t.Errorf("%s: %s: %s", transport, name, text(t, r))
				continue
			}
			structured, err := json.Marshal(r.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, string(structured), text(t, r)) {
				t.Errorf("%s: %s: content %s, structured %s", transport, name, text(t, r), structured)
			}
			if n := tools.Tokens(text(t, r)); n > tools.DefaultBudget || n < 10 {
				t.Errorf("%s: %s: %d tokens", transport, name, n)
			}
			arguments["colour"] = "red"
			if r := call1(t, s, name, arguments); !r.IsError || !strings.Contains(text(t, r), "colour") {
				t.Errorf("%s: %s takes an unknown parameter: %s", transport, name, text(t, r))
			}
		}
		// Twenty long passages are more than the budget has room for.
		if r := call1(t, s, "look_up", map[string]any{"query": marked}); r.Meta["truncated"] != true || !strings.HasPrefix(text(t, r), `{"results":[{"text":`) {
			t.Errorf("%s: %v, %.200s", transport, r.Meta, text(t, r))
		}
		for name, arguments := range map[string]any{"missing": map[string]any{}, "type": map[string]any{"query": 3}, "none": nil} {
			if r := call1(t, s, "look_up", arguments); !r.IsError || !strings.Contains(text(t, r), "invalid arguments") {
				t.Errorf("%s: %s: %s", transport, name, text(t, r))
			}
		}
		if r := call1(t, s, "look_up", map[string]any{"query": strings.Repeat(marked+" ", 1<<17)}); r.IsError {
			t.Errorf("%s: a huge query: %s", transport, text(t, r))
		}
		if r := call1(t, s, "look_up", map[string]any{"query": "  "}); text(t, r) != `{"results":[]}` || r.Meta["truncated"] != nil {
			t.Errorf("%s: blank: %s", transport, text(t, r))
		}
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "look_down"}); err == nil {
			t.Errorf("%s: called a tool that isn't there", transport)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "look_up", Arguments: map[string]any{"query": "step 7"}}); err != nil || r.IsError {
					t.Errorf("%s: at the same time: %v", transport, err)
				}
			})
		}
		wg.Wait()
	}
	if got := lines.String(); strings.Contains(got, marked) || !strings.Contains(got, `"msg":"call","tool":"look_up","outcome":"ok"`) || !strings.Contains(got, `"outcome":"invalid arguments"`) {
		t.Errorf("log:\n%.2000s", got)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// TestArguments: what no tool takes is told to the model as such, tool by tool, and nothing of it comes back at length.
func TestArguments(t *testing.T) {
	huge := strings.Repeat(marked+" ", 1<<17) // a megabyte
	long := huge[:1<<15]
	lines := &log{}
	for transport, s := range sessions(t, table(t, base{Base: openShop(t)}), Options{Logger: lines.logger()}) {
		for name, required := range map[string]string{
			"look_up": "query", "search": "query", "fetch": "id", "kb_read_file": "paths", "kb_list_directory": "path", "kb_search_files": "pattern",
			"kb_search_content": "query", "kb_get_stats": "",
		} {
			bad := []any{map[string]any{long: 1}}
			if required != "" {
				bad = append(bad, map[string]any{}, map[string]any{required: 3}, map[string]any{required: nil}, map[string]any{required: map[string]any{"x": long}}, nil)
			}
			for _, arguments := range bad {
				r := call1(t, s, name, arguments)
				if got := text(t, r); !r.IsError || !strings.Contains(got, "invalid arguments of "+name) || len(got) > 1000 {
					t.Errorf("%s: %s: %.300s", transport, name, got)
				}
			}
			if required == "" {
				continue
			}
			var arguments any = map[string]any{required: huge}
			if name == "kb_read_file" {
				arguments = map[string]any{required: []string{huge}}
			}
			if got := text(t, call1(t, s, name, arguments)); tools.Tokens(got) > tools.DefaultBudget {
				t.Errorf("%s: %s: a megabyte is answered by %d bytes", transport, name, len(got))
			}
		}
	}
	if strings.Contains(lines.String(), marked) {
		t.Errorf("the log tells what was asked:\n%.1000s", lines)
	}
}

// TestUnavailable: a base that can't be searched is one of the three shapes, and no error of the protocol.
func TestUnavailable(t *testing.T) {
	for transport, s := range sessions(t, table(t, base{}), Options{}) {
		r := call1(t, s, "look_up", map[string]any{"query": marked})
		if data, err := json.Marshal(r.StructuredContent); err != nil || r.IsError || text(t, r) != `{"error":"lookup unavailable"}` || string(data) != text(t, r) {
			t.Errorf("%s: %v %s, structured %s", transport, r.IsError, text(t, r), data)
		}
		if r := call1(t, s, "search", map[string]any{"query": marked}); !r.IsError || !strings.Contains(text(t, r), "lookup unavailable") {
			t.Errorf("%s: %s", transport, text(t, r))
		}
	}
}

// TestCancelled: a call that the client no longer waits for is told so, and the server goes on.
func TestCancelled(t *testing.T) {
	begun, told := make(chan struct{}), make(chan struct{})
	wait := tools.Define("wait", tools.Text{EN: "Waits."}, func(ctx context.Context, _ struct{}) (struct{}, error) {
		begun <- struct{}{}
		<-ctx.Done()
		told <- struct{}{}
		return struct{}{}, ctx.Err()
	}, nil)
	lines := &log{}
	for transport, s := range sessions(t, append(table(t, base{Base: openShop(t)}), wait), Options{Logger: lines.logger()}) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
			ended <- err
		}()
		<-begun
		cancel()
		select {
		case <-told:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the tool was not told", transport)
		}
		if err := <-ended; err == nil {
			t.Errorf("%s: the client has an answer", transport)
		}
		if r := call1(t, s, "look_up", map[string]any{"query": "walk"}); r.IsError {
			t.Errorf("%s: %s", transport, text(t, r))
		}
	}
}

// TestInvalidUTF8 sends bytes that no client in Go would.
func TestInvalidUTF8(t *testing.T) {
	const ask = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look_up","arguments":{"query":"walk ` + "\xff\xc0\x80" + `"}}}`
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	server := NewServer(table(t, base{Base: openShop(t)}), Options{})
	read, out := io.Pipe()
	go func() {
		defer out.Close()
		_ = Serve(t.Context(), server, io.NopCloser(strings.NewReader(hello+ask)), out)
	}()
	stdio, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1"+Path, strings.NewReader(ask))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	Handler(server, HTTPOptions{}).ServeHTTP(w, r)
	for transport, answer := range map[string]string{"stdio": string(stdio), "http": w.Body.String()} {
		if !strings.Contains(answer, `"structuredContent":{"results":[{"text":`) || !utf8.ValidString(answer) {
			t.Errorf("%s: %.500s", transport, answer)
		}
	}
}

func TestRussian(t *testing.T) {
	for _, s := range sessions(t, table(t, base{Base: openShop(t)}), Options{Language: tools.Russian}) {
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range listed.Tools {
			if tool.Name == "kb_read_file" && !strings.HasPrefix(tool.Description, "Читает") {
				t.Errorf("%s", tool.Description)
			}
		}
	}
}

func TestPanic(t *testing.T) {
	lines := &log{}
	for _, s := range sessions(t, table(t, base{panics: true}), Options{Logger: lines.logger()}) {
		if r := call1(t, s, "look_up", map[string]any{"query": marked}); !r.IsError || strings.Contains(text(t, r), marked) {
			t.Errorf("%s", text(t, r))
		}
	}
	if strings.Contains(lines.String(), marked) || !strings.Contains(lines.String(), "panicked") {
		t.Errorf("%s", lines)
	}
}

// TestStdio talks to the server in lines, as a client of another kind does.
func TestStdio(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), NewServer(table(t, base{Base: openShop(t)}), Options{}), in, out) }()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	send := func(message string) string {
		if _, err := io.WriteString(write, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer to %s", message)
		}
		return lines.Text()
	}
	if got := send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`); !strings.Contains(got, `"serverInfo":{"name":"larder"`) {
		t.Error(got)
	}
	if _, err := io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look_up","arguments":{"query":"\ud800 broken \u0000"}}}`); !strings.Contains(got, `"results"`) {
		t.Error(got)
	}
	write.Close()
	if err := <-ended; err != nil {
		t.Errorf("the end of the input: %v", err)
	}
}

// TestVersions: what the handbook says of versions. Clients of the newest one ask without a session, those of others agree
// on theirs first.
func TestVersions(t *testing.T) {
	list := table(t, base{Base: openShop(t)})
	ask := func(session string) string {
		read, out := io.Pipe()
		go func() {
			defer out.Close()
			_ = Serve(t.Context(), NewServer(list, Options{}), io.NopCloser(strings.NewReader(session)), out)
		}()
		answer, err := io.ReadAll(read)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		if !strings.Contains(got, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s: %s", version, got)
		}
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`); !strings.Contains(got, `"supportedVersions":["2026-07-28",`) {
		t.Errorf("%s", got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look_up","arguments":{"query":"walk"},` + meta + `}}`); !strings.Contains(got, `"structuredContent":{"results":[{"text":`) {
		t.Errorf("%.500s", got)
	}
}

// TestStdioRefuses: what is no message is answered, and the session goes on.
func TestStdioRefuses(t *testing.T) {
	session := ""
	bad := []string{"garbage", "5", "[]", "null", `{"jsonrpc":"2.0"`, `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + "}", `{"jsonrpc":"2.0","id":8,"x":"` + strings.Repeat("x", maxMessage) + `"}`, "\xff\xfe",
		`{"JSONRPC":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"error":5}`, `{"jsonrpc":"2.0","id":7,"method":"ping","error":5}`, `{"jsonrpc":"2.0","id":7,"error":{"code":"x"}}`,
		`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":7,"method":5}`, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`}
	for _, line := range bad {
		session += line + "\n\n"
	}
	// Strange, but messages: the last four are no requests, or no ids that come back as they are written.
	session += ` {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}} ` + "\t\r\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}` + "\n" +
		`{"jsonrpc":"2.0","ID":11,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":12,"METHOD":"ping"}` + "\n" +
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1e300,"method":"ping"}` + "\n" +
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"look_up","arguments":{"query":"walk"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":"\u0061","method":"tools/call","params":{"name":"look_up","arguments":{"query":"` + strings.Repeat("[", 500) + `"}}}`
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Serve(t.Context(), NewServer(table(t, base{Base: openShop(t)}), Options{}), io.NopCloser(strings.NewReader(session)), out)
		out.Close()
		ended <- err
	}()
	start := time.Now()
	answers, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || time.Since(start) > lastAnswer {
		t.Errorf("ended after %v: %v", time.Since(start), err)
	}
	if n := bytes.Count(answers, []byte(`"id":null,"error"`)); n != len(bad) {
		t.Errorf("%d of %d refused:\n%.3000s", n, len(bad), answers)
	}
	if n := bytes.Count(answers, []byte(`"structuredContent"`)); n != 2 {
		t.Errorf("%d of 2 answers:\n%.3000s", n, answers[bytes.LastIndex(answers, []byte("serverInfo")):])
	}
}

// TestStdioAnswersAtTheEnd: what was asked before the input ended is answered.
func TestStdioAnswersAtTheEnd(t *testing.T) {
	session := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for i := range 20 {
		session += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look_up","arguments":{"query":"walk"}}}`, i+2) + "\n"
	}
	session += `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}` + "\n"
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Serve(t.Context(), NewServer(table(t, base{Base: openShop(t)}), Options{}), io.NopCloser(strings.NewReader(session)), out)
		out.Close()
		ended <- err
	}()
	answers, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(answers, []byte(`"structuredContent"`)); n != 20 {
		t.Errorf("%d of 20 answers:\n%.500s", n, answers)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestHTTPRefuses(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	server := NewServer(table(t, base{Base: openShop(t)}), Options{})
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for _, c := range []struct {
		name                 string
		options              HTTPOptions
		host, origin, bearer string
		want                 int
	}{
		{"plain", HTTPOptions{}, "127.0.0.1:1", "", "", 200},
		{"localhost", HTTPOptions{}, "localhost", "http://localhost:5173", "", 200},
		{"IPv6", HTTPOptions{}, "[::1]:1", "http://[::1]", "", 200},
		{"rebound", HTTPOptions{}, "evil.example:1", "", "", 403},
		{"a page", HTTPOptions{}, "127.0.0.1:1", "https://evil.example", "", 403},
		{"a page without origin", HTTPOptions{}, "127.0.0.1:1", "null", "", 403},
		{"a name like it", HTTPOptions{}, "localhost.evil.example", "", "", 403},
		{"no host", HTTPOptions{}, "", "", "", 403},
		{"brackets", HTTPOptions{}, "[[localhost", "", "", 403},
		{"no port", HTTPOptions{}, "localhost:evil", "", "", 403},
		{"a user", HTTPOptions{}, "127.0.0.1:1", "http://evil.example@localhost", "", 403},
		{"small letters", HTTPOptions{Token: token}, "127.0.0.1:1", "", "bearer " + token, 200},
		{"a further host", HTTPOptions{Hosts: []string{"kb.example"}}, "kb.example", "https://kb.example", "", 200},
		{"token", HTTPOptions{Token: token}, "127.0.0.1:1", "", "Bearer " + token, 200},
		{"no token", HTTPOptions{Token: token}, "127.0.0.1:1", "", "", 401},
		{"wrong token", HTTPOptions{Token: token}, "127.0.0.1:1", "", "Bearer " + token[1:] + "x", 401},
		{"a part", HTTPOptions{Token: token}, "127.0.0.1:1", "", "Bearer " + token[:5], 401},
		{"another kind", HTTPOptions{Token: token}, "127.0.0.1:1", "", "Basic " + token, 401},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1"+Path, strings.NewReader(hello))
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.bearer != "" {
			r.Header.Set("Authorization", c.bearer)
		}
		w := httptest.NewRecorder()
		Handler(server, c.options).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d, not %d: %s", c.name, w.Code, c.want, w.Body)
		}
		if w.Code != 200 && (strings.Contains(w.Body.String(), "look_up") || strings.Contains(w.Body.String(), token)) {
			t.Errorf("%s tells %s", c.name, w.Body)
		}
	}
	batch := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1"+Path, strings.NewReader(" \n["+hello+"]"))
	batch.Header.Set("Content-Type", "application/json")
	batch.Header.Set("Accept", "application/json, text/event-stream")
	refused := httptest.NewRecorder()
	Handler(server, HTTPOptions{}).ServeHTTP(refused, batch)
	if refused.Code != http.StatusBadRequest {
		t.Errorf("a batch: %d", refused.Code)
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:1"+Path, strings.NewReader(`{"x":"`+strings.Repeat("x", maxMessage)+`"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	Handler(server, HTTPOptions{}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge request: %d", w.Code)
	}
}

func TestListen(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "x": false, "": false} {
		l, err := Listen(t.Context(), address, HTTPOptions{})
		if (err == nil) != ok && !strings.Contains(fmt.Sprint(err), "assign requested address") { // a machine without IPv6
			t.Errorf("%q: %v", address, err)
		}
		if l != nil {
			l.Close()
		}
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", HTTPOptions{Token: "0123456789abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestShutdown: a request under way is answered, and then the server ends.
func TestShutdown(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-finish
		io.WriteString(w, "done")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeHTTP(ctx, l, slow) }()
	answer := make(chan string, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer r.Body.Close()
		data, _ := io.ReadAll(r.Body)
		answer <- string(data)
	}()
	<-started
	cancel()
	time.AfterFunc(20*time.Millisecond, func() { close(finish) })
	if got := <-answer; got != "done" {
		t.Errorf("%s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
}
