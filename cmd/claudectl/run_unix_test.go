//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/brief"
)

// fakeCLI returns an executable that plays a script: this program as
// "claudectl fake", in the two lines that its help recommends.
func fakeCLI(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	write(t, file, script, 0o600)
	cli := filepath.Join(dir, "claude")
	write(t, cli, fmt.Sprintf("#!/bin/sh\nexec %q fake %q \"$@\"\n", built(t), file), 0o700)
	return cli
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

const twoSteps = `[{"say": "Let me look.", "use": [{"name": "Bash", "input": {"command": "make"}, "output": "built"}]},
	"It builds. \u001b[31mthe-secret-of-tests \u009b"]`

func TestRunPiped(t *testing.T) {
	cli := fakeCLI(t, twoSteps)
	answer := "Let me look.\nIt builds. \\x1b[31m[redacted] \\u009b\n"
	t.Run("denied", func(t *testing.T) {
		got := invoke(t, "", "run", "--cli", cli, "Does it build?")
		if got.code != 0 || got.stdout != answer {
			t.Errorf("exit code %d, stdout %q, want 0 and %q", got.code, got.stdout, answer)
		}
		for _, want := range []string{"> Bash  make", "denied: Bash: no terminal to ask on", "< Bash denied: ", "$0.0003 this turn, $0.0003 this session, 2 agentic turns", "resume with: claudectl run --resume "} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("stderr %q, want %q in it", got.stderr, want)
			}
		}
		if strings.Contains(got.stderr, "\x1b") {
			t.Errorf("stderr %q has codes in it", got.stderr)
		}
	})
	t.Run("allowed, prompt by stdin, quiet", func(t *testing.T) {
		got := invoke(t, "Does it build?", "run", "--cli", cli, "--allow", "Bash", "--quiet", "--no-stream")
		if got.code != 0 || got.stdout != answer || got.stderr != "" {
			t.Errorf("got %+v, want the answer %q and nothing else", got, answer)
		}
	})
	t.Run("denied, quiet", func(t *testing.T) {
		for _, flag := range []string{"--quiet", "--json"} {
			if got := invoke(t, "", "run", "--cli", cli, flag, "Does it build?"); got.code != 0 || got.stderr != "" {
				t.Errorf("%s: exit code %d, stderr %q, want 0 and nothing", flag, got.code, got.stderr)
			}
		}
	})
	t.Run("JSON", func(t *testing.T) {
		got := invoke(t, "", "run", "--json", "--cli", cli, "--allow", "Bash", "Does it build?")
		last := ""
		for line := range strings.Lines(got.stdout) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q is not JSON", line)
			}
			last = line
		}
		if strings.Contains(got.stdout, "\u009b") {
			t.Errorf("stdout %q has a control character in it", got.stdout)
		}
		if !strings.Contains(last, `"type":"result"`) || strings.Contains(got.stdout, "the-secret") || got.stderr != "" {
			t.Errorf("got %+v, want lines of JSON without secrets, the last a result", got)
		}
	})
}

// A secret is hidden even where a line is cut inside it, and where only the name
// of the member gives it away.
func TestRunHides(t *testing.T) {
	long := strings.Repeat("x", brief.CallWidth-10)
	cli := fakeCLI(t, `[{"use": [{"name": "Bash", "input": {"command": "`+long+` the-secret-of-tests"}}, {"name": "mcp__a__b", "input": {"password": "swordfish"}}]}, "Done."]`)
	got := invoke(t, "", "run", "--cli", cli, "x")
	for _, want := range []string{"> Bash  " + long + " [redacted...", `> mcp__a__b  {"password":"[redacted]"}`} {
		if !strings.Contains(got.stderr, want+"\n") {
			t.Errorf("stderr %q, want the line %q", got.stderr, want)
		}
	}
}

func TestRunStructured(t *testing.T) {
	dir := t.TempDir()
	schema := filepath.Join(dir, "schema.json")
	write(t, schema, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, 0o600)
	cli := fakeCLI(t, `[{"use": [{"name": "StructuredOutput", "input": {"n": 4}}]}]`)
	got := invoke(t, "", "run", "--cli", cli, "--schema", schema, "2+2")
	if got.code != 0 || got.stdout != "{\"n\":4}\n" {
		t.Errorf("exit code %d, stdout %q, want 0 and the object alone; stderr %q", got.code, got.stdout, got.stderr)
	}
	got = invoke(t, "", "run", "--cli", fakeCLI(t, `["four"]`), "--schema", schema, "2+2")
	if got.code != int(exitOutput) {
		t.Errorf("exit code %d, want %d; stderr %q", got.code, exitOutput, got.stderr)
	}
}

// endless is an input without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestRunEndlessPrompt(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"run"}, endless{}, io.Discard, &stderr, nil)
	if code != int(exitFormat) || !strings.Contains(stderr.String(), "too long for a prompt") {
		t.Errorf("exit code %d, stderr %q, want %d and a word", code, stderr.String(), exitFormat)
	}
}

// Every outcome has its exit code and a line that explains it.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("plain"), "no program", 0o600)
	write(t, path("broken.ndjson"), "{\"dir\":\"out\",\"t_ms\":1,\"msg\":{}}\n{\"dir\":", 0o600)
	write(t, path("broken.json"), "[1]", 0o600)
	write(t, path("dies"), "#!/bin/sh\necho out of luck >&2\nexit 3\n", 0o700)
	crash := fakeCLI(t, `{"replies":["x"],"faults":[{"line":2,"exit":7}]}`)
	limit := fakeCLI(t, `[{"fail":{"status":529,"type":"overloaded_error","message":"Overloaded"},"forever":true}]`)
	for _, test := range []struct {
		name string
		args []string
		code exitCode
		want string
	}{
		{"no such command", []string{"nonsense"}, exitUsage, "nonsense"},
		{"too many bad options", []string{"run", "--allow=Bash", "--deny=Bash", "x"}, exitUsage, "--allow: \"Bash\" is in --deny too"},
		{"fork of nothing", []string{"run", "--fork", "x"}, exitUsage, "--fork: needs --resume or --continue"},
		{"unknown flag", []string{"run", "--nonsense", "x"}, exitUsage, "unknown flag --nonsense"},
		{"no prompt", []string{"run"}, exitUsage, "no prompt"},
		{"bad option", []string{"run", "--max-turns=-1", "x"}, exitUsage, "--max-turns: -1"},
		{"missing script", []string{"fake", path("none")}, exitInput, "no such file"},
		{"script is a folder", []string{"fake", dir}, exitInput, "is a directory"},
		{"broken script", []string{"fake", path("broken.json")}, exitFormat, "broken.json"},
		{"broken recording", []string{"fake", path("broken.ndjson")}, exitFormat, "line 2"},
		{"missing schema", []string{"run", "--schema", path("none"), "x"}, exitInput, "no such file"},
		{"broken schema", []string{"run", "--schema", path("plain"), "x"}, exitFormat, "no JSON Schema"},
		{"schema that is a list", []string{"run", "--schema", path("broken.json"), "x"}, exitFormat, "it is not an object"},
		{"unknown CLI", []string{"run", "--cli", path("none"), "x"}, exitNotFound, "not found"},
		{"no CLI", []string{"run", "--cli", "claude-of-tests", "x"}, exitNotFound, "or name it in --cli"},
		{"not executable", []string{"run", "--cli", path("plain"), "x"}, exitStart, "not an executable"},
		{"CLI that dies", []string{"run", "--cli", path("dies"), "x"}, exitStart, "out of luck"},
		{"CLI that crashes", []string{"run", "--cli", crash, "x"}, exitCrash, "exit"},
		{"too many turns", []string{"run", "--cli", fakeCLI(t, twoSteps), "--max-turns=1", "--allow=Bash", "x"}, exitLimit, "max"},
		{"failed turn", []string{"run", "--cli", limit, "x"}, exitFailed, "Overloaded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := invoke(t, "", test.args...)
			if got.code != int(test.code) {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			var last string
			for line := range strings.Lines(got.stderr) {
				last = line
			}
			if !strings.HasPrefix(last, "claudectl: ") || !strings.Contains(last, test.want) {
				t.Errorf("stderr %q, want one line with %q at its end", got.stderr, test.want)
			}
			if strings.Contains(got.stderr, "goroutine") || strings.Count(got.stderr, "claudectl: ") != 1 {
				t.Errorf("stderr %q, want one clear line", got.stderr)
			}
		})
	}
}

func TestBadInputJSON(t *testing.T) {
	got := invoke(t, "", "run", "--json", "--cli", "claude-of-tests", "x")
	var report struct {
		Error string
		Code  exitCode `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(got.stderr), &report); err != nil || got.stdout != "" {
		t.Fatalf("%v, stdout %q, stderr %q, want an object on stderr", err, got.stdout, got.stderr)
	}
	if report.Code != exitNotFound || int(report.Code) != got.code || !strings.Contains(report.Error, "not found") {
		t.Errorf("got %+v and exit code %d, want %d", report, got.code, exitNotFound)
	}
}

// A recording of a session is replayed to the same SDK, and a different behaviour
// is reported.
func TestFakeRecording(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "session.ndjson")
	file, err := os.Create(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec := claudetest.Record(claudetest.New(claudetest.Say("Hello.")), file, nil)
	opts := claude.Options{Transport: rec}
	if _, err := claude.Ask(t.Context(), "Hi.", &opts); err != nil || rec.Err() != nil {
		t.Fatal(err, rec.Err())
	}
	dir := t.TempDir()
	cli := filepath.Join(dir, "claude")
	write(t, cli, fmt.Sprintf("#!/bin/sh\nexec %q fake %q \"$@\"\n", built(t), recording), 0o700)
	opts = claude.Options{CLIPath: cli, Env: []string{"HOME=" + dir}}
	if r, err := claude.Ask(t.Context(), "Hi.", &opts); err != nil || r.Text != "Hello." {
		t.Errorf("got %+v, %v, want the recorded answer", r, err)
	}
	_, err = claude.Ask(t.Context(), "Something else.", &opts)
	if err == nil || !strings.Contains(err.Error(), "replay: line") {
		t.Errorf("another prompt: %v, want the line that differs", err)
	}
}

// The CLI gets an address for its telemetry, and never the console.
func TestRunTelemetry(t *testing.T) {
	cli := fakeCLI(t, `["hi"]`)
	seen := filepath.Join(t.TempDir(), "env")
	spy := filepath.Join(t.TempDir(), "claude")
	write(t, spy, fmt.Sprintf("#!/bin/sh\nenv > %q\nexec %q \"$@\"\n", seen, cli), 0o700)
	t.Setenv("OTEL_METRICS_EXPORTER", "console")
	if got := invoke(t, "", "run", "--cli", spy, "--otel", "http://127.0.0.1:4318", "hello"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	env, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CLAUDE_CODE_ENABLE_TELEMETRY=1\n", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318\n", "OTEL_METRICS_EXPORTER=otlp\n"} {
		if !strings.Contains(string(env), want) {
			t.Errorf("no %q in\n%s", want, env)
		}
	}
	if got := invoke(t, "", "run", "--cli", spy, "--otel", "console", "hello"); got.code != int(exitUsage) || !strings.Contains(got.stderr, "--otel: the endpoint is not an http or https URL") {
		t.Errorf("%+v", got)
	}
}
