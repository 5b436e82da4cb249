//go:build heavy

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/reader"
	"example.com/larder/serve/query"
)

// admin is a connection of the database's owner.
func admin(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// relations counts what a database has in the schema, and the rows of its catalogue.
func relations(t testing.TB, c *pgx.Conn) string {
	t.Helper()
	var n, versions, spaces, encoders int
	err := c.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'larder'::regnamespace),
		(SELECT count(*) FROM larder.versions), (SELECT count(*) FROM larder.spaces), (SELECT count(*) FROM larder.encoders)`).Scan(&n, &versions, &spaces, &encoders)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d relations, %d versions, %d spaces, %d encoders", n, versions, spaces, encoders)
}

// numbered is a base of which every chunk names the version.
func numbered(version int) shelf.Base {
	b := shelf.Base{Name: "numbered", Documents: shelf.Documents(10, 3)}
	for i := range b.Documents {
		b.Documents[i].Title = fmt.Sprintf("version %d", version)
	}
	return b
}

// TestPushAgain: a version that is there is not loaded again, and may be made the current one again.
func TestPushAgain(t *testing.T) {
	address := database(t)
	first, second, third := filepath.Join(save(t, numbered(1)), "numbered"), filepath.Join(save(t, numbered(2)), "numbered"), filepath.Join(save(t, numbered(3)), "numbered")
	if p := push1(t, first, address, PushOptions{}); !p.EncoderStored || p.Existed {
		t.Errorf("%+v", p)
	}
	db := admin(t, address)
	before := relations(t, db)
	if p := push1(t, first, address, PushOptions{}); !p.Existed || !p.Current || p.EncoderStored || relations(t, db) != before {
		t.Errorf("%+v", p)
	}
	if p := push1(t, second, address, PushOptions{}); p.Existed || p.EncoderStored || p.Pruned != 0 {
		t.Errorf("%+v", p)
	}
	two := relations(t, db)
	if p := push1(t, first, address, PushOptions{}); !p.Existed || p.Current || relations(t, db) != two {
		t.Errorf("%+v", p)
	}
	c := connect(t, address, Options{})
	if v := openSpace(t, c, "numbered"); v.Version() != openBase(t, first).Artifact().Digest {
		t.Error("the version that was pushed last doesn't answer")
	}
	if p := push1(t, third, address, PushOptions{}); p.Pruned != 1 || relations(t, db) != two {
		t.Errorf("%+v, %s, want %s", p, relations(t, db), two)
	}
}

// TestInterruptedPushes: whatever ends a push, it leaves nothing, and the next one works.
func TestInterruptedPushes(t *testing.T) {
	address := database(t)
	old, next := filepath.Join(save(t, numbered(1)), "numbered"), filepath.Join(save(t, shelf.Base{Name: "numbered", Dimensions: 56, Documents: shelf.Documents(10, 3)}), "numbered")
	push1(t, old, address, PushOptions{})
	db := admin(t, address)
	before := relations(t, db)
	want := openBase(t, old).Artifact().Digest
	stopped := 0
	for _, step := range []string{"documents", "passages", "chunks", "terms", "index", "commit"} {
		for _, how := range []string{"context", "backend"} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := Push(ctx, next, address, PushOptions{interrupt: func(at string) {
				if at != step {
					return
				}
				stopped++
				if how == "context" {
					cancel()
					return
				}
				if _, err := db.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'larder' AND datname = current_database()"); err != nil {
					t.Error(err)
				}
				time.Sleep(50 * time.Millisecond)
			}})
			cancel()
			if err == nil || how == "context" && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %v", step, how, err)
			}
			for range 50 { // the server may still be undoing it
				if relations(t, db) == before {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if got := relations(t, db); got != before {
				t.Errorf("%s, %s: %s, want %s", step, how, got, before)
			}
		}
	}
	if stopped != 12 {
		t.Errorf("%d pushes were interrupted", stopped)
	}
	if v := openSpace(t, connect(t, address, Options{}), "numbered"); v.Version() != want {
		t.Error("the old version doesn't answer any more")
	}
	if p := push1(t, next, address, PushOptions{}); p.Existed {
		t.Errorf("%+v", p)
	}
}

// TestReadersSeeOneVersion: while versions are pushed, every answer is wholly of one of them.
func TestReadersSeeOneVersion(t *testing.T) {
	address := database(t)
	var folders []string
	for i := range 4 {
		folders = append(folders, filepath.Join(save(t, numbered(i)), "numbered"))
	}
	push1(t, folders[0], address, PushOptions{})
	s := query.New([]query.Connection{connect(t, address, Options{})}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var searches, unavailable atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := s.Search(t.Context(), "", query.Request{Query: "version 1", TopK: 30})
				var e *query.Error
				if errors.As(err, &e) && e.Kind == query.Unavailable {
					unavailable.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				searches.Add(1)
				for _, h := range r.Hits {
					if h.Title != r.Hits[0].Title {
						t.Errorf("%s and %s in one answer", h.Title, r.Hits[0].Title)
					}
				}
			}
		})
	}
	for i := range 8 {
		push1(t, folders[(i+1)%4], address, PushOptions{})
	}
	cancel()
	wg.Wait()
	if searches.Load() < 20 || unavailable.Load() > searches.Load()/20 {
		t.Errorf("%d searches, %d refused", searches.Load(), unavailable.Load())
	}
	t.Logf("%d searches during 8 pushes, %d of them asked to try again", searches.Load(), unavailable.Load())
}

// TestTwoPushersAtOnce: one waits for the other.
func TestTwoPushersAtOnce(t *testing.T) {
	address := database(t)
	folder := filepath.Join(save(t, numbered(1)), "numbered")
	var existed atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			p, err := Push(t.Context(), folder, address, PushOptions{})
			if err != nil {
				t.Error(err)
			} else if p.Existed {
				existed.Add(1)
			}
		})
	}
	wg.Wait()
	if existed.Load() != 3 {
		t.Errorf("%d of 4 pushes found the version", existed.Load())
	}
}

// TestOutage: a database that goes away is not available, and answers again when it is back.
func TestOutage(t *testing.T) {
	address := database(t)
	push1(t, filepath.Join(save(t, numbered(1)), "numbered"), address, PushOptions{})
	c := connect(t, address, Options{})
	s := query.New([]query.Connection{c}, nil)
	search := func(connection string) error {
		_, err := s.Search(t.Context(), connection, query.Request{Query: "version"})
		return err
	}
	if err := search("db"); err != nil {
		t.Fatal(err)
	}
	postgres, err := server()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ended := make(chan error)
		go func() { // a search under way
			_, err := c.pool.Exec(t.Context(), "SELECT pg_sleep(5)")
			ended <- err
		}()
		time.Sleep(100 * time.Millisecond)
		postgres.Stop()
		if err := <-ended; err == nil {
			t.Error("a statement outlived the server")
		}
		var e *query.Error
		if err := search("db"); !errors.As(err, &e) || e.Kind != query.Unavailable || strings.Contains(err.Error(), "password") {
			t.Errorf("without the server: %v", err)
		}
		if err := search(""); !errors.As(err, &e) || e.Kind != query.NoConnection {
			t.Errorf("without the server: %v", err)
		}
		if infos := s.Connections(t.Context()); infos[0].Status != query.Failed || infos[0].Reason == "" {
			t.Errorf("%+v", infos)
		}
		if err := postgres.Start(); err != nil {
			t.Fatal(err)
		}
		if err := search("db"); err != nil {
			t.Errorf("with the server again: %v", err)
		}
	}
}

// TestStatementTimeout: what takes too long ends in the server.
func TestStatementTimeout(t *testing.T) {
	address := database(t)
	push1(t, filepath.Join(save(t, numbered(1)), "numbered"), address, PushOptions{})
	c := connect(t, address, Options{Timeout: time.Second, MaxConns: 1})
	v := openSpace(t, c, "numbered").(view)
	err := v.read(t.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT pg_sleep(30)")
		return err
	})
	if !errors.Is(err, query.ErrUnavailable) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := v.read(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_sleep(30)")
		return err
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := v.Sides(t.Context(), "version", reader.Filters{}); err != nil {
		t.Errorf("the one connection is of no use any more: %v", err)
	}
	if err := v.read(t.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "CREATE TABLE larder.x (n int)")
		return err
	}); err == nil {
		t.Error("a connection that answers can write")
	}
}

func TestRefusals(t *testing.T) {
	folder := filepath.Join(save(t, numbered(1)), "numbered")
	address := database(t)
	db := admin(t, address)
	refused := func(address, want string) {
		t.Helper()
		_, err := Push(t.Context(), folder, address, PushOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "larder-test-password") || strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(strings.Replace(address, "larder-test-password", "wrong-password", 1), "28P01")
	refused(address[:strings.LastIndex(address, "/")]+"/nowhere?sslmode=disable", "create the database first")
	refused("postgres://larder:wrong-password@127.0.0.1:1/x", "127.0.0.1:1 can't be reached")
	refused("postgres://larder:wrong-password@[::1/x", "is not like postgres://")
	refused("mysql://larder:wrong-password@x/y", "is not like postgres://")
	refused("postgres://larder:wrong-password@127.0.0.1/x?sslmode=sometimes", "settings that are wrong")
	for _, sql := range []string{"CREATE ROLE guest LOGIN PASSWORD 'larder-test-password'", "REVOKE ALL ON SCHEMA public FROM public"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	guest := strings.Replace(address, "//larder:", "//guest:", 1)
	refused(guest, "CREATE EXTENSION vector")
	empty := connect(t, address, Options{})
	if _, err := empty.Spaces(t.Context()); err == nil || !strings.Contains(err.Error(), "larder push") {
		t.Error(err)
	}
	push1(t, folder, address, PushOptions{})
	refused(guest, "grant the rights")
	if infos := query.New([]query.Connection{connect(t, guest, Options{})}, nil).Connections(t.Context()); infos[0].Status != query.Failed {
		t.Errorf("%+v", infos)
	}
	for _, sql := range []string{"GRANT USAGE ON SCHEMA larder TO guest", "GRANT SELECT ON ALL TABLES IN SCHEMA larder TO guest"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if infos := query.New([]query.Connection{connect(t, guest, Options{})}, nil).Connections(t.Context()); infos[0].Status != query.Ready {
		t.Errorf("%+v", infos)
	}
	if _, err := db.Exec(t.Context(), "INSERT INTO larder.migrations VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	refused(address, "use a newer larder")
	if _, err := connect(t, address, Options{}).Spaces(t.Context()); err == nil || !strings.Contains(err.Error(), "use a newer larder") {
		t.Error(err)
	}
}

// TestDamage: what somebody changed in the database is refused, as in an artifact.
func TestDamage(t *testing.T) {
	folder := filepath.Join(save(t, numbered(1)), "numbered")
	for _, sql := range []string{
		"UPDATE larder.encoders SET weights = set_byte(weights, 1000, get_byte(weights, 1000) # 1)",
		"UPDATE larder.encoders SET card = set_byte(card, 20, get_byte(card, 20) # 1)",
		"DELETE FROM larder.encoders",
		"UPDATE larder.versions SET manifest = set_byte(manifest, 20, get_byte(manifest, 20) # 1)",
		"UPDATE larder.versions SET manifest = ''",
		"UPDATE larder.versions SET centre = '\\x00'",
		"UPDATE larder.versions SET probe_vector = decode(repeat('00', 128), 'hex')",
		"UPDATE larder.versions SET base = 'other'; ",
	} {
		address := database(t)
		push1(t, folder, address, PushOptions{})
		if _, err := admin(t, address).Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		infos := query.New([]query.Connection{connect(t, address, Options{})}, nil).Connections(t.Context())
		if infos[0].Status != query.Failed || len(infos[0].Spaces) != 1 || infos[0].Spaces[0].Reason == "" {
			t.Errorf("%s: %+v", sql, infos)
		}
	}
}

// TestIndex counts what the index loses, in vectors that are hard for it: at random.
func TestIndex(t *testing.T) {
	const chunks, dimensions = 6000, 32
	b := shelf.Base{Name: "large", Documents: shelf.Documents(chunks/6, 6)}
	folder := filepath.Join(save(t, b), "large")
	address := database(t)
	push1(t, folder, address, PushOptions{})
	local := openBase(t, folder)
	approximate, exact := connect(t, address, Options{ExactBelow: 1}), connect(t, address, Options{ExactBelow: math.MaxInt32})
	a, e := openSpace(t, approximate, "large"), openSpace(t, exact, "large")
	kinds := map[string]int{}
	found, all := 0, 0
	for _, question := range shelf.Questions(60) {
		for _, f := range []reader.Filters{{}, {ContentType: []string{"faq", "note", "lesson"}}, {Topics: []string{"billing"}}, {UnitID: []string{"unit-1"}, ContentType: []string{"faq"}}} {
			got, err := a.Sides(t.Context(), question, f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := e.Sides(t.Context(), question, f)
			if err != nil {
				t.Fatal(err)
			}
			kinds[strings.Fields(got.Scan)[0]]++
			if len(got.Meaning) != len(want.Meaning) {
				t.Errorf("%d candidates by the index, %d exactly", len(got.Meaning), len(want.Meaning))
			}
			for _, c := range want.Meaning[:10] {
				all++
				for _, d := range got.Meaning {
					if c.Chunk == d.Chunk {
						found++
						break
					}
				}
			}
			compare(t, local, e, question, f)
		}
	}
	recall := float64(found) / float64(all)
	t.Logf("recall@10 of %d: %.4f; %v", all, recall, kinds)
	if recall < 0.97 || kinds["hnsw"] < 60 || kinds["exact"] < 60 {
		t.Errorf("recall@10 %.4f; %v", recall, kinds)
	}
}

// TestWideVectors: what pgvector can't index is searched exactly.
func TestWideVectors(t *testing.T) {
	const dimensions = 2048
	b := shelf.Base{Name: "wide", Dimensions: 32, Documents: shelf.Documents(5, 2)}
	b.Change = func(c *artifact.Content) {
		wide := make([]float32, 0, 10*dimensions)
		for i := range 10 {
			row := make([]float32, dimensions)
			copy(row, c.Vectors[i*32:][:32])
			wide = append(wide, row...)
		}
		c.Vectors = wide
		c.Model = &artifact.Model{Name: "wide", Embedder: "wide", Dimensions: dimensions}
		for i, p := range c.Probes {
			c.Probes[i].Vector = append(p.Vector, make([]float32, dimensions-32)...)
		}
	}
	folder := filepath.Join(save(t, b), "wide")
	address := database(t)
	if p := push1(t, folder, address, PushOptions{}); p.Indexed || p.EncoderStored {
		t.Errorf("%+v", p)
	}
	if infos := query.New([]query.Connection{connect(t, address, Options{})}, nil).Connections(t.Context()); infos[0].Status != query.Failed || !strings.Contains(infos[0].Reason, "embedder") {
		t.Errorf("without the embedder: %+v", infos)
	}
	encoder := testEncoder{t, dimensions}
	c := connect(t, address, Options{ExactBelow: -1, QueryEncoder: func(context.Context, *artifact.Manifest) (reader.QueryEncoder, error) { return encoder, nil }})
	local, err := reader.OpenDir(folder, reader.Options{QueryEncoder: encoder})
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range shelf.Questions(5) {
		compare(t, local, openSpace(t, c, "wide"), question, reader.Filters{})
	}
}
