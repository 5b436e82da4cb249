package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// discover is the first stage that sees documents.
func (b *bake) discover(context.Context) (err error) {
	for _, d := range b.Documents {
		b.sources = append(b.sources, Source{Path: d.Path, Size: int64(len(d.Text))})
	}
	if b.sources != nil {
		return nil
	}
	b.sources, b.report.LeftOut, err = Discover(b.root, b.settings)
	if !b.KeepGoing {
		b.report.Unmatched = b.settings.Unmatched(b.sources)
	}
	return err
}

// A Source is a document's file.
type Source struct {
	Path    string // below the base's folder, slash-separated, in NFC: what the document's id is made of
	Name    string // the same as the file system spells it, slash-separated: what opens the file
	Size    int64  // bytes, when it was found
	MayFail bool   // the skip list names it
	Meta    Meta   // what the metadata rules say of it
}

// LeftOut is a file or folder that is no document.
type LeftOut struct {
	Path   string // as in [Source]; quoted as in Go if it can't be shown as it is
	Reason string
}

// Why files and folders are left out, where a report counts or tests ask for it.
const (
	leftIgnored = "ignored by " + IgnoreFile
	leftSymlink = "symbolic link"
	leftBare    = "no extension"     // and more
	leftKind    = "files ending in " // an extension, and more
)

const (
	maxEntries = 1_000_000 // files and folders below a base's folder
	maxDepth   = 64        // folders in one another
)

// OpenFolder opens the folder that holds a base's documents.
func OpenFolder(name string) (*os.Root, error) {
	root, err := os.OpenRoot(name)
	if err == nil {
		return root, nil
	}
	if info, serr := os.Stat(name); errors.Is(serr, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; make a folder with documents ending in %s", name, fs.ErrNotExist, extensionList())
	} else if serr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: not a folder; name the folder that holds the documents", name)
	}
	return nil, fmt.Errorf("%s: %w", name, cause(err))
}

// Discover lists the documents below root in ascending order of the bytes of their paths, and what is
// left out, likewise: hidden files and folders, what an [IgnoreFile] names, symbolic links, what is not a
// regular file, and other extensions than those of [Formats]. base.yaml and ignore files are in neither list. Empty
// files are documents. Links are never followed: one that leads out of the folder must not be, and what another one
// leads to is found by its own name. The folder itself may be a link.
//
// It returns an error if there is no document; if two paths differ only in case or in Unicode
// composition, since not every file system can hold both; if a name holds control characters or is not
// UTF-8; and if there are more than a million entries or folders deeper than 64.
func Discover(root *os.Root, s Settings) (found []Source, leftOut []LeftOut, err error) {
	w := walker{root: root, maxEntries: maxEntries}
	if err := w.folder(".", 0, nil); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(w.found, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(w.leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })

	folded := make(map[string]string, len(w.found))
	for i := range w.found {
		d := &w.found[i]
		key := foldPath(d.Path)
		if other, ok := folded[key]; ok {
			w.wrong("%q and %q differ only in case or Unicode composition; rename one", other, d.Name)
			continue
		}
		folded[key] = d.Name
		d.MayFail, d.Meta = s.MayFail(d.Path), s.MetaFor(d.Path)
	}
	if len(w.problems) > 0 {
		return nil, nil, w.err()
	}
	if len(w.found) == 0 {
		err := fmt.Errorf("%s: no document found; documents end in %s", root.Name(), extensionList())
		if n := len(w.leftOut); n > 0 {
			err = fmt.Errorf("%w (left out: %d, the first one %s: %s)", err, n, w.leftOut[0].Path, w.leftOut[0].Reason)
		}
		return nil, w.leftOut, err
	}
	return w.found, w.leftOut, nil
}

// extensionList returns the extensions as a phrase.
func extensionList() string {
	known := Formats()
	last := len(known) - 1
	return strings.Join(known[:last], ", ") + " or " + known[last]
}

// A walker collects what is below a folder.
type walker struct {
	root       *os.Root
	maxEntries int
	entries    int
	found      []Source
	leftOut    []LeftOut
	problems   []string
}

func (w *walker) wrong(format string, args ...any) {
	w.problems = append(w.problems, w.root.Name()+": "+fmt.Sprintf(format, args...))
}

func (w *walker) err() error {
	const shown = 20
	list := w.problems
	if len(list) > shown {
		list = append(slices.Clone(list[:shown]), fmt.Sprintf("%d more problems", len(list)-shown))
	}
	return errors.New(strings.Join(list, "\n"))
}

func (w *walker) leave(name, format string, args ...any) {
	shown := norm.NFC.String(name)
	if !printable(name) {
		shown = fmt.Sprintf("%q", name)
	}
	w.leftOut = append(w.leftOut, LeftOut{shown, fmt.Sprintf(format, args...)})
}

// folder walks over the folder called name, which is depth folders below the root. rules are those of the ignore files
// above.
func (w *walker) folder(name string, depth int, rules []ignoreRule) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folder %q is more than %d folders deep; flatten it, or hide it by a dot before its name", w.root.Name(), name, maxDepth)
	}
	f, err := w.root.Open(filepath.FromSlash(name))
	if err != nil {
		return fmt.Errorf("%s: folder %q: %w", w.root.Name(), name, cause(err))
	}
	var entries []fs.DirEntry
	for {
		some, err := f.ReadDir(1000)
		entries = append(entries, some...)
		if w.entries += len(some); w.entries > w.maxEntries {
			f.Close()
			return fmt.Errorf("%s: more than %d files and folders; split the base", w.root.Name(), w.maxEntries)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			f.Close()
			return fmt.Errorf("%s: folder %q: %w", w.root.Name(), name, cause(err))
		}
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: folder %q: %w", w.root.Name(), name, cause(err))
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == IgnoreFile }) {
		if rules, err = readIgnore(w.root, name, rules); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := w.entry(path.Join(name, e.Name()), e, depth, rules); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(name string, e fs.DirEntry, depth int, rules []ignoreRule) error {
	base, mode := e.Name(), e.Type()
	switch {
	case base == IgnoreFile:
	case strings.HasPrefix(base, ".") && mode.IsDir():
		w.leave(name, "hidden folder")
	case strings.HasPrefix(base, "."):
		w.leave(name, "hidden file")
	case ignored(rules, norm.NFC.String(name), mode.IsDir()):
		if mode.IsDir() {
			name += "/"
		}
		w.leave(name, leftIgnored)
	case mode&fs.ModeSymlink != 0:
		w.leave(name, leftSymlink)
	case mode.IsDir():
		if !printable(base) {
			w.wrong("folder %q has control characters in its name or is not UTF-8; rename it", name)
			return nil
		}
		return w.folder(name, depth+1, rules)
	case !mode.IsRegular():
		w.leave(name, "not a regular file")
	case depth == 0 && base == SettingsFile:
	case strings.EqualFold(base, SettingsFile) || strings.EqualFold(base, "base.yml"):
		w.leave(name, "settings are read from %s at the top of the folder alone", SettingsFile)
	case !slices.Contains(Formats(), strings.ToLower(path.Ext(base))):
		if path.Ext(base) == "" {
			w.leave(name, "%s (documents end in %s)", leftBare, extensionList())
		} else {
			w.leave(name, "%s%s are not read", leftKind, shownExtension(base))
		}
	case !printable(base):
		w.wrong("file %q has control characters in its name or is not UTF-8; rename it", name)
	default:
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			w.leave(name, "vanished while the folder was read")
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: file %q: %w", w.root.Name(), name, cause(err))
		}
		w.found = append(w.found, Source{Path: norm.NFC.String(name), Name: name, Size: info.Size()})
	}
	return nil
}

func shownExtension(base string) string {
	ext := path.Ext(base)
	if len(ext) > 20 || !printable(ext) {
		return excerpt(ext)
	}
	return ext
}

// ReadSource reads a document's file, which must be at most limit bytes and must not change meanwhile, as far as its
// size and its time of modification tell. Errors do not repeat its name.
func ReadSource(root *os.Root, src Source, limit int64) ([]byte, error) {
	name := filepath.FromSlash(src.Name)
	info, err := root.Lstat(name)
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("no longer a regular file")
	}
	return readUnchanged(root, name, info, limit)
}

// readUnchanged reads a file that must be what it was when info was taken, before and after.
func readUnchanged(root *os.Root, name string, info fs.FileInfo, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, tooLarge(limit)
	}
	opened, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if !os.SameFile(info, opened) {
		return nil, errChanged
	}
	data, err := readAtMost(f, info.Size(), limit)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if after.Size() != int64(len(data)) || after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime()) {
		return nil, errChanged
	}
	return data, nil
}

var errChanged = errors.New("changed while it was read; bake again when nothing writes to it")

// readAtMost reads a file of about size bytes that must be at most limit bytes.
func readAtMost(f io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+1) // room to see the end of the file
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, tooLarge(limit)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, cause(err)
		}
		data = slices.Grow(data, 1)
	}
}

// cause returns what an error of the file system says without the path, which the caller names in full.
func cause(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("larger than the limit of %d bytes; split the document", limit)
}
