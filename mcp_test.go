package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// Configurations go into a file that only the user can read, and the file goes
// with the process, on whatever path.
func TestMCPConfigFile(t *testing.T) {
	servers := claude.MCPServers{
		"files": claude.StdioServer{Command: "mcp-files", Args: []string{"/repo"}, Env: map[string]string{"TOKEN": "s3cret"}, Timeout: 90 * time.Second, AlwaysLoad: true},
		"old":   claude.SSEServer{URL: "https://example.com/sse"},
		"other": wsServer{"wss://example.com"},
	}
	const want = `{"mcpServers":{"files":{"alwaysLoad":true,"args":["/repo"],"command":"mcp-files","env":{"TOKEN":"s3cret"},"timeout":90000,"type":"stdio"},` +
		`"old":{"type":"sse","url":"https://example.com/sse"},"other":{"type":"ws","url":"wss://example.com"}}}`
	for _, how := range []string{"session", "query", "failed start", "exit", "refused"} {
		t.Run(how, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var d *double
			check := func() {
				path := ""
				for _, arg := range d.launch.Args {
					if strings.Contains(arg, "s3cret") {
						t.Errorf("a secret on the command line: %s", arg)
					}
					if p, ok := strings.CutPrefix(arg, "--mcp-config="); ok {
						path = p
					}
				}
				data, err := os.ReadFile(path)
				if err != nil || string(data) != want {
					t.Errorf("%s, %v\nwant %s", data, err, want)
				}
				file, _ := os.Stat(path)
				dir, _ := os.Stat(filepath.Dir(path))
				if file.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
					t.Errorf("modes %v and %v", file.Mode(), dir.Mode())
				}
				if strings.Join(d.launch.Args, " ") == "" || d.launch.Args[len(d.launch.Args)-1] == "--mcp-config="+path {
					t.Error("the flag is the last one")
				}
			}
			bubble(t, nil, func(t *testing.T, o *claude.Options) {
				d = o.Transport.(*double)
				o.MCPServers = servers
				o.StrictMCPConfig = true
				d.play = func(c *cli) {
					check()
					switch how {
					case "exit":
						c.code = 1
						return
					case "refused":
						c.refuse(c.request("initialize"), "no", "")
						return
					case "session":
						c.greet()
					}
					c.answer("done")
					c.idle()
				}
				switch how {
				case "query":
					if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
						t.Error(err)
					}
				case "failed start":
					o.Transport = noStart{}
					fallthrough
				case "exit", "refused":
					if _, err := claude.Connect(t.Context(), o); err == nil {
						t.Error("connected")
					}
				default:
					s := connect(t, o)
					if _, err := s.Ask(t.Context(), "hello"); err != nil {
						t.Error(err)
					}
					finish(t, s)
				}
			})
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestMCPServerOptions(t *testing.T) {
	var none *harness.MCPServer
	for name, server := range map[string]claude.MCPServer{
		"is nil":            none,
		"has no URL":        claude.HTTPServer{},
		"has no comman":     claude.StdioServer{},
		"not an MCPHandler": badKind{},
		"broken schema":     checkedServer{},
		"JSON object":       numberServer(1),
	} {
		_, err := claude.Connect(t.Context(), &claude.Options{MCPServers: claude.MCPServers{"x": server}, Transport: noStart{}})
		bad, ok := errors.AsType[*claude.OptionError](err)
		if !ok || bad.Field != `MCPServers["x"]` || !strings.Contains(bad.Problem, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
