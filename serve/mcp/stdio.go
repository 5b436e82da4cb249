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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxMessage = 4 << 20          // bytes that a client's message may have
	lastAnswer = 10 * time.Second // how long the end of the input waits for answers
)

// Serve answers the messages on in, one a line, on out, until in ends or ctx does, which are no errors. What was asked
// before in ended is answered.
func Serve(ctx context.Context, server *sdk.Server, in io.ReadCloser, out io.WriteCloser) error {
	p := &pending{ctx: ctx, in: bufio.NewReaderSize(in, 64<<10), out: out, ids: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
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
	answers    []byte              // the beginning of a line
	ids        map[jsonrpc.ID]bool // of the requests
}

func (p *pending) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, err := p.line()
		switch {
		case errors.Is(err, errTooLong):
			p.refuse(jsonrpc.CodeInvalidRequest, "the message is too long")
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

// take hands on a message, if it is one to the session, which would end on another.
func (p *pending) take(line []byte) {
	line = bytes.TrimSpace(line)
	if depth(line) > maxDepth || !json.Valid(line) {
		p.refuse(jsonrpc.CodeParseError, "this is no JSON, or too deep")
		return
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil || nullID(line) { // which the session would take for a notification
		p.refuse(jsonrpc.CodeInvalidRequest, "this is no message of JSON-RPC 2.0; batches are not served")
		return
	}
	if request, ok := message.(*jsonrpc.Request); ok {
		p.ask(request)
	}
	p.rest = append(line, '\n')
}

// ask notes a request, or that the client no longer wants to know.
func (p *pending) ask(r *jsonrpc.Request) {
	p.Lock()
	defer p.Unlock()
	if r.ID.IsValid() {
		p.ids[r.ID] = true
	}
	if r.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &params) != nil {
		return // the session ignores it too
	}
	if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
		delete(p.ids, id)
	}
}

// nullID tells whether a message has an id that is null.
func nullID(line []byte) bool {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	return json.Unmarshal(line, &m) == nil && string(m.ID) == "null"
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
		if m, err := jsonrpc.DecodeMessage(line); err == nil {
			if response, ok := m.(*jsonrpc.Response); ok {
				delete(p.ids, response.ID)
			}
		}
		p.answers = rest
	}
	select {
	case p.answered <- struct{}{}:
	default:
	}
	return n, err
}

// maxDepth is how deep the values in a message may be nested.
const maxDepth = 100

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
