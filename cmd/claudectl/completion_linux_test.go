package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// completed returns the values that are offered for the last of these words.
func completed(t *testing.T, config, shell string, words ...string) []string {
	t.Helper()
	var values []string
	for line := range strings.Lines(complete(t, config, shell, words...).stdout) {
		value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		values = append(values, value)
	}
	return values
}

func complete(t *testing.T, config, shell string, words ...string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	args := append([]string{"complete", shell, "--"}, words...)
	code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, []string{"CLAUDE_CONFIG_DIR=" + config})
	if code != 0 || stderr.String() != "" {
		t.Errorf("%q: exit code %d, stderr %q", words, code, stderr.String())
	}
	return outcome{code, stdout.String(), stderr.String()}
}

const (
	parserID = "20000000-0000-4000-8000-000000000001"
	listID   = "10000000-0000-4000-8000-000000000001"
)

func TestComplete(t *testing.T) {
	config := sessionsAt(t)
	for _, test := range []struct {
		words string // a blank at the end begins another word
		want  string
	}{
		{"r", "run record"},
		{"w", ""}, // hidden
		{"sessions de", "delete"},
		{"run --ma", "--max-turns --max-budget"},
		{"sessions --li", "--limit"},
		{"--js", "--json"},
		{"run --json --ver", "--version"},
		{"run --mode p", "plan"},
		{"run --mode=p", "--mode=plan"},
		{"run --mode plan --mod", "--model --mode"},
		{"run --model m --mode a", "acceptEdits auto"},
		{"inspect --from ", "sdk cli"},
		{"completion ", "bash zsh fish"},
		{"inspect ", ":files"},
		{"run --schema ", ":files"},
		{"fake x.json ", ""},
		{"sessions show ", parserID + " " + listID},
		{"sessions show 2", parserID},
		{"sessions show PARS", parserID},
		{"sessions rename list", listID},
		{"sessions show " + parserID + " ", ""},
		{"sessions delete --yes sort", listID},
		{"nonsense ", ""},
	} {
		if got := completed(t, config, "zsh", strings.Split(test.words, " ")...); strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, want %q", test.words, got, test.want)
		}
	}
	if got := complete(t, config, "fish", "sessions", "show", "2").stdout; got != parserID+"\tFix the parser\n" {
		t.Errorf("a session is %q, want its title too", got)
	}
	// Bash takes the equals sign for a word of its own.
	if got := completed(t, config, "bash", "run", "--mode", "=", "pl"); !slices.Equal(got, []string{"plan"}) {
		t.Errorf("in bash: %q", got)
	}
	if got := completed(t, config, "bash", "inspect", "--from", "="); !slices.Equal(got, []string{"sdk", "cli"}) {
		t.Errorf("in bash, after the sign: %q", got)
	}
}

// TestCompletionScripts runs each script in its shell, as far as that goes
// without a person.
func TestCompletionScripts(t *testing.T) {
	config := sessionsAt(t)
	bin := t.TempDir()
	if err := os.Symlink(built(t), filepath.Join(bin, "claudectl")); err != nil {
		t.Fatal(err)
	}
	for shell, script := range map[string]string{
		"bash": `source <(claudectl completion bash) && COMP_WORDS=(claudectl sessions show pars) COMP_CWORD=3 && _claudectl && echo "${COMPREPLY[@]}"`,
		// What zsh offers is taken where it is handed over.
		"zsh":  `compdef() { }; source <(claudectl completion zsh); compadd() { print -- $values }; words=(claudectl sessions show pars) CURRENT=4 PREFIX=pars; typeset -A compstate; _claudectl; print -- $compstate[insert]`,
		"fish": `claudectl completion fish | source; complete -C "claudectl sessions show 2"`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			long.Test(t, "needs "+shell)
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), path, "-c", script)
			cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + config}
			out, err := cmd.CombinedOutput()
			want := map[string]string{"bash": parserID + "\n", "zsh": parserID + "\nmenu\n", "fish": parserID + "\tFix the parser\n"}[shell]
			if err != nil || string(out) != want {
				t.Errorf("%v: %q, want %q", err, out, want)
			}
		})
	}
}
