package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"example.com/larder/artifact"
	"example.com/larder/serve/postgres"
)

type pushCommand struct {
	Artifact string `arg:"" help:"An artifact, or a base's folder on a shelf." placeholder:"ARTIFACT"`
	Address  string `arg:"" optional:"" help:"The database, as postgres://user@host/name." placeholder:"URL"`
	URLEnv   string `name:"url-env" help:"The environment variable with the database's whole address, in place of URL." placeholder:"NAME"`
	Memory   string `default:"512MB" help:"Memory that the server may use to make the index." placeholder:"SIZE"`
}

func (pushCommand) Help() string {
	return `Loads a baked artifact into PostgreSQL with pgvector, in one transaction: readers see the old version or the new one.
The password is PGPASSWORD in the environment or in .env. For example:
  larder push dist/refunds postgres://larder@db.example.org/knowledge`
}

func (c *pushCommand) Run(e *environment) error {
	address, err := c.address()
	if err != nil {
		return err
	}
	step := ""
	p, err := postgres.Push(e, c.Artifact, address, postgres.PushOptions{Memory: c.Memory, Progress: func(now string, done, total int) {
		if now != step || done == total && total > 0 {
			step = now
			fmt.Fprintf(e.err, "larder: %s%s\n", now, progress(done, total))
		}
	}})
	if err != nil {
		return err
	}
	if p.Warning != "" {
		fmt.Fprintf(e.err, "larder: %s\n", p.Warning)
	}
	what := "pushed"
	switch {
	case p.Current:
		what = "already there:"
	case p.Existed:
		what = "already loaded, and current again:"
	}
	fmt.Fprintf(e.out, "%s %s %s, %d documents, %d chunks, %s, in %.1f s\n", what, p.Base, artifact.FolderName(p.Version), p.Documents, p.Chunks, indexed(p), p.Took.Round(time.Millisecond).Seconds())
	return nil
}

func progress(done, total int) string {
	if total == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d", done, total)
}

func indexed(p *postgres.Pushed) string {
	if p.Existed {
		return "nothing to load"
	}
	if p.Indexed {
		return "with an index of vectors"
	}
	return "without an index of vectors"
}

// address is the database's, with the password.
func (c *pushCommand) address() (string, error) {
	if (c.Address == "") == (c.URLEnv == "") {
		return "", hinted{usageError{errors.New("the address of the database, or --url-env, is needed, and not both")}, "larder push ARTIFACT postgres://user@host/name"}
	}
	var env secrets
	if c.URLEnv != "" {
		address, ok := env.lookup(c.URLEnv)
		if env.err != nil {
			return "", env.err
		}
		if !ok || address == "" {
			return "", usageError{fmt.Errorf("--url-env: the environment variable %s is not set", c.URLEnv)}
		}
		return address, nil
	}
	return databaseAddress(c.Address, &env)
}

// isDatabase tells whether a place is a database's address.
func isDatabase(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// databaseAddress adds the password to an address. One that holds it already is refused: others see it in the list of
// processes.
func databaseAddress(address string, env *secrets) (string, error) {
	u, err := url.Parse(address)
	if err != nil || !isDatabase(address) || u.Host == "" {
		return "", usageError{errors.New("the address of the database is not like postgres://user@host:port/database")}
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return "", hinted{usageError{errors.New("the address of the database holds a password, which others may see")}, "put it into PGPASSWORD, in the environment or .env, or the whole address into a variable that --url-env names"}
	}
	password, ok := env.lookup("PGPASSWORD")
	if env.err != nil {
		return "", env.err
	}
	if ok && password != "" {
		u.User = url.UserPassword(cmp.Or(u.User.Username(), os.Getenv("PGUSER"), os.Getenv("USER")), password)
	}
	return u.String(), nil
}
