package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/larder/internal/durable"
	"example.com/larder/models"
)

// interruptible returns the options of a bake in root, which exists or is made as a base that has a keyword artifact of
// some documents. The bake that is interrupted makes a hybrid one of others, so that it prepares an encoder, puts it on
// the shelf, and replaces latest.
func interruptible(t *testing.T, root string) BakeOptions {
	t.Helper()
	o := BakeOptions{
		Folder: filepath.Join(root, "content"), Shelf: filepath.Join(root, "dist"), Fetcher: testFetcher(t, filepath.Join(root, "cache")), Version: "v0.1.0",
	}
	if _, err := os.Stat(o.Shelf); err == nil {
		return o
	}
	writeFiles(t, o.Folder, map[string]string{"base.yaml": "name: shop\nembedder: native\n", "a.txt": "We can refund the order.\n"})
	old := o
	old.Mode = "keyword"
	mustBake(t, old)
	writeFiles(t, o.Folder, map[string]string{"b.txt": "Shipping is free.\n"})
	return o
}

// checkInterrupted requires that an interrupted bake left only what is whole, and that the next one works and removes
// the rest.
func checkInterrupted(t *testing.T, when string, o BakeOptions) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(o.Shelf, "shop", "latest")); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	checkShelf(t, o.Shelf)
	encoders := filepath.Join(o.Fetcher.Cache.Dir, "encoders")
	entries, err := os.ReadDir(encoders)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), durable.Prefix) {
			continue
		}
		if _, err := models.Open(os.DirFS(filepath.Join(encoders, e.Name())), ".", ""); err != nil {
			t.Errorf("%s: in the cache: %v", when, err)
		}
	}

	// What is young may belong to a bake that runs; what is old goes.
	for _, name := range leftovers(t, filepath.Dir(o.Shelf)) {
		old := time.Now().Add(-2 * abandonedAfter)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Bake(context.Background(), o)
	if err != nil {
		t.Errorf("%s: the next bake: %v", when, err)
		return
	}
	checkShelf(t, o.Shelf)
	latest, err := os.ReadFile(filepath.Join(o.Shelf, "shop", "latest"))
	if err != nil || string(latest) != r.Digest+"\n" || r.Chunks != 2 || r.Settings.Mode != "hybrid" {
		t.Errorf("%s: after the next bake latest is %q, %v; report %+v", when, latest, err, r)
	}
	if left := leftovers(t, filepath.Dir(o.Shelf)); len(left) > 0 {
		t.Errorf("%s: the next bake leaves %q", when, left)
	}
}

// TestBakeFailing and TestBakeKilled interrupt some of a bake's file operations; with the tag heavy, others all of them.
func TestBakeFailing(t *testing.T) { failBakes(t, 7) }
func TestBakeKilled(t *testing.T)  { killBakes(t, 9) }

// leastOperations is how many file operations a bake has at least.
const leastOperations = 60

// failBakes fails one in so many file operations of a bake, one a bake.
func failBakes(t *testing.T, every int) {
	errInjected := errors.New("injected failure")
	failures := 0
	for n := 1; ; n += every {
		if n > 1000 {
			t.Fatal("more than 1000 operations")
		}
		o := interruptible(t, t.TempDir())
		count, failed := 0, ""
		restore := durable.SetHook(func(op, path string) error {
			if count++; count == n {
				failed = op + " " + path
				return errInjected
			}
			return nil
		})
		_, err := Bake(context.Background(), o)
		restore()
		if failed == "" {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, errInjected) {
			t.Errorf("operation %d (%s) failed, error %v", n, failed, err)
		}
		if left := leftovers(t, filepath.Dir(o.Shelf)); len(left) > 0 {
			t.Errorf("operation %d (%s) failed: left behind: %q", n, failed, left)
		}
		checkInterrupted(t, "operation "+strconv.Itoa(n)+" ("+failed+") failed", o)
		failures++
	}
	if failures < leastOperations/every {
		t.Errorf("failed %d operations only", failures)
	}
	t.Logf("failed %d operations, one in %d", failures, every)
}

// killBakes runs this test binary again and again, which bakes and kills itself at operation N, for one in so many N.
func killBakes(t *testing.T, every int) {
	const rootVar, nVar = "LARDER_TEST_BAKE_ROOT", "LARDER_TEST_BAKE_KILL"
	if root := os.Getenv(rootVar); root != "" {
		n, err := strconv.Atoi(os.Getenv(nVar))
		if err != nil {
			t.Fatal(err)
		}
		o := interruptible(t, root)
		count := 0
		durable.SetHook(func(string, string) error {
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
		if _, err := Bake(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for n := 1; ; n += every {
		if n > 1000 {
			t.Fatal("more than 1000 operations")
		}
		root := t.TempDir()
		o := interruptible(t, root)
		cmd := exec.Command(exe, "-test.run=^TestBakeKilled$")
		cmd.Env = append(slices.Clone(os.Environ()), rootVar+"="+root, nVar+"="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		when := "killed at operation " + strconv.Itoa(n)
		if err != nil {
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
				t.Fatal(err)
			} else if exit.Exited() && exit.ExitCode() != 1 || strings.Contains(string(out), "FAIL") {
				t.Fatalf("%s: %v\n%s", when, err, out)
			}
			killed++
		} else {
			when = "not killed"
		}
		checkInterrupted(t, when, o)
		if err == nil {
			break
		}
	}
	if killed < leastOperations/every {
		t.Errorf("killed at %d operations only", killed)
	}
	t.Logf("killed at %d operations, one in %d", killed, every)
}
