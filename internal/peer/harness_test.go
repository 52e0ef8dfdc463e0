package peer_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/wire"
)

// otherSide is the other side of the stream, played by the test by hand.
type otherSide struct {
	t      *testing.T
	peer   *peer.Peer
	in     *io.PipeWriter // to the peer
	out    *ndjson.Reader // from the peer
	log    *logBuffer
	served chan error

	mu       sync.Mutex
	messages []string
	faults   []string
	accepted []string
	handle   func(context.Context, *peer.Incoming)
}

func (f *otherSide) Message(m wire.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, string(m.Line))
}

func (f *otherSide) Accept(r wire.Request) bool {
	f.accepted = append(f.accepted, r.Subtype)
	return r.Subtype == "aside"
}

func (f *otherSide) Request(ctx context.Context, in *peer.Incoming) { f.handle(ctx, in) }

func (f *otherSide) Refuse(in *peer.Incoming) { in.Reply(json.RawMessage(`{"refused":true}`)) }

func (f *otherSide) Fault(line []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, err.Error())
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// bubble runs f with a peer and its far side, and ends both in order.
func bubble(t *testing.T, cfg peer.Config, f func(t *testing.T, far *otherSide)) {
	synctest.Test(t, func(t *testing.T) {
		toPeer, in := io.Pipe()
		fromPeer, out := io.Pipe()
		side := &otherSide{t: t, in: in, out: ndjson.NewReader(fromPeer), log: new(logBuffer), served: make(chan error, 1)}
		cfg.Writer = ndjson.NewWriter(out)
		cfg.Handler = side
		cfg.Log = slog.New(slog.NewTextHandler(side.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		side.peer = peer.New(cfg)
		r := ndjson.NewReader(toPeer)
		r.Limit = 100 << 10
		side.peer.Serve(r, func(err error) { side.served <- err })
		f(t, side)
		in.Close()
		if err := <-side.served; err != nil {
			t.Errorf("Serve = %v", err)
		}
		out.Close()
		fromPeer.Close()
		side.peer.Close(io.EOF)
		side.peer.Wait()
	})
}

func (f *otherSide) send(line string) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, line+"\n"); err != nil {
		f.t.Fatal(err)
	}
}

func (f *otherSide) receive() string {
	f.t.Helper()
	line, err := f.out.Next()
	if err != nil {
		f.t.Fatal(err)
	}
	return string(line)
}

func (f *otherSide) expect(want string) {
	f.t.Helper()
	if got := f.receive(); got != want {
		f.t.Errorf("peer wrote\n %s\nwant\n %s", got, want)
	}
}

func request(id, subtype string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"` + subtype + `"}}`
}

func success(id, payload string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + payload + `}}`
}

func failure(id, text string) string {
	return `{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"` + text + `"}}`
}

func cancelled(id string) string {
	return `{"type":"control_cancel_request","request_id":"` + id + `"}`
}

// outcome is the outcome of a call.
type outcome struct {
	payload string
	err     error
}

// call starts a call and returns where its outcome will be.
func (f *otherSide) call(ctx context.Context, c peer.Call) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := f.peer.Call(ctx, c)
		done <- outcome{string(r.Payload), err}
	}()
	return done
}
