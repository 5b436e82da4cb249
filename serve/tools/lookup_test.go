package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
)

// sampleBase is a base of the synthetic encoder.
type sampleBase struct {
	*reader.Base
	name string
}

func (s sampleBase) Name() string { return s.name }
func (s sampleBase) Declared() *artifact.Tool {
	if s.Base == nil {
		return nil
	}
	return s.Manifest().Tool
}
func (s sampleBase) Current() *reader.Base { return s.Base }

func openSample(t testing.TB, name string, tool *artifact.Tool) sampleBase {
	t.Helper()
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprintf("Step %d of the long way to return a parcel.", i))
	}
	s, err := shelf.New(shelf.Base{
		Name: name, Change: func(c *artifact.Content) { c.Tool = tool },
		Documents: []shelf.Document{
			{Path: "faq/returns.md", Title: "Returns", ContentType: "faq", Date: "2025-03-01", Topics: []string{"money"}, HeadingPath: "Returns > Parcel", Chunks: long},
			{Path: "refunds.md", Title: "Refunds", Chunks: []string{"The money is back within ten days. " + name, "We refund shipping <&> too."}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := reader.Open(s, name, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sampleBase{b, name}
}

func lookUpTools(t *testing.T, bases ...Base) []Tool {
	t.Helper()
	list, err := LookUpTools(bases)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func callTool(t *testing.T, tool Tool, arguments string, tokens int) (answer string, cut bool) {
	t.Helper()
	data, cut, err := tool.CallWithin(t.Context(), json.RawMessage(arguments), tokens)
	if err != nil {
		t.Fatalf("%s %s: %v", tool.Name, arguments, err)
	}
	validate(t, tool, data)
	return string(data), cut
}

// validate checks an answer against the tool's schema.
func validate(t *testing.T, tool Tool, answer json.RawMessage) {
	t.Helper()
	schema, err := tool.Output.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %s is not what its schema says: %v", tool.Name, answer, err)
	}
}

func TestLookUpNames(t *testing.T) {
	a, b := openSample(t, "alpha", nil), openSample(t, "beta", nil)
	declared := openSample(t, "gamma", &artifact.Tool{Name: "ask_gamma", Description: "Ask gamma."})
	described := openSample(t, "delta", &artifact.Tool{Description: "Ask delta."})
	long := openSample(t, strings.Repeat("x", 63), nil)
	names := func(list []Tool) (names []string) {
		for _, tool := range list {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := names(lookUpTools(t, a)); !slices.Equal(got, []string{"look_up"}) {
		t.Errorf("%q", got)
	}
	list := lookUpTools(t, a, b, declared, described, long)
	if got := names(list); !slices.Equal(got, []string{"look_up_alpha", "look_up_beta", "ask_gamma", "look_up_delta", "look_up_" + strings.Repeat("x", 56)}) {
		t.Errorf("%q", got)
	}
	if d := list[2].Description.EN; d != "Ask gamma.\n\n"+reader.WeakResultsNote {
		t.Errorf("description %q", d)
	}
	if d := list[0].Description.EN; d != reader.WeakResultsNote {
		t.Errorf("description %q", d)
	}
	twin := openSample(t, "twin", &artifact.Tool{Name: "ask_gamma"})
	if _, err := LookUpTools([]Base{declared, twin}); err == nil || !strings.Contains(err.Error(), "gamma and twin") {
		t.Errorf("two tools of one name: %v", err)
	}
}

func TestLookUpSchema(t *testing.T) {
	tool := lookUpTools(t, openSample(t, "alpha", nil))[0]
	got, err := json.Marshal(tool.Input)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{"query":{"type":"string","description":"What to look up. Use the caller's own words."}},"required":["query"],"additionalProperties":false}`; string(got) != want {
		t.Errorf("schema\n%s\nwant\n%s", got, want)
	}
	_, russian := tool.In(Russian)
	if d := russian.Properties["query"].Description; !strings.HasPrefix(d, "Что найти") {
		t.Errorf("in Russian %q", d)
	}
	for _, bad := range []string{"", "{}", `{"q":"x"}`, `{"query":"x","top_k":3}`, `{"query":3}`, `{"query":null}`, `[]`, `x`} {
		if _, err := tool.Call(t.Context(), json.RawMessage(bad)); !errors.Is(err, ErrArguments) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLookUpShapes(t *testing.T) {
	alpha := openSample(t, "alpha", nil)
	tool := lookUpTools(t, alpha)[0]
	for _, query := range []string{"shipping refund", "", " ", "\x00", strings.Repeat("refund ", 1<<17)} {
		arguments, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		got, cut := callTool(t, tool, string(arguments), DefaultBudget)
		want, err := compact(alpha.LookUp(t.Context(), query))
		if err != nil || got != string(want) || cut {
			t.Errorf("%.20q: %s, not %s", query, got, want)
		}
	}
	if got, _ := callTool(t, tool, `{"query":"shipping refund"}`, 0); !strings.Contains(got, "<&>") {
		t.Errorf("signs are written as codes: %s", got)
	}
	gone := lookUpTools(t, sampleBase{nil, "gone"})[0]
	if got, _ := callTool(t, gone, `{"query":"refund"}`, 0); got != `{"error":"lookup unavailable"}` {
		t.Errorf("%s", got)
	}
}

func TestLookUpWithinABudget(t *testing.T) {
	tool := lookUpTools(t, openSample(t, "alpha", nil))[0]
	whole, _ := callTool(t, tool, `{"query":"return the parcel"}`, 0)
	last := Tokens(whole) + 1
	for tokens := Tokens(whole); tokens >= 60; tokens-- {
		got, cut := callTool(t, tool, `{"query":"return the parcel"}`, tokens)
		var a struct{ Results []reader.Passage }
		if err := json.Unmarshal([]byte(got), &a); err != nil || len(a.Results) == 0 {
			t.Fatalf("%d tokens: %s, %v", tokens, got, err)
		}
		if n := Tokens(got); n > tokens || n > last || cut != (got != whole) {
			t.Fatalf("%d tokens: %d, cut %v: %s", tokens, n, cut, got)
		}
		last = Tokens(got)
	}
	if _, _, err := tool.CallWithin(t.Context(), json.RawMessage(`{"query":"parcel"}`), 1); !errors.Is(err, ErrBudget) {
		t.Errorf("one token: %v", err)
	}
}

// countedBase counts how often it is asked.
type countedBase struct {
	sampleBase
	asked *int
}

func (c countedBase) Current() *reader.Base { *c.asked++; return c.Base }

// TestAskedOnce: a base may ask a service that is slow or costs something, so an answer that is too long is cut, and not
// looked for again.
func TestAskedOnce(t *testing.T) {
	asked := 0
	base := countedBase{openSample(t, "alpha", nil), &asked}
	for _, tool := range append(lookUpTools(t, base), SearchTools([]Base{base})[0]) {
		asked = 0
		if _, cut := callTool(t, tool, `{"query":"return the parcel"}`, 100); !cut || asked != 1 {
			t.Errorf("%s: cut %v, asked %d times", tool.Name, cut, asked)
		}
	}
}

func TestSearchAndFetch(t *testing.T) {
	alpha, beta := openSample(t, "alpha", nil), openSample(t, "beta", nil)
	list := SearchTools([]Base{alpha, beta})
	search, fetch := list[0], list[1]
	got, _ := callTool(t, search, `{"query":"money back beta"}`, DefaultBudget)
	var found struct {
		Results []struct{ ID, Title, URL string }
	}
	if err := json.Unmarshal([]byte(got), &found); err != nil || len(found.Results) < 2 || len(found.Results) > 10 {
		t.Fatalf("%s, %v", got, err)
	}
	bases := map[string]bool{}
	for _, r := range found.Results {
		base, _, _ := strings.Cut(r.ID, "/")
		bases[base] = true
		version := map[string]sampleBase{"alpha": alpha, "beta": beta}[base].Artifact().Digest[:12]
		if !strings.HasPrefix(r.URL, "larder://"+base+"@"+version+"/") || r.Title == "" {
			t.Errorf("%+v", r)
		}
		text, _ := callTool(t, fetch, `{"id":"`+r.ID+`"}`, DefaultBudget)
		var f struct {
			ID, Title, Text, URL string
			Metadata             map[string]string
		}
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if f.ID != r.ID || f.URL != r.URL || f.Title != r.Title || f.Text == "" || f.Metadata["base"] != base || f.Metadata["path"] == "" {
			t.Errorf("%s", text)
		}
	}
	if len(bases) != 2 {
		t.Errorf("found in %v", bases)
	}
	if got, _ := callTool(t, search, `{"query":" "}`, 0); got != `{"results":[]}` {
		t.Errorf("blank: %s", got)
	}
	for _, id := range []string{"", "alpha", "alpha/", "alpha/zz", "gamma/" + strings.Repeat("0", 32), "alpha/" + strings.Repeat("0", 32), "../alpha"} {
		arguments, _ := json.Marshal(map[string]string{"id": id})
		if _, err := fetch.Call(t.Context(), arguments); err == nil {
			t.Errorf("fetched %q", id)
		}
	}
	broken := SearchTools([]Base{alpha, sampleBase{nil, "gone"}})
	if _, err := broken[0].Call(t.Context(), json.RawMessage(`{"query":"refund"}`)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a base that can't be searched: %v", err)
	}
}

// TestFetchAround: of a long document fetch gives whole chunks around the one that was found.
func TestFetchAround(t *testing.T) {
	alpha := openSample(t, "alpha", nil)
	fetch := SearchTools([]Base{alpha})[1]
	a := alpha.Artifact()
	for n := range a.Chunks() {
		chunk := a.Chunk(n)
		for _, tokens := range []int{250, 400, 5000} {
			got, _ := callTool(t, fetch, `{"id":"alpha/`+chunk.ID.String()+`"}`, tokens)
			var f struct {
				Text     string
				Metadata map[string]string
			}
			if err := json.Unmarshal([]byte(got), &f); err != nil {
				t.Fatal(err)
			}
			whole := string(a.DocumentText(chunk.Document))
			if !strings.Contains(f.Text, string(a.ChunkText(n))) || !strings.Contains(whole, f.Text) || Tokens(got) > tokens {
				t.Fatalf("chunk %d, %d tokens: %s", n, tokens, got)
			}
			if (f.Metadata["truncated"] == "true") != (f.Text != whole) {
				t.Errorf("chunk %d, %d tokens: truncated %q", n, tokens, f.Metadata["truncated"])
			}
		}
	}
	document := a.Document(0)
	got, _ := callTool(t, fetch, `{"id":"alpha/`+document.ID.String()+`"}`, 250)
	if !strings.Contains(got, "Step 0 of") || !strings.Contains(got, `"truncated":"true"`) {
		t.Errorf("%s", got)
	}
}

// TestTokens: what a token is to the estimate. The module interop compares it with WordPiece.
func TestTokens(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"nothing": {"", 0}, "blanks": {" \n\t", 0}, "a word": {"refund", 2}, "a number": {"4012", 2}, "mixed": {"E-4012", 4},
		"Russian": {"деньги", 6}, "CJK": {"退款", 2}, "emoji": {"😀", 2}, "code": {"a.b(c)", 6},
	} {
		if got := Tokens(c.text); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}

func TestSchemasAreObjects(t *testing.T) {
	a := openSample(t, "alpha", nil)
	for _, tool := range append(lookUpTools(t, a), SearchTools([]Base{a})...) {
		for _, s := range []*jsonschema.Schema{tool.Input, tool.Output} {
			if s.Type != "object" {
				t.Errorf("%s: %+v", tool.Name, s)
			}
		}
	}
}
