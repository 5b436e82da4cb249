package roaring

import (
	"iter"
	"math/bits"
)

// A Set is a set of small numbers as a plain array of bits, for combining filters. The zero value is the
// empty set.
type Set []uint64

// NewSet returns an empty set with room for the numbers 0 to n-1.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Or adds the values of b to s. It panics if s has no room for them: b must be parsed with a limit of at
// most the size of s.
func (s Set) Or(b Bitmap) {
	for i := range b.n {
		c := b.container(i)
		at := int(c.base / 64)
		switch c.kind {
		case array:
			for j := range c.card {
				v := int(c.value(j))
				s[at+v/64] |= 1 << (v % 64)
			}
		case bitmap:
			for j := range bitmapWords {
				if w := c.word(j); w != 0 { // the last words may be beyond s
					s[at+j] |= w
				}
			}
		case runs:
			for j := range len(c.body) / 4 {
				first, last := c.run(j)
				s.fill(int(c.base)+first, int(c.base)+last)
			}
		}
	}
}

// AddRange adds the numbers from first up to end, which must be above first. It panics if s has no room for them.
func (s Set) AddRange(first, end int) { s.fill(first, end-1) }

// fill adds first to last.
func (s Set) fill(first, last int) {
	i, j := first/64, last/64
	from, to := ^uint64(0)<<(first%64), ^uint64(0)>>(63-last%64)
	if i == j {
		s[i] |= from & to
		return
	}
	s[i] |= from
	for k := i + 1; k < j; k++ {
		s[k] = ^uint64(0)
	}
	s[j] |= to
}

// And removes from s what is not in t.
func (s Set) And(t Set) {
	n := min(len(s), len(t))
	for i, w := range t[:n] {
		s[i] &= w
	}
	clear(s[n:])
}

// Contains tells whether x is in s.
func (s Set) Contains(x uint32) bool {
	i := uint64(x / 64)
	return i < uint64(len(s)) && s[i]>>(x%64)&1 == 1
}

// Count returns the number of values in s.
func (s Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the values in ascending order.
func (s Set) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}
