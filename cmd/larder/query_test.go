package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/larder/internal/testkit/shelf"
)

// TestQueryAnswer: larder query --answer streams what a server of the Messages API says, marks what it cites wrongly, and
// shows snippets where it fails.
func TestQueryAnswer(t *testing.T) {
	s, err := shelf.New(shelf.Base{Name: "shop", Mode: "keyword", Documents: []shelf.Document{
		{Path: "refunds.md", Title: "Refunds", Chunks: []string{"A refund takes 14 days.", "A refund goes to the card.", "A refund by cheque takes a month."}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	asked, status := "", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		if status != http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{
			`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"c","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It takes 14 days [1:?]. Or a year [9:3]."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		} {
			kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e)
		}
	}))
	defer server.Close()
	t.Setenv("ANTHROPIC_API_KEY", "test-key-of-sixteen")
	t.Setenv("ANTHROPIC_BASE_URL", server.URL)
	query := func(args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = run(t.Context(), append([]string{"query", "How long does a refund take?", "--answer", "--from", dir, "-k", "1"}, args...), &o, &e)
		return code, o.String(), e.String()
	}
	code, out, _ := query()
	for _, want := range []string{"It takes 14 days [1:?]. Or a year [9:3] (no such source).\n\n", "[1] Refunds", "[3] Refunds", "Searched 3 chunks in "} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%d, no %q in %s", code, want, out)
		}
	}
	if !strings.Contains(asked, "A refund by cheque") || !strings.Contains(asked, `"max_tokens":800`) || !strings.Contains(asked, "claude-haiku-4-5-20251001") {
		t.Errorf("asked %s", asked) // the best five are sources, whatever is shown
	}
	if code, out, _ := query("--json"); code != exitOK || !strings.Contains(out, `"answer": {`) || strings.Count(out, `"chunk_id"`) != 1 {
		t.Errorf("%d %s", code, out)
	}
	status = http.StatusUnauthorized
	if code, out, errOut := query(); code != exitFailed || !strings.Contains(out, "**[article]** Refunds") || !strings.Contains(errOut, "ANTHROPIC_API_KEY") || strings.Contains(errOut, "test-key") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}
