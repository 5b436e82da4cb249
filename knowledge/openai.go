package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"example.com/larder/pipeline"
)

// OpenAIOptions say which service that speaks OpenAI's embeddings interface embeds, and how. A service may cut a text
// that is longer than its model takes and not say so, which can't be seen from here: keep chunk_size, with room for
// context and prefix, below what the model takes.
type OpenAIOptions struct {
	Model   string // such as text-embedding-3-small
	BaseURL string // such as http://127.0.0.1:8080/v1; "" for the variable OPENAI_BASE_URL, or else OpenAI's own

	// Key is sent to the service and is seen nowhere else. Leave it empty, and name the variable that holds it with
	// [CredentialEnv]; local services need none.
	Key    string
	KeyEnv string // the variable's name, for errors

	Dimensions    int    // asked of the service; 0 for the model's own
	QueryPrefix   string // put before each query
	PassagePrefix string // put before each passage

	Batch   int           // passages a request, at most; 0 for 64. Long passages make a request of fewer
	Retries int           // of a request that may succeed later; 0 for 4, -1 for none. A query has one at most
	Timeout time.Duration // of a request; 0 for 30 seconds. A query has 5 seconds at most, with its retry

	HTTPClient *http.Client // nil for one that honours HTTPS_PROXY. Redirects are refused in any case
}

const (
	defaultBaseURL = "https://api.openai.com/v1"
	baseURLEnv     = "OPENAI_BASE_URL"

	defaultBatch   = 64
	defaultRetries = 4
	defaultTimeout = 30 * time.Second
	queryTimeout   = 5 * time.Second
	queryRetries   = 1
	leastQuery     = 200 // bytes of a query, below which no model can find it too long

	maxModelName = 200 // bytes
	maxPrefix    = 256 // bytes
	maxBatch     = 2048
	maxRequest   = 256 << 10 // bytes of texts; OpenAI takes 300,000 tokens, and no token is shorter than a byte
	maxRetries   = 10
	maxTimeout   = 10 * time.Minute
)

// problems says what is wrong, and what is allowed.
func (o OpenAIOptions) problems() (list []string) {
	wrong := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if strings.TrimSpace(o.Model) == "" || len(o.Model) > maxModelName || !printable(o.Model) {
		wrong("Model %.40q is not a model's name (allowed: one line of 1 to %d bytes, such as text-embedding-3-small)", o.Model, maxModelName)
	}
	if o.BaseURL != "" && pipeline.ServiceURL(o.BaseURL) == nil {
		wrong("BaseURL is not an address (allowed: http or https, such as https://host/v1, without user, password, query or fragment)")
	}
	between := func(name string, v, least, most int) {
		if v < least || v > most {
			wrong("%s %d is out of range (allowed: %d to %d)", name, v, least, most)
		}
	}
	between("Dimensions", o.Dimensions, 0, maxDimensions)
	between("Batch", o.Batch, 0, maxBatch)
	between("Retries", o.Retries, -1, maxRetries)
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		wrong("Timeout %v is out of range (allowed: 0s to %v)", o.Timeout, maxTimeout)
	}
	prefix := func(name, v string) {
		// Models that follow instructions have prefixes of two lines.
		if len(v) > maxPrefix || !printable(strings.NewReplacer("\n", "", "\t", "").Replace(v)) {
			wrong("%s %.40q is not a prefix (allowed: up to %d bytes of printable text)", name, v, maxPrefix)
		}
	}
	prefix("QueryPrefix", o.QueryPrefix)
	prefix("PassagePrefix", o.PassagePrefix)
	if n := len(o.identity(maxDimensions)); list == nil && n > maxIdentity {
		wrong("Model, QueryPrefix and PassagePrefix make an identity of %d bytes (allowed: %d)", n, maxIdentity)
	}
	return list
}

// printable tells whether s is valid UTF-8 without characters that are not seen or let a name show as another.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// identity names all that decides a vector besides the text, of a model with so many dimensions. Where the service runs
// is not part of it: the same model may be served elsewhere.
func (o OpenAIOptions) identity(dimensions int) string {
	return fmt.Sprintf("openai %s dimensions %d query %s passage %s",
		strconv.Quote(o.Model), dimensions, strconv.Quote(o.QueryPrefix), strconv.Quote(o.PassagePrefix))
}

// openAI embeds with a service.
type openAI struct {
	options    OpenAIOptions // with defaults in place of zeros, and without the key
	dimensions int           // 0 until they are learned
	host       string        // of the service, as its base URL has it
	address    string        // host:port
	hasKey     bool
	service    openai.EmbeddingService
	client     *http.Client
	pause      func(context.Context, time.Duration) error // between retries
}

// NewOpenAI returns an embedder that asks a service. Without Dimensions one request learns them. Errors name the model
// and the service, never the key, nor a text that was to be embedded, nor what the service wrote, since services repeat
// what they were sent; where there is a remedy, they have a method Hint. Of OpenAI's variables only OPENAI_BASE_URL is
// read. The embedder is safe for concurrent use.
func NewOpenAI(ctx context.Context, o OpenAIOptions) (Embedder, error) {
	e, err := newOpenAI(o)
	if err != nil {
		return nil, err
	}
	if err := e.learnDimensions(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func newOpenAI(o OpenAIOptions) (*openAI, error) {
	if problems := o.problems(); problems != nil {
		return nil, errors.New("openai: " + strings.Join(problems, "; "))
	}
	base := pipeline.ServiceURL(cmp.Or(o.BaseURL, os.Getenv(baseURLEnv), defaultBaseURL))
	if base == nil {
		return nil, hintedError{
			fmt.Sprintf("openai %q: the variable %s is not an address", o.Model, baseURLEnv),
			"set it to one such as https://host/v1, http or https, without user, password, query or fragment",
		}
	}
	key := strings.TrimSpace(o.Key) // files and shells add line ends
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, hintedError{
			fmt.Sprintf("openai %q: %s holds characters that no key has", o.Model, keyName(o)),
			"set it to the key alone: ASCII letters, digits and signs without blanks",
		}
	}
	o.Batch = cmp.Or(o.Batch, defaultBatch)
	o.Retries = max(0, cmp.Or(o.Retries, defaultRetries))
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Key = ""
	port := cmp.Or(base.Port(), map[string]string{"http": "80", "https": "443"}[base.Scheme])
	e := &openAI{
		options: o, dimensions: o.Dimensions, host: base.Host, address: net.JoinHostPort(base.Hostname(), port),
		hasKey: key != "", client: newHTTPClient(o.HTTPClient), pause: pause,
	}
	// Not openai.NewClient, which takes keys, headers and more from the environment.
	settings := []option.RequestOption{option.WithBaseURL(base.String()), option.WithHTTPClient(e.client), option.WithMaxRetries(0)}
	if key != "" {
		settings = append(settings, option.WithAPIKey(key))
	}
	e.service = openai.NewEmbeddingService(settings...)
	return e, nil
}

// keyName is what errors call the key.
func keyName(o OpenAIOptions) string {
	if o.KeyEnv == "" {
		return "the key"
	}
	return "the key in " + o.KeyEnv
}

func (e *openAI) learnDimensions(ctx context.Context) error {
	if e.dimensions > 0 {
		return nil
	}
	rows, err := e.request(ctx, []string{e.options.PassagePrefix + "dimensions"}, e.options.Retries)
	if err != nil {
		return err
	}
	e.dimensions = len(rows[0])
	return nil
}

func (e *openAI) Identity() string { return e.options.identity(e.dimensions) }
func (e *openAI) Model() string    { return e.options.Model }
func (e *openAI) Dimensions() int  { return e.dimensions }

// Versions is empty: what runs behind an address can't be known.
func (e *openAI) Versions() map[string]string { return map[string]string{} }

func (e *openAI) Close() error {
	if e.options.HTTPClient == nil {
		e.client.CloseIdleConnections()
	}
	return nil
}

// Embed returns vectors of length 1.
func (e *openAI) Embed(ctx context.Context, passages []string) ([][]float32, error) {
	texts := make([]string, len(passages))
	for i, p := range passages {
		if strings.TrimSpace(p) == "" {
			return nil, e.errorf("", "passage %d of %d is empty", i+1, len(passages))
		}
		texts[i] = e.options.PassagePrefix + p
	}
	rows := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := batchSize(texts, e.options.Batch)
		vectors, err := e.embedBatch(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		rows, texts = append(rows, vectors...), texts[n:]
	}
	return rows, nil
}

// batchSize returns how many of the texts go into the next request: most at most, and no more bytes than a request
// takes, unless a single text has more.
func batchSize(texts []string, most int) int {
	n, size := 1, len(texts[0])
	for n < min(most, len(texts)) && size+len(texts[n]) <= maxRequest {
		size += len(texts[n])
		n++
	}
	return n
}

// embedBatch asks for all vectors at once, and for those of each half if that was too much: services limit the texts of
// a request, and their tokens.
func (e *openAI) embedBatch(ctx context.Context, texts []string) ([][]float32, error) {
	rows, err := e.request(ctx, texts, e.options.Retries)
	if f := (*fault)(nil); len(texts) == 1 || !errors.As(err, &f) || !f.refused {
		return rows, err
	}
	half := len(texts) / 2
	first, err := e.embedBatch(ctx, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := e.embedBatch(ctx, texts[half:])
	if err != nil {
		return nil, err
	}
	return append(first, second...), nil
}

// EmbedQuery returns a vector of length 1. Someone waits for it, so that it is given up sooner than passages are.
func (e *openAI) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	if strings.TrimSpace(query) == "" {
		return nil, e.errorf("", "the query is empty")
	}
	ctx, cancel := withLimit(ctx, min(queryTimeout, e.options.Timeout))
	defer cancel()
	for {
		rows, err := e.request(ctx, []string{e.options.QueryPrefix + query}, min(queryRetries, e.options.Retries))
		if err == nil {
			return rows[0], nil
		}
		// A query may be longer than the model takes. Its beginning is what is asked for then.
		if f := (*fault)(nil); len(query) < 2*leastQuery || !errors.As(err, &f) || !f.refused {
			return nil, err
		}
		query = strings.ToValidUTF8(query[:len(query)/2], "")
	}
}

// String and GoString show everything but the key.
func (o OpenAIOptions) String() string {
	key := "not set"
	if o.Key != "" {
		key = "set"
	}
	return fmt.Sprintf("OpenAIOptions{Model: %q, Dimensions: %d, Batch: %d, Retries: %d, Timeout: %v, Key: %s}", o.Model, o.Dimensions, o.Batch, o.Retries, o.Timeout, key)
}

// GoString is String.
func (o OpenAIOptions) GoString() string { return o.String() }
