// Package durable writes files and folders so that a crash, a kill or a power cut at any moment leaves
// either the old state or the new one, whole.
//
// A file is written beside its place, synced, renamed over it, and the folder synced. A folder is filled
// under a temporary name and renamed when everything in it is synced. What an interrupted write leaves
// behind has a name that begins with [Prefix]; [RemoveStale] removes it.
//
// On Windows a folder can't be synced: there the rename's own durability is what the file system gives.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Prefix begins the names of files and folders that are not finished.
const Prefix = ".tmp-"

// The operations that a hook sees.
const (
	OpMkdir   = "mkdir"
	OpCreate  = "create"
	OpWrite   = "write"
	OpSync    = "sync"
	OpClose   = "close"
	OpRename  = "rename"
	OpSyncDir = "syncdir"
	OpRemove  = "remove"
)

var hook atomic.Pointer[func(op, path string) error]

// SetHook makes h run before every file operation of this package, in every goroutine, until restore is
// called. An error of h stands for the operation's own: the operation is not carried out. It is meant for
// tests alone, which so fail or kill a program at its N-th operation.
//
// A write that the hook fails leaves half of its bytes in the file, as a full disk would.
func SetHook(h func(op, path string) error) (restore func()) {
	old := hook.Swap(&h)
	return func() { hook.Store(old) }
}

func before(op, path string) error {
	if h := hook.Load(); h != nil && *h != nil {
		return (*h)(op, path)
	}
	return nil
}

// WriteFile makes data the content of the file called name, which need not exist; its folder must.
// After an error the file has its old content, or, if only syncing the folder failed, the new one.
// Two calls for one name at the same time are safe: one of the contents wins.
func WriteFile(name string, data []byte) error {
	temp := filepath.Join(filepath.Dir(name), tempName())
	if err := create(temp, bytes.NewReader(data)); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := rename(temp, name); err != nil {
		return errors.Join(err, remove(temp))
	}
	return syncDir(filepath.Dir(name))
}

// MkdirAll makes the folder dir and those above it that are missing, and syncs the folder each is made in.
func MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: OpMkdir, Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// A Dir is a new folder being filled. Nobody sees it under its final name before [Dir.Commit].
// It is for one goroutine.
type Dir struct {
	temp, final string
	done        bool
}

// CreateDir starts a folder that is to be called final; folders above it are made if missing.
// The caller must end it with [Dir.Commit] or [Dir.Abort].
func CreateDir(final string) (*Dir, error) {
	parent := filepath.Dir(final)
	if err := MkdirAll(parent); err != nil {
		return nil, err
	}
	temp := filepath.Join(parent, tempName())
	if err := mkdir(temp); err != nil {
		return nil, err
	}
	return &Dir{temp: temp, final: final}, nil
}

// Path returns where the folder is now: under a temporary name before [Dir.Commit], under its final name
// after it.
func (d *Dir) Path() string { return d.temp }

// WriteFile writes a new file called name, which must be a plain name, and syncs it. A name that is
// already in the folder is an error that is [fs.ErrExist].
func (d *Dir) WriteFile(name string, data []byte) error {
	return d.WriteFrom(name, bytes.NewReader(data))
}

// WriteFrom is [Dir.WriteFile] of what r gives until [io.EOF]. An error of r is returned, and what came before it is in the
// file then.
func (d *Dir) WriteFrom(name string, r io.Reader) error {
	if d.done {
		return fmt.Errorf("write %s: folder %s is finished", name, d.final)
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("write %q in %s: not a plain file name", name, d.final)
	}
	return create(filepath.Join(d.temp, name), r)
}

// Commit syncs the folder, gives it its final name and syncs the folder above. If there is already
// something of that name, the error is [fs.ErrExist] and nothing is changed. After an error the caller
// calls [Dir.Abort], which does nothing if the folder did get its name.
func (d *Dir) Commit() error {
	if d.done {
		return fmt.Errorf("commit %s: folder is finished", d.final)
	}
	if _, err := os.Lstat(d.final); err == nil {
		return &fs.PathError{Op: "commit", Path: d.final, Err: fs.ErrExist}
	}
	if err := syncDir(d.temp); err != nil {
		return err
	}
	// Where another process was quicker, rename refuses too: it does not replace a folder that holds
	// anything, nor a file.
	if err := rename(d.temp, d.final); err != nil {
		return err
	}
	d.temp, d.done = d.final, true
	return syncDir(filepath.Dir(d.final))
}

// Abort removes the folder and what is in it. It does nothing after [Dir.Commit] gave it its name, so it
// may be deferred.
func (d *Dir) Abort() error {
	if d.done {
		return nil
	}
	if err := remove(d.temp); err != nil {
		return err
	}
	d.done = true
	return nil
}

// RemoveStale removes from dir what interrupted writes left there, if it was last changed more than age
// ago. Work in progress changes its folder, so an age above the longest pause of a bake is safe.
// A missing dir is no error.
func RemoveStale(dir string, age time.Duration) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	oldest := time.Now().Add(-age)
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
		} else if info.ModTime().Before(oldest) {
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// RemoveDir removes a folder and what is in it. Nobody sees a part of it: it goes as a whole, under a temporary name. A
// missing one is no error.
func RemoveDir(dir string) error {
	temp := filepath.Join(filepath.Dir(dir), tempName())
	if err := rename(dir, temp); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(remove(temp), syncDir(filepath.Dir(dir)))
}

// tempName returns a name that nobody has: two of 2^64 hardly meet, and if they do, creating fails.
func tempName() string { return Prefix + strconv.FormatUint(rand.Uint64(), 36) }

// create writes a new file and syncs it. What a failure leaves is the caller's to remove.
func create(name string, r io.Reader) (err error) {
	if err := before(OpCreate, name); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err := io.Copy(writer{f}, r); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := before(OpSync, name); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil && !unsupported(err) {
		return errors.Join(err, f.Close())
	}
	if err := before(OpClose, name); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// A writer asks the hook before each write to a file.
type writer struct{ file *os.File }

func (w writer) Write(p []byte) (int, error) {
	if err := before(OpWrite, w.file.Name()); err != nil {
		n, werr := w.file.Write(p[:len(p)/2])
		return n, errors.Join(err, werr)
	}
	return w.file.Write(p)
}

func mkdir(name string) error {
	if err := before(OpMkdir, name); err != nil {
		return err
	}
	return os.Mkdir(name, 0o777)
}

func rename(from, to string) error {
	if err := before(OpRename, to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// remove removes a file, or a folder and what is in it; a missing one is no error.
func remove(name string) error {
	if err := before(OpRemove, name); err != nil {
		return err
	}
	return os.RemoveAll(name)
}

func syncDir(name string) error {
	if err := before(OpSyncDir, name); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if unsupported(err) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// unsupported tells whether a file system refused to sync because it never does.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}
