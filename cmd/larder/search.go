package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

type searchCommand struct {
	Question string   `arg:"" help:"What to look for."`
	Shelf    string   `default:"dist" help:"Shelf with the artifacts (default: dist)." placeholder:"DIR"`
	Base     []string `short:"b" help:"Search only this base; may be repeated (default: all on the shelf)." placeholder:"NAME"`
	Mode     string   `enum:",meaning,keyword,hybrid" default:"" help:"meaning, keyword or hybrid (default: the base's)."`
	TopK     int      `short:"k" help:"How many results (default: the base's top_k)." placeholder:"N"`
	Fusion   string   `enum:"rrf,interleave" default:"rrf" help:"How hybrid search joins its two sides: rrf or interleave."`
	Boost    bool     `help:"Multiply scores by the boosts of content types."`
	Explain  bool     `help:"Say how each result was found."`
	JSON     bool     `help:"Print JSON."`

	ContentType []string `help:"Only documents of this content type; may be repeated." placeholder:"TYPE"`
	Topic       []string `help:"Only documents with this topic; may be repeated." placeholder:"TOPIC"`
	Unit        []string `help:"Only documents of this unit; may be repeated." placeholder:"ID"`
	From        string   `help:"Only documents of this day or later, as YYYY-MM-DD." placeholder:"DAY"`
	To          string   `help:"Only documents of this day or earlier, as YYYY-MM-DD." placeholder:"DAY"`
}

// A found hit is one of a base.
type found struct {
	Base string `json:"base"`
	reader.Hit
	matches [][2]int // bytes of Text that match the question's terms
}

func (c *searchCommand) Run(e *environment) error {
	names := c.Base
	if len(names) == 0 {
		var err error
		if names, err = basesOn(c.Shelf); err != nil {
			return err
		}
	}
	query := reader.Query{
		Text: c.Question, Mode: artifact.Mode(c.Mode), TopK: c.TopK, Fusion: reader.Fusion(c.Fusion), Boost: c.Boost,
		Filters: reader.Filters{ContentType: c.ContentType, Topics: c.Topic, UnitID: c.Unit, DateFrom: c.From, DateTo: c.To},
	}
	var hits []found
	limit, scope := 0, 0
	for _, name := range names {
		base, err := reader.Open(os.DirFS(c.Shelf), name, reader.Options{})
		if err != nil {
			return fmt.Errorf("shelf %s: %w", c.Shelf, err)
		}
		defer base.Close()
		r, err := base.Search(e, query)
		if err != nil {
			return usageIfQuery(err)
		}
		limit, scope = max(limit, cmp.Or(c.TopK, base.Manifest().Settings.TopK)), scope+r.Scope
		for _, h := range r.Hits {
			hits = append(hits, found{name, h, base.Matches(h.Text, r.Terms)})
		}
		if r.Cut {
			fmt.Fprintf(e.err, "larder: the question is longer than what %s reads: its end was left out\n", name)
		}
	}
	// Across bases results are ordered by score, which both fusions take from ranks alone.
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.Score, a.Score) })
	hits = hits[:min(len(hits), limit)]
	if c.JSON {
		enc := json.NewEncoder(e.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"hits": append([]found{}, hits...), "scope": scope})
	}
	if len(hits) == 0 {
		fmt.Fprintf(e.out, "nothing found in %d chunks of %s\n", scope, strings.Join(names, ", "))
		return nil
	}
	style := styleFor(e.out)
	for i, h := range hits {
		printHit(e.out, style, i+1, h, len(names) > 1, c.Explain)
	}
	return nil
}

func usageIfQuery(err error) error {
	if errors.Is(err, reader.ErrQuery) {
		return usageError{err}
	}
	return err
}

// basesOn lists the bases on a shelf: the folders that have a latest version.
func basesOn(shelf string) (names []string, err error) {
	entries, err := os.ReadDir(shelf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hinted{fmt.Errorf("there is no shelf %s", shelf), "bake one with larder bake, or name another with --shelf"}
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(shelf, entry.Name(), "latest")); err == nil {
			names = append(names, entry.Name())
		}
	}
	if len(names) == 0 {
		return nil, hinted{fmt.Errorf("there is no base on the shelf %s", shelf), "bake one with larder bake, or name another shelf with --shelf"}
	}
	return names, nil
}
