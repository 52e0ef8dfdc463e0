package acp_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// 500 editors begin a session of a CLI, prompt and vanish in the middle of the answer.
// Nothing of them is left: no goroutine, which every CLI and every session has, and no
// memory.
func TestManyVanishFromCLIs(t *testing.T) {
	local := &acp.Local{Options: &claude.Options{
		Transport: claudetest.New(claudetest.Say(strings.Repeat("word ", 10_000)).Chunks(5, time.Millisecond).Forever()),
		Env:       []string{"HOME=" + t.TempDir()},
	}}
	one := func() error {
		ours, theirs := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- acp.Serve(context.Background(), theirs, local) }()
		said := make(chan struct{}, 1)
		d := drive.Connect(ours, drive.Setup{OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
			if up.AgentMessageChunk != nil {
				select {
				case said <- struct{}{}:
				default:
				}
			}
		}})
		defer d.Close()
		var resp schema.NewSessionResponse
		err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil)
		if err == nil {
			err = d.Call(t.Context(), schema.MethodAgentSessionNew, schema.NewSessionRequest{Cwd: "/"}, &resp)
		}
		if err != nil {
			return err
		}
		go d.Prompt(context.Background(), resp.SessionID, "Go.")
		<-said
		d.Close()
		return <-ended
	}
	used := func() (goroutines int, heap uint64) {
		runtime.GC()
		runtime.GC() // pools keep what they have for one collection
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	many := func(n int) {
		var all sync.WaitGroup
		for range 25 {
			all.Go(func() {
				for range n / 25 {
					if err := one(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	many(25) // what is made once
	goroutines, heap := used()
	many(long.Pick(100, 500))
	var now int
	var left uint64
	for begin := time.Now(); time.Since(begin) < 10*time.Second; runtime.Gosched() {
		if now, left = used(); now <= goroutines+5 {
			break
		}
	}
	if now > goroutines+5 || left > heap+4<<20 {
		t.Errorf("%d goroutines and %d KiB before, %d and %d KiB after", goroutines, heap>>10, now, left>>10)
	}
}
