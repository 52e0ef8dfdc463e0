//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude/internal/wire"
)

// shellTime is how long a shell lives unless it is killed: longer than a run.
const shellTime = "600"

// fakeCLI is the CLI as far as it matters here: it runs a shell in a session of
// its own for each prompt, and ends its shells when it gets SIGTERM.
type fakeCLI struct {
	out *bufio.Writer

	mu     sync.Mutex
	shells []*exec.Cmd
	told   bool // to end: no more shells
}

func playCLI() {
	c := &fakeCLI{out: bufio.NewWriter(os.Stdout)}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE) // say ends the shells when there is no reader
	go func() {
		<-told
		c.mu.Lock()
		c.told = true
		c.mu.Unlock()
		c.endShells()
		os.Exit(143)
	}()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			c.endShells()
			return
		}
		f, err := wire.Parse(line)
		if err != nil {
			os.Exit(1) // as the CLI does
		}
		c.serve(f)
	}
}

func (c *fakeCLI) say(format string, args ...any) {
	fmt.Fprintf(c.out, format+"\n", args...)
	if c.out.Flush() != nil {
		c.endShells()
		os.Exit(1)
	}
}

func (c *fakeCLI) serve(f wire.Frame) {
	switch f.Type {
	case wire.TypeRequest:
		r, _ := f.Request()
		reply, _ := wire.EncodeSuccess(r.ID, []byte(`{"claude_code_version":"2.1.325"}`))
		c.say("%s", reply)
	case "user":
		id := f.Text("uuid")
		c.say(`{"type":"system","subtype":"init","session_id":"s","user_message_uuids":[%q]}`, id)
		c.startShell()
		for i := range 50 {
			c.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"line %d"}]}}`, i)
			<-time.After(time.Millisecond)
		}
		if os.Getenv("CHAOS_ENDLESS") != "" {
			return // the turn never ends
		}
		c.endShells()
		c.say(`{"type":"result","subtype":"success","result":"done","user_message_uuids":[%q]}`, id)
	}
}

func (c *fakeCLI) startShell() {
	shell := exec.Command("/bin/sh", "-c", "sleep "+shellTime+"; true")
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	shell.Env = append(os.Environ(), roleVariable+"=shell")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.told && shell.Start() == nil {
		c.shells = append(c.shells, shell)
	}
}

func (c *fakeCLI) endShells() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, shell := range c.shells {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) // it may be gone
		_ = shell.Wait()
	}
	c.shells = nil
}
