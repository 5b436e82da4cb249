package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"example.com/larder/artifact"
)

// LiveOptions change how a live base is opened and followed.
type LiveOptions struct {
	// Options are those of every version. The logger also gets one line an event: a version swapped in, a version
	// refused, a file latest that can't be read.
	Options
	// Every is the time between two looks at latest: 2 seconds if it is 0. If it is negative, only calls of [Live.Check]
	// look.
	Every time.Duration
	// Accept returns an error if new must not take the place of old. Nil means [Compare]: versions that answer by other
	// rules are refused. Another base's version is refused in any case.
	Accept func(old, new *artifact.Manifest) error
}

const (
	liveEvery = 2 * time.Second
	// retryMost is the largest number of checks from one try of a version that can't be opened to the next.
	retryMost = 256
)

// A Live base answers from the version that its folder's latest names, and follows it: a new version is opened and
// checked beside the old one, as [OpenDir] does it, and then takes its place at once. Each answer is wholly of one
// version. If the new one can't be opened, or must not take the place of the old one, the old one goes on to answer.
// To set latest back to an older version is a change like any other.
//
// A version made with other settings, or for another reader, is not read again before latest changes. One that is
// incomplete or damaged may still be being copied; it is tried again at the 2nd, 4th, 8th … check since, and at every
// 256th in the end.
//
// While a new version is opened there are two in memory. The old one is freed when the last lookup in it has ended and
// nobody holds its [Base]. Lookups open no file, and never wait for a check.
//
// It is safe for concurrent use.
type Live struct {
	dir    string // absolute
	accept func(old, new *artifact.Manifest) error
	o      Options
	base   atomic.Pointer[Base] // nil once closed

	stop    context.CancelFunc // ends the poller
	stopped chan struct{}      // closed when it has ended

	checking sync.Mutex // one check at a time; guards what follows
	refused  refusal
	trouble  string // what the log says of why the old version stays; "" if it is the one to answer
}

// A refusal remembers a version that can't take the old one's place.
type refusal struct {
	digest string
	err    error
	final  bool // trying again would not help
	checks int
}

// due counts a check, and tells whether the version is to be tried at it.
func (r *refusal) due() bool {
	r.checks++
	return !r.final && (r.checks&(r.checks-1) == 0 || r.checks%retryMost == 0)
}

// OpenLive opens the base in a folder as [OpenDir] does, and follows its file latest until [Live.Close]. A folder that
// is one version, with a manifest and no latest, is followed too, for it may be replaced as a whole.
func OpenLive(dir string, o LiveOptions) (*Live, error) {
	abs, err := filepath.Abs(dir) // the program may change its folder
	if err != nil {
		return nil, fmt.Errorf("open base %s: %w", dir, err)
	}
	b, err := OpenDir(dir, o.Options)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Live{dir: abs, accept: o.Accept, o: o.Options, stop: stop, stopped: make(chan struct{})}
	if l.accept == nil {
		l.accept = Compare
	}
	l.base.Store(b)
	if o.Every < 0 {
		close(l.stopped)
		return l, nil
	}
	if o.Every == 0 {
		o.Every = liveEvery
	}
	go l.poll(ctx, o.Every)
	return l, nil
}

func (l *Live) poll(ctx context.Context, every time.Duration) {
	defer close(l.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = l.Check(ctx) // which logs what there is to say
		}
	}
}

// Close ends the following and lets go of the base. It waits for a check under way, not for lookups, which end as they
// would have. What is called after it is an error that is [fs.ErrClosed]; lookups are unavailable.
func (l *Live) Close() error {
	if l == nil || l.stop == nil {
		return nil
	}
	l.stop()
	<-l.stopped
	l.checking.Lock()
	defer l.checking.Unlock()
	l.base.Store(nil)
	return nil
}

// Base returns the version that answers now, and nil after Close. It stays usable when another one takes its place.
func (l *Live) Base() *Base {
	if l == nil {
		return nil
	}
	return l.base.Load()
}

// LookUp is [Base.LookUp] in the version that answers now.
func (l *Live) LookUp(ctx context.Context, query string) Answer { return l.Base().LookUp(ctx, query) }

// Search is [Base.Search] in the version that answers now.
func (l *Live) Search(ctx context.Context, q Query) (*Results, error) {
	b := l.Base()
	if b == nil {
		return nil, fmt.Errorf("search a live base: %w", fs.ErrClosed)
	}
	return b.Search(ctx, q)
}

// Tool is [Base.Tool] of the version that answers now.
func (l *Live) Tool(name, description string) Tool { return l.Base().Tool(name, description) }

// Check looks at latest and, if it names another version, makes that one answer. It is what a Live does by itself every
// now and then. An error says why the version that latest names is not the one that answers, also if it was refused at
// an earlier check.
func (l *Live) Check(ctx context.Context) (changed bool, err error) {
	if l.Base() == nil {
		return false, fmt.Errorf("check a live base: %w", fs.ErrClosed)
	}
	l.checking.Lock()
	defer l.checking.Unlock()
	old := l.Base()
	if old == nil { // closed meanwhile
		return false, fmt.Errorf("check a live base: %w", fs.ErrClosed)
	}
	start := time.Now()
	next, err := l.next(ctx, old)
	switch {
	case ctx.Err() != nil: // of no version's making
		return false, ctx.Err()
	case err != nil:
		l.stay(ctx, old, err)
		return false, err
	case next == old:
		l.settle(ctx, old)
		return false, nil
	}
	// The old base is not closed: lookups run in it, and its pointer may be anywhere. All it holds is memory, which the
	// garbage collector takes when nothing reaches it any more. Mapped files, if there will be any, are to be unmapped by
	// a cleanup of the artifact (runtime.AddCleanup), not here.
	l.base.Store(next)
	l.trouble = ""
	recordSwap(ctx, old, next, time.Since(start))
	return true, nil
}

// next opens the version that latest names. It is old if that answers already.
func (l *Live) next(ctx context.Context, old *Base) (*Base, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := openRoot(l.dir) // anew, since the folder may have been replaced
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, digest, err := artifact.Locate(root.FS(), ".")
	if err == nil && digest == "" {
		digest, err = artifact.Version(root.FS(), folder)
	}
	if err != nil {
		return nil, err
	}
	if digest == old.artifact.Digest {
		l.refused = refusal{}
		return old, nil
	}
	if digest != l.refused.digest {
		l.refused = refusal{digest: digest}
	}
	if !l.refused.due() {
		return nil, l.refused.err
	}
	next, final, err := l.try(old, func(o Options) (*Base, error) {
		return openVersion(ctx, root, l.dir, folder, digest, encoders.get, o)
	})
	if ctx.Err() != nil {
		l.refused.checks-- // this was no try
		return nil, ctx.Err()
	}
	if err != nil {
		l.refused.err, l.refused.final = fmt.Errorf("version %s: %w", artifact.FolderName(digest), err), final
		return nil, l.refused.err
	}
	return next, nil
}

// try opens a version to take old's place. An error is final if it can't be another one while the version is the same.
func (l *Live) try(old *Base, open func(Options) (*Base, error)) (b *Base, final bool, err error) {
	defer func() {
		if p := recover(); p != nil { // the program goes on to answer, whatever a new version brings
			b, err = nil, fmt.Errorf("opening it panicked: %v", p)
		}
	}()
	o := l.o
	o.accept = func(m *artifact.Manifest) (err error) {
		if was := old.artifact.Manifest; m.Base != was.Base {
			err = fmt.Errorf("it is of the base %s, not of %s", m.Base, was.Base)
		} else if err = l.accept(was, m); err != nil {
			err = fmt.Errorf("%w: bake with the settings of before, or restart to take these", err)
		}
		final = err != nil
		return err
	}
	b, err = open(o)
	return b, final || errors.Is(err, artifact.ErrUnsupported), err
}

// stay logs why the old version goes on to answer, once for each reason.
func (l *Live) stay(ctx context.Context, old *Base, why error) {
	if reason := why.Error(); reason != l.trouble {
		l.trouble = reason
		old.record(ctx, slog.LevelWarn, "stayed on the old version", slog.String("version", old.version()), slog.String("reason", reason))
	}
}

// settle logs that latest names the version that answers, if it did not.
func (l *Live) settle(ctx context.Context, old *Base) {
	if l.trouble != "" {
		l.trouble = ""
		old.record(ctx, slog.LevelInfo, "latest names the version that answers again", slog.String("version", old.version()))
	}
}

// recordSwap logs that next took old's place. A serial that falls is told: somebody went back, or copied the wrong way.
func recordSwap(ctx context.Context, old, next *Base, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("old", old.version()), slog.String("new", next.version()), slog.Float64("ms", float64(took.Microseconds())/1000),
	}
	message := "swapped in a new version"
	if was, is := old.artifact.Manifest.Serial, next.artifact.Manifest.Serial; is < was {
		message = "swapped in a version of a lower serial"
		attrs = append(attrs, slog.Uint64("old_serial", was), slog.Uint64("new_serial", is))
	}
	next.record(ctx, slog.LevelInfo, message, attrs...)
}

func (b *Base) version() string { return artifact.FolderName(b.artifact.Digest) }
