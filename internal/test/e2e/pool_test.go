package e2e

import (
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// TestRealPool wants handing out to be much faster than starting.
func TestRealPool(t *testing.T) {
	r := realCLI(t)
	running := make(chan struct{}, 10)
	r.opts.Trace = &claude.Trace{StateChanged: func(_, to claude.State) {
		if to == claude.StateRunning {
			running <- struct{}{}
		}
	}}
	begin := time.Now()
	if err := r.connect(t).Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	cold := time.Since(begin)
	<-running
	p, err := claude.NewPool(t.Context(), r.opts, claude.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	<-running
	begin = time.Now()
	s, err := p.Get(t.Context())
	warm := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Connect %v, Get %v", cold, warm)
	if warm > cold/5 {
		t.Errorf("Get took %v, Connect %v: want it much faster", warm, cold)
	}
	r.model.Add(claudetest.Say("Warm."))
	if res, err := s.Ask(t.Context(), "hi"); err != nil || res.Text != "Warm." {
		t.Errorf("Ask = %v, %v", res, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close of the pool = %v", err)
	}
}
