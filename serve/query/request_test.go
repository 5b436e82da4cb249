package query

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for text, want := range map[string]Request{
		`{"query": "q"}`: {Query: "q"},
		`{"query": "q", "space": null, "top_k": null, "filters": null, "answer": null}`: {Query: "q"},
		`{"query": "q", "space": "s", "top_k": 7, "filters": {}, "answer": true, "explain": true}`: {
			Query: "q", Space: "s", TopK: 7, Answer: true, Explain: true},
		`{"query": "q", "filters": {"unit_id": "u", "content_type": ["a", "b"], "topics": ["t"], "date_range": {"from": "2026-01-01", "to": null}}}`: {
			Query: "q", Filters: Filters{UnitID: []string{"u"}, ContentType: []string{"a", "b"}, Topics: []string{"t"}, From: "2026-01-01"}},
	} {
		if got, err := ParseRequest([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	long := strings.Repeat("x", 1001)
	for text, field := range map[string]string{
		``:                                "",
		`[]`:                              "",
		`{"query": "q"} {}`:               "",
		`{"query": "q"`:                   "",
		`{}`:                              "query",
		`{"query": " "}`:                  "query",
		`{"query": 3}`:                    "query",
		`{"query": "q", "query": "q"}`:    "query",
		`{"query": "q", "q": 1}`:          "q",
		`{"query": "q", "space": 1}`:      "space",
		`{"query": "q", "top_k": 0}`:      "top_k",
		`{"query": "q", "top_k": 101}`:    "top_k",
		`{"query": "q", "top_k": 1.5}`:    "top_k",
		`{"query": "q", "answer": "yes"}`: "answer",
		`{"query": "q", "filters": []}`:   "filters",
		`{"query": "q", "filters": {"unit": "u"}}`:                                              "filters.unit",
		`{"query": "q", "filters": {"unit_id": 1}}`:                                             "filters.unit_id",
		`{"query": "q", "filters": {"unit_id": ""}}`:                                            "filters.unit_id",
		`{"query": "q", "filters": {"topics": "` + long + `"}}`:                                 "filters.topics",
		`{"query": "q", "filters": {"topics": [1]}}`:                                            "filters.topics",
		`{"query": "q", "filters": {"topics": [` + strings.Repeat(`"x",`, 100) + `"x"]}}`:       "filters.topics",
		`{"query": "q", "filters": {"date_range": "2026"}}`:                                     "filters.date_range",
		`{"query": "q", "filters": {"date_range": {"from": "2026-02-30"}}}`:                     "filters.date_range.from",
		`{"query": "q", "filters": {"date_range": {"to": "1.2.2026"}}}`:                         "filters.date_range.to",
		`{"query": "q", "filters": {"date_range": {"since": "2026-01-01"}}}`:                    "filters.date_range.since",
		`{"query": "q", "filters": {"date_range": {"from": "2026-02-01", "to": "2026-01-01"}}}`: "filters.date_range",
	} {
		var e *Error
		if _, err := ParseRequest([]byte(text)); !errors.As(err, &e) || e.Kind != Invalid || e.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseFilter(t *testing.T) {
	var f Filters
	for _, text := range []string{"topics=a", "topics= b", "unit_id=u=1", "content_type=faq", "date_range=2026-01-01..", "date_range=2026-01-01..2026-02-01"} {
		if err := f.ParseFilter(text); err != nil {
			t.Error(err)
		}
	}
	if want := (Filters{UnitID: []string{"u=1"}, ContentType: []string{"faq"}, Topics: []string{"a", "b"}, From: "2026-01-01", To: "2026-02-01"}); !reflect.DeepEqual(f, want) {
		t.Errorf("%+v", f)
	}
	for _, text := range []string{"", "topics", "topics=", "topic=a", "date_range=2026-01-01", "date_range=x..", "date_range=2026-02-01..2026-01-01"} {
		if err := new(Filters).ParseFilter(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"query": "q", "filters": {"unit_id": "u", "date_range": {"from": "2026-01-01"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRequest(data)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T", err)
		}
		if err == nil && r.Check() != nil {
			t.Fatal("a parsed request fails its check")
		}
	})
}
