package pipeline

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// When the process that fetches is killed, the client that it runs ends too. The test runs itself as that
// process.
func TestClientEndsWithItsParent(t *testing.T) {
	const variable = "LARDER_TEST_KILLED_CACHE"
	if dir := os.Getenv(variable); dir != "" {
		f := newFixture(t, mavenSource(graph))
		f.Cache.Dir = dir
		f.limits = defaultLimits
		f.Model(context.Background(), "m")
		t.Fatal("the fetch ended")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fakeClients(t, "mvn:hang", "mvn")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("LARDER_TEST_DIAL", l.Addr().String())
	t.Setenv(variable, filepath.Join(t.TempDir(), "cache"))
	parent := exec.Command(exe, "-test.run=^TestClientEndsWithItsParent$")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	if _, err := io.Copy(io.Discard, conn); err != nil { // ends when the client is gone
		t.Error(err)
	}
}
