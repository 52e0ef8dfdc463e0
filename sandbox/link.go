package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
)

// A connection can be cut silently. Each side then has to notice by itself: the
// helper hears nothing for longer than silence and ends everything there.
const (
	beat    = 2 * time.Second
	silence = 6 * time.Second
)

var errBufferFull = bufio.ErrBufferFull

// reach starts a command that leads to a helper elsewhere, and hands it a task and the
// files of a launch.
func reach(ctx context.Context, l *claude.Launch, cmd *exec.Cmd, t task) (claude.Conn, error) {
	conn, err := start(ctx, l, cmd)
	if err != nil {
		return nil, err
	}
	told := make(chan error, 1)
	go func() { told <- tell(conn, l, t) }()
	select {
	case err = <-told:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		stopped := conn.Stop()
		if tail := conn.StderrTail(); tail != "" {
			err = fmt.Errorf("%w: %s", err, tail)
		}
		return nil, errors.Join(err, stopped)
	}
	k := &link{Conn: conn, whole: true}
	go k.beats(beat)
	return k, nil
}

// tell writes what comes before the input of the CLI.
func tell(conn claude.Conn, l *claude.Launch, t task) error {
	w := bufio.NewWriterSize(conn, 64<<10)
	if err := writeTask(w, t); err != nil {
		return fmt.Errorf("sandbox: hand over the launch: %w", err)
	}
	files := chunks{w}
	if err := l.WriteFiles(files); err != nil {
		return fmt.Errorf("sandbox: hand over the files: %w", err)
	}
	if err := errors.Join(files.Close(), w.Flush()); err != nil {
		return fmt.Errorf("sandbox: hand over the files: %w", err)
	}
	return nil
}

// link is a Conn to a CLI that a helper elsewhere has started. It puts lines for the
// helper between those for the CLI. Its standard error is that of the CLI, of the helper and
// of the way there, and the helper takes a cut for the end of the CLI, so Kill cuts. It is
// safe for concurrent use, as a Conn is.
type link struct {
	claude.Conn

	mu    sync.Mutex
	whole bool // what was written last ended a line
	ended bool
}

// Write implements [claude.Conn].
func (k *link) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, err := k.Conn.Write(b)
	if n > 0 {
		k.whole = b[n-1] == '\n'
	}
	return n, err
}

// CloseWrite implements [claude.Conn]: the helper is told that this is not a cut.
func (k *link) CloseWrite() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	k.ended = true
	// The CLI sees the end of its input; ours stays open, so a later cut also shows.
	line := endLine
	if !k.whole {
		line = "\n" + line
	}
	_, err := k.Conn.Write([]byte(line))
	k.whole = true
	return err
}

// beats sends a sign of life now and then until the connection ends. A write that is
// blocked needs none: the helper is busy, and hears us when it reads.
func (k *link) beats(every time.Duration) {
	over := make(chan struct{})
	go func() {
		_ = k.Conn.Wait() // the session reports it
		close(over)
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		k.mu.Lock()
		var err error
		if k.whole { // else a line is on its way
			_, err = k.Conn.Write([]byte(beatLine))
		}
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// PID returns 0: the process here is only the way to the CLI.
func (k *link) PID() int { return 0 }
