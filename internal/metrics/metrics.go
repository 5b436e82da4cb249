// Package metrics measures rankings as trec_eval does.
//
// A ranking is a list of document ids, best first, without repeats; judgements are the grades of the relevant ones,
// above 0. Each measure is 0 for a query without a relevant document, which callers leave out of means.
package metrics

import (
	"math"
	"slices"
)

// NDCG returns normalized discounted cumulative gain at k with linear gain: the sum of grade/log2(rank+1) over the
// first k, divided by that of the ideal ranking (Järvelin and Kekäläinen, 2002; trec_eval's ndcg_cut).
func NDCG(ranking []string, judgements map[string]float64, k int) float64 {
	grades := make([]float64, 0, len(judgements))
	for _, g := range judgements {
		grades = append(grades, g)
	}
	slices.SortFunc(grades, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	ideal := 0.0
	for i, g := range grades[:min(k, len(grades))] {
		ideal += max(g, 0) / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	gain := 0.0
	for i, id := range ranking[:min(k, len(ranking))] {
		gain += max(judgements[id], 0) / math.Log2(float64(i+2))
	}
	return gain / ideal
}

// Recall returns the share of all relevant documents that are among the first k.
func Recall(ranking []string, judgements map[string]float64, k int) float64 {
	relevant := 0
	for _, g := range judgements {
		if g > 0 {
			relevant++
		}
	}
	if relevant == 0 {
		return 0
	}
	found := 0
	for _, id := range ranking[:min(k, len(ranking))] {
		if judgements[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(relevant)
}

// ReciprocalRank returns 1 over the rank of the first relevant document, 0 if it isn't among the first k. Its mean
// is MRR@k.
func ReciprocalRank(ranking []string, judgements map[string]float64, k int) float64 {
	for i, id := range ranking[:min(k, len(ranking))] {
		if judgements[id] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// Hit returns 1 if a relevant document is among the first k, else 0.
func Hit(ranking []string, judgements map[string]float64, k int) float64 {
	return math.Ceil(ReciprocalRank(ranking, judgements, k))
}
