package mcp

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions say who may call over HTTP.
type HTTPOptions struct {
	// Token is what callers must send as "Authorization: Bearer …"; "" lets everybody in who reaches the address.
	Token string
	// Hosts are further names by which the server may be called, besides those of this machine itself. A page in a browser
	// that had its own name lead here calls the server by that name, and is refused.
	Hosts []string
}

// Path is where the server answers.
const Path = "/mcp"

// Handler serves the protocol's streamable HTTP at [Path]. Requests are answered one by one, without sessions, so that
// no caller makes the server keep anything.
func Handler(server *sdk.Server, o HTTPOptions) http.Handler {
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage,
		DisableLocalhostProtection: true, // which allow does for every address
	})
	mux := http.NewServeMux()
	mux.Handle(Path, single(tied(stream)))
	return o.allow(mux)
}

// single refuses batches of messages: the protocol has none, and one could hold thousands of calls.
func single(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		for r.Body != nil {
			first, err := body.Peek(1)
			if err != nil || !strings.ContainsAny(string(first), " \t\r\n") {
				if string(first) == "[" {
					http.Error(w, "batches are not served: send one message", http.StatusBadRequest)
					return
				}
				break
			}
			_, _ = body.Discard(1)
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		next.ServeHTTP(w, r)
	})
}

// requestKey is the context's key of the context of the request over HTTP that a call came by.
type requestKey struct{}

// tied lets calls know the request that they came by. The session keeps its values from them, but not its end.
func tied(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

// untilGone is a context that also ends when nobody waits for the answer over HTTP any more.
func untilGone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		stop := context.AfterFunc(request, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

// allow lets through what comes from programs with the token, and from no page of another site.
func (o HTTPOptions) allow(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, err := url.Parse(r.Header.Get("Origin"))
		if !o.known(r.Host) || err != nil || r.Header.Get("Origin") != "" && (origin.User != nil || !o.known(origin.Host)) {
			http.Error(w, "this server is not for that host or origin; larder mcp --host NAME allows one", http.StatusForbidden)
			return
		}
		// Digests have one length: the comparison tells nothing of the token's.
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		if found := sha256.Sum256([]byte(strings.TrimSpace(token))); o.Token != "" && subtle.ConstantTimeCompare(found[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known tells whether a host, with a port or without, is this machine's or one of the further names.
func (o HTTPOptions) known(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok { // an address of IPv6 without a port
		name = strings.TrimSuffix(inner, "]")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, h := range o.Hosts {
		if name != "" && strings.EqualFold(name, h) {
			return true
		}
	}
	return false
}

// Listen listens on an address. One that other machines reach is refused without a token.
func Listen(ctx context.Context, address string, o HTTPOptions) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w; give host:port, such as 127.0.0.1:8765", address, err)
	}
	ip := net.ParseIP(host)
	if loopback := host == "localhost" || ip != nil && ip.IsLoopback(); !loopback && o.Token == "" {
		return nil, fmt.Errorf("address %q can be reached from other machines: that needs a token", address)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// shutdownTime is how long requests may go on when the server ends.
const shutdownTime = 5 * time.Second

// ServeHTTP serves on a listener until ctx ends; requests under way are answered.
func ServeHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		done <- server.Shutdown(ctx)
	})
	err := server.Serve(listener)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}
