package knowledge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"example.com/larder/models/minilm"
)

const (
	firstPause    = 500 * time.Millisecond // doubled at each retry
	longestPause  = 8 * time.Second
	maxRetryAfter = time.Minute // a service that asks for more has failed

	maxHeaders   = 64 << 10 // bytes of an answer's headers
	maxFixed     = 64 << 10 // bytes of an answer besides its vectors, and of an error's
	bytesANumber = 48       // digits, sign, exponent, comma, and an indented line's blanks
)

// slow is the cause of contexts that end because the service took longer than this, and not the caller.
type slow time.Duration

func (d slow) Error() string { return "no answer within " + time.Duration(d).String() }

// withLimit is context.WithTimeout, for a time that is the service's.
func withLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, slow(d))
}

var (
	errRedirect = errors.New("redirected")
	errTooLarge = errors.New("too many bytes")
)

// request returns the vectors of texts, of length 1, and asks again if that may help.
func (e *openAI) request(ctx context.Context, texts []string, retries int) ([][]float32, error) {
	for attempt := 0; ; attempt++ {
		rows, err := e.ask(ctx, texts)
		if err == nil {
			return rows, nil
		}
		if ctx.Err() != nil {
			return nil, e.stopped(ctx)
		}
		f := (*fault)(nil)
		if !errors.As(err, &f) || !f.transient || attempt == retries {
			return nil, err
		}
		delay := f.delay
		if !f.delayed {
			delay = backOff(attempt)
		}
		if end, ok := ctx.Deadline(); delay > maxRetryAfter || ok && time.Until(end) <= delay {
			return nil, err // what happened says more than that the time is over
		}
		if e.pause(ctx, delay) != nil {
			return nil, e.stopped(ctx)
		}
	}
}

// backOff is the pause after a number of retries. A quarter of it is left to chance, lest all who failed together come
// back together.
func backOff(retries int) time.Duration {
	d := min(longestPause, firstPause<<min(retries, 10))
	return d - rand.N(d/4)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// ask asks once. An error is a [fault], or it is the context's.
func (e *openAI) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := withLimit(ctx, e.options.Timeout)
	defer cancel()
	params := openai.EmbeddingNewParams{Model: e.options.Model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}}
	if e.options.Dimensions > 0 {
		params.Dimensions = openai.Int(int64(e.options.Dimensions))
	}
	dimensions := e.dimensions
	if dimensions == 0 {
		dimensions = maxDimensions
	}
	// The library would take null for 0, and spend hundreds of bytes on two: the answer is parsed here.
	var body []byte
	var response *http.Response
	_, err := e.service.New(ctx, params, option.WithResponseBodyInto(&body), option.WithResponseInto(&response),
		option.WithMiddleware(discreet, bounded(maxFixed+int64(len(texts))*(int64(dimensions)*bytesANumber+1<<10))))
	switch {
	case ctx.Err() != nil:
		return nil, e.stopped(ctx)
	case err != nil:
		return nil, e.failed(err, response, texts)
	}
	return e.parse(response, body, len(texts))
}

// newHTTPClient returns a client like c that refuses redirects, which would carry the key and the texts elsewhere.
func newHTTPClient(c *http.Client) *http.Client {
	own := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: maxHeaders,
	}}
	if c != nil {
		own = &http.Client{Transport: c.Transport, Timeout: c.Timeout}
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	return own
}

// discreet sends nothing of this machine: the library tells its system, its processor and its version of Go.
func discreet(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Stainless-") })
	return next(r)
}

// bounded limits the bytes of an answer.
func bounded(limit int64) option.Middleware {
	return func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		response, err := next(r)
		if response == nil || response.Body == nil {
			return response, err
		}
		if response.StatusCode != http.StatusOK {
			limit = maxFixed
		}
		response.Body = &boundedBody{response.Body, limit}
		return response, err
	}
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// parse returns the vectors of an answer in the order of the texts, of length 1.
func (e *openAI) parse(response *http.Response, body []byte, texts int) ([][]float32, error) {
	items, err := parseItems(body, texts)
	switch {
	case errors.Is(err, errNumbers):
		return nil, e.errorf("", "%s: %v", e.host, err)
	case response.StatusCode != http.StatusOK || err != nil:
		return nil, e.incompatible(response)
	case len(items) > texts:
		return nil, e.errorf("", "%s: more than %d vectors for %d texts", e.host, texts, texts)
	case len(items) < texts:
		return nil, e.errorf("", "%s: %d vectors for %d texts", e.host, len(items), texts)
	}
	rows := make([][]float32, texts)
	for _, d := range items {
		switch {
		case d.Index == nil:
			return nil, e.errorf("", "%s: a vector without an index", e.host)
		case *d.Index < 0 || *d.Index >= texts:
			return nil, e.errorf("", "%s: a vector with the index %d, for %d texts", e.host, *d.Index, texts)
		case rows[*d.Index] != nil:
			return nil, e.errorf("", "%s: two vectors with the index %d", e.host, *d.Index)
		case e.options.Dimensions > 0 && len(d.Embedding) != e.dimensions:
			return nil, e.errorf("leave Dimensions out, or set it to what the model has: not every model can be asked for fewer",
				"%s: a vector of %d dimensions, not the %d that were asked for", e.host, len(d.Embedding), e.dimensions)
		case len(d.Embedding) == 0 || e.dimensions > 0 && len(d.Embedding) != e.dimensions:
			return nil, e.errorf("", "%s: a vector of %d dimensions, not %d", e.host, len(d.Embedding), e.dimensions)
		case !minilm.Normalize(d.Embedding):
			return nil, e.errorf("", "%s: a vector that is zero or not finite", e.host)
		}
		rows[*d.Index] = d.Embedding
	}
	return rows, nil
}

// An item is a vector with its place.
type item struct {
	Index     *int
	Embedding numbers
}

// parseItems returns the items of an answer, and one more than most if there are more: an item takes more memory than
// the two bytes that an empty one takes in the answer.
func parseItems(body []byte, most int) (items []item, err error) {
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	list := json.NewDecoder(bytes.NewReader(answer.Data))
	if begin, err := list.Token(); err != nil || begin != json.Delim('[') {
		return nil, errors.New("no list of vectors")
	}
	for list.More() && len(items) <= most {
		var i item
		if err := list.Decode(&i); err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	return items, nil
}

// numbers is a list of numbers and nothing else.
type numbers []float32

var errNumbers = errors.New("a vector that is not a list of numbers")

// UnmarshalJSON takes valid JSON, as package json gives it.
func (n *numbers) UnmarshalJSON(text []byte) error {
	text, opened := bytes.CutPrefix(text, []byte("["))
	text, closed := bytes.CutSuffix(text, []byte("]"))
	if !opened || !closed {
		return errNumbers
	}
	count := bytes.Count(text, []byte(",")) + 1
	if count > maxDimensions {
		return fmt.Errorf("%w that can be stored: %d, not up to %d", errNumbers, count, maxDimensions)
	}
	list := make([]float32, 0, count)
	for number := range bytes.SplitSeq(text, []byte(",")) {
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil {
			return fmt.Errorf("%w within range", errNumbers)
		}
		list = append(list, float32(x))
	}
	*n = list
	return nil
}
