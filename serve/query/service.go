package query

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// A Service answers questions from connections. It is safe for concurrent use.
type Service struct {
	connections []Connection
	log         *slog.Logger
}

// New returns a service over connections, of which no two have one slug. The log gets one line a search: counts and
// milliseconds, never a question or a passage. It may be nil.
func New(connections []Connection, log *slog.Logger) *Service {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Service{connections, log}
}

// Only returns a service that has no other connections than those that are allowed, and tells nothing of them.
func (s *Service) Only(allowed func(slug string) bool) *Service {
	only := &Service{log: s.log}
	for _, c := range s.connections {
		if allowed(c.Slug()) {
			only.connections = append(only.connections, c)
		}
	}
	return only
}

// A ConnectionInfo tells how a connection is.
type ConnectionInfo struct {
	Slug      string      `json:"slug"`
	Kind      string      `json:"kind"`
	Status    Status      `json:"status"`
	Reason    string      `json:"reason,omitempty"`
	Documents int         `json:"documents"`
	Chunks    int         `json:"chunks"`
	Spaces    []SpaceInfo `json:"spaces"`
}

// A SpaceInfo tells how a space is.
type SpaceInfo struct {
	Slug      string `json:"slug"`
	Status    Status `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Documents int    `json:"documents"`
	Chunks    int    `json:"chunks"`
	Model     string `json:"model"`   // "" in keyword bases
	Version   string `json:"version"` // 64 digits
}

// Connections tells how all connections are, in their order.
func (s *Service) Connections(ctx context.Context) []ConnectionInfo {
	list := make([]ConnectionInfo, len(s.connections))
	var wg sync.WaitGroup
	for i, c := range s.connections {
		wg.Go(func() { list[i], _ = inspect(ctx, c) })
	}
	wg.Wait()
	return list
}

// inspect asks a connection for its spaces. It is ready when all of them are, for a search of the whole needs them all.
func inspect(ctx context.Context, c Connection) (ConnectionInfo, []Space) {
	info := ConnectionInfo{Slug: c.Slug(), Kind: c.Kind(), Status: Ready, Spaces: []SpaceInfo{}}
	spaces, err := c.Spaces(ctx)
	if err != nil {
		info.Status, info.Reason = Failed, err.Error()
		return info, nil
	}
	if len(spaces) == 0 {
		info.Status, info.Reason = Failed, "there is no space in it"
	}
	for _, space := range spaces {
		state := space.State(ctx)
		info.Spaces = append(info.Spaces, SpaceInfo{space.Name(), state.Status, state.Reason, state.Documents, state.Chunks, state.Model, state.Version})
		info.Documents += state.Documents
		info.Chunks += state.Chunks
		if state.Status == Failed && info.Status != Failed {
			info.Status, info.Reason = Failed, fmt.Sprintf("the space %s: %s", space.Name(), state.Reason)
		} else if state.Status == Loading && info.Status == Ready {
			info.Status = Loading
		}
	}
	return info, spaces
}

// A named space knows its connection.
type namedSpace struct {
	Space
	connection string
}

// A searched view is one with what it found.
type searched struct {
	namedSpace
	view  View
	sides *reader.Sides
}

// Search answers a request from a connection; "" means the first one that is ready, and several may be named, separated by
// commas. Errors are [Error], or the context's.
func (s *Service) Search(ctx context.Context, connection string, r Request) (*Result, error) {
	start := time.Now()
	if err := r.Check(); err != nil {
		return nil, err
	}
	names, spaces, err := s.find(ctx, connection, r.Space)
	if err != nil {
		return nil, err
	}
	views, err := openAll(ctx, spaces)
	if err != nil {
		return nil, err
	}
	defer closeAll(views)
	if err := searchAll(ctx, views, r.Query, r.Filters); err != nil {
		return nil, err
	}
	list := fuse(views)
	list = list[:min(len(list), cmp.Or(r.TopK, DefaultTopK))]
	result := &Result{Connection: names, Space: r.Space}
	passages, err := passagesOf(ctx, views, list)
	if err != nil {
		return nil, err
	}
	result.Hits = hits(views, list, passages)
	for _, v := range views {
		result.Scope += v.sides.Scope
		if v.sides.Cut {
			result.Warnings = append(result.Warnings, fmt.Sprintf("The question is longer than what %s reads: its end was left out.", v.Name()))
		}
	}
	if r.Explain {
		result.Explain = explain(views, list, passages)
	}
	if len(list) == 0 {
		if result.Message, err = advise(ctx, views, r); err != nil {
			return nil, err
		}
	}
	result.Elapsed = time.Since(start)
	s.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "search", slog.String("connection", names), slog.Int("spaces", len(views)),
		slog.Int("hits", len(list)), slog.Float64("ms", float64(result.Elapsed.Microseconds())/1000))
	return result, nil
}

// Document returns a document of a connection by its id, which hits hold.
func (s *Service) Document(ctx context.Context, connection, id string) (*Document, error) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(artifact.ID{}) {
		return nil, &Error{Kind: NoDocument, Message: "There is no document with that id; ids are 32 hexadecimal digits, and come from hits."}
	}
	_, spaces, err := s.find(ctx, connection, "")
	if err != nil {
		return nil, err
	}
	views, err := openAll(ctx, spaces)
	if err != nil {
		return nil, err
	}
	defer closeAll(views)
	for _, v := range views {
		d, err := v.view.Document(ctx, artifact.ID(raw))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unavailable(ctx, v.namedSpace, err)
		}
		d.Connection, d.Space, d.Version = v.connection, v.Name(), v.view.Version()
		return d, nil
	}
	return nil, &Error{Kind: NoDocument, Message: "There is no document with that id. Documents of an earlier version may be gone: search again."}
}

// find returns the spaces that a request means, and the names of the connections that they are in.
func (s *Service) find(ctx context.Context, connection, space string) (names string, spaces []namedSpace, err error) {
	if connection == "" {
		return s.first(ctx, space)
	}
	var found []string
	var known []string
	for name := range strings.SplitSeq(connection, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(s.connections, func(c Connection) bool { return c.Slug() == name })
		if i < 0 {
			return "", nil, &Error{Kind: UnknownConnection, Message: fmt.Sprintf(unknownConnection, cut(name)), Field: "X-Knowledge-Connection"}
		}
		if slices.Contains(found, name) {
			continue
		}
		found = append(found, name)
		info, all := inspect(ctx, s.connections[i])
		if all == nil {
			return "", nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("Connection `%s` is not available: %s.", name, info.Reason)}
		}
		some, err := choose(name, all, info, space)
		if err != nil {
			return "", nil, err
		}
		for _, one := range info.Spaces {
			known = append(known, one.Slug)
		}
		spaces = append(spaces, some...)
	}
	if len(spaces) == 0 {
		return "", nil, unknownSpace(space, strings.Join(found, ","), known)
	}
	return strings.Join(found, ","), spaces, nil
}

// first chooses the first connection that is ready.
func (s *Service) first(ctx context.Context, space string) (name string, spaces []namedSpace, err error) {
	var why []string
	for _, c := range s.connections {
		info, all := inspect(ctx, c)
		if info.Status != Ready {
			why = append(why, fmt.Sprintf("%s is in status %s", c.Slug(), info.Status))
			continue
		}
		spaces, err := choose(c.Slug(), all, info, space)
		if err != nil {
			return "", nil, err
		}
		if len(spaces) == 0 {
			var known []string
			for _, one := range info.Spaces {
				known = append(known, one.Slug)
			}
			return "", nil, unknownSpace(space, c.Slug(), known)
		}
		return c.Slug(), spaces, nil
	}
	return "", nil, &Error{Kind: NoConnection, Message: noConnection, Allowed: why}
}

// choose returns the space of that name, none if there is none, or all if space is "". All that it returns are ready.
func choose(connection string, all []Space, info ConnectionInfo, space string) (spaces []namedSpace, err error) {
	for i, s := range all {
		if space != "" && s.Name() != space {
			continue
		}
		switch state := info.Spaces[i]; state.Status {
		case Loading:
			return nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("Space `%s` of connection `%s` is being opened. Try again in a moment.", s.Name(), connection)}
		case Failed:
			return nil, &Error{Kind: Unavailable, Message: fmt.Sprintf("Space `%s` of connection `%s` is not available: %s. Name a space that is ready to search without it.", s.Name(), connection, state.Reason)}
		}
		spaces = append(spaces, namedSpace{s, connection})
	}
	return spaces, nil
}

func unknownSpace(space, connection string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return &Error{Kind: UnknownSpace, Field: "space", Allowed: known,
		Message: fmt.Sprintf("Space `%s` does not exist in connection `%s`. Available spaces: %s.", cut(space), connection, strings.Join(known, ", "))}
}

// unavailable is the error of a space that could not be searched: the context's if that ended it.
func unavailable(ctx context.Context, s namedSpace, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, reader.ErrQuery) {
		return &Error{Kind: Invalid, Message: err.Error(), Err: err}
	}
	return &Error{Kind: Unavailable, Message: fmt.Sprintf("Space `%s` of connection `%s` is not available now. Try again, or run `knowledge-admin action=health`.", s.Name(), s.connection), Err: err}
}

// each runs f for every view, some at a time, and returns the first error by their order.
func each(views []searched, f func(v *searched) error) error {
	errs := make([]error, len(views))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range views {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(&views[i])
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many spaces are asked at the same time.
const atOnce = 8

func openAll(ctx context.Context, spaces []namedSpace) ([]searched, error) {
	views := make([]searched, len(spaces))
	for i, s := range spaces {
		views[i].namedSpace = s
	}
	err := each(views, func(v *searched) (err error) {
		if v.view, err = v.Open(ctx); err != nil {
			return unavailable(ctx, v.namedSpace, err)
		}
		return nil
	})
	if err != nil {
		closeAll(views)
		return nil, err
	}
	return views, nil
}

func closeAll(views []searched) {
	for _, v := range views {
		if v.view != nil {
			v.view.Close()
		}
	}
}

func searchAll(ctx context.Context, views []searched, text string, filters Filters) error {
	return each(views, func(v *searched) (err error) {
		if v.sides, err = v.view.Sides(ctx, text, filters.reader()); err != nil {
			return unavailable(ctx, v.namedSpace, err)
		}
		return nil
	})
}

// passagesOf returns the passages of a ranking, asking each view once.
func passagesOf(ctx context.Context, views []searched, list []ranked) ([]reader.Hit, error) {
	passages := make([]reader.Hit, len(list))
	for i, v := range views {
		var chunks, at []int
		for k, r := range list {
			if r.view == i {
				chunks, at = append(chunks, r.Chunk), append(at, k)
			}
		}
		if len(chunks) == 0 {
			continue
		}
		found, err := v.view.Hits(ctx, chunks)
		if err != nil {
			return nil, unavailable(ctx, v.namedSpace, err)
		}
		for n, k := range at {
			passages[k] = found[n]
		}
	}
	return passages, nil
}

func hits(views []searched, list []ranked, passages []reader.Hit) []Hit {
	hits := make([]Hit, len(list))
	for i, r := range list {
		hits[i] = newHit(passages[i], r.Cosine)
	}
	return hits
}
