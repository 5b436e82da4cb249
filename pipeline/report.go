package pipeline

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Report says what a bake did.
type Report struct {
	Folder    string
	Settings  Settings
	Model     string           // of an embedder that is not one of the models here
	Documents []DocumentReport // in the order of their paths
	LeftOut   []LeftOut        // files that are no documents
	Unmatched []string         // settings whose glob matches no document
	Chunks    int
	Tokens    int // of all chunks
	Terms     int
	Embedded  int // passages that were embedded now; the others came from the cache
	Digest    string
	Artifact  string // folder of the artifact
	Bytes     int64  // of the artifact, without encoder and provenance
	Unchanged bool   // this version was there already
	Stages    []Stage
	FailedIn  string // the stage that ended the bake early; "" if none did
	Failure   error  // what it said
	Version   string // of the program
	Revision  string // of the documents

	start time.Time
}

// A DocumentReport says what became of a document.
type DocumentReport struct {
	Path    string
	Verdict Verdict
	Reason  string
	Pages   int
	Chunks  int
	LeftOut map[string]int // what was left out inside it, by reason
	DocumentDetails
}

// A Stage is a part of a bake and how long it took.
type Stage struct {
	Name string
	Took time.Duration
}

// Verdicts counts the documents by verdict.
func (r *Report) Verdicts() map[string]int {
	n := map[string]int{}
	for _, d := range r.Documents {
		n[string(d.Verdict)]++
	}
	return n
}

// leftOutInside counts what was left out inside documents, by reason.
func (r *Report) leftOutInside() map[string]int {
	n := map[string]int{}
	for _, d := range r.Documents {
		for reason, count := range d.LeftOut {
			if count > 0 {
				n[reason] += count
			}
		}
	}
	return n
}

// maxShown is how many files that are left out for one reason are named.
const maxShown = 10

// leftOutLines says what was left out: how many files of each other kind, how many are ignored, and the names of the
// rest, such as hidden files and links.
func leftOutLines(leftOut []LeftOut) []string {
	kinds := map[string]int{}
	ignored := 0
	var named []string
	unnamed := map[string]int{} // by reason
	shown := map[string]int{}
	for _, l := range leftOut {
		switch {
		case l.Reason == leftIgnored:
			ignored++
		case strings.HasPrefix(l.Reason, leftBare):
			kinds["without extension"]++
		case strings.HasPrefix(l.Reason, leftKind):
			kinds[strings.ToLower(strings.Fields(strings.TrimPrefix(l.Reason, leftKind))[0])]++
		case shown[l.Reason] == maxShown:
			unnamed[l.Reason]++
		default:
			shown[l.Reason]++
			named = append(named, l.Path+": "+l.Reason)
		}
	}
	var lines []string
	if len(kinds) > 0 {
		names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(kinds[b]-kinds[a], strings.Compare(a, b)) })
		var counts []string
		rest := 0
		for i, name := range names {
			if i >= maxShown {
				rest += kinds[name]
				continue
			}
			counts = append(counts, fmt.Sprintf("%d %s", kinds[name], name))
		}
		if rest > 0 {
			counts = append(counts, fmt.Sprintf("%d of %d other kinds", rest, len(names)-maxShown))
		}
		lines = append(lines, strings.Join(counts, ", ")+": not read")
	}
	if ignored > 0 {
		lines = append(lines, fmt.Sprintf("%d %s", ignored, leftIgnored))
	}
	lines = append(lines, named...)
	for _, reason := range slices.Sorted(maps.Keys(unnamed)) {
		lines = append(lines, fmt.Sprintf("%d more: %s", unnamed[reason], reason))
	}
	return lines
}

// Write prints the report: what a person wants to know of a bake, and every document that is not simply ok.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "%s: %d documents, %d chunks, %d tokens, %d terms, mode %s\n", r.Settings.Name, len(r.Documents), r.Chunks, r.Tokens, r.Terms, r.Settings.Mode)
	for _, d := range r.Documents {
		if d.Verdict != OK {
			fmt.Fprintf(w, "  %-9s %s: %s\n", d.Verdict, d.Path, d.Reason)
		}
	}
	for _, line := range leftOutLines(r.LeftOut) {
		fmt.Fprintf(w, "  left out  %s\n", line)
	}
	for _, setting := range r.Unmatched {
		fmt.Fprintf(w, "  warning   base.yaml: %s matches no document\n", setting)
	}
	inside := r.leftOutInside()
	for _, reason := range slices.Sorted(maps.Keys(inside)) {
		fmt.Fprintf(w, "  not read  %s: %d\n", reason, inside[reason])
	}
	if r.Settings.Mode != "keyword" {
		fmt.Fprintf(w, "  embedder %s, %s: %d passages embedded, %d from the cache\n", r.Settings.Embedder, cmp.Or(r.Model, r.Settings.Model), r.Embedded, r.Chunks-r.Embedded)
	}
	if r.Artifact != "" {
		state := "written"
		if r.Unchanged {
			state = "was there already, nothing changed"
		}
		fmt.Fprintf(w, "  %s: %.1f KB, %s\n", r.Artifact, float64(r.Bytes)/1000, state)
	}
	fmt.Fprintf(w, "  took %.1f s", time.Since(r.start).Seconds())
	for _, s := range r.Stages {
		if s.Took > 100*time.Millisecond {
			fmt.Fprintf(w, ", %s %.1f", s.Name, s.Took.Seconds())
		}
	}
	fmt.Fprintln(w)
}
