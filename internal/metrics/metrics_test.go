package metrics

import (
	"math"
	"testing"
)

func TestMeasures(t *testing.T) {
	judgements := map[string]float64{"a": 3, "b": 1, "c": 2, "no": 0}
	ranking := []string{"x", "c", "no", "a"}
	ideal := 3 + 2/math.Log2(3) + 1/math.Log2(4)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"nDCG@10", NDCG(ranking, judgements, 10), (2/math.Log2(3) + 3/math.Log2(5)) / ideal},
		{"nDCG@2", NDCG(ranking, judgements, 2), 2 / math.Log2(3) / (3 + 2/math.Log2(3))},
		{"nDCG of the ideal", NDCG([]string{"a", "c", "b"}, judgements, 10), 1},
		{"nDCG of nothing", NDCG(nil, judgements, 10), 0},
		{"nDCG without judgements", NDCG(ranking, nil, 10), 0},
		{"recall@10", Recall(ranking, judgements, 10), 2.0 / 3},
		{"recall@3", Recall(ranking, judgements, 3), 1.0 / 3},
		{"recall without judgements", Recall(ranking, map[string]float64{"no": 0}, 3), 0},
		{"reciprocal rank", ReciprocalRank(ranking, judgements, 10), 0.5},
		{"reciprocal rank@1", ReciprocalRank(ranking, judgements, 1), 0},
		{"hit@3", Hit(ranking, judgements, 3), 1},
		{"hit@1", Hit(ranking, judgements, 1), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: %v, not %v", c.name, c.got, c.want)
		}
	}
}
