package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/npm"
)

// The names of the rows about editors. Beside ours is the npm adapter.
const (
	rowACPStart  = "from the start to the answer of initialize, ns"
	rowACPMemory = "memory of the agent with three sessions, bytes"
	rowACPCode   = "and the pages of its program that are loaded, bytes"
	rowACPWhole  = "both together, bytes"
	rowACPQuiet  = "both together, three seconds later, bytes"
	rowACPMedian = "a piece of text from the CLI to the editor, median, ns"
	rowACPChunk  = "a piece of text from the CLI to the editor, 99th percentile, ns"
)

// acpSessions is how many sessions the agents have open, acpPause how long they are quiet
// before their memory is measured again, and acpChunks how many pieces of text go through
// ours.
const (
	acpSessions = 3
	acpPause    = 3 * time.Second
	acpChunks   = 2000
)

// acpGroups measure "claudectl acp" beside the npm adapter.
func acpGroups() []group {
	return []group{{"acp: agents", acpAgents}, {"acp: chunks", acpPieces}}
}

func acpGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		below("initialize is answered at most 50 ms after the start", rowACPStart, "ns", value, 50e6),
		below("three sessions need at most 15 MiB beside their CLIs at the end of a turn", rowACPWhole, "bytes", value, 15<<20),
		below("three sessions that are quiet need at most 15 MiB beside their CLIs", rowACPQuiet, "bytes", value, 15<<20),
		below("a piece of text is delayed by at most 0.2 ms at the 99th percentile", rowACPChunk, "ns", value, 0.2e6),
	}
}

// The adapter, and a node that is new enough for it.
var (
	acpAdapter = npm.Package{Name: "@agentclientprotocol/claude-agent-acp", Version: "0.99.1", Has: "dist/index.js", Flags: []string{"--omit=optional"}}
	acpNode    = npm.Package{Name: "node-linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], Version: "24.21.0", Has: "bin/node"}
)

// acpAgents measures start and memory. The agents take turns.
func acpAgents(ctx context.Context, b *bench) (rows []row, err error) {
	m := claudetest.NewModel()
	if _, err := m.Start(); err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := openReal(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	program := filepath.Join(r.dir, "claudectl")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/claudectl") // as it is released
	build.Dir, build.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	node, err := npm.Install(ctx, acpNode)
	if err != nil {
		return nil, err
	}
	adapter, err := npm.Install(ctx, acpAdapter)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cliBound) // not of the build, which compiles everything once
	defer cancel()
	agents := [2][]string{
		{program, "acp", "--cli", r.opts.CLIPath},
		{acpNode.Path(node, acpNode.Has), acpAdapter.Path(adapter, acpAdapter.Has)},
	}
	env := append(slices.Clone(r.opts.Env), "CLAUDE_CODE_EXECUTABLE="+r.opts.CLIPath)
	var starts, memory, code, whole, quiet [2][]float64
	for range b.rounds {
		for i, args := range agents {
			a, err := startAgent(ctx, args, env, r.opts.Cwd)
			if err != nil {
				return nil, err
			}
			starts[i] = append(starts[i], float64(a.start))
			if len(memory[i]) < 3 { // sessions take seconds
				own, program, err := a.work(ctx, r.opts.Cwd)
				if err != nil {
					return nil, errors.Join(err, a.stop())
				}
				<-time.After(acpPause)
				restOwn, restProgram, err := a.memory()
				if err != nil {
					return nil, errors.Join(err, a.stop())
				}
				quiet[i] = append(quiet[i], restOwn+restProgram)
				memory[i], code[i], whole[i] = append(memory[i], own), append(code[i], program), append(whole[i], own+program)
			}
			if err := a.stop(); err != nil {
				return nil, err
			}
		}
	}
	rows = []row{
		{Case: rowACPStart, Ours: medianOf(starts[0]), TS: medianOf(starts[1])},
		{Case: rowACPMemory, Ours: medianOf(memory[0]), TS: medianOf(memory[1])},
		{Case: rowACPCode, Ours: medianOf(code[0]), TS: medianOf(code[1])},
		{Case: rowACPWhole, Ours: medianOf(whole[0]), TS: medianOf(whole[1])},
		{Case: rowACPQuiet, Ours: medianOf(quiet[0]), TS: medianOf(quiet[1])},
	}
	for i := range rows {
		rows[i].ratios()
	}
	return rows, nil
}

// acpAgent is the process of an agent, with an editor.
type acpAgent struct {
	cmd    *exec.Cmd
	editor *drive.Driver
	start  time.Duration // until initialize was answered
}

func startAgent(ctx context.Context, args, env []string, dir string) (*acpAgent, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, dir, 10*time.Second
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	begin := time.Now()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	a := &acpAgent{cmd: cmd, editor: drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{stdout, stdin}, drive.Setup{})}
	if err := a.editor.Call(ctx, schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: schema.Version}, nil); err != nil {
		return nil, errors.Join(err, a.stop())
	}
	a.start = time.Since(begin)
	return a, nil
}

// work opens sessions with a turn each, and returns the memory of the agent then.
func (a *acpAgent) work(ctx context.Context, dir string) (own, program float64, err error) {
	for range acpSessions {
		var resp schema.NewSessionResponse
		if err := a.editor.Call(ctx, schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: dir, MCPServers: []schema.MCPServer{}}, &resp); err != nil {
			return 0, 0, err
		}
		if _, err := a.editor.Prompt(ctx, resp.SessionID, "Hello."); err != nil {
			return 0, 0, err
		}
	}
	return a.memory()
}

// memory returns what the agent's own process has: of its own, and of its program's files,
// in bytes.
func (a *acpAgent) memory() (own, program float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", a.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	own, program = share(string(text), "Pss_Anon:"), share(string(text), "Pss_File:")
	if own == 0 {
		return 0, 0, errors.New("the kernel does not report the memory of a process")
	}
	return own, program, nil
}

// share returns a figure of what the kernel reports about a process, in bytes.
func share(report, name string) float64 {
	for line := range strings.Lines(report) {
		var kib float64
		if n, _ := fmt.Sscanf(line, name+" %f kB", &kib); n == 1 {
			return kib * 1024
		}
	}
	return 0
}

func (a *acpAgent) stop() error {
	a.editor.Close()
	return a.cmd.Wait()
}

// acpPieces measures how long a piece of text is on its way through the agent: from the
// read that brought it out of the CLI to the end of the write that gave it to the
// editor. Between them are pipes of the system, as between an editor and its agent.
func acpPieces(ctx context.Context, b *bench) ([]row, error) {
	pieces := b.scale(acpChunks)
	const piece = "0123456789"
	cli := claudetest.New(claudetest.Say(strings.Repeat(piece, pieces)).Chunks(len(piece), time.Millisecond))
	home, err := os.MkdirTemp("", "bench-acp-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	agent, editorEnd, err := pipes()
	if err != nil {
		return nil, err
	}
	read, written := &moments{}, &moments{}
	local := &acp.Local{Options: &claude.Options{Transport: stamped{cli, read}, Env: []string{"HOME=" + home}}}
	ended := make(chan error, 1)
	go func() { ended <- acp.Serve(ctx, &stampedStream{agent, written}, local) }()
	editor := drive.Connect(editorEnd, drive.Setup{})
	var resp schema.NewSessionResponse
	err = editor.Call(ctx, schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: schema.Version}, nil)
	if err == nil {
		err = editor.Call(ctx, schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: home}, &resp)
	}
	if err == nil {
		_, err = editor.Prompt(ctx, resp.SessionID, "Go.")
	}
	editor.Close()
	if err := errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	if text := editor.Text(resp.SessionID); len(text) != pieces*len(piece) || len(written.at) != pieces || len(read.at) != pieces {
		return nil, fmt.Errorf("%d pieces were read and %d written, %d bytes shown, of %d pieces", len(read.at), len(written.at), len(text), pieces)
	}
	var delays []float64
	for i := range written.at {
		delays = append(delays, float64(written.at[i].Sub(read.at[i])))
	}
	slices.Sort(delays)
	return []row{{Case: rowACPMedian, Ours: medianOf(delays)}, {Case: rowACPChunk, Ours: &delays[len(delays)*99/100]}}, nil
}

// pipes returns the two ends of a connection.
func pipes() (one, other *pipeEnd, err error) {
	fromOne, toOther, err1 := os.Pipe()
	fromOther, toOne, err2 := os.Pipe()
	return &pipeEnd{fromOther, toOther}, &pipeEnd{fromOne, toOne}, errors.Join(err1, err2)
}

// pipeEnd is an end of a connection.
type pipeEnd struct{ in, out *os.File }

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *pipeEnd) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// stampedStream notes when pieces of text were written to the editor.
type stampedStream struct {
	*pipeEnd
	written *moments
}

// Write counts the lines with a piece of text.
func (s *stampedStream) Write(b []byte) (int, error) {
	n, err := s.pipeEnd.Write(b)
	s.written.add(bytes.Count(b[:n], []byte(`"agent_message_chunk"`)))
	return n, err
}

// moments are when things happened, in order. It is safe for concurrent use.
type moments struct {
	mu sync.Mutex
	at []time.Time
}

func (m *moments) add(n int) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.at = append(m.at, now)
	}
}

// stamped notes when pieces of text are read from a CLI.
type stamped struct {
	claude.Transport
	read *moments
}

// Start starts the CLI.
func (s stamped) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := s.Transport.Start(ctx, launch)
	return &stampedConn{conn, s.read}, err
}

type stampedConn struct {
	claude.Conn
	read *moments
}

// Read counts the lines with a piece of text.
func (c *stampedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.add(bytes.Count(b[:n], []byte(`"text_delta"`)))
	return n, err
}

const acpMethod = `
### How agents for editors are measured

` + "`claudectl acp`" + ` and the npm adapter (` + "`@agentclientprotocol/claude-agent-acp`" + ` 0.99.1, on node 24; its column is that of TypeScript) are started in turns, with the same real CLI and a scripted model; the median counts. Ours is built as it is released. Memory is the proportional share of the agent's own process after a turn in each of three sessions, without the CLIs, of which both have one for each session. What the agent has for itself (` + "`Pss_Anon`" + `) and the pages of its program, which are those of files (` + "`Pss_File`" + `), are rows of their own for both: the kernel shares the latter, reads them ahead and drops them when memory is short. ` + "`claudectl`" + ` is one program for everything, from the page to the shell's parser, so it gives pages back that its start has touched: before an answer to the editor, before another message if more than 4 MiB are loaded, and with free memory when nothing was said for two seconds. The last row of memory is what an editor that waits for its person has: [why, and what it costs](decisions/project.md). ` + "`TestRealACPMemory`" + ` holds each end of a turn to the goal. The delay of a piece of text is what the agent adds: from the read that brought it out of a scripted CLI to the end of the write that gave it to the editor, over pipes of the system. It is measured in one process; the adapter's part cannot be separated from its CLI's.
`
