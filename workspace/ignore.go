package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ignoreList says which paths are left out, in the manner of a .gitignore file: a
// pattern without a slash fits a name at any depth, one with a slash counts from the
// top, one that ends in a slash fits only folders, ** stands for any number of folders,
// and ! takes back what an earlier pattern has left out. As with git, nothing below a
// folder that is left out can be taken back.
type ignoreList []ignorePattern

type ignorePattern struct {
	parts  []string
	folder bool // fits only folders
	keep   bool // begins with !
}

func parseIgnore(patterns []string) (ignoreList, error) {
	var list ignoreList
	for _, text := range patterns {
		var p ignorePattern
		rest, keep := strings.CutPrefix(text, "!")
		rest, p.folder = strings.CutSuffix(rest, "/")
		p.keep = keep
		anchored := strings.Contains(rest, "/")
		p.parts = strings.Split(strings.TrimPrefix(rest, "/"), "/")
		if !anchored {
			p.parts = slices.Insert(p.parts, 0, "**")
		}
		for _, part := range p.parts {
			if _, err := path.Match(part, ""); err != nil || part == "" || part == "." || part == ".." {
				return nil, fmt.Errorf("claude: workspace: the pattern %q cannot be read", text)
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// ignores reports whether a path, with slashes, is left out. Folders above it
// are not looked at.
func (l ignoreList) ignores(name string, folder bool) bool {
	ignored := false
	for _, p := range l {
		if (!p.folder || folder) && ignored == p.keep && fits(p.parts, strings.Split(name, "/")) {
			ignored = !p.keep
		}
	}
	return ignored
}

// fits compares a pattern with a path, part by part.
func fits(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(name) > 0
			}
			for i := range len(name) + 1 {
				if fits(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}
