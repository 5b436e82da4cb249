//go:build heavy && linux

package pipeline

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// emulator returns a program that runs programs for arm64, and installs it where that can be done.
func emulator(t *testing.T) string {
	t.Helper()
	for range 2 {
		for _, name := range []string{"qemu-aarch64", "qemu-aarch64-static"} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		if out, err := exec.Command("apt-get", "install", "-y", "qemu-user").CombinedOutput(); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("qemu-aarch64 is not there, and can't be installed: %v\n%s", err, out)
			}
			t.Skipf("qemu-aarch64 is not there, and can't be installed: %v", err)
		}
	}
	t.Fatal("qemu-user was installed, but qemu-aarch64 is not on the path")
	return ""
}

// TestNativeBakeOnARM64 bakes the same documents with a larder for this machine and with one for arm64, and compares
// shelves, encoders included, byte by byte. Each prepares the encoder from the model's files in a cache of its own.
func TestNativeBakeOnARM64(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		t.Skip("this is arm64: there is nothing to compare it with")
	}
	qemu := emulator(t)
	cache, err := DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	files, err := (&Fetcher{Cache: cache}).Model(context.Background(), "all-MiniLM-L6-v2")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "content", "notes")
	writeFiles(t, folder, map[string]string{
		"base.yaml":   "embedder: native\nchunk_size: 40\nchunk_overlap: 8\n",
		"tides.md":    "# Tides\n\nThe sea rises and falls twice a day, because the moon pulls at it. Twice a month sun and moon pull together.\n\n## Tables\n\nA harbour prints when the water is high.\n",
		"bread.txt":   "Knead flour, water, salt and yeast for ten minutes. Let the dough rise until it is twice as large, then bake it at 230 °C.\n",
		"записка.txt": "Хлеб готов, когда корка звенит под пальцем.\n",
	})
	trees := map[string]map[string]string{}
	for _, arch := range []string{runtime.GOARCH, "arm64"} {
		larder := filepath.Join(dir, "larder-"+arch)
		build := exec.Command("go", "build", "-o", larder, "example.com/larder/cmd/larder")
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		own := filepath.Join(dir, "cache-"+arch)
		if err := os.MkdirAll(filepath.Join(own, "sha256"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{files.ONNX, files.Tokenizer} {
			if err := os.Symlink(file, filepath.Join(own, "sha256", filepath.Base(file))); err != nil {
				t.Fatal(err)
			}
		}
		shelf := filepath.Join(dir, "dist-"+arch)
		command := []string{larder, "bake", folder, "-o", shelf, "--embedder", "native", "--offline", "--cache", own}
		if arch != runtime.GOARCH {
			command = append([]string{qemu}, command...)
		}
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		t.Logf("%s:\n%s", arch, out)
		checkShelf(t, shelf)
		trees[arch] = readTree(t, shelf)
	}
	sameTree(t, "arm64", trees["arm64"], trees[runtime.GOARCH])
	if n := len(trees["arm64"]); n < 15 {
		t.Errorf("%d files only", n)
	}
}
