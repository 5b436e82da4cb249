package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/larder/models"
)

// A Fetcher gets the files that models.lock names: from the cache, or else from the first of their sources
// that can be reached. It is safe for concurrent use.
//
// Errors that have a remedy carry it in a method Hint() string.
type Fetcher struct {
	Cache   Cache
	Offline bool             // use the cache only: no network, and no other program is run
	Out     io.Writer        // where progress goes: bars if it is a terminal, lines otherwise; nil for nowhere
	Lock    *models.LockFile // nil for the built-in one

	known    []byte // known.json of the lock's models; nil for the built-in one
	platform string // GOOS/GOARCH; "" for this machine's
	limits   fetchLimits
}

// fetchLimits say how long a source may keep silent before it is passed over.
type fetchLimits struct {
	connect time.Duration // to connect, TLS included
	header  time.Duration // from the request to the response's header
	stall   time.Duration // between two reads of a body
	probe   time.Duration // for a program to print its version
	client  time.Duration // a program that downloads, without its folder growing; its own limits come first
	module  time.Duration // go mod download, altogether
	build   time.Duration // cargo build, altogether
	archive int64         // bytes that a program that downloads may leave
}

var defaultLimits = fetchLimits{
	connect: 4 * time.Second,
	header:  10 * time.Second,
	stall:   15 * time.Second,
	probe:   10 * time.Second,
	client:  40 * time.Second,
	module:  5 * time.Minute,
	build:   30 * time.Minute,
	archive: 2 << 30,
}

// ModelFiles are a model's files, verified.
type ModelFiles struct {
	Info      models.Model
	ONNX      string // path of the fp32 graph
	Tokenizer string // path of tokenizer.json as published: it may truncate and pad
}

// Model returns the files of the model with that name.
//
// With Offline the error for absent files is a *MissingError. A source that can't be reached is passed
// over, with a line to Out; if that happens with all of them the error is an *UnreachableError. A source
// that gives other bytes than are locked is a *MismatchError at once.
func (f *Fetcher) Model(ctx context.Context, name string) (ModelFiles, error) {
	m, err := f.lock().Model(name)
	if err != nil {
		return ModelFiles{}, err
	}
	paths, err := f.files(ctx, name, m.ONNX, m.Tokenizer)
	if err != nil {
		return ModelFiles{}, err
	}
	return ModelFiles{Info: m, ONNX: paths[0], Tokenizer: paths[1]}, nil
}

// ModelTokenizer is Model for those who only count tokens: it leaves the graph where it is.
func (f *Fetcher) ModelTokenizer(ctx context.Context, name string) (models.Model, string, error) {
	m, err := f.lock().Model(name)
	if err != nil {
		return m, "", err
	}
	paths, err := f.files(ctx, name, m.Tokenizer)
	if err != nil {
		return m, "", err
	}
	return m, paths[0], nil
}

// Runtime returns the path of the ONNX Runtime library for this platform. Sources have different builds
// of the one locked version. The errors are those of [Fetcher.Model], and a *PlatformError where no
// library is locked.
func (f *Fetcher) Runtime(ctx context.Context) (string, error) {
	rt := f.lock().Runtime
	file, err := f.runtimeFile()
	if err != nil {
		return "", err
	}
	paths, err := f.files(ctx, "ONNX Runtime "+rt.Version+" for "+f.platformName(), *file)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

func (f *Fetcher) runtimeFile() (*models.File, error) {
	rt, platform := f.lock().Runtime, f.platformName()
	reason := "models.lock does not know this platform"
	for _, lib := range rt.Libraries {
		if lib.Platform != platform {
			continue
		}
		if lib.File != nil {
			return lib.File, nil
		}
		reason = lib.Unavailable
	}
	return nil, &PlatformError{Name: "ONNX Runtime " + rt.Version, Platform: platform, Reason: reason}
}

func (f *Fetcher) lock() *models.LockFile {
	if f.Lock != nil {
		return f.Lock
	}
	return models.Lock()
}

func (f *Fetcher) platformName() string {
	if f.platform != "" {
		return f.platform
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

func (f *Fetcher) within() fetchLimits {
	if f.limits != (fetchLimits{}) {
		return f.limits
	}
	return defaultLimits
}

// files returns the paths of owner's files, in order, and fetches those that the cache lacks.
func (f *Fetcher) files(ctx context.Context, owner string, files ...models.File) ([]string, error) {
	paths := make([]string, len(files))
	var missing []MissingFile
	for i, file := range files {
		path, damaged, err := f.cached(file)
		if err != nil {
			return nil, err
		}
		paths[i] = path
		if path == "" {
			missing = append(missing, f.missing(owner, file, damaged))
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	if f.Offline {
		return nil, &MissingError{missing}
	}
	s, err := f.newSession()
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, m := range missing {
		if m.Damaged != nil {
			s.report.line("%v; it will be fetched again", m.Damaged)
		}
	}
	for i, file := range files {
		if paths[i] != "" {
			continue
		}
		if paths[i], err = s.fetch(ctx, owner, file); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// cached returns the path of the file in the cache, "" if there is no whole one, and then the damage to
// the one that is there. The first source's build goes before the others'.
func (f *Fetcher) cached(file models.File) (path string, damaged error, err error) {
	for _, src := range file.Sources {
		path := f.Cache.Path(file.Name, src.Pin)
		var damage *damagedError
		switch err := checkFile(path, src.Pin); {
		case err == nil:
			return path, nil, nil
		case errors.As(err, &damage):
			damaged = err
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, err
		}
	}
	return "", damaged, nil
}

func (f *Fetcher) missing(owner string, file models.File, damaged error) MissingFile {
	m := MissingFile{Name: file.Name + " of " + owner, Damaged: damaged}
	for i, src := range file.Sources {
		if i > 0 && src.Pin == file.Sources[0].Pin {
			continue
		}
		m.Choices = append(m.Choices, MissingChoice{src.Pin, f.Cache.Path(file.Name, src.Pin), src})
	}
	return m
}

// A MissingFile is a file that the cache lacks.
type MissingFile struct {
	Name    string // such as "model.onnx of all-MiniLM-L6-v2"
	Damaged error  // what is wrong with the file that is there, if one is
	Choices []MissingChoice
}

// A MissingChoice is a file that would do. There is more than one where sources have different builds.
type MissingChoice struct {
	models.Pin // zero if it can't be known before
	Path       string
	Source     models.Source
}

// A MissingError says which files the cache lacks while the network must not be used.
type MissingError struct {
	Files []MissingFile
}

func (e *MissingError) Error() string {
	var b strings.Builder
	for i, m := range e.Files {
		if i > 0 {
			b.WriteString("\n")
		}
		state := "missing"
		if m.Damaged != nil {
			state = "damaged"
		}
		fmt.Fprintf(&b, "%s is %s, and the network is forbidden; needed: ", m.Name, state)
		for j, c := range m.Choices {
			if j > 0 {
				b.WriteString(", or ")
			}
			b.WriteString(c.Path)
			if c.Size > 0 {
				fmt.Fprintf(&b, " (%d bytes, sha256 %s, from %s)", c.Size, c.SHA256, whereFrom(c.Source))
			}
		}
	}
	return b.String()
}

// whereFrom names a source and, for an archive, the path inside.
func whereFrom(src models.Source) string {
	if src.Path != "" {
		return src.String() + ", path " + src.Path
	}
	return src.String()
}

// Hint says what to do.
func (e *MissingError) Hint() string {
	return "put each file at its path, or run larder models fetch where there is a network"
}

// An UnreachableError says why each source of a file was passed over.
type UnreachableError struct {
	File    string   // such as "model.onnx of all-MiniLM-L6-v2"
	Reasons []string // "source: reason", in the order they were tried
	remedy  string
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s: no source can be reached: %s", e.File, strings.Join(e.Reasons, "; "))
}

// Hint says what to install, and where to put the file by hand.
func (e *UnreachableError) Hint() string { return e.remedy }

// A MismatchError says that a source gave other bytes than are locked. They are gone.
type MismatchError struct {
	File   string // such as "model.onnx of all-MiniLM-L6-v2"
	Source string
	Want   string // what is locked
	Got    string // what was found
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s from %s is not what models.lock pins: wanted %s, found %s", e.File, e.Source, e.Want, e.Got)
}

// Hint says what it can mean.
func (e *MismatchError) Hint() string {
	return "nothing was kept; a proxy or mirror may answer for the source, or the source was changed: trust it only if you know why"
}

// A PlatformError says that nothing is locked for a platform.
type PlatformError struct {
	Name     string // such as "ONNX Runtime 1.26.0"
	Platform string // GOOS/GOARCH
	Reason   string
}

func (e *PlatformError) Error() string {
	return fmt.Sprintf("%s is not locked for %s: %s", e.Name, e.Platform, e.Reason)
}

// Hint says which way out there is.
func (e *PlatformError) Hint() string {
	return "set embedder: native in base.yaml; it needs no native library"
}

// A session is one call's work in progress: a folder below the cache's tmp/, and the archives in it, from
// which several files may be taken.
type session struct {
	*Fetcher
	temp     string
	archives map[string]archive
	report   reporter
}

type archive struct {
	path string
	err  error
}

func (f *Fetcher) newSession() (*session, error) {
	temp, err := f.Cache.tempDir()
	if err != nil {
		return nil, err
	}
	return &session{Fetcher: f, temp: temp, archives: map[string]archive{}, report: newReporter(f.Out)}, nil
}

func (s *session) close() { removeTree(s.temp) }

// A passedOver error says why a source can't be had; the next one is tried.
type passedOver struct{ reason string }

func (e *passedOver) Error() string { return e.reason }

// fetch gets a file from the first of its sources that can be reached, and returns its path in the cache.
func (s *session) fetch(ctx context.Context, owner string, file models.File) (string, error) {
	name := file.Name + " of " + owner
	var reasons []string
	for _, src := range file.Sources {
		path, err := s.from(ctx, name, file.Name, src)
		if err == nil {
			return path, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("%s: %w", name, context.Cause(ctx))
		}
		var over *passedOver
		if !errors.As(err, &over) {
			return "", err
		}
		s.report.line("passed over %s: %s", src, over.reason)
		reasons = append(reasons, src.String()+": "+over.reason)
	}
	return "", &UnreachableError{File: name, Reasons: reasons, remedy: s.remedy(owner, file)}
}

// remedy says how a file that no source gives can still be had.
func (s *session) remedy(owner string, file models.File) string {
	var kinds, places []string
	for _, src := range file.Sources {
		switch src.Kind {
		case models.Maven:
			kinds = append(kinds, "Maven (mvn)")
		case models.PyPI:
			kinds = append(kinds, "Python with pip")
		}
	}
	for _, c := range s.missing(owner, file, nil).Choices {
		places = append(places, fmt.Sprintf("%s (sha256 %s)", filepath.ToSlash(c.Path), c.SHA256))
	}
	hint := "put the file at " + strings.Join(places, " or ")
	if len(kinds) > 0 {
		hint = "install " + strings.Join(unique(kinds), " or ") + ", or " + hint
	}
	if strings.HasPrefix(owner, "ONNX Runtime") { // the native embedder needs the model too, but not this
		hint += ", or set embedder: native in base.yaml"
	}
	return hint
}

// from gets a file from one source. The error is a *passedOver if the source can't be reached, a
// *MismatchError if it gives something else.
func (s *session) from(ctx context.Context, title, name string, src models.Source) (string, error) {
	task := s.report.start(fmt.Sprintf("%s (%s) from %s", title, byteCount(src.Size), src), title, src.Size)
	defer task.end()
	body, err := s.open(ctx, src, task)
	if err != nil {
		var wrong *wrongArchive
		if errors.As(err, &wrong) {
			return "", &MismatchError{title, src.String(), describe(src.Pin), wrong.found}
		}
		return "", err
	}
	defer body.Close()
	path, err := s.Cache.put(name, src.Pin, body, s.temp)
	var damage *damagedError
	var read readError
	switch {
	case err == nil:
		task.done("fetched %s: %s", title, byteCount(src.Size))
		return path, nil
	case errors.Is(err, errTooLong):
		return "", &MismatchError{title, src.String(), describe(src.Pin), fmt.Sprintf("more than %d bytes", src.Size)}
	case errors.As(err, &damage):
		return "", &MismatchError{title, src.String(), describe(src.Pin), describe(damage.got)}
	case errors.As(err, &read) && src.Kind != models.URL:
		return "", &MismatchError{title, src.String(), describe(src.Pin), "an archive that can't be read: " + oneLine(err.Error())}
	case errors.As(err, &read):
		return "", &passedOver{reasonOf(err)}
	}
	return "", fmt.Errorf("%s: %w", title, err)
}

func describe(p models.Pin) string { return fmt.Sprintf("sha256 %s, %d bytes", p.SHA256, p.Size) }
