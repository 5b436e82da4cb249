//go:build heavy

package postgres

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
	"example.com/larder/serve/query"
)

// opened is a base in this process.
type opened struct{ *reader.Base }

func (o opened) Name() string          { return o.Manifest().Base }
func (o opened) Opened() (bool, error) { return true, nil }
func (o opened) Current() *reader.Base { return o.Base }

// save writes bases to a shelf on disk and returns it.
func save(t testing.TB, bases ...shelf.Base) string {
	t.Helper()
	s, err := shelf.New(bases...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openBase(t testing.TB, folder string) *reader.Base {
	t.Helper()
	b, err := reader.OpenDir(folder, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func push1(t testing.TB, folder, address string, o PushOptions) *Pushed {
	t.Helper()
	p, err := Push(t.Context(), folder, address, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func connect(t testing.TB, address string, o Options) *Connection {
	t.Helper()
	if o.Slug == "" {
		o.Slug = "db"
	}
	c, err := Open(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openSpace(t testing.TB, c query.Connection, name string) query.View {
	t.Helper()
	spaces, err := c.Spaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spaces {
		if s.Name() == name {
			v, err := s.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(v.Close)
			return v
		}
	}
	t.Fatalf("there is no space %s", name)
	return nil
}

// bases are of every mode, and of several sizes of vectors.
func bases() []shelf.Base {
	return []shelf.Base{
		{Name: "hybrid", Documents: shelf.Documents(120, 5), Boosts: map[string]float64{"faq": 1.2, "note": 0.9}},
		{Name: "meaning", Mode: artifact.Meaning, Dimensions: 56, MinScore: 0.2, Documents: shelf.Documents(40, 4)},
		{Name: "keyword", Mode: artifact.Keyword, Documents: shelf.Documents(60, 3), Boosts: map[string]float64{"article": 2}},
	}
}

var filters = []reader.Filters{
	{},
	{ContentType: []string{"faq"}},
	{ContentType: []string{"article"}},
	{ContentType: []string{"article", "note"}, Topics: []string{"billing", "stock"}},
	{UnitID: []string{"unit-1", "unit-3"}},
	{Topics: []string{"returns"}, DateFrom: "2026-03-01", DateTo: "2026-08-31"},
	{DateFrom: "2026-11-01"},
	{DateTo: "2026-02-10", UnitID: []string{"unit-0"}},
	{Topics: []string{"no such topic"}},
	{UnitID: []string{"unit-2", "a\x00b", "\xff"}},
}

// TestConformance: a database answers as the reader does.
func TestConformance(t *testing.T) {
	list := bases()
	dir := save(t, list...)
	address := database(t)
	for _, b := range list {
		p := push1(t, filepath.Join(dir, b.Name), address, PushOptions{})
		if p.Existed || p.Current || p.Documents != len(b.Documents) || p.Indexed != (b.Mode != artifact.Keyword) {
			t.Errorf("%+v", p)
		}
	}
	c := connect(t, address, Options{ExactBelow: math.MaxInt32})
	cases := 0
	for _, b := range list {
		local := openBase(t, filepath.Join(dir, b.Name))
		v := openSpace(t, c, b.Name)
		if v.Version() != local.Artifact().Digest || !reflect.DeepEqual(v.Manifest(), local.Manifest()) {
			t.Errorf("%s is another version in the database", b.Name)
		}
		for _, question := range append(shelf.Questions(40), "", " ", strings.Repeat("refund ", 2000), "'; DROP TABLE x; --", "a\x00b \xff") {
			for _, f := range filters {
				cases++
				compare(t, local, v, question, f)
			}
		}
		for i := range local.Artifact().Documents() {
			compareDocument(t, local, v, i)
		}
	}
	t.Logf("%d searches", cases)
}

func compare(t *testing.T, local *reader.Base, v query.View, question string, f reader.Filters) {
	t.Helper()
	want, err := local.Sides(t.Context(), question, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Sides(t.Context(), question, f)
	if err != nil {
		t.Fatal(err)
	}
	where := fmt.Sprintf("%s, %.20q, %+v", local.Manifest().Base, question, f)
	if got.Scope != want.Scope || got.Cut != want.Cut || got.Mode != want.Mode || got.Scan != want.Scan && want.Scope > 0 && !reader.Blank(question) || !slices.Equal(got.Terms, want.Terms) {
		t.Errorf("%s: %+v, want %+v", where, got, want)
	}
	sameSide(t, where+", meaning", got.Meaning, want.Meaning, func(c reader.Candidate) float64 { return *c.Cosine })
	sameSide(t, where+", keyword", got.Keyword, want.Keyword, func(c reader.Candidate) float64 { return c.BM25 })
	var chunks []int
	for _, c := range slices.Concat(want.Keyword, want.Meaning) {
		chunks = append(chunks, c.Chunk)
	}
	hits, err := v.Hits(t.Context(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range local.Hits(chunks) {
		if !reflect.DeepEqual(hits[i], withoutChunk(h)) {
			t.Fatalf("%s: hit %d is %+v, want %+v", where, i, hits[i], h)
		}
	}
}

// withoutChunk goes by JSON's fields: the number of the chunk is the reader's own.
func withoutChunk(h reader.Hit) reader.Hit {
	var plain reader.Hit
	from, to := reflect.ValueOf(h), reflect.ValueOf(&plain).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return plain
}

// sameSide compares candidates: the same chunks in the same order, but where scores differ by less than a millionth.
func sameSide(t *testing.T, where string, got, want []reader.Candidate, score func(reader.Candidate) float64) {
	t.Helper()
	const gap = 1e-6
	if len(got) != len(want) {
		t.Fatalf("%s: %d candidates, want %d", where, len(got), len(want))
	}
	place := map[int]int{}
	for i, c := range want {
		place[c.Chunk] = i
	}
	for i, c := range got {
		if math.Abs(score(c)-score(want[i])) > gap {
			t.Fatalf("%s: candidate %d scores %v, want %v", where, i, score(c), score(want[i]))
		}
		k, ok := place[c.Chunk]
		if !ok && score(c)-score(want[len(want)-1]) > gap || ok && math.Abs(score(want[k])-score(want[i])) > gap {
			t.Fatalf("%s: candidate %d is chunk %d, want %d", where, i, c.Chunk, want[i].Chunk)
		}
		if ok && (c.ContentType != want[k].ContentType || (c.Cosine == nil) != (want[k].Cosine == nil) || c.Cosine != nil && *c.Cosine != *want[k].Cosine) {
			t.Fatalf("%s: candidate %d is %+v, want %+v", where, i, c, want[k])
		}
	}
}

func compareDocument(t *testing.T, local *reader.Base, v query.View, i int) {
	t.Helper()
	info := local.Artifact().Document(i)
	d, err := v.Document(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := query.NewDocument(info, string(local.Artifact().DocumentText(i))); !reflect.DeepEqual(d, want) {
		t.Errorf("document %d is %+v, want %+v", i, d, want)
	}
}

// TestServiceAnswersAlike: whole results, over all spaces together, are the same from a shelf and from a database.
func TestServiceAnswersAlike(t *testing.T) {
	list := bases()
	dir := save(t, list...)
	address := database(t)
	var local []query.Base
	for _, b := range list {
		push1(t, filepath.Join(dir, b.Name), address, PushOptions{})
		local = append(local, opened{openBase(t, filepath.Join(dir, b.Name))})
	}
	c := connect(t, address, Options{ExactBelow: math.MaxInt32})
	s := query.New([]query.Connection{query.NewShelf("shelf", local), c}, nil)
	infos := s.Connections(t.Context())
	if len(infos) != 2 || infos[0].Chunks != infos[1].Chunks || !reflect.DeepEqual(infos[0].Spaces, infos[1].Spaces) || infos[1].Status != query.Ready {
		t.Errorf("%+v", infos)
	}
	for _, question := range shelf.Questions(30) {
		r := query.Request{Query: question, TopK: 20, Explain: true, Filters: query.Filters{ContentType: []string{"article", "faq"}}}
		want, err := s.Search(t.Context(), "shelf", r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Search(t.Context(), "db", r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Hits, want.Hits) || got.Scope != want.Scope || got.Message != want.Message {
			t.Errorf("%q: %+v, want %+v", question, got, want)
		}
	}
}
