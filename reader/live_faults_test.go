package reader

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
)

// faults are what a copy, a disk or a hand does to a file.
var faults = map[string]func(file string, data []byte) error{
	"a bit flipped in the middle": func(file string, data []byte) error { return overwrite(file, len(data)/2, data[len(data)/2]^4) },
	"a bit flipped at the end":    func(file string, data []byte) error { return overwrite(file, len(data)-1, data[len(data)-1]^1) },
	"cut by a byte":               func(file string, data []byte) error { return os.Truncate(file, int64(len(data)-1)) },
	"cut in half":                 func(file string, data []byte) error { return os.Truncate(file, int64(len(data)/2)) },
	"empty":                       func(file string, data []byte) error { return os.Truncate(file, 0) },
	"longer by a byte":            func(file string, data []byte) error { return os.WriteFile(file, append(data, 0), 0o666) },
	"of zeros":                    func(file string, data []byte) error { return os.WriteFile(file, make([]byte, len(data)), 0o666) },
	"missing":                     func(file string, data []byte) error { return os.Remove(file) },
	"a folder": func(file string, data []byte) error {
		if err := os.Remove(file); err != nil {
			return err
		}
		return os.Mkdir(file, 0o777)
	},
}

// Whatever is wrong with whichever file of a new version or of its encoder: the old version answers as before, the log
// has one line, and the new one takes over once it is whole.
func TestLiveFaults(t *testing.T) {
	t.Parallel()
	accept := func(_, _ *artifact.Manifest) error { return nil }
	cases := 0
	for name, damage := range faults {
		e := newEditions(t, Keyword, nil, func(b *shelf.Base) {
			// No other base has encoders of so many dimensions; an open one would be taken in place of the damaged.
			b.Mode, b.Dimensions = Hybrid, 88
		})
		var files []string
		for _, pattern := range []string{e.folder(1) + "/*", e.shelf + "/models/*/*"} {
			found, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
		if len(files) != 12+3 {
			t.Fatalf("%d files: %q", len(files), files)
		}
		for _, file := range files {
			cases++
			e.set(t, 0)
			l, log := e.open(t, LiveOptions{Accept: accept})
			before := asJSON(t, l.LookUp(t.Context(), "refund of gift cards"))
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(file, append([]byte(nil), data...)); err != nil {
				t.Fatal(err)
			}
			e.set(t, 1)
			for range 7 { // the 8th tries again
				if changed, err := l.Check(t.Context()); changed || err == nil {
					t.Errorf("%s %s: %v, %v", file, name, changed, err)
				}
			}
			if after := asJSON(t, l.LookUp(t.Context(), "refund of gift cards")); after != before || answers(l.LookUp(t.Context(), "gift")) != "edition-0" {
				t.Errorf("%s %s: %s, before %s", file, name, after, before)
			}
			log.one(t)
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
			check(t, l, true)
			mustAnswer(t, l, 1)
			log.one(t)
			forget(l.Base().Manifest().Model.Encoder)
		}
	}
	t.Logf("%d faults", cases)
}

// forget makes the next base read an encoder anew, though one that is open may have it.
func forget(encoder string) {
	encoders.Lock()
	defer encoders.Unlock()
	delete(encoders.open, encoder)
}
