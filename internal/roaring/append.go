package roaring

import (
	"encoding/binary"
	"fmt"
)

// Append appends the set of the given values, which must be strictly ascending, to dst: the same bytes as
// the official library's after RunOptimize. It panics if the values are out of order.
func Append(dst []byte, sorted []uint32) []byte {
	// parts[i] is a container's values, counts[i] the number of its runs.
	var parts [][]uint32
	var counts []int
	hasRuns := false
	for rest := sorted; len(rest) > 0; {
		n, nruns := 1, 1
		for ; n < len(rest) && rest[n]>>16 == rest[0]>>16; n++ {
			if rest[n] <= rest[n-1] {
				panic(fmt.Sprintf("roaring: value %d follows %d", rest[n], rest[n-1]))
			}
			if rest[n] != rest[n-1]+1 {
				nruns++
			}
		}
		if n < len(rest) && rest[n] < rest[n-1] {
			panic(fmt.Sprintf("roaring: value %d follows %d", rest[n], rest[n-1]))
		}
		parts, counts = append(parts, rest[:n]), append(counts, nruns)
		hasRuns = hasRuns || kindOf(n, nruns) == runs
		rest = rest[n:]
	}

	le := binary.LittleEndian
	begin := len(dst)
	if hasRuns {
		dst = le.AppendUint32(dst, cookieRuns|uint32(len(parts)-1)<<16)
		flags := make([]byte, (len(parts)+7)/8)
		for i, p := range parts {
			if kindOf(len(p), counts[i]) == runs {
				flags[i/8] |= 1 << (i % 8)
			}
		}
		dst = append(dst, flags...)
	} else {
		dst = le.AppendUint32(dst, cookieNoRuns)
		dst = le.AppendUint32(dst, uint32(len(parts)))
	}
	for _, p := range parts {
		dst = le.AppendUint16(dst, uint16(p[0]>>16))
		dst = le.AppendUint16(dst, uint16(len(p)-1))
	}
	if !hasRuns || len(parts) >= minOffsets {
		at := len(dst) - begin + 4*len(parts)
		for i, p := range parts {
			dst = le.AppendUint32(dst, uint32(at))
			switch kindOf(len(p), counts[i]) {
			case runs:
				at += 2 + 4*counts[i]
			case array:
				at += 2 * len(p)
			default:
				at += bitmapSize
			}
		}
	}

	for i, p := range parts {
		switch kindOf(len(p), counts[i]) {
		case runs:
			dst = le.AppendUint16(dst, uint16(counts[i]))
			for j, k := 0, 1; j < len(p); j, k = k, k+1 {
				for k < len(p) && p[k] == p[k-1]+1 {
					k++
				}
				dst = le.AppendUint16(dst, uint16(p[j]))
				dst = le.AppendUint16(dst, uint16(k-1-j))
			}
		case array:
			for _, v := range p {
				dst = le.AppendUint16(dst, uint16(v))
			}
		default:
			var words [bitmapWords]uint64
			for _, v := range p {
				words[v&0xffff/64] |= 1 << (v % 64)
			}
			for _, w := range words {
				dst = le.AppendUint64(dst, w)
			}
		}
	}
	return dst
}
