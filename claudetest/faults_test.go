package claudetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
)

func streaming() *claude.Launch {
	return &claude.Launch{Args: []string{"--output-format=stream-json"}}
}

const hello = `{"type":"user","message":{"role":"user","content":"x"}}` + "\n"

func TestPauseEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		cli := claudetest.NewCLI(&claudetest.Script{Faults: []claudetest.Fault{{Line: 1, Pause: time.Hour}}})
		_, err := claude.Connect(ctx, &claude.Options{Transport: cli})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
			t.Errorf("Connect = %v after %v", err, time.Since(began))
		}
	})
}

func TestStopWhileNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, err := claudetest.New().Start(t.Context(), streaming())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, hello)
		synctest.Wait()
		began := time.Now()
		if err := conn.Stop(); err != nil || time.Since(began) > time.Second {
			t.Errorf("Stop = %v after %v", err, time.Since(began))
		}
	})
}

func TestSignalFaultIsASignal(t *testing.T) {
	need.Signals.Test(t)
	// In the background of a script it is ignored, and a child would inherit that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	defer signal.Reset(os.Interrupt)
	script := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(script, []byte(`{"replies":["hi"],"faults":[{"line":3,"signal":"INT"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := claude.Ask(t.Context(), "x", &claude.Options{CLIPath: os.Args[0], Env: append(os.Environ(), claudetest.PlayFile(script))})
	if err == nil || !strings.Contains(err.Error(), "signal interrupt") {
		t.Errorf("error = %v, want the end by a signal", err)
	}
}

// TestRanIsTrue looks at sessions without their results, which list what was
// denied.
func TestRanIsTrue(t *testing.T) {
	tests := map[string]struct {
		hooks, reply string
		want         bool
	}{
		"agreed":    {`{"hookCallbackIds":["a"]}`, `"subtype":"success","response":{}`, true},
		"timeout":   {`{"hookCallbackIds":["a"],"timeout":1}`, "", false},
		"denied":    {`{"hookCallbackIds":["a"]}`, `"subtype":"success","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`, false},
		"blocked":   {`{"hookCallbackIds":["a"]}`, `"subtype":"success","response":{"decision":"block"}`, false},
		"foreign":   {`{"hookCallbackIds":["a"]}`, `"subtype":"success","response":{"hookSpecificOutput":{"hookEventName":"Stop"}}`, false},
		"failed":    {`{"hookCallbackIds":["a"]}`, `"subtype":"error","error":"no"`, true},
		"must work": {`{"hookCallbackIds":["a"],"onFailure":"block"}`, `"subtype":"error","error":"no"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				cli := claudetest.NewCLI(&claudetest.Script{
					Replies: []claudetest.Reply{claudetest.UseTool("Write", nil)},
					Tools: map[string]host.RunFunc{"Write": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
						ran = true
						return host.TextOutput("w"), nil
					}},
					Options: host.Options{Mode: permission.ModeBypassPermissions},
				})
				conn, err := cli.Start(t.Context(), streaming())
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					dec := json.NewDecoder(conn)
					for {
						var f struct {
							Type string
							ID   string `json:"request_id"`
						}
						if dec.Decode(&f) != nil {
							return
						}
						if f.Type == "control_request" && tt.reply != "" {
							go io.WriteString(conn, `{"type":"control_response","response":{"request_id":"`+f.ID+`",`+tt.reply+"}}\n")
						}
					}
				}()
				io.WriteString(conn, `{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{"PreToolUse":[`+tt.hooks+"]}}}\n")
				synctest.Wait()
				io.WriteString(conn, hello)
				<-time.After(time.Minute)
				if err := conn.Stop(); err != nil {
					t.Error(err)
				}
				// Without the result, as if it had not come yet.
				var lines bytes.Buffer
				for _, e := range cli.Recording().Entries() {
					if line, err := json.Marshal(e); err == nil && !bytes.Contains(e.Msg, []byte(`"type":"result"`)) {
						lines.Write(append(line, '\n'))
					}
				}
				early, err := claudetest.ReadRecording(&lines)
				if err != nil {
					t.Fatal(err)
				}
				u := early.Tool(t, "Write")
				if !u.Done || u.Ran != ran || ran != tt.want {
					t.Errorf("ran %v, want %v; transcript says %+v", ran, tt.want, u)
				}
			})
		})
	}
}

// A client that goes away while it is asked has allowed nothing, even when the
// session is cut off before its result.
func TestUnansweredDidNotRun(t *testing.T) {
	session := `{"dir":"out","t_ms":0,"msg":{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}}
{"dir":"out","t_ms":0,"msg":{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}}
ANSWER{"dir":"out","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}}
`
	for answer, want := range map[string]bool{
		`{"_eof":true}`: false,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow","updatedInput":{}}}}`: true,
	} {
		lines := strings.ReplaceAll(session, "ANSWER", `{"dir":"in","t_ms":0,"msg":`+answer+"}\n")
		tr, err := claudetest.ReadRecording(strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		if u := tr.Tool(t, "Bash"); u.Ran != want {
			t.Errorf("after %s: ran %v, want %v", answer, u.Ran, want)
		}
	}
}

// replay plays a recording to lines of a client.
func replay(t *testing.T, r *claudetest.Replayer, lines ...string) (out string, err error) {
	t.Helper()
	conn, err := r.Start(t.Context(), &claude.Launch{})
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(conn) // ends with the replay
		said <- string(data)
	}()
	for _, line := range lines {
		io.WriteString(conn, line+"\n") // fails when the replay has ended
	}
	conn.CloseWrite()
	err = conn.Wait()
	return <-said, err
}

func transcript(t *testing.T, lines ...string) *claudetest.Recording {
	t.Helper()
	tr, err := claudetest.ReadRecording(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReplayKeepsIDsApart(t *testing.T) {
	request := func(id, model string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"set_model","model":"` + model + `"}}`
	}
	reply := func(id string) string {
		return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{"model":"default"}}}`
	}
	tr := transcript(t,
		`{"dir":"in","t_ms":0,"msg":`+request("req_1", "a")+`}`, `{"dir":"out","t_ms":0,"msg":`+reply("req_1")+`}`,
		`{"dir":"in","t_ms":0,"msg":`+request("req_2", "b")+`}`, `{"dir":"out","t_ms":0,"msg":`+reply("req_2")+`}`)
	for range 20 { // the order of a map is another each time
		out, err := replay(t, claudetest.Replay(tr), request("req_0", "a"), request("req_1", "b"))
		if want := reply("req_0") + "\n" + reply("req_1") + "\n"; err != nil || out != want {
			t.Fatalf("replay said %s(%v), want %s", out, err, want)
		}
	}
}

func TestReplayNoticesExtraReplies(t *testing.T) {
	const (
		ask   = `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool"}}`
		reply = `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{}}}`
		other = `{"type":"control_response","response":{"subtype":"success","request_id":"nobody","response":{}}}`
	)
	entries := []string{`{"dir":"out","t_ms":0,"msg":` + ask + `}`, `{"dir":"in","t_ms":0,"msg":` + reply + `}`,
		`{"dir":"in","t_ms":1,"msg":{"_eof":true}}`, `{"dir":"meta","t_ms":1,"msg":{"exit_code":0}}`}
	r := claudetest.Replay(transcript(t, entries...))
	for _, extra := range []string{other, reply} {
		_, err := replay(t, r, reply, extra)
		if _, ok := errors.AsType[*claudetest.Difference](err); !ok || r.Err() == nil {
			t.Errorf("error = %v, Err = %v, want a Difference", err, r.Err())
		}
	}
	if _, err := replay(t, r, reply); err != nil || r.Err() != nil {
		t.Errorf("error = %v, Err = %v of a session that does not differ", err, r.Err())
	}
}

func TestRedaction(t *testing.T) {
	var file bytes.Buffer
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]any{"command": "x"}), claudetest.Say("y"))
	rec := claudetest.Record(cli, &file, &claudetest.Redaction{Secrets: []string{"pa&ss<word>"}})
	_, err := claude.Ask(t.Context(), "take hunter2hunter2", &claude.Options{
		Transport: rec,
		Env:       []string{"PATH=/bin", "GIT_AUTHOR_NAME=assistant", "PGPASSWORD=hunter2hunter2", "MY_KEY=command"},
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.AllowWith(map[string]string{"command": "login pa&ss<word> sk-ant-abc", "nested": `{"p":"pa\u0026ss\u003cword\u003e"}`}), nil
		},
	})
	if err != nil || rec.Err() != nil {
		t.Fatal(err, rec.Err())
	}
	got := file.String()
	for _, secret := range []string{`pa&ss`, `pa\u0026ss`, "sk-ant-abc", "hunter2hunter2"} {
		if strings.Contains(got, secret) {
			t.Errorf("the recording shows %s", secret)
		}
	}
	for _, kept := range []string{`"type":"assistant"`, `"command":"login [redacted] [redacted]"`} {
		if !strings.Contains(got, kept) {
			t.Errorf("the recording lacks %s:\n%s", kept, got)
		}
	}
}

func TestRecorderErrWhileItRecords(t *testing.T) {
	broken := func(claudetest.Dir, json.RawMessage) json.RawMessage { return json.RawMessage("{") }
	rec := claudetest.Record(claudetest.New(), io.Discard, &claudetest.Redaction{Line: broken})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = rec.Err() // for the race detector
			}
		}
	}()
	_, err := claude.Ask(t.Context(), "hello", &claude.Options{Transport: rec})
	close(stop)
	<-stopped
	if err != nil || rec.Err() == nil {
		t.Errorf("session %v, recording %v", err, rec.Err())
	}
}

func TestHostOptionsKeepTheirSchema(t *testing.T) {
	var schema string
	cli := claudetest.NewHost(host.AgentFunc(func(_ context.Context, t *host.Turn) error {
		schema = string(t.JSONSchema())
		return nil
	}), &host.Options{JSONSchema: []byte(`{"type":"object"}`)})
	if _, err := claude.Ask(t.Context(), "x", &claude.Options{Transport: cli}); err != nil {
		t.Fatal(err)
	}
	if schema != `{"type":"object"}` {
		t.Errorf("schema %q", schema)
	}
}
