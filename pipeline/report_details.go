package pipeline

import (
	"crypto/sha256"
	"strings"
)

// DocumentDetails are what the report for people tells of a document besides what became of it.
type DocumentDetails struct {
	Title    string
	Bytes    int           // of the source file
	Tokens   []int         // of each chunk, in the order of the text
	Blank    int           // pages on which nothing is
	BadPages []PageReport  // pages that are neither ok nor blank, the first maxBadPages of them
	MoreBad  int           // how many more there are
	Running  []RunningLine // what repeats over pages and is not in the text, the first maxShownRunning of them

	text [sha256.Size]byte // of the canonical text; zero if there is none
}

// A PageReport says what became of a page.
type PageReport struct {
	Number  int
	Label   string // as the document numbers it; "" where that is Number
	Verdict Verdict
	Reason  string
	Words   string // the first words on it, as they were read; "" if there are none
}

// A RunningLine is a header, a footer or a page number that was left out of the text. Lines that differ in their
// numbers alone count as one.
type RunningLine struct {
	Text  string // on the first page that has it
	Pages int
}

const (
	maxBadPages     = 20
	maxShownRunning = 8
	maxFirstWords   = 12
	maxFirstBytes   = 160 // of the first words: garbage may have no blanks
)

// addDetails puts the details of all documents into the report, as far as the bake came.
func (b *bake) addDetails() {
	if len(b.report.Documents) != len(b.documents) {
		return // parsing was ended early
	}
	for i, d := range b.documents {
		details := documentDetails(d)
		if len(b.chunks) > i {
			for _, c := range b.chunks[i] {
				details.Tokens = append(details.Tokens, c.Tokens)
			}
		}
		b.report.Documents[i].DocumentDetails = details
	}
}

func documentDetails(d *Document) DocumentDetails {
	details := DocumentDetails{Title: d.Meta.Title, Bytes: d.Size}
	if d.hasText() && d.Text != "" {
		details.text = sha256.Sum256([]byte(d.Text))
	}
	running := map[string]int{} // index in Running by what remains without numbers
	for _, p := range d.Pages {
		switch {
		case p.Verdict == Blank:
			details.Blank++
		case p.Verdict == OK:
		case len(details.BadPages) == maxBadPages:
			details.MoreBad++
		default:
			details.BadPages = append(details.BadPages, PageReport{p.Number, p.Label, p.Verdict, p.Reason, firstWords(p.Text)})
		}
		seen := map[string]bool{}
		for _, line := range p.Running {
			key := withoutNumbers(line)
			if seen[key] {
				continue
			}
			seen[key] = true
			if at, ok := running[key]; ok {
				details.Running[at].Pages++
			} else if len(details.Running) < maxShownRunning {
				running[key] = len(details.Running)
				details.Running = append(details.Running, RunningLine{line, 1})
			}
		}
	}
	return details
}

// firstWords returns how a text begins, on one line.
func firstWords(text string) string {
	const enough = 4 * maxFirstBytes
	cut := len(text) > enough
	if cut {
		text = strings.ToValidUTF8(text[:enough], "")
	}
	words := strings.Fields(text)
	if len(words) > maxFirstWords {
		words, cut = words[:maxFirstWords], true
	}
	first := strings.Join(words, " ")
	if len(first) > maxFirstBytes {
		first, cut = strings.ToValidUTF8(first[:maxFirstBytes], ""), true
	}
	if cut && first != "" {
		first += " …"
	}
	return first
}
