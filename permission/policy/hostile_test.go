package policy_test

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// Texts that are made to keep a reader busy are decided in time, and within a
// stack that a program can spare.
func TestHostileCommands(t *testing.T) {
	long.Test(t, "decides about thousands of hostile commands")
	t.Parallel()
	defer debug.SetMaxStack(debug.SetMaxStack(256 << 20))
	const size = 24 << 10
	rules := policy.MustRules("Bash(touch:*)", "Bash(a* -p *)", "Read(.env)", "Edit(/x/**)")
	for _, unit := range []string{
		"(", "( ", "((", "{ ", "{", "[", "$(", "\"$(", "$((", "$((- ", "`\\", "`", "${a:-", "${a[", "if ", "if a; then ", "while ", "for i in a; do ", "case x in a) ", "! ", "time ", "coproc ", "f()", "function f ",
		"eval ", "xargs ", "env ", "bash -c ", "a|", "a&&", "<<A;", "cat <<A ", "a=(", "((- - ", "[[ ! ", "[[ ( ", "{a,", "{a,b}", "{1..999}", "*", "?*", "a/", "../", "$a", "\"$a\" ", "a ", "'a b' ", "\\\n", "#\n", ";", "a;",
		"(echo \")\";", "(echo };", "(case a in a) :;; esac;", "$(echo \")\"; ", "((\")\" ", "if a; then echo fi; ", "{ echo '}';", "sh -c 'sh -c ", "env 'env ", "a=b ", "<a ", ">a ", "${!a}", "@(", "=(", "<(a) ", "a <<E\n$(", "x=x; ", "touch",
	} {
		text := strings.Repeat(unit, size/len(unit))
		for _, command := range []string{text, "a " + text, "touch '" + strings.ReplaceAll(text, "'", "") + "'", text + strings.Repeat(")", size/3)} {
			begin := time.Now()
			deny := decided(t, rules.Deny("no"), bash(command))
			allow := decided(t, rules.Allow(), bash(command))
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("%.20q… takes %v", command, took)
			}
			if allow == permission.BehaviorAllow && deny != permission.BehaviorDeny {
				t.Errorf("%.20q… is allowed and not denied", command)
			}
		}
	}
}
