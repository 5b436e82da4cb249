package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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

// An error tells the model what it may write instead, and quotes little of what it wrote.
func TestUnknownParameters(t *testing.T) {
	none := Define("none", Text{EN: "Takes nothing."}, func(context.Context, struct{}) (greeted, error) { return greeted{}, nil }, nil)
	for _, c := range []struct {
		tool            Tool
		arguments, want string
	}{
		{greeter(), `{"name":"Ann","shout":1,"loud":2}`, `invalid arguments of greet: unknown parameters "loud", "shout"; it takes name, times`},
		{greeter(), `{"Name":"Ann"}`, `invalid arguments of greet: unknown parameters "Name"; it takes name, times`},
		{none, `{"x\n":1}`, `invalid arguments of none: unknown parameters "x\n"; it takes none`},
	} {
		if _, err := c.tool.Call(t.Context(), json.RawMessage(c.arguments)); !errors.Is(err, ErrArguments) || err.Error() != c.want {
			t.Errorf("%s: %v", c.arguments, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	for _, arguments := range []string{`{"` + long + `":1}`, `{"name":["` + long + `"]}`, `{"name":"Ann","times":"` + long + `"}`} {
		if _, err := greeter().Call(t.Context(), json.RawMessage(arguments)); !errors.Is(err, ErrArguments) || len(err.Error()) > 500 {
			t.Errorf("%.20s: %d bytes, %.200v", arguments, len(err.Error()), err)
		}
	}
}
