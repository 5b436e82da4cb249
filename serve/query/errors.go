package query

import "fmt"

// A Kind says what is wrong with a request.
type Kind int

// The kinds of an [Error].
const (
	Invalid           Kind = iota + 1 // a field of the request is wrong
	NoConnection                      // none is ready
	UnknownConnection                 // there is none by that name, or it is not the caller's to see
	UnknownSpace
	NoDocument
	Unavailable // something that was asked for can't be searched now
)

// An Error is one that the caller is told, in words that quote nothing but names.
type Error struct {
	Kind    Kind
	Message string
	Field   string   // of Invalid: the field of the request, such as filters.date_range.from
	Allowed []string // what there is to choose from, if it is a choice
	Err     error    // what is behind it; not for callers
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what is behind the error.
func (e *Error) Unwrap() error { return e.Err }

func invalid(field string, allowed []string, format string, args ...any) error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(format, args...), Field: field, Allowed: allowed}
}

// What the contract has the caller told, to the letter.
const (
	noConnection      = "No Knowledge connection configured. Run `knowledge-admin action=connect` first."
	unknownConnection = "Connection `%s` does not exist. Run `knowledge-admin action=health`."
)
