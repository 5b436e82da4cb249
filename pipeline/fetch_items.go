package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"text/tabwriter"

	"example.com/larder/models"
)

// The states of an [Item].
const (
	StateCached      = "cached"      // in the cache, with the right size
	StateMissing     = "missing"     // not in the cache; for another platform that is as it should be
	StateDamaged     = "damaged"     // in the cache with another size; it will be fetched again
	StateUnavailable = "unavailable" // not locked for this platform
)

// An Item is one file of models.lock.
type Item struct {
	Name     string // of the model or library
	Version  string // of the library; "" for a model, which its digest identifies
	File     string // such as model.onnx
	Platform string // GOOS/GOARCH; "" for any
	State    string
	Path     string // where it is or belongs in the cache; "" if it is unavailable
	Size     int64  // bytes; 0 if not known before it is built
	SHA256   string // "" if not known before it is built
	Source   string // the first one that gives these bytes; the reason if it is unavailable
}

// Items lists everything that models.lock names, with its state in the cache, in the lock's order. Cached
// files are checked by size; [Fetcher.Model] and the others check digests too. Of the files that differ
// by source the cached one is listed, or else the first one. Nothing is fetched, and no program is run.
func (f *Fetcher) Items() ([]Item, error) {
	var items []Item
	lock := f.lock()
	for _, m := range lock.Models {
		for _, file := range []models.File{m.ONNX, m.Tokenizer} {
			items = append(items, f.item(Item{Name: m.Name, File: file.Name}, file))
		}
	}
	for _, lib := range lock.Runtime.Libraries {
		it := Item{Name: "onnxruntime", Version: lock.Runtime.Version, Platform: lib.Platform}
		if lib.File == nil {
			it.State, it.Source = StateUnavailable, lib.Unavailable
			items = append(items, it)
			continue
		}
		it.File = lib.File.Name
		items = append(items, f.item(it, *lib.File))
	}
	for _, t := range lock.Tokenizers.Targets {
		it := Item{Name: "tokenizers", Version: lock.Tokenizers.Version, Platform: t.Platform}
		if t.Rust == "" {
			it.State, it.Source = StateUnavailable, t.Unavailable
			items = append(items, it)
			continue
		}
		dir := f.tokenizersDir(t.Rust)
		it.File, it.Path, it.Source = tokenizersArchive, filepath.Join(dir, tokenizersArchive), "cargo build"
		build, err := readTokenizersBuild(dir)
		if err == nil {
			it.Size, it.SHA256 = build.Size, build.SHA256
			err = checkSize(it.Path, build.Pin)
		}
		it.State = stateOf(err)
		items = append(items, it)
	}
	return items, nil
}

// item fills in what the cache says of a file.
func (f *Fetcher) item(it Item, file models.File) Item {
	for i, src := range file.Sources {
		path := f.Cache.Path(file.Name, src.Pin)
		state := stateOf(checkSize(path, src.Pin))
		if i == 0 || state == StateCached || state == StateDamaged && it.State == StateMissing {
			it.State, it.Path, it.Size, it.SHA256, it.Source = state, path, src.Size, src.SHA256, src.String()
		}
		if state == StateCached {
			break
		}
	}
	return it
}

func stateOf(err error) string {
	switch {
	case err == nil:
		return StateCached
	case errors.Is(err, fs.ErrNotExist):
		return StateMissing
	}
	return StateDamaged
}

// WriteItems writes items as an aligned table, digests cut to 12 digits.
func WriteItems(w io.Writer, items []Item) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVERSION\tPLATFORM\tFILE\tSIZE\tSHA256\tSTATE\tSOURCE")
	for _, it := range items {
		size, digest := "", it.SHA256
		if it.Size > 0 {
			size = byteCount(it.Size)
		}
		if len(digest) > 12 {
			digest = digest[:12]
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", it.Name, dash(it.Version), dash(it.Platform), dash(it.File), dash(size), dash(digest), it.State, it.Source)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
