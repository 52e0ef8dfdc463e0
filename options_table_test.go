package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

var update = flag.Bool("update", false, "write docs/options.md")

// TestEveryOptionHasARow holds the table against the struct: a row for each
// field, with the pointer to that very field.
func TestEveryOptionHasARow(t *testing.T) {
	rows := make(map[string]claude.OptionRow)
	for _, row := range claude.OptionRows() {
		if _, twice := rows[row.Field]; twice {
			t.Errorf("the table has two rows for Options.%s", row.Field)
		}
		rows[row.Field] = row
	}
	o := new(claude.Options)
	for _, path := range optionPaths() {
		row, ok := rows[path]
		if !ok {
			t.Errorf("options_table.go has no row for Options.%s: say where it goes", path)
			continue
		}
		delete(rows, path)
		if got, want := row.At(o), fieldOf(o, path).Addr().Interface(); got != want {
			t.Errorf("the row for Options.%s points to another field", path)
		}
		if row.Has == "" && row.Lacks != "" {
			t.Errorf("Options.%s is lacking in %s and never came", path, row.Lacks)
		}
	}
	for field := range rows {
		t.Errorf("the table has a row for Options.%s, which does not exist", field)
	}
}

// optionPaths names the fields that have rows.
func optionPaths() []string {
	paths := fieldPaths(reflect.TypeFor[claude.Options](), "")
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasPrefix(path, "Sandbox.") })
	return append(paths, "Sandbox")
}

func fieldOf(o *claude.Options, path string) reflect.Value {
	field := reflect.ValueOf(o).Elem()
	for name := range strings.SplitSeq(path, ".") {
		field = field.FieldByName(name)
	}
	return field
}

// sample returns options with one field set, and whatever it needs.
func sample(t *testing.T, row claude.OptionRow) claude.Options {
	t.Helper()
	const uuid = "00000000-0000-4000-8000-000000000002"
	type m = map[string]any
	o, own := claude.Options{}, map[string]claude.Options{
		"Thinking.Budget":     {Thinking: claude.Thinking{Mode: "enabled", Budget: 1024}},
		"SystemPrompt.Static": {SystemPrompt: claude.SystemPrompt{Preset: true, Static: true}},
		"OutputSchema":        {OutputSchema: json.RawMessage(`{"type":"object"}`)},
		"ToolAliases":         {ToolAliases: map[string]string{"Bash": "mcp__box__bash"}},
		"PermissionMode":      {PermissionMode: permission.ModePlan},
		"Hooks":               {Hooks: []hook.Hook{noHook()}},
		"HookFailure":         {HookFailure: hook.FailClosed, Hooks: []hook.Hook{noHook()}},
		"OnUserDialog":        {OnUserDialog: noDialog, DialogKinds: []string{"color"}},
		"DialogKinds":         {OnUserDialog: noDialog, DialogKinds: []string{"color"}},
		"Requests":            {Requests: map[string]claude.RequestFunc{"new": func(context.Context, json.RawMessage) (any, error) { return nil, nil }}},
		"Agents":              {Agents: map[string]control.AgentDefinition{"a": {Description: "d", Prompt: "p"}}},
		"Plugins":             {Plugins: []control.PluginConfig{{Path: "/p"}}},
		"MCPServers":          {MCPServers: claude.MCPServers{"clock": harness.Clock(), "files": claude.StdioServer{Command: "serve"}}},
		"SessionID":           {SessionID: uuid},
		"Resume":              {Resume: uuid},
		"ResumeAt":            {Resume: uuid, ResumeAt: "m"},
		"ResumeDropsTurn":     {Resume: uuid, ResumeAt: "m", ResumeDropsTurn: "u"},
		"ForkSession":         {Resume: uuid, ForkSession: true},
		"Store":               {Store: &claude.StoreOptions{Store: store.Memory(), Project: "p"}},
		"Settings":            {Settings: m{"model": "opus"}},
		"ManagedSettings":     {ManagedSettings: m{"disableAllHooks": true}},
		"Sandbox":             {Sandbox: &claude.Sandbox{Enabled: true}},
		"ProjectConfigRoot":   {ProjectConfigRoot: "/repo"},
		"Cwd":                 {Cwd: "/repo"},
		"Env":                 {Env: []string{"A=2"}},
		"ExtraArgs":           {ExtraArgs: []string{"--new=1"}},
		"Transport":           {Transport: unstarted{t}},
		"Logger":              {Logger: slog.New(slog.DiscardHandler)},
		"Trace":               {Trace: new(claude.Trace)},
	}
	if o, ok := own[row.Field]; ok {
		return o
	}
	switch field := fieldOf(&o, row.Field); {
	case row.Choices != nil && field.Kind() == reflect.String:
		field.SetString(row.Choices[len(row.Choices)-1])
	case row.Choices != nil:
		field.Set(reflect.Append(field, reflect.ValueOf(row.Choices[0]).Convert(field.Type().Elem())))
	case field.Type() == reflect.TypeFor[time.Duration]():
		field.SetInt(int64(90 * time.Second))
	case field.Kind() == reflect.String:
		field.SetString("text")
	case field.Kind() == reflect.Bool:
		field.SetBool(true)
	case field.Kind() == reflect.Int:
		field.SetInt(4096)
	case field.Kind() == reflect.Float64:
		field.SetFloat(0.25)
	case field.Kind() == reflect.Func:
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) (results []reflect.Value) {
			for typ := range field.Type().Outs() {
				results = append(results, reflect.Zero(typ))
			}
			return results
		}))
	case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String:
		field.Set(reflect.Append(field, reflect.ValueOf("one").Convert(field.Type().Elem()), reflect.ValueOf("two").Convert(field.Type().Elem())))
	default:
		t.Fatalf("give an example of Options.%s here, a %s", row.Field, field.Type())
	}
	return o
}

func noDialog(context.Context, *control.Dialog) (control.DialogAnswer, error) {
	return control.CancelDialog(), nil
}

// change is the difference that an option makes in what a CLI is given.
type change struct {
	args, lost []string // of the command line
	env        []string
	file       bool
	process    bool
	init       []string // members that are new or other
	gone       []string // members that are missing
}

// effect launches with an example of an option and without it.
func effect(t *testing.T, row claude.OptionRow) change {
	t.Helper()
	o := sample(t, row)
	without := o
	fieldOf(&without, row.Field).SetZero()
	for _, o := range []*claude.Options{&o, &without} {
		if o.Env == nil {
			o.Env = []string{"A=1"}
		}
	}
	with := launched(t, o)
	if _, err := host.ParseArgs(plain(with.args), with.launch.Env); err != nil && row.Field != "ExtraArgs" {
		t.Errorf("the scripted CLI does not know its flag (host/args.go): %v", err)
	}
	base, err := launch(t, without)
	if err != nil { // it needs the option
		base = launched(t, claude.Options{Env: without.Env})
	}
	c := change{
		args: subtract(plain(with.args), plain(base.args)), lost: subtract(plain(base.args), plain(with.args)),
		env:     subtract(with.launch.Env, base.launch.Env),
		file:    !reflect.DeepEqual(with.settings, base.settings) || !reflect.DeepEqual(with.servers, base.servers),
		process: with.launch.Path != base.launch.Path || with.launch.Dir != base.launch.Dir || (with.launch.Stderr == nil) != (base.launch.Stderr == nil),
	}
	for _, name := range slices.Sorted(maps.Keys(with.init)) {
		if !reflect.DeepEqual(with.init[name], base.init[name]) {
			c.init = append(c.init, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base.init)) {
		if _, there := with.init[name]; !there {
			c.gone = append(c.gone, name)
		}
	}
	return c
}

// plain are arguments without those that name files we wrote.
func plain(args []string) []string {
	text := strings.ReplaceAll(strings.Join(args, "\n"), "--settings\nFILE\n", "")
	return strings.Split(strings.ReplaceAll(text, "--mcp-config=FILE\n", ""), "\n")
}

func subtract(all, rest []string) (left []string) {
	for _, v := range all {
		if !slices.Contains(rest, v) {
			left = append(left, v)
		}
	}
	return left
}

func (c change) goes() (to []string) {
	for where, there := range map[string]bool{
		"command line": len(c.args)+len(c.lost) > 0, "environment": len(c.env) > 0, "file": c.file,
		"handshake": len(c.init)+len(c.gone) > 0, "process": c.process,
	} {
		if there {
			to = append(to, where)
		}
	}
	slices.Sort(to)
	return to
}

// TestOptionsGoWhereTheTableSays sets each option and looks at what a CLI is
// given. It compares docs/options.md with that, and wants one query to perform
// the handshake where nothing else carries the option.
func TestOptionsGoWhereTheTableSays(t *testing.T) {
	need.UnixPaths.Test(t) // the page shows them
	var page bytes.Buffer
	page.WriteString(optionsHead)
	for _, row := range claude.OptionRows() {
		t.Run(row.Field, func(t *testing.T) {
			c := effect(t, row)
			if got := c.goes(); !slices.Equal(got, row.Goes) {
				t.Errorf("it changes %q, and the table says %q", got, row.Goes)
			}
			handshake := handshakes(t, sample(t, row))
			onlyThere := len(c.init) > 0 && len(c.args)+len(c.env) == 0 && !c.file
			if (onlyThere || row.Callback) && !handshake {
				t.Error("only the control channel carries it, and Ask does no handshake: it is dropped")
			}
			if onlyThere && row.Has == "" && row.Field != "HookFailure" && !row.Callback {
				t.Error("the table does not say since when the handshake carries it: an older CLI ignores it")
			}
			if row.Has != "" && len(c.args) == 0 && !c.file && !handshake {
				t.Error("an old CLI ignores it, and Ask does not ask for the version")
			}
			page.WriteString(c.line(row, handshake))
		})
	}
	const path = "docs/options.md"
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if committed, err := os.ReadFile(path); err != nil || !bytes.Equal(committed, page.Bytes()) {
		t.Errorf("%s does not say what options become (%v): go test . -run TestOptionsGo -update, and look at the difference", path, err)
	}
}

const optionsHead = `# Options and where they go

Generated by ` + "`go test . -run TestOptionsGo -update`" + ` from the table of options and from what the CLI is given when each option is set. [compatibility.md](compatibility.md) shows what was measured on each version.

"Since" is the oldest CLI in which the option was seen. If your CLI is too old for an option, the error names the option and the version you need. If the column is empty, every supported CLI has the option. The last column marks options for which a single query opens the control channel first; without them, a query saves that round trip.

| option | given to the CLI as | since | Ask |
|---|---|---|---|
`

var valueForm = regexp.MustCompile(`^(-[^=]*|[^-=][^=]*)=.*$`)

// line is the row of the page.
func (c change) line(row claude.OptionRow, handshake bool) string {
	var as []string
	for _, arg := range c.args {
		if row.Field == "ExtraArgs" {
			as = append(as, "the end of the command line")
		} else if strings.HasPrefix(arg, "-") {
			as = append(as, "`"+valueForm.ReplaceAllString(arg, "$1")+"`")
		}
	}
	for _, entry := range c.env {
		if row.Field == "Env" {
			as = append(as, "the environment")
			break
		}
		as = append(as, "`"+valueForm.ReplaceAllString(entry, "$1")+"` of the environment")
	}
	if c.file {
		as = append(as, "a private file")
	}
	for _, member := range c.init {
		as = append(as, "`"+member+"` of the handshake")
	}
	if c.process {
		as = append(as, "how it is started")
	}
	if len(as) == 0 && len(c.lost)+len(c.gone) > 0 {
		for _, arg := range c.lost {
			as = append(as, "no `"+arg+"`")
		}
	}
	as = slices.Compact(as)
	if len(as) == 0 {
		as = []string{"nothing: it is for your program"}
	}
	asks := ""
	if handshake {
		asks = "handshake"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", row.Field, strings.Join(as, ", "), row.Has, asks)
}

// handshakes reports whether a single query with these options does one.
func handshakes(t *testing.T, o claude.Options) (does bool) {
	t.Helper()
	bubble(t, func(c *cli) {
		f, _ := c.hear()
		if does = f.Type == wire.TypeRequest; does {
			r, _ := f.Request()
			c.succeed(r, `{"claude_code_version":"2.1.325","hook_on_failure_supported":true,"managed_settings_applied":true}`)
			c.hear()
		}
		c.result("done")
	}, func(t *testing.T, base *claude.Options) {
		o.Transport, o.Logger = base.Transport, base.Logger
		if _, err := claude.Ask(t.Context(), "hello", &o); err != nil {
			t.Fatal(err)
		}
	})
	return does
}

// TestEveryOptionIsCopied changes lists and maps behind a session's back.
func TestEveryOptionIsCopied(t *testing.T) {
	for _, row := range claude.OptionRows() {
		o := sample(t, row)
		mine := fieldOf(&o, row.Field)
		if k := mine.Kind(); k != reflect.Slice && k != reflect.Map {
			continue
		}
		copied := fieldOf(o.Clone(), row.Field)
		if !reflect.DeepEqual(fmt.Sprint(copied), fmt.Sprint(mine)) || copied.Pointer() == mine.Pointer() {
			t.Errorf("the copy of Options.%s is %v, want one of its own of %v", row.Field, copied, mine)
		}
	}
}

// TestEveryValueIsChecked gives options values that their types and channels
// forbid: negative numbers, unknown choices, NUL bytes for a process.
func TestEveryValueIsChecked(t *testing.T) {
	for _, row := range claude.OptionRows() {
		o := sample(t, row)
		travels := slices.ContainsFunc(row.Goes, func(to string) bool { return to != "handshake" && to != "file" })
		switch field := fieldOf(&o, row.Field); {
		case row.Choices != nil && field.Kind() == reflect.String:
			field.SetString("another")
		case row.Field == "HookFailure":
			continue
		case field.CanInt():
			field.SetInt(-2)
		case field.CanFloat():
			field.SetFloat(-2)
		case field.Kind() == reflect.String && travels && !strings.HasPrefix(row.Field, "SystemPrompt."):
			field.SetString("a\x00b")
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String && travels && !strings.HasPrefix(row.Field, "SystemPrompt."):
			field.Index(0).SetString("a\x00b")
		default:
			continue
		}
		o.Transport = unstarted{t}
		err := second(claude.Connect(t.Context(), &o))
		if bad, ok := err.(*claude.OptionError); !ok || bad.Field != row.Field {
			t.Errorf("Options.%s: error = %v, want one about it", row.Field, err)
		}
	}
}

// TestVersionsAreMeasured compares the versions of the table with the measured
// ones: docs/compatibility.md names options where they were tried.
func TestVersionsAreMeasured(t *testing.T) {
	text, err := os.ReadFile("docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]claude.OptionRow)
	for _, row := range claude.OptionRows() {
		rows[row.Field] = row
	}
	rows["Thinking` with a mode"], rows["Thinking` with a budget"] = rows["Thinking.Mode"], rows["Thinking.Budget"]
	rows["SystemPrompt.Text` reaches the model"] = rows["SystemPrompt.Text"]
	rows["FileCheckpointing` and `SessionFiles.Rewind"] = rows["FileCheckpointing"]
	var versions []string
	measured := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name := strings.Trim(strings.TrimSpace(cells[0]), "`")
		if name == "feature" {
			versions = cells[1:]
		}
		row, ok := rows[name]
		if !ok || versions == nil {
			continue
		}
		measured++
		for i, version := range versions {
			had, missing := strings.TrimSpace(cells[i+1]) == "yes", claude.Missing(row.Lacks, row.Has, version)
			if had == missing && !(row.Ignored && strings.TrimSpace(version) == "1.0.59") { // that one has no handshake
				t.Errorf("Options.%s: version%sis said to lack it: %v, measured: %s", row.Field, version, missing, cells[i+1])
			}
		}
	}
	if measured < 25 {
		t.Errorf("%d options were found in the page", measured)
	}
}

// TestAskChecksTheInstalledVersion asks a CLI that names its version nowhere but
// in its file name, as the native installer does: nothing is started.
func TestAskChecksTheInstalledVersion(t *testing.T) {
	need.Shell.Test(t)
	for name, tt := range map[string]struct {
		version string
		set     func(*claude.Options)
		want    string // "" if it is started
	}{
		"old":            {"2.1.0", func(o *claude.Options) { o.TaskBudget = 5000 }, "version 2.1.0 does not know Options.TaskBudget, 2.1.325 does"},
		"older":          {"2.0.0", func(o *claude.Options) { o.MaxBudgetUSD = 1 }, "version 2.0.0 does not know Options.MaxBudgetUSD, 2.0.77 does"},
		"new enough":     {"2.0.77", func(o *claude.Options) { o.MaxBudgetUSD = 1 }, ""},
		"budget by mode": {"2.0.77", func(o *claude.Options) { o.Thinking = claude.Thinking{Mode: "enabled", Budget: 1024} }, ""},
		"nothing asked":  {"2.0.0", func(*claude.Options) {}, ""},
		"unknown":        {"claude", func(o *claude.Options) { o.TaskBudget = 5000 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mark := filepath.Join(dir, "started")
			o := &claude.Options{CLIPath: filepath.Join(dir, tt.version), Env: []string{"MARK=" + mark}}
			if err := os.WriteFile(o.CLIPath, []byte("#!/bin/sh\n: >\"$MARK\"\nexit 3\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			tt.set(o)
			_, err := claude.Ask(t.Context(), "hello", o)
			_, missing := os.Stat(mark)
			if tt.want == "" {
				if missing != nil {
					t.Errorf("not started: %v", err)
				}
				return
			}
			if missing == nil {
				t.Error("it was started")
			}
			if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}
