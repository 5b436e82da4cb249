package pipeline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write puts a file below a root.
func write(t *testing.T, root *os.Root, name, text string) {
	t.Helper()
	full := filepath.Join(root.Name(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// ignoreCases are trees of ignore files: rules by folder. In one thing git differs: its ? is a byte, ours a character.
var ignoreCases = []map[string]string{
	{"": "b.md"},
	{"": "/b.md"},
	{"": "x/b.md"},
	{"": "/x/b.md\n"},
	{"": "x/"},
	{"": "y/"},
	{"": "x/y"},
	{"": "/y"},
	{"": "**/y"},
	{"": "**/y/b.md"},
	{"": "x/**"},
	{"": "x/**/b.md"},
	{"": "x/*/b.md"},
	{"": "*.md\n!a.md"},
	{"": "x\n!x/a.md"},
	{"": "x/*\n!x/a.md"},
	{"": "*\n!*/\n!b.md"},
	{"": "/*\n!/x\n/x/*\n!/x/y"},
	{"": "# b.md\n\\#c.md\n\\!d.md\n"},
	{"": "a.md  \nb.md\\ \n  e.md"},
	{"": "[ab].md"},
	{"": "[!ab].md"},
	{"": "[^ab].md\n[]a].md"},
	{"": "[[:digit:]]*.md"},
	{"": "[[:alpha:][:digit:]].md"},
	{"": "[a-c].md"},
	{"": "?.md"},
	{"": "{a,b}.md"},
	{"": "a**d.md\n**.txt"},
	{"": "\\*.md"},
	{"": "x/y/*.md\r\n!x/y/b.md\r\n"},
	{"": "\ufeffa.md"},
	{"": "*", "x": "!*"},
	{"": "*.md", "x": "!b.md"},
	{"x": "/b.md"},
	{"x": "y/b.md\n*.txt"},
	{"x": "b.md", "x/y": "!b.md"},
	{"": "!*.md", "x": "*.md", "x/y": "!a.md"},
	{"": "/x/y/\n!/x/y/a.md"},
	{"": "/"},
	{"": "**"},
	{"": "**/"},
	{"": "x/**/"},
	{"": "пример.md"},
	{"": "п*.md"},
	{"": "//a.md\nx//b.md"},
	{"": "!"},
	{"": "x/y/b.md/"},
	{"": "*/a.md"},
	{"": "*/*/a.md"},
}

var ignoreTree = []string{
	"a.md", "b.md", "#c.md", "!d.md", "1.md", "abcd.md", "{a,b}.md", "*.md", "b.md ", "  e.md", "].md", "пример.md", "t.txt",
	"x/a.md", "x/b.md", "x/t.txt", "x/y/a.md", "x/y/b.md", "x/y/z/b.md", "y/a.md", "y/b.md/c.md",
}

// TestIgnoreAsGit compares what is ignored with what git ignores by the same rules.
func TestIgnoreAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not there")
	}
	root := tree(t, ignoreTree...)
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = root.Name()
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+root.Name())
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && !(ok && exit.ExitCode() == 1) {
			t.Fatalf("git %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	run("", "init", "-q")
	decisions := 0
	for _, files := range ignoreCases {
		for folder, text := range files {
			write(t, root, filepath.Join(folder, ".gitignore"), text)
			write(t, root, filepath.Join(folder, IgnoreFile), text)
		}
		out := run(strings.Join(ignoreTree, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
		byGit := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
		w := walker{root: root, maxEntries: maxEntries}
		if err := w.folder(".", 0, nil); err != nil {
			t.Errorf("%q: %v", files, err)
		}
		found := paths(w.found)
		for _, name := range ignoreTree {
			decisions++
			if strings.HasSuffix(name, " ") {
				continue // no document
			}
			if slices.Contains(byGit, name) == slices.Contains(found, name) {
				t.Errorf("%q: %q is ignored by git: %v", files, name, slices.Contains(byGit, name))
			}
		}
		for folder := range files {
			for _, name := range []string{".gitignore", IgnoreFile} {
				if err := os.Remove(filepath.Join(root.Name(), folder, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d rules, %d decisions", len(ignoreCases), decisions)
}

func TestIgnore(t *testing.T) {
	root := tree(t, "a.md", "b.md", "old/c.md", "old/d.png", "keep/e.md", "keep/.hidden.md")
	write(t, root, IgnoreFile, "# what is out of date\nold/\n*.md\n!keep/*.md\n!a.md\n")
	found, leftOut, err := Discover(root, DefaultSettings("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(found); !slices.Equal(got, []string{"a.md", "keep/e.md"}) {
		t.Errorf("found %q", got)
	}
	want := []LeftOut{{"b.md", leftIgnored}, {"keep/.hidden.md", "hidden file"}, {"old/", leftIgnored}}
	if !slices.Equal(leftOut, want) {
		t.Errorf("left out %q, want %q", leftOut, want)
	}

	write(t, root, IgnoreFile, "*\n")
	_, _, err = Discover(root, DefaultSettings("x"))
	wantError(t, "everything", err, root.Name(), "no document found", "left out: 4", leftIgnored)
}

func TestIgnoreDecomposed(t *testing.T) {
	root := tree(t, "cafe\u0301.md", "a.md")
	write(t, root, IgnoreFile, "caf\u00e9.md")
	found, _, err := Discover(root, DefaultSettings("x"))
	if err != nil || len(found) != 1 {
		t.Errorf("found %q, %v", paths(found), err)
	}
}

func TestIgnoreMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\nb[c":                            "sub/.larderignore: line 3: [ without its ]",
		"a\\":                                 "line 1: a backslash at the end quotes nothing",
		"\xff":                                "is not UTF-8; convert it",
		strings.Repeat("a", maxIgnoreRule+1):  "line 1 is longer than 1000 bytes",
		strings.Repeat("a\n", maxIgnoreAll+1): "more than 1000 patterns",
		strings.Repeat("# long\n", maxIgnoreFile/7+1): "larger than the limit of 65536 bytes",
	} {
		root := tree(t, "sub/a.md")
		write(t, root, "sub/"+IgnoreFile, text)
		_, _, err := Discover(root, DefaultSettings("x"))
		wantError(t, fmt.Sprintf("%.20q", text), err, root.Name(), want)
	}
	root := tree(t, "a.md", IgnoreFile+"/")
	_, _, err := Discover(root, DefaultSettings("x"))
	wantError(t, "a folder", err, IgnoreFile, "not a regular file")
}

func FuzzIgnore(f *testing.F) {
	for _, files := range ignoreCases {
		for _, text := range files {
			f.Add(text, "x/y/b.md")
		}
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		rules, err := parseIgnore([]byte(text), ".")
		if err != nil || len(name) > 1000 || len(rules) > 100 {
			return
		}
		ignored(rules, name, false)
		ignored(rules, name, true)
	})
}
