package pipeline

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// codePages are the legacy encodings that are told apart, by the WHATWG's names. Where two read a file alike, the
// first one is named.
var codePages = []string{
	"windows-1252", "windows-1251", "gb18030", "shift_jis", "euc-jp", "euc-kr", "big5",
	"windows-1250", "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-874",
	"koi8-u", "koi8-r", "ibm866", "iso-8859-15", "iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-6", "iso-8859-8-i",
	"macintosh", "x-mac-cyrillic",
}

// rare are encodings of systems that are gone.
var rare = []string{"macintosh", "x-mac-cyrillic"}

const (
	maxSample = 16 << 10 // bytes that are judged
	margin    = 12 * bit // by which the best reading must be more likely than the next one
)

// A reading is what an encoding makes of a sample.
type reading struct {
	name string
	text string
	cost cost
	fit  bool // the text may be one of a language
}

// detectEncoding finds out which legacy encoding a file has. It returns a reason where that is not certain.
//
// Every encoding that can read a sample of the file is a candidate. A reading costs as many bits as it takes to tell
// it in the language that suits it best, by how often letters are used there, and more where scripts mix in a word,
// capitals follow small letters, or symbols stand within words. The library's confidence counts for its candidates. The cheapest reading wins if it may be a text at all and the next other one
// is 2^10 times less likely.
func detectEncoding(data []byte) (name, reason string) {
	sample, cut := sampleOf(data)
	names := codePages
	if len(data) <= maxSample { // UTF-16 without a single blank
		sample, names = data, append(wideEncodings[:2:2], codePages...)
	}
	readings := readingsOf(sample, cut, names)
	if len(readings) == 0 {
		return "", "no encoding reads it"
	}
	best := readings[0]
	if !best.fit {
		return "", "it makes no words in any that is known"
	}
	if len(readings) == 1 || readings[1].cost-best.cost >= margin {
		return best.name, ""
	}
	var candidates []string
	for _, r := range readings[:min(len(readings), 3)] {
		candidates = append(candidates, r.name)
	}
	return "", "it may be " + strings.Join(candidates, " or ")
}

// wideEncodings are those whose units have two bytes or four.
var wideEncodings = []string{"utf-16le", "utf-16be", "utf-32le", "utf-32be"}

// detectWide returns which of the encodings with wide units a file has, or "".
func detectWide(data []byte) string {
	sample := data[:min(len(data), maxSample)]
	readings := readingsOf(sample, len(sample) < len(data), wideEncodings)
	if len(readings) > 0 && readings[0].fit && (len(readings) == 1 || readings[1].cost-readings[0].cost >= margin) {
		return readings[0].name
	}
	return ""
}

// encodingOf returns the encoding of a name in these lists.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		panic(err)
	}
	return e
}

// sampleOf returns the lines that have bytes outside of ASCII, from the beginning of the file, up to a limit. cut says
// that the last one is not whole.
func sampleOf(data []byte) (sample []byte, cut bool) {
	for line := range bytes.Lines(data) {
		if isASCII(line) {
			continue
		}
		if room := maxSample - len(sample); len(line) > room {
			line = line[:room]
			// No byte below '0' is a part of a longer character.
			if end := bytes.LastIndexFunc(line, func(r rune) bool { return r < '0' }); end > 0 {
				line = line[:end]
			} else if len(sample) > 0 {
				return sample, false
			} else {
				cut = true
			}
			return append(sample, line...), cut
		}
		sample = append(sample, line...)
	}
	return sample, false
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// readingsOf returns the readings of a sample that differ, the likeliest first.
func readingsOf(sample []byte, cut bool, names []string) []reading {
	votes := map[string]float64{}
	for _, r := range chardet.DetectAll(sample) {
		if e, err := htmlindex.Get(r.Charset); err == nil {
			if name, err := htmlindex.Name(e); err == nil {
				votes[name] = max(votes[name], r.Confidence)
			}
		}
	}
	var readings []reading
	for _, name := range names {
		text, ok := decodeSample(encodingOf(name), sample, cut)
		if !ok {
			continue
		}
		r := reading{name: name, text: text}
		r.cost, r.fit = judgeText(text, name)
		if slices.Contains(rare, name) {
			r.cost += costRare
		}
		r.cost -= cost(votes[name] * float64(libraryWeight))
		readings = append(readings, r)
	}
	slices.SortStableFunc(readings, func(a, b reading) int { return int(a.cost - b.cost) })
	// Readings that are alike count once.
	var distinct []reading
	for _, r := range readings {
		if !slices.ContainsFunc(distinct, func(d reading) bool { return d.text == r.text }) {
			distinct = append(distinct, r)
		}
	}
	return distinct
}

// libraryWeight is what a confidence of 1 is worth.
var libraryWeight = 6 * bit

// decodeSample decodes a sample, or says that its bytes aren't of that encoding.
func decodeSample(e encoding.Encoding, sample []byte, cut bool) (string, bool) {
	text := make([]byte, 3*len(sample)+utf8.UTFMax)
	n, read, err := e.NewDecoder().Transform(text, sample, !cut)
	if err != nil && err != transform.ErrShortSrc || len(sample)-read > 3 || bytes.Contains(text[:n], replacement) {
		return "", false
	}
	return string(text[:n]), true
}

var replacement = []byte("\ufffd")

// alphabetic are the scripts that don't mix within a word.
var alphabetic = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Hebrew, unicode.Arabic, unicode.Thai, unicode.Armenian, unicode.Georgian}

// scriptOf returns an alphabetic script, or nil for all others.
func scriptOf(r rune) *unicode.RangeTable {
	for _, s := range alphabetic {
		if unicode.Is(s, r) {
			return s
		}
	}
	return nil
}

// What a fault of a text costs besides its characters.
const (
	costControl = 40 * bit // a control character of ISO 6429, an unassigned or a private one
	costMixed   = 14 * bit // two scripts in a word
	costCase    = 12 * bit // a capital after a small letter, outside of ASCII
	costInside  = 10 * bit // a symbol between letters
	costBeside  = 8 * bit  // a small Latin letter beside one of a script without blanks, or one outside of ASCII after a digit
	costMark    = 10 * bit // a mark without a letter before it
	costUpper   = 3 * bit  // a word in capitals, be it of one letter
	costScript  = 8 * bit  // another script
	costUnusual = 8 * bit  // an encoding that is not usual for the language
	gainWord    = 4 * bit  // a frequent word
	costRare    = 6 * bit  // an encoding that is rare
)

// A textJudge adds up what a text costs.
type textJudge struct {
	letters map[rune]int   // outside of ASCII, in lower case
	words   map[string]int // in ASCII
	word    []byte         // the one so far, while it is in ASCII
	total   int            // of letters
	faults  int
	cost    cost // of everything else

	// The word so far.
	script       *unicode.RangeTable
	upper, lower int
	foreign      bool // it has letters outside of ASCII
	odd          bool // a capital follows a small letter
	before       rune
}

// judgeText returns what it costs to tell a text in the language that suits it best, and whether it may be one.
// page is the encoding that it is read in.
func judgeText(text, page string) (cost, bool) {
	j := textJudge{letters: map[rune]int{}, words: map[string]int{}}
	for _, r := range text {
		j.add(r)
	}
	j.endWord()
	best := j.languages(page)
	// A letter takes 7 bits or less in its language, a Han character 12.
	fit := j.faults*25 <= j.total && best <= 12*bit*cost(j.total)+40*bit
	return j.cost + best, fit
}

func (j *textJudge) fault(c cost) {
	j.cost += c
	j.faults++
}

func (j *textJudge) add(r rune) {
	switch {
	case r < ' ' && !unicode.IsSpace(r), r == 0x7f:
		j.fault(costControl)
	case r < utf8.RuneSelf:
		j.cost += costASCII
		if !unicode.IsLetter(r) {
			j.endWord()
			break
		}
		j.letter(r, unicode.Latin)
		if len(j.word) < 8 {
			j.word = append(j.word, byte(unicode.ToLower(r)))
		}
	case unicode.IsLetter(r) && r != 'µ' && r != 'ª' && r != 'º':
		j.count(r)
		j.foreign = true
		j.letter(r, scriptOf(r))
	case unicode.IsMark(r):
		j.count(r)
		if !unicode.IsLetter(j.before) && !unicode.IsMark(j.before) || unicode.Is(unicode.Thai, r) && j.script != unicode.Thai {
			j.fault(costMark)
		}
	case unicode.IsControl(r), !unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r):
		j.fault(costControl)
	default:
		j.symbol(r)
	}
	j.before = r
}

// count notes a letter outside of ASCII.
func (j *textJudge) count(r rune) {
	if lower := unicode.ToLower(r); r != 'İ' {
		r = lower
	}
	j.letters[r]++
	j.total++
}

func (j *textJudge) letter(r rune, script *unicode.RangeTable) {
	joined := unicode.IsLetter(j.before) || unicode.IsMark(j.before)
	switch {
	case !joined || script == j.script:
	case hasNoBlanks(script) || hasNoBlanks(j.script):
		if script == unicode.Latin && unicode.IsLower(r) || j.script == unicode.Latin && unicode.IsLower(j.before) {
			j.cost += costBeside
		}
		j.endWord()
	default:
		j.fault(costMixed)
	}
	if !joined && j.before >= utf8.RuneSelf && j.script != nil && !joins(j.before) {
		j.fault(costInside)
	}
	if r >= utf8.RuneSelf && script == unicode.Latin && unicode.IsDigit(j.before) {
		j.cost += costBeside
	}
	if strings.ContainsRune("¼½¾¤¦¨´¸¬¹²³", j.before) {
		j.cost += costInside // it ends a word or stands alone
	}
	j.script = script
	switch {
	case unicode.IsUpper(r):
		if j.lower > 0 && (r >= utf8.RuneSelf || j.before >= utf8.RuneSelf) {
			j.odd = true
		}
		j.upper++
	case unicode.IsLower(r):
		if j.upper > 1 && (r >= utf8.RuneSelf || j.before >= utf8.RuneSelf) {
			j.odd = true
		}
		j.lower++
	}
}

// hasNoBlanks says whether words of a script may stand beside others without a blank.
func hasNoBlanks(script *unicode.RangeTable) bool { return script == nil || script == unicode.Thai }

// joins says whether a symbol may stand within a word.
func joins(r rune) bool {
	return strings.ContainsRune("’‘‐‑–—·…\u00ad\u200b\u200c\u200d", r) || unicode.IsSpace(r)
}

func (j *textJudge) symbol(r rune) {
	switch {
	case unicode.IsSpace(r):
		j.cost += costPunct
		j.endWord()
	case 0x3000 <= r && r <= 0x303f || 0xff01 <= r && r <= 0xff5e:
		j.cost += 6 * bit
		j.endWord()
	case strings.ContainsRune("’“”„«»–—…", r):
		j.cost += costPunct - 2*bit
		j.endForSymbol(r)
	case strings.ContainsRune("‘·№©®°§•،؛؟‚‹›¿¡€£×", r):
		j.cost += costPunct
		j.endForSymbol(r)
	case strings.ContainsRune("½¼¾²³", r) && unicode.IsDigit(j.before):
		j.cost += costPunct
		j.endForSymbol(r)
	default:
		j.cost += costSymbol
		j.endForSymbol(r)
	}
}

// endForSymbol ends a word, unless a letter follows: then the symbol stands inside it.
func (j *textJudge) endForSymbol(r rune) {
	script := j.script
	inside := unicode.IsLetter(j.before)
	j.endWord()
	if inside {
		j.script = script
	}
}

func (j *textJudge) endWord() {
	if len(j.word) > 0 && !j.foreign {
		j.words[string(j.word)]++
	}
	j.word = j.word[:0]
	if j.foreign {
		if j.odd {
			j.fault(costCase)
		} else if j.upper > 0 && j.lower == 0 {
			j.cost += costUpper
		}
	}
	j.script, j.upper, j.lower, j.foreign, j.odd = nil, 0, 0, false, false
}

// languages returns what the letters cost, each script in the language that suits it best.
func (j *textJudge) languages(page string) cost {
	byScript := map[*unicode.RangeTable][]rune{}
	for r := range j.letters {
		s := scriptOf(r)
		byScript[s] = append(byScript[s], r)
	}
	if len(j.words) > 0 && byScript[unicode.Latin] == nil {
		byScript[unicode.Latin] = []rune{}
	}
	sum := cost(0)
	for script, letters := range byScript {
		sum += costScript + j.inScript(script, letters, page)
	}
	return sum
}

// inScript returns what letters of one script cost.
func (j *textJudge) inScript(script *unicode.RangeTable, letters []rune, page string) cost {
	best := cost(math.MaxInt)
	for _, model := range letterModels() {
		if model.script != script {
			continue
		}
		sum := cost(0)
		for _, r := range letters {
			c, ok := model.costs[r]
			if !ok {
				c = costForeign
			}
			sum += c * cost(j.letters[r])
		}
		if script == unicode.Latin {
			for word, n := range j.words {
				if model.words[word] {
					sum -= gainWord * cost(n)
				}
			}
		}
		if model.pages != nil && !slices.Contains(model.pages, page) {
			sum += costUnusual
		}
		best = min(best, sum)
	}
	if script == nil {
		for _, set := range charsets() {
			sum := cost(0)
			for _, r := range letters {
				sum += set.cost(r) * cost(j.letters[r])
			}
			best = min(best, sum)
		}
	}
	if best == math.MaxInt { // a script of no legacy encoding
		best = costScript
		for _, r := range letters {
			best += 8 * bit * cost(j.letters[r])
		}
	}
	return best
}
