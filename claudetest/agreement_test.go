package claudetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// scenario is a session that the scripted CLI and the real one both play.
type scenario struct {
	Prompts    []string                   `json:"prompts"`
	Files      map[string]string          `json:"files"`
	Permission json.RawMessage            `json:"permission"` // the answer, or "never"
	Hooks      map[string]json.RawMessage `json:"hooks"`      // answers by event
	Mode       permission.Mode            `json:"mode"`
	SetMode    permission.Mode            `json:"setMode"`  // before the last prompt
	SetModel   string                     `json:"setModel"` // before the last prompt
	MaxTurns   int                        `json:"maxTurns"`
	Budget     float64                    `json:"budget"`
	Schema     json.RawMessage            `json:"schema"`
	Partial    bool                       `json:"partial"`
	Replay     bool                       `json:"replay"`
	// Background means that subagents work beside the first turn: they answer
	// when it has its result.
	Background bool `json:"background"`
	// InterruptAfter is the number of pieces of text after which the client
	// interrupts the first turn.
	InterruptAfter int `json:"interruptAfter"`
	// MCP holds the results of the tools of the server "calc" in the client, call
	// by call.
	MCP map[string][]json.RawMessage `json:"mcp"`

	script  *claudetest.Script
	release chan struct{} // lets the subagents answer
}

// readScenario reads a scenario: the client's part, then the script.
func readScenario(t *testing.T, path, dir string) *scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(data), "$DIR", dir), "-- client.json --\n")
	client, script, _ := strings.Cut(rest, "\n-- ")
	s := new(scenario)
	dec := json.NewDecoder(strings.NewReader(client))
	dec.DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if s.script, err = claudetest.ParseScript([]byte("-- " + script)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if s.Background {
		s.release = make(chan struct{})
		s.script.HoldAgents(s.release)
	}
	for name, content := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// play plays the client's part and returns what was said.
func (s *scenario) play(t *testing.T, o *claude.Options) *claudetest.Recording {
	t.Helper()
	var file bytes.Buffer
	o.Transport = claudetest.Record(o.Transport, &file, nil)
	o.PermissionMode, o.MaxTurns, o.MaxBudgetUSD, o.OutputSchema = s.Mode, s.MaxTurns, s.Budget, s.Schema
	o.PartialMessages, o.ReplayUserMessages = s.Partial, s.Replay
	o.SessionStates = true // settled waits for one
	if s.Permission != nil {
		o.CanUseTool = s.decide
	}
	for _, event := range slices.Sorted(maps.Keys(s.Hooks)) {
		o.Hooks = append(o.Hooks, hook.Raw(hook.Event(event), "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			return s.Hooks[event], nil
		}))
	}
	if s.MCP != nil {
		o.MCPServers = claude.MCPServers{"calc": &calc{calls: s.MCP}}
	}
	session, err := claude.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if s.Background {
		s.untilIdle(t, session)
	}
	pieces := 0
	for i, prompt := range s.Prompts {
		if s.Background {
			break
		}
		if i > 0 && i == len(s.Prompts)-1 {
			s.change(t, session)
		}
		for m, err := range session.Run(t.Context(), prompt) {
			if e, ok := m.(*message.StreamEvent); ok && e.Text() != "" {
				if pieces++; pieces == s.InterruptAfter {
					if _, err := session.Interrupt(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			if _, failed := errors.AsType[*claude.ResultError](err); err != nil && !failed {
				t.Fatal(err)
			}
		}
		settled(t, session)
	}
	session.Close()
	tr, err := claudetest.ReadRecording(&file)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// untilIdle plays a prompt with what its subagents bring.
func (s *scenario) untilIdle(t *testing.T, session *claude.Session) {
	t.Helper()
	results := 0
	for m, err := range session.RunUntilIdle(t.Context(), s.Prompts[0]) {
		if err != nil {
			t.Fatal(err)
		}
		switch m.(type) {
		case *message.Result:
			results++
		case *message.CommandLifecycle:
			if results == 1 {
				close(s.release)
			}
		}
	}
}

// calc is an MCP server in the client that returns scripted results.
type calc struct {
	calls map[string][]json.RawMessage
}

func (*calc) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (*calc) CheckMCP() error { return nil }

func (c *calc) OpenMCP(context.Context, string, func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	return c, nil
}

func (*calc) Close() error { return nil }

func (c *calc) Handle(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.ID == nil {
		return nil, err
	}
	result := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"calc","version":"1"}}`)
	switch m.Method {
	case "tools/list":
		result = json.RawMessage(`{"tools":[{"name":"add","description":"adds","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		result = c.calls[m.Params.Name][0]
		c.calls[m.Params.Name] = c.calls[m.Params.Name][1:]
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// settled waits for the last line about a prompt, the session's word that it is
// idle. What the client does next does not race with it.
func settled(t *testing.T, session *claude.Session) {
	t.Helper()
	for m, err := range session.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if state, ok := m.(*message.SessionState); ok && state.State == message.ActivityIdle {
			return
		}
	}
}

func (s *scenario) change(t *testing.T, session *claude.Session) {
	t.Helper()
	if s.SetMode != "" {
		if err := session.SetPermissionMode(t.Context(), s.SetMode); err != nil {
			t.Error(err)
		}
	}
	if s.SetModel != "" {
		if err := session.SetModel(t.Context(), s.SetModel); err != nil {
			t.Error(err)
		}
	}
}

func (s *scenario) decide(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
	if string(s.Permission) == `"never"` {
		<-ctx.Done()
		return permission.Decision{}, ctx.Err()
	}
	var d permission.Decision
	err := json.Unmarshal(s.Permission, &d)
	return d, err
}

// difference is a way in which the two may differ, with its reason, as
// testdata/differences.txt lists them.
type difference struct {
	kind, path string // "frame", "only real", "only scripted" or "value"; may end in "*"
	used       bool   // from the start, if the two differ only sometimes
}

func readDifferences(t *testing.T) []*difference {
	t.Helper()
	data, err := os.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []*difference
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		what, reason, _ := strings.Cut(line, " # ")
		kind, path, ok := strings.Cut(strings.TrimSpace(what), ": ")
		if !ok || reason == "" {
			t.Fatalf("differences.txt:%d: want \"kind: path # reason\"", i+1)
		}
		kind, sometimes := strings.CutPrefix(kind, "sometimes ")
		all = append(all, &difference{kind: kind, path: strings.TrimSpace(path), used: sometimes})
	}
	return all
}

// The same scenarios, once with the scripted CLI and once with the real one and
// a scripted model: their output agrees, except for the listed differences.
func TestRealAgreement(t *testing.T) {
	realcli.Needs(t, realcli.Version, "agreement with the scripted CLI")
	path := realcli.Need(t, realcli.Tested())
	known := readDifferences(t)
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			realDir, fakeDir := t.TempDir(), t.TempDir()
			real := readScenario(t, file, realDir)
			model := claudetest.NewModel(real.script.Replies...)
			url, err := model.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			env, home := realcli.Env(t, url)
			said := real.play(t, &claude.Options{CLIPath: path, Env: env, Cwd: realDir})
			fake := readScenario(t, file, fakeDir)
			fake.script.Options.Model = "claude-opus-5-5"
			played := fake.play(t, &claude.Options{Transport: claudetest.NewCLI(fake.script), Env: env, Cwd: fakeDir})
			c := &comparison{t: t, known: known}
			c.frames(normal(said, realDir, home), normal(played, fakeDir, home))
		})
	}
	for _, d := range known {
		if !d.used {
			t.Errorf("differences.txt lists what does not differ: %s: %s", d.kind, d.path)
		}
	}
}

// normal returns the frames of the CLI without what differs from run to run.
func normal(t *claudetest.Recording, dir, home string) []map[string]any {
	var all []map[string]any
	for _, e := range t.Entries() {
		if e.Dir != claudetest.DirOut {
			continue
		}
		text := strings.NewReplacer(dir, "/repo", home, "/home/user").Replace(string(e.Msg))
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) == nil {
			all = append(all, plainly("", v).(map[string]any))
		}
	}
	return all
}

var (
	idForm   = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f-]{27}|(req|msg|toolu)_[0-9a-z]+|a[0-9a-f]{16}|0[0-9a-z]{8}-[0-9a-f]{8})$`)
	timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT`)
)

// plainly replaces ids, times, counts and prose.
func plainly(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plainly(k, x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainly(key, x)
		}
	case string:
		switch {
		case idForm.MatchString(v):
			return "<id>"
		case key == "memory_paths" || key == "auto" || key == "messaging_socket_path" || strings.HasSuffix(key, "transcript_path") || key == "output_file":
			return "<path>"
		case timeForm.MatchString(v):
			return "<time>"
		case len(strings.Fields(v)) > 3 && !strings.HasPrefix(v, "[Request "):
			return "<prose>"
		}
	case float64:
		if strings.HasSuffix(key, "_ms") || strings.HasSuffix(key, "Ms") || strings.HasSuffix(key, "_wall_ms") || key == "pid" || key == "end_time" {
			return "<number>"
		}
		if strings.Contains(strings.ToLower(key), "cost") {
			return fmt.Sprintf("%.6f", v) // sums of floats differ in the last digit
		}
	}
	return v
}

// comparison compares two sessions, real and scripted.
type comparison struct {
	t     *testing.T
	known []*difference
}

func (c *comparison) differ(kind, path, format string, args ...any) {
	c.t.Helper()
	found := false
	for _, d := range c.known {
		prefix, open := strings.CutSuffix(d.path, "*")
		if d.kind == kind && (d.path == path || open && strings.HasPrefix(path, prefix)) {
			d.used, found = true, true
		}
	}
	if !found {
		c.t.Errorf("%s: %s # "+format, append([]any{kind, path}, args...)...)
	}
}

func (c *comparison) isKnown(kind, path string) bool {
	return slices.ContainsFunc(c.known, func(d *difference) bool { return d.kind == kind && d.path == path })
}

// frames compares two sessions frame by frame: kinds first, then each with its
// twin.
func (c *comparison) frames(real, fake []map[string]any) {
	c.t.Helper()
	real, fake = c.without(real), c.without(fake)
	// Withdrawals go out on their own, at any moment: they are only counted.
	if r, f := len(only(&real, "control_cancel_request")), len(only(&fake, "control_cancel_request")); r != f {
		c.t.Errorf("%d requests withdrawn, the scripted CLI withdraws %d", r, f)
	}
	// The handshake with MCP servers goes beside everything else.
	c.inOrder(only(&real, "mcp_message"), only(&fake, "mcp_message"))
	c.inOrder(real, fake)
}

// only takes the frames of a kind out of a session.
func only(frames *[]map[string]any, kind string) (taken []map[string]any) {
	*frames = slices.DeleteFunc(*frames, func(f map[string]any) bool {
		if kindOf(f) == kind {
			taken = append(taken, maps.Clone(f))
			return true
		}
		return false
	})
	return taken
}

func (c *comparison) inOrder(real, fake []map[string]any) {
	c.t.Helper()
	names := func(frames []map[string]any) (list []string) {
		for _, f := range frames {
			list = append(list, kindOf(f))
		}
		return list
	}
	if r, f := names(real), names(fake); !slices.Equal(r, f) {
		c.t.Errorf("frames differ:\nreal     %s\nscripted %s", strings.Join(r, "\n         "), strings.Join(f, "\n         "))
		return
	}
	for i := range real {
		c.values(kindOf(real[i]), real[i], fake[i])
	}
}

// without leaves out frames that are listed as differing.
func (c *comparison) without(frames []map[string]any) []map[string]any {
	return slices.DeleteFunc(frames, func(f map[string]any) bool {
		kind := kindOf(f)
		known := c.isKnown("frame", kind)
		if known {
			c.differ("frame", kind, "")
		}
		return known
	})
}

// kindOf names a frame.
func kindOf(f map[string]any) string {
	name := fmt.Sprint(f["type"])
	if s, ok := f["subtype"].(string); ok && name == "system" {
		name = s
	}
	if r, ok := f["request"].(map[string]any); ok {
		name = fmt.Sprint(r["subtype"])
	}
	if e, ok := f["event"].(map[string]any); ok {
		name = fmt.Sprint(e["type"])
	}
	return name
}

func (c *comparison) values(path string, real, fake any) {
	c.t.Helper()
	switch r := real.(type) {
	case map[string]any:
		f, ok := fake.(map[string]any)
		if !ok {
			c.differ("value", path, "real %s, scripted %s", short(real), short(fake))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(r)) {
			if v, ok := f[k]; ok {
				c.values(path+"."+k, r[k], v)
			} else {
				c.differ("only real", path+"."+k, "%s", short(r[k]))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(f)) {
			if _, ok := r[k]; !ok {
				c.differ("only scripted", path+"."+k, "%s", short(f[k]))
			}
		}
	case []any:
		f, ok := fake.([]any)
		if !ok || len(f) != len(r) {
			c.differ("value", path, "real %s, scripted %s", short(real), short(fake))
			return
		}
		for i := range r {
			c.values(path+"[]", r[i], f[i])
		}
	default:
		if fmt.Sprint(real) != fmt.Sprint(fake) {
			c.differ("value", path, "real %s, scripted %s", short(real), short(fake))
		}
	}
}

func short(v any) string {
	data, _ := json.Marshal(v)
	return string(data[:min(len(data), 90)])
}
