package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// fileTool says how a tool names the file it works on.
type fileTool struct {
	member string // of the input
	writes bool
	search bool // a directory; the working directory if it is missing
}

// filePath returns how a tool names its file, nil for a tool without one.
func filePath(tool string) *fileTool {
	switch tool {
	case "Read":
		return &fileTool{member: "file_path"}
	case "NotebookRead":
		return &fileTool{member: "notebook_path"}
	case "Edit", "MultiEdit", "Write":
		return &fileTool{member: "file_path", writes: true}
	case "NotebookEdit":
		return &fileTool{member: "notebook_path", writes: true}
	case "Glob", "Grep", "LS":
		return &fileTool{member: "path", search: true}
	case "LSP":
		return &fileTool{member: "filePath"}
	}
	return nil
}

// path reads the file of a call; "" if the input has none.
func (t *fileTool) path(req *permission.Request) (string, error) {
	var in map[string]any
	if err := decode(req, &in); err != nil {
		return "", err
	}
	switch p := in[t.member].(type) {
	case nil:
		return "", nil
	case string:
		if strings.ContainsRune(p, 0) {
			return "", errors.New("policy: a path with a NUL character")
		}
		return p, nil
	}
	return "", errors.New("policy: a path that is no text")
}

// located turns the path of a call into an absolute one. The CLI expands a
// tilde and starts from its working directory, which a request does not name
// unless a hook has made it; then it is not ok.
func located(req *permission.Request, p string) (abs string, ok bool) {
	switch {
	case filepath.IsAbs(p):
		return filepath.Clean(p), true
	case strings.HasPrefix(p, "~"):
		return "", false
	case filepath.IsAbs(req.Cwd):
		return filepath.Join(req.Cwd, p), true
	}
	return "", false
}

// padded reports whether a path begins or ends with what a CLI takes for blank.
// The CLI trims paths, though not all of them and not always: such a path is
// one file here and another one there.
func padded(p string) bool {
	return strings.Trim(p, "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff") != p
}

// fitsPath compares the files of a call with a rule for Read or Edit.
func (r *Rules) fitsPath(rule rule, req *permission.Request, how reading) (bool, error) {
	tool := filePath(req.ToolName)
	if tool == nil || tool.writes != (rule.ToolName == "Edit") {
		return false, nil
	}
	paths, err := touched(tool, req)
	if err != nil {
		return false, err
	}
	for _, p := range paths {
		if r.fitsFile(rule, tool, req, p, how) == (how == broad) {
			return how == broad, nil // one suffices to deny, and to refuse
		}
	}
	return how == strict, nil
}

func (r *Rules) fitsFile(rule rule, tool *fileTool, req *permission.Request, p string, how reading) bool {
	if padded(p) {
		return how == broad
	}
	abs, ok := located(req, p)
	if !ok {
		if how == strict {
			return false
		}
		abs = r.guessed(r.root, p)
	}
	real, err := resolve(abs)
	if err != nil {
		return how == broad
	}
	named := rule.paths.match(r.root, abs, tool.search, how)
	led := rule.paths.match(r.root, real, tool.search, how)
	if how == broad {
		return named || led
	}
	return named && led
}

// writesProtected reports whether a call of a file tool writes to a file that
// the CLI asks about whatever its rules allow.
func (r *Rules) writesProtected(req *permission.Request) (bool, error) {
	tool := filePath(req.ToolName)
	if tool == nil || !tool.writes {
		return false, nil
	}
	p, err := tool.path(req)
	if err != nil {
		return false, err
	}
	abs := r.guessed(r.dir(req), p)
	real, err := resolve(abs)
	return err != nil || padded(p) || r.protects(abs) || r.protects(real) || disguised(p), nil
}

// guessed is what a path most likely means.
func (r *Rules) guessed(dir, p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		return filepath.Join(home(), rest)
	}
	if rest, ok := strings.CutPrefix(p, "$HOME"); ok {
		return filepath.Join(home(), rest)
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return string(filepath.Separator)
	}
	return dir
}

// pathPattern is a pattern of gitignore with a place to count from.
type pathPattern struct {
	from  string // "/", "~" or "": the project
	whole *regexp.Regexp
	// below is the directory of a pattern that covers all of it, nil if the
	// pattern does not.
	below *regexp.Regexp
}

func newPathPattern(content string) (*pathPattern, error) {
	p := new(pathPattern)
	switch {
	case strings.HasPrefix(content, "!"):
		return nil, errors.New("a pattern cannot be an exception")
	case strings.HasPrefix(content, "//"):
		p.from, content = "/", content[1:]
	case strings.HasPrefix(content, "~/"):
		p.from, content = "~", content[1:]
	case strings.HasPrefix(content, "./"):
		content = content[1:]
	}
	// A slash at the front or in the middle ties the pattern to its place.
	anchored := strings.Contains(strings.TrimSuffix(content, "/"), "/")
	content = strings.TrimPrefix(content, "/")
	directory := strings.HasSuffix(content, "/")
	content = strings.TrimSuffix(content, "/")
	if content == "" {
		return nil, errors.New("an empty path")
	}
	front := "^"
	if !anchored {
		front = "^(?:.*/)?"
	}
	expr, err := translate(content)
	if err != nil {
		return nil, err
	}
	// What fits a directory fits everything in it.
	back := "(?:/.*)?$"
	if directory {
		back = "/.*$"
	}
	if p.whole, err = compile(front + expr + back); err != nil {
		return nil, err
	}
	if bare, ok := strings.CutSuffix(content, "/**"); ok {
		if expr, err = translate(bare); err == nil {
			p.below, err = compile(front + expr + "$")
		}
	}
	return p, err
}

// sameInAnyCase says that the names of files differ in more than case.
const sameInAnyCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

func compile(expr string) (*regexp.Regexp, error) {
	if sameInAnyCase {
		expr = "(?i)" + expr
	}
	return regexp.Compile("(?s)" + expr)
}

// translate turns a pattern of gitignore into an expression.
func translate(pattern string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case rest == "**":
			b.WriteString(".+")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[':
			n := strings.IndexByte(rest, ']')
			if n < 2 || strings.ContainsAny(rest[:n], `\/`) {
				return "", errors.New("a set of characters that cannot be read")
			}
			set := rest[1:n]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(set, "[", `\[`) + "]")
			i += n
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String(), nil
}

// match compares an absolute path with the pattern.
func (p *pathPattern) match(root, abs string, search bool, how reading) bool {
	base := root
	switch p.from {
	case "/":
		base = filepath.VolumeName(abs) + string(filepath.Separator)
	case "~":
		base = home()
	}
	fold := how == broad && sameInAnyCase
	if p.matchFrom(base, abs, search, fold) {
		return true
	}
	// A place may be a link itself; the path then counts from where it leads.
	real, err := resolve(base)
	return err == nil && real != base && p.matchFrom(real, abs, search, fold)
}

func (p *pathPattern) matchFrom(base, abs string, search, fold bool) bool {
	if fold {
		base, abs = strings.ToLower(base), strings.ToLower(abs)
	}
	rel, ok := within(base, abs)
	if !ok {
		return false
	}
	rel = filepath.ToSlash(rel)
	return p.whole.MatchString(rel) || search && p.below != nil && p.below.MatchString(rel)
}

// within returns the path from base to abs, if abs is base or below it.
func within(base, abs string) (rel string, ok bool) {
	rel, err := filepath.Rel(base, abs)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// maxLinks is how many links a path may lead through.
const maxLinks = 255

// resolve follows the symbolic links of an absolute path, as far as it exists.
// A link whose target does not exist counts as the target: who writes to it
// makes the target.
func resolve(abs string) (string, error) {
	volume := filepath.VolumeName(abs)
	done := volume + string(filepath.Separator)
	todo := strings.Split(filepath.ToSlash(abs[len(volume):]), "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done = next
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("policy: too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if v := filepath.VolumeName(target); filepath.IsAbs(target) {
			done, target = v+string(filepath.Separator), target[len(v):]
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return done, nil
}
