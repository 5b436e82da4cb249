package reader

import "cmp"

// A Tool describes a lookup to a language model, in the shape that the Model Context Protocol gives to tools.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema Schema `json:"inputSchema"`
}

// A Schema is the JSON Schema of a tool's arguments.
type Schema struct {
	Type                 string              `json:"type"`
	Properties           map[string]Property `json:"properties"`
	Required             []string            `json:"required"`
	AdditionalProperties bool                `json:"additionalProperties"`
}

// A Property is one argument.
type Property struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// WeakResultsNote ends every tool's description.
const WeakResultsNote = "The results may not answer the question. They are ordered best first, and each carries a relevance score where a higher number means a closer match. If nothing returned actually answers what was asked, say you do not have that information rather than offering the closest result."

// Tool describes the base's lookup. What is empty is taken from the tool that the base declares. The name defaults to
// look_up. The description says when to look up; the note on weak results is added to it, after an empty line, and
// stands alone if there is none.
func (b *Base) Tool(name, description string) Tool {
	if b != nil && b.artifact != nil && b.artifact.Manifest.Tool != nil {
		declared := b.artifact.Manifest.Tool
		name, description = cmp.Or(name, declared.Name), cmp.Or(description, declared.Description)
	}
	return NewTool(name, description)
}

// NewTool describes a lookup as [Base.Tool] does, without a base.
func NewTool(name, description string) Tool {
	if name == "" {
		name = "look_up"
	}
	if description == "" {
		description = WeakResultsNote
	} else {
		description += "\n\n" + WeakResultsNote
	}
	return Tool{name, description, Schema{
		Type:       "object",
		Properties: map[string]Property{"query": {"string", "What to look up. Use the caller's own words."}},
		Required:   []string{"query"},
	}}
}
