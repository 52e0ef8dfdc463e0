package policy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// name notes the words of a command that may name files, and the directories
// that it goes to.
func (s *script) name(words []string) {
	if len(words) == 0 {
		return
	}
	writes := slices.ContainsFunc(words, func(w string) bool { return listed(writers, base(w)) })
	opens := listed(readers, base(words[0]))
	for i, word := range words {
		if i > 0 || strings.Contains(word, "/") {
			s.files = append(s.files, shellFile{word, writes, opens && i > 0 && !strings.HasPrefix(word, "-")})
		}
		for _, option := range [...]string{"-C", "--directory", "--chdir", "--cwd", "--prefix", "--work-tree"} {
			if word == option && i+1 < len(words) {
				s.enter(words[i+1])
			} else if rest, ok := strings.CutPrefix(word, option); ok && rest != "" {
				s.enter(strings.TrimPrefix(rest, "="))
			}
		}
	}
	switch base(words[0]) {
	case "cd", "pushd", "builtin", "command":
		for _, word := range words[1:] {
			s.enter(word)
		}
	case "popd":
		s.enter(string(anyText))
	}
}

// enter notes a directory that commands may run in.
func (s *script) enter(dir string) {
	if dir == "-" {
		dir = string(anyText)
	}
	if len(s.dirs) < maxValues {
		s.dirs = append(s.dirs, dir)
	}
}

// writes notes the files that a command makes. A program that nobody knows may
// make all that it names.
func (s *script) writes(name string, words []string, open bool) {
	known := isPlain(name) || special(name) || loader.MatchString(name)
	switch {
	case listed(makers, name), open && !known && !strings.HasPrefix(words[0], "./"):
	case name == "find" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-fprint") || strings.HasPrefix(w, "-fls") }):
	case listed(" tar bsdtar cpio rename ", name) && slices.ContainsFunc(words, renamed.MatchString):
		s.pieces = true
		return
	default:
		return
	}
	s.pieces = s.pieces || strings.HasSuffix(name, "split")
	for _, word := range words[1:] {
		if strings.ContainsAny(word, " \n") && !listed(makers, name) {
			continue // a text
		}
		for _, p := range meanings(word, false) {
			s.make(p)
		}
	}
}

// renamed are options that give other names to what is unpacked.
var renamed = regexp.MustCompile(`^(--(transform|xform|strip|show-transformed|absolute)|-[a-zA-Z]*[sP]|-?[a-zA-Z]*P[a-zA-Z]*$)`)

// How many files a command may name, and how much work they may be, before it
// is too much to look at, and denied.
const (
	maxFiles  = 4096
	maxEffort = 1 << 20
)

// deniesFiles reports whether one of the words of a command names a file that
// a rule for Read or Edit denies.
func (r *Rules) deniesFiles(req *permission.Request, s *script) bool {
	if !r.hasContent("Read", "Edit") {
		return false
	}
	dirs := r.directories(req, s.dirs)
	effort := maxEffort
	seen := make(map[shellFile]bool)
	for _, f := range s.files {
		if seen[f] {
			continue
		}
		if seen[f] = true; len(seen) > maxFiles || r.deniesFile(f, dirs, s.dots, &effort) {
			return true
		}
	}
	return false
}

// directories are those that a command may run in: the one that it starts in,
// the project, and what cd leads to from each of them.
func (r *Rules) directories(req *permission.Request, entered []string) []string {
	dirs := []string{r.dir(req)}
	if r.root != dirs[0] {
		dirs = append(dirs, r.root)
	}
	for range min(len(entered), 3) { // as often as it is likely to matter
		for _, to := range entered {
			for _, from := range slices.Clone(dirs) {
				for _, dir := range r.places([]string{from}, to) {
					if !slices.Contains(dirs, dir) && len(dirs) < maxValues {
						dirs = append(dirs, dir)
					}
				}
			}
		}
	}
	if len(entered) > 3 || len(dirs) >= maxValues {
		dirs = append(dirs, string(anyText))
	}
	return dirs
}

func (r *Rules) deniesFile(f shellFile, dirs []string, dots bool, effort *int) bool {
	if whollyUnknown(f.name) {
		// It could be any file. That counts where it is certainly one.
		return f.opens && slices.ContainsFunc(r.rules, func(rule rule) bool {
			return rule.paths != nil && (rule.ToolName == "Read" || f.writes)
		})
	}
	var paths, somewhere [][]step
	for _, p := range meanings(f.name, f.opens) {
		for _, abs := range r.places(dirs, p) {
			if !spend(effort, len(abs)/4+16) { // for links and steps
				return true
			}
			if strings.HasPrefix(abs, string(anyText)) && !f.opens {
				somewhere = append(somewhere, wordSteps(abs, dots))
				continue
			}
			paths = append(paths, wordSteps(abs, dots))
			if static(abs) {
				if real, err := resolve(abs); err == nil && real != abs {
					paths = append(paths, literal(real))
				}
			}
		}
	}
	return slices.ContainsFunc(r.rules, func(rule rule) bool {
		if rule.paths == nil || rule.ToolName != "Read" && !f.writes {
			return false
		}
		fits := func(p []step) bool { return rule.paths.match(r.root, r.home(), p, true, broad, effort) }
		// A name in a directory that nobody knows may be every file of a
		// directory, but not every file of a name.
		return slices.ContainsFunc(paths, fits) || !rule.paths.anchored && slices.ContainsFunc(somewhere, fits)
	})
}

// whollyUnknown reports whether nothing of a word is known.
func whollyUnknown(word string) bool {
	return word != "" && strings.Trim(word, string(anyText)+string(anyWords)) == ""
}

// places are the absolute paths that a word may mean, from each of the
// directories.
func (r *Rules) places(dirs []string, p string) []string {
	first, rest, _ := strings.Cut(p, "/")
	switch {
	case first == "~" || first == "$HOME" || first == "${HOME}":
		return []string{cleaned(r.home() + "/" + rest)}
	case first == "~+" || first == "$PWD":
		p = "./" + rest
	case account.MatchString(first): // the home of somebody, or where the shell was
		return []string{string(anyText) + cleaned("/"+rest)}
	case strings.HasPrefix(p, "/"):
		abs := cleaned(p)
		if parts := strings.SplitN(abs, "/", 5); len(parts) == 5 && (parts[1] == "proc" || parts[1] == "dev" && parts[2] == "fd") {
			return []string{abs, string(anyText) + "/" + parts[4]} // through a link of a process
		}
		return []string{abs}
	case strings.HasPrefix(p, string(anyText)), strings.HasPrefix(p, string(anyWords)):
		return []string{string(anyText) + cleaned("/" + strings.TrimLeft(p, string(anyText)+string(anyWords)))[1:], p}
	}
	var all []string
	for _, dir := range dirs {
		all = append(all, cleaned(filepath.ToSlash(dir)+"/"+p))
	}
	return all
}

var account = regexp.MustCompile(`^~[A-Za-z0-9_.+-]*$`)

// cleaned is path.Clean for a path that may have unknown parts: what goes up
// from one of them may lead anywhere.
func cleaned(p string) string {
	var names []string
	for name := range strings.SplitSeq(p, "/") {
		switch name {
		case "", ".":
		case "..":
			if n := len(names); n > 0 && static(names[n-1]) {
				names = names[:n-1]
			} else if n > 0 {
				names[n-1] = string(anyText)
			}
		default:
			names = append(names, name)
		}
	}
	if len(names) > 0 && strings.HasPrefix(names[0], string(anyText)) && !strings.HasPrefix(p, "/") {
		return strings.Join(names, "/")
	}
	return "/" + strings.Join(names, "/")
}

// meanings are the paths that a word may hold: the whole of it, the value of
// an option, what follows a colon, and what stands behind a cluster of options.
// A text with blanks that is not wholly known is a path only where a file is
// opened.
func meanings(word string, opens bool) []string {
	if word == "" || len(word) > maxPath {
		return nil
	}
	var list []string
	add := func(p string) {
		// What is not known at the end of a word is the end of a name.
		if n := len(p) - len(string(anyText)); n > 0 && isUnknown([]rune(p[n:])[0]) {
			p = p[:n] + string(anyName)
		}
		text := !opens && !static(p) && strings.ContainsAny(p, " \t\n")
		if p != "" && len(list) < maxValues && !whollyUnknown(p) && !text {
			list = append(list, p)
		}
	}
	add(word)
	if _, rest, ok := strings.Cut(word, "://"); ok {
		add(rest)
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			add(rest[i:])
		}
	} else {
		for i := range len(word) {
			if strings.IndexByte("=:,@;<>|\"'()", word[i]) >= 0 {
				add(word[i+1:])
			}
		}
		for _, piece := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=:,@;<>|\"'() \t\n", r) }) {
			if piece != word {
				add(piece)
			}
		}
	}
	if word[0] == '-' {
		for i := 2; i < len(word) && i < 12 && isLetter(word[i-1]); i++ {
			add(word[i:]) // -o/file, -uo/file
		}
	}
	return list
}

const maxPath = 4096

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
