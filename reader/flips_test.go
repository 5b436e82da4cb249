package reader

import (
	"errors"
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

// Random flips over all files of a sample artifact, and some over those of its encoder, are each refused by opening
// it from memory and by Verify of it on a disk.
func TestFlips(t *testing.T) {
	t.Parallel()
	// No other base has an encoder of this many dimensions; an open one would be taken in place of the damaged.
	s := mustShelf(t, shelf.Base{Dimensions: 24, Documents: shelf.Documents(12, 3)})
	const workers = 4
	for _, c := range []struct {
		prefix       string
		files, flips int
	}{{"models/", 3, 1000}, {s.Folder("sample") + "/", 12, 10000}} {
		var group sync.WaitGroup
		all := make([]*flips, workers)
		for w := range workers {
			all[w] = newFlips(s, c.prefix, uint64(w))
			if len(all[w].names) != c.files {
				t.Fatalf("%d files: %q", len(all[w].names), all[w].names)
			}
			dir := t.TempDir()
			if err := s.Save(dir); err != nil {
				t.Fatal(err)
			}
			group.Go(func() { all[w].refused(t, dir, c.flips/workers) })
		}
		group.Wait()
		for _, name := range all[0].names {
			n := 0
			for _, f := range all {
				n += f.hit[name]
			}
			if n < c.flips/c.files/3 {
				t.Errorf("%s got %d flips only", name, n)
			}
		}
		t.Logf("%s: %d bytes in %d files; %d flips, each refused by Open and by Verify", c.prefix, all[0].size, c.files, c.flips)
	}
}

// refused tries n flips in memory and in dir, where the same shelf is.
func (f *flips) refused(t *testing.T, dir string, n int) {
	base := filepath.Join(dir, "sample")
	for range n {
		f.next(func(name string, data []byte, at, bit int) {
			if _, err := Open(f, "sample", Options{}); err == nil {
				t.Errorf("%s: bit %d of byte %d flipped, and opened", name, bit, at)
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := overwrite(file, at, data[at]); err != nil {
				t.Error(err)
			}
			if _, err := Verify(base, Options{}); err == nil {
				t.Errorf("%s: bit %d of byte %d flipped, and verified", name, bit, at)
			}
			if err := overwrite(file, at, data[at]^1<<bit); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := Verify(base, Options{}); err != nil {
		t.Errorf("whole again, yet: %v", err)
	}
}

// overwrite replaces one byte of a file.
func overwrite(file string, at int, b byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{b}, int64(at))
	return errors.Join(err, f.Close())
}
