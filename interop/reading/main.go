// Reading measures how well larder reads documents, against other readers' results.
//
//	go run ./interop/reading MEASURE [ARGUMENTS]
//
// The tables under evals/ are its output.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/larder/pipeline"
)

// measures are what can be measured: each writes a table for the files that its arguments name.
var measures = map[string]func(w io.Writer, args []string) error{
	"chunks":        measureChunks,
	"garbled":       measureGarbled,
	"markdown":      measureMarkdown,
	"pdf":           measurePDF,
	"pdf-bench":     benchPDF,
	"pdf-structure": measurePDFStructure,
	"text":          measureText,
}

func main() {
	pipeline.RunChild()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		if measure, ok := measures[args[0]]; ok {
			return measure(os.Stdout, args[1:])
		}
	}
	return fmt.Errorf("name what to measure: %s", strings.Join(slices.Sorted(maps.Keys(measures)), ", "))
}
