package reader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ranking makes candidates of chunks, best first, with falling scores from 0.9.
func ranking(chunks ...int) (list []candidate) {
	for i, c := range chunks {
		list = append(list, candidate{c, 0.9 - 0.1*float64(i)})
	}
	return list
}

func TestFuse(t *testing.T) {
	half := func(chunk int) float64 { return map[bool]float64{true: 0.5, false: 1}[chunk == 1] }
	for _, c := range []struct {
		name             string
		fusion           Fusion
		k                int
		meaning, keyword []candidate
		boost            func(int) float64
		want             string // chunk:rank in meaning/rank in keyword
	}{
		{"interleave: meaning first at each rank", Interleave, 9, ranking(1, 2, 3), ranking(4, 5, 6), nil, "1:1/0 4:0/1 2:2/0 5:0/2 3:3/0 6:0/3"},
		{"interleave: repeats are dropped", Interleave, 9, ranking(1, 2, 3), ranking(2, 1, 4), nil, "1:1/2 2:2/1 3:3/0 4:0/3"},
		{"interleave: a repeat takes no place", Interleave, 3, ranking(1, 2), ranking(1, 3), nil, "1:1/1 2:2/0 3:0/2"},
		{"interleave: cut", Interleave, 2, ranking(1, 2), ranking(3, 4), nil, "1:1/0 3:0/1"},
		{"interleave: uneven sides", Interleave, 9, ranking(1), ranking(5, 6, 7), nil, "1:1/0 5:0/1 6:0/2 7:0/3"},
		{"interleave: keyword only", Interleave, 9, nil, ranking(7, 6), nil, "7:0/1 6:0/2"},
		{"interleave: meaning only", Interleave, 9, ranking(7, 6), nil, nil, "7:1/0 6:2/0"},
		{"interleave: boosts don't count", Interleave, 9, ranking(1, 2), nil, half, "1:1/0 2:2/0"},
		{"RRF: in both beats first in one", RRF, 9, ranking(1, 2, 3), ranking(4, 3), nil, "3:3/2 1:1/0 4:0/1 2:2/0"},
		{"RRF: ties by chunk", RRF, 9, ranking(9, 2), ranking(4, 1), nil, "4:0/1 9:1/0 1:0/2 2:2/0"},
		{"RRF: ties of crossed ranks by chunk", RRF, 9, ranking(8, 3), ranking(3, 8), nil, "3:2/1 8:1/2"},
		{"RRF: cut", RRF, 1, ranking(1, 2), ranking(2), nil, "2:2/1"},
		{"RRF: boost after fusion", RRF, 9, ranking(1, 2), ranking(1, 2), half, "2:2/2 1:1/1"},
		{"RRF: nothing", RRF, 9, nil, nil, nil, ""},
	} {
		p := &plan{Query: Query{Mode: Hybrid, Fusion: c.fusion, TopK: c.k}}
		var got []string
		list := fuse(p, slices.Clone(c.meaning), slices.Clone(c.keyword), c.boost)
		for i, f := range list {
			got = append(got, fmt.Sprintf("%d:%d/%d", f.chunk, f.meaningRank, f.keywordRank))
			if i > 0 && f.score > list[i-1].score {
				t.Errorf("%s: score %v after %v", c.name, f.score, list[i-1].score)
			}
			if f.keywordRank > 0 && f.bm25 != c.keyword[f.keywordRank-1].score {
				t.Errorf("%s: chunk %d has BM25 %v", c.name, f.chunk, f.bm25)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
	rrf := fuse(&plan{Query: Query{Mode: Hybrid, Fusion: RRF, TopK: 9}}, ranking(5, 6), ranking(6), nil)
	first, second := 61.0, 62.0 // variables, since constants are exact
	if want := 1/second + 1/first; rrf[0].chunk != 6 || rrf[0].score != want {
		t.Errorf("RRF score %v of chunk %d, want %v of 6", rrf[0].score, rrf[0].chunk, want)
	}
}

// A boost raises what is above 0 and leaves the rest where it is.
func TestBoostOfScores(t *testing.T) {
	meaning := []candidate{{1, 0.2}, {2, 0.1}, {3, 0}, {4, -0.1}, {5, -0.2}}
	for factor, want := range map[float64]string{
		10:  "2:1 1:0.2 3:0 4:-0.1 5:-0.2",
		0.1: "1:0.2 2:0.01 3:0 4:-0.1 5:-0.2",
	} {
		boost := func(chunk int) float64 { return map[bool]float64{true: factor, false: 1}[chunk%2 == 0] }
		var got []string
		for _, f := range fuse(&plan{Query: Query{Mode: Meaning, Fusion: RRF, TopK: 9}}, slices.Clone(meaning), nil, boost) {
			got = append(got, fmt.Sprintf("%d:%.3g", f.chunk, f.score))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: %s, want %s", factor, strings.Join(got, " "), want)
		}
	}
}

func TestDropBelow(t *testing.T) {
	if got := dropBelow(ranking(1, 2, 3), 0.8); !slices.Equal(got, ranking(1, 2)) {
		t.Errorf("%v", got)
	}
	if got := dropBelow(ranking(1), 0.95); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
