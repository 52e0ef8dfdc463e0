package claudetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// session is a small session whose parts can be varied.
func session(t *testing.T, transport claude.Transport, prompt, model string, allow bool) (text string, err error) {
	t.Helper()
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: transport,
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			if allow {
				return permission.Allow(), nil
			}
			return permission.Deny("no"), nil
		}})
	if err != nil {
		return "", err
	}
	defer s.Close()
	for m, err := range s.Run(t.Context(), prompt) {
		if err != nil {
			return text, err
		}
		if r, ok := m.(*message.Result); ok {
			text = r.Text
		}
	}
	if model != "" {
		if err := s.SetModel(t.Context(), model); err != nil {
			return text, err
		}
	}
	s.Close()
	return text, s.Wait()
}

func record(t *testing.T) *claudetest.Recording {
	t.Helper()
	var file bytes.Buffer
	rec := claudetest.Record(claudetest.New(claudetest.UseTool("Write", map[string]string{"file_path": "/repo/a"}), claudetest.Say("done")), &file, nil)
	if text, err := session(t, rec, "hello", "opus", true); err != nil || text != "done" || rec.Err() != nil {
		t.Fatalf("recorded %q, %v, %v", text, err, rec.Err())
	}
	tr, err := claudetest.ReadRecording(&file)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recording := record(t)
		replay := claudetest.Replay(recording)
		text, err := session(t, replay, "hello", "opus", true)
		if err != nil || text != "done" || replay.Err() != nil {
			t.Errorf("replayed %q, %v, %v", text, err, replay.Err())
		}
	})
}

// A session that differs from its recording fails where it first differs.
func TestReplayDifferences(t *testing.T) {
	tests := []struct {
		name, prompt, model string
		allow               bool
		want                string
	}{
		{"prompt", "hi", "opus", true, `message.content[0].text is "hi", want "hello"`},
		{"value", "hello", "sonnet", true, `request.model is "sonnet", want "opus"`},
		{"decision", "hello", "opus", false, `response.response.behavior is "deny", want "allow"`},
		{"too little", "hello", "", true, `the SDK has closed the stream`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				replay := claudetest.Replay(record(t))
				_, err := session(t, replay, tt.prompt, tt.model, tt.allow)
				d, ok := errors.AsType[*claudetest.Difference](replay.Err())
				if !ok || !strings.Contains(d.Error(), tt.want) || d.Line == 0 {
					t.Errorf("difference %v, session %v, want %q", replay.Err(), err, tt.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		replay := claudetest.Replay(record(t))
		s, err := claude.Connect(t.Context(), &claude.Options{Transport: replay,
			CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
				return permission.Allow(), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		<-s.Done() // nothing is sent
		if d, ok := errors.AsType[*claudetest.Difference](s.Wait()); !ok || !strings.Contains(d.Problem, "wrote nothing for 10s") {
			t.Errorf("silence: %v", s.Wait())
		}
	})
}

// A request that is answered twice is a difference, even when both answers come
// before one is due.
func TestReplaySecondReply(t *testing.T) {
	const (
		asked    = `{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","tool_name":"A","input":{}}}`
		answered = `{"type":"control_response","response":{"subtype":"success","request_id":"u-1","response":{}}}`
		prompt   = `{"type":"user","message":{"role":"user","content":"x"}}`
	)
	entry := func(dir, msg string) string { return `{"dir":"` + dir + `","t_ms":0,"msg":` + msg + "}\n" }
	recording := entry("out", asked) + entry("in", prompt) + entry("in", answered)
	for name, tt := range map[string]struct {
		lines []string
		same  bool
	}{
		"once":          {[]string{answered, prompt}, true},
		"twice, early":  {[]string{answered, answered, prompt}, false},
		"twice, late":   {[]string{answered, prompt, answered}, false},
		"after the end": {[]string{prompt, answered, answered}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := claudetest.ReadRecording(strings.NewReader(recording))
			if err != nil {
				t.Fatal(err)
			}
			replay := claudetest.Replay(tr)
			conn, err := replay.Start(t.Context(), new(claude.Launch))
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, conn)
			for _, line := range tt.lines {
				if _, err := io.WriteString(conn, line+"\n"); err != nil && tt.same {
					t.Error(err)
				}
			}
			conn.CloseWrite()
			conn.Wait()
			if err := replay.Err(); (err == nil) != tt.same {
				t.Errorf("Err = %v", err)
			}
		})
	}
}

func TestRecordRedaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		rec := claudetest.Record(claudetest.New(), &file, &claudetest.Redaction{
			Secrets: []string{`my "own" word`},
			Line: func(dir claudetest.Dir, msg json.RawMessage) json.RawMessage {
				return bytes.ReplaceAll(msg, []byte("name-of-mine"), []byte("somebody"))
			},
		})
		r, err := ask(t, &claude.Options{
			Transport: rec, Env: []string{"MY_API_TOKEN=tok-12345678", "HOME=/home/user"},
			Settings: map[string]any{"env": map[string]string{"OTHER_TOKEN": "tok-of-settings"}},
		}, `tok-12345678 sk-ant-api03-abc my "own" word name-of-mine /home/user tok-of-settings`)
		if err != nil || rec.Err() != nil {
			t.Fatal(r, err, rec.Err())
		}
		got := file.String()
		for _, secret := range []string{"tok-12345678", "sk-ant-api03", "own", "name-of-mine", "tok-of-settings"} {
			if strings.Contains(got, secret) {
				t.Errorf("the recording holds %q", secret)
			}
		}
		if !strings.Contains(got, "[redacted] [redacted] [redacted] somebody /home/user") {
			t.Errorf("recording:\n%s", got)
		}
		for _, want := range []string{`"argv":["claude",`, `{"_eof":true}`, `"exit_code":0`, `"dir":"in"`, `"dir":"out"`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in:\n%s", want, got)
			}
		}
	})
}

// A key that is spread over the pieces of a streamed answer is not recorded.
func TestRecordStreamedSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		rec := claudetest.Record(claudetest.New(claudetest.Say("it is sk-ant-api03-abcdefgh, keep it").Chunks(9, 0)), &file, nil)
		if _, err := ask(t, &claude.Options{Transport: rec, PartialMessages: true}, "tell"); err != nil || rec.Err() != nil {
			t.Fatal(err, rec.Err())
		}
		var text strings.Builder
		tr, err := claudetest.ReadRecording(&file)
		if err != nil {
			t.Fatal(err)
		}
		pieces := 0
		for _, e := range tr.Entries() {
			var line struct {
				Event struct{ Delta struct{ Text string } }
			}
			if json.Unmarshal(e.Msg, &line) == nil && strings.Contains(string(e.Msg), "text_delta") {
				text.WriteString(line.Event.Delta.Text)
				pieces++
			}
		}
		if text.String() != "it is [redacted], keep it" || pieces < 3 {
			t.Errorf("%d pieces of %q", pieces, text.String())
		}
	})
}

func TestReadTranscriptErrors(t *testing.T) {
	for in, want := range map[string]string{
		"{\"dir\":\"in\",\"t_ms\":1,\"msg\":{}}\nhello": "line 2",
		`{"dir":"sideways","msg":{}}`:                   "line 1: no dir and msg",
		`{"dir":"in"}`:                                  "line 1: no dir and msg",
	} {
		if _, err := claudetest.ReadRecording(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}
