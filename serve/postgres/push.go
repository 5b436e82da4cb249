package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"example.com/larder/artifact"
	"example.com/larder/models"
	"example.com/larder/reader"
)

// maxIndexed is the largest number of dimensions that pgvector indexes.
const maxIndexed = 2000

// PushOptions change how an artifact is loaded. Zero fields mean the defaults.
type PushOptions struct {
	// Progress, if not nil, is told what is being done, with the rows so far and in all; the same step many times.
	Progress func(step string, done, total int)
	// M and EfConstruction are those of the HNSW index: 16 and 64 by default.
	M, EfConstruction int
	// Memory is what the server may use to make the index, such as 1GB; 512MB by default.
	Memory string

	interrupt func(step string) // is called before each step, for a test that ends pushes there
}

// Pushed says what became of a push.
type Pushed struct {
	Base, Version     string // the digest
	Documents, Chunks int
	Existed           bool // the version was there, and nothing was loaded
	Current           bool // it was the one to answer already
	EncoderStored     bool // false if it was there, or none is needed
	Indexed           bool // by HNSW; false for vectors of over 2000 dimensions, and without vectors
	Pruned            int  // old versions that were dropped
	Warning           string
	Took              time.Duration
}

// Push loads the artifact that dir names, as [reader.OpenDir] does, into the database at an address like
// postgres://user@host/database, and makes it the version that answers. All of it happens in one transaction: readers see
// the old version or the new one, and an interrupted push leaves nothing. The artifact is verified first. Of older versions
// the last one stays, for those who are searching it.
func Push(ctx context.Context, dir, address string, o PushOptions) (*Pushed, error) {
	start := time.Now()
	base, err := reader.Verify(dir, reader.Options{Context: ctx})
	if err != nil {
		return nil, err
	}
	config, err := configure(address)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, describe(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := migrate(ctx, conn); err != nil {
		return nil, describe(err)
	}
	if err := pgxvec.RegisterTypes(ctx, conn); err != nil {
		return nil, fmt.Errorf("the extension pgvector is not in the search path of the database: %w", describe(err))
	}
	p := &push{PushOptions: o.withDefaults(), dir: dir, base: base, artifact: base.Artifact(), conn: conn}
	if p.provenance, err = provenance(dir); err != nil {
		return nil, err
	}
	p.result = Pushed{
		Base: base.Manifest().Base, Version: p.artifact.Digest,
		Documents: p.artifact.Documents(), Chunks: p.artifact.Chunks(),
	}
	if err := p.load(ctx); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("push %s: %w", p.result.Base, describe(err))
	}
	if p.result.Pruned, err = prune(ctx, conn, p.result.Base); err != nil {
		p.result.Warning = fmt.Sprintf("old versions are still there, the next push drops them: %v", describe(err))
	}
	p.result.Took = time.Since(start)
	return &p.result, nil
}

func (o PushOptions) withDefaults() PushOptions {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.interrupt == nil {
		o.interrupt = func(string) {}
	}
	if o.M == 0 {
		o.M = 16
	}
	if o.EfConstruction == 0 {
		o.EfConstruction = 64
	}
	if o.Memory == "" {
		o.Memory = "512MB"
	}
	return o
}

func provenance(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, _, err := artifact.Locate(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	return artifact.Provenance(root.FS(), folder)
}

// A push loads one artifact.
type push struct {
	PushOptions
	dir        string
	base       *reader.Base
	artifact   *artifact.Artifact
	provenance []byte
	conn       *pgx.Conn
	result     Pushed
}

// load does all in one transaction.
func (p *push) load(ctx context.Context) error {
	tx, err := p.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if err := p.lock(ctx, tx); err != nil {
		return err
	}
	id, current, err := p.existing(ctx, tx)
	if err != nil {
		return err
	}
	if p.result.Existed, p.result.Current = id != 0, current; current {
		return nil
	}
	if id == 0 {
		if id, err = p.version(ctx, tx); err != nil {
			return err
		}
		if err := p.rows(ctx, tx, id); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "INSERT INTO larder.spaces VALUES ($1, $2) ON CONFLICT (base) DO UPDATE SET version = $2", p.result.Base, id); err != nil {
		return err
	}
	p.interrupt("commit")
	return tx.Commit(ctx)
}

// lock waits until nobody else pushes the base.
func (p *push) lock(ctx context.Context, tx pgx.Tx) error {
	var alone bool
	const key = "$1::int, hashtext($2)"
	if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock("+key+")", lockPush, p.result.Base).Scan(&alone); err != nil || alone {
		return err
	}
	p.Progress("waiting for another push of "+p.result.Base, 0, 0)
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock("+key+")", lockPush, p.result.Base)
	return err
}

// existing looks for the version in the database.
func (p *push) existing(ctx context.Context, tx pgx.Tx) (id int64, current bool, err error) {
	err = tx.QueryRow(ctx, `SELECT v.id, s.version IS NOT NULL FROM larder.versions v LEFT JOIN larder.spaces s ON s.version = v.id
		WHERE v.base = $1 AND v.digest = $2`, p.result.Base, p.result.Version).Scan(&id, &current)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return id, current, err
}

// version adds the row of the version, and its encoder.
func (p *push) version(ctx context.Context, tx pgx.Tx) (id int64, err error) {
	m := p.base.Manifest()
	if m.Model != nil && !m.Model.External() {
		if err := p.encoder(ctx, tx, m.Model.Encoder); err != nil {
			return 0, err
		}
	}
	manifest, err := m.Marshal()
	if err != nil {
		return 0, err
	}
	centre, probe := []byte{}, artifact.Probe{Vector: []float32{}}
	if v := p.artifact.Vectors(); v != nil {
		centre, probe = floatBytes(v.Centre), p.artifact.Probes()[0]
		p.result.Indexed = m.Model.Dimensions <= maxIndexed
	}
	err = tx.QueryRow(ctx, `INSERT INTO larder.versions (base, digest, manifest, provenance, centre, probe_text, probe_vector, indexed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		p.result.Base, p.result.Version, manifest, p.provenance, centre, probe.Text, floatBytes(probe.Vector), p.result.Indexed).Scan(&id)
	return id, err
}

// encoder stores the encoder, unless it is there.
func (p *push) encoder(ctx context.Context, tx pgx.Tx, digest string) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM larder.encoders WHERE digest = $1)", digest).Scan(&there); err != nil || there {
		return err
	}
	files, err := encoderFiles(p.dir, digest)
	if err != nil {
		return err
	}
	// Another base with the same encoder may be pushed right now.
	tag, err := tx.Exec(ctx, "INSERT INTO larder.encoders VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", digest, files[0], files[1], files[2])
	p.result.EncoderStored = tag.RowsAffected() == 1
	return err
}

// encoderFiles reads the encoder of an artifact, which is in its folder or on its shelf: card, vocabulary and weights.
func encoderFiles(dir, digest string) (files [3][]byte, err error) {
	name := artifact.FolderName(digest)
	version, err := versionFolder(dir)
	if err != nil {
		return files, err
	}
	for _, folder := range []string{version, filepath.Join(version, "..", "..", "models", name)} {
		// It is opened again, since what is stored must be what was checked.
		if _, err := models.Open(os.DirFS(folder), ".", digest); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return files, err
		}
		for i, file := range []string{models.CardFile, models.VocabFile, models.WeightsFile} {
			if files[i], err = os.ReadFile(filepath.Join(folder, file)); err != nil {
				return files, err
			}
		}
		return files, nil
	}
	return files, fmt.Errorf("the encoder %s is neither in the artifact nor on its shelf", name)
}

// versionFolder is the folder of the version that dir names.
func versionFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	folder, _, err := artifact.Locate(os.DirFS(abs), ".")
	return filepath.Join(abs, filepath.FromSlash(folder)), err
}

// rows makes the version's tables.
func (p *push) rows(ctx context.Context, tx pgx.Tx, id int64) error {
	vector := "text"
	if v := p.artifact.Vectors(); v != nil {
		vector = fmt.Sprintf("vector(%d)", len(v.Centre))
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(tables, id, vector)); err != nil {
		return err
	}
	for _, copy := range []struct {
		table   string
		columns []string
		rows    int
		row     func(i int) ([]any, error)
	}{
		{"documents", documentColumns, p.artifact.Documents(), p.document},
		{"passages", passageColumns, p.artifact.Chunks(), p.passage},
		{"chunks", chunkColumns, p.artifact.Chunks(), p.chunk},
		{"terms", termColumns, p.artifact.Terms(), p.term},
	} {
		p.interrupt(copy.table)
		source := pgx.CopyFromSlice(copy.rows, func(i int) ([]any, error) {
			if i%1000 == 0 {
				p.Progress(copy.table, i, copy.rows)
			}
			return copy.row(i)
		})
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"larder", fmt.Sprintf("%s_%d", copy.table, id)}, copy.columns, source); err != nil {
			return err
		}
		p.Progress(copy.table, copy.rows, copy.rows)
	}
	return p.index(ctx, tx, id)
}

func (p *push) index(ctx context.Context, tx pgx.Tx, id int64) error {
	p.interrupt("index")
	p.Progress("indexing", 0, 0)
	if _, err := tx.Exec(ctx, "SELECT set_config('maintenance_work_mem', $1, true)", p.Memory); err != nil {
		return fmt.Errorf("memory %q: %w", p.Memory, describe(err))
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(indexes, id)); err != nil {
		return err
	}
	if p.result.Indexed {
		p.Progress("indexing vectors", 0, p.artifact.Chunks())
		if _, err := tx.Exec(ctx, fmt.Sprintf("CREATE INDEX ON larder.chunks_%d USING hnsw (embedding vector_cosine_ops) WITH (m = %d, ef_construction = %d)", id, p.M, p.EfConstruction)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(analyze, id))
	return err
}

// prune drops the versions of a base but the current one and the one before it.
func prune(ctx context.Context, conn *pgx.Conn, base string) (dropped int, err error) {
	rows, err := conn.Query(ctx, `SELECT id FROM larder.versions WHERE base = $1 AND id NOT IN (SELECT version FROM larder.spaces)
		ORDER BY pushed DESC, id DESC OFFSET 1`, base)
	if err != nil {
		return 0, err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	for _, id := range old {
		if err := drop(ctx, conn, id); err != nil {
			return dropped, err
		}
		dropped++
	}
	_, err = conn.Exec(ctx, `DELETE FROM larder.encoders e WHERE NOT EXISTS (
		SELECT FROM larder.versions v WHERE convert_from(v.manifest, 'UTF8')::jsonb -> 'model' ->> 'encoder' = e.digest)`)
	return dropped, err
}

// drop removes a version, unless somebody searches it for long.
func drop(ctx context.Context, conn *pgx.Conn, id int64) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '10s'"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM larder.versions WHERE id = $1", id); err != nil { // which spaces that point to it forbid
		return err
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(dropTables, id)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

var (
	documentColumns = strings.Fields("n id sha256 size path title content_type unit_id date author language topics pages text")
	passageColumns  = strings.Fields("n id document first past heading_path anchor first_page last_page first_label last_label first_line last_line text")
	chunkColumns    = strings.Fields("n content_type unit_id date topics scale codes embedding")
	termColumns     = strings.Fields("term chunks weights")
)

// floatBytes are little-endian floats of 32 bits.
func floatBytes(floats []float32) []byte {
	b := make([]byte, 0, 4*len(floats))
	for _, f := range floats {
		u := math.Float32bits(f)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}
