package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A PDF is read in a child process, which is this program started once more: it can be stopped at any moment,
// and what brings it down ends as a verdict. The child writes childHello, then childReadyLine once its engine
// is compiled. Each request is [PDFOptions] in JSON and the file, each after eight bytes with its length,
// big-endian: passwords are in no argument and no variable. Each answer is a run of [pdfMessage] values in JSON,
// ended by one with End or a Verdict.
const (
	childEnv       = "LARDER_CHILD"
	childArg       = "larder-child-pdf"
	childHello     = "larder child 1"
	childReadyLine = "ready"

	childHelloTime = 20 * time.Second // from start to childHello
	childReadyTime = 3 * time.Minute  // from there to childReadyLine: compiling on a busy machine
)

// childReady says that this program calls RunChild, and so do the processes that it starts.
var childReady atomic.Bool

// RunChild makes this process read PDF files for its parent if it was started for that; it then never
// returns. Otherwise it returns at once, and engines may start the program once more as their child. Call it
// first thing in main, and in TestMain.
func RunChild() {
	if os.Getenv(childEnv) != "pdf" || len(os.Args) < 2 || os.Args[1] != childArg {
		childReady.Store(true)
		return
	}
	os.Unsetenv(childEnv)
	if err := serveChild(os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "larder: pdf child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveChild answers requests until in ends. Its arguments are those of [childArgs].
func serveChild(args []string, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, childHello); err != nil {
		return err
	}
	if len(args) != 7 {
		return fmt.Errorf("%d arguments instead of 7", len(args))
	}
	var n [5]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(args[2+i], 10, 64); err != nil || n[i] <= 0 {
			return fmt.Errorf("argument %q is no limit", args[2+i])
		}
	}
	limits := pdfLimits{file: int(n[0]), pages: int(n[1]), text: int(n[2]), time: time.Duration(n[3]), memory: n[4]}
	var reader pdfReader
	switch args[0] {
	case "pdfium":
		pool, err := openPdfium(args[1], 1, false)
		if err != nil {
			return err
		}
		reader = &pdfiumReader{pool}
	case "ledongthuc":
		reader = ledongthucReader{}
		debug.SetMemoryLimit(limits.memory / 2) // collect harder from there
		debug.SetMaxStack(256 << 20)
		if err := limitMemory(limits.memory); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown engine %q", args[0])
	}
	if _, err := fmt.Fprintln(out, childReadyLine); err != nil {
		return err
	}
	requests := bufio.NewReader(in)
	for {
		options, err := readPart(requests, maxPDFOptions)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var o PDFOptions
		if json.Unmarshal(options, &o) != nil {
			return errors.New("options that are not JSON") // without a word of them
		}
		data, err := readPart(requests, limits.file)
		if err != nil {
			return err
		}
		// Should the parent be gone before it could stop this process, the end of its input does, or the kernel.
		var busy atomic.Bool
		busy.Store(true)
		next := make(chan struct{})
		go func() {
			if _, err := requests.Peek(1); err != nil && busy.Load() {
				os.Exit(1)
			}
			close(next)
		}()
		if err := limitCPU(limits.time*time.Duration(runtime.GOMAXPROCS(0)) + 10*time.Second); err != nil {
			return err
		}
		answer := bufio.NewWriter(out)
		encoder := json.NewEncoder(answer)
		encoder.SetEscapeHTML(false)
		emit := func(m pdfMessage) error {
			if err := encoder.Encode(m); err != nil {
				return err
			}
			return answer.Flush() // what is sent is not lost with the process
		}
		err = reader.read(data, o, limits, emit)
		busy.Store(false)
		last := pdfMessage{End: true}
		if pe := (*PDFError)(nil); errors.As(err, &pe) {
			last = pdfMessage{Verdict: pe.Verdict, Reason: pe.Reason}
		} else if err != nil {
			return err
		}
		if err := emit(last); err != nil {
			return err
		}
		<-next
	}
}

// maxPDFOptions bounds the bytes of options in JSON.
const maxPDFOptions = 1 << 20

// readPart reads a part of a request. [io.EOF] means that there is none.
func readPart(r io.Reader, most int) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(size[:])
	if n > uint64(most) {
		return nil, fmt.Errorf("a request of %d bytes", n)
	}
	part := make([]byte, n)
	if _, err := io.ReadFull(r, part); err != nil {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return part, nil
}

func writePart(w io.Writer, part []byte) error {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err := w.Write(part)
	return err
}

func childArgs(engine, cacheDir string, l pdfLimits) []string {
	args := []string{childArg, engine, cacheDir}
	for _, n := range []int64{int64(l.file), int64(l.pages), int64(l.text), int64(l.time), l.memory} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	return args
}

// A childEngine is an engine whose reader runs in child processes.
type childEngine struct {
	name string
	pool *childPool
}

func (e *childEngine) Name() string { return e.name }

func (e *childEngine) Pages(ctx context.Context, data []byte, o PDFOptions) ([]Page, error) {
	f, err := e.file(ctx, data, o)
	if err != nil {
		return nil, err
	}
	return f.pages, nil
}

func (e *childEngine) file(ctx context.Context, data []byte, o PDFOptions) (*pdfFile, error) {
	if err := refusePDF(data, e.pool.limits); err != nil {
		return nil, err
	}
	c := pdfCollector{limits: e.pool.limits}
	return c.finish(ctx, e.pool.read(ctx, data, o, c.take))
}

func (e *childEngine) Close() error { return e.pool.close() }

// A childPool holds the children of one engine.
type childPool struct {
	args   []string
	limits pdfLimits
	reuse  bool // a child reads more than one file
	free   chan struct{}
	watch  func(*child) // after each file, for tests; nil for none

	mu     sync.Mutex
	idle   []*child
	busy   map[*child]bool
	closed bool
}

func newChildPool(engine, cacheDir string, limits pdfLimits, parallel int) *childPool {
	if cacheDir != "" {
		if abs, err := filepath.Abs(cacheDir); err == nil {
			cacheDir = abs
		}
	}
	p := &childPool{
		args:   childArgs(engine, cacheDir, limits),
		limits: limits,
		reuse:  engine == "pdfium",
		free:   make(chan struct{}, parallel),
		busy:   map[*child]bool{},
	}
	for range parallel {
		p.free <- struct{}{}
	}
	return p
}

// read has a child read a file. An error is a *PDFError, the context's, or that of a child that can't be started.
func (p *childPool) read(ctx context.Context, data []byte, o PDFOptions, take func(pdfMessage) error) error {
	select {
	case <-p.free:
		defer func() { p.free <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := p.get(ctx)
	if err != nil {
		return err
	}
	err = c.read(ctx, data, o, p.limits, take)
	if p.watch != nil {
		p.watch(c)
	}
	var pe *PDFError
	p.put(c, p.reuse && !c.dead.Load() && (err == nil || errors.As(err, &pe)))
	return err
}

var errChildPoolClosed = errors.New("the pdf engine is closed")

func (p *childPool) get(ctx context.Context) (*child, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errChildPoolClosed
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.busy[c] = true
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := startChild(ctx, p.args)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.end()
		return nil, errChildPoolClosed
	}
	p.busy[c] = true
	return c, nil
}

func (p *childPool) put(c *child, keep bool) {
	p.mu.Lock()
	delete(p.busy, c)
	if keep = keep && !p.closed; keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.end()
	}
}

func (p *childPool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.end()
	}
	p.idle = nil
	for c := range p.busy {
		c.kill() // whoever waits for it then ends it
	}
	return nil
}

// A child is a process that reads files.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *boundedReader
	buffer *bufio.Reader // over out, before the first request
	errors *headBuffer
	json   *json.Decoder
	dead   atomic.Bool
	once   sync.Once
}

// startChild starts a child and waits until it is ready.
func startChild(ctx context.Context, args []string) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	if runtime.GOOS == "linux" {
		exe = "/proc/self/exe" // this very program, even if its file was replaced or removed
	}
	c := &child{errors: &headBuffer{}}
	c.cmd = exec.Command(exe, args...)
	c.cmd.Env = []string{childEnv + "=pdf"} // and nothing of the parent's secrets
	c.cmd.Stderr = c.errors
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pdf child: %w", err)
	}
	c.out = &boundedReader{r: out, left: 1 << 16}
	c.buffer = bufio.NewReader(c.out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("pdf child can't be started: %w", err)
	}
	for _, step := range []struct {
		line string
		time time.Duration
	}{{childHello, childHelloTime}, {childReadyLine, childReadyTime}} {
		stop := c.killAfter(ctx, step.time)
		line, err := c.buffer.ReadString('\n')
		late := stop()
		if line == step.line+"\n" {
			continue
		}
		c.end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if late {
			return nil, fmt.Errorf("pdf child was not ready within %v", step.time)
		}
		if said := c.errors.line(); said != "" {
			return nil, fmt.Errorf("pdf child can't be started: %s", said)
		}
		return nil, fmt.Errorf("pdf child answered unexpectedly (%v): main has to call pipeline.RunChild() first thing", err)
	}
	c.json = json.NewDecoder(c.buffer)
	return c, nil
}

// killAfter kills the child when the time is over or ctx is done. stop ends the wait and says whether that happened.
func (c *child) killAfter(ctx context.Context, d time.Duration) (stop func() bool) {
	timed, cancel := context.WithTimeout(ctx, d)
	done := make(chan struct{})
	unwatch := context.AfterFunc(timed, func() { c.kill(); close(done) })
	return func() bool {
		defer cancel()
		if unwatch() {
			return false
		}
		<-done
		return true
	}
}

// read has the child read a file.
func (c *child) read(ctx context.Context, data []byte, o PDFOptions, limits pdfLimits, take func(pdfMessage) error) error {
	c.out.left = 4*int64(limits.text) + 1024*int64(limits.pages) // quoted, and with the places of lines
	stop := c.killAfter(ctx, limits.time)
	err := c.exchange(data, o, take)
	late := stop()
	if err == nil {
		return nil
	}
	var pe *PDFError
	switch {
	case errors.As(err, &pe):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case late:
		return overTime(limits)
	case errors.Is(err, errChildAnswer):
		return pdfFailed("the file has more than %d MiB of text", limits.text>>20)
	case errors.Is(err, errPDFMessage):
		return pdfFailed("%v", err)
	}
	c.end() // its last words are complete then
	return pdfFailed("%s", c.errors.cause(limits))
}

func (c *child) exchange(data []byte, o PDFOptions, take func(pdfMessage) error) error {
	options, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if len(options) > maxPDFOptions {
		return pdfFailed("the passwords have more than %d KiB", maxPDFOptions>>10)
	}
	for _, part := range [][]byte{options, data} {
		if err := writePart(c.in, part); err != nil {
			return err
		}
	}
	for {
		var m pdfMessage
		if err := c.json.Decode(&m); err != nil {
			c.dead.Store(true)
			return err
		}
		if m.End {
			return nil
		}
		if err := take(m); err != nil {
			if m.Verdict == "" {
				c.dead.Store(true) // more is to come that nobody reads
			}
			return err
		}
	}
}

func (c *child) kill() {
	c.dead.Store(true)
	c.cmd.Process.Kill()
}

// end kills the child and waits for its end.
func (c *child) end() {
	c.once.Do(func() {
		c.kill()
		c.in.Close()
		c.cmd.Wait()
	})
}

var errChildAnswer = errors.New("the answer is too long")

// A boundedReader fails after left bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errChildAnswer
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// A headBuffer keeps the first bytes written to it.
type headBuffer struct {
	mu   sync.Mutex
	head []byte
}

func (h *headBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := 4096 - len(h.head); room > 0 {
		h.head = append(h.head, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *headBuffer) line() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	line, _, _ := bytes.Cut(h.head, []byte("\n"))
	return string(line)
}

// cause says why a child died, without a word of its own: those could hold the document's text.
func (h *headBuffer) cause(limits pdfLimits) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := string(h.head)
	switch {
	case strings.Contains(said, "stack overflow") || strings.Contains(said, "stack exceeds"):
		return "the engine crashed: stack overflow"
	case strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory"):
		return fmt.Sprintf("the engine needs more than %d MiB of memory", limits.memory>>20)
	case strings.Contains(said, "SIGXCPU"):
		return overTime(limits).Error()
	}
	return "the engine crashed"
}
