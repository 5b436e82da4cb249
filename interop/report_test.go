//go:build heavy

package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/larder/pipeline"
)

// The page of larder bake --report in a browser, of a base that bakes, and of one whose documents are hostile. What it
// looks like is written to LARDER_SCREENSHOTS, if that names a folder.
func TestReportInBrowser(t *testing.T) {
	dir := t.TempDir()
	good := writeGoodBase(t, filepath.Join(dir, "good"))
	hostile := writeHostileBase(t, filepath.Join(dir, "hostile"))
	cache, err := pipeline.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	var reports []*pipeline.Report
	for _, name := range []string{"good", "hostile"} {
		report, err := pipeline.Bake(t.Context(), pipeline.BakeOptions{
			Folder: filepath.Join(dir, name), Shelf: filepath.Join(dir, "dist"), Fetcher: &pipeline.Fetcher{Cache: cache}, Version: "test",
		})
		if bad := (*pipeline.DocumentsError)(nil); errors.As(err, &bad) != (name == "hostile") {
			t.Fatalf("%s: %v", name, err)
		}
		reports = append(reports, report)
	}
	var html bytes.Buffer
	if err := pipeline.WriteHTML(&html, reports); err != nil {
		t.Fatal(err)
	}

	b := openPage(t, html.Bytes())
	b.want("document.title", "Bake report")
	b.want("document.querySelectorAll('section.base').length", 2.0)
	b.want("document.querySelectorAll('section.base')[0].querySelectorAll('.documents tbody tr').length", float64(good))
	b.want("document.querySelectorAll('section.base')[1].querySelectorAll('.documents tbody tr').length", float64(hostile))
	b.want("[...document.querySelectorAll('section.base > h2 .verdict')].map(e => e.textContent).join()", "baked,not baked")
	b.want("document.querySelectorAll('section.base')[1].querySelector('.documents .verdict').textContent", "failed")

	// What documents say stays text.
	b.want("typeof window.hostile", "undefined")
	b.want("document.querySelectorAll('script, img, iframe, object, embed, form, link:not([rel=icon]), [onerror], [onload]').length", 0.0)
	b.want("document.body.textContent.includes('<script>window.hostile=1</script>')", true)
	b.want(`/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.outerHTML)`, false)
	b.want(`document.body.textContent.includes('\\u202e')`, true)

	for _, view := range []struct {
		name   string
		width  int64
		scheme string
	}{{"light", 1200, "light"}, {"dark", 1200, "dark"}, {"phone", 400, "light"}, {"phone-dark", 320, "dark"}} {
		call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: view.width, Height: 900, DeviceScaleFactor: 1, Mobile: view.width < 500})
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}})
		// Nothing is cut off at the right, bars can be seen, and so can text: at least 4.5 to 1 (WCAG 2.2, 1.4.3).
		b.want(fmt.Sprintf("document.documentElement.scrollWidth <= %d", view.width), true)
		b.want("[...document.querySelectorAll('section.base')].map(s => s.querySelectorAll('svg rect').length > 0).join()", "true,false")
		b.want("[...document.querySelectorAll('svg rect')].every(e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0 && r.right <= innerWidth })", true)
		b.want(contrasts, "")
		b.screenshot(view.name)
	}
	b.close()
}

// contrasts is a list of the texts whose colour is too near to the page's.
const contrasts = `(() => {
	const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
		return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] }
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c } return 'rgb(255, 255, 255)' }
	return [...document.querySelectorAll('h1, h2, h3, p, dt, dd, li, th, td, caption, span, div, q')].filter(e => {
		const a = light(getComputedStyle(e).color), b = light(behind(e))
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5
	}).map(e => e.className + ': ' + e.textContent.slice(0, 40)).join('\n')
})()`

// writeGoodBase writes a base that bakes and returns how many documents it has.
func writeGoodBase(t *testing.T, dir string) int {
	long := strings.Repeat("The harbour master writes the tide into the book every morning before the first boat leaves. ", 60)
	files := map[string]string{
		"base.yaml":    "mode: keyword\nchunk_size: 60\n",
		"tides.md":     "# Tides\n\n" + long + "\n\n## Springs\n\nA spring tide comes twice in a month.\n\n<!-- a comment -->\n",
		"copy.txt":     "The lighthouse was built in three summers, and its lamp has been electric for ninety years.",
		"original.txt": "The lighthouse was built in three summers, and its lamp has been electric for ninety years.",
		"tiny.txt":     "Closed.",
		"empty.txt":    "",
		"draft.md":     "---\ndraft: true\n---\nNot yet.\n",
		"chart.pdf":    pdf("Harbour chart", "BT /F1 12 Tf 72 700 Td (The buoys are numbered from the sea.) Tj ET", ""),
	}
	writeFiles(t, dir, files)
	writeFiles(t, dir, map[string]string{"photo.jpg": "no document", "plan.png": "no document", "map.png": "no document"})
	return len(files) - 1
}

// writeHostileBase writes a base whose documents attack the page, of which some can't be read, and returns how many
// documents it has.
func writeHostileBase(t *testing.T, dir string) int {
	const script = "</title></style></script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>"
	private := "BT /F2 12 Tf 72 700 Td (" + strings.Repeat("These words are in the private use area. ", 5) + ") Tj ET"
	files := map[string]string{
		"base.yaml":       "mode: keyword\n",
		"title.md":        "---\ntitle: '" + script + "'\n---\nA text with a title.\n",
		"bidi.md":         "---\ntitle: \"invoice \\u202Efdp.exe \\u2066x\\u200F\"\n---\nA text whose title turns around.\n",
		"yaml.md":         "---\n\"" + script + "\": [\n---\nText.\n",
		"long.md":         "---\ntitle: " + strings.Repeat("W", 190) + "\n---\nA text with a long title.\n",
		"script.pdf":      pdf(script, "BT /F1 12 Tf 72 700 Td (<script>window.hostile=1</script> is what this page says.) Tj ET"),
		"garbled.pdf":     pdf("Garbled", private, private, "BT /F1 12 Tf 72 700 Td (One page is good, and the others are not.) Tj ET"),
		"scanned.pdf":     pdf("Scanned", "q 400 0 0 400 72 300 cm /Im Do Q"),
		"latin1.txt":      "caf\xe9 \xff\xfe\x00\x01",
		"notapdf.pdf":     "<script>window.hostile=1</script>",
		"مرحبا/سلام.txt":  "نص باللغة العربية عن الميناء.",
		"a'b\"c&d;e=.txt": "A file whose name closes an attribute.",
	}
	if runtime.GOOS != "windows" {
		files[`"><img src=x onerror=window.hostile=1>.txt`] = "A file whose name is markup."
	}
	writeFiles(t, dir, files)
	writeFiles(t, dir, map[string]string{"x.<svg onload=hostile=1>": "no document", "invoice\u202efdp.exe": "no document"})
	return len(files) - 1
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// pdf returns a PDF file whose pages have these contents. Font F1 is Courier, the characters of F2 are in the private
// use area, Im is an image.
func pdf(title string, contents ...string) string {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "", // the pages come when they are numbered
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 5 0 R >>",
		stream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <00> <FF> endcodespacerange\n1 beginbfrange <20> <7E> <E020> endbfrange\nendcmap end end"),
		stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "\x80"),
		"<< /Title (" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(title) + ") >>",
	}
	var kids []string
	for _, content := range contents {
		objects = append(objects, stream("", content), fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> /XObject << /Im 6 0 R >> >> >>", len(objects)+1))
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " "))
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "%strailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, start)
	return b.String()
}

// A browserPage is a page in a browser, which notes what the page asks for and complains of.
type browserPage struct {
	t      *testing.T
	ctx    context.Context
	url    string
	mu     sync.Mutex
	served []string // paths that the server was asked for
	asked  []string // addresses that the browser asked for
	said   []string // messages of the console, exceptions and the browser's own complaints
}

// openPage shows HTML in a browser.
func openPage(t *testing.T, html []byte) *browserPage {
	t.Helper()
	p := &browserPage{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(&p.served, r.URL.String())
		w.Header().Set("Content-Type", "text/html")
		w.Write(html)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL + "/report.html"

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser(t)), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses its sandbox to root
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	p.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	err := chromedp.Listen(p.ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			p.note(&p.asked, e.Request.URL)
		case *cdpruntime.EventConsoleAPICalled:
			p.note(&p.said, fmt.Sprintf("console: %s %v", e.Type, e.Args))
		case *cdpruntime.EventExceptionThrown:
			p.note(&p.said, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			p.note(&p.said, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.url)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *browserPage) note(list *[]string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, text)
}

// call gives the browser a command.
func call[P, R any](p *browserPage, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}

// want compares the value of a JavaScript expression.
func (p *browserPage) want(expression string, want any) {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	if got != want {
		p.t.Errorf("%s: %v, not %v", expression, got, want)
	}
}

func (p *browserPage) screenshot(name string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if dir := os.Getenv("LARDER_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "report-"+name+".png"), png, 0o666); err != nil {
			p.t.Error(err)
		}
	}
}

// close fails the test if the page asked for anything but itself, or complained.
func (p *browserPage) close() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.served) != 1 || p.served[0] != "/report.html" {
		p.t.Errorf("the server was asked for %q", p.served)
	}
	loaded := 0
	for _, url := range p.asked {
		if url == p.url {
			loaded++
		} else if !strings.HasPrefix(url, "data:,") {
			p.t.Errorf("the page asks for %s", url)
		}
	}
	if loaded != 1 {
		p.t.Errorf("the browser noted %q", p.asked)
	}
	if len(p.said) > 0 {
		p.t.Errorf("the browser says %q", p.said)
	}
}

// browser returns a Chromium, which it installs where root may: Debian's is one command away, also in a container.
func browser(t *testing.T) string {
	t.Helper()
	find := func() string {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	if path := find(); path != "" {
		return path
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		t.Fatal("there is no chromium: install it, on Debian by apt-get install chromium")
	}
	t.Log("installing chromium")
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", "chromium"}} {
		cmd := exec.Command("apt-get", append([]string{"-o", "DPkg::Lock::Timeout=300"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	path := find()
	if path == "" {
		t.Fatal("apt-get installed no chromium")
	}
	return path
}
