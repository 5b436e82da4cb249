package reader

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/testkit"
	"example.com/larder/internal/testkit/shelf"
	"example.com/larder/models"
)

// service stands for an embedder outside: the synthetic encoder, whose vectors it makes longer than 1.
type service struct {
	encoder  *models.Encoder
	identity string
	queries  []string
	change   func(ctx context.Context, v []float32) ([]float32, error)
}

func (s *service) Identity() string { return s.identity }

func (s *service) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	s.queries = append(s.queries, query)
	v := make([]float32, s.encoder.Dimensions())
	if _, err := s.encoder.EncodeQuery(v, query); err != nil {
		return nil, err
	}
	for i := range v {
		v[i] *= 7
	}
	if s.change != nil {
		return s.change(ctx, v)
	}
	return v, nil
}

func newService(t *testing.T, identity string) *service {
	t.Helper()
	e, err := models.Open(testkit.Encoder(32), ".", "")
	if err != nil {
		t.Fatal(err)
	}
	return &service{encoder: e, identity: identity}
}

// outsideShop is the sample shop with vectors that a service made.
func outsideShop() shelf.Base {
	b := shop(Hybrid)
	b.Change = func(c *artifact.Content) {
		c.Model = &artifact.Model{Name: "sample-embedding", Embedder: `service "sample" 1`, Dimensions: c.Model.Dimensions}
	}
	return b
}

func TestOutsideAnswersAsTheEncoderWould(t *testing.T) {
	own := openShop(t, Hybrid)
	s := newService(t, `service "sample" 1`)
	outside, err := Open(mustShelf(t, outsideShop()), "shop", Options{QueryEncoder: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"How long does a refund take?", "Сколько ждать возврата?", "parcel"} {
		want, got := own.LookUp(t.Context(), query), outside.LookUp(t.Context(), query)
		if len(want.Results) == 0 || asJSON(t, want) != asJSON(t, got) {
			t.Errorf("%q: %s, not %s", query, asJSON(t, got), asJSON(t, want))
		}
	}
	s.queries = nil
	if a := outside.LookUp(t.Context(), " \n"); len(s.queries) > 0 || a.Error != "" {
		t.Errorf("a blank query went out, or is an error: %q", a.Error)
	}
	// A huge query with bytes that are no text arrives cut, and as text.
	r, err := outside.Search(t.Context(), Query{Text: "refund \xff" + strings.Repeat("я", 1<<20)})
	if err != nil || !r.Cut {
		t.Fatalf("%v, cut %v", err, r)
	}
	if q := s.queries[0]; len(q) > maxOutside+6 || !strings.HasPrefix(q, "refund \ufffdя") || !strings.HasSuffix(q, "\ufffd") && !strings.HasSuffix(q, "я") {
		t.Errorf("%d bytes went out: %.20q", len(q), q)
	}
}

func TestOutsideIsRefused(t *testing.T) {
	fsys := mustShelf(t, outsideShop())
	other := newService(t, `service "sample" 1`)
	other.change = func(_ context.Context, v []float32) ([]float32, error) {
		v[0], v[1] = v[1]+9, v[0]-9
		return v, nil
	}
	broken := newService(t, `service "sample" 1`)
	broken.change = func(context.Context, []float32) ([]float32, error) { return nil, errors.New("service down") }
	for name, c := range map[string]struct {
		encoder QueryEncoder
		want    string
	}{
		"none":           {nil, `it is service "sample" 1`},
		"other identity": {newService(t, "another"), `it was service "sample" 1, and this one is another`},
		"other vectors":  {other, "another model by the same name"},
		"broken":         {broken, "service down"},
	} {
		b, err := Open(fsys, "shop", Options{QueryEncoder: c.encoder})
		if b != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if name != "broken" && !errors.Is(err, ErrNoQueryEncoder) {
			t.Errorf("%s: %v is not ErrNoQueryEncoder", name, err)
		}
	}
}

func TestOutsideFailsDuringLookUp(t *testing.T) {
	s := newService(t, `service "sample" 1`)
	b, err := Open(mustShelf(t, outsideShop()), "shop", Options{QueryEncoder: s})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(ctx context.Context, v []float32) ([]float32, error){
		"error":      func(context.Context, []float32) ([]float32, error) { return nil, errors.New("refund") },
		"dimensions": func(_ context.Context, v []float32) ([]float32, error) { return v[1:], nil },
		"zero":       func(_ context.Context, v []float32) ([]float32, error) { clear(v); return v, nil },
		"panic":      func(context.Context, []float32) ([]float32, error) { panic("refund") },
		"hangs":      func(ctx context.Context, v []float32) ([]float32, error) { <-ctx.Done(); return v, nil },
	} {
		s.change = change
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if got := asJSON(t, b.LookUp(ctx, "refund")); got != `{"error":"lookup unavailable"}` {
			t.Errorf("%s: %s", name, got)
		}
		cancel()
	}
}

func TestVerifyOutside(t *testing.T) {
	dir := t.TempDir()
	s := mustShelf(t, outsideShop())
	if err := os.CopyFS(dir, s); err != nil {
		t.Fatal(err)
	}
	b, err := Verify(dir+"/shop", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), Query{Text: "refund"}); !errors.Is(err, ErrNoQueryEncoder) {
		t.Errorf("hybrid: %v", err)
	}
	r, err := b.Search(t.Context(), Query{Text: "refund", Mode: Keyword})
	if err != nil || len(r.Hits) == 0 {
		t.Errorf("keyword: %v, %v", r, err)
	}
	if _, err := Verify(dir+"/shop", Options{QueryEncoder: newService(t, "another")}); !errors.Is(err, ErrNoQueryEncoder) {
		t.Errorf("another embedder: %v", err)
	}
}
