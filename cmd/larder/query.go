package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"example.com/larder/artifact"
	"example.com/larder/reader"
	"example.com/larder/serve/answer"
	"example.com/larder/serve/postgres"
	"example.com/larder/serve/query"
)

type queryCommand struct {
	Question   string   `arg:"" help:"What to ask."`
	From       []string `sep:"none" help:"A shelf, an artifact, or a database as postgres://user@host/name; may be repeated (default: dist)." placeholder:"PLACE"`
	Connection string   `short:"c" help:"Ask this connection: the name of a place's folder or database (default: the first that is ready)." placeholder:"SLUG"`
	Space      string   `short:"s" help:"Ask this base alone (default: all of the connection)." placeholder:"NAME"`
	TopK       int      `short:"k" default:"5" help:"How many snippets, 1 to 100 (default: 5)." placeholder:"N"`
	Filter     []string `short:"f" sep:"none" help:"Only documents with unit_id, content_type or topics =VALUE, or date_range=FROM..TO; may be repeated." placeholder:"NAME=VALUE"`
	Answer     bool     `help:"Have Claude answer from the snippets, with citations; needs ANTHROPIC_API_KEY."`
	Explain    bool     `help:"With --json: say how each hit was found."`
	JSON       bool     `help:"Print JSON, for programs."`
}

func (queryCommand) Help() string {
	return `Prints Markdown: snippets with scores, or an answer with its sources. For example:
  larder query "How long does a refund take?" --filter content_type=faq
  larder query "How long does a refund take?" --from postgres://larder@db.example.org/knowledge --answer`
}

// queryOutput is what larder query --json prints with --explain or --answer.
type queryOutput struct {
	Hits     []query.Hit    `json:"hits"`
	Answer   *answer.Answer `json:"answer,omitempty"`
	Explain  *query.Explain `json:"explain,omitempty"`
	Message  string         `json:"message,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
}

func (c *queryCommand) Run(e *environment) error {
	r := query.Request{Query: c.Question, Space: c.Space, TopK: c.TopK, Explain: c.Explain, Answer: c.Answer}
	for _, f := range c.Filter {
		if err := r.Filters.ParseFilter(f); err != nil {
			return usageError{fmt.Errorf("--filter: %w", err)}
		}
	}
	if c.TopK < 1 {
		return usageError{fmt.Errorf("--top-k: %d is not from 1 to %d", c.TopK, query.MaxTopK)}
	}
	if c.Explain && !c.JSON {
		return hinted{usageError{errors.New("--explain needs --json")}, "larder search --explain says it in words"}
	}
	connections, closeAll, err := openConnections(e, c.From)
	if err != nil {
		return err
	}
	defer closeAll()
	if c.Answer {
		r.TopK = max(r.TopK, answerSources)
	}
	service := query.New(connections, nil)
	result, err := service.Search(e, c.Connection, r)
	if err != nil {
		return queryError(err)
	}
	if c.Answer {
		return c.answer(e, result)
	}
	if c.JSON {
		if c.Explain {
			return writeJSON(e.out, queryOutput{Hits: result.Hits, Explain: result.Explain, Message: result.Message, Warnings: result.Warnings}, "  ")
		}
		return writeJSON(e.out, result.Hits, "  ")
	}
	_, err = fmt.Fprint(e.out, query.Markdown(result))
	return err
}

// answerSources is how many snippets an answer may cite.
const answerSources = 5

func sourcesOf(hits []query.Hit) (sources []answer.Source) {
	for _, h := range hits {
		sources = append(sources, answer.Source{Title: h.Title, Page: h.Metadata.Page, Content: h.Content})
	}
	return sources
}

// queryError tells usage errors from those of the state.
func queryError(err error) error {
	var q *query.Error
	if !errors.As(err, &q) {
		return err
	}
	switch q.Kind {
	case query.Invalid, query.UnknownConnection, query.UnknownSpace:
		return usageError{err}
	}
	return err
}

// answer prints an answer from the snippets; without a key, the snippets and a warning.
func (c *queryCommand) answer(e *environment, result *query.Result) error {
	var env secrets
	key, _ := env.lookup(answer.KeyEnv)
	if env.err != nil {
		return env.err
	}
	sources := sourcesOf(result.Hits)
	result.Hits = result.Hits[:min(len(result.Hits), c.TopK)]
	output := queryOutput{Hits: result.Hits, Explain: result.Explain, Message: result.Message, Warnings: result.Warnings}
	if key == "" || len(result.Hits) == 0 {
		if key == "" {
			result.Warnings = append(result.Warnings, answer.KeyEnv+" is not set: these are the snippets without an answer.")
			output.Warnings = result.Warnings
		}
		if c.JSON {
			return writeJSON(e.out, output, "  ")
		}
		_, err := fmt.Fprint(e.out, query.Markdown(result))
		return err
	}
	address, _ := env.lookup("ANTHROPIC_BASE_URL")
	w, err := answer.New(answer.Options{Key: key, BaseURL: address, Sources: answerSources})
	if err != nil {
		return usageError{err}
	}
	var stream func(string) error
	if !c.JSON {
		stream = func(delta string) error {
			_, err := fmt.Fprint(e.out, delta)
			return err
		}
	}
	a, err := w.Write(e, c.Question, sources, stream)
	switch {
	case err != nil && c.JSON:
		return errors.Join(err, writeJSON(e.out, output, "  "))
	case err != nil: // the snippets are there all the same
		_, printed := fmt.Fprintf(e.out, "\n\n%s", query.Markdown(result))
		return cmp.Or(err, printed)
	case c.JSON:
		output.Answer = a
		return writeJSON(e.out, output, "  ")
	}
	_, err = fmt.Fprintf(e.out, "\n\n%s\n\n%s\n", strings.TrimSpace(answer.Endnotes(a)), query.Footer(result))
	return err
}

// An openedBase is a base that is open for as long as the command runs.
type openedBase struct{ *reader.Base }

func (b openedBase) Name() string          { return b.Manifest().Base }
func (b openedBase) Opened() (bool, error) { return true, nil }
func (b openedBase) Current() *reader.Base { return b.Base }

// openConnections opens places, each a connection: shelves and artifacts in this process, and databases.
func openConnections(e *environment, places []string) (list []query.Connection, closeAll func(), err error) {
	var closers []func() error
	closeAll = func() {
		for _, c := range closers {
			_ = c()
		}
	}
	if len(places) == 0 {
		places = []string{"dist"}
	}
	slugs := map[string]bool{}
	for _, place := range places {
		slug := slugOf(place)
		if slugs[slug] {
			closeAll()
			return nil, nil, usageError{fmt.Errorf("two places are called %s: name one of them alone", slug)}
		}
		slugs[slug] = true
		if isDatabase(place) {
			db, err := openDatabase(place, slug)
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			closers, list = append(closers, db.Close), append(list, db)
			continue
		}
		bases, err := openShelf(e, place)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		list = append(list, query.NewShelf(slug, bases))
	}
	return list, closeAll, nil
}

func openDatabase(place, slug string) (*postgres.Connection, error) {
	var env secrets
	address, err := databaseAddress(place, &env)
	if err != nil {
		return nil, err
	}
	return postgres.Open(address, postgres.Options{Slug: slug, Logger: slog.New(slog.DiscardHandler), QueryEncoder: func(ctx context.Context, m *artifact.Manifest) (reader.QueryEncoder, error) {
		return queryEncoder(ctx, m, false)
	}})
}

// openShelf opens all bases of a shelf, or the one of an artifact.
func openShelf(e *environment, place string) (bases []query.Base, err error) {
	folders := []string{place}
	if !isArtifact(place) {
		names, err := basesOn(place)
		if err != nil {
			return nil, err
		}
		folders = nil
		for _, name := range names {
			folders = append(folders, filepath.Join(place, name))
		}
	}
	for _, folder := range folders {
		m, err := reader.Inspect(folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		o := reader.Options{Context: e}
		if o.QueryEncoder, err = queryEncoder(e, m, false); err != nil {
			return nil, err
		}
		b, err := reader.OpenDir(folder, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		bases = append(bases, openedBase{b})
	}
	return bases, nil
}

// slugOf names a place by its folder or its database.
func slugOf(place string) string {
	name := filepath.Base(place)
	if isDatabase(place) {
		u, _ := url.Parse(place)
		name = path.Base(cmp.Or(strings.Trim(urlPath(u), "/"), "database"))
	} else if abs, err := filepath.Abs(place); err == nil {
		name = filepath.Base(abs)
	}
	name = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name), "-_")
	return cmp.Or(name[:min(len(name), 63)], "place")
}

func urlPath(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Path
}
