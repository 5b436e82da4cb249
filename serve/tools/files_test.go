package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// tree makes files of their contents.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

// topics is a small base with the names of the document's examples.
func topics() Files {
	return Files{FS: tree(map[string]string{
		"topics/ai/neural-networks.md":                "# Neural Networks\n\nMachine learning is a subset of AI\nthat learns from data.\nMore machine learning,\nand MACHINE LEARNING.\n",
		"topics/ai/machine-learning/deep/neural.txt":  "machine learning\n",
		"topics/ai/machine-learning/нейронные.md":     "# Нейронные сети\n\nОбучение с учителем.\n",
		"topics/tech/python.md":                       "# Python\n",
		"README.md":                                   "Read me.\n",
		".git/config":                                 "[secret]\n",
		"topics/.obsidian/machine-learning-secret.md": "machine learning\n",
	}), FullPath: URI("topics@0123")}
}

// call calls a tool by name and returns its answer as JSON.
func call(t testing.TB, f Files, name, arguments string) (string, error) {
	t.Helper()
	list := FileTools(f)
	i := slices.IndexFunc(list, func(tool Tool) bool { return tool.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	answer, err := list[i].Call(t.Context(), json.RawMessage(arguments))
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	output, err := list[i].Output.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	if err := output.Validate(value); err != nil {
		t.Errorf("%s %s: the answer is not what its schema says: %v", name, arguments, err)
	}
	return string(data), nil
}

// The answers have the document's fields in its order, and no others, when nothing is cut.
func TestFilesShapes(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"kb_read_file", `{"paths": ["topics/ai/neural-networks.md", "topics/tech/python.md"]}`,
			`{"success":true,"files_read":2,"results":[` +
				`{"path":"topics/ai/neural-networks.md","full_path":"larder://topics@0123/topics/ai/neural-networks.md","content":"# Neural Networks\n\nMachine learning is a subset of AI\nthat learns from data.\nMore machine learning,\nand MACHINE LEARNING.\n","size":122},` +
				`{"path":"topics/tech/python.md","full_path":"larder://topics@0123/topics/tech/python.md","content":"# Python\n","size":9}],` +
				`"errors":null}`},
		{"kb_read_file", `{"paths": ["../secret", "README.md", "none.md"]}`,
			`{"success":true,"files_read":1,"results":[{"path":"README.md","full_path":"larder://topics@0123/README.md","content":"Read me.\n","size":9}],` +
				`"errors":[{"path":"../secret","error":"the path leads outside of the knowledge base"},{"path":"none.md","error":"there is no such file or folder"}]}`},
		{"kb_read_file", `{"paths": ["none.md"]}`,
			`{"success":false,"files_read":0,"results":[],"errors":[{"path":"none.md","error":"there is no such file or folder"}]}`},
		{"kb_list_directory", `{"path": "topics/ai", "recursive": false}`,
			`{"success":true,"path":"topics/ai","recursive":false,` +
				`"files":[{"path":"topics/ai/neural-networks.md","name":"neural-networks.md","size":122}],` +
				`"directories":[{"path":"topics/ai/machine-learning","name":"machine-learning"}],"file_count":1,"directory_count":1}`},
		{"kb_list_directory", `{"path": ""}`,
			`{"success":true,"path":"","recursive":false,"files":[{"path":"README.md","name":"README.md","size":9}],"directories":[{"path":"topics","name":"topics"}],"file_count":1,"directory_count":1}`},
		{"kb_list_directory", `{"path": "topics/ai/", "recursive": true}`,
			`{"success":true,"path":"topics/ai/","recursive":true,"files":[` +
				`{"path":"topics/ai/machine-learning/deep/neural.txt","name":"neural.txt","size":17},` +
				`{"path":"topics/ai/machine-learning/нейронные.md","name":"нейронные.md","size":69},` +
				`{"path":"topics/ai/neural-networks.md","name":"neural-networks.md","size":122}],"directories":[` +
				`{"path":"topics/ai/machine-learning","name":"machine-learning"},` +
				`{"path":"topics/ai/machine-learning/deep","name":"deep"}],"file_count":3,"directory_count":2}`},
		{"kb_list_directory", `{"path": "none"}`,
			`{"success":false,"path":"none","recursive":false,"files":[],"directories":[],"file_count":0,"directory_count":0,"errors":[{"path":"none","error":"there is no such file or folder"}]}`},
		{"kb_search_files", `{"pattern": "*neural*.md", "case_sensitive": false}`,
			`{"success":true,"pattern":"*neural*.md","case_sensitive":false,` +
				`"files":[{"path":"topics/ai/neural-networks.md","name":"neural-networks.md","size":122}],"directories":[],"file_count":1,"directory_count":0}`},
		{"kb_search_files", `{"pattern": "MACHINE*"}`,
			`{"success":true,"pattern":"MACHINE*","case_sensitive":false,"files":[],` +
				`"directories":[{"path":"topics/ai/machine-learning","name":"machine-learning"}],"file_count":0,"directory_count":1}`},
		{"kb_search_files", `{"pattern": "MACHINE*", "case_sensitive": true}`,
			`{"success":true,"pattern":"MACHINE*","case_sensitive":true,"files":[],"directories":[],"file_count":0,"directory_count":0}`},
		{"kb_search_content", `{"query": "machine learning", "case_sensitive": false, "file_pattern": "*.md"}`,
			`{"success":true,"query":"machine learning","case_sensitive":false,"file_pattern":"*.md","matches":[` +
				`{"path":"topics/ai/neural-networks.md","name":"neural-networks.md","occurrences":3,"matches":[` +
				`{"line_number":3,"line":"Machine learning is a subset of AI","context":"# Neural Networks\n\nMachine learning is a subset of AI\nthat learns from data."},` +
				`{"line_number":5,"line":"More machine learning,","context":"Machine learning is a subset of AI\nthat learns from data.\nMore machine learning,\nand MACHINE LEARNING."},` +
				`{"line_number":6,"line":"and MACHINE LEARNING.","context":"that learns from data.\nMore machine learning,\nand MACHINE LEARNING."}]}],"files_found":1}`},
		{"kb_search_content", `{"query": "УЧИТЕЛЕМ"}`,
			`{"success":true,"query":"УЧИТЕЛЕМ","case_sensitive":false,"file_pattern":"*.md","matches":[` +
				`{"path":"topics/ai/machine-learning/нейронные.md","name":"нейронные.md","occurrences":1,"matches":[` +
				`{"line_number":3,"line":"Обучение с учителем.","context":"# Нейронные сети\n\nОбучение с учителем."}]}],"files_found":1}`},
		{"kb_search_content", `{"query": "nowhere"}`,
			`{"success":true,"query":"nowhere","case_sensitive":false,"file_pattern":"*.md","matches":[],"files_found":0}`},
		{"kb_get_stats", `{}`,
			`{"success":true,"file_count":5,"directory_count":5,"total_size":226,"extensions":[{"extension":".md","file_count":4,"total_size":209},{"extension":".txt","file_count":1,"total_size":17}]}`},
	} {
		got, err := call(t, topics(), c.tool, c.arguments)
		if err != nil || got != c.want {
			t.Errorf("%s %s: %v\n got %s\nwant %s", c.tool, c.arguments, err, got, c.want)
		}
	}
}

// A real base, live: what a search lists can be read, and is what is in the files.
func TestFilesSample(t *testing.T) {
	dir := filepath.Join("..", "..", "content", "topics")
	folder, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	f := Files{FS: folder, FullPath: folder.FullPath}
	list, err := f.searchFiles(t.Context(), searchArguments{Pattern: "AI/**/*.md"})
	if err != nil || !list.Success || list.FileCount < 8 || list.Truncated {
		t.Fatalf("%+v, %v", list, err)
	}
	var paths []string
	for _, file := range list.Files {
		paths = append(paths, file.Path)
	}
	read, err := f.readFiles(t.Context(), readArguments{Paths: paths})
	if err != nil || read.FilesRead != list.FileCount || read.Errors != nil {
		t.Fatalf("%+v, %v", read, err)
	}
	for i, r := range read.Results {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.Path)))
		if err != nil || r.Content != string(want) || r.Size != int64(len(want)) || list.Files[i].Size != r.Size {
			t.Errorf("%s: %d bytes, listed %d, should be %d, %v", r.Path, r.Size, list.Files[i].Size, len(want), err)
		}
	}
	found, err := f.searchContent(t.Context(), contentArguments{Query: "ТРАНСФОРМЕР", FilePattern: "*"})
	if err != nil || found.FilesFound == 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
