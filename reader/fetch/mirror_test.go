package fetch

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/reader"
)

// A mirror has the files of the shelf, with the encoder in the models folder wherever it was, and answers.
func TestMirror(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string][]byte
	}{
		{"encoder on the shelf", edition(t, artifact.Hybrid, 1)},
		{"encoder in the version", bundle(edition(t, artifact.Hybrid, 1))},
		{"no encoder", edition(t, artifact.Keyword, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.files)
			o, log := quick(t)
			folder := mustMirror(t, s, o)
			answers(t, folder, 1)
			requests := s.take()
			if len(requests) < len(c.files) || len(requests) > len(c.files)+1 {
				t.Errorf("%d requests for %d files: %q", len(requests), len(c.files), requests)
			}
			version := artifact.FolderName(digestOf(c.files))
			if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], `msg="mirrored a new version" url=`+s.base()+" version="+version) {
				t.Errorf("log %q", lines)
			}
			same := 0
			for name, data := range c.files {
				if rest, ok := strings.CutPrefix(name, "shop/"+version+"/"); ok && slices.Contains(encoderFiles, rest) {
					found, err := filepath.Glob(filepath.Join(filepath.Dir(folder), "models", "*", rest))
					if err != nil || len(found) != 1 {
						t.Errorf("%s: %q, %v", name, found, err)
						continue
					}
					name, err = filepath.Rel(filepath.Dir(folder), found[0])
					if err != nil {
						t.Fatal(err)
					}
				}
				got, err := os.ReadFile(filepath.Join(filepath.Dir(folder), filepath.FromSlash(name)))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s differs, %v", name, err)
				}
				same++
			}
			if same < 11 {
				t.Errorf("%d files compared", same)
			}

			before := tree(t, o.Dir)
			if again := mustMirror(t, s, o); again != folder {
				t.Errorf("then in %s, not %s", again, folder)
			}
			if requests := s.take(); !slices.Equal(requests, []string{"shop/latest"}) {
				t.Errorf("asked again for %q", requests)
			}
			if after := tree(t, o.Dir); !slices.Equal(after, before) {
				t.Errorf("the mirror has changed from %q to %q", before, after)
			}
			if lines := log.take(); len(lines) != 0 {
				t.Errorf("log %q", lines)
			}
		})
	}
}

// A base may lie at a host's root, and its folder may have any name.
func TestMirrorNames(t *testing.T) {
	files := edition(t, artifact.Keyword, 1)
	for _, prefix := range []string{"/", "/Refunds of 2026/", "/models/", "/a%2Fb/x/"} {
		s := newSite(t, files)
		moved := map[string][]byte{}
		for name, data := range files {
			moved[prefix+strings.TrimPrefix(name, "shop/")] = data
		}
		if prefix == "/a%2Fb/x/" {
			moved = map[string][]byte{}
			for name, data := range files {
				moved["/a/b/x/"+strings.TrimPrefix(name, "shop/")] = data
			}
		}
		s.files = moved
		o, _ := quick(t)
		folder, err := Mirror(limited(t), s.URL+strings.ReplaceAll(prefix, " ", "%20"), o)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		answers(t, folder, 1)
	}
}

// Two URLs never share a folder; two spellings of one do.
func TestFolders(t *testing.T) {
	seen := map[string]string{}
	for _, address := range []string{"https://a.example/dist/shop", "https://b.example/dist/shop", "https://a.example/dist2/shop", "https://a.example:444/dist/shop", "https://a.example/dist/other"} {
		m, err := newMirror(address, Options{Dir: "cache"})
		if err != nil {
			t.Fatal(err)
		}
		if was, ok := seen[m.folder]; ok {
			t.Errorf("%s and %s share a folder", was, address)
		}
		seen[m.folder] = address
	}
	for _, address := range []string{"https://A.example/dist/shop/", "HTTPS://a.example/dist//./x/../shop"} {
		if m, err := newMirror(address, Options{Dir: "cache"}); err != nil || seen[m.folder] != "https://a.example/dist/shop" {
			t.Errorf("%s: %v, %v", address, m, err)
		}
	}
}

// A live base follows what Follow mirrors, there and back.
func TestFollow(t *testing.T) {
	first, second := edition(t, artifact.Hybrid, 1), edition(t, artifact.Hybrid, 2)
	s := newSite(t, maps.Clone(first))
	o, _ := quick(t)
	o.Every = time.Millisecond
	live, err := reader.OpenLive(mustMirror(t, s, o), reader.LiveOptions{Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	ctx, stop := context.WithCancel(limited(t))
	var follower sync.WaitGroup
	follower.Go(func() {
		if err := Follow(ctx, s.base(), o); !errors.Is(err, context.Canceled) {
			t.Errorf("followed until %v", err)
		}
	})
	for i, files := range []map[string][]byte{second, first, second} {
		s.put(files)
		want := []int{2, 1, 2}[i]
		for says(t, live.Search) != want {
			if err := pause(ctx, time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	follower.Wait()
	if err := Follow(context.Background(), "ftp://a.example/shop", o); err == nil {
		t.Error("followed an FTP address")
	}
}

// When the host is down, the version mirrored last answers.
func TestHostDown(t *testing.T) {
	s := newSite(t, edition(t, artifact.Hybrid, 1))
	o, log := quick(t)
	folder := mustMirror(t, s, o)
	log.take()
	s.Close()
	if again, err := Mirror(limited(t), s.base(), o); err != nil || again != folder {
		t.Errorf("%s, %v", again, err)
	}
	answers(t, folder, 1)
	if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], `level=WARN msg="stayed on the version mirrored last"`) || !strings.Contains(lines[0], s.base()+"/latest: dial: connect") {
		t.Errorf("log %q", lines)
	}
	// Damaged, it doesn't.
	spoil(t, filepath.Join(folder, artifact.FolderName(digestOf(s.files)), "text.bin"))
	if _, err := Mirror(limited(t), s.base(), o); !errors.Is(err, artifact.ErrCorrupt) || !strings.Contains(err.Error(), "dial: connect") {
		t.Errorf("damaged and without a host: %v", err)
	}
	o.Dir = t.TempDir()
	if _, err := Mirror(limited(t), s.base(), o); err == nil || !strings.Contains(err.Error(), "mirror "+s.base()+": ") || !strings.Contains(err.Error(), "no version was mirrored before: check the URL") {
		t.Errorf("nothing there and no host: %v", err)
	}
}

// spoil changes a byte of a file.
func spoil(t testing.TB, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Whatever is damaged or missing in a mirror is fetched again, and nothing else.
func TestRepair(t *testing.T) {
	s := newSite(t, edition(t, artifact.Hybrid, 1))
	o, _ := quick(t)
	mustMirror(t, s, o)
	whole, original := o.Dir, tree(t, o.Dir)
	repaired := 0
	for _, name := range original {
		if info, err := os.Stat(filepath.Join(whole, name)); err != nil || info.IsDir() {
			continue
		}
		for _, damage := range []func(string){func(name string) { spoil(t, name) }, func(name string) { os.Remove(name) }} {
			o.Dir = copied(t, whole)
			damage(filepath.Join(o.Dir, name))
			s.take()
			answers(t, mustMirror(t, s, o), 1)
			if got := tree(t, o.Dir); !slices.Equal(got, original) {
				t.Errorf("%s: then the mirror has %q", name, got)
			}
			for _, asked := range s.take()[1:] {
				if strings.Contains(name, "/models/") != (strings.HasPrefix(asked, "models/") || strings.HasSuffix(asked, "/model.json")) {
					t.Errorf("to repair %s it asked for %s", name, asked)
				}
			}
			repaired++
		}
	}
	if repaired < 2*15 {
		t.Errorf("%d repairs", repaired)
	}
}

// Versions and encoders that nobody needs go, but not young ones, nor what latest names, nor the one before.
func TestPrune(t *testing.T) {
	s := newSite(t, map[string][]byte{})
	o, _ := quick(t)
	o.young = time.Hour
	var versions []string
	show := func(number int) (names []string) {
		files := edition(t, artifact.Hybrid, number)
		s.put(files)
		folder := mustMirror(t, s, o)
		answers(t, folder, number)
		if number > len(versions) {
			versions = append(versions, artifact.FolderName(digestOf(files)))
		}
		there, err := folders(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range versions {
			if _, ok := there[v]; ok {
				names = append(names, string(rune('1'+i)))
			}
		}
		return names
	}
	age := func() {
		m, err := newMirror(s.base(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{m.folder, m.models} {
			there, err := folders(dir)
			if err != nil {
				t.Fatal(err)
			}
			for name, at := range there {
				if err := os.Chtimes(filepath.Join(dir, name), at.Add(-2*time.Hour), at.Add(-2*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for i, step := range []struct {
		number int
		age    bool
		want   string
	}{
		{1, false, "1"}, {2, false, "1 2"}, {3, false, "1 2 3"}, {4, true, "3 4"}, {5, true, "4 5"}, {4, true, "4 5"}, {1, true, "1 4"},
	} {
		if step.age {
			age()
		}
		if got := strings.Join(show(step.number), " "); got != step.want {
			t.Errorf("step %d: kept %q, want %q", i, got, step.want)
		}
	}
	m, err := newMirror(s.base(), o)
	if err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(m.models, "0123456789ab")
	if err := os.Mkdir(stray, 0o777); err != nil {
		t.Fatal(err)
	}
	show(1)
	if _, err := os.Stat(stray); err != nil {
		t.Errorf("a young encoder went: %v", err)
	}
	age()
	if err := m.prune(m.latest()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("an encoder that nobody needs stayed")
	}
	answers(t, m.folder, 1) // with its encoder, old as it is
}

// Programs that mirror into one folder, while the host goes from version to version, don't harm each other.
func TestConcurrent(t *testing.T) {
	editions := []map[string][]byte{edition(t, artifact.Hybrid, 1), edition(t, artifact.Hybrid, 2), edition(t, artifact.Hybrid, 3)}
	s := newSite(t, maps.Clone(editions[0]))
	o, _ := quick(t)
	ctx := limited(t)
	for round := range 3 {
		var programs sync.WaitGroup
		for range 6 {
			programs.Go(func() {
				folder, err := Mirror(ctx, s.base(), o)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := reader.OpenDir(folder, reader.Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		s.put(editions[(round+1)%3]) // in the middle of it
		programs.Wait()
	}
	answers(t, mustMirror(t, s, o), 1)
	if left := half(tree(t, o.Dir)); len(left) != 0 {
		t.Errorf("left half done: %q", left)
	}
}

// Whatever file operation fails, alone or with all that come after it as when the program is killed, what can be seen is
// whole, and the next run succeeds.
func TestFileOperations(t *testing.T) {
	s := newSite(t, edition(t, artifact.Keyword, 1))
	o, _ := quick(t)
	mustMirror(t, s, o)
	first := o.Dir
	s.put(edition(t, artifact.Keyword, 2))
	errFull := errors.New("no space left")
	for _, killed := range []bool{false, true} {
		total := 0
		for n := 1; total == 0 || n <= total; n++ {
			o.Dir = copied(t, first)
			count := 0
			restore := durable.SetHook(func(string, string) error {
				if count++; count == n || killed && count > n {
					return errFull
				}
				return nil
			})
			folder := mustMirror(t, s, o)
			restore()
			if count < n {
				total = count
				answers(t, folder, 2)
				break
			}
			number := 1
			if latest, err := os.ReadFile(filepath.Join(folder, artifact.LatestFile)); err == nil && string(latest) == string(s.files["shop/latest"]) {
				number = 2 // only the sync of the folder, or what is cleaned up after, has failed
			}
			answers(t, folder, number)
			answers(t, mustMirror(t, s, o), 2)
		}
		if total < 50 {
			t.Errorf("%d file operations", total)
		}
		t.Logf("failed each of %d operations, killed %v", total, killed)
	}
}
