package pipeline

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// A pdfEncoding gives the character of each byte, 0 where there is none.
type pdfEncoding [256]rune

var (
	pdfStandard = standardEncoding()
	pdfWinAnsi  = charmapEncoding(charmap.Windows1252)
	pdfMacRoman = charmapEncoding(charmap.Macintosh)
	pdfSymbol   = symbolEncoding()
)

// pdfEncodingOf returns an encoding by its name in PDF (1.7, Annex D), nil for another name.
func pdfEncodingOf(name string) *pdfEncoding {
	switch name {
	case "WinAnsiEncoding":
		return &pdfWinAnsi
	case "MacRomanEncoding":
		return &pdfMacRoman
	case "StandardEncoding":
		return &pdfStandard
	}
	return nil
}

func charmapEncoding(c *charmap.Charmap) (e pdfEncoding) {
	for i := 32; i < 256; i++ {
		if e[i] = c.DecodeByte(byte(i)); e[i] == '\uFFFD' || e[i] < 0xA0 && e[i] >= 0x7F {
			e[i] = 0
			if c == charmap.Windows1252 && i > 126 {
				e[i] = '•' // as Annex D has it for unused codes
			}
		}
	}
	return e
}

func standardEncoding() (e pdfEncoding) {
	for i := 32; i < 127; i++ {
		e[i] = rune(i)
	}
	e['\''], e['`'] = '’', '‘'
	for start, text := range map[int]string{
		0xA1: "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ", 0xB1: "–†‡·", 0xB6: "¶•‚„”»…‰", 0xBF: "¿", 0xC1: "`´ˆ˜¯˘˙¨", 0xCA: "˚¸", 0xCD: "˝˛ˇ—",
		0xE1: "Æ", 0xE3: "ª", 0xE8: "ŁØŒº", 0xF1: "æ", 0xF5: "ı", 0xF8: "łøœß",
	} {
		for i, c := range []rune(text) {
			e[start+i] = c
		}
	}
	return e
}

func symbolEncoding() (e pdfEncoding) {
	for start, text := range map[int]string{
		0x20: " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_", 0x61: "αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
		0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…", 0xC0: "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊", 0xE5: "∑", 0xF2: "∫",
	} {
		for i, c := range []rune(text) {
			e[start+i] = c
		}
	}
	return e
}

// glyphAccents are the ends of the names of letters with accents, as combining characters.
var glyphAccents = []struct {
	name string
	mark rune
}{
	{"grave", 0x300}, {"acute", 0x301}, {"circumflex", 0x302}, {"tilde", 0x303}, {"macron", 0x304}, {"breve", 0x306},
	{"dotaccent", 0x307}, {"dieresis", 0x308}, {"tonos", 0x301}, {"ring", 0x30A}, {"hungarumlaut", 0x30B}, {"caron", 0x30C},
	{"commaaccent", 0x327}, {"cedilla", 0x327}, {"ogonek", 0x328},
}

// glyphNames are names of glyphs that no rule gives, each with its text.
var glyphNames = glyphTable(`exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' quoteright ’
 quoteleft ‘ parenleft ( parenright ) asterisk * plus + comma , hyphen - minus − sfthyphen - period . slash / zero 0 one 1
 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @
 bracketleft [ backslash \ bracketright ] asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~
 exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥ florin ƒ section § currency ¤ quotedblleft “ guillemotleft « guilsinglleft ‹
 guilsinglright › guillemotright » endash – emdash — dagger † daggerdbl ‡ periodcentered · middot · paragraph ¶ bullet •
 quotesinglbase ‚ quotedblbase „ quotedblright ” ellipsis … perthousand ‰ questiondown ¿ acute ´ circumflex ˆ tilde ˜ macron ¯
 breve ˘ dotaccent ˙ dieresis ¨ ring ˚ cedilla ¸ hungarumlaut ˝ ogonek ˛ caron ˇ AE Æ ordfeminine ª Lslash Ł Oslash Ø OE Œ
 ordmasculine º ae æ dotlessi ı dotlessj ȷ lslash ł oslash ø oe œ germandbls ß Eth Ð eth ð Thorn Þ thorn þ Dcroat Đ dcroat đ
 Hbar Ħ hbar ħ Tbar Ŧ tbar ŧ Eng Ŋ eng ŋ kgreenlandic ĸ longs ſ Idotaccent İ brokenbar ¦ copyright © registered ® trademark ™
 logicalnot ¬ degree ° plusminus ± twosuperior ² threesuperior ³ onesuperior ¹ mu µ onequarter ¼ onehalf ½ threequarters ¾
 multiply × divide ÷ Euro € euro € ff ff fi fi fl fl ffi ffi ffl ffl IJ IJ ij ij
 Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ
 Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε epsilon1 ϵ zeta ζ eta η theta θ theta1 ϑ iota ι
 kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma σ sigma1 ς tau τ upsilon υ phi φ phi1 ϕ chi χ psi ψ omega ω omega1 ϖ
 partialdiff ∂ summation ∑ product ∏ radical √ infinity ∞ integral ∫ approxequal ≈ notequal ≠ lessequal ≤ greaterequal ≥ lozenge ◊
 arrowleft ← arrowright → arrowup ↑ arrowdown ↓ arrowdblleft ⇐ arrowdblright ⇒ element ∈ notelement ∉ emptyset ∅ intersection ∩
 union ∪ similar ∼ equivalence ≡ proportional ∝ propersubset ⊂ reflexsubset ⊆ logicaland ∧ logicalor ∨ universal ∀ existential ∃
 gradient ∇ asteriskmath ∗ dotmath ⋅ openbullet ◦ circle ○ prime ′ angbracketleft 〈 angbracketright 〉 ell ℓ weierstrass ℘ period1 .
 visiblespace ␣ softhyphen - figuredash ‒ horizontalbar ― minute ′ second ″ numero № afii61352 № afii10071 ё afii10023 Ё
 dblverticalbar ‖ bardbl ‖ arrowboth ↔ owner © checkmark ✓ filledbox ■ H22073 □ triagrt ► circlemultiply ⊗ circleplus ⊕`)

func glyphTable(s string) map[string]string {
	fields := strings.Fields(s)
	m := make(map[string]string, len(fields)/2+3)
	for i := 0; i+1 < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	m["space"], m["nbspace"], m["nonbreakingspace"] = " ", " ", " "
	return m
}

// glyphText returns the text of a glyph by its name, "" if it is not known. Names are those of Adobe's list
// and its rules: a part behind a dot does not count, and underscores join the parts of a ligature.
func glyphText(name string) string {
	if s, ok := glyphNames[name]; ok {
		return s
	}
	name, _, _ = strings.Cut(name, ".")
	if parts := strings.Split(name, "_"); len(parts) > 1 && len(parts) < 8 {
		text := ""
		for _, p := range parts {
			t := glyphText(p)
			if t == "" {
				return ""
			}
			text += t
		}
		return text
	}
	if s, ok := glyphNames[name]; ok {
		return s
	}
	if len(name) == 1 && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z') {
		return name
	}
	if digits, ok := strings.CutPrefix(name, "uni"); ok && len(digits) >= 4 && len(digits)%4 == 0 && len(digits) <= 32 {
		text := ""
		for ; digits != ""; digits = digits[4:] {
			n, err := strconv.ParseUint(digits[:4], 16, 32)
			if err != nil || n == 0 {
				return ""
			}
			text += string(rune(n))
		}
		return text
	}
	if digits, ok := strings.CutPrefix(name, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		if n, err := strconv.ParseUint(digits, 16, 32); err == nil && n > 0 && n <= 0x10FFFF {
			return string(rune(n))
		}
	}
	if digits, ok := strings.CutPrefix(name, "afii"); ok { // the letters of Russian are in the alphabet's order
		switch n, _ := strconv.Atoi(digits); {
		case n >= 10017 && n <= 10022:
			return string(rune('А' + n - 10017))
		case n >= 10024 && n <= 10049:
			return string(rune('Ж' + n - 10024))
		case n >= 10065 && n <= 10070:
			return string(rune('а' + n - 10065))
		case n >= 10072 && n <= 10097:
			return string(rune('ж' + n - 10072))
		}
	}
	for _, a := range glyphAccents {
		if base, ok := strings.CutSuffix(name, a.name); ok && base != "" {
			if t := glyphText(base); t != "" {
				return norm.NFC.String(t + string(a.mark))
			}
		}
	}
	return ""
}

// The widths of the standard fonts' glyphs for the bytes from 32 to 126, in thousandths of the size. Files may
// leave them out (PDF 1.7, 9.6.2.2).
var (
	helveticaWidths = [95]int16{278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584}
	timesWidths = [95]int16{250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278,
		500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444,
		921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722,
		556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500,
		333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500,
		500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541}
)
