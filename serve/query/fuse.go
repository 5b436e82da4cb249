package query

import (
	"cmp"
	"slices"

	"example.com/larder/reader"
)

// A ranked chunk is one that some space found.
type ranked struct {
	reader.Candidate
	view                     int // its place in the list of views
	meaningRank, keywordRank int
	boost, score             float64
}

// fuse makes one ranking of what the views found: the sum of the reciprocal ranks, multiplied by the boost of the content
// type. Cosines of one model can be compared, so that its spaces have one ranking by meaning; those of different models
// can't, nor can BM25 of different bases, and so each has a ranking of its own. Ties go by the order of the views, then by
// chunk.
func fuse(views []searched) []ranked {
	all := map[[2]int]*ranked{}
	of := func(view int, c reader.Candidate) *ranked {
		key := [2]int{view, c.Chunk}
		if all[key] == nil {
			all[key] = &ranked{Candidate: c, view: view, boost: reader.Boost(views[view].view.Manifest(), c.ContentType)}
		}
		return all[key]
	}
	for _, group := range byModel(views) {
		for i, r := range meaningOf(views, group) {
			of(r.view, r.Candidate).meaningRank = i + 1
		}
	}
	for i, v := range views {
		for k, c := range v.sides.Keyword {
			r := of(i, c)
			r.keywordRank, r.BM25 = k+1, c.BM25
		}
	}
	list := make([]ranked, 0, len(all))
	for _, r := range all {
		r.score = r.boost * reader.ReciprocalRanks(r.meaningRank, r.keywordRank)
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.view, b.view), cmp.Compare(a.Chunk, b.Chunk))
	})
	return list
}

// byModel groups the views that have vectors of one model.
func byModel(views []searched) (groups [][]int) {
	at := map[string]int{}
	for i, v := range views {
		m := v.view.Manifest().Model
		if m == nil {
			continue
		}
		key := cmp.Or(m.Encoder, m.Embedder)
		g, ok := at[key]
		if !ok {
			g = len(groups)
			at[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// meaningOf ranks what the views of one model found by meaning.
func meaningOf(views []searched, group []int) (list []ranked) {
	for _, i := range group {
		for _, c := range views[i].sides.Meaning {
			list = append(list, ranked{Candidate: c, view: i})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(*b.Cosine, *a.Cosine) })
	return list[:min(len(list), reader.RRFDepth)]
}
