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
	p := &pending{ctx: ctx, in: in, out: out, answered: make(chan struct{}, 1)}
	p.asked.counts = func(m message) bool { return m.ID != nil && m.Method != "" }
	p.answers.counts = func(m message) bool { return m.ID != nil && m.Method == "" }
	err := server.Run(ctx, &sdk.IOTransport{Reader: reading{p, in}, Writer: writing{p, out}, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// pending counts the requests without an answer, and lets the input end only when there is none: at its end the session
// ends, and what is not answered by then is lost.
type pending struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	asked    lines
	answers  lines
	answered chan struct{} // a hint that there is one answer more
}

func (p *pending) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.asked.Write(b[:n])
	if n > 0 || err != io.EOF {
		return n, err
	}
	late := time.After(lastAnswer)
	for p.answers.number() < p.asked.number() {
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
	p.answers.Write(b[:n])
	select {
	case p.answered <- struct{}{}:
	default:
	}
	return n, err
}

type reading struct {
	io.Reader
	io.Closer
}

type writing struct {
	io.Writer
	io.Closer
}

// A message is what tells a request from an answer and from a notification.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// lines counts messages, one a line, of the kind that counts tells.
type lines struct {
	counts func(message) bool

	sync.Mutex
	line []byte // what was written since the last line end, unless that is too long
	n    int
}

func (l *lines) Write(b []byte) {
	l.Lock()
	defer l.Unlock()
	for {
		end := bytes.IndexByte(b, '\n')
		part := b[:max(end, 0)]
		if end < 0 {
			part = b
		}
		if len(l.line) <= maxMessage {
			l.line = append(l.line, part...)
		}
		if end < 0 {
			return
		}
		var m message
		if len(l.line) <= maxMessage && json.Unmarshal(l.line, &m) == nil && l.counts(m) {
			l.n++
		}
		l.line, b = l.line[:0], b[end+1:]
	}
}

func (l *lines) number() int {
	l.Lock()
	defer l.Unlock()
	return l.n
}
