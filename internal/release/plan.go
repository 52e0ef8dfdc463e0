package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// modulePath is the path of the module in the root of the repository.
const modulePath = "github.com/claude-agent-go/claude"

const (
	versionFile   = "version.go"
	changelogFile = "CHANGELOG.md"
)

var (
	// semver has no build metadata: the go command does not accept it in a tag.
	semver      = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	versionForm = regexp.MustCompile(`(?m)^const Version = "(.*)"$`)
	requireForm = regexp.MustCompile(`(?m)^(\s*(?:require )?` + regexp.QuoteMeta(modulePath) + `(?:/\S+)? )v\S+`)
	partForm    = regexp.MustCompile(`(?m)^## \[(.+?)\](.*)\n`)
	dateForm    = regexp.MustCompile(`^ - \d{4}-\d{2}-\d{2}$`)
)

// plan lists what a release changes, and the problems that stop it.
type plan struct {
	edits    map[string]string // the new texts of files, by name
	tags     []string          // the root module's comes first
	problems []string
}

// prepare plans the release of a version from the tree in fsys, in a repository
// that has the given tags.
func prepare(fsys fs.FS, version string, today time.Time, tags []string) (*plan, error) {
	p := &plan{edits: make(map[string]string)}
	form := semver.FindStringSubmatch(version)
	switch {
	case form == nil:
		return nil, fmt.Errorf("%q is not a version such as 1.2.3", version)
	case form[1] != "0" && form[1] != "1":
		return nil, fmt.Errorf("from version 2 on, the module path must end in /v%s", form[1])
	}
	mods, err := modules(fsys)
	if err != nil {
		return nil, err
	}
	for _, dir := range mods {
		tag := "v" + version
		if dir != "." {
			tag = dir + "/" + tag
		}
		if slices.Contains(tags, tag) {
			p.problems = append(p.problems, "the tag "+tag+" exists: a version is released once")
		}
		p.tags = append(p.tags, tag)
	}
	return p, errors.Join(p.setVersion(fsys, version), p.setRequirements(fsys, version), p.setChangelog(fsys, version, today))
}

// modules lists the folders of the modules that are released, the root first. That
// of the tools is for work on this repository.
func modules(fsys fs.FS) ([]string, error) {
	mods := []string{"."}
	err := moduleFiles(fsys, func(name string) error {
		if dir := path.Dir(name); path.Base(name) == "go.mod" && dir != "." && dir != "tools" {
			mods = append(mods, dir)
		}
		return nil
	})
	return mods, err
}

// moduleFiles calls fn with every go.mod, and with files of tests in its place.
func moduleFiles(fsys fs.FS, fn func(name string) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && d.Name()[0] == '.':
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ".mod":
			return fn(name)
		}
		return nil
	})
}

// edit sets the text of a file, if that changes it.
func (p *plan) edit(name, was, is string) {
	if was != is {
		p.edits[name] = is
	}
}

// setVersion sets the version that the module sends to the CLI.
func (p *plan) setVersion(fsys fs.FS, version string) error {
	text, err := fs.ReadFile(fsys, versionFile)
	if err != nil {
		return err
	}
	if !versionForm.Match(text) {
		return fmt.Errorf("%s has no constant Version", versionFile)
	}
	p.edit(versionFile, string(text), versionForm.ReplaceAllString(string(text), `const Version = "`+version+`"`))
	return nil
}

// setRequirements sets what modules require of each other.
func (p *plan) setRequirements(fsys fs.FS, version string) error {
	return moduleFiles(fsys, func(name string) error {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		p.edit(name, string(text), requireForm.ReplaceAllString(string(text), "${1}v"+version))
		return nil
	})
}

// setChangelog makes the entries that are not released yet those of the version. If
// the version has a part of its own already, it was written by hand and must be whole
// but for its date.
func (p *plan) setChangelog(fsys fs.FS, version string, today time.Time) error {
	data, err := fs.ReadFile(fsys, changelogFile)
	if err != nil {
		return err
	}
	text := string(data)
	unreleased, entries, _, ok := part(text, "Unreleased")
	if !ok {
		p.problems = append(p.problems, changelogFile+" has no part [Unreleased]")
		return nil
	}
	heading, own, rest, written := part(text, version)
	problem := func(format string, args ...any) {
		p.problems = append(p.problems, changelogFile+": "+fmt.Sprintf(format, args...))
	}
	day := today.Format(time.DateOnly)
	if !written {
		if entries == "" {
			problem("there are no entries for %s", version)
		}
		p.edit(changelogFile, text, strings.Replace(text, unreleased, fmt.Sprintf("%s\n## [%s] - %s\n", unreleased, version, day), 1))
		return nil
	}
	if own == "" {
		problem("there are no entries for %s", version)
	}
	switch {
	case rest == "":
		p.edit(changelogFile, text, strings.Replace(text, heading, fmt.Sprintf("## [%s] - %s\n", version, day), 1))
	case !dateForm.MatchString(rest):
		problem("the part [%s] has no date: write ## [%s] - %s", version, version, day)
	}
	if entries != "" {
		problem("there are entries under [Unreleased] beside the part [%s]: which version has them?", version)
	}
	return nil
}

// part finds the part of a version in a changelog: its heading, what follows the
// version there, and the entries below it.
func part(text, version string) (heading, entries, rest string, ok bool) {
	all := partForm.FindAllStringSubmatchIndex(text, -1)
	for i, at := range all {
		if text[at[2]:at[3]] != version {
			continue
		}
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		return text[at[0]:at[1]], strings.TrimSpace(text[at[1]:end]), text[at[4]:at[5]], true
	}
	return "", "", "", false
}
