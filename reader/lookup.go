package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"example.com/larder/artifact"
)

// An Answer is what a lookup returns to an agent. As JSON it has one of three shapes:
//
//	{"results": [{"text": …, "source": …, "score": …}]}   passages were found
//	{"results": []}                                        nothing was found
//	{"error": "lookup unavailable"}                        it could not search
type Answer struct {
	Results []Passage
	Error   string // "" or LookupUnavailable
}

// LookupUnavailable is the error of an answer that could not be searched for.
const LookupUnavailable = "lookup unavailable"

// A Passage is a chunk that a lookup found.
type Passage struct {
	Text   string   `json:"text"`
	Source string   `json:"source"`          // the file's name, never its path
	Score  *float64 `json:"score,omitempty"` // the cosine, rounded to 3 decimals; nil for keyword hits
}

// MarshalJSON gives the answer one of its three shapes.
func (a Answer) MarshalJSON() ([]byte, error) {
	var shape any = map[string]string{"error": a.Error}
	if a.Error == "" {
		results := a.Results
		if results == nil {
			results = []Passage{}
		}
		shape = map[string][]Passage{"results": results}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // which json.Marshal does itself, and a model reads & more easily than its code
	err := e.Encode(shape)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// LookUp answers a question as the base was set up to: its mode, its top-k, its least score, the two sides
// interleaved. It never panics: what can't be searched is an answer with an error. It may be called on a nil Base.
func (b *Base) LookUp(ctx context.Context, query string) (answer Answer) {
	if b == nil || b.artifact == nil || ctx == nil {
		return Answer{Error: LookupUnavailable}
	}
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			answer = Answer{Error: LookupUnavailable}
			b.record(ctx, slog.LevelError, "lookup panicked")
		}
	}()
	r, err := b.Search(ctx, Query{Text: query, Fusion: Interleave})
	if err != nil {
		b.record(ctx, slog.LevelError, "lookup failed", slog.String("reason", reason(err)))
		return Answer{Error: LookupUnavailable}
	}
	answer.Results = make([]Passage, len(r.Hits))
	for i, h := range r.Hits {
		p := Passage{Text: h.Text, Source: h.Source}
		if h.MeaningRank > 0 {
			score := round3(*h.Cosine)
			p.Score = &score
		}
		answer.Results[i] = p
	}
	b.record(ctx, slog.LevelInfo, "lookup", slog.Int("results", len(answer.Results)),
		slog.Float64("ms", float64(time.Since(start).Microseconds())/1000))
	return answer
}

// reason names the kind of an error. Its text is not for the log: it might quote what the caller said.
func reason(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, artifact.ErrCorrupt):
		return "artifact corrupt"
	case errors.Is(err, ErrNoQueryEncoder):
		return "no embedder of queries"
	}
	return "search failed"
}

// record writes a line to the log, also when ctx has ended. A logger that panics does not take the answer with it.
func (b *Base) record(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	attrs = append([]slog.Attr{slog.String("base", b.artifact.Manifest.Base)}, attrs...)
	b.log.LogAttrs(context.WithoutCancel(ctx), level, message, attrs...)
}
