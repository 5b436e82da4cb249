package reader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/larder/artifact"
)

// A QueryEncoder turns queries into vectors. It is safe for concurrent use.
type QueryEncoder interface {
	// Identity names all that decides a vector but the query. It must be the one that the artifact remembers.
	Identity() string
	// EmbedQuery returns a vector of any length above 0. It stops when ctx ends.
	EmbedQuery(ctx context.Context, query string) ([]float32, error)
}

// ErrNoQueryEncoder says that a base's vectors were made by an embedder that is not there, or by another one than is.
var ErrNoQueryEncoder = errors.New("the embedder that made the base's vectors is needed for queries")

const (
	// maxOutside is how many bytes of a query an embedder outside gets. A token has at least one byte, and 8,191 tokens
	// are what the largest of them take.
	maxOutside = 8000
	// outsideTest bounds the self-test of an embedder outside.
	outsideTest = 30 * time.Second
)

// useOutside takes e for queries, and makes sure that it encodes as it did where the artifact was baked.
func (i *Interpreter) useOutside(ctx context.Context, e QueryEncoder, probe artifact.Probe) error {
	want := i.manifest.Model.Embedder
	if e == nil {
		return fmt.Errorf("%w: it is %s; give it as reader.Options.QueryEncoder", ErrNoQueryEncoder, want)
	}
	if found := e.Identity(); found != want {
		return fmt.Errorf("%w: it was %s, and this one is %s; bake again, or use the one of the bake", ErrNoQueryEncoder, want, found)
	}
	i.outside = e
	ctx, cancel := context.WithTimeout(ctx, outsideTest)
	defer cancel()
	vector := make([]float32, i.manifest.Model.Dimensions)
	if _, err := i.encodeOutside(ctx, vector, probe.Text); err != nil {
		return fmt.Errorf("self-test of the embedder of queries: %w", err)
	}
	if cos := dot(vector, probe.Vector) / math.Sqrt(dot(probe.Vector, probe.Vector)); !(cos >= selfTestCosine) {
		return fmt.Errorf("%w: %s gives a known text a cosine of %.4f with its vector at the bake, not %v or more: it is another model by the same name; bake again (rule E2)", ErrNoQueryEncoder, want, cos, selfTestCosine)
	}
	return nil
}

// encodeOutside writes a query's vector, of length 1, into dst. cut says that the end of the query was left out.
func (i *Interpreter) encodeOutside(ctx context.Context, dst []float32, text string) (cut bool, err error) {
	if i.outside == nil {
		return false, fmt.Errorf("%w: it is %s", ErrNoQueryEncoder, i.manifest.Model.Embedder)
	}
	if cut = len(text) > maxOutside; cut {
		text = text[:maxOutside]
	}
	vector, err := i.outside.EmbedQuery(ctx, strings.ToValidUTF8(text, "\ufffd"))
	if ctx.Err() != nil {
		return cut, ctx.Err()
	}
	if err != nil {
		return cut, err
	}
	return cut, normalize(dst, vector)
}

// normalize writes vector, scaled to length 1, into dst.
func normalize(dst, vector []float32) error {
	if len(vector) != len(dst) {
		return fmt.Errorf("a query's vector has %d dimensions, not the %d of the base", len(vector), len(dst))
	}
	length := math.Sqrt(dot(vector, vector))
	if !(length > 0) || math.IsInf(length, 0) {
		return errors.New("a query's vector is zero or not finite")
	}
	for i, x := range vector {
		dst[i] = float32(float64(x) / length)
	}
	return nil
}
