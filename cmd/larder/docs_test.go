package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"

	"example.com/larder/pipeline"
)

// The tests in this file compare the documentation with the code.

// documentation returns the text of every Markdown file of the repository but the sample bases, by path from its root.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || name == "bin" || name == "content/topics" || name == "content/refunds"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		texts[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "artifact/SPEC.md", "content/handbook/commands.md"} {
		if texts[name] == "" {
			t.Fatalf("there is no %s", name)
		}
	}
	return texts
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks returns the code blocks of a text in one language.
func blocks(text, language string) (list []string) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

// leaves returns the commands that do something, by their words after larder.
func leaves(t *testing.T) map[string]*kong.Node {
	t.Helper()
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*kong.Node{}
	for _, n := range parser.Model.Leaves(false) {
		words := n.Name
		for p := n.Parent; p.Type == kong.CommandNode; p = p.Parent {
			words = p.Name + " " + words
		}
		list[words] = n
	}
	return list
}

// The handbook's reference has a section for each command and names each of its flags, and no others.
func TestDocsCommands(t *testing.T) {
	text := documentation(t)["content/handbook/commands.md"]
	sections := map[string]string{}
	for _, section := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if command, ok := strings.CutPrefix(title, "larder "); ok {
			sections[command] = body
		}
	}
	flags := 0
	for words, node := range leaves(t) {
		body, documented := sections[words]
		if documented == node.Hidden {
			t.Errorf("larder %s: documented %v, hidden %v", words, documented, node.Hidden)
		}
		delete(sections, words)
		if node.Hidden {
			continue
		}
		var want []string
		for _, f := range node.Flags {
			want = append(want, "--"+f.Name)
			if f.Short != 0 {
				want = append(want, "-"+string(f.Short))
			}
		}
		var got []string
		for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(body, -1) {
			got = append(got, regexp.MustCompile(`--?[a-z][a-z-]*`).FindAllString(row[1], -1)...)
		}
		flags += len(got)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("larder %s: documented are %v, there are %v", words, got, want)
		}
	}
	for command := range sections {
		t.Errorf("commands.md describes larder %s, which is no command", command)
	}
	if flags < 30 {
		t.Errorf("commands.md describes %d flags", flags)
	}
}

// Every command that the documentation types can be typed: its flags, arguments and targets are there.
func TestDocsTyped(t *testing.T) {
	targets := mageTargets(t)
	larder, mage := 0, 0
	code := regexp.MustCompile("`((?:bin/)?larder [^`]+|go tool mage [^`]+)`")
	for name, text := range documentation(t) {
		var lines []string
		for _, block := range blocks(text, "sh") {
			for line := range strings.Lines(block) {
				line, _, _ = strings.Cut(line, " #")
				line, _, _ = strings.Cut(line, " > ")
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		prose := fence.ReplaceAllString(text, "")
		for _, m := range code.FindAllStringSubmatch(prose, -1) {
			lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
		}
		for _, line := range lines {
			line = strings.TrimPrefix(line, "bin/")
			switch {
			case strings.HasPrefix(line, "larder-bootstrap "):
				line = "larder " + strings.TrimPrefix(line, "larder-bootstrap ")
				fallthrough
			case strings.HasPrefix(line, "larder "):
				larder++
				if err := typed(line); err != nil {
					t.Errorf("%s: %s: %v", name, line, err)
				}
			case strings.HasPrefix(line, "go tool mage "):
				mage++
				if target := strings.Fields(line)[3]; target != "-l" && !slices.Contains(targets, target) {
					t.Errorf("%s: %s: there is no target %s", name, line, target)
				}
			}
		}
	}
	t.Logf("%d commands of larder, %d targets", larder, mage)
	if larder < 30 || mage < 10 {
		t.Errorf("found %d commands of larder and %d targets", larder, mage)
	}
}

// typed parses a command line. In prose it may be without its arguments.
func typed(line string) error {
	exit := -1
	parser, err := newParser(kong.Exit(func(code int) { exit = code }), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		return err
	}
	_, err = parser.Parse(words(line)[1:])
	if exit == 0 || err != nil && strings.HasPrefix(err.Error(), `expected "<`) {
		return nil
	}
	return err
}

// words splits a line as a shell does, with double quotes alone.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// mageTargets are the functions that the magefile exports.
func mageTargets(t *testing.T) (names []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "magefile.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(\) error`).FindAllStringSubmatch(string(data), -1) {
		names = append(names, string(unicode.ToLower(rune(m[1][0])))+m[1][1:])
	}
	if len(names) == 0 {
		t.Fatal("the magefile has no targets")
	}
	slices.Sort(names)
	return names
}

// The handbook lists every target.
func TestDocsTargets(t *testing.T) {
	text := documentation(t)["content/handbook/getting-started.md"]
	if got, want := firstColumn(t, text, "| Target | "), mageTargets(t); !slices.Equal(got, want) {
		t.Errorf("documented are %v, there are %v", got, want)
	}
}

// The handbook lists every key of base.yaml, and every content type that has a boost.
func TestDocsSettings(t *testing.T) {
	text := documentation(t)["content/handbook/base-yaml.md"]
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(pipeline.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(schema.Properties))
	if got := firstColumn(t, text, "| Key | "); !slices.Equal(got, want) {
		t.Errorf("documented are %v, there are %v", got, want)
	}
	boosts := pipeline.DefaultSettings("base").Boosts
	for _, contentType := range slices.Sorted(maps.Keys(boosts)) {
		if !strings.Contains(text, " "+contentType+" |") {
			t.Errorf("the boost of %s is not documented", contentType)
		}
	}
}

// firstColumn returns the code in the first column of the table with that header, sorted.
func firstColumn(t *testing.T, text, header string) (cells []string) {
	t.Helper()
	_, table, ok := strings.Cut(text, "\n"+header)
	if !ok {
		t.Fatalf("there is no table %q", header)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		cells = append(cells, m[1])
	}
	slices.Sort(cells)
	return cells
}

// The Go code of the README and of the handbook compiles, in a module that requires this one alone.
func TestDocsGo(t *testing.T) {
	texts := documentation(t)
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "content/handbook/reading-from-go.md"} {
		programs := blocks(texts[name], "go")
		if len(programs) == 0 {
			t.Errorf("%s has no Go code", name)
		}
		for _, program := range programs {
			if !strings.HasPrefix(program, "package ") {
				program = "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\n\t\"example.com/larder/reader\"\n)\n\n" +
					"func main() {\n\tctx := context.Background()\n" + program + "\tfmt.Println(res, err)\n}\n"
			}
			dir := t.TempDir()
			for file, text := range map[string]string{
				"go.mod":  "module program\n\ngo 1.25.0\n\nrequire example.com/larder v0.0.0\n\nreplace example.com/larder => " + repository + "\n",
				"main.go": program,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("go", "vet", ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, out, program)
			}
		}
	}
}

// Links inside the repository lead to files and headings that there are.
func TestDocsLinks(t *testing.T) {
	links := 0
	texts := documentation(t)
	for name, text := range texts {
		text = fence.ReplaceAllString(text, "")
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			file := name
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(name), filepath.FromSlash(target)))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			} else if heading != "" && !slices.Contains(anchors(texts[file]), heading) {
				t.Errorf("%s: link to %s: there is no such heading", name, m[1])
			}
		}
	}
	t.Logf("%d links", links)
	if links < 10 {
		t.Errorf("found %d links", links)
	}
}

// anchors are the names by which headings can be linked.
func anchors(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return names
}

// Every row of a table in docs/contracts.md names tests, and there are such.
func TestDocsContracts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "contracts.md"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z0-9/]+)/((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)`")
	sources := map[string]string{} // the tests of a package, by its folder
	rows, tests := 0, 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Promise |") {
			continue
		}
		rows++
		names := name.FindAllStringSubmatch(line, -1)
		if len(names) == 0 {
			t.Errorf("no test shows: %s", line)
		}
		for _, n := range names {
			tests++
			folder := filepath.Join(root, filepath.FromSlash(n[1]))
			if _, ok := sources[folder]; !ok {
				files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					data, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					sources[folder] += string(data)
				}
			}
			if !strings.Contains(sources[folder], "\nfunc "+n[2]+"(") {
				t.Errorf("there is no test %s in %s", n[2], n[1])
			}
		}
	}
	t.Logf("%d promises, %d names of tests", rows, tests)
	if rows < 40 {
		t.Errorf("only %d promises", rows)
	}
}

// ARCHITECTURE.md gives a reason for every module that another one requires directly, and for no other.
func TestDocsDependencies(t *testing.T) {
	var want []string
	for _, module := range []string{".", "pipeline", "knowledge", "serve", "cmd", "interop"} {
		requires := directRequires(t, filepath.Join(root, module))
		if module == "." && len(requires) > 0 {
			t.Errorf("the root module requires %v", requires)
		}
		for _, r := range requires {
			want = append(want, module+" "+r)
		}
	}
	_, table, ok := strings.Cut(documentation(t)["ARCHITECTURE.md"], "\n| Library | Used by | Reason |\n|---|---|---|\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no table of libraries")
	}
	var got []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			break
		}
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s: there is no reason", row)
		}
		for _, user := range strings.Split(cells[2], ",") {
			if user = strings.TrimSpace(user); user != "tests" && user != "tool" {
				got = append(got, user+" "+strings.TrimSpace(cells[1]))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 15 {
		t.Errorf("found %d requirements", len(want))
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("ARCHITECTURE.md doesn't name %s", w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("ARCHITECTURE.md names %s, which go.mod doesn't require directly", g)
		}
	}
}

// directRequires returns the modules outside this repository that the go.mod in dir requires directly or has tools of.
func directRequires(t *testing.T, dir string) (list []string) {
	t.Helper()
	if _, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil { // so that a change invalidates a cached result
		t.Fatal(err)
	}
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		isTool := false
		for _, tool := range mod.Tool {
			isTool = isTool || tool.Path == r.Path || strings.HasPrefix(tool.Path, r.Path+"/")
		}
		if (!r.Indirect || isTool) && !strings.HasPrefix(r.Path, "example.com/larder") {
			list = append(list, r.Path)
		}
	}
	return list
}
