package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// TestShellNumbers measures the numbers that SECURITY.md publishes, and
// compares them:
//
//	go test ./permission/policy -run Numbers -v
func TestShellNumbers(t *testing.T) {
	t.Parallel()
	texts := append(spellings(), lines(t, "attacks.txt")...)
	effective, passed := deniedRemovals(t, removing, texts)
	list, alarms := falseAlarms(t)
	t.Logf("denied by mistake:\n%s", strings.Join(alarms, "\n"))
	if effective < len(texts)*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective, len(texts))
	}
	if 100*len(alarms) > len(list) || len(list) < 400 {
		t.Errorf("%d of %d ordinary commands are denied, want at most 1 %% of at least 400", len(alarms), len(list))
	}
	published(t, "Of %d spellings of a denied command "+inBash+" and %d pass; of %d ordinary commands %d are denied by mistake.", len(texts), effective, passed, len(list), len(alarms))
}

// inBash is the documents' phrase for how many spellings have an effect.
const inBash = "%d have the effect in bash 5.2,"

// published checks that SECURITY.md states the measured numbers: a sentence with
// numbers. How many spellings have an effect depends a little on the programs of
// a machine; every other number must be the same.
func published(t *testing.T, sentence string, numbers ...any) {
	t.Helper()
	t.Logf(sentence, numbers...)
	text, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(sentence), "%d", "([0-9]+)")
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Errorf("SECURITY.md does not say: "+sentence, numbers...)
		return
	}
	for i, number := range numbers {
		said, err := strconv.Atoi(string(found[i+1]))
		measured := number.(int)
		tolerated := 0
		if i == 1 && strings.Contains(sentence, "have the effect") {
			tolerated = max(measured/20, 10) // some are slow, and given up on a busy machine
		}
		if err != nil || said < measured-tolerated || said > measured+tolerated {
			t.Errorf("SECURITY.md says %s: number %d is %d", found[0], i+1, measured)
		}
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
