package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// Bounds on the files that a command may name, and on the work they may cost,
// before the command is denied unread.
const (
	maxFiles  = 4096
	maxEffort = 1 << 18
)

// surroundings decide which file a word means.
type surroundings struct {
	rules *Rules
	dirs  []string // that commands may run in
	homes []string // that a tilde may stand for
	links []link
	dots  bool // a star may stand for a dot
	// anyCase reports that letters beside wildcards fit those of the other
	// case.
	anyCase bool
	blind   bool // every file may be written
	effort  *int
	// fronts holds the directories that the paths of a rule are relative to,
	// one list per rule.
	fronts [][][]step
	real   map[string]string // targets of links, as far as they were looked up
}

// link is a name that a command gives to another file.
type link struct {
	name    string
	targets []string
}

// link records the links that a command makes. It does not matter which operand
// is the link.
func (f *findings) link(words []string) {
	if base(words[0]) != "ln" && !slices.ContainsFunc(words, symbolic.MatchString) {
		return
	}
	names := operands(words)
	for i, name := range names {
		targets := slices.Delete(slices.Clone(names), i, i+1)
		if len(targets) == 0 {
			targets = names // ln -s target makes a link of that name
		}
		if len(f.links) < maxValues {
			f.links = append(f.links, link{name[strings.LastIndexByte(name, '/')+1:], targets})
		}
	}
}

var symbolic = lazily(`^(-[a-zA-Z]*s|--sy)`)

// deniesFiles reports whether one of the words of a command names a file that
// a rule for Read or Edit denies.
func (r *Rules) deniesFiles(req *permission.Request, s *script, effort *int) bool {
	if !r.hasContent("Read", "Edit") {
		return false
	}
	if s.obscured {
		return true
	}
	around := surroundings{rules: r, dirs: []string{r.dir(req)}, homes: append([]string{r.home()}, s.homes...), links: s.links, dots: s.dots, anyCase: s.anyCase, blind: s.blind, effort: effort, real: make(map[string]string)}
	for _, rule := range r.rules {
		around.fronts = append(around.fronts, rule.paths.fronts(r.root, r.home(), broad))
	}
	if r.root != around.dirs[0] {
		around.dirs = append(around.dirs, r.root)
	}
	around.enter(s.dirs)
	if s.blind {
		for _, text := range s.texted {
			s.mention(text, true)
		}
	}
	seen := make(map[shellFile]bool)
	for _, f := range s.files {
		if seen[f] {
			continue
		}
		if seen[f] = true; len(seen) > maxFiles || around.denies(f) {
			return true
		}
	}
	return *effort < 0
}

// enter adds the directories that cd leads to: from the one that the command
// starts in and from the project.
func (a *surroundings) enter(entered []string) {
	for range min(len(entered), 3) { // as often as it is likely to matter
		for _, to := range entered {
			if *a.effort < 0 {
				return // the command is denied
			}
			for _, dir := range a.places(to) {
				if !slices.Contains(a.dirs, dir) && len(a.dirs) < maxValues {
					a.dirs = append(a.dirs, dir)
				}
			}
		}
	}
	if len(entered) > 3 || len(a.dirs) >= maxValues {
		a.dirs = append(a.dirs, string(anyText))
	}
}

// denies reports whether a rule denies a file.
func (a *surroundings) denies(f shellFile) bool {
	f.writes = f.writes || a.blind
	if whollyUnknown(f.name) {
		// It could be any file. That counts where it is certainly opened.
		return f.opens && slices.ContainsFunc(a.rules.rules, func(rule rule) bool {
			return rule.paths != nil && (rule.ToolName == "Read" && !f.makes || f.writes && rule.ToolName != "Read")
		})
	}
	if a.anyCase && strings.ContainsFunc(f.name, func(r rune) bool { return isUnknown(r) }) {
		f.name = strings.Map(func(r rune) rune {
			if r < 0x80 && isLetter(byte(r)) {
				return anyChar
			}
			return r
		}, f.name)
	}
	var paths, somewhere [][]step
	for _, p := range meanings(f.name, f.opens) {
		for _, abs := range a.places(p) {
			if !spend(a.effort, len(abs)+costOfPath) {
				return true
			}
			if strings.HasPrefix(abs, string(anyText)) && !f.opens {
				somewhere = append(somewhere, wordSteps(abs, a.dots))
				continue
			}
			paths = append(paths, wordSteps(abs, a.dots))
		}
	}
	for i, rule := range a.rules.rules {
		if rule.paths == nil || rule.ToolName != "Read" && !f.writes || rule.ToolName == "Read" && f.makes && !static(f.name) {
			continue
		}
		fits := func(p []step) bool { return rule.paths.matchFrom(a.fronts[i], p, true, broad, a.effort) }
		if slices.ContainsFunc(paths, fits) {
			return true
		}
		// A name in an unknown directory may be every file of a directory, but
		// not every file of a name.
		named := func(p []step) bool {
			return slices.ContainsFunc(a.fronts[i], func(front []step) bool { return rule.paths.fits(front, rule.paths.named, p, broad, a.effort) })
		}
		if !rule.paths.anchored && slices.ContainsFunc(somewhere, named) {
			return true
		}
	}
	return false
}

// The cost of looking up a path, and one name of a directory, in the measure of
// [overlap]: a system call takes as long as many steps.
const (
	costOfPath = 16
	costOfName = 64
)

// resolved returns the target of the links in a path.
func (a *surroundings) resolved(path string) (string, bool) {
	if real, ok := a.real[path]; ok {
		return real, real != ""
	}
	if !spend(a.effort, costOfPath+costOfName*strings.Count(path, "/")) {
		return "", false
	}
	real, err := resolve(path)
	if err != nil {
		real = ""
	}
	a.real[path] = filepath.ToSlash(real)
	return a.real[path], err == nil
}

// whollyUnknown reports whether nothing of a word is known.
func whollyUnknown(word string) bool {
	return word != "" && strings.Trim(word, string(anyText)+string(anyWords)) == ""
}

// places returns the absolute paths that a word may mean, in all readings: as
// text, by links that a command makes, and by existing links.
func (a *surroundings) places(p string) []string {
	var all []string
	add := func(abs string) {
		if !slices.Contains(all, abs) {
			all = append(all, abs)
		}
	}
	for _, raw := range a.linked(a.absolute(p), 3) {
		if !spend(a.effort, len(raw)+len(all)+costOfPath) {
			return all // the command is denied
		}
		abs := cleaned(raw)
		add(abs)
		if strings.Contains(raw, "/proc/") {
			for _, led := range a.processes(raw) {
				add(led)
			}
		}
		if !filepath.IsAbs(raw) {
			continue
		}
		found := []string{raw}
		if !static(raw) {
			found = a.onDisk(raw)
		}
		for _, path := range found {
			if real, ok := a.resolved(path); ok {
				add(real)
			}
		}
	}
	return all
}

// absolute returns the absolute paths that a word may mean from each of the
// directories, with its dots kept.
func (a *surroundings) absolute(p string) []string {
	first, rest, _ := strings.Cut(p, "/")
	bases := a.dirs
	switch {
	case first == "~" || first == "$HOME" || first == "${HOME}":
		bases, p = nil, rest
		for _, home := range a.homes {
			if home != "~" && !strings.HasPrefix(home, "~/") {
				bases = append(bases, home)
			}
		}
	case first == "~+" || first == "$PWD":
		p = rest
	case visited.MatchString(first): // a directory that the shell was in before
		bases, p = append(slices.Clone(bases), string(anyText)), rest
	case account.MatchString(first): // the home of another user
		return []string{string(anyText) + "/" + rest}
	case strings.HasPrefix(p, "/"):
		return []string{devices.compile().ReplaceAllString(p, "/proc/self/fd")}
	case strings.HasPrefix(p, string(anyText)), strings.HasPrefix(p, string(anyWords)):
		return []string{string(anyText) + cleaned("/" + strings.TrimLeft(p, string(anyText)+string(anyWords)))[1:], p}
	}
	if !spend(a.effort, len(bases)) {
		return nil // the command is denied
	}
	all := make([]string, 0, len(bases))
	for _, dir := range bases {
		all = append(all, filepath.ToSlash(dir)+"/"+p)
	}
	return all
}

var (
	account = lazily(`^~[A-Za-z0-9_.+-]*$`)
	visited = lazily(`^~([+-][0-9]*|[0-9]+)$`)
	devices = lazily(`^/+dev/+(\./+)*fd`)
)

// linked adds the readings of paths that lead through a link made by a command.
func (a *surroundings) linked(paths []string, depth int) []string {
	if len(a.links) == 0 || depth == 0 {
		return paths
	}
	var more []string
	for _, path := range paths {
		names := strings.Split(path, "/")
		for i, name := range names {
			for _, l := range a.links {
				if name == "" || l.name != name || !spend(a.effort, 64) || len(more) > maxValues {
					continue
				}
				rest := strings.Join(names[i+1:], "/")
				for _, target := range l.targets {
					to := target + "/" + rest
					more = append(more, a.absolute(to)...)
					if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~") {
						more = append(more, strings.Join(names[:i], "/")+"/"+to)
					}
				}
			}
		}
	}
	if len(more) == 0 {
		return paths
	}
	return slices.Concat(paths, a.linked(more, depth-1))
}

// process is a link of a process: to the directory it runs in, to the root, or
// to a file that it has opened.
var process = lazily(`^/proc/[^/]+(?:/task/[^/]+)?/(?:([^/]+)|fd/[^/]+)$`)

// processes returns the places that a path through a link of a process leads
// to.
func (a *surroundings) processes(raw string) (all []string) {
	names := strings.Split(raw, "/")
	for i, name := range names {
		m := process.FindStringSubmatch(cleaned(strings.Join(names[:i+1], "/")))
		if m == nil || name == ".." || m[1] == "fd" {
			continue
		}
		below := strings.Join(names[i+1:], "/")
		switch {
		case m[1] == "" && below == "": // a file that is already open
		case m[1] == "root":
			all = append(all, cleaned("/"+below))
		case m[1] == "" || m[1] == "cwd" || !static(m[1]):
			all = append(all, cleaned(string(anyText)+"/"+below))
			for _, dir := range a.dirs {
				all = append(all, cleaned(filepath.ToSlash(dir)+"/"+below))
			}
		}
	}
	return all
}

// maxListed is how many files are looked at for one word with wildcards.
const maxListed = 1024

// onDisk returns the existing files that fit a path with wildcards.
func (a *surroundings) onDisk(path string) []string {
	if strings.ContainsFunc(path, isSpreadOrText) {
		return nil
	}
	list, looked := []string{"/"}, 0
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		var next []string
		for _, dir := range list {
			if static(name) {
				next = append(next, strings.TrimSuffix(dir, "/")+"/"+name)
				continue
			}
			if !spend(a.effort, 2*costOfName) {
				return nil
			}
			entries, _ := os.ReadDir(dir)
			for _, entry := range entries {
				if looked++; looked > maxListed || !spend(a.effort, costOfPath) {
					return nil
				}
				if overlap(literal(entry.Name()), wordSteps(name, a.dots), a.effort) {
					next = append(next, strings.TrimSuffix(dir, "/")+"/"+entry.Name())
				}
			}
		}
		list = next
	}
	return list
}

// cleaned is path.Clean for a path that may have unknown parts: ".." after one
// of them may lead anywhere.
func cleaned(p string) string {
	var names []string
	lost := !strings.HasPrefix(p, "/")
	for name := range strings.SplitSeq(p, "/") {
		switch name {
		case "", ".":
		case "..":
			if n := len(names); n > 0 && strings.ContainsFunc(names[n-1], isSpreadOrText) {
				names, lost = []string{string(anyText)}, true
			} else if n > 0 {
				names = names[:n-1]
			}
		default:
			names = append(names, name)
		}
	}
	if len(names) > 0 && strings.HasPrefix(names[0], string(anyText)) && lost {
		return strings.Join(names, "/")
	}
	return "/" + strings.Join(names, "/")
}
