package pipeline

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxHeading = 80  // characters of a heading that no row underlines
	maxRunning = 200 // bytes of a line that pages share
)

// isRuler says whether a line is a row of one sign, three or more.
func isRuler(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) >= 3 && strings.IndexByte("=-_*~#+", line[0]) >= 0 && len(bytes.Trim(line, string(line[:1]))) == 0
}

// underlines returns the level of the heading that a row makes of the line above it, or 0. A row that is much shorter
// than the line is something else.
func underlines(row, line []byte) int {
	row = bytes.TrimSpace(row)
	width := utf8.RuneCount(bytes.TrimSpace(line))
	switch {
	case !isRuler(row), isRuler(line), width > 2*maxHeading, 2*len(row) < width, isBlank(line), bytes.ContainsAny(bytes.TrimSpace(line), "\t|"):
		return 0
	case row[0] == '=':
		return 1
	case row[0] == '-':
		return 2
	}
	return 0
}

var (
	sectionPattern = regexp.MustCompile(`^(\d{1,3}(?:\.\d{1,3})*)(\.?)\s+(\S.*)$`)
	chapterPattern = regexp.MustCompile(`^(?:\d{1,3}|(?i:[ivxlc]{1,7})|[A-Z])(?:[.:]? .*|[.:]?)$`)
	hanPattern     = regexp.MustCompile(`^第[0-9０-９一二三四五六七八九十百]{1,5}[章节節部編回](?:\s.*)?$`)
	itemPattern    = regexp.MustCompile(`^\s*(\d{1,3})[.)]\s`)
)

// chapterWords stand before the numbers of chapters.
var chapterWords = map[string]bool{
	"chapter": true, "part": true, "section": true, "appendix": true, "article": true,
	"глава": true, "часть": true, "раздел": true, "приложение": true, "статья": true,
	"kapitel": true, "teil": true, "anhang": true, "chapitre": true, "partie": true, "annexe": true,
	"capítulo": true, "parte": true, "capitolo": true,
}

// chapter stands for the parts of the number of a heading like "Chapter 3".
const chapter = -1

// sectionNumber returns the number of a heading such as "2.1 Scope" and how many parts it has: its first part, and 0 parts
// if it is none, [chapter] parts if it is one in a word. What follows the number begins with a capital, or a letter that has none, and is no sentence.
func sectionNumber(line string) (first, parts int) {
	if isSentence(line) {
		return 0, 0
	}
	word, rest, _ := strings.Cut(line, " ")
	if chapterWords[strings.ToLower(word)] && chapterPattern.MatchString(rest) || strings.HasPrefix(line, "第") && hanPattern.MatchString(line) {
		return 0, chapter
	}
	if line == "" || line[0] < '0' || line[0] > '9' {
		return 0, 0
	}
	m := sectionPattern.FindStringSubmatch(line)
	if m == nil {
		return 0, 0
	}
	r, _ := utf8.DecodeRuneInString(m[3])
	numbers := strings.Split(m[1], ".")
	if !unicode.IsLetter(r) || unicode.IsLower(r) || len(numbers) == 1 && m[2] == "" {
		return 0, 0
	}
	first, _ = strconv.Atoi(numbers[0])
	return first, len(numbers)
}

// isSentence says whether a line ends as headings don't.
func isSentence(line string) bool {
	r, _ := utf8.DecodeLastRuneInString(line)
	return strings.ContainsRune(".,;:。，；：、", r)
}

// inCapitals says whether a line is a heading in capitals: three or more, and no small letter.
func inCapitals(line string) bool {
	if isSentence(line) || utf8.RuneCountInString(line) > 60 {
		return false
	}
	capitals, others := 0, 0
	for _, r := range line {
		switch {
		case unicode.IsUpper(r):
			capitals++
		case unicode.IsLetter(r):
			return false
		case !unicode.IsSpace(r):
			others++
		}
	}
	first, _ := utf8.DecodeRuneInString(line)
	return capitals >= 3 && others <= capitals/2 && unicode.IsUpper(first)
}

// itemNumber returns the number that an item of a list begins with.
func itemNumber(line []byte) (int, bool) {
	line = bytes.TrimLeft(line[:min(len(line), 200)], " \t")
	if len(line) == 0 || line[0] < '0' || line[0] > '9' {
		return 0, false
	}
	m := itemPattern.FindSubmatch(line)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(m[1]))
	return n, err == nil
}

var (
	// A time, behind a bracket, a priority, a level or an address.
	timePattern  = regexp.MustCompile(`^\s{0,2}(?:<\d{1,3}>\d? ?)?[\[("]?(?:(?:[A-Z]{4,8}|\d{1,3}(?:\.\d{1,3}){3}\s+\S+\s+\S+)\s+)?[\[("]?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./-](?:\d{1,2}|[A-Z][a-z]{2})[./-]\d{2,4}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)?,? ?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d|\d{1,2}:\d{2}(?::\d{2}|\s|\])|1\d{9}(?:\.\d+|\d{3})?\b)`)
	fieldPattern = regexp.MustCompile(`^[A-Z][A-Za-z]{1,20}(?:-[A-Za-z]{1,20}){0,4}: `)
)

// startsRecord returns which lines begin a record, if the lines are those of a log or the head of an e-mail; nil if not.
func startsRecord(lines []textLine) []bool {
	if len(lines) < 2 {
		return nil
	}
	starts := make([]bool, len(lines))
	times, fields, goesOn := 0, 0, 0
	for i, line := range lines {
		head := line.text[:min(len(line.text), 120)]
		switch indented := line.indent() > 0; {
		case bytes.ContainsAny(head[:min(len(head), 60)], "0123456789") && timePattern.Match(head):
			starts[i] = true
			times++
		case bytes.Contains(head, []byte(": ")) && fieldPattern.Match(head):
			fields++
		case indented && i > 0:
			goesOn++
		}
	}
	switch {
	case times >= 2 && (times+goesOn)*5 >= len(lines)*4 && starts[0]:
		return starts
	case fields >= 3 && fields+goesOn == len(lines):
		for i, line := range lines {
			starts[i] = line.indent() == 0
		}
		return starts
	}
	return nil
}

// withoutNumbers puts # in place of numbers, so that lines that number pages become equal. Lines of numbers alone are "#".
func withoutNumbers(line string) string {
	var b strings.Builder
	digit := false
	for _, r := range line {
		if unicode.IsDigit(r) {
			if !digit {
				b.WriteByte('#')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteRune(r)
	}
	return b.String()
}
