package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"example.com/larder/reader"
)

// An Answer is what a lookup returns: as JSON, one of three shapes.
type Answer = reader.Answer

// A Passage is a chunk that a lookup found.
type Passage = reader.Passage

// LookUp searches the index and returns at most top_k passages. It never fails and never panics: what could not be
// searched for, before Start included, is the answer {"error": "lookup unavailable"}. It opens no file.
func (b *Base) LookUp(ctx context.Context, query string) Answer {
	current := b.Current()
	if current == nil {
		b.logUnavailable(ctx)
		return Answer{Error: reader.LookupUnavailable}
	}
	return current.LookUp(ctx, query)
}

// Current returns the version that answers now, and nil before Start and after Close.
func (b *Base) Current() *reader.Base {
	if b == nil {
		return nil
	}
	s := b.answers.Load()
	if s == nil {
		return nil
	}
	return s.current()
}

// logUnavailable tells of a lookup before Start. A logger that panics does not take the answer with it.
func (b *Base) logUnavailable(ctx context.Context) {
	defer func() { _ = recover() }()
	if b == nil {
		return
	}
	if ctx == nil {
		ctx = context.Background()
	}
	b.config.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "looked up before Start, or after Close", slog.String("base", b.config.name))
}

// A Tool is a lookup as a language model calls it: its description, and what it runs.
type Tool struct {
	reader.Tool
	base *Base
}

// Tool makes the base's tool. The name defaults to look_up. The description says when to look up, and the note on weak
// results is added to it; without one the note stands alone. Both default to what the base's base.yaml declares, if it
// is [Declared]. Tool may be called before Start.
func (b *Base) Tool(name, description string) Tool {
	declared := b.config.settings.Tool
	if name == "" {
		name = declared.Name
	}
	if description == "" {
		description = declared.Description
	}
	return Tool{reader.NewTool(name, description), b}
}

// ErrArguments says that a tool was called with other arguments than its schema allows.
var ErrArguments = errors.New("invalid arguments")

// Call runs the tool with arguments as a model writes them, such as {"query": "refunds"}. An error is [ErrArguments],
// with a text that is for the model.
func (t Tool) Call(ctx context.Context, arguments json.RawMessage) (Answer, error) {
	var in map[string]*string
	if err := json.Unmarshal(arguments, &in); err != nil || len(in) != 1 || in["query"] == nil {
		return Answer{}, fmt.Errorf("%w of %s: allowed is an object with the one property query, a string", ErrArguments, t.Name)
	}
	return t.base.LookUp(ctx, *in["query"]), nil
}
