package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// migrations bring the schema to a newer state, one after the other. What was released never changes.
var migrations = []string{
	`CREATE TABLE larder.encoders (
		digest  text PRIMARY KEY,
		card    bytea NOT NULL,
		vocab   bytea NOT NULL,
		weights bytea NOT NULL
	);
	ALTER TABLE larder.encoders ALTER COLUMN weights SET STORAGE EXTERNAL;
	CREATE TABLE larder.versions (
		id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		base         text NOT NULL,
		digest       text NOT NULL,
		manifest     bytea NOT NULL,
		provenance   bytea NOT NULL,
		centre       bytea NOT NULL,
		probe_text   text NOT NULL,
		probe_vector bytea NOT NULL,
		indexed      boolean NOT NULL,
		pushed       timestamptz NOT NULL DEFAULT now(),
		UNIQUE (base, digest)
	);
	CREATE TABLE larder.spaces (
		base    text PRIMARY KEY,
		version bigint NOT NULL REFERENCES larder.versions
	);`,
}

// tables are those of one version.
const tables = `
	CREATE TABLE larder.documents_%[1]d (
		n int NOT NULL, id bytea NOT NULL, sha256 bytea NOT NULL, size bigint NOT NULL, path text NOT NULL, title text NOT NULL,
		content_type text NOT NULL, unit_id text NOT NULL, date text NOT NULL, author text NOT NULL, language text NOT NULL,
		topics text[] NOT NULL, pages int NOT NULL, text text NOT NULL
	);
	CREATE TABLE larder.passages_%[1]d (
		n int NOT NULL, id bytea NOT NULL, document int NOT NULL, first int NOT NULL, past int NOT NULL, heading_path text NOT NULL,
		anchor text NOT NULL, first_page int NOT NULL, last_page int NOT NULL, first_label text NOT NULL, last_label text NOT NULL,
		first_line int NOT NULL, last_line int NOT NULL, text text NOT NULL
	);
	CREATE TABLE larder.chunks_%[1]d (
		n int NOT NULL, content_type text NOT NULL, unit_id text NOT NULL, date date, topics text[] NOT NULL,
		scale real NOT NULL, codes bytea NOT NULL, embedding %[2]s
	);
	CREATE TABLE larder.terms_%[1]d (term text COLLATE "C" NOT NULL, chunks int[] NOT NULL, weights float8[] NOT NULL);`

// indexes are made after the rows are there.
const indexes = `
	ALTER TABLE larder.documents_%[1]d ADD PRIMARY KEY (n);
	CREATE UNIQUE INDEX ON larder.documents_%[1]d (id);
	ALTER TABLE larder.passages_%[1]d ADD PRIMARY KEY (n);
	ALTER TABLE larder.chunks_%[1]d ADD PRIMARY KEY (n);
	CREATE INDEX ON larder.chunks_%[1]d (content_type);
	CREATE INDEX ON larder.chunks_%[1]d (unit_id);
	CREATE INDEX ON larder.chunks_%[1]d (date);
	CREATE INDEX ON larder.chunks_%[1]d USING gin (topics);
	ALTER TABLE larder.terms_%[1]d ADD PRIMARY KEY (term);`

const analyze = `
	ANALYZE larder.documents_%[1]d; ANALYZE larder.passages_%[1]d; ANALYZE larder.chunks_%[1]d; ANALYZE larder.terms_%[1]d;`

const dropTables = `DROP TABLE larder.documents_%[1]d, larder.passages_%[1]d, larder.chunks_%[1]d, larder.terms_%[1]d;`

// lockMigrations is the advisory lock of those who migrate; lockPush, together with a hash of the base's name, of those
// who push.
const (
	lockMigrations = 0x6c61_7264
	lockPush       = 0x6c61_7265
)

// schemaVersion is how many migrations a database has, 0 if it has no schema.
func schemaVersion(ctx context.Context, q querier) (version int, err error) {
	var there bool
	if err := q.QueryRow(ctx, "SELECT to_regclass('larder.migrations') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM larder.migrations").Scan(&version)
	return version, err
}

// A querier is a connection, a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func newerSchema(version int) error {
	return fmt.Errorf("the database's schema is of version %d, and this larder knows %d: use a newer larder", version, len(migrations))
}

// migrate makes the schema, or brings it to this program's state. It asks for no right that it does not need.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	if version > len(migrations) {
		return newerSchema(version)
	}
	// The lock is taken before the transaction begins: one that waited for it would not notice what became of the schema
	// meanwhile.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", lockMigrations); err != nil {
		return err
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lockMigrations)
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if version, err = schemaVersion(ctx, tx); err != nil { // another one may have been first
		return err
	}
	if version > len(migrations) {
		return newerSchema(version)
	}
	if version == 0 {
		if err := prepare(ctx, tx); err != nil {
			return err
		}
	}
	for ; version < len(migrations); version++ {
		if _, err := tx.Exec(ctx, migrations[version]); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO larder.migrations VALUES ($1)", version+1); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// prepare makes the extension and the schema, unless they are there.
func prepare(ctx context.Context, tx pgx.Tx) error {
	var extension, schema bool
	if err := tx.QueryRow(ctx, "SELECT to_regtype('vector') IS NOT NULL, to_regnamespace('larder') IS NOT NULL").Scan(&extension, &schema); err != nil {
		return err
	}
	if !extension {
		if _, err := tx.Exec(ctx, "CREATE EXTENSION vector"); err != nil {
			return fmt.Errorf("the extension pgvector is needed (have it installed in the server, and CREATE EXTENSION vector run in the database): %w", describe(err))
		}
	}
	if !schema {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA larder"); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "CREATE TABLE larder.migrations (version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())")
	return err
}

// rollback ends a transaction that was not committed, also when ctx has ended.
func rollback(ctx context.Context, tx pgx.Tx) { _ = tx.Rollback(context.WithoutCancel(ctx)) }
