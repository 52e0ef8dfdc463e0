package claudetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Replayer is a [claude.Transport] that plays a recorded session and checks
// the SDK against it. It repeats the CLI's lines, and expects the SDK to write
// the same lines, in the same order and with the same values. Ids that the SDK
// makes up may differ.
type Replayer struct {
	// Timeout is how long the replay waits for a line from the SDK: 10 s.
	Timeout time.Duration

	entries []RecordingEntry

	mu   sync.Mutex
	last *player
	err  error // of last
}

var _ claude.Transport = (*Replayer)(nil)

// Replay returns a Transport that plays a recording, as [Record] writes it and
// [ReadRecording] reads it.
func Replay(t *Recording) *Replayer {
	return &Replayer{Timeout: 10 * time.Second, entries: t.Entries()}
}

// Err returns where the last session first differed from the recording, or nil
// if it did not. The session itself fails with the same [*Difference].
func (r *Replayer) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Difference is the first point at which a session differs from its recording.
type Difference struct {
	// Line is the line of the recording, counted from 1, or one past its end.
	Line int
	// Want is the line in the recording, nil if it has no further one.
	Want json.RawMessage
	// Got is the line that the SDK wrote now, nil if it wrote none.
	Got json.RawMessage
	// Problem describes the difference.
	Problem string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("claudetest: replay: line %d: %s\n\twant %s\n\tgot  %s", d.Line, d.Problem, show(d.Want), show(d.Got))
}

func show(raw json.RawMessage) string {
	const most = 600
	switch {
	case raw == nil:
		return "nothing"
	case len(raw) > most:
		return string(raw[:most]) + "..."
	}
	return string(raw)
}

// Start starts a session. The SDK calls it.
func (r *Replayer) Start(_ context.Context, _ *claude.Launch) (claude.Conn, error) {
	fromSDK, toCLI := io.Pipe()
	fromCLI, toSDK := io.Pipe()
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &player{
		r: r, ctx: ctx, out: toSDK, lines: make(chan json.RawMessage),
		replies: make(map[wire.ID]json.RawMessage), ids: make(map[string]string),
	}
	r.mu.Lock()
	r.last, r.err = p, nil
	r.mu.Unlock()
	conn := &replayConn{Reader: fromCLI, WriteCloser: toCLI, cancel: cancel, done: make(chan struct{}),
		sever: func() { fromSDK.Close(); toSDK.Close() }}
	go p.receive(fromSDK)
	go func() {
		conn.err = p.play()
		cancel(nil)
		conn.sever()
		close(conn.done)
	}()
	return conn, nil
}

// replayConn is the SDK's end of a replay.
type replayConn struct {
	claude.NoProcess
	io.Reader
	io.WriteCloser
	cancel context.CancelCauseFunc
	sever  func()        // cuts both streams
	done   chan struct{} // closed at the end; then err is set
	err    error
}

func (c *replayConn) CloseWrite() error { return c.WriteCloser.Close() }

func (c *replayConn) Stop() error { return c.end(terminated()) }

func (c *replayConn) Kill() error { return c.end(killed()) }

func (c *replayConn) end(cause error) error {
	c.cancel(cause)
	c.sever() // it may be stuck in a write without a reader
	<-c.done
	return nil
}

func (c *replayConn) Wait() error {
	<-c.done
	return c.err
}

// player plays a recording once.
type player struct {
	r     *Replayer
	ctx   context.Context
	out   io.Writer
	lines chan json.RawMessage // of the SDK; closed at its end

	replies map[wire.ID]json.RawMessage // that came before they were due
	extra   []json.RawMessage           // second replies to one request
	ids     map[string]string           // recorded id: live id, both in quotes
	ended   bool
	code    int
	exited  bool // the recording contains the CLI's exit
}

// receive reads what the SDK writes.
func (p *player) receive(r io.Reader) {
	defer close(p.lines)
	lines := ndjson.NewReader(r)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		select {
		case p.lines <- line:
		case <-p.ctx.Done():
			return
		}
	}
}

// play goes through the recording and returns how the CLI ended.
func (p *player) play() error {
	err := p.perform()
	if d, ok := errors.AsType[*Difference](err); ok {
		p.r.mu.Lock()
		defer p.r.mu.Unlock()
		if p.r.last == p {
			p.r.err = d
		}
		return d
	}
	if err == nil && p.code != 0 {
		return &exit{code: p.code}
	}
	return err
}

func (p *player) perform() error {
	for i, e := range p.r.entries {
		var err error
		switch e.Dir {
		case DirMeta:
			p.note(e.Msg)
		case DirOut:
			err = p.say(e.Msg)
		case DirIn:
			err = p.expect(i+1, e.Msg)
		}
		if err != nil {
			return err
		}
	}
	if !p.ended && !p.exited {
		line, err := p.next(len(p.r.entries)+1, nil)
		if err != nil {
			return err
		}
		if line != nil {
			return &Difference{Line: len(p.r.entries) + 1, Got: line, Problem: "the recording ends here"}
		}
	}
	return p.leftOver()
}

// leftOver finds a reply that the recording does not have. A request that the
// CLI took back may be answered or not: that is a matter of moments.
func (p *player) leftOver() error {
	for _, e := range p.r.entries {
		if f, err := wire.Parse(e.Msg); err == nil && e.Dir == DirOut && f.Type == wire.TypeCancel {
			delete(p.replies, f.CancelID())
		}
	}
	extra := p.extra
	for _, id := range slices.Sorted(maps.Keys(p.replies)) {
		extra = append(extra, p.replies[id])
	}
	if len(extra) == 0 {
		return nil
	}
	return &Difference{Line: len(p.r.entries) + 1, Got: extra[0], Problem: "a reply that the recording does not have"}
}

// note takes the recording's notes about the process.
func (p *player) note(msg json.RawMessage) {
	var m struct {
		Code *int `json:"exit_code"`
	}
	if jsonx.Unmarshal(msg, &m) == nil && m.Code != nil {
		p.code, p.exited = *m.Code, true
	}
}

// say writes a line of the CLI, with the ids of this session.
func (p *player) say(msg json.RawMessage) error {
	line := bytes.Clone(msg)
	var raw struct {
		Text *string `json:"_raw"`
	}
	if jsonx.Unmarshal(msg, &raw) == nil && raw.Text != nil {
		line = []byte(*raw.Text)
	}
	line = p.translate(line)
	if _, err := p.out.Write(append(line, '\n')); err != nil {
		return terminated() // the SDK has gone
	}
	return nil
}

// expect waits for what the SDK wrote then and compares.
func (p *player) expect(n int, want json.RawMessage) error {
	var mark struct {
		EOF   bool   `json:"_eof"`
		Error string `json:"_write_error"`
	}
	if jsonx.Unmarshal(want, &mark) == nil && (mark.EOF || mark.Error != "") {
		return p.expectEnd(n, want, mark.EOF)
	}
	f, err := wire.Parse(want)
	if err != nil {
		return &Difference{Line: n, Want: want, Problem: "the recording holds a line that the SDK never writes"}
	}
	if f.Type == wire.TypeResponse {
		return p.expectReply(n, f)
	}
	got, err := p.next(n, want)
	if err != nil {
		return err
	}
	if got == nil {
		return &Difference{Line: n, Want: want, Problem: "the SDK has closed the stream"}
	}
	return p.compare(n, f, got)
}

// expectEnd waits for the end of the input.
func (p *player) expectEnd(n int, want json.RawMessage, eof bool) error {
	if !eof || p.ended {
		return nil
	}
	got, err := p.next(n, want)
	if err == nil && got != nil {
		err = &Difference{Line: n, Want: want, Got: got, Problem: "the stream was closed here"}
	}
	return err
}

// expectReply waits for the reply to a request of the CLI. Replies may come in
// any order, because callbacks run at the same time.
func (p *player) expectReply(n int, f wire.Frame) error {
	want, err := f.Response()
	if err != nil {
		return &Difference{Line: n, Want: f.Line, Problem: "the recording holds a reply that cannot be read"}
	}
	for p.replies[want.ID] == nil {
		got, err := p.read(n, f.Line)
		if err != nil {
			return err
		}
		if got == nil {
			return &Difference{Line: n, Want: f.Line, Problem: "the SDK has closed the stream"}
		}
		if !p.keepReply(got) {
			return &Difference{Line: n, Want: f.Line, Got: got, Problem: "another line than the reply"}
		}
	}
	got := p.replies[want.ID]
	delete(p.replies, want.ID)
	return p.compare(n, f, got)
}

// keepReply puts a reply aside until it is due.
func (p *player) keepReply(line json.RawMessage) bool {
	f, err := wire.Parse(line)
	if err != nil || f.Type != wire.TypeResponse {
		return false
	}
	r, err := f.Response()
	if err != nil {
		return false
	}
	if p.replies[r.ID] != nil {
		p.extra = append(p.extra, line)
		return true
	}
	p.replies[r.ID] = line
	return true
}

// next returns the next line that is not a reply, nil at the end of the input.
func (p *player) next(n int, want json.RawMessage) (json.RawMessage, error) {
	for {
		line, err := p.read(n, want)
		if err != nil || line == nil || !p.keepReply(line) {
			return line, err
		}
	}
}

// read returns the next line, nil at the end of the input.
func (p *player) read(n int, want json.RawMessage) (json.RawMessage, error) {
	var late <-chan time.Time
	if want != nil { // at the end of the recording there is no hurry
		t := time.NewTimer(p.r.Timeout)
		defer t.Stop()
		late = t.C
	}
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.ended = true
			return nil, nil
		}
		return line, nil
	case <-late:
		return nil, &Difference{Line: n, Want: want, Problem: fmt.Sprintf("the SDK wrote nothing for %v", p.r.Timeout)}
	case <-p.ctx.Done():
		return nil, terminated()
	}
}

// compare compares a line with the recorded one, and learns the live ids.
func (p *player) compare(n int, want wire.Frame, got json.RawMessage) error {
	f, err := wire.Parse(got)
	if err != nil {
		return &Difference{Line: n, Want: want.Line, Got: got, Problem: err.Error()}
	}
	p.learn(want, f)
	var w, g any
	recorded := p.translate(want.Line)
	if err := errors.Join(jsonx.Unmarshal(recorded, &w), jsonx.Unmarshal(got, &g)); err != nil {
		return &Difference{Line: n, Want: want.Line, Got: got, Problem: err.Error()}
	}
	if problem := differs("", w, g); problem != "" {
		return &Difference{Line: n, Want: want.Line, Got: got, Problem: problem}
	}
	return nil
}

// learn maps the ids that the SDK makes up: of its requests and of prompts.
func (p *player) learn(want, got wire.Frame) {
	if want.Type != got.Type {
		return
	}
	name := map[string]string{wire.TypeRequest: "request_id", "user": "uuid"}[want.Type]
	old, live := string(want.Member(name)), string(got.Member(name))
	if len(old) > 2 && len(live) > 2 && strings.HasPrefix(old, `"`) && strings.HasPrefix(live, `"`) {
		p.ids[old] = live
	}
}

// translate puts the ids of this session into a recorded line. It looks at
// each text once: an id of this session may be that of another line of the
// recording.
func (p *player) translate(line []byte) []byte {
	return jsonx.MapTexts(line, func(text []byte, at jsonx.Place) []byte {
		if live, ok := p.ids[string(text)]; ok && !at.Name {
			return []byte(live)
		}
		return text
	})
}
