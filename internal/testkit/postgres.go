//go:build unix

package testkit

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Postgres is a real PostgreSQL 16 with pgvector 0.6, from the wheel of the PyPI package pgserver, which holds the
// binaries. It listens on this machine, and asks for a password.
type Postgres struct {
	bin, data string
	port      int
	process   *exec.Cmd
	lifeline  io.Closer
	log       bytes.Buffer
}

const (
	pgserver         = "pgserver==0.1.4"
	postgresPassword = "larder-test-password"
	nobody           = 65534
)

// NewPostgres installs a server in dir and starts it. Its settings, such as fsync=off, come after dir.
func NewPostgres(dir string, settings ...string) (*Postgres, error) {
	if err := install(dir); err != nil {
		return nil, fmt.Errorf("install %s: %w", pgserver, err)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: filepath.Join(dir, "pgserver", "pginstall", "bin"), data: filepath.Join(dir, "data"), port: port}
	if err := p.initialize(dir, settings); err != nil {
		return nil, err
	}
	return p, p.Start()
}

// install unpacks the wheel, which is one for some Python, into dir: no Python runs its code.
func install(dir string) error {
	venv := filepath.Join(dir, "venv")
	if err := makeVenv(venv, "3.0"); err != nil {
		return err
	}
	download := exec.Command(filepath.Join(venv, "bin", "python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--python-version", "3.11", "--dest", dir, pgserver)
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", download, err, out)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("%d wheels: %w", len(wheels), err)
	}
	z, err := zip.OpenReader(wheels[0])
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "pgserver/pginstall/") && !strings.HasPrefix(f.Name, "pgserver.libs/") || strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("the wheel holds %q", f.Name)
		}
		if err := unpack(f, filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

func unpack(f *zip.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// initialize makes the server's files.
func (p *Postgres) initialize(dir string, settings []string) error {
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(postgresPassword), 0o644); err != nil {
		return err
	}
	if err := os.Mkdir(p.data, 0o700); err != nil {
		return err
	}
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		if err := os.Chown(p.data, nobody, nobody); err != nil {
			return err
		}
		// The folders of tests are for their user alone.
		for d := dir; d != filepath.Dir(d) && strings.HasPrefix(d, os.TempDir()+string(filepath.Separator)); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				return err
			}
		}
	}
	run := p.command("initdb", "--pgdata", p.data, "--username", "larder", "--pwfile", password, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	conf, err := os.OpenFile(filepath.Join(p.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "\nlisten_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\n%s\n", p.port, strings.Join(settings, "\n"))
	return errors.Join(err, conf.Close())
}

// command runs one of the server's programs, not as root.
func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.data
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// follow starts a program and stops it when its standard input ends, so that it never outlives a test, however that ends.
const follow = `"$@" & child=$!; (cat <&3; kill -QUIT $child) & wait $child`

// Start starts the server and waits until it answers.
func (p *Postgres) Start() error {
	server := p.command("postgres", "-D", p.data)
	server.Args = append([]string{"sh", "-c", "exec 3<&0; " + follow, "sh"}, server.Path, "-D", p.data)
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	server.Path = shell
	server.Stdout, server.Stderr = &p.log, &p.log
	if p.lifeline, err = server.StdinPipe(); err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	p.process = server
	for range 300 {
		if p.command("pg_isready", "--host", "127.0.0.1", "--port", strconv.Itoa(p.port), "--quiet").Run() == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.Stop()
	return fmt.Errorf("PostgreSQL does not start:\n%s", p.log.String())
}

// Stop ends the server at once, as a crash would, and waits for it.
func (p *Postgres) Stop() {
	if p.process == nil {
		return
	}
	p.lifeline.Close()
	_ = p.process.Wait()
	p.process = nil
}

// URL is the address of a database, with the password of its owner.
func (p *Postgres) URL(database string) string {
	return fmt.Sprintf("postgres://larder:%s@127.0.0.1:%d/%s?sslmode=disable", postgresPassword, p.port, database)
}

// Create makes a database.
func (p *Postgres) Create(database string) error {
	create := p.command("psql", p.URL("postgres"), "--quiet", "--command", fmt.Sprintf("CREATE DATABASE %q", database))
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("create database %s: %w\n%s", database, err, out)
	}
	return nil
}
