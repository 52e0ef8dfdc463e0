package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// sessionLine finds the session that "claudectl run" made.
var sessionLine = regexp.MustCompile(`resume with: claudectl run --resume ([0-9a-f-]{36})`)

// TestRealSessions lists, shows and resumes sessions that the real CLI has written:
// a plain one, one with a subagent that gets a title, and a fork.
func TestRealSessions(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	invoke := func(args ...string) outcome {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
		if code != 0 {
			t.Fatalf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout.String(), stderr.String())
		}
		return outcome{code, stdout.String(), stderr.String()}
	}
	ask := func(prompt string, replies ...claudetest.Reply) string {
		t.Helper()
		model.Add(replies...)
		got := invoke("run", "--cli", cli, "--cwd", home, "--allow", "Agent", prompt)
		id := sessionLine.FindStringSubmatch(got.stderr)
		if id == nil {
			t.Fatalf("no session in %q", got.stderr)
		}
		return id[1]
	}
	plain := ask("Count the bolts.", claudetest.Say("Seven bolts."))
	agent := ask("Have it looked at.", claudetest.UseTool("Agent", map[string]any{
		"description": "look around", "prompt": "Look at it", "subagent_type": "general-purpose", "run_in_background": false,
	}), claudetest.Say("I looked."), claudetest.Say("It was looked at."))
	fork := strings.TrimSpace(invoke("sessions", "fork", plain, "--title", "Another count").stdout)
	model.Add(claudetest.Say("Eight bolts."))
	if got := invoke("sessions", "resume", fork, "--cli", cli, "Count again."); got.stdout != "Eight bolts.\n" {
		t.Errorf("the fork, resumed, says %q", got.stdout)
	}
	invoke("sessions", "rename", agent, "A long look")

	list := invoke("sessions", "list").stdout
	t.Logf("claudectl sessions list\n%s", list)
	for _, want := range []string{
		`(?m)^  AGE +TITLE +BRANCH +TURNS +COST +ID$`,
		`(?m)^  \w+ +Count the bolts\. +1 .* ` + plain + `$`,
		`(?m)^  \w+ +A long look +1 .* ` + agent + `$`,
		`(?m)^  \w+ +Another count +2 .* ` + fork + `$`,
	} {
		if !regexp.MustCompile(want).MatchString(list) || strings.Count(list, "\n") != 4 {
			t.Errorf("%s is not in\n%s", want, list)
		}
	}
	for id, wants := range map[string][]string{
		plain: {"Count the bolts.\n" + plain, "you\n  Count the bolts.", "claude\n  Seven bolts."},
		fork:  {"Another count\n" + fork, "you\n  Count the bolts.", "claude\n  Seven bolts.", "you\n  Count again.", "claude\n  Eight bolts."},
		agent: {"A long look\n" + agent, "tool\n  Agent {", "result\n", "I looked.", "claude\n  It was looked at.", "Subagents\n", "general-purpose: look around"},
	} {
		shown := invoke("sessions", "show", id).stdout
		t.Logf("claudectl sessions show %s\n%s", id, shown)
		rest := shown
		for _, want := range wants { // in this order
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%q is missing, or in the wrong place, in\n%s", want, shown)
				break
			}
			rest = after
		}
	}

	// A person picks the fork and asks on.
	model.Add(claudetest.Say("Nine bolts."))
	w := open(t, env, "sessions", "resume", "--cli", cli)
	choices := w.see("Which one? ")
	number := regexp.MustCompile(`(?m)^ +(\d) +\w+ +Another count`).FindStringSubmatch(choices)
	if number == nil {
		t.Fatalf("the fork is not among\n%s", choices)
	}
	w.enter("7\n")
	w.see(`"7" is not a number from 1 to 3.`)
	w.see("Which one? ")
	w.enter(number[1] + "\n")
	w.see("Another count")
	w.see("> ")
	w.enter("And now?\n")
	w.see("Nine bolts.")
	if code, shown := w.exit(); code != 0 {
		t.Errorf("exit code %d, shown %q", code, shown)
	}
	if shown := invoke("sessions", "show", fork).stdout; !strings.HasSuffix(strings.TrimSpace(shown), "claude\n  Nine bolts.") {
		t.Errorf("the fork ends otherwise:\n%s", shown)
	}
}
