package pipeline

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/larder/models"
	"golang.org/x/mod/sumdb/dirhash"
)

func TestTokenizersInputsArePinned(t *testing.T) {
	lock := models.Lock().Tokenizers
	if got := pinOf(cargoTOML); got != lock.CargoTOML {
		t.Errorf("tokenizers/Cargo.toml has %v, models.lock pins %v", got, lock.CargoTOML)
	}
	if got := pinOf(cargoLock); got != lock.CargoLock {
		t.Errorf("tokenizers/Cargo.lock has %v, models.lock pins %v", got, lock.CargoLock)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if want := lock.Module + " " + lock.Version + " " + lock.Sum + "\n"; !strings.Contains(string(sum), want) {
		t.Errorf("go.sum does not contain %q", want)
	}
}

// Every crate comes from the registry and has a checksum; none comes from a git fork.
func TestCargoLock(t *testing.T) {
	crates, sums := 0, 0
	for line := range strings.Lines(string(cargoLock)) {
		switch {
		case strings.HasPrefix(line, `source = "registry+`):
			crates++
		case strings.HasPrefix(line, "source = "):
			t.Errorf("a crate comes from elsewhere: %s", line)
		case strings.HasPrefix(line, "checksum = "):
			sums++
		}
	}
	if crates < 80 || sums != crates {
		t.Errorf("%d crates have %d checksums, want at least 80, and as many", crates, sums)
	}
	if !bytes.Contains(cargoLock, []byte("name = \"tiktoken-rs\"\nversion = \"0.9.1\"\n")) {
		t.Error("tiktoken-rs is not at 0.9.1")
	}
}

// A crateFixture has a Go module with Rust source that the fake go hands out, and fake Rust programs.
type crateFixture struct {
	fixture
	module string // folder of the Go module
}

var builtArchive = []byte("!<arch>\nbuilt")

func newCrateFixture(t *testing.T, behaviour string, clients ...string) crateFixture {
	t.Helper()
	fakeClients(t, behaviour, clients...)
	module := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(module, "src"), 0o755),
		os.WriteFile(filepath.Join(module, "src", "lib.rs"), []byte("// source\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	lock := &f.Lock.Tokenizers
	sum, err := dirhash.HashDir(module, lock.Module+"@"+lock.Version, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	lock.Sum = sum
	give := func(variable string, content []byte) {
		path := filepath.Join(t.TempDir(), "content")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, path)
	}
	give("LARDER_TEST_GO", jsonText(t, map[string]string{"Dir": module}))
	give("LARDER_TEST_CARGO", builtArchive)
	return crateFixture{f, module}
}

func TestTokenizers(t *testing.T) {
	f := newCrateFixture(t, "", "go", "cargo", "rustc")
	dir, err := f.Tokenizers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "libtokenizers.a")
	if got, err := os.ReadFile(archive); err != nil || !bytes.Equal(got, builtArchive) {
		t.Errorf("the archive is %q, %v", got, err)
	}
	build, err := readTokenizersBuild(dir)
	if err != nil || build.Pin != pinOf(builtArchive) || build.Rustc != "rustc 1.2.3" || len(build.Inputs) != 4 {
		t.Errorf("the record is %+v, %v", build, err)
	}
	if !strings.Contains(f.log.String(), "built libtokenizers.a of github.com/daulet/tokenizers v1.24.0: 13 bytes") {
		t.Errorf("log is %q", f.log)
	}
	if got := f.files(t); len(got) != 3 {
		t.Errorf("the cache holds %q, want the tokenizer, the archive and its record", got)
	}
	items, err := f.Items()
	if err != nil || items[4].State != StateCached || items[4].SHA256 != pinOf(builtArchive).SHA256 {
		t.Errorf("it is listed as %+v, %v", items[4], err)
	}

	// From now on no program is needed.
	t.Setenv("PATH", "")
	t.Setenv("CARGO_HOME", t.TempDir())
	for _, offline := range []bool{true, false} {
		f.Offline = offline
		if again, err := f.Tokenizers(context.Background()); err != nil || again != dir {
			t.Errorf("from the cache: %q, %v", again, err)
		}
	}
	// Other inputs are another build.
	f.Offline = true
	f.Lock.Tokenizers.Version = "v9.9.9"
	if _, err := f.Tokenizers(context.Background()); err == nil {
		t.Error("the archive of another version is taken")
	}
}

func TestTokenizersDamaged(t *testing.T) {
	for _, name := range []string{"libtokenizers.a", "build.json"} {
		t.Run(name, func(t *testing.T) {
			f := newCrateFixture(t, "", "go", "cargo", "rustc")
			dir, err := f.Tokenizers(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 4
			if name == "build.json" {
				data = data[:len(data)/2]
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			f.Offline = true
			if _, err := f.Tokenizers(context.Background()); err == nil || !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("offline the error is %v", err)
			}
			f.Offline = false
			if again, err := f.Tokenizers(context.Background()); err != nil || again != dir {
				t.Fatalf("built again: %q, %v", again, err)
			}
			if !strings.Contains(f.log.String(), "it will be built again") {
				t.Errorf("log is %q", f.log)
			}
			if err := checkTokenizers(dir); err != nil {
				t.Error(err)
			}
			if got := f.files(t); len(got) != 3 {
				t.Errorf("the cache holds %q", got)
			}
		})
	}
}

func TestTokenizersFails(t *testing.T) {
	for _, test := range []struct {
		name, behaviour, reason string
		clients                 []string
	}{
		{"no cargo", "", "found no cargo", []string{"go", "rustc"}},
		{"no rustc", "", "found no rustc", []string{"go", "cargo"}},
		{"no go", "", "found no go", []string{"cargo", "rustc"}},
		{"cargo without a toolchain", "cargo:broken", "cargo: shim: no version is chosen", []string{"go", "cargo", "rustc"}},
		{"go hangs", "go:hang", "go mod download: go did not end within 300ms", []string{"go", "cargo", "rustc"}},
		{"cargo fails", "cargo:fail", "cargo build: cargo: cargo can't resolve the registry's host", []string{"go", "cargo", "rustc"}},
		{"go fails", "go:fail", "go mod download: go: go can't resolve the registry's host", []string{"go", "cargo", "rustc"}},
		{"cargo leaves nothing", "cargo:empty", "cargo left no libtokenizers.a", []string{"go", "cargo", "rustc"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newCrateFixture(t, test.behaviour, test.clients...)
			if test.name == "go hangs" {
				f.limits.module = 300 * time.Millisecond
			}
			_, err := f.Tokenizers(context.Background())
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), test.reason) || !strings.Contains(unreachable.Hint(), "embedder: native") {
				t.Errorf("error is %v, want the reason %q", err, test.reason)
			} else if ofGo := strings.Contains(test.reason, "go mod download"); strings.Contains(unreachable.Hint(), "GOPROXY") != ofGo && test.name != "no go" {
				t.Errorf("hint is %q", unreachable.Hint())
			} else if ofGo && strings.Contains(err.Error(), "cargo build") {
				t.Errorf("error is %v, which blames cargo", err)
			}
			f.wantFiles(t)
		})
	}
	t.Run("changed source", func(t *testing.T) {
		f := newCrateFixture(t, "", "go", "cargo", "rustc")
		if err := os.WriteFile(filepath.Join(f.module, "src", "lib.rs"), []byte("// other\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := f.Tokenizers(context.Background())
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), f.Lock.Tokenizers.Sum) {
			t.Errorf("error is %v, want a *MismatchError", err)
		}
		f.wantFiles(t)
	})
	t.Run("other Cargo.lock", func(t *testing.T) {
		f := newCrateFixture(t, "", "go", "cargo", "rustc")
		f.Lock.Tokenizers.CargoLock.Size++
		_, err := f.Tokenizers(context.Background())
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "Cargo.lock") {
			t.Errorf("error is %v, want a *MismatchError", err)
		}
		f.wantFiles(t)
	})
}
