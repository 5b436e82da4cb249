package pipeline

import (
	"io/fs"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// TestOriginals: an artifact holds the files as they are, of those documents that it tells of.
func TestOriginals(t *testing.T) {
	files := shopFiles()
	files["base.yaml"] += "originals: true\nskip: ['broken.pdf']\n"
	files["crlf.txt"] = "One line.\r\nAnother.\r\n"
	files["old.txt"] = "\xc2\xee\xe7\xe2\xf0\xe0\xf2 \xe4\xe5\xed\xe5\xe3 \xe7\xe0\xed\xe8\xec\xe0\xe5\xf2 \xe4\xe5\xf1\xff\xf2\xfc \xe4\xed\xe5\xe9. \xc4\xe5\xed\xfc\xe3\xe8 \xe2\xe5\xf0\xed\xf3\xf2\xf1\xff \xed\xe0 \xea\xe0\xf0\xf2\xf3.\n"
	files["draft.md"] = "---\ndraft: true\n---\nNot yet.\n"
	files["broken.pdf"] = "no PDF"
	o := shop(t, files)
	r := mustBake(t, o)
	b, err := reader.OpenDir(r.Artifact, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, found := b.Artifact(), 0
	for i := range a.Documents() {
		d := a.Document(i)
		data, ok := a.Original(i)
		if ok != (d.Verdict == artifact.OK) || ok && string(data) != files[d.Path] {
			t.Errorf("%s, %s: %v, %q", d.Path, d.Verdict, ok, data)
		}
		if ok {
			found++
		}
	}
	if found != 7 || !a.Manifest.HasOriginals() {
		t.Errorf("%d originals", found)
	}
	for _, absent := range []string{"draft.md", "broken.pdf", "base.yaml"} {
		if _, err := fs.Stat(a.Originals(), absent); err == nil {
			t.Errorf("%s is in the artifact", absent)
		}
	}
	// The answers don't change, and without the setting there are none.
	files["base.yaml"] = shopFiles()["base.yaml"] + "skip: ['broken.pdf']\n"
	without := mustBake(t, shop(t, files))
	if without.Digest == r.Digest || without.Chunks != r.Chunks {
		t.Errorf("%d chunks with originals, %d without", r.Chunks, without.Chunks)
	}
}

// TestOriginalsPDF: a protected file stays protected, one that lost pages is there whole, and one that could not be read is
// not there. The same files give the same bytes.
func TestOriginalsPDF(t *testing.T) {
	protected := string(newPDFWriter().page(lines("The price of the plan is secret.")).protect("sesame").bytes())
	files := map[string]string{
		"base.yaml":     "name: shop\nmode: keyword\nbad_pages: skip\npdf_password_env: SHOP_PDF\noriginals: true\n",
		"book.pdf":      string(bookPDF()),
		"protected.pdf": protected,
		"scan.pdf":      string(newPDFWriter().page("/Im Do").bytes()),
	}
	bakeIt := func() *Report {
		o := pdfShop(t, files)
		o.LookupEnv = func(string) (string, bool) { return "sesame", true }
		return mustBake(t, o)
	}
	r := bakeIt()
	a := openArtifact(t, r.Artifact)
	if err := a.Verify(); err != nil {
		t.Fatal(err)
	}
	want := map[string]artifact.Verdict{"book.pdf": artifact.Partial, "protected.pdf": artifact.OK, "scan.pdf": artifact.Skipped}
	for i := range a.Documents() {
		d := a.Document(i)
		data, ok := a.Original(i)
		if d.Verdict != want[d.Path] || ok != (d.Verdict != artifact.Skipped) || ok && string(data) != files[d.Path] {
			t.Errorf("%s, %s: %v, %d bytes of %d", d.Path, d.Verdict, ok, len(data), len(files[d.Path]))
		}
	}
	if a.Documents() != len(want) {
		t.Errorf("%d documents", a.Documents())
	}
	if again := bakeIt(); again.Digest != r.Digest {
		t.Errorf("baked again: %s, not %s", again.Digest, r.Digest)
	}
}
