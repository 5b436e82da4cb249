//go:build !js && !wasip1

package durable

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestKilled runs this test binary again and again, which kills itself at operation N.
func TestKilled(t *testing.T) {
	const rootVar, nVar = "DURABLE_KILL_ROOT", "DURABLE_KILL_N"
	if root := os.Getenv(rootVar); root != "" {
		n, err := strconv.Atoi(os.Getenv(nVar))
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		SetHook(func(string, string) error {
			if count++; count == n {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				if err != nil {
					return err
				}
				select {} // the signal is on its way
			}
			return nil
		})
		if err := fill(root); err != nil {
			t.Fatal(err)
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for n := 1; ; n++ {
		if n > 100 {
			t.Fatal("more than 100 operations")
		}
		root := oldVersion(t)
		cmd := exec.Command(exe, "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), rootVar+"="+root, nVar+"="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		when := "killed at operation " + strconv.Itoa(n)
		if err == nil {
			if got := content(t, filepath.Join(root, "base", "latest")); got != "v2" {
				t.Errorf("not killed, latest holds %q", got)
			}
			break
		}
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			t.Fatal(err)
		} else if exit.Exited() && exit.ExitCode() != 1 || strings.Contains(string(out), "FAIL") {
			t.Fatalf("%s: %v\n%s", when, err, out)
		}
		killed++
		checkFilled(t, when, root)
		if err := RemoveStale(filepath.Join(root, "base"), 0); err != nil {
			t.Error(err)
		}
		for _, name := range names(t, filepath.Join(root, "base")) {
			if strings.HasPrefix(name, Prefix) {
				t.Errorf("%s: %s is left", when, name)
			}
		}
	}
	if killed < 15 {
		t.Errorf("killed at %d operations only", killed)
	}
	t.Logf("killed at each of %d operations", killed)
}
