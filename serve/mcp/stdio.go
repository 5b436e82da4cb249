package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	p := &pending{ctx: ctx, in: bufio.NewReaderSize(in, 64<<10), out: out, ids: map[string]bool{}, answered: make(chan struct{}, 1)}
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

// pending hands on the messages that are such, and knows the requests without an answer. It lets the input end only when
// there is none: at its end the session ends, and what is not answered by then is lost. What is no message is answered
// here, since the session would end on it.
type pending struct {
	ctx      context.Context
	in       *bufio.Reader
	rest     []byte        // of a message that was read
	answered chan struct{} // a hint that there is one answer more

	sync.Mutex // guards what follows
	out        io.Writer
	answers    []byte          // the beginning of a line
	ids        map[string]bool // of the requests
}

func (p *pending) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, err := p.line()
		switch {
		case errors.Is(err, errTooLong):
			p.refuse(invalidRequest, "the message is too long")
		case err != nil:
			p.drain()
			return 0, err
		case len(bytes.TrimSpace(line)) == 0:
		default:
			p.take(line)
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

var errTooLong = errors.New("a line is too long")

// line reads a line, the last one of which need not have an end.
func (p *pending) line() (line []byte, err error) {
	tooLong := false
	for {
		part, err := p.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxMessage; !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && (err == nil || err == io.EOF):
			return nil, errTooLong
		case err == io.EOF && len(line) > 0:
			return append(line, '\n'), nil
		default:
			return line, err
		}
	}
}

// Codes of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// take hands on a message, if it is one.
func (p *pending) take(line []byte) {
	m, err := parseMessage(line)
	switch {
	case err != nil:
		p.refuse(parseError, "this is no JSON object, or too deep")
	case m.JSONRPC != "2.0" || m.ID == "bad" || m.Method == "" && !m.answer:
		p.refuse(invalidRequest, "this is no message of JSON-RPC 2.0")
	default:
		p.Lock()
		if m.Method == "notifications/cancelled" {
			delete(p.ids, m.cancelled)
		} else if m.Method != "" && m.ID != "" {
			p.ids[m.ID] = true
		}
		p.Unlock()
		p.rest = line
	}
}

// refuse answers what is no message.
func (p *pending) refuse(code int, text string) {
	p.Lock()
	defer p.Unlock()
	fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, text)
}

// drain waits until everything is answered.
func (p *pending) drain() {
	late := time.After(lastAnswer)
	for !p.done() {
		select {
		case <-p.answered:
		case <-late:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *pending) done() bool {
	p.Lock()
	defer p.Unlock()
	return len(p.ids) == 0
}

func (p *pending) Write(b []byte) (int, error) {
	p.Lock()
	defer p.Unlock()
	n, err := p.out.Write(b)
	p.answers = append(p.answers, b[:n]...)
	for {
		line, rest, whole := bytes.Cut(p.answers, []byte("\n"))
		if !whole {
			break
		}
		if m, err := parseMessage(line); err == nil && m.Method == "" {
			delete(p.ids, m.ID)
		}
		p.answers = rest
	}
	select {
	case p.answered <- struct{}{}:
	default:
	}
	return n, err
}

// A message is what tells requests, answers and notifications from each other.
type message struct {
	JSONRPC   string
	ID        string // "" if there is none, "bad" if it is no text and no number
	Method    string
	answer    bool
	cancelled string // the id that a notification of that kind names
}

// maxDepth is how deep the values in a message may be nested.
const maxDepth = 100

// parseMessage reads a message. An error means that the line is no object of JSON.
func parseMessage(line []byte) (m message, err error) {
	if depth(line) > maxDepth {
		return m, errors.New("too deep")
	}
	var raw struct {
		JSONRPC any             `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  any             `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return m, err
	}
	m.JSONRPC, _ = raw.JSONRPC.(string)
	m.Method, _ = raw.Method.(string)
	m.ID, m.answer = idOf(raw.ID), raw.Result != nil || raw.Error != nil
	if m.Method == "notifications/cancelled" {
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(raw.Params, &params)
		m.cancelled = idOf(params.RequestID)
	}
	return m, nil
}

// idOf is an id in one spelling: 1 and 1.0 are the same, and so are "a" and "\u0061".
func idOf(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var id any
	if json.Unmarshal(raw, &id) != nil {
		return "bad"
	}
	switch id.(type) {
	case string, float64:
		return fmt.Sprintf("%T %v", id, id)
	}
	return "bad"
}

// depth is how deep brackets are nested in JSON.
func depth(line []byte) (most int) {
	n, text, escaped := 0, false, false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			n++
			most = max(most, n)
		case c == '}' || c == ']':
			n--
		}
	}
	return most
}
