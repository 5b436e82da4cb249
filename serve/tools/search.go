package tools

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// searchHits is how many results search has.
const searchHits = 10

type connectorQuery struct {
	Query string `json:"query" jsonschema:"what to search for, in natural language or keywords" ru:"что искать, обычным языком или ключевыми словами"`
}

type connectorAnswer struct {
	Results []connectorResult `json:"results"`
	cut     bool
}

func (a connectorAnswer) wasCut() bool { return a.cut }

// within leaves out the last results, but not the first, if all have more than so many bytes.
func (a connectorAnswer) within(bytes int) cutter {
	left := bytes
	for i, r := range a.Results {
		if left -= len(r.ID) + len(r.Title) + len(r.URL); left < 0 && i > 0 {
			return connectorAnswer{a.Results[:i], true}
		}
	}
	return a
}

type connectorResult struct {
	ID    string `json:"id" jsonschema:"what fetch takes"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type fetchArguments struct {
	ID string `json:"id" jsonschema:"an id from the results of search" ru:"id из результатов search"`
}

type fetchAnswer struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	URL      string            `json:"url"`
	Metadata map[string]string `json:"metadata" jsonschema:"base, version, path and what else is known of the document; truncated is true if the text is a part of the document"`
}

// SearchTools are search and fetch over all bases, in the shapes that hosted connectors expect: search returns ids,
// titles and addresses, fetch the text of one of them.
func SearchTools(bases []Base) []Tool {
	c := connector(bases)
	return []Tool{
		Define("search", Text{
			EN: "Search the documents of " + c.names() + ", by meaning and by keyword. Returns ids, best first; read the documents with fetch.",
			RU: "Ищет в документах (" + c.names() + ") по смыслу и по ключевым словам. Возвращает id, лучшие первыми; сами документы читает fetch.",
		}, c.search, nil),
		Define("fetch", Text{
			EN: "Read the document that a result of search is from, or, of a long one, the part around the result.",
			RU: "Читает документ, из которого результат search, а длинный документ - вокруг этого места.",
		}, c.fetch, func(in *jsonschema.Schema) { in.Properties["id"].MinLength = jsonschema.Ptr(1) }),
	}
}

// A connector searches all bases as one.
type connector []Base

func (c connector) names() string {
	var names []string
	for _, b := range c {
		names = append(names, b.Name())
	}
	return strings.Join(names, ", ")
}

func (c connector) search(ctx context.Context, in connectorQuery) (connectorAnswer, error) {
	type hit struct {
		connectorResult
		rank int
	}
	var hits []hit
	for _, b := range c {
		current := b.Current()
		if current == nil {
			return connectorAnswer{}, fmt.Errorf("the base %s: %w", b.Name(), ErrUnavailable)
		}
		r, err := current.Search(ctx, reader.Query{Text: in.Query, TopK: searchHits})
		if err != nil { // whose text might quote the query
			return connectorAnswer{}, fmt.Errorf("the base %s: %w", b.Name(), ErrUnavailable)
		}
		for i, h := range r.Hits {
			hits = append(hits, hit{connectorResult{b.Name() + "/" + h.ChunkID, titleOf(h.Title, h.HeadingPath), address(current, h.Path, h.Anchor)}, i})
		}
	}
	// Scores of different bases can't be compared; ranks can.
	slices.SortStableFunc(hits, func(a, b hit) int { return a.rank - b.rank })
	a := connectorAnswer{Results: []connectorResult{}}
	for _, h := range hits[:min(len(hits), searchHits)] {
		a.Results = append(a.Results, h.connectorResult)
	}
	return a, nil
}

// titleOf names a place in a document.
func titleOf(document, headings string) string {
	if headings == "" || headings == document || strings.HasPrefix(headings, document+" > ") {
		return max(document, headings) // the longer one begins with the other
	}
	return document + " > " + headings
}

// address names a document of a version, and a place in it.
func address(b *reader.Base, path, anchor string) string {
	u := URI(b.Manifest().Base + "@" + artifact.FolderName(b.Artifact().Digest))(path)
	if anchor != "" {
		u += "#" + (&url.URL{Fragment: anchor}).EscapedFragment()
	}
	return u
}

var errNoDocument = errors.New("there is no document with that id (ids come from search, and those of an earlier version may be gone: search again)")

func (c connector) fetch(ctx context.Context, in fetchArguments) (fetchAnswer, error) {
	name, digits, _ := strings.Cut(in.ID, "/")
	i := slices.IndexFunc(c, func(b Base) bool { return b.Name() == name })
	raw, err := hex.DecodeString(digits)
	if i < 0 || err != nil || len(raw) != len(artifact.ID{}) {
		return fetchAnswer{}, errNoDocument
	}
	b := c[i].Current()
	if b == nil {
		return fetchAnswer{}, fmt.Errorf("the base %s: %w", name, ErrUnavailable)
	}
	a := b.Artifact()
	id := artifact.ID(raw)
	if n, ok := a.FindChunk(id); ok {
		chunk := a.Chunk(n)
		return passage(b, in.ID, chunk.Document, &chunk, budgetOf(ctx, 0)), nil
	}
	if n, ok := a.FindDocument(id); ok {
		return passage(b, in.ID, n, nil, budgetOf(ctx, 0)), nil
	}
	return fetchAnswer{}, errNoDocument
}

// passage is a document's text, or what of it around a chunk has at most so many bytes; 0 for any number.
func passage(b *reader.Base, id string, document int, chunk *artifact.ChunkInfo, bytes int) fetchAnswer {
	a := b.Artifact()
	d, text := a.Document(document), string(a.DocumentText(document))
	f := fetchAnswer{ID: id, Title: d.Title, URL: address(b, d.Path, "")}
	f.Metadata = map[string]string{"base": b.Manifest().Base, "version": artifact.FolderName(a.Digest), "path": d.Path}
	set := func(key, value string) {
		if value != "" && value != "0" {
			f.Metadata[key] = value
		}
	}
	set("content_type", d.ContentType)
	set("date", d.Date)
	set("author", d.Author)
	set("language", d.Language)
	set("topics", strings.Join(d.Topics, ", "))
	set("pages", strconv.Itoa(d.Pages))
	start, end := 0, len(text)
	if bytes > 0 && len(text) > bytes {
		from, to := 0, 0
		if chunk != nil {
			from, to = chunk.Start, chunk.End
		}
		start, end = around(a, document, from, to, bytes)
		f.Metadata["truncated"] = "true"
	}
	f.Text = text[start:end]
	if chunk != nil {
		f.Title, f.URL = titleOf(d.Title, chunk.HeadingPath), address(b, d.Path, chunk.Anchor)
		set("page", strconv.Itoa(chunk.FirstPage))
		set("line", strconv.Itoa(chunk.FirstLine))
	}
	return f
}

// around widens the range of a chunk in its document's text by whole neighbours as long as there is room, before and
// after in turn. A chunk that has no room itself is cut at its end.
func around(a *artifact.Artifact, document, start, end, bytes int) (int, int) {
	text := a.DocumentText(document)
	if end-start > bytes || end == 0 {
		end = start + len(strings.TrimSuffix(beginning(string(text[start:]), bytes), "…"))
		return start, end
	}
	d := a.Document(document)
	before, after := -1, -1 // the neighbours that were not looked at
	for n := d.FirstChunk; n < d.EndChunk; n++ {
		if c := a.Chunk(n); c.Start < start {
			before = n
		} else if c.Start > start {
			after = n
			break
		}
	}
	for before >= d.FirstChunk || after >= 0 && after < d.EndChunk {
		if before >= d.FirstChunk {
			if c := a.Chunk(before); end-c.Start <= bytes {
				start, before = c.Start, before-1
			} else {
				before = -1
			}
		}
		if after >= 0 && after < d.EndChunk {
			if c := a.Chunk(after); max(end, c.End)-start <= bytes {
				end, after = max(end, c.End), after+1
			} else {
				after = d.EndChunk
			}
		}
	}
	return start, end
}
