package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Grep prints what is in files that the call does not name. The CLI hands its globs to
// ripgrep: they are separated by blanks, and by commas unless there are braces. A glob
// without a slash fits in every folder, one with a slash from the folder that is searched.
// The last one that fits decides; if one selects, the others are left out. Hidden files
// are searched, and links are not followed (2.1.325). globs.go has the globs that count.

// grep is a call of that tool.
type grep struct {
	roots    []string // the folder that it searches, as it is named and where links lead
	selects  [][]step // of which a file must fit one, below the folder; none: all files
	excludes []string // after the last glob that selects, as [exclusion] returns them
}

// readGrep reads a call; nil for other tools.
func (r *Rules) readGrep(req *permission.Request) (*grep, error) {
	if req.ToolName != "Grep" {
		return nil, nil
	}
	p, err := filePath(req.ToolName).path(req)
	if err != nil {
		return nil, err
	}
	glob, err := (&fileTool{member: "glob"}).path(req)
	if err != nil {
		return nil, err
	}
	g := &grep{}
	abs := r.guessed(r.dir(req), p)
	g.roots = []string{abs}
	if real, err := resolve(abs); err == nil && real != abs {
		g.roots = append(g.roots, real)
	}
	for _, one := range splitGlobs(glob) {
		if exclude, ok := strings.CutPrefix(one, "!"); ok {
			g.excludes = append(g.excludes, excluded(exclude)...)
			continue
		}
		g.selects, g.excludes = append(g.selects, selected(one)...), nil
	}
	return g, nil
}

// below returns steps that were selected, as those of paths below a folder.
func below(root string, steps []step) []step {
	return append(literal(strings.TrimSuffix(filepath.ToSlash(root), "/")+"/"), steps...)
}

// prints returns the rules for reading whose files the call may print, by its globs.
func (r *Rules) prints(g *grep) (open []rule) {
	selects := g.selects
	if len(selects) == 0 {
		selects = [][]step{{{kind: stepText}}}
	}
	for _, rule := range r.rules {
		if rule.ToolName != "Read" || rule.paths == nil {
			continue
		}
		meets := slices.ContainsFunc(g.roots, func(root string) bool {
			return slices.ContainsFunc(selects, func(steps []step) bool {
				return rule.paths.match(r.root, r.home(), below(root, steps), false, broad, nil)
			})
		})
		if meets && !r.leavesOut(g, rule) {
			open = append(open, rule)
		}
	}
	return open
}

// leavesOut reports whether the call leaves out all files of a rule.
func (r *Rules) leavesOut(g *grep, rule rule) bool {
	needed, ok := r.exclusions(rule, g.roots)
	return ok && !slices.ContainsFunc(needed, func(glob string) bool { return !slices.Contains(g.excludes, glob) })
}

// exclusions returns the globs that leave out the files of a rule when one of the folders
// is searched. It is not ok if no globs are known to.
func (r *Rules) exclusions(rule rule, roots []string) (globs []string, ok bool) {
	paths, ok := r.exclusivePaths(rule, roots)
	for _, path := range paths {
		glob, plain := exclusion(path, sameInAnyCase)
		ok = ok && plain
		globs = append(globs, glob)
	}
	return globs, ok
}

// exclusivePaths returns paths with stars that fit all files of a rule below the folders,
// in the form that [exclusion] takes.
func (r *Rules) exclusivePaths(rule rule, roots []string) (globs []string, ok bool) {
	content := rule.RuleContent
	if strings.HasSuffix(content, "/") {
		content += "**"
	}
	name, anywhere := strings.CutPrefix(content, "//**/")
	if !anywhere {
		name, anywhere = strings.CutPrefix(content, "**/")
	}
	if !rule.paths.anchored {
		name, anywhere = content, true // in any folder of the project, so leave it out everywhere
	}
	if anywhere {
		parts := strings.Split(name, "/")
		if slices.Contains(parts[:len(parts)-1], "**") {
			return nil, false
		}
		globs = []string{"**/" + name}
		// A glob never fits the folder that is searched: of a/b/**, a search in a has b/**.
		for _, root := range roots {
			for k := 1; k < len(parts); k++ {
				if tailFits(root, parts[:k]) {
					globs = append(globs, "/"+strings.Join(parts[k:], "/"))
				}
			}
		}
		return globs, true
	}
	bases := []string{r.root}
	switch {
	case rule.paths.from == "/":
		bases = []string{"/"}
	case rule.paths.from == "~":
		bases = []string{r.home()}
	case rule.paths.slash:
		bases = append(bases, "/")
	}
	for _, base := range slices.Clone(bases) {
		if real, err := resolve(base); err == nil && real != base {
			bases = append(bases, real)
		}
	}
	name = withoutBase(content)
	for _, base := range bases {
		for _, root := range roots {
			front := func(dir string) []step { return literal(strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/") }
			if !rule.paths.fits(front(base), rule.paths.whole, append(front(root), step{kind: stepText}), broad, nil) {
				continue // the folder has none of its files
			}
			rel, below := within(root, base)
			if !below || strings.Contains(rel, "*") {
				return nil, false
			}
			globs = append(globs, "/"+strings.TrimPrefix(filepath.ToSlash(filepath.Join(rel, name)), "/"))
		}
	}
	return globs, len(globs) > 0
}

// tailFits reports whether the last names of a folder fit patterns.
func tailFits(folder string, patterns []string) bool {
	names := strings.Split(strings.Trim(filepath.ToSlash(folder), "/"), "/")
	if len(names) < len(patterns) {
		return false
	}
	for i, pattern := range patterns {
		steps, err := translate(pattern)
		if err == nil && !overlap(lower(steps), lower(literal(names[len(names)-len(patterns)+i])), nil) {
			return false
		}
	}
	return true
}

// greps reports whether a Grep may print a file that a rule is about, with advice for
// the model if so. Where globs leave it open and the folder is on this machine, it looks
// for such files.
func (r *Rules) greps(ctx context.Context, req *permission.Request) (advice string, prints bool, err error) {
	g, err := r.readGrep(req)
	if g == nil || err != nil {
		return "", false, err
	}
	open := r.prints(g)
	if len(open) == 0 || !r.holds(ctx, g, open) {
		return "", false, nil
	}
	globs, ok := r.allExclusions(open, g)
	if !ok {
		return "The search may print such a file: search another folder, or name a glob that fits none.", true, nil
	}
	return fmt.Sprintf("The search may print such a file. Add this to its glob: %s", globs), true, nil
}

// allExclusions returns the globs that leave out the files of the rules, as one word.
func (r *Rules) allExclusions(rules []rule, g *grep) (word string, ok bool) {
	var globs []string
	for _, rule := range rules {
		some, ok := r.exclusions(rule, g.roots)
		if !ok {
			return "", false
		}
		for _, glob := range some {
			if glob = "!" + glob; !slices.Contains(globs, glob) {
				globs = append(globs, glob)
			}
		}
	}
	return strings.Join(globs, ","), true
}

// Narrow returns the input of a Grep with globs added that leave out the files which the
// rules for Read are about. It is nil if the call needs none, is one of another tool, or no
// globs can leave them out. A hook can thus narrow searches, which [Rules.Deny] would
// otherwise deny where such files are:
//
//	hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
//		input, err := rules.Narrow(ctx, in.Request())
//		if input == nil || err != nil {
//			return nil, err
//		}
//		return hook.RewriteInput(input), nil
//	})
//
// It may be called from several goroutines at once.
func (r *Rules) Narrow(ctx context.Context, req *permission.Request) (json.RawMessage, error) {
	if r.root == "" {
		return nil, errors.New("policy: rules that were not parsed")
	}
	r = r.of(ctx)
	g, err := r.readGrep(req)
	if g == nil || err != nil {
		return nil, err
	}
	open := r.prints(g)
	globs, ok := r.allExclusions(open, g)
	if len(open) == 0 || !ok {
		return nil, nil
	}
	var input map[string]json.RawMessage
	if err := decode(req, &input); err != nil {
		return nil, err
	}
	var glob string
	if text, ok := input["glob"]; ok {
		if err := jsonx.Unmarshal(text, &glob); err != nil {
			return nil, fmt.Errorf("policy: input of %s: %w", req.ToolName, err)
		}
	}
	text, err := json.Marshal(strings.TrimSpace(glob + " " + globs))
	if err != nil {
		return nil, err
	}
	input["glob"] = text
	return json.Marshal(input)
}

// maxHeld is how many names a look into a folder reads at most.
const maxHeld = 200_000

// holds reports whether the folder of a call has a file that one of the rules is about, and
// that its globs select. In doubt it does: if the folder is not here, cannot be read or
// has too many files.
func (r *Rules) holds(ctx context.Context, g *grep, rules []rule) bool {
	look := holding{r: r, g: g, rules: rules}
	for _, rule := range rules {
		look.fronts = append(look.fronts, rule.paths.fronts(r.root, r.home(), broad))
		look.last = append(look.last, newNameTest(rule.RuleContent))
	}
	for _, root := range g.roots {
		for _, steps := range g.selects {
			look.selects = append(look.selects, below(root, steps))
		}
	}
	info, err := os.Stat(g.roots[0])
	if err != nil || !info.IsDir() {
		return err != nil // the rules have judged a single file
	}
	look.all = look.covered()
	top := g.roots[len(g.roots)-1]
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if look.names++; err != nil || look.names > maxHeld || ctx.Err() != nil {
			return errHeld
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return errHeld
		}
		if rel != "." && d.Type()&fs.ModeSymlink == 0 && look.at(rel, d.IsDir()) {
			return errHeld
		}
		return nil
	})
	return err != nil
}

var errHeld = errors.New("it is there, or may be")

// holding is a look into a folder.
type holding struct {
	r       *Rules
	g       *grep
	rules   []rule
	fronts  [][][]step // of each rule
	last    []nameTest // of each rule
	selects [][]step
	all     bool   // all files are looked for
	closed  string // a folder whose files are all looked for, with a slash; "" if none is known
	names   int
}

// at reports whether a path below the folder is a file that is looked for. It must be
// called in the order of a walk.
func (h *holding) at(rel string, folder bool) bool {
	if !h.all && (h.closed == "" || !strings.HasPrefix(rel, h.closed)) {
		if !h.fits(rel, folder) {
			return false
		}
		if h.closed = ""; folder {
			h.closed = rel + string(filepath.Separator)
		}
	}
	if folder || len(h.selects) == 0 {
		return !folder
	}
	return slices.ContainsFunc(h.g.roots, func(root string) bool {
		abs := literal(filepath.ToSlash(filepath.Join(root, rel)))
		return slices.ContainsFunc(h.selects, func(s []step) bool { return overlap(s, abs, nil) })
	})
}

// fits reports whether a rule is about a file, or about all files of a folder.
func (h *holding) fits(rel string, folder bool) bool {
	name := strings.ToLower(filepath.Base(rel))
	steps := literal(name)
	for i := range h.rules {
		if !h.last[i].passes(name, steps) {
			continue
		}
		for _, root := range h.g.roots {
			if h.about(i, filepath.Join(root, rel), folder) {
				return true
			}
		}
	}
	return false
}

// covered reports whether a rule is about all files of the folder that is searched.
func (h *holding) covered() bool {
	return slices.ContainsFunc(h.g.roots, func(root string) bool {
		for i := range h.rules {
			if h.about(i, root, true) {
				return true
			}
		}
		return false
	})
}

// about reports whether rule i is about a file, or about all files of a folder. The
// pattern of a rule for folders alone needs a slash behind their names.
func (h *holding) about(i int, abs string, folder bool) bool {
	paths, text := h.rules[i].paths, filepath.ToSlash(abs)
	return paths.matchFrom(h.fronts[i], literal(text), folder, broad, nil) ||
		folder && paths.matchFrom(h.fronts[i], literal(strings.TrimSuffix(text, "/")+"/"), false, broad, nil)
}

// nameTest is the test that the last name of a path must pass, whatever its case, so that the
// pattern of a rule is about that file or folder. It is quick, because nearly all names
// fail it.
type nameTest struct {
	suffix string // of a pattern like *.pem
	steps  []step // nil: every name may pass
}

func newNameTest(content string) nameTest {
	content = strings.TrimSuffix(strings.TrimSuffix(withoutBase(content), "/**"), "/")
	name := content[strings.LastIndexByte(content, '/')+1:]
	steps, err := translate(name)
	if name == "" || err != nil || strings.Contains(name, "**") {
		return nameTest{}
	}
	test := nameTest{steps: lower(steps)}
	if suffix, ok := strings.CutPrefix(name, "*"); ok && !strings.ContainsAny(suffix, `*?[\`) {
		test.suffix = strings.ToLower(suffix)
	}
	return test
}

// passes takes a name in lower case, and its steps.
func (t nameTest) passes(name string, steps []step) bool {
	if t.steps == nil {
		return true
	}
	return strings.HasSuffix(name, t.suffix) && overlap(t.steps, steps, nil)
}
