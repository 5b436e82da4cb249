package reader

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/larder/internal/testkit"
	"example.com/larder/internal/testkit/shelf"
)

// Random single-bit flips over all files of a sample artifact, and some over those of its encoder, are refused by
// opening, and by Verify.
func TestFlips(t *testing.T) {
	t.Parallel()
	// No other base has an encoder of this many dimensions; an open one would be taken in place of the damaged.
	s := mustShelf(t, shelf.Base{Dimensions: 24, Documents: shelf.Documents(40, 5)})
	folder := s.Folder("sample")
	r := testkit.NewRandom(1)
	for _, c := range []struct {
		prefix        string
		files, opened int
		verified      int
	}{{"models/", 3, 1000, 50}, {folder + "/", 12, 10000, 1000}} {
		var names []string
		size := 0
		for _, name := range slices.Sorted(maps.Keys(s.MapFS)) {
			if strings.HasPrefix(name, c.prefix) {
				names = append(names, name)
				size += len(s.MapFS[name].Data)
			}
		}
		if len(names) != c.files {
			t.Fatalf("%d files: %q", len(names), names)
		}
		// pick returns a file and a bit in it. Each file gets its share by size, and half of the flips go to a file
		// drawn without regard to it, so that the small ones get enough.
		pick := func() (name string, at, bit int) {
			name = names[r.N(len(names))]
			if r.N(2) == 0 {
				n := r.N(size)
				for _, name = range names {
					if n < len(s.MapFS[name].Data) {
						break
					}
					n -= len(s.MapFS[name].Data)
				}
			}
			return name, r.N(len(s.MapFS[name].Data)), r.N(8)
		}
		hit := map[string]int{}
		for range c.opened {
			name, at, bit := pick()
			data := s.MapFS[name].Data
			data[at] ^= 1 << bit
			if _, err := Open(s, "sample", Options{}); err == nil {
				t.Errorf("%s: bit %d of byte %d flipped, and opened", name, bit, at)
			}
			data[at] ^= 1 << bit
			hit[name]++
		}
		for _, name := range names {
			if hit[name] < c.opened/len(names)/3 {
				t.Errorf("%s got %d flips only", name, hit[name])
			}
		}
		dir := t.TempDir()
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		for range c.verified {
			name, at, bit := pick()
			file := filepath.Join(dir, filepath.FromSlash(name))
			data := slices.Clone(s.MapFS[name].Data)
			data[at] ^= 1 << bit
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(filepath.Join(dir, "sample")); err == nil {
				t.Errorf("%s: bit %d of byte %d flipped, and verified", name, bit, at)
			}
			if err := os.WriteFile(file, s.MapFS[name].Data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Verify(filepath.Join(dir, "sample")); err != nil {
			t.Fatalf("whole again, yet: %v", err)
		}
		t.Logf("%s: %d bytes in %d files; %d flips refused by Open, %d by Verify", c.prefix, size, len(names), c.opened, c.verified)
	}
}
