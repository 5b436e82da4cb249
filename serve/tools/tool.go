// Package tools is the one table of what an agent can call. Each [Tool] has a name, a description in English and
// Russian, schemas, and a function; the MCP server, the command line and function calling all read it from here, so
// that adding a tool is adding one entry.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is an entry of the table.
type Tool struct {
	Name        string
	Description Text
	Input       *jsonschema.Schema // of the arguments: an object that allows no further properties; described in English
	Output      *jsonschema.Schema // of the result: an object

	russian map[string]string // descriptions of parameters
	run     func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// A Text is written in both languages.
type Text struct{ EN, RU string }

// A Language is one that tools are described in.
type Language string

// The languages of [Text].
const (
	English Language = "en"
	Russian Language = "ru"
)

// In is the tool's description and the schema of its arguments in a language. What has no Russian text is in English,
// and so is everything in a language other than the two. The schema is the caller's to read, not to change.
func (t Tool) In(language Language) (description string, input *jsonschema.Schema) {
	if language != Russian {
		return t.Description.EN, t.Input
	}
	input = t.Input.CloneSchemas()
	for name, text := range t.russian {
		input.Properties[name].Description = text
	}
	if t.Description.RU == "" {
		return t.Description.EN, input
	}
	return t.Description.RU, input
}

// ErrArguments says that a call's arguments are not what the tool's schema asks for. Its text is for the model that
// made the call.
var ErrArguments = errors.New("invalid arguments")

// Define makes a tool of a function. The schemas come from In and Out: JSON names, with what the tag `jsonschema` says
// as the description of a parameter, and the tag `ru` as the same in Russian; parameters with omitempty are optional.
// adjust, if it is not nil, sets what tags can't say: defaults, limits.
func Define[In, Out any](name string, description Text, run func(ctx context.Context, in In) (Out, error), adjust func(in *jsonschema.Schema)) Tool {
	input, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err)) // In is no struct that JSON could fill: a mistake in this program
	}
	output, err := jsonschema.For[Out](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	if input.Properties == nil {
		input.Properties = map[string]*jsonschema.Schema{} // services of language models refuse an object without the key
	}
	if adjust != nil {
		adjust(input)
	}
	resolved, err := input.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	russian := russian(reflect.TypeFor[In](), input)
	return Tool{name, description, input, output, russian, func(ctx context.Context, arguments json.RawMessage) (any, error) {
		in, err := parse[In](resolved, arguments)
		if err != nil {
			return nil, fmt.Errorf("%w of %s: %w", ErrArguments, name, err)
		}
		return run(ctx, in)
	}}
}

// russian reads the Russian descriptions of parameters from the tags of their fields.
func russian(in reflect.Type, input *jsonschema.Schema) map[string]string {
	texts := map[string]string{}
	for _, field := range reflect.VisibleFields(in) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if text, ok := field.Tag.Lookup("ru"); ok && input.Properties[name] != nil {
			texts[name] = text
		}
	}
	return texts
}

// maxReason is how many bytes an error tells of what is wrong with arguments: it may quote them.
const maxReason = 300

// parse checks arguments against the schema, fills in its defaults, and reads them. No arguments are an empty object, and
// so is null, which some clients send instead.
func parse[In any](schema *jsonschema.Resolved, arguments json.RawMessage) (in In, err error) {
	if given := bytes.TrimSpace(arguments); len(given) == 0 || string(given) == "null" {
		arguments = json.RawMessage("{}")
	}
	values := map[string]any{}
	if err := json.Unmarshal(arguments, &values); err != nil {
		return in, errors.New("not a JSON object")
	}
	if err := known(schema.Schema(), values); err != nil {
		return in, err
	}
	if err := schema.ApplyDefaults(&values); err != nil {
		return in, err
	}
	if err := schema.Validate(values); err != nil {
		return in, errors.New(cut(strings.TrimPrefix(err.Error(), "validating root: "), maxReason))
	}
	if arguments, err = json.Marshal(values); err != nil {
		return in, err
	}
	return in, json.Unmarshal(arguments, &in)
}

// known refuses parameters that a tool doesn't have, and tells which it has.
func known(schema *jsonschema.Schema, values map[string]any) error {
	var unknown []string
	for name := range values {
		if schema.Properties[name] == nil {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	takes := "it takes none"
	if len(schema.Properties) > 0 {
		takes = "it takes " + strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
	}
	return fmt.Errorf("unknown parameters %s; %s", cut(strings.Join(unknown, ", "), maxReason), takes)
}

// Call runs the tool with arguments in JSON. The result is what Output describes. An error that is [ErrArguments] is
// the caller's.
func (t Tool) Call(ctx context.Context, arguments json.RawMessage) (any, error) {
	return t.run(ctx, arguments)
}
