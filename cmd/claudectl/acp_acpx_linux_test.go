package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/acpscenes"
	"github.com/claude-agent-go/claude/internal/test/npm"
)

// acpx is an editor without a window that others have written, and newNode the
// node that it needs.
var (
	acpx    = npm.Package{Name: "acpx", Version: "0.19.1", Has: "dist/cli.js"}
	newNode = npm.Package{Name: "node-linux-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], Version: "24.21.0", Has: "bin/node"}
)

// acpx runs acpx with the program as its agent, and returns what it prints.
func (st *stage) acpx(t *testing.T, args ...string) (string, error) {
	t.Helper()
	node := newNode.Path(npm.Need(t, newNode), newNode.Has)
	cli := acpx.Path(npm.Need(t, acpx), acpx.Has)
	agent := strings.Join(append([]string{built(t)}, st.args...), " ")
	cmd := exec.CommandContext(t.Context(), node, append([]string{cli, "--agent", agent, "--cwd", st.dir, "--ttl", "60", "--timeout", "60"}, args...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = st.env, st.dir, 10*time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	t.Logf("acpx %q: %v\n%s\n%s", args, err, out, problems.Bytes())
	return string(out), err
}

// updateKinds returns the kinds of the updates in what acpx prints as JSON, without
// repetitions.
func updateKinds(out string) (kinds []string) {
	for line := range strings.Lines(out) {
		var f struct {
			Method string
			Params struct {
				Update struct{ SessionUpdate, Status string }
			}
		}
		if json.Unmarshal([]byte(line), &f) != nil || f.Method != "session/update" {
			continue
		}
		kind := strings.TrimSpace(f.Params.Update.SessionUpdate + " " + f.Params.Update.Status)
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestRealACPX uses the program by acpx, as its users do, alone and with a server: one-shot
// runs that allow and deny, and a session with several prompts, a mode, an option and an
// end.
func TestRealACPX(t *testing.T) {
	scene := acpscenes.Scene{Name: "acpx", Lines: []acpscenes.Line{{Mark: '=', Data: []byte(`[
		{"text":"I will.","tool":"Bash","input":{"command":"mkdir allowed"}}, {"text":"made it"},
		{"tool":"Bash","input":{"command":"mkdir denied"}}, {"text":"did not"},
		{"text":"first answer"}, {"text":"second answer"}, {"tool":"Write","input":{"file_path":"$dir/new.txt","content":"x"}}, {"text":"wrote it"},
		{"text":"` + strings.Repeat("word ", 300) + `","pause":200}]`)}}}
	t.Run("alone", func(t *testing.T) {
		useACPX(t, newStage(t, scene))
	})
	t.Run("server", func(t *testing.T) {
		st := newServerStage(t, scene)
		st.args = []string{"acp", "--connect", st.url}
		useACPX(t, st)
	})
}

// useACPX uses a session with acpx: prompts, decisions, a mode, an option and a cancellation.
func useACPX(t *testing.T, st *stage) {
	t.Helper()
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(st.dir, name))
		return err == nil
	}
	out, err := st.acpx(t, "--approve-all", "--format", "json", "exec", "Make it.")
	if err != nil || !exists("allowed") {
		t.Errorf("the command was not run: %v", err)
	}
	kinds := updateKinds(out)
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "available_commands_update" || k == "session_info_update" })
	if want := []string{"agent_message_chunk", "tool_call pending", "tool_call_update", "tool_call_update completed", "agent_message_chunk", "usage_update"}; !slices.Equal(kinds, want) {
		t.Errorf("updates %q, want %q", kinds, want)
	}
	if out, err = st.acpx(t, "--deny-all", "--format", "quiet", "exec", "Make it."); exists("denied") {
		t.Errorf("a denied command was run: %v, %q", err, out)
	}
	for _, step := range []struct {
		args []string
		want string // in the output
	}{
		{[]string{"sessions", "new", "--name", "one"}, ""},
		{[]string{"--format", "quiet", "prompt", "-s", "one", "First."}, "first answer"},
		{[]string{"--format", "quiet", "prompt", "-s", "one", "Second."}, "second answer"},
		{[]string{"set-mode", "-s", "one", "acceptEdits"}, "acceptEdits"},
		{[]string{"set", "-s", "one", "model", "sonnet"}, "sonnet"},
		{[]string{"--deny-all", "--format", "quiet", "prompt", "-s", "one", "Write."}, "wrote it"}, // by the mode, without a question
	} {
		if out, err := st.acpx(t, step.args...); err != nil || !strings.Contains(out, step.want) {
			t.Errorf("acpx %q: %v, want %q in %q", step.args, err, step.want, out)
		}
	}
	if !exists("new.txt") {
		t.Error("the mode that accepts edits did not hold")
	}
	out = ""
	for try := 0; out == "" && try < 10; try++ { // acpx drops a prompt that is cancelled before it has sent it
		ended := make(chan string, 1)
		go func() {
			out, _ := st.acpx(t, "--format", "json", "prompt", "-s", "one", "Continue.")
			ended <- out
		}()
		for over := false; !over; {
			st.acpx(t, "cancel", "-s", "one") // until there is something to cancel
			select {
			case out = <-ended:
				over = true
			default:
			}
		}
	}
	if !strings.Contains(out, `"stopReason":"cancelled"`) {
		t.Errorf("the turn was not cancelled: %.1000s", out)
	}
	if _, err := st.acpx(t, "sessions", "close", "one"); err != nil {
		t.Error(err)
	}
}
