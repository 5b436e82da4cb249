package query

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
)

// open is a base in memory.
type open struct{ base *reader.Base }

func (o open) Name() string          { return o.base.Manifest().Base }
func (o open) Opened() (bool, error) { return true, nil }
func (o open) Current() *reader.Base { return o.base }

// shut is a base that is not open.
type shut struct {
	name string
	err  error
}

func (s shut) Name() string          { return s.name }
func (s shut) Opened() (bool, error) { return false, s.err }
func (s shut) Current() *reader.Base { return nil }

func openBase(t testing.TB, b shelf.Base) open {
	t.Helper()
	s, err := shelf.New(b)
	if err != nil {
		t.Fatal(err)
	}
	base, err := reader.Open(s, b.Name, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return open{base}
}

func shop(t testing.TB, mode artifact.Mode) open {
	return openBase(t, shelf.Base{
		Name: "shop", Mode: mode, Boosts: map[string]float64{"faq": 1.2, "note": 0.9},
		Documents: []shelf.Document{
			{Path: "faq/refunds.md", Title: "Refunds", ContentType: "faq", UnitID: "u1", Date: "2026-01-10", Topics: []string{"money", "returns"},
				HeadingPath: "Refunds > How long", Chunks: []string{
					"A refund takes 14 days after the return has arrived.",
					"The money goes back to the card that paid.\nError E-4012 means that the card has expired.",
				}},
			{Path: "note.md", Title: "Note", ContentType: "note", UnitID: "u2", Date: "2026-03-01", Chunks: []string{"A refund by card is a refund of money."}},
			{Path: "policy.md", Chunks: []string{"Complaints are answered within two days."}},
		},
	})
}

func ask(t testing.TB, s *Service, connection string, r Request) *Result {
	t.Helper()
	result, err := s.Search(t.Context(), connection, r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSearch(t *testing.T) {
	s := New([]Connection{NewShelf("first", []Base{shop(t, artifact.Hybrid)})}, nil)
	r := ask(t, s, "", Request{Query: "How long does a refund take?", Explain: true, TopK: 3})
	if len(r.Hits) != 3 || r.Connection != "first" || r.Scope != 4 || r.Message != "" {
		t.Fatalf("%+v", r)
	}
	h := r.Hits[0]
	if h.Title != "Refunds" || h.ContentType != "faq" || *h.Metadata.Section != "How long" || *h.Metadata.HeadingPath != "Refunds > How long" || h.Metadata.Page != nil || h.SimilarityScore == nil {
		t.Errorf("%+v", h)
	}
	for i, e := range r.Explain.Hits {
		want := e.Boost * reader.ReciprocalRanks(e.MeaningRank, e.KeywordRank)
		if e.ChunkID != r.Hits[i].ChunkID || e.Score != want || e.Why == "" || i > 0 && e.Score > r.Explain.Hits[i-1].Score {
			t.Errorf("hit %d: %+v, want the score %v", i, e, want)
		}
	}
	if e := r.Explain.Hits[0]; e.Boost != 1.2 || !slices.Contains(e.Terms, "refund") {
		t.Errorf("%+v", e)
	}
	d, err := s.Document(t.Context(), "", h.DocumentID)
	if err != nil || d.Path != "faq/refunds.md" || !strings.Contains(d.Text, h.Content) || d.Space != "shop" || d.Connection != "first" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestKeywordBase: a base without vectors has no similarity scores.
func TestKeywordBase(t *testing.T) {
	s := New([]Connection{NewShelf("first", []Base{shop(t, artifact.Keyword)})}, nil)
	r := ask(t, s, "first", Request{Query: "refund", Space: "shop"})
	if len(r.Hits) == 0 || r.Hits[0].SimilarityScore != nil || !strings.Contains(Markdown(r), "Score: n/a\n") {
		t.Errorf("%+v", r)
	}
}

func TestMessages(t *testing.T) {
	broken := shut{"broken", artifact.ErrCorrupt}
	s := New([]Connection{
		NewShelf("opening", []Base{shut{"slow", nil}}),
		NewShelf("bad", []Base{shop(t, artifact.Hybrid), broken}),
		NewShelf("good", []Base{shop(t, artifact.Hybrid)}),
	}, nil)
	if r := ask(t, s, "", Request{Query: "refund"}); r.Connection != "good" {
		t.Errorf("the first ready connection is %s", r.Connection)
	}
	if r := ask(t, s, "bad", Request{Query: "refund", Space: "shop"}); len(r.Hits) == 0 {
		t.Error("a space that is ready isn't searched beside a broken one")
	}
	if r := ask(t, s, "bad, good", Request{Query: "refund", Space: "shop"}); r.Connection != "bad,good" || r.Scope != 8 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		connection string
		request    Request
		kind       Kind
		message    string
	}{
		{"nowhere", Request{Query: "x"}, UnknownConnection, "Connection `nowhere` does not exist. Run `knowledge-admin action=health`."},
		{"good", Request{Query: "x", Space: "attic"}, UnknownSpace, "Space `attic` does not exist in connection `good`. Available spaces: shop."},
		{"", Request{Query: "x", Space: "attic"}, UnknownSpace, "Space `attic` does not exist in connection `good`. Available spaces: shop."},
		{"opening", Request{Query: "x"}, Unavailable, "Space `slow` of connection `opening` is being opened. Try again in a moment."},
		{"bad", Request{Query: "x"}, Unavailable, "Space `broken` of connection `bad` is not available: the artifact is damaged; it must be fetched or baked again. Name a space that is ready to search without it."},
		{"good", Request{Query: " \n"}, Invalid, "query: a question is needed"},
		{"good", Request{Query: "x", TopK: 101}, Invalid, "top_k: 101 is not from 1 to 100"},
	} {
		var e *Error
		if _, err := s.Search(t.Context(), c.connection, c.request); !errors.As(err, &e) || e.Kind != c.kind || e.Message != c.message {
			t.Errorf("%q %+v: %v", c.connection, c.request, err)
		}
	}
	var e *Error
	only := s.Only(func(slug string) bool { return slug == "opening" })
	if _, err := only.Search(t.Context(), "", Request{Query: "x"}); !errors.As(err, &e) || e.Message != "No Knowledge connection configured. Run `knowledge-admin action=connect` first." {
		t.Errorf("none ready: %v", err)
	}
	if _, err := only.Search(t.Context(), "good", Request{Query: "x"}); !errors.As(err, &e) || e.Kind != UnknownConnection {
		t.Errorf("a connection that may not be seen: %v", err)
	}
	infos := s.Connections(t.Context())
	if len(infos) != 3 || infos[0].Status != Loading || infos[1].Status != Failed || infos[2].Status != Ready || infos[2].Chunks != 4 || infos[1].Reason == "" {
		t.Errorf("%+v", infos)
	}
}

// TestNoHits: the advice names the filter that is to blame.
func TestNoHits(t *testing.T) {
	s := New([]Connection{NewShelf("first", []Base{shop(t, artifact.Keyword)})}, nil)
	for _, c := range []struct {
		query   string
		filters Filters
		want    string
	}{
		{"refund", Filters{Topics: []string{"none"}}, "No hits. Relax the filter `topics` (3 hits without it)."},
		{"refund", Filters{Topics: []string{"none"}, ContentType: []string{"note"}}, "No hits. Relax the filter `topics` (1 hit without it)."},
		{"refund", Filters{ContentType: []string{"note"}, UnitID: []string{"u1"}}, "No hits. Relax the filter `content_type` (2 hits without it) or `unit_id` (1 hit without it)."},
		{"refund", Filters{ContentType: []string{"x"}, UnitID: []string{"y"}, From: "2027-01-01"}, "No hits. No filter alone is to blame: relax several of `content_type`, `date_range`, `unit_id` (3 hits without any)."},
		{"zebra", Filters{ContentType: []string{"note"}}, "No hits, with these filters or without them. Ask in other words, or search all spaces."},
		{"zebra", Filters{}, "No hits. Ask in other words, or search all spaces."},
	} {
		if r := ask(t, s, "", Request{Query: c.query, Filters: c.filters}); len(r.Hits) != 0 || r.Message != c.want {
			t.Errorf("%s %+v: %q", c.query, c.filters, r.Message)
		}
	}
}

// TestModels: spaces of one model have one ranking by meaning, those of different ones a ranking each, which is said.
func TestModels(t *testing.T) {
	wide := openBase(t, shelf.Base{Name: "wide", Dimensions: 56, Documents: []shelf.Document{{Path: "a.md", ContentType: "article", Chunks: []string{"A refund takes a while."}}}})
	other := openBase(t, shelf.Base{Name: "other", Documents: []shelf.Document{{Path: "b.md", ContentType: "article", Chunks: []string{"How a refund is made.", "Nothing of the kind."}}}})
	one := New([]Connection{NewShelf("c", []Base{shop(t, artifact.Hybrid), other})}, nil)
	r := ask(t, one, "", Request{Query: "refund", Explain: true, TopK: 20})
	seen := map[int]bool{}
	for _, e := range r.Explain.Hits {
		if e.MeaningRank > 0 && seen[e.MeaningRank] {
			t.Errorf("meaning rank %d twice", e.MeaningRank)
		}
		seen[e.MeaningRank] = true
	}
	if r.Explain.Note != "" || len(r.Explain.Spaces) != 2 || len(seen) < 6 {
		t.Errorf("%+v", r.Explain)
	}
	two := New([]Connection{NewShelf("c", []Base{wide, other})}, nil)
	r = ask(t, two, "", Request{Query: "refund", Explain: true})
	if r.Explain.Note == "" || r.Explain.Hits[0].MeaningRank != 1 || r.Explain.Hits[1].MeaningRank != 1 {
		t.Errorf("%+v", r.Explain)
	}
}

func TestMarkdown(t *testing.T) {
	page, score := 7, 0.81249
	long := strings.Repeat("ё", 301)
	r := &Result{
		Hits: []Hit{
			{ContentType: "faq", Title: "Re\nfunds", Content: "one\ntwo", SimilarityScore: &score, Metadata: Metadata{Page: &page}},
			{ContentType: "article", Title: "Long", Content: long},
		},
		Scope: 12, Connection: "academy", Elapsed: 3*time.Millisecond + 999*time.Microsecond,
	}
	want := "**[faq]** Re funds — p.7\n> one two...\nScore: 0.812\n\n---\n\n**[article]** Long — p.?\n> " + strings.Repeat("ё", 300) + "...\nScore: n/a\n\nSearched 12 chunks in academy/all in 3ms\n"
	if got := Markdown(r); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	nothing := &Result{Connection: "a", Space: "b", Message: "No hits.", Warnings: []string{"Cut."}}
	if got, want := Markdown(nothing), "No hits.\n\nWarning: Cut.\n\nSearched 0 chunks in a/b in 0ms\n"; got != want {
		t.Errorf("%q", got)
	}
}
