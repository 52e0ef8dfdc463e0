//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
)

const (
	markVariable = "CHAOS_SESSION"
	atOnce       = 6 // sessions
	perHost      = 4 // sessions of a host that is killed
)

// stormRun is a run of sessions that meet accidents.
type stormRun struct {
	seed     uint64
	mark     string // of all processes of this run
	tmp      string
	sessions int
	real     int
	realCLI  *realCLI // nil: not installed
	ends     harness.TraceEnds

	mu      sync.Mutex
	actions map[string]int
	closes  []time.Duration
	errs    []error
}

// actions are the events that can happen to a session.
var actions = [...]string{"kill", "kill", "term", "suspend", "close", "cancel", "nothing"}

func runStorm(ctx context.Context, st *stormRun) error {
	st.actions = make(map[string]int)
	if st.real > 0 {
		var err error
		if st.realCLI, err = newRealCLI(st.tmp); err != nil {
			return err
		}
	}
	if st.realCLI == nil {
		st.real = 0
		fmt.Println("the real CLI is not installed: go run ./internal/test/realcli/install")
	}
	// A first session brings up what stays: pools, the poller, lazy tables.
	st.session(ctx, -1, false)
	before := count()
	begin := time.Now()
	st.all(ctx)
	fmt.Printf("%d sessions, %d of them with the real CLI, in %v\n", st.sessions, st.real, time.Since(begin).Round(time.Millisecond))
	for _, action := range slices.Sorted(maps.Keys(st.actions)) {
		fmt.Printf("  %-24s %d\n", action, st.actions[action])
	}
	st.printCloses()
	if left := st.ends.LeftAfter(time.Minute); left != "" {
		st.errs = append(st.errs, fmt.Errorf("the trace has no end of %s", left))
	}
	return errors.Join(append(st.errs, st.leftovers(ctx, before), context.Cause(ctx))...)
}

// all runs the sessions, some at once. Those in hosts come in groups.
func (st *stormRun) all(ctx context.Context) {
	places := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	start := func(f func()) {
		places <- struct{}{}
		wg.Go(func() { defer func() { <-places }(); f() })
	}
	fake, real := st.sessions-st.real, st.real
	for n := 0; n < fake && ctx.Err() == nil; {
		if n%20 == 0 && fake-n >= perHost {
			start(func() { st.host(ctx, n, perHost, false) })
			n += perHost
			continue
		}
		start(func() { st.session(ctx, n, false) })
		n++
	}
	for n := 0; n < real && ctx.Err() == nil; {
		if n%4 == 0 && real-n >= 2 {
			start(func() { st.host(ctx, fake+n, 2, true) })
			n += 2
			continue
		}
		start(func() { st.session(ctx, fake+n, true) })
		n++
	}
	wg.Wait()
}

func (st *stormRun) count(what string, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.actions[what]++
	if err != nil {
		st.errs = append(st.errs, fmt.Errorf("%s: %w", what, err))
	}
}

// options are those of the n-th session.
func (st *stormRun) options(n int, real bool) *claude.Options {
	o := &claude.Options{
		Settings:       map[string]any{"env": map[string]string{"SOME_TOKEN": "secret"}}, // a temporary file
		PermissionMode: permission.ModeBypassPermissions,
		Timeouts:       claude.Timeouts{Close: time.Second}, // for those that are suspended
		Trace:          st.ends.Trace(),
	}
	if real {
		st.realCLI.use(o)
	} else {
		o.CLIPath, _ = os.Executable()
		o.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + st.tmp, roleVariable + "=cli"}
	}
	o.Env = append(o.Env, fmt.Sprintf("%s=%s-%d.", markVariable, st.mark, n))
	return o
}

// session runs one session in this process.
func (st *stormRun) session(ctx context.Context, n int, real bool) {
	rng := rand.New(rand.NewPCG(st.seed, uint64(n)))
	action := actions[rng.IntN(len(actions))]
	delay := time.Duration(rng.IntN(80)) * time.Millisecond
	what := action
	if real {
		if action == "nothing" {
			action = "close" // its shell would run for too long
		}
		what = "real: " + action
	}
	if n < 0 {
		action, what = "nothing", "warm-up"
	}
	o := st.options(n, real)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := claude.Connect(ctx, o)
	if err != nil {
		st.count(what, err)
		return
	}
	var acted sync.WaitGroup
	acted.Go(func() {
		if real {
			st.awaitShell(n)
		}
		<-time.After(delay)
		st.act(action, n, s, cancel)
	})
	for range s.Run(ctx, "work") {
		// Whatever comes, and however it ends.
	}
	acted.Wait()
	begin := time.Now()
	err = s.Close()
	took := time.Since(begin)
	if err == nil && n >= 0 && !eventually(10*time.Second, func() bool { return len(markedProcesses(st.env(n))) == 0 }) {
		err = fmt.Errorf("session %d left %v", n, markedProcesses(st.env(n)))
	}
	_ = s.Wait() // its error describes what happened
	st.count(what, err)
	st.mu.Lock()
	st.closes = append(st.closes, took)
	st.mu.Unlock()
}

// env begins the entry that marks the processes of a session.
func (st *stormRun) env(n int) string { return fmt.Sprintf("%s=%s-%d.", markVariable, st.mark, n) }

// awaitShell waits until the real CLI runs its shell.
func (st *stormRun) awaitShell(n int) {
	eventually(20*time.Second, func() bool {
		return slices.ContainsFunc(markedProcesses(st.env(n)), func(p process) bool { return strings.HasPrefix(p.command, "sleep ") })
	})
}

// act performs an action on a session.
func (st *stormRun) act(action string, n int, s *claude.Session, cancel context.CancelFunc) {
	signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "term": syscall.SIGTERM, "suspend": syscall.SIGSTOP}
	switch action {
	case "close":
		_ = s.Close()
	case "cancel":
		cancel()
	case "kill", "term", "suspend":
		for _, p := range markedProcesses(st.env(n)) {
			if p.parent == os.Getpid() { // the CLI itself
				_ = syscall.Kill(p.pid, signal[action]) // it may have ended
			}
		}
		if action == "suspend" {
			cancel() // nothing else would end it
		}
	}
}

// host runs sessions in a process of their own and kills it.
func (st *stormRun) host(ctx context.Context, n, sessions int, real bool) {
	what := "host killed"
	if real {
		what = "real: host killed"
	}
	st.count(what, st.killHost(ctx, n, sessions, real))
}

func (st *stormRun) killHost(ctx context.Context, n, sessions int, real bool) error {
	rng := rand.New(rand.NewPCG(st.seed, uint64(n)))
	o := st.options(n, real)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"=host", "HOST_CLI="+o.CLIPath, fmt.Sprintf("HOST_SESSIONS=%d", sessions),
		"HOST_ENV="+strings.Join(append(o.Env, "CHAOS_ENDLESS=1"), "\x1f"), "HOST_DIR="+o.Cwd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	if real {
		st.awaitShell(n)
	}
	<-time.After(time.Duration(rng.IntN(60)) * time.Millisecond)
	err = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	if line != "ready\n" {
		return fmt.Errorf("the host said %q, %v", line, readErr)
	}
	if !eventually(10*time.Second, func() bool { return len(markedProcesses(st.env(n))) == 0 }) {
		return fmt.Errorf("host %d left %v", n, markedProcesses(st.env(n)))
	}
	return err
}

// playHost runs sessions whose turns have no end, until it is killed.
func playHost() {
	var n int
	_, _ = fmt.Sscan(os.Getenv("HOST_SESSIONS"), &n) // without it nothing is ready
	for range n {
		s, err := claude.Connect(context.Background(), &claude.Options{
			CLIPath: os.Getenv("HOST_CLI"), Cwd: os.Getenv("HOST_DIR"), Env: strings.Split(os.Getenv("HOST_ENV"), "\x1f"),
			Settings:       map[string]any{"env": map[string]string{"SOME_TOKEN": "secret"}},
			PermissionMode: permission.ModeBypassPermissions,
		})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if _, err := s.Send(context.Background(), "work"); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	select {}
}

func (st *stormRun) printCloses() {
	slices.Sort(st.closes)
	if len(st.closes) > 0 {
		at := func(q float64) time.Duration {
			return st.closes[int(q*float64(len(st.closes)-1))].Round(time.Millisecond)
		}
		fmt.Printf("Close took %v at the median, %v at 99%%, %v at most\n", at(0.5), at(0.99), at(1))
	}
}

// leftovers counts all leftovers.
func (st *stormRun) leftovers(ctx context.Context, before counts) error {
	// Files of killed hosts are removed by the next session that makes some.
	abandoned := len(filesBelow(st.tmp))
	st.session(ctx, -1, false)
	if st.realCLI != nil {
		st.realCLI.close()
	}
	after, err := settle(before)
	processes, files := markedProcesses(markVariable+"="+st.mark), filesBelow(st.tmp)
	fmt.Printf("left: %d processes, %d files (%d before the sweep); %v, was %v\n", len(processes), len(files), abandoned, after, before)
	if len(processes) > 0 {
		err = errors.Join(err, fmt.Errorf("processes: %v", processes))
	}
	if len(files) > 0 {
		err = errors.Join(err, fmt.Errorf("files: %v", files))
	}
	return err
}
