package tee

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// slowWriter is a disk that takes nothing until it is let go.
type slowWriter struct {
	mu    sync.Mutex
	gate  chan struct{}
	bytes bytes.Buffer
}

func (s *slowWriter) Write(b []byte) (int, error) {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.Write(b)
}

func (s *slowWriter) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.String()
}

// Past the bound bytes are left out and counted, the streams stay in order, and
// no half line is recorded.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowWriter{gate: make(chan struct{})}
		r := newRecorder(disk, nil)
		r.limit = 40
		r.start()
		r.record(claudetest.DirOut, []byte("{\"n\":1}\n{\"n\":"))
		synctest.Wait() // the disk is at it
		r.record(claudetest.DirOut, []byte("2}\n{\"n\":3}\n"))
		r.record(claudetest.DirOut, []byte(strings.Repeat("x", 100)))
		r.record(claudetest.DirOut, []byte(strings.Repeat("y", 100)))
		r.record(claudetest.DirIn, []byte("{}\n"))
		close(disk.gate)
		synctest.Wait()
		r.record(claudetest.DirOut, []byte("rest of a torn line\n{\"n\":4}\n"))
		err := r.close()
		if err == nil || !strings.Contains(err.Error(), "200 bytes are missing") {
			t.Errorf("error %v", err)
		}
		want := `{"dir":"out","t_ms":0,"msg":{"n":1}}
{"dir":"out","t_ms":0,"msg":{"n":2}}
{"dir":"out","t_ms":0,"msg":{"n":3}}
{"dir":"meta","t_ms":0,"msg":{"lost_bytes":200,"dir":"out"}}
{"dir":"in","t_ms":0,"msg":{}}
{"dir":"out","t_ms":0,"msg":{"n":4}}
`
		if got := disk.String(); got != want {
			t.Errorf("recorded\n%s\nwant\n%s", got, want)
		}
	})
}

// A disk that never answers delays the end for a while, not for ever.
func TestDeadDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowWriter{gate: make(chan struct{})}
		r := newRecorder(disk, nil)
		r.start()
		r.argv([]string{"claude"})
		begun := time.Now()
		if err := r.close(); err != errSlow || time.Since(begun) != 2*closeTimeout {
			t.Errorf("error %v after %v", err, time.Since(begun))
		}
		close(disk.gate)
	})
}

// BenchmarkRecorder measures the cost of recording, per byte of the session.
func BenchmarkRecorder(b *testing.B) {
	data := []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one two = three: \"four\" "}},"session_id":"ea8a1c45-b04c-4c6b-a4a6-10d9109ff687","parent_tool_use_id":null}` + "\n")
	r := newRecorder(io.Discard, new(secret.Set))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.handle(event{dir: claudetest.DirOut, data: data})
	}
}

// A key that is spread over pieces is not recorded, even if the stream ends in it.
func TestStreamedSecret(t *testing.T) {
	const piece = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}},"parent_tool_use_id":null}` + "\n"
	var out bytes.Buffer
	r := newRecorder(&out, secret.FromEnv([]string{"MY_TOKEN=correct-horse-battery"}))
	r.start()
	for _, text := range []string{"it is correct", "-horse-", "battery; sk-a", "nt-api03-ab", "cdef and correct-hor"} {
		r.record(claudetest.DirOut, fmt.Appendf(nil, piece, text))
	}
	r.end(claudetest.DirOut)
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "horse") || strings.Contains(got, "api03") || strings.Count(got, "\n") != 5 || !strings.Contains(got, "it is [redacted]; [redacted] and [redacted]") {
		t.Errorf("recorded\n%s", got)
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	r := newRecorder(&out, nil)
	r.start()
	for _, b := range []string{"\r\n\n", "plain\r\n", `{"a":1}`} {
		r.record(claudetest.DirOut, []byte(b))
	}
	r.record(dirStderr, []byte("oops\nunfinished"))
	r.end(claudetest.DirOut)
	r.record(claudetest.DirIn, []byte("a\xff\n"))
	r.end(claudetest.DirIn)
	r.exit(&Result{Code: 1})
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	tr, err := claudetest.ReadRecording(&out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range tr.Entries() {
		got = append(got, string(e.Dir)+" "+string(e.Msg))
	}
	want := []string{`out {"_raw":"plain"}`, `meta {"stderr":"oops"}`, `out {"a":1}`, "in {\"_raw\":\"a\ufffd\"}", `in {"_eof":true}`, `meta {"stderr":"unfinished"}`, `meta {"exit_code":1}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A line that is longer than any frame may be is cut, and the cut is marked.
func TestLongLine(t *testing.T) {
	long.Test(t, "records a line of 65 MB; TestSecretsInOddPlaces also has such a line")
	var out bytes.Buffer
	r := newRecorder(&out, nil)
	r.start()
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range 65 {
		r.handle(event{dir: claudetest.DirOut, data: piece})
	}
	r.handle(event{dir: claudetest.DirOut, data: []byte("\n{}\n")})
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 3 || len(lines[0]) > 2*headSize || !strings.Contains(lines[0], "(68157440 bytes)") || !strings.Contains(lines[1], `"msg":{}`) {
		t.Errorf("%d lines, the first of %d bytes: %.100s", len(lines), len(lines[0]), lines[0])
	}
}

// Nothing of a secret is recorded: not the part before the cut of a long line,
// and not where it is the name of a member or a number.
func TestSecretsInOddPlaces(t *testing.T) {
	const key, pin = "canary-0123456789", "4711471147"
	for name, tt := range map[string]struct {
		dir  claudetest.Dir
		line string
	}{
		"stderr, at the cut":    {dirStderr, strings.Repeat("x", headSize-6) + key + " and more"},
		"stderr, form":          {dirStderr, strings.Repeat("x", headSize-30) + " bearer canary-abcdefghijklmnopqrstuvwxyz"},
		"long line, at the cut": {claudetest.DirOut, `{"a":"` + strings.Repeat("x", headSize-12) + key + `","b":"` + strings.Repeat("y", ndjson.DefaultLimit) + `"}`},
		"long line, by name":    {claudetest.DirOut, `{"a":"` + strings.Repeat("x", headSize-40) + `","password":"canary","b":"` + strings.Repeat("y", ndjson.DefaultLimit) + `"}`},
		"name of a member":      {claudetest.DirOut, `{"a":{"` + key + `":1,"x` + key + `":2}}`},
		"names of members":      {claudetest.DirIn, `{"a":{"` + key + `":1},"` + key + `":{"sk-ant-canary":2,"sk-ant-canary2":3}}`},
		"number":                {claudetest.DirOut, `{"pin":` + pin + `,"list":[` + pin + `]}`},
		"number by name":        {claudetest.DirOut, `{"password":` + pin + `1}`},
		"broken line":           {claudetest.DirOut, `{"password":"canary","pin":` + pin},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "long line, by name" {
				long.Test(t, "records another line of 64 MB")
			}
			var out bytes.Buffer
			r := newRecorder(&out, secret.FromEnv([]string{"A_KEY=" + key, "A_PASSWORD=" + pin}))
			r.start()
			r.handle(event{dir: tt.dir, data: []byte(tt.line + "\n")})
			r.handle(event{dir: claudetest.DirOut, data: []byte(`{"after":true}` + "\n")})
			if err := r.close(); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if strings.Contains(got, "canar") || strings.Contains(got, "4711") {
				i := max(strings.Index(got, "canar"), strings.Index(got, "4711"))
				t.Errorf("recorded …%s", got[max(0, i-40):min(len(got), i+60)])
			}
			if tr, err := claudetest.ReadRecording(&out); err != nil || len(tr.Entries()) != 2 {
				t.Errorf("the recording cannot be read: %v", err)
			}
		})
	}
}
