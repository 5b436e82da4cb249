package pipeline

import "strings"

// cffNames are the standard strings from number 150 on; those before are the glyphs of the standard encoding, in
// the order of its codes. (Adobe Technical Note 5176, Appendix A)
var cffNames = strings.Fields(`onesuperior logicalnot mu trademark Eth onehalf plusminus Thorn onequarter divide
 brokenbar degree thorn threequarters twosuperior registered minus eth multiply threesuperior copyright
 Aacute Acircumflex Adieresis Agrave Aring Atilde Ccedilla Eacute Ecircumflex Edieresis Egrave Iacute Icircumflex
 Idieresis Igrave Ntilde Oacute Ocircumflex Odieresis Ograve Otilde Scaron Uacute Ucircumflex Udieresis Ugrave
 Yacute Ydieresis Zcaron aacute acircumflex adieresis agrave aring atilde ccedilla eacute ecircumflex edieresis
 egrave iacute icircumflex idieresis igrave ntilde oacute ocircumflex odieresis ograve otilde scaron uacute
 ucircumflex udieresis ugrave yacute ydieresis zcaron`)

// A cffReader reads a font in the Compact Font Format. What is behind the end reads as 0.
type cffReader struct {
	data []byte
	at   int
}

func (r *cffReader) number(bytes int) int {
	n := 0
	for range bytes {
		n <<= 8
		if r.at >= 0 && r.at < len(r.data) {
			n |= int(r.data[r.at])
		}
		r.at++
	}
	return n
}

// index reads a list of byte strings and moves behind it.
func (r *cffReader) index() [][]byte {
	count := r.number(2)
	if count == 0 {
		return nil
	}
	size := r.number(1)
	if size < 1 || size > 4 || r.at+(count+1)*size > len(r.data) {
		r.at = len(r.data)
		return nil
	}
	items := make([][]byte, count)
	base := r.at + (count+1)*size - 1
	before := base + r.number(size)
	for i := range items {
		end := base + r.number(size)
		if before < 0 || end < before || end > len(r.data) {
			r.at = len(r.data)
			return nil
		}
		items[i] = r.data[before:end]
		before = end
	}
	r.at = before
	return items
}

// cffOffsets returns the operands of the one-byte operators of a dictionary of which each has one number.
func cffOffsets(dict []byte) map[int]int {
	out := map[int]int{}
	last := 0
	r := cffReader{data: dict}
	for r.at < len(dict) {
		switch b := r.number(1); {
		case b == 12:
			r.number(1)
		case b <= 21:
			out[b] = last
		case b == 28:
			last = int(int16(r.number(2)))
		case b == 29:
			last = int(int32(r.number(4)))
		case b == 30: // a real number, to its nibble f
			for r.at < len(dict) {
				if n := r.number(1); n&15 == 15 || n>>4 == 15 {
					break
				}
			}
		case b >= 32 && b <= 246:
			last = b - 139
		case b >= 247 && b <= 250:
			last = (b-247)*256 + r.number(1) + 108
		case b >= 251 && b <= 254:
			last = -(b-251)*256 - r.number(1) - 108
		}
	}
	return out
}

// cffEncoding reads the encoding of a font program of Type 1 in the compact format. It leaves texts alone if the
// program has none of its own, or one of names that mean nothing.
func cffEncoding(program []byte, texts *[256]string) {
	const charset, encoding, charStrings = 15, 16, 17
	if len(program) < 4 {
		return
	}
	r := &cffReader{data: program, at: int(program[2])}
	r.index() // names
	top := r.index()
	strs := r.index()
	if len(top) != 1 {
		return
	}
	offsets := cffOffsets(top[0])
	if offsets[encoding] < 2 || offsets[charStrings] <= 0 {
		return
	}
	r.at = offsets[charStrings]
	glyphs := r.number(2)
	names := make([]int, 1, glyphs+1) // string number by glyph; the first one stands for what is missing
	if r.at = offsets[charset]; r.at < 3 {
		for g := 1; g < glyphs; g++ {
			names = append(names, g)
		}
	} else if format := r.number(1); format == 0 {
		for len(names) < glyphs && r.at < len(program) {
			names = append(names, r.number(2))
		}
	} else {
		for len(names) < glyphs && r.at < len(program) {
			first, more := r.number(2), r.number(min(format, 2))
			for i := 0; i <= more && len(names) < glyphs; i++ {
				names = append(names, first+i)
			}
		}
	}
	text := func(sid int) string {
		switch {
		case sid >= 1 && sid < 150:
			for _, c := range pdfStandard {
				if c == 0 {
					continue
				}
				if sid--; sid == 0 {
					return string(c)
				}
			}
		case sid >= 150 && sid-150 < len(cffNames):
			return glyphText(cffNames[sid-150])
		case sid >= 391 && sid-391 < len(strs):
			return glyphText(string(strs[sid-391]))
		}
		return ""
	}
	var own [256]string
	all, known := 0, 0
	put := func(code, sid int) {
		if all++; code < 256 {
			if own[code] = text(sid); own[code] != "" {
				known++
			}
		}
	}
	set := func(code, glyph int) {
		if glyph < len(names) {
			put(code, names[glyph])
		}
	}
	r.at = offsets[encoding]
	format := r.number(1)
	glyph := 1
	for range r.number(1) {
		if format&127 == 0 {
			set(r.number(1), glyph)
			glyph++
			continue
		}
		first := r.number(1)
		for i := range r.number(1) + 1 {
			set(first+i, glyph)
			glyph++
		}
	}
	if format&128 != 0 {
		for range r.number(1) {
			code := r.number(1)
			put(code, r.number(2))
		}
	}
	if 2*known >= all { // otherwise the names are made up, and the codes tell more
		*texts = own
	}
}
