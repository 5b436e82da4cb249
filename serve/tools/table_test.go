package tools

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// Every entry of the table says all that clients need, in both languages, and allows no parameter that it doesn't list.
func TestFileToolsTable(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range FileTools(topics()) {
		if !regexp.MustCompile(`^kb_[a-z_]{1,60}$`).MatchString(tool.Name) || seen[tool.Name] {
			t.Errorf("the name %s is odd, or there twice", tool.Name)
		}
		seen[tool.Name] = true
		for language, script := range map[Language]*unicode.RangeTable{English: unicode.Latin, Russian: unicode.Cyrillic} {
			description, input := tool.In(language)
			texts := map[string]string{"description": description}
			for name, p := range input.Properties {
				texts[name] = p.Description
			}
			for name, text := range texts {
				if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(script, r) }) || language == English && strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) {
					t.Errorf("%s, %s in %s: %q", tool.Name, name, language, text)
				}
			}
			if data, err := json.Marshal(input); err != nil || !strings.Contains(string(data), `"additionalProperties":false`) || !strings.Contains(string(data), `"properties":{`) || !strings.HasPrefix(string(data), `{"type":"object"`) {
				t.Errorf("%s: schema %s, %v", tool.Name, data, err)
			}
		}
		if tool.Output == nil || tool.Output.Properties["success"] == nil {
			t.Errorf("%s: the answer does not say whether it succeeded", tool.Name)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d tools", len(seen))
	}
}

// The parameters are the document's: names, order, types, which are required, and defaults.
func TestFileToolsParameters(t *testing.T) {
	want := map[string]string{
		"kb_read_file":      "paths array required",
		"kb_list_directory": "path string required, recursive boolean false",
		"kb_search_files":   "pattern string required, case_sensitive boolean false",
		"kb_search_content": `query string required, case_sensitive boolean false, file_pattern string "*.md"`,
		"kb_get_stats":      "",
	}
	for _, tool := range FileTools(topics()) {
		var list []string
		for _, name := range tool.Input.PropertyOrder {
			p := tool.Input.Properties[name]
			last := string(p.Default)
			for _, required := range tool.Input.Required {
				if required == name {
					last = "required"
				}
			}
			list = append(list, name+" "+p.Type+" "+last)
		}
		if got := strings.Join(list, ", "); got != want[tool.Name] {
			t.Errorf("%s: %s, want %s", tool.Name, got, want[tool.Name])
		}
	}
}

// No file of this package can log: what is asked for and found is nobody else's.
func TestLawNoLogs(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files++
		source, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if strings.HasPrefix(i.Path.Value, `"log`) {
				t.Errorf("%s imports %s", e.Name(), i.Path.Value)
			}
		}
		if print := regexp.MustCompile(`os\.Std(out|err)|fmt\.Print|\bprintln\(`).Find(source); print != nil {
			t.Errorf("%s prints: %s", e.Name(), print)
		}
	}
	if files < 8 {
		t.Errorf("only %d files", files)
	}
}
