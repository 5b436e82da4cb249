package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"example.com/larder/serve/tools"
)

type toolsCommand struct {
	List toolsList `cmd:"" default:"withargs" help:"Print the tools' descriptions and schemas for function calling."`
	Call toolsCall `cmd:"" help:"Run a tool and print its answer."`
}

type toolsList struct {
	Format string `enum:"openai,anthropic,mcp" default:"mcp" help:"Shape of the list: openai, anthropic or mcp." placeholder:"NAME"`
	Lang   string `enum:"en,ru" default:"en" help:"Language of the descriptions." placeholder:"en|ru"`
	serveOptions
}

func (c *toolsList) Run(e *environment) error {
	s, err := c.open(e, slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.table(true)
	if err != nil {
		return err
	}
	shapes := []any{}
	for _, t := range list {
		shapes = append(shapes, shapeOf(t, c.Format, tools.Language(c.Lang)))
	}
	return writeJSON(e.out, shapes, "  ")
}

// shapeOf is a tool as an interface for function calling takes it.
func shapeOf(t tools.Tool, format string, language tools.Language) any {
	description, input := t.In(language)
	switch format {
	case "openai":
		type function struct {
			Name        string             `json:"name"`
			Description string             `json:"description"`
			Parameters  *jsonschema.Schema `json:"parameters"`
		}
		return struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{t.Name, description, input}}
	case "anthropic":
		return struct {
			Name        string             `json:"name"`
			Description string             `json:"description"`
			InputSchema *jsonschema.Schema `json:"input_schema"`
		}{t.Name, description, input}
	}
	return struct {
		Name         string             `json:"name"`
		Description  string             `json:"description"`
		InputSchema  *jsonschema.Schema `json:"inputSchema"`
		OutputSchema *jsonschema.Schema `json:"outputSchema"`
	}{t.Name, description, input, t.Output}
}

type toolsCall struct {
	Name      string `arg:"" help:"The tool."`
	Arguments string `arg:"" help:"Its arguments, as a JSON object."`
	Budget    int    `default:"0" help:"Tokens that the answer may have; 0 for any number." placeholder:"N"`
	serveOptions
}

func (c *toolsCall) Run(e *environment) error {
	s, err := c.open(e, slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.opened(); err != nil {
		return err
	}
	list, err := s.table(true)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
		if t.Name != c.Name {
			continue
		}
		answer, _, err := t.CallWithin(e, json.RawMessage(c.Arguments), c.Budget)
		if errors.Is(err, tools.ErrArguments) {
			return hinted{usageError{err}, "larder tools prints what it takes"}
		}
		if err != nil {
			return err
		}
		return writeJSON(e.out, answer, "  ")
	}
	hint := "there are " + strings.Join(names, ", ")
	if strings.HasPrefix(c.Name, "kb_") && !strings.Contains(hint, "kb_") {
		hint += "; file tools need a folder of documents, or an artifact that was baked with originals: true in base.yaml"
	}
	return hinted{usageError{fmt.Errorf("there is no tool %s", c.Name)}, hint}
}
