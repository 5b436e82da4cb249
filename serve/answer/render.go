package answer

import (
	"fmt"
	"strings"
)

// Render returns an answer as Markdown: its text, and its [Endnotes].
func Render(a *Answer) string {
	return strings.TrimRight(a.Text, " \n\t") + "\n\n" + Endnotes(a)
}

// Endnotes returns what follows an answer's text, as Markdown: the list of sources, with those that are cited marked,
// and what a reader has to know. Where the text was streamed, a blank line belongs before it.
func Endnotes(a *Answer) string {
	var b strings.Builder
	b.WriteString("Sources:\n")
	for _, s := range a.Sources {
		fmt.Fprintf(&b, "- [%d] %s — p.%s", s.Number, s.Title, pageName(s.Page))
		if s.Cited {
			b.WriteString(" (cited)")
		}
		b.WriteString("\n")
	}
	for i, note := range a.Notes() {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("Note: " + note + ".\n")
	}
	return b.String()
}

// Notes returns what a reader has to know of an answer, each in one sentence without a full stop: citations that are
// wrong, claims without one, and what was cut. An answer without fault has none.
func (a *Answer) Notes() (list []string) {
	noSource, noPage := 0, 0
	for _, c := range a.Citations {
		switch c.Problem {
		case NoSource:
			noSource++
		case NoPage:
			noPage++
		}
	}
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			list = append(list, one)
		case n > 1:
			list = append(list, fmt.Sprintf(many, n))
		}
	}
	add(noSource, "1 citation names no source", "%d citations name no source")
	add(noPage, "1 citation names a page that its source is not on", "%d citations name pages that their sources are not on")
	add(a.Unsupported, "1 claim has no citation", "%d claims have no citation")
	for _, s := range a.Sources {
		if s.Cut {
			list = append(list, fmt.Sprintf("source %d was cut before it was sent, since it is long", s.Number))
		}
	}
	if a.QuestionIsCut {
		list = append(list, "the question was cut before it was sent, since it is long")
	}
	switch a.Stopped {
	case stopMaxTokens:
		list = append(list, fmt.Sprintf("the answer was cut at %d tokens, the most that are allowed", a.OutputTokens))
	case stopWindow:
		list = append(list, "the answer was cut, since the model can't read more")
	}
	return list
}
