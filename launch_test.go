package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// started is everything that a CLI is given when it starts.
type started struct {
	launch   *claude.Launch
	args     []string       // with FILE for the paths of temporary files
	init     map[string]any // the handshake, without its subtype
	settings map[string]any // what is in the settings file
	servers  map[string]any // what is in the MCP file
}

// launched starts a session with options, and looks at what was started.
func launched(t *testing.T, o claude.Options) *started {
	t.Helper()
	s, err := launch(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func launch(t *testing.T, o claude.Options) (s *started, err error) {
	t.Helper()
	s = new(started)
	bubble(t, func(c *cli) {
		r := c.request("initialize")
		if err := json.Unmarshal(r.Body, &s.init); err != nil {
			c.t.Error(err)
		}
		delete(s.init, "subtype")
		c.succeed(r, `{"claude_code_version":"2.1.325","hook_on_failure_supported":true,"managed_settings_applied":true}`)
		c.idle()
	}, func(t *testing.T, base *claude.Options) {
		o.Transport, o.Logger = base.Transport, base.Logger
		if o.SessionID == "" && o.Resume == "" && !o.Continue {
			o.SessionID = base.SessionID
		}
		var session *claude.Session
		if session, err = claude.Connect(t.Context(), &o); err != nil {
			return
		}
		s.launch = base.Transport.(*double).launch
		s.args = slices.Clone(s.launch.Args)
		for i, arg := range s.args {
			if i > 0 && s.args[i-1] == "--settings" && arg != o.SettingsFile {
				s.args[i], s.settings = "FILE", readPrivate(t, arg)
			}
			if path, ok := strings.CutPrefix(arg, "--mcp-config="); ok {
				s.args[i], s.servers = "--mcp-config=FILE", readPrivate(t, path)
			}
		}
		finish(t, session)
	})
	for _, arg := range s.argsOrNone() {
		if path := strings.TrimPrefix(arg, "--mcp-config="); strings.HasPrefix(path, filepath.Join(os.TempDir(), "claude-session-")) {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", path, err)
			}
		}
	}
	return s, err
}

func (s *started) argsOrNone() []string {
	if s.launch == nil {
		return nil
	}
	return s.launch.Args
}

// readPrivate reads a file that no other user may read.
func readPrivate(t *testing.T, path string) (content map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || need.FileModes.Here() && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		t.Errorf("%s: %v", data, err)
	}
	return content
}

// TestLaunch compares the outcome of options with the table of goldens.
func TestLaunch(t *testing.T) {
	for name, tt := range goldens() {
		t.Run(name, func(t *testing.T) {
			if tt.opts.ProjectConfigRoot != "" || tt.opts.Cwd != "" {
				need.UnixPaths.Test(t)
			}
			if tt.opts.Env == nil {
				tt.opts.Env = []string{"A=1"}
			}
			got := launched(t, tt.opts)
			wantArgs := append([]string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}, tt.args...)
			if tt.opts.Resume != "" || tt.opts.Continue {
				wantArgs = slices.Insert(wantArgs, 0, "--await-initialize")
			}
			if tt.settings != "" {
				wantArgs = slices.Insert(wantArgs, 0, "--settings", "FILE")
			}
			if tt.servers != "" {
				wantArgs = slices.Insert(wantArgs, 0, "--mcp-config=FILE")
			}
			if !slices.Equal(got.args, wantArgs) {
				t.Errorf("args\n got %q\nwant %q", got.args, wantArgs)
			}
			wantEnv := append(slices.Clone(tt.opts.Env), "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_AGENT_SDK_VERSION="+claude.Version, "CLAUDE_CODE_SDK_READS_SESSION_STATE=1")
			if wantEnv = append(wantEnv, tt.env...); !slices.Equal(got.launch.Env, wantEnv) {
				t.Errorf("environment\n got %q\nwant %q", got.launch.Env, wantEnv)
			}
			if got.launch.Path != tt.opts.CLIPath || got.launch.Dir != tt.opts.Cwd {
				t.Errorf("runs %q in %q", got.launch.Path, got.launch.Dir)
			}
			same(t, "handshake", got.init, tt.init)
			same(t, "settings", got.settings, tt.settings)
			same(t, "servers", got.servers, tt.servers)
		})
	}
}

func same(t *testing.T, what string, got map[string]any, text string) {
	t.Helper()
	var want map[string]any
	if text != "" {
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.EqualFunc(got, want, func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%s\n got %v\nwant %v", what, got, want)
	}
}

// silent are options that a CLI does not learn about when it starts, and the tests
// that show their effects.
func silent() map[string]string {
	return map[string]string{
		"SessionStates":       "TestStatesAreShownOnRequest",
		"OnElicitation":       "TestElicitation",
		"Requests":            "TestUnknownRequests",
		"Subagents.Started":   "TestResumedSessionCountsItsSubagents",
		"Transport":           "TestBadOptions",
		"Logger":              "TestOptionWarnings",
		"Trace":               "TestTraceHearsTheEndOfEverything",
		"Timeouts.Initialize": "TestChildStartErrors",
		"Timeouts.Control":    "TestOwnTimeouts",
		"Timeouts.Rewind":     "TestOwnTimeouts",
		"Timeouts.MCP":        "TestOwnTimeouts",
		"Timeouts.Callback":   "TestOwnTimeouts",
		"Timeouts.Close":      "TestChildThatIgnoresEverything",
		"Timeouts.Kill":       "TestKillTimeout",
		"Timeouts.Flush":      "TestStoreDownForGood",
		"Limits.Line":         "TestRunWhoseResultIsLost",
		"Limits.Unread":       "TestSlowReader",
		"Limits.Queued":       "TestQueueLimit",
		"Limits.Pending":      "TestTooManyPendingOperations",
		"Limits.Callbacks":    "TestCallbackCapacity",
	}
}

// TestEveryOptionHasItsEffect wants a test for each option that the CLI is not
// told when it starts. TestOptionsGoWhereTheTableSays has the others, with
// Sandbox as one; here each of its fields is taken out of the goldens that set
// it, and one of them must come out differently, or be refused.
func TestEveryOptionHasItsEffect(t *testing.T) {
	tests := harness.ReadTests(t)
	shown := silent()
	for _, row := range claude.OptionRows() {
		if len(row.Goes) > 0 {
			continue
		}
		name := shown[row.Field]
		delete(shown, row.Field)
		if test := tests[name]; test == nil || !test.Sets[row.Field[strings.LastIndex(row.Field, ".")+1:]] {
			t.Errorf("Options.%s is said to be shown by %q, which does not set it", row.Field, name)
		}
	}
	for path := range shown {
		t.Errorf("%s is not an option that the CLI never learns about", path)
	}
	for _, path := range fieldPaths(reflect.TypeFor[claude.Options](), "") {
		if strings.HasPrefix(path, "Sandbox.") && !hasEffect(t, path) {
			t.Errorf("no golden shows what Options.%s becomes", path)
		}
	}
}

// fieldPaths names the fields of a struct, and those of structs in it that
// belong to this package.
func fieldPaths(typ reflect.Type, prefix string) (paths []string) {
	for f := range typ.Fields() {
		inner := f.Type
		if inner.Kind() == reflect.Pointer && f.Name == "Sandbox" {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() {
			paths = append(paths, fieldPaths(inner, prefix+f.Name+".")...)
			continue
		}
		paths = append(paths, prefix+f.Name)
	}
	return paths
}

// hasEffect reports whether a golden changes when the field is not set.
func hasEffect(t *testing.T, path string) bool {
	for _, tt := range goldens() {
		with := tt.opts
		if with.Sandbox != nil {
			with.Sandbox = new(*with.Sandbox)
		}
		field := reflect.ValueOf(&with).Elem()
		for name := range strings.SplitSeq(path, ".") {
			if field.Kind() == reflect.Pointer {
				if field.IsNil() {
					break
				}
				field = field.Elem()
			}
			field = field.FieldByName(name)
		}
		if field.IsZero() {
			continue
		}
		before := launched(t, with)
		field.SetZero()
		after, err := launch(t, with)
		if err != nil || !reflect.DeepEqual(before.comparable(), after.comparable()) {
			return true
		}
	}
	return false
}

func (s *started) comparable() []any {
	return []any{s.args, s.launch.Env, s.launch.Path, s.launch.Dir, s.launch.Stderr != nil, s.init, s.settings, s.servers}
}

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
// none in names that are not secret.
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

// watch records everything that leaves a session outside its stream as
// evidence.
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

// look takes the command lines of all processes, and everything readable to
// others below a folder.
func (e *evidence) look(t *testing.T, tmp string) {
	for _, path := range leak.ProcFiles("cmdline") {
		if line, err := os.ReadFile(path); err == nil {
			e.note("command line", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	_ = filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		info, statErr := os.Lstat(path)
		if err == nil && statErr == nil && path != tmp && need.FileModes.Here() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
		return nil
	})
}

// failure takes an error with everything it carries.
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
			leak.TempFolder(t, tmp)
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

// A query without callbacks has no handshake: what the handshake would carry
// must not end up on the command line instead.
func TestSecretsOfOneWayQuery(t *testing.T) {
	for _, end := range []string{"well", "at once"} {
		t.Run(end, func(t *testing.T) {
			tmp := t.TempDir()
			leak.TempFolder(t, tmp)
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

// Options are in many logs. An unusable value is named, not shown.
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

// An empty list is not set, unless the option gives it a meaning.
func TestEmptyListsAreNotSet(t *testing.T) {
	want := launched(t, claude.Options{})
	got := launched(t, claude.Options{
		AllowedTools: []string{}, DisallowedTools: []string{}, AddDirs: []string{}, Betas: []string{}, Hooks: []hook.Hook{}, MCPServers: claude.MCPServers{},
	})
	if !slices.Equal(got.args, want.args) || !reflect.DeepEqual(got.init, want.init) {
		t.Errorf("got  %q %v\nwant %q %v", got.args, got.init, want.args, want.init)
	}
}

// A session has an id before its first turn, each its own.
func TestNewSessionGetsAnID(t *testing.T) {
	seen := make(map[string]bool)
	for range 2 {
		bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
			o.SessionID = ""
			finish(t, connect(t, o))
			i := slices.IndexFunc(o.Transport.(*double).launch.Args, func(arg string) bool { return strings.HasPrefix(arg, "--session-id") })
			if i < 0 {
				t.Fatalf("no id in %q", o.Transport.(*double).launch.Args)
			}
			seen[strings.Join(o.Transport.(*double).launch.Args[i:], " ")] = true
		})
	}
	if len(seen) != 2 {
		t.Errorf("two sessions: %v", seen)
	}
}
