package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/acpscenes"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// acpLibrary is the protocol's own library.
var acpLibrary = npm.Package{Name: "@agentclientprotocol/sdk", Version: "2.4.0", Has: "dist/v1/stable/acp.js"}

// stage is where a scene is played: the real CLI, a model with the scene's
// replies, and a directory.
type stage struct {
	dir  string
	env  []string
	args []string // of the program
	mark string

	model  *claudetest.Model
	url    string // of a server; empty: there is none
	socket string // of the server
}

func newStage(t *testing.T, s acpscenes.Scene) *stage {
	t.Helper()
	cli := realcli.Need(t, realcli.Version)
	mark := leak.Processes(t)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	st := &stage{dir: filepath.Join(home, "project"), env: append(env, mark), args: []string{"acp", "--bypass", "--cli", cli}, mark: mark, model: model}
	furnish(t, st.dir)
	replies, err := s.Replies(st.dir)
	if err != nil {
		t.Fatal(err)
	}
	model.Add(replies...)
	return st
}

// furnish makes the directory of the scenes.
func furnish(t *testing.T, dir string) {
	t.Helper()
	calc, err := os.ReadFile("testdata/acp_calc.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\nthree\n", "calc.mjs": string(calc),
		".claude/commands/hi.md": "---\ndescription: Say hi\nargument-hint: name\n---\nSay hi to $ARGUMENTS.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newServerStage is a stage whose agent is a server, over a WebSocket, which has more
// variables if some are given.
func newServerStage(t *testing.T, s acpscenes.Scene, env ...string) *stage {
	t.Helper()
	server := newRealServer(t, nil, func(r *realServer) {
		r.env = append(r.env, env...)
		r.choices = `,"modes":["acceptEdits","plan"],"models":["sonnet"]`
		furnish(t, r.dir)
		replies, err := s.Replies(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		r.model.Add(replies...)
	})
	return &stage{dir: server.dir, env: append([]string{serverToken + "=" + server.token}, server.env...), url: server.url, model: server.model, socket: "ws" + strings.TrimPrefix(server.url, "http") + "/acp"}
}

// agent starts the program as an editor does.
func (st *stage) agent(t *testing.T) func(context.Context) *exec.Cmd {
	path := built(t)
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, st.args...)
		cmd.Env, cmd.Dir, cmd.WaitDelay = st.env, st.dir, 10*time.Second
		return cmd
	}
}

// byLibrary plays a scene with an editor that is built on the library.
func (st *stage) byLibrary(t *testing.T, s acpscenes.Scene) [][]byte {
	t.Helper()
	library := acpLibrary.Path(npm.Need(t, acpLibrary), acpLibrary.Has)
	actions, err := s.Actions()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(actions)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "actions.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*acpscenes.Patience)
	defer cancel()
	args := []string{"--experimental-websocket", "testdata/acp_client.mjs", library, file, st.dir}
	if st.socket != "" {
		args = append(args, st.socket)
	} else {
		args = append(append(args, built(t)), st.args...)
	}
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env, cmd.WaitDelay = st.env, 10*time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the editor: %v\n%s\nafter\n%s", err, problems.Bytes(), out)
	}
	return bytes.Split(bytes.TrimSpace(out), []byte("\n"))
}

// TestRealACPScenes plays the recorded scenes with the program on the real CLI, by
// an editor of our own and by one that is built on the protocol's library, and with a
// server by the library's own WebSocket. The page docs/acp.md explains each difference, and
// no others.
func TestRealACPScenes(t *testing.T) {
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
	if err != nil || len(scenes) != 14 {
		t.Fatalf("%d scenes, %v", len(scenes), err)
	}
	used, played := make([]bool, len(table)), 0
	for _, s := range scenes {
		for _, editor := range []string{"own", "library", "socket"} {
			t.Run(s.Name+"/"+editor, func(t *testing.T) {
				played++
				s, st := s, (*stage)(nil)
				if editor == "socket" {
					s.Name += ", on a server"
					if row := table.Explains(acpscenes.Difference{Scene: s.Name, Frame: "scene", Member: "not played"}); row >= 0 {
						used[row] = true
						return
					}
					st = newServerStage(t, s)
				} else {
					st = newStage(t, s)
				}
				var frames [][]byte
				if editor != "own" {
					frames = st.byLibrary(t, s)
				} else if frames, err = acpscenes.Play(t.Context(), s, st.dir, st.agent(t)); err != nil {
					t.Fatalf("%v, after\n%s", err, bytes.Join(frames, []byte("\n")))
				}
				stripped, err := acpscenes.Strip(frames, st.dir)
				if err != nil {
					t.Fatal(err)
				}
				differences, err := acpscenes.Compare(s, stripped)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range differences {
					if row := table.Explains(d); row >= 0 {
						used[row] = true
						t.Logf("explained: %s", d)
					} else {
						t.Errorf("no row of docs/acp.md explains: %s", d)
					}
				}
				if t.Failed() {
					t.Logf("the frames:\n%s", bytes.Join(stripped, []byte("\n")))
				}
			})
		}
	}
	if played < 3*len(scenes) {
		return // -run has picked some
	}
	for i, r := range table {
		if !used[i] && !t.Failed() && !strings.HasSuffix(r.Scene, byACPX) {
			t.Errorf("the row of docs/acp.md about %s, %s, %s explains nothing", r.Scene, r.Frame, r.Member)
		}
	}
}
