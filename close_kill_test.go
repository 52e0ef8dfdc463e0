package claude_test

import (
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// TestKillTimeout ends a CLI that ignores the end of its input and SIGTERM, idle and in
// the middle of a turn, at the time that was set, and otherwise in the transport's.
func TestKillTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		kill       time.Duration
		idle, busy time.Duration // from Close to the end
	}{
		"set":            {4 * time.Second, 4 * time.Second, 4 * time.Second},
		"before stdin's": {time.Second, time.Second, time.Second},
		"not set":        {0, 7 * time.Second, 5 * time.Second},
		"none":           {claude.NoTimeout, 7 * time.Second, 5 * time.Second},
		"not reached":    {time.Minute, 7 * time.Second, 5 * time.Second},
	} {
		for state, want := range map[string]time.Duration{"idle": test.idle, "busy": test.busy} {
			t.Run(name+", "+state, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := claude.Connect(t.Context(), &claude.Options{
						Transport: claudetest.NewCLI(&claudetest.Script{IgnoreEOF: true, IgnoreTerm: true, Replies: []claudetest.Reply{
							claudetest.Say(strings.Repeat("word ", 1000)).Chunks(5, time.Second),
						}}),
						PartialMessages: true, Timeouts: claude.Timeouts{Close: 2 * time.Second, Kill: test.kill},
					})
					if err != nil {
						t.Fatal(err)
					}
					if state == "busy" {
						next, leave := iter.Pull2(s.Run(t.Context(), "Go.")) // to leave the loop would interrupt the turn
						defer leave()
						next()
					}
					begin := time.Now()
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					if took := time.Since(begin); took != want {
						t.Errorf("closed after %v, want %v", took, want)
					}
				})
			})
		}
	}
}
