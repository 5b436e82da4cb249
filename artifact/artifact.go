// Package artifact is larder's format: its types, the only writer and the only parser. SPEC.md beside this file
// defines every byte; rules are cited here by their numbers.
//
// [Encode] turns a [Content] into the files of an artifact and [Files.Save] puts them on a shelf. [Open] reads and
// checks them again, and [Verify] checks what opening leaves out.
package artifact

import (
	"errors"
	"fmt"
)

// Format is what this package writes and reads.
const Format = "larder/1-draft"

// Builder is raised when the same content gives other bytes.
const Builder = 1

var (
	// ErrCorrupt says that a file is damaged: its digest differs, or it breaks a rule of SPEC.md.
	ErrCorrupt = errors.New("artifact is corrupt")
	// ErrUnsupported says that an artifact needs another reader than this one.
	ErrUnsupported = errors.New("artifact is not supported by this reader")
)

// A RuleError is an error in one file of an artifact. It is [ErrCorrupt] or [ErrUnsupported] to errors.Is.
type RuleError struct {
	File   string // such as manifest.json
	Rule   string // its number in SPEC.md
	Reason string
	Kind   error // ErrCorrupt or ErrUnsupported
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: %s (rule %s): %v", e.File, e.Reason, e.Rule, e.Kind)
}

func (e *RuleError) Unwrap() error { return e.Kind }

func corrupt(file, rule, format string, args ...any) error {
	return &RuleError{file, rule, fmt.Sprintf(format, args...), ErrCorrupt}
}

func unsupported(file, rule, format string, args ...any) error {
	return &RuleError{file, rule, fmt.Sprintf(format, args...), ErrUnsupported}
}

// A Mode says which searches a base supports.
type Mode string

const (
	Meaning Mode = "meaning" // by vectors
	Keyword Mode = "keyword" // by BM25
	Hybrid  Mode = "hybrid"  // both
)

// A Verdict says what became of a document.
type Verdict uint32

const (
	OK        Verdict = iota // text was read
	Blank                    // there is no text in it
	Scanned                  // images and no text layer
	Garbled                  // its text is no text of any language
	Encrypted                // it needs a password
	Failed                   // it could not be read
	Draft                    // left out: its front matter says draft
	Skipped                  // could not be read, and the base's skip list names it
	Partial                  // some of its pages are left out, the others were read
	verdicts  = iota
)

var verdictNames = [verdicts]string{"ok", "blank", "scanned", "garbled", "encrypted", "failed", "draft", "skipped", "partial"}

// HasText reports whether documents of that verdict have text and chunks.
func (v Verdict) HasText() bool { return v == OK || v == Partial }

func (v Verdict) String() string {
	if v < verdicts {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict %d", uint32(v))
}

// ParseVerdict returns the verdict of that name.
func ParseVerdict(name string) (Verdict, error) {
	for i, n := range verdictNames {
		if n == name {
			return Verdict(i), nil
		}
	}
	return 0, fmt.Errorf("unknown verdict %q", name)
}

// An ID names a document or a chunk. It is stable while the content is.
type ID [16]byte

func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }
