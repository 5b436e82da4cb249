package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"example.com/larder/artifact"
	"example.com/larder/reader"
	"example.com/larder/serve/query"
)

const (
	// margin is how many candidates more than needed are taken from the database, whose sums of 32 bits may order those
	// at the end otherwise than ours.
	margin = 20
	// efLeast and efMost bound the candidates that a search in the HNSW index keeps; more finds more, and takes longer.
	efLeast, efMost = 200, 1000
)

// A view is one version. Its tables never change, and stay until two newer versions were pushed.
type view struct {
	connection *Connection
	version    *version
}

func (v view) Manifest() *artifact.Manifest { return v.version.manifest }
func (v view) Version() string              { return v.version.digest }
func (v view) Close()                       {}

// Sides ranks as the reader does. What the index finds is compared with the question again, by the reader's arithmetic.
func (v view) Sides(ctx context.Context, text string, filters reader.Filters) (*reader.Sides, error) {
	m := v.version.manifest
	sides := &reader.Sides{Mode: m.Settings.Mode, Terms: []string{}}
	where := conditions(filters)
	var q *reader.QueryVector
	var cutVector, cutTerms bool
	var err error
	if m.Model != nil && !reader.Blank(text) { // before a connection is taken, for a service may need its time
		if q, cutVector, err = v.question(ctx, text); err != nil {
			return nil, err
		}
	}
	err = v.read(ctx, func(tx pgx.Tx) (err error) {
		if sides.Scope, err = v.scope(ctx, tx, where); err != nil || sides.Scope == 0 || reader.Blank(text) {
			return err
		}
		if sides.Mode != reader.Keyword {
			if sides.Meaning, sides.Scan, err = v.meaning(ctx, tx, q, where, sides.Scope); err != nil {
				return err
			}
		}
		if sides.Cut = cutVector; sides.Mode == reader.Meaning {
			return nil
		}
		sides.Terms, cutTerms = v.version.questions.Terms(text)
		sides.Cut = cutVector || cutTerms
		sides.Keyword, err = v.keyword(ctx, tx, q, sides.Terms, where)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sides, nil
}

// read runs f in a transaction that only reads.
func (v view) read(ctx context.Context, f func(tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, v.connection.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, f)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, reader.ErrNoQueryEncoder) {
		return err
	}
	if hasCode(err, "42P01") { // undefined_table
		return fmt.Errorf("%w: the version was replaced twice meanwhile; try again", query.ErrUnavailable)
	}
	return unavailable(ctx, err)
}

// A clause is the part of a statement that filters, and its values.
type clause struct {
	sql  string // begins with WHERE, or is ""
	args []any
}

// conditions makes a clause of filters. Its parameters are numbered from $1.
func conditions(f reader.Filters) clause {
	var parts []string
	var args []any
	add := func(format string, value any) {
		if list, ok := value.([]string); ok { // what is no text of PostgreSQL's is in no document
			value = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.ContainsRune(s, 0) || !utf8.ValidString(s) })
		}
		args = append(args, value)
		parts = append(parts, fmt.Sprintf(format, len(args)))
	}
	if len(f.ContentType) > 0 {
		add("content_type = ANY($%d::text[])", f.ContentType)
	}
	if len(f.UnitID) > 0 {
		add("unit_id = ANY($%d::text[])", f.UnitID)
	}
	if len(f.Topics) > 0 {
		add("topics && $%d::text[]", f.Topics)
	}
	if f.DateFrom != "" {
		add("date >= $%d::text::date", f.DateFrom)
	}
	if f.DateTo != "" {
		add("date <= $%d::text::date", f.DateTo)
	}
	if len(parts) == 0 {
		return clause{}
	}
	return clause{"WHERE " + strings.Join(parts, " AND "), args}
}

// with returns the values with more of them, and the number of the first of these.
func (c clause) with(more ...any) (args []any, next int) {
	return append(slices.Clone(c.args), more...), len(c.args) + 1
}

func (v view) scope(ctx context.Context, tx pgx.Tx, where clause) (n int, err error) {
	if where.sql == "" {
		return v.version.manifest.Counts.Chunks, nil
	}
	err = tx.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM larder.chunks_%d %s", v.version.id, where.sql), where.args...).Scan(&n)
	return n, err
}

// question encodes a question.
func (v view) question(ctx context.Context, text string) (*reader.QueryVector, bool, error) {
	vector := make([]float32, len(v.version.centre))
	cut, err := v.version.questions.Vector(ctx, vector, text)
	if err != nil {
		return nil, false, err
	}
	q := new(reader.QueryVector)
	q.Set(vector, v.version.centre)
	return q, cut, nil
}

// meaning finds the nearest chunks: by the index, or exactly where there is none, where filters let so few through that
// comparing them all is faster, and where the index found fewer than there are.
func (v view) meaning(ctx context.Context, tx pgx.Tx, q *reader.QueryVector, where clause, scope int) (list []reader.Candidate, scan string, err error) {
	if v.version.indexed && scope >= v.connection.ExactBelow && v.connection.ExactBelow >= 0 {
		ef := efLeast * v.version.manifest.Counts.Chunks / scope
		if ef <= efMost {
			if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL hnsw.ef_search = %d", ef)); err != nil {
				return nil, "", err
			}
			if list, err = v.nearest(ctx, tx, q, where, "<=>", ef); err != nil {
				return nil, "", err
			}
			if len(list) >= min(reader.RRFDepth, scope) {
				return v.best(list), fmt.Sprintf("hnsw ef_search=%d", ef), nil
			}
		}
	}
	list, err = v.nearest(ctx, tx, q, where, "<#>", reader.RRFDepth+margin)
	return v.best(list), "exact", err
}

// nearest asks for the chunks with the least distance, by an operator of pgvector. The order of <#> is that of our cosine:
// the two differ by a constant. HNSW indexes are for <=>.
func (v view) nearest(ctx context.Context, tx pgx.Tx, q *reader.QueryVector, where clause, operator string, limit int) ([]reader.Candidate, error) {
	args, n := where.with(vectorText(q), limit)
	distance := fmt.Sprintf("embedding %s $%d::text::vector", operator, n)
	rows, err := tx.Query(ctx, fmt.Sprintf("SELECT n, content_type, scale, codes, 0::float8 FROM larder.chunks_%d %s ORDER BY %s LIMIT $%d",
		v.version.id, where.sql, distance, n+1), args...)
	if err != nil {
		return nil, err
	}
	return v.candidates(rows, q)
}

// vectorText is the question's quantized vector as pgvector reads it.
func vectorText(q *reader.QueryVector) string {
	b := []byte{'['}
	for i, c := range q.Codes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, q.Scale*float64(c), 'g', 9, 32)
	}
	return string(append(b, ']'))
}

// candidates reads rows of number, content type, scale, codes, and BM25.
func (v view) candidates(rows pgx.Rows, q *reader.QueryVector) ([]reader.Candidate, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c reader.Candidate, err error) {
		var scale float32
		var codes []byte
		if err := row.Scan(&c.Chunk, &c.ContentType, &scale, &codes, &c.BM25); err != nil || q == nil {
			return c, err
		}
		if len(codes) != len(q.Codes) {
			return c, fmt.Errorf("%w: chunk %d in the database has %d codes", artifact.ErrCorrupt, c.Chunk, len(codes))
		}
		cosine := q.Cosine(scale, codes)
		c.Cosine = &cosine
		return c, nil
	})
}

// best orders candidates by cosine and keeps those that count.
func (v view) best(list []reader.Candidate) []reader.Candidate {
	slices.SortFunc(list, func(a, b reader.Candidate) int {
		return cmp.Or(cmp.Compare(*b.Cosine, *a.Cosine), cmp.Compare(a.Chunk, b.Chunk))
	})
	list = list[:min(len(list), reader.RRFDepth)]
	return slices.DeleteFunc(list, func(c reader.Candidate) bool { return *c.Cosine < v.version.manifest.Settings.MinScore })
}

// keyword adds up the weights of the question's terms.
func (v view) keyword(ctx context.Context, tx pgx.Tx, q *reader.QueryVector, terms []string, where clause) ([]reader.Candidate, error) {
	var distinct []string
	var times []float64
	for _, t := range terms {
		if i := slices.Index(distinct, t); i >= 0 {
			times[i]++
		} else {
			distinct, times = append(distinct, t), append(times, 1)
		}
	}
	filter := ""
	if where.sql != "" {
		filter = fmt.Sprintf("WHERE p.chunk IN (SELECT n FROM larder.chunks_%d %s)", v.version.id, where.sql)
	}
	args, n := where.with(distinct, times, reader.RRFDepth)
	rows, err := tx.Query(ctx, fmt.Sprintf(`WITH best AS MATERIALIZED (
			SELECT p.chunk, sum(p.weight * q.times) AS score
			FROM unnest($%[2]d::text[], $%[3]d::float8[]) AS q(term, times)
			JOIN larder.terms_%[1]d t ON t.term = q.term
			CROSS JOIN LATERAL unnest(t.chunks, t.weights) AS p(chunk, weight)
			%[5]s GROUP BY p.chunk ORDER BY score DESC, p.chunk LIMIT $%[4]d
		)
		SELECT c.n, c.content_type, c.scale, c.codes, best.score FROM best JOIN larder.chunks_%[1]d c ON c.n = best.chunk ORDER BY best.score DESC, c.n`,
		v.version.id, n, n+1, n+2, filter), args...)
	if err != nil {
		return nil, err
	}
	return v.candidates(rows, q)
}

// Hits are the texts and places of chunks, in their order.
func (v view) Hits(ctx context.Context, chunks []int) (hits []reader.Hit, err error) {
	err = v.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT p.id, d.id, d.path, d.title, d.content_type, p.heading_path, p.anchor, p.text,
				p.first_page, p.last_page, p.first_label, p.last_label, p.first_line, p.last_line, p.first, p.past
			FROM unnest($1::int[]) WITH ORDINALITY AS q(n, place)
			JOIN larder.passages_%[1]d p ON p.n = q.n JOIN larder.documents_%[1]d d ON d.n = p.document ORDER BY q.place`, v.version.id), chunks)
		if err != nil {
			return err
		}
		hits, err = pgx.CollectRows(rows, hitOf)
		if err == nil && len(hits) != len(chunks) {
			err = fmt.Errorf("%w: %d of %d passages are in the database", artifact.ErrCorrupt, len(hits), len(chunks))
		}
		return err
	})
	return hits, err
}

func hitOf(row pgx.CollectableRow) (h reader.Hit, err error) {
	var chunk, document []byte
	err = row.Scan(&chunk, &document, &h.Path, &h.Title, &h.ContentType, &h.HeadingPath, &h.Anchor, &h.Text,
		&h.FirstPage, &h.LastPage, &h.FirstLabel, &h.LastLabel, &h.FirstLine, &h.LastLine, &h.Start, &h.End)
	h.ChunkID, h.DocumentID, h.Source = fmt.Sprintf("%x", chunk), fmt.Sprintf("%x", document), path.Base(h.Path)
	return h, err
}

// Document returns a document with its text.
func (v view) Document(ctx context.Context, id artifact.ID) (d *query.Document, err error) {
	err = v.read(ctx, func(tx pgx.Tx) error {
		info := artifact.DocumentInfo{ID: id}
		var text string
		err := tx.QueryRow(ctx, fmt.Sprintf("SELECT path, title, content_type, unit_id, date, author, language, topics, pages, text FROM larder.documents_%d WHERE id = $1", v.version.id), id[:]).
			Scan(&info.Path, &info.Title, &info.ContentType, &info.UnitID, &info.Date, &info.Author, &info.Language, &info.Topics, &info.Pages, &text)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("document %s: %w", id, fs.ErrNotExist)
		}
		if err != nil {
			return err
		}
		d = query.NewDocument(info, text)
		return nil
	})
	return d, err
}
