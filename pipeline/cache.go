package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/larder/models"
)

// A Cache is the folder that downloads go to. It is shared by all checkouts and by processes that run at
// the same time: a file appears in it whole and verified, under its digest, by a rename.
//
//	sha256/<digest><extension>  a locked file
//	tokenizers/<digest>/        a build of libtokenizers.a, named by the digest of its inputs
//	encoders/<key>/             encoders made from models
//	vectors.db                  vectors of passages
//	pdfium/                     the PDF engine, compiled for this machine
//	hugot/<key>/                models laid out for hugot
//	tmp/                        work in progress, removed when it ends
//
// A cached file is trusted for its size when it is listed, and hashed again each time it is used.
type Cache struct {
	Dir string // absolute
}

// DefaultCache is the folder that the environment variable LARDER_CACHE names, or else the folder larder
// in the user's cache folder. It need not exist yet.
func DefaultCache() (Cache, error) {
	if dir := os.Getenv("LARDER_CACHE"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Cache{}, fmt.Errorf("LARDER_CACHE is %q: %w", dir, err)
		}
		return Cache{abs}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return Cache{}, fmt.Errorf("no cache folder: %w; set LARDER_CACHE to a folder", err)
	}
	return Cache{filepath.Join(dir, "larder")}, nil
}

// PDF is the folder for what the PDF engine compiles once.
func (c Cache) PDF() string { return filepath.Join(c.Dir, "pdfium") }

// Path is where a file with this name and these bytes belongs. The extension is kept, because some
// loaders of libraries need it.
func (c Cache) Path(name string, pin models.Pin) string {
	return filepath.Join(c.Dir, "sha256", pin.SHA256+filepath.Ext(name))
}

// A damagedError says how a file in the cache differs from what its name promises.
type damagedError struct {
	path      string
	want, got models.Pin
}

func (e *damagedError) Error() string {
	if e.got.Size != e.want.Size {
		return fmt.Sprintf("%s is damaged: it should have %d bytes and has %d", e.path, e.want.Size, e.got.Size)
	}
	return fmt.Sprintf("%s is damaged: its sha256 should be %s and is %s", e.path, e.want.SHA256, e.got.SHA256)
}

// checkSize returns nil if path is a regular file of the pinned size, fs.ErrNotExist if nothing is there,
// a *damagedError if it has another size.
func checkSize(path string, pin models.Pin) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is in the way: it is not a regular file; remove it", path)
	}
	if info.Size() != pin.Size {
		return &damagedError{path, pin, models.Pin{Size: info.Size()}}
	}
	return nil
}

// checkFile does what checkSize does, and checks the digest too.
func checkFile(path string, pin models.Pin) error {
	if err := checkSize(path, pin); err != nil {
		return err
	}
	got, err := pinFile(path)
	if err != nil {
		return err
	}
	if got != pin {
		return &damagedError{path, pin, got}
	}
	return nil
}

// pinFile hashes a file.
func pinFile(path string) (models.Pin, error) {
	f, err := os.Open(path)
	if err != nil {
		return models.Pin{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return models.Pin{}, err
	}
	return sumPin(h, n), nil
}

func sumPin(h hash.Hash, n int64) models.Pin {
	return models.Pin{SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}
}

// staleAfter is the age at which work in progress is taken for what a killed process left.
const staleAfter = 24 * time.Hour

// tempDir makes an empty folder below tmp/, for its caller to remove. On the way it removes folders that
// a killed process left there over a day ago.
func (c Cache) tempDir() (string, error) {
	tmp := filepath.Join(c.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", fmt.Errorf("cache folder: %w; set LARDER_CACHE to a folder that can be written", err)
	}
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.RemoveAll(filepath.Join(tmp, e.Name()))
		}
	}
	dir, err := os.MkdirTemp(tmp, "")
	if err != nil {
		return "", fmt.Errorf("cache folder: %w; set LARDER_CACHE to a folder that can be written", err)
	}
	return dir, nil
}

// errTooLong is what put returns when a source gives more bytes than are locked.
var errTooLong = errors.New("more bytes than are locked")

// A readError is a failure of put's reader, as opposed to one of the cache folder.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// put moves the bytes of r into the cache, where they belong by name and pin. They are written to a file
// in the folder temp, verified, synced and renamed. At most one byte more than the pin's size is read.
// With other bytes the error is a *damagedError or errTooLong, and nothing is left.
func (c Cache) put(name string, pin models.Pin, r io.Reader, temp string) (path string, err error) {
	part, err := os.CreateTemp(temp, "part-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(part.Name()) // in vain after the rename
	defer part.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(part, h), io.LimitReader(markReadErrors{r}, pin.Size+1))
	if err != nil {
		return "", err
	}
	if n > pin.Size {
		return "", errTooLong
	}
	if got := sumPin(h, n); got != pin {
		return "", &damagedError{name, pin, got}
	}
	if err := errors.Join(part.Chmod(0o644), part.Sync(), part.Close()); err != nil {
		return "", err
	}
	path = c.Path(name, pin)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(part.Name(), path); err != nil {
		// Some systems refuse to replace a file that is open: another process may have been first.
		if checkFile(path, pin) == nil {
			return path, nil
		}
		return "", err
	}
	return path, syncDir(filepath.Dir(path))
}

// markReadErrors turns a reader's errors into readErrors.
type markReadErrors struct{ io.Reader }

func (m markReadErrors) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = readError{err}
	}
	return n, err
}

// syncDir makes renames in dir survive a crash. Systems that can't sync a folder don't need it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// treeSize is the number of bytes in the regular files below dir. Files that vanish meanwhile don't count.
func treeSize(dir string) (total int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// byteCount writes a number of bytes for people.
func byteCount(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// oneLine makes foreign text fit into a line of an error: no control characters, blanks single, and not
// long. Of long text both ends are kept, since the cause often stands last.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 320 {
		s = strings.ToValidUTF8(s[:120], "") + " … " + strings.ToValidUTF8(s[len(s)-200:], "")
	}
	return s
}
