//go:build heavy

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newVenv makes a virtual environment with the packages, each pinned as name==version, and returns its python.
func newVenv(t *testing.T, packages ...string) (python string) {
	t.Helper()
	venv := filepath.Join(t.TempDir(), "venv")
	var failed []string
	for _, python := range []string{"python3", "python"} {
		out, err := exec.Command(python, "-m", "venv", venv).CombinedOutput()
		if err == nil {
			failed = nil
			break
		}
		failed = append(failed, fmt.Sprintf("%s: %v: %s", python, err, out))
	}
	if failed != nil {
		t.Fatalf("no python makes a virtual environment:\n%s", strings.Join(failed, "\n"))
	}
	python = filepath.Join(venv, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		python = filepath.Join(venv, "Scripts", "python.exe")
	}
	run(t, "", python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	return python
}

// run runs a command in dir and fails the test with its output if it fails.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
