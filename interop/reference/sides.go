package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"example.com/larder/knowledge"
)

//go:embed reference.py
var referenceScript string

// A task is what both sides are asked. It is the input of reference.py.
type task struct {
	Endpoint string     `json:"endpoint"`
	Model    string     `json:"model"`
	Bases    []baseTask `json:"bases"`
	Settings []settings `json:"settings"`
}

type baseTask struct {
	Name      string   `json:"name"`
	Folder    string   `json:"folder"`
	Mode      string   `json:"mode"`
	MinScore  float64  `json:"min_score"`
	Questions []string `json:"questions"`
}

// settings are arguments of a base; what is nil is not given.
type settings struct {
	Mode         string   `json:"mode,omitempty"`
	ChunkSize    *int     `json:"chunk_size,omitempty"`
	ChunkOverlap *int     `json:"chunk_overlap,omitempty"`
	TopK         *int     `json:"top_k,omitempty"`
	MinScore     *float64 `json:"min_score,omitempty"`
	Embed        bool     `json:"embed,omitempty"`
}

// A side is what one of the two answers.
type side struct {
	Version  string            `json:"version"`
	Tools    []json.RawMessage `json:"tools"`
	Bases    []baseAnswers     `json:"bases"`
	Refusals []*string         `json:"refusals"` // nil for settings that are taken
}

type baseAnswers struct {
	BeforeStart json.RawMessage   `json:"before_start"`
	Passages    int               `json:"passages"`
	Answers     []json.RawMessage `json:"answers"`
}

// askReference asks the reference, in a Python that has what requirements.txt names.
func askReference(ctx context.Context, python string, t task) (*side, error) {
	in, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var out, log bytes.Buffer
	c := exec.CommandContext(ctx, python, "-c", referenceScript)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(in), &out, &log
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the reference: %w\n%s", err, &log)
	}
	var s side
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		return nil, fmt.Errorf("the reference: %w\n%s", err, &log)
	}
	if len(s.Bases) != len(t.Bases) || len(s.Refusals) != len(t.Settings) {
		return nil, fmt.Errorf("the reference answered for %d bases of %d", len(s.Bases), len(t.Bases))
	}
	return &s, nil
}

// askLarder asks larder the same.
func askLarder(ctx context.Context, t task) (*side, error) {
	s := &side{}
	for _, c := range []struct{ name, description string }{{"look_up_refunds", "Look up refunds."}, {"", ""}} {
		b, err := knowledge.New("refunds", "refunds", knowledge.Mode("keyword"))
		if err != nil {
			return nil, err
		}
		tool, err := json.Marshal(b.Tool(c.name, c.description))
		if err != nil {
			return nil, err
		}
		s.Tools = append(s.Tools, tool)
	}
	for _, b := range t.Bases {
		answers, err := askBase(ctx, t, b)
		if err != nil {
			return nil, fmt.Errorf("larder: %s in mode %s: %w", b.Name, b.Mode, err)
		}
		s.Bases = append(s.Bases, *answers)
	}
	for _, one := range t.Settings {
		s.Refusals = append(s.Refusals, refusal(one))
	}
	return s, nil
}

func askBase(ctx context.Context, t task, b baseTask) (*baseAnswers, error) {
	options := []knowledge.Option{knowledge.Mode(b.Mode), knowledge.MinScore(b.MinScore), knowledge.Log(slog.New(slog.DiscardHandler))}
	if b.Mode != "keyword" {
		options = append(options, knowledge.Embed(knowledge.OpenAI(knowledge.OpenAIOptions{
			Model: t.Model, BaseURL: t.Endpoint, Batch: 8, Timeout: 5 * time.Minute,
		})))
	}
	base, err := knowledge.New(b.Name, b.Folder, options...)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	var out baseAnswers
	if out.BeforeStart, err = json.Marshal(base.LookUp(ctx, "before the start")); err != nil {
		return nil, err
	}
	if err := base.Start(ctx); err != nil {
		return nil, err
	}
	out.Passages = base.Current().Artifact().Chunks()
	for _, q := range b.Questions {
		answer, err := json.Marshal(base.LookUp(ctx, q))
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, answer)
	}
	return &out, nil
}

// refusal is what a base with these settings is refused with.
func refusal(s settings) *string {
	var options []knowledge.Option
	if s.Mode != "" {
		options = append(options, knowledge.Mode(s.Mode))
	}
	if s.ChunkSize != nil {
		options = append(options, knowledge.ChunkSize(*s.ChunkSize))
	}
	if s.ChunkOverlap != nil {
		options = append(options, knowledge.ChunkOverlap(*s.ChunkOverlap))
	}
	if s.TopK != nil {
		options = append(options, knowledge.TopK(*s.TopK))
	}
	if s.MinScore != nil {
		options = append(options, knowledge.MinScore(*s.MinScore))
	}
	if s.Embed {
		options = append(options, knowledge.Embed(knowledge.Native()))
	}
	if _, err := knowledge.New("refunds", "refunds", options...); err != nil {
		text := err.Error()
		return &text
	}
	return nil
}
