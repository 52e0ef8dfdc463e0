package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// Without a credential doctor fails with what to do, and run writes nothing to
// standard output: what the CLI writes about it is not an answer.
func TestRealNoCredential(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	env = slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, name)
	})
	env = append(env, asProgram+"=1")
	invoke := func(args ...string) outcome {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
		return outcome{code, stdout.String(), stderr.String()}
	}
	got := invoke("doctor", "--json", "--cli", cli, "--cwd", home)
	var u checkup
	if err := json.Unmarshal([]byte(got.stdout), &u); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, got.stdout, got.stderr)
	}
	at := slices.IndexFunc(u.Findings, func(f finding) bool { return f.Name == "account" })
	if at < 0 || u.Findings[at].Grade != gradeFail || !strings.Contains(u.Findings[at].Advice, "ANTHROPIC_API_KEY") || got.code != int(exitFindings) {
		t.Errorf("exit code %d, findings %+v", got.code, u.Findings)
	}
	got = invoke("run", "--cli", cli, "--cwd", home, "hello")
	if got.code == 0 || got.stdout != "" || !strings.Contains(got.stderr, "Not logged in") {
		t.Errorf("run: exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
}

// The finding names the credential, and a provider is not one.
func TestAccount(t *testing.T) {
	for name, c := range map[string]struct {
		account control.Account
		env     []string
		grade   grade
		want    string
	}{
		"none":         {control.Account{TokenSource: "none", APIKeySource: "none", APIProvider: firstParty}, nil, gradeFail, "no credential"},
		"provider":     {control.Account{APIProvider: firstParty}, nil, gradeFail, "no credential"},
		"cloud":        {control.Account{APIProvider: "bedrock"}, nil, gradeWarn, "bedrock"},
		"key":          {control.Account{APIKeySource: "ANTHROPIC_API_KEY", APIProvider: firstParty}, []string{"ANTHROPIC_API_KEY=secret"}, gradeOK, "API key: ANTHROPIC_API_KEY"},
		"subscription": {control.Account{SubscriptionType: "Claude Max", TokenSource: "claude.ai"}, nil, gradeOK, "subscription: Claude Max, token: claude.ai"},
		"old":          {control.Account{}, nil, gradeWarn, "does not say"},
		"old, key":     {control.Account{}, []string{"ANTHROPIC_API_KEY=secret"}, gradeOK, "ANTHROPIC_API_KEY is set"},
	} {
		f := checkAccount(&console{env: c.env}, c.account)
		if f.Grade != c.grade || !strings.Contains(f.Detail, c.want) || (f.Advice == "") != (c.grade == gradeOK) || strings.Contains(f.Detail, "secret") {
			t.Errorf("%s: %+v, want %s, %s", name, f, c.grade, c.want)
		}
	}
}
