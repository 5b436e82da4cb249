package interop

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	official "github.com/RoaringBitmap/roaring/v2"

	"example.com/larder/internal/roaring"
)

// bitmapShapes returns sorted sets: the borders between the kinds of containers, on both sides, and random
// sets from sparse to dense, without and with runs.
func bitmapShapes() map[string][]uint32 {
	sets := map[string][]uint32{"empty": {}, "first": {0}, "last": {math.MaxUint32 - 1}}
	runs := func(at, n, length, gap uint32) (s []uint32) {
		for i := range n {
			for j := range length {
				s = append(s, at+i*(length+gap)+j)
			}
		}
		return s
	}
	for _, n := range []uint32{1, 2, 3, 4, 5, 4095, 4096, 4097, 8192, 65535, 65536} {
		sets[fmt.Sprintf("%d in a row", n)] = runs(7<<16, 1, n, 0)
		if n <= 8192 {
			sets[fmt.Sprintf("%d apart", n)] = runs(0, n, 1, 6)
		}
	}
	// Runs of 2, 3 and more at the sizes where arrays, bitmaps and runs meet.
	for _, length := range []uint32{2, 3, 4, 20} {
		for _, n := range []uint32{1, 2, 3, 2040, 2046, 2047, 2048, 2049, 2050, 2051, 2052, 2053, 2054, 2055, 2056, 2057, 2060} {
			sets[fmt.Sprintf("%d runs of %d", n, length)] = runs(0, n, length, 2)
		}
	}
	// 2r+1 values in r runs: both sizes are equal.
	for _, r := range []uint32{1, 2, 100, 2047, 2048} {
		sets[fmt.Sprintf("tie of %d runs", r)] = append(runs(0, r-1, 2, 1), 60000, 60001, 60002)
		sets[fmt.Sprintf("tie of %d runs and one more", r)] = append(runs(0, r-1, 2, 1), 60000, 60001, 60002, 60003)
	}
	// Up to 20 containers of mixed kinds, around the number from which offsets are written.
	for n := range uint32(20) {
		var s, plain []uint32
		for i := range n {
			switch i % 3 {
			case 0:
				s = append(s, runs(i<<16, 2, 9000, 5)...)
			case 1:
				s = append(s, runs(i<<16, 5000, 1, 3)...)
			default:
				s = append(s, i<<16|5, i<<16|9)
			}
			plain = append(plain, i<<20)
		}
		sets[fmt.Sprintf("%d mixed containers", n)] = s
		sets[fmt.Sprintf("%d containers of one", n)] = plain
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		x, n := r.Uint32N(1<<20), 1<<r.IntN(16)
		gap, length := 1+r.Uint32N(1<<r.IntN(16)), 1+r.Uint32N(1<<r.IntN(10))
		var s []uint32
		for len(s) < n && x < 1<<31 {
			for range 1 + r.Uint32N(length) {
				s = append(s, x)
				x++
			}
			x += 1 + r.Uint32N(gap)
		}
		sets[fmt.Sprintf("random %d", i)] = s
	}
	return sets
}

// TestRoaringAgrees compares with the official library: the bytes it writes after RunOptimize are accepted,
// mean the same, and are what Append writes.
func TestRoaringAgrees(t *testing.T) {
	sets := bitmapShapes()
	for name, set := range sets {
		for _, how := range []string{"added", "ranges", "read back"} {
			bitmap := official.New()
			switch how {
			case "added":
				bitmap.AddMany(set)
			case "ranges":
				for i := 0; i < len(set); {
					j := i + 1
					for j < len(set) && set[j] == set[j-1]+1 {
						j++
					}
					bitmap.AddRange(uint64(set[i]), uint64(set[j-1])+1)
					i = j
				}
			case "read back":
				data, err := official.BitmapOf(set...).ToBytes()
				if err != nil {
					t.Fatal(err)
				}
				if err := bitmap.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
			}
			bitmap.RunOptimize()
			data, err := bitmap.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			if got := roaring.Append(nil, set); !bytes.Equal(got, data) {
				t.Errorf("%s, %s: Append writes %d bytes other than the library's %d", name, how, len(got), len(data))
				continue
			}
			ours, err := roaring.Parse(data, math.MaxUint32)
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				continue
			}
			if got := ours.AppendTo(nil); !slices.Equal(got, set) || ours.Len() != int(bitmap.GetCardinality()) {
				t.Errorf("%s, %s: %d values, want %d", name, how, len(got), len(set))
			}
			for i := range 50 {
				x := uint32(i) * 1299
				if len(set) > 0 {
					x = set[i*7919%len(set)] + uint32(i%3) - 1
				}
				if ours.Contains(x) != bitmap.Contains(x) {
					t.Errorf("%s: Contains(%d) is %v", name, x, ours.Contains(x))
				}
				want := 0
				if x > 0 {
					want = int(bitmap.Rank(x - 1)) // the library counts the value itself
				}
				if got := ours.Rank(x); got != want {
					t.Errorf("%s: Rank(%d) is %d, want %d", name, x, got, want)
				}
			}
		}
	}
	t.Logf("%d sets", len(sets))
	if len(sets) < 400 {
		t.Error("too few sets")
	}
}

// TestRoaringRefusesUnoptimized checks that what the library writes before RunOptimize is accepted just
// where it is the same as after it.
func TestRoaringRefusesUnoptimized(t *testing.T) {
	refused, accepted := 0, 0
	for name, set := range bitmapShapes() {
		for _, ranges := range []bool{false, true} {
			bitmap := official.New()
			if ranges { // the library makes run containers of some ranges at once
				for i := 0; i < len(set); {
					j := i + 1
					for j < len(set) && set[j] == set[j-1]+1 {
						j++
					}
					bitmap.AddRange(uint64(set[i]), uint64(set[j-1])+1)
					i = j
				}
			} else {
				bitmap.AddMany(set)
			}
			before, err := bitmap.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			bitmap.RunOptimize()
			after, err := bitmap.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			_, err = roaring.Parse(before, math.MaxUint32)
			if same := bytes.Equal(before, after); (err == nil) != same {
				t.Errorf("%s: unoptimized bytes, smallest: %v, error: %v", name, same, err)
			}
			if err != nil {
				refused++
			} else {
				accepted++
			}
		}
	}
	t.Logf("%d refused, %d accepted", refused, accepted)
	if refused < 100 || accepted < 100 {
		t.Error("too few of either")
	}
}
