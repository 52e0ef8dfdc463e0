package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// T is the part of testing.T that is needed here.
type T interface {
	long.T
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Fatal(args ...any)
	Log(args ...any)
}

// patience is how long a server may take to start or to stop.
const patience = 30 * time.Second

// process is a server that runs.
type process struct {
	cmd *exec.Cmd
	out output
	end chan struct{}
}

// output is the end of what a server prints.
type output struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the last of it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if over := len(o.text) - 8<<10; over > 0 {
		o.text = bytes.Clone(o.text[over:])
	}
	return len(p), nil
}

// String returns it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// start starts a server that is stopped at the end of the test.
func start(t T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, end: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its output is more helpful
		close(p.end)
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop asks a server to end, and ends it when it does not.
func (p *process) stop(t T) {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may be gone
	select {
	case <-p.end:
	case <-time.After(patience):
		t.Log(p.cmd.Path, "does not stop:", p.out.String())
		_ = p.cmd.Process.Kill()
		<-p.end
	}
}

// await waits until a server reports that it is ready. It returns false if the
// server ended, as it does when another process took its port.
func (p *process) await(ctx context.Context, ready string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if strings.Contains(p.out.String(), ready) {
			return true, nil
		}
		select {
		case <-p.end:
			return false, nil
		case <-ctx.Done():
			return false, errors.New(p.cmd.Path + " does not start: " + p.out.String())
		case <-tick.C:
		}
	}
}

// freePort returns a port of loopback that is currently unused.
func freePort(t T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// listen starts a server on a free port, and waits until it reports that it is
// ready. Another process may take the port in between, so it tries a few times.
func listen(t T, ready string, command func(port int) *exec.Cmd) (address string) {
	t.Helper()
	var p *process
	for range 5 {
		port := freePort(t)
		p = start(t, command(port))
		ok, err := p.await(t.Context(), ready)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	t.Fatal(p.cmd.Path + " ends at once: " + p.out.String())
	return ""
}
