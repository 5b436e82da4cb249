package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/larder/artifact"
	"example.com/larder/models"
	"example.com/larder/reader"
	"example.com/larder/serve/query"
)

// Options change how a connection answers. Zero fields mean the defaults.
type Options struct {
	Slug string // names the connection
	// QueryEncoder opens what makes the vectors of queries for a version whose own a service made. Nil: such versions can't
	// be searched.
	QueryEncoder func(ctx context.Context, m *artifact.Manifest) (reader.QueryEncoder, error)
	// ExactBelow is the number of chunks that filters let through below which all of them are compared with the question,
	// without the index: 20,000 by default. Negative: the index is never used.
	ExactBelow int
	Timeout    time.Duration // of a statement in the server: 10 seconds by default
	MaxConns   int           // connections to the server at once: 8 by default
	Logger     *slog.Logger
}

const (
	defaultExactBelow = 20_000
	defaultTimeout    = 10 * time.Second
	defaultMaxConns   = 8
	// retryAfter is the time after which a version that could not be loaded is tried again.
	retryAfter = 5 * time.Second
	// maxEncoder bounds the files of an encoder in bytes.
	maxEncoder = 1 << 30
)

// A Connection is a database that answers questions. It is safe for concurrent use.
type Connection struct {
	Options
	pool *pgxpool.Pool

	mu       sync.Mutex
	versions map[int64]*loading // those in use
	encoders map[string]*models.Encoder
}

// A loading is a version that is loaded once.
type loading struct {
	done    chan struct{}
	version *version
	err     error
	failed  time.Time
}

// A version is one that can be searched.
type version struct {
	id        int64
	digest    string
	manifest  *artifact.Manifest
	centre    []float32
	indexed   bool
	questions *reader.Interpreter
}

// Open returns a connection to the database at an address like postgres://user@host/database. The database is asked
// later: one that is down is in status error until it is up. Close must be called.
func Open(address string, o Options) (*Connection, error) {
	conn, err := configure(address)
	if err != nil {
		return nil, err
	}
	if o.ExactBelow == 0 {
		o.ExactBelow = defaultExactBelow
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	conn.RuntimeParams["statement_timeout"] = fmt.Sprint(o.Timeout.Milliseconds())
	conn.RuntimeParams["default_transaction_read_only"] = "on"
	config.ConnConfig, config.MaxConns, config.MinConns = conn, int32(o.MaxConns), 0
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, describe(err)
	}
	return &Connection{Options: o, pool: pool, versions: map[int64]*loading{}, encoders: map[string]*models.Encoder{}}, nil
}

// Close ends all connections to the server. It waits for searches.
func (c *Connection) Close() error {
	c.pool.Close()
	return nil
}

// Slug names the connection.
func (c *Connection) Slug() string { return c.Options.Slug }

// Kind is postgres.
func (c *Connection) Kind() string { return "postgres" }

// Spaces lists the bases that were pushed, and loads what their current versions need to be searched.
func (c *Connection) Spaces(ctx context.Context) ([]query.Space, error) {
	list, err := c.spaces(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		err = describe(err)
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "database", slog.String("connection", c.Slug()), slog.String("reason", err.Error()))
		return nil, err
	}
	return list, nil
}

func (c *Connection) spaces(ctx context.Context) (list []query.Space, err error) {
	known, err := schemaVersion(ctx, c.pool)
	switch {
	case err != nil:
		return nil, err
	case known == 0:
		return nil, errors.New("nothing was pushed to the database yet; larder push does")
	case known > len(migrations):
		return nil, newerSchema(known)
	case known < len(migrations):
		return nil, fmt.Errorf("the database's schema is of version %d, and this larder needs %d: a push brings it there", known, len(migrations))
	}
	rows, err := c.pool.Query(ctx, "SELECT base, version FROM larder.spaces ORDER BY base COLLATE \"C\"")
	if err != nil {
		return nil, err
	}
	type current struct {
		Base    string
		Version int64
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[current])
	if err != nil {
		return nil, err
	}
	use := map[int64]bool{}
	for _, s := range all {
		use[s.Version] = true
		v, err := c.version(ctx, s.Version)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		list = append(list, space{c, s.Base, v, err})
	}
	c.forget(use)
	return list, nil
}

// forget lets go of versions that are not current any more.
func (c *Connection) forget(use map[int64]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	encoders := map[string]bool{}
	for id, l := range c.versions {
		if !use[id] {
			delete(c.versions, id)
		} else if l.version != nil && l.version.manifest.Model != nil {
			encoders[l.version.manifest.Model.Encoder] = true
		}
	}
	for digest := range c.encoders {
		if !encoders[digest] {
			delete(c.encoders, digest)
		}
	}
}

// version loads a version once. One that failed is tried again after a while.
func (c *Connection) version(ctx context.Context, id int64) (*version, error) {
	for {
		c.mu.Lock()
		l := c.versions[id]
		if l == nil || l.err != nil && time.Since(l.failed) > retryAfter {
			l = &loading{done: make(chan struct{})}
			c.versions[id] = l
			c.mu.Unlock()
			l.version, l.err = c.load(ctx, id)
			l.failed = time.Now()
			if ctx.Err() != nil { // which says nothing of the version
				c.mu.Lock()
				delete(c.versions, id)
				c.mu.Unlock()
			}
			close(l.done)
			return l.version, l.err
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.done:
		}
		c.mu.Lock()
		same := c.versions[id] == l
		c.mu.Unlock()
		if same {
			return l.version, l.err
		}
	}
}

// load reads what a version needs to be searched, and checks it as an artifact is checked.
func (c *Connection) load(ctx context.Context, id int64) (*version, error) {
	var base, probeText string
	var manifest, centre, probe []byte
	v := &version{id: id}
	err := c.pool.QueryRow(ctx, "SELECT base, digest, manifest, centre, probe_text, probe_vector, indexed FROM larder.versions WHERE id = $1", id).
		Scan(&base, &v.digest, &manifest, &centre, &probeText, &probe, &v.indexed)
	if err != nil {
		return nil, err
	}
	if v.manifest, err = artifact.ParseManifest(manifest); err != nil {
		return nil, err
	}
	if artifact.Digest(manifest) != v.digest || v.manifest.Base != base {
		return nil, fmt.Errorf("%w: the manifest in the database is not the one of its digest", artifact.ErrCorrupt)
	}
	v.centre = floatsOf(centre)
	m := v.manifest.Model
	if m == nil {
		v.questions, err = reader.NewInterpreter(ctx, v.manifest, nil, nil, nil)
		return v, err
	}
	p := artifact.Probe{Text: probeText, Vector: floatsOf(probe)}
	if len(v.centre) != m.Dimensions || len(p.Vector) != m.Dimensions {
		return nil, fmt.Errorf("%w: the centre or the probe in the database are not of %d dimensions", artifact.ErrCorrupt, m.Dimensions)
	}
	var encoder *models.Encoder
	var outside reader.QueryEncoder
	switch {
	case !m.External():
		encoder, err = c.encoder(ctx, m.Encoder)
	case c.QueryEncoder != nil:
		outside, err = c.QueryEncoder(ctx, v.manifest)
	}
	if err != nil {
		return nil, err
	}
	v.questions, err = reader.NewInterpreter(ctx, v.manifest, encoder, outside, []artifact.Probe{p})
	return v, err
}

// encoder loads an encoder, or takes the one that another version has.
func (c *Connection) encoder(ctx context.Context, digest string) (*models.Encoder, error) {
	c.mu.Lock()
	e := c.encoders[digest]
	c.mu.Unlock()
	if e != nil {
		return e, nil
	}
	var size int64
	const files = "FROM larder.encoders WHERE digest = $1"
	err := c.pool.QueryRow(ctx, "SELECT octet_length(card)::bigint + octet_length(vocab) + octet_length(weights) "+files, digest).Scan(&size)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("the encoder %s is not in the database: %w", artifact.FolderName(digest), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if size > maxEncoder {
		return nil, fmt.Errorf("%w: the encoder in the database has %d bytes", artifact.ErrCorrupt, size)
	}
	var card, vocab, weights []byte
	if err := c.pool.QueryRow(ctx, "SELECT card, vocab, weights "+files, digest).Scan(&card, &vocab, &weights); err != nil {
		return nil, err
	}
	parsed, err := models.ParseCard(card)
	if err == nil && parsed.Digest() != digest {
		err = errors.New("its digest is another one")
	}
	if err == nil {
		e, err = models.New(parsed, vocab, weights)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the encoder in the database: %w", artifact.ErrCorrupt, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.encoders[digest] = e
	return e, nil
}

// floatsOf reads what floatBytes wrote.
func floatsOf(b []byte) []float32 {
	floats := make([]float32, len(b)/4)
	for i := range floats {
		floats[i] = math.Float32frombits(uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24)
	}
	return floats
}

// A space is a base as it was when the spaces were listed.
type space struct {
	connection *Connection
	name       string
	version    *version
	err        error // why it can't be searched
}

func (s space) Name() string { return s.name }

func (s space) State(context.Context) query.State {
	if s.err != nil {
		return query.State{Status: query.Failed, Reason: query.Reason(s.err)}
	}
	m := s.version.manifest
	state := query.State{Status: query.Ready, Version: s.version.digest, Documents: m.Counts.Documents, Chunks: m.Counts.Chunks}
	if m.Model != nil {
		state.Model = m.Model.Name
	}
	return state
}

func (s space) Open(ctx context.Context) (query.View, error) {
	if s.err != nil {
		return nil, unavailable(ctx, s.err)
	}
	return view{s.connection, s.version}, nil
}
