package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/claude-agent-go/claude"
)

// bare starts the CLI without asking for its version, so that what is measured
// is the CLI and not what the SDK knows of it already.
type bare struct{}

func (bare) Start(_ context.Context, l *claude.Launch) (claude.Conn, error) {
	cmd := exec.Command(l.Path, l.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = l.Env, l.Dir, io.Discard
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it before everything is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	w.Close()
	return &conn{Reader: r, WriteCloser: stdin, cmd: cmd, wait: sync.OnceValue(cmd.Wait)}, nil
}

type conn struct {
	io.Reader
	io.WriteCloser
	cmd  *exec.Cmd
	wait func() error
}

func (c *conn) CloseWrite() error { return c.WriteCloser.Close() }
func (c *conn) Wait() error       { return c.wait() }

func (c *conn) Stop() error {
	_ = c.cmd.Process.Signal(os.Interrupt)
	_ = c.cmd.Process.Kill() // nothing of a probe is worth waiting for
	_ = c.wait()
	return nil
}
