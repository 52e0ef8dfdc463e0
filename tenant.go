package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/permission/policy"
)

// Tenant returns options for the sessions of one tenant of several that share a
// machine. They are those of [Hardened], and everything that the CLI reads and
// writes besides is below dir, which belongs to the tenant alone:
//
//	dir/work    the working directory, Cwd
//	dir/config  settings, transcripts and state, CLAUDE_CONFIG_DIR
//	dir/home    an empty home, HOME
//	dir/tmp     temporary files, CLAUDE_CODE_TMPDIR and TMPDIR; images of prompts and
//	            outputs of background tasks stay there after the CLI has ended
//
// What a tenant does not get:
//
//   - Instructions, settings and MCP servers of the folders above dir, and of this
//     user: no CLAUDE.md, AGENTS.md or .mcp.json of any parent folder is read.
//   - Memory: the CLI neither writes notes for later sessions nor reads them.
//   - Files that usually hold secrets: a guard denies [policy.SecretFiles], and
//     searches leave them out.
//   - Files and commands named in a prompt: prompts are taken literally.
//
// Tenant makes the folders that are missing, for this user only. It returns an
// error if one of them cannot be made or is a link. Removing dir removes the tenant,
// once no session of it runs.
//
// The folders separate tenants that do as they are told. What Hardened leaves to you
// is left here too: a shell command can read whatever this user can, the credentials
// in Env and the folders of other tenants included. Deny Bash, set Sandbox, or give
// each tenant a container. To keep the file tools in place, add
// hook.Guard("", policy.Confine(opts.Cwd)). The credentials must be in the
// environment, because the home is empty. Change the options as needed before use.
func Tenant(dir string) (*Options, error) {
	if dir == "" {
		return nil, fmt.Errorf("claude: tenant: no folder is named")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("claude: tenant: %w", err)
	}
	for _, name := range []string{"work", "config", "home", "tmp"} {
		if err := ownFolder(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("claude: tenant: %w", err)
		}
	}
	o := Hardened()
	o.Cwd = filepath.Join(dir, "work")
	o.Env = tenantEnv(o.Env, dir)
	secrets := policy.SecretFiles().At(o.Cwd)
	o.Hooks = []hook.Hook{narrowed(secrets), hook.Guard("", secrets.Deny("This file may hold secrets and stays closed."))}
	return o, nil
}

// narrowed lets searches leave out the files of rules, which a guard would deny.
func narrowed(rules *policy.Rules) hook.Hook {
	return hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		input, err := rules.Narrow(ctx, in.Request())
		if input == nil || err != nil {
			return nil, err
		}
		return hook.RewriteInput(input), nil
	}).FailClosed()
}

// ownFolder makes a folder for this user alone, unless it is there.
func ownFolder(path string) error {
	if err := private.MkdirAll(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder but a link", path)
	}
	return nil
}

// tenantEnv points an environment at the folders of a tenant.
func tenantEnv(env []string, dir string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(strings.ToUpper(entry), "XDG_") // folders of this user
	})
	tmp, home := filepath.Join(dir, "tmp"), filepath.Join(dir, "home")
	own := [][2]string{
		{"HOME", home}, {"TMPDIR", tmp}, {tempVar, tmp}, {"CLAUDE_CONFIG_DIR", filepath.Join(dir, "config")},
		{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"}, {"CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"},
	}
	if runtime.GOOS == "windows" {
		own = append(own, [][2]string{{"USERPROFILE", home}, {"TEMP", tmp}, {"TMP", tmp}}...)
	}
	for _, v := range own {
		env = withVariable(env, v[0], v[1])
	}
	return env
}
