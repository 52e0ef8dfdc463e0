package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// A first prompt longer than the part of a file that a listing reads still
// shows where, by which program and with which words the session began.
func TestLongFirstPrompt(t *testing.T) {
	long := strings.Repeat("A", 100<<10)
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + long + `"}}`
	// The members have the order in which the CLI writes them: the text first.
	line := func(entrypoint, content string) string {
		return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":%s},"uuid":"u-1","timestamp":"2026-01-01T00:00:00.000Z","entrypoint":%q,"cwd":"/work","sessionId":"s","gitBranch":"main"}`+"\n", content, entrypoint)
	}
	answer := `{"parentUuid":"u-1","isSidechain":false,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"yes"}]},"uuid":"a-1","timestamp":"2026-01-01T00:00:09.000Z","entrypoint":"sdk-cli","cwd":"/src/elsewhere","sessionId":"s","gitBranch":"main"}` + "\n"
	attachment := `{"parentUuid":null,"isSidechain":false,"type":"attachment","uuid":"t-1","timestamp":"2026-01-01T00:00:00.000Z","entrypoint":"cli","cwd":"/work","sessionId":"s"}` + "\n"
	for name, tt := range map[string]struct {
		file, first, title string
		programmatic       bool
	}{
		"text before an image": {line("cli", `[{"type":"text","text":"What is this?"},`+image+`]`) + answer, "What is this?", "", false},
		"text after an image":  {line("cli", `[`+image+`,{"type":"text","text":"What is this?"}]`) + answer, "What is this?", "", false},
		"begun by a program":   {line("sdk-go", `[`+image+`,{"type":"text","text":"What is this?"}]`) + answer, "What is this?", "", true},
		"nothing behind it":    {line("cli", `[`+image+`,{"type":"text","text":"What is this?"}]`), "What is this?", "", false},
		"long text":            {line("sdk-cli", `"`+long+`"`) + answer, strings.Repeat("A", 200) + "…", "", true},
		"only an image":        {line("cli", `[`+image+`]`) + answer, "", "Image", false},
		"where is known":       {attachment + line("cli", `[`+image+`,{"type":"text","text":"What is this?"}]`) + answer, "What is this?", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := history.Disk(configWith(t, map[string]string{sid(1) + ".jsonl": tt.file}))
			info, err := h.Info(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			if info.Dir != "/work" || info.FirstPrompt != tt.first || info.Created.Second() != 0 || info.Created.IsZero() {
				t.Errorf("directory %q, first prompt %.20q, created %v", info.Dir, info.FirstPrompt, info.Created)
			}
			if tt.title != "" && info.Title != tt.title {
				t.Errorf("title %q, want %q", info.Title, tt.title)
			}
			if listed := len(list(t, h, history.Query{SkipProgrammatic: true})); listed != 0 != !tt.programmatic {
				t.Errorf("%d sessions that people began, entry point %q", listed, info.Entrypoint)
			}
		})
	}
}
