package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// report is a scripted tool's report of its edit.
type report struct {
	FilePath string `json:"filePath"`
	Type     string `json:"type,omitempty"`
	Content  string `json:"content,omitempty"`
	Patch    any    `json:"structuredPatch"`
}

func hunk(old, new int, lines ...string) map[string]any {
	return map[string]any{"oldStart": old, "oldLines": len(lines), "newStart": new, "newLines": len(lines), "lines": lines}
}

// reports makes the Edit and Write of an agent report what the prompts ask for.
func (r *rig) reports(of map[string]report) {
	run := func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
		var in struct{ Name string }
		if err := json.Unmarshal(input, &in); err != nil {
			return host.ToolOutput{}, err
		}
		out := host.TextOutput("done")
		out.Result, _ = json.Marshal(of[in.Name])
		if in.Name == "fails" {
			out = host.TextOutput("no such file")
			out.IsError, out.Result = true, json.RawMessage(`"Error: no such file"`)
		}
		return out, nil
	}
	r.agent.edit = run
}

// allowAll decides all that is asked until a prompt has ended.
func (c *client) allowAll(conversation string, turns int) {
	c.t.Helper()
	c.follow("/v1/conversations/"+conversation+"/events?after=0", func(e sse) bool {
		if e.event == "approval" {
			var data api.Event
			if err := json.Unmarshal([]byte(e.data), &data); err != nil {
				c.t.Fatal(err)
			}
			if data.Approval.State == api.ApprovalPending {
				a := get[api.Approval](c, "/v1/approvals/"+data.Approval.ID)
				if a.State == api.ApprovalPending {
					c.do("POST", "/v1/approvals/"+a.ID+"/decision", api.Decision{Decision: "allow", Digest: a.Digest})
				}
			}
		}
		if e.event == "turn" {
			turns--
		}
		return turns == 0
	})
}

// The edits of a conversation are listed by file, of all prompts or of one, and
// are a patch that git applies.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRigIn(t, store.Memory(), dir, nil)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	odd := "a \"b\"\nc.txt"
	r.reports(map[string]report{
		"one":   {FilePath: filepath.Join(dir, "sub/a.go"), Patch: []any{hunk(1, 1, " one", "-two", "+zwei", "+drei", " three", `\ No newline at end of file`)}},
		"two":   {FilePath: filepath.Join(dir, "sub/a.go"), Patch: []any{hunk(2, 2, " zwei", "-drei", " three", `\ No newline at end of file`)}},
		"new":   {FilePath: filepath.Join(dir, odd), Type: "create", Content: "x\ny", Patch: []any{}},
		"empty": {FilePath: filepath.Join(dir, "empty"), Type: "create", Patch: []any{}},
	})
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("edit one two fails")
	ada.allowAll(conversation.ID, 1)
	path := "/v1/conversations/" + conversation.ID
	second := want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"content":"edit new empty"}`), http.StatusAccepted)
	ada.allowAll(conversation.ID, 2)

	all := get[api.Changes](ada, path+"/changes")
	if len(all.Files) != 3 || all.Added != 4 || all.Removed != 2 || all.Files[0].Path != "sub/a.go" || len(all.Files[0].Edits) != 2 || all.Files[1].Path != odd {
		t.Errorf("%+v", all)
	}
	if one := get[api.Changes](ada, path+"/changes?prompt="+second.ID); len(one.Files) != 2 || one.Removed != 0 || !one.Files[0].Edits[0].Created || one.Files[0].Edits[0].Prompt != second.ID {
		t.Errorf("of the second prompt: %+v", one)
	}
	if got := ada.do("GET", path+"/changes?prompt=nothing", nil); got.status != http.StatusNotFound {
		t.Errorf("an unknown prompt: status %d", got.status)
	}
	patch := ada.do("GET", path+"/changes.patch", nil)
	if patch.status != http.StatusOK || patch.header.Get("Content-Type") != "text/x-diff; charset=utf-8" || !strings.Contains(patch.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("status %d, %v", patch.status, patch.header)
	}
	t.Run("git", func(t *testing.T) {
		long.Test(t, "needs git")
		applies(t, patch.body, map[string]string{"sub/a.go": "one\nzwei\nthree", odd: "x\ny", "empty": ""})
	})
}

// The patch of a conversation's own folder is found by its key. A conversation without such a
// folder, and any conversation of a server without folders, has none.
func TestFolderPatch(t *testing.T) {
	t.Parallel()
	const text = "diff --git a/x b/x\nnew file mode 100644\n"
	keys := make(chan string, 10)
	for name, c := range map[string]struct {
		of     func(ctx context.Context, key string) ([]byte, error)
		status int
	}{
		"a server without folders": {nil, http.StatusNotFound},
		"a folder": {func(_ context.Context, key string) ([]byte, error) {
			keys <- key
			return []byte(text), nil
		}, http.StatusOK},
		"no folder": {func(context.Context, string) ([]byte, error) { return nil, fmt.Errorf("it is %w", fs.ErrNotExist) }, http.StatusNotFound},
		"a broken folder": {func(context.Context, string) ([]byte, error) {
			return nil, errors.New("git is broken in /secret/place")
		}, http.StatusInternalServerError},
	} {
		r := newRigIn(t, store.Memory(), t.TempDir(), func(o *serve.Options) { o.FolderPatch = c.of })
		ada := r.as("ada", api.RoleOperator)
		conversation := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop"}`), http.StatusCreated)
		got := ada.do("GET", "/v1/conversations/"+conversation.ID+"/folder.patch", nil)
		if got.status != c.status || strings.Contains(string(got.body), "/secret/place") {
			t.Errorf("%s: status %d, want %d: %s", name, got.status, c.status, got.body)
		}
		if bob := r.as("bob", api.RoleOperator).do("GET", "/v1/conversations/"+conversation.ID+"/folder.patch", nil); bob.status != http.StatusNotFound {
			t.Errorf("%s: another user gets %d", name, bob.status)
		}
		if c.status != http.StatusOK {
			continue
		}
		if string(got.body) != text || got.header.Get("Content-Type") != "text/x-diff; charset=utf-8" || !strings.Contains(got.header.Get("Content-Disposition"), "folder.patch") {
			t.Errorf("%s: %v %s", name, got.header, got.body)
		}
		if key := <-keys; !strings.HasPrefix(key, "ada/") || len(keys) > 0 {
			t.Errorf("%s: asked for the folder of %q, and %d more", name, key, len(keys))
		}
	}
}

// applies sees that git makes files of a patch.
func applies(t *testing.T, patch []byte, files map[string]string) {
	t.Helper()
	tree := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "sub/a.go"), []byte("one\ntwo\nthree"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "apply", "-")
	cmd.Dir, cmd.Stdin = tree, bytes.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, patch)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
