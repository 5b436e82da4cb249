//go:build unix

package pipeline

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A client that is stopped takes what it started with it: here a shell script around a program that
// hangs.
func TestClientIsStoppedWithItsChildren(t *testing.T) {
	fakeClients(t, "python:hang", "python")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("LARDER_TEST_DIAL", l.Addr().String())
	dir := os.Getenv("PATH")
	script := "#!/bin/sh\ncase \"$1\" in --version) exit 0;; esac\n'" + filepath.Join(dir, "python") + "' -m pip download --dest x\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			cancel()
			_, err = io.Copy(io.Discard, conn) // ends when the program is gone
		}
		gone <- err
	}()
	f := newFixture(t, mavenSource(graph))
	f.limits.client = quick.build
	if _, err := f.Model(ctx, "m"); err == nil {
		t.Error("fetching from a program that hangs succeeds")
	}
	<-gone
	f.wantFiles(t)
}
