package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/acpscenes"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// byACPX ends the names of scenes that acpx plays.
const byACPX = ", by acpx"

// notByACPX are the scenes that acpx cannot express, with the reasons.
var notByACPX = map[string]string{
	"01-init":           "acpx makes the first requests itself, and sends no unknown ones",
	"05-modes-models":   "acpx prints no updates of a change between prompts (TestRealACPX changes a mode and a model)",
	"07-cancel":         "acpx queues a second prompt itself, and cannot cancel at a certain frame (TestRealACPX cancels)",
	"08-load":           "acpx loads a session by itself, and has no fork and no resume",
	"10-kill":           "acpx answers a question before its agent could be killed",
	"12-image-resource": "a prompt of acpx is a text",
	"13-mcp":            "acpx has no MCP servers of a session",
	"14-question":       "acpx has no forms",
}

// acpxStep is a command of acpx.
type acpxStep struct {
	args   []string
	prompt int // the id of the recorded prompt; 0: the command is not a prompt
}

// acpxSteps are the commands that play a scene.
func acpxSteps(s acpscenes.Scene) (steps []acpxStep, err error) {
	actions, err := s.Actions()
	for i, a := range actions {
		var p struct {
			ModeID string
			Prompt []struct{ Text string }
		}
		if a.Do != acpscenes.Request || json.Unmarshal(a.Params, &p) != nil {
			continue
		}
		switch {
		case a.Method == "session/set_mode":
			steps = append(steps, acpxStep{args: []string{"set-mode", "-s", "scene", p.ModeID}})
		case a.Method == "session/prompt" && bytes.Contains(a.Params, []byte("$session")):
			decision := "--approve-all"
			for _, q := range actions[i:] {
				if q.Do == acpscenes.Question {
					if bytes.Contains(q.Answer, []byte(`"reject"`)) {
						decision = "--deny-all"
					}
					break
				}
			}
			steps = append(steps, acpxStep{[]string{decision, "--format", "json", "prompt", "-s", "scene", p.Prompt[0].Text}, a.ID})
		}
	}
	return steps, err
}

// compared reports whether a frame of the agent is compared: updates and questions.
func compared(method string) bool {
	return method == "session/update" || method == "session/request_permission"
}

// saidTo returns what the agent has said to a prompt, in the frames that acpx has printed.
// With the first prompt it prints what came when the session was opened.
func saidTo(out string) (frames [][]byte) {
	for line := range strings.Lines(out) {
		var f struct{ Method string }
		if json.Unmarshal([]byte(line), &f) == nil && compared(f.Method) {
			frames = append(frames, []byte(line))
		}
	}
	return frames
}

// promptsOf is the part of a scene that the agent said to some prompts.
func promptsOf(s acpscenes.Scene, ids ...int) acpscenes.Scene {
	part, now := acpscenes.Scene{Name: s.Name + byACPX}, 0
	for _, l := range s.Lines {
		var f struct {
			ID     int
			Method string
		}
		if json.Unmarshal(l.Data, &f) != nil {
			continue
		}
		switch {
		case l.Mark == '>' && f.Method == "session/prompt":
			now = f.ID
		case l.Mark == '<' && f.Method == "" && f.ID == now:
			now = 0
		case l.Mark == '<' && compared(f.Method) && slices.Contains(ids, now):
			part.Lines = append(part.Lines, l)
		}
	}
	return part
}

// TestRealACPXScenes plays the recorded scenes with acpx, where it can express them, on the
// real CLI. The updates and questions of the prompts come in the recorded order, except for
// those that a row of docs/acp.md explains. What they hold is not compared: what an agent
// shows depends on what the editor can do.
func TestRealACPXScenes(t *testing.T) {
	realcli.Need(t, realcli.Version)
	page, err := os.ReadFile("../../docs/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := acpscenes.ReadTable(string(page))
	if err != nil {
		t.Fatal(err)
	}
	scenes, err := acpscenes.All()
	if err != nil {
		t.Fatal(err)
	}
	used, played := make([]bool, len(table)), 0
	for _, s := range scenes {
		if notByACPX[s.Name] != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			played++
			for _, d := range playByACPX(t, s) {
				if row := table.Explains(d); row >= 0 {
					used[row] = true
					t.Logf("explained: %s", d)
				} else {
					t.Errorf("no row of docs/acp.md explains: %s", d)
				}
			}
		})
	}
	if played < len(scenes)-len(notByACPX) || t.Failed() {
		return // -run has picked some
	}
	for i, r := range table {
		if strings.HasSuffix(r.Scene, byACPX) && !used[i] {
			t.Errorf("the row of docs/acp.md about %s, %s, %s explains nothing", r.Scene, r.Frame, r.Member)
		}
	}
}

// playByACPX plays a scene and returns the frames that are absent or added.
func playByACPX(t *testing.T, s acpscenes.Scene) (differences []acpscenes.Difference) {
	t.Helper()
	st := newStage(t, s)
	steps, err := acpxSteps(s)
	if err != nil || len(steps) == 0 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	if _, err := st.acpx(t, "sessions", "new", "--name", "scene"); err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	var prompts []int
	for _, step := range steps {
		out, err := st.acpx(t, step.args...) // a prompt that fails is a part of some scenes
		said := saidTo(out)
		if step.prompt != 0 {
			prompts = append(prompts, step.prompt)
		}
		if step.prompt == 0 && err != nil || step.prompt != 0 && len(said) == 0 {
			t.Errorf("%q: %d frames, %v", step.args, len(said), err)
		}
		frames = append(frames, said...)
	}
	stripped, err := acpscenes.Strip(frames, st.dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := acpscenes.Compare(promptsOf(s, prompts...), stripped)
	if err != nil {
		t.Fatal(err)
	}
	differences = slices.DeleteFunc(all, func(d acpscenes.Difference) bool {
		return d.Member != acpscenes.Absent && d.Member != acpscenes.Added
	})
	if _, err := st.acpx(t, "sessions", "close", "scene"); err != nil {
		t.Error(err)
	}
	return differences
}

// TestACPXScenesAreComplete checks that each scene is played by acpx or has a reason, and
// that what would be played can be.
func TestACPXScenesAreComplete(t *testing.T) {
	scenes, err := acpscenes.All()
	if err != nil {
		t.Fatal(err)
	}
	left := len(notByACPX)
	for _, s := range scenes {
		if notByACPX[s.Name] != "" {
			left--
			continue
		}
		steps, err := acpxSteps(s)
		prompts := 0
		for _, step := range steps {
			if step.prompt != 0 {
				prompts++
				if len(promptsOf(s, step.prompt).Lines) == 0 {
					t.Errorf("%s: prompt %d has no frames", s.Name, step.prompt)
				}
			}
		}
		if err != nil || prompts == 0 {
			t.Errorf("%s: %d prompts, %v", s.Name, prompts, err)
		}
	}
	if left != 0 {
		t.Errorf("%d of the scenes that acpx cannot express do not exist", left)
	}
}
