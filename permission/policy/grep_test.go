package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// grepTree is a project with secrets in some folders and without in others. Each file
// has its name in it.
func grepTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"clean/main.go", "clean/.gitignore", "app/main.go", "app/.env", "app/deep/er/.env.local", "tls/a.pem", "tls/a.go",
		"home/.ssh/id", "home/.ssh/known.go", "home/.config/gcloud/c.json", "home/.config/other.json", "odd/.env/plain.txt", "odd/a.go", "odd/é.key", ".aws/credentials",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("MARK "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(t, filepath.Join(root, "app"), filepath.Join(root, "clean", "alias"))
	return root
}

type grepCall struct {
	path, glob, kind string // below the project; kind is the type
	want             permission.Behavior
}

func grepCalls() []grepCall {
	calls := []grepCall{
		{"", "", "", "deny"},
		{"app", "", "", "deny"}, {"app", "*", "", "deny"}, {"app", ".e*", "", "deny"}, {"app", "[.]env", "", "deny"}, {"app", "**/{.env,main.go}", "", "deny"}, {"app", "{a,b}{c,.env}", "", "deny"},
		{"app", "", "go", "deny"}, // what a type selects is not known here
		{"app", "*.go", "", ""}, {"app", "main.go", "", ""}, {"app", "*.{go,md}", "", ""}, {"app", "deep/**", "", "deny"}, {"app", "/deep/**", "", "deny"}, {"app", "deep/*.go", "", ""},
		{"app", "!.env", "", "deny"}, {"app", "!**/.env", "", "deny"}, {"app", "!.env,!.env.*", "", ""}, {"app", "!.env !.env.* *.go", "", ""}, {"app", "!.env,!.env.*,*", "", "deny"}, {"app", "!.env,!.env.*,.env", "", "deny"},
		{"app", "!**/{.env,.env.*}", "", ""}, {"app", "!.env*", "", "deny"}, // it would do, but is not one that is known
		{"clean", "", "", ""}, {"clean", "*", "", ""}, {"clean/alias", "", "", "deny"}, {"clean/alias", "*.go", "", ""},
		{"tls", "*.go", "", ""}, {"tls", "", "", "deny"}, {"tls", "*.pem", "", "deny"}, {"tls", "!*.pem", "", ""},
		{"home", "*.go", "", "deny"}, {"home", "*.md", "", ""}, {"home", "!.ssh/**,!.config/gcloud/**", "", "deny"}, {"home", "!**/.ssh/**,!**/.config/gcloud/**", "", ""},
		{"home/.config", "!**/.config/gcloud/**", "", "deny"}, {"home/.config", "!**/.config/gcloud/**,!/gcloud/**", "", ""}, {"home/.config", "other*", "", ""},
		{"home/.ssh", "*.md", "", "deny"}, {"odd", "*.txt", "", "deny"}, {"odd", "*.go", "", ""},
		{"missing", "", "", "deny"}, {"missing", "*.go", "", "deny"}, {"app/main.go", "", "", ""}, {"app/.env", "!.env", "", "deny"},
		// What ripgrep reads in ways of its own selects everything, and excludes nothing.
		{"app", ".env !{.env,a/b} !.env.*", "", "deny"}, {"app", "!.env\u0085!.env.*", "", "deny"}, {"app", "!{.env,.env.*}", "", ""}, {"app", "!.env/,!.env.*/", "", "deny"},
		{"app", ".env.local**", "", "deny"}, {"app", "#x", "", "deny"}, {"app", "[!]x]env", "", "deny"}, {"app", "\ufeff.env", "", "deny"}, {"app", "{deep/**,b}local", "", "deny"},
		{"app", "*.[ch]", "", ""}, {"app", "main.g?", "", ""}, {"app", "src/**/*.{ts,tsx}", "", ""}, {"app", "**/*.go,**/*.md", "", ""}, {"app", "@types/*.ts", "", ""},
	}
	for i, c := range calls {
		if strings.HasPrefix(c.glob, "!") {
			calls[i].glob = cased(c.glob)
		}
	}
	return calls
}

// cased returns a glob that excludes in whatever case, where files are the same in any.
func cased(glob string) string {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return glob
	}
	return regexp.MustCompile("[a-z]").ReplaceAllStringFunc(glob, func(s string) string { return "[" + s + strings.ToUpper(s) + "]" })
}

func (c grepCall) input(root string) map[string]string {
	in := map[string]string{"pattern": "MARK", "output_mode": "content", "path": filepath.Join(root, c.path)}
	if c.glob != "" {
		in["glob"] = c.glob
	}
	if c.kind != "" {
		in["type"] = c.kind
	}
	return in
}

// Rules for files deny a Grep that would print one, and only that. The model reads which
// globs it lacks, and Narrow adds them.
func TestGrepPrintsSecrets(t *testing.T) {
	root := grepTree(t)
	secrets := policy.SecretFiles().At(root)
	advised := 0
	for _, c := range grepCalls() {
		req := request("Grep", c.input(root))
		d, err := secrets.Deny("no")(t.Context(), req)
		if err != nil || d.Behavior() != c.want {
			t.Errorf("%+v: %q, %v, want %q", c, d.Behavior(), err, c.want)
			continue
		}
		if _, globs, ok := strings.Cut(d.Message(), "Add this to its glob: "); ok {
			advised++
			in := c.input(root)
			in["glob"] += " " + globs
			if got := decided(t, secrets.Deny("no"), request("Grep", in)); got != "" {
				t.Errorf("%+v: %q after the advice %s", c, got, globs)
			}
		}
		input, err := secrets.Narrow(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if input == nil {
			input = req.Input
		}
		narrow := &permission.Request{ToolName: "Grep", Input: input}
		want := c.want
		if !strings.Contains(c.path, ".env") && c.path != "home/.ssh" { // named themselves
			want = ""
		}
		if got := decided(t, secrets.Deny("no"), narrow); got != want {
			t.Errorf("%+v: %q after Narrow: %s", c, got, input)
		}
	}
	if advised < 20 {
		t.Errorf("%d denials with advice", advised)
	}
	for _, req := range []*permission.Request{request("Read", map[string]string{"file_path": root}), request("Bash", map[string]string{"command": "grep -r x ."})} {
		if input, err := secrets.Narrow(t.Context(), req); input != nil || err != nil {
			t.Errorf("%s: %s, %v", req.ToolName, input, err)
		}
	}
	for _, input := range []any{map[string]any{"pattern": "x", "glob": 7}, map[string]any{"pattern": "x", "glob": []string{"*"}}} {
		if got := decided(t, secrets.Deny("no"), request("Grep", input)); got != "error" {
			t.Errorf("%v: %q, want an error", input, got)
		}
	}
}

// Rules that belong to a folder are about searches of it, of what is above and below.
func TestGrepRules(t *testing.T) {
	root := grepTree(t)
	t.Setenv("HOME", filepath.Join(root, "home"))
	for _, tt := range []struct {
		rule, path, glob string
		want             permission.Behavior
		advice           string
	}{
		{"Read(/app/**)", "", "", "deny", "!/app/**"},
		{"Read(/app/**)", "", "!/app/**", "", ""},
		{"Read(/app/**)", "", "*.md", "", ""},
		{"Read(/app/**)", "clean", "", "", ""},
		{"Read(/app/**)", "app/deep", "", "deny", ""},
		{"Read(/app/deep/**)", "app", "", "deny", ""}, // the folder is below that of the rule
		{"Read(/app/deep/**)", "app", "main*", "", ""},
		{"Read(~/.config/**)", "home", "", "deny", "!/.config/**"},
		{"Read(~/.config/**)", "", "", "deny", "!/home/.config/**"},
		{"Read(~/.config/**)", "app", "", "", ""},
		{"Read(*.pem)", "tls", "", "deny", "!**/*.pem"},
		{"Read(a.go)", "odd", "*.go", "deny", "!**/a.go"},
		{"Edit(*.pem)", "tls", "", "", ""},
		{"Read(/app/**)", "", "!app/**", "", ""}, {"Read(/app/**)", "", "!**/app", "deny", "!/app/**"},
		{"Read(.aws/credentials)", "", "", "deny", "!/.aws/credentials"},
		{"Read(.aws/credentials)", "", "!/aws/credentials", "deny", "!/.aws/credentials"},
		{"Read(./.aws/credentials)", "", "!/.aws/credentials", "", ""},
		{"Read(deep/)", "app", "", "deny", "!**/deep/**"},
		{"Read(deep/)", "app", "!**/deep/**", "", ""},
		{"Read(deep/)", "app/deep", "", "deny", "!**/deep/**,!/**"}, {"Read(deep/)", "app/deep", "*.md", "", ""},
		{"Read(/app/deep/)", "", "", "deny", "!/app/deep/**"},
		{"Read(deep/)", "clean", "", "", ""}, {"Read(main.go/)", "app", "", "", ""},
		{"Read(~/**)", "home", "", "deny", "!/**"}, {"Read(./**)", "", "", "deny", "!/**"},
		{"Read(a.go**)", "odd", "", "deny", ""}, {"Read(a.go**)", "tls", "*.pem", "", ""},
		{"Read(é.key)", "odd", "??.key", "deny", ""}, {"Read(?.key)", "odd", "!**/?.key", "deny", ""}, // a question mark is a byte
	} {
		tt.advice = cased(tt.advice)
		if strings.HasPrefix(tt.glob, "!") {
			tt.glob = cased(tt.glob)
		}
		req := request("Grep", grepCall{path: tt.path, glob: tt.glob}.input(root))
		d, err := policy.MustRules(tt.rule).At(root).Deny("no")(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if _, advice, _ := strings.Cut(d.Message(), "glob: "); d.Behavior() != tt.want || advice != tt.advice {
			t.Errorf("%+v: %q %q", tt, d.Behavior(), d.Message())
		}
	}
}

// TestRealGrep lets the real CLI search with all these globs, once with a guard alone and
// once with searches narrowed: no secret file is printed, and all others are.
func TestRealGrep(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a new input without a decision")
	all := 0                  // lines of files that are not secret
	open := make(map[int]int) // those that each call prints without a guard
	for _, mode := range []string{"open", "guarded", "narrowed"} {
		root := grepTree(t)
		secrets := policy.SecretFiles().At(root)
		calls := grepCalls()
		var uses []claudetest.ScriptedCall
		for i, c := range calls {
			uses = append(uses, claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", i), Name: "Grep", Input: c.input(root)})
		}
		model := claudetest.NewModel(claudetest.UseTools(uses...), claudetest.Say("done"))
		url, err := model.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		opts := claude.Hardened()
		opts.Env, _ = realcli.Env(t, url)
		opts.Env = append(opts.Env, "CLAUDE_CODE_GLOB_TIMEOUT_SECONDS=300") // or a busy machine ends a search after 20 s
		opts.CLIPath, opts.Cwd = realcli.Need(t, realcli.Tested()), root
		opts.CanUseTool = policy.Always(permission.Allow())
		opts.DisallowedTools = []string{"Bash"} // with it there is no Grep
		opts.Limits.Callbacks = 4 * len(uses)   // a busy machine asks about all of them at once
		guard := hook.Guard("", secrets.Deny("no"))
		switch mode {
		case "guarded":
			opts.Hooks = []hook.Hook{guard}
		case "narrowed":
			opts.Hooks = []hook.Hook{guard, narrowing(secrets)}
		}
		if _, err := claude.Ask(t.Context(), "search", opts); err != nil {
			t.Fatal(err)
		}
		asked := model.Calls()
		printed, plain := 0, 0
		for _, result := range asked[len(asked)-1].ToolResults {
			var i int
			if _, err := fmt.Sscanf(result.ToolUseID, "toolu_%d", &i); err != nil {
				t.Fatal(err)
			}
			before := plain
			for line := range strings.Lines(result.Text) {
				_, name, ok := strings.Cut(line, "MARK ")
				switch secret := strings.Contains(name, ".env") || strings.Contains(name, ".pem") || strings.Contains(name, ".ssh") || strings.Contains(name, ".aws") || strings.Contains(name, "gcloud"); {
				case !ok:
				case !secret:
					plain++
				case mode == "open":
					printed++
				default:
					t.Errorf("%s: %+v prints %s", mode, calls[i], line)
				}
			}
			switch {
			case mode == "open":
				open[i] = plain - before
			case mode == "narrowed" && plain-before < open[i]:
				t.Errorf("narrowed: %+v prints %d lines of other files, want %d: %s", calls[i], plain-before, open[i], result.Text)
			}
		}
		t.Logf("%s: %d lines of secret files, %d of others", mode, printed, plain)
		switch {
		case mode == "open":
			if all = plain; printed < 20 || plain < 20 {
				t.Errorf("nothing to hide: %d lines of secret files and %d of others", printed, plain)
			}
		case plain < all/3:
			t.Errorf("%s: %d lines of other files, want %d", mode, plain, all)
		}
	}
}

// narrowing is the hook of the example of Narrow.
func narrowing(rules *policy.Rules) hook.Hook {
	return hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		input, err := rules.Narrow(ctx, in.Request())
		if input == nil || err != nil {
			return nil, err
		}
		return hook.RewriteInput(input), nil
	})
}

// BenchmarkGrep judges a search without a glob in a project of 10,000 files without
// secrets.
func BenchmarkGrep(b *testing.B) {
	root := b.TempDir()
	for i := range 10_000 {
		path := filepath.Join(root, fmt.Sprint("dir", i%100), fmt.Sprintf("file%d.go", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	deny, req := policy.SecretFiles().At(root).Deny("no"), request("Grep", grepCall{}.input(root))
	for b.Loop() {
		if d, err := deny(b.Context(), req); err != nil || d.Behavior() != "" {
			b.Fatal(d, err)
		}
	}
}
