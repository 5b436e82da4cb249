//go:build heavy

package interop

import (
	"os/exec"
	"testing"

	"example.com/larder/internal/testkit"
)

// newVenv makes a virtual environment with the packages, each pinned as name==version, and returns its python.
func newVenv(t *testing.T, packages ...string) (python string) {
	t.Helper()
	return testkit.Venv(t, packages...)
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
