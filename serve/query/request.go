package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/larder/reader"
)

// Limits of a request.
const (
	DefaultTopK = 5
	MaxTopK     = 100
	maxValues   = 100  // of a filter
	maxValue    = 1000 // bytes of one of them
)

// A Request is a question and how to answer it.
type Request struct {
	Query   string
	Space   string // "" for all of the connection
	TopK    int    // 1 to MaxTopK; 0 for DefaultTopK
	Filters Filters
	Answer  bool // an answer with citations is wanted, which the caller of this package writes
	Explain bool // say how each hit was found
}

// Filters restrict a search to documents with certain metadata, before anything is ranked. Fields are combined with and,
// the values of one field with or.
type Filters struct {
	UnitID      []string
	ContentType []string // documents without one are articles
	Topics      []string
	// From and To are days as YYYY-MM-DD, both inclusive; "" is an open end. Documents without a date are left out as soon
	// as one of them is given.
	From, To string
}

// The fields of filters.
var filterFields = []string{"content_type", "date_range", "topics", "unit_id"}

func (f Filters) reader() reader.Filters {
	return reader.Filters{ContentType: f.ContentType, Topics: f.Topics, UnitID: f.UnitID, DateFrom: f.From, DateTo: f.To}
}

// set lists the fields that filter.
func (f Filters) set() (fields []string) {
	for i, on := range []bool{len(f.ContentType) > 0, f.From != "" || f.To != "", len(f.Topics) > 0, len(f.UnitID) > 0} {
		if on {
			fields = append(fields, filterFields[i])
		}
	}
	return fields
}

// without returns the filters without a field.
func (f Filters) without(field string) Filters {
	switch field {
	case "content_type":
		f.ContentType = nil
	case "date_range":
		f.From, f.To = "", ""
	case "topics":
		f.Topics = nil
	case "unit_id":
		f.UnitID = nil
	}
	return f
}

// Check returns an [Error] that names the first field that is wrong.
func (r Request) Check() error {
	if !strings.ContainsFunc(r.Query, func(c rune) bool { return !unicode.IsSpace(c) && !unicode.IsControl(c) }) {
		return invalid("query", nil, "query: a question is needed")
	}
	if r.TopK < 0 || r.TopK > MaxTopK {
		return invalid("top_k", nil, "top_k: %d is not from 1 to %d", r.TopK, MaxTopK)
	}
	return r.Filters.check()
}

func (f Filters) check() error {
	for i, values := range [][]string{f.UnitID, f.ContentType, f.Topics} {
		field := "filters." + []string{"unit_id", "content_type", "topics"}[i]
		if len(values) > maxValues {
			return invalid(field, nil, "%s: more than %d values", field, maxValues)
		}
		for _, v := range values {
			if v == "" || len(v) > maxValue || !utf8.ValidString(v) {
				return invalid(field, nil, "%s: a value is empty, longer than %d bytes, or not text", field, maxValue)
			}
		}
	}
	for i, day := range []string{f.From, f.To} {
		field := "filters.date_range." + []string{"from", "to"}[i]
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return invalid(field, nil, "%s: not a day as YYYY-MM-DD", field)
		}
	}
	if f.From != "" && f.To != "" && f.From > f.To {
		return invalid("filters.date_range", nil, "filters.date_range: from is after to")
	}
	return nil
}

// ParseRequest reads a request from JSON: query, and optionally space, top_k, filters, answer and explain, of which null
// counts as not given. Unknown fields are errors, and so are repeated ones.
func ParseRequest(data []byte) (Request, error) {
	r := Request{}
	err := fields(data, "", map[string]func(json.RawMessage, string) error{
		"query":   into(&r.Query, "a string"),
		"space":   into(&r.Space, "a string, or null for all spaces"),
		"top_k":   topK(&r.TopK),
		"filters": r.Filters.parse,
		"answer":  into(&r.Answer, "true or false"),
		"explain": into(&r.Explain, "true or false"),
	})
	if err != nil {
		return r, err
	}
	return r, r.Check()
}

// ParseFilters reads filters from JSON: unit_id, content_type and topics, each with a value or a list, and date_range with
// from and to.
func ParseFilters(data []byte) (f Filters, err error) {
	if err := f.parse(data, "filters"); err != nil {
		return f, err
	}
	return f, f.check()
}

func (f *Filters) parse(data json.RawMessage, field string) error {
	return fields(data, field, map[string]func(json.RawMessage, string) error{
		"unit_id":      values(&f.UnitID),
		"content_type": values(&f.ContentType),
		"topics":       values(&f.Topics),
		"date_range": func(data json.RawMessage, field string) error {
			return fields(data, field, map[string]func(json.RawMessage, string) error{
				"from": into(&f.From, "a day as YYYY-MM-DD, or null"),
				"to":   into(&f.To, "a day as YYYY-MM-DD, or null"),
			})
		},
	})
}

// fields reads an object whose fields are known, each by its function.
func fields(data json.RawMessage, of string, known map[string]func(value json.RawMessage, field string) error) error {
	names := slices.Sorted(maps.Keys(known))
	where := of
	if where == "" {
		where = "the request"
	}
	notObject := invalid(of, names, "%s is not a JSON object with the fields %s", where, strings.Join(names, ", "))
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return notObject
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return notObject
		}
		field := strings.TrimPrefix(of+"."+name, ".")
		switch {
		case known[name] == nil:
			return invalid(cut(field), names, "unknown field %s; %s has %s", strconv.Quote(cut(field)), where, strings.Join(names, ", "))
		case seen[name]:
			return invalid(field, nil, "%s is given twice", field)
		}
		seen[name] = true
		if string(value) == "null" {
			continue
		}
		if err := known[name](value, field); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return notObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return notObject
	}
	return nil
}

// cut is what of a name that a caller gave may be quoted.
func cut(name string) string {
	if len(name) > 80 {
		return strings.ToValidUTF8(name[:80], "") + "…"
	}
	return name
}

func into[T any](to *T, what string) func(json.RawMessage, string) error {
	return func(value json.RawMessage, field string) error {
		if json.Unmarshal(value, to) != nil {
			return invalid(field, nil, "%s is not %s", field, what)
		}
		return nil
	}
}

func topK(to *int) func(json.RawMessage, string) error {
	return func(value json.RawMessage, field string) error {
		if json.Unmarshal(value, to) != nil || *to < 1 {
			return invalid(field, nil, "%s is not a number from 1 to %d", field, MaxTopK)
		}
		return nil
	}
}

func values(to *[]string) func(json.RawMessage, string) error {
	return func(value json.RawMessage, field string) error {
		var one string
		if json.Unmarshal(value, &one) == nil {
			*to = []string{one}
			return nil
		}
		if json.Unmarshal(value, to) != nil {
			return invalid(field, nil, "%s is not a string or a list of strings", field)
		}
		return nil
	}
}

// ParseFilter adds a filter written as name=value to f: unit_id, content_type, topics, date_from or date_to, or date_range
// as FROM..TO.
func (f *Filters) ParseFilter(text string) error {
	name, value, ok := strings.Cut(text, "=")
	value = strings.TrimSpace(value)
	known := []string{"unit_id", "content_type", "topics", "date_range"}
	if !ok || value == "" {
		return fmt.Errorf("%q is not NAME=VALUE with one of the names %s", text, strings.Join(known, ", "))
	}
	switch strings.TrimSpace(name) {
	case "unit_id":
		f.UnitID = append(f.UnitID, value)
	case "content_type":
		f.ContentType = append(f.ContentType, value)
	case "topics":
		f.Topics = append(f.Topics, value)
	case "date_range":
		from, to, ok := strings.Cut(value, "..")
		if !ok {
			return fmt.Errorf("date_range %q is not FROM..TO, two days as YYYY-MM-DD of which one may be left out", value)
		}
		f.From, f.To = from, to
	default:
		return fmt.Errorf("there is no filter %q; there are %s", name, strings.Join(known, ", "))
	}
	return f.check()
}
