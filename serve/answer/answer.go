// Package answer has Claude answer a question from sources, and checks what the answer cites.
//
// The sources are what others wrote. No line of theirs can pass for a part of the prompt, and what the answer cites is
// compared with what was sent. Whether a source says what the answer has it say is not known here.
package answer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

// A Source is a snippet that an answer may cite.
type Source struct {
	Title   string
	Page    *int // nil if it is not known
	Content string
}

// An Answer is complete, unless Stopped says otherwise.
type Answer struct {
	Text          string        `json:"text"`    // Markdown, with a mark after each citation that is wrong
	Sources       []CitedSource `json:"sources"` // those sent, in that order
	Citations     []Citation    `json:"citations"`
	Unsupported   int           `json:"unsupported"` // sentences that claim something and cite no source
	Stopped       string        `json:"stopped"`     // why the model stopped, such as end_turn or max_tokens
	Model         string        `json:"model"`       // the one that answered, as the service names it
	InputTokens   int           `json:"input_tokens"`
	OutputTokens  int           `json:"output_tokens"`
	QuestionIsCut bool          `json:"question_is_cut,omitempty"` // it was longer than what is sent
}

// A CitedSource is a source as it was sent.
type CitedSource struct {
	Number int    `json:"number"` // from 1
	Title  string `json:"title"`
	Page   *int   `json:"page"`
	Cited  bool   `json:"cited"`
	Cut    bool   `json:"cut,omitempty"` // its content was longer than what is sent
}

// A Citation is one that the answer makes.
type Citation struct {
	Text    string `json:"text"`              // such as 1:3
	Source  int    `json:"source"`            // its number; 0 if there is no such source
	Problem string `json:"problem,omitempty"` // NoSource, NoPage, or nothing
}

// What is wrong with a citation.
const (
	NoSource = "no such source"
	NoPage   = "no such page" // the source is there, and on another page
)

// A Writer writes answers. It is safe for concurrent use.
type Writer struct {
	options Options // with defaults in place of zeros, and without the key
	prompt  template
	host    string // of the service
	service anthropic.MessageService
	client  *http.Client
	pause   func(context.Context, time.Duration) error // between attempts
}

// Write answers a question from the first sources, as many as the options say. The text is handed to stream as it
// comes, each citation that is wrong with its mark; stream may be nil, and an error of it ends the answer. After an
// error what was streamed is no answer. Errors are an [*Error], stream's, or the context's; they hold neither the key nor
// the question nor a source, nor what the service wrote, since services repeat what they were sent.
func (w *Writer) Write(ctx context.Context, query string, sources []Source, stream func(delta string) error) (*Answer, error) {
	sources = sources[:min(len(sources), w.options.Sources)]
	switch {
	case strings.TrimSpace(query) == "":
		return nil, w.errorf("ask something", "the question is empty")
	case len(sources) == 0:
		return nil, w.errorf("search for other words, or with fewer filters", "there is no source to answer from")
	}
	prompt, sent, cut := w.prompt.fill(query, sources)
	a := &Answer{Sources: sent, QuestionIsCut: cut}
	m := newMarker(sent)
	if err := w.request(ctx, prompt, a, m, stream); err != nil {
		return nil, err
	}
	a.check(m)
	return a, nil
}

// check tells what the answer cites.
func (a *Answer) check(m *marker) {
	a.Text, a.Citations = m.text.String(), m.citations
	if a.Citations == nil {
		a.Citations = []Citation{}
	}
	for _, c := range a.Citations {
		if c.Problem == "" {
			a.Sources[c.Source-1].Cited = true
		}
	}
	a.Unsupported = unsupported(m.plain.String())
}

// String shows what is not secret.
func (o Options) String() string {
	key := "not set"
	if o.Key != "" {
		key = "set"
	}
	return fmt.Sprintf("answer.Options{Model: %q, MaxTokens: %d, Sources: %d, Timeout: %v, Retries: %d, Key: %s}",
		o.Model, o.MaxTokens, o.Sources, o.Timeout, o.Retries, key)
}

// GoString is String.
func (o Options) GoString() string { return o.String() }
