package claude

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/proc"
)

// Version is the version of this module. The CLI is told, and names it to the
// API as that of the SDK.
const Version = "0.1.0"

// The first CLI versions with a feature, as measured. Older ones do not refuse
// what they lack: they never answer, or never call.
const (
	featureInitialize = "1.0.63"
	featureHooks      = "1.0.85"
	featureMCP        = "1.0.119" // servers in this process, by the handshake
	featureOutput     = "2.0.50"  // a schema of answers, by the handshake
)

// When the handshake learnt to carry prompts and agents, and the command line
// to carry an empty prompt.
var (
	sincePrompts     = since{"2.0.0", "2.0.77"}
	sinceAgents      = since{"2.0.0", "2.0.77"}
	sinceEmptyPrompt = since{"1.0.85", "1.0.128"}
	sinceVerbatim    = since{"2.1.296", "2.1.299"}
)

// A CLI that speaks the protocol answers initialize in about half a second and
// names its version there. Only one that stays silent is asked for it.
const (
	probeAfter = 2 * time.Second
	probeBound = 2 * time.Second
	probeTerm  = 200 * time.Millisecond
)

var versionForm = regexp.MustCompile(`\b(\d+)\.(\d+)\.(\d+)`)

// compareVersions compares two versions by their three numbers; ok is false
// when one has none.
func compareVersions(a, b string) (order int, ok bool) {
	x, y := versionForm.FindStringSubmatch(a), versionForm.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0, false
	}
	for i := 1; i <= 3; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if order = cmp.Compare(m, n); order != 0 {
			return order, true
		}
	}
	return 0, true
}

// tooOld reports whether a version is known and below what is needed. An
// unknown version is not held against the CLI: what it does counts.
func tooOld(version, needed string) bool {
	order, ok := compareVersions(version, needed)
	return ok && order < 0
}

// checkFeatures refuses a CLI that would silently ignore what the options ask.
func (s *Session) checkFeatures(ctx context.Context) error {
	if applied := s.Info().ManagedSettingsApplied; s.opts.ManagedSettings != nil && (applied == nil || !*applied) {
		return s.startError(ErrUnsupportedVersion, fmt.Errorf("%s did not apply the ManagedSettings, %s does", s.foundVersion(ctx), newest))
	}
	if err := s.checkOptions(ctx); err != nil {
		return err
	}
	needs := make(map[string]string) // version by what needs it
	if len(s.opts.Hooks) > 0 {
		needs["hooks need"] = featureHooks
	}
	if len(s.plan.inside) > 0 {
		needs["MCP servers in this process need"] = featureMCP
	}
	if len(s.opts.OutputSchema) > outputOnArgv {
		needs["a long OutputSchema needs"] = featureOutput
	}
	if len(needs) == 0 {
		return nil
	}
	info := s.Info()
	version := s.cliVersion(ctx)
	for what, since := range needs {
		if tooOld(version, since) {
			return s.startError(ErrUnsupportedVersion, fmt.Errorf("found version %s, %s %s", version, what, since))
		}
	}
	for _, h := range s.opts.Hooks {
		// A CLI that does not know an event takes its hooks and never calls them.
		event, _ := h.Event.Info()
		if (since{event.Before, event.Since}).missing(version) {
			return s.startError(ErrUnsupportedVersion, fmt.Errorf("found version %s, hooks of %s need %s", version, h.Event, event.Since))
		}
	}
	return s.checkFailClosed(ctx, info)
}

// checkFailClosed refuses a CLI on which a hook that must fail closed would
// not. Most failures happen on this side and are answered with a block, but
// some only the CLI sees: an answer it cannot read, a line that was too long
// for us. Without its support they would let pass what the hook is to stop.
func (s *Session) checkFailClosed(ctx context.Context, info *control.Info) error {
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
func (s *Session) foundVersion(ctx context.Context) string {
	if version := s.cliVersion(ctx); version != "" {
		return "the version found, " + version + ","
	}
	return "the CLI found"
}

// probeVersion asks the executable for its version; "" when it does not say.
// Nothing of the process is left when it returns.
func (s *Session) probeVersion(ctx context.Context) string {
	if version := s.packageVersion(); version != "" {
		return version
	}
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	p, err := proc.Start(ctx, &proc.Command{
		Path: s.opts.CLIPath, Args: []string{"--version"}, Env: s.plan.env, Dir: s.opts.Cwd, Log: s.log,
		Term: probeTerm, Drain: probeTerm,
	})
	if err != nil {
		s.log.Warn("version check failed", "error", err)
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
		version = versionForm.FindString(out)
	case <-ctx.Done():
	}
	_ = p.Stop()
	if version == "" {
		s.log.Warn("version check inconclusive")
	}
	return version
}
