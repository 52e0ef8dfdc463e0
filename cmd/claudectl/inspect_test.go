package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// aRecording is a recording of the real CLI from package claudetest.
const aRecording = "../../claudetest/testdata/sessions/c04_deny_message.ndjson"

func TestInspect(t *testing.T) {
	text := invoke(t, "", "inspect", aRecording)
	for _, want := range []string{"1 permission (1 denied)", "turn 1 · completed", "Write /repo/", "denied", "can_use_tool Write → denied", "exit code 0"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("the text does not say %q:\n%s", want, text.stdout)
		}
	}
	if text.code != 0 || text.stderr != "" || strings.Contains(text.stdout, "\x1b") {
		t.Errorf("exit code %d, stderr %q, or colours in what is piped", text.code, text.stderr)
	}
	var rep inspect.Report
	decode(t, invoke(t, "", "inspect", "--json", "--kind=permission", aRecording), &rep)
	if len(rep.Frames) != 2 || rep.Hidden == 0 || rep.Summary.Denied != 1 || len(rep.Exchanges) != 1 {
		t.Errorf("%d frames, %d hidden, %+v", len(rep.Frames), rep.Hidden, rep.Summary)
	}
	decode(t, invoke(t, "", "inspect", "--json", "--from=sdk", "--turn=1", "--text=behavior", aRecording), &rep)
	if len(rep.Frames) != 1 || rep.Frames[0].Subtype != "can_use_tool" {
		t.Errorf("%d frames, want the answer alone", len(rep.Frames))
	}
}

func TestInspectPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	data, err := os.ReadFile(aRecording)
	if err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, string(data), "inspect", "-", "--html", path); got.code != 0 || strings.TrimSpace(got.stdout) != path {
		t.Fatalf("%+v", got)
	}
	page, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(page), "<!DOCTYPE html>") {
		t.Errorf("%.60q, %v", page, err)
	}
	if got := invoke(t, string(data), "inspect", "-", "--html=-"); got.stdout != string(page) {
		t.Errorf("standard output has %d bytes, the file %d", len(got.stdout), len(page))
	}
}

// Bad input is reported on one line, with an exit code of its own.
func TestInspectBadInput(t *testing.T) {
	noFile := filepath.Join(t.TempDir(), "nothing")
	for _, tt := range []struct {
		stdin string
		args  []string
		code  exitCode
		want  string
	}{
		{"", []string{"inspect", noFile}, exitInput, "no such file"},
		{"", []string{"inspect", t.TempDir()}, exitInput, "directory"},
		{"", []string{"inspect", "-"}, exitFormat, "standard input: not a recording: it is empty"},
		{"hello\nworld", []string{"inspect", "-"}, exitFormat, "standard input: not a recording: line 1"},
		{"", []string{"inspect"}, exitUsage, "<file>"},
		{"", []string{"inspect", aRecording, aRecording, aRecording}, exitUsage, "only --unknown takes more than two recordings"},
		{"", []string{"inspect", "-", "-"}, exitUsage, "standard input is one recording"},
		{"", []string{"inspect", "--unknown", noFile}, exitInput, "no such file"},
		{"", []string{"inspect", "--unknown", t.TempDir()}, exitInput, "no recordings"},
		{"hello", []string{"inspect", "--unknown", "-"}, exitFormat, "standard input: not a recording: line 1"},
		{"", []string{"inspect", "-", "--from=me"}, exitUsage, "--from"},
		{"", []string{"inspect", aRecording, "--html", filepath.Join(noFile, "x")}, exitInput, "no such file"},
	} {
		got := invoke(t, tt.stdin, tt.args...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%v: %+v, want code %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
}

func TestInspectSecrets(t *testing.T) {
	line := `{"dir":"out","t_ms":0,"msg":{"type":"result","result":"the-secret-of-tests sk-ant-api03-x"}}`
	for _, args := range [][]string{{"inspect", "-"}, {"inspect", "-", "--json"}, {"inspect", "-", "--html=-"}} {
		if got := invoke(t, line, args...); strings.Contains(got.stdout, "secret-of-tests") || strings.Contains(got.stdout, "api03") {
			t.Errorf("%v shows a secret", args)
		}
	}
	if got := invoke(t, line, "inspect", "-", "--json", "--no-redact"); !strings.Contains(got.stdout, "the-secret-of-tests sk-ant-api03-x") {
		t.Errorf("--no-redact hides: %s", got.stdout)
	}
}

func TestInspectUnknown(t *testing.T) {
	folder := filepath.Dir(aRecording)
	clean := invoke(t, "", "inspect", "--unknown", folder)
	if clean.code != 0 || !strings.Contains(clean.stdout, "46 recordings") || !strings.Contains(clean.stdout, "is known and kept") || clean.stderr != "" {
		t.Errorf("%+v", clean)
	}
	line := `{"dir":"out","t_ms":0,"msg":{"type":"result","brand_new":"the-secret-of-tests"}}`
	got := invoke(t, line, "inspect", "--unknown", "-", aRecording)
	if got.code != int(exitFindings) || !strings.Contains(got.stdout, "result.brand_new  standard input:1") || !strings.Contains(got.stderr, "1 unknown and 0 changed names") {
		t.Errorf("%+v", got)
	}
	var s inspect.Survey
	object := invoke(t, line, "inspect", "--unknown", "--json", "-", aRecording)
	if err := json.Unmarshal([]byte(object.stdout), &s); err != nil || object.code != int(exitFindings) {
		t.Fatalf("%v in %+v", err, object)
	}
	if s.Recordings != 2 || len(s.Unknown) != 1 || s.Unknown[0].Name != "result.brand_new" {
		t.Errorf("%+v", s)
	}
}

// Two recordings are compared, in every form.
func TestInspectTwo(t *testing.T) {
	t.Parallel()
	const other = "../../claudetest/testdata/sessions/c01_allow_updatedInput_same.ndjson"
	page := filepath.Join(t.TempDir(), "page.html")
	for want, args := range map[string][]string{
		"turns that differ: 0 of 1": {"inspect", aRecording, aRecording},
		"turns that differ: 1 of 1": {"inspect", aRecording, other},
		`"turns_different":1`:       {"--json", "inspect", other, aRecording},
		"page.html":                 {"inspect", aRecording, other, "--html", page},
	} {
		if got := invoke(t, "", args...); got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	if data, err := os.ReadFile(page); err != nil || !strings.Contains(string(data), "turns that differ: 1 of 1") {
		t.Errorf("%v\n%.500s", err, data)
	}
}
