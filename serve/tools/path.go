package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxPath  = 4096 // bytes
	maxDepth = 200  // folders
)

// A refusal says to the model that asked why it gets nothing for a path.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errOutside   refusal = "the path leads outside of the knowledge base"
	errAbsolute  refusal = "the path is absolute: give it relative to the root of the knowledge base"
	errBackslash refusal = "the path has a backslash: folders are parted by /"
	errNUL       refusal = "the path has a NUL character"
	errUTF8      refusal = "the path is not UTF-8"
	errLong      refusal = "the path is too long"
	errHidden    refusal = "names that begin with a dot are not part of the knowledge base"
	errFolder    refusal = "this is a folder: kb_list_directory lists it"
	errFile      refusal = "this is a file: kb_read_file reads it"
	errEmpty     refusal = "the path is empty"
	errIrregular refusal = "neither a file nor a folder"
	errBinary    refusal = "not a text: neither UTF-8 nor UTF-16"
)

var drive = regexp.MustCompile(`^[A-Za-z]:(/|$)`)

// clean brings a path that a model wrote into the form that fs.FS takes, or says what is wrong with it. Neither system
// nor files are asked: what is refused here is refused everywhere. Steps up that stay inside are taken, since models
// follow relative links of documents.
func clean(name string) (string, error) {
	switch {
	case len(name) > maxPath || strings.Count(name, "/") > maxDepth:
		return "", errLong
	case !utf8.ValidString(name):
		return "", errUTF8
	case strings.Contains(name, "\x00"):
		return "", errNUL
	case strings.Contains(name, `\`):
		return "", errBackslash
	case strings.HasPrefix(name, "/") || drive.MatchString(name):
		return "", errAbsolute
	}
	name = path.Clean(name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", errOutside
	}
	if name != "." && (name[0] == '.' || strings.Contains(name, "/.")) {
		return "", errHidden
	}
	return name, nil
}

// resolve finds what a path names. Where nothing has just that name, but something has one that is equal but for its
// Unicode normal form, as on disks that macOS wrote, it is that; the first one, if there are several.
func (f Files) resolve(ctx context.Context, name string) (string, fs.FileInfo, error) {
	name, err := clean(name)
	if err != nil {
		return name, nil, err
	}
	info, err := fs.Stat(f.FS, name)
	if !errors.Is(err, fs.ErrNotExist) || isASCII(name) {
		return name, info, err
	}
	found := "."
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(found, part)
		if _, err := fs.Stat(f.FS, next); errors.Is(err, fs.ErrNotExist) && !isASCII(part) {
			if part = f.sibling(ctx, found, part); part == "" {
				return name, nil, fs.ErrNotExist
			}
			next = path.Join(found, part)
		}
		found = next
	}
	info, err = fs.Stat(f.FS, found)
	return found, info, err
}

// sibling is the name in a folder that has the same normal form, or nothing.
func (f Files) sibling(ctx context.Context, dir, name string) string {
	same, visited := "", 0
	name = norm.NFC.String(name)
	_ = entries(f.FS, dir, func(d fs.DirEntry) error { // what can't be listed has no such entry
		if visited++; visited > maxSiblings || ctx.Err() != nil {
			return errEnough
		}
		if norm.NFC.String(d.Name()) == name && askable(d.Name(), d.Name()) && (same == "" || d.Name() < same) {
			same = d.Name()
		}
		return nil
	})
	return same
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// reason says in a few words what an error of the file system is. It names no path: the one that was asked for stands
// beside it, and any other is not for the caller.
func reason(err error) string {
	var refused refusal
	var number syscall.Errno
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, syscall.ELOOP):
		return "links lead in a circle"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errLong.Error()
	case strings.HasSuffix(err.Error(), "escapes from parent"): // what os.Root says, which exports no error for it
		return errOutside.Error()
	case errors.As(err, &number):
		return number.Error()
	}
	return "it can't be read"
}

// shown is a path as an error repeats it: what a caller made up is cut.
func shown(name string) string { return cut(name, 1000) }

// cut shortens a text to a number of bytes, at the start of a character, and marks that.
func cut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return s[:boundary(s, size)] + "…"
}

// boundary is the last place up to at where a character starts. In text that is no UTF-8 it is at most three bytes
// before at.
func boundary[T string | []byte](s T, at int) int {
	for i := at; i > 0 && i < len(s) && i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return at
}
