package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/larder/internal/testkit"
	"example.com/larder/models"
	"example.com/larder/pipeline"
)

func TestMain(m *testing.M) {
	pipeline.RunChild()
	testscript.Main(m, map[string]func(){"larder": func() {
		if os.Getenv("LARDER_TEST_LOCK") != "" {
			lock = testLock()
		}
		main()
	}, "follow": follow})
}

// root is the repository's root.
var root = filepath.Join("..", "..")

// TestScripts runs what needs neither network nor model. The bases are in keyword mode: to count tokens they need
// tokenizer.json, and the tests' own is in each script's cache.
func TestScripts(t *testing.T) {
	runScripts(t, "script", func(env *testscript.Env) error {
		dir := filepath.Join(env.WorkDir, "cache")
		env.Setenv("LARDER_CACHE", dir)
		env.Setenv("LARDER_TEST_LOCK", "1")
		return fillCache(dir)
	})
}

// fillCache puts the tests' own tokenizer into a cache.
func fillCache(dir string) error {
	file := pipeline.Cache{Dir: dir}.Path("tokenizer.json", testLock().Models[0].Tokenizer.Sources[0].Pin)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, testkit.Tokenizer(), 0o666)
}

func runScripts(t *testing.T, folder string, setup func(*testscript.Env) error) {
	dir := filepath.Join("testdata", folder)
	if files, err := filepath.Glob(filepath.Join(dir, "*.txtar")); err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts in %s", dir)
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPOSITORY", repository)
			return setup(env)
		},
		Condition: func(name string) (bool, error) {
			if name != "onnx" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return pipeline.HasONNX, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "json": checkJSON, "flip": flip},
	})
}

// exits CODE COMMAND… runs a command that must exit with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// json PATH [VALUE] checks that the last command printed JSON and nothing else, with something at the path, such as
// hits.0.base: the value, if one is given. ! json PATH checks that nothing is there.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [VALUE]")
	}
	var value any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &value); err != nil {
		ts.Fatalf("not JSON: %v", err)
	}
	for key := range strings.SplitSeq(args[0], ".") {
		found := false
		switch v := value.(type) {
		case map[string]any:
			value, found = v[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(v) {
				value, found = v[i], true
			}
		}
		if found {
			continue
		}
		if !neg {
			ts.Fatalf("there is no %s at %s", key, args[0])
		}
		return
	}
	got := fmt.Sprint(value)
	if equal := len(args) == 1 || got == args[1]; equal == neg {
		ts.Fatalf("%s is %q", args[0], got)
	}
}

// flip FILE flips a bit in the middle of the one file that the pattern matches.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(files) != 1 {
		ts.Fatalf("%s matches %d files", args[0], len(files))
	}
	data, err := os.ReadFile(files[0])
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(files[0], data, 0o666))
}

// testLock is models.lock with one model: its tokenizer is that of testTokenizer, and its graph can't be had.
func testLock() *models.LockFile {
	l := *models.Lock()
	m, err := l.Model(pipeline.DefaultSettings("base").Model)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(testkit.Tokenizer())
	source := func(name string, pin models.Pin) models.File {
		return models.File{Name: name, Sources: []models.Source{{Kind: models.URL, Pin: pin, URL: "https://127.0.0.1:1/" + name}}}
	}
	m.ONNX = source("model.onnx", m.ONNX.Sources[0].Pin)
	m.Tokenizer = source("tokenizer.json", models.Pin{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(testkit.Tokenizer()))})
	l.Models = []models.Model{m}
	return &l
}
