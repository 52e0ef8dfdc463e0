package claude_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/store"
)

// agentCallback is the callback about a call of the tool Agent.
func agentCallback(id, call string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"agents","tool_use_id":%q,`+
		`"input":{"hook_event_name":"PreToolUse","tool_name":"Agent","tool_use_id":%[2]q,"tool_input":{"prompt":"look","subagent_type":"general-purpose"}}}}`, id, call)
}

// An old CLI does not know the variables: the hook refuses the second agent. A new
// one limits by itself.
func TestOldCLIsAreLimitedByAHook(t *testing.T) {
	for version, refused := range map[string]bool{"2.1.0": true, "2.1.200": true, "2.1.325": false} {
		t.Run(version, func(t *testing.T) {
			var answers []string
			connected := sync.OnceValue(func() chan struct{} { return make(chan struct{}) }) // of the bubble
			bubble(t, func(c *cli) {
				c.succeed(c.request("initialize"), `{"claude_code_version":"`+version+`","hook_on_failure_supported":true}`)
				<-connected() // the version is known
				for i := range 2 {
					c.say("%s", agentCallback(fmt.Sprint("u-", i), fmt.Sprint("call-", i)))
					f, _ := c.hear()
					answers = append(answers, string(f.Line))
				}
				c.idle()
			}, func(t *testing.T, o *claude.Options) {
				o.Subagents.AtOnce = 1
				s := connect(t, o)
				close(connected())
				synctest.Wait()
				finish(t, s)
			})
			for i, answer := range answers {
				if got := strings.Contains(answer, `"permissionDecision":"deny"`); got != (refused && i == 1) {
					t.Errorf("call %d: %s", i, answer)
				}
			}
			if len(answers) != 2 {
				t.Errorf("%d answers", len(answers))
			}
		})
	}
}

// The agents that a session has started before have transcripts in the store, which
// count, like those that the program names.
func TestResumedSessionCountsItsSubagents(t *testing.T) {
	mem := store.Memory()
	put(t, mem, mainKey, `{"type":"user","uuid":"a","parentUuid":null}`)
	for _, sub := range []string{"subagents/agent-a1", "subagents/agent-a2", "subagents/agent-acompact-3"} {
		k := mainKey
		k.Sub = sub
		put(t, mem, k, `{"type":"user","uuid":"`+sub+`","parentUuid":null}`)
	}
	var answers []string
	answered := make(chan struct{})
	d := &double{t: t, play: func(c *cli) {
		c.greet()
		for i := range 2 {
			c.say("%s", agentCallback(fmt.Sprint("u-", i), fmt.Sprint("call-", i)))
			f, _ := c.hear()
			answers = append(answers, string(f.Line))
		}
		close(answered)
		c.idle()
	}}
	lease, err := mem.Acquire(t.Context(), mainKey.Project, mainKey.Session, "test", time.Minute) // by us, or the fence is asked as well
	if err != nil {
		t.Fatal(err)
	}
	o := &claude.Options{Transport: d, Logger: harness.Logger(t), Resume: mainKey.Session, Subagents: claude.SubagentLimits{Total: 4, Started: 1},
		Store: &claude.StoreOptions{Store: mem, Project: "tenant-7", Fence: lease.Fence, Journal: t.TempDir()}}
	s := connect(t, o)
	<-answered
	finish(t, s)
	denied := func(answer string) bool { return strings.Contains(answer, "limit of 4 subagents in all") }
	if len(answers) != 2 || denied(answers[0]) || !denied(answers[1]) {
		t.Errorf("2 in the store, 1 before, 4 in all: %q", answers)
	}
	if slices.ContainsFunc(d.launch.Env, func(entry string) bool { return strings.Contains(entry, "SUBAGENT") }) {
		t.Error("a limit in all became a variable, which has no effect")
	}
}
