package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// pictureWith is an image whose file contains a text.
func pictureWith(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	const header = 8 + 25 // the signature and the first chunk
	body := "tEXtComment\x00" + text
	chunk := fmt.Appendf(nil, "%s%s%s", be32(len(body)-4), body, be32(int(crc32.ChecksumIEEE([]byte(body)))))
	return slices.Insert(file.Bytes(), header, chunk...)
}

func be32(n int) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }

// filesWith lists the files below the folders whose contents or names have a text, and
// counts all files.
func filesWith(t *testing.T, text string, dirs ...string) (found []string, all int) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint // what is gone has nothing
			}
			all++
			data, err := os.ReadFile(path)
			if err == nil && (bytes.Contains(data, []byte(text)) || strings.Contains(path, text)) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found, all
}

// temporary lists where a CLI or a session keeps files outside of the folders of its own.
func temporary(t *testing.T) (dirs []string) {
	t.Helper()
	for _, pattern := range []string{"claude-session-*", "claude-[0-9]*", "claude"} {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	return dirs
}

// kinds are the files that the CLI keeps for a session, by what is in their paths.
var kinds = map[string]*regexp.Regexp{
	"a transcript":              regexp.MustCompile(`/projects/[^/]+/[0-9a-f-]{36}\.jsonl$`),
	"the lines of a subagent":   regexp.MustCompile(`/subagents/agent-[^/]+\.jsonl$`),
	"a large output":            regexp.MustCompile(`/tool-results/[^/]+\.txt$`),
	"an image of a prompt":      regexp.MustCompile(`/images/[^/]+\.png$`),
	"the output of a task":      regexp.MustCompile(`/tasks/[^/]+\.output$`),
	"a checkpoint of a file":    regexp.MustCompile(`/file-history/`),
	"what the fleet has stored": regexp.MustCompile(`/the-store/`),
}

// missing lists the kinds of files that were not found.
func missing(found []string) (kind []string) {
	for name, path := range kinds {
		if !slices.ContainsFunc(found, func(f string) bool { return path.MatchString(filepath.ToSlash(f)) }) {
			kind = append(kind, name)
		}
	}
	slices.Sort(kind)
	return kind
}

// leaver is the real CLI with a model that makes it write every kind of file that it
// keeps for a session, all with the same mark. Before the turn ends, the model looks for
// them.
type leaver struct {
	*real
	mark     string
	db       string
	journals string
	wrote    chan []string // the kinds that were missing at the end of each turn
	holds    bool          // a turn does not end
}

func newLeaver(t *testing.T) *leaver {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var edited string
	l := &leaver{mark: "mark-" + uuid.New(), db: filepath.Join(t.TempDir(), "the-store"), journals: t.TempDir(), wrote: make(chan []string, 8)}
	mark := l.mark
	l.real = startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		first := c.Messages[0].Text
		switch n := len(c.ToolResults); {
		case c.Side, strings.Contains(first, "look after"):
			return claudetest.Say("the agent saw " + mark)
		case !strings.Contains(c.Prompt, "everything"):
			return claudetest.Say("done with " + mark)
		case n > 0:
			l.wrote <- l.awaitKinds(t)
			if l.holds {
				return claudetest.Say("never").Hold(nil)
			}
			return claudetest.Say("done with " + mark)
		}
		return claudetest.UseTools(
			claudetest.ScriptedCall{Name: "Bash", Input: map[string]any{"command": "echo " + mark + "; seq 1 40000"}},
			claudetest.ScriptedCall{Name: "Bash", Input: map[string]any{"command": "echo " + mark, "run_in_background": true}},
			claudetest.ScriptedCall{Name: "Write", Input: map[string]any{"file_path": edited, "content": "one " + mark}},
			claudetest.ScriptedCall{Name: "Agent", Input: map[string]any{
				"description": "look", "prompt": "look after " + mark, "subagent_type": "general-purpose", "run_in_background": false,
			}},
		)
	}))
	edited = filepath.Join(l.dir, "edited.txt")
	if err := os.WriteFile(edited, []byte("before "+mark), 0o600); err != nil {
		t.Fatal(err)
	}
	l.opts.PermissionMode, l.opts.FileCheckpointing = permission.ModeBypassPermissions, true
	l.opts.AllowedTools = []string{"Bash", "Write", "Agent"} // a server begins in a mode of its own
	return l
}

// files lists what has the mark, wherever the CLI, the fleet or its store keep files.
func (l *leaver) files(t *testing.T) []string {
	found, _ := filesWith(t, l.mark, append(temporary(t), filepath.Dir(l.home), l.db, l.journals)...)
	return found
}

// awaitKinds waits until there is a file of every kind, and returns those that do not come.
func (l *leaver) awaitKinds(t *testing.T) (kind []string) {
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) { // the background shell and the store are not waited for by the CLI
		if kind = missing(l.files(t)); len(kind) == 0 || time.Now().After(limit) {
			return kind
		}
	}
}

// hadAll wants that a turn has left every kind of file.
func (l *leaver) hadAll(t *testing.T) {
	t.Helper()
	select {
	case kind := <-l.wrote:
		if len(kind) > 0 {
			t.Errorf("the turn has not written %q", kind)
		}
	case <-time.After(time.Minute):
		t.Fatal("the model was not asked")
	}
}

// gone wants that nothing is left.
func (l *leaver) gone(t *testing.T) {
	t.Helper()
	if found := l.files(t); len(found) > 0 {
		t.Errorf("after the deletion there is\n%s", strings.Join(found, "\n"))
	}
}

// After Delete there is nothing of a conversation in any file: not in the configuration
// folder of the user, not among the temporary files, not in the store.
func TestRealDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLeaver(t)
	f := l.fleet(t, store.Files(l.db), fleet.Options{Journal: l.journals})
	for range 2 { // a first session, and one that is resumed
		_, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{Content: message.Content{
			message.Image("image/png", pictureWith(t, l.mark)), message.Text("everything about " + l.mark),
		}}))
		if err != nil {
			t.Fatal(err)
		}
		l.hadAll(t)
		closeFleet(t, f)
		if found, _ := filesWith(t, l.mark, filepath.Join(l.home, ".claude", "projects")); len(found) > 0 {
			t.Errorf("a turn leaves %q", found)
		}
		f = l.fleet(t, store.Files(l.db), fleet.Options{Journal: l.journals})
	}
	defer closeFleet(t, f)
	if err := f.Delete(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	l.gone(t)
}

// A program is killed in the middle of a turn, when every kind of file is there, and can
// remove nothing. Delete removes all of it in the next program, which runs no CLI.
func TestRealDeleteAfterKill(t *testing.T) {
	need.Signals.Test(t)
	leak.TempFolder(t, t.TempDir()) // so the sessions of other tests do not remove what is left
	l := newLeaver(t)
	l.holds = true
	picture := filepath.Join(t.TempDir(), "picture.png")
	if err := os.WriteFile(picture, pictureWith(t, l.mark), 0o600); err != nil {
		t.Fatal(err)
	}
	l.killed(t, l.db, "everything about "+l.mark, 0, func(*os.Process) { l.hadAll(t) },
		"HOST_PICTURE="+picture, "HOST_JOURNAL="+l.journals, "TMPDIR="+os.TempDir())
	if kind := missing(l.files(t)); len(kind) > 0 {
		t.Errorf("after the kill there is not %q", kind)
	}
	f := l.fleet(t, store.Files(l.db), fleet.Options{Journal: l.journals, MaxLive: fleet.NoCLIs})
	defer closeFleet(t, f)
	if err := f.Delete(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	l.gone(t)
}

// DELETE /v1/conversations/ID leaves nothing either, also of what the server keeps itself.
func TestRealDeleteOverHTTP(t *testing.T) {
	t.Parallel()
	r := newLeaver(t)
	mark, records := r.mark, store.Files(r.db)
	presets := []serve.Preset{{Name: "shop", Roots: []string{r.dir}, Options: r.opts}}
	sessions, err := serve.Sessions(records, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Open(t.Context(), fleet.Options{Store: records, Project: "p", Journal: r.journals, Logger: harness.Logger(t), Session: sessions})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFleet(t, f)
	s, err := serve.New(f, serve.Options{Records: records, Project: "p", Presets: presets, Logger: harness.Logger(t), History: history.Disk(filepath.Join(r.home, ".claude")),
		Authenticate: func(*http.Request) (api.User, bool) { return api.User{Name: "ada", Role: api.RoleAdmin}, true }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()
	ask := func(method, path, body string, want int) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want {
			t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
		}
		return text
	}
	content, err := json.Marshal(message.Content{message.Image("image/png", pictureWith(t, mark)), message.Text("everything about " + mark)})
	if err != nil {
		t.Fatal(err)
	}
	made := ask("POST", "/v1/conversations", fmt.Sprintf(`{"preset":"shop","title":%q,"content":%s}`, mark, content), http.StatusCreated)
	at := "/v1/conversations/" + jsonx.Text(jsonx.Member(made, "id"))
	eventually(t, "the turn does not end", func() bool {
		return jsonx.Text(jsonx.Member(ask("GET", at, "", http.StatusOK), "state")) == "idle"
	})
	r.hadAll(t)
	ask("DELETE", at, "", http.StatusNoContent)
	r.gone(t)
	if left := ask("GET", "/v1/sessions", "", http.StatusOK); string(jsonx.Member(left, "items")) != "[]" {
		t.Errorf("the sessions on the server's disk are %s", left)
	}
}
