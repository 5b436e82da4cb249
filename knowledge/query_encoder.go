package knowledge

import (
	"context"
	"errors"
	"fmt"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// openAIKey is the variable with the key for programs that get an artifact and no base.yaml.
const openAIKey = "OPENAI_API_KEY"

// QueryEncoder opens what makes the vectors of queries for an artifact whose own a service made, by OpenAI's interface:
// at the address in OPENAI_BASE_URL, with the key in OPENAI_API_KEY, both by lookupEnv. It is nil for artifacts that
// need none. An artifact never says where to send queries and keys, and nothing is contacted because of it alone: without
// the address it is an error.
func QueryEncoder(ctx context.Context, m *artifact.Manifest, lookupEnv func(string) (string, bool)) (reader.QueryEncoder, error) {
	if !m.Model.External() {
		return nil, nil
	}
	o, ok := parseIdentity(m.Model.Embedder)
	if !ok {
		return nil, hintedError{
			fmt.Sprintf("the vectors of %s were made by %s, which only the program that has it can ask", m.Base, m.Model.Embedder),
			"search by keyword, or use that program",
		}
	}
	if o.BaseURL, _ = lookupEnv(baseURLEnv); o.BaseURL == "" {
		return nil, hintedError{
			fmt.Sprintf("the vectors of %s were made by a service, %s, and so must be those of questions", m.Base, m.Model.Embedder),
			fmt.Sprintf("set %s to where it is, such as %s, and %s to its key if it needs one; or search by keyword", baseURLEnv, defaultBaseURL, openAIKey),
		}
	}
	o.Key, _ = lookupEnv(openAIKey)
	o.KeyEnv = openAIKey
	dimensions := o.Dimensions
	o.Dimensions = 0 // services that have models of one size may not know the word
	e, err := NewOpenAI(ctx, o)
	if err != nil || e.Identity() == m.Model.Embedder {
		return e, err
	}
	o.Dimensions = dimensions
	shorter, err := NewOpenAI(ctx, o)
	return shorter, errors.Join(err, e.Close())
}

// parseIdentity reads what identity wrote.
func parseIdentity(identity string) (o OpenAIOptions, ok bool) {
	_, err := fmt.Sscanf(identity, "openai %q dimensions %d query %q passage %q", &o.Model, &o.Dimensions, &o.QueryPrefix, &o.PassagePrefix)
	return o, err == nil && o.identity(o.Dimensions) == identity && o.problems() == nil
}
