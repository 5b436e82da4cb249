package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit"
	"example.com/larder/internal/testkit/shelf"
)

// shop is a small base with every kind of metadata. Its documents are in the order of their paths.
func shop(mode artifact.Mode) shelf.Base {
	return shelf.Base{
		Name: "shop", Mode: mode, TopK: 3, Boosts: map[string]float64{"faq": 1.2, "note": 0.9},
		Documents: []shelf.Document{
			{Path: "faq/refunds.md", Title: "Refunds", ContentType: "faq", UnitID: "u1", Date: "2026-01-10", Topics: []string{"money", "returns"},
				HeadingPath: "Refunds > How long", Chunks: []string{
					"A refund takes 14 days after the return has arrived.",
					"The money goes back to the card that paid. Error E-4012 means that the card has expired.",
				}},
			{Path: "faq/shipping.md", Title: "Shipping", ContentType: "faq", UnitID: "u2", Date: "2026-02-20", Topics: []string{"delivery"},
				Chunks: []string{
					"Shipping is free for an order above 50 euro.",
					"A damaged box can be refused at the door.",
				}},
			{Path: "notes/возврат.txt", Title: "Возврат", ContentType: "note", Date: "2026-03-30", Topics: []string{"returns"},
				Chunks: []string{"Деньги за возврат товара приходят на карту через 14 дней."}},
			{Path: "policy.md", Title: "Policy", ContentType: "reference", UnitID: "u1", Chunks: []string{
				"Complaints are answered within two days.\n\"Quotes\" & <marks> stay as they are.",
				"Gift cards can not be returned.",
			}},
		},
	}
}

// openShop opens the base shop in a mode, from memory.
func openShop(t testing.TB, mode artifact.Mode) *Base { return openBase(t, shop(mode)) }

func openBase(t testing.TB, b shelf.Base) *Base {
	t.Helper()
	s := mustShelf(t, b)
	opened, err := Open(s, b.Name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func mustShelf(t testing.TB, bases ...shelf.Base) shelf.Shelf {
	t.Helper()
	s, err := shelf.New(bases...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// found lists hits by path and first word.
func found(r *Results) string {
	var list []string
	for _, h := range r.Hits {
		first, _, _ := strings.Cut(h.Text, " ")
		list = append(list, h.Path+":"+first)
	}
	return strings.Join(list, " ")
}

func TestOpen(t *testing.T) {
	for _, mode := range []artifact.Mode{Keyword, Meaning, Hybrid} {
		b := openShop(t, mode)
		if err := b.artifact.Verify(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if b.Manifest().Base != "shop" || b.Artifact().Chunks() != 7 || (b.Encoder() == nil) != (mode == Keyword) {
			t.Errorf("%s: base %q of %d chunks, encoder %v", mode, b.Manifest().Base, b.Artifact().Chunks(), b.Encoder())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// OpenDir takes a base's folder on a shelf, an artifact's folder in it, and a folder that has all in it.
func TestOpenDir(t *testing.T) {
	s := mustShelf(t, shop(Hybrid))
	dir := t.TempDir()
	if err := s.Save(filepath.Join(dir, "shelf")); err != nil {
		t.Fatal(err)
	}
	bundled := filepath.Join(dir, "bundled")
	if err := os.Mkdir(bundled, 0o777); err != nil {
		t.Fatal(err)
	}
	copied := 0
	for name, f := range s.MapFS {
		if strings.HasPrefix(name, s.Folder("shop")+"/") || strings.HasPrefix(name, "models/") {
			if err := os.WriteFile(filepath.Join(bundled, filepath.Base(name)), f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
			copied++
		}
	}
	if copied != 15 {
		t.Fatalf("%d files copied: 9 sections, manifest, provenance, seal, and 3 of the encoder", copied)
	}
	for _, folder := range []string{"shelf/shop", "shelf/" + s.Folder("shop"), "bundled"} {
		folder = filepath.Join(dir, filepath.FromSlash(folder))
		for name, open := range map[string]func() (*Base, error){
			"OpenDir": func() (*Base, error) { return OpenDir(folder, Options{}) },
			"Verify":  func() (*Base, error) { return Verify(folder, Options{}) },
		} {
			b, err := open()
			if err != nil {
				t.Fatalf("%s %s: %v", name, folder, err)
			}
			r, err := b.Search(t.Context(), Query{Text: "E-4012"})
			if err != nil || len(r.Hits) == 0 || r.Hits[0].Path != "faq/refunds.md" {
				t.Errorf("%s %s: %+v, %v", name, folder, r, err)
			}
		}
	}
	t.Chdir(filepath.Join(dir, "shelf", "shop"))
	if _, err := OpenDir(".", Options{}); err != nil {
		t.Errorf("in the base's folder: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	// No other base has encoders of this many dimensions, so that none of them is open already.
	base := shop(Hybrid)
	base.Dimensions = 40
	whole := mustShelf(t, base)
	folder := whole.Folder("shop")
	encoder := ""
	for name := range whole.MapFS {
		if rest, ok := strings.CutSuffix(name, "/model.json"); ok {
			encoder = rest
		}
	}
	other := base
	other.Dimensions = 48
	another := mustShelf(t, other)
	flip := func(f *fstest.MapFile) { f.Data[len(f.Data)/2] ^= 1 }
	for _, c := range []struct {
		name   string
		base   string
		change func(s shelf.Shelf)
		want   error
		says   string
	}{
		{"no such base", "store", nil, fs.ErrNotExist, "store holds neither manifest.json nor latest"},
		{"no latest", "", func(s shelf.Shelf) { delete(s.MapFS, "shop/latest") }, fs.ErrNotExist, "neither"},
		{"a bad latest", "", func(s shelf.Shelf) { s.MapFS["shop/latest"].Data = []byte("newest\n") }, artifact.ErrCorrupt, "F1"},
		{"latest names what isn't there", "", func(s shelf.Shelf) {
			s.MapFS["shop/latest"].Data = []byte(strings.Repeat("0", 64) + "\n")
		}, fs.ErrNotExist, "000000000000/manifest.json"},
		{"latest has another digest", "", func(s shelf.Shelf) {
			last := &s.MapFS["shop/latest"].Data[63]
			*last = map[bool]byte{true: '1', false: '0'}[*last == '0']
		}, artifact.ErrCorrupt, "R1"},
		{"a flip in the manifest", "", func(s shelf.Shelf) { flip(s.MapFS[folder+"/manifest.json"]) }, artifact.ErrCorrupt, "manifest.json"},
		{"a flip in vectors", "", func(s shelf.Shelf) { flip(s.MapFS[folder+"/vectors.bin"]) }, artifact.ErrCorrupt, "vectors.bin"},
		{"a section cut", "", func(s shelf.Shelf) {
			f := s.MapFS[folder+"/text.bin"]
			f.Data = f.Data[:len(f.Data)-1]
		}, artifact.ErrCorrupt, "text.bin"},
		{"a section missing", "", func(s shelf.Shelf) { delete(s.MapFS, folder+"/terms.bin") }, fs.ErrNotExist, "terms.bin"},
		{"no seal", "", func(s shelf.Shelf) { delete(s.MapFS, folder+"/seal") }, fs.ErrNotExist, "seal"},
		{"another provenance", "", func(s shelf.Shelf) { s.MapFS[folder+"/provenance.json"].Data = []byte("{ }\n") }, artifact.ErrCorrupt, "F5"},
		{"no encoder", "", func(s shelf.Shelf) {
			for _, name := range []string{"model.json", "vocab.txt", "weights.bin"} {
				delete(s.MapFS, encoder+"/"+name)
			}
		}, fs.ErrNotExist, "copy the folder " + encoder},
		{"no weights", "", func(s shelf.Shelf) { delete(s.MapFS, encoder+"/weights.bin") }, fs.ErrNotExist, "copy the folder " + encoder},
		{"another encoder", "", func(s shelf.Shelf) {
			for name, f := range another.MapFS {
				if rest, ok := strings.CutPrefix(name, "models/"); ok {
					s.MapFS[encoder+"/"+filepath.Base(rest)] = f
				}
			}
		}, artifact.ErrCorrupt, "its digest is"},
		{"a flip in the weights", "", func(s shelf.Shelf) { flip(s.MapFS[encoder+"/weights.bin"]) }, artifact.ErrCorrupt, "weights.bin"},
		{"a flip in the card", "", func(s shelf.Shelf) { flip(s.MapFS[encoder+"/model.json"]) }, artifact.ErrCorrupt, "model.json"},
		{"weights cut", "", func(s shelf.Shelf) {
			f := s.MapFS[encoder+"/weights.bin"]
			f.Data = f.Data[:len(f.Data)/2]
		}, artifact.ErrCorrupt, "weights.bin"},
		{"a bundled encoder that is broken", "", func(s shelf.Shelf) {
			for _, name := range []string{"model.json", "vocab.txt", "weights.bin"} {
				s.MapFS[folder+"/"+name] = &fstest.MapFile{Data: append([]byte(nil), s.MapFS[encoder+"/"+name].Data...)}
			}
			flip(s.MapFS[folder+"/vocab.txt"])
		}, artifact.ErrCorrupt, "vocab.txt"},
		{"a bundled encoder without weights", "", func(s shelf.Shelf) {
			for _, name := range []string{"model.json", "vocab.txt"} {
				s.MapFS[folder+"/"+name] = s.MapFS[encoder+"/"+name]
			}
		}, fs.ErrNotExist, "the encoder inside the artifact is incomplete: copy the artifact again or bake again"},
		{"a bundled card that is a pipe", "", func(s shelf.Shelf) {
			s.MapFS[folder+"/model.json"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
		}, artifact.ErrCorrupt, "model.json is not a regular file"},
		{"weights that are a pipe", "", func(s shelf.Shelf) {
			s.MapFS[encoder+"/weights.bin"].Mode = fs.ModeNamedPipe
		}, artifact.ErrCorrupt, "weights.bin is not a regular file"},
		{"a flip in the card's format", "", func(s shelf.Shelf) {
			f := s.MapFS[encoder+"/model.json"]
			f.Data = []byte(strings.Replace(string(f.Data), "1-draft", "2-draft", 1))
		}, artifact.ErrCorrupt, "its digest is"},
	} {
		s := whole.Copy()
		if c.change != nil {
			c.change(s)
		}
		name := "shop"
		if c.base != "" {
			name = c.base
		}
		b, err := Open(s, name, Options{})
		if b != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v that says %q", c.name, err, c.want, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has more than one line: %q", c.name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "models", "Shop", "shop/", "a/b"} {
		if _, err := Open(whole, name, Options{}); err == nil || !strings.Contains(err.Error(), "can't name a base") {
			t.Errorf("base %q: %v", name, err)
		}
	}
	for dir, want := range map[string]error{t.TempDir(): fs.ErrNotExist, filepath.Join(t.TempDir(), "none"): fs.ErrNotExist} {
		if _, err := OpenDir(dir, Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// An encoder of another format, which the artifact names, is not supported; a folder that can't be looked into is
// not one without an encoder.
func TestOpenRefusesEncoder(t *testing.T) {
	base := shop(Hybrid)
	base.Dimensions = 56 // no other base has these, so that the encoder is not open already
	digest := ""
	var format []byte
	base.Change = func(c *artifact.Content) {
		card := testkit.Encoder(base.Dimensions)["model.json"].Data
		format = []byte(strings.Replace(string(card), "1-draft\",", "2\",\n  \"normal\": true,", 1))
		digest = artifact.Digest(format)
		c.Model.Encoder = digest
	}
	s := mustShelf(t, base)
	s.MapFS["models/"+artifact.FolderName(digest)+"/model.json"].Data = format
	if _, err := Open(s, "shop", Options{}); !errors.Is(err, artifact.ErrUnsupported) || errors.Is(err, artifact.ErrCorrupt) || !strings.Contains(err.Error(), `format is "larder-encoder/2"`) {
		t.Errorf("another format: %v", err)
	}
	s = mustShelf(t, shop(Hybrid))
	card := s.Folder("shop") + "/model.json"
	if _, err := Open(noStat{s.MapFS, card}, "shop", Options{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "inside the artifact") {
		t.Errorf("a folder that may not be looked into: %v", err)
	}
}

// noStat is a file system in which a file may not be looked at.
type noStat struct {
	fstest.MapFS
	name string
}

func (f noStat) Stat(name string) (fs.FileInfo, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.Stat(name)
}

// A stored probe counts by its direction, not its length.
func TestSelfTestIsACosine(t *testing.T) {
	for _, length := range []float32{1e-12, 0.5, 3, 1e12} {
		base := shop(Hybrid)
		base.Change = func(c *artifact.Content) {
			for _, p := range c.Probes {
				for i := range p.Vector {
					p.Vector[i] *= length
				}
			}
		}
		openBase(t, base)
		// Far from the encoder's vector, a long one has a large dot product, but no large cosine.
		base.Change = func(c *artifact.Content) {
			v := c.Probes[0].Vector
			for i := range v {
				v[i] = length * (v[i] + c.Probes[1].Vector[i])
			}
		}
		if _, err := Open(mustShelf(t, base), "shop", Options{}); !errors.Is(err, artifact.ErrCorrupt) || !strings.Contains(err.Error(), "E2") {
			t.Errorf("length %v: %v", length, err)
		}
	}
}

// What the writer may say and this reader can't do, or what doesn't fit together.
func TestOpenRefusesContent(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *artifact.Content)
		want   error
		says   string
	}{
		{"rules of terms", func(c *artifact.Content) { c.Analyzer.ID = "terms-0" }, artifact.ErrUnsupported, `"terms-0", and this reader has`},
		{"a language", func(c *artifact.Content) { c.Analyzer.Languages = []string{"xx"} }, artifact.ErrUnsupported, `"xx" is not supported`},
		{"dimensions", func(c *artifact.Content) {
			c.Model.Dimensions = 16
			c.Vectors = c.Vectors[:c.Model.Dimensions*7]
			for i := range c.Probes {
				c.Probes[i].Vector = c.Probes[i].Vector[:16]
			}
		}, artifact.ErrCorrupt, "M5"},
		{"a model's name", func(c *artifact.Content) { c.Model.Name = "another" }, artifact.ErrCorrupt, "M5"},
		{"a model's source", func(c *artifact.Content) { c.Model.Source = strings.Repeat("0", 64) }, artifact.ErrCorrupt, "M5"},
		{"a query prefix", func(c *artifact.Content) { c.Model.QueryPrefix = "query: " }, artifact.ErrCorrupt, "M5"},
		{"a passage prefix", func(c *artifact.Content) { c.Model.PassagePrefix = "passage: " }, artifact.ErrCorrupt, "M5"},
		{"tokens", func(c *artifact.Content) { c.Model.MaxTokens-- }, artifact.ErrCorrupt, "M5"},
		{"a tokenizer", func(c *artifact.Content) { c.Tokenizer = strings.Repeat("0", 64) }, artifact.ErrCorrupt, "M5"},
		{"the self-test's vector is zero", func(c *artifact.Content) { clear(c.Probes[0].Vector) }, artifact.ErrCorrupt, "E2"},
		{"the self-test's vector, turned", func(c *artifact.Content) {
			for i := range c.Probes[0].Vector {
				c.Probes[0].Vector[i] *= -5
			}
		}, artifact.ErrCorrupt, "E2"},
		{"the self-test's vector", func(c *artifact.Content) { c.Probes[0].Vector = c.Probes[1].Vector }, artifact.ErrCorrupt, "E2"},
	} {
		base := shop(Hybrid)
		base.Change = c.change
		_, err := Open(mustShelf(t, base), "shop", Options{})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v that says %q", c.name, err, c.want, c.says)
		}
	}
}

// Opening tries the first probe; Verify all of them, and the rules that opening leaves out.
func TestVerify(t *testing.T) {
	for name, change := range map[string]func(s shelf.Shelf, folder string){
		"E2": nil,
		"P3": func(s shelf.Shelf, folder string) { // one chunk longer, another shorter, which the writer would not do
			const header, record, length = 64, 96, 80 // of chunks.bin
			data := s.MapFS[folder+"/chunks.bin"].Data
			data[header+length]++
			data[header+record+length]--
			reseal(t, s, folder)
		},
	} {
		base := shop(Hybrid)
		if name == "E2" {
			base.Change = func(c *artifact.Content) { c.Probes[1].Vector = c.Probes[0].Vector }
		}
		s := mustShelf(t, base)
		if change != nil {
			change(s, s.Folder("shop"))
		}
		dir := t.TempDir()
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(dir, filepath.FromSlash(s.Folder("shop")))
		if _, err := OpenDir(dir, Options{}); err != nil {
			t.Errorf("%s: opening says %v", name, err)
		}
		if _, err := Verify(dir, Options{}); !errors.Is(err, artifact.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// reseal makes manifest and seal fit sections that have been changed. The file latest is left as it is.
func reseal(t testing.TB, s shelf.Shelf, folder string) {
	t.Helper()
	m, err := artifact.ParseManifest(s.MapFS[folder+"/manifest.json"].Data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Sections {
		data := s.MapFS[folder+"/"+m.Sections[i].Name+".bin"].Data
		m.Sections[i].Size, m.Sections[i].SHA256 = int64(len(data)), artifact.Digest(data)
	}
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s.MapFS[folder+"/manifest.json"].Data = data
	s.MapFS[folder+"/seal"].Data = fmt.Appendf(nil, "%s\nmanifest %s\nprovenance %s\n", artifact.Format,
		artifact.Digest(data), artifact.Digest(s.MapFS[folder+"/provenance.json"].Data))
}

// Two open bases share their encoder.
func TestEncodersAreShared(t *testing.T) {
	s := mustShelf(t, shop(Hybrid), shelf.Base{Name: "other", Mode: Meaning, Documents: shelf.Documents(2, 2)})
	a, err := Open(s, "shop", Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(s, "other", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Encoder() != b.Encoder() {
		t.Error("two encoders with one digest")
	}
}
