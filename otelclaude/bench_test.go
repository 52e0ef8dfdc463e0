package otelclaude_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/otelclaude"
)

// deltas is how many pieces the answer of a round has.
const deltas = 2000

const (
	benchDelta  = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there, this is text"}},"parent_tool_use_id":null,"session_id":"3f9845ee-3d15-49bc-9e60-a8210e7a1993","uuid":"5979d4cf-5d39-48a6-b225-510d7172692e"}` + "\n"
	benchInit   = `{"type":"system","subtype":"init","session_id":"3f9845ee-3d15-49bc-9e60-a8210e7a1993","model":"opus","uuid":"u"}` + "\n"
	benchAnswer = `{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"Hello there\n"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}` + "\n"
	benchResult = `{"type":"result","subtype":"success","is_error":false,"result":"Hello","num_turns":1,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"opus":{"inputTokens":1,"costUSD":0.5}},"permission_denials":[],"session_id":"s","uuid":"u"}` + "\n"
)

// player is a CLI without a process that plays the same answer again and again,
// as fast as it is read, so that everything measured belongs to the session.
type player struct {
	claude.NoProcess
	mu    sync.Mutex
	ready sync.Cond
	head  []byte // to be read first
	round []byte
	at    int // in the round
	left  int // rounds
	over  bool
	ended chan struct{}
}

func newPlayer() *player {
	p := &player{ended: make(chan struct{}), round: []byte(benchInit + strings.Repeat(benchDelta, deltas) + benchAnswer + benchResult)}
	p.ready.L = &p.mu
	return p
}

func (p *player) Start(context.Context, *claude.Launch) (claude.Conn, error) { return p, nil }

// play makes the player send its answer once more.
func (p *player) play() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left++
	p.ready.Signal()
}

func (p *player) Read(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.head) == 0 && p.left == 0 {
		if p.over {
			return 0, io.EOF
		}
		p.ready.Wait()
	}
	if len(p.head) > 0 {
		n = copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	n = copy(b, p.round[p.at:])
	if p.at += n; p.at == len(p.round) {
		p.at = 0
		p.left--
	}
	return n, nil
}

func (p *player) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte(`{"type":"control_request"`)) {
		_, id, _ := bytes.Cut(line, []byte(`"request_id":`))
		id, _, _ = bytes.Cut(id, []byte(`,`))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.head = fmt.Appendf(p.head, `{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":{"claude_code_version":"2.1.325"}}}`+"\n", id)
		p.ready.Signal()
	}
	return len(line), nil
}

func (p *player) CloseWrite() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over = true
		close(p.ended)
		p.ready.Signal()
	}
	return nil
}

func (p *player) Stop() error { return p.CloseWrite() }

func (p *player) Kill() error { return p.Stop() }

func (p *player) Wait() error {
	<-p.ended
	return nil
}

// listener reads the answers of a player.
type listener struct {
	tb      testing.TB
	player  *player
	session *claude.Session
}

// rounds is how answers are read: not observed, observed without an SDK, and
// observed with one.
var rounds = []struct {
	name   string
	config *otelclaude.Config
}{
	{"off", nil},
	{"noop", &otelclaude.Config{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noop.NewMeterProvider()}},
	{"on", &otelclaude.Config{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: sdkmetric.NewMeterProvider()}},
}

func listen(tb testing.TB, config *otelclaude.Config) *listener {
	tb.Helper()
	l := &listener{tb: tb, player: newPlayer()}
	opts := &claude.Options{Transport: l.player}
	if config != nil {
		var err error
		if opts, err = otelclaude.Instrument(opts, config); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := claude.Connect(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	l.session = s
	return l
}

// round reads one answer.
func (l *listener) round() {
	l.player.play()
	pieces := 0
	for m, err := range l.session.Messages(context.Background()) {
		if err != nil {
			l.tb.Fatal(err)
		}
		switch m.(type) {
		case *message.StreamEvent:
			pieces++
		case *message.Result:
			if pieces != deltas {
				l.tb.Fatalf("%d pieces of %d", pieces, deltas)
			}
			return
		}
	}
}

// BenchmarkDeltas compares a stream of deltas with and without observation. The
// sessions take turns, so that a noisy machine disturbs them alike; the medians
// of their rounds count.
func BenchmarkDeltas(b *testing.B) {
	times := make([][]float64, len(rounds))
	var all []*listener
	for _, r := range rounds {
		l := listen(b, r.config)
		l.round()
		all = append(all, l)
	}
	for b.Loop() {
		for i, l := range all {
			begin := time.Now()
			l.round()
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/deltas)
		}
	}
	for i, r := range rounds {
		slices.Sort(times[i])
		b.ReportMetric(times[i][len(times[i])/2], r.name+"-ns")
	}
}

// allocations returns how many allocations a delta costs.
func (l *listener) allocations() float64 {
	const n = 10
	l.round() // the first one is more expensive
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		l.round()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / (n * deltas)
}

// To be observed costs nothing for each delta: what a turn costs, spread over the
// deltas of an answer, is far below one allocation.
func TestCost(t *testing.T) {
	off := listen(t, nil).allocations()
	for _, r := range rounds[1:] {
		on := listen(t, r.config).allocations()
		t.Logf("%s: %.3f allocations for each delta, without it %.3f", r.name, on, off)
		if on-off > 0.25 {
			t.Errorf("%s: %.3f allocations for each delta, without it %.3f", r.name, on, off)
		}
	}
}
