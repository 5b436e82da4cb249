package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyFlat copies the documents of a base into a folder without others in it, since the reference reads no folder below
// its own, and without base.yaml, which it would take for a document.
func copyFlat(base, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := 0
	err := filepath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "base.yaml" || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, d.Name()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err // two files of one name
		}
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			return err
		}
		files++
		return f.Close()
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s: no document", base)
	}
	return err
}
