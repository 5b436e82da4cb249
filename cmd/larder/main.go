// Larder bakes folders of documents into search artifacts and answers questions from them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"example.com/larder/artifact"
	"example.com/larder/pipeline"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the work failed: a document, a check, a file that could not be read
	exitUsage  = 2 // the command line or a setting is wrong
)

// version is set by the build; "dev" otherwise.
var version = "dev"

type commands struct {
	Bake           bakeCommand           `cmd:"" help:"Bake folders of documents into artifacts."`
	Search         searchCommand         `cmd:"" help:"Find what answers a question in baked artifacts."`
	Query          queryCommand          `cmd:"" help:"Ask shelves and databases, for snippets or a cited answer in Markdown."`
	KnowledgeAdmin knowledgeAdminCommand `cmd:"" help:"Tell how connections and their spaces are."`
	Push           pushCommand           `cmd:"" help:"Load an artifact into PostgreSQL with pgvector."`
	Show           showCommand           `cmd:"" help:"Print what an artifact holds."`
	Verify         verifyCommand         `cmd:"" help:"Check every byte and every rule of an artifact."`
	Parse          parseCommand          `cmd:"" help:"Print what a bake would read of a file."`
	Eval           evalCommand           `cmd:"" help:"Measure how well questions are answered."`
	Models         modelsCommand         `cmd:"" help:"List or fetch the files that models.lock names."`
	Mcp            mcpCommand            `cmd:"" help:"Serve tools for agents over the Model Context Protocol."`
	Tools          toolsCommand          `cmd:"" help:"Print or run the tools that agents call."`
	Schema         schemaCommand         `cmd:"" help:"Print the JSON Schema of base.yaml."`
	Version        versionCommand        `cmd:"" help:"Print the version."`
}

const description = `Bake knowledge once, look it up anywhere.

Exit codes: 0 done, 1 the work failed, 2 the command line or a setting is wrong.`

// An environment is what commands need besides their arguments.
type environment struct {
	context.Context
	out      io.Writer // results; control characters are escaped on the way
	terminal *os.File  // what is behind out, if it shows colours: nothing is escaped here
	err      io.Writer // progress
}

func main() {
	pipeline.RunChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	exit := -1
	parser, err := newParser(kong.Writers(out, errOut), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		panic(err) // the commands are declared wrongly
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help
	}
	if err != nil {
		return fail(errOut, hinted{usageError{err}, "larder --help lists the commands, larder COMMAND --help its flags"})
	}
	return fail(errOut, parsed.Run(&environment{ctx, escaper{out}, colourTerminal(out), errOut}))
}

func newParser(options ...kong.Option) (*kong.Kong, error) {
	return kong.New(new(commands), append(options, kong.Name("larder"), kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))...)
}

// A usageError is one of the command line, of settings or of a question file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// A hinted error says what can be done.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }
func (e hinted) Hint() string  { return e.hint }

// fail prints an error and returns the exit code. Of several errors that are joined each is printed.
func fail(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		code := exitOK
		for _, one := range joined.Unwrap() {
			code = max(code, fail(w, one))
		}
		return code
	}
	w = escaper{w}
	fmt.Fprintf(w, "larder: error: %v\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(w, "larder: hint: %s\n", hint)
	}
	var usage usageError
	var settings *pipeline.SettingsError
	if errors.As(err, &usage) || errors.As(err, &settings) {
		return exitUsage
	}
	return exitFailed
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	var settings *pipeline.SettingsError
	switch {
	case errors.As(err, &h):
		return h.Hint()
	case errors.As(err, &settings):
		return "larder schema prints the JSON Schema of base.yaml, which editors can use"
	case errors.Is(err, artifact.ErrCorrupt):
		return "fetch or bake the artifact again; larder verify checks it"
	case errors.Is(err, artifact.ErrUnsupported):
		return "use the larder that made the artifact, or bake it again with this one"
	}
	return ""
}

type versionCommand struct{}

func (versionCommand) Run(e *environment) error {
	fmt.Fprintf(e.out, "larder %s, artifact format %s, %s\n", version, artifact.Format, builtWith())
	return nil
}

// builtWith says which embedders this program has.
func builtWith() string {
	goVersion := "unknown Go"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	if pipeline.HasONNX {
		return "embedders onnx and native, " + goVersion
	}
	return "embedder native, " + goVersion
}

type schemaCommand struct{}

func (schemaCommand) Run(e *environment) error {
	_, err := e.out.Write(pipeline.Schema())
	return err
}
