package pipeline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How good a place inside a block is for a cut is judged from the characters around it. The rules are those of
// Unicode's UAX 29 as far as they help, with abbreviations, for any language that its own marks or words tell: no
// language is asked for, since one document may hold several. Where they doubt, no sentence ends: a cut that is missed
// costs less than one in the middle of a sentence. Letters are named by their blocks, so nothing here changes with
// Go's version of Unicode.

const (
	// wideStops end a sentence, and no blank follows.
	wideStops = "。｡！？．"
	// scriptStops end a sentence in scripts that part sentences, though not always by a blank.
	scriptStops = "।॥؟۔።፧፨။៕។๛՜՞։܀܁܂᠃᠉‼⁇⁈⁉‽"
	// closers are quotes and brackets at the end of what they enclose.
	closers = `"'’”»›)]}）］｝」』】》〉〕〗〙〛｣＂＇`
	// openers are those at its beginning. Where a blank tells, each quote may be either: German and Polish close as
	// English opens, Danish turns guillemets around, and Swedish opens as it closes.
	openers      = `"'‘“„‚«‹([{（［｛「『【《〈〔〖〘〚｢＂＇¿¡`
	blankClosers = closers + "“‘«‹"
	blankOpeners = openers + "”’»›"
	// clauseMarks end a part of a sentence if a blank follows.
	clauseMarks = ",;:–—|،؛՝၊፣፤፥፦"
	// wideClauseMarks do so without one.
	wideClauseMarks = "、，；：､"
	// neverFirst begin no chunk, besides closers, and neverLast, besides openers, end none.
	neverFirst = wideStops + scriptStops + wideClauseMarks + closers + "!?,.;:%‰°…‥・ー々〻ヽヾゝゞっッゃャゅュょョぁァぃィぅゥぇェぉォ％～"
	neverLast  = openers + "$£¥€＃＄￥№"
)

// judgePlace judges a place inside a block of prose: before and after are the block's text around it, and gap is what
// stands between them, which is white space or nothing.
func judgePlace(before, gap, after string) cutQuality {
	blank := gap != ""
	switch {
	case strings.Contains(gap, "\n"), sentenceStops(before, after, blank):
		return sentenceEnd
	case clauseStops(before, after, blank):
		return clauseEnd
	case blank:
		return wordEnd
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	if (spaceless(last) || spaceless(first)) && !strings.ContainsRune(neverFirst, first) && !strings.ContainsRune(neverLast, last) {
		return wordEnd
	}
	return insideRun
}

// maxClosers bounds how many closing marks a sentence may end with.
const maxClosers = 4

// sentenceStops reports whether a sentence ends between two texts.
func sentenceStops(before, after string, blank bool) bool {
	first, _ := utf8.DecodeRuneInString(after)
	if strings.ContainsRune(neverFirst, first) && !(blank && strings.ContainsRune(blankOpeners+"…", first)) {
		return false // the sentence goes on, if only with its closing quote
	}
	stop, n := utf8.DecodeLastRuneInString(before)
	closed := false
	for i := 0; i < maxClosers && strings.ContainsRune(blankClosers, stop); i++ {
		before, closed = before[:len(before)-n], true
		stop, n = utf8.DecodeLastRuneInString(before)
	}
	text := before[:len(before)-n]
	switch {
	case stop == '．' || stop == '.':
		if stop == '.' && !blank {
			return false
		}
		if previous, _ := utf8.DecodeLastRuneInString(text); !blank && isDigit(previous) && isDigit(first) {
			return false
		}
	case strings.ContainsRune(wideStops, stop):
		// 「やめろ！」と言った。 A quote that is closed goes on unless a blank or another quote follows.
		return !closed || stop == '。' || blank || strings.ContainsRune(openers, first)
	case strings.ContainsRune(scriptStops, stop):
		return true
	case stop == '!' || stop == '?' || stop == '…':
		return blank && !goesOn(after)
	default:
		return false
	}
	if goesOn(after) {
		return false
	}
	if strings.HasSuffix(text, ".") {
		return !strings.HasSuffix(text, "...") // an ellipsis, and not the dots that lead to a page number
	}
	return closed || !abbreviates(text, after)
}

// goesOn reports whether text can't begin a sentence: its first letter is a small one, behind quotes or a dash, or
// a mark comes first that stands inside sentences only.
func goesOn(text string) bool {
	for i := 0; i < maxClosers; i++ {
		r, n := utf8.DecodeRuneInString(text)
		if !strings.ContainsRune(blankOpeners+"–— ", r) {
			return isLower(r) || strings.ContainsRune(",;:", r)
		}
		text = text[n:]
	}
	return false
}

// clauseStops reports whether a part of a sentence ends between two texts: with a comma and the like, before a bracket
// or a dash, and where scripts that know no blanks between words have one.
func clauseStops(before, after string, blank bool) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	switch {
	case strings.ContainsRune(neverFirst, first):
		return false
	case strings.ContainsRune(wideClauseMarks, last):
		return true
	case !blank:
		return false
	}
	return strings.ContainsRune(clauseMarks+")]", last) || strings.ContainsRune("([–—|", first) || spaceless(last) && spaceless(first)
}

// abbreviates reports whether the full stop behind before, which a blank and after follow, ends an abbreviation or
// the number of a list's item, or an ordinal number, rather than a sentence. What follows is no small letter.
func abbreviates(before, after string) bool {
	word := before[len(strings.TrimRightFunc(before, isWord)):]
	rest := before[:len(before)-len(word)]
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case word == "":
		return false
	case strings.TrimLeft(word, "0123456789") == "":
		first := after
		if i := strings.IndexFunc(after, func(r rune) bool { return !isWord(r) }); i >= 0 {
			first = after[:i]
		}
		return strings.TrimSpace(rest) == "" || strings.HasSuffix(rest, "\n") || len(word) <= 2 && ordinals[first]
	case utf8.RuneCountInString(word) == 1:
		r, _ := utf8.DecodeRuneInString(word)
		if !isLetter(r) {
			return false
		}
		if (r == 'д' || r == 'п') && (strings.HasSuffix(rest, "т. ") || strings.HasSuffix(rest, "т.")) {
			return false // и т. д., и т. п.
		}
		if alone, _ := utf8.DecodeLastRuneInString(rest); rest != "" && !strings.ContainsRune(blankOpeners+" .-–\n", alone) {
			return false // of an address, such as a/b
		}
		// Behind a number it is a unit, or the Russian year: в 1999 г. Else an initial, or the last of e. g., z. B., U.S.
		return !isLower(r) || !endsInDigit(rest) || isDigit(next)
	}
	word = strings.ToLower(word)
	return abbreviations[word] && !endsInDigit(rest) || numbered[word] && (isDigit(next) || next == '(' || next == '[')
}

// endsInDigit reports whether a number is the last of the words.
func endsInDigit(words string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(words, " "))
	return isDigit(r)
}

// words makes a set of what blanks part.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

var (
	// abbreviations stand before more of the sentence, though a capital may follow: titles and the like. Those that
	// often end a sentence, such as etc, usw and др, are not here: before a small letter no sentence ends anyway.
	abbreviations = words(`
		mr mrs ms messrs dr drs prof st sr rev fr hon gov sen rep pres gen col maj capt cmdr lt sgt mt ft
		vs viz cf approx al esp incl
		bzw vgl evtl ggf sog inkl exkl zzgl hr hrn str dipl ing
		mme mlle env sra srta dra ud uds
		ул пр просп пер пл им см ср напр проф акад доц инж тов гр св`)
	// numbered stand before a number.
	numbered = words(`
		no nos nr fig figs tab tbl eq eqs sec sect ch chap vol ed eds pp par para art ref refs ver app
		jan feb mar apr jun jul aug sep sept oct nov dec ca
		abb abs anm bd kap ziff art núm pág
		стр рис табл гл ст разд вып изд тел ок`)
	// ordinals are what German puts behind the number of a day or a century.
	ordinals = words(`Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert Jahrhunderts
		Jahrhunderte Jahrhunderten Jh Jhd`)
)

// isWord reports whether a word may have the character, as far as abbreviations go.
func isWord(r rune) bool { return isLetter(r) || isDigit(r) }

func isDigit(r rune) bool { return '0' <= r && r <= '9' || '０' <= r && r <= '９' }

// cased reports whether r is in the blocks of Latin, Greek, Cyrillic and Armenian. No letter is added there any more.
func cased(r rune) bool { return r < 0x590 || 0x1e00 <= r && r < 0x2000 }

func isLetter(r rune) bool { return cased(r) && unicode.IsLetter(r) }

func isLower(r rune) bool { return cased(r) && unicode.IsLower(r) }

// spaceless reports whether r is of a script whose words stand side by side without blanks: Thai and Lao, Myanmar,
// Khmer, Tai Le to Khmer symbols, ideographs, kana, and their full-width marks.
func spaceless(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r <= 0x0eff, 0x1000 <= r && r <= 0x109f, 0x1780 <= r && r <= 0x17ff, 0x1950 <= r && r <= 0x1aaf,
		0x2e80 <= r && r <= 0x2fdf, 0x3001 <= r && r <= 0x312f, 0x31a0 <= r && r <= 0x31ff, 0x3400 <= r && r <= 0x9fff,
		0xa9e0 <= r && r <= 0xa9ff, 0xaa60 <= r && r <= 0xaa7f, 0xf900 <= r && r <= 0xfaff, 0xff00 <= r && r <= 0xff9f, 0x20000 <= r && r <= 0x3ffff:
		return true
	}
	return false
}
