package answer

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
)

// A register knows what can be cited.
type register struct {
	sources []CitedSource
	titles  map[string][]int // numbers of the sources by the folded title
	parts   int              // of the title with the most separators in it
}

func newRegister(sources []CitedSource) register {
	r := register{sources: sources, titles: map[string][]int{}}
	for _, s := range sources {
		title := fold(s.Title)
		r.titles[title] = append(r.titles[title], s.Number)
		r.parts = max(r.parts, len(separator.FindAllString(title, -1))+1)
	}
	return r
}

// fold makes titles equal that differ in case, blanks, or in the backslashes of escape.
func fold(s string) string {
	return cases.Fold().String(strings.Join(strings.Fields(strings.ReplaceAll(s, `\`, "")), " "))
}

// citations returns those of a bracket, given without its ends: [n:page], [title:page], [n], [title], or several,
// separated by semicolons or commas, where a page alone belongs to the source before it. It returns nil if the bracket is
// something else.
func (r register) citations(bracket string) (list []Citation) {
	ends := separator.FindAllStringIndex(bracket, -1)
	ends = append(ends, []int{len(bracket), len(bracket)})
	for start, i := 0, 0; i < len(ends); {
		// A title may hold commas: the longest that names a source counts.
		last := i
		var c Citation
		for j := min(len(ends), i+r.parts) - 1; j > i; j-- {
			if longer, ok := r.citation(strings.TrimSpace(bracket[start:ends[j][0]])); ok && longer.Problem != NoSource {
				c, last = longer, j
				break
			}
		}
		if last == i {
			text := strings.TrimSpace(bracket[start:ends[i][0]])
			var ok bool
			switch c, ok = r.citation(text); {
			case ok:
			case text == "" && len(list) > 0: // a separator at the end
				start, i = ends[i][1], i+1
				continue
			case len(list) > 0 && list[len(list)-1].Source > 0 && pageAlone.MatchString(text):
				n := list[len(list)-1].Source
				c = r.onPage(Citation{Text: text}, []int{n}, pageAlone.FindStringSubmatch(text)[1])
			default:
				return nil
			}
		}
		list = append(list, c)
		start, i = ends[last][1], last+1
	}
	return list
}

const pages = `(\?|\d{1,6}(?:\s*[-–]\s*\d{1,6})?)`

var (
	separator = regexp.MustCompile(`[;,]`)
	numbered  = regexp.MustCompile(`^(?i:source\s*)?#?(\d{1,6})$`)
	// "3:7", "Title: p. 7", "Title (p.7)" as the prompt shows it, "3 p.?"
	withPage  = regexp.MustCompile(`^(.+?)(?:\s*:\s*(?i:pp?\.|page)?\s*|\s+(?i:pp?\.)\s*|\s*\((?i:pp?\.)\s*)` + pages + `\)?$`)
	pageAlone = regexp.MustCompile(`^(?i:pp?\.|page)\s*` + pages + `$`)
)

// maxPlain is the longest number that cites a source without a page: longer ones are years and the like.
const maxPlain = 3

// citation reads one citation, and tells whether text is one.
func (r register) citation(text string) (Citation, bool) {
	c := Citation{Text: text}
	if numbers := r.titles[fold(text)]; numbers != nil && !numbered.MatchString(text) {
		c.Source = numbers[0]
		return c, true
	}
	if n, digits := number(text); digits > 0 {
		if n < 1 || digits > maxPlain && r.titles[fold(text)] == nil {
			return c, false
		}
		return r.onPage(c, r.named(text), "?"), true
	}
	parts := withPage.FindStringSubmatch(text)
	if parts == nil || strings.Contains(text, "://") {
		return c, false
	}
	return r.onPage(c, r.named(parts[1]), parts[2]), true
}

// number returns the number by which text names a source, and how many digits it has, 0 if it names none so.
func number(text string) (n, digits int) {
	if m := numbered.FindStringSubmatch(text); m != nil {
		n, _ = strconv.Atoi(m[1])
		digits = len(m[1])
	}
	return n, digits
}

// named returns the numbers of the sources that text names.
func (r register) named(text string) []int {
	if n, digits := number(text); digits > 0 && n >= 1 && n <= len(r.sources) {
		return []int{n}
	}
	return r.titles[fold(text)]
}

// onPage completes a citation of one of the sources on a page.
func (r register) onPage(c Citation, numbers []int, page string) Citation {
	if len(numbers) == 0 {
		c.Problem = NoSource
		return c
	}
	for _, n := range numbers {
		if hasPage(r.sources[n-1].Page, page) {
			c.Source = n
			return c
		}
	}
	c.Source, c.Problem = numbers[0], NoPage
	return c
}

// hasPage tells whether a source that stands on a page can be cited with pages: ?, 3, or 2-4.
func hasPage(page *int, pages string) bool {
	if pages == "?" {
		return true
	}
	if page == nil {
		return false
	}
	first, last, isRange := strings.Cut(strings.ReplaceAll(pages, "–", "-"), "-")
	low, _ := strconv.Atoi(strings.TrimSpace(first))
	high := low
	if isRange {
		high, _ = strconv.Atoi(strings.TrimSpace(last))
	}
	return low <= *page && *page <= high
}

// mark is what follows a bracket with citations in the text: nothing if all are right.
func mark(list []Citation) string {
	var wrong []string
	for _, c := range list {
		switch {
		case c.Problem == "":
		case len(list) == 1:
			wrong = append(wrong, c.Problem)
		default:
			wrong = append(wrong, c.Problem+": "+c.Text)
		}
	}
	if wrong == nil {
		return ""
	}
	// The blank keeps it from being the address of a link.
	return " (" + strings.Join(wrong, "; ") + ")"
}
