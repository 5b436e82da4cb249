package pipeline

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/larder/models"
	"golang.org/x/mod/sumdb/dirhash"
)

// The manifest and the lock that libtokenizers is built with. The module's own manifest names a git fork
// of one crate; with these everything comes from the Rust package registry, each crate pinned by checksum.
var (
	//go:embed tokenizers/Cargo.toml
	cargoTOML []byte
	//go:embed tokenizers/Cargo.lock
	cargoLock []byte
)

const tokenizersArchive = "libtokenizers.a"

// A tokenizersBuild is the record beside a built archive. What cargo makes is not reproducible, so the
// archive's digest can only be recorded, not locked.
type tokenizersBuild struct {
	models.Pin
	Inputs []string `json:"inputs"` // what the folder's name is the digest of
	Rustc  string   `json:"rustc"`  // the compiler, as it names itself; not an input: any of them will do
}

// Tokenizers returns the folder that holds libtokenizers.a, for the linker's option -L. It is built with
// cargo from the source in the Go module that models.lock pins, unless the cache has it: that takes a few
// minutes, and needs go, cargo and a C compiler.
//
// The cache's folder is named by the digest of what goes into the build: the module's hash, Cargo.toml,
// Cargo.lock and the target. The archive's own digest is recorded beside it and checked on every use. The
// errors are those of [Fetcher.Runtime].
func (f *Fetcher) Tokenizers(ctx context.Context) (dir string, err error) {
	target, err := f.tokenizersTarget()
	if err != nil {
		return "", err
	}
	lock := f.lock().Tokenizers
	title := tokenizersArchive + " of " + lock.Module + " " + lock.Version
	dir = f.tokenizersDir(target)
	damaged := checkTokenizers(dir)
	if damaged == nil {
		return dir, nil
	}
	if errors.Is(damaged, fs.ErrNotExist) {
		damaged = nil
	}
	if f.Offline {
		return "", &MissingError{[]MissingFile{{
			Name: title + ", built for " + target, Damaged: damaged,
			Choices: []MissingChoice{{Path: filepath.Join(dir, tokenizersArchive) + " with its build.json"}},
		}}}
	}
	s, err := f.newSession()
	if err != nil {
		return "", err
	}
	defer s.close()
	if damaged != nil {
		s.report.line("%v; it will be built again", damaged)
	}
	err = s.buildTokenizers(ctx, title, target, dir)
	var over *passedOver
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", title, context.Cause(ctx))
	case errors.As(err, &over):
		return "", &UnreachableError{
			File: title, Reasons: []string{"cargo build: " + over.reason},
			remedy: "install Rust (cargo, rustc) and a C compiler, or set embedder: native in base.yaml",
		}
	case err != nil:
		return "", err
	}
	return dir, nil
}

func (f *Fetcher) tokenizersTarget() (string, error) {
	lock, platform := f.lock().Tokenizers, f.platformName()
	reason := "models.lock does not know this platform"
	for _, t := range lock.Targets {
		if t.Platform == platform {
			if t.Rust != "" {
				return t.Rust, nil
			}
			reason = t.Unavailable
		}
	}
	return "", &PlatformError{Name: "libtokenizers " + lock.Version, Platform: platform, Reason: reason}
}

// tokenizersInputs are what decides a build, one to a line.
func (f *Fetcher) tokenizersInputs(target string) []string {
	lock := f.lock().Tokenizers
	return []string{
		"module " + lock.Module + " " + lock.Version + " " + lock.Sum,
		"cargo_toml sha256:" + lock.CargoTOML.SHA256,
		"cargo_lock sha256:" + lock.CargoLock.SHA256,
		"target " + target,
	}
}

func (f *Fetcher) tokenizersDir(target string) string {
	key := sha256.Sum256([]byte(strings.Join(f.tokenizersInputs(target), "\n")))
	return filepath.Join(f.Cache.Dir, "tokenizers", hex.EncodeToString(key[:]))
}

// checkTokenizers returns nil if dir holds the archive that its record says, fs.ErrNotExist if there is
// none.
func checkTokenizers(dir string) error {
	build, err := readTokenizersBuild(dir)
	if err != nil {
		return err
	}
	return checkFile(filepath.Join(dir, tokenizersArchive), build.Pin)
}

func readTokenizersBuild(dir string) (tokenizersBuild, error) {
	var build tokenizersBuild
	path := filepath.Join(dir, "build.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return build, err
	}
	if err := json.Unmarshal(data, &build); err != nil {
		return build, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return build, nil
}

// buildTokenizers builds the archive in the session's folder and renames it to dir with its record.
func (s *session) buildTokenizers(ctx context.Context, title, target, dir string) error {
	lock := s.lock().Tokenizers
	for _, part := range []struct {
		name string
		data []byte
		pin  models.Pin
	}{{"Cargo.toml", cargoTOML, lock.CargoTOML}, {"Cargo.lock", cargoLock, lock.CargoLock}} {
		sum := sha256.Sum256(part.data)
		if got := (models.Pin{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(part.data))}); got != part.pin {
			return &MismatchError{part.name + " of " + title, "this program", describe(part.pin), describe(got)}
		}
	}
	task := s.report.start(title+": building it with cargo for "+target, "building "+tokenizersArchive, -1)
	defer task.end()
	cargo, err := s.findClient(ctx, task, "--version", rustCandidates("cargo")...)
	if err != nil {
		return err
	}
	rustc, err := s.findClient(ctx, task, "--version", rustCandidates("rustc")...)
	if err != nil {
		return err
	}
	compiler, err := s.run(ctx, clientRun{argv: append(rustc, "--version"), task: task, limit: s.within().probe})
	if err != nil {
		return err
	}
	source, err := s.tokenizersSource(ctx, title, task)
	if err != nil {
		return err
	}
	crate := filepath.Join(s.temp, "crate")
	if err := os.CopyFS(filepath.Join(crate, "src"), os.DirFS(filepath.Join(source, "src"))); err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(crate, "Cargo.toml"), cargoTOML, 0o644),
		os.WriteFile(filepath.Join(crate, "Cargo.lock"), cargoLock, 0o644)); err != nil {
		return err
	}
	env := []string{
		"CARGO_TARGET_DIR=" + filepath.Join(s.temp, "target"), "CARGO_TERM_COLOR=never", "CARGO_TERM_PROGRESS_WHEN=never",
		"CARGO_NET_RETRY=1", fmt.Sprintf("CARGO_HTTP_TIMEOUT=%d", max(1, int(s.within().header.Seconds()))),
	}
	compiling := func(line string) {
		if word := strings.Fields(line); len(word) > 1 && (word[0] == "Compiling" || word[0] == "Downloaded") {
			task.note(word[1])
		}
	}
	// Downloading and building are two runs, so that an error says which of them failed.
	for _, args := range [][]string{
		{"fetch", "--locked", "--target", target},
		{"build", "--release", "--locked", "--offline", "--target", target},
	} {
		if _, err := s.run(ctx, clientRun{argv: append(cargo, args...), dir: crate, env: env, task: task, limit: s.within().build, line: compiling}); err != nil {
			return err
		}
	}
	built := filepath.Join(s.temp, "built")
	if err := os.Mkdir(built, 0o755); err != nil {
		return err
	}
	path := filepath.Join(built, tokenizersArchive)
	if err := os.Rename(filepath.Join(s.temp, "target", target, "release", tokenizersArchive), path); err != nil {
		return &passedOver{"cargo left no " + tokenizersArchive}
	}
	pin, err := pinFile(path)
	if err != nil {
		return err
	}
	record, err := json.MarshalIndent(tokenizersBuild{pin, s.tokenizersInputs(target), oneLine(compiler)}, "", "  ")
	if err != nil {
		return err
	}
	recordPath := filepath.Join(built, "build.json")
	if err := os.WriteFile(recordPath, append(record, '\n'), 0o644); err != nil {
		return err
	}
	if err := errors.Join(syncFile(path), syncFile(recordPath), syncDir(built)); err != nil {
		return err
	}
	if err := s.installTokenizers(built, dir); err != nil {
		return err
	}
	task.done("built %s: %s, sha256 %s", title, byteCount(pin.Size), pin.SHA256)
	return nil
}

// installTokenizers renames a built folder to dir, after moving away a damaged one. If another process
// was first, its build stays.
func (s *session) installTokenizers(built, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	for range 3 {
		err := os.Rename(built, dir)
		if err == nil {
			return syncDir(filepath.Dir(dir))
		}
		if checkTokenizers(dir) == nil {
			return nil
		}
		aside, asideErr := os.MkdirTemp(s.temp, "damaged-")
		if asideErr != nil {
			return asideErr
		}
		if asideErr := os.Rename(dir, filepath.Join(aside, "build")); asideErr != nil && !errors.Is(asideErr, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%s can't be replaced: other processes replace it too", dir)
}

// tokenizersSource returns the folder of the Go module with the Rust source, after checking its hash.
func (s *session) tokenizersSource(ctx context.Context, title string, task *task) (string, error) {
	dir, err := s.downloadSource(ctx, title, task)
	var over *passedOver
	if errors.As(err, &over) && ctx.Err() == nil {
		// go prints its error as JSON, of which a quote can be left.
		err = &UnreachableError{
			File: "the source of " + title, Reasons: []string{"go mod download: " + strings.TrimRight(over.reason, `",`)},
			remedy: "install go, set GOPROXY to a Go module proxy that can be reached from here, or set embedder: native in base.yaml",
		}
	}
	return dir, err
}

func (s *session) downloadSource(ctx context.Context, title string, task *task) (string, error) {
	lock := s.lock().Tokenizers
	goTool, err := s.findClient(ctx, task, "version", []string{"go"})
	if err != nil {
		return "", err
	}
	at := lock.Module + "@" + lock.Version
	out, err := s.run(ctx, clientRun{
		argv: append(goTool, "mod", "download", "-json", at),
		env:  []string{"GOWORK=off", "GOFLAGS="}, task: task, limit: s.within().module,
	})
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil || module.Dir == "" {
		return "", &passedOver{"go mod download named no folder"}
	}
	// The folder may have been changed since go verified it.
	sum, err := dirhash.HashDir(module.Dir, at, dirhash.Hash1)
	if err != nil {
		return "", err
	}
	if sum != lock.Sum {
		return "", &MismatchError{"the source of " + title, "go mod download " + at, lock.Sum, sum}
	}
	return module.Dir, nil
}

// rustCandidates are the places of one of Rust's programs: on the path, and where its installer puts it
// without changing the path of running shells.
func rustCandidates(name string) [][]string {
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		if user, err := os.UserHomeDir(); err == nil {
			home = filepath.Join(user, ".cargo")
		}
	}
	if home == "" {
		return [][]string{{name}}
	}
	return [][]string{{name}, {filepath.Join(home, "bin", name)}}
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeTree removes a folder even where a program left folders that can't be written.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
