package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A clientRun is one run of a program that downloads or builds.
type clientRun struct {
	argv  []string
	env   []string      // added to the environment
	dir   string        // working folder; "" for the session's own, so that no project's settings apply
	task  *task         // shows how far it is
	watch string        // the folder it downloads to: if that does not grow, the program is stopped
	limit time.Duration // altogether; 0 for none
	line  func(string)  // called with every line of output, if not nil
}

// run runs a program and returns its standard output, cut to its last 64 KiB. If it fails, or had to be
// stopped, the error is a *passedOver with the reason.
func (s *session) run(ctx context.Context, c clientRun) (string, error) {
	limits := s.within()
	name := filepath.Base(c.argv[0])
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.limit > 0 {
		stop := time.AfterFunc(c.limit, func() { cancel(&passedOver{fmt.Sprintf("%s did not end within %v", name, c.limit)}) })
		defer stop.Stop()
	}
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	if cmd.Dir == "" {
		cmd.Dir = s.temp
	}
	cmd.Env = append(os.Environ(), c.env...)
	out, both := &tail{}, &tail{line: c.line}
	cmd.Stdout, cmd.Stderr = &tee{out, both}, both
	stopTree(cmd)
	runtime.LockOSThread() // the thread that starts the program must outlive it: see stopWithParent
	defer runtime.UnlockOSThread()
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		return "", &passedOver{oneLine(err.Error())}
	}
	done := make(chan struct{})
	if c.watch != "" {
		go watchGrowth(c, limits, name, cancel, done)
	}
	err := cmd.Wait()
	close(done)
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		reason := firstError(both.String())
		if reason == "" {
			reason = err.Error()
		}
		return "", &passedOver{oneLine(name + ": " + reason)}
	}
	return out.String(), nil
}

// watchGrowth cancels when the watched folder stops growing or grows too large.
func watchGrowth(c clientRun, limits fetchLimits, name string, cancel context.CancelCauseFunc, done <-chan struct{}) {
	every := min(250*time.Millisecond, limits.client/4)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var size int64
	grown := time.Now()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		n := treeSize(c.watch)
		if n != size {
			c.task.set(n)
			size, grown = n, time.Now()
		}
		switch {
		case n > limits.archive:
			cancel(&passedOver{fmt.Sprintf("%s fetched more than %s", name, byteCount(limits.archive))})
			return
		case time.Since(grown) > limits.client:
			cancel(&passedOver{fmt.Sprintf("%s fetched nothing for %v", name, limits.client)})
			return
		}
	}
}

// findClient returns the first of the candidates that runs: each is a program's name or path and its first
// arguments. Every folder on the path is tried, and what is found there is run with the argument probe
// before it is trusted.
func (s *session) findClient(ctx context.Context, task *task, probe string, candidates ...[]string) ([]string, error) {
	var names []string
	var failed error
	for _, c := range candidates {
		names = append(names, filepath.Base(c[0]))
		for _, program := range programs(c[0]) {
			argv := slices.Concat([]string{program}, c[1:])
			_, err := s.run(ctx, clientRun{argv: slices.Concat(argv, []string{probe}), task: task, limit: s.within().probe})
			if err == nil {
				return argv, nil
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if failed == nil {
				failed = fmt.Errorf("%s does not run: %w", program, err)
			}
		}
	}
	if failed != nil {
		return nil, &passedOver{oneLine(failed.Error())}
	}
	return nil, &passedOver{"not installed: found no " + strings.Join(unique(names), ", no ")}
}

// programs returns every program of that name in the folders of PATH, in their order. A path stands for
// itself.
func programs(name string) []string {
	if filepath.IsAbs(name) {
		if program, err := exec.LookPath(name); err == nil {
			return []string{program}
		}
		return nil
	}
	var found []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if program, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			found = append(found, program)
		}
	}
	return unique(found)
}

// unique drops repeats and keeps the order.
func unique(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

var (
	errorLine  = regexp.MustCompile(`(?i)^\W*error\b\W*(.*)`)
	causeLine  = regexp.MustCompile(`^WARNING: .* connection broken by (.*)`) // of pip, before its error
	mavenHelps = regexp.MustCompile(` -> \[Help \d+\]$`)
)

// firstError picks what a program's output says went wrong: the first line that is marked as an error,
// with the cause that pip names before it or cargo after it, or else the last line.
func firstError(output string) string {
	var first, cause, last string
	nested := false
	for line := range strings.Lines(output) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		last = line
		if m := causeLine.FindStringSubmatch(line); m != nil {
			cause = m[1]
		}
		if line == "Caused by:" {
			nested = true
		}
		if m := errorLine.FindStringSubmatch(line); m != nil && m[1] != "" && first == "" {
			first = mavenHelps.ReplaceAllString(m[1], "")
		}
	}
	switch {
	case first == "":
		return last
	case nested:
		return first + ": " + last
	case cause != "":
		return first + ": " + cause
	}
	return first
}

// A tail keeps the last 64 KiB of what is written to it.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	part []byte // of the current line
	line func(string)
}

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailSize {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailSize:]...)
	}
	if t.line != nil {
		t.part = append(t.part, p...)
		for {
			i := bytes.IndexByte(t.part, '\n')
			if i < 0 {
				break
			}
			t.line(string(t.part[:i]))
			t.part = t.part[i+1:]
		}
		if len(t.part) > tailSize {
			t.part = nil
		}
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailSize):])
}

// A tee writes to two tails.
type tee struct{ a, b *tail }

func (t *tee) Write(p []byte) (int, error) {
	t.a.Write(p)
	return t.b.Write(p)
}
