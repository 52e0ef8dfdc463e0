package claude

import (
	"os"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// Hardened returns options for work on untrusted material, such as a
// repository from someone else. Change them as needed before use.
//
// What it keeps out:
//
//   - Settings, hooks, agents and instruction files from the working directory
//     and from the user: SettingSources is empty.
//   - MCP servers named in the working directory or the user's settings:
//     StrictMCPConfig is set.
//   - Failures of your hooks that let pass what they should stop: HookFailure
//     is hook.FailClosed, and a CLI that cannot do so is refused.
//   - This process's secrets within reach of shell commands: Env holds only
//     what the CLI needs to run and to sign in.
//   - Files and commands named in a prompt: VerbatimPrompts is set, and a CLI
//     that cannot do so is refused. Without it, "@/path" in a prompt made from
//     other people's text reads that file past every gate.
//   - A permission mode set by someone else: it is permission.ModeDefault, in
//     which what no rule allows is asked or denied.
//   - Updates, reports and other traffic besides the model's.
//
// What it leaves to you, because it depends on the work:
//
//   - The credentials in Env: a shell command can read them, and so can the
//     model. Deny Bash, or set Sandbox.
//   - What tools may do: set CanUseTool, Tools, DisallowedTools or Sandbox.
//     Package permission/policy has ready-made decisions.
//   - What is read: the model follows instructions in files, web pages and
//     tool results, and can send what it knows wherever a tool reaches.
//   - Cost: set MaxTurns and MaxBudgetUSD.
//   - Traces: the conversation is written to disk. Set NoPersistence.
func Hardened() *Options {
	return &Options{
		SettingSources:  []SettingSource{},
		StrictMCPConfig: true,
		HookFailure:     hook.FailClosed,
		VerbatimPrompts: true,
		PermissionMode:  permission.ModeDefault,
		Env:             minimalEnv(os.Environ()),
	}
}

// minimalEnv keeps what the CLI needs: to find programs and its home, to speak
// the user's language, and to sign in; and how patient it is with the API.
func minimalEnv(environ []string) []string {
	env := []string{
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(neededEnv[:], strings.ToUpper(name)) {
			env = append(env, entry)
		}
	}
	return env
}

var neededEnv = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS",
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
}
