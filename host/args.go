package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// ErrVersion means that the command line asks only for the version.
var ErrVersion = errors.New("host: the version was asked for")

// switches are the flags without a value that mean nothing to an agent, valued
// all that take one, and variadic those of them that take what follows too.
var (
	switches = []string{"verbose", "print", "p", "debug", "continue", "c", "strict-mcp-config",
		"no-session-persistence", "include-hook-events", "await-initialize", "bare",
		"managed-settings-in-initialize", "prompt-suggestions", "debug-to-stderr"}
	valued = []string{"agent", "agents", "fallback-model", "betas", "thinking", "max-thinking-tokens", "thinking-display",
		"effort", "max-budget-usd", "task-budget", "settings", "managed-settings", "setting-sources", "plugin-dir",
		"plugin-dir-no-mcp", "add-dir", "project-config-root", "debug-file", "resume-session-at", "resume-drops-turn",
		"system-prompt", "append-system-prompt", "system-prompt-file", "append-system-prompt-file", "tools", "name",
		"input-format", "output-format", "permission-prompts", "model", "permission-mode", "permission-prompt-tool",
		"allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "session-id", "resume", "r", "max-turns",
		"json-schema", "mcp-config"}
	variadic = []string{"allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "mcp-config", "add-dir", "betas", "tools"}
)

// flags holds the flags of a command line.
type flags struct {
	Options
	format string
	fork   bool
	mirror bool
}

// ParseArgs parses the command line of the CLI, without the program, and its
// environment, so that a client can start an agent in its place. Flags that
// mean nothing to an agent are accepted. An unknown flag is an error in the
// CLI's words, which clients recognise; so is an output that is not
// stream-json. The error is ErrVersion if the command line asks for the
// version.
func ParseArgs(args, env []string) (*Options, error) {
	f := flags{format: "text"}
	for len(args) > 0 && args[0] != "--" { // what comes after that is a prompt
		arg := args[0]
		args = args[1:]
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-"): // a prompt, which is read from the stream anyway
		case name == "version" || name == "v":
			return nil, ErrVersion
		case slices.Contains(switches, name), f.set(name):
		case !slices.Contains(valued, name):
			return nil, fmt.Errorf("error: unknown option '%s'", strings.TrimSuffix(arg, "="+value))
		default:
			given := []string{value}
			if !joined {
				given, args = take(name, args)
			}
			if err := f.values(name, given); err != nil {
				return nil, err
			}
		}
	}
	if f.format != "stream-json" {
		return nil, errors.New("error: only --output-format=stream-json is supported")
	}
	f.environ(env)
	if f.Resume != "" && f.SessionID == "" && !f.fork {
		f.SessionID = f.Resume // a fork has an id of its own
	}
	return &f.Options, nil
}

// take takes the values of a flag from the arguments after it: all up to the
// next flag of a variadic one, otherwise one.
func take(name string, args []string) (given, rest []string) {
	n := min(1, len(args))
	if name == "resume" || name == "r" { // its value may be left out
		n = min(n, plainArgs(args))
	}
	if slices.Contains(variadic, name) {
		n = max(n, plainArgs(args))
	}
	return args[:n], args[n:]
}

// plainArgs counts the arguments before the next flag.
func plainArgs(args []string) int {
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
		return i
	}
	return len(args)
}

// values takes a flag with its values.
func (f *flags) values(name string, given []string) error {
	if len(given) == 0 && name != "resume" && name != "r" {
		return fmt.Errorf("error: option '--%s' argument missing", name)
	}
	for _, v := range given {
		if err := f.value(name, v); err != nil {
			return fmt.Errorf("error: option '--%s': %w", name, err)
		}
	}
	return nil
}

// set takes a flag without a value, false if the flag does not matter.
func (f *flags) set(name string) bool {
	switch name {
	case "fork-session":
		f.fork = true
	case "include-partial-messages":
		f.PartialMessages = true
	case "forward-subagent-text":
		f.ForwardSubagentText = true
	case "session-mirror":
		f.mirror = true
	case "replay-user-messages":
		f.ReplayUserMessages = true
	case "allow-dangerously-skip-permissions":
		f.AllowBypass = true
	case "dangerously-skip-permissions":
		f.AllowBypass, f.Mode = true, permission.ModeBypassPermissions
	default:
		return false
	}
	return true
}

// value takes a value of a flag.
func (f *flags) value(name, value string) (err error) {
	switch name {
	case "output-format":
		f.format = value
	case "model":
		f.Model = value
	case "permission-mode":
		if f.Mode = permission.Mode(value); !f.Mode.Valid() {
			return fmt.Errorf("%q is not a mode", value)
		}
		f.AllowBypass = f.AllowBypass || f.Mode == permission.ModeBypassPermissions
	case "permission-prompt-tool":
		f.PromptTool = value == "stdio"
	case "allowedTools", "allowed-tools":
		f.Allow = append(f.Allow, ruleList(value)...)
	case "disallowedTools", "disallowed-tools":
		f.Deny = append(f.Deny, ruleList(value)...)
	case "session-id":
		f.SessionID = value
	case "resume", "r":
		f.Resume = value
	case "add-dir":
		f.Init.AdditionalDirectories = append(f.Init.AdditionalDirectories, value)
	case "max-budget-usd":
		f.MaxBudgetUSD, err = strconv.ParseFloat(value, 64)
	case "max-turns":
		f.MaxTurns, err = strconv.Atoi(value)
	case "json-schema":
		if !jsonx.Valid([]byte(value)) {
			return errors.New("no JSON")
		}
		f.JSONSchema = []byte(value)
	case "mcp-config":
		var servers []string
		servers, err = sdkServers(value)
		f.SDKServers = append(f.SDKServers, servers...)
	}
	return err
}

func (f *flags) environ(env []string) {
	home, config := "/", ""
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "HOME", "USERPROFILE":
			home = value
		case "CLAUDE_CONFIG_DIR":
			config = value
		}
		if name == "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS" || name == "CLAUDE_CODE_SDK_READS_SESSION_STATE" {
			f.StateEvents = f.StateEvents || value == "1" || value == "true"
		}
	}
	if f.mirror {
		if config == "" {
			config = filepath.Join(home, ".claude")
		}
		f.MirrorTo = filepath.Join(config, "projects")
	}
}

// ruleList splits rules at commas and blanks that are not inside parentheses.
func ruleList(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ')
	})
}

// sdkServers reads the names of servers of type "sdk" from a configuration,
// which is JSON or the path of a file with it.
func sdkServers(config string) ([]string, error) {
	data := []byte(config)
	if !strings.HasPrefix(strings.TrimSpace(config), "{") {
		var err error
		if data, err = os.ReadFile(config); err != nil {
			return nil, err
		}
	}
	var c struct {
		Servers map[string]struct {
			Type string `json:"type"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if c.Servers[name].Type == "sdk" {
			names = append(names, name)
		}
	}
	return names, nil
}
