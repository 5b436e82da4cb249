package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// maxRedirects is the most redirects that a request follows.
const maxRedirects = 5

// parseAddress returns the URL of a base, without a slash at its end.
func parseAddress(address string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is no URL") // the parser's error would repeat a password
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("the URL for %s has a user or a password: leave them out, since URLs end up in logs, and set Client if the host asks for them", u.Host)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("the address is no URL of the kind https://host/dist/base (scheme %q, host %q)", u.Scheme, u.Host)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("the URL for %s has a query or a fragment, which can't stand for each of the base's files: leave it out, and set Client if requests must be signed", u.Host)
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return nil, fmt.Errorf("http://%s is not protected, and whoever is on the way could change what is answered: use https, or set Insecure in a private network", u.Host)
	}
	u = u.JoinPath() // cleans the path
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	return u, nil
}

// loopback tells whether a host is this machine by its name alone.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// A refusedRedirect is one that is not followed. It doesn't hold the target's query, which may be a signature.
type refusedRedirect struct{ reason string }

func (e *refusedRedirect) Error() string { return e.reason }

// withRules returns a client that follows redirects within our rules and, if it has its own, within these. From https
// only https follows, to whatever host; from http also http, on the same host.
func withRules(c http.Client) *http.Client {
	own := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if reason := redirect(via[len(via)-1].URL, req.URL, len(via)); reason != "" {
			return &refusedRedirect{reason}
		}
		if own != nil {
			return own(req, via)
		}
		return nil
	}
	return &c
}

// redirect says why the n-th redirect, from one URL to another, is not followed; "" if it is.
func redirect(from, to *url.URL, n int) string {
	target := to.Scheme + "://" + to.Host
	switch {
	case n > maxRedirects:
		return fmt.Sprintf("it redirects more than %d times", maxRedirects)
	case to.User != nil:
		return fmt.Sprintf("it redirects to %s with a user or a password", target)
	case to.Scheme == "https":
		return ""
	case to.Scheme != "http" || from.Scheme == "https":
		return fmt.Sprintf("it redirects to %s, which is not https: use the URL that it means, if you trust it", target)
	case to.Host != from.Host:
		return fmt.Sprintf("it redirects over http to another host, %s: use the URL that it means, if you trust it", target)
	}
	return ""
}
