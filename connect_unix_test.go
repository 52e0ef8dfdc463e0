//go:build unix

package claude_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
)

// A CLI is asked for echoes unless its version says that it need not, or cannot.
// One that refuses is started again without.
func TestEchoesOfUnknownVersions(t *testing.T) {
	leak.Check(t)
	const reply = `read line
id=${line#*'"request_id":'}; id=${id%%,*}
echo '{"type":"control_response","response":{"subtype":"success","request_id":'"$id"',"response":{"commands":[]}}}'
cat >/dev/null
`
	const refuse = `case "$*" in *--replay-user-messages*) echo "error: unknown option '--replay-user-messages'" >&2; exit 1;; esac
`
	for name, tt := range map[string]struct {
		name, text string
		starts     string // one mark for each start: e with the flag, n without
	}{
		"unknown":              {"claude", reply, "e"},
		"unknown, and too old": {"claude", refuse + reply, "en"},
		"too old by its name":  {"1.0.85", refuse + reply, "n"},
		"old by its name":      {"2.1.0", reply, "e"},
		"new by its name":      {"2.1.325", reply, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			starts := filepath.Join(t.TempDir(), "starts")
			note := fmt.Sprintf("case \"$*\" in --version) exit;; *--replay-user-messages*) printf e >>%[1]s;; *) printf n >>%[1]s;; esac\n", starts)
			s, err := claude.Connect(t.Context(), &claude.Options{CLIPath: harness.Script(t, tt.name, note+tt.text), Env: append(os.Environ(), leak.Mark()), Logger: harness.Logger(t)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(starts); string(got) != tt.starts {
				t.Errorf("started %q, want %q", got, tt.starts)
			}
		})
	}
}
