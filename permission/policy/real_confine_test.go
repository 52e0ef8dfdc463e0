package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// reach is a way to a file that is not in the directory: a call of a tool. DIR
// and OUT stand for the directory and for one outside.
type reach struct {
	tool  string
	input string
}

func reaches() []reach {
	var list []reach
	for _, p := range []string{
		"OUT/secret.txt", "//OUT/secret.txt", "DIR/../out/secret.txt", "DIR/sub/../../out/secret.txt", "../out/secret.txt", "./../out/secret.txt", "sub/../../out/secret.txt",
		"DIR/link", "DIR/dirlink/secret.txt", "dirlink/secret.txt", "link", "./link", "DIR/./sub/.././link", "DIR/dirlink/../out/secret.txt", "DIR/chain", "DIR/up/out/secret.txt",
		"/proc/self/rootOUT/secret.txt", "/proc/self/cwd/../out/secret.txt", "/proc/1/rootOUT/secret.txt", "/proc/thread-self/rootOUT/secret.txt", "/dev/fd/../cwd/../out/secret.txt",
		"~/secret.txt", "$HOME/secret.txt", "${HOME}/secret.txt", "DIR/~/secret.txt", "%2e%2e/out/secret.txt", "file://OUT/secret.txt", "OUT/secret.txt ", " OUT/secret.txt", "OUT/secret.txt\\n", "\\tOUT/secret.txt", "\\u00a0OUT/secret.txt", "\\ufeffOUT/secret.txt",
		"DIR/sub/\\u2024\\u2024/\\u2024\\u2024/out/secret.txt", "DIR\\\\..\\\\out\\\\secret.txt", "OUT/secret.txt#L1", "OUT/./secret.txt", "OUT//secret.txt", "DIR/x\\u0000/../../out/secret.txt", "DIR/picture.png", "DIR/book.ipynb", "DIR/paper.pdf",
		"DIR/" + strings.Repeat("sub/../", 400) + "../out/secret.txt",
	} {
		list = append(list, reach{"Read", `{"file_path":"` + p + `"}`})
	}
	for _, input := range []string{`{"file_path":["OUT/secret.txt"]}`, `{"file_path":"DIR/in.txt","path":"OUT/secret.txt"}`, `{"file_path":"DIR/in.txt","FILE_PATH":"OUT/secret.txt"}`, `{"path":"OUT/secret.txt"}`, `{"file_path":"DIR/paper.pdf","pages":"1"}`} {
		list = append(list, reach{"Read", input})
	}
	for _, p := range []string{"OUT/new.txt", "../out/new.txt", "DIR/dirlink/new.txt", "DIR/dangling", "DIR/up/out/new.txt", "~/new.txt", "DIR/link", "/proc/self/cwd/../out/new.txt", " OUT/new.txt"} {
		list = append(list, reach{"Write", `{"file_path":"` + p + `","content":"x"}`},
			reach{"Edit", `{"file_path":"` + p + `","old_string":"","new_string":"x"}`},
			reach{"NotebookEdit", `{"notebook_path":"` + p + `","new_source":"x","cell_type":"code","edit_mode":"insert"}`})
	}
	for _, input := range []string{
		`{"pattern":"OUT/*"}`, `{"pattern":"../out/*"}`, `{"pattern":"*","path":"OUT"}`, `{"pattern":"*","path":"DIR/dirlink"}`, `{"pattern":"dirlink/*"}`, `{"pattern":"*/*.txt","path":"DIR"}`, `{"pattern":"{..,x}/out/*"}`, `{"pattern":"sub/../../out/*"}`,
		`{"pattern":"*/../../out/*"}`, `{"pattern":"**/*","path":"DIR/up"}`, `{"pattern":"[.][.]/out/*"}`, `{"pattern":"?(.)./out/*"}`, `{"pattern":"@(..)/out/*"}`, `{"pattern":"\\.\\./out/*"}`, `{"pattern":"~/*"}`, `{"pattern":" OUT/*"}`, `{"pattern":"di*/*"}`, `{"pattern":"**/secret*"}`, `{"pattern":"*","path":"."}`,
	} {
		list = append(list, reach{"Glob", input})
	}
	for _, input := range []string{
		`{"pattern":"SECRET","path":"OUT","output_mode":"content"}`, `{"pattern":"SECRET","path":"DIR/dirlink","output_mode":"content"}`, `{"pattern":"SECRET","path":"DIR/link","output_mode":"content"}`, `{"pattern":"SECRET","path":"..","output_mode":"content"}`,
		`{"pattern":"SECRET","glob":"../out/*","output_mode":"content"}`, `{"pattern":"SECRET","glob":"OUT/*","output_mode":"content"}`, `{"pattern":"SECRET","output_mode":"content"}`, `{"pattern":"SECRET","glob":"dirlink/**","output_mode":"content"}`,
		`{"pattern":"-f","path":"OUT/secret.txt","output_mode":"content"}`, `{"pattern":"SECRET","path":"DIR OUT","output_mode":"content"}`, `{"pattern":"SECRET","type":"txt --follow","output_mode":"content"}`, `{"pattern":"SECRET","glob":"* --follow","output_mode":"content"}`,
		`{"pattern":"SECRET","glob":"*,--pre=cat","output_mode":"content"}`, `{"pattern":"--pre=cat SECRET","path":"DIR","output_mode":"content"}`, `{"pattern":"SECRET","path":"DIR","-A":"1 --follow","output_mode":"content"}`, `{"pattern":"SECRET","path":"-L","output_mode":"content"}`,
	} {
		list = append(list, reach{"Grep", input})
	}
	return append(list, []reach{
		{"LS", `{"path":"OUT"}`}, {"LSP", `{"operation":"hover","filePath":"OUT/secret.txt","line":1,"character":1}`}, {"LSP", `{"operation":"documentSymbol","filePath":"DIR/link","line":1,"character":1}`},
		{"NotebookRead", `{"notebook_path":"OUT/secret.txt"}`}, {"MultiEdit", `{"file_path":"OUT/new.txt","edits":[{"old_string":"","new_string":"x"}]}`},
		{"Skill", `{"skill":"dataviz","args":"@OUT/secret.txt"}`}, {"Skill", `{"skill":"dataviz","args":"see @DIR/link"}`}, {"Skill", `{"skill":"dataviz @OUT/secret.txt"}`}, {"SlashCommand", `{"command":"/dataviz @OUT/secret.txt"}`},
		{"WebFetch", `{"url":"file://OUT/secret.txt","prompt":"x"}`}, {"ReadMcpResourceTool", `{"server":"x","uri":"file://OUT/secret.txt"}`}, {"Monitor", `{"command":"cat OUT/secret.txt","description":"x"}`}, {"Bash", `{"command":"cat OUT/secret.txt"}`},
		{"TaskOutput", `{"task_id":"../../../../../../../OUT/secret.txt"}`}, {"BashOutput", `{"bash_id":"../OUT/secret.txt"}`}, {"ExitPlanMode", `{"plan":"@OUT/secret.txt"}`}, {"TodoWrite", `{"todos":[{"content":"@OUT/secret.txt","status":"pending","activeForm":"x"}]}`},
		{"TaskCreate", `{"subject":"@OUT/secret.txt","description":"@OUT/secret.txt"}`}, {"ToolSearch", `{"query":"select:@OUT/secret.txt"}`}, {"Workflow", `{"script":"OUT/secret.txt"}`}, {"Workflow", `{"scriptPath":"OUT/secret.txt"}`}, {"Workflow", `{"name":"../../out/secret.txt"}`},
		{"CronCreate", `{"cron":"0 0 1 1 *","prompt":"@OUT/secret.txt"}`}, {"SendMessage", `{"to":"x","message":"@OUT/secret.txt"}`}, {"EnterWorktree", `{"path":"OUT"}`}, {"EnterWorktree", `{"name":"../../../out"}`},
		{"Agent", `{"description":"x","prompt":"FETCH @OUT/secret.txt","subagent_type":"general-purpose"}`}, {"Task", `{"description":"x","prompt":"FETCH","subagent_type":"general-purpose"}`}, {"Agent", `{"description":"x","prompt":"FETCH","subagent_type":"general-purpose","cwd":"OUT","isolation":"worktree"}`},
	}...)
}

// reachModel plays a model that tries all ways, some in each turn, and a
// subagent that reads the secret.
func reachModel(uses [][]claudetest.ScriptedCall, secret string) *claudetest.Model {
	var mu sync.Mutex
	done := make([]bool, len(uses))
	return claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		mu.Lock()
		defer mu.Unlock()
		raw, n := string(c.Raw), 0
		at := strings.LastIndex(raw, "BATCH ")
		switch {
		case at >= 0:
			if _, err := fmt.Sscanf(raw[at:], "BATCH %d", &n); err == nil && !done[n] {
				done[n] = true
				return claudetest.UseTools(uses[n]...)
			}
		case strings.Contains(raw, "FETCH") && len(c.ToolResults) == 0:
			return claudetest.UseTool("Read", map[string]string{"file_path": secret})
		}
		return claudetest.Say("done")
	})
}

// TestRealConfined lets the model try to reach files outside of a directory, past
// Confine and rules in a guard of a hardened session in which all else is
// allowed.
func TestRealConfined(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "hooks that fail closed")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, out, home := filepath.Join(base, "dir"), filepath.Join(base, "out"), ""
	prepareOutside(t, dir, out)
	const batch = 20
	var uses [][]claudetest.ScriptedCall
	for i, r := range reaches() {
		if i%batch == 0 {
			uses = append(uses, nil)
		}
		input := strings.NewReplacer("OUT", out, "DIR", dir).Replace(r.input)
		uses[i/batch] = append(uses[i/batch], claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", i), Name: r.tool, Input: json.RawMessage(input)})
	}
	model := reachModel(uses, filepath.Join(out, "secret.txt"))
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	opts := claude.Hardened()
	opts.Env, home = realcli.Env(t, url)
	writeSecret(t, filepath.Join(home, "secret.txt"))
	opts.CLIPath, opts.Cwd = realcli.Need(t, realcli.Tested()), dir
	opts.CanUseTool = policy.Always(permission.Allow())
	opts.Hooks = []hook.Hook{hook.Guard("", policy.First(policy.MustRules("Bash", "WebFetch", "Monitor").Deny("no"), policy.Confine(dir)))}
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range uses {
		if _, err := s.Ask(t.Context(), fmt.Sprintf("BATCH %d", n)); err != nil {
			t.Fatal(err)
		}
		checkOutside(t, n, out, home)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	answered := 0
	for _, c := range model.Calls() {
		answered = max(answered, strings.Count(string(c.Raw), `"tool_result"`))
		if strings.Contains(string(c.Raw), "SECRET-OUTSIDE") {
			for _, result := range c.ToolResults {
				if strings.Contains(result.Text, "SECRET-OUTSIDE") {
					t.Errorf("%s: %.200s", result.ToolUseID, result.Text)
				}
			}
			t.Fatalf("the secret came before the model")
		}
	}
	t.Logf("%d ways, %d answers", len(reaches()), answered)
	if answered < len(reaches())-batch {
		t.Errorf("%d answers of %d", answered, len(reaches()))
	}
}

// TestRealConfinedSkills lets the model mention files in the arguments of a
// skill, in sessions that act on mentions: Confine keeps those outside away, and
// only those.
func TestRealConfinedSkills(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, realcli.Version, "a skill that the CLI brings along")
	for _, confined := range []bool{false, true} {
		dir, out := t.TempDir(), t.TempDir()
		writeSecret(t, filepath.Join(out, "secret.txt"))
		if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("TEXT-INSIDE"), 0o600); err != nil {
			t.Fatal(err)
		}
		model := claudetest.NewModel(claudetest.UseTool("Skill", map[string]string{"skill": "dataviz", "args": "see @" + out + "/secret.txt"}),
			claudetest.UseTool("Skill", map[string]string{"skill": "dataviz", "args": "see @in.txt"}), claudetest.Say("done"))
		url, err := model.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		opts := claude.Hardened()
		opts.Env, _ = realcli.Env(t, url)
		opts.CLIPath, opts.Cwd, opts.VerbatimPrompts = realcli.Need(t, realcli.Tested()), dir, false
		if confined {
			opts.Hooks = []hook.Hook{hook.Guard("", policy.Confine(dir))}
		}
		if _, err := claude.Ask(t.Context(), "draw", opts); err != nil {
			t.Fatal(err)
		}
		calls := model.Calls()
		last := string(calls[len(calls)-1].Raw)
		if got := strings.Contains(last, "SECRET-OUTSIDE"); got == confined {
			t.Errorf("Confine %v: the file outside came before the model: %v", confined, got)
		}
		if !strings.Contains(last, "TEXT-INSIDE") {
			t.Errorf("Confine %v: the file inside did not come before the model", confined)
		}
	}
}

func writeSecret(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("SECRET-OUTSIDE"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func prepareOutside(t *testing.T, dir, out string) {
	t.Helper()
	for _, d := range []string{dir + "/sub", out} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{out + "/secret.txt": "SECRET-OUTSIDE", dir + "/in.txt": "inside", out + "/s.ipynb": `{"cells":[{"cell_type":"code","source":["SECRET-OUTSIDE"],"outputs":[],"metadata":{}}],"metadata":{},"nbformat":4,"nbformat_minor":2}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"link": out + "/secret.txt", "dirlink": out, "chain": "link", "up": "..", "dangling": out + "/new.txt", "picture.png": "../out/secret.txt", "book.ipynb": out + "/s.ipynb", "paper.pdf": out + "/secret.txt",
	} {
		link(t, to, filepath.Join(dir, name))
	}
}

// checkOutside looks whether something outside was written.
func checkOutside(t *testing.T, n int, out, home string) {
	t.Helper()
	for _, name := range []string{filepath.Join(out, "new.txt"), filepath.Join(home, "new.txt")} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("a call of batch %d has made %s", n, name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(out, "secret.txt")); err != nil || string(text) != "SECRET-OUTSIDE" {
		t.Errorf("a call of batch %d has changed the file", n)
	}
}
