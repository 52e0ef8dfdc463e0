package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/claude-agent-go/claude/internal/proc"
)

// Transport starts a CLI. The default starts a child process; another one may
// run it in a container, on another machine, or not at all, as in tests.
//
// Start is called once for each session. Its context bounds the start, not the
// life of the CLI.
type Transport interface {
	Start(ctx context.Context, launch *Launch) (Conn, error)
}

// Launch describes the CLI that a Transport should start.
type Launch struct {
	Path string   // Options.CLIPath, possibly empty
	Args []string // the command line without the program
	Env  []string // the whole environment
	Dir  string   // Options.Cwd, possibly empty
	// Files are made by the SDK for this CLI alone: settings, the configuration
	// of MCP servers, a restored session with credentials. Args and Env have
	// their paths on this machine; see [Launch.At].
	Files []LaunchFile
	// Secrets are texts that the CLI knows and others should not: values of
	// MCP servers and settings whose names mark them as secret. A Transport
	// keeps them, and the secrets in Env, out of the standard error it passes
	// on.
	Secrets []string
	// Stderr gets the lines of standard error; nil if they are not wanted.
	Stderr func(line string)
	// Logger is never nil.
	Logger *slog.Logger
}

// Conn is a running CLI: Read reads its standard output until io.EOF, Write
// writes its standard input. Reads and writes run concurrently with each other
// and with all other methods; after Stop both return.
type Conn interface {
	io.ReadWriter
	// CloseWrite ends standard input: the CLI ends by itself when its work is
	// done. It may be called more than once.
	CloseWrite() error
	// Stop ends the CLI, politely first and in bounded time, and never leaves
	// it running. It may be called more than once and concurrently.
	Stop() error
	// Kill ends the CLI at once and silently, for [Session.Abort]. A Conn that
	// cannot do that does what Stop does. It may be called more than once and
	// concurrently, also with Stop.
	Kill() error
	// Wait blocks until the CLI has ended and reports how: nil for exit code
	// 0, otherwise an error, preferably with a method ExitCode() int like that
	// of *exec.ExitError. It may be called by several goroutines.
	Wait() error

	// PID returns the process id of the CLI on this system, even when it has
	// ended; 0 if it is not a process here. [Session.PID] returns it.
	PID() int
	// StderrTail returns the end of the CLI's standard error, for errors; "" if
	// it is not kept.
	StderrTail() string
	// Note is called once before the CLI is asked to end, to find the processes
	// that it started while they can still be seen.
	Note()
}

// NoProcess has the methods of a [Conn] that are about a process. Embed it in one
// whose CLI is not a process of this system. A Conn that wraps another embeds that
// instead, and passes everything on.
type NoProcess struct{}

// PID returns 0.
func (NoProcess) PID() int { return 0 }

// StderrTail returns nothing.
func (NoProcess) StderrTail() string { return "" }

// Note does nothing.
func (NoProcess) Note() {}

// ChildProcess returns the default Transport, for use in one that adds to it.
func ChildProcess() Transport { return child{} }

// child is the default Transport.
type child struct{}

func (child) Start(ctx context.Context, l *Launch) (Conn, error) {
	p, err := proc.Start(ctx, &proc.Command{
		Path: l.Path, Args: l.Args, Env: l.Env, Secrets: l.Secrets, Dir: l.Dir, Stderr: l.Stderr, Log: l.Logger,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// startFailure explains a failed start: the directory, the program, or the
// system.
func startFailure(ctx context.Context, path string, err error) error {
	if _, ok := errors.AsType[*proc.DirError](err); ok {
		return &OptionError{"Cwd", err.Error()}
	}
	if _, ok := errors.AsType[*OptionError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*StartError](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("claude: start the CLI: %w", err)
	}
	reason := ErrSpawn
	if _, ok := errors.AsType[*proc.NotFoundError](err); ok {
		reason = ErrNotFound
	}
	return &StartError{Reason: reason, Path: path, Err: err}
}

// exitFailure turns the error of Conn.Wait into a ProcessError; nil stays nil.
func exitFailure(err error) *ProcessError {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return &ProcessError{ExitCode: exit.Code, Signal: exit.Signal, Stderr: exit.Stderr}
	}
	failure := &ProcessError{ExitCode: -1, Err: err}
	if coder, ok := err.(interface{ ExitCode() int }); ok {
		failure.ExitCode = coder.ExitCode()
	}
	return failure
}
