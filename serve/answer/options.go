package answer

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// KeyEnv is the environment variable that holds the key. The caller reads it; errors name it.
const KeyEnv = "ANTHROPIC_API_KEY"

// Defaults of Options.
const (
	DefaultModel     = "claude-haiku-4-5-20251001"
	DefaultMaxTokens = 800
	DefaultSources   = 5
	DefaultTimeout   = 60 * time.Second
	DefaultRetries   = 2
)

const (
	maxModelName = 200 // bytes
	maxMaxTokens = 64_000
	maxSources   = 50
	maxTemplate  = 32 << 10 // bytes
	maxTimeout   = 10 * time.Minute
	maxRetries   = 10
)

// Options say who answers, and how. Nothing else does: of the SDK's environment variables none is read.
type Options struct {
	Key       string // required, and sent to the service alone
	BaseURL   string // such as https://gateway.example.com, without /v1; "" for Anthropic's own
	Model     string // "" for DefaultModel
	MaxTokens int    // of the answer; 0 for DefaultMaxTokens
	Sources   int    // how many are sent at most; 0 for DefaultSources

	// System guards against what sources and questions tell the model to do; "" for DefaultSystem.
	System string
	// Prompt is what the model is asked, "" for DefaultPrompt. It holds {query} and {sources} once each; other braces
	// mean nothing.
	Prompt string

	Timeout time.Duration // of the whole answer, with retries; 0 for DefaultTimeout
	Retries int           // of what may succeed later, before the first word came; 0 for DefaultRetries, -1 for none
}

// problems says what is wrong, and what is allowed.
func (o Options) problems() (list []string) {
	wrong := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch key := strings.TrimSpace(o.Key); {
	case key == "":
		wrong("Key is empty (set %s in the environment or in .env)", KeyEnv)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		wrong("Key holds characters that no key has (set %s to the key alone)", KeyEnv)
	}
	if o.BaseURL != "" && baseURL(o.BaseURL) == nil {
		wrong("BaseURL is not an address (allowed: http or https, such as https://host, without user, password, query or fragment)")
	}
	if o.Model != "" && !isModel(o.Model) {
		wrong("Model %.40q is not a model's name (allowed: 1 to %d printable bytes without blanks, such as %s)", o.Model, maxModelName, DefaultModel)
	}
	between := func(name string, v, least, most int) {
		if v < least || v > most {
			wrong("%s %d is out of range (allowed: %d to %d)", name, v, least, most)
		}
	}
	between("MaxTokens", o.MaxTokens, 0, maxMaxTokens)
	between("Sources", o.Sources, 0, maxSources)
	between("Retries", o.Retries, -1, maxRetries)
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		wrong("Timeout %v is out of range (allowed: 0s to %v)", o.Timeout, maxTimeout)
	}
	for _, t := range []struct{ name, text string }{{"System", o.System}, {"Prompt", o.Prompt}} {
		if len(t.text) > maxTemplate || !utf8.ValidString(t.text) || t.text != "" && strings.TrimSpace(t.text) == "" {
			wrong("%s of %d bytes is no text (allowed: up to %d bytes of UTF-8)", t.name, len(t.text), maxTemplate)
		}
	}
	if o.Prompt != "" {
		if _, ok := parseTemplate(o.Prompt); !ok {
			wrong("Prompt must hold %s once and %s once", queryPlace, sourcesPlace)
		}
	}
	return list
}

// isModel tells whether s can be a model's name.
func isModel(s string) bool {
	return s != "" && len(s) <= maxModelName && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
}

// baseURL returns the address of a service, nil if s is none.
func baseURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#") {
		return nil
	}
	return u
}

// New returns a writer, or an error that lists every option that is wrong.
func New(o Options) (*Writer, error) {
	if problems := o.problems(); problems != nil {
		return nil, errors.New("answer: " + strings.Join(problems, "; "))
	}
	o.Model = cmp.Or(o.Model, DefaultModel)
	o.MaxTokens = cmp.Or(o.MaxTokens, DefaultMaxTokens)
	o.Sources = cmp.Or(o.Sources, DefaultSources)
	o.System = cmp.Or(o.System, DefaultSystem)
	o.Prompt = cmp.Or(o.Prompt, DefaultPrompt)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Retries = max(0, cmp.Or(o.Retries, DefaultRetries))
	w := &Writer{host: "api.anthropic.com", client: newHTTPClient(), pause: pause}
	// Not anthropic.NewClient, which takes credentials, the address, headers and more from the environment.
	settings := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithAPIKey(strings.TrimSpace(o.Key)), option.WithHTTPClient(w.client),
		option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if o.BaseURL != "" {
		w.host = baseURL(o.BaseURL).Host
		settings = append(settings, option.WithBaseURL(o.BaseURL))
	}
	w.prompt, _ = parseTemplate(o.Prompt)
	w.service = anthropic.NewMessageService(settings...)
	o.Key = ""
	w.options = o
	return w, nil
}
