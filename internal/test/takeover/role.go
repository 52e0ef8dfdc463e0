package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// The environment variables of a process of this program.
const (
	roleVariable  = "TAKEOVER_ROLE"  // the role of one that runs a fleet
	notesVariable = "TAKEOVER_NOTES" // the file of one that is an MCP server
)

// Backend is a kind of store.
type Backend struct {
	Name string
	// Start begins what all runs share, such as servers. The function that it
	// returns names the place and the project of a run's data. Stop ends it.
	Start func(ctx context.Context, dir string) (place func(run int) (where, project string), stop func() error, err error)
	// Open opens the store at a place. Closing it is up to the end of the process, unless
	// it is a Closer.
	Open func(ctx context.Context, where string) (store.Fleet, error)
}

// role configures a process that runs a fleet.
type role struct {
	Where, Project    string
	CLI, Dir, Journal string
	Env               []string
	Temp              string // for temporary files of the process itself
	Effects           string // a file
	Leases            string // a file for the leases that it gets
	Tool              Tool
	Gate              Gate
	Patience          time.Duration
	At                Moment
	Mark              string
	CountWrites       bool
	MaxLive           int
}

// report is the output of such a process that ends in order.
type report struct{ Writes int }

// key is the conversation, and leaseTime how long it is leased: long enough for a busy
// machine. No run waits for its end, see [run.free].
const (
	key       = "ada"
	leaseTime = 10 * time.Second
)

// Play lets this process be a part of a run, if it was started for that, and returns
// whether it was. Call it first in main, or in TestMain.
func Play(b Backend) (code int, played bool) {
	var err error
	if effects := os.Getenv(notesVariable); effects != "" {
		err = serveNotes(effects)
	} else if text := os.Getenv(roleVariable); text != "" {
		var r role
		if err = json.Unmarshal([]byte(text), &r); err == nil {
			err = r.play(context.Background(), b)
		}
	} else {
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// play runs a fleet until stdin ends, or this process dies.
func (r *role) play(ctx context.Context, b Backend) error {
	db, err := b.Open(ctx, r.Where)
	if err != nil {
		return err
	}
	deadly := &mortal{Fleet: db, at: r.At, leases: r.Leases}
	o := r.options(deadly)
	o.Session = func(context.Context, string) (*claude.Options, error) { return r.session() }
	if r.At.Delay > 0 {
		go r.dieAfterEffect()
	}
	f, err := fleet.Open(ctx, o)
	if err != nil {
		return err
	}
	if r.Gate == Program {
		go decideAll(ctx, f.Approvals())
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
	if err := f.Close(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report{deadly.count()})
}

// options are those of a fleet of the run.
func (r *role) options(db store.Fleet) fleet.Options {
	o := fleet.Options{
		Store: db, Project: r.Project, Journal: r.Journal, TTL: leaseTime, Poll: 100 * time.Millisecond, MaxLive: r.MaxLive,
		Grace: time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if r.Gate != NoGate {
		o.Gate = &approval.Options{Patience: r.Patience}
	}
	return o
}

// session is the real CLI with the tool of the run.
func (r *role) session() (*claude.Options, error) {
	o := &claude.Options{
		CLIPath: r.CLI, Cwd: r.Dir, Env: r.Env, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		PermissionMode: permission.ModeBypassPermissions, AllowBypassPermissions: true, StrictMCPConfig: true,
	}
	switch r.Tool {
	case GoTool:
		o.MCPServers = claude.MCPServers{"own": &harness.MCPServer{Answer: noteServer(r.Effects)}}
	case MCP:
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		name, value := cut(r.Mark)
		o.MCPServers = claude.MCPServers{"other": claude.StdioServer{
			Command: program, Env: map[string]string{notesVariable: r.Effects, name: value}, AlwaysLoad: true,
		}}
	}
	return o, nil
}

// dieAfterEffect kills this process some time after the effect of the tool.
func (r *role) dieAfterEffect() {
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if _, err := os.Stat(r.Effects); err == nil {
			break
		}
	}
	<-time.After(r.At.Delay)
	die()
}

// decideAll allows every call at once.
func decideAll(ctx context.Context, in approval.Inbox) {
	for q, err := range in.Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return
		}
		if q.State == approval.StateOpen {
			_ = allow(ctx, in, q, "program") // the judge sees what is decided
		}
	}
}

// allow decides a question. That it can no longer be decided is not an error.
func allow(ctx context.Context, in approval.Inbox, q approval.Question, by string) error {
	_, err := in.Decide(ctx, q.ID, approval.Answer{Decision: permission.Allow(), By: by, Digest: q.Digest})
	if errors.Is(err, approval.ErrGone) {
		return errGone
	}
	return err
}

// errGone means that a decision came too late.
var errGone = errors.New("the question is gone")
