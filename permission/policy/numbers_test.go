package policy_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// TestShellNumbers measures what SECURITY.md publishes, and holds it there:
//
//	go test ./permission/policy -run Numbers -v
func TestShellNumbers(t *testing.T) {
	t.Parallel()
	texts := append(spellings(), lines(t, "attacks.txt")...)
	effective, passed := deniedRemovals(t, removing, texts)
	list, alarms := falseAlarms(t)
	t.Logf("%d of the spellings have the effect in this bash", effective)
	t.Logf("denied by mistake:\n%s", strings.Join(alarms, "\n"))
	if effective < len(texts)*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective, len(texts))
	}
	if 100*len(alarms) > 3*len(list) {
		t.Errorf("%d of %d ordinary commands are denied, want at most 3 %%", len(alarms), len(list))
	}
	published(t, fmt.Sprintf("Of %d spellings of a denied command %d pass; of %d ordinary commands %d are denied by mistake.",
		len(texts), passed, len(list), len(alarms)))
}

// published checks that SECURITY.md says what was measured.
func published(t *testing.T, sentence string) {
	t.Helper()
	t.Log(sentence)
	text, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(sentence)) {
		t.Errorf("SECURITY.md does not say: %s", sentence)
	}
}

// removing finds out which texts remove a file.
var removing = trial[bool]{
	prepare: func(dir string, _ int, _ string) error {
		if err := os.WriteFile(filepath.Join(dir, "other"), []byte("x\n"), 0o600); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "victim"), nil, 0o600)
	},
	happened: func(dir string, _ []byte) bool {
		_, err := os.Stat(filepath.Join(dir, "victim"))
		return err != nil
	},
}

// deniedRemovals runs every spelling of "rm victim" in a shell. None that removes
// the file may pass a rule that denies rm, or be allowed by rules for everything
// else.
func deniedRemovals(t *testing.T, run trial[bool], texts []string) (effective, passed int) {
	t.Helper()
	gone := run.effects(t, texts)
	deny := policy.MustRules("Bash(rm:*)").Deny("no")
	allow := policy.MustRules(everything()...).Allow()
	for i, text := range texts {
		if !gone[i] {
			continue
		}
		effective++
		if got := decided(t, deny, bash(text)); got != permission.BehaviorDeny {
			passed++
			t.Errorf("passes: %q", text)
		}
		if got := decided(t, allow, bash(text)); got == permission.BehaviorAllow {
			t.Errorf("is allowed: %q", text)
		}
	}
	return effective, passed
}

// everything are rules that allow all programs of the spellings, but rm.
func everything() []string {
	names := "echo printf test [ [[ read cat true bash sh env nice timeout command builtin exec eval source . trap alias hash find xargs git tar sort split make awk sed perl python3 node let unset declare export mapfile compgen set x f cp ln dd tee script flock su for if while case { ( ! time coproc"
	var rules []string
	for name := range strings.FieldsSeq(names) {
		rules = append(rules, "Bash("+name+":*)", "Bash("+name+"*)")
	}
	return rules
}

// falseAlarms lists commands of a developer's day, and those of them that are
// denied by rules which do not mean them.
func falseAlarms(t *testing.T) (list, alarms []string) {
	t.Helper()
	deny := policy.MustRules("Bash(rm:*)", "Bash(curl:*)", "Bash(sudo:*)", "Bash(git push:*)", "Bash(npm publish:*)",
		"Read(.env)", "Read(/secrets/**)", "Edit(/infra/**)").At("/repo").Deny("no")
	list = lines(t, "ordinary.txt")
	for _, command := range list {
		req := bash(command)
		req.Cwd = "/repo"
		if got := decided(t, deny, req); got != "" {
			alarms = append(alarms, command)
		}
	}
	return list, alarms
}

// lines reads commands from a file: one in each line, ␤ for a line break.
func lines(t *testing.T, name string) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		list = append(list, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "␤", "\n"))
	}
	return list
}
