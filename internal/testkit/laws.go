package testkit

import (
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the root module.
const Module = "example.com/larder"

// A SourceFile is a Go file, as far as laws ask.
type SourceFile struct {
	Path       string // below the folder that was read, slash-separated
	Test       bool
	Imports    []string
	Constraint constraint.Expr // of its go:build line; nil if it has none
}

// SourceFiles reads the Go files of a folder and of those below it. Folders that the go command passes over are left
// out, and files that no build takes (go:build ignore).
func SourceFiles(dir string) (files []SourceFile, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if path != dir && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := sourceFile(path)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(dir, path); err == nil {
			f.Path = filepath.ToSlash(rel)
		}
		if ignored(f.Constraint) {
			return nil
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

func sourceFile(path string) (SourceFile, error) {
	f := SourceFile{Test: strings.HasSuffix(path, "_test.go")}
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, data, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return f, err
	}
	for _, i := range parsed.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return f, err
		}
		f.Imports = append(f.Imports, name)
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if c.Pos() < parsed.Package && constraint.IsGoBuild(c.Text) {
				if f.Constraint, err = constraint.Parse(c.Text); err != nil {
					return f, fmt.Errorf("%s: %w", path, err)
				}
			}
		}
	}
	return f, nil
}

// ignored reports whether a constraint asks for the tag ignore, which no build has.
func ignored(e constraint.Expr) bool {
	return e != nil && !e.Eval(func(tag string) bool { return tag != "ignore" })
}

// Mentions reports whether the file's go:build line has a tag, in whatever sense.
func (f SourceFile) Mentions(tag string) bool {
	found := false
	if f.Constraint != nil {
		f.Constraint.Eval(func(t string) bool {
			found = found || t == tag
			return false
		})
		f.Constraint.Eval(func(t string) bool { // what the first evaluation cut short
			found = found || t == tag
			return true
		})
	}
	return found
}

// Within reports whether a package is one of those that are allowed, or below one of them.
func Within(pkg string, allowed []string) bool {
	for _, a := range allowed {
		if pkg == a || strings.HasPrefix(pkg, a+"/") {
			return true
		}
	}
	return false
}

// Standard reports whether an import is of the standard library, without cgo.
func Standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return pkg != "C" && !strings.Contains(first, ".")
}

// kit is what only tests and itself import.
var kit = []string{"internal/testkit"}

// CheckImports reads a folder and says what its packages import that they must not: each may import the standard library
// and what allowed names, and packages below it: ours as paths below the root module's, others by their whole paths. What
// tests share, internal/testkit, is for files that are tests, unless allowed begins with it. It also returns how many files
// it read.
func CheckImports(dir string, allowed ...string) (violations []string, files int, err error) {
	list, err := SourceFiles(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range list {
		for _, pkg := range f.Imports {
			inside, ours := strings.CutPrefix(pkg, Module+"/")
			switch {
			case Standard(pkg):
			case ours && f.Test && Within(inside, []string{"internal"}):
			case !ours && Within(pkg, allowed): // which only a module beside the root names
			case ours && Within(inside, allowed) && (!Within(inside, kit) || slices.Equal(allowed[:1], kit)):
			default:
				violations = append(violations, fmt.Sprintf("%s imports %s", f.Path, pkg))
			}
		}
	}
	return violations, len(list), nil
}
