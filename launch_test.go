package claude_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
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

// readPrivate reads a file that nobody else may read.
func readPrivate(t *testing.T, path string) (content map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		t.Errorf("%s: %v", data, err)
	}
	return content
}

// TestLaunch holds what options become against the table of goldens.
func TestLaunch(t *testing.T) {
	for name, tt := range goldens() {
		t.Run(name, func(t *testing.T) {
			if tt.opts.Env == nil {
				tt.opts.Env = []string{"A=1"}
			}
			got := launched(t, tt.opts)
			wantArgs := append([]string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}, tt.args...)
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

// silent are options that a CLI is not told of when it starts, and the tests
// that show what they do.
func silent() map[string]string {
	return map[string]string{
		"SessionStates":       "TestStatesAreShownOnRequest",
		"OnElicitation":       "TestElicitation",
		"Requests":            "TestUnknownRequests",
		"Transport":           "TestBadOptions",
		"Logger":              "TestShadowWarnings",
		"Trace":               "TestTraceHearsTheEndOfEverything",
		"Timeouts.Initialize": "TestChildStartErrors",
		"Timeouts.Control":    "TestOwnTimeouts",
		"Timeouts.Rewind":     "TestOwnTimeouts",
		"Timeouts.MCP":        "TestOwnTimeouts",
		"Timeouts.Callback":   "TestOwnTimeouts",
		"Timeouts.Close":      "TestChildThatIgnoresEverything",
		"Limits.Line":         "TestRunWhoseResultIsLost",
		"Limits.Unread":       "TestSlowReader",
		"Limits.Queued":       "TestQueueLimit",
		"Limits.Pending":      "TestTooManyPendingOperations",
		"Limits.Callbacks":    "TestCallbackCapacity",
	}
}

// TestEveryOptionHasItsEffect wants a test for each option that the CLI is not
// told of when it starts. TestOptionsGoWhereTheTableSays has the others, with
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
		t.Errorf("%s is no option that the CLI is not told of", path)
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
