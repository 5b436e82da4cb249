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
	python, err := NewVenv(filepath.Join(t.TempDir(), "venv"), "3.0", packages...)
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// NewVenv makes a virtual environment in dir, of a Python that is at least as new as least, such as 3.12, with the
// packages, and returns its python.
func NewVenv(dir, least string, packages ...string) (python string, err error) {
	if err := makeVenv(dir, least); err != nil {
		return "", err
	}
	python = filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		python = filepath.Join(dir, "Scripts", "python.exe")
	}
	install := exec.Command(python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", install, err, out)
	}
	return python, nil
}

// makeVenv tries one Python after the other: a command by that name may be too old, or a version manager's that fails.
func makeVenv(dir, least string) error {
	check := fmt.Sprintf("import sys; sys.exit(f'{sys.version} is older than %s' if sys.version_info < (%s) else 0)",
		least, strings.ReplaceAll(least, ".", ","))
	var failed []string
	for _, p := range pythons() {
		for _, args := range [][]string{{"-c", check}, {"-m", "venv", dir}} {
			cmd := exec.Command(p.name, args...)
			cmd.Env = append(os.Environ(), p.env...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				failed = append(failed, fmt.Sprintf("%s %s: %v: %s", strings.Join(p.env, " "), p.name, err, out))
				break
			}
			if args[0] == "-m" {
				return nil
			}
		}
	}
	return fmt.Errorf("no Python %s or newer makes a virtual environment:\n%s", least, strings.Join(failed, "\n"))
}

type pythonCommand struct {
	name string
	env  []string
}

// pythons are commands that may start a Python: the usual one first, then newer ones by name, and at last those that
// pyenv has installed.
func pythons() (list []pythonCommand) {
	for _, name := range []string{"python3", "python", "python3.14", "python3.13", "python3.12"} {
		list = append(list, pythonCommand{name, nil})
	}
	versions, err := exec.Command("pyenv", "versions", "--bare").Output()
	if err != nil {
		return list
	}
	for _, v := range strings.Fields(string(versions)) {
		list = append(list, pythonCommand{"python3", []string{"PYENV_VERSION=" + v}})
	}
	return list
}
