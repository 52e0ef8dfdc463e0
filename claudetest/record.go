package claudetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Redaction defines what a recording must not show. The zero value, or a nil
// pointer, hides API keys and the values of environment variables, settings and
// MCP servers whose names mark them as secret, with a part such as KEY, TOKEN,
// SECRET or PASSWORD. Values of fewer than eight bytes are not secrets unless
// Secrets names them.
//
// Secrets are found however JSON escapes them, even when a model streams them in
// pieces: the lines of a block are held until it ends.
type Redaction struct {
	// Secrets are further texts to hide.
	Secrets []string
	// Line, if set, changes each line after redaction. It must return valid
	// JSON.
	Line func(dir Dir, msg json.RawMessage) json.RawMessage
}

// Recorder is a [claude.Transport] that records the traffic of another one.
type Recorder struct {
	next claude.Transport
	red  Redaction

	mu  sync.Mutex
	w   io.Writer
	err error
}

var _ claude.Transport = (*Recorder)(nil)

// Record returns a Transport that starts the CLI with next, or as a child
// process if next is nil, and writes every line of the session to w as it
// happens, with its time. [Replay] plays the resulting file. Concurrent
// sessions each need their own recorder.
func Record(next claude.Transport, w io.Writer, redaction *Redaction) *Recorder {
	if next == nil {
		next = claude.ChildProcess()
	}
	r := &Recorder{next: next, w: w}
	if redaction != nil {
		r.red = *redaction
	}
	return r
}

// Err returns the first error of writing the recording. The session continues
// without the recording.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Start starts a session. The SDK calls it.
func (r *Recorder) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	hide := r.red.hider(launch, r.write)
	t := newRecording()
	t.each = hide.next
	argv, err := jsonx.Marshal(map[string]any{"argv": append([]string{"claude"}, launch.Args...)})
	if err != nil {
		return nil, fmt.Errorf("claudetest: record: %w", err)
	}
	t.add(DirMeta, argv)
	conn, err := r.next.Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	return &recorded{
		Conn: conn, t: t, hide: hide,
		in:  &tap{t: t, dir: DirIn, next: nopCloser{conn}},
		out: &tap{t: t, dir: DirOut},
	}, nil
}

func (r *Recorder) write(e RecordingEntry) {
	line, err := jsonx.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.w.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

// recorded is a Conn whose lines are recorded.
type recorded struct {
	claude.Conn
	t       *Recording
	hide    *hider
	in, out *tap
	end     sync.Once
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (c *recorded) Write(b []byte) (int, error) { return c.in.Write(b) }

func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.out.note(b[:n])
	if err != nil {
		c.hide.end() // not when the process has ended: its output may still be unread
	}
	return n, err
}

func (c *recorded) CloseWrite() error {
	_ = c.in.Close() // notes the end; there is nothing behind it to close
	return c.Conn.CloseWrite()
}

func (c *recorded) Wait() error {
	err := c.Conn.Wait()
	c.end.Do(func() {
		code := 0
		if coder, ok := err.(interface{ ExitCode() int }); ok {
			code = coder.ExitCode()
		} else if err != nil {
			code = -1
		}
		c.t.add(DirMeta, fmt.Appendf(nil, `{"exit_code":%d}`, code))
	})
	return err
}
