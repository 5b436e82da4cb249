package strictjson

import (
	"strings"
	"testing"
)

type value struct {
	Name string         `json:"name"`
	List []int          `json:"list"`
	Map  map[string]int `json:"map"`
}

func TestCanonicalForm(t *testing.T) {
	const good = "{\n  \"name\": \"<ä&\\u2028>\",\n  \"list\": [],\n  \"map\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}\n"
	var v value
	if err := Unmarshal([]byte(good), &v); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"no final newline":  strings.TrimSuffix(good, "\n"),
		"trailing value":    good + "{}",
		"unknown member":    strings.Replace(good, `"list"`, `"lost"`, 1),
		"other case":        strings.Replace(good, `"list"`, `"List"`, 1),
		"repeated member":   strings.Replace(good, `"list": []`, `"list": [], "list": []`, 1),
		"other order":       "{\n  \"list\": [],\n  \"name\": \"\",\n  \"map\": {}\n}\n",
		"needless escape":   strings.Replace(good, "ä", `\u00e4`, 1),
		"unsorted map":      strings.NewReplacer(`"a": 1`, `"b": 2`, `"b": 2`, `"a": 1`).Replace(good),
		"other number form": strings.Replace(good, "1,", "1e0,", 1),
		"invalid UTF-8":     strings.Replace(good, "ä", "\xff", 1),
		"empty":             "",
		"null list":         strings.Replace(good, "[]", "null ", 1),
	} {
		var v value
		if err := Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
