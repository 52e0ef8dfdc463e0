package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/operation"
	"github.com/claude-agent-go/claude/internal/proc"
)

// Version is the version of this module. It is sent to the CLI, which reports
// it to the API as the version of the SDK.
const Version = "0.1.0"

// newest is the newest CLI that was measured: it supports everything this
// package asks for.
const newest = operation.Newest

// since records when the CLI learnt something: lacks is the newest version seen
// without it, has the oldest seen with it. In between it is unknown, and the
// CLI is given the benefit of the doubt. If lacks is empty, has is the very
// first version. The zero value is as old as the CLI.
type since struct{ lacks, has string }

func (f since) always() bool { return f == since{} }

func (f since) missing(version string) bool {
	if f.lacks == "" {
		return tooOld(version, f.has)
	}
	order, ok := compareVersions(version, f.lacks)
	return ok && order <= 0
}

// known reports whether a version certainly has it.
func (f since) known(version string) bool {
	order, ok := compareVersions(version, f.has)
	return ok && order >= 0
}

// firstInitialize is the first CLI that answers initialize. Older ones do not
// refuse it: they never answer.
const firstInitialize = "1.0.63"

// The versions in which the command line learnt to carry an empty prompt, and
// messages to be taken literally. The table of options has the rest.
var (
	sinceEmptyPrompt = since{"1.0.85", "1.0.128"}
	sinceVerbatim    = since{"2.1.296", "2.1.299"}
)

// A CLI that speaks the protocol answers initialize in about half a second and
// names its version there. Only a silent one is asked for it.
const (
	probeAfter = 2 * time.Second
	probeBound = 5 * time.Second // behind a wrapper, on a busy machine, it takes more than 3
	probeTerm  = 200 * time.Millisecond
)

// compareVersions compares two versions by their three numbers; ok is false if
// either is not a version.
func compareVersions(a, b string) (order int, ok bool) { return operation.CompareVersions(a, b) }

// tooOld reports whether a version is known and below the one needed. An
// unknown version is not held against the CLI: its behaviour counts. Safety
// checks are another matter, see [safetyChecks].
func tooOld(version, needed string) bool {
	order, ok := compareVersions(version, needed)
	return ok && order < 0
}

// checkFeatures refuses a CLI that would silently ignore options.
func (s opening) checkFeatures(ctx context.Context) error {
	if applied := s.Info().ManagedSettingsApplied; s.opts.ManagedSettings != nil && (applied == nil || !*applied) {
		return s.startError(ErrUnsupportedVersion, fmt.Errorf("%s did not apply the ManagedSettings, %s does", s.foundVersion(ctx), newest))
	}
	s.warnOfPrompt()
	for r := range s.opts.inUse() {
		if r.since.always() || !r.ignored() { // the CLI has refused a flag that it does not know
			continue
		}
		if version := s.cli.version(ctx); r.since.fails(r.field, version) {
			return s.startError(ErrUnsupportedVersion, r.tooOld(version))
		}
	}
	if len(s.opts.Hooks) == 0 {
		return nil
	}
	version := s.cli.version(ctx)
	for _, h := range s.opts.Hooks {
		// A CLI that does not know an event accepts its hooks and never calls
		// them.
		event, _ := h.Event.Info()
		check := checkedHook
		if event.Gate && !s.Info().HookOnFailureSupported { // younger than all gates
			check = checkedGate
		}
		if (since{event.Before, event.Since}).fails(check, version) {
			return s.startError(ErrUnsupportedVersion, fmt.Errorf("found version %s, hooks of %s need %s", cmp.Or(version, "unknown"), h.Event, event.Since))
		}
	}
	return s.checkFailClosed(ctx, s.Info())
}

// checkInstalled does the same for a query without a handshake, by the
// installed version, if that is known without starting anything. Such a query
// has all its options on the command line.
func checkInstalled(o *Options, p *plan) error {
	if o.Transport != nil {
		return nil
	}
	version := ""
	for r := range o.inUse() {
		if r.since.always() {
			continue
		}
		if version == "" {
			if version = installedVersion(o.CLIPath, p.env); version == "" {
				return nil
			}
		}
		if r.since.missing(version) {
			return &StartError{Reason: ErrUnsupportedVersion, Path: o.CLIPath, Err: r.tooOld(version)}
		}
	}
	return nil
}

// flagSince returns a version that knows one of our flags.
func flagSince(flag string) string {
	if flag == awaitFlag {
		return sinceAwait.has
	}
	for r := range optionRows {
		if r.flag == flag && r.since.has != "" {
			return r.since.has
		}
	}
	return newest
}

// tooOld is the error for a version that lacks the option.
func (r *option) tooOld(version string) error {
	if r.ignored() {
		return fmt.Errorf("%s ignores Options.%s, %s does not", describeVersion(version), r.field, r.since.has)
	}
	return fmt.Errorf("version %s does not know Options.%s, %s does", version, r.field, r.since.has)
}

// checkFailClosed refuses a CLI on which a hook that must fail closed would
// not. Most failures happen on this side and are answered with a block, but
// some only the CLI sees: an answer it cannot read, or a line that was too long
// for us. Without the CLI's support, those failures would let through what the
// hook is meant to stop.
func (s opening) checkFailClosed(ctx context.Context, info *control.Info) error {
	missing := info.HooksApplied != nil && !*info.HooksApplied
	if missing {
		s.log.Warn("the CLI did not register the hooks")
	}
	if info.HookOnFailureSupported && !missing {
		return nil
	}
	for _, h := range s.opts.Hooks {
		if !s.opts.failsClosed(h) {
			continue
		}
		why := "does not block when a hook fails"
		if missing {
			why = "did not register the hooks"
		}
		return s.startError(ErrUnsupportedVersion, fmt.Errorf("%s %s, %s does, and the %s hook is to fail closed", s.foundVersion(ctx), why, newest, h.Event))
	}
	return nil
}

// foundVersion names the CLI in an error.
func (s opening) foundVersion(ctx context.Context) string {
	if version := s.cli.version(ctx); version != "" {
		return "the version found, " + version + ","
	}
	return "the CLI found"
}

// probe asks the executable for its version; "" if it does not tell. No
// process is left when it returns.
func (c *program) probe(ctx context.Context) string {
	if version := c.installed(); version != "" {
		return version
	}
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	p, err := proc.Start(ctx, &proc.Command{
		Path: c.opts.CLIPath, Args: []string{"--version"}, Env: c.plan.env, Dir: c.opts.Cwd, Log: c.log,
		Term: probeTerm, Drain: probeTerm,
	})
	if err != nil {
		c.log.Warn("version check failed", "error", err)
		return ""
	}
	_ = p.CloseWrite()
	said := make(chan string, 1)
	go func() {
		out, _ := io.ReadAll(io.LimitReader(p, 4<<10))
		said <- string(out)
	}()
	version := ""
	select {
	case out := <-said:
		version = operation.VersionForm.FindString(out)
	case <-ctx.Done():
	}
	_ = p.Stop()
	if version == "" {
		c.log.Warn("version check inconclusive")
	}
	return version
}

// operationSince returns when an operation came. An older CLI never answers it.
func operationSince(op string) since {
	if row := operation.Find(op); row != nil {
		return since{row.Lacks, row.Has}
	}
	return late
}

// readsCancels reports whether the CLI can be told that a reply is no longer
// awaited. Old CLIs exit at a line that they do not know. They do not name
// their version either, so a CLI that names none is never told.
func (c *program) readsCancels() bool {
	version := c.info().CLIVersion
	return version != "" && !late.missing(version)
}

// checkOperation refuses an operation that the CLI would never answer.
func (c *program) checkOperation(ctx context.Context, op string) error {
	f := operationSince(op)
	if f.always() {
		return nil
	}
	if version := c.version(ctx); f.missing(version) {
		return &ControlError{Op: op, Message: fmt.Sprintf("version %s does not know it, %s does", version, f.has), Err: ErrUnsupportedVersion}
	}
	return nil
}

// checkVerbatim refuses a message marked as verbatim if the CLI would still
// look for mentions and commands in it.
func (c *program) checkVerbatim(ctx context.Context) error {
	if version := c.version(ctx); sinceVerbatim.fails(checkedVerbatim, version) {
		return fmt.Errorf("claude: send prompt: %s ignores ClientComposed, %s does not: %w", describeVersion(version), sinceVerbatim.has, ErrUnsupportedVersion)
	}
	return nil
}

// rewriteSince returns when the CLI learnt to use the input that a PreToolUse
// hook substitutes, by the hook's decision beside it. Before that, the tool runs
// with the original input; 2.1.299 uses the new one, but then asks no one.
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

// checkRewrite refuses the reply of a PreToolUse hook that changes an input if
// the CLI would run the tool with the original one.
func (c *program) checkRewrite(ctx context.Context, reply json.RawMessage) error {
	part := jsonx.Member(reply, "hookSpecificOutput")
	if !jsonx.Present(jsonx.Member(part, "updatedInput")) {
		return nil
	}
	f := rewriteSince(jsonx.Text(jsonx.Member(part, "permissionDecision")))
	if f.always() {
		return nil
	}
	select {
	case <-c.settled: // a hook may be asked before the reply to initialize is read
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if version := c.version(ctx); f.fails(checkedRewrite, version) {
		return fmt.Errorf("%s does not use the changed input of this hook, %s does: %w", describeVersion(version), f.has, ErrUnsupportedVersion)
	}
	return nil
}

// warnOfPrompt logs that an old CLI uses its own prompt in place of an empty
// one. It is not worth starting a process to ask for the version.
func (s opening) warnOfPrompt() {
	if !s.opts.SystemPrompt.empty() {
		return
	}
	version := s.Info().CLIVersion
	if version == "" && s.opts.Transport == nil {
		version = s.cli.installed()
	}
	if sinceEmptyPrompt.missing(version) {
		s.log.Warn("this CLI uses the prompt of Claude Code, although SystemPrompt is empty", "version", version)
	}
}

// program is the CLI of a session, and what is known of its version.
type program struct {
	opts    *Options
	plan    *plan
	log     *slog.Logger
	info    func() *control.Info
	settled <-chan struct{} // closed when info is final

	mu    sync.Mutex
	asked *string // the version, if an old CLI was asked for it
}

// version returns the version of the CLI, "" if it cannot be found out. A
// CLI that does not name it in the handshake is old, and is asked once.
func (c *program) version(ctx context.Context) string {
	if version := c.info().CLIVersion; version != "" || c.opts.Transport != nil {
		return version
	}
	c.mu.Lock()
	known := c.asked
	c.mu.Unlock()
	if known != nil {
		return *known
	}
	version := c.probe(ctx)
	if ctx.Err() == nil {
		c.mu.Lock()
		c.asked = &version
		c.mu.Unlock()
	}
	return version
}

// InstalledVersion returns the version of the CLI that the options would start,
// without starting anything. It is empty if the program is not inside the package
// that it came with, or if the options have a Transport: then the version is
// unknown before Connect. A nil receiver acts like the zero Options.
func (o *Options) InstalledVersion() string {
	if o == nil {
		o = new(Options)
	}
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	if o.Transport != nil {
		return ""
	}
	return installedVersion(o.CLIPath, env)
}

// installed returns installedVersion for this CLI.
func (c *program) installed() string { return installedVersion(c.opts.CLIPath, c.plan.env) }

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
	if name := filepath.Base(path); operation.VersionForm.FindString(name) == name {
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
	return operation.VersionForm.FindString(pkg.Version)
}
