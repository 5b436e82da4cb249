package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/models"
	"example.com/larder/reader"
)

// A site serves a shelf below /dist/, as a static host does.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte // by path below /dist/
	requests []string          // since the last call of take
	fault    fault             // nil: none
}

// A fault may answer the n-th request (from 1) in place of the site; it tells whether it did. content is never empty.
type fault func(n int, w http.ResponseWriter, r *http.Request, content []byte) bool

func newSite(t testing.TB, files map[string][]byte) *site {
	t.Helper()
	s := &site{files: files}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/dist/")
	s.mu.Lock()
	s.requests = append(s.requests, name)
	n, content, fault := len(s.requests), s.files[name], s.fault
	s.mu.Unlock()
	if fault != nil {
		page := content
		if page == nil {
			page = []byte("there is nothing here")
		}
		if fault(n, w, r, page) {
			return
		}
	}
	if content == nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// take returns the paths asked for since the last call.
func (s *site) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// breaks sets what goes wrong, and counts requests anew.
func (s *site) breaks(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.requests = f, nil
}

func (s *site) put(files map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, data := range files {
		s.files[name] = data
	}
}

func (s *site) base() string { return s.URL + "/dist/shop" }

// edition is a shelf with the base shop in a version of that number, with its encoder if the mode needs one.
func edition(t testing.TB, mode artifact.Mode, number int) map[string][]byte {
	t.Helper()
	b := shelf.Base{Name: "shop", Mode: mode, Documents: []shelf.Document{
		{Path: "refunds.md", Title: "Refunds", Chunks: []string{
			fmt.Sprintf("A refund takes 14 days, says edition-%d.", number), "The money goes back to the card that paid.",
		}},
		{Path: "shipping.md", Title: "Shipping", Chunks: []string{"Shipping is free for an order above 50 euro."}},
	}}
	s, err := shelf.New(b)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, f := range s.MapFS {
		files[name] = f.Data
	}
	return files
}

// digestOf is the version that a shelf's latest names.
func digestOf(files map[string][]byte) string {
	return strings.TrimSpace(string(files["shop/latest"]))
}

// bundle moves the encoder into the version's folder.
func bundle(files map[string][]byte) map[string][]byte {
	moved := map[string][]byte{}
	for name, data := range files {
		if rest, ok := strings.CutPrefix(name, "models/"); ok {
			name = "shop/" + artifact.FolderName(digestOf(files)) + rest[strings.Index(rest, "/"):]
		}
		moved[name] = data
	}
	return moved
}

// quick are options whose pauses don't count.
func quick(t testing.TB) (Options, *logged) {
	log := &logged{}
	handler := slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return Options{
		Dir: t.TempDir(), Logger: slog.New(handler),
		pace: pace{stall: 20 * time.Second, slowest: 64 << 10, attempts: 3, pause: time.Microsecond},
	}, log
}

// logged is what a logger wrote.
type logged struct {
	sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(line)
}

// take returns the lines since the last call.
func (l *logged) take() (lines []string) {
	l.Lock()
	defer l.Unlock()
	for line := range strings.Lines(l.String()) {
		lines = append(lines, strings.TrimSpace(line))
	}
	l.Reset()
	return lines
}

func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// mustMirror mirrors the site's shop and returns its folder.
func mustMirror(t testing.TB, s *site, o Options) string {
	t.Helper()
	folder, err := Mirror(limited(t), s.base(), o)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// answers makes sure that a mirror's folder opens, is whole, and answers from the edition of that number.
func answers(t testing.TB, folder string, number int) {
	t.Helper()
	if _, err := reader.Verify(folder, reader.Options{}); err != nil {
		t.Errorf("the mirror is not whole: %v", err)
		return
	}
	b, err := reader.OpenDir(folder, reader.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	if got := says(t, b.Search); got != number {
		t.Errorf("it answers from edition %d, not %d", got, number)
	}
}

// says is the number of the edition that answers.
func says(t testing.TB, search func(context.Context, reader.Query) (*reader.Results, error)) (number int) {
	t.Helper()
	results, err := search(limited(t), reader.Query{Text: "How many days does a refund take?"})
	if err != nil || len(results.Hits) == 0 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, h := range results.Hits {
		if _, rest, ok := strings.Cut(h.Text, "edition-"); ok {
			fmt.Sscanf(rest, "%d", &number)
		}
	}
	return number
}

// tree lists the files and folders below dir, sorted.
func tree(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(dir, name); relErr == nil && err == nil && rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// half are names of what is not finished.
func half(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, durable.Prefix) })
}

// copied is a copy of a folder with all that is in it.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// encoderFiles are those of an encoder.
var encoderFiles = []string{models.CardFile, models.VocabFile, models.WeightsFile}
