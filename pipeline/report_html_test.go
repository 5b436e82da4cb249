package pipeline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
)

const hostileText = "</title></style></script><script>alert(1)</script>\" onerror='alert(1)' <img src=x>\u202egnp.exe\x00\x1b[31m\u200b\ue001\xff\U000e0041"

// hostileReport says hostile things in every field that a document, a base or a file name can fill.
func hostileReport() *Report {
	s := DefaultSettings("hostile")
	s.Skip, s.Encoding, s.Model = []string{hostileText}, hostileText, hostileText
	r := &Report{
		Folder: hostileText, Settings: s, Version: hostileText, Revision: hostileText, Digest: hostileText, Artifact: hostileText,
		Unmatched: []string{hostileText}, LeftOut: []LeftOut{{hostileText, hostileText}, {"b", hostileText}},
		Stages: []Stage{{hostileText, time.Second}}, FailedIn: "parse", Failure: errors.New(hostileText + "\n" + hostileText),
	}
	for _, v := range append(slices.Clone(verdictOrder), Verdict(hostileText)) {
		r.Documents = append(r.Documents, DocumentReport{
			Path: hostileText, Verdict: v, Reason: hostileText, Pages: 3, Chunks: 1, LeftOut: map[string]int{hostileText: 2},
			DocumentDetails: DocumentDetails{
				Title: hostileText, Bytes: 1 << 40, Tokens: []int{1},
				BadPages: []PageReport{{1, hostileText, v, hostileText, hostileText}}, MoreBad: 3,
				Running: []RunningLine{{hostileText, 2}}, text: [32]byte{1},
			},
		})
	}
	return r
}

// writeHTML returns the page and its elements by name, and fails if the page has anything that acts.
func writeHTML(t *testing.T, reports ...*Report) (page string, elements map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, reports); err != nil {
		t.Fatal(err)
	}
	elements = map[string]int{}
	tokens := html.NewTokenizer(bytes.NewReader(b.Bytes()))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			if tokens.Err() != io.EOF {
				t.Fatal(tokens.Err())
			}
			break
		}
		token := tokens.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		elements[token.Data]++
		for _, a := range token.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "action" ||
				a.Key == "href" && !strings.HasPrefix(a.Val, "#base-") && a.Val != "data:," {
				t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
			}
		}
	}
	for _, name := range []string{"script", "img", "iframe", "object", "form", "input"} {
		if elements[name] > 0 {
			t.Errorf("the page has %d <%s>", elements[name], name)
		}
	}
	return b.String(), elements
}

func TestReportHTMLHostile(t *testing.T) {
	page, elements := writeHTML(t, hostileReport(), hostileReport())
	documents := 2 * (len(verdictOrder) + 1)
	if elements["style"] != 1 || elements["title"] != 1+2*2 || elements["section"] != 2 || elements["th"] == 0 {
		t.Errorf("elements: %v", elements) // an SVG and its bar have titles
	}
	if n := strings.Count(page, `<tr role="row"><`); n != 2 {
		t.Errorf("%d header rows", n)
	}
	if n := strings.Count(page, "<tr role=\"row\">\n"); n != documents {
		t.Errorf("%d rows of documents, not %d", n, documents)
	}
	for _, r := range page {
		if r != '\n' && r != ' ' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)) {
			t.Fatalf("%U is in the page", r)
		}
	}
	if want := `\u202egnp.exe\u0000\u001b[31m\u200b\ue001` + "\ufffd" + `\U000e0041`; !strings.Contains(page, want) {
		t.Errorf("%s is not in the page", want)
	}
}

// Whatever a base holds, the page stays small enough for a browser.
func TestReportHTMLBounded(t *testing.T) {
	long := strings.Repeat("W", 100_000)
	r := &Report{Settings: DefaultSettings("huge"), Failure: errors.New(long)}
	for i := range 3 * maxShownDocuments {
		r.Documents = append(r.Documents, DocumentReport{Path: long, Verdict: OK, DocumentDetails: DocumentDetails{Tokens: []int{1}, text: [32]byte{1}}})
		r.LeftOut = append(r.LeftOut, LeftOut{long, strconv.Itoa(i) + long[:1000]})
		r.Unmatched = append(r.Unmatched, long)
	}
	r.Documents = append(r.Documents, DocumentReport{Path: "last", Verdict: Failed, Reason: long})
	page, _ := writeHTML(t, r)
	if n := len(page); n > 5<<20 {
		t.Errorf("the page has %d bytes", n)
	}
	rows := regexp.MustCompile(`<span class="path"><bdi>(\w{1,4})`).FindAllStringSubmatch(page, -1)
	if len(rows) != maxShownDocuments || rows[0][1] != "last" {
		t.Errorf("%d documents are shown, the first one is %v", len(rows), rows[0])
	}
	for _, want := range []string{
		fmt.Sprintf("Not shown: %d more.", 2*maxShownDocuments+1), fmt.Sprintf("Not shown: %d more reasons.", 3*maxShownDocuments-maxShownNames),
		fmt.Sprintf("and %d more", 3*maxShownDocuments-maxShownNames), fmt.Sprintf("and %d more", 3*maxShownDocuments-1-maxShownNames), // one of the same text is no copy
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// Bad documents come first, then those that lost something; in between they keep the order of their paths.
func TestReportHTMLOrder(t *testing.T) {
	r := &Report{Settings: DefaultSettings("order")}
	for i, v := range []Verdict{OK, Failed, Draft, OK, Partial, Scanned, OK, Failed} {
		d := DocumentReport{Path: fmt.Sprint(i), Verdict: v}
		if i == 6 {
			d.BadPages = []PageReport{{Number: 1, Verdict: Garbled, Words: "first words"}}
		}
		r.Documents = append(r.Documents, d)
	}
	page, _ := writeHTML(t, r)
	var order string
	for _, m := range regexp.MustCompile(`<span class="path"><bdi>(\d)`).FindAllStringSubmatch(page, -1) {
		order += m[1]
	}
	if order != "17542603" {
		t.Errorf("documents come as %s", order)
	}
	if !strings.Contains(page, "<q><bdi>first words</bdi></q>") {
		t.Error("a bad page comes without its words")
	}
}

func TestReportHTMLHistogram(t *testing.T) {
	for _, c := range []struct {
		size   int
		tokens []int
		want   string // counts by bin
	}{
		{90, []int{1, 9, 10, 89, 90}, "1 to 9 tokens: 2;10 to 18 tokens: 1;82 to 90 tokens: 2"},
		{90, []int{91, 90}, "82 to 90 tokens: 1;more tokens than chunk_size: 1"},
		{1, []int{1, 1}, "1 to 1 token: 2"},
		{7, []int{7, 3}, "3 to 3 tokens: 1;7 to 7 tokens: 1"},
		{95, []int{95, 91, 90}, "81 to 90 tokens: 1;91 to 95 tokens: 2"},
		{2048, []int{0, 2048}, "1 to 205 tokens: 1;1846 to 2048 tokens: 1"},
		{100, nil, ""},
	} {
		s := DefaultSettings("base")
		s.ChunkSize = c.size
		r := &Report{Settings: s, Documents: []DocumentReport{{DocumentDetails: DocumentDetails{Tokens: c.tokens}}}}
		h := r.histogram("base-1")
		if h == nil {
			if c.want != "" {
				t.Errorf("%d %v: no histogram", c.size, c.tokens)
			}
			continue
		}
		var got []string
		total := 0
		for _, bar := range h.Bars {
			title, _, _ := strings.Cut(bar.Title, " chunk")
			got = append(got, strings.Replace(title, "more tokens than", "more tokens than chunk_size: "+strconv.Itoa(bar.Count), 1))
			total += bar.Count
			if bar.X < histogramLeft || bar.X+bar.Width > histogramLeft+histogramWidth || bar.Width <= 0 || bar.Height <= 0 || bar.Above < 10 {
				t.Errorf("%d %v: bar %+v", c.size, c.tokens, bar)
			}
		}
		if text := strings.Join(got, ";"); text != c.want || total != len(c.tokens) {
			t.Errorf("%d %v: %s", c.size, c.tokens, text)
		}
	}
}

// The page is well-formed, so that other programs can take it apart too.
func TestReportHTMLWellFormed(t *testing.T) {
	page, _ := writeHTML(t, hostileReport(), &Report{Settings: DefaultSettings("empty")}, &Report{})
	_, body, _ := strings.Cut(page, "<body>")
	body, _, _ = strings.Cut(body, "</body>")
	d := xml.NewDecoder(strings.NewReader("<body>" + body + "</body>"))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReportDetails(t *testing.T) {
	d := &Document{Verdict: Partial, Text: "one", Size: 9, Meta: Meta{Title: "T"}}
	for i := range 60 {
		p := Page{Number: i + 1, Verdict: Garbled, Reason: "r", Text: strings.Repeat("слово\n ", 40), Running: []string{fmt.Sprintf("Page %d of 60", i+1), "Head", "Head"}}
		if i%10 == 0 {
			p.Verdict = Blank
		}
		if i > 50 {
			p.Running = []string{strings.Repeat("x", i)}
		}
		d.Pages = append(d.Pages, p)
	}
	got := documentDetails(d)
	if got.Blank != 6 || len(got.BadPages) != maxBadPages || got.MoreBad != 54-maxBadPages || got.Title != "T" || got.Bytes != 9 || got.text == [32]byte{} {
		t.Errorf("%+v", got)
	}
	if words := got.BadPages[0].Words; words != strings.Repeat("слово ", maxFirstWords)+"…" {
		t.Errorf("first words: %q", words)
	}
	if len(got.Running) != maxShownRunning || got.Running[0] != (RunningLine{"Page 1 of 60", 51}) || got.Running[1] != (RunningLine{"Head", 51}) {
		t.Errorf("running lines: %+v", got.Running)
	}
	for text, want := range map[string]string{
		"": "", " \n": "", "a b": "a b",
		strings.Repeat("é", 1000):      strings.Repeat("é", maxFirstBytes/2) + " …",
		"a" + strings.Repeat("é", 100): "a" + strings.Repeat("é", maxFirstBytes/2-1) + " …",
	} {
		if got := firstWords(text); got != want {
			t.Errorf("firstWords(%.20q…) = %q", text, got)
		}
	}
}
