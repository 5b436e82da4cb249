//go:build heavy

package interop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A scriptedModel speaks OpenAI's chat completions, as far as agents need them. To a message it answers with a call of
// the first tool for looking up, in the message's words or its own; to the tool's result, with that result. It keeps what
// it is shown. It also speaks, in one tone.
type scriptedModel struct {
	*httptest.Server
	query   string // what it looks up; "" for what it was asked
	mu      sync.Mutex
	offered []function // the tools of the last request
	results []string   // what tools answered
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatRequest struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function function `json:"function"`
	} `json:"tools"`
}

func newScriptedModel(t *testing.T) *scriptedModel {
	m := &scriptedModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// environment is what makes both frameworks talk to the model, and to nothing in a cloud.
func (m *scriptedModel) environment() []string {
	return []string{
		"OPENAI_BASE_URL=" + m.URL + "/v1", "OPENAI_API_KEY=none",
		"LIVEKIT_INFERENCE_URL=" + m.URL + "/v1", "LIVEKIT_API_KEY=none", "LIVEKIT_API_SECRET=" + strings.Repeat("none", 8),
	}
}

// seen returns what the model was offered and told since the last call, and forgets it.
func (m *scriptedModel) seen() (offered []function, results []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	offered, results = m.offered, m.results
	m.offered, m.results = nil, nil
	return offered, results
}

func (m *scriptedModel) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/models" {
		fmt.Fprint(w, `{"object":"list","data":[]}`)
		return
	}
	if r.URL.Path == "/v1/audio/speech" {
		w.Header().Set("Content-Type", "audio/pcm") // 16 bits, 24 kHz
		w.Write(bytes.Repeat([]byte{0, 0x20, 0, 0xe0}, 12000))
		return
	}
	var request chatRequest
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/chat/completions" || len(request.Messages) == 0 {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusBadRequest)
		return
	}
	message, reason := m.answer(request)
	part := "message"
	if request.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		part = "delta"
	}
	choice := map[string]any{"index": 0, part: message, "finish_reason": reason}
	data, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": []any{choice}})
	if request.Stream {
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
	} else {
		w.Write(data)
	}
}

// answer plays the script.
func (m *scriptedModel) answer(request chatRequest) (message map[string]any, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offered = nil
	for _, tool := range request.Tools {
		m.offered = append(m.offered, tool.Function)
	}
	last := request.Messages[len(request.Messages)-1]
	if last.Role == "tool" {
		result := said(last.Content)
		m.results = append(m.results, result)
		return map[string]any{"role": "assistant", "content": "I found: " + result}, "stop"
	}
	for _, f := range m.offered {
		if strings.HasPrefix(f.Name, "look_up") {
			arguments, _ := json.Marshal(map[string]string{"query": cmp.Or(m.query, said(last.Content))})
			call := map[string]any{"index": 0, "id": "call_1", "type": "function", "function": map[string]string{"name": f.Name, "arguments": string(arguments)}}
			return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
		}
	}
	return map[string]any{"role": "assistant", "content": "I have no tool to look that up."}, "stop"
}

// said is the content of a message: a string, or parts with texts.
func said(content json.RawMessage) (s string) {
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	json.Unmarshal(content, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}
