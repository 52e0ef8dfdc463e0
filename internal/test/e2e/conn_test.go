package e2e

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/claude-agent-go/claude"
)

// piped is a plain child process as a Conn, for tests that stand between it
// and the SDK.
type piped struct {
	io.Reader // what the SDK reads
	io.WriteCloser
	stdout io.ReadCloser // its reader closes it
	cmd    *exec.Cmd
	done   chan struct{}
	err    error
	once   sync.Once
}

func startPiped(_ context.Context, launch *claude.Launch) (*piped, error) {
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
	p := &piped{Reader: r, WriteCloser: stdin, stdout: r, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *piped) CloseWrite() error { return p.WriteCloser.Close() }

func (p *piped) Stop() error {
	p.once.Do(func() { p.cmd.Process.Signal(os.Interrupt) })
	<-p.done
	return nil
}

func (p *piped) Wait() error {
	<-p.done
	return p.err
}
