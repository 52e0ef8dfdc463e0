package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// Confine denies calls of the file tools (Read, Edit, Write, Glob, Grep, LSP
// and similar ones) whose path is not below one of the directories, and passes
// the others. A path with blanks around it, which the CLI may trim, is denied.
// Symbolic links are followed, even to a file that does not exist yet. Confine
// has no opinion on other tools: a shell command can name any path in any way,
// so deny the shell or put it into a sandbox.
//
// Only a policy in a hook knows the working directory of the CLI; see
// [permission.Request.Cwd]. Elsewhere a relative or missing path is denied,
// with a message that asks the model for an absolute one.
//
// Confine looks before the tool acts. A program that swaps a directory for a
// link in between, such as a shell command that is still running, can lead the
// tool astray; only the operating system can prevent that.
//
// A prompt can name a file as @path, which the CLI reads without asking: no
// policy can see that. Set Options.VerbatimPrompts, as claude.Hardened does,
// or pass text written by others through claude.EscapePrompt. The CLI reads
// the arguments that the model gives to a skill in the same way. Confine does
// see these, and denies those that mention a path outside the directories.
func Confine(dirs ...string) permission.Func {
	roots := make([]string, len(dirs))
	var rootErr error
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil && rootErr == nil {
			rootErr = fmt.Errorf("policy: confine: %w", err)
		}
		roots[i] = abs
	}
	return func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		if rootErr != nil {
			return permission.Pass(), rootErr
		}
		paths, err := mentioned(req)
		if tool := filePath(req.ToolName); tool != nil {
			paths, err = touched(tool, req)
		}
		if err != nil {
			return permission.Pass(), err
		}
		for _, p := range paths {
			if padded(p) {
				return permission.Deny(fmt.Sprintf("The path %q begins or ends with blanks.", p)), nil
			}
			inside, err := confined(roots, req, p)
			if err != nil {
				return permission.Pass(), err
			}
			if !inside {
				return permission.Deny(denial(req, p, dirs)), nil
			}
		}
		return permission.Pass(), nil
	}
}

// touched lists the paths of a call. The pattern of a search is also a path, up
// to its first wildcard.
func touched(tool *fileTool, req *permission.Request) ([]string, error) {
	p, err := tool.path(req)
	if err != nil {
		return nil, err
	}
	paths := []string{p}
	if req.ToolName != "Glob" {
		return paths, nil
	}
	pattern, err := (&fileTool{member: "pattern"}).path(req)
	if err != nil {
		return nil, err
	}
	if padded(pattern) {
		return append(paths, pattern), nil
	}
	fixed := pattern
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		if strings.Contains(pattern[i:], "..") {
			return nil, fmt.Errorf("policy: the pattern %q leads upwards", pattern)
		}
		fixed = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	}
	if filepath.IsAbs(fixed) || strings.HasPrefix(fixed, "~") {
		return append(paths, fixed), nil
	}
	if p != "" {
		fixed = p + "/" + fixed
	}
	return append(paths, fixed), nil
}

// confined reports whether a path is below one of the roots. A path with ".."
// is read in both ways, as text and as the system does: they differ after a
// link.
func confined(roots []string, req *permission.Request, p string) (bool, error) {
	abs, ok := located(req, p)
	if !ok {
		return false, nil
	}
	readings := []string{abs}
	if strings.Contains(p, "..") {
		raw := p
		if !filepath.IsAbs(p) {
			raw = req.Cwd + string(filepath.Separator) + p
		}
		readings = append(readings, raw)
	}
	for _, reading := range readings {
		real, err := resolve(reading)
		if err != nil {
			return false, fmt.Errorf("policy: confine: %w", err)
		}
		inside := false
		for _, root := range roots {
			root, err := resolve(root)
			if err != nil {
				return false, fmt.Errorf("policy: confine: %w", err)
			}
			_, below := within(root, real)
			inside = inside || below
		}
		if !inside {
			return false, nil
		}
	}
	return true, nil
}

func denial(req *permission.Request, p string, dirs []string) string {
	if _, ok := located(req, p); !ok {
		return fmt.Sprintf("%s needs an absolute path below %s.", req.ToolName, strings.Join(dirs, " or "))
	}
	return fmt.Sprintf("%s is not below %s.", p, strings.Join(dirs, " or "))
}
