package policy

import (
	"path/filepath"
	"slices"
	"strings"
)

// protected reports whether the CLI asks before it writes to a file, whatever
// its rules allow: files that decide what other programs run.
func protected(p string) bool {
	names := strings.Split(strings.ToLower(filepath.ToSlash(p)), "/")
	for i, name := range names {
		switch {
		case slices.Contains(sensitive[:], name):
			return true
		case name == "git" && i > 0 && names[i-1] == ".config":
			return true
		}
	}
	return false
}

// sensitive was measured on CLI 2.1.325, name by name.
var sensitive = [...]string{
	".git", ".gitconfig", ".gitmodules", ".claude", ".claude.json", ".mcp.json",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".envrc", ".ripgreprc",
	".vscode", ".idea", ".husky", ".devcontainer", "lefthook.yml", ".pre-commit-config.yaml",
	".npmrc", ".yarn", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml",
	".cargo", ".mvn", ".bazelrc", ".bazeliskrc",
}

// disguised reports whether Windows would read a name in the path as another
// one: short names, names with a dot or a blank at their end, and those of
// devices. The CLI asks before it writes to them.
func disguised(p string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(filepath.ToSlash(p)), "/"), disguise.MatchString)
}

var disguise = lazily(`~[0-9]|[^.][. ]+$|^\.{3,}$|\.(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
