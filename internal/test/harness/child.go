package harness

import (
	"io"
	"os"
	"os/exec"

	"github.com/claude-agent-go/claude"
)

// Child is a plain child process as a Conn, for tests that stand between it and
// the SDK, and for programs that must see the CLI as it is.
type Child struct {
	claude.NoProcess
	io.Reader // what the SDK reads; tests may put something in between
	io.WriteCloser
	Stdout  io.ReadCloser // of the process; its reader closes it
	Process *os.Process

	done chan struct{}
	err  error
}

// StartChild starts what a session would start.
func StartChild(launch *claude.Launch) (*Child, error) {
	cmd := exec.Command(launch.Path, launch.Args...)
	cmd.Env, cmd.Dir = launch.Env, launch.Dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: Wait would close that of StdoutPipe too early.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	c := &Child{Reader: r, WriteCloser: stdin, Stdout: r, Process: cmd.Process, done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// CloseWrite ends the input of the process.
func (c *Child) CloseWrite() error { return c.WriteCloser.Close() }

// Stop interrupts the process and waits for its end.
func (c *Child) Stop() error {
	_ = c.Process.Signal(os.Interrupt) // it may have ended
	<-c.done
	return nil
}

// Kill does what Stop does.
func (c *Child) Kill() error { return c.Stop() }

// Wait waits for the end of the process.
func (c *Child) Wait() error {
	<-c.done
	return c.err
}
