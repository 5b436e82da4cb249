package query

import (
	"fmt"
	"strings"
)

// maxSnippet is how many characters of a hit Markdown quotes.
const maxSnippet = 300

// Markdown is a result as the contract has it: snippets with scores, apart by rules, and the footer. What there is to say
// when nothing was found, and warnings, are paragraphs before the footer.
func Markdown(r *Result) string {
	parts := make([]string, 0, len(r.Hits))
	for _, h := range r.Hits {
		parts = append(parts, snippet(h))
	}
	blocks := []string{}
	if len(parts) > 0 {
		// Blank lines keep Markdown from taking the line above a rule for a heading.
		blocks = append(blocks, strings.Join(parts, "\n\n---\n\n"))
	}
	if r.Message != "" {
		blocks = append(blocks, r.Message)
	}
	for _, w := range r.Warnings {
		blocks = append(blocks, "Warning: "+w)
	}
	return strings.Join(append(blocks, Footer(r)), "\n\n") + "\n"
}

func snippet(h Hit) string {
	page, score := "?", "n/a"
	if h.Metadata.Page != nil {
		page = fmt.Sprint(*h.Metadata.Page)
	}
	if h.SimilarityScore != nil {
		score = fmt.Sprintf("%.3f", *h.SimilarityScore)
	}
	return fmt.Sprintf("**[%s]** %s — p.%s\n> %s...\nScore: %s", oneLine(h.ContentType), oneLine(h.Title), page, oneLine(first(h.Content, maxSnippet)), score)
}

// Footer is the line at the end of every output.
func Footer(r *Result) string {
	space := r.Space
	if space == "" {
		space = "all"
	}
	return fmt.Sprintf("Searched %d chunks in %s/%s in %dms", r.Scope, r.Connection, space, r.Elapsed.Milliseconds())
}

// first returns the first characters of a text.
func first(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// oneLine makes blanks of line ends, one by one.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, text)
}
