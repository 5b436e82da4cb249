//go:build heavy

package postgres

import (
	"context"
	"testing"

	"example.com/larder/internal/testkit"
	"example.com/larder/models"
)

// testEncoder stands for a service: the synthetic encoder, whose vectors it makes wider.
type testEncoder struct {
	t          testing.TB
	dimensions int
}

func (e testEncoder) Identity() string { return "wide" }

func (e testEncoder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	encoder, err := models.Open(testkit.Encoder(32), ".", "")
	if err != nil {
		return nil, err
	}
	vector := make([]float32, e.dimensions)
	_, err = encoder.EncodeQueryContext(ctx, vector[:32], text)
	return vector, err
}
