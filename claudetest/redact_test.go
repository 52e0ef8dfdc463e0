package claudetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// ended is a CLI that has ended before its output is read.
type ended struct {
	claude.NoProcess
	io.Reader
}

func (c ended) Start(context.Context, *claude.Launch) (claude.Conn, error) { return c, nil }
func (ended) Write(b []byte) (int, error)                                  { return len(b), nil }
func (ended) CloseWrite() error                                            { return nil }
func (ended) Stop() error                                                  { return nil }
func (ended) Kill() error                                                  { return nil }
func (ended) Wait() error                                                  { return nil }

// A key that is spread over pieces is hidden even if the process has ended before they
// are read, and what was held back is recorded when the output ends.
func TestRecordStreamedSecretAfterExit(t *testing.T) {
	var output strings.Builder
	for _, piece := range []string{"it is sk-ant-", "api03-abcd", "efgh"} {
		fmt.Fprintf(&output, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}}`+"\n", piece)
	}
	var file bytes.Buffer
	rec := claudetest.Record(ended{Reader: strings.NewReader(output.String())}, &file, nil)
	conn, err := rec.Start(t.Context(), &claude.Launch{})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Fatal(err)
	}
	got := file.String()
	for _, piece := range []string{"sk-ant", "api03", "efgh"} {
		if strings.Contains(got, piece) {
			t.Errorf("the recording shows %q", piece)
		}
	}
	if n := strings.Count(got, "text_delta"); n != 3 || !strings.Contains(got, "it is ") || !strings.Contains(got, `"exit_code":0`) {
		t.Errorf("%d pieces in:\n%s", n, got)
	}
}

// noting is a Conn that counts how often it is to look at what the CLI has started.
type noting struct {
	ended
	notes *int
}

func (n noting) Start(context.Context, *claude.Launch) (claude.Conn, error) { return n, nil }
func (n noting) Note()                                                      { *n.notes++ }
func (n noting) Kill() error                                                { *n.notes += 10; return nil }
func (n noting) PID() int                                                   { return 1 }
func (n noting) StderrTail() string                                         { return "x" }

// Behind a recording too, a Conn notes what the CLI has started and kills it, and its process
// and standard error are known.
func TestRecordPassesNoteOn(t *testing.T) {
	notes := 0
	for _, behind := range []claude.Transport{noting{ended{Reader: strings.NewReader("")}, &notes}, ended{Reader: strings.NewReader("")}} {
		conn, err := claudetest.Record(behind, io.Discard, nil).Start(t.Context(), &claude.Launch{})
		if err != nil {
			t.Fatal(err)
		}
		conn.Note()
		if err := conn.Kill(); err != nil {
			t.Error(err)
		}
		notes += 100*conn.PID() + 1000*len(conn.StderrTail())
	}
	if notes != 1111 { // each once
		t.Errorf("noted %d times, killed %d times, and its process and standard error are known %d times", notes%10, notes/10%10, notes/100)
	}
}
