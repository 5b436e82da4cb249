//go:build unix

package tools

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const secret = "TOP-SECRET-MARK"

// hostile makes a folder of all that a folder can hold, beside a secret that it must not show, and opens it.
func hostile(t testing.TB) Files {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "base")
	write := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.md", secret)
	write("outside/secret.md", secret)
	write("base2/secret.md", secret) // begins like the root
	write("base/a.md", "# A\nplain\n")
	write("base/sub/b.md", "# B\nplain\n")
	write("base/sub/deep/c.md", "# C\nplain\n")
	write("base/.env", secret)
	write("base/.git/config.md", secret)
	write("base/sub/.hidden.md", secret)
	write("base/new\nline.md", "plain\n")
	write("base/back\\slash.md", "plain\n")
	write("base/not-utf8-\xff.md", "plain\n")
	write("base/и\u0306од.md", "plain\n") // й in two characters
	write("base/crlf.md", "one\r\nplain\r\nthree\r\n")
	write("base/latin1.md", "plain text with one odd byte: \xe9 and more after it\n")
	write("base/cp1251.md", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0! \xdd\xf2\xee \xf2\xe5\xea\xf1\xf2 \xe2 1251 plain\n")
	write("base/binary.md", "\x7fELF\x02\x00plain\n")
	write("base/bom.md", "\xef\xbb\xbf# plain\n")
	write("base/utf16.md", "\xff\xfe#\x00 \x00p\x00l\x00a\x00i\x00n\x00\n\x00")
	write("base/empty.md", "")
	link("../secret.md", "out.md")
	link("../outside", "out")
	link(filepath.Join(dir, "secret.md"), "absolute.md")
	link(filepath.Join(root, "a.md"), "absolute-inside.md")
	link("sub/../../secret.md", "zigzag.md")
	link("loop-b.md", "loop-a.md")
	link("loop-a.md", "loop-b.md")
	link("nowhere.md", "dangling.md")
	link("a.md", "inside.md")
	link("../a.md", "sub/aside.md") // out of its folder, not of the root
	link("sub", "alias")
	link("..", "sub/up") // in the root, to the root
	link(".", "self")
	link("/dev/zero", "zero.md")
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(root, "socket.md"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	folder, err := OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return Files{FS: folder, FullPath: folder.FullPath}
}

// Each path has its answer: the beginning of a content, or of an error. One bad path never spoils the others.
func TestFolderPaths(t *testing.T) {
	f := hostile(t)
	const outside, missing, hidden, loop, irregular = "!the path leads outside", "!there is no such", "!names that begin with a dot", "!links lead in a circle", "!neither a file nor a folder"
	const absolute, backslash, long, binary = "!the path is absolute", "!the path has a backslash", "!the path is too long", "!not a text"
	cases := []struct{ path, want string }{
		{"a.md", "# A"},
		{"./a.md", "# A"},
		{"sub//b.md", "# B"},
		{"sub/deep/../b.md", "# B"}, // stays inside, as relative links in documents do
		{"inside.md", "# A"},
		{"sub/aside.md", "# A"},
		{"alias/b.md", "# B"},
		{"alias/deep/../b.md", "# B"},
		{"sub/up/a.md", "# A"},
		{"self/self/self/a.md", "# A"},
		{"new\nline.md", "plain"},
		{"й\u043eд.md", "plain"},     // composed, and not so on the disk
		{"и\u0306од.md", "plain"},    // as on the disk
		{"sub/й\u043eд.md", missing}, // elsewhere
		{"й\u043eд.md/x.md", "!"},    // below it
		{"crlf.md", "one\r\nplain"},
		{"latin1.md", "plain text with one odd byte: \ufffd and"},
		{"bom.md", "# plain"},
		{"utf16.md", "# plain"},
		{"empty.md", ""},
		{"binary.md", binary},
		{"cp1251.md", binary},
		{"none.md", missing},
		{"a.md/x.md", "!"},
		{"a.md/", "# A"},
		{"", "!the path is empty"},
		{".", "!this is a folder"},
		{"sub", "!this is a folder"},
		{"alias", "!this is a folder"},
		{"..", outside},
		{"../secret.md", outside},
		{"../base2/secret.md", outside},
		{"../base/a.md", outside},
		{"sub/../../secret.md", outside},
		{"sub/./.././../secret.md", outside},
		{"sub/up/../../secret.md", missing}, // steps up are counted before links are followed
		{"sub/up/../secret.md", missing},
		{"../../../etc/passwd", outside},
		{"../../../../../../../../../../etc/passwd", outside},
		{"..\\..\\secret.md", backslash},
		{"sub\\b.md", backslash},
		{"back\\slash.md", backslash},
		{`\\server\share\a.md`, backslash},
		{"/etc/passwd", absolute},
		{"//server/share/a.md", absolute},
		{"/a.md", absolute},
		{"C:/Windows/win.ini", absolute},
		{"c:", absolute},
		{"C:\\Windows\\win.ini", backslash},
		{"file:///etc/passwd", missing},
		{"%2e%2e/secret.md", missing},
		{"..%2fsecret.md", "!"},
		{"..;/secret.md", "!"},
		{"\u2025/secret.md", missing}, // a character of two dots
		{"．．/secret.md", missing},     // fullwidth dots
		{"a.md\x00.png", "!the path has a NUL"},
		{"\x00", "!the path has a NUL"},
		{"a.md\xff", "!"}, // becomes U+FFFD in JSON
		{strings.Repeat("a/", 300), long},
		{strings.Repeat("a", 300), long}, // for the file system
		{strings.Repeat("a", 5000), long},
		{"out.md", outside},
		{"out/secret.md", outside},
		{"absolute.md", outside},
		{"absolute-inside.md", outside}, // an absolute link is never followed
		{"zigzag.md", outside},
		{"zero.md", outside},
		{"dangling.md", missing},
		{"loop-a.md", loop},
		{"pipe.md", irregular},
		{"socket.md", irregular},
		{".env", hidden},
		{".git/config.md", hidden},
		{"sub/.hidden.md", hidden},
		{"sub/../.env", hidden},
		{"self/.env", hidden},
		{"...", hidden},
	}
	for group := range slices.Chunk(cases, maxPaths) {
		var paths []string
		for _, c := range group {
			paths = append(paths, c.path)
		}
		arguments, err := json.Marshal(map[string]any{"paths": paths})
		if err != nil {
			t.Fatal(err)
		}
		data, err := call(t, f, "kb_read_file", string(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(data, secret) {
			t.Error("the secret is out")
		}
		var a readAnswer
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			t.Fatal(err)
		}
		if !a.Success || a.Truncated || a.FilesRead != len(a.Results) || len(a.Results)+len(a.Errors) != len(group) {
			t.Errorf("success %v, truncated %v, %d read, %d results, %d errors for %d paths", a.Success, a.Truncated, a.FilesRead, len(a.Results), len(a.Errors), len(group))
		}
		for _, c := range group {
			name := strings.ToValidUTF8(c.path, "\ufffd")
			got := ""
			if i := slices.IndexFunc(a.Results, func(r readFile) bool { return r.Path == name }); i >= 0 {
				got = a.Results[i].Content
			} else if i := slices.IndexFunc(a.Errors, func(p problem) bool { return p.Path == shown(name) }); i >= 0 {
				got = "!" + a.Errors[i].Error
			} else {
				t.Errorf("%q has no answer", c.path)
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%.50q: %q, want %q", c.path, got, c.want)
			}
		}
	}
}

// What a walk shows can be asked for, and it ends, whatever links there are.
func TestFolderWalk(t *testing.T) {
	f := hostile(t)
	w, err := f.walk(t.Context(), ".", true, func(entry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []entry) string {
		var all []string
		for _, e := range list {
			all = append(all, e.path)
		}
		return strings.Join(all, " ")
	}
	if got, want := names(w.files), "a.md binary.md bom.md cp1251.md crlf.md empty.md inside.md latin1.md new\nline.md sub/aside.md sub/b.md sub/deep/c.md utf16.md и\u0306од.md"; got != want {
		t.Errorf("files\n%q, want\n%q", got, want)
	}
	if got, want := names(w.folders), "alias self sub sub/deep sub/up"; got != want {
		t.Errorf("folders %q, want %q", got, want)
	}
	// Links that lead out (6, /dev/zero too), in a circle (2) and nowhere, the pipe, the socket, a backslash, no UTF-8.
	if w.leftOut != 6+2+1+1+1+1+1 || w.failed > 0 {
		t.Errorf("%d left out, %d failed: %v", w.leftOut, w.failed, w.problems)
	}
	data, err := call(t, f, "kb_list_directory", `{"path": "sub/up"}`) // through a link, by name
	if err != nil || !strings.Contains(data, `{"path":"sub/up/a.md","name":"a.md","size":10}`) {
		t.Errorf("%s, %v", data, err)
	}
	data, err = call(t, f, "kb_search_files", `{"pattern": "aside.md"}`)
	if err != nil || !strings.Contains(data, `{"path":"sub/aside.md","name":"aside.md","size":10}`) {
		t.Errorf("%s, %v", data, err)
	}
	data, err = call(t, f, "kb_search_files", `{"pattern": "Й*"}`) // composed, and not so on the disk
	if err != nil || !strings.Contains(data, `"file_count":1`) {
		t.Errorf("%s, %v", data, err)
	}
	data, err = call(t, f, "kb_search_content", `{"query": "PLAIN"}`)
	if err != nil {
		t.Fatal(err)
	}
	var a contentAnswer
	if err := json.Unmarshal([]byte(data), &a); err != nil {
		t.Fatal(err)
	}
	var in []string
	for _, m := range a.Matches {
		in = append(in, m.Path)
	}
	if want := []string{"a.md", "bom.md", "crlf.md", "inside.md", "latin1.md", "new\nline.md", "sub/aside.md", "sub/b.md", "sub/deep/c.md", "utf16.md", "и\u0306од.md"}; !slices.Equal(in, want) {
		t.Errorf("found in %q, want %q", in, want)
	}
	for path, want := range map[string]string{"../": "outside", "out": "outside", "a.md": "this is a file", "/": "absolute", ".git": "dot", "pipe.md": "neither", "loop-a.md": "circle"} {
		data, err := call(t, f, "kb_list_directory", `{"path": "`+path+`", "recursive": true}`)
		if err != nil || !strings.HasPrefix(data, `{"success":false,`) || !strings.Contains(data, want) || !strings.Contains(data, `"files":[],"directories":[]`) {
			t.Errorf("%s: %s, %v", path, data, err)
		}
	}
}

// full_path is the real one for who is on this machine, and tells nothing of it to others.
func TestFolderFullPath(t *testing.T) {
	f := hostile(t)
	data, err := call(t, f, "kb_read_file", `{"paths": ["sub/../й\u043eд.md"]}`)
	var a readAnswer
	if err != nil || json.Unmarshal([]byte(data), &a) != nil || len(a.Results) != 1 {
		t.Fatalf("%s, %v", data, err)
	}
	if content, err := os.ReadFile(a.Results[0].FullPath); err != nil || string(content) != "plain\n" {
		t.Errorf("%s: %q, %v", a.Results[0].FullPath, content, err)
	}
	f.FullPath = URI("notes@0123abcd")
	data, err = call(t, f, "kb_read_file", `{"paths": ["a.md", "new\nline.md", "none.md", "out.md", "pipe.md"]}`)
	if err != nil || strings.Contains(data, os.TempDir()) || !strings.Contains(data, `"larder://notes@0123abcd/a.md"`) || !strings.Contains(data, `"larder://notes@0123abcd/new%0Aline.md"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// A file of 2 GB is read as far as the limit goes, and says so.
func TestFolderHugeFile(t *testing.T) {
	dir := t.TempDir()
	line := "needle and a line of text\n"
	if err := os.WriteFile(filepath.Join(dir, "huge.md"), []byte(strings.Repeat(line, 20_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zeros.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"huge.md", "zeros.md"} {
		if err := os.Truncate(filepath.Join(dir, name), 2<<30); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	f := Files{FS: folder, FullPath: folder.FullPath}
	a, err := f.readFiles(t.Context(), readArguments{Paths: []string{"huge.md", "zeros.md"}})
	if err != nil || !a.Truncated || a.FilesRead != 1 || len(a.Errors) != 1 {
		t.Fatalf("%v: %d read, errors %v", err, a.FilesRead, a.Errors)
	}
	if r := a.Results[0]; r.Size != 2<<30 || len(r.Content) != maxRead || !r.Truncated || !strings.HasPrefix(r.Content, line) {
		t.Errorf("size %d, %d bytes of content, truncated %v", r.Size, len(r.Content), r.Truncated)
	}
	c, err := f.searchContent(t.Context(), contentArguments{Query: "NEEDLE", FilePattern: "*"})
	if err != nil || c.FilesFound != 1 || !c.Matches[0].Truncated || c.Matches[0].Occurrences != 20_000 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A folder that isn't there, or is a file, is an error when it is opened.
func TestOpenFolder(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "none"), os.Args[0]} {
		if _, err := OpenFolder(name); err == nil {
			t.Errorf("%s opens", name)
		}
	}
}

// FuzzFolder gives paths and patterns to all tools: the secret never comes out, and nothing takes forever.
func FuzzFolder(f *testing.F) {
	files := hostile(f)
	for _, seed := range [][2]string{
		{"a.md", "*.md"}, {"../secret.md", "../*"}, {"out/secret.md", "**/secret*"}, {"sub/up/../../secret.md", "[!a]*"},
		{"..\\secret.md", "out/*"}, {".git/config.md", ".*"}, {"й.md", "[а-я]*"}, {"self/out.md", "self/**"},
	} {
		f.Add(seed[0], seed[1], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, path, pattern, query string, flag bool) {
		for _, c := range []struct {
			tool      string
			arguments map[string]any
		}{
			{"kb_read_file", map[string]any{"paths": []string{path, "a.md", pattern}}},
			{"kb_list_directory", map[string]any{"path": path, "recursive": flag}},
			{"kb_search_files", map[string]any{"pattern": pattern, "case_sensitive": flag}},
			{"kb_search_content", map[string]any{"query": query, "file_pattern": pattern, "case_sensitive": flag}},
			{"kb_search_content", map[string]any{"query": "secret", "file_pattern": pattern}},
		} {
			arguments, err := json.Marshal(c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			data, err := call(t, files, c.tool, string(arguments))
			if strings.Contains(data, secret) && !strings.Contains(path+pattern+query, secret) {
				t.Fatalf("%s %s: %s", c.tool, arguments, data)
			}
			if err == nil && c.tool == "kb_read_file" && !strings.Contains(data, `"content":"# A\nplain\n"`) {
				t.Fatalf("the good path is spoilt: %s: %s", arguments, data)
			}
		}
	})
}
