package reader

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/larder/internal/testkit"
	"example.com/larder/internal/testkit/shelf"
)

// flips are random single-bit flips in those files of a shelf whose names have a prefix. Half of them fall on bytes
// drawn from all bytes, half on a file drawn from all files, so that the small ones get enough.
type flips struct {
	shelf.Shelf
	names []string
	size  int
	r     *testkit.Random
	hit   map[string]int
}

func newFlips(s shelf.Shelf, prefix string, seed uint64) *flips {
	f := &flips{Shelf: s.Copy(), r: testkit.NewRandom(seed), hit: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(s.MapFS)) {
		if strings.HasPrefix(name, prefix) {
			f.names = append(f.names, name)
			f.size += len(s.MapFS[name].Data)
		}
	}
	return f
}

// next flips a bit, calls try with the file and its bytes, and flips the bit back.
func (f *flips) next(try func(name string, data []byte, at, bit int)) {
	name := f.names[f.r.N(len(f.names))]
	if f.r.N(2) == 0 {
		n := f.r.N(f.size)
		for _, name = range f.names {
			if n < len(f.MapFS[name].Data) {
				break
			}
			n -= len(f.MapFS[name].Data)
		}
	}
	data := f.MapFS[name].Data
	at, bit := f.r.N(len(data)), f.r.N(8)
	data[at] ^= 1 << bit
	try(name, data, at, bit)
	data[at] ^= 1 << bit
	f.hit[name]++
}

// Random flips over all files of a sample artifact, and some over those of its encoder, are refused by opening, and
// by Verify.
func TestFlips(t *testing.T) {
	t.Parallel()
	// No other base has an encoder of this many dimensions; an open one would be taken in place of the damaged.
	s := mustShelf(t, shelf.Base{Dimensions: 24, Documents: shelf.Documents(40, 5)})
	const workers = 4
	for _, c := range []struct {
		prefix                  string
		files, opened, verified int
	}{{"models/", 3, 1000, 50}, {s.Folder("sample") + "/", 12, 10000, 200}} {
		var group sync.WaitGroup
		all := make([]*flips, workers)
		for w := range workers {
			all[w] = newFlips(s, c.prefix, uint64(w))
			if len(all[w].names) != c.files {
				t.Fatalf("%d files: %q", len(all[w].names), all[w].names)
			}
			group.Go(func() {
				for range c.opened / workers {
					all[w].next(func(name string, _ []byte, at, bit int) {
						if _, err := Open(all[w], "sample", Options{}); err == nil {
							t.Errorf("%s: bit %d of byte %d flipped, and opened", name, bit, at)
						}
					})
				}
			})
		}
		group.Wait()
		for _, name := range all[0].names {
			n := 0
			for _, f := range all {
				n += f.hit[name]
			}
			if n < c.opened/c.files/3 {
				t.Errorf("%s got %d flips only", name, n)
			}
		}
		dir := t.TempDir()
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		disk := newFlips(s, c.prefix, workers)
		for range c.verified {
			disk.next(func(name string, data []byte, at, bit int) {
				file := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.WriteFile(file, data, 0o666); err != nil {
					t.Fatal(err)
				}
				if _, err := Verify(filepath.Join(dir, "sample")); err == nil {
					t.Errorf("%s: bit %d of byte %d flipped, and verified", name, bit, at)
				}
				if err := os.WriteFile(file, s.MapFS[name].Data, 0o666); err != nil {
					t.Fatal(err)
				}
			})
		}
		if _, err := Verify(filepath.Join(dir, "sample")); err != nil {
			t.Fatalf("whole again, yet: %v", err)
		}
		t.Logf("%s: %d bytes in %d files; %d flips refused by Open, %d by Verify", c.prefix, disk.size, c.files, c.opened, c.verified)
	}
}
