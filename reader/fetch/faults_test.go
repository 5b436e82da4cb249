package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/larder/artifact"
)

// What a host may do in place of sending a file.
var faults = map[string]func(w http.ResponseWriter, r *http.Request, content []byte){
	"cut before the answer": func(w http.ResponseWriter, r *http.Request, content []byte) { panic(http.ErrAbortHandler) },
	"cut in the middle": func(w http.ResponseWriter, r *http.Request, content []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:len(content)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	"troubles": func(w http.ResponseWriter, r *http.Request, content []byte) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	},
	"too short": func(w http.ResponseWriter, r *http.Request, content []byte) { w.Write(content[:len(content)/2]) },
	"too long": func(w http.ResponseWriter, r *http.Request, content []byte) {
		w.Write(append(bytes.Clone(content), 'x'))
	},
	"empty":       func(w http.ResponseWriter, r *http.Request, content []byte) {},
	"not found":   func(w http.ResponseWriter, r *http.Request, content []byte) { http.NotFound(w, r) },
	"forbidden":   func(w http.ResponseWriter, r *http.Request, content []byte) { http.Error(w, "", http.StatusForbidden) },
	"not changed": func(w http.ResponseWriter, r *http.Request, content []byte) { w.WriteHeader(http.StatusNotModified) },
	"wrong bytes": func(w http.ResponseWriter, r *http.Request, content []byte) {
		wrong := bytes.Clone(content)
		wrong[len(wrong)/2] ^= 1
		w.Write(wrong)
	},
	"a page": func(w http.ResponseWriter, r *http.Request, content []byte) {
		w.Write([]byte("<!DOCTYPE html>\n<title>Welcome</title>"))
	},
	"packed": func(w http.ResponseWriter, r *http.Request, content []byte) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(content)
	},
	"a part": func(w http.ResponseWriter, r *http.Request, content []byte) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-%d/%d", len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(content[1:])
	},
	"back and forth": func(w http.ResponseWriter, r *http.Request, content []byte) {
		http.Redirect(w, r, r.URL.Path+"?again", http.StatusFound)
	},
}

// Whatever a host does from its n-th request on, nothing of it can be seen: the version mirrored before answers, and the
// next run succeeds.
func TestFaults(t *testing.T) {
	t.Parallel()
	first, second := edition(t, artifact.Hybrid, 1), edition(t, artifact.Hybrid, 2)
	s := newSite(t, maps.Clone(first))
	o, log := quick(t)
	mustMirror(t, s, o)
	mirrored := o.Dir
	s.put(second)
	o.Dir = copied(t, mirrored)
	s.take()
	mustMirror(t, s, o)
	requests := len(s.take())
	if requests < 13 {
		t.Fatalf("a new version takes %d requests", requests)
	}
	cases := 0
	for name, answer := range faults {
		for n := 1; n <= requests; n++ {
			o.Dir = copied(t, mirrored)
			before := tree(t, o.Dir)
			log.take()
			what := ""
			s.breaks(func(i int, w http.ResponseWriter, r *http.Request, content []byte) bool {
				if i < n {
					return false
				}
				if what == "" {
					what = name + ", " + r.URL.Path
				}
				answer(w, r, content)
				return true
			})
			folder := mustMirror(t, s, o)
			if after := tree(t, o.Dir); !slices.Equal(before, after) {
				t.Errorf("%s: the mirror has changed from %q to %q", what, before, after)
			}
			if latest, err := os.ReadFile(filepath.Join(folder, artifact.LatestFile)); err != nil || !bytes.Equal(latest, first["shop/latest"]) {
				t.Errorf("%s: latest is %q, %v", what, latest, err)
			}
			if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], "stayed on the version mirrored last") ||
				!strings.Contains(lines[0], "version="+artifact.FolderName(digestOf(first))) || strings.Contains(lines[0], "again") {
				t.Errorf("%s: log %q", what, lines)
			}
			s.breaks(nil)
			if cases++; n%4 == 1 { // reading and writing takes its time
				answers(t, folder, 1)
				answers(t, mustMirror(t, s, o), 2)
			}
		}
	}
	t.Logf("%d faults", cases)
}

// The same with nothing mirrored before: an error, which says what came from where.
func TestFaultsAtFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, edition(t, artifact.Hybrid, 1))
	o, _ := quick(t)
	mustMirror(t, s, o)
	requests := len(s.take())
	for _, name := range []string{"cut in the middle", "wrong bytes", "a page", "not found"} {
		for n := 1; n <= requests; n++ {
			o.Dir = t.TempDir()
			s.breaks(func(i int, w http.ResponseWriter, r *http.Request, content []byte) bool {
				if i >= n {
					faults[name](w, r, content)
				}
				return i >= n
			})
			folder, err := Mirror(limited(t), s.base(), o)
			if folder != "" || err == nil {
				t.Fatalf("%s from request %d on: %q, %v", name, n, folder, err)
			}
			said := map[string]string{
				"cut in the middle": "the connection broke off", "a page": "looks like text/html", "wrong bytes": "", "not found": "404 Not Found: the host doesn't have it",
			}[name]
			if text := err.Error(); !strings.Contains(text, said) || !strings.HasPrefix(text, "mirror "+s.base()+": ") || strings.Contains(text, "\n") {
				t.Errorf("%s from request %d on: %v", name, n, err)
			}
			for _, name := range tree(t, o.Dir) {
				if strings.HasSuffix(name, "/latest") || strings.HasSuffix(name, ".json") && !strings.Contains(name, "/models/") {
					t.Errorf("%s from request %d on: there is %s", name, n, name)
				}
			}
		}
	}
	s.breaks(nil)
	answers(t, mustMirror(t, s, o), 1)
}

// What goes wrong once does no harm: the rest is asked for, from hosts that know how to send parts and from others.
func TestFlaky(t *testing.T) {
	t.Parallel()
	s := newSite(t, edition(t, artifact.Hybrid, 1))
	o, _ := quick(t)
	mustMirror(t, s, o)
	requests := len(s.take())
	for _, name := range []string{"cut before the answer", "cut in the middle", "troubles"} {
		for _, parts := range []bool{true, false} {
			for n := 1; n <= requests; n++ {
				o.Dir = t.TempDir()
				ranges := 0
				s.breaks(func(i int, w http.ResponseWriter, r *http.Request, content []byte) bool {
					switch {
					case i == n:
						faults[name](w, r, content)
					case !parts:
						w.Write(content)
					default:
						if r.Header.Get("Range") != "" {
							ranges++
						}
						return false
					}
					return true
				})
				folder, err := Mirror(limited(t), s.base(), o)
				if err != nil {
					t.Errorf("%s at request %d: %v", name, n, err)
					continue
				}
				if n%4 == 1 {
					answers(t, folder, 1)
				}
				if asked := len(s.take()); asked != requests+1 {
					t.Errorf("%s at request %d: %d requests, not %d", name, n, asked, requests+1)
				}
				if want := name == "cut in the middle" && parts; (ranges == 1) != want {
					t.Errorf("%s at request %d: %d parts asked for", name, n, ranges)
				}
			}
		}
	}
}

// A large file may break off often, if a good part of it comes each time.
func TestProgress(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 6<<16) // 6 MiB
	for _, c := range []struct {
		part, requests int
		want           string
	}{{progress + 1, 6, ""}, {progress / 2, 3, "the connection broke off"}} {
		s := newSite(t, map[string][]byte{"large": content})
		s.breaks(func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			from := 0
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			if len(content)-from <= c.part {
				return false
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			if from > 0 {
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(content[from:][:c.part])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		o, _ := quick(t)
		f := file{url: parsed(t, s.URL+"/dist/large"), most: int64(len(content)), size: true, sum: artifact.Digest(content)}
		got, err := get(limited(t), s.Client(), o.pace, f)
		if c.want == "" && (err != nil || !bytes.Equal(got, content)) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("in parts of %d bytes: %d bytes, %v", c.part, len(got), err)
		}
		if asked := len(s.take()); asked != c.requests {
			t.Errorf("in parts of %d bytes: %d requests, not %d", c.part, asked, c.requests)
		}
	}
}

// A host that never ends, or never goes on, is given up.
func TestEndless(t *testing.T) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}
	stalling := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	trickling := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write([]byte("0"))
			http.NewResponseController(w).Flush()
			if pause(r.Context(), 10*time.Millisecond) != nil {
				return
			}
		}
	}
	files := edition(t, artifact.Keyword, 1)
	version := "shop/" + artifact.FolderName(digestOf(files))
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		pace   pace
		want   string
	}{
		{"endless", endless, pace{stall: time.Minute, slowest: 1 << 10, attempts: 3}, "it has more than "},
		{"stalling", stalling, pace{stall: 20 * time.Millisecond, slowest: 1 << 10, attempts: 3}, "it sent nothing for 20ms"},
		{"silent", silent, pace{stall: 20 * time.Millisecond, slowest: 1 << 10, attempts: 3}, "it sent nothing for 20ms"},
		{"trickling", trickling, pace{stall: 200 * time.Millisecond, slowest: 1 << 30, attempts: 1}, "it was not whole after 400ms"},
	} {
		for _, file := range []string{"shop/latest", version + "/manifest.json", version + "/provenance.json", version + "/seal", version + "/text.bin"} {
			s := newSite(t, files)
			s.breaks(func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) bool {
				if r.URL.Path == "/dist/"+file {
					c.answer(w, r)
					return true
				}
				return false
			})
			o, _ := quick(t)
			o.pace = c.pace
			_, err := Mirror(limited(t), s.base(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s %s: %v", c.name, file, err)
			}
			if left := half(tree(t, o.Dir)); len(left) != 0 {
				t.Errorf("%s %s: left %q", c.name, file, left)
			}
		}
	}
}

// A version has at most MaxBytes, with its encoder; what has more is not begun.
func TestMaxBytes(t *testing.T) {
	files := edition(t, artifact.Hybrid, 1)
	size := int64(0)
	for name, data := range files {
		if base := filepath.Base(name); base != "latest" && base != artifact.SealFile && base != artifact.ProvenanceFile {
			size += int64(len(data))
		}
	}
	s := newSite(t, files)
	o, _ := quick(t)
	o.MaxBytes = size - 1
	if _, err := Mirror(limited(t), s.base(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it has %d bytes with its encoder, more than the %d of MaxBytes", size, size-1)) {
		t.Errorf("a byte too much: %v", err)
	}
	for _, asked := range s.take() {
		if strings.HasSuffix(asked, ".bin") {
			t.Errorf("it asked for %s", asked)
		}
	}
	o.MaxBytes = 100
	if _, err := Mirror(limited(t), s.base(), o); err == nil || !strings.Contains(err.Error(), "manifest.json: it has more than 100 bytes") {
		t.Errorf("a manifest too large: %v", err)
	}
	o.MaxBytes = size
	answers(t, mustMirror(t, s, o), 1)
}

// A version that breaks the format's rules, though its digests are right, is refused, and not fetched at every look.
func TestRefused(t *testing.T) {
	good, bad := edition(t, artifact.Keyword, 1), edition(t, artifact.Keyword, 2)
	s := newSite(t, maps.Clone(good))
	o, log := quick(t)
	folder := mustMirror(t, s, o)
	old := artifact.FolderName(digestOf(bad))
	manifest := bytes.Replace(bad["shop/"+old+"/manifest.json"], []byte(`"documents": 2,`), []byte(`"documents": 3,`), 1)
	digest := artifact.Digest(manifest)
	version := "shop/" + artifact.FolderName(digest)
	for name, data := range bad {
		if rest, ok := strings.CutPrefix(name, "shop/"+old); ok {
			s.put(map[string][]byte{version + rest: data})
		}
	}
	provenance := bad["shop/"+old+"/provenance.json"]
	s.put(map[string][]byte{
		version + "/manifest.json": manifest, "shop/latest": []byte(digest + "\n"),
		version + "/seal": fmt.Appendf(nil, "%s\nmanifest %s\nprovenance %s\n", artifact.Format, digest, artifact.Digest(provenance)),
	})
	log.take()
	m, err := newMirror(s.base(), o)
	if err != nil {
		t.Fatal(err)
	}
	var fetched []int
	s.take()
	for look := 1; look <= 20; look++ {
		m.look(limited(t))
		if len(s.take()) > 1 {
			fetched = append(fetched, look)
		}
	}
	if !slices.Equal(fetched, []int{1, 2, 4, 8, 16}) {
		t.Errorf("fetched at the looks %v", fetched)
	}
	if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], "its counts are") {
		t.Errorf("log %q", lines)
	}
	answers(t, folder, 1)

	// One that breaks off is fetched a bit more often.
	bad = edition(t, artifact.Keyword, 3)
	s.put(bad)
	s.breaks(func(_ int, w http.ResponseWriter, r *http.Request, content []byte) bool {
		if strings.HasSuffix(r.URL.Path, "/vectors.bin") || strings.HasSuffix(r.URL.Path, "/text.bin") {
			faults["cut in the middle"](w, r, content)
		}
		return false
	})
	fetched = nil
	for look := 1; look <= 24; look++ {
		m.look(limited(t))
		if len(s.take()) > 1 {
			fetched = append(fetched, look)
		}
	}
	if !slices.Equal(fetched, []int{1, 2, 4, 8, 16, 24}) {
		t.Errorf("fetched what breaks off at the looks %v", fetched)
	}
	if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], "text.bin: the connection broke off") {
		t.Errorf("log %q", lines)
	}
	s.breaks(nil)
	for range 8 {
		m.look(limited(t))
	}
	answers(t, folder, 3)
	if lines := log.take(); len(lines) != 2 || !strings.Contains(lines[0], "mirrored a new version") || !strings.Contains(lines[1], "the newest version is mirrored again") {
		t.Errorf("log %q", lines)
	}
}

// A version that needs another reader is refused by what its manifest says, and stays if it was there.
func TestUnsupported(t *testing.T) {
	files := edition(t, artifact.Keyword, 1)
	s := newSite(t, files)
	manifest := bytes.Replace(files["shop/"+artifact.FolderName(digestOf(files))+"/manifest.json"], []byte(artifact.Format), []byte("larder/9"), 1)
	digest := artifact.Digest(manifest)
	s.put(map[string][]byte{"shop/latest": []byte(digest + "\n"), "shop/" + artifact.FolderName(digest) + "/manifest.json": manifest})
	o, _ := quick(t)
	if _, err := Mirror(limited(t), s.base(), o); !errors.Is(err, artifact.ErrUnsupported) {
		t.Errorf("format 9: %v", err)
	}
	if asked := s.take(); len(asked) != 2 {
		t.Errorf("it asked for %q", asked)
	}
}

// A context that ends in the middle ends the mirroring, and leaves nothing.
func TestCancel(t *testing.T) {
	s := newSite(t, edition(t, artifact.Hybrid, 1))
	o, _ := quick(t)
	mustMirror(t, s, o)
	requests := len(s.take())
	for n := 1; n <= requests; n++ {
		o.Dir = t.TempDir()
		ctx, cancel := context.WithCancel(limited(t))
		s.breaks(func(i int, w http.ResponseWriter, r *http.Request, content []byte) bool {
			if i == n {
				cancel()
			}
			return false
		})
		if folder, err := Mirror(ctx, s.base(), o); folder != "" || !errors.Is(err, context.Canceled) {
			if n < requests || err != nil { // the last answer may be quicker
				t.Errorf("ended at request %d: %q, %v", n, folder, err)
			}
		}
		cancel()
		if left := half(tree(t, o.Dir)); len(left) != 0 {
			t.Errorf("ended at request %d: left %q", n, left)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		address  string
		insecure bool
		want     string // of the error; "" for none
	}{
		{"https://a.example/dist/shop", false, ""},
		{"https://a.example", false, ""},
		{"http://localhost:8080/shop", false, ""},
		{"http://127.0.0.2/shop", false, ""},
		{"http://[::1]:80/shop", false, ""},
		{"http://10.0.0.1/shop", true, ""},
		{"http://10.0.0.1/shop", false, "use https, or set Insecure"},
		{"http://localhost.example/shop", false, "use https"},
		{"http://127.0.0.1.example/shop", false, "use https"},
		{"https://user:geheim@a.example/shop", false, "a user or a password"},
		{"https://user@a.example/shop", true, "a user or a password"},
		{"https://a.example/shop?X-Signature=geheim", false, "a query or a fragment"},
		{"https://a.example/shop?", false, "a query or a fragment"},
		{"https://a.example/shop#geheim", false, "a query or a fragment"},
		{"ftp://a.example/shop", true, "no URL of the kind https://host/dist/base"},
		{"file:///etc/passwd", true, "no URL of the kind"},
		{"https:///shop", false, "no URL of the kind"},
		{"https:shop", false, "no URL of the kind"},
		{"dist/shop", false, "no URL of the kind"},
		{"", false, "no URL of the kind"},
		{"https://user:geheim@a.example:port/%zz", false, "no URL"},
	} {
		_, err := Mirror(canceled(), c.address, Options{Dir: filepath.Join(t.TempDir(), "x"), Insecure: c.insecure})
		switch {
		case c.want == "" && !errors.Is(err, context.Canceled):
			t.Errorf("%q: %v", c.address, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim")):
			t.Errorf("%q: %v, want %q", c.address, err, c.want)
		}
	}
	for _, o := range []Options{{}, {Dir: "x", MaxBytes: -1}, {Dir: "x", Every: -1}} {
		if _, err := Mirror(canceled(), "https://a.example/shop", o); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a folder was made for options that can't be")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestRedirectRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		n        int
		want     string
	}{
		{"https://a.example/x", "https://a.example/y", 1, ""},
		{"https://a.example/x", "https://cdn.example/y?signature=geheim", 5, ""},
		{"https://a.example/x", "https://a.example/y", 6, "more than 5 times"},
		{"https://a.example/x", "http://a.example/x?geheim", 1, "not https"},
		{"https://a.example/x", "http://127.0.0.1/x", 1, "not https"},
		{"https://a.example/x", "file:///x", 1, "not https"},
		{"https://a.example/x", "https://u:geheim@a.example/x", 1, "a user or a password"},
		{"http://a.example/x", "https://b.example/x", 1, ""},
		{"http://a.example/x", "http://a.example/y", 1, ""},
		{"http://a.example/x", "http://169.254.169.254/latest?geheim", 1, "over http to another host, http://169.254.169.254:"},
		{"http://127.0.0.1:80/x", "http://127.0.0.1:81/x", 1, "over http to another host"},
	} {
		from, to := parsed(t, c.from), parsed(t, c.to)
		if got := redirect(from, to, c.n); c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "geheim") {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func parsed(t testing.TB, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The rules hold for a client of the user's own, whose own rules hold too; and a redirect's signature is in no error.
func TestRedirects(t *testing.T) {
	plain := newSite(t, edition(t, artifact.Keyword, 1))
	var to string
	safe := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			plain.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, to+r.URL.Path+"?signature=geheim", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(safe.Close)
	o, _ := quick(t)
	o.Client = safe.Client()
	o.Client.Timeout = time.Minute
	address := safe.URL + "/dist/shop"

	to = plain.URL
	if _, err := Mirror(limited(t), address, o); err == nil || !strings.Contains(err.Error(), "which is not https") || strings.Contains(err.Error(), "geheim") {
		t.Errorf("to http: %v", err)
	}
	if asked := plain.take(); len(asked) != 0 {
		t.Errorf("over http it asked for %q", asked)
	}
	to = ""
	folder, err := Mirror(limited(t), address, o)
	if err != nil {
		t.Fatal(err)
	}
	answers(t, folder, 1)
	errOwn := errors.New("not that way")
	o.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return errOwn }
	o.Dir = t.TempDir()
	if _, err := Mirror(limited(t), address, o); !errors.Is(err, errOwn) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("with a rule of its own: %v", err)
	}
}
