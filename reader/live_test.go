package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/testkit/shelf"
)

// editions is a shelf on a disk with versions of the base shop.
type editions struct {
	shelf, dir string // dir is the base's folder
	digests    []string
}

// newEditions writes one version for each function, which changes the sample shop. Every text of version i ends with
// "edition-<i>". The file latest names the first.
func newEditions(t testing.TB, mode artifact.Mode, changes ...func(*shelf.Base)) *editions {
	t.Helper()
	e := &editions{shelf: t.TempDir()}
	e.dir = filepath.Join(e.shelf, "shop")
	for i, change := range changes {
		b := shop(mode)
		for d := range b.Documents {
			for c := range b.Documents[d].Chunks {
				b.Documents[d].Chunks[c] += fmt.Sprintf(" edition-%d", i)
			}
		}
		if change != nil {
			change(&b)
		}
		s := mustShelf(t, b)
		if b.Name != "shop" { // a version of another base in this one's folder
			for name, f := range s.MapFS {
				if rest, ok := strings.CutPrefix(name, b.Name+"/"); ok {
					delete(s.MapFS, name)
					s.MapFS["shop/"+rest] = f
				}
			}
		}
		for name, f := range s.MapFS {
			if err := putFile(filepath.Join(e.shelf, filepath.FromSlash(name)), f.Data); err != nil {
				t.Fatal(err)
			}
		}
		e.digests = append(e.digests, strings.TrimSpace(string(s.MapFS["shop/latest"].Data)))
	}
	e.set(t, 0)
	return e
}

// set makes latest name version i.
func (e *editions) set(t testing.TB, i int) {
	t.Helper()
	if err := putFile(filepath.Join(e.dir, "latest"), []byte(e.digests[i]+"\n")); err != nil {
		t.Fatal(err)
	}
}

// putFile puts a file in place at once, without the syncs that a crash would need.
func putFile(file string, data []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file+".new", data, 0o666), os.Rename(file+".new", file))
}

// folder is where version i is.
func (e *editions) folder(i int) string {
	return filepath.Join(e.dir, artifact.FolderName(e.digests[i]))
}

// open follows the shop by hand, unless every says otherwise. The log has messages and reasons, without times.
func (e *editions) open(t testing.TB, o LiveOptions) (*Live, *logged) {
	t.Helper()
	log := &logged{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "ms" || a.Value.String() == "lookup" {
			return slog.Attr{}
		}
		return a
	}}))
	if o.Every == 0 {
		o.Every = -1
	}
	l, err := OpenLive(e.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, log
}

// logged is what a logger wrote, but for lookups.
type logged struct {
	sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	if bytes.Contains(line, []byte("msg=")) {
		l.lines = append(l.lines, string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}

// take returns the lines since the last call.
func (l *logged) take() []string {
	l.Lock()
	defer l.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// one returns the only line since the last call.
func (l *logged) one(t testing.TB) string {
	t.Helper()
	lines := l.take()
	if len(lines) != 1 {
		t.Fatalf("%d lines in the log, not one:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	return lines[0]
}

var edition = regexp.MustCompile(`edition-\d+`)

// answers returns the edition that a lookup's results are of: "" if there are none, or of more than one.
func answers(a Answer) (found string) {
	for i, p := range a.Results {
		if e := edition.FindString(p.Text); i == 0 {
			found = e
		} else if e != found {
			return ""
		}
	}
	return found
}

func mustAnswer(t testing.TB, l *Live, want int) {
	t.Helper()
	if got := answers(l.LookUp(t.Context(), "refund of gift cards")); got != fmt.Sprintf("edition-%d", want) {
		t.Errorf("the lookup's results are of %q, not of edition-%d", got, want)
	}
}

func check(t testing.TB, l *Live, want bool) {
	t.Helper()
	if changed, err := l.Check(t.Context()); err != nil || changed != want {
		t.Errorf("check: %v, %v; want %v", changed, err, want)
	}
}

func TestLiveFollows(t *testing.T) {
	for _, mode := range []artifact.Mode{Keyword, Hybrid} {
		e := newEditions(t, mode,
			func(b *shelf.Base) { b.Change = serial(1) }, func(b *shelf.Base) { b.Change = serial(2) }, func(b *shelf.Base) { b.Change = serial(2) })
		l, log := e.open(t, LiveOptions{})
		check(t, l, false)
		mustAnswer(t, l, 0)
		first := l.Base()
		e.set(t, 1)
		mustAnswer(t, l, 0)
		check(t, l, true)
		mustAnswer(t, l, 1)
		check(t, l, false)
		want := fmt.Sprintf(`level=INFO msg="swapped in a new version" base=shop old=%s new=%s`, e.digests[0][:12], e.digests[1][:12])
		if got := log.one(t); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if a := first.LookUp(t.Context(), "refund"); answers(a) != "edition-0" {
			t.Errorf("the first version, still held: %+v", a)
		}
		if r, err := l.Search(t.Context(), Query{Text: "refund"}); err != nil || edition.FindString(r.Hits[0].Text) != "edition-1" {
			t.Errorf("search: %+v, %v", r, err)
		}
		if tool := l.Tool("", ""); tool.Name != "look_up" || tool.Description != WeakResultsNote {
			t.Errorf("tool: %+v", tool)
		}
		e.set(t, 2)
		check(t, l, true)
		log.take()
		// To go back is to set latest back.
		e.set(t, 0)
		check(t, l, true)
		mustAnswer(t, l, 0)
		want = fmt.Sprintf(`level=INFO msg="swapped in a version of a lower serial" base=shop old=%s new=%s old_serial=2 new_serial=1`, e.digests[2][:12], e.digests[0][:12])
		if got := log.one(t); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func serial(n uint64) func(*artifact.Content) {
	return func(c *artifact.Content) { c.Serial = n }
}

// What was opened needs no file any more, of any version.
func TestLiveOpensNoFile(t *testing.T) {
	e := newEditions(t, Hybrid, nil, nil)
	l, _ := e.open(t, LiveOptions{})
	e.set(t, 1)
	check(t, l, true)
	if err := os.RemoveAll(e.shelf); err != nil {
		t.Fatal(err)
	}
	mustAnswer(t, l, 1)
	if _, err := l.Check(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	mustAnswer(t, l, 1)
}

// A version that answers by other rules is refused at the first check, with a line in the log, and not read again.
func TestLiveRefusesOtherSettings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shelf.Base)
		accept func(old, new *artifact.Manifest) error
		says   string
	}{
		"top-k":         {func(b *shelf.Base) { b.TopK = 5 }, nil, "made with other settings: top_k was 3 and is 5: bake with the settings of before, or restart to take these"},
		"mode":          {func(b *shelf.Base) { b.Mode = Keyword }, nil, `mode was \"hybrid\" and is \"keyword\"; model.dimensions was 32 and is none; `},
		"model":         {func(b *shelf.Base) { b.Dimensions = 56 }, nil, "model.dimensions was 32 and is 56; model.encoder was "},
		"languages":     {func(b *shelf.Base) { b.Languages = []string{"en"} }, nil, `analyzer.languages was [\"en\",\"ru\"] and is [\"en\"]`},
		"boosts":        {func(b *shelf.Base) { b.Boosts = nil }, nil, "boosts.faq was 1.2 and is none"},
		"another base":  {func(b *shelf.Base) { b.Name = "store" }, nil, "it is of the base store, not of shop"},
		"a base anyway": {func(b *shelf.Base) { b.Name = "store" }, func(_, _ *artifact.Manifest) error { return nil }, "it is of the base store, not of shop"},
		"by the caller": {nil, func(_, new *artifact.Manifest) error {
			return fmt.Errorf("%d documents are too few", new.Counts.Documents)
		}, "4 documents are too few"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditions(t, Hybrid, nil, c.change, nil)
			asked := 0
			accept := c.accept
			if accept == nil {
				accept = Compare
			}
			l, log := e.open(t, LiveOptions{Accept: func(old, new *artifact.Manifest) error {
				asked++
				return accept(old, new)
			}})
			e.set(t, 1)
			for i := range 20 {
				changed, err := l.Check(t.Context())
				if changed || err == nil {
					t.Fatalf("check %d: %v, %v", i, changed, err)
				}
				// It is not read again: it need not even be there.
				if err := os.RemoveAll(e.folder(1)); err != nil {
					t.Fatal(err)
				}
			}
			mustAnswer(t, l, 0)
			want := fmt.Sprintf(`level=WARN msg="stayed on the old version" base=shop version=%s reason="version %s: `, e.digests[0][:12], e.digests[1][:12])
			if got := log.one(t); !strings.HasPrefix(got, want) || !strings.Contains(got, c.says) {
				t.Errorf("%s\nwant\n%s … %s", got, want, c.says)
			}
			if asked > 1 {
				t.Errorf("asked %d times", asked)
			}
			e.set(t, 0)
			check(t, l, false)
			check(t, l, false)
			if got := log.one(t); !strings.Contains(got, `level=INFO msg="latest names the version that answers again"`) {
				t.Errorf("%s", got)
			}
		})
	}
}

// Other settings are taken where the caller says so.
func TestLiveAccepts(t *testing.T) {
	e := newEditions(t, Hybrid, nil, func(b *shelf.Base) { b.TopK, b.Mode = 1, Keyword })
	l, _ := e.open(t, LiveOptions{Accept: func(_, _ *artifact.Manifest) error { return nil }})
	e.set(t, 1)
	check(t, l, true)
	mustAnswer(t, l, 1)
	if a := l.LookUp(t.Context(), "refund card"); len(a.Results) != 1 || a.Results[0].Score != nil {
		t.Errorf("%+v", a)
	}
}

// A version that is not complete when latest names it is tried again, less and less often.
func TestLiveRetries(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil)
	l, log := e.open(t, LiveOptions{})
	away := e.folder(1) + "-copying"
	if err := os.Rename(e.folder(1), away); err != nil {
		t.Fatal(err)
	}
	e.set(t, 1)
	for i := 1; i <= 5; i++ {
		if changed, err := l.Check(t.Context()); changed || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("check %d: %v, %v", i, changed, err)
		}
	}
	if got := log.one(t); !strings.Contains(got, "manifest.json") {
		t.Error(got)
	}
	// While it is copied, other things are missing; that is told too.
	if err := errors.Join(os.Rename(away, e.folder(1)), os.Rename(e.folder(1)+"/text.bin", away)); err != nil {
		t.Fatal(err)
	}
	for i := 6; i <= 12; i++ {
		if changed, err := l.Check(t.Context()); changed || !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("check %d: %v, %v", i, changed, err)
		}
	}
	if got := log.one(t); !strings.Contains(got, "text.bin") {
		t.Error(got)
	}
	mustAnswer(t, l, 0)
	if err := os.Rename(away, e.folder(1)+"/text.bin"); err != nil {
		t.Fatal(err)
	}
	for i := 13; i < 16; i++ {
		if changed, err := l.Check(t.Context()); changed || err == nil {
			t.Errorf("check %d: %v, %v", i, changed, err)
		}
	}
	check(t, l, true)
	mustAnswer(t, l, 1)
	check(t, l, false)
	log.one(t)
}

func TestRefusalDue(t *testing.T) {
	var r refusal
	var tried []int
	for i := 1; i <= 3*retryMost; i++ {
		if r.due() {
			tried = append(tried, i)
		}
	}
	if got := fmt.Sprint(tried); got != "[1 2 4 8 16 32 64 128 256 512 768]" {
		t.Error(got)
	}
	r = refusal{final: true}
	for range 3 * retryMost {
		if r.due() {
			t.Fatal("a final refusal is tried again")
		}
	}
}

// What was refused is tried again when latest has named another version meanwhile.
func TestLiveForgets(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil, nil)
	refuse := true
	l, _ := e.open(t, LiveOptions{Accept: func(_, new *artifact.Manifest) error {
		if refuse {
			return errors.New("not today")
		}
		return nil
	}})
	for _, between := range []int{0, 2} {
		refuse = true
		e.set(t, 1)
		if _, err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "not today") {
			t.Error(err)
		}
		refuse = false
		e.set(t, between)
		check(t, l, between != 0)
		e.set(t, 1)
		check(t, l, true)
		e.set(t, 0)
		check(t, l, true)
	}
}

// Lookups run while versions change: each answer is wholly of one version.
func TestLiveConcurrent(t *testing.T) {
	e := newEditions(t, Hybrid, nil, nil, nil, func(b *shelf.Base) { b.TopK = 5 })
	l, log := e.open(t, LiveOptions{})
	const lookers, swaps = 4, 20
	var ended atomic.Bool
	var done atomic.Int64
	var group sync.WaitGroup
	counts := make([]map[string]int, lookers)
	for i := range lookers {
		counts[i] = map[string]int{}
		group.Go(func() {
			for n := 0; n < 500 || !ended.Load(); n++ {
				a := l.LookUp(t.Context(), "refund of gift cards")
				counts[i][answers(a)]++
				done.Add(1)
				if len(a.Results) != 3 {
					t.Errorf("%d results, not 3", len(a.Results))
				}
				if n%10 == 0 {
					b := l.Base()
					if r, err := b.Search(t.Context(), Query{Text: "refund"}); err != nil || len(r.Hits) != 3 {
						t.Errorf("%+v, %v", r, err)
					}
				}
				if i == 0 {
					_, _ = l.Check(t.Context()) // others than the poller may check
				}
			}
		})
	}
	for i := range swaps {
		e.set(t, (i+1)%len(e.digests)) // the last of which is refused
		_, _ = l.Check(t.Context())
		for n := done.Load() + 2*lookers; done.Load() < n; { // so that one at least began after the swap
			runtime.Gosched()
		}
	}
	ended.Store(true)
	group.Wait()
	total := map[string]int{}
	for _, c := range counts {
		for name, n := range c {
			total[name] += n
		}
	}
	t.Logf("lookups by edition: %v; %d lines in the log", total, len(log.take()))
	if total[""] > 0 || total["edition-3"] > 0 {
		t.Errorf("answers of no version, or of the one refused: %v", total)
	}
	for i := range 3 {
		if total[fmt.Sprintf("edition-%d", i)] == 0 {
			t.Errorf("edition-%d never answered", i)
		}
	}
}

// The poller looks every two seconds, logs events and not polls, and ends with Close.
func TestLivePolls(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil, func(b *shelf.Base) { b.TopK = 5 })
	synctest.Test(t, func(t *testing.T) {
		for _, every := range []time.Duration{0, time.Minute} {
			e.set(t, 0)
			log := &logged{}
			l, err := OpenLive(e.dir, LiveOptions{Options: Options{Logger: slog.New(slog.NewTextHandler(log, nil))}, Every: every})
			if err != nil {
				t.Fatal(err)
			}
			if every == 0 {
				every = 2 * time.Second
			}
			pass := func(d time.Duration) {
				time.Sleep(d) // of the bubble's clock, which does not wait
				synctest.Wait()
			}
			is := func(want int) {
				t.Helper()
				if got := l.Base().Artifact().Digest; got != e.digests[want] {
					t.Errorf("%s answers, not %s", got, e.digests[want])
				}
			}
			e.set(t, 1)
			pass(every - 1)
			is(0)
			pass(1)
			is(1)
			if got := log.one(t); !strings.Contains(got, "swapped in a new version") {
				t.Error(got)
			}
			e.set(t, 2)
			pass(1000 * every)
			is(1)
			if got := log.one(t); !strings.Contains(got, "top_k was 3 and is 5") {
				t.Error(got)
			}
			e.set(t, 0)
			pass(every)
			is(0)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			e.set(t, 1)
			log.take()
			pass(1000 * every)
			if lines := log.take(); len(lines) > 0 || l.Base() != nil {
				t.Errorf("after Close: %q, %v", lines, l.Base())
			}
		}
		// The bubble ends only if no goroutine is left in it.
	})
}

func TestLiveClosed(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil)
	l, log := e.open(t, LiveOptions{Every: time.Microsecond})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				select {
				case <-l.stopped:
				default:
					t.Error("closed, and the poller has not ended")
				}
			}
		})
	}
	group.Wait()
	log.take()
	e.set(t, 1)
	var none *Live
	for name, l := range map[string]*Live{"closed": l, "nil": none, "zero": {}} {
		if got := asJSON(t, l.LookUp(t.Context(), "refund")); got != unavailable {
			t.Errorf("%s: %s", name, got)
		}
		if _, err := l.Search(t.Context(), Query{Text: "refund"}); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: search: %v", name, err)
		}
		if changed, err := l.Check(t.Context()); changed || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: check: %v, %v", name, changed, err)
		}
		if l.Base() != nil || l.Close() != nil {
			t.Errorf("%s: base or Close", name)
		}
		if tool := l.Tool("a", "b"); tool.Name != "a" {
			t.Errorf("%s: tool %+v", name, tool)
		}
	}
	if lines := log.take(); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}

// A context that ends is no reason to refuse a version, to try it less often, or to log anything.
func TestLiveCheckCancelled(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil)
	var cancel func()
	l, log := e.open(t, LiveOptions{Accept: func(_, _ *artifact.Manifest) error {
		if cancel == nil {
			return nil
		}
		cancel()
		return errors.New("too late")
	}})
	e.set(t, 1)
	for range 5 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		for range 2 { // ended while it opens, then from the start
			if changed, err := l.Check(ctx); changed || !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v", changed, err)
			}
		}
	}
	cancel = nil
	if lines := log.take(); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	check(t, l, true)
}

// Close ends the self-test of a service that does not answer.
func TestLiveCloseEndsSelfTest(t *testing.T) {
	outside := func(b *shelf.Base) { b.Change = outsideShop().Change }
	e := newEditions(t, Hybrid, outside, outside)
	s := newService(t, `service "sample" 1`)
	l, log := e.open(t, LiveOptions{Options: Options{QueryEncoder: s}, Every: time.Microsecond})
	asked, ended := make(chan bool), make(chan error, 1)
	l.checking.Lock() // no self-test runs
	s.change = func(ctx context.Context, v []float32) ([]float32, error) {
		close(asked)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	l.checking.Unlock()
	e.set(t, 1)
	<-asked
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the self-test ended with %v", err)
	}
	if lines := log.take(); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}

// A panic while a version is opened does not reach the program.
func TestLivePanic(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil)
	calm := false
	l, log := e.open(t, LiveOptions{Accept: func(_, _ *artifact.Manifest) error {
		if !calm {
			panic("no such thing")
		}
		return nil
	}})
	e.set(t, 1)
	if _, err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "panicked: no such thing") {
		t.Error(err)
	}
	log.one(t)
	mustAnswer(t, l, 0)
	calm = true
	check(t, l, true)
}

// The old version's memory is free once nobody holds it.
func TestLiveReleases(t *testing.T) {
	e := newEditions(t, Hybrid, nil, nil)
	l, _ := e.open(t, LiveOptions{})
	mustAnswer(t, l, 0)
	held := l.Base()
	old, oldArtifact := weak.Make(held), weak.Make(held.artifact)
	e.set(t, 1)
	check(t, l, true)
	runtime.GC()
	if old.Value() == nil || oldArtifact.Value() == nil {
		t.Fatal("freed while it is held")
	}
	if a := held.LookUp(t.Context(), "refund"); answers(a) != "edition-0" {
		t.Errorf("%+v", a)
	}
	runtime.KeepAlive(held)
	for range 10 { // pools let go at the second collection
		runtime.GC()
	}
	if old.Value() != nil || oldArtifact.Value() != nil {
		t.Error("the old version is not freed")
	}
	mustAnswer(t, l, 1)
	last := weak.Make(l.Base().artifact)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for range 10 {
		runtime.GC()
	}
	if last.Value() != nil {
		t.Error("the last version is not freed after Close")
	}
}

func TestOpenLiveRefuses(t *testing.T) {
	e := newEditions(t, Keyword, nil)
	if err := durable.WriteFile(e.dir+"/latest", []byte("newest\n")); err != nil {
		t.Fatal(err)
	}
	if l, err := OpenLive(e.dir, LiveOptions{}); l != nil || !errors.Is(err, artifact.ErrCorrupt) {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := OpenLive(e.dir+"/none", LiveOptions{}); l != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", l, err)
	}
}

// A version for another reader is refused for good, and named as such.
func TestLiveUnsupported(t *testing.T) {
	e := newEditions(t, Keyword, nil, nil)
	l, log := e.open(t, LiveOptions{})
	file := filepath.Join(e.folder(1), "manifest.json")
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	manifest = bytes.Replace(manifest, []byte(artifact.Format), []byte("larder/9"), 1)
	digest := artifact.Digest(manifest)
	folder := filepath.Join(e.dir, artifact.FolderName(digest))
	if err := errors.Join(os.WriteFile(file, manifest, 0o666), os.Rename(e.folder(1), folder), artifact.SetLatest(e.dir, digest)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if changed, err := l.Check(t.Context()); changed || !errors.Is(err, artifact.ErrUnsupported) {
			t.Fatalf("%v, %v", changed, err)
		}
		if err := os.RemoveAll(folder); err != nil { // it is not read again
			t.Fatal(err)
		}
	}
	if got := log.one(t); !strings.Contains(got, "larder/9") {
		t.Error(got)
	}
	mustAnswer(t, l, 0)
}
