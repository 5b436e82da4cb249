package knowledge

import (
	"errors"
	"fmt"
	"strings"

	"example.com/larder/pipeline"
)

// A ValidationError lists every field that a base was given wrong.
type ValidationError struct {
	Base     string
	Problems []Problem
}

// A Problem is a field that is wrong.
type Problem struct {
	Field string // such as top_k
	Text  string // what is wrong and what is allowed
}

func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "knowledge base %.80q: ", e.Base)
	if len(e.Problems) != 1 {
		fmt.Fprintf(&b, "%d fields are wrong:", len(e.Problems))
	}
	for _, p := range e.Problems {
		if len(e.Problems) > 1 {
			b.WriteString("\n  ")
		}
		b.WriteString(p.Field + ": " + p.Text)
	}
	return b.String()
}

// An Error says why a base can't be baked or started, and what can be done. Let the process stop on it: an agent that knows nothing should
// not take calls. Errors of the pipeline and the reader are in its chain.
type Error struct {
	Base string
	Op   string // bake, start or declare
	Err  error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("knowledge base %s: %s: %v", e.Base, e.Op, e.Err)
	if hint := e.Hint(); hint != "" {
		text += "; " + hint
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what can be done, and "" if nothing more is known than the error tells.
func (e *Error) Hint() string {
	if h := (interface{ Hint() string })(nil); errors.As(e.Err, &h) {
		return h.Hint()
	}
	return ""
}

// A hintedError says what can be done.
type hintedError struct{ text, hint string }

func (e hintedError) Error() string { return e.text }
func (e hintedError) Hint() string  { return e.hint }

// keyword is the mode that embeds nothing.
const keyword = "keyword"

// problems checks everything that New was given.
func (c *config) problems() (list []Problem) {
	wrong := func(field, format string, args ...any) {
		list = append(list, Problem{field, fmt.Sprintf(format, args...)})
	}
	s := c.settings
	s.Credential = c.credentialEnv
	if e := c.embedding.embedder; e == pipeline.ONNX || e == pipeline.Native { // those outside say themselves what is wrong
		s.Embedder = e
	}
	if settings := new(pipeline.SettingsError); errors.As(s.Validate(), &settings) {
		for _, p := range settings.Problems {
			list = append(list, Problem{p.Key, p.Text})
		}
	}
	if strings.TrimSpace(c.folder) == "" || strings.ContainsRune(c.folder, 0) {
		wrong("folder", "%.40q is not a path (allowed: the folder that holds the documents)", c.folder)
	}
	if strings.ContainsRune(c.indexDir, 0) {
		wrong("index_dir", "%.40q is not a path (allowed: a folder of the index alone, or none)", c.indexDir)
	}
	given := c.embedding.embedder != ""
	switch {
	case s.Mode == keyword && given:
		wrong("embed", "keyword mode embeds nothing (allowed: no Embed, or mode meaning or hybrid)")
	case (s.Mode == "meaning" || s.Mode == "hybrid") && !given:
		wrong("embed", "missing, and mode %s needs it (allowed: ONNX(), Native(), OpenAI(…), Function(…), Custom(…); or mode keyword)", s.Mode)
	}
	if c.embedding.problems != nil {
		list = append(list, c.embedding.problems()...)
	}
	return list
}

// declaredError is what is wrong with a base.yaml.
func declaredError(folder string, err error) error {
	settings := new(pipeline.SettingsError)
	if !errors.As(err, &settings) {
		return &Error{Base: folder, Op: "declare", Err: err}
	}
	e := &ValidationError{Base: folder}
	for _, p := range settings.Problems {
		text := p.Text
		if p.Line > 0 {
			text += fmt.Sprintf(" (%s:%d)", settings.File, p.Line)
		}
		e.Problems = append(e.Problems, Problem{p.Key, text})
	}
	return e
}
