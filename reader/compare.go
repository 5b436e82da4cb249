package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/larder/artifact"
)

// describes are the fields of a manifest that tell what was baked, by which program, and what the lookup is called. All
// others decide how a question is answered.
var describes = []string{"format", "features", "builder", "serial", "base", "tool", "counts", "sections"}

// Compare returns nil if two versions answer a question by the same rules, however their documents differ: if their
// settings, analyzer, tokenizer, model and boosts are equal. Otherwise the error names each difference with the old
// and the new value, on one line.
func Compare(old, new *artifact.Manifest) error {
	was, err := rules(old)
	if err != nil {
		return err
	}
	is, err := rules(new)
	if err != nil {
		return err
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was[name] != is[name] {
			differences = append(differences, fmt.Sprintf("%s was %s and is %s", name, orNone(was[name]), orNone(is[name])))
		}
	}
	if differences == nil {
		return nil
	}
	return fmt.Errorf("made with other settings: %s", strings.Join(differences, "; "))
}

// rules returns what decides how a question is answered: JSON by name, such as top_k or model.encoder.
func rules(m *artifact.Manifest) (map[string]string, error) {
	if m == nil {
		return nil, errors.New("no manifest to compare")
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	list := map[string]string{}
	for name, value := range fields {
		if slices.Contains(describes, name) {
			continue
		}
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(value, &inner); err != nil { // not an object
			list[name] = string(value)
			continue
		}
		prefix := name + "."
		if name == "settings" { // as base.yaml has them
			prefix = ""
		}
		for key, value := range inner {
			list[prefix+key] = string(value)
		}
	}
	return list, nil
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
