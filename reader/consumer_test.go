//go:build !js && !wasip1

package reader

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// consumer is a program of somebody else.
const consumer = `package main

import (
	"context"
	"encoding/json"
	"os"

	"example.com/larder/reader"
)

func main() {
	b, err := reader.OpenDir(os.Args[1], reader.Options{})
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(b.LookUp(context.Background(), os.Args[2]))
}
`

// TestLawConsumer: a module that imports the reader needs one line in go.mod, none in go.sum, and neither network
// nor cgo. It builds where the reader is to run, and answers.
func TestLawConsumer(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := "module example.org/consumer\n\ngo 1.25.0\n\nreplace example.com/larder => " + root + "\n"
	for name, text := range map[string]string{"go.mod": module, "main.go": consumer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Without a module cache there is nothing that a requirement could be met from.
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOMODCACHE="+t.TempDir())
	command := func(env []string, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.Bytes())
		}
		return string(out)
	}
	command(env, "go", "mod", "tidy")
	after, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	requirements := regexp.MustCompile(`(?m)^.*\bv\d+\.\d+\.\d+.*$`).FindAllString(string(after), -1)
	if !slices.Equal(requirements, []string{"require example.com/larder v0.0.0-00010101000000-000000000000"}) {
		t.Errorf("requirements after go mod tidy: %q in\n%s", requirements, after)
	}
	if sum, err := os.ReadFile(filepath.Join(dir, "go.sum")); err == nil && len(sum) > 0 {
		t.Errorf("go.sum after go mod tidy:\n%s", sum)
	}
	program := filepath.Join(dir, "consumer.exe")
	for _, platform := range []string{runtime.GOOS + "/" + runtime.GOARCH, "js/wasm", "wasip1/wasm"} {
		system, arch, _ := strings.Cut(platform, "/")
		out := program
		if arch == "wasm" {
			out = filepath.Join(dir, system+".wasm")
		}
		command(append(env, "GOOS="+system, "GOARCH="+arch), "go", "build", "-o", out, ".")
	}
	if err := mustShelf(t, shop(Hybrid)).Save(filepath.Join(dir, "shelf")); err != nil {
		t.Fatal(err)
	}
	got := command(os.Environ(), program, filepath.Join(dir, "shelf", "shop"), "Gift cards can not be returned.")
	if !strings.HasPrefix(got, `{"results":[{"text":"Gift cards can not be returned.","source":"policy.md","score":0.`) {
		t.Errorf("the consumer's lookup: %s", got)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("js/wasm is built but not run: there is no node")
		return
	}
	script := filepath.Join(strings.TrimSpace(command(os.Environ(), "go", "env", "GOROOT")), "lib", "wasm", "wasm_exec_node.js")
	// Node refuses a large environment together with arguments, and the program needs none.
	inNode := command([]string{"PATH=" + os.Getenv("PATH")}, node, script, filepath.Join(dir, "js.wasm"), filepath.Join(dir, "shelf", "shop"), "Gift cards can not be returned.")
	if inNode != got {
		t.Errorf("js/wasm answers\n%s, natively\n%s", inNode, got)
	}
	t.Log("js/wasm answers the same in node")
}
