package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// besideCLI measures our share of a whole session with the real CLI. The CLI's own
// time varies from start to start by more than that, so the share is not a
// difference of times: it is the time for which the CLI waits for us. The start of
// the process and the processor time are compared with the same dialogue by hand;
// they take turns, and the median of the differences counts.
func besideCLI(ctx context.Context, b *bench) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, cliBound) // a CLI that hangs is ended
	defer cancel()
	m, err := startModel(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	r, err := openReal(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var wall, cpu []float64
	for i := range b.scale(11) + 1 {
		used := cputime.Used()
		ours, launch, err := wholeSession(ctx, r.opts)
		if err != nil {
			return nil, err
		}
		between := cputime.Used()
		started, err := dialogue(ctx, launch)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			wall = append(wall, float64(ours.own+ours.started-started))
			cpu = append(cpu, float64(2*between-used-cputime.Used()))
		}
	}
	return []row{
		{Case: rowOwnWall, Ours: medianOf(wall), Spread: spreadOf(wall)},
		{Case: rowOwnCPU, Ours: medianOf(cpu), Spread: spreadOf(cpu)},
	}, nil
}

// wholeSession starts a session, has a turn and ends it, and returns what of it was
// ours and how the CLI was started.
func wholeSession(ctx context.Context, o *claude.Options) (*stopwatch, *claude.Launch, error) {
	t := &timedTransport{watch: &stopwatch{awaited: []string{`"type":"control_response"`, `"type":"result"`}}}
	with := *o
	with.Transport = t
	t.watch.begin()
	s, err := claude.Connect(ctx, &with)
	if err != nil {
		return nil, nil, err
	}
	err = prompted(ctx, s, "Hello")
	t.watch.end()
	if missed := t.watch.missed(); err == nil && missed != "" {
		err = errors.New("the CLI has not said " + missed)
	}
	return t.watch, t.launch, errors.Join(err, s.Close())
}

// stopwatch measures how long the CLI waits for us: it stops with what we write, and
// continues when the CLI has written the line that we wait for. A session reads and
// writes in turns here, and waits for one thing at a time.
type stopwatch struct {
	mu      sync.Mutex
	own     time.Duration
	started time.Duration // of the start of the process, which is not in own
	since   time.Time     // zero while it is stopped
	awaited []string      // what is in the lines that continue it
	tail    []byte        // the end of what was read, from what is awaited on if that has come
}

func (w *stopwatch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

func (w *stopwatch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		w.own += time.Since(w.since)
		w.since = time.Time{}
	}
}

// missed returns what was awaited and has not come.
func (w *stopwatch) missed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.awaited, ", ")
}

// read looks at what the CLI has written.
func (w *stopwatch) read(text []byte) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.awaited) == 0 || !w.since.IsZero() {
		return
	}
	w.tail = append(w.tail, text...)
	i := bytes.Index(w.tail, []byte(w.awaited[0]))
	if i < 0 {
		w.tail = w.tail[max(len(w.tail)-len(w.awaited[0]), 0):]
		return
	}
	w.tail = w.tail[i:]
	if bytes.IndexByte(w.tail, '\n') >= 0 {
		w.since, w.tail, w.awaited = now, nil, w.awaited[1:]
	}
}

// timedTransport starts child processes, with a stopwatch, and keeps how.
type timedTransport struct {
	watch  *stopwatch
	launch *claude.Launch
}

func (t *timedTransport) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	t.launch = l
	t.watch.end()
	begin := time.Now()
	conn, err := claude.ChildProcess().Start(ctx, l)
	t.watch.started = time.Since(begin)
	t.watch.begin()
	return &timedConn{conn, t.watch}, err
}

type timedConn struct {
	claude.Conn
	watch *stopwatch
}

func (c *timedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.watch.read(p[:n])
	return n, err
}

func (c *timedConn) Write(p []byte) (int, error) {
	c.watch.end()
	return c.Conn.Write(p)
}

// dialogue starts the CLI, has a turn and ends it, with nothing but a pipe. It
// returns how long it took to start the process.
func dialogue(ctx context.Context, l *claude.Launch) (started time.Duration, err error) {
	cmd := exec.CommandContext(ctx, l.Path, freshSession(l.Args)...)
	cmd.Dir, cmd.Env, cmd.Stderr = l.Dir, l.Env, os.Stderr
	begin := time.Now()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	started = time.Since(begin)
	lines := bufio.NewReaderSize(out, 1<<20)
	await := func(kind string) error {
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil || bytes.Contains(line, []byte(`"type":"`+kind+`"`)) {
				return err
			}
		}
	}
	say := func(line string) error {
		_, err := io.WriteString(in, line+"\n")
		return err
	}
	err = errors.Join(
		say(`{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}`), await("control_response"),
		say(`{"type":"user","message":{"role":"user","content":"Hello"},"parent_tool_use_id":null,"session_id":""}`), await("result"),
	)
	err = errors.Join(err, in.Close())
	_, rest := io.Copy(io.Discard, lines)
	return started, errors.Join(err, rest, cmd.Wait())
}

// freshSession replaces the id of the session, which the CLI takes only once.
func freshSession(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "--session-id=") {
			args[i] = "--session-id=" + uuid.New()
		} else if arg == "--session-id" && i+1 < len(args) {
			args[i+1] = uuid.New()
		}
	}
	return args
}

// playModel makes this program a scripted model. To read what a CLI asks takes as
// much processor time as all that is measured, so it is done elsewhere.
const playModel = "model"

// modelProcess is such a program.
type modelProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	env []string // of a CLI whose home is homeMark
}

// homeMark stands for the home of a CLI.
const homeMark = "{home}"

func startModel(ctx context.Context) (*modelProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m := &modelProcess{cmd: exec.CommandContext(ctx, self)}
	m.cmd.Env, m.cmd.Stderr = append(os.Environ(), playVariable+"="+playModel), os.Stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != ""; {
		m.env = append(m.env, lines.Text())
	}
	if len(m.env) == 0 {
		return nil, errors.Join(errors.New("the model has not started"), m.close())
	}
	return m, nil
}

func (m *modelProcess) Env(home string) []string {
	env := slices.Clone(m.env)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], homeMark, home)
	}
	return env
}

func (m *modelProcess) close() error { return errors.Join(m.in.Close(), m.cmd.Wait()) }

// serveModel is the main of the program: it prints the environment of a CLI, and
// serves until its input ends.
func serveModel() error {
	m := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("Hello") })
	if _, err := m.Start(); err != nil {
		return err
	}
	if _, err := io.WriteString(os.Stdout, strings.Join(m.Env(homeMark), "\n")+"\n\n"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, m.Close())
}
