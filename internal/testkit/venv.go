//go:build heavy

package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Venv makes a virtual environment of Python's with the packages, each pinned as name==version, and returns its python.
// It is gone after the test.
func Venv(t testing.TB, packages ...string) (python string) {
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
	install := exec.Command(python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", install, err, out)
	}
	return python
}
