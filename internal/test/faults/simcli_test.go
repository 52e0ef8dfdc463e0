package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// simCLI is the CLI of a simulation: what it knows, and the lines it has
// written that have not arrived yet. Only the schedule touches it.
type simCLI struct {
	rng   *rand.Rand
	names bool // it names the prompts it works on, as newer CLIs do

	buf       []byte // written, not yet delivered
	delivered int    // bytes so far
	written   int    // bytes so far, buf included
	said      int    // numbered messages
	texts     map[string]string

	greeted  bool // initialize is answered
	init     wire.ID
	requests []wire.Request // of the SDK, unanswered
	queue    []string       // prompts that wait, by id
	turn     *simTurn
	turns    int
	asks     []*simAsk
}

// simTurn is a turn that runs.
type simTurn struct {
	prompts []string // ids; none for a turn of the CLI's own accord
	stopped bool     // interrupted
	echoed  bool     // its prompts so far were repeated
}

// label names the prompts of a turn in the messages of it.
func (c *simCLI) label(t *simTurn) string {
	var texts []string
	for _, id := range t.prompts {
		texts = append(texts, c.texts[id])
	}
	return "<" + strings.Join(texts, ",") + ">"
}

// simAsk is a request of the CLI.
type simAsk struct {
	id       string
	kind     string // "permission", "hook", "mcp", "unknown"
	behave   string // what the callback does
	at       int    // its last byte on the wire
	withdraw int    // last byte of its cancel, 0 if there is none
	settled  bool   // the SDK has seen the cancel
	answers  []string

	ctx               context.Context // of the callback while it runs
	started, returned bool            // the callback
	late              bool            // it returned after its time
	exact             bool            // in the very moment of its timeout: both count
}

func (c *simCLI) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	c.buf = append(c.buf, line...)
	c.written += len(line)
}

// receive takes a line of the SDK and returns what is wrong with it.
func (c *simCLI) receive(line []byte) string {
	f, err := wire.Parse(line)
	if err != nil {
		return fmt.Sprintf("the SDK wrote %q: %v", line, err)
	}
	switch f.Type {
	case wire.TypeRequest:
		r, err := f.Request()
		if err != nil {
			return fmt.Sprintf("the SDK wrote %q: %v", line, err)
		}
		c.request(r)
	case wire.TypeResponse:
		r, err := f.Response()
		if err != nil {
			return fmt.Sprintf("the SDK wrote %q: %v", line, err)
		}
		return c.answer(r)
	case wire.TypeCancel:
		id := f.CancelID()
		c.requests = slices.DeleteFunc(c.requests, func(r wire.Request) bool { return r.ID == id && c.rng.IntN(2) == 0 })
	case "user":
		return c.prompt(f)
	default:
		return fmt.Sprintf("the SDK wrote %q", line)
	}
	return ""
}

func (c *simCLI) prompt(f wire.Frame) string {
	id, text := f.Text("uuid"), jsonx.Text(jsonx.Member(f.Member("message"), "content"))
	if text == "" { // content is a list of blocks
		var blocks []struct {
			Text string `json:"text"`
		}
		_ = jsonx.Unmarshal(jsonx.Member(f.Member("message"), "content"), &blocks)
		if len(blocks) == 1 {
			text = blocks[0].Text
		}
	}
	if id == "" || text == "" || c.texts[id] != "" {
		return fmt.Sprintf("prompt without id or text, or twice: %s", f.Line)
	}
	c.texts[id] = text
	c.queue = append(c.queue, id)
	if c.names {
		c.lifecycle(id, "queued")
	}
	return ""
}

func (c *simCLI) lifecycle(id, state string) {
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":%q}`, id, state)
}

// request takes a request of the SDK. What it does is done at once; the reply
// comes when the schedule wants.
func (c *simCLI) request(r wire.Request) {
	switch r.Subtype {
	case "initialize":
		c.init = r.ID
		return
	case "interrupt":
		if c.turn != nil {
			c.turn.stopped = true
		}
	case "cancel_async_message":
		id := jsonx.Text(jsonx.Member(r.Body, "message_uuid"))
		if i := slices.Index(c.queue, id); i >= 0 {
			c.queue = slices.Delete(c.queue, i, i+1)
			c.lifecycle(id, "cancelled")
		}
	}
	c.requests = append(c.requests, r)
}

func (c *simCLI) answer(r wire.Response) string {
	for _, a := range c.asks {
		if a.id != r.ID.String() {
			continue
		}
		payload := string(r.Payload)
		if r.Err != nil {
			payload = "error: " + r.Err.Message
		}
		a.answers = append(a.answers, payload)
		if len(a.answers) > 1 {
			return fmt.Sprintf("%s answered %d times: %q", a.id, len(a.answers), a.answers)
		}
		return ""
	}
	return fmt.Sprintf("an answer to nobody: %+v", r)
}

// unanswered notes which cancels the SDK has seen.
func (c *simCLI) unanswered() []*simAsk {
	var settled []*simAsk
	for _, a := range c.asks {
		if a.withdraw > 0 && !a.settled && a.withdraw <= c.delivered {
			a.settled = true
			settled = append(settled, a)
		}
	}
	return settled
}

// move is something that can happen next.
type move struct {
	weight int
	name   string
	do     func()
}

// moves returns what the CLI may do now. With wind down it starts nothing new.
func (c *simCLI) moves(down bool) []move {
	var m []move
	if c.init == "" {
		return nil
	}
	if !c.greeted {
		m = append(m, move{20, "greet", func() {
			c.greeted = true
			c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":{"claude_code_version":"2.1.325","hook_on_failure_supported":true}}}`, string(c.init))
		}})
	}
	if len(c.requests) > 0 {
		m = append(m, move{8, "reply", c.reply})
	}
	if c.turn != nil {
		m = append(m, c.inTurn(down)...)
	} else if len(c.queue) > 0 && c.greeted {
		m = append(m, move{8, "begin", func() { c.begin(false) }})
	}
	if down {
		return m
	}
	if c.turn == nil && c.names && c.turns > 0 {
		m = append(m, move{1, "begin unasked", func() { c.begin(true) }})
	}
	m = append(m,
		move{1, "garbage", func() { c.say("%s", garbage[c.rng.IntN(len(garbage))]) }},
		move{3, "ask", c.ask})
	if slices.ContainsFunc(c.asks, (*simAsk).open) {
		m = append(m, move{2, "withdraw", c.withdraw})
	}
	return m
}

// garbage are lines that mean nothing and must change nothing.
var garbage = [...]string{
	"npm WARN deprecated", "[1,2]", "null", `{"type":"a","Type":"b"}`, `{"type":"control_response"}`, "\x00\xff\xfe", "", "   ",
	`{"type":"control_response","response":{"subtype":"success","request_id":"req_99999","response":{}}}`,
	`{"type":"control_cancel_request","request_id":"nobody"}`, `{"type":"keep_alive"}`, `{"type":"assistant","message":`,
}

func (c *simCLI) inTurn(down bool) []move {
	t := c.turn
	weight := 3
	if t.stopped {
		weight = 20
	}
	m := []move{{weight, "result", func() { c.result() }}}
	if !down {
		m = append(m,
			move{8, "text", func() {
				if !c.names && !t.echoed {
					c.echo(t.prompts...)
				}
				c.numbered("assistant", `"message":{"role":"assistant","content":[{"type":"text","text":%q}]}`)
			}},
			move{3, "event", func() {
				c.numbered("stream_event", `"event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`)
			}})
	}
	if !c.names && t.echoed && len(c.queue) > 0 {
		m = append(m, move{4, "fold", c.mergePrompt})
	}
	return m
}

// numbered sends a message whose text has the next number and the turn's label.
func (c *simCLI) numbered(kind, body string) {
	c.said++
	c.say(`{"type":%q,`+body+`}`, kind, fmt.Sprintf("%d %s", c.said, c.label(c.turn)))
}

func (c *simCLI) begin(unasked bool) {
	t := &simTurn{}
	if !unasked {
		n := 1 // older CLIs take one by one
		if c.names {
			n += c.rng.IntN(len(c.queue))
		}
		t.prompts = slices.Clone(c.queue[:n])
		c.queue = slices.Clone(c.queue[n:])
	}
	if c.names {
		for _, id := range t.prompts {
			c.lifecycle(id, "started")
		}
	}
	c.turn = t
	c.turns++
	c.say(`{"type":"system","subtype":"init","session_id":"s"%s}`, c.named(t))
}

// echo repeats prompts where they are taken, as older CLIs do on request: those
// of the turn before its first message, later ones when they are folded in.
func (c *simCLI) echo(ids ...string) {
	for _, id := range ids {
		c.say(`{"type":"user","uuid":%q,"message":{"role":"user","content":%q}}`, id, c.texts[id])
	}
	c.turn.echoed = true
}

// mergePrompt takes the next prompt into the turn that runs.
func (c *simCLI) mergePrompt() {
	id := c.queue[0]
	c.queue = slices.Clone(c.queue[1:])
	c.turn.prompts = append(c.turn.prompts, id)
	c.echo(id)
}

func (c *simCLI) named(t *simTurn) string {
	if !c.names || len(t.prompts) == 0 {
		return ""
	}
	return `,"user_message_uuids":["` + strings.Join(t.prompts, `","`) + `"]`
}

func (c *simCLI) result() {
	c.said++
	c.say(`{"type":"result","subtype":"success","is_error":%t,"result":%q%s}`, c.turn.stopped, fmt.Sprintf("%d %s", c.said, c.label(c.turn)), c.named(c.turn))
	if c.names {
		for _, id := range c.turn.prompts {
			c.lifecycle(id, "completed")
		}
	}
	c.turn = nil
}

// reply answers any of the SDK's requests: an echo, or a refusal of it.
func (c *simCLI) reply() {
	i := c.rng.IntN(len(c.requests))
	r := c.requests[i]
	c.requests = slices.Delete(c.requests, i, i+1)
	if r.Subtype == "refuse" {
		c.say(`{"type":"control_response","response":{"subtype":"error","request_id":%s,"error":%q}}`, string(r.ID), jsonx.Text(jsonx.Member(r.Body, "word")))
	} else {
		c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`, string(r.ID), string(r.Body))
	}
	if c.rng.IntN(8) == 0 { // once more, with no waiter
		c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":{"word":"again"}}}`, string(r.ID))
	}
}

// open reports whether the CLI still waits for an answer.
func (a *simAsk) open() bool { return a.withdraw == 0 && len(a.answers) == 0 }

var (
	kinds     = [...]string{"permission", "permission", "hook", "hook", "mcp", "unknown"}
	behaviour = [...]string{"answer", "answer", "wait", "wait", "error", "panic", "goexit", "hang", "use the session"}
)

func (c *simCLI) ask() {
	c.askFor(kinds[c.rng.IntN(len(kinds))], behaviour[c.rng.IntN(len(behaviour))])
}

func (c *simCLI) askFor(kind, behave string) *simAsk {
	a := &simAsk{id: fmt.Sprintf("ask-%d", len(c.asks)), kind: kind, behave: behave}
	var body string
	switch a.kind {
	case "permission":
		body = fmt.Sprintf(`"subtype":"can_use_tool","tool_name":%q,"input":{"id": %q},"tool_use_id":%q`, a.id, a.id, a.id)
	case "hook":
		body = fmt.Sprintf(`"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":{}},"tool_use_id":%q`, a.id, a.id)
	case "mcp":
		body = fmt.Sprintf(`"subtype":"mcp_message","server_name":"x","message":{"jsonrpc":"2.0","id":%d,"method":%q}`, len(c.asks), a.id)
	default:
		body = `"subtype":"brand_new"`
	}
	c.say(`{"type":"control_request","request_id":%q,"request":{%s}}`, a.id, body)
	a.at = c.written
	c.asks = append(c.asks, a)
	return a
}

func (c *simCLI) withdraw() {
	var open []*simAsk
	for _, a := range c.asks {
		if a.open() {
			open = append(open, a)
		}
	}
	a := open[c.rng.IntN(len(open))]
	c.say(`{"type":"control_cancel_request","request_id":%q}`, a.id)
	a.withdraw = c.written
}
