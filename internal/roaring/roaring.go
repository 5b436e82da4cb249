// Package roaring reads sets of numbers in the portable format of Roaring bitmaps
// (https://github.com/RoaringBitmap/RoaringFormatSpec), strictly: one set has one encoding, the one that
// the official Go library writes after RunOptimize, and [Parse] accepts no other.
//
// A set is split by the upper 16 bits of its values into containers, each of the kind that is smallest:
//
//   - array: the lower halves, ascending; 2 bytes a value, at most 4096 values;
//   - bitmap: 8192 bytes, one bit a value, more than 4096 values;
//   - run: the number of runs, then start and length-1 of each; 2 + 4 bytes a run. It is taken where that
//     is below the array's size and below 8224 bytes. The last figure is the official library's, which
//     counts 32 bytes of its own header into a bitmap's size on 64-bit machines: a container with more than
//     4096 values and 2048 to 2055 runs is a run container, though a bitmap is a few bytes smaller.
//
// All numbers are little-endian. In front of the containers stand: the cookie; where there are run
// containers, a bit for each container; key and cardinality-1 of each container; and the offset of each
// container, but not if there are run containers and fewer than four containers in all.
package roaring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sort"
)

const (
	cookieNoRuns = 12346 // 32 bits, then the number of containers in 32 bits
	cookieRuns   = 12347 // 16 bits, then the number of containers less one in 16 bits
	minOffsets   = 4     // with run containers, offsets are written from so many containers on
	maxArray     = 4096  // values in an array container
	bitmapWords  = 1024
	bitmapSize   = 8 * bitmapWords
	runsBelow    = bitmapSize + 32 // the size a run container must stay below, see the package's comment
)

type kind uint8

const (
	none kind = iota
	array
	bitmap
	runs
)

// kindOf returns the kind of container that is written for a cardinality and a number of runs.
func kindOf(card, nruns int) kind {
	switch {
	case 2+4*nruns < min(2*card, runsBelow):
		return runs
	case card <= maxArray:
		return array
	}
	return bitmap
}

// A Bitmap is a set of numbers below 2^32, read in place from the bytes given to [Parse].
// The zero value is the empty set. It is safe for concurrent use.
type Bitmap struct {
	data    []byte
	n       int // containers
	card    int
	flags   int       // where the bits that mark run containers are; 0: there are no run containers
	heads   int       // where keys and cardinalities are
	offsets int       // where the containers' offsets are; 0: they are in starts
	starts  [3]uint32 // the containers' offsets
}

// A container is one container of a bitmap.
type container struct {
	base uint32 // the upper half of its values
	card int
	kind kind
	body []byte
}

// container returns the i-th container of a bitmap whose headers are checked.
func (b *Bitmap) container(i int) container {
	c := container{base: uint32(b.key(i)) << 16, card: b.cardOf(i), kind: array}
	start := 0
	if b.offsets != 0 {
		start = int(binary.LittleEndian.Uint32(b.data[b.offsets+4*i:]))
	} else {
		start = int(b.starts[i])
	}
	c.body = b.data[start:]
	switch {
	case b.isRun(i):
		c.kind = runs
		n := int(binary.LittleEndian.Uint16(c.body))
		c.body = c.body[2 : 2+4*n]
	case c.card > maxArray:
		c.kind = bitmap
		c.body = c.body[:bitmapSize]
	default:
		c.body = c.body[:2*c.card]
	}
	return c
}

func (b *Bitmap) key(i int) uint16 { return binary.LittleEndian.Uint16(b.data[b.heads+4*i:]) }

func (b *Bitmap) cardOf(i int) int {
	return int(binary.LittleEndian.Uint16(b.data[b.heads+4*i+2:])) + 1
}

func (b *Bitmap) isRun(i int) bool { return b.flags != 0 && b.data[b.flags+i/8]>>(i%8)&1 == 1 }

// value returns the i-th value of an array, word the i-th word of a bitmap, run the i-th run, both ends
// included.
func (c *container) value(i int) uint16 { return binary.LittleEndian.Uint16(c.body[2*i:]) }

func (c *container) word(i int) uint64 { return binary.LittleEndian.Uint64(c.body[8*i:]) }

func (c *container) run(i int) (first, last int) {
	first = int(binary.LittleEndian.Uint16(c.body[4*i:]))
	return first, first + int(binary.LittleEndian.Uint16(c.body[4*i+2:]))
}

// Parse reads a set of values below limit that occupies the whole of data. It accepts only the encoding
// that [Append] writes. The bitmap refers to data, which must not change; nothing else is allocated.
func Parse(data []byte, limit uint32) (Bitmap, error) {
	if uint64(limit) > math.MaxInt { // a set of this machine can't be counted
		return Bitmap{}, fmt.Errorf("roaring: limit %d is too large for this machine", limit)
	}
	b := Bitmap{data: data}
	body, err := b.parseHeader()
	if err != nil {
		return Bitmap{}, fmt.Errorf("roaring: %w", err)
	}
	last := int64(-1)
	for i := range b.n {
		if i > 0 && b.key(i) <= b.key(i-1) {
			return Bitmap{}, fmt.Errorf("roaring: container %d of %d: key %d follows key %d", i, b.n, b.key(i), b.key(i-1))
		}
		size, top, err := b.check(i, body)
		if err != nil {
			return Bitmap{}, fmt.Errorf("roaring: container %d of %d: %w", i, b.n, err)
		}
		last = int64(b.key(i))<<16 | int64(top)
		body += size
		b.card += b.cardOf(i)
	}
	if body != len(data) {
		return Bitmap{}, fmt.Errorf("roaring: %d bytes follow the last container", len(data)-body)
	}
	if last >= int64(limit) {
		return Bitmap{}, fmt.Errorf("roaring: value %d is not below %d", last, limit)
	}
	return b, nil
}

var errShort = errors.New("data ends too early")

// parseHeader sets where the parts of the header are and returns where the containers begin.
func (b *Bitmap) parseHeader() (end int, err error) {
	if len(b.data) < 4 {
		return 0, errShort
	}
	cookie := binary.LittleEndian.Uint32(b.data)
	end = 4
	switch {
	case cookie == cookieNoRuns:
		if len(b.data) < 8 {
			return 0, errShort
		}
		n := binary.LittleEndian.Uint32(b.data[4:])
		if n > 1<<16 {
			return 0, fmt.Errorf("%d containers, more than there are keys", n)
		}
		b.n = int(n)
		end += 4
	case cookie&0xffff == cookieRuns:
		b.n = int(cookie>>16) + 1
		b.flags = end
		end += (b.n + 7) / 8
	default:
		return 0, fmt.Errorf("cookie %d is neither %d nor %d", cookie, cookieNoRuns, cookieRuns)
	}
	b.heads = end
	end += 4 * b.n
	if b.flags == 0 || b.n >= minOffsets {
		b.offsets = end
		end += 4 * b.n
	}
	if end > len(b.data) {
		return 0, errShort
	}
	if b.flags != 0 {
		any := byte(0)
		for _, f := range b.data[b.flags:b.heads] {
			any |= f
		}
		if any == 0 {
			return 0, errors.New("the cookie of run containers without any")
		}
		if b.n%8 != 0 && b.data[b.heads-1]>>(b.n%8) != 0 {
			return 0, errors.New("run flags of containers that are not there")
		}
	}
	return end, nil
}

// check checks the i-th container, which must begin at offset start, and returns its size in bytes and
// the lower half of its greatest value.
func (b *Bitmap) check(i, start int) (size, top int, err error) {
	if b.offsets != 0 {
		if at := binary.LittleEndian.Uint32(b.data[b.offsets+4*i:]); uint64(at) != uint64(start) {
			return 0, 0, fmt.Errorf("offset is %d, want %d", at, start)
		}
	} else {
		b.starts[i] = uint32(start)
	}
	card, rest := b.cardOf(i), len(b.data)-start
	want := array
	switch {
	case b.isRun(i):
		want = runs
		if rest < 2 {
			return 0, 0, errShort
		}
		size = 2 + 4*int(binary.LittleEndian.Uint16(b.data[start:]))
	case card > maxArray:
		want = bitmap
		size = bitmapSize
	default:
		size = 2 * card
	}
	if rest < size {
		return 0, 0, errShort
	}
	c := b.container(i)
	card, nruns, top, err := c.measure()
	if err != nil {
		return 0, 0, err
	}
	if card != c.card {
		return 0, 0, fmt.Errorf("%d values, the header says %d", card, c.card)
	}
	if kindOf(card, nruns) != want {
		return 0, 0, fmt.Errorf("%d values in %d runs are not in the smallest kind of container", card, nruns)
	}
	return size, top, nil
}

// measure counts the container's values and runs and returns its greatest value. An error says that the
// values are not in order.
func (c *container) measure() (card, nruns, top int, err error) {
	top = -2
	switch c.kind {
	case array:
		for i := range c.card {
			v := int(c.value(i))
			if v <= top {
				return 0, 0, 0, fmt.Errorf("value %d follows %d", v, top)
			}
			if v != top+1 {
				nruns++
			}
			top = v
		}
		card = c.card
	case bitmap:
		carry := uint64(0)
		for i := range bitmapWords {
			w := c.word(i)
			card += bits.OnesCount64(w)
			nruns += bits.OnesCount64(w &^ (w<<1 | carry)) // the first bit of each run
			carry = w >> 63
			if w != 0 {
				top = i*64 + 63 - bits.LeadingZeros64(w)
			}
		}
	case runs:
		nruns = len(c.body) / 4
		for i := range nruns {
			first, last := c.run(i)
			if first <= top+1 {
				return 0, 0, 0, fmt.Errorf("a run from %d follows one to %d", first, top)
			}
			if last > 0xffff {
				return 0, 0, 0, fmt.Errorf("a run from %d to %d leaves the container", first, last)
			}
			card += last - first + 1
			top = last
		}
	}
	return card, nruns, top, nil
}

// Len returns the number of values.
func (b Bitmap) Len() int { return b.card }

// find returns the first container whose key is at least x's.
func (b *Bitmap) find(x uint32) int {
	return sort.Search(b.n, func(i int) bool { return b.key(i) >= uint16(x>>16) })
}

// Contains tells whether x is in the set.
func (b Bitmap) Contains(x uint32) bool {
	i := b.find(x)
	if i == b.n || b.key(i) != uint16(x>>16) {
		return false
	}
	c := b.container(i)
	low := int(x & 0xffff)
	switch c.kind {
	case bitmap:
		return c.word(low/64)>>(low%64)&1 == 1
	case runs:
		i := c.searchRun(low, 0)
		if i == len(c.body)/4 {
			return false
		}
		first, _ := c.run(i)
		return first <= low
	}
	i = c.searchValue(low, 0)
	return i < c.card && int(c.value(i)) == low
}

// searchValue returns the first index in an array, from the given one on, whose value is at least low.
func (c *container) searchValue(low, from int) int {
	return from + sort.Search(c.card-from, func(i int) bool { return int(c.value(from+i)) >= low })
}

// searchRun returns the first run, from the given one on, whose end is at least low.
func (c *container) searchRun(low, from int) int {
	return from + sort.Search(len(c.body)/4-from, func(i int) bool {
		_, last := c.run(from + i)
		return last >= low
	})
}

// Rank returns how many values are below x: for a value of the set, its position, from 0. It takes time
// in proportion to the containers before x and the size of the one that holds it.
func (b Bitmap) Rank(x uint32) int {
	i := b.find(x)
	rank := 0
	for j := range i {
		rank += b.cardOf(j)
	}
	if i == b.n || b.key(i) != uint16(x>>16) {
		return rank
	}
	c := b.container(i)
	low := int(x & 0xffff)
	switch c.kind {
	case array:
		rank += c.searchValue(low, 0)
	case bitmap:
		for j := range low / 64 {
			rank += bits.OnesCount64(c.word(j))
		}
		rank += bits.OnesCount64(c.word(low/64) & (1<<(low%64) - 1))
	case runs:
		for j := range len(c.body) / 4 {
			first, last := c.run(j)
			if first >= low {
				break
			}
			rank += min(last+1, low) - first
		}
	}
	return rank
}

// All yields the values in ascending order.
func (b Bitmap) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		it := b.Iterator()
		for x, ok := it.Next(); ok; x, ok = it.Next() {
			if !yield(x) {
				return
			}
		}
	}
}

// AppendTo appends the values in ascending order to dst.
func (b Bitmap) AppendTo(dst []uint32) []uint32 {
	for i := range b.n {
		c := b.container(i)
		switch c.kind {
		case array:
			for j := range c.card {
				dst = append(dst, c.base|uint32(c.value(j)))
			}
		case bitmap:
			for j := range bitmapWords {
				for w := c.word(j); w != 0; w &= w - 1 {
					dst = append(dst, c.base|uint32(j*64+bits.TrailingZeros64(w)))
				}
			}
		case runs:
			for j := range len(c.body) / 4 {
				first, last := c.run(j)
				for v := first; v <= last; v++ {
					dst = append(dst, c.base|uint32(v))
				}
			}
		}
	}
	return dst
}
