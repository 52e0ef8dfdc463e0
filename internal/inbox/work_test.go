package inbox_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/inbox"
)

// word returns the frame that a word of TestIdle stands for.
func word(w string) string {
	verb, arg, _ := strings.Cut(w, ":")
	switch verb {
	case "init":
		return `{"type":"system","subtype":"init"` + ids(arg) + `}`
	case "result":
		return `{"type":"result","subtype":"success"` + ids(arg) + `}`
	case "state":
		return `{"type":"system","subtype":"session_state_changed","state":"` + arg + `"}`
	}
	var tasks []string
	for kind := range strings.SplitSeq(arg, "+") {
		if kind != "" {
			tasks = append(tasks, `{"task_type":"local_`+kind+`"}`)
		}
	}
	return `{"type":"system","subtype":"background_tasks_changed","tasks":[` + strings.Join(tasks, ",") + `]}`
}

// TestIdle reads a prompt and what its agents bring, and wants the reading to
// end after a certain word: not before, and not only with a later one.
func TestIdle(t *testing.T) {
	tests := []struct{ name, script string }{
		{"no agent", "state:running init:x result:x| state:idle"},
		{"no agent, nothing said about states", "init:x result:x|"},
		{"a shell command", "state:running init:x tasks:bash result:x| state:idle tasks: state:running init: result: state:idle"},
		{"one agent", "state:running init:x tasks:agent result:x tasks: init: result: state:idle|"},
		{"ended before the result", "state:running init:x tasks:agent tasks: result:x init: result: state:idle|"},
		{"ended before the result, which reported it", "state:running init:x tasks:agent tasks: result:x state:idle|"},
		{"three agents", "state:running init:x tasks:agent+agent+agent result:x tasks:agent init: result: tasks: init: result: init: result: state:idle|"},
		{"a workflow and a shell command", "state:running init:x tasks:workflow+bash result:x tasks:bash init: result: state:idle|"},
		{"an agent asks", "state:running init:x tasks:agent result:x state:requires_action state:running tasks: init: result: state:idle|"},
		{"stopped", "state:running init:x tasks:agent result:x tasks: state:idle|"},
		{"an agent of an earlier prompt", "state:running tasks:agent init:x result:x tasks: init: result: state:idle|"},
		{"listed before the first state", "tasks:agent state:running init:x result:x tasks: init: result: state:idle|"},
		{"idle, although an agent is listed", "state:running init:x tasks:agent result:x state:idle|"},
		{"one agent, nothing said about states", "init:x tasks:agent result:x tasks:|"},
		{"answered, nothing said about states", "init:x tasks:agent result:x init: tasks: result:|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := inbox.New(0)
				b.HideStates = true
				b.Acquire()
				b.Sent("x")
				over := make(chan bool, 1)
				go func() {
					ended := false
					for {
						next := b.Next
						if ended {
							next = b.NextUntilIdle
						}
						it, err := next(t.Context())
						if err != nil || it.Ends("x") == inbox.WithResult && it.Idle() {
							over <- err == nil || errors.Is(err, inbox.ErrIdle)
							return
						}
						ended = ended || it.Ends("x") == inbox.WithResult
					}
				}()
				put := func(words string) {
					for w := range strings.FieldsSeq(words) {
						b.Put(frame(t, word(w)))
						b.Flush()
						synctest.Wait()
					}
				}
				before, after, _ := strings.Cut(tt.script, "|")
				words := strings.Fields(before)
				put(strings.Join(words[:len(words)-1], " "))
				if len(over) > 0 {
					t.Error("it ended too early")
				}
				put(words[len(words)-1])
				if len(over) == 0 {
					t.Error("it did not end")
				}
				put(after)
				b.Close(io.EOF)
				if !<-over {
					t.Error("it ended with the session only")
				}
			})
		})
	}
}

// Queued frames are read before idle counts.
func TestIdleComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox.New(0)
		b.Acquire()
		for range 3 {
			b.Put(frame(t, `{"type":"assistant"}`))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i := range 3 {
			if _, err := b.NextUntilIdle(ctx); err != nil {
				t.Errorf("frame %d: %v", i, err)
			}
		}
		if _, err := b.NextUntilIdle(ctx); !errors.Is(err, inbox.ErrIdle) {
			t.Errorf("after the last: %v", err)
		}
	})
}

// Frames that were not requested are followed and not shown.
func TestHiddenFrames(t *testing.T) {
	for _, hide := range []bool{false, true} {
		b := inbox.New(0)
		b.HideEchoes, b.HideStates = hide, hide
		b.Acquire()
		b.Sent("x")
		for _, line := range []string{word("state:running"), word("init:"), `{"type":"user","uuid":"x"}`, `{"type":"user","uuid":"other"}`, word("result:"), word("state:idle")} {
			b.Put(frame(t, line))
		}
		b.Close(io.EOF)
		var got []string
		for {
			it, err := b.Next(t.Context())
			if err != nil {
				break
			}
			got = append(got, strings.TrimSpace(it.Frame.Subtype+" "+it.Frame.Text("uuid")+it.Frame.Text("state")))
		}
		want := "init,other,success"
		if !hide {
			want = "session_state_changed running,init,x,other,success,session_state_changed idle"
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("hidden %v: %s, want %s", hide, s, want)
		}
	}
}
