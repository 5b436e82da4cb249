package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/larder/artifact"
)

const unavailable = `{"error":"lookup unavailable"}`

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLookUpShapes(t *testing.T) {
	b := openShop(t, Hybrid)
	for _, empty := range []string{"", "  \n", "\u3000"} {
		if got := asJSON(t, b.LookUp(t.Context(), empty)); got != `{"results":[]}` {
			t.Errorf("%q: %s", empty, got)
		}
	}
	if got := asJSON(t, Answer{}); got != `{"results":[]}` {
		t.Errorf("the zero answer: %s", got)
	}
	keyword := openShop(t, Keyword)
	if got := asJSON(t, keyword.LookUp(t.Context(), "unheard-of")); got != `{"results":[]}` {
		t.Errorf("nothing found: %s", got)
	}
	want := `{"results":[{"text":"Complaints are answered within two days.\n\"Quotes\" \u0026 \u003cmarks\u003e stay as they are.","source":"policy.md"}]}`
	if got := asJSON(t, keyword.LookUp(t.Context(), "complaint")); got != want {
		t.Errorf("keyword hits have no score:\n%s, want\n%s", got, want)
	}
	a := b.LookUp(t.Context(), "A damaged box can be refused at the door.")
	got := asJSON(t, a)
	shape := regexp.MustCompile(`^\{"results":\[(\{"text":"([^"\\]|\\.)+","source":"[^"/]+"(,"score":-?[01](\.\d{1,3})?)?\},?){3}\]\}$`)
	if !shape.MatchString(got) || !strings.HasPrefix(got, `{"results":[{"text":"A damaged box can be refused at the door.","source":"shipping.md","score":0.`) {
		t.Errorf("hybrid: %s", got)
	}
	for _, p := range a.Results {
		if p.Score != nil && *p.Score != round3(*p.Score) {
			t.Errorf("score %v has more than 3 decimals", *p.Score)
		}
	}
	// The Russian note lies in a folder and is named without it.
	if a := keyword.LookUp(t.Context(), "возврат товара"); len(a.Results) != 1 || a.Results[0].Source != "возврат.txt" {
		t.Errorf("source: %+v", a)
	}
}

// A lookup interleaves, with the base's top-k and least score; a hit that only keyword search keeps has no score.
func TestLookUpSettings(t *testing.T) {
	base := shop(Hybrid)
	base.TopK, base.MinScore = 2, 0.999
	a := openBase(t, base).LookUp(t.Context(), "gift")
	if got := asJSON(t, a); got != `{"results":[{"text":"Gift cards can not be returned.","source":"policy.md"}]}` {
		t.Errorf("%s", got)
	}
	base.MinScore = 0
	b := openBase(t, base)
	a = b.LookUp(t.Context(), "gift")
	r := search(t, b, Query{Text: "gift", Fusion: Interleave})
	if len(a.Results) != 2 || len(r.Hits) != 2 {
		t.Fatalf("%d and %d results, want 2", len(a.Results), len(r.Hits))
	}
	for i, p := range a.Results {
		if h := r.Hits[i]; p.Text != h.Text || (p.Score == nil) != (h.MeaningRank == 0) || p.Score != nil && *p.Score != round3(*h.Cosine) {
			t.Errorf("result %d: %+v for %+v", i, p, h)
		}
	}
}

func TestRound3(t *testing.T) {
	for x, want := range map[float64]string{0.12349: "0.123", 0.1235: "0.124", 0.9996: "1", -0.0004: "0", -0.25: "-0.25", 0: "0", 1: "1"} {
		if got := asJSON(t, round3(x)); got != want {
			t.Errorf("%v is rounded to %s, want %s", x, got, want)
		}
	}
}

// A panicking handler logs nothing and brings nothing down.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("the disk is full") }

func TestLookUpNeverPanics(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	b := openShop(t, Hybrid)
	broken := openShop(t, Hybrid)
	broken.questions.encoder = nil // as nothing that Open returns is
	var none *Base
	for name, got := range map[string]Answer{
		"nil base":                 none.LookUp(t.Context(), "refund"),
		"zero base":                new(Base).LookUp(t.Context(), "refund"),
		"nil context":              b.LookUp(nil, "refund"), //lint:ignore SA1012 it must not panic
		"cancelled":                b.LookUp(cancelled, "refund"),
		"cancelled, empty":         b.LookUp(cancelled, ""),
		"expired":                  b.LookUp(expired, "refund"),
		"a panic in the search":    broken.LookUp(t.Context(), "refund"),
		"a panic, then a blank":    broken.LookUp(cancelled, "refund"),
		"nil base, nil everything": none.LookUp(nil, ""), //lint:ignore SA1012 it must not panic
	} {
		if asJSON(t, got) != unavailable || len(got.Results) > 0 {
			t.Errorf("%s: %s", name, asJSON(t, got))
		}
	}
	s := mustShelf(t, shop(Hybrid))
	b, err := Open(s, "shop", Options{Logger: slog.New(panicking{slog.DiscardHandler})})
	if err != nil {
		t.Fatal(err)
	}
	if a := b.LookUp(t.Context(), "refund"); a.Error != "" || len(a.Results) != 3 {
		t.Errorf("with a logger that panics: %+v", a)
	}
	b.questions.encoder = nil
	if a := b.LookUp(t.Context(), "refund"); a.Error != LookupUnavailable {
		t.Errorf("with a logger that panics, and a search: %+v", a)
	}
}

// Nothing of a query or a passage is in the log, at any level, whatever comes of the lookup.
func TestLookUpLog(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.Level(math.MinInt), AddSource: true}))
	b, err := Open(mustShelf(t, shop(Hybrid)), "shop", Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	query := "Xylophone refund after the return has arrived"
	if a := b.LookUp(t.Context(), query); len(a.Results) != 3 {
		t.Fatalf("%+v", a)
	}
	b.LookUp(cancelled, query)
	b.LookUp(t.Context(), "")
	b.questions.encoder = nil
	b.LookUp(t.Context(), query)
	text := strings.ToLower(log.String())
	if lines := strings.Count(text, "\n"); lines != 4 {
		t.Errorf("%d lines for 4 lookups:\n%s", lines, text)
	}
	words := strings.Fields(strings.ToLower(query))
	for _, d := range shop(Hybrid).Documents {
		for _, chunk := range d.Chunks {
			words = append(words, strings.Fields(strings.ToLower(chunk))...)
		}
	}
	checked := 0
	for _, w := range words {
		if w = strings.Trim(w, ".,"); len(w) < 6 {
			continue
		}
		checked++
		if strings.Contains(text, w) {
			t.Errorf("%q is in the log:\n%s", w, text)
		}
	}
	if checked < 20 {
		t.Errorf("only %d words looked for", checked)
	}
	for _, want := range []string{`"msg":"lookup","base":"shop","results":3,"ms":`, `"msg":"lookup failed","base":"shop","reason":"canceled"}`, `"msg":"lookup panicked","base":"shop"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s:\n%s", want, text)
		}
	}
}

// Each kind of error counts for an agent as one.
func TestLookUpOfDamage(t *testing.T) {
	b := openShop(t, Hybrid)
	b.artifact.Manifest.Settings.Mode = artifact.Mode("both")
	if got := asJSON(t, b.LookUp(t.Context(), "refund")); got != unavailable {
		t.Errorf("%s", got)
	}
}

const note = `The results may not answer the question. They are ordered best first, and each carries a relevance score where a higher number means a closer match. If nothing returned actually answers what was asked, say you do not have that information rather than offering the closest result.`

func TestTool(t *testing.T) {
	b := openShop(t, Keyword)
	const schema = `"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to look up. Use the caller's own words."}},"required":["query"],"additionalProperties":false}}`
	for _, c := range []struct{ name, description, want string }{
		{"look_up_refund_policy", "Look up the refund and complaints policy. Use it before you state any refund or timescale.",
			`{"name":"look_up_refund_policy","description":"Look up the refund and complaints policy. Use it before you state any refund or timescale.\n\n` + note + `",` + schema},
		{"", "", `{"name":"look_up","description":"` + note + `",` + schema},
		{"faq", "", `{"name":"faq","description":"` + note + `",` + schema},
	} {
		if got := asJSON(t, b.Tool(c.name, c.description)); got != c.want {
			t.Errorf("tool\n%s, want\n%s", got, c.want)
		}
	}
}
