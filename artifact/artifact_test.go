package artifact

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/larder/internal/roaring"
)

func bitmap(members []uint32) []byte { return roaring.Append(nil, members) }

var someDigest = strings.Repeat("0123456789abcdef", 4)

// tiny is content in which every section has something.
func tiny(mode Mode) *Content {
	c := &Content{
		Base: "tiny", Serial: 7,
		Settings: Settings{Mode: mode, ChunkSize: 90, ChunkOverlap: 20, TopK: 3},
		Analyzer: Analyzer{"terms-1", []string{"en", "ru"}}, Tokenizer: someDigest,
		Boosts: map[string]float64{"faq": 1.2, "note": 0.9},
		Documents: []Document{
			{Path: "a.md", SHA256: [32]byte{1}, Size: 40, Title: "Apples", ContentType: "faq", UnitID: "u1", Date: "2026-01-31",
				Author: "Ann Orchard", Language: "en",
				Topics: []string{"fruit", "trees"}, Text: "Apples grow on trees.\n\nApples are round.", Chunks: []Chunk{
					{Start: 0, End: 21, SourceEnd: 22, FirstLine: 1, LastLine: 1, Tokens: 5, Terms: 5, Context: "Apples"},
					{Start: 23, End: 40, SourceStart: 23, SourceEnd: 40, HeadingPath: "A > B", Anchor: "b-1", FirstLine: 3, LastLine: 3, Tokens: 4, Terms: 3},
				}},
			{Path: "b/blank.txt", Verdict: Blank, Reason: "no text"},
			{Path: "b/c.pdf", Size: 9, Pages: 2, Text: "Груши", Chunks: []Chunk{
				{Start: 0, End: 10, FirstPage: 1, LastPage: 2, FirstLabel: "iv", LastLabel: "v", Tokens: 3, Terms: 1}}},
		},
		Terms: []Term{
			{"appl", []uint32{0, 1}, []uint32{2, 1}},
			{"are", []uint32{1}, []uint32{1}},
			{"grow", []uint32{0}, []uint32{1}},
			{"on", []uint32{0}, []uint32{1}},
			{"round", []uint32{1}, []uint32{1}},
			{"tree", []uint32{0}, []uint32{1}},
			{"груш", []uint32{2}, []uint32{1}},
		},
	}
	if mode != Keyword {
		c.Model = &Model{Name: "m", Source: someDigest, Dimensions: 3, MaxTokens: 256, Pooling: "mean", Encoder: someDigest}
		c.Vectors = []float32{1, 0, 0, 0.6, 0.8, 0, 0, 0, 1}
		c.Probes = []Probe{{"apples", []float32{1, 0, 0}}}
	}
	return c
}

// saved returns the folder of tiny content on a new shelf.
func saved(t *testing.T, mode Mode) (dir string) {
	t.Helper()
	f, err := Encode(tiny(mode), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	dir, existed, err := f.Save(filepath.Join(t.TempDir(), "tiny"), []byte("{}\n"), nil)
	if err != nil || existed {
		t.Fatal(existed, err)
	}
	return dir
}

func TestRoundTrip(t *testing.T) {
	for _, mode := range []Mode{Keyword, Meaning, Hybrid} {
		a, err := Open(os.DirFS(saved(t, mode)), ".", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Verify(); err != nil {
			t.Fatal(err)
		}
		c := tiny(mode)
		chunk := 0
		for i, d := range c.Documents {
			got := a.Document(i)
			want := DocumentInfo{DocumentID("tiny", d.Path), d.SHA256, d.Size, d.Path, d.Title, d.ContentType, d.UnitID, d.Date,
				d.Author, d.Language, d.Topics, d.Verdict, d.Reason, d.Pages, chunk, chunk + len(d.Chunks)}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: document\n%+v, not\n%+v", mode, got, want)
			}
			if string(a.DocumentText(i)) != d.Text {
				t.Errorf("text %q", a.DocumentText(i))
			}
			for _, ch := range d.Chunks {
				got := a.Chunk(chunk)
				want := ChunkInfo{ChunkID(want.ID, []byte(d.Text[ch.Start:ch.End]), 0), i, ch.Start, ch.End, ch.SourceStart, ch.SourceEnd,
					ch.HeadingPath, ch.Anchor, ch.Context, ch.FirstPage, ch.LastPage, ch.FirstLabel, ch.LastLabel, ch.FirstLine, ch.LastLine, ch.Tokens, ch.Terms}
				if got != want {
					t.Errorf("%s: chunk\n%+v, not\n%+v", mode, got, want)
				}
				if string(a.ChunkText(chunk)) != d.Text[ch.Start:ch.End] {
					t.Errorf("chunk %d: %q", chunk, a.ChunkText(chunk))
				}
				chunk++
			}
		}
		for i, term := range c.Terms {
			p, ok, err := a.Postings(term.Text)
			if err != nil || !ok || a.Term(i) != term.Text || !slices.Equal(p.Chunks.AppendTo(nil), term.Chunks) {
				t.Errorf("postings of %s: %v %v", term.Text, ok, err)
			}
			for k, f := range term.Freqs {
				if p.Freq(k) != int(f) {
					t.Errorf("frequency of %s in %d", term.Text, term.Chunks[k])
				}
			}
		}
		if _, ok, err := a.Postings("pear"); ok || err != nil {
			t.Error("postings of a term that isn't there", err)
		}
		set := roaring.NewSet(a.Chunks())
		if err := a.FilterChunks(set, FieldTopics, "trees"); err != nil || !slices.Equal(slices.Collect(set.All()), []uint32{0, 1}) {
			t.Error("filter", err)
		}
		if got := a.FilterValues(FieldTopics); !slices.Equal(got, []string{"fruit", "trees"}) {
			t.Errorf("values %q", got)
		}
		if mode == Keyword {
			continue
		}
		for i := range 3 {
			for k := range 3 {
				got := a.Vectors().Centre[k] + a.Vectors().Scale(i)*float32(int8(a.Vectors().Codes(i)[k]))
				if want := c.Vectors[3*i+k]; math.Abs(float64(got-want)) > 0.004 {
					t.Errorf("vector %d,%d: %v, not %v", i, k, got, want)
				}
			}
		}
	}
}

func TestSaveAgain(t *testing.T) {
	f, err := Encode(tiny(Hybrid), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "tiny")
	dir, _, err := f.Save(base, []byte("{}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, existed, err := f.Save(base, []byte("{\"other\":1}\n"), nil); err != nil || !existed {
		t.Fatal("second save", existed, err)
	}
	if p, err := Provenance(os.DirFS(dir), "."); err != nil || string(p) != "{}\n" {
		t.Errorf("the second save changed provenance to %q, %v", p, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Save(base, nil, nil); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Error("saved over another artifact:", err)
	}
	if err := SetLatest(base, f.Digest); err != nil {
		t.Fatal(err)
	}
	folder, digest, err := Locate(os.DirFS(filepath.Dir(base)), "tiny")
	if err != nil || folder != "tiny/"+f.Digest[:12] || digest != f.Digest {
		t.Error(folder, digest, err)
	}
	for _, bad := range []string{"", f.Digest, f.Digest[1:] + "\n", f.Digest + "\n\n", strings.ToUpper(f.Digest) + "\n"} {
		os.WriteFile(filepath.Join(base, LatestFile), []byte(bad), 0o644)
		if _, _, err := Locate(os.DirFS(base), "."); !errors.Is(err, ErrCorrupt) {
			t.Errorf("latest %q: %v", bad, err)
		}
	}
}

func load(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = &fstest.MapFile{Data: data}
	}
	if len(files) < 10 {
		t.Fatalf("only %d files in the artifact", len(files))
	}
	return files
}

// Every single-bit flip and every truncation of every file is refused.
func TestFlips(t *testing.T) {
	files := load(t, saved(t, Hybrid))
	flips := 0
	for name, f := range files {
		for i := range f.Data {
			for bit := range 8 {
				f.Data[i] ^= 1 << bit
				if _, err := Open(files, ".", ""); err == nil {
					t.Errorf("%s: bit %d of byte %d flipped, and nothing said", name, bit, i)
				}
				f.Data[i] ^= 1 << bit
				flips++
			}
		}
		whole := f.Data
		for n := range whole {
			f.Data = whole[:n]
			if _, err := Open(files, ".", ""); err == nil {
				t.Errorf("%s: cut to %d bytes, and nothing said", name, n)
			}
		}
		f.Data = append(slices.Clone(whole), 0)
		if _, err := Open(files, ".", ""); err == nil {
			t.Errorf("%s: a byte more, and nothing said", name)
		}
		f.Data = whole
		delete(files, name)
		if _, err := Open(files, ".", ""); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s missing: %v", name, err)
		}
		files[name] = f
	}
	if _, err := Open(files, ".", ""); err != nil {
		t.Fatal("whole again, yet:", err)
	}
	t.Logf("%d flips", flips)
}

// reseal makes the digests right again after a section was changed, so that only the parser stands in the way.
func reseal(t *testing.T, files fstest.MapFS) {
	t.Helper()
	m, err := ParseManifest(files[ManifestFile].Data)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range m.Sections {
		data := files[s.Name+".bin"].Data
		m.Sections[i] = Section{s.Name, int64(len(data)), Digest(data)}
	}
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	files[ManifestFile] = &fstest.MapFile{Data: data}
	files[SealFile] = &fstest.MapFile{Data: seal(Digest(data), Digest(files[ProvenanceFile].Data))}
}

// Below the seal: whatever a flip leads to, it is an error or an artifact that can be used without harm.
func TestFlipsBelowTheSeal(t *testing.T) {
	files := load(t, saved(t, Hybrid))
	refused, opened := 0, 0
	for name, f := range files {
		if !strings.HasSuffix(name, ".bin") {
			continue
		}
		for i := range f.Data {
			f.Data[i] ^= 1 << (i % 8)
			reseal(t, files)
			if a, err := Open(files, ".", ""); err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s, byte %d: %v", name, i, err)
				}
				refused++
			} else {
				opened++
				use(a)
			}
			f.Data[i] ^= 1 << (i % 8)
		}
	}
	t.Logf("%d refused, %d opened", refused, opened)
	if refused < 1000 {
		t.Errorf("only %d refused", refused)
	}
}

// use reads everything that an artifact has to say.
func use(a *Artifact) {
	for i := range a.Documents() {
		a.Document(i)
		a.DocumentText(i)
	}
	for i := range a.Chunks() {
		a.Chunk(i)
		a.ChunkText(i)
		if v := a.Vectors(); v != nil {
			v.Scale(i)
			v.Codes(i)
		}
	}
	for i := range a.Terms() {
		p, _, _ := a.Postings(a.Term(i))
		for k := range p.Chunks.Len() {
			p.Freq(k)
		}
	}
	for _, field := range []string{FieldContentType, FieldDate, FieldTopics, FieldUnitID} {
		for _, v := range a.FilterValues(field) {
			a.FilterChunks(roaring.NewSet(a.Chunks()), field, v)
		}
	}
	a.Verify()
}

func TestManifestRefuses(t *testing.T) {
	f, err := Encode(tiny(Hybrid), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	good := string(f.ByName[ManifestFile])
	if _, err := ParseManifest([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, new string
		want           error
	}{
		{"another format", Format, "larder/2", ErrUnsupported},
		{"a feature", `"features": []`, "\"features\": [\n    \"magic\"\n  ]", ErrUnsupported},
		{"null features", `"features": []`, `"features": null`, ErrCorrupt},
		{"an unknown member", `"serial"`, `"sereal"`, ErrCorrupt},
		{"an unknown section", `"name": "text"`, `"name": "texts"`, ErrUnsupported},
		{"a section twice", `"name": "terms"`, `"name": "text"`, ErrCorrupt},
		{"a bad name", `"base": "tiny"`, `"base": "../tiny"`, ErrCorrupt},
		{"the name models", `"base": "tiny"`, `"base": "models"`, ErrCorrupt},
		{"top_k 0", `"top_k": 3`, `"top_k": 0`, ErrCorrupt},
		{"a huge chunk", `"chunk_size": 90`, `"chunk_size": 2049`, ErrCorrupt},
		{"overlap above size", `"chunk_overlap": 20`, `"chunk_overlap": 91`, ErrCorrupt},
		{"a negative zero", `"min_score": 0`, `"min_score": -0`, ErrCorrupt},
		{"a serial that JSON rounds", `"serial": 7`, `"serial": 9007199254740993`, ErrCorrupt},
		{"a feature's member", `"features": []`, "\"features\": [\n    \"magic\"\n  ],\n  \"magic\": 1", ErrUnsupported},
		{"a negative score", `"min_score": 0`, `"min_score": -1`, ErrCorrupt},
		{"another mode", `"mode": "hybrid"`, `"mode": "both"`, ErrCorrupt},
		{"keyword with a model", `"mode": "hybrid"`, `"mode": "keyword"`, ErrCorrupt},
		{"another pooling", `"pooling": "mean"`, `"pooling": "cls"`, ErrUnsupported},
		{"no boost", `"note": 0.9`, `"note": 0`, ErrCorrupt},
		{"a number in another form", `"note": 0.9`, `"note": 0.90`, ErrCorrupt},
		{"a short digest", someDigest, someDigest[1:], ErrCorrupt},
		{"a size below a header", `"size": `, `"size": -`, ErrCorrupt},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%s: the manifest has no %s", c.name, c.old)
		}
		if _, err := ParseManifest([]byte(bad)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, change := range map[string]func(*Content){
		"paths out of order": func(c *Content) { c.Documents[0].Path = "z" },
		"terms out of order": func(c *Content) { c.Terms[0].Text = "zz" },
		"a bad date":         func(c *Content) { c.Documents[0].Date = "2026-02-30" },
		"repeated topics":    func(c *Content) { c.Documents[0].Topics = []string{"a", "a"} },
		"text of a failed":   func(c *Content) { c.Documents[0].Verdict = Failed },
		"a chunk outside":    func(c *Content) { c.Documents[0].Chunks[1].End = 99 },
		"an empty chunk":     func(c *Content) { c.Documents[0].Chunks[1].End = 23 },
		"invalid UTF-8":      func(c *Content) { c.Documents[0].Title = "\xff" },
		"no vector":          func(c *Content) { c.Vectors = c.Vectors[1:] },
		"a vector of NaN":    func(c *Content) { c.Vectors[4] = float32(math.NaN()) },
		"a bad name":         func(c *Content) { c.Base = "A" },
		"a zero frequency":   func(c *Content) { c.Terms[0].Freqs[1] = 0 },
		"a path upwards":     func(c *Content) { c.Documents[2].Path = "c/../../d" },
		"an absolute path":   func(c *Content) { c.Documents[0].Path = "/a" },
		"a path with NUL":    func(c *Content) { c.Documents[0].Path = "a\x00" },
		"no dimensions":      func(c *Content) { c.Model.Dimensions = 0 },
		"a boost of no text": func(c *Content) { c.Boosts["\xff"] = 1 },
		"no probe":           func(c *Content) { c.Probes = nil },
		"a short probe":      func(c *Content) { c.Probes[0].Vector = c.Probes[0].Vector[1:] },
		"half a character":   func(c *Content) { c.Documents[2].Chunks[0].End = 9 },
		"a negative page":    func(c *Content) { c.Documents[2].Chunks[0].FirstPage = -1 },
		"a chunk too many":   func(c *Content) { c.Terms[0].Chunks[1] = 3 },
	} {
		c := tiny(Hybrid)
		change(c)
		if _, err := Encode(c, bitmap); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

// Verify finds what opening doesn't look for, and Encode hands out nothing that Verify refuses.
func TestVerifyRefuses(t *testing.T) {
	for rule, change := range map[string]func(fstest.MapFS){
		"D3": func(files fstest.MapFS) { // the same sections under another name
			replaceIn(t, files, ManifestFile, `"base": "tiny"`, `"base": "tony"`)
		},
		"C3": func(files fstest.MapFS) { files["chunks.bin"].Data[headerSize] ^= 1 },
		"P3": func(files fstest.MapFS) { // one chunk longer, another shorter
			files["chunks.bin"].Data[headerSize+80]++
			files["chunks.bin"].Data[headerSize+chunkSize+80]--
		},
	} {
		files := load(t, saved(t, Hybrid))
		change(files)
		reseal(t, files)
		a, err := Open(files, ".", "")
		if err != nil {
			t.Fatal(rule, err)
		}
		if err := a.Verify(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "rule "+rule) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	c := tiny(Hybrid)
	c.Documents[0].Chunks[0].Terms = 4
	if _, err := Encode(c, bitmap); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "rule P3") {
		t.Errorf("encoded wrong lengths: %v", err)
	}
}

func replaceIn(t *testing.T, files fstest.MapFS, name, old, new string) {
	t.Helper()
	data := strings.Replace(string(files[name].Data), old, new, 1)
	if data == string(files[name].Data) {
		t.Fatalf("%s has no %q", name, old)
	}
	files[name].Data = []byte(data)
}

// A folder that is there already is never written over, nor written to without end.
func TestSaveOverSomething(t *testing.T) {
	f, err := Encode(tiny(Hybrid), bitmap)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "tiny")
	folder := filepath.Join(base, FolderName(f.Digest))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Save(base, nil, nil); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("saved over an empty folder: %v", err)
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries beside it, %v", len(entries), err)
	}
}

func TestQuantizeInt8(t *testing.T) {
	codes := make([]int8, 4)
	scale := QuantizeInt8(codes, []float32{0.5, -1, 0.25, 0}, nil)
	if want := []int8{64, -127, 32, 0}; !slices.Equal(codes, want) || scale != float32(1)/127 {
		t.Errorf("%v × %v", codes, scale)
	}
	for _, tooSmall := range [][]float32{{0, 0, 0, 0}, {1e-45, 0, 0, 0}, {1e-43, 1e-44, 0, 0}} {
		if scale := QuantizeInt8(codes, tooSmall, nil); scale != 0 || !slices.Equal(codes, make([]int8, 4)) {
			t.Errorf("%v: %v × %v", tooSmall, codes, scale)
		}
	}
}
