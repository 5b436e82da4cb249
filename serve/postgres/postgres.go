// Package postgres keeps bases in PostgreSQL with pgvector, and answers from them as the reader answers from artifacts.
//
// [Push] loads a baked artifact, [Open] is a connection of package query. Every version has tables of its own, so that its
// index holds nothing else, a new version takes the place of the old one by a pointer, and an old one is dropped, not
// deleted row by row:
//
//	larder.spaces           which version of a base answers
//	larder.versions         manifest, centre of the vectors, a probe
//	larder.encoders         the encoders of queries, by digest
//	larder.documents_<id>   documents with their whole text
//	larder.passages_<id>    text and place of each chunk
//	larder.chunks_<id>      what is searched: filters as columns, vectors
//	larder.terms_<id>       chunks and BM25 weights of each term
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"example.com/larder/serve/query"
)

// connectTime bounds the connecting, to each address that a host has.
const connectTime = 5 * time.Second

// configure makes the settings of connections. Of an address that is none, the error quotes nothing: it may hold a
// password.
func configure(address string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("the address of the database is not like postgres://user@host:port/database")
	}
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the address of the database has settings that are wrong; it is like postgres://user@host:port/database?sslmode=require")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTime
	}
	c.RuntimeParams["application_name"] = "larder"
	// A query whose context ends is ended in the server too.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Second}
	}
	return c, nil
}

// describe says what went wrong in the database, without what the statement or its values were.
func describe(err error) error {
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	var described *databaseError
	switch {
	case err == nil || errors.As(err, &described):
		return err
	case errors.As(err, &server):
		return &databaseError{server.Code, fmt.Sprintf("the database says: %s (SQLSTATE %s)%s", server.Message, server.Code, remedy(server.Code)), err}
	case errors.As(err, &connect):
		return &databaseError{"", fmt.Sprintf("the database at %s can't be reached", connectHost(connect)), err}
	}
	return err
}

func connectHost(err *pgconn.ConnectError) string {
	return fmt.Sprintf("%s:%d", err.Config.Host, err.Config.Port)
}

// remedy is what helps against an error of the database.
func remedy(code string) string {
	switch {
	case code == "42501":
		return ": let the owner of the database push, or grant the rights: CREATE on the database to push, USAGE on the schema larder and SELECT on its tables to search"
	case strings.HasPrefix(code, "28"):
		return ": check the user, and the password in PGPASSWORD"
	case code == "3D000":
		return ": create the database first"
	case strings.HasPrefix(code, "53"):
		return ": it is short of disk, memory or connections"
	}
	return ""
}

// A databaseError is an error without the parts that may quote what was asked.
type databaseError struct {
	code string // SQLSTATE
	text string
	err  error
}

func (e *databaseError) Error() string { return e.text }
func (e *databaseError) Unwrap() error { return e.err }

// unavailable makes [query.ErrUnavailable] of what keeps the database from answering.
func unavailable(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, query.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", query.ErrUnavailable, describe(err))
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
