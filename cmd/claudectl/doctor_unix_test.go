//go:build unix

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// diagnose runs doctor and returns what it has found, by name.
func diagnose(t *testing.T, code exitCode, args ...string) map[string]finding {
	t.Helper()
	got := invoke(t, "", append([]string{"doctor", "--json"}, args...)...)
	if got.code != int(code) || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q, want %d and nothing", got.code, got.stderr, code)
	}
	var u checkup
	if err := json.Unmarshal([]byte(got.stdout), &u); err != nil {
		t.Fatalf("%v in %q", err, got.stdout)
	}
	found := make(map[string]finding)
	for _, f := range u.Findings {
		found[f.Name] = f
		if f.Grade != gradeOK && f.Advice == "" {
			t.Errorf("%+v says nothing of what to do", f)
		}
	}
	return found
}

func TestDoctor(t *testing.T) {
	found := diagnose(t, exitFindings, "--cli", fakeCLI(t, `["x"]`))
	for _, name := range []string{"cli", "handshake", "version", "models", "mcp", "stop"} {
		if found[name].Grade != gradeOK {
			t.Errorf("%s: %+v, want ok", name, found[name])
		}
	}
	if found["account"].Grade != gradeFail {
		t.Errorf("account: %+v, want a failure, there is none", found["account"])
	}
	if text := invoke(t, "", "doctor", "--cli", fakeCLI(t, `["x"]`)).stdout; !strings.Contains(text, "-> ") || !strings.Contains(text, "ok       handshake") {
		t.Errorf("as text: %q", text)
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	write(t, plain, "no program", 0o600)
	dies := filepath.Join(dir, "dies")
	write(t, dies, "#!/bin/sh\necho out of luck >&2\nexit 3\n", 0o700)
	if f := diagnose(t, exitNotFound, "--cli", filepath.Join(dir, "none"))["cli"]; f.Grade != gradeFail || !strings.Contains(f.Advice, "install") {
		t.Errorf("missing: %+v, want the advice to install it", f)
	}
	if f := diagnose(t, exitStart, "--cli", plain)["cli"]; f.Grade != gradeFail {
		t.Errorf("not executable: %+v, want a failure", f)
	}
	if f := diagnose(t, exitStart, "--cli", dies)["handshake"]; f.Grade != gradeFail || !strings.Contains(f.Detail, "out of luck") {
		t.Errorf("dies: %+v, want what it said", f)
	}
}

func TestCheckVersion(t *testing.T) {
	for _, test := range []struct {
		version string
		grade   grade
		lacks   string
	}{
		{"2.1.325", gradeOK, ""},
		{"3.0.0", gradeOK, ""},
		{"2.1.100", gradeWarn, "results name their prompts"},
		{"1.0.70", gradeWarn, "hooks are called"},
		{"0.9.0", gradeFail, ""},
		{"", gradeWarn, ""},
	} {
		f := checkVersion(test.version)
		if f.Grade != test.grade || test.lacks != "" && !strings.Contains(strings.Join(f.Items, "\n"), test.lacks) {
			t.Errorf("%q: %+v, want %s and %q", test.version, f, test.grade, test.lacks)
		}
	}
}
