package roaring

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// runsOf returns n runs of the given length with a gap of one between them, from start.
func runsOf(start, n, length uint32) []uint32 {
	var s []uint32
	for i := range n {
		for j := range length {
			s = append(s, start+i*(length+1)+j)
		}
	}
	return s
}

func span(from, to uint32) []uint32 { // to is included
	var s []uint32
	for x := uint64(from); x <= uint64(to); x++ {
		s = append(s, uint32(x))
	}
	return s
}

func evens(n uint32) []uint32 {
	s := make([]uint32, n)
	for i := range s {
		s[i] = 2 * uint32(i)
	}
	return s
}

// shapes returns sets at the borders of the format, and random ones.
func shapes() map[string][]uint32 {
	r := rand.New(rand.NewPCG(1, 2))
	sets := map[string][]uint32{
		"empty":                     {},
		"zero":                      {0},
		"last":                      {math.MaxUint32 - 1},
		"two":                       {7, 8},
		"three in a row, a tie":     {7, 8, 9},
		"four in a row":             {7, 8, 9, 10},
		"container ends":            {0, 0xffff, 0x10000, 0x1ffff, 0x20000},
		"one whole container":       span(0, 0xffff),
		"three whole containers":    span(0, 0x2ffff),
		"four whole containers":     span(0, 0x3ffff),
		"across a border":           span(0xff00, 0x100ff),
		"4096 values":               evens(4096),
		"4097 values":               evens(4097),
		"4096 values in 2047 runs":  append(runsOf(0, 2046, 2), span(50000, 50003)...),
		"4096 values in 2048 runs":  runsOf(0, 2048, 2),
		"2047 long runs":            runsOf(0, 2047, 3),
		"2048 long runs":            runsOf(0, 2048, 3),
		"2055 long runs":            runsOf(0, 2055, 3),
		"2056 long runs":            runsOf(0, 2056, 3),
		"bitmap to its last bit":    append(evens(5000), 0xffff),
		"run, array, bitmap":        slices.Concat(span(5, 500), []uint32{0x10005}, runsOf(0x20000, 5000, 1)),
		"run, array, bitmap, array": slices.Concat(span(5, 500), []uint32{0x10005}, runsOf(0x20000, 5000, 1), []uint32{0x40000}),
	}
	var nine []uint32
	for i := range uint32(9) {
		nine = append(nine, span(i<<16, i<<16+i*i)...)
	}
	sets["nine containers"] = nine
	for i := range 60 {
		var s []uint32
		x := r.Uint32N(1 << 18)
		n := 1 << r.IntN(15)
		gap := 1 + r.Uint32N(1<<r.IntN(12))
		length := 1 + r.Uint32N(1<<r.IntN(8))
		for len(s) < n {
			for range 1 + r.Uint32N(length) {
				s = append(s, x)
				x++
			}
			x += 1 + r.Uint32N(gap)
		}
		sets[fmt.Sprint("random ", i)] = s
	}
	return sets
}

func parse(t *testing.T, data []byte) Bitmap {
	t.Helper()
	b, err := Parse(data, math.MaxInt32)
	if math.MaxInt > math.MaxInt32 && err != nil {
		b, err = Parse(data, math.MaxUint32)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		set  []uint32
		want string
	}{
		{nil, "3a300000 00000000"},
		{[]uint32{1, 0x20003}, "3a300000 02000000 0000 0000 0200 0000 18000000 1a000000 0100 0300"},
		// One run container: no offsets.
		{span(10, 99), "3b300000 01 0000 5900 0100 0a00 5900"},
		// Four containers, the third one of runs: offsets.
		{slices.Concat([]uint32{1, 0x10001}, span(0x20000, 0x2000f), []uint32{0x30001}),
			"3b300300 04 0000 0000 0100 0000 0200 0f00 0300 0000 25000000 27000000 29000000 2f000000 0100 0100 0100 0000 0f00 0100"},
	} {
		got := fmt.Sprintf("%x", Append(nil, c.set))
		if want := strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%v is written as\n%s, want\n%s", c.set, got, want)
		}
	}
}

func TestBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, set := range shapes() {
		if math.MaxInt == math.MaxInt32 && len(set) > 0 && set[len(set)-1] > math.MaxInt32 {
			continue // more than this machine counts
		}
		data := Append([]byte("prefix"), set)[6:]
		b := parse(t, data)
		if b.Len() != len(set) {
			t.Errorf("%s: length %d, want %d", name, b.Len(), len(set))
		}
		if got := b.AppendTo(nil); !slices.Equal(got, set) {
			t.Fatalf("%s: AppendTo gives %d other values, want %d", name, len(got), len(set))
		}
		if got := slices.Collect(b.All()); !slices.Equal(got, set) {
			t.Fatalf("%s: All gives %d other values, want %d", name, len(got), len(set))
		}
		probes := []uint32{0, 1, 0xffff, 0x10000, math.MaxUint32}
		for range 100 {
			probes = append(probes, r.Uint32N(1<<20))
			if len(set) > 0 {
				x := set[r.IntN(len(set))]
				probes = append(probes, x-1, x, x+1)
			}
		}
		for _, x := range probes {
			rank, in := slices.BinarySearch(set, x)
			if b.Contains(x) != in {
				t.Errorf("%s: Contains(%d) is %v", name, x, !in)
			}
			if got := b.Rank(x); got != rank {
				t.Errorf("%s: Rank(%d) is %d, want %d", name, x, got, rank)
			}
			it := b.Iterator()
			v, ok := it.Seek(x)
			if ok != (rank < len(set)) || ok && (v != set[rank] || it.Index() != rank) {
				t.Errorf("%s: Seek(%d) gives %d, %v at %d; want position %d", name, x, v, ok, it.Index(), rank)
			}
		}
	}
}

// TestIterator mixes Next and Seek against a sorted slice.
func TestIterator(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	steps := 0
	for name, set := range shapes() {
		if len(set) > 0 && set[len(set)-1] > math.MaxInt32 {
			continue
		}
		b := parse(t, Append(nil, set))
		for round := range 20 {
			it := b.Iterator()
			at := -1 // the position last returned
			for at < len(set) {
				var v uint32
				var ok bool
				what := "Next"
				if r.IntN(3) > 0 {
					at++
					v, ok = it.Next()
				} else {
					x := r.Uint32N(1 << 19)
					if at >= 0 { // around the present value, near or far
						x = set[at] + r.Uint32N(1<<(1+r.IntN(17))) - uint32(r.IntN(2))
					}
					what = fmt.Sprintf("Seek(%d)", x)
					if at < 0 || set[at] < x {
						n, _ := slices.BinarySearch(set[at+1:], x)
						at += 1 + n
					}
					v, ok = it.Seek(x)
				}
				steps++
				if ok != (at < len(set)) || ok && (v != set[at] || it.Index() != at) {
					t.Fatalf("%s, round %d: %s gives %d, %v at %d; want position %d of %d", name, round, what, v, ok, it.Index(), at, len(set))
				}
			}
			for range 2 {
				if v, ok := it.Next(); ok {
					t.Fatalf("%s: Next behind the end gives %d", name, v)
				}
				if v, ok := it.Seek(0); ok {
					t.Fatalf("%s: Seek behind the end gives %d", name, v)
				}
			}
		}
	}
	t.Logf("%d steps", steps)
	if steps < 10000 {
		t.Error("too few steps")
	}
}

func TestLimit(t *testing.T) {
	for name, set := range shapes() {
		if len(set) == 0 {
			if _, err := Parse(Append(nil, set), 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		last := set[len(set)-1]
		if last > math.MaxInt32-1 {
			continue
		}
		if _, err := Parse(Append(nil, set), last+1); err != nil {
			t.Errorf("%s: limit %d: %v", name, last+1, err)
		}
		if _, err := Parse(Append(nil, set), last); err == nil {
			t.Errorf("%s: limit %d is not held", name, last)
		}
	}
}

// TestRefused hands in bytes that are wrong in one way each.
func TestRefused(t *testing.T) {
	le := binary.LittleEndian
	u16s := func(v ...uint16) (b []byte) {
		for _, x := range v {
			b = le.AppendUint16(b, x)
		}
		return b
	}
	plain := func(head []uint16, bodies ...[]byte) []byte { // head: key, cardinality-1 a container
		n := len(head) / 2
		b := le.AppendUint32(le.AppendUint32(nil, 12346), uint32(n))
		b = append(b, u16s(head...)...)
		at := len(b) + 4*n
		for _, body := range bodies {
			b = le.AppendUint32(b, uint32(at))
			at += len(body)
		}
		return append(b, bytes.Join(bodies, nil)...)
	}
	run := func(flags byte, head []uint16, bodies ...[]byte) []byte { // fewer than 4 containers
		b := le.AppendUint32(nil, 12347|uint32(len(head)/2-1)<<16)
		b = append(b, flags)
		b = append(b, u16s(head...)...)
		return append(b, bytes.Join(bodies, nil)...)
	}
	words := func(v ...uint64) []byte {
		b := make([]byte, 8192)
		for i, w := range v {
			le.PutUint64(b[8*i:], w)
		}
		return b
	}
	full := slices.Repeat([]uint64{math.MaxUint64}, 65)     // one run of 4160
	odd := slices.Repeat([]uint64{0x5555555555555555}, 200) // 6400 runs of one
	manyRuns := []uint16{2056}
	for i := range uint16(2056) {
		manyRuns = append(manyRuns, 4*i, 2)
	}
	badOffset := plain([]uint16{0, 0, 1, 0}, u16s(1), u16s(1))
	badOffset[16]++

	for _, c := range []struct {
		name string
		data []byte
		want string // "" where the bytes are right
	}{
		{"good array", plain([]uint16{0, 1}, u16s(3, 7)), ""},
		{"good run", run(1, []uint16{0, 9}, u16s(1, 3, 9)), ""},
		{"good bitmap", plain([]uint16{0, 6399}, words(odd...)), ""},
		{"nothing", nil, "ends too early"},
		{"cookie alone", u16s(12346, 0), "ends too early"},
		{"other cookie", u16s(12345, 0, 0, 0), "cookie 12345"},
		{"high bits in the plain cookie", u16s(12346, 1, 0, 0), "cookie 77882"},
		{"too many containers", u16s(12346, 0, 1, 1), "65537 containers"},
		{"containers that are not there", u16s(12346, 0, 0xffff, 0), "ends too early"},
		{"run containers that are not there", u16s(12347, 0xffff), "ends too early"},
		{"run cookie without runs", run(0, []uint16{0, 0}, u16s(3)), "without any"},
		{"flag of a missing container", run(3, []uint16{0, 9}, u16s(1, 3, 9)), "not there"},
		{"key twice", plain([]uint16{1, 0, 1, 0}, u16s(1), u16s(1)), "key 1 follows key 1"},
		{"keys descending", plain([]uint16{2, 0, 1, 0}, u16s(1), u16s(1)), "key 1 follows key 2"},
		{"wrong offset", badOffset, "offset is 25, want 24"},
		{"array twice the same", plain([]uint16{0, 1}, u16s(3, 3)), "value 3 follows 3"},
		{"array descending", plain([]uint16{0, 1}, u16s(3, 2)), "value 2 follows 3"},
		{"array cut off", plain([]uint16{0, 1}, u16s(3)), "ends too early"},
		{"array that should be runs", plain([]uint16{0, 3}, u16s(3, 4, 5, 6)), "smallest"},
		{"run that should be an array", run(1, []uint16{0, 2}, u16s(1, 3, 2)), "smallest"},
		{"no runs at all", run(1, []uint16{0, 0}, u16s(0)), "0 values"},
		{"runs that touch", run(1, []uint16{0, 19}, u16s(2, 0, 9, 10, 9)), "a run from 10 follows one to 9"},
		{"runs that overlap", run(1, []uint16{0, 19}, u16s(2, 0, 9, 5, 9)), "a run from 5 follows one to 9"},
		{"run beyond its container", run(1, []uint16{0, 99}, u16s(1, 0xfff0, 99)), "leaves the container"},
		{"run cut off", run(1, []uint16{0, 99}, u16s(1, 0)), "ends too early"},
		{"run count cut off", run(1, []uint16{0, 99}), "ends too early"},
		{"run cardinality", run(1, []uint16{0, 98}, u16s(1, 0, 99)), "100 values, the header says 99"},
		{"2056 runs", run(1, []uint16{0, 2056*3 - 1}, u16s(manyRuns...)), "smallest"},
		{"bitmap that should be runs", plain([]uint16{0, 4159}, words(full...)), "smallest"},
		{"bitmap cardinality", plain([]uint16{0, 6400}, words(odd...)), "6400 values, the header says 6401"},
		{"bitmap of 4096 values", plain([]uint16{0, 4096}, words(odd[:128]...)), "4096 values, the header says 4097"},
		{"bitmap cut off", plain([]uint16{0, 6399}, words(odd...)[1:]), "ends too early"},
		{"byte too many", append(Append(nil, []uint32{1}), 0), "1 bytes follow"},
		{"byte after nothing", append(Append(nil, nil), 0), "1 bytes follow"},
	} {
		b, err := Parse(c.data, 1<<20)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && err == nil:
			t.Errorf("%s: accepted with %d values", c.name, b.Len())
		case c.want != "" && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: error %q does not say %q", c.name, err, c.want)
		}
	}
}

// TestCutAndFlipped checks that no prefix of an encoding is accepted, and that a changed bit gives an
// error or another set that is encoded rightly.
func TestCutAndFlipped(t *testing.T) {
	set := slices.Concat(span(5, 50), []uint32{0x10005, 0x1ffff}, span(0x30000, 0x30010), []uint32{0x40000, 0x50000})
	data := Append(nil, set)
	for n := range data {
		if _, err := Parse(data[:n], math.MaxInt32); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(data))
		}
	}
	accepted := 0
	for i := range 8 * len(data) {
		bad := slices.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		b, err := Parse(bad, math.MaxInt32)
		if err != nil {
			continue
		}
		accepted++
		got := b.AppendTo(nil)
		if slices.Equal(got, set) || !bytes.Equal(Append(nil, got), bad) {
			t.Errorf("bit %d: a second encoding of %d values is accepted", i, len(got))
		}
	}
	t.Logf("%d of %d flips give another set", accepted, 8*len(data))
}

func TestAppendPanics(t *testing.T) {
	for _, set := range [][]uint32{{1, 1}, {2, 1}, {0x10000, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is written", set)
				}
			}()
			Append(nil, set)
		}()
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	data := Append(nil, shapes()["nine containers"])
	var sum uint32
	n := testing.AllocsPerRun(100, func() {
		b, err := Parse(data, 1<<20)
		if err != nil {
			panic(err)
		}
		it := b.Iterator()
		for x, ok := it.Next(); ok; x, ok = it.Seek(x + 3) {
			sum += x
		}
	})
	if n != 0 || sum == 0 {
		t.Errorf("%v allocations, sum %d", n, sum)
	}
}

func TestSet(t *testing.T) {
	const n = 1<<20 - 13
	var names []string
	all := shapes()
	for name, set := range all {
		if len(set) == 0 || set[len(set)-1] < n {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 40 {
		t.Fatalf("%d sets", len(names))
	}
	for i, name := range names {
		x, y, z := all[name], all[names[(i+1)%len(names)]], all[names[(i+7)%len(names)]]
		in := func(set []uint32, v uint32) bool { _, ok := slices.BinarySearch(set, v); return ok }
		s, u := NewSet(n), NewSet(n)
		s.Or(parse(t, Append(nil, x)))
		s.Or(parse(t, Append(nil, y)))
		u.Or(parse(t, Append(nil, z)))
		if i%2 == 1 { // a shorter set ends in zeros
			u = u[:len(u)/2]
		}
		s.And(u)
		var want []uint32
		for _, v := range z {
			if (in(x, v) || in(y, v)) && int(v) < 64*len(u) {
				want = append(want, v)
			}
		}
		if got := slices.Collect(s.All()); !slices.Equal(got, want) || s.Count() != len(want) {
			t.Errorf("%s: %d values, count %d, want %d", name, len(got), s.Count(), len(want))
		}
		for _, v := range want[:min(9, len(want))] {
			if !s.Contains(v) {
				t.Errorf("%s: %d is missing", name, v)
			}
		}
		if s.Contains(n+100) || s.Contains(math.MaxUint32) {
			t.Errorf("%s: contains what it has no room for", name)
		}
	}
	// A bitmap container may reach beyond the set's words where its own are zero.
	s := NewSet(4097*2 - 1)
	s.Or(parse(t, Append(nil, evens(4097))))
	if s.Count() != 4097 {
		t.Errorf("count %d", s.Count())
	}
}

func FuzzParse(f *testing.F) {
	for _, set := range shapes() {
		if len(set) < 10000 {
			f.Add(Append(nil, set))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Parse(data, 1<<22)
		if err != nil {
			return
		}
		set := b.AppendTo(nil)
		if len(set) != b.Len() {
			t.Fatalf("%d values, length %d", len(set), b.Len())
		}
		if !bytes.Equal(Append(nil, set), data) {
			t.Fatal("a second encoding is accepted")
		}
	})
}
