package egress_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// real is the real CLI behind a proxy, with a scripted model.
type real struct {
	*fixture
	model *claudetest.Model
	key   string // what the model is asked with
	home  string
	opts  *claude.Options
}

// realCLI starts a proxy for the real CLI. opts of the CLI lack the pass: see with.
func realCLI(t *testing.T, change func(*egress.Options), replies ...claudetest.Reply) *real {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	r := &real{model: claudetest.NewModel(replies...), key: "sk-ant-api03-real-" + rand.Text(), fixture: &fixture{t: t}}
	url, err := r.model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.model.Close() })
	o := egress.Options{
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: r.key}, nil
		},
		Upstream: url,
		Logger:   slog.New(slog.NewJSONHandler(r, nil)),
	}
	if change != nil {
		change(&o)
	}
	if r.proxy, err = egress.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.proxy.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(r.logged(), r.key) {
			t.Error("the log has the key")
		}
	})
	if r.url, err = r.proxy.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	env, home := realcli.Env(t, url)
	r.home = home
	// The program has the key, under its own name and under another.
	env = append(env, "ANTHROPIC_API_KEY="+r.key, "BACKUP_OF_IT="+r.key)
	r.opts = &claude.Options{CLIPath: path, Env: env, Cwd: t.TempDir(), AllowedTools: []string{"Bash"}}
	return r
}

// with makes the CLI use a pass.
func (r *real) with(pass *egress.Pass) { r.opts.Env = pass.Env(r.url, r.opts.Env) }

// places are where a command can look for the key, and with what.
var places = [...]struct{ name, command string }{
	{"its own environment", "env"},
	{"the environment of every process", "cat /proc/*/environ"},
	{"every process, as ps shows it", "ps -efww; ps axeww"},
	{"the command line of every process", "cat /proc/*/cmdline"},
	{"the files of its home, also those of the CLI", `find "$HOME" -type f -exec cat {} +`},
	{"the temporary files", `find "$TMPDIR" -type f -exec cat {} +`},
	{"its working directory", `find . -type f ! -name 'seen.*' -exec cat {} +`},
}

// attack is a shell command that looks for the key in each of the places.
func attack() string {
	var all strings.Builder
	for i, place := range places {
		fmt.Fprintf(&all, "{ %s; } > seen.%d 2>/dev/null </dev/null; ", place.command, i)
	}
	return all.String() + "true"
}

// The CLI works with a sentinel in each of its forms, the API is asked with the real key,
// and a command that looks for it everywhere finds the sentinel.
func TestRealAttack(t *testing.T) {
	for _, form := range []egress.Form{egress.FormAPIKey, egress.FormBearer, egress.FormOAuth} {
		t.Run(form.String(), func(t *testing.T) {
			r := realCLI(t, nil, claudetest.UseTool("Bash", map[string]string{"command": attack()}), claudetest.Say("done"))
			pass := r.grant(func(g *egress.Grant) { g.Form = form })
			r.with(pass)
			result, err := claude.Ask(t.Context(), "look around", r.opts)
			if err != nil || result.Text != "done" {
				t.Fatalf("%+v, %v", result, err)
			}
			for _, call := range r.model.Calls() {
				if call.Header.Get("X-Api-Key") != r.key || call.Header.Get("Authorization") != "" {
					t.Errorf("the API is asked with %v", call.Header)
				}
			}
			found := 0
			for i, place := range places {
				seen, err := os.ReadFile(filepath.Join(r.opts.Cwd, fmt.Sprint("seen.", i)))
				if err != nil {
					t.Fatal(err)
				}
				sentinels, keys := strings.Count(string(seen), pass.Sentinel()), strings.Count(string(seen), r.key)
				t.Logf("%s (%s): %d bytes, the sentinel %d times, the key %d times", place.name, place.command, len(seen), sentinels, keys)
				if found += sentinels; keys > 0 {
					t.Errorf("the attack found the key in %s", place.name)
				}
			}
			if found == 0 { // newer CLIs take OAuth tokens out of the environment of commands, not out of their own
				t.Error("the attack has not even found the sentinel")
			}
			if other := r.model.OtherRequests(); len(other) > 0 {
				t.Errorf("the API was also asked %v", other)
			}
			spent, err := pass.Spent(t.Context())
			if err != nil || spent.Tokens != 30 || spent.USD <= 0 {
				t.Errorf("spent %+v, %v; two answers have 15 tokens each", spent, err)
			}
		})
	}
}

// refused runs a turn that fails, and returns what the user reads and how many requests
// the proxy saw with that status.
func (r *real) refused(status string) (text string, requests int) {
	r.t.Helper()
	_, err := claude.Ask(r.t.Context(), "hello", r.opts)
	var failed *claude.ResultError
	if !errors.As(err, &failed) {
		r.t.Fatalf("error %v", err)
	}
	return err.Error(), strings.Count(r.logged(), `"status":`+status+",")
}

// A spent budget is one request, and the user reads why.
func TestRealSpentBudget(t *testing.T) {
	realcli.Needs(t, "2.1.325", "what it makes of 402")
	r := realCLI(t, nil, claudetest.Say("one").Usage(claudetest.ReplyUsage{InputTokens: 100_000}))
	r.with(r.grant(func(g *egress.Grant) { g.Budget.Tokens = 1000 }))
	if _, err := claude.Ask(t.Context(), "hello", r.opts); err != nil {
		t.Fatal(err)
	}
	text, requests := r.refused("402")
	if requests != 1 || !strings.Contains(text, "The budget of this conversation is spent: 100000 of 1000 tokens.") {
		t.Errorf("%d requests, and the user reads %s", requests, text)
	}
	if n := len(r.model.Calls()); n != 1 {
		t.Errorf("the API was asked %d times", n)
	}
}

// A CLI whose conversation has ended cannot spend any more.
func TestRealRevoked(t *testing.T) {
	realcli.Needs(t, "2.1.325", "what it makes of 401")
	r := realCLI(t, nil)
	pass := r.grant(nil)
	r.with(pass)
	pass.Revoke()
	text, requests := r.refused("401")
	if requests == 0 || requests > 3 || !strings.Contains(text, "401") {
		t.Errorf("%d requests, and the user reads %s", requests, text)
	}
	t.Logf("%d requests, and the user reads %s", requests, text)
	if n := len(r.model.Calls()); n != 0 {
		t.Errorf("the API was asked %d times", n)
	}
}

// A proxy that is replaced in the middle of an answer costs the CLI a repeated request.
func TestRealRestart(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	accounts := egress.MemoryAccounts()
	kept := func(o *egress.Options) { o.Accounts = accounts }
	r := realCLI(t, kept, claudetest.Say("never heard in full").Hold(release), claudetest.Say("heard"))
	pass := r.grant(nil)
	r.with(pass)
	type outcome struct {
		result *message.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := claude.Ask(t.Context(), "hello", r.opts)
		done <- outcome{result, err}
	}()
	for len(r.model.Calls()) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("not asked")
		}
	}
	address := strings.TrimPrefix(r.url, "http://")
	if err := r.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := egress.New(egress.Options{
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: r.key}, nil
		},
		Upstream: r.model.URL(), Accounts: accounts,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := next.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c1", Tenant: "acme"}, Sentinel: pass.Sentinel()}); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil || got.result.Text != "heard" {
		t.Errorf("%+v, %v", got.result, got.err)
	}
}
