package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shapesOf tells what answers look like: keys in their order and kinds of values. Which passages have a score depends on
// what was found, so what the passages of all answers look like is told once, after the answers themselves:
//
//	{results: […]}; {text: string, source: name, score: at most 3 decimals}; {text: string, source: name}
func shapesOf(answers []json.RawMessage) (string, error) {
	outer, passages := map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		d := json.NewDecoder(bytes.NewReader(a))
		d.UseNumber()
		shape, err := shapeOf(d, "", passages)
		if err != nil {
			return "", fmt.Errorf("%w in %s", err, a)
		}
		outer[shape] = true
	}
	return strings.Join(append(slices.Sorted(maps.Keys(outer)), slices.Sorted(maps.Keys(passages))...), "; "), nil
}

// shapeOf reads a value, which has a key if it is an object's, and adds the shapes of a list's elements to passages.
func shapeOf(d *json.Decoder, key string, passages map[string]bool) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case json.Delim:
		var parts []string
		for d.More() {
			name := ""
			if v == '{' {
				k, err := d.Token()
				if err != nil {
					return "", err
				}
				name = k.(string)
			}
			part, err := shapeOf(d, name, passages)
			if err != nil {
				return "", err
			}
			if v == '{' {
				parts = append(parts, name+": "+part)
			} else {
				passages[part] = true
				parts = []string{"…"}
			}
		}
		end, err := d.Token()
		return fmt.Sprintf("%s%s%s", v, strings.Join(parts, ", "), end), err
	case json.Number:
		if _, decimals, _ := strings.Cut(v.String(), "."); len(decimals) > 3 || strings.ContainsAny(v.String(), "eE") {
			return "number " + v.String(), nil
		}
		return "at most 3 decimals", nil
	case string:
		switch {
		case v == "":
			return "empty", nil
		case key == "error":
			return v, nil
		case key == "source" && strings.ContainsAny(v, `/\`):
			return "path", nil
		case key == "source":
			return "name", nil
		}
		return "string", nil
	}
	return fmt.Sprintf("%T", token), nil
}
