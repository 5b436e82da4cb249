package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"example.com/larder/serve/mcp"
	"example.com/larder/serve/tools"
)

type mcpCommand struct {
	HTTP     string   `name:"http" help:"Serve streamable HTTP at this address, at /mcp, instead of standard input and output." placeholder:"HOST:PORT"`
	Host     []string `sep:"none" help:"With --http: a further name by which the server may be called; may be repeated." placeholder:"NAME"`
	TokenEnv string   `help:"With --http: the environment variable with the bearer token that callers must send." placeholder:"NAME"`
	Budget   int      `default:"2000" help:"Tokens that an answer may have; 0 for any number." placeholder:"N"`
	Lang     string   `enum:"en,ru" default:"en" help:"Language of the tools' descriptions." placeholder:"en|ru"`
	serveOptions
}

func (mcpCommand) Help() string {
	return `Tools: look_up (of several bases look_up_BASE, or as base.yaml names it), search and fetch, and kb_* where there are files:
folders of documents, and artifacts with originals. Artifacts are followed: a new version answers as soon as it is checked.
A folder of documents is started as its base.yaml declares, from its index_dir if there is an index. The log is on standard error.`
}

func (c *mcpCommand) Run(e *environment) error {
	start := time.Now()
	// What is printed by accident must not reach the client as part of the protocol.
	out := os.Stdout
	os.Stdout = os.Stderr
	log := slog.New(slog.NewTextHandler(e.err, nil))
	http := mcp.HTTPOptions{Hosts: c.Host}
	if c.TokenEnv != "" {
		token, err := c.token()
		if err != nil {
			return err
		}
		http.Token = token
	}
	s, err := c.open(e, log)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.table(c.HTTP == "")
	if err != nil {
		return err
	}
	budget := c.Budget
	if budget <= 0 {
		budget = -1
	}
	server := mcp.NewServer(list, mcp.Options{Version: version, Language: tools.Language(c.Lang), Budget: budget, Logger: log})
	ctx, fail := context.WithCancelCause(e)
	defer fail(nil)
	serve := func() error { return mcp.Serve(ctx, server, os.Stdin, out) }
	where := "standard input and output"
	if c.HTTP != "" {
		listener, err := mcp.Listen(ctx, c.HTTP, http)
		if err != nil {
			return hinted{usageError{err}, "larder mcp --http 127.0.0.1:8765, or --token-env NAME for an address that others reach"}
		}
		where = "http://" + listener.Addr().String() + mcp.Path
		serve = func() error { return mcp.ServeHTTP(ctx, listener, mcp.Handler(server, http)) }
	}
	log.Info("serving", "at", where, "tools", len(list), "ms", time.Since(start).Milliseconds())
	go func() {
		if err := s.opened(); err != nil {
			fail(err) // a server that knows nothing should not answer
		}
	}()
	err = serve()
	if cause := context.Cause(ctx); cause != nil && e.Err() == nil {
		return cause
	}
	return err
}

// token is the value of the variable that --token-env names.
func (c *mcpCommand) token() (string, error) {
	var env secrets
	token, _ := env.lookup(c.TokenEnv)
	if env.err != nil {
		return "", env.err
	}
	if len(token) < 16 {
		return "", hinted{usageError{fmt.Errorf("--token-env: the environment variable %s is not set, or shorter than 16 characters", c.TokenEnv)}, "openssl rand -hex 32 makes a token"}
	}
	return token, nil
}
