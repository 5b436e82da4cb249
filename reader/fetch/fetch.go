// Package fetch brings a base that is published at a URL, on any static host or in a bucket that can be read by
// everybody, into a folder of this machine, where the reader opens it and follows it:
//
//	folder, err := fetch.Mirror(ctx, "https://kb.example.com/dist/refunds", fetch.Options{Dir: cache})
//	…
//	base, err := reader.OpenLive(folder, reader.LiveOptions{})
//	…
//	go fetch.Follow(ctx, "https://kb.example.com/dist/refunds", fetch.Options{Dir: cache})
//
// What is at the URL is laid out as on a shelf: latest, a folder for each version, and the encoder inside that folder or
// in the folder models beside the base's.
//
// Everything that comes is compared with the digests that lead to it, and opened and checked as [reader.Verify] does it,
// before it is seen: a version's folder appears whole or not at all, and latest names it after that. The chain of digests
// begins with latest, which nothing vouches for but the connection. That is why it has to be https, and a host that one
// trusts.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/internal/durable"
)

// Options say where a base is mirrored to, and how it is fetched. Dir is needed.
type Options struct {
	// Dir is the folder that holds mirrors, of this base and of others; it is made if missing. Programs may share it.
	Dir string
	// Client sends the requests. Nil is one of this package, with time-outs, and with the proxy that the environment
	// names. The rules for redirects hold for any client.
	Client *http.Client
	// MaxBytes is the most that a version may have with its encoder, but for provenance.json, which has at most 16 MiB. 0
	// means 4 GiB.
	MaxBytes int64
	// Logger gets one line for each version that is mirrored, and one for each reason why the newest can't be. Nil logs
	// nothing.
	Logger *slog.Logger
	// Every is the time between two looks of [Follow], 30 seconds if it is 0. Up to an eighth is added by chance, so that
	// a fleet doesn't ask all at once.
	Every time.Duration
	// Insecure allows http:// to hosts other than this machine. Whoever is between here and there then decides what is
	// answered: latest names the digests of all else, and over http nothing protects it. It is for private networks.
	Insecure bool

	pace  pace          // the zero value is defaultPace
	young time.Duration // no folder changed less long ago is pruned; 0 means an hour
}

const (
	defaultMost  = 4 << 30
	defaultEvery = 30 * time.Second
	defaultYoung = time.Hour
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Dir == "":
		return o, errors.New("no folder to mirror into: set Dir")
	case o.MaxBytes < 0:
		return o, fmt.Errorf("a limit of %d bytes: set MaxBytes above 0, or to 0 for 4 GiB", o.MaxBytes)
	case o.Every < 0:
		return o, fmt.Errorf("looks every %v: set Every above 0, or to 0 for %v", o.Every, defaultEvery)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMost
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.young == 0 {
		o.young = defaultYoung
	}
	if o.pace == (pace{}) {
		o.pace = defaultPace
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Mirror brings the newest version of the base at the address into a folder below o.Dir, and returns that folder: it is
// one that [reader.OpenDir] and [reader.OpenLive] take. What is there already is checked, and fetched again only if it is
// damaged.
//
// If the newest version can't be had, because the host can't be reached or because of what it sends, the version that was
// mirrored last answers, and the log says why. It is an error if there is none.
//
// Programs that mirror into the same folder at the same time don't harm each other. Kept are the version that latest
// names, the one before it, and what is younger than an hour.
func Mirror(ctx context.Context, address string, o Options) (folder string, err error) {
	m, err := newMirror(address, o)
	if err != nil {
		return "", err
	}
	why := m.update(ctx, true)
	if ctx.Err() != nil {
		return "", fmt.Errorf("mirror %s: %w", m.url, context.Cause(ctx))
	}
	if why == nil {
		return m.folder, nil
	}
	digest, err := m.mirrored(ctx)
	if err != nil {
		return "", fmt.Errorf("mirror %s: %w (%w)", m.url, why, err)
	}
	m.stay(digest, why)
	return m.folder, nil
}

// Follow looks for a new version at the address every now and then, and mirrors it as [Mirror] does, until ctx ends; it
// returns the error of ctx. Options and addresses that can't be are an error at once. While the newest version can't be
// had, the last one stays.
//
// A version that was refused for what it holds is not fetched at every look, but at the 2nd, 4th, 8th … since, and at
// every 256th in the end; one that could not be had whole, at every 8th.
func Follow(ctx context.Context, address string, o Options) error {
	m, err := newMirror(address, o)
	if err != nil {
		return err
	}
	for {
		if err := pause(ctx, m.o.Every+rand.N(m.o.Every/8+1)); err != nil {
			return err
		}
		m.look(ctx)
	}
}

// look is one look of [Follow]. It logs why the newest version can't be had, once for each reason.
func (m *mirror) look(ctx context.Context) {
	err := m.update(ctx, false)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		m.stay(m.latest(), err)
	} else if m.trouble != "" {
		m.trouble = ""
		m.o.Logger.Info("the newest version is mirrored again", slog.String("url", m.url.String()), slog.String("version", short(m.latest())))
	}
}

// tempNames are parts of paths that are never the same twice.
var tempNames = regexp.MustCompile(regexp.QuoteMeta(durable.Prefix) + `[0-9a-z]+`)

func (m *mirror) stay(digest string, why error) {
	if reason := tempNames.ReplaceAllString(why.Error(), durable.Prefix); reason != m.trouble {
		m.trouble = reason
		m.o.Logger.Warn("stayed on the version mirrored last", slog.String("url", m.url.String()), slog.String("version", short(digest)), slog.String("reason", reason))
	}
}

// short is a version's short name, "" if there is none.
func short(digest string) string {
	if digest == "" {
		return ""
	}
	return artifact.FolderName(digest)
}

// pause waits, or returns why ctx ended before.
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
