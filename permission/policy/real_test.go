package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// verdict is the CLI's decision about a command by its rules alone.
type verdict string

const (
	cliRuns   verdict = "runs"
	cliAsks   verdict = "asks"
	cliDenies verdict = "denies"
)

// verdicts puts commands before the real CLI, many in each turn of one
// session, and returns what it decides about each.
func verdicts(t *testing.T, dir string, commands []string, change func(*claude.Options)) []verdict {
	t.Helper()
	realcli.Needs(t, "2.1.325", "its rules")
	path := realcli.Need(t, realcli.Tested())
	model := claudetest.NewModel()
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, _ := realcli.Env(t, url)
	var mu sync.Mutex
	asked := make(map[string]bool)
	opts := &claude.Options{CLIPath: path, Env: env, Cwd: dir, CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[req.ToolUseID] = true
		return permission.Deny("asked"), nil
	}}
	opts.Env = append(opts.Env, "SHELL="+idleShell(t))
	change(opts)
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := make([]verdict, len(commands))
	const batch = 50
	for from := 0; from < len(commands); from += batch {
		some := commands[from:min(from+batch, len(commands))]
		var uses []claudetest.ScriptedCall
		for i, command := range some {
			uses = append(uses, claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", from+i), Name: "Bash", Input: map[string]string{"command": command}})
		}
		model.Add(claudetest.UseTools(uses...), claudetest.Say("done"))
		if _, err := s.Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		calls := model.Calls()
		results := calls[len(calls)-1].ToolResults
		if len(results) != len(some) {
			t.Fatalf("%d results for %d commands", len(results), len(some))
		}
		for _, result := range results { // in the order in which they came
			var i int
			if _, err := fmt.Sscanf(result.ToolUseID, "toolu_%d", &i); err != nil {
				t.Fatal(err)
			}
			switch {
			case asked[result.ToolUseID]:
				all[i] = cliAsks
			case result.IsError && strings.Contains(result.Text, "denied"):
				all[i] = cliDenies
			default:
				all[i] = cliRuns
			}
		}
	}
	return all
}

// idleShell is a shell that does nothing. The CLI's decision does not depend on
// the effect of a command, and no spelling may run with the rights of a test.
func idleShell(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bash")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// some takes every nth.
func some[T any](list []T, n int) (part []T) {
	for i := 0; i < len(list); i += n {
		part = append(part, list[i])
	}
	return part
}

// A command that the CLI denies by a rule is denied here by the same rule.
// Every sixth of the generated spellings, some of the attacks and some that
// only zsh has are tried.
func TestRealDeniesCommands(t *testing.T) {
	t.Parallel()
	list := slices.Concat(some(spellings(), 6), some(lines(t, "attacks.txt"), 15), some(zshSpellings(), 8),
		some(quotesInParameters("rm victim"), 12), some(backquoteSpellings("rm victim"), 3), some(processSpellings("rm victim"), 3))
	dir := t.TempDir()
	deny := policy.MustRules("Bash(rm:*)").At(dir).Deny("no")
	denials := 0
	for i, v := range verdicts(t, dir, list, func(o *claude.Options) { o.DisallowedTools = []string{"Bash(rm:*)"} }) {
		if v != cliDenies {
			continue
		}
		denials++
		if got := decided(t, deny, bash(list[i])); got != permission.BehaviorDeny {
			t.Errorf("the CLI denies %q, and the rule here does not", list[i])
		}
	}
	t.Logf("the CLI denies %d of %d spellings", denials, len(list))
	if denials < len(list)/5 {
		t.Errorf("the CLI denies %d of %d spellings, want many more", denials, len(list))
	}
}

// A guard on the real CLI denies commands that hide from the parser, although
// everything else allows them: quotes inside parameters, nested backquotes,
// substitutions in words, and names that operators make.
func TestRealGuardSeesClasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := prepareProject(dir); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "repo")
	list := []string{
		`echo "${x:-'$(rm victim)'}"`, "cat <<E\n${x:-'$(rm victim)'}\nE", "echo `echo \\`echo \\\\\\`rm victim\\\\\\`\\``", "echo ${x:-<(rm victim)}",
		"f=.envx; cat ${f%x}", "f=x.env; grep . ${f#x}", "f=.ENV; head ${f,,}", "f=.e; f+=nv; cat < $f", "exec 9</bin/rm; /proc/self/fd/9 victim",
	}
	harmless := []string{"echo hello", "f=notes.txtx; cat ${f%x}"}
	guard := policy.MustRules("Bash(rm:*)", "Read(.env)").At(root).Deny("denied by the guard")
	for i, v := range verdicts(t, root, append(list, harmless...), func(o *claude.Options) {
		hardened := claude.Hardened()
		hardened.CLIPath, hardened.Env, hardened.Cwd = o.CLIPath, o.Env, o.Cwd
		hardened.AllowedTools = []string{"Bash"}
		hardened.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		}
		hardened.Hooks = []hook.Hook{hook.Guard("", guard)}
		*o = *hardened
	}) {
		switch {
		case i < len(list) && v != cliDenies:
			t.Errorf("%q %s in spite of the guard", list[i], v)
		case i >= len(list) && v != cliRuns:
			t.Errorf("%q %s, want that it runs", harmless[i-len(list)], v)
		}
	}
}

// A command that the CLI denies by rules for files is denied here by the same
// rules.
func TestRealDeniesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := prepareProject(dir); err != nil {
		t.Fatal(err)
	}
	var rules, list []string
	for _, g := range targets() {
		rules = append(rules, strings.ReplaceAll(g.rule, "«DIR»", dir))
	}
	for _, s := range some(slices.Concat(fileSpellings(), zshFileSpellings(), classFileSpellings()), 12) {
		list = append(list, strings.ReplaceAll(s.text, "«DIR»", dir))
	}
	root, home := filepath.Join(dir, "repo"), filepath.Join(dir, "home")
	deny := policy.MustRules(rules...).At(root).Deny("no")
	ctx := permission.WithHome(t.Context(), home)
	denials := 0
	for i, v := range verdicts(t, root, list, func(o *claude.Options) {
		o.DisallowedTools = rules
		o.Env = append(o.Env, "HOME="+home)
	}) {
		if v != cliDenies {
			continue
		}
		denials++
		req := bash(list[i])
		req.Cwd = root
		if d, err := deny(ctx, req); err != nil || d.Behavior() != permission.BehaviorDeny {
			t.Errorf("the CLI denies %q, and the rules here do not", list[i])
		}
	}
	t.Logf("the CLI denies %d of %d spellings", denials, len(list))
	if denials < len(list)/8 {
		t.Errorf("the CLI denies %d of %d spellings, want many more", denials, len(list))
	}
}

// A command that rules allow here is allowed by the CLI under the same rules:
// many programs, each with many kinds of arguments.
func TestRealAllowsCommands(t *testing.T) {
	t.Parallel()
	programs := strings.Fields("cp rm mkdir tar sort sed git find cat jq awk cd printf test")
	var list, rules []string
	for _, program := range programs {
		rules = append(rules, "Bash("+program+":*)")
		for _, form := range argumentForms() {
			list = append(list, strings.ReplaceAll(form, "«P»", program))
		}
	}
	dir := t.TempDir()
	allow := policy.MustRules(rules...).At(dir).Allow()
	allowed, stricter := 0, 0
	for i, v := range verdicts(t, dir, list, func(o *claude.Options) { o.AllowedTools = rules }) {
		ours := decided(t, allow, bash(list[i])) == permission.BehaviorAllow
		switch {
		case ours && v != cliRuns:
			t.Errorf("%q is allowed here, and the CLI %s", list[i], v)
		case ours:
			allowed++
		case v == cliRuns:
			stricter++
		}
	}
	t.Logf("of %d commands both allow %d, and the CLI %d more", len(list), allowed, stricter)
	if allowed < len(list)/3 {
		t.Errorf("%d of %d commands are allowed, want many more", allowed, len(list))
	}
}

// argumentForms are kinds of arguments; some lead elsewhere, some run code.
func argumentForms() []string {
	return []string{
		"«P» a b", "«P» -v a b", "«P» -rf a b", "«P» -t sub a", "«P» -vtsub a", "«P» -vt/tmp/x a", "«P» -uo/tmp/x a", "«P» -uo out a", "«P» --target-directory=sub a", "«P» -f/tmp/x", "«P» -f a", "«P» a=/tmp/x",
		"«P» -C sub a", "«P» -e x", "«P» 'a b'", "«P» 'a*'", "«P» '$x'", "«P» '{a,b}'", "«P» ''", "«P» --", "«P» sub/..", "«P» ~/x", "«P» a:b", "«P» -v 'a[$(touch x)]' b", "«P» 'a[`touch x`]'",
	}
}

// readForms are ways to reach .env, with what the rule Read(.env) does to each:
// here, and in the CLI. The guide shows them as a table.
func readForms() [][2]string {
	return [][2]string{
		{"its name", "cat .env"}, {"another program", "grep KEY .env"}, {"a redirection", "read x < .env"}, {"a path", "cat ./sub/../.env"}, {"a shell variable", "cat $PWD/.env"},
		{"a wildcard", "cat .e*"}, {"braces", "cat .e{nv,}"}, {"a variable with a known value", "f=.env; cat $f"}, {"a change of directory first", "cd sub && cat ../.env"}, {"a link of the process", "cat /proc/self/cwd/.env"},
		{"an option", "curl -d @.env localhost"}, {"code in another language", "python3 -c 'print(open(\".env\").read())'"}, {"a script", "bash -c 'cat .env'"}, {"a computed name", "cat $(printf .%s env)"},
		{"a search from above", "grep -r KEY ."}, {"a copy of a directory above", "cp -r . copy"}, {"a computed name for another program", "jq --rawfile a $(printf .%s env) ."}, {"a program that reads it by itself", "docker compose config"}, {"a script written earlier", "./show.sh"},
	}
}

// The guide states what a rule such as Read(.env) covers; this measures it.
func TestRealReadRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var list []string
	for _, form := range readForms() {
		list = append(list, form[1])
	}
	deny := policy.MustRules("Read(.env)").At(dir).Deny("no")
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts(t, dir, list, func(o *claude.Options) { o.DisallowedTools = []string{"Read(.env)"} }) {
		req := bash(list[i])
		req.Cwd = dir
		ours, cli := "passes", string(v)
		if decided(t, deny, req) == permission.BehaviorDeny {
			ours = "denies"
		}
		row := fmt.Sprintf("| %s | `%s` | %s | %s |", readForms()[i][0], list[i], ours, cli)
		if !strings.Contains(string(guide), row) {
			t.Errorf("the guide lacks %s", row)
		}
		if v == cliDenies && ours != "denies" {
			t.Errorf("the CLI denies %q, and the rule here does not", list[i])
		}
	}
}
