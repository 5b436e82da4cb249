// Package mcp serves the table of tools over the Model Context Protocol: on standard input and output, and over
// streamable HTTP.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/larder/serve/tools"
)

// Options change how tools are served.
type Options struct {
	Version  string         // of the program
	Language tools.Language // of descriptions; English by default
	Budget   int            // tokens of an answer; 0 for [tools.DefaultBudget], negative for any number
	Logger   *slog.Logger   // gets a line a call: the tool, how it ended, milliseconds; nil for none
}

// NewServer makes a server of tools.
func NewServer(list []tools.Tool, o Options) *sdk.Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Budget == 0:
		o.Budget = tools.DefaultBudget
	case o.Budget < 0:
		o.Budget = 0
	}
	slots := make(chan struct{}, callsAtOnce())
	server := sdk.NewServer(&sdk.Implementation{Name: "larder", Version: o.Version}, &sdk.ServerOptions{
		// The tools are the same as long as the server runs: no client needs to ask again.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range list {
		server.AddTool(describe(t, o.Language), call(t, o, slots))
	}
	return server
}

// describe is a tool as clients list it.
func describe(t tools.Tool, language tools.Language) *sdk.Tool {
	description, input := t.In(language)
	no := false
	return &sdk.Tool{
		Name: t.Name, Description: description, InputSchema: input, OutputSchema: t.Output,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
}

// callsAtOnce is how many calls run at the same time; the others wait.
func callsAtOnce() int { return 2 * runtime.GOMAXPROCS(0) }

// call runs a tool. What goes wrong is told to the model, as a result with isError, for it to try again otherwise.
func call(t tools.Tool, o Options, slots chan struct{}) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (result *sdk.CallToolResult, err error) {
		ctx, done := untilGone(ctx)
		defer done()
		start, outcome := time.Now(), "ok"
		defer func() {
			if p := recover(); p != nil { // its text might quote what the caller said
				outcome, result, err = "panicked", failed(errors.New("the tool failed")), nil
			}
			o.Logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "call", slog.String("tool", t.Name), slog.String("outcome", outcome),
				slog.Float64("ms", float64(time.Since(start).Microseconds())/1000))
		}()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			outcome = "cancelled"
			return failed(ctx.Err()), nil
		}
		answer, cut, err := t.CallWithin(ctx, r.Params.Arguments, o.Budget)
		if err != nil {
			if outcome = outcomeOf(err); ctx.Err() != nil {
				outcome = "cancelled"
			}
			return failed(err), nil
		}
		result = &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(answer)}}, StructuredContent: answer}
		if cut {
			result.Meta = sdk.Meta{"truncated": true}
		}
		return result, nil
	}
}

func failed(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
}

// outcomeOf names the kind of an error, whose text is not for the log.
func outcomeOf(err error) string {
	switch {
	case errors.Is(err, tools.ErrArguments):
		return "invalid arguments"
	case errors.Is(err, tools.ErrBudget):
		return "too long"
	case errors.Is(err, tools.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "failed"
}
