package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/permission"
)

// fileTool describes how a tool names the file it works on.
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
	return "", errors.New("policy: a path that is not a string")
}

// located turns the path of a call into an absolute one. It is not ok for a
// path with a tilde, which the CLI expands, nor for a relative one unless the
// request names the CLI's working directory, which only that of a hook does.
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

// padded reports whether a path begins or ends with white space in the eyes of
// a CLI. The CLI trims paths, but not all of them and not always: such a path
// is one file here and another one there.
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
			return how == broad, nil // one path suffices to deny, and to refuse
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
	called := rule.paths.match(r.root, r.home(), literal(filepath.ToSlash(abs)), tool.search, how, nil)
	led := rule.paths.match(r.root, r.home(), literal(filepath.ToSlash(real)), tool.search, how, nil)
	if how == broad {
		return called || led
	}
	return called && led
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

// guessed returns the most likely meaning of a path.
func (r *Rules) guessed(dir, p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		return filepath.Join(r.home(), rest)
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// home returns the directory that a tilde stands for.
func (r *Rules) home() string {
	if r.user != "" {
		return r.user
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return string(filepath.Separator)
	}
	return dir
}

// pathPattern is a gitignore pattern and the directory it is relative to.
type pathPattern struct {
	from     string // "/", "~" or "": the project
	slash    bool   // one slash at the front, then a name: many people mean the root
	anchored bool   // relative to its directory, not to any directory
	whole    []step
	// named is the pattern without the contents of a directory of that name.
	named []step
	// below is the directory of a pattern that covers all its contents, nil for
	// other patterns.
	below []step
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
	default:
		first, _, _ := strings.Cut(strings.TrimPrefix(content, "/"), "/")
		p.slash = strings.HasPrefix(content, "/") && !strings.ContainsAny(first, "*?[")
	}
	// A slash at the front or in the middle ties the pattern to its directory.
	var front []step
	if p.anchored = strings.Contains(strings.TrimSuffix(content, "/"), "/"); !p.anchored {
		front = anyDirectories()
	}
	content = strings.TrimPrefix(content, "/")
	directory := strings.HasSuffix(content, "/")
	content = strings.TrimSuffix(content, "/")
	if content == "" {
		return nil, errors.New("an empty path")
	}
	steps, err := translate(content)
	if err != nil {
		return nil, err
	}
	// A pattern that fits a directory fits everything in it.
	inside := []step{{char: '/'}, {kind: stepText}}
	if !directory {
		inside = append([]step{{kind: stepMaybe, skip: 2}}, inside...)
	}
	p.whole = slices.Concat(front, steps, inside)
	if p.named = p.whole; !directory {
		p.named = slices.Concat(front, steps)
	}
	if bare, ok := strings.CutSuffix(content, "/**"); ok {
		if steps, err = translate(bare); err == nil {
			p.below = slices.Concat(front, steps)
		}
	}
	return p, err
}

// withoutBase returns a pattern without the front that ties it to a directory.
func withoutBase(content string) string {
	for _, front := range []string{"//", "~/", "./", "/"} {
		if rest, ok := strings.CutPrefix(content, front); ok {
			return rest
		}
	}
	return content
}

// anyDirectories returns the steps that **/ stands for.
func anyDirectories() []step {
	return []step{{kind: stepMaybe, skip: 2}, {kind: stepText}, {char: '/'}}
}

// sameInAnyCase reports that names of files that differ only in case are the
// same.
const sameInAnyCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// translate turns a gitignore pattern into steps.
func translate(pattern string) ([]step, error) {
	var steps []step
	for begins := true; len(pattern) > 0; {
		r, size := utf8.DecodeRuneInString(pattern)
		switch {
		case strings.HasPrefix(pattern, "**/"):
			steps = append(steps, anyDirectories()...)
			size = 3
		case pattern == "**" && begins: // behind other characters it is a star
			steps = append(steps, step{kind: stepNotSet}, step{kind: stepText})
			size = 2
		case r == '*':
			steps = append(steps, step{kind: stepName})
		case r == '?':
			steps = append(steps, step{kind: stepNotSet})
		case r == '[':
			end := strings.IndexByte(pattern, ']')
			if end < 2 || strings.ContainsAny(pattern[:end], `\/`) {
				return nil, errors.New("a set of characters that cannot be read")
			}
			set, err := characters(pattern[1:end])
			if err != nil {
				return nil, err
			}
			steps = append(steps, set)
			size = end + 1
		case r == '\\' && len(pattern) > 1:
			r, size = utf8.DecodeRuneInString(pattern[1:])
			steps = append(steps, step{char: r})
			size++
		default:
			steps = append(steps, step{char: r})
		}
		begins = pattern[size-1] == '/'
		pattern = pattern[size:]
	}
	return steps, nil
}

// characters reads the text between brackets.
func characters(text string) (step, error) {
	s := step{kind: stepSet}
	if text[0] == '!' || text[0] == '^' {
		s.kind, text = stepNotSet, text[1:]
	}
	list := []rune(text)
	for i := 0; i < len(list); i++ {
		from, to := list[i], list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			to = list[i+2]
			i += 2
		}
		if from > to {
			return s, errors.New("a set of characters that cannot be read")
		}
		s.set = append(s.set, from, to)
	}
	return s, nil
}

// match compares an absolute path, or its known parts, with the pattern.
func (p *pathPattern) match(root, home string, abs []step, search bool, how reading, effort *int) bool {
	return p.matchFrom(p.fronts(root, home, how), abs, search, how, effort)
}

// fronts returns the directories that the pattern may be relative to.
func (p *pathPattern) fronts(root, home string, how reading) (list [][]step) {
	if p == nil {
		return nil
	}
	base := root
	switch p.from {
	case "/":
		base = "/"
	case "~":
		base = home
	}
	add := func(dir string) {
		front := literal(strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/")
		if dir == "/" && runtime.GOOS == "windows" {
			front = []step{{kind: stepText}, {char: '/'}} // whatever the volume
		}
		list = append(list, front)
	}
	add(base)
	// Read(/etc/passwd) is about etc/passwd of the project. Denying also takes it
	// literally.
	if how == broad && p.slash {
		add("/")
	}
	// The directory may be a link itself; the path is then also relative to its
	// target.
	if real, err := resolve(base); err == nil && real != base {
		add(real)
	}
	return list
}

func (p *pathPattern) matchFrom(fronts [][]step, abs []step, search bool, how reading, effort *int) bool {
	for _, front := range fronts {
		if p.fits(front, p.whole, abs, how, effort) || search && p.below != nil && p.fits(front, p.below, abs, how, effort) {
			return true
		}
	}
	return false
}

func (p *pathPattern) fits(front, steps, abs []step, how reading, effort *int) bool {
	if !spend(effort, len(front)/8+1) {
		return true
	}
	if sameInAnyCase && how == broad {
		return overlap(lower(slices.Concat(front, steps)), lower(abs), effort)
	}
	front, abs = apart(front, abs)
	switch {
	case differ(front, abs):
		return !spend(effort, 1)
	case len(front) > 0:
		steps = slices.Concat(front, steps)
	}
	return overlap(steps, abs, effort)
}

// lower returns steps that ignore case.
func lower(steps []step) []step {
	list := slices.Clone(steps)
	for i := range list {
		list[i].char = unicode.ToLower(list[i].char)
		if list[i].kind == stepSet || list[i].kind == stepNotSet && len(list[i].set) > 0 {
			list[i] = step{kind: stepNotSet}
		}
	}
	return list
}

// within returns the path from base to abs, if abs is base or below it.
func within(base, abs string) (rel string, ok bool) {
	rel, err := filepath.Rel(base, abs)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// maxLinks is how many links a path may lead through.
const maxLinks = 255

// resolve follows the symbolic links of an absolute path, as far as it exists.
// A dangling link counts as its target: writing to the link creates the target.
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
