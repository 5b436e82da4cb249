package knowledge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
)

// A fault is what went wrong with a request.
type fault struct {
	hintedError
	transient bool          // it may be over later
	refused   bool          // the request, and smaller ones may not be
	delayed   bool          // the service says how long to wait
	delay     time.Duration // if so
}

func (e *openAI) errorf(hint, format string, args ...any) *fault {
	return &fault{hintedError: hintedError{fmt.Sprintf("openai %q: ", e.options.Model) + fmt.Sprintf(format, args...), hint}}
}

// stopped is the error of a context that has ended.
func (e *openAI) stopped(ctx context.Context) error {
	if limit, ok := context.Cause(ctx).(slow); ok {
		f := e.errorf("see whether the service is up; passages may need a smaller batch or a longer timeout", "%s: %v", e.host, limit)
		f.transient = true
		return f
	}
	return fmt.Errorf("openai %q: %w", e.options.Model, ctx.Err())
}

// failed says what err means. Its text, and what the service wrote, may hold the key or the texts.
func (e *openAI) failed(err error, response *http.Response, texts []string) error {
	switch {
	case errors.Is(err, errRedirect):
		return e.errorf("give the address that it redirects to as base URL, if you trust it",
			"%s redirects, and neither key nor texts go elsewhere", e.host)
	case errors.Is(err, errTooLarge):
		return e.errorf("", "%s: an answer that is larger than its vectors can be", e.host)
	case response == nil:
		return e.unreachable(err)
	case response.StatusCode >= http.StatusBadRequest:
		return e.status(err, response, texts)
	}
	f := e.errorf("", "%s broke its answer off", e.host)
	f.transient = true
	return f
}

// unreachable is the error of a service that did not answer.
func (e *openAI) unreachable(err error) error {
	unknown, certificate := new(net.DNSError), new(tls.CertificateVerificationError)
	if errors.As(err, &certificate) {
		return e.errorf("", "the certificate of %s is not one that this machine trusts", e.address)
	}
	f := e.errorf("check the base URL and the network, and that the service is up", "%s can't be reached", e.address)
	if errors.As(err, &unknown) && unknown.IsNotFound {
		f = e.errorf("check the base URL", "%s can't be reached: there is no such host", e.address)
	}
	f.transient = true
	return f
}

// status is the error of a service that answered with an error.
func (e *openAI) status(err error, response *http.Response, texts []string) error {
	status, code := fmt.Sprintf("status %d", response.StatusCode), ""
	if said := (*openai.Error)(nil); errors.As(err, &said) {
		for _, word := range []string{said.Type, said.Code} {
			if shownCodes[word] {
				code = word
			}
		}
	}
	if code != "" {
		status += ", " + code
	}
	f := (*fault)(nil)
	switch s := response.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		if !e.hasKey {
			return e.errorf("name the variable that holds the key with credential_env", "%s wants a key, and none was given (%s)", e.host, status)
		}
		return e.errorf("check that the key is whole, not expired, and may use the model", "%s was refused by %s (%s)", keyName(e.options), e.host, status)
	case s == http.StatusNotFound && code == "model_not_found":
		return e.errorf("check the model's name", "%s has no such model (%s)", e.host, status)
	case s == http.StatusNotFound:
		return e.errorf("check the model's name, and the base URL, which often ends in /v1",
			"%s has no such model, or no embeddings at this address (%s)", e.host, status)
	case s == http.StatusTooManyRequests && code == "insufficient_quota":
		return e.errorf("raise the quota, or use another key", "%s: the quota of %s is used up (%s)", e.host, keyName(e.options), status)
	case s == http.StatusTooManyRequests:
		f = e.errorf("wait, raise the limit at the service, or allow more retries", "%s limits the rate of requests (%s)", e.host, status)
		f.transient = true
	case s == http.StatusRequestTimeout || s == http.StatusConflict || s >= http.StatusInternalServerError:
		f = e.errorf("", "%s failed (%s)", e.host, status)
		f.transient = true
	case s == http.StatusBadRequest || s == http.StatusRequestEntityTooLarge || s == http.StatusUnprocessableEntity:
		size := 0
		for _, t := range texts {
			size += len(t)
		}
		f = e.errorf("check the model's name, and whether it takes texts that long and the dimensions asked for",
			"%s refused a request with %d bytes in %d texts (%s)", e.host, size, len(texts), status)
		f.refused = true
	default:
		f = e.errorf("", "%s refused the request (%s)", e.host, status)
	}
	f.delay, f.delayed = retryAfter(response.Header, time.Now())
	return f
}

// incompatible is the error of an answer that is no list of vectors.
func (e *openAI) incompatible(response *http.Response) error {
	what := "something else"
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/html" {
		what = "an HTML page"
	}
	return e.errorf("check the base URL, which often ends in /v1",
		"%s does not speak OpenAI's embeddings interface: status %d with %s", e.host, response.StatusCode, what)
}

// shownCodes are the codes and types of errors that are shown. Others may be the key or a text that came back: a
// service is free to call its errors anything.
var shownCodes = map[string]bool{
	// OpenAI
	"billing_hard_limit_reached": true, "context_length_exceeded": true, "insufficient_quota": true,
	"invalid_api_key": true, "invalid_organization": true, "invalid_request_error": true, "model_not_found": true,
	"rate_limit_exceeded": true, "server_error": true, "unsupported_country_region_territory": true,
	// servers of open models, and proxies
	"authentication_error": true, "exceed_context_size_error": true, "internal_server_error": true,
	"not_found_error": true, "not_supported_error": true, "permission_error": true, "rate_limit_error": true,
	"unavailable_error": true, "BadRequestError": true, "InternalServerError": true, "NotFoundError": true,
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
