package pipeline

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

//go:embed report.tmpl
var reportTemplate string

var reportPage = template.Must(template.New("report").Parse(reportTemplate))

// The most that a page shows, so that it opens in a browser however large a base is. What is left out is counted.
const (
	maxShownDocuments = 5000 // of a base, the bad ones first
	maxShownNames     = 200  // of a warning, and reasons why files are left out
	maxExamples       = 5    // files for each such reason
	maxShownText      = 300  // characters of a name, a title or a line
	maxShownFailure   = 4000 // characters of what ended a bake
)

// WriteHTML writes the reports of bakes as one HTML page that needs nothing else: no script, no network, no file
// beside it. Documents may be hostile: what they say is escaped, shortened, and its invisible characters are shown as
// \u and their number. A report of a bake that failed shows what is known of it.
func WriteHTML(w io.Writer, reports []*Report) error {
	page := htmlPage{Title: "Bake report"}
	for i, r := range reports {
		page.Bases = append(page.Bases, newHTMLBase(i+1, r))
	}
	if len(reports) > 0 {
		page.By = strings.TrimSpace("larder " + shown(reports[0].Version, maxShownText))
		page.At = reports[0].start.UTC().Format("2006-01-02 15:04 UTC")
	}
	if len(page.Bases) == 1 {
		page.Title += ": " + page.Bases[0].Name
	}
	return reportPage.Execute(w, page)
}

// An htmlPage is what the template shows. Its strings are ready to be shown but for HTML's escapes.
type htmlPage struct {
	Title, By, At string
	Bases         []htmlBase
}

type htmlBase struct {
	ID, Name, State string
	Class           string // of the state
	Failure, Hint   string
	Facts, Settings []htmlFact
	Verdicts        []htmlVerdict
	Warnings        []htmlWarning
	Documents       []htmlDocument
	More            int // documents that are not shown
	Histogram       *htmlHistogram
	LeftOut         []htmlLeftOut
	MoreLeftOut     int // reasons that are not shown
	Inside          []htmlInside
	Stages          []htmlFact
}

type htmlFact struct{ Name, Value string }

type htmlVerdict struct {
	Name, Class string
	Count       int
}

type htmlWarning struct {
	Text  string
	Names []string
	More  int
}

type htmlDocument struct {
	Verdict, Class              string
	Path, Title, Reason, Inside string
	Pages, Chunks, Tokens, Size string
	BadPages                    []htmlPageLine
	MoreBad                     string
	Running                     []htmlRunning
}

type htmlPageLine struct{ Name, Verdict, Class, Reason, Words string }

type htmlRunning struct{ Text, Pages string }

type htmlLeftOut struct {
	Reason   string
	Count    int
	Examples []string
	More     int
}

type htmlInside struct {
	Reason           string
	Count, Documents int
}

// An htmlHistogram is drawn in a box of 480 by 190.
type htmlHistogram struct {
	ID, Text, Summary string
	Bars              []htmlBar
	Ticks             []htmlTick
}

type htmlBar struct {
	X, Y, Width, Height, Middle, Above int
	Count                              int
	Title                              string
}

type htmlTick struct {
	X    int
	Text string
}

func newHTMLBase(number int, r *Report) htmlBase {
	b := htmlBase{ID: fmt.Sprintf("base-%d", number), Name: shown(cmp.Or(r.Settings.Name, filepath.Base(r.Folder)), maxShownText), State: "baked", Class: "good"}
	switch {
	case r.Failure != nil:
		b.State, b.Class = "not baked", "bad"
		b.Failure, b.Hint = failureText(r.Failure)
		b.Failure = fmt.Sprintf("Stage %s: %s", shown(r.FailedIn, maxShownText), b.Failure)
	case r.Unchanged:
		b.State = "nothing changed"
	}
	b.Facts = r.facts()
	if r.Settings.Name != "" {
		b.Settings = r.Settings.facts()
	}
	counts := r.Verdicts()
	for _, v := range verdictOrder {
		if n := counts[string(v)]; n > 0 {
			b.Verdicts = append(b.Verdicts, htmlVerdict{string(v), verdictClass(v), n})
		}
	}
	b.Warnings = r.warnings()
	documents := slices.Clone(r.Documents)
	slices.SortStableFunc(documents, func(x, y DocumentReport) int { return cmp.Compare(x.rank(), y.rank()) })
	b.More = max(0, len(documents)-maxShownDocuments)
	for _, d := range documents[:len(documents)-b.More] {
		b.Documents = append(b.Documents, newHTMLDocument(d))
	}
	b.Histogram = r.histogram(b.ID)
	b.LeftOut, b.MoreLeftOut = r.leftOutByReason()
	b.Inside = r.insideByReason()
	for _, s := range r.Stages {
		b.Stages = append(b.Stages, htmlFact{shown(s.Name, maxShownText), fmt.Sprintf("%.2f s", s.Took.Seconds())})
	}
	return b
}

// failureText says what ended a bake, and what can be done.
func failureText(err error) (text, hint string) {
	if h := (interface{ Hint() string })(nil); errors.As(err, &h) {
		hint = h.Hint()
	}
	if bad := (*DocumentsError)(nil); errors.As(err, &bad) {
		return fmt.Sprintf("%d documents could not be read. They come first in the table.", len(bad.Documents)), hint
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, shown(line, maxShownFailure))
	}
	text = strings.Join(lines, "\n")
	if utf8.RuneCountInString(text) > maxShownFailure {
		text = string([]rune(text)[:maxShownFailure]) + " …"
	}
	return text, hint
}

// facts are what counts most.
func (r *Report) facts() (list []htmlFact) {
	add := func(name, format string, args ...any) {
		list = append(list, htmlFact{name, shown(fmt.Sprintf(format, args...), maxShownText)})
	}
	if r.Digest != "" {
		add("Version", "%s", r.Digest)
	}
	if r.Artifact != "" {
		add("Artifact", "%s, %s", r.Artifact, bytesText(r.Bytes))
	}
	add("Folder", "%s", r.Folder)
	if r.Revision != "" {
		add("Revision", "%s", r.Revision)
	}
	pages, bad, blank := 0, 0, 0
	for _, d := range r.Documents {
		pages, bad, blank = pages+d.Pages, bad+len(d.BadPages)+d.MoreBad, blank+d.Blank
	}
	add("Documents", "%d", len(r.Documents))
	if pages > 0 {
		add("Pages", "%d (%d bad, %d blank)", pages, bad, blank)
	}
	if r.Chunks > 0 {
		add("Chunks", "%d with %d tokens", r.Chunks, r.Tokens)
	}
	if r.Terms > 0 {
		add("Terms", "%d", r.Terms)
	}
	if r.Digest != "" && r.Settings.Mode != "keyword" {
		add("Embedded", "%d passages now, %d from the cache", r.Embedded, r.Chunks-r.Embedded)
	}
	var took time.Duration
	for _, s := range r.Stages {
		took += s.Took
	}
	add("Time", "%.1f s", took.Seconds())
	return list
}

// facts are the settings by their keys in base.yaml, empty ones left out.
func (s Settings) facts() (list []htmlFact) {
	add := func(key string, value any) {
		if text := shown(fmt.Sprint(value), maxShownText); text != "" {
			list = append(list, htmlFact{key, text})
		}
	}
	add("mode", s.Mode)
	add("chunk_size", s.ChunkSize)
	add("chunk_overlap", s.ChunkOverlap)
	add("top_k", s.TopK)
	add("min_score", s.MinScore)
	if s.Mode != "keyword" {
		add("model", s.Model)
		add("embedder", s.Embedder)
	}
	add("language", strings.Join(s.Languages, ", "))
	add("pdf_engine", s.PDFEngine)
	add("bad_pages", s.BadPages)
	add("pdf_password_env", strings.Join(s.PasswordEnv, ", "))
	add("encoding", s.Encoding)
	add("serial", s.Serial)
	add("skip", strings.Join(s.Skip, ", "))
	var boosts []string
	for _, contentType := range slices.Sorted(maps.Keys(s.Boosts)) {
		boosts = append(boosts, fmt.Sprintf("%s %.2f", contentType, s.Boosts[contentType]))
	}
	add("boosts", strings.Join(boosts, ", "))
	return list
}

// verdictOrder lists the verdicts from worst to best.
var verdictOrder = []Verdict{Failed, Encrypted, Garbled, Scanned, Partial, Skipped, Blank, Draft, OK}

// verdictClass says how a verdict looks.
func verdictClass(v Verdict) string {
	switch v {
	case OK:
		return "good"
	case Blank, Draft:
		return "mild"
	case Partial, Skipped:
		return "part"
	}
	return "bad"
}

// rank orders documents for people: what wants a look comes first.
func (d DocumentReport) rank() int {
	rank := 2 * slices.Index(verdictOrder, d.Verdict)
	if len(d.BadPages) > 0 {
		rank--
	}
	return rank
}

func newHTMLDocument(d DocumentReport) htmlDocument {
	h := htmlDocument{
		Verdict: shown(string(d.Verdict), maxShownText), Class: verdictClass(d.Verdict),
		Path: shown(d.Path, maxShownText), Title: shown(d.Title, maxShownText), Reason: shown(d.Reason, maxShownText),
		Chunks: number(d.Chunks), Tokens: number(sum(d.Tokens)), Size: bytesText(int64(d.Bytes)), Pages: number(d.Pages),
	}
	var inside []string
	for _, reason := range slices.Sorted(maps.Keys(d.LeftOut)) {
		if n := d.LeftOut[reason]; n > 0 {
			inside = append(inside, fmt.Sprintf("%s %d", reason, n))
		}
	}
	h.Inside = shown(strings.Join(inside, ", "), maxShownText)
	for _, p := range d.BadPages {
		name := fmt.Sprintf("page %d", p.Number)
		if p.Label != "" {
			name += " (" + shown(p.Label, 40) + ")"
		}
		h.BadPages = append(h.BadPages, htmlPageLine{name, shown(string(p.Verdict), maxShownText), verdictClass(p.Verdict), shown(p.Reason, maxShownText), shown(p.Words, maxShownText)})
	}
	if d.MoreBad > 0 {
		h.MoreBad = "and " + plural(d.MoreBad, "page") + " more"
	}
	for _, line := range d.Running {
		h.Running = append(h.Running, htmlRunning{shown(line.Text, 120), plural(line.Pages, "page")})
	}
	return h
}

const (
	tinyTokens = 10   // a document with fewer has hardly anything to find
	hugeChunks = 1000 // one with more is rarely about one thing
)

// warnings are what is right by the rules and yet often a mistake.
func (r *Report) warnings() (list []htmlWarning) {
	add := func(w *htmlWarning, format string, names ...any) {
		if len(w.Names) == maxShownNames {
			w.More++
			return
		}
		for i, name := range names {
			names[i] = shown(fmt.Sprint(name), maxShownText)
		}
		w.Names = append(w.Names, fmt.Sprintf(format, names...))
	}
	unmatched := htmlWarning{Text: "Settings of base.yaml that match no document:"}
	blank := htmlWarning{Text: "Documents with nothing in them:"}
	tiny := htmlWarning{Text: fmt.Sprintf("Documents with hardly any text (fewer than %d tokens):", tinyTokens)}
	huge := htmlWarning{Text: fmt.Sprintf("Very large documents (more than %d chunks), which are easier to cite when split:", hugeChunks)}
	same := htmlWarning{Text: "Documents with the same text, each of which takes a place in results:"}
	for _, setting := range r.Unmatched {
		add(&unmatched, "%s", setting)
	}
	first := map[[32]byte]string{}
	for _, d := range r.Documents {
		tokens := sum(d.Tokens)
		switch {
		case d.Verdict == Blank:
			add(&blank, "%s", d.Path)
		case d.Chunks > hugeChunks:
			add(&huge, "%s: %s", d.Path, plural(d.Chunks, "chunk"))
		case d.Chunks > 0 && tokens < tinyTokens:
			add(&tiny, "%s: %s", d.Path, plural(tokens, "token"))
		}
		if d.text == [32]byte{} {
			continue
		}
		if other, ok := first[d.text]; ok {
			add(&same, "%s and %s", d.Path, other)
		} else {
			first[d.text] = d.Path
		}
	}
	for _, w := range []htmlWarning{unmatched, blank, tiny, huge, same} {
		if len(w.Names) > 0 {
			list = append(list, w)
		}
	}
	return list
}

// leftOutByReason groups the files that are no documents. A file's extension is part of its reason.
func (r *Report) leftOutByReason() (list []htmlLeftOut, more int) {
	index := map[string]int{}
	for _, l := range r.LeftOut {
		at, ok := index[l.Reason]
		if !ok {
			at = len(list)
			index[l.Reason] = at
			list = append(list, htmlLeftOut{Reason: shown(l.Reason, maxShownText)})
		}
		list[at].Count++
		if len(list[at].Examples) < maxExamples {
			list[at].Examples = append(list[at].Examples, shown(l.Path, maxShownText))
		} else {
			list[at].More++
		}
	}
	slices.SortStableFunc(list, func(x, y htmlLeftOut) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason))
	})
	more = max(0, len(list)-maxShownNames)
	return list[:len(list)-more], more
}

// insideByReason counts what was left out inside documents, and in how many of them.
func (r *Report) insideByReason() (list []htmlInside) {
	counts := r.leftOutInside()
	documents := map[string]int{}
	for _, d := range r.Documents {
		for reason, n := range d.LeftOut {
			if n > 0 {
				documents[reason]++
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, htmlInside{shown(reason, maxShownText), counts[reason], documents[reason]})
	}
	return list
}

// Where the histogram's bars stand.
const (
	histogramBins  = 10
	histogramLeft  = 12
	histogramWidth = 456
	histogramTop   = 20 // room for a number above the highest bar
	histogramBase  = 160
)

// histogram counts the chunks by their tokens, in ten bins up to chunk_size, and one for those above it; nil without
// chunks.
func (r *Report) histogram(id string) *htmlHistogram {
	var tokens []int
	for _, d := range r.Documents {
		tokens = append(tokens, d.Tokens...)
	}
	if len(tokens) == 0 {
		return nil
	}
	slices.Sort(tokens)
	size := max(r.Settings.ChunkSize, 1)
	step := (size + histogramBins - 1) / histogramBins
	counts := make([]int, (size+step-1)/step)
	over := 0
	for _, n := range tokens {
		if n > size {
			over++
		} else {
			counts[(max(n, 1)-1)/step]++
		}
	}
	bins := len(counts)
	if over > 0 {
		counts = append(counts, over)
	}
	h := &htmlHistogram{ID: id + "-chunks", Summary: fmt.Sprintf("The smallest chunk has %s, the median %d, the largest %d; chunk_size is %d.",
		plural(tokens[0], "token"), tokens[len(tokens)/2], tokens[len(tokens)-1], size)}
	most, width := slices.Max(counts), histogramWidth/len(counts)
	var parts []string
	for i, n := range counts {
		name := fmt.Sprintf("%d to %s", i*step+1, plural(min((i+1)*step, size), "token"))
		if i == bins {
			name = "more tokens than chunk_size"
		}
		title := fmt.Sprintf("%s: %s", name, plural(n, "chunk"))
		parts = append(parts, title)
		x, height := histogramLeft+i*width, (histogramBase-histogramTop)*n/most
		if n > 0 {
			height = max(height, 2)
			h.Bars = append(h.Bars, htmlBar{x + 2, histogramBase - height, width - 4, height, x + width/2, histogramBase - height - 5, n, title})
		}
		if i < bins {
			h.Ticks = append(h.Ticks, htmlTick{x, strconv.Itoa(i * step)})
		}
	}
	h.Ticks = append(h.Ticks, htmlTick{histogramLeft + bins*width, strconv.Itoa(size)})
	h.Text = strings.Join(parts, "; ")
	return h
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// number is "" for 0, which says nothing in a table.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func bytesText(n int64) string {
	switch {
	case n < 1000:
		return plural(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// shown makes text of documents fit to be shown on one line: at most that many characters, blanks single, and
// characters that can't be seen or that turn the direction of text as \u and their number.
func shown(s string, most int) string {
	var b strings.Builder
	count, blank := 0, false
	for _, r := range s { // what is not UTF-8 comes as U+FFFD
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if count++; count > most {
			b.WriteString(" …")
			break
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		switch {
		case unicode.In(r, unicode.Cc, unicode.Co) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d':
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
