package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestFilesWithinABudget: whatever the files hold, every tool has an answer for every budget that leaves room for one, and
// the least budget is no more than a few lines.
func TestFilesWithinABudget(t *testing.T) {
	for name, line := range map[string]string{
		"English": "walk on along the river and look for the bridge. ", "Russian": "иди дальше вдоль реки и найди мост. ", "Chinese": "沿着河继续走，找到桥。",
		"marks": `"\|"\|"\| `, "one word": strings.Repeat("x", 3000), "emoji": "🙂🙃",
	} {
		files := fstest.MapFS{}
		var paths []string
		for i := range 60 {
			path := fmt.Sprintf("a folder with a long name/and another one/note number %d.md", i)
			files[path] = &fstest.MapFile{Data: []byte(strings.Repeat(line, 1+2000/len(line)) + "needle " + strings.Repeat(line, 1+1000/len(line)) + "\n" + line + "\n")}
			paths = append(paths, path)
		}
		some, err := json.Marshal(map[string]any{"paths": append(paths[:20:20], strings.Repeat("missing", 40), "../x")})
		if err != nil {
			t.Fatal(err)
		}
		arguments := map[string]string{
			"kb_read_file": string(some), "kb_list_directory": `{"path": "", "recursive": true}`, "kb_search_files": `{"pattern": "*.md"}`,
			"kb_search_content": `{"query": "needle"}`, "kb_get_stats": `{}`,
		}
		for _, tool := range FileTools(Files{FS: files, FullPath: URI("base@0123456789ab")}) {
			for _, tokens := range []int{400, 600, 1000, DefaultBudget, 100_000} {
				answer, _, err := tool.CallWithin(t.Context(), json.RawMessage(arguments[tool.Name]), tokens)
				if err != nil {
					t.Errorf("%s: %s within %d tokens: %v", name, tool.Name, tokens, err)
					continue
				}
				validate(t, tool, answer)
				if n := Tokens(string(answer)); n > tokens {
					t.Errorf("%s: %s within %d tokens: %d", name, tool.Name, tokens, n)
				}
				if tool.Name == "kb_search_content" && !strings.Contains(string(answer), "needle ") {
					t.Errorf("%s: within %d tokens no match is shown: %s", name, tokens, answer)
				}
			}
		}
	}
}
