package answer

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands for brackets with citations in the text that unsupported reads: one that names a source, and one that
// doesn't. Neither is in an answer's text, which holds no control characters.
const (
	goodCitation = "\x01"
	badCitation  = "\x02"
)

// unsupported counts the sentences of a Markdown text that claim something and cite no source. Headings, questions, what
// leads to a list, and the sentence that the prompt asks for where the sources say nothing claim nothing. A citation
// belongs to the sentence that it stands in or right behind.
func unsupported(text string) (count int) {
	for _, block := range blocks(text) {
		for _, sentence := range sentences(block) {
			if isClaim(sentence) && !strings.Contains(sentence, goodCitation) {
				count++
			}
		}
	}
	return count
}

var (
	quoteOrItem = regexp.MustCompile(`^\s*(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?`)
	newItem     = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+|^\s*\|`)
	heading     = regexp.MustCompile(`^\s*#{1,6}\s`)
	boldLine    = regexp.MustCompile(`^\s*(?:\*\*|__)[^*_.!?]+(?:\*\*|__):?\s*$`)
	tableRule   = regexp.MustCompile(`^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$`)
)

// blocks returns the paragraphs, items of lists and rows of tables of a text, each in one line.
func blocks(text string) (list []string) {
	var block []string // the lines of the one that is not complete
	end := func() {
		if block != nil {
			list = append(list, strings.Join(block, " "))
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "" || heading.MatchString(line) || boldLine.MatchString(line):
			end()
			continue
		case tableRule.MatchString(line): // what is above are the names of the columns
			block = nil
			continue
		case newItem.MatchString(line):
			end()
		}
		block = append(block, strings.TrimSpace(quoteOrItem.ReplaceAllString(line, "")))
	}
	end()
	return list
}

// sentences cuts a block behind each ., !, ?, … and their like that a blank and something other than a small letter
// follow. What closes a quotation, and citations, belong to what is before.
func sentences(block string) (list []string) {
	start, seen := 0, 0
	for i, r := range block {
		if i < seen || !strings.ContainsRune(".!?…。！？", r) {
			continue
		}
		rest := strings.TrimLeft(block[i+utf8.RuneLen(r):], ".!?…。！？\"'”’»)*_`")
		seen = len(block) - len(rest)
		wide := r == '。' || r == '！' || r == '？'
		if rest != "" && !wide && !strings.HasPrefix(rest, " ") && rest[0] != goodCitation[0] && rest[0] != badCitation[0] {
			continue
		}
		rest = strings.TrimLeft(rest, " "+goodCitation+badCitation)
		next, _ := utf8.DecodeRuneInString(rest)
		if r == '.' && rest != "" && (unicode.IsLower(next) || isAbbreviation(block[start:i])) {
			continue
		}
		end := len(block) - len(rest)
		list = append(list, block[start:end])
		start, seen = end, end
	}
	return append(list, block[start:])
}

// abbreviations are words before whose full stop no sentence ends. Those that often end one are not among them.
var abbreviations = map[string]bool{}

func init() {
	for _, word := range strings.Fields(`e.g i.e vs cf approx ca no nos p pp fig sec ch vol ed eds al dr mr mrs ms prof st inc ltd co jan feb mar apr
		jun jul aug sep sept oct nov dec т.е т.к т.н т.д напр см ср стр с рис табл гл ст п пп г ул им др`) {
		abbreviations[word] = true
	}
}

// isAbbreviation tells whether the full stop behind s belongs to its last word: an initial, a number of a list, or one
// of the abbreviations.
func isAbbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (\"«“\u00a0")+1:]
	if utf8.RuneCountInString(word) == 1 {
		first, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(first) || abbreviations[word]
	}
	return abbreviations[strings.ToLower(word)]
}

// isClaim tells whether a sentence says something.
func isClaim(sentence string) bool {
	s := strings.TrimRight(sentence, " *_"+goodCitation+badCitation)
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters > 1 && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") &&
		!strings.EqualFold(strings.Trim(s, ` "'“”*_.`), strings.TrimSuffix(refusal, "."))
}
