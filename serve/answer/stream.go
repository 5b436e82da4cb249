package answer

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

const (
	firstPause    = 500 * time.Millisecond // doubled at each retry
	longestPause  = 8 * time.Second
	maxRetryAfter = time.Minute // a service that asks for more has failed

	maxHeaders     = 64 << 10 // bytes of a response's headers
	maxFixed       = 64 << 10 // bytes of a response besides its tokens, and of an error's
	maxBytesAToken = 2 << 10  // with its event
)

// Why a model stops where the answer counts.
const (
	stopEnd       = string(anthropic.StopReasonEndTurn)
	stopSequence  = string(anthropic.StopReasonStopSequence)
	stopMaxTokens = string(anthropic.StopReasonMaxTokens)
	stopWindow    = string(anthropic.StopReasonModelContextWindowExceeded)
)

// slow is the cause of contexts that end because the service took longer than this, and not the caller.
type slow time.Duration

func (d slow) Error() string { return "no answer within " + time.Duration(d).String() }

// A refusedDelta is an error of the caller's function.
type refusedDelta struct{ error }

var (
	errRedirect = errors.New("redirected")
	errTooLarge = errors.New("too many bytes")
	errBroken   = errors.New("the stream ended early")
	errForeign  = errors.New("no stream of events")
)

// request asks, and asks again if that may help and no word has come.
func (w *Writer) request(ctx context.Context, prompt string, a *Answer, m *marker, stream func(string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.Timeout, slow(w.options.Timeout))
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := w.ask(ctx, prompt, a, m, stream)
		f := (*Error)(nil)
		switch {
		case err == nil:
			return nil
		case errors.As(err, new(refusedDelta)):
			return err.(refusedDelta).error
		case ctx.Err() != nil:
			return w.stopped(ctx)
		case !errors.As(err, &f) || !f.Temporary || f.begun || attempt == w.options.Retries:
			return err
		}
		delay := f.delay
		if !f.delayed {
			delay = backOff(attempt)
		}
		if end, _ := ctx.Deadline(); delay > maxRetryAfter || time.Until(end) <= delay {
			return err // what happened says more than that the time is over
		}
		if w.pause(ctx, delay) != nil {
			return w.stopped(ctx)
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

// ask asks once. An error is an [*Error] or a refusedDelta.
func (w *Writer) ask(ctx context.Context, prompt string, a *Answer, m *marker, stream func(string) error) error {
	var response *http.Response
	events := w.service.NewStreaming(ctx, anthropic.MessageNewParams{
		Model:     anthropic.Model(w.options.Model),
		MaxTokens: int64(w.options.MaxTokens),
		System:    []anthropic.TextBlockParam{{Text: w.options.System}},
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}, option.WithResponseInto(&response), option.WithMiddleware(discreet, bounded(maxFixed+int64(w.options.MaxTokens)*maxBytesAToken)))
	defer events.Close()
	show := func(delta string) error {
		if delta == "" || stream == nil {
			return nil
		}
		if err := stream(delta); err != nil {
			return refusedDelta{err}
		}
		return nil
	}
	a.Model, a.Stopped, a.InputTokens, a.OutputTokens = "", "", 0, 0
	started, begun, ended := false, false, false
	for !ended && events.Next() {
		switch e := events.Current(); e.Type {
		case "message_start":
			started = true
			a.Model, a.InputTokens = modelName(e.Message.Model, w.options.Model), int(e.Message.Usage.InputTokens)
		case "content_block_start":
			if e.ContentBlock.Type == "text" && e.ContentBlock.Text != "" {
				begun = true
				if err := show(m.write(visible(e.ContentBlock.Text))); err != nil {
					return err
				}
			}
		case "content_block_delta":
			if e.Delta.Type == "text_delta" && e.Delta.Text != "" {
				begun = true
				if err := show(m.write(visible(e.Delta.Text))); err != nil {
					return err
				}
			}
		case "message_delta":
			a.Stopped, a.OutputTokens = stopReason(string(e.Delta.StopReason)), int(e.Usage.OutputTokens)
			if n := int(e.Usage.InputTokens); n > 0 {
				a.InputTokens = n
			}
		case "message_stop":
			ended = true
		}
	}
	err := events.Err()
	switch {
	case err == nil && response != nil && !started:
		err = errForeign
	case err == nil && !ended:
		err = errBroken
	}
	if err != nil {
		return w.failed(err, response, started, begun)
	}
	if err := w.complete(a, m); err != nil {
		return err
	}
	return show(m.end())
}

// complete tells whether a model that stopped has answered.
func (w *Writer) complete(a *Answer, m *marker) error {
	switch a.Stopped {
	case stopEnd, stopSequence, stopMaxTokens, stopWindow:
		if strings.TrimSpace(m.text.String()+m.held) == "" {
			return w.errorf("ask again, or allow more tokens", "the model gave no text (it stopped for %s)", a.Stopped)
		}
		return nil
	case string(anthropic.StopReasonRefusal):
		return w.errorf("ask something else, or look at the sources", "the model refused to answer")
	}
	return w.errorf("ask again", "the model stopped before it had answered (%s)", a.Stopped)
}

var reasonName = regexp.MustCompile(`^[a-z_]{1,40}$`)

// stopReason and modelName return what a service says, if it can be one.
func stopReason(said string) string {
	if !reasonName.MatchString(said) {
		return "for no reason that is known"
	}
	return said
}

func modelName(said, asked string) string {
	if !isModel(said) {
		return asked
	}
	return said
}

// newHTTPClient returns a client that refuses redirects, which would carry the key and the sources elsewhere.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: maxHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
}

// discreet sends nothing of this machine: the library tells its system, its processor and its version of Go.
func discreet(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Stainless-") })
	return next(r)
}

// bounded limits the bytes of a response.
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
