package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// unforeseen reports whether the CLI would ask about commands though its rules
// for commands allow them: they name files outside of the project or such that
// decide what other programs run, change the directory for the next command,
// or are programs that run what they are told.
func (r *Rules) unforeseen(req *permission.Request, commands []string) bool {
	if b := req.BlockedPath; b != "" && (!filepath.IsAbs(b) || r.outside(b)) {
		return true
	}
	return slices.ContainsFunc(commands, func(command string) bool {
		words := plainWords(command)
		name := path.Base(words[0])
		switch name {
		case "cd", "pushd", "popd":
			if len(commands) > 1 || len(words) != 2 {
				return true
			}
		case "eval", "source", ".", "exec", "trap", "coproc":
			return true
		}
		return slices.ContainsFunc(words[1:], func(word string) bool {
			return slices.ContainsFunc(actions[name], func(a string) bool { return strings.HasPrefix(word, a) }) ||
				name == "awk" && strings.ContainsAny(word, "(|>") ||
				r.leads(req, name, word)
		})
	})
}

// actions are the options by which programs that search do more than that.
var actions = map[string][]string{
	"find": {"-delete", "-exec", "-ok", "-fprint", "-fls"},
	"jq":   {"-f", "--from-file", "-L", "--rawfile", "--slurpfile", "--argfile", "--library-path"},
}

// leads reports whether a word may lead a command out of the project.
func (r *Rules) leads(req *permission.Request, name, word string) bool {
	if strings.HasPrefix(word, "=") { // the path of a program, for zsh
		return true
	}
	for _, p := range meanings(word) {
		if strings.HasPrefix(p, "~") || slices.Contains(strings.Split(filepath.ToSlash(p), "/"), "..") {
			return true
		}
		abs := filepath.Join(r.dir(req), p)
		if filepath.IsAbs(p) {
			abs = filepath.Clean(p)
		}
		if r.outside(abs) || writesFiles(name) && name != "git" && disguised(p) {
			return true
		}
		if name == "rm" || name == "rmdir" {
			if _, above := within(abs, r.dir(req)); above {
				return true
			}
		}
	}
	return false
}

// outside reports whether a path is not in the project, also by its links, or
// is protected there.
func (r *Rules) outside(abs string) bool {
	real, err := resolve(abs)
	if err != nil {
		// Such a name cannot be a file; it is text, and counts as written.
		real = abs
	}
	root, err := resolve(r.root)
	if err != nil {
		return true
	}
	_, named := within(r.root, abs)
	_, led := within(root, real)
	if _, direct := within(root, abs); direct {
		named = true
	}
	return !named || !led || r.protects(abs) || r.protects(real)
}

// protects reports whether a file is protected. Where the project itself lies
// does not matter.
func (r *Rules) protects(abs string) bool {
	if rel, ok := within(r.root, abs); ok {
		return protected(rel)
	}
	if root, err := resolve(r.root); err == nil {
		if rel, ok := within(root, abs); ok {
			return protected(rel)
		}
	}
	return protected(abs)
}

// dir is the directory that commands run in, as far as it is known.
func (r *Rules) dir(req *permission.Request) string {
	if filepath.IsAbs(req.Cwd) {
		return req.Cwd
	}
	return r.root
}

// maxFiles is how many files a command may name before it is too much to look
// at, and denied.
const maxFiles = 4096

// deniesFiles reports whether one of the words of a command names a file that
// a rule for Read or Edit denies.
func (r *Rules) deniesFiles(req *permission.Request, files []shellFile) bool {
	if !r.hasContent("Read", "Edit") {
		return false
	}
	seen := make(map[shellFile]bool)
	for _, f := range files {
		if seen[f] {
			continue
		}
		if seen[f] = true; len(seen) > maxFiles || r.deniesFile(req, f) {
			return true
		}
	}
	return false
}

func (r *Rules) deniesFile(req *permission.Request, f shellFile) bool {
	var paths []string
	for _, p := range meanings(f.name) {
		for _, dir := range []string{r.dir(req), r.root} {
			abs := r.guessed(dir, p)
			if slices.Contains(paths, abs) {
				continue
			}
			paths = append(paths, abs)
			if real, err := resolve(abs); err == nil && real != abs {
				paths = append(paths, real)
			}
		}
	}
	return slices.ContainsFunc(r.rules, func(rule rule) bool {
		return rule.paths != nil && (rule.ToolName == "Read" || f.writes) &&
			slices.ContainsFunc(paths, func(p string) bool { return rule.paths.match(r.root, p, true, broad) })
	})
}

// meanings are the paths that a word may hold: the whole of it, the value of
// an option, or what follows a colon.
func meanings(word string) []string {
	if word == "" {
		return nil
	}
	list := []string{word}
	if i := strings.IndexByte(word, '='); i >= 0 && i+1 < len(word) {
		list = append(list, word[i+1:])
	}
	if i := strings.IndexByte(word, ':'); i >= 0 && i+1 < len(word) && !strings.HasPrefix(word[i:], "://") {
		list = append(list, word[i+1:])
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		list = append(list, word[2:]) // -o/file
	}
	return list
}

// plainWords splits a command of [plainCommands] into words without quotes.
func plainWords(command string) []string {
	var words []string
	var b strings.Builder
	var quote rune
	in := false
	for _, c := range command + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words = append(words, b.String())
			}
			b.Reset()
			in = false
		default:
			b.WriteRune(c)
			in = true
		}
	}
	return words
}
