package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxMessage = 4 << 20          // bytes that a client's message may have
	lastAnswer = 10 * time.Second // how long the end of the input waits for answers
)

// Serve answers the messages on in, one a line, on out, until in ends or ctx does, which are no errors. What was asked
// before in ended is answered.
func Serve(ctx context.Context, server *sdk.Server, in io.ReadCloser, out io.WriteCloser) error {
	p := &pending{ctx: ctx, in: in, out: out, ids: map[string]bool{}, answered: make(chan struct{}, 1)}
	err := server.Run(ctx, &sdk.IOTransport{Reader: reading{p, in}, Writer: writing{p, out}, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

type reading struct {
	io.Reader
	io.Closer
}

type writing struct {
	io.Writer
	io.Closer
}

// pending knows the requests without an answer, and lets the input end only when there is none: at its end the session
// ends, and what is not answered by then is lost.
type pending struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	answered chan struct{} // a hint that there is one answer more

	sync.Mutex // guards what follows
	asked      lines
	answers    lines
	ids        map[string]bool // of the requests, as they are written in JSON
}

func (p *pending) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.note(&p.asked, b[:n])
	if n > 0 || err != io.EOF {
		return n, err
	}
	late := time.After(lastAnswer)
	for !p.done() {
		select {
		case <-p.answered:
		case <-late:
			return 0, err
		case <-p.ctx.Done():
			return 0, err
		}
	}
	return 0, err
}

func (p *pending) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.note(&p.answers, b[:n])
	select {
	case p.answered <- struct{}{}:
	default:
	}
	return n, err
}

func (p *pending) done() bool {
	p.Lock()
	defer p.Unlock()
	return len(p.ids) == 0
}

// note keeps the ids of requests until they are answered, or the client no longer wants to know.
func (p *pending) note(l *lines, b []byte) {
	p.Lock()
	defer p.Unlock()
	for line := range l.add(b) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				RequestID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &m) // what is no message is the session's to refuse; of others, a part may be of another type
		switch {
		case l == &p.answers && m.Method == "":
			delete(p.ids, string(m.ID))
		case l == &p.asked && m.Method == "notifications/cancelled":
			delete(p.ids, string(m.Params.RequestID))
		case l == &p.asked && m.Method != "" && m.ID != nil:
			p.ids[string(m.ID)] = true
		}
	}
}

// lines puts the lines of a stream together. Those that are too long for a message are left out.
type lines struct{ begun []byte }

// add yields the lines that end in b.
func (l *lines) add(b []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for {
			part, rest, ends := bytes.Cut(b, []byte("\n"))
			if len(l.begun) <= maxMessage {
				l.begun = append(l.begun, part...)
			}
			if !ends {
				return
			}
			whole := l.begun
			l.begun, b = l.begun[:0], rest
			if len(whole) <= maxMessage && !yield(whole) {
				return
			}
		}
	}
}
