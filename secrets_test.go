package claude_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// canary begins every secret of these tests. It must appear nowhere but where a
// secret belongs: in the environment, in the session's files, on stdin.
const canary = "canary-8c1f"

// playCanary is a CLI that blurts out everything it was told in confidence, and
// then ends in some way.
func playCanary(in interface{ ReadBytes(byte) ([]byte, error) }) {
	for _, entry := range os.Environ() {
		if strings.Contains(entry, canary) {
			fmt.Fprintln(os.Stderr, entry)
		}
	}
	for _, arg := range os.Args {
		_, path, _ := strings.Cut(arg, "=")
		if text, err := os.ReadFile(path); err == nil {
			fmt.Fprintf(os.Stderr, "%s\n", text)
		}
	}
	end := os.Getenv("CANARY_END")
	if end == "at once" {
		os.Exit(3)
	}
	request := func() wire.Frame {
		line, _ := in.ReadBytes('\n')
		f, _ := wire.Parse(line)
		return f
	}
	f := request()
	if r, err := f.Request(); err == nil {
		if end == "refused" {
			fmt.Printf("%s\n", wire.EncodeError(r.ID, &wire.ReplyError{Message: "no"}))
			os.Exit(1)
		}
		reply, _ := wire.EncodeSuccess(r.ID, []byte(`{"claude_code_version":"2.1.325","hook_on_failure_supported":true,"managed_settings_applied":true}`))
		fmt.Printf("%s\n", reply)
		f = request()
	}
	secret := os.Getenv("SOME_TOKEN")
	fmt.Println("log of the CLI: " + secret)
	fmt.Printf(`{"type":"assistant","type":%q}`+"\n", secret)
	fmt.Printf(`{"type":"control_request","request_id":"p","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":%q}}}`+"\n", secret)
	request()
	fmt.Printf(`{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","callback_id":7,"input":%q}}`+"\n", secret)
	request()
	if end == "in the turn" {
		os.Exit(4)
	}
	fmt.Printf(`{"type":"result","subtype":"success","num_turns":%q,"duration_ms":%[1]q,"user_message_uuids":[%q]}`+"\n", secret, f.Text("uuid"))
	request()
}

// secretive returns options with a secret in everything that can hold one, and
// in the names of what is not secret none.
func secretive(t *testing.T, end string) *claude.Options {
	o := childCLI(t, "canary")
	o.Env = append(o.Env, "CANARY_END="+end,
		"ANTHROPIC_API_KEY="+canary+"-key", "SOME_TOKEN="+canary+"-token", "SOME_PASSWORD="+canary+"-line\n"+canary+"-other",
		"ANTHROPIC_CUSTOM_HEADERS=Authorization: Bearer "+canary+"-custom")
	o.MCPServers = claude.MCPServers{
		"a": claude.StdioServer{Command: "true", Env: map[string]string{"API_KEY": canary + "-stdio"}},
		"b": claude.HTTPServer{URL: "https://example.com", Headers: map[string]string{"Authorization": "Bearer " + canary + "-http"}},
		"c": claude.SSEServer{URL: "https://example.com", Headers: map[string]string{"X-Other": canary + "-sse"}},
	}
	o.Settings = map[string]any{"env": map[string]any{"GITHUB_TOKEN": canary + "-settings"}}
	return o
}

// evidence is everything that others may read.
type evidence struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (e *evidence) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(b)
}

func (e *evidence) note(what string, v any) { fmt.Fprintf(e, "%s: %v %+v\n", what, v, v) }

// watch makes everything that a session says outside of its stream evidence.
func (e *evidence) watch(o *claude.Options) {
	o.Logger = slog.New(slog.NewTextHandler(e, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Stderr = func(line string) { e.note("stderr", line) }
	o.Trace = &claude.Trace{
		StateChanged:    func(from, to claude.State) { e.note("state", to) },
		CallbackStarted: func(c claude.TraceCallback) { e.note("callback", c) },
		CallbackDone:    func(c claude.TraceCallback) { e.note("callback", c) },
		RequestDone:     func(r claude.TraceRequest) { e.note("request", r) },
		Diagnostic:      func(d claude.Diagnostic) { e.note("diagnostic", d.Err) }, // Line is the line
	}
}

// look takes the command lines of all processes, and what is readable to others
// below a folder.
func (e *evidence) look(t *testing.T, tmp string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil {
			e.note("command line", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	_ = filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		info, statErr := os.Lstat(path)
		if err == nil && statErr == nil && path != tmp && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
		return nil
	})
}

// failure takes an error with all that it carries.
func (e *evidence) failure(err error) {
	e.note("error", err)
	if start, ok := errors.AsType[*claude.StartError](err); ok {
		e.note("output", start.Output)
	}
	if exit, ok := errors.AsType[*claude.ProcessError](err); ok {
		e.note("tail", exit.Stderr)
	}
}

func (e *evidence) check(t *testing.T, tmp string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.text.Len() == 0 {
		t.Error("there is no evidence: the test shows nothing")
	}
	for line := range strings.Lines(e.text.String()) {
		if strings.Contains(line, canary) {
			t.Errorf("a secret in %s", line)
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	for _, end := range []string{"well", "at once", "refused", "in the turn", "no program", "no directory"} {
		t.Run(end, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var e evidence
			o := secretive(t, end)
			o.SystemPrompt = claude.SystemPrompt{Text: canary + "-system", Append: canary + "-append"}
			o.PlanModeInstructions = canary + "-plan"
			o.Agents = map[string]claude.AgentDefinition{"a": {Description: canary + "-description", Prompt: canary + "-prompt"}}
			o.ManagedSettings = map[string]any{"env": map[string]any{"X_TOKEN": canary + "-managed"}}
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				e.look(t, tmp)
				return permission.Decision{}, errors.New("nobody is there")
			}
			e.watch(o)
			switch end {
			case "no program":
				o.CLIPath = filepath.Join(tmp, "missing")
			case "no directory":
				o.Cwd = filepath.Join(tmp, "missing")
			}
			s, err := claude.Connect(t.Context(), o)
			if err == nil {
				e.look(t, tmp)
				_, err = s.Ask(t.Context(), canary+"-prompt")
				s.Close()
				e.failure(s.Wait())
			}
			if (err == nil) != (end == "well") {
				t.Errorf("error = %v", err)
			}
			e.failure(err)
			e.check(t, tmp)
		})
	}
}

// A query without callbacks shakes no hands: what the handshake would carry must
// not end up on the command line instead.
func TestSecretsOfOneWayQuery(t *testing.T) {
	for _, end := range []string{"well", "at once"} {
		t.Run(end, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var e evidence
			o := secretive(t, end)
			e.watch(o)
			for msg, err := range claude.Query(t.Context(), canary+"-prompt", o) {
				if msg != nil {
					e.look(t, tmp)
				}
				e.failure(err)
			}
			e.check(t, tmp)
		})
	}
}

// Options are in many logs. What cannot be used is named, not shown.
func TestOptionErrorsShowNoSecret(t *testing.T) {
	for name, o := range map[string]claude.Options{
		"variable":      {Env: []string{canary + "-token"}},
		"NUL":           {Env: []string{"TOKEN=" + canary + "\x00"}},
		"settings":      {Settings: map[string]any{"token": canary, "f": func() {}}},
		"managed":       {ManagedSettings: map[string]any{"token": canary, "f": func() {}}},
		"header":        {MCPServers: claude.MCPServers{"a": claude.HTTPServer{Headers: map[string]string{"Authorization": canary}}}},
		"server":        {MCPServers: claude.MCPServers{"a": claude.StdioServer{Env: map[string]string{"TOKEN": canary}}}},
		"both settings": {Settings: map[string]any{"token": canary}, SettingsFile: "x"},
		"prompt":        {SystemPrompt: claude.SystemPrompt{Text: canary, Preset: true}},
		"schema":        {OutputSchema: []byte(`{"type":"` + canary + `"`)},
	} {
		o.Transport = unstarted{t}
		_, err := claude.Connect(t.Context(), &o)
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}
