package pipeline

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often a long stage says how far it is where there is no terminal.
const lineEvery = 10 * time.Second

// A progress shows how many of the passages are done: a bar on a terminal, a line now and then elsewhere.
type progress struct {
	report   reporter
	title    string
	total    int
	bar      *progressbar.ProgressBar
	started  time.Time
	lastLine time.Time
}

func newProgress(out io.Writer, title string, total int) *progress {
	p := &progress{report: newReporter(out), title: title, total: total, started: time.Now(), lastLine: time.Now()}
	if p.report.bars {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(title),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// set says that done passages of the total are done.
func (p *progress) set(done int) {
	if p.bar != nil {
		p.bar.Set(done)
		return
	}
	if time.Since(p.lastLine) >= lineEvery {
		p.lastLine = time.Now()
		p.report.line("%s: %d of %d passages, %s", p.title, done, p.total, time.Since(p.started).Round(time.Second))
	}
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
