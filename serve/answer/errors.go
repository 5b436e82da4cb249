package answer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

// An Error says why there is no answer. Its texts hold neither the key nor the question, nor a source, nor what the
// service wrote.
type Error struct {
	Message   string // one line
	Remedy    string // what can be done; "" if nothing is known
	Temporary bool   // the same question may be answered later

	begun   bool // words came before it
	delayed bool // the service says how long to wait
	delay   time.Duration
}

func (e *Error) Error() string { return e.Message }

// Hint returns the remedy.
func (e *Error) Hint() string { return e.Remedy }

func (w *Writer) errorf(remedy, format string, args ...any) *Error {
	return &Error{Message: "answer: " + fmt.Sprintf(format, args...), Remedy: remedy}
}

// stopped is the error of a context that has ended.
func (w *Writer) stopped(ctx context.Context) error {
	if limit, ok := context.Cause(ctx).(slow); ok {
		e := w.errorf("see whether the service is up, or allow more time", "%s: %v", w.host, limit)
		e.Temporary = true
		return e
	}
	return fmt.Errorf("answer: %w", ctx.Err())
}

// failed says what err means. Its text, and what the service wrote, may hold the key, the question and the sources.
func (w *Writer) failed(err error, response *http.Response, started, begun bool) error {
	said := (*anthropic.Error)(nil)
	switch {
	case errors.Is(err, errRedirect):
		return w.errorf("give the address that it redirects to as base URL, if you trust it",
			"%s redirects, and neither key nor sources go elsewhere", w.host)
	case errors.Is(err, errTooLarge):
		return w.errorf("check the base URL", "%s: a response that is larger than its tokens can be", w.host)
	case response == nil:
		return w.unreachable(err)
	case errors.As(err, &said):
		e := w.status(statusOf(said), response.Header)
		if e.begun = begun; begun {
			e.Message += ", in the middle of its answer"
		}
		return e
	case response.StatusCode >= http.StatusBadRequest: // with a body that could not be read
		return w.status(response.StatusCode, response.Header)
	case !started && (errors.Is(err, errForeign) || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")):
		return w.errorf("check the base URL, which has no /v1 at its end", "%s does not speak Anthropic's Messages API", w.host)
	}
	e := w.errorf("ask again", "%s broke its answer off", w.host)
	e.Temporary, e.begun = true, begun
	return e
}

// unreachable is the error of a service that did not answer.
func (w *Writer) unreachable(err error) error {
	unknown, certificate := new(net.DNSError), new(tls.CertificateVerificationError)
	if errors.As(err, &certificate) {
		return w.errorf("check the base URL, or have this machine trust who signed it",
			"the certificate of %s is not one that this machine trusts", w.host)
	}
	e := w.errorf("check the network, and the base URL if one is set", "%s can't be reached", w.host)
	if errors.As(err, &unknown) && unknown.IsNotFound {
		e.Message += ": there is no such host"
	}
	e.Temporary = true
	return e
}

// statusOf is the status of an error, that which its type stands for where the error came in a stream.
func statusOf(e *anthropic.Error) int {
	if e.StatusCode >= http.StatusBadRequest {
		return e.StatusCode
	}
	switch e.Type() {
	case anthropic.ErrorTypeInvalidRequestError:
		return http.StatusBadRequest
	case anthropic.ErrorTypeAuthenticationError:
		return http.StatusUnauthorized
	case anthropic.ErrorTypeBillingError:
		return http.StatusPaymentRequired
	case anthropic.ErrorTypePermissionError:
		return http.StatusForbidden
	case anthropic.ErrorTypeNotFoundError:
		return http.StatusNotFound
	case anthropic.ErrorTypeRateLimitError:
		return http.StatusTooManyRequests
	case anthropic.ErrorTypeTimeoutError:
		return http.StatusGatewayTimeout
	case anthropic.ErrorTypeOverloadedError:
		return statusOverloaded
	}
	return http.StatusInternalServerError
}

const statusOverloaded = 529

// status is the error of a service that answered with one.
func (w *Writer) status(status int, header http.Header) *Error {
	var e *Error
	switch {
	case status == http.StatusUnauthorized:
		return w.errorf("check that "+KeyEnv+" holds a whole key that is still valid", "the key was refused by %s (status %d)", w.host, status)
	case status == http.StatusPaymentRequired:
		return w.errorf("check the account's billing", "%s wants to be paid first (status %d)", w.host, status)
	case status == http.StatusForbidden:
		return w.errorf("check what the key in "+KeyEnv+" may use, and from where", "the key may not use the model %q, or not from here (status %d)", w.options.Model, status)
	case status == http.StatusNotFound:
		return w.errorf("check the model's name, and the base URL if one is set", "%s has no model %q (status %d)", w.host, w.options.Model, status)
	case status == http.StatusRequestEntityTooLarge:
		return w.errorf("send fewer sources", "%s takes no request that large (status %d)", w.host, status)
	case status == http.StatusTooManyRequests:
		e = w.errorf("wait, or raise the account's limit", "%s limits the rate of requests (status %d)", w.host, status)
	case status == statusOverloaded || status == http.StatusServiceUnavailable:
		e = w.errorf("ask again later", "%s is overloaded (status %d)", w.host, status)
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status >= http.StatusInternalServerError:
		e = w.errorf("ask again later", "%s failed (status %d)", w.host, status)
	default:
		return w.errorf("check the model's name, how many tokens it can write, and whether the account has credit",
			"%s refused the request (status %d)", w.host, status)
	}
	e.Temporary = true
	e.delay, e.delayed = retryAfter(header, time.Now())
	return e
}

// retryAfter reads how long a service asks to wait, in seconds or until a date by RFC 9110, section 10.2.3.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	const most = 24 * time.Hour // of which all is too long
	for _, header := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		value := strings.TrimSpace(h.Get(header.name))
		if n, err := strconv.ParseFloat(value, 64); !math.IsNaN(n) && (err == nil || errors.Is(err, strconv.ErrRange)) {
			return time.Duration(min(max(n, 0)*float64(header.unit), float64(most))), true
		}
		if at, err := http.ParseTime(value); err == nil {
			return min(max(at.Sub(now), 0), most), true
		}
	}
	return 0, false
}
