package reader

import "slices"

// RRFDepth is how many candidates of each side reciprocal rank fusion takes.
const RRFDepth = 100

const rrfK = 60

// ReciprocalRanks is the RRF score of what has these ranks, which count from 1, 0 for none: the sum of 1/(60+rank) (Cormack, Clarke and
// Büttcher, SIGIR 2009).
func ReciprocalRanks(ranks ...int) (score float64) {
	for _, rank := range ranks {
		if rank > 0 {
			score += 1 / float64(rrfK+rank)
		}
	}
	return score
}

// A fused candidate knows what both sides think of it.
type fused struct {
	candidate
	score                    float64
	bm25                     float64
	meaningRank, keywordRank int
}

// fuse makes one list of at most TopK of the two sides, each best first.
func fuse(p *plan, meaning, keyword []candidate, boost func(chunk int) float64) []fused {
	all := union(meaning, keyword)
	switch {
	case p.Mode == Hybrid && p.Fusion == Interleave:
		return interleave(all, meaning, keyword, p.TopK)
	case p.Mode == Hybrid:
		for i := range all {
			all[i].score = ReciprocalRanks(all[i].meaningRank, all[i].keywordRank)
		}
	}
	if boost != nil {
		for i := range all {
			if all[i].score > 0 { // a factor turns what is below 0 the wrong way
				all[i].score *= boost(all[i].chunk)
			}
		}
	}
	slices.SortFunc(all, func(a, b fused) int {
		return better(candidate{a.chunk, a.score}, candidate{b.chunk, b.score})
	})
	return all[:min(len(all), p.TopK)]
}

// union joins the sides by chunk. The score is that of the side, the cosine where both found the chunk.
func union(meaning, keyword []candidate) []fused {
	all := make([]fused, 0, len(meaning)+len(keyword))
	at := make(map[int]int, len(meaning))
	for i, c := range meaning {
		at[c.chunk] = len(all)
		all = append(all, fused{candidate: c, score: c.score, meaningRank: i + 1})
	}
	for i, c := range keyword {
		k, ok := at[c.chunk]
		if !ok {
			k = len(all)
			all = append(all, fused{candidate: c, score: c.score})
		}
		all[k].bm25, all[k].keywordRank = c.score, i+1
	}
	return all
}

// interleave takes the sides in turn, meaning first at each rank, and drops repeats. Scores fall by rank.
func interleave(all []fused, meaning, keyword []candidate, k int) []fused {
	byChunk := make(map[int]fused, len(all))
	for _, f := range all {
		byChunk[f.chunk] = f
	}
	var list []fused
	take := func(side []candidate, rank int) {
		if rank >= len(side) || len(list) == k {
			return
		}
		if f, ok := byChunk[side[rank].chunk]; ok {
			delete(byChunk, f.chunk)
			f.score = 1 / float64(len(list)+1)
			list = append(list, f)
		}
	}
	for rank := range max(len(meaning), len(keyword)) {
		take(meaning, rank)
		take(keyword, rank)
	}
	return list
}
