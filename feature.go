package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/proc"
)

// since says when the CLI learnt something: lacks is the newest version that
// was seen without it, has the oldest that was seen with it. Between the two
// nobody knows, and the CLI is given the benefit of the doubt.
type since struct{ lacks, has string }

func (f since) missing(version string) bool {
	order, ok := compareVersions(version, f.lacks)
	return ok && order <= 0
}

// newest is the newest CLI that was measured: it knows everything that this
// package asks for.
const newest = "2.1.325"

// known reports whether a version is one that has it.
func (f since) known(version string) bool {
	order, ok := compareVersions(version, f.has)
	return ok && order >= 0
}

// What the handshake carries and older CLIs ignore without a word.
func (o *Options) features() map[string]since {
	late := since{"2.1.0", newest}
	needs := make(map[string]since)
	for _, f := range []struct {
		field string
		set   bool
		since since
	}{
		{"SystemPrompt", o.SystemPrompt.Text != "" || o.SystemPrompt.Append != "", sincePrompts},
		{"SystemPrompt.Sections", o.SystemPrompt.Sections != nil, late},
		{"Agents", len(o.Agents) > 0, sinceAgents},
		{"FileCheckpointing", o.FileCheckpointing, since{"2.0.0", "2.0.77"}},
		{"SystemPrompt.Static", o.SystemPrompt.Static, late},
		{"SystemPrompt.Fresh", o.SystemPrompt.Fresh, late},
		{"PlanModeInstructions", o.PlanModeInstructions != "", late},
		{"ToolAliases", len(o.ToolAliases) > 0, late},
		{"PromptSuggestions", o.PromptSuggestions, late},
		{"ForwardSubagentText", o.ForwardSubagentText, late},
		{"AgentProgressSummaries", o.AgentProgressSummaries, late},
		{"PerTaskStop", o.PerTaskStop, late},
		{"DialogKinds", len(o.DialogKinds) > 0, late},
		{"Skills", o.Skills != nil, late},
		{"Title", o.Title != "", late},
		{"VerbatimPrompts", o.VerbatimPrompts, sinceVerbatim},
		{"SessionStates", o.SessionStates, late},
		{"QuestionPreview", o.QuestionPreview != "", late},
	} {
		if f.set {
			needs[f.field] = f.since
		}
	}
	return needs
}

// operationSince says when an operation came. An older CLI never answers it.
func operationSince(op string) since {
	switch op {
	case "initialize", "interrupt", "mcp_message":
		return since{} // as old as the channel
	case "set_permission_mode":
		return since{"1.0.63", "1.0.85"}
	case "set_model", "mcp_status":
		return since{"1.0.85", "1.0.128"}
	case "set_max_thinking_tokens", "mcp_set_servers", "rewind_files":
		return since{"2.0.0", "2.0.77"}
	}
	return since{"2.1.0", newest}
}

// readsCancels reports whether the CLI can be told that a reply is no longer
// awaited. Old ones end at a line that they do not know. They do not name their
// version either, so a CLI that names none is spared.
func (s *Session) readsCancels() bool {
	version := s.Info().CLIVersion
	return version != "" && !since{"2.1.0", newest}.missing(version)
}

// checkOperation refuses an operation that the CLI would never answer.
func (s *Session) checkOperation(ctx context.Context, op string) error {
	f := operationSince(op)
	if f.lacks == "" {
		return nil
	}
	if version := s.cliVersion(ctx); f.missing(version) {
		return &ControlError{Op: op, Message: fmt.Sprintf("version %s does not know it, %s does", version, f.has), Err: ErrUnsupportedVersion}
	}
	return nil
}

// checkOptions refuses options that the CLI would ignore.
func (s *Session) checkOptions(ctx context.Context) error {
	s.warnOfPrompt()
	needs := s.opts.features()
	if len(needs) == 0 {
		return nil
	}
	version := s.cliVersion(ctx)
	for field, f := range needs {
		if f.missing(version) {
			return s.startError(ErrUnsupportedVersion, fmt.Errorf("version %s ignores Options.%s, %s does not", version, field, f.has))
		}
	}
	return nil
}

// checkVerbatim refuses a message that the CLI would read mentions and commands
// into, although it says not to.
func (s *Session) checkVerbatim(ctx context.Context) error {
	if version := s.cliVersion(ctx); sinceVerbatim.missing(version) {
		return fmt.Errorf("claude: send prompt: version %s ignores ClientComposed, %s does not: %w", version, sinceVerbatim.has, ErrUnsupportedVersion)
	}
	return nil
}

// rewriteSince says when the CLI learnt to use the input that a PreToolUse hook
// puts in place of another, by what the hook decides beside it. Before that the
// tool runs with the input it had; 2.1.299 uses a new one, but then asks nobody.
func rewriteSince(decision string) since {
	switch decision {
	case "allow":
		return since{"2.0.0", "2.0.77"}
	case "ask":
		return since{"2.1.0", "2.1.299"}
	case "":
		return since{"2.1.299", newest}
	}
	return since{} // it does not run
}

// checkRewrite refuses the reply of a PreToolUse hook that changes an input, if
// the CLI would run the tool with the one it had.
func (s *Session) checkRewrite(ctx context.Context, reply json.RawMessage) error {
	part := jsonx.Member(reply, "hookSpecificOutput")
	if !jsonx.Present(jsonx.Member(part, "updatedInput")) {
		return nil
	}
	f := rewriteSince(jsonx.Text(jsonx.Member(part, "permissionDecision")))
	if f.lacks == "" {
		return nil
	}
	if version := s.cliVersion(ctx); f.missing(version) {
		return fmt.Errorf("version %s does not use the changed input of this hook, %s does: %w", version, f.has, ErrUnsupportedVersion)
	}
	return nil
}

// warnOfPrompt logs that an old CLI uses its own prompt in place of an empty
// one. It is not worth starting a process to ask for the version.
func (s *Session) warnOfPrompt() {
	if !s.opts.SystemPrompt.empty() {
		return
	}
	version := s.Info().CLIVersion
	if version == "" && s.opts.Transport == nil {
		version = s.packageVersion()
	}
	if sinceEmptyPrompt.missing(version) {
		s.log.Warn("this CLI uses the prompt of Claude Code, although SystemPrompt is empty", "version", version)
	}
}

// cliVersion returns the version of the CLI, "" if it cannot be found out. One
// that does not name it in the handshake is old, and asked once.
func (s *Session) cliVersion(ctx context.Context) string {
	if version := s.Info().CLIVersion; version != "" || s.opts.Transport != nil {
		return version
	}
	s.mu.Lock()
	known := s.asked
	s.mu.Unlock()
	if known != nil {
		return *known
	}
	version := s.probeVersion(ctx)
	if ctx.Err() == nil {
		s.mu.Lock()
		s.asked = &version
		s.mu.Unlock()
	}
	return version
}

// packageVersion is that of installedVersion for the session's CLI.
func (s *Session) packageVersion() string { return installedVersion(s.opts.CLIPath, s.plan.env) }

// installedVersion returns the version in the package that the executable came
// with, or in its name, "" if neither has one. It saves starting the CLI, which
// can take seconds.
func installedVersion(path string, env []string) string {
	path, err := proc.Find(path, env)
	if err != nil {
		return ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return ""
	}
	if name := filepath.Base(path); versionForm.FindString(name) == name {
		return name // as the native installer names it
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "package.json"))
	if err != nil {
		return ""
	}
	var pkg struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(text, &pkg) != nil || !strings.HasPrefix(pkg.Name, "@anthropic-ai/claude-code") {
		return ""
	}
	return versionForm.FindString(pkg.Version)
}
