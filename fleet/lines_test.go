package fleet_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// rewritten is a CLI whose output change rewrites, line by line.
type rewritten struct {
	claude.Transport
	change func(line []byte) []byte
	begun  chan io.Writer // gets the output of each, for more lines; nil: they get none
}

func (r rewritten) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := r.Transport.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	from, to := io.Pipe() // so that lines can be added
	go func() {
		_, err := io.Copy(to, conn)
		to.CloseWithError(err)
	}()
	if r.begun != nil {
		r.begun <- to
	}
	return &rewrittenConn{Conn: conn, lines: bufio.NewReader(from), change: r.change}, nil
}

type rewrittenConn struct {
	claude.Conn
	lines  *bufio.Reader
	change func(line []byte) []byte
	left   []byte
}

func (c *rewrittenConn) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if err != nil {
			return copy(p, line), err
		}
		c.left = c.change(line)
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// A shell that a turn has left in the background keeps the CLI for Options.ShellGrace, and
// no longer. That counts from the end of the turn, however long it took, or from the end of
// the last agent in the background; a look at the store that finds nothing does not count.
func TestShellGrace(t *testing.T) {
	const grace = 5 * time.Minute
	for name, test := range map[string]struct {
		tasks   string        // that the turn leaves
		turn    time.Duration // how long it takes
		agent   time.Duration // after the turn, an agent begins as well; 0: none
		changed time.Duration // after that, only the shell is left; 0: from its end
		again   time.Duration // after the turn, another one begins; 0: none
		poked   bool
	}{
		"at once":            {tasks: `{"task_type":"local_bash"}`},
		"after a long turn":  {tasks: `{"task_type":"local_bash"}`, turn: 2 * grace},
		"after another turn": {tasks: `{"task_type":"local_bash"}`, again: grace - time.Minute},
		"poked meanwhile":    {tasks: `{"task_type":"local_bash"}`, poked: true},
		"after an agent":     {tasks: `{"task_type":"local_bash"},{"task_type":"local_agent"}`, changed: 2 * grace},
		"after a later one":  {tasks: `{"task_type":"local_bash"}`, agent: grace / 2, changed: 2 * grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := newScripted()
				outputs := make(chan io.Writer, 1)
				f := open(t, store.Memory(), rewritten{cli, func(line []byte) []byte {
					if bytes.Contains(line, []byte(`"type":"result"`)) {
						line = append([]byte(`{"type":"system","subtype":"background_tasks_changed","tasks":[`+test.tasks+`]}`+"\n"), line...)
					}
					return line
				}, outputs}, func(o *fleet.Options) { o.IdleAfter, o.ShellGrace = time.Minute, grace+time.Second/2 })
				defer closeFleet(t, f)
				release := cli.pause()
				send(t, f, "ada", "hello")
				<-time.After(test.turn)
				release()
				synctest.Wait()
				changes := func(after time.Duration, tasks string, out io.Writer) {
					<-time.After(after)
					fmt.Fprintln(out, `{"type":"system","subtype":"background_tasks_changed","tasks":[`+tasks+`]}`)
				}
				out := <-outputs
				if test.agent > 0 {
					changes(test.agent, `{"task_type":"local_bash"},{"task_type":"local_agent"}`, out)
				}
				if test.changed > 0 {
					changes(test.changed, `{"task_type":"local_bash"}`, out)
				}
				if test.again > 0 {
					<-time.After(test.again)
					send(t, f, "ada", "hello again")
					synctest.Wait()
				}
				end := time.Now().Add(grace)
				if test.poked {
					<-time.After(grace / 2)
					f.Poke("ada")
				}
				<-time.After(time.Until(end))
				if live, _ := cli.counts(); live != 1 {
					t.Errorf("%d CLIs while the shell may run", live)
				}
				<-time.After(2 * time.Second) // agents are looked at once in a second
				if live, _ := cli.counts(); live != 0 {
					t.Errorf("%d CLIs after the grace", live)
				}
			})
		})
	}
}

// A rewind reports the links that the CLI has left alone, which a dry run does not know.
func TestRewindReportsLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := 0
		f := checkpointed(t, store.Memory(), rewritten{editing(), func(line []byte) []byte {
			if bytes.Contains(line, []byte(`"canRewind":true`)) {
				if replies++; replies == 2 {
					line = bytes.Replace(line, []byte(`"canRewind":true`), []byte(`"canRewind":true,"skippedLinks":3`), 1)
				}
			}
			return line
		}, nil}, nil)
		defer closeFleet(t, f)
		prompt := edit(t, f, "ada", "/repo/a")
		got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt})
		if err != nil || got.SkippedLinks != 3 || !slices.Equal(got.FilesChanged, []string{"/repo/a"}) || replies != 2 {
			t.Errorf("%+v, %v, %d replies", got, err, replies)
		}
	})
}

// endedBy notes how a CLI is ended.
type endedBy struct {
	claude.Transport
	mu  sync.Mutex
	how []string
}

func (e *endedBy) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := e.Transport.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	return &endedConn{conn, e}, nil
}

func (e *endedBy) note(how string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.how = append(e.how, how)
}

type endedConn struct {
	claude.Conn
	e *endedBy
}

func (c *endedConn) CloseWrite() error { c.e.note("close"); return c.Conn.CloseWrite() }
func (c *endedConn) Stop() error       { c.e.note("stop"); return c.Conn.Stop() }
func (c *endedConn) Kill() error       { c.e.note("kill"); return c.Conn.Stop() }

// A CLI whose conversation is deleted in the middle of a turn is killed: it must not do
// what it would do in its last seconds.
func TestDeleteKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		ends := &endedBy{Transport: cli}
		f := open(t, store.Memory(), ends, nil)
		defer closeFleet(t, f)
		send(t, f, "ada", "hello")
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		ends.mu.Lock()
		defer ends.mu.Unlock()
		if len(ends.how) == 0 || ends.how[0] != "kill" {
			t.Errorf("it was ended by: %s", strings.Join(ends.how, ", "))
		}
	})
}
