package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
)

// DefaultBudget is the number of tokens that an answer may have by default.
const DefaultBudget = 2000

// budgetKey is the context's key of the number of bytes of text that an answer should hold.
type budgetKey struct{}

// budgetOf returns how many bytes of text an answer should hold: what the context says, or else fallback.
func budgetOf(ctx context.Context, fallback int) int {
	if n, ok := ctx.Value(budgetKey{}).(int); ok {
		return n
	}
	return fallback
}

// ErrBudget says that an answer is longer than allowed, however much is left out of it.
var ErrBudget = errors.New("the answer is too long")

// cutter is an answer that says whether something was left out of it, in a shape that has no place for that.
type cutter interface{ wasCut() bool }

// fitter is an answer that is found once, which may cost something, and cut to so many bytes of text afterwards.
type fitter interface{ within(bytes int) cutter }

// CallWithin runs the tool and returns its answer in JSON, of at most about that many tokens by [Tokens]; 0 for any
// number. cut says that something was left out for it in an answer whose shape can't say so itself.
func (t Tool) CallWithin(ctx context.Context, arguments json.RawMessage, tokens int) (answer json.RawMessage, cut bool, err error) {
	const tries = 12
	room := 4 * tokens // bytes: what English prose has
	var found any
	for range tries {
		if _, once := found.(fitter); !once {
			limited := ctx
			if tokens > 0 {
				limited = context.WithValue(ctx, budgetKey{}, room)
			}
			if found, err = t.Call(limited, arguments); err != nil {
				return nil, false, err
			}
		}
		v := found
		if f, ok := found.(fitter); ok && tokens > 0 {
			v = f.within(room)
		}
		if answer, err = compact(v); err != nil {
			return nil, false, err
		}
		c, ok := v.(cutter)
		cut = ok && c.wasCut()
		n := Tokens(string(answer))
		if tokens <= 0 || n <= tokens {
			return answer, cut, nil
		}
		// Less than what is too much by the same ratio, since what frames the text stays.
		room = max(1, min(room*8/10, int(float64(min(room, len(answer)))*0.85*float64(tokens)/float64(n))))
	}
	return nil, false, fmt.Errorf("%w: more than %d tokens; ask for less", ErrBudget, tokens)
}

// compact is JSON without the escapes that only HTML needs, which cost tokens.
func compact(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Tokens estimates, rather high, how many tokens a language model reads in a text: one for every three letters that
// follow each other, begun or whole, two digits, other sign, and letter beyond ASCII; two for what lies beyond the basic
// multilingual plane. Blanks count nothing. Tokenizers differ; for prose and code the estimate is not below WordPiece's
// count, and at most about twice as high for English. It is below it for letters at random, such as digests, and for
// Korean, of which WordPiece takes syllables apart.
func Tokens(text string) int {
	n, run := 0, 0
	last := 0 // kind of the run: letters, digits
	const letters, digits = 3, 2
	flush := func() {
		if last > 0 {
			n += (run + last - 1) / last
		}
		run, last = 0, 0
	}
	for _, r := range text {
		kind := 0
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			kind = letters
		case '0' <= r && r <= '9':
			kind = digits
		}
		if kind != last {
			flush()
			last = kind
		}
		switch {
		case kind > 0:
			run++
		case unicode.IsSpace(r):
		case r > 0xffff:
			n += 2
		default:
			n++
		}
	}
	flush()
	return n
}
