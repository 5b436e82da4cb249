//go:build heavy

package postgres

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/larder/internal/testkit"
)

// server is the one database server of these tests.
var server = sync.OnceValues(func() (*testkit.Postgres, error) {
	return testkit.NewPostgres(folder, "fsync = off", "max_connections = 60")
})

var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "postgres")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		folder = dir
		defer os.RemoveAll(dir)
		defer func() {
			if s, err := server(); err == nil {
				s.Stop()
			}
		}()
		return m.Run()
	}())
}

var databases atomic.Int32

// database makes an empty database and returns its address.
func database(t testing.TB) string {
	t.Helper()
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test_%d_%s", databases.Add(1), strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, t.Name())))
	name = name[:min(len(name), 60)]
	if err := s.Create(name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}
