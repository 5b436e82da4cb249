package roaring

import "math/bits"

// An Iterator walks over a bitmap's values in ascending order. It allocates nothing. It is for one
// goroutine.
type Iterator struct {
	b     Bitmap
	c     container
	next  int    // the container after c
	pos   int    // array: the next index; bitmap: the current word; runs: the current run
	word  uint64 // bitmap: the bits of the current word that are still to come
	skip  int    // runs: the values of the current run that are done
	cur   uint32 // the value last returned
	index int    // its position, -1 before the first
	end   int    // the position of c's last value
	done  bool
}

// Iterator returns an iterator that stands before the first value.
func (b Bitmap) Iterator() Iterator { return Iterator{b: b, index: -1, end: -1} }

// Index returns the position, from 0, of the value last returned; -1 before the first.
func (it *Iterator) Index() int { return it.index }

// Next returns the next value, or false behind the last one.
func (it *Iterator) Next() (uint32, bool) {
	for !it.done {
		switch it.c.kind {
		case array:
			if it.pos < it.c.card {
				it.pos++
				return it.found(uint32(it.c.value(it.pos - 1)))
			}
		case bitmap:
			for it.word == 0 && it.pos < bitmapWords-1 {
				it.pos++
				it.word = it.c.word(it.pos)
			}
			if it.word != 0 {
				low := it.pos*64 + bits.TrailingZeros64(it.word)
				it.word &= it.word - 1
				return it.found(uint32(low))
			}
		case runs:
			if 4*it.pos < len(it.c.body) {
				first, last := it.c.run(it.pos)
				low := first + it.skip
				it.skip++
				if low == last {
					it.pos++
					it.skip = 0
				}
				return it.found(uint32(low))
			}
		}
		it.load()
	}
	return 0, false
}

func (it *Iterator) found(low uint32) (uint32, bool) {
	it.cur = it.c.base | low
	it.index++
	return it.cur, true
}

// load goes to the start of the next container.
func (it *Iterator) load() {
	it.index = it.end
	if it.next == it.b.n {
		it.done = true
		return
	}
	it.c = it.b.container(it.next)
	it.next++
	it.end += it.c.card
	it.pos, it.skip, it.word = 0, 0, 0
	if it.c.kind == bitmap {
		it.word = it.c.word(0)
	}
}

// Seek goes forward to the first value that is at least x and returns it, or false if there is none.
// It never goes back: if the value last returned is at least x, it is returned again.
func (it *Iterator) Seek(x uint32) (uint32, bool) {
	if it.done {
		return 0, false
	}
	if it.index >= 0 && it.cur >= x {
		return it.cur, true
	}
	base := x &^ 0xffff
	for it.c.kind == none || it.c.base < base {
		if it.load(); it.done {
			return 0, false
		}
	}
	if it.c.base > base {
		return it.Next()
	}
	low := int(x & 0xffff)
	switch it.c.kind {
	case array:
		to := it.c.searchValue(low, it.pos)
		it.index += to - it.pos
		it.pos = to
	case bitmap:
		for it.pos < low/64 {
			it.index += bits.OnesCount64(it.word)
			it.pos++
			it.word = it.c.word(it.pos)
		}
		below := it.word & (1<<(low%64) - 1)
		it.index += bits.OnesCount64(below)
		it.word &^= below
	case runs:
		for ; 4*it.pos < len(it.c.body); it.pos++ {
			first, last := it.c.run(it.pos)
			if last >= low {
				if to := low - first; to > it.skip {
					it.index += to - it.skip
					it.skip = to
				}
				break
			}
			it.index += last - first + 1 - it.skip
			it.skip = 0
		}
	}
	return it.Next()
}
