package restore_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

const (
	project = "tenant-7"
	session = "00000000-0000-4000-8000-000000000001"
	other   = "00000000-0000-4000-8000-000000000002"
)

// entry is a line of the conversation.
func entry(id, parent string) string {
	if parent != "" {
		parent = `"` + parent + `"`
	} else {
		parent = "null"
	}
	return `{"parentUuid":` + parent + `,"type":"user","uuid":"` + id + `","z":1,"a":"<é\u2028>"}`
}

func fill(t *testing.T, s store.Sessions, k store.Key, lines ...string) {
	t.Helper()
	var entries []store.Entry
	for _, line := range lines {
		entries = append(entries, store.Entry(line))
	}
	if err := s.Append(t.Context(), k, store.Batch{Entries: entries}); err != nil {
		t.Fatal(err)
	}
}

// files returns what is below a folder, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if need.FileModes.Here() && path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %v", path, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// open returns a folder to restore into, alone in another one.
func open(t *testing.T) (outer string, root *os.Root) {
	t.Helper()
	outer = t.TempDir()
	if err := os.Mkdir(filepath.Join(outer, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(outer, "config"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return outer, root
}

func TestWrite(t *testing.T) {
	for name, s := range map[string]store.Sessions{"Memory": store.Memory(), "Files": store.Files(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			main := store.Key{Project: project, Session: session}
			sub := main
			sub.Sub = "subagents/workflows/w1/agent-a1"
			lines := []string{entry("a", ""), `{"type":"custom-title","customTitle":"x"}`, `{"type":"custom-title","customTitle":"x"}`, entry("b", "a"), entry("c", "a"), entry("d", "b")}
			fill(t, s, main, lines...)
			fill(t, s, sub, `{"type":"agent_metadata","agentType":"x"}`, entry("s", ""), `{"type":"agent_metadata","agentType":"x","finished":true}`)
			fill(t, s, store.Key{Project: project, Session: other}, entry("o", ""))
			outer, root := open(t)
			if err := (restore.Source{Store: s, Project: project}).Write(t.Context(), root, "-work", session); err != nil {
				t.Fatal(err)
			}
			base := "config/projects/-work/" + session
			want := map[string]string{
				base + ".jsonl": strings.Join(lines, "\n") + "\n",
				base + "/subagents/workflows/w1/agent-a1.jsonl":     entry("s", "") + "\n",
				base + "/subagents/workflows/w1/agent-a1.meta.json": `{"agentType":"x","finished":true}`,
			}
			got := files(t, outer)
			for path, text := range want {
				if got[path] != text {
					t.Errorf("%s is %q, want %q", path, got[path], text)
				}
			}
			if len(got) != len(want) {
				t.Errorf("there are %d files, want %d: %q", len(got), len(want), got)
			}
		})
	}
}

// odd is a store that returns anything.
type odd struct {
	store.Basic
	entries []string
	subs    []string
	ids     []string
	err     error
}

func (o *odd) Append(context.Context, store.Key, store.Batch) error { return nil }

func (o *odd) Load(context.Context, store.Key, store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		for i, e := range o.entries {
			if !yield(store.PlacedEntry{Entry: store.Entry(e), Place: store.Place(i + 1)}, nil) {
				return
			}
		}
		if o.err != nil {
			yield(store.PlacedEntry{}, o.err)
		}
	}
}

func (o *odd) Subagents(context.Context, string, string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, sub := range o.subs {
			if !yield(sub, nil) {
				return
			}
		}
	}
}

func (o *odd) List(context.Context, string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for _, id := range o.ids {
			if !yield(store.Summary{Session: id}, nil) {
				return
			}
		}
	}
}

// Data from a store are not trusted: bad data are refused with an error that
// explains it, and nothing is written outside of the folder.
func TestWriteRefuses(t *testing.T) {
	good := []string{entry("a", ""), entry("b", "a")}
	broken := errors.New("connection lost")
	for name, tt := range map[string]struct {
		store odd
		want  error
		says  string
	}{
		"nothing":              {odd{}, store.ErrNotFound, session},
		"garbage":              {odd{entries: []string{"%PDF"}}, store.ErrDamaged, "entry 1"},
		"a number":             {odd{entries: []string{entry("a", ""), "17"}}, store.ErrDamaged, "entry 2"},
		"an empty entry":       {odd{entries: []string{entry("a", ""), ""}}, store.ErrDamaged, "entry 2"},
		"a cut entry":          {odd{entries: []string{entry("a", ""), entry("b", "a")[:20]}}, store.ErrDamaged, "entry 2"},
		"two lines in one":     {odd{entries: []string{`{"a":1}` + "\n" + `{"b":2}`}}, store.ErrDamaged, "entry 1"},
		"a line feed inside":   {odd{entries: []string{"{\"a\":\n1}"}}, store.ErrDamaged, "entry 1"},
		"another order":        {odd{entries: []string{entry("b", "a"), entry("a", "")}}, store.ErrDamaged, "a comes after b"},
		"no beginning":         {odd{entries: []string{entry("b", "a")}}, store.ErrDamaged, "a, which is missing"},
		"a gap":                {odd{entries: []string{entry("a", ""), entry("c", "b")}}, store.ErrDamaged, "b, which is missing"},
		"an error":             {odd{entries: good, err: broken}, broken, ""},
		"a sub that climbs":    {odd{entries: good, subs: []string{"../../../../evil"}}, nil, "sub"},
		"an absolute sub":      {odd{entries: good, subs: []string{"/tmp/evil"}}, nil, "sub"},
		"a sub with backslash": {odd{entries: good, subs: []string{`..\..\evil`}}, nil, "sub"},
		"a sub with NUL":       {odd{entries: good, subs: []string{"subagents/a\x00b"}}, nil, "sub"},
		"a long sub":           {odd{entries: good, subs: []string{strings.Repeat("a", 10<<10)}}, nil, "sub"},
		"a sub of fake dots":   {odd{entries: good, subs: []string{"．．/evil"}}, nil, "sub"},
		"a sub turned around":  {odd{entries: good, subs: []string{"subagents/\u202elnosj"}}, nil, "sub"},
		"a sub without a name": {odd{entries: good, subs: []string{""}}, store.ErrDamaged, "without a name"},
		"a sub twice":          {odd{entries: good, subs: []string{"subagents/a", "subagents/a"}}, fs.ErrExist, ""},
	} {
		t.Run(name, func(t *testing.T) {
			outer, root := open(t)
			err := (restore.Source{Store: &tt.store, Project: project}).Write(t.Context(), root, "-work", session)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error = %v, want %v with %q", err, tt.want, tt.says)
			}
			if tt.want == nil {
				if _, ok := errors.AsType[*store.KeyError](err); !ok {
					t.Errorf("error = %v, want a KeyError", err)
				}
			}
			for path := range files(t, outer) {
				if !strings.HasPrefix(path, "config/projects/-work/"+session) {
					t.Errorf("%s was written", path)
				}
			}
		})
	}
	_, root := open(t)
	for _, id := range []string{"", "../evil", "x", session + "\x00"} {
		err := (restore.Source{Store: &odd{entries: good}, Project: project}).Write(t.Context(), root, "-work", id)
		if _, ok := errors.AsType[*store.KeyError](err); !ok {
			t.Errorf("session %q: error = %v, want a KeyError", id, err)
		}
	}
}

// A transcript that another process has put a link in the place of is not
// followed.
func TestWriteFollowsNoLinks(t *testing.T) {
	need.Symlinks.Test(t)
	outer, root := open(t)
	away := filepath.Join(outer, "away")
	if err := os.Mkdir(away, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, filepath.Join(outer, "config", "projects")); err != nil {
		t.Skip(err)
	}
	err := (restore.Source{Store: &odd{entries: []string{entry("a", "")}}, Project: project}).Write(t.Context(), root, "-work", session)
	if err == nil {
		t.Error("the link was followed")
	}
	if left, _ := os.ReadDir(away); len(left) > 0 {
		t.Errorf("%v was written elsewhere", left)
	}
}

func TestLatest(t *testing.T) {
	mem := store.Memory()
	source := restore.Source{Store: mem, Project: project}
	if _, err := source.Latest(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
	fill(t, mem, store.Key{Project: project, Session: session}, entry("a", ""))
	fill(t, mem, store.Key{Project: project, Session: other}, `{"isSidechain":true,"uuid":"s"}`)
	fill(t, mem, store.Key{Project: "tenant-8", Session: other}, entry("a", ""))
	if id, err := source.Latest(t.Context()); err != nil || id != session {
		t.Errorf("Latest = %q, %v, want the one that is not a subagent's", id, err)
	}
	source.Store = &odd{ids: []string{"../evil"}, entries: []string{entry("a", "")}}
	if id, err := source.Latest(t.Context()); err == nil {
		t.Errorf("Latest = %q", id)
	}
	source.Store = store.Basic{}
	if _, err := source.Latest(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of a store that cannot list: %v", err)
	}
}

// The copy of the configuration has what the CLI needs, and no more.
func TestConfig(t *testing.T) {
	from, home := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(from, ".credentials.json", `{"claudeAiOauth":{"accessToken":"at","refreshToken":"rt","expiresAt":1}}`)
	write(home, ".claude.json", `{"userID": "u", "projects": {}}`)
	write(from, "settings.json", `{"model":"opus","enabledPlugins":{"p":true},"extraKnownMarketplaces":{},"additionalMarketplaces":[],"env":{"A":"1","CLAUDE_CONFIG_DIR":"/x"}}`)
	write(from, "cowork_settings.json", `not json`)
	write(from, "history.jsonl", `{"secret":1}`)
	outer, root := open(t)
	if err := restore.Config(root, from, home, true); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"config/.credentials.json": `{"claudeAiOauth":{"accessToken":"at","expiresAt":1}}`,
		"config/.claude.json":      `{"userID": "u", "projects": {}}`,
		"config/settings.json":     `{"env":{"A":"1"},"model":"opus"}`,
	}
	got := files(t, outer)
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s is %q, want %q", path, got[path], text)
		}
	}
	if len(got) != len(want) {
		var names []string
		for name := range got {
			names = append(names, name)
		}
		slices.Sort(names)
		t.Errorf("the files are %q", names)
	}
	_, root = open(t)
	write(from, ".credentials.json", `{"claudeAiOauth":["rt"]}`)
	if err := restore.Config(root, from, home, true); err != nil {
		t.Fatal(err)
	}
	if text, _ := root.ReadFile(".credentials.json"); strings.Contains(string(text), "rt") {
		t.Errorf("credentials of another shape were copied: %s", text)
	}
}

// Without login, the copy has no credential, wherever the user keeps it. Rules that
// forbid something are still there.
func TestConfigWithoutLogin(t *testing.T) {
	from, home := t.TempDir(), t.TempDir()
	settings := `{"permissions":{"deny":["Bash"]},"model":"opus","apiKeyHelper":"echo canary","awsAuthRefresh":"canary","awsCredentialExport":"canary",` +
		`"gcpAuthRefresh":"canary","otelHeadersHelper":"canary","newHelper":"canary","forceLoginGatewayUrl":"canary","env":{"ANTHROPIC_BASE_URL":"canary"},"mcpServers":{"s":{"env":{"K":"canary"}}}}`
	for path, text := range map[string]string{
		filepath.Join(from, ".credentials.json"):    `{"claudeAiOauth":{"accessToken":"canary"},"mcpOAuth":{"s":{"accessToken":"canary"}}}`,
		filepath.Join(home, ".claude.json"):         `{"primaryApiKey":"canary","oauthAccount":{"uuid":"canary"},"mcpServers":{"s":{"env":{"K":"canary"}}}}`,
		filepath.Join(from, ".config.json"):         `{"primaryApiKey":"canary"}`,
		filepath.Join(from, "settings.json"):        settings,
		filepath.Join(from, "cowork_settings.json"): settings,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outer, root := open(t)
	if err := restore.Config(root, from, home, false); err != nil {
		t.Fatal(err)
	}
	got := files(t, outer)
	const want = `{"model":"opus","permissions":{"deny":["Bash"]}}`
	if len(got) != 2 || got["config/settings.json"] != want || got["config/cowork_settings.json"] != want {
		t.Errorf("the copy is %q", got)
	}
}

// A note that points beside the conversation is followed by one that points to its last
// line: the CLI would hide what was said on the other branch.
func TestWriteCorrectsHead(t *testing.T) {
	message := func(id, parent, kind string) string {
		return `{"parentUuid":"` + parent + `","type":"` + kind + `","uuid":"` + id + `","message":{"role":"` + kind + `","content":"x"}}`
	}
	note := func(leaf string) string {
		return `{"type":"last-prompt","lastPrompt":"a \"b\"","leafUuid":"` + leaf + `","sessionId":"` + session + `"}`
	}
	for name, c := range map[string]struct {
		lines []string
		added string
	}{
		"beside":        {[]string{entry("a", ""), message("b", "a", "assistant"), `{"parentUuid":"b","type":"attachment","uuid":"m","attachment":{"type":"x"}}`, note("m"), message("c", "b", "user"), message("d", "c", "assistant")}, note("d") + "\n"},
		"behind":        {[]string{entry("a", ""), message("b", "a", "assistant"), note("b"), message("c", "b", "user"), message("d", "c", "assistant")}, ""},
		"at the end":    {[]string{entry("a", ""), message("b", "a", "assistant"), message("m", "a", "assistant"), message("c", "b", "user"), note("c")}, ""},
		"unknown":       {[]string{entry("a", ""), message("b", "a", "assistant"), message("m", "a", "assistant"), note("z")}, ""},
		"without notes": {[]string{entry("a", ""), message("b", "a", "assistant"), message("m", "a", "assistant")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.Memory()
			fill(t, s, store.Key{Project: project, Session: session}, c.lines...)
			outer, root := open(t)
			if err := (restore.Source{Store: s, Project: project}).Write(t.Context(), root, "-work", session); err != nil {
				t.Fatal(err)
			}
			want := strings.Join(c.lines, "\n") + "\n" + c.added
			if got := files(t, outer)["config/projects/-work/"+session+".jsonl"]; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}
