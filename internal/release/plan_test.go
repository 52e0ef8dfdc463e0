package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const top = "../.."

// tree is a small repository, with some files in place of its own.
func tree(files map[string]string) fstest.MapFS {
	all := map[string]string{
		"go.mod":            "module " + modulePath + "\n",
		"version.go":        "package claude\n\nconst Version = \"0.1.0\"\n",
		"CHANGELOG.md":      "# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.1.0] - 2026-01-02\n\n- First.\n",
		"a/go.mod":          "module " + modulePath + "/a\n\nrequire " + modulePath + " v0.1.0\n\nreplace " + modulePath + " => ..\n",
		"b/c/go.mod":        "module " + modulePath + "/b/c\n\nrequire (\n\texample.com/claude v0.1.0\n\t" + modulePath + " v0.1.0\n\t" + modulePath + "/a v0.1.0 // indirect\n)\n",
		"b/testdata/of.mod": "require " + modulePath + " v0.1.0\n",
		"tools/go.mod":      "module " + modulePath + "/tools\n",
		".cache/go.mod":     "require " + modulePath + " v0.1.0\n",
	}
	maps.Copy(all, files)
	fsys := make(fstest.MapFS)
	for name, text := range all {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

var today = time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC)

func TestPrepare(t *testing.T) {
	p, err := prepare(tree(nil), "0.2.0", today, []string{"v0.1.0", "a/v0.1.0"})
	if err != nil || p.problems != nil {
		t.Fatal(err, p.problems)
	}
	if want := []string{"v0.2.0", "a/v0.2.0", "b/c/v0.2.0"}; !slices.Equal(p.tags, want) {
		t.Errorf("tags %q, want %q", p.tags, want)
	}
	want := map[string]string{
		"version.go":        "package claude\n\nconst Version = \"0.2.0\"\n",
		"CHANGELOG.md":      "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-17\n\n- New.\n\n## [0.1.0] - 2026-01-02\n\n- First.\n",
		"a/go.mod":          "module " + modulePath + "/a\n\nrequire " + modulePath + " v0.2.0\n\nreplace " + modulePath + " => ..\n",
		"b/c/go.mod":        "module " + modulePath + "/b/c\n\nrequire (\n\texample.com/claude v0.1.0\n\t" + modulePath + " v0.2.0\n\t" + modulePath + "/a v0.2.0 // indirect\n)\n",
		"b/testdata/of.mod": "require " + modulePath + " v0.2.0\n",
	}
	if !maps.Equal(p.edits, want) {
		t.Errorf("edits %q\nwant %q", p.edits, want)
	}
	if next := p.next("0.2.0", false); !strings.Contains(next, "git push --atomic origin HEAD v0.2.0 a/v0.2.0 b/c/v0.2.0\n") || !strings.Contains(next, "add -write") {
		t.Error(next)
	}
}

// A part that was written by hand gets its date.
func TestPrepareDatesAPart(t *testing.T) {
	p, err := prepare(tree(map[string]string{"CHANGELOG.md": "## [Unreleased]\n\n## [0.1.0]\n\n- First.\n"}), "0.1.0", today, nil)
	if want := "## [Unreleased]\n\n## [0.1.0] - 2026-11-17\n\n- First.\n"; err != nil || p.problems != nil || p.edits["CHANGELOG.md"] != want {
		t.Errorf("%q, %q, %v", p.edits["CHANGELOG.md"], p.problems, err)
	}
}

func TestPrepareProblems(t *testing.T) {
	for name, c := range map[string]struct {
		version   string
		tags      []string
		changelog string
		want      []string
	}{
		"released before": {version: "0.2.0", tags: []string{"a/v0.2.0"}, want: []string{"the tag a/v0.2.0 exists"}},
		"no entries":      {version: "0.2.0", changelog: "## [Unreleased]\n\n## [0.1.0]\n\n- First.\n", want: []string{"no entries for 0.2.0"}},
		"no date":         {version: "0.1.0", changelog: "## [Unreleased]\n\n## [0.1.0] soon\n\n- First.\n", want: []string{"no date: write ## [0.1.0] - 2026-11-17"}},
		"empty part":      {version: "0.1.0", changelog: "## [Unreleased]\n\n## [0.1.0] - 2026-11-17\n", want: []string{"no entries for 0.1.0"}},
		"entries in both": {version: "0.1.0", want: []string{"entries under [Unreleased]"}},
		"no part":         {version: "0.2.0", changelog: "# Changelog\n", want: []string{"no part [Unreleased]"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := make(map[string]string)
			if c.changelog != "" {
				files["CHANGELOG.md"] = c.changelog
			}
			p, err := prepare(tree(files), c.version, today, c.tags)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(p.problems, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("problems %q, want %q", p.problems, want)
				}
			}
			if len(p.problems) != len(c.want) {
				t.Errorf("problems %q, want %d", p.problems, len(c.want))
			}
		})
	}
	for _, version := range []string{"", "v0.2.0", "0.2", "00.2.0", "0.2.0+meta", "2.0.0"} {
		if _, err := prepare(tree(nil), version, today, nil); err == nil {
			t.Errorf("version %q was accepted", version)
		}
	}
}

// The modules of the repository agree on their version: nothing but the changelog
// is left to do for its release.
func TestVersionsAgree(t *testing.T) {
	fsys := os.DirFS(top)
	p, err := prepare(fsys, current(t), today, nil)
	if err != nil {
		t.Fatal(err)
	}
	delete(p.edits, changelogFile)
	if len(p.edits) > 0 {
		t.Errorf("these files have another version than %s: %q", versionFile, slices.Sorted(maps.Keys(p.edits)))
	}
	if len(p.tags) < 6 {
		t.Errorf("only %q are released", p.tags)
	}
}

// current is the version of the tree.
func current(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(top + "/" + versionFile)
	if err != nil {
		t.Fatal(err)
	}
	form := versionForm.FindSubmatch(text)
	if form == nil {
		t.Fatalf("%s has no version", versionFile)
	}
	return string(form[1])
}

// The version of the tree can be released as it is, until it has been: then its part of
// the changelog has a date, and what comes next is collected above it.
func TestTreeIsReady(t *testing.T) {
	version := current(t)
	text, err := os.ReadFile(top + "/" + changelogFile)
	if err != nil {
		t.Fatal(err)
	}
	_, _, date, ok := part(string(text), version)
	if !ok {
		t.Fatalf("%s has no part [%s]", changelogFile, version)
	}
	if dateForm.MatchString(date) {
		return
	}
	p, err := prepare(os.DirFS(top), version, today, nil)
	if err != nil || len(p.problems) > 0 {
		t.Errorf("%v, %v", p.problems, err)
	}
}
