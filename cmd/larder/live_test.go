package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/larder/reader"
)

// follow is a service in a process of its own: it answers each line of its input from a base that it follows.
func follow() {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	l, err := reader.OpenLive(os.Args[1], reader.LiveOptions{Options: reader.Options{Logger: logger}, Every: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := json.NewEncoder(os.Stdout).Encode(l.LookUp(context.Background(), lines.Text())); err != nil {
			os.Exit(1)
		}
	}
	_ = l.Close()
}

// A service goes on to answer while its base is baked again, changes to the new version by itself, and stays on it when
// it is then baked with other settings.
func TestBakeUnderService(t *testing.T) {
	dir := t.TempDir()
	if err := fillCache(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "LARDER_CACHE="+filepath.Join(dir, "cache"), "LARDER_TEST_LOCK=1")
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	// write writes the base, in which each passage says which edition it is of.
	write := func(edition int, settings string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			text := fmt.Sprintf("# Refund %d\n\nA refund of kind %d takes some days, by edition-%d.\n", i, i, edition)
			if err := os.WriteFile(filepath.Join(dir, "shop", fmt.Sprintf("%02d.md", i)), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "shop", "base.yaml"), []byte("mode: keyword\n"+settings), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bake := func() {
		t.Helper()
		if out, err := command("larder", "bake", "shop", "-o", "dist").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write(1, "")
	bake()

	service := command("follow", filepath.Join("dist", "shop"))
	questions, err := service.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := service.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer service.Process.Kill()
	answers, log := bufio.NewReader(stdout), bufio.NewReader(stderr)
	asked := 0
	// ask returns which edition three passages are of.
	ask := func() string {
		t.Helper()
		asked++
		if _, err := io.WriteString(questions, "How many days does a refund take?\n"); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`edition-\d`).FindAllString(line, -1)
		if len(found) != 3 || found[0] != found[1] || found[0] != found[2] {
			t.Fatalf("not three passages of one edition: %s", line)
		}
		return found[0]
	}

	write(2, "")
	baked := make(chan string)
	go func() {
		out, err := command("larder", "bake", "shop", "-o", "dist").CombinedOutput()
		baked <- fmt.Sprintf("%s%v", out, err)
	}()
	editions := map[string]int{}
	for running := true; running; {
		select {
		case out := <-baked:
			if !strings.HasSuffix(out, "<nil>") {
				t.Fatal(out)
			}
			running = false
		default:
		}
		editions[ask()]++
	}
	for ask() != "edition-2" { // at the next look at latest
	}
	t.Logf("while it was baked, the service answered %d times: %v", asked, editions)
	if editions["edition-1"] == 0 {
		t.Error("no lookup ran while the base was baked")
	}

	write(3, "top_k: 5\n")
	bake()
	line, err := log.ReadString('\n')
	if err != nil || !strings.Contains(line, "stayed on the old version") || !strings.Contains(line, "top_k was 3 and is 5") {
		t.Errorf("%s %v", line, err)
	}
	for range 20 {
		if got := ask(); got != "edition-2" {
			t.Errorf("%s after a bake with other settings", got)
		}
	}
	if err := questions.Close(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(log); err != nil || len(rest) > 0 {
		t.Errorf("more in the log: %s, %v", rest, err)
	}
	if err := service.Wait(); err != nil {
		t.Error(err)
	}
}
