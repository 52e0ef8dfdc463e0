package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestRealBlockedPrompt is a prompt that a hook of the project blocks. The turn ends
// without the model, and the editor shows why: as a notice, or as text. One that loads the
// session shows it as text.
func TestRealBlockedPrompt(t *testing.T) {
	r := newReal(t)
	if err := os.Mkdir(filepath.Join(r.dir, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo not on Fridays >&2; exit 2"}]}]}}`
	if err := os.WriteFile(filepath.Join(r.dir, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, notices := range []bool{true, false} {
		caps := capable()
		if notices {
			caps.Session.Notices = new(schema.NoticeCapabilities)
		}
		d := drive.Start(t, r.local, drive.Setup{Capabilities: caps})
		id := d.New(t, r.dir)
		resp, err := d.Prompt(t.Context(), id, "Deploy it.")
		if err != nil || resp.StopReason != schema.StopReasonEndTurn {
			t.Fatalf("%+v, %v", resp, err)
		}
		why := d.Text(id)
		for _, up := range d.Updates(id) {
			if up.Notice != nil {
				why += "a notice: " + up.Notice.Title
			}
		}
		if strings.Count(why, "]: not on Fridays") != 1 || strings.Contains(why, "a notice: ") != notices {
			t.Errorf("with notices %t: shown %q, want once why the prompt was blocked", notices, why)
		}
		live := d.Text(id)
		d.Close()
		d = drive.Start(t, r.local, drive.Setup{Capabilities: caps})
		if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: r.dir}, nil); err != nil {
			t.Fatal(err)
		}
		if text := d.Text(id); !strings.Contains(text, "]: not on Fridays") || !notices && text != live {
			t.Errorf("loaded, with notices %t: said %q", notices, text)
		}
		d.Close()
	}
}
