package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"
)

// A strange file system hands out what open makes of a name, and stranger things than a MapFS does.
type strange func(name string) (fs.File, error)

func (s strange) Open(name string) (fs.File, error) { return s(name) }

// node is a file or a folder in a strange one.
type node struct {
	name    string
	mode    fs.FileMode
	size    int64
	read    func(p []byte) (int, error)
	entries func(n int) ([]fs.DirEntry, error)
}

func (n *node) Name() string                         { return n.name }
func (n *node) Size() int64                          { return n.size }
func (n *node) Mode() fs.FileMode                    { return n.mode }
func (n *node) ModTime() time.Time                   { return time.Time{} }
func (n *node) IsDir() bool                          { return n.mode.IsDir() }
func (n *node) Sys() any                             { return nil }
func (n *node) Stat() (fs.FileInfo, error)           { return n, nil }
func (n *node) Close() error                         { return nil }
func (n *node) Read(p []byte) (int, error)           { return n.read(p) }
func (n *node) ReadDir(m int) ([]fs.DirEntry, error) { return n.entries(m) }
func entryOf(name string, mode fs.FileMode) fs.DirEntry {
	return fs.FileInfoToDirEntry(&node{name: name, mode: mode})
}

// once lists its entries and ends.
func once(list ...fs.DirEntry) func(int) ([]fs.DirEntry, error) {
	return func(int) ([]fs.DirEntry, error) {
		given := list
		list = nil
		if given == nil {
			return nil, io.EOF
		}
		return given, nil
	}
}

// files that change, fail and pretend while they are read.
func unsteady() Files {
	endless := func(p []byte) (int, error) {
		for i := range p {
			p[i] = "needle\n"[i%7]
		}
		return len(p), nil
	}
	short := strings.NewReader
	return Files{FullPath: URI("x"), FS: strange(func(name string) (fs.File, error) {
		n := &node{name: path.Base(name), size: 7}
		switch name {
		case ".":
			n.mode = fs.ModeDir
			n.entries = once(entryOf("vanished.md", 0), entryOf("swapped.md", 0), entryOf("broken.md", 0), entryOf("grows.md", 0), entryOf("shrinks.md", 0),
				entryOf("pretends.md", 0), entryOf("steady.md", 0), entryOf("device.md", fs.ModeDevice|fs.ModeCharDevice), entryOf("locked", fs.ModeDir), entryOf("gone", fs.ModeDir), entryOf("../a.md", 0), entryOf("a/b.md", 0), entryOf("..", fs.ModeDir))
		case "swapped.md": // was a file when it was listed
			n.mode = fs.ModeNamedPipe
		case "device.md":
			n.mode = fs.ModeDevice | fs.ModeCharDevice
		case "broken.md":
			n.size, n.read = 1000, func([]byte) (int, error) {
				return 0, &fs.PathError{Op: "read", Path: "/srv/private/broken.md", Err: errors.New("input/output error")}
			}
		case "grows.md":
			n.read = endless
		case "shrinks.md":
			n.size, n.read = 1<<40, short("needle\n").Read
		case "pretends.md": // as files in /proc do
			n.size, n.read = 0, short("needle\n").Read
		case "steady.md":
			n.read = short("needle\n").Read
		case "locked":
			return nil, &fs.PathError{Op: "open", Path: "/srv/private/locked", Err: fs.ErrPermission}
		default:
			return nil, &fs.PathError{Op: "open", Path: "/srv/private/" + name, Err: fs.ErrNotExist}
		}
		return n, nil
	})}
}

func TestFilesUnsteady(t *testing.T) {
	data, err := call(t, unsteady(), "kb_read_file", `{"paths": ["vanished.md", "swapped.md", "device.md", "broken.md", "grows.md", "shrinks.md", "pretends.md", "locked", "steady.md"]}`)
	const result = `{"path":"%[1]s.md","full_path":"larder://x/%[1]s.md","content":"needle\n","size":7}`
	want := `{"success":true,"files_read":4,"results":[` +
		fmt.Sprintf(result, "grows") + "," + fmt.Sprintf(result, "shrinks") + "," + fmt.Sprintf(result, "pretends") + "," + fmt.Sprintf(result, "steady") + `],"errors":[` +
		`{"path":"vanished.md","error":"there is no such file or folder"},{"path":"swapped.md","error":"neither a file nor a folder"},{"path":"device.md","error":"neither a file nor a folder"},` +
		`{"path":"broken.md","error":"it can't be read"},{"path":"locked","error":"permission denied"}]}`
	if err != nil || data != want {
		t.Errorf("%v\n got %s\nwant %s", err, data, want)
	}
	data, err = call(t, unsteady(), "kb_search_content", `{"query": "needle"}`)
	if err != nil || strings.Contains(data, "private") {
		t.Errorf("%s, %v", data, err)
	}
	var a contentAnswer
	if err := json.Unmarshal([]byte(data), &a); err != nil {
		t.Fatal(err)
	}
	var names, failed []string
	for _, m := range a.Matches {
		names = append(names, m.Path)
	}
	for _, p := range a.Errors {
		failed = append(failed, p.Path+": "+p.Error)
	}
	if want := []string{"grows.md", "pretends.md", "shrinks.md", "steady.md"}; !slices.Equal(names, want) || !a.Success {
		t.Errorf("found in %v, want %v", names, want)
	}
	if want := []string{"locked: permission denied", "gone: there is no such file or folder", "broken.md: it can't be read", "swapped.md: neither a file nor a folder"}; !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
	if a.LeftOut != 2 { // the device, and a name that is a path
		t.Errorf("%d left out, want 2", a.LeftOut)
	}
}

// A folder that can't be listed at all is no success, and neither is one of which no file can be read.
func TestFilesNothingReadable(t *testing.T) {
	f := Files{FullPath: URI("x"), FS: strange(func(string) (fs.File, error) { return nil, fs.ErrPermission })}
	g := Files{FullPath: URI("x"), FS: strange(func(name string) (fs.File, error) {
		if name == "." {
			return &node{name: ".", mode: fs.ModeDir, entries: once(entryOf("a.md", 0))}, nil
		}
		return nil, fs.ErrPermission
	})}
	for _, c := range []struct {
		f               Files
		tool, arguments string
	}{
		{f, "kb_list_directory", `{"path": ""}`}, {f, "kb_search_files", `{"pattern": "*"}`}, {f, "kb_search_content", `{"query": "x"}`}, {f, "kb_get_stats", `{}`},
		{g, "kb_read_file", `{"paths": ["a.md"]}`}, {g, "kb_search_content", `{"query": "x"}`},
	} {
		if data, err := call(t, c.f, c.tool, c.arguments); err != nil || !strings.HasPrefix(data, `{"success":false`) || !strings.Contains(data, `"error":"permission denied"}]`) {
			t.Errorf("%s: %s, %v", c.tool, data, err)
		}
	}
}

// 100,000 files in one folder are counted, and as many shown as the budget allows, always the same ones.
func TestFilesManyEntries(t *testing.T) {
	const n = 100_000
	list := make([]fs.DirEntry, n)
	for i := range list {
		list[n-1-i] = entryOf(fmt.Sprintf("note-%06d.md", i), 0)
	}
	f := Files{FullPath: URI("x"), FS: strange(func(name string) (fs.File, error) {
		if name != "." {
			return &node{name: name, size: 2, read: strings.NewReader("x\n").Read}, nil
		}
		rest := list
		return &node{name: ".", mode: fs.ModeDir, entries: func(m int) ([]fs.DirEntry, error) {
			given := rest[:min(m, len(rest))]
			rest = rest[len(given):]
			if len(given) == 0 {
				return nil, io.EOF
			}
			return given, nil
		}}, nil
	})}
	a, err := f.listDirectory(t.Context(), listArguments{})
	if err != nil || !a.Success || !a.Truncated || a.TotalFiles != n || a.FileCount != len(a.Files) || a.FileCount < 5_000 || a.FileCount > 20_000 {
		t.Errorf("%d files of %d, truncated %v, %v", a.FileCount, a.TotalFiles, a.Truncated, err)
	}
	for i, file := range a.Files {
		if want := fmt.Sprintf("note-%06d.md", i); file.Path != want {
			t.Fatalf("%s, want %s", file.Path, want)
		}
	}
	s, err := f.stats(t.Context(), statsArguments{})
	if err != nil || s.FileCount != n || s.Truncated {
		t.Errorf("%+v, %v", s, err)
	}
	f.Budget = 2_000
	c, err := f.searchContent(t.Context(), contentArguments{Query: "x", FilePattern: "*"})
	if err != nil || c.TotalFiles != n || !c.Truncated || c.FilesFound != len(c.Matches) || c.FilesFound < 5 || c.FilesFound > 25 || c.Matches[0].Path != "note-000000.md" {
		t.Errorf("%d of %d, %v", c.FilesFound, c.TotalFiles, err)
	}
}

// A folder without an end ends at the limit.
func TestFilesEndless(t *testing.T) {
	i := 0
	f := Files{FullPath: URI("x"), FS: strange(func(string) (fs.File, error) {
		return &node{name: ".", mode: fs.ModeDir, entries: func(m int) ([]fs.DirEntry, error) {
			list := make([]fs.DirEntry, m)
			for j := range list {
				i++
				list[j] = entryOf(fmt.Sprintf("%d.txt", i), 0)
			}
			return list, nil
		}}, nil
	})}
	a, err := f.searchFiles(t.Context(), searchArguments{Pattern: "77.*"})
	if err != nil || !a.Truncated || a.FileCount != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if i > maxVisited+1024 {
		t.Errorf("%d entries were asked for", i)
	}
}

// Folders that are deeper than a path may be are left out, with all that is in them.
func TestFilesDeep(t *testing.T) {
	f := Files{FullPath: URI("x"), FS: tree(map[string]string{strings.Repeat("d/", 250) + "a.md": "x", strings.Repeat("e/", 150) + "b.md": "x"})}
	a, err := f.searchFiles(t.Context(), searchArguments{Pattern: "*.md"})
	if err != nil || a.FileCount != 1 || a.LeftOut != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// Paths beyond the limit, and those for which the answer has no room, are not looked at, and the answer says so.
func TestReadLimits(t *testing.T) {
	long := strings.Repeat("длинный ", 40_000) // 600 KB
	f := Files{FullPath: URI("x"), FS: tree(map[string]string{"long.md": long, "a.md": "a", "empty.md": ""}), Budget: 102}
	a, err := f.readFiles(t.Context(), readArguments{Paths: []string{"long.md", "a.md", "empty.md", "none.md"}})
	if err != nil || !a.Success || !a.Truncated || a.FilesRead != 1 || len(a.Errors) != 0 || a.TotalPaths != 4 {
		t.Fatalf("%+v, %v", a, err)
	}
	if r := a.Results[0]; !r.Truncated || r.Lossy || r.Size != int64(len(long)) || len(r.Content) != 102 || !utf8.ValidString(r.Content) {
		t.Errorf("%+v", r)
	}
	f.Budget = 0
	a, err = f.readFiles(t.Context(), readArguments{Paths: []string{"long.md"}})
	if r := a.Results[0]; err != nil || !r.Truncated || r.Lossy || r.Size != int64(len(long)) || len(r.Content) > maxRead || len(r.Content) < maxRead-3 {
		t.Errorf("%d bytes of %d, lossy %v, %v", len(r.Content), r.Size, r.Lossy, err)
	}
	paths := make([]string, 100_000)
	for i := range paths {
		paths[i] = "a.md"
	}
	a, err = f.readFiles(t.Context(), readArguments{Paths: paths})
	if err != nil || a.FilesRead != maxPaths || a.TotalPaths != len(paths) || !a.Truncated {
		t.Errorf("%d read of %d, %v", a.FilesRead, a.TotalPaths, err)
	}
}

// Matches are lines, five at most; very long ones are cut around the match, where characters start.
func TestContentLines(t *testing.T) {
	search := func(content, query string) matchedFile {
		t.Helper()
		f := Files{FullPath: URI("x"), FS: tree(map[string]string{"a.md": content})}
		a, err := f.searchContent(t.Context(), contentArguments{Query: query, FilePattern: "*"})
		if err != nil || len(a.Matches) != 1 {
			t.Fatalf("%q in %.40q: %v, %v", query, content, a.Matches, err)
		}
		return a.Matches[0]
	}
	m := search(strings.Repeat("x x\n", 9), "X")
	if m.Occurrences != 18 || len(m.Matches) != 5 || m.Matches[4].LineNumber != 5 {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct {
		content, query, line, context string
		number                        int
	}{
		{"x", "x", "x", "x", 1},
		{"\n\n\n\nx", "x", "x", "\n\nx", 5},
		{"1\n2\n3\nx\n5\n6\n", "x", "x", "2\n3\nx\n5", 4},
		{"1\r\n2\r\nx y\r\n4\r\n", "x", "x y", "1\n2\nx y\n4", 3},
		{"x\n", "x", "x", "x", 1},
		{"a\nx\n\n", "x", "x", "a\nx\n", 2},
		{"1\r\nx\r\ny\r\n", "x\ny", "x", "1\nx\ny", 2},
		{"1\nx\ny\n", "x\r\ny", "x", "1\nx\ny", 2},
		{"\u212aelvin İ\nкот ſ x", "x", "кот ſ x", "\u212aelvin İ\nкот ſ x", 2},
		{"odd \xff byte", "odd", "odd \ufffd byte", "odd \ufffd byte", 1},
		{"a lone\rreturn ends no line, needle", "needle", "a lone\rreturn ends no line, needle", "a lone\rreturn ends no line, needle", 1},
	} {
		m := search(c.content, c.query)
		if got := m.Matches[0]; len(m.Matches) != 1 || got != (matchedLine{c.number, c.line, c.context}) {
			t.Errorf("%q in %q: %+v", c.query, c.content, m.Matches)
		}
	}
	long := strings.Repeat("ж", 10_000) + "needle" + strings.Repeat("ж", 10_000)
	got := search("before\n"+long+"\n"+long, "NEEDLE").Matches[0]
	if !strings.Contains(got.Line, "needle") || !strings.HasPrefix(got.Line, "…ж") || !strings.HasSuffix(got.Line, "ж…") || !utf8.ValidString(got.Line) || len(got.Line) > maxLine+10 || len(got.Context) > 3*maxLine {
		t.Errorf("%d bytes: %s", len(got.Line), got.Line)
	}
}

// The answer of a call does not depend on who is faster.
func TestContentDeterministic(t *testing.T) {
	files := map[string]string{}
	for i := range 2_000 {
		files[fmt.Sprintf("d%d/f%d.md", i%7, i)] = strings.Repeat("some needle here\n", i%9)
	}
	f := Files{FullPath: URI("x"), FS: tree(files), Budget: 50_000}
	first := ""
	for range 5 {
		data, err := call(t, f, "kb_search_content", `{"query": "needle"}`)
		if err != nil || first != "" && data != first {
			t.Fatalf("answers differ, or %v", err)
		}
		first = data
	}
	var a contentAnswer
	if err := json.Unmarshal([]byte(first), &a); err != nil || !a.Truncated || a.TotalFiles != 2_000-223 || len(first) > 70_000 {
		t.Errorf("%d found of %d, %d bytes, %v", a.FilesFound, a.TotalFiles, len(first), err)
	}
	if !slices.IsSortedFunc(a.Matches, func(x, y matchedFile) int { return strings.Compare(x.Path, y.Path) }) {
		t.Error("not by path")
	}
}

// Even the least budget shows one match.
func TestContentLeastBudget(t *testing.T) {
	f := Files{FullPath: URI("x"), FS: tree(map[string]string{"a.md": strings.Repeat("needle\n", 9), "b.md": "needle"}), Budget: 1}
	a, err := f.searchContent(t.Context(), contentArguments{Query: "needle", FilePattern: "*"})
	if err != nil || len(a.Matches) != 1 || len(a.Matches[0].Matches) != 1 || a.Matches[0].Occurrences != 9 || !a.Truncated || a.TotalFiles != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A call that is given up ends, and says why.
func TestFilesCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var opens atomic.Int64
	files := tree(map[string]string{})
	for i := range 3_000 {
		files[fmt.Sprintf("%d.md", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	f := Files{FullPath: URI("x"), FS: strange(func(name string) (fs.File, error) {
		if name != "." && opens.Add(1) == 10 {
			cancel()
		}
		return files.Open(name)
	})}
	if _, err := f.searchContent(ctx, contentArguments{Query: "x", FilePattern: "*"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := opens.Load(); n > 500 {
		t.Errorf("%d files were opened, of 3,000", n)
	}
	for _, c := range [][2]string{{"kb_read_file", `{"paths": ["1.md"]}`}, {"kb_list_directory", `{"path": "", "recursive": true}`}, {"kb_search_files", `{"pattern": "*"}`}, {"kb_get_stats", `{}`}} {
		list := FileTools(f)
		i := slices.IndexFunc(list, func(tool Tool) bool { return tool.Name == c[0] })
		if _, err := list[i].Call(ctx, json.RawMessage(c[1])); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}

// Arguments that are wrong are the caller's mistake, and the error says what is.
func TestFilesArguments(t *testing.T) {
	for _, c := range [][3]string{
		{"kb_read_file", `{}`, "paths"},
		{"kb_read_file", `{"paths": []}`, "paths"},
		{"kb_read_file", `{"paths": null}`, "paths"},
		{"kb_read_file", `{"paths": "a.md"}`, "paths"},
		{"kb_read_file", `{"paths": ["a.md"], "encoding": "utf-8"}`, "encoding"},
		{"kb_list_directory", `{}`, "path"},
		{"kb_search_files", `{"pattern": ""}`, "pattern"},
		{"kb_search_files", `{"pattern": "[z-a]"}`, "the range z-a runs backwards"},
		{"kb_search_content", `{"query": ""}`, "query"},
		{"kb_search_content", `{"query": " \n"}`, "blank"},
		{"kb_search_content", `{"query": "` + strings.Repeat("x", 2000) + `"}`, "longer than"},
		{"kb_search_content", `{"query": "x", "file_pattern": "[a"}`, "closing bracket"},
		{"kb_search_content", `{"query": "x", "file_pattern": ""}`, "file_pattern"},
		{"kb_get_stats", `{"path": "x"}`, "path"},
	} {
		if data, err := call(t, topics(), c[0], c[1]); !errors.Is(err, ErrArguments) || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %.50s: %s, %v, want an error about %s", c[0], c[1], data, err, c[2])
		}
	}
}
