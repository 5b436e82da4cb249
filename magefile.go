//go:build mage

// The targets of go tool mage. Each runs one command; the work is done by larder itself and by the go command.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// packages are those of all modules in the workspace.
const packages = "example.com/larder/..."

var (
	larder    = filepath.Join("bin", "larder"+exe())           // what Build leaves
	bootstrap = filepath.Join("bin", "larder-bootstrap"+exe()) // the same without cgo, which fetches what the other one links
)

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// Bake turns content/ into artifacts in dist/, measures them, and answers one question from them.
func Bake() error {
	if err := bakeContent(); err != nil {
		return err
	}
	if err := run(nil, larder, "eval"); err != nil {
		return err
	}
	fmt.Println("How long until I get my money back?")
	return run(nil, larder, "search", "How long until I get my money back?", "--base", "refunds")
}

func bakeContent() error {
	if err := Build(); err != nil {
		return err
	}
	return run(nil, larder, "bake", "content", "-o", "dist", "--report", filepath.Join("dist", "report.html"), "--revision", revision())
}

// Build makes bin/larder, with ONNX Runtime if a base in content/ needs it.
func Build() error {
	version := "-X main.version=" + describe()
	if err := run([]string{"CGO_ENABLED=0"}, "go", "build", "-ldflags", version, "-o", bootstrap, "./cmd/larder"); err != nil {
		return err
	}
	if err := run(nil, bootstrap, "models", "fetch", "--for", "content"); err != nil {
		return err
	}
	env, err := output(bootstrap, "models", "env", "--for", "content")
	if err != nil {
		return err
	}
	if env == "" {
		return run([]string{"CGO_ENABLED=0"}, "go", "build", "-ldflags", version, "-o", larder, "./cmd/larder")
	}
	return run([]string{"CGO_ENABLED=1", env}, "go", "build", "-tags", "ORT", "-ldflags", version, "-o", larder, "./cmd/larder")
}

// Test runs the tests of all modules, those that need models, servers or the network included.
func Test() error {
	if err := Build(); err != nil {
		return err
	}
	env, err := nativeEnv()
	if err != nil {
		return err
	}
	return test(env, "-tags", "heavy,ORT", "-timeout", "40m", packages)
}

// nativeEnv is the environment that builds with ONNX Runtime need, once what they link is in the cache.
func nativeEnv() ([]string, error) {
	if err := run([]string{"CGO_ENABLED=0"}, "go", "build", "-o", bootstrap, "./cmd/larder"); err != nil {
		return nil, err
	}
	if err := run(nil, bootstrap, "models", "fetch"); err != nil {
		return nil, err
	}
	env, err := output(bootstrap, "models", "env")
	return []string{"CGO_ENABLED=1", env}, err
}

// Check runs the checks that need no test: format, vet, staticcheck, and the laws between modules.
func Check() error {
	unformatted, err := output("gofmt", "-l", ".")
	if err != nil {
		return err
	}
	if unformatted != "" {
		return fmt.Errorf("not formatted: %s; run gofmt -w on them", strings.Join(strings.Fields(unformatted), " "))
	}
	for _, tags := range []string{"", "heavy,ORT", "mage"} {
		if err := run(nil, "go", "vet", "-tags", tags, packages); err != nil {
			return err
		}
	}
	if err := run(nil, "go", "tool", "staticcheck", "-tags", "heavy,ORT", packages); err != nil {
		return err
	}
	if err := builds(); err != nil {
		return err
	}
	return test(nil, "-run", "^TestLaw", packages)
}

// builds compiles the root module for every platform that it promises.
func builds() error {
	for _, platform := range []string{
		"linux/amd64", "linux/arm64", "linux/s390x", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64", "js/wasm", "wasip1/wasm",
	} {
		system, arch, _ := strings.Cut(platform, "/")
		if err := run([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}, "go", "build", "example.com/larder/reader", "example.com/larder/reader/fetch"); err != nil {
			return fmt.Errorf("the reader doesn't build for %s: %w", platform, err)
		}
	}
	return nil
}

// Eval measures the sample bases and writes the results below evals/.
func Eval() error {
	if err := bakeContent(); err != nil {
		return err
	}
	return run(nil, larder, "eval", "--write")
}

// Bench prints how fast encoder, search and the reading of documents are: the encoder side by side with hugot and ONNX
// Runtime, the PDF engines with pdftotext.
func Bench() error {
	env, err := nativeEnv()
	if err != nil {
		return err
	}
	if err := run(env, "go", "test", "-tags", "heavy,ORT", "-run", "^$", "-bench", ".", "-benchmem",
		"example.com/larder/models/minilm", "example.com/larder/reader", "example.com/larder/interop"); err != nil {
		return err
	}
	pdfs := filepath.Join("..", "shared", "data", "pdf")
	if _, err := os.Stat(pdfs); err != nil {
		fmt.Println("PDF engines: not timed, since the collection is not there:", pdfs)
		return nil
	}
	return run(nil, "go", "run", "./interop/reading", "pdf-bench", pdfs)
}

// Fuzz fuzzes each target for a while: LARDER_FUZZTIME, a minute by default.
func Fuzz() error {
	list, err := output("go", "list", "-f", "{{.Dir}} {{.ImportPath}}", packages)
	if err != nil {
		return err
	}
	duration := os.Getenv("LARDER_FUZZTIME")
	if duration == "" {
		duration = "1m"
	}
	ran := 0
	for line := range strings.Lines(list) {
		dir, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		targets, err := fuzzTargets(dir)
		if err != nil {
			return err
		}
		for _, target := range targets {
			ran++
			if err := run(nil, "go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", duration, path); err != nil {
				return err
			}
		}
	}
	if ran == 0 {
		return errors.New("there is no fuzz target")
	}
	return nil
}

// fuzzTargets are the names of the fuzz targets in a folder's test files.
func fuzzTargets(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "func Fuzz"); ok {
				name, _, _ := strings.Cut(rest, "(")
				names = append(names, "Fuzz"+name)
			}
		}
	}
	return names, err
}

// Models lists the files that models.lock names, cached or missing.
func Models() error {
	return run([]string{"CGO_ENABLED=0"}, "go", "run", "./cmd/larder", "models")
}

// Clean removes bin/ and what is in dist/. Downloads stay in the user's cache folder.
func Clean() error {
	entries, err := os.ReadDir("dist")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "README.md" {
			if err := os.RemoveAll(filepath.Join("dist", e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll("bin")
}

// revision is the commit that is checked out, marked if there are changes beside it; "" without git.
func revision() string {
	commit, err := output("git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty")
	if err != nil {
		fmt.Fprintln(os.Stderr, "no revision for provenance:", err)
	}
	return commit
}

// describe names the version by git's tags, "dev" without.
func describe() string {
	name, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "dev"
	}
	return strings.TrimSpace(string(name))
}

// run runs a command with additions to the environment.
func run(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args[:min(2, len(args))], " "), err)
	}
	return nil
}

// output is what a command prints.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args[:min(2, len(args))], " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// test runs go test, reports on it, and fails if no test ran.
func test(env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	count := report(pipe)
	err = cmd.Wait()
	fmt.Printf("%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	if err == nil && count["pass"] == 0 {
		err = errors.New("no test ran")
	}
	return err
}

// report reads go test's events. It prints what packages say, the output of tests that fail or skip, and what other
// tests log, such as how many cases they ran, and it counts the tests.
func report(events io.Reader) map[string]int {
	count, output := map[string]int{}, map[string][]string{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Action == "output" && e.Test == "":
			if !quiet(e.Output) {
				fmt.Print(e.Output)
			}
		case e.Action == "output":
			output[key] = append(output[key], e.Output)
		case e.Test != "" && (e.Action == "fail" || e.Action == "skip"):
			fmt.Printf("%s: %s\n%s", e.Package, e.Test, strings.Join(output[key], ""))
			count[e.Action]++
			delete(output, key)
		case e.Test != "" && e.Action == "pass":
			for _, line := range output[key] {
				if strings.Contains(line, "_test.go:") { // what the test itself logs
					fmt.Printf("%s: %s", e.Test, strings.TrimLeft(line, " "))
				}
			}
			count[e.Action]++
			delete(output, key)
		}
	}
	return count
}

// quiet says if a line about a package tells nothing.
func quiet(line string) bool {
	return line == "PASS\n" || line == "FAIL\n" || strings.HasPrefix(line, "testing: warning: no tests to run") ||
		strings.Contains(line, "[no tests to run]") || strings.Contains(line, "[no test files]")
}
