package pipeline

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A reporter tells people what is being fetched: a bar for each task on a terminal, lines elsewhere.
type reporter struct {
	out  io.Writer
	bars bool
}

func newReporter(out io.Writer) reporter {
	if out == nil {
		out = io.Discard
	}
	file, ok := out.(*os.File)
	return reporter{out, ok && term.IsTerminal(int(file.Fd()))}
}

// line writes one line, in one write, so that lines of several writers do not mix.
func (r reporter) line(format string, args ...any) {
	fmt.Fprintf(r.out, format+"\n", args...)
}

// start announces a task: as a line with the long title, or as a bar with the short one. The size is in
// bytes, -1 if unknown.
func (r reporter) start(long, short string, size int64) *task {
	t := &task{report: r, short: short, started: time.Now()}
	if !r.bars {
		r.line("fetching %s", long)
		return t
	}
	t.bar = r.newBar(short, size)
	return t
}

func (r reporter) newBar(title string, size int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(r.out),
		progressbar.OptionSetDescription(title),
		progressbar.OptionShowBytes(size != 0),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// A task is one file being fetched, or one library being built.
type task struct {
	report  reporter
	short   string
	started time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar // nil without bars and after the end
}

// add says that n bytes more have come.
func (t *task) add(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bar != nil {
		t.bar.Add64(n)
	}
}

// set says how many bytes there are, of a total that is not known: that of an archive around the file.
func (t *task) set(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bar != nil {
		if t.bar.GetMax64() != -1 {
			t.bar.Clear()
			t.bar = t.report.newBar(t.short, -1)
		}
		t.bar.Set64(n)
	}
}

// note shows what the task is at, after its title; only on a bar.
func (t *task) note(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bar != nil {
		t.bar.Describe(t.short + ": " + s)
	}
}

// done ends a task that went well, with a line that says so and how long it took.
func (t *task) done(format string, args ...any) {
	t.end()
	t.report.line("%s in %.1f s", fmt.Sprintf(format, args...), time.Since(t.started).Seconds())
}

// end removes the bar. It may be called again.
func (t *task) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bar != nil {
		t.bar.Clear()
		t.bar = nil
	}
}
