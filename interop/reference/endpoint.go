package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// unavailable is a question whose embedding fails.
const unavailable = "the service fails at this question"

// An endpoint passes requests for embeddings on to a server and remembers the vectors, so that what both sides ask, or
// one side in two modes, is embedded once.
type endpoint struct {
	server string // such as http://127.0.0.1:8000/v1
	mu     sync.Mutex
	known  map[string]json.RawMessage
}

type embeddingsRequest struct {
	Model    string          `json:"model"`
	Input    json.RawMessage `json:"input"`
	Encoding string          `json:"encoding_format,omitempty"`
}

type embedding struct {
	Object    string          `json:"object"`
	Index     int             `json:"index"`
	Embedding json.RawMessage `json:"embedding"`
}

type embeddings struct {
	Object string      `json:"object"`
	Model  string      `json:"model"`
	Data   []embedding `json:"data"`
}

// startEndpoint returns the address of an endpoint before the server.
func startEndpoint(server string) (address string, stop func()) {
	s := httptest.NewServer(&endpoint{server: server, known: map[string]json.RawMessage{}})
	return s.URL + "/v1", s.Close
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := e.answer(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

func (e *endpoint) answer(r *http.Request) (*embeddings, error) {
	var in embeddingsRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	var texts []string
	if err := json.Unmarshal(in.Input, &texts); err != nil {
		texts = make([]string, 1)
		if err := json.Unmarshal(in.Input, &texts[0]); err != nil {
			return nil, err
		}
	}
	if slices.Contains(texts, unavailable) {
		return nil, fmt.Errorf("asked to fail")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out := &embeddings{Object: "list", Model: in.Model}
	for i, text := range texts {
		key := in.Encoding + "\x00" + text
		if e.known[key] == nil {
			vector, err := e.embed(in, text)
			if err != nil {
				return nil, err
			}
			e.known[key] = vector
		}
		out.Data = append(out.Data, embedding{"embedding", i, e.known[key]})
	}
	return out, nil
}

// embed asks the server for the vector of one text.
func (e *endpoint) embed(in embeddingsRequest, text string) (json.RawMessage, error) {
	var err error
	if in.Input, err = json.Marshal([]string{text}); err != nil {
		return nil, err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: time.Minute}
	response, err := client.Post(e.server+"/embeddings", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out embeddings
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, err
	}
	if len(out.Data) != 1 {
		return nil, fmt.Errorf("%d vectors for one text", len(out.Data))
	}
	return out.Data[0].Embedding, nil
}
