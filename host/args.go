package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// ErrVersion says that the command line asks for the version only.
var ErrVersion = errors.New("host: the version was asked for")

// switches and values are the flags of the CLI that a client may use without
// the agent caring.
var (
	switches = []string{"verbose", "print", "p", "debug", "continue", "fork-session", "strict-mcp-config",
		"no-session-persistence", "include-hook-events", "await-initialize", "session-mirror", "bare",
		"managed-settings-in-initialize", "forward-subagent-text", "prompt-suggestions", "debug-to-stderr"}
	values = []string{"agent", "agents", "fallback-model", "betas", "thinking", "max-thinking-tokens", "thinking-display",
		"effort", "max-budget-usd", "task-budget", "settings", "managed-settings", "setting-sources", "plugin-dir",
		"plugin-dir-no-mcp", "add-dir", "project-config-root", "debug-file", "resume-session-at", "resume-drops-turn",
		"system-prompt", "append-system-prompt", "system-prompt-file", "append-system-prompt-file", "tools", "name",
		"input-format", "output-format", "permission-prompts"}
)

// flags are those of a command line.
type flags struct{ Options }

// ParseArgs reads the command line of the CLI, without the program, and its
// environment, so that a client can start an agent in its place. Flags that
// mean nothing to an agent are accepted. An unknown one is an error in the
// CLI's words, by which clients know it; so is an output that is not
// stream-json. The error is ErrVersion when the version is asked for.
func ParseArgs(args, env []string) (*Options, error) {
	var f flags
	format := "text"
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		switch {
		case !strings.HasPrefix(args[i], "-"):
			continue // a prompt, which is read from the stream anyway
		case name == "version" || name == "v":
			return nil, ErrVersion
		case slices.Contains(switches, name):
			continue
		case f.set(name):
			continue
		}
		if !joined {
			if i++; i == len(args) {
				return nil, fmt.Errorf("error: option '--%s' argument missing", name)
			}
			value = args[i]
		}
		known, err := f.value(name, value)
		if err != nil {
			return nil, fmt.Errorf("error: option '--%s': %w", name, err)
		}
		if !known && !slices.Contains(values, name) {
			return nil, fmt.Errorf("error: unknown option '--%s'", name)
		}
		if name == "output-format" {
			format = value
		}
	}
	if format != "stream-json" {
		return nil, errors.New("error: only --output-format=stream-json is supported")
	}
	f.environ(env)
	return &f.Options, nil
}

// set takes a flag without a value, false if it is none that matters.
func (f *flags) set(name string) bool {
	switch name {
	case "include-partial-messages":
		f.PartialMessages = true
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

// value takes a flag with a value, false if it is none that matters.
func (f *flags) value(name, value string) (known bool, err error) {
	switch name {
	case "model":
		f.Model = value
	case "permission-mode":
		if f.Mode = permission.Mode(value); !f.Mode.Valid() {
			return true, fmt.Errorf("%q is no mode", value)
		}
		f.AllowBypass = f.AllowBypass || f.Mode == permission.ModeBypassPermissions
	case "permission-prompt-tool":
		f.PromptTool = value == "stdio"
	case "allowedTools", "allowed-tools":
		f.Allow = append(f.Allow, ruleList(value)...)
	case "disallowedTools", "disallowed-tools":
		f.Deny = append(f.Deny, ruleList(value)...)
	case "session-id", "resume":
		f.SessionID = value
	case "max-turns":
		f.MaxTurns, err = strconv.Atoi(value)
	case "json-schema":
		if !jsonx.Valid([]byte(value)) {
			return true, errors.New("no JSON")
		}
		f.JSONSchema = []byte(value)
	case "mcp-config":
		f.SDKServers, err = sdkServers(value)
	default:
		return false, nil
	}
	return true, err
}

func (f *flags) environ(env []string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if name == "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS" || name == "CLAUDE_CODE_SDK_READS_SESSION_STATE" {
			f.StateEvents = f.StateEvents || value == "1" || value == "true"
		}
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
