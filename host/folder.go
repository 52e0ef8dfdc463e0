package host

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// outside returns the folder of a file that a tool wants to read or write, if
// it lies outside of the session's folders: then the CLI asks, whatever the
// tool does. Links are not followed.
func (r *rights) outside(c *Call) (folder string, is bool) {
	path := argument(c.input)
	if path == "" || r.cwd == "" || !slices.Contains(readTools, c.Name) && !slices.Contains(editTools, c.Name) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.cwd, path)
	}
	r.mu.Lock()
	folders := append([]string{r.cwd}, r.folders...)
	r.mu.Unlock()
	if slices.ContainsFunc(folders, func(folder string) bool {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(r.cwd, folder)
		}
		return within(folder, path)
	}) {
		return "", false
	}
	if c.Name == "Read" || slices.Contains(editTools, c.Name) {
		return filepath.Dir(path), true
	}
	return path, true
}

// within reports whether a path is that of a folder or of something in it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// askOutside adds to a question why it is asked about a file outside, and what
// would make it unnecessary.
func askOutside(req *permission.Request, folder string, mode permission.Mode) {
	if req.ReasonType == "" {
		req.Reason, req.ReasonType = "Path is outside allowed working directories", "workingDir"
	}
	if slices.Contains(editTools, req.ToolName) {
		req.Suggestions = append(req.Suggestions, permission.AddDirectories(permission.ToSession, folder))
		req.Suggestions = slices.DeleteFunc(req.Suggestions, func(u permission.Update) bool {
			return u.Type == permission.UpdateSetMode && u.Mode == mode
		})
		return
	}
	// A path that begins at the root has two slashes in a rule.
	rule := "/" + filepath.ToSlash(filepath.Join(folder, "**"))
	req.Suggestions = []permission.Update{permission.AllowRule("Read", rule, permission.ToSession)}
}
