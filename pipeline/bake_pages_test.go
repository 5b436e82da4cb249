package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/larder/artifact"
)

// bookPDF has a picture as its cover, two good pages, a blank one, and two garbled ones between good ones.
func bookPDF() []byte {
	bad := prose["English"]
	wrapped := func(text string) string {
		var l []string
		for len(text) > 60 {
			end := strings.LastIndex(text[:60], " ")
			l, text = append(l, text[:end]), text[end+1:]
		}
		return lines(append(l, text)...)
	}
	garbled := movedBy(1)(bad)
	return newPDFWriter().page("q 600 0 0 700 0 0 cm /Im Do Q").page(lines("The first chapter is about refunds.")).page("").
		page(lines(strings.Split(garbled[:60], "\x00")...) + lines("", garbled[60:120]) + lines("", "", garbled[120:])).
		page(wrapped(permuted(bad))).page(lines("The last chapter is about delivery.")).bytes()
}

// pdfShop is a base with PDF files. The engine's compiled code is that of the other tests.
func pdfShop(t *testing.T, files map[string]string) BakeOptions {
	t.Helper()
	o := shop(t, files)
	if err := os.MkdirAll(o.Fetcher.Cache.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(testCache(t), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Symlink(testCache(t), o.Fetcher.Cache.PDF()) // without it the bake compiles for itself
	return o
}

func pagesBase(t *testing.T, settings string) BakeOptions {
	t.Helper()
	return pdfShop(t, map[string]string{
		"base.yaml": "name: shop\nmode: keyword\n" + settings,
		"book.pdf":  string(bookPDF()),
		"scan.pdf":  string(newPDFWriter().page("/Im Do").page("/Im Do").bytes()),
		"note.md":   "# Note\n\nSomething that is fine.\n",
	})
}

func TestBadPagesFail(t *testing.T) {
	o := pagesBase(t, "")
	_, err := Bake(context.Background(), o)
	var list *DocumentsError
	if !errors.As(err, &list) || len(list.Documents) != 2 || !strings.Contains(list.Hint(), "bad_pages: skip") {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"book.pdf: garbled: 3 of 6 pages: 1 scanned, 4-5 garbled; page 4: ", "scan.pdf: scanned: no text layer (2 pages of images)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	// The skip list leaves out whole documents, good pages too.
	o = pagesBase(t, "skip: [\"*.pdf\"]\n")
	if r := mustBake(t, o); r.Verdicts()["skipped"] != 2 || r.Verdicts()["ok"] != 1 {
		t.Errorf("verdicts %v", r.Verdicts())
	}
}

func TestBadPagesAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		policy, reason string
		garbled        bool
	}{
		{"skip", "3 of 6 pages left out: 1 scanned, 4-5 garbled", false},
		{"keep", "1 of 6 pages left out: 1 scanned; 2 of 6 pages kept: 4-5 garbled", true},
	} {
		r := mustBake(t, pagesBase(t, "bad_pages: "+c.policy+"\n"))
		a := openArtifact(t, r.Artifact)
		for i := range a.Documents() {
			d := a.Document(i)
			text := string(a.DocumentText(i))
			switch d.Path {
			case "book.pdf":
				if d.Verdict != artifact.Partial || d.Reason != c.reason || d.Pages != 6 || d.EndChunk == d.FirstChunk {
					t.Errorf("%s: %+v", c.policy, d)
				}
				if !strings.Contains(text, "first chapter") || !strings.Contains(text, "last chapter") || strings.Contains(text, "hppet") != c.garbled && strings.Contains(text, "Hppet") != c.garbled {
					t.Errorf("%s: text %q", c.policy, text)
				}
			case "scan.pdf":
				if d.Verdict != artifact.Skipped || d.Reason != "scanned: no text layer (2 pages of images)" || text != "" {
					t.Errorf("%s: %+v", c.policy, d)
				}
			default:
				if d.Verdict != artifact.OK {
					t.Errorf("%s: %+v", c.policy, d)
				}
			}
		}
		var said strings.Builder
		r.Write(&said)
		provenance, err := os.ReadFile(filepath.Join(r.Artifact, "provenance.json"))
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"report": said.String(), "provenance": string(provenance)} {
			if !strings.Contains(text, c.reason) || !strings.Contains(text, "scan.pdf") {
				t.Errorf("%s: %s says %s", c.policy, what, text)
			}
		}
	}
}

// The skip list leaves out whole documents, whatever becomes of bad pages.
func TestSkipListBeforeBadPages(t *testing.T) {
	r := mustBake(t, pagesBase(t, "bad_pages: keep\nskip: [book.pdf]\n"))
	if d := r.Documents[0]; d.Path != "book.pdf" || d.Verdict != Skipped {
		t.Errorf("%+v", d)
	}
}

// What stands before and behind a page that is left out does not become one sentence.
func TestNoSentenceOverBadPages(t *testing.T) {
	bad := permuted(prose["English"])
	o := pdfShop(t, map[string]string{
		"base.yaml": "name: shop\nmode: keyword\nbad_pages: skip\n",
		"a.pdf": string(newPDFWriter().page(lines("Every member may ask for a con-")).page(lines(bad[:60], bad[60:120], bad[120:])).
			page(lines("fused payments are sent back at once.")).bytes()),
	})
	r := mustBake(t, o)
	text := string(openArtifact(t, r.Artifact).DocumentText(0))
	if r.Documents[0].Verdict != Partial || strings.Contains(text, "confused") || !strings.Contains(text, "con-\n\nfused") {
		t.Errorf("%+v: %q", r.Documents[0], text)
	}
}

// That the engine can't run is not the documents' fault, and no policy passes it over.
func TestEngineThatCannotRun(t *testing.T) {
	o := pagesBase(t, "bad_pages: skip\nskip: [\"*.pdf\"]\n")
	if err := os.Remove(o.Fetcher.Cache.PDF()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Fetcher.Cache.PDF(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Bake(context.Background(), o); err == nil || !strings.Contains(err.Error(), "pdf_engine pdfium: pdf child can't be started") {
		t.Errorf("error %v", err)
	}
}

// A bad file among many costs that file alone, if the policy says so.
func TestOneBadFileInThirty(t *testing.T) {
	files := map[string]string{"base.yaml": "name: shop\nmode: keyword\nbad_pages: skip\n"}
	for i := range 29 {
		files[fmt.Sprintf("page-%02d.pdf", i)] = string(newPDFWriter().page(lines(fmt.Sprintf("This is page number %d of the handbook.", i))).bytes())
	}
	files["bomb.pdf"] = string(newPDFWriter().page("").bytes()[:200])
	r := mustBake(t, pdfShop(t, files))
	if r.Verdicts()["ok"] != 29 || r.Verdicts()["skipped"] != 1 || r.Documents[0].Path != "bomb.pdf" || !strings.HasPrefix(r.Documents[0].Reason, "failed: ") {
		t.Errorf("%v %+v", r.Verdicts(), r.Documents[0])
	}
}

func TestBakeWithPasswords(t *testing.T) {
	files := map[string]string{
		"base.yaml":  "name: shop\nmode: keyword\npdf_password_env: [LARDER_TEST_PASSWORD, LARDER_TEST_SESAME]\n",
		"secret.pdf": string(newPDFWriter().page(lines("The secret is out.")).protect("sesame").bytes()),
	}
	o := pdfShop(t, files)
	t.Setenv("LARDER_TEST_PASSWORD", "wrong one")
	_, err := Bake(context.Background(), o)
	var missing missingPassword
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "LARDER_TEST_SESAME") || !strings.Contains(missing.Hint(), ".env") {
		t.Errorf("error %v", err)
	}
	t.Setenv("LARDER_TEST_SESAME", "not it either")
	if _, err = Bake(context.Background(), o); err == nil || !strings.Contains(err.Error(), "secret.pdf: encrypted: no password that is given opens it") {
		t.Errorf("error %v", err)
	}
	for _, word := range []string{"wrong one", "not it"} {
		if strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("error %v", err)
		}
	}
	t.Setenv("LARDER_TEST_SESAME", "sesame")
	r := mustBake(t, o)
	if r.Verdicts()["ok"] != 1 {
		t.Errorf("verdicts %v", r.Verdicts())
	}
	for name, text := range readTree(t, o.Shelf) {
		if strings.Contains(text, "sesame") {
			t.Errorf("%s holds the password", name)
		}
	}
}

func TestPageRanges(t *testing.T) {
	pages := []Page{{Number: 1, Verdict: Scanned}, {Number: 3, Verdict: Garbled}, {Number: 4, Verdict: Garbled}, {Number: 5, Verdict: Failed}}
	if got, want := pageRanges(pages), "1 scanned, 3-4 garbled, 5 failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	pages = nil
	for i := range 1000 {
		pages = append(pages, Page{Number: 2 * i, Verdict: Failed})
	}
	if got := pageRanges(pages); len(got) > 400 || !strings.HasSuffix(got, ", and more") {
		t.Errorf("got %q", got)
	}
}
