package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/knowledge"
	"example.com/larder/pipeline"
	"example.com/larder/reader"
)

type searchCommand struct {
	Question string   `arg:"" help:"What to look for."`
	Shelf    string   `default:"dist" help:"Shelf with the artifacts (default: dist)." placeholder:"DIR"`
	Base     []string `short:"b" sep:"none" help:"Search this base; may be repeated (default: all on the shelf)." placeholder:"NAME"`
	Mode     string   `enum:",meaning,keyword,hybrid" default:"" help:"meaning, keyword or hybrid (default: the base's)." placeholder:"MODE"`
	TopK     int      `short:"k" help:"How many results (default: the base's top_k)." placeholder:"N"`
	Fusion   string   `enum:"rrf,interleave" default:"rrf" help:"How hybrid mode joins its two sides: rrf or interleave (default: rrf)." placeholder:"FUSION"`
	Boost    bool     `help:"Multiply scores by the boosts of content types, which base.yaml sets."`
	Explain  bool     `help:"Say how each result was found: scores, and its rank on both sides."`
	JSON     bool     `help:"Print JSON, for programs."`

	ContentType []string `sep:"none" help:"Only documents of this content type; may be repeated." placeholder:"TYPE"`
	Topic       []string `sep:"none" help:"Only documents on this topic; may be repeated." placeholder:"TOPIC"`
	Unit        []string `sep:"none" help:"Only documents of this unit; may be repeated." placeholder:"ID"`
	From        string   `help:"Only documents of this day or later, as YYYY-MM-DD." placeholder:"DAY"`
	To          string   `help:"Only documents of this day or earlier, as YYYY-MM-DD." placeholder:"DAY"`
}

func (searchCommand) Help() string {
	return `For example:
  larder search "how long until I get my money back" --base refunds
  larder search E-4012 --mode keyword --explain`
}

// A found hit is one of a base.
type found struct {
	Base string `json:"base"`
	reader.Hit
	rank    int      // in its base, from 0
	matches [][2]int // bytes of Text that match the question's terms
}

// searchResults are what larder search --json prints.
type searchResults struct {
	Hits  []found `json:"hits"`  // best first
	Scope int     `json:"scope"` // chunks that the filters let through, of all bases
}

func (c *searchCommand) Run(e *environment) error {
	if err := cmp.Or(checkDay("--from", c.From), checkDay("--to", c.To)); err != nil {
		return err
	}
	names := c.Base
	if len(names) == 0 {
		var err error
		if names, err = basesOn(c.Shelf); err != nil {
			return err
		}
	}
	results := searchResults{Hits: []found{}}
	limit := c.TopK
	modes := map[artifact.Mode]bool{}
	for _, name := range names {
		base, err := openBase(e, c.Shelf, name, c.Mode == string(reader.Keyword))
		if err != nil {
			return openError(c.Shelf, name, err)
		}
		defer base.Close()
		r, err := base.Search(e, reader.Query{
			Text: c.Question, Mode: artifact.Mode(c.Mode), TopK: c.TopK, Fusion: reader.Fusion(c.Fusion), Boost: c.Boost,
			Filters: reader.Filters{ContentType: c.ContentType, Topics: c.Topic, UnitID: c.Unit, DateFrom: c.From, DateTo: c.To},
		})
		if errors.Is(err, reader.ErrQuery) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		if c.TopK == 0 {
			limit = max(limit, base.Manifest().Settings.TopK)
		}
		modes[r.Mode] = true
		results.Scope += r.Scope
		for i, h := range r.Hits {
			results.Hits = append(results.Hits, found{name, h, i, base.Matches(h.Text, r.Terms)})
		}
		if r.Cut {
			fmt.Fprintf(e.err, "larder: the question is longer than what %s reads: its end was left out\n", name)
		}
	}
	rank(results.Hits, len(modes) == 1)
	results.Hits = results.Hits[:min(len(results.Hits), limit)]
	if c.JSON {
		return writeJSON(e.out, results, "  ")
	}
	if len(results.Hits) == 0 {
		fmt.Fprintf(e.out, "nothing found in %d chunks of %s\n", results.Scope, strings.Join(names, ", "))
		return nil
	}
	w, style := e.styled()
	for i, h := range results.Hits {
		printHit(w, style, i+1, h, len(names) > 1, c.Explain)
	}
	return nil
}

// rank orders the hits of several bases. Scores of one mode can be compared, those of different modes can't: then
// the bases take turns.
func rank(hits []found, byScore bool) {
	slices.SortStableFunc(hits, func(a, b found) int {
		if byScore {
			return cmp.Compare(b.Score, a.Score)
		}
		return cmp.Compare(a.rank, b.rank)
	})
}

func checkDay(flag, day string) error {
	if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
		return usageError{fmt.Errorf("%s: %q is not a day as YYYY-MM-DD", flag, day)}
	}
	return nil
}

// openBase opens a base on a shelf, with the service that answers queries if its artifact needs one.
func openBase(e *environment, shelf, name string, keywordAlone bool) (*reader.Base, error) {
	o := reader.Options{KeywordAlone: keywordAlone, Context: e}
	fsys := os.DirFS(shelf)
	if artifact.CheckBaseName(name) == nil && !keywordAlone { // of a bad name, Open says what is wrong
		folder, _, err := artifact.Locate(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("open base %s: %w", name, err)
		}
		m, err := artifact.Inspect(fsys, folder)
		if err != nil {
			return nil, fmt.Errorf("open base %s: %w", name, err)
		}
		if o.QueryEncoder, err = queryEncoder(e, m, false); err != nil {
			return nil, err
		}
	}
	return reader.Open(fsys, name, o)
}

// queryEncoder is what makes the vectors of queries for an artifact, if a service made its own.
func queryEncoder(ctx context.Context, m *artifact.Manifest, offline bool) (reader.QueryEncoder, error) {
	var env secrets
	if m.Model.External() && offline {
		address, _ := env.lookup("OPENAI_BASE_URL")
		if err := checkOffline(address); err != nil {
			return nil, err
		}
	}
	encoder, err := knowledge.QueryEncoder(ctx, m, env.lookup)
	if env.err != nil {
		return nil, env.err
	}
	return encoder, err
}

// checkOffline refuses a service that is not on this machine.
func checkOffline(address string) error {
	u := pipeline.ServiceURL(address)
	if u != nil {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return hinted{usageError{errors.New("--offline: an embedding service is needed that is not on this machine")}, "leave --offline out, or name a service on this machine"}
}

// openError says which bases there are if the one that could not be opened is none of them.
func openError(shelf, base string, err error) error {
	err = fmt.Errorf("shelf %s: %w", shelf, err)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, listErr := basesOn(shelf)
	if listErr != nil {
		return listErr
	}
	if slices.Contains(names, base) {
		return err
	}
	return hinted{err, "the shelf has " + strings.Join(names, ", ")}
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
