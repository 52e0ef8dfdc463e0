package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
)

// client is a client that speaks raw lines.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	done chan struct{} // closed when Serve has returned; then err is set
	err  error

	mu     sync.Mutex
	frames []frame
	answer func(c *client, f frame) // serves requests of the host
}

// frame holds the members of a line that the tests read.
type frame struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	raw       string
}

type stream struct {
	io.Reader
	io.Writer
}

// bubble runs a test with an agent in a bubble of fake time. The client reads
// all the time.
func bubble(t *testing.T, agent host.Agent, opts *host.Options, test func(c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := &client{t: t, in: inW, done: make(chan struct{})}
		o := host.Options{SessionID: "s-1", Cwd: "/repo"}
		if opts != nil {
			o = *opts
		}
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			c.err = host.Serve(ctx, stream{inR, outW}, agent, &o)
			close(c.done)
			outW.Close()
			inR.Close()
		}()
		go c.read(outR)
		test(c)
		inW.Close()
		select {
		case <-c.done:
		case <-time.After(time.Hour):
			t.Error("Serve did not return after the end of its input")
			cancel()
			inR.Close()
			<-c.done
		}
	})
}

func (c *client) read(r io.Reader) {
	dec := json.NewDecoder(r)
	for {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return
		}
		f := frame{raw: string(raw)}
		if err := json.Unmarshal(raw, &f); err != nil {
			c.t.Errorf("host wrote %s: %v", raw, err)
		}
		c.mu.Lock()
		c.frames = append(c.frames, f)
		answer := c.answer
		c.mu.Unlock()
		if f.Type == "control_request" && answer != nil {
			go answer(c, f)
		}
	}
}

// on sets what serves the host's requests, also those that have come already.
func (c *client) on(answer func(*client, frame)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer == nil {
		for _, f := range c.frames {
			if f.Type == "control_request" {
				go answer(c, f)
			}
		}
	}
	c.answer = answer
}

func (c *client) send(format string, args ...any) {
	io.WriteString(c.in, fmt.Sprintf(format, args...)+"\n") // fails when Serve has ended
}

func (c *client) prompt(text, uuid string) {
	id := ""
	if uuid != "" {
		id = fmt.Sprintf(`,"uuid":%q`, uuid)
	}
	c.send(`{"type":"user","message":{"role":"user","content":%q},"parent_tool_use_id":null%s}`, text, id)
}

func (c *client) request(id, subtype, members string) {
	if members != "" {
		members = "," + members
	}
	c.send(`{"type":"control_request","request_id":%q,"request":{"subtype":%q%s}}`, id, subtype, members)
}

func (c *client) reply(f frame, payload string) {
	c.send(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, f.RequestID, payload)
}

// settle waits until nothing moves any more and returns what the host wrote,
// one short line per frame.
func (c *client) settle() string {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for _, f := range c.frames {
		lines = append(lines, outline(f))
	}
	c.frames = nil
	return strings.Join(lines, "\n")
}

// want compares what the host wrote with an outline.
func (c *client) want(lines ...string) {
	c.t.Helper()
	if got, want := c.settle(), strings.Join(lines, "\n"); got != want {
		c.t.Errorf("host wrote:\n%s\nwant:\n%s", got, want)
	}
}

// blocks is content, which may be one text.
type blocks []struct {
	Type, Text, Thinking, Name string
	Content                    json.RawMessage
	IsError                    bool `json:"is_error"`
}

func (b *blocks) UnmarshalJSON(data []byte) error {
	var content message.Content
	if err := json.Unmarshal(data, &content); err != nil {
		return err
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	type list blocks
	return json.Unmarshal(data, (*list)(b))
}

// outline is a frame in a few words.
func outline(f frame) string {
	var m struct {
		Request struct {
			Subtype  string `json:"subtype"`
			Tool     string `json:"tool_name"`
			Callback string `json:"callback_id"`
			Message  struct{ Method string }
			Input    json.RawMessage `json:"input"`
		}
		Response struct {
			Subtype  string
			ID       string `json:"request_id"`
			Response json.RawMessage
			Error    string
		}
		Message struct {
			Content blocks
		}
		State, Status, Mode string
		PermissionMode      string
		Content             string
		Result              string
		IsError             bool     `json:"is_error"`
		Reason              string   `json:"terminal_reason"`
		NumTurns            int      `json:"num_turns"`
		Denials             []any    `json:"permission_denials"`
		Prompts             []string `json:"user_message_uuids"`
		Command             string   `json:"command_uuid"`
		Aborted             bool
		Errors              []string
		Event               struct {
			Type  string
			Delta struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(f.raw), &m); err != nil {
		return f.raw
	}
	switch f.Type {
	case "control_request":
		name := m.Request.Tool + m.Request.Callback + m.Request.Message.Method
		return fmt.Sprintf("? %s %s", m.Request.Subtype, name)
	case "control_response":
		if m.Response.Subtype == "error" {
			return fmt.Sprintf("! %s %s", m.Response.ID, m.Response.Error)
		}
		return fmt.Sprintf("= %s %s", m.Response.ID, clip(string(m.Response.Response)))
	case "control_cancel_request":
		return "cancel"
	case "command_lifecycle":
		return "life " + m.Command + " " + m.State
	case "assistant", "user":
		b := m.Message.Content[0]
		text := b.Text + b.Thinking + b.Name
		if b.Type == "tool_result" {
			var content message.Content
			_ = json.Unmarshal(b.Content, &content)
			text += content.Text()
			if b.IsError {
				text = "ERROR " + text
			}
		}
		if m.Aborted {
			text += " (aborted)"
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s: %s", f.Type, b.Type, text))
	case "result":
		s := fmt.Sprintf("result %s %s %q turns=%d", f.Subtype, m.Reason, m.Result, m.NumTurns)
		if len(m.Denials) > 0 {
			s += fmt.Sprintf(" denials=%d", len(m.Denials))
		}
		if len(m.Prompts) > 0 {
			s += " of " + strings.Join(m.Prompts, ",")
		}
		return s
	case "stream_event":
		return strings.TrimSpace("event " + m.Event.Type + " " + m.Event.Delta.Text)
	case "system":
		return strings.TrimSpace(f.Subtype + " " + m.Status + m.PermissionMode + m.Content + m.State)
	}
	return f.raw
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
