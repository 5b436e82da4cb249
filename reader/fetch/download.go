package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A pace bounds how long requests take, and how often they are sent.
type pace struct {
	stall    time.Duration // the longest time in which nothing comes
	slowest  int64         // bytes a second that a whole file must come with, beside the stalls
	attempts int           // requests for a file that may fail, the last one included
	pause    time.Duration // after the first failed request; then twice that, and so on
}

var defaultPace = pace{stall: 30 * time.Second, slowest: 64 << 10, attempts: 3, pause: 250 * time.Millisecond}

// progress is how many bytes make up for one failed request.
const progress = 1 << 20

// client is what sends requests if the user sets no other.
func client() http.Client {
	return http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        10 * time.Second,
		ForceAttemptHTTP2:      true,
	}}
}

// A file is one to be had from a host.
type file struct {
	url  *url.URL
	most int64  // bytes; what it has exactly if size is set
	size bool   // the size is known
	sum  string // its SHA-256 as 64 digits; "" if it isn't known
}

// A fileError says what is the matter with a file at a URL.
type fileError struct {
	url string
	err error
}

func (e *fileError) Error() string {
	return e.url + ": " + strings.Join(strings.Fields(strings.ToValidUTF8(e.err.Error(), "?")), " ")
}

func (e *fileError) Unwrap() error { return e.err }

// A passing error may not come again: the connection broke, or the host says that it has troubles.
type passing struct{ error }

func (e *passing) Unwrap() error { return e.error }

func isPassing(err error) bool {
	p := new(passing)
	return errors.As(err, &p)
}

// errAbsent is what the host answered for a file that it doesn't have, or doesn't give.
var errAbsent = errors.New("the host doesn't have it, or doesn't give it to everybody")

// A wrongContent error says that a file is not the one that is meant.
type wrongContent struct{ reason, looks string }

func (e *wrongContent) Error() string {
	return fmt.Sprintf("%s; it looks like %s", e.reason, e.looks)
}

// A download reads one file from its host. It ends with io.EOF only if the file is what it has to be: otherwise with
// an error. Where the connection breaks it asks for the rest.
type download struct {
	ctx    context.Context
	end    context.CancelFunc
	client *http.Client
	pace   pace
	file   file

	body     io.ReadCloser // of the request under way; nil before and after
	at       int64         // bytes that were read
	sum      hash.Hash
	head     []byte // the first bytes, to say what came
	failures int
	failedAt int64 // where the last request failed
}

// open begins a download, which the caller closes. No request is sent before the first Read.
func open(ctx context.Context, c *http.Client, p pace, f file) *download {
	whole := time.Duration(p.attempts+1)*p.stall + time.Duration(f.most/p.slowest)*time.Second
	ctx, end := context.WithTimeoutCause(ctx, whole, fmt.Errorf("it was not whole after %v", whole))
	return &download{ctx: ctx, end: end, client: c, pace: p, file: f, sum: sha256.New()}
}

// get returns a file's content.
func get(ctx context.Context, c *http.Client, p pace, f file) ([]byte, error) {
	d := open(ctx, c, p, f)
	defer d.Close()
	return io.ReadAll(d)
}

func (d *download) Close() error {
	d.drop()
	d.end()
	return nil
}

// drop ends the request under way.
func (d *download) drop() {
	if d.body != nil {
		d.body.Close()
		d.body = nil
	}
}

func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.read(p)
		if err == nil || err == io.EOF {
			return n, err
		}
		d.drop()
		if err := d.failed(err); err != nil {
			return n, &fileError{d.file.url.Redacted(), err}
		}
		if n > 0 {
			return n, nil
		}
	}
}

// failed counts a failure. It returns nil if it is worth asking again, after a pause.
func (d *download) failed(err error) error {
	if d.ctx.Err() != nil {
		return &passing{context.Cause(d.ctx)}
	}
	if !isPassing(err) {
		return err
	}
	if d.at-d.failedAt >= progress {
		d.failures = 0
	}
	d.failures++
	d.failedAt = d.at
	if d.failures >= d.pace.attempts {
		return err
	}
	if pause(d.ctx, d.pace.pause<<(d.failures-1)) != nil {
		return &passing{context.Cause(d.ctx)}
	}
	return nil
}

// read reads from the request under way, or from a new one.
func (d *download) read(p []byte) (int, error) {
	if d.body == nil {
		if err := d.request(); err != nil {
			return 0, err
		}
	}
	n, err := d.body.Read(p)
	d.at += int64(n)
	d.sum.Write(p[:n])
	d.head = append(d.head, p[:min(n, 512-len(d.head))]...)
	if d.at > d.file.most {
		return 0, d.wrong("it has more than %d bytes", d.file.most)
	}
	if err == io.EOF {
		return n, d.check()
	}
	if err != nil {
		return n, &passing{broken(err)}
	}
	return n, nil
}

// check returns io.EOF if what came is the file.
func (d *download) check() error {
	if d.file.size && d.at != d.file.most {
		return d.wrong("it has %d bytes, not %d", d.at, d.file.most)
	}
	if got := hex.EncodeToString(d.sum.Sum(nil)); d.file.sum != "" && got != d.file.sum {
		return d.wrong("its SHA-256 is %s, not %s", got, d.file.sum)
	}
	return io.EOF
}

func (d *download) wrong(format string, args ...any) error {
	return &wrongContent{fmt.Sprintf(format, args...), http.DetectContentType(d.head)}
}

// request asks for the file from d.at on.
func (d *download) request() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	stalled := fmt.Errorf("it sent nothing for %v", d.pace.stall)
	b := &stallingBody{ctx: ctx, cancel: cancel, stall: d.pace.stall}
	b.timer = time.AfterFunc(b.stall, func() { cancel(stalled) })
	resp, err := d.ask(ctx)
	if err != nil {
		err = b.cause(err)
		b.stop()
		return err
	}
	b.body = resp.Body
	if err := d.accept(resp, b); err != nil {
		b.Close()
		return err
	}
	d.body = b
	return nil
}

func (d *download) ask(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // sizes and digests are of the bytes as they are stored
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
	}
	if d.file.sum == "" {
		req.Header.Set("Cache-Control", "no-cache") // what its digest doesn't tell may have changed
	}
	resp, err := d.client.Do(req)
	if refused := new(refusedRedirect); errors.As(err, &refused) {
		return nil, refused
	}
	if err != nil {
		return nil, &passing{broken(err)}
	}
	return resp, nil
}

// accept looks at an answer before its body is read. Of a whole one, what was read before is passed over.
func (d *download) accept(resp *http.Response, body io.Reader) error {
	if err := checkStatus(resp.StatusCode); err != nil {
		return err
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return fmt.Errorf("it is sent with the Content-Encoding %.20q, though it was asked for as it is: have the host send files unchanged", e)
	}
	if resp.StatusCode == http.StatusPartialContent {
		if from := fmt.Sprintf("bytes %d-", d.at); d.at == 0 || !strings.HasPrefix(resp.Header.Get("Content-Range"), from) {
			return fmt.Errorf("it sent another part (Content-Range %.40q) than the one from byte %d", resp.Header.Get("Content-Range"), d.at)
		}
		return nil
	}
	if _, err := io.CopyN(io.Discard, body, d.at); err != nil {
		return &passing{broken(err)}
	}
	return nil
}

func checkStatus(code int) error {
	answer := strings.TrimSpace(fmt.Sprint("it answered ", code, " ", http.StatusText(code)))
	switch code {
	case http.StatusOK, http.StatusPartialContent:
		return nil
	case http.StatusNotFound, http.StatusForbidden, http.StatusGone, http.StatusUnauthorized:
		return fmt.Errorf("%s: %w", answer, errAbsent)
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return &passing{errors.New(answer)}
	}
	if code >= 500 {
		return &passing{errors.New(answer)}
	}
	return errors.New(answer)
}

// broken says why a connection broke: without the URL, which after a redirect may hold a signature, and without ports of
// this machine, so that the same reason is the same text.
func broken(err error) error {
	var (
		request *url.Error
		lookup  *net.DNSError
		network *net.OpError
	)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return errors.New("the connection broke off")
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("no host %s is known", lookup.Name)
	case errors.As(err, &lookup):
		return fmt.Errorf("the host %s can't be looked up", lookup.Name)
	case errors.As(err, &network):
		return fmt.Errorf("%s: %w", network.Op, network.Err)
	case errors.As(err, &request):
		return request.Err
	}
	return err
}

// A stallingBody is a response's body that gives up when nothing comes.
type stallingBody struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	timer  *time.Timer
	stall  time.Duration
}

func (b *stallingBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		b.timer.Reset(b.stall)
	}
	if err != nil && err != io.EOF {
		err = b.cause(err)
	}
	return n, err
}

// cause is why the request was given up, or err if it wasn't.
func (b *stallingBody) cause(err error) error {
	if b.ctx.Err() != nil {
		return &passing{context.Cause(b.ctx)} // where the user's context ended, nobody asks again
	}
	return err
}

func (b *stallingBody) stop() {
	b.timer.Stop()
	b.cancel(nil)
}

func (b *stallingBody) Close() error {
	b.stop()
	return b.body.Close()
}
