package policy_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

const secretText = "SECRET7f3a"

// projectFiles returns the contents of a spelling's directory. A name that ends
// with a slash is a directory.
func projectFiles() [][2]string {
	return [][2]string{
		{"repo/.env", secretText + "\n"}, {"repo/secrets/key", secretText + "\n"}, {"home/.ssh/id", secretText + "\n"},
		{"repo/infra/keep", "keep\n"}, {"repo/infra/empty/", ""}, {"out/keep", "keep\n"}, {"out/empty/", ""},
		{"repo/notes.txt", "x\n"}, {"repo/sub/in", "y\n"}, {"repo/sub/deep/", ""},
	}
}

// projectLinks lead to the files under other names.
func projectLinks() [][2]string {
	return [][2]string{
		{"repo/up", ".."}, {"repo/rootlink", "/"}, {"repo/sub/back", ".."},
		{"repo/linkto-.env", ".env"}, {"repo/linkto-key", "secrets/key"}, {"repo/linkto-id", "../home/.ssh/id"}, {"repo/linkto-keep", "infra/keep"},
		{"repo/dirof-.env", "."}, {"repo/dirof-key", "secrets"}, {"repo/dirof-id", "../home/.ssh"}, {"repo/dirof-keep", "infra"},
	}
}

// prepareProject makes the directory of a spelling.
func prepareProject(dir string) error {
	for _, f := range projectFiles() {
		path := filepath.Join(dir, f[0])
		if strings.HasSuffix(f[0], "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o644); err != nil {
			return err
		}
	}
	for _, l := range projectLinks() {
		if err := os.Symlink(l[1], filepath.Join(dir, l[0])); err != nil {
			return err
		}
	}
	return nil
}

// reached records the effects of a spelling.
type reached struct{ read, infra, out bool }

func (r reached) target(g target) bool {
	switch {
	case !g.writes:
		return r.read
	case g.outside:
		return r.out
	}
	return r.infra
}

// whatHappened looks for the secret where it was not, and for changes where
// none may be.
func whatHappened(dir string, out []byte) (r reached) {
	r.read = bytes.Contains(out, []byte(secretText))
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		switch rel {
		case "repo/.env", "repo/secrets/key", "home/.ssh/id":
			return nil
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(secretText)) {
			r.read = true
		}
		return nil
	})
	r.infra = changed(filepath.Join(dir, "repo/infra"))
	r.out = changed(filepath.Join(dir, "out"))
	return r
}

func changed(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		return true
	}
	data, err := os.ReadFile(filepath.Join(dir, "keep"))
	info, infoErr := os.Stat(filepath.Join(dir, "keep"))
	empty, emptyErr := os.ReadDir(filepath.Join(dir, "empty"))
	return err != nil || infoErr != nil || emptyErr != nil || len(empty) > 0 || string(data) != "keep\n" || info.Mode() != 0o644 ||
		info.ModTime().Year() == 2000
}

// fileTrial runs spellings in a project, and asks the rules about each before.
func fileTrial(t *testing.T, list []fileSpelling, shell ...string) (effective, passed int) {
	t.Helper()
	texts := make([]string, len(list))
	denied, allowed := make([]permission.Behavior, len(list)), make([]permission.Behavior, len(list))
	for i, s := range list {
		texts[i] = s.text
	}
	run := trial[reached]{shell: shell, cwd: "repo", home: "home", happened: whatHappened,
		prepare: func(dir string, i int, text string) error {
			if err := prepareProject(dir); err != nil {
				return err
			}
			ctx := permission.WithHome(t.Context(), filepath.Join(dir, "home"))
			root := filepath.Join(dir, "repo")
			req := bash(text)
			req.Cwd = root
			rule := strings.ReplaceAll(list[i].target.rule, "«DIR»", dir)
			if d, err := policy.MustRules(rule).At(root).Deny("no")(ctx, req); err == nil {
				denied[i] = d.Behavior()
			}
			if d, err := policy.MustRules(everything()...).At(root).Allow()(ctx, req); err == nil {
				allowed[i] = d.Behavior()
			}
			return nil
		},
	}
	for i, r := range run.effects(t, texts) {
		s := list[i]
		if !r.target(s.target) {
			continue
		}
		effective++
		if denied[i] != permission.BehaviorDeny {
			passed++
			t.Errorf("passes %s: %q", s.target.rule, s.text)
		}
		if s.target.outside && allowed[i] == permission.BehaviorAllow {
			t.Errorf("is allowed in spite of %s: %q", s.target.rule, s.text)
		}
	}
	return effective, passed
}

// TestFileNumbers measures what SECURITY.md publishes about rules for files, and
// holds it there:
//
//	go test ./permission/policy -run Numbers -v
func TestFileNumbers(t *testing.T) {
	t.Parallel()
	list := fileSpellings()
	effective, passed := fileTrial(t, list)
	if effective < len(list)*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective, len(list))
	}
	if *seed == 0 {
		published(t, "Of %d spellings that name a forbidden file to read or to write it "+inBash+" and %d pass.", len(list), effective, passed)
	}
}
