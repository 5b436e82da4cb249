package pipeline

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// A pdfFont gives text and widths of the glyphs that a string of codes draws.
type pdfFont struct {
	unicode  *pdfCMap // of ToUnicode, nil without
	composed bool     // codes have more than one byte (Type0)
	vertical bool
	scale    float64 // widths to the font's size: 0.001 but for Type3

	texts  [256]string // simple fonts: from encoding and glyph names
	widths [256]float64

	codes    *pdfCMap          // composite fonts: code to glyph, nil if they are the same
	decoder  *encoding.Decoder // of codes that are text of a code page, nil if they are not
	utf16    bool              // codes are text in UTF-16
	adobe    string            // the collection that glyph numbers are of, such as Japan1
	cids     map[int]float64   // widths by glyph
	cidWidth float64           // of other glyphs
	seen     map[pdfCode]pdfGlyph
}

// A pdfGlyph is what a code stands for.
type pdfGlyph struct {
	text  string
	width float64
	known bool // the text
	space bool // the code is one byte, 32: word spacing applies
}

// maxCIDWidths bounds the widths that a font lists.
const maxCIDWidths = 1 << 17

func (f *ledongthucFile) loadFont(v pdf.Value) *pdfFont {
	font := &pdfFont{scale: 0.001}
	if u := v.Key("ToUnicode"); u.Kind() == pdf.Stream {
		if data, err := pdfStream(f.data, u); err == nil {
			font.unicode = parsePDFCMap(data)
		}
	}
	if v.Key("Subtype").Name() == "Type0" {
		f.loadComposite(font, v)
	} else {
		f.loadSimple(font, v)
	}
	return font
}

func (f *ledongthucFile) loadSimple(font *pdfFont, v pdf.Value) {
	subtype, name := v.Key("Subtype").Name(), v.Key("BaseFont").Name()
	descriptor := v.Key("FontDescriptor")
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	symbolic := descriptor.Key("Flags").Int64()&4 != 0
	base := &pdfStandard
	switch {
	case subtype == "TrueType":
		base = &pdfWinAnsi
	case strings.HasPrefix(name, "Symbol"):
		base = &pdfSymbol
	}
	enc := v.Key("Encoding")
	named := pdfEncodingOf(enc.Name())
	if enc.Kind() == pdf.Dict {
		named = pdfEncodingOf(enc.Key("BaseEncoding").Name())
	}
	if named != nil && !(symbolic && strings.HasPrefix(name, "Symbol")) {
		base = named
	}
	if subtype != "Type3" {
		for i, c := range base {
			if c != 0 {
				font.texts[i] = string(c)
			}
		}
	}
	if named == nil && descriptor.Key("FontFile").Kind() == pdf.Stream {
		if data, err := pdfStream(f.data, descriptor.Key("FontFile")); err == nil {
			type1Encoding(data, &font.texts)
		}
	}
	if program := descriptor.Key("FontFile3"); named == nil && program.Kind() == pdf.Stream && program.Key("Subtype").Name() == "Type1C" {
		if data, err := pdfStream(f.data, program); err == nil {
			cffEncoding(data, &font.texts)
		}
	}
	if font.texts[32] == "" {
		font.texts[32] = " " // which many fonts move by and do not have
	}
	font.differences(enc.Key("Differences"), subtype == "Type3")

	if subtype == "Type3" {
		if m := v.Key("FontMatrix"); m.Len() == 6 && m.Index(0).Float64() != 0 {
			font.scale = m.Index(0).Float64()
		}
	}
	widths := v.Key("Widths")
	first := v.Key("FirstChar").Int64()
	missing := descriptor.Key("MissingWidth").Float64()
	for i := range font.widths {
		font.widths[i] = missing
		if widths.Len() == 0 {
			font.widths[i] = standardWidth(name, font.texts[i])
		}
	}
	for i := range min(widths.Len(), 256) {
		if at := first + int64(i); at >= 0 && at < 256 {
			font.widths[at] = widths.Index(i).Float64()
		}
	}
}

// standardWidth is the width of a glyph in the standard font that is most like the one of that name.
func standardWidth(name, text string) float64 {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "courier") || strings.Contains(lower, "mono") {
		return 600
	}
	table := &helveticaWidths
	if strings.Contains(lower, "times") || strings.Contains(lower, "serif") && !strings.Contains(lower, "sans") {
		table = &timesWidths
	}
	if len(text) == 1 && text[0] >= 32 && text[0] < 127 {
		return float64(table[text[0]-32])
	}
	return 550
}

// differences applies the changes of an encoding (PDF 1.7, 9.6.6.1); drawn says that the font's glyphs are
// drawings (Type 3).
func (font *pdfFont) differences(changes pdf.Value, drawn bool) {
	type change struct {
		code int
		name string
	}
	var all []change
	code, known := 0, 0
	for i := range min(changes.Len(), 1024) {
		switch c := changes.Index(i); c.Kind() {
		case pdf.Integer:
			code = int(c.Int64())
		case pdf.Name:
			if code >= 0 && code < 256 {
				all = append(all, change{code, c.Name()})
				if glyphText(c.Name()) != "" {
					known++
				}
			}
			code++
		}
	}
	for _, c := range all {
		text := glyphText(c.name)
		if known*2 < len(all) { // names such as a65, g41 or C101, made by programs: they hold the code
			if n, ok := numberedGlyph(c.name); ok && n >= 32 && n < 127 {
				text = string(rune(n))
			}
		}
		if text == "" && drawn && known == 0 && font.unicode == nil && c.code > 32 && c.code < 127 { // names mean nothing where glyphs are drawings
			text = string(rune(c.code))
		}
		if text != "" || c.name == ".notdef" || !strings.HasPrefix(c.name, "g") {
			font.texts[c.code] = text
		}
	}
}

func numberedGlyph(name string) (int, bool) {
	digits := strings.TrimLeftFunc(name, unicode.IsLetter)
	n, err := strconv.Atoi(digits)
	return n, err == nil && len(name)-len(digits) <= 2
}

// type1Encoding reads the encoding of a Type 1 font program: lines such as dup 65 /A put.
func type1Encoding(program []byte, texts *[256]string) {
	head, _, ok := bytes.Cut(program, []byte("eexec"))
	if !ok {
		return
	}
	_, head, ok = bytes.Cut(head, []byte("/Encoding"))
	if !ok || bytes.HasPrefix(bytes.TrimSpace(head), []byte("StandardEncoding")) {
		return
	}
	l := pdfLexer{data: head}
	var before [2]pdfToken
	for t := l.next(); t.kind != pdfEnd; t = l.next() {
		if t.kind == pdfOperator && t.text == "put" && before[0].kind == pdfNumber && before[1].kind == pdfName {
			if code := int(before[0].num); code >= 0 && code < 256 {
				texts[code] = glyphText(before[1].text)
			}
		}
		if t.kind == pdfOperator && (t.text == "def" || t.text == "readonly") && before[1].text != "for" {
			if before[1].kind == pdfOperator && before[1].text == "put" {
				return
			}
		}
		before[0], before[1] = before[1], t
	}
}

func (f *ledongthucFile) loadComposite(font *pdfFont, v pdf.Value) {
	font.composed, font.cidWidth = true, 1000
	font.seen = map[pdfCode]pdfGlyph{}
	descendant := v.Key("DescendantFonts").Index(0)
	info := descendant.Key("CIDSystemInfo")
	font.adobe = info.Key("Ordering").RawString()
	enc := v.Key("Encoding")
	switch enc.Kind() {
	case pdf.Stream:
		if data, err := pdfStream(f.data, enc); err == nil {
			font.codes = parsePDFCMap(data)
			font.vertical = font.codes.vertical || enc.Key("WMode").Int64() == 1
		}
		if u := enc.Key("UseCMap").Name(); font.codes != nil && u != "" && len(font.codes.numbers) == 0 {
			font.named(u)
		}
	case pdf.Name:
		font.named(enc.Name())
	}
	if dw := descendant.Key("DW"); dw.Kind() == pdf.Integer || dw.Kind() == pdf.Real {
		font.cidWidth = dw.Float64()
	}
	font.cids = map[int]float64{}
	w := descendant.Key("W")
	for i := 0; i+1 < w.Len() && len(font.cids) < maxCIDWidths; {
		first := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for j := range min(list.Len(), maxCIDWidths) {
				font.cids[first+j] = list.Index(j).Float64()
			}
			i += 2
			continue
		}
		last, width := int(w.Index(i+1).Int64()), w.Index(i+2).Float64()
		for c := first; c <= min(last, first+0xFFFF); c++ {
			font.cids[c] = width
		}
		i += 3
	}
}

// named sets what the name of a predefined character map says (PDF 1.7, 9.7.5.2): those that are a code page
// give text without a table of glyphs.
func (font *pdfFont) named(name string) {
	font.vertical = strings.HasSuffix(name, "-V")
	var e encoding.Encoding
	switch has := func(s string) bool { return strings.Contains(name, s) }; {
	case has("UCS2"), has("UTF16"):
		font.utf16 = true
	case has("RKSJ"):
		e = japanese.ShiftJIS
	case strings.HasPrefix(name, "EUC-"):
		e = japanese.EUCJP
	case strings.HasPrefix(name, "GB"):
		e = simplifiedchinese.GBK
	case has("B5"):
		e = traditionalchinese.Big5
	case strings.HasPrefix(name, "KSC"):
		e = korean.EUCKR
	case name == "H" || name == "V": // JIS X 0208: EUC without its high bits
		e = japanese.EUCJP
	}
	if e != nil {
		font.decoder = e.NewDecoder()
	}
	if name == "H" || name == "V" {
		font.codes = &pdfCMap{spaces: []pdfCodes{{2, 0, 0xFFFF}}}
	}
}

// glyphs calls draw for each glyph that s draws.
func (font *pdfFont) glyphs(s string, draw func(pdfGlyph)) {
	if !font.composed {
		for i := range len(s) {
			c := s[i]
			g := pdfGlyph{text: font.texts[c], width: font.widths[c] * font.scale, space: c == 32}
			g.known = g.text != ""
			if t, ok := font.mapped(pdfCode{1, uint32(c)}); ok {
				g.text, g.known = t, true
			}
			draw(g)
		}
		return
	}
	for s != "" {
		var c pdfCode
		c, s = font.next(s)
		g, ok := font.seen[c]
		if !ok {
			g = font.composite(c)
			font.seen[c] = g
		}
		draw(g)
	}
}

// mapped returns the text that ToUnicode gives; a NUL or a replacement character is none.
func (font *pdfFont) mapped(c pdfCode) (string, bool) {
	if font.unicode == nil {
		return "", false
	}
	t, ok := font.unicode.text(c)
	if !ok && !font.composed { // some maps of simple fonts have codes of two bytes
		t, ok = font.unicode.text(pdfCode{2, c.code})
	} else if !ok && c.length == 2 && c.code < 256 {
		t, ok = font.unicode.text(pdfCode{1, c.code})
	}
	if t == "\x00" || strings.ContainsRune(t, utf8.RuneError) {
		return "", false
	}
	return t, ok
}

func (font *pdfFont) next(s string) (pdfCode, string) {
	switch {
	case font.codes != nil && len(font.codes.spaces) > 0:
		return font.codes.next(s)
	case font.decoder != nil:
		n := 2
		if s[0] < 0x80 || font.adobe == "Japan1" && s[0] >= 0xA0 && s[0] < 0xE0 && font.decoder != nil && font.shiftJIS() {
			n = 1
		}
		n = min(n, len(s))
		c, _ := codeOf(s[:n])
		return c, s[n:]
	}
	n := min(2, len(s))
	c, _ := codeOf(s[:n])
	return c, s[n:]
}

func (font *pdfFont) shiftJIS() bool {
	t, err := font.decoder.String("\xb1")
	return err == nil && t == "ｱ"
}

func (font *pdfFont) composite(c pdfCode) pdfGlyph {
	cid := int(c.code)
	if font.codes != nil {
		if n, ok := font.codes.number(c); ok {
			cid = n
		}
	}
	g := pdfGlyph{width: font.cidWidth / 1000, space: c.length == 1 && c.code == 32}
	if w, ok := font.cids[cid]; ok {
		g.width = w / 1000
	}
	if font.decoder != nil && c.length == 1 && len(font.cids) == 0 {
		g.width = 0.5
	}
	if g.text, g.known = font.mapped(c); g.known {
		return g
	}
	raw := make([]byte, c.length)
	for i := range raw {
		raw[i] = byte(c.code >> (8 * (c.length - 1 - i)))
	}
	switch {
	case font.utf16:
		g.text = string(utf16.Decode(utf16Units(string(raw))))
	case font.decoder != nil:
		if font.codes != nil {
			for i := range raw {
				raw[i] |= 0x80
			}
		}
		if t, err := font.decoder.String(string(raw)); err == nil && !strings.ContainsRune(t, utf8.RuneError) {
			g.text = t
		}
	default:
		g.text = adobeText(font.adobe, cid)
	}
	g.known = g.text != ""
	return g
}

// adobeText returns the text of the glyphs of Adobe's collections whose numbers follow a rule: ASCII, and the
// Japanese syllables.
func adobeText(collection string, cid int) string {
	switch collection {
	case "Japan1", "GB1", "CNS1", "Korea1":
	default:
		return ""
	}
	switch {
	case cid >= 1 && cid <= 95:
		return string(rune(cid + 31))
	case collection == "Japan1" && cid >= 842 && cid <= 924:
		return string(rune(cid - 842 + 'ぁ'))
	case collection == "Japan1" && cid >= 925 && cid <= 1010:
		return string(rune(cid - 925 + 'ァ'))
	}
	return ""
}
