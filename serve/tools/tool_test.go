package tools

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

type greeting struct {
	Name  string `json:"name" jsonschema:"who is greeted" ru:"кого приветствуют"`
	Times int    `json:"times,omitempty" jsonschema:"how often"`
}

type greeted struct {
	Text string `json:"text"`
}

func greeter() Tool {
	return Define("greet", Text{EN: "Greets.", RU: "Приветствует."}, func(_ context.Context, in greeting) (greeted, error) {
		text := ""
		for range in.Times {
			text += "hello " + in.Name
		}
		return greeted{text}, nil
	}, func(in *jsonschema.Schema) {
		in.Properties["times"].Default = json.RawMessage("1")
		in.Properties["times"].Maximum = jsonschema.Ptr(3.0)
	})
}

// A tool describes itself and its parameters in two languages; what lacks a Russian text stays English.
func TestToolLanguages(t *testing.T) {
	tool := greeter()
	for language, want := range map[Language][3]string{
		English: {"Greets.", "who is greeted", "how often"},
		Russian: {"Приветствует.", "кого приветствуют", "how often"},
		"fr":    {"Greets.", "who is greeted", "how often"},
	} {
		description, input := tool.In(language)
		if got := [3]string{description, input.Properties["name"].Description, input.Properties["times"].Description}; got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
		if string(input.Properties["times"].Default) != "1" {
			t.Errorf("%s: the default is lost", language)
		}
	}
}

// Arguments are checked before the tool runs, and get their defaults.
func TestToolArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"name":"Ann"}`:            "hello Ann",
		`{"name":"Ann","times":2}`:  "hello Annhello Ann",
		`{"name":"Ann","times":4}`:  "",
		`{"name":"Ann","shout":1}`:  "",
		`{"name":["Ann"]}`:          "",
		`{}`:                        "",
		``:                          "",
		`null`:                      "",
		`[]`:                        "",
		`{"name":"Ann"} {"name":1}`: "",
	} {
		got, err := greeter().Call(t.Context(), json.RawMessage(arguments))
		if want == "" {
			if !errors.Is(err, ErrArguments) {
				t.Errorf("%s: %v, %v, want an error of the arguments", arguments, got, err)
			}
		} else if err != nil || got != (greeted{want}) {
			t.Errorf("%s: %v, %v, want %q", arguments, got, err, want)
		}
	}
}
