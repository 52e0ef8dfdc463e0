package e2e

import (
	"bytes"
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
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
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

// leaver is the real CLI with a model that makes it write every kind of file that it
// keeps for a session, all with the same mark.
func leaver(t *testing.T, mark string) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var edited string
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		first := c.Messages[0].Text
		switch n := len(c.ToolResults); {
		case c.Side, strings.Contains(first, "look after"):
			return claudetest.Say("the agent saw " + mark)
		case n > 0 || !strings.Contains(c.Prompt, "everything"):
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
	edited = filepath.Join(r.dir, "edited.txt")
	if err := os.WriteFile(edited, []byte("before "+mark), 0o600); err != nil {
		t.Fatal(err)
	}
	r.opts.PermissionMode, r.opts.FileCheckpointing = permission.ModeBypassPermissions, true
	return r
}

// After Delete there is nothing of a conversation in any file: not in the configuration
// folder of the user, not among the temporary files, not in the store.
func TestRealDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	mark := "mark-" + uuid.New()
	r := leaver(t, mark)
	db := t.TempDir()
	journals := t.TempDir()
	places := []string{filepath.Dir(r.home), db, journals}
	files := func() ([]string, int) { return filesWith(t, mark, append(temporary(t), places...)...) }
	f := r.fleet(t, store.Files(db), fleet.Options{Journal: journals})
	for range 2 { // a first session, and one that is resumed
		_, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{Content: message.Content{
			message.Image("image/png", pictureWith(t, mark)), message.Text("everything about " + mark),
		}}))
		if err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
		if found, _ := filesWith(t, mark, filepath.Join(r.home, ".claude", "projects")); len(found) > 0 {
			t.Errorf("a turn leaves %q", found)
		}
		f = r.fleet(t, store.Files(db), fleet.Options{Journal: journals})
	}
	defer closeFleet(t, f)
	if found, _ := files(); len(found) == 0 {
		t.Fatal("nothing has the mark before it is deleted")
	}
	if err := f.Delete(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if found, _ := files(); len(found) > 0 {
		t.Errorf("Delete leaves\n%s", strings.Join(found, "\n"))
	}
}

// DELETE /v1/conversations/ID leaves nothing either, also of what the server keeps itself.
func TestRealDeleteOverHTTP(t *testing.T) {
	t.Parallel()
	mark := "mark-" + uuid.New()
	r := leaver(t, mark)
	db, journals := t.TempDir(), t.TempDir()
	files := func() []string {
		found, _ := filesWith(t, mark, append(temporary(t), filepath.Dir(r.home), db, journals)...)
		return found
	}
	records := store.Files(db)
	presets := []serve.Preset{{Name: "shop", Roots: []string{r.dir}, Options: r.opts}}
	sessions, err := serve.Sessions(records, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Open(t.Context(), fleet.Options{Store: records, Project: "p", Journal: journals, Logger: harness.Logger(t), Session: sessions})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFleet(t, f)
	s, err := serve.New(f, serve.Options{Records: records, Project: "p", Presets: presets, Logger: harness.Logger(t),
		Authenticate: func(*http.Request) (api.User, bool) { return api.User{Name: "ada", Role: api.RoleOperator}, true }})
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
	made := ask("POST", "/v1/conversations", fmt.Sprintf(`{"preset":"shop","title":%q,"content":"everything about %s"}`, mark, mark), http.StatusCreated)
	at := "/v1/conversations/" + jsonx.Text(jsonx.Member(made, "id"))
	eventually(t, "the turn does not end", func() bool {
		return jsonx.Text(jsonx.Member(ask("GET", at, "", http.StatusOK), "state")) == "idle"
	})
	if len(files()) == 0 {
		t.Fatal("nothing has the mark before it is deleted")
	}
	ask("DELETE", at, "", http.StatusNoContent)
	if found := files(); len(found) > 0 {
		t.Errorf("DELETE leaves\n%s", strings.Join(found, "\n"))
	}
}
