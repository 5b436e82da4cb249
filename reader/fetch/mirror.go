package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
	"example.com/larder/models"
	"example.com/larder/reader"
)

// A mirror brings versions of one base from a host into a shelf of its own. It is for one goroutine.
type mirror struct {
	o      Options
	url    *url.URL
	client *http.Client
	folder string // of the base: <dir>/<digits of the URL's hash>/<base>
	models string // beside it

	refused refusal
	trouble string // what the log says of why the newest version isn't there; "" if it is
}

// newMirror checks address and options. It touches nothing.
func newMirror(address string, o Options) (*mirror, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("mirror a base: %w", err)
	}
	u, err := parseAddress(address, o.Insecure)
	if err != nil {
		return nil, fmt.Errorf("mirror a base: %w", err)
	}
	dir, err := filepath.Abs(o.Dir) // the program may change its folder
	if err != nil {
		return nil, fmt.Errorf("mirror %s: %w", u, err)
	}
	c := client()
	if o.Client != nil {
		c = *o.Client
	}
	sum := sha256.Sum256([]byte(u.String()))
	shelf := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	name := path.Base(u.Path)
	if artifact.CheckBaseName(name) != nil {
		name = "base" // its own name is in the manifest
	}
	return &mirror{o: o, url: u, client: withRules(c), folder: filepath.Join(shelf, name), models: filepath.Join(shelf, "models")}, nil
}

// update makes the mirror's latest name the version that the host's names, which is mirrored before. If thorough is set,
// what is there already is checked in every byte, otherwise only if latest does not name it.
func (m *mirror) update(ctx context.Context, thorough bool) error {
	digest, err := m.newest(ctx)
	if err != nil {
		return err
	}
	named := m.latest() == digest
	if named && !thorough && m.present(digest) {
		m.refused = refusal{}
		return nil
	}
	if err := m.refused.try(digest, func() error { return m.bring(ctx, digest) }); err != nil {
		return fmt.Errorf("version %s: %w", short(digest), err)
	}
	if !named {
		if err := artifact.SetLatest(m.folder, digest); err != nil {
			return err
		}
		m.o.Logger.Info("mirrored a new version", slog.String("url", m.url.String()), slog.String("version", short(digest)))
	}
	if err := m.prune(digest); err != nil {
		m.o.Logger.Warn("old versions can't be removed from the mirror", slog.String("url", m.url.String()), slog.String("reason", err.Error()))
	}
	return nil
}

// A refusal remembers a version that couldn't be had.
type refusal struct {
	digest string
	err    error
	looks  int
}

// try calls bring for a version, unless that failed lately.
func (r *refusal) try(digest string, bring func() error) error {
	if digest != r.digest {
		*r = refusal{digest: digest}
	}
	r.looks++
	every := 256
	if isPassing(r.err) {
		every = 8
	}
	if r.looks&(r.looks-1) == 0 || r.looks%every == 0 {
		r.err = bring()
	}
	return r.err
}

// newest returns the digest that the host's latest names.
func (m *mirror) newest(ctx context.Context) (string, error) {
	f := file{url: m.url.JoinPath(artifact.LatestFile), most: artifact.MaxLatest}
	data, err := m.get(ctx, f)
	if errors.Is(err, errAbsent) {
		return "", fmt.Errorf("%w: the URL must be that of a base's folder, where a file latest is", err)
	}
	if err != nil {
		return "", err
	}
	digest, ok := artifact.ParseLatest(data)
	if !ok {
		return "", &fileError{f.url.String(), &wrongContent{"it is not one line of 64 hexadecimal digits", http.DetectContentType(data)}}
	}
	return digest, nil
}

func (m *mirror) get(ctx context.Context, f file) ([]byte, error) {
	return get(ctx, m.client, m.o.pace, f)
}

// latest returns the digest of the version that was mirrored last, "" if there is none.
func (m *mirror) latest() string {
	digest, err := artifact.Latest(os.DirFS(m.folder), ".")
	if err != nil {
		return ""
	}
	return digest
}

// mirrored checks the version that was mirrored last, and returns its digest.
func (m *mirror) mirrored(ctx context.Context) (string, error) {
	digest := m.latest()
	if digest == "" {
		return "", errors.New("no version was mirrored before: check the URL and the network")
	}
	if err := verify(ctx, m.version(digest), digest); err != nil {
		return "", fmt.Errorf("and what was mirrored before can't be used: %w", err)
	}
	return digest, nil
}

func (m *mirror) version(digest string) string {
	return filepath.Join(m.folder, artifact.FolderName(digest))
}

func (m *mirror) encoder(digest string) string {
	return filepath.Join(m.models, artifact.FolderName(digest))
}

// present looks, and not closely, if a version is there with its encoder.
func (m *mirror) present(digest string) bool {
	data, err := artifact.ReadFile(os.DirFS(m.version(digest)), artifact.ManifestFile, artifact.MaxManifest)
	if err != nil || artifact.Digest(data) != digest {
		return false
	}
	manifest, err := artifact.ParseManifest(data)
	if err != nil {
		return false
	}
	if wanted := encoderOf(manifest); wanted != "" {
		_, err = os.Stat(filepath.Join(m.encoder(wanted), models.CardFile))
	}
	return err == nil
}

// encoderOf returns the digest of the encoder that a version needs, "" for none.
func encoderOf(m *artifact.Manifest) string {
	if m.Model == nil {
		return ""
	}
	return m.Model.Encoder
}

// bring makes a version whole in the mirror: its encoder first, then its folder. What is there and whole stays.
func (m *mirror) bring(ctx context.Context, digest string) error {
	data, err := m.manifest(ctx, digest)
	if err != nil {
		return err
	}
	manifest, err := artifact.ParseManifest(data)
	if err != nil {
		return err
	}
	size := int64(len(data))
	for _, s := range manifest.Sections {
		size += s.Size
	}
	if err := m.fits(size); err != nil {
		return err
	}
	if wanted := encoderOf(manifest); wanted != "" {
		if err := m.bringEncoder(ctx, digest, wanted, size); err != nil {
			return err
		}
	}
	return m.bringVersion(ctx, digest, data, manifest)
}

// fits refuses what has more bytes than are allowed.
func (m *mirror) fits(size int64) error {
	if size > m.o.MaxBytes {
		return fmt.Errorf("it has %d bytes with its encoder, more than the %d of MaxBytes: set that higher if this is what you expect", size, m.o.MaxBytes)
	}
	return nil
}

// manifest returns a version's manifest, from the mirror if it is there.
func (m *mirror) manifest(ctx context.Context, digest string) ([]byte, error) {
	data, err := artifact.ReadFile(os.DirFS(m.version(digest)), artifact.ManifestFile, artifact.MaxManifest)
	if err == nil && artifact.Digest(data) == digest {
		return data, nil
	}
	return m.get(ctx, file{url: m.at(digest, artifact.ManifestFile), most: min(artifact.MaxManifest, m.o.MaxBytes), sum: digest})
}

// at is where the host has a file of a version.
func (m *mirror) at(digest, name string) *url.URL {
	return m.url.JoinPath(artifact.FolderName(digest), name)
}

// bringEncoder makes an encoder whole in the mirror's models folder, wherever the host has it: it is the same, since
// its digest is. size is what the version has without it.
func (m *mirror) bringEncoder(ctx context.Context, version, digest string, size int64) error {
	folder := m.encoder(digest)
	_, err := models.Open(os.DirFS(m.models), filepath.Base(folder), digest)
	if err == nil {
		return touch(folder)
	}
	if errors.Is(err, models.ErrFormat) {
		return err
	}
	place, data, err := m.card(ctx, version, digest)
	if err != nil {
		return fmt.Errorf("the encoder %s: %w", short(digest), err)
	}
	card, err := models.ParseCard(data)
	if err != nil {
		return fmt.Errorf("the encoder %s: %w", short(digest), err)
	}
	size += int64(len(data))
	for _, f := range card.Files {
		size += f.Size
	}
	if err := m.fits(size); err != nil {
		return err
	}
	return m.replace(folder, func(d *durable.Dir) error {
		if err := d.WriteFile(models.CardFile, data); err != nil {
			return err
		}
		for _, f := range card.Files {
			if err := m.download(ctx, d, f.Name, file{url: place.JoinPath(f.Name), most: f.Size, size: true, sum: f.SHA256}); err != nil {
				return err
			}
		}
		_, err := models.Open(os.DirFS(d.Path()), ".", digest)
		return err
	})
}

// card finds the place on the host that has an encoder: the version's folder, or one in models beside the base's. It
// returns the card too.
func (m *mirror) card(ctx context.Context, version, digest string) (place *url.URL, data []byte, err error) {
	var errs []error
	for _, place := range []*url.URL{
		m.url.JoinPath(artifact.FolderName(version)), m.url.JoinPath("..", "models", artifact.FolderName(digest)),
	} {
		data, err := m.get(ctx, file{url: place.JoinPath(models.CardFile), most: models.MaxCard, sum: digest})
		if err == nil {
			return place, data, nil
		}
		if isPassing(err) || ctx.Err() != nil {
			return nil, nil, err
		}
		errs = append(errs, err)
	}
	return nil, nil, fmt.Errorf("%w; %w: publish the folder models of the shelf too, or bake with --bundle", errs[0], errs[1])
}

// bringVersion makes a version's folder whole. Its encoder is there.
func (m *mirror) bringVersion(ctx context.Context, digest string, data []byte, manifest *artifact.Manifest) error {
	folder := m.version(digest)
	if _, err := os.Lstat(folder); err == nil {
		err := verify(ctx, folder, digest)
		if err == nil {
			return touch(folder)
		}
		if ctx.Err() != nil || errors.Is(err, artifact.ErrUnsupported) { // fetched again, it would be the same
			return err
		}
	}
	return m.replace(folder, func(d *durable.Dir) error {
		if err := d.WriteFile(artifact.ManifestFile, data); err != nil {
			return err
		}
		for _, f := range []struct {
			name string
			most int64
		}{{artifact.SealFile, artifact.MaxSeal}, {artifact.ProvenanceFile, artifact.MaxManifest}} {
			if err := m.download(ctx, d, f.name, file{url: m.at(digest, f.name), most: f.most}); err != nil {
				return err
			}
		}
		for _, s := range manifest.Sections {
			name := s.Name + ".bin"
			if err := m.download(ctx, d, name, file{url: m.at(digest, name), most: s.Size, size: true, sum: s.SHA256}); err != nil {
				return err
			}
		}
		return verify(ctx, d.Path(), digest)
	})
}

func (m *mirror) download(ctx context.Context, d *durable.Dir, name string, f file) error {
	from := open(ctx, m.client, m.o.pace, f)
	defer from.Close()
	return d.WriteFrom(name, from)
}

// replace fills a new folder and puts it in the place of a damaged one, if there is one. If another program was quicker,
// its folder stays: both are whole and of one digest.
func (m *mirror) replace(folder string, fill func(*durable.Dir) error) error {
	d, err := durable.CreateDir(folder)
	if err != nil {
		return err
	}
	defer d.Abort()
	before, err := os.Lstat(folder)
	damaged := err == nil
	if err := fill(d); err != nil {
		return err
	}
	if now, err := os.Lstat(folder); err == nil && damaged && os.SameFile(before, now) {
		if err := durable.RemoveDir(folder); err != nil {
			return err
		}
	}
	if err := d.Commit(); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// verify checks everything of the version in a folder, as [reader.Verify] does. A panic is an error: the program has
// other things to do than to read what somebody sent.
func verify(ctx context.Context, folder, digest string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("to check it panicked: %v", p)
		}
	}()
	b, err := reader.Verify(folder, reader.Options{Context: ctx})
	if err != nil {
		return err
	}
	if got := b.Artifact().Digest; got != digest {
		return fmt.Errorf("%s holds version %s, not %s", folder, got, digest)
	}
	return b.Close()
}

// touch makes a folder young, so that nobody prunes what is about to be named.
func touch(folder string) error {
	now := time.Now()
	return os.Chtimes(folder, now, now)
}

// staleAfter is when what an interrupted mirroring left behind is removed.
const staleAfter = 24 * time.Hour

// prune removes versions but the one that latest names, the one before it, and young ones, which another program may be
// about to name; then encoders that no version needs; and what was left half done.
func (m *mirror) prune(latest string) error {
	versions, err := folders(m.folder)
	if err != nil {
		return err
	}
	before := "" // the youngest but latest
	for name, at := range versions {
		if name != artifact.FolderName(latest) && (before == "" || at.After(versions[before])) {
			before = name
		}
	}
	old := time.Now().Add(-m.o.young)
	needed := map[string]bool{}
	var errs []error
	for name, at := range versions {
		if name != artifact.FolderName(latest) && name != before && at.Before(old) {
			errs = append(errs, durable.RemoveDir(filepath.Join(m.folder, name)))
			continue
		}
		manifest, err := artifact.Inspect(os.DirFS(m.folder), name)
		if err == nil && encoderOf(manifest) != "" {
			needed[artifact.FolderName(encoderOf(manifest))] = true
		}
	}
	encoders, err := folders(m.models)
	errs = append(errs, err)
	for name, at := range encoders {
		if !needed[name] && at.Before(old) {
			errs = append(errs, durable.RemoveDir(filepath.Join(m.models, name)))
		}
	}
	return errors.Join(append(errs, durable.RemoveStale(m.folder, staleAfter), durable.RemoveStale(m.models, staleAfter))...)
}

// folders returns the finished folders in dir, and when each was changed. A missing dir has none.
func folders(dir string) (map[string]time.Time, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program was quicker
		}
		if err != nil {
			return nil, err
		}
		if e.IsDir() && !strings.HasPrefix(e.Name(), durable.Prefix) {
			found[e.Name()] = info.ModTime()
		}
	}
	return found, nil
}
