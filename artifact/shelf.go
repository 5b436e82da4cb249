package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/larder/internal/durable"
)

// Names of files: latest in a base's folder, the others in an artifact's.
const (
	LatestFile     = "latest"
	ManifestFile   = "manifest.json"
	ProvenanceFile = "provenance.json"
	SealFile       = "seal"
)

// Limits of these files in bytes.
const (
	MaxLatest   = 1 << 10
	MaxManifest = 16 << 20 // also of provenance.json
	MaxSeal     = 1 << 10
)

// FolderName is the name of the folder of what has that digest: its first 12 digits.
func FolderName(digest string) string { return digest[:12] }

// Save puts the files into dir/<12 digits>, with provenance and the encoder's files, if any, beside
// them. The folder appears whole or not at all (F1). An artifact that is there already stays as it is: existed is
// true then.
func (f *Files) Save(dir string, provenance []byte, encoder map[string][]byte) (folder string, existed bool, err error) {
	folder = filepath.Join(dir, FolderName(f.Digest))
	if existed, err = f.existing(folder); existed || err != nil {
		return folder, existed, err
	}
	d, err := durable.CreateDir(folder)
	if err != nil {
		return folder, false, err
	}
	defer d.Abort()
	for _, s := range f.Manifest.Sections {
		if err := d.WriteFile(s.Name+".bin", f.ByName[s.Name+".bin"]); err != nil {
			return folder, false, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(encoder)) {
		if err := d.WriteFile(name, encoder[name]); err != nil {
			return folder, false, err
		}
	}
	if err := d.WriteFile(ProvenanceFile, provenance); err != nil {
		return folder, false, err
	}
	if err := d.WriteFile(ManifestFile, f.ByName[ManifestFile]); err != nil {
		return folder, false, err
	}
	if err := d.WriteFile(SealFile, seal(f.Digest, Digest(provenance))); err != nil {
		return folder, false, err
	}
	err = d.Commit()
	if errors.Is(err, fs.ErrExist) { // another bake of the same content was first
		existed, err = f.existing(folder)
	}
	return folder, existed, err
}

// Shelve puts the files into a shelf in memory, by path, as Save puts them on a disk: the artifact below base, where a
// file latest names it, and the encoder's files, if any, inside.
func (f *Files) Shelve(shelf map[string][]byte, base string, provenance []byte, encoder map[string][]byte) {
	folder := path.Join(base, FolderName(f.Digest))
	for _, files := range []map[string][]byte{encoder, f.ByName, {
		ProvenanceFile: provenance,
		SealFile:       seal(f.Digest, Digest(provenance)),
	}} {
		for name, data := range files {
			shelf[path.Join(folder, name)] = data
		}
	}
	shelf[path.Join(base, LatestFile)] = []byte(f.Digest + "\n")
}

// existing reports whether folder is this artifact already. It is an error if it is something else.
func (f *Files) existing(folder string) (bool, error) {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	old, err := os.ReadFile(filepath.Join(folder, ManifestFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err != nil || !bytes.Equal(old, f.ByName[ManifestFile]) {
		return false, fmt.Errorf("%s holds another artifact or a damaged one: move it away and bake again", folder)
	}
	return true, nil
}

// SetLatest makes digest the version that dir/latest names.
func SetLatest(dir, digest string) error {
	return durable.WriteFile(filepath.Join(dir, LatestFile), []byte(digest+"\n"))
}

// Latest returns the digest that the file latest in folder dir of fsys names. A missing file is fs.ErrNotExist.
func Latest(fsys fs.FS, dir string) (string, error) {
	data, err := ReadFile(fsys, path.Join(dir, LatestFile), MaxLatest)
	if err != nil {
		return "", err
	}
	digest, ok := ParseLatest(data)
	if !ok {
		return "", corrupt(path.Join(dir, LatestFile), "F1", "it is not one line of 64 hexadecimal digits")
	}
	return digest, nil
}

// ParseLatest returns the digest that the content of a file latest names, and false if it is not one line of 64
// hexadecimal digits.
func ParseLatest(data []byte) (digest string, ok bool) {
	digest, ok = strings.CutSuffix(string(data), "\n")
	return digest, ok && digest64.MatchString(digest)
}

// Locate returns the folder of the artifact that dir in fsys means: dir itself if it holds a manifest, else the
// version that its file latest names; digest is "" in the first case.
func Locate(fsys fs.FS, dir string) (folder, digest string, err error) {
	if _, err := fs.Stat(fsys, path.Join(dir, ManifestFile)); err == nil {
		return dir, "", nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	digest, err = Latest(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("%s holds neither %s nor %s: %w", dir, ManifestFile, LatestFile, fs.ErrNotExist)
	}
	if err != nil {
		return "", "", err
	}
	return path.Join(dir, FolderName(digest)), digest, nil
}

// Provenance returns the bytes of provenance.json in an artifact's folder.
func Provenance(fsys fs.FS, folder string) ([]byte, error) {
	return ReadFile(fsys, path.Join(folder, ProvenanceFile), MaxManifest)
}

// seal is the text that binds manifest and provenance (F5). It is what a signature will sign.
func seal(manifest, provenance string) []byte {
	return fmt.Appendf(nil, "%s\nmanifest %s\nprovenance %s\n", Format, manifest, provenance)
}

// checkSeal compares the seal with the manifest's digest and with provenance.json.
func checkSeal(fsys fs.FS, folder, manifest string) error {
	found, err := ReadFile(fsys, path.Join(folder, SealFile), MaxSeal)
	if err != nil {
		return err
	}
	provenance, err := Provenance(fsys, folder)
	if err != nil {
		return err
	}
	if want := seal(manifest, Digest(provenance)); !bytes.Equal(found, want) {
		return corrupt(SealFile, "F5", "it is not the seal of %s and %s as they are", ManifestFile, ProvenanceFile)
	}
	return nil
}
