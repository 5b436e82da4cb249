package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// A Base is a knowledge base that tools look things up in.
type Base interface {
	Name() string
	// Declared is the tool that the base's base.yaml declares, nil if it declares none.
	Declared() *artifact.Tool
	// Current returns the version that answers now, nil if none does.
	Current() *reader.Base
}

// maxToolName is the longest name of a tool that language models' interfaces take.
const maxToolName = 64

// lookUpName is what a base's lookup is called, if the base doesn't declare it itself.
func lookUpName(base string, alone bool) string {
	if alone {
		return "look_up"
	}
	name := "look_up_" + base
	return name[:min(len(name), maxToolName)]
}

type lookUpArguments struct {
	Query string `json:"query"`
}

// LookUpTools are the lookups of bases: look_up of a single one, look_up_<base> of several, and by whatever name a base
// declares. The answer has one of the three shapes of [reader.Answer].
func LookUpTools(bases []Base) ([]Tool, error) {
	var list []Tool
	owner := map[string]string{}
	for _, b := range bases {
		name, description := lookUpName(b.Name(), len(bases) == 1), ""
		if d := b.Declared(); d != nil {
			name, description = cmp.Or(d.Name, name), d.Description
		}
		described := reader.NewTool(name, description)
		if other, ok := owner[described.Name]; ok {
			return nil, fmt.Errorf("the bases %s and %s both have a tool %s: set tool.name in the base.yaml of one of them, and bake it again", other, b.Name(), described.Name)
		}
		owner[described.Name] = b.Name()
		list = append(list, lookUpTool(b, described))
	}
	return list, nil
}

func lookUpTool(b Base, described reader.Tool) Tool {
	query := described.InputSchema.Properties["query"]
	t := Define(described.Name, Text{EN: described.Description}, func(ctx context.Context, in lookUpArguments) (lookUpAnswer, error) {
		return lookUpAnswer{b.Current().LookUp(ctx, in.Query), false}, nil
	}, func(in *jsonschema.Schema) {
		in.Properties["query"].Description = query.Description
	})
	t.russian = map[string]string{"query": "Что найти. Словами того, кто спрашивает."}
	t.Output = lookUpOutput()
	return t
}

// lookUpOutput is the schema of the three shapes.
func lookUpOutput() *jsonschema.Schema {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	closed := func() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"results": {
				Type:        "array",
				Description: "The passages that were found, best first; empty if nothing was found.",
				Items: &jsonschema.Schema{
					Type: "object",
					Properties: map[string]*jsonschema.Schema{
						"text":   text("The passage."),
						"source": text("The name of the file it is from."),
						"score":  {Type: "number", Description: "Similarity to the query, where meaning found the passage."},
					},
					Required:             []string{"text", "source"},
					AdditionalProperties: closed(),
				},
			},
			"error": {Type: "string", Enum: []any{reader.LookupUnavailable}, Description: "There if it could not be searched."},
		},
		AdditionalProperties: closed(),
	}
}

// lookUpAnswer is an answer of which passages may have been left out.
type lookUpAnswer struct {
	reader.Answer
	cut bool
}

func (a lookUpAnswer) wasCut() bool { return a.cut }

// within leaves out the last passages of an answer that has more than so many bytes of text, and of a single one the end.
func (a lookUpAnswer) within(bytes int) cutter {
	left := bytes
	for i, p := range a.Results {
		if left -= len(p.Text) + len(p.Source); left >= 0 {
			continue
		}
		if i == 0 {
			p.Text = beginning(p.Text, max(bytes-len(p.Source), 0))
			return lookUpAnswer{reader.Answer{Results: []reader.Passage{p}}, true}
		}
		return lookUpAnswer{reader.Answer{Results: a.Results[:i]}, true}
	}
	return a
}

// beginning is the beginning of a text, of at most so many bytes, and a mark that it goes on.
func beginning(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return strings.TrimRight(text[:bytes], " \n\t") + "…"
}

// ErrUnavailable says that a base can't be searched now.
var ErrUnavailable = errors.New(reader.LookupUnavailable)
