package claudetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ParseReplies reads a script for [NewModel]: a JSON list with one entry per
// reply. An entry is a text, or an object with any of these fields, all
// optional:
//
//	think        the thinking
//	say          the text
//	use          the tool calls: {"name", "input" or "raw", "id"}, where raw is
//	             a string that is sent as the input as it is; for a scripted
//	             CLI also "output" or "error", what the tool gives back; of
//	             the tool Agent also "replies", a list of what the subagent
//	             says
//	stop_reason  see [Reply.StopReason]
//	usage        the fields of [ReplyUsage] by their JSON names
//	after_ms     see [Reply.After]
//	chunk_size   see [Reply.Chunks]
//	chunk_ms     see [Reply.Chunks]
//	hold         true: see [Reply.Hold]; it ends when the client goes away
//	cut          true: see [Reply.Cut]
//	cut_with     {"type", "message"}: see [Reply.CutWith]
//	fail         {"status", "type", "message"}: see [Fail]
//	forever      true: see [Reply.Forever]
//	header       {"Name": "value"}: see [Reply.Header]
//
// Within a reply, thinking comes first and tool calls last. An error names the
// reply, counted from 1, and the field.
func ParseReplies(script []byte) ([]Reply, error) {
	var entries []json.RawMessage
	if err := jsonx.Unmarshal(script, &entries); err != nil {
		if jsonx.Mismatch(err) {
			err = errors.New("want a list of replies")
		}
		return nil, fmt.Errorf("claudetest: script: %w", err)
	}
	replies := make([]Reply, len(entries))
	for i, raw := range entries {
		var err error
		if replies[i], err = parseReply(fmt.Sprintf("reply %d", i+1), raw); err != nil {
			return nil, fmt.Errorf("claudetest: script: %w", err)
		}
	}
	return replies, nil
}

func parseReply(where string, raw json.RawMessage) (Reply, error) {
	var text string
	if raw[0] == '"' && jsonx.Unmarshal(raw, &text) == nil {
		return Say(text), nil
	}
	o := openObject(where, raw)
	r := parseContent(o)
	var afterMS, chunkMS int
	var hold, cut bool
	o.take("stop_reason", &r.stopReason)
	o.take("chunk_size", &r.chunkSize)
	o.take("after_ms", &afterMS)
	o.take("chunk_ms", &chunkMS)
	o.take("hold", &hold)
	o.take("cut", &cut)
	o.take("forever", &r.forever)
	r.delay = time.Duration(afterMS) * time.Millisecond
	r.chunkDelay = time.Duration(chunkMS) * time.Millisecond
	if hold {
		r = r.Hold(nil)
	}
	if cut {
		r = r.Cut()
	}
	var header map[string]string
	o.take("header", &header)
	for _, key := range slices.Sorted(maps.Keys(header)) {
		r = r.Header(key, header[key])
	}
	parseUsage(o, &r)
	parseFailures(o, &r)
	return r, o.close()
}

// parseContent reads the texts and tool calls of the reply.
func parseContent(o *object) Reply {
	var r Reply
	var think, say string
	o.take("think", &think)
	o.take("say", &say)
	if think != "" {
		r = r.With(Think(think, ""))
	}
	if say != "" {
		r = r.With(Say(say))
	}
	var calls []json.RawMessage
	o.take("use", &calls)
	for i, raw := range calls {
		var call ScriptedCall
		var input json.RawMessage
		var text string
		c := o.open(fmt.Sprintf("use[%d]", i), raw)
		c.require("name", &call.Name)
		c.take("id", &call.ID)
		c.take("input", &input)
		c.take("raw", &text)
		parseOutput(c, &call)
		parseAgent(c, &call)
		switch {
		case text != "" && input != nil:
			c.fail("raw", errors.New("input is also given"))
		case text != "":
			call.Input = json.RawMessage(text)
		case input != nil:
			call.Input = input
		}
		r = r.With(UseTools(call))
		o.adopt(c)
	}
	return r
}

// parseAgent reads the replies of the subagent that a call starts.
func parseAgent(c *object, call *ScriptedCall) {
	var replies []json.RawMessage
	c.take("replies", &replies)
	if replies == nil {
		return
	}
	if !startsAgent(call.Name) {
		c.fail("replies", fmt.Errorf("%s does not start a subagent", call.Name))
	}
	call.Replies = []Reply{}
	for i, raw := range replies {
		r, err := parseReply(fmt.Sprintf("reply %d", i+1), raw)
		if err != nil {
			c.fail("replies", err)
		}
		call.Replies = append(call.Replies, r)
	}
}

// parseOutput reads the output of a scripted CLI's tool.
func parseOutput(c *object, call *ScriptedCall) {
	var out json.RawMessage
	var failed string
	c.take("output", &out)
	c.take("error", &failed)
	switch {
	case failed != "" && out != nil:
		c.fail("error", errors.New("output is also given"))
	case failed != "":
		call.Output = errors.New(failed)
	case out != nil:
		call.Output = scripted(out)
	}
}

func parseUsage(o *object, r *Reply) {
	if u := o.takeObject("usage"); u != nil {
		u.take("input_tokens", &r.usage.InputTokens)
		u.take("cache_creation_input_tokens", &r.usage.CacheCreationInputTokens)
		u.take("cache_read_input_tokens", &r.usage.CacheReadInputTokens)
		u.take("output_tokens", &r.usage.OutputTokens)
		o.adopt(u)
	}
}

func parseFailures(o *object, r *Reply) {
	var f failure
	if c := o.takeObject("cut_with"); c != nil {
		c.require("type", &f.kind)
		c.take("message", &f.message)
		*r = r.CutWith(f.kind, f.message)
		o.adopt(c)
	}
	if c := o.takeObject("fail"); c != nil {
		c.require("status", &f.status)
		c.require("type", &f.kind)
		c.take("message", &f.message)
		if f.status < 400 || f.status > 599 {
			c.fail("status", fmt.Errorf("want 400 to 599, not %d", f.status))
		}
		if len(r.blocks) > 0 || r.ending != endsWhole {
			o.fail("fail", errors.New("a failing reply has no content and is not cut"))
		}
		r.failure = &f
		o.adopt(c)
	}
}

// object reads the fields of one JSON object. The first error sticks, and an
// unread field is one: a misspelt name must not pass for a default.
type object struct {
	where  string
	fields map[string]json.RawMessage
	err    error
}

func openObject(where string, raw json.RawMessage) *object {
	o := &object{where: where}
	if err := jsonx.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		o.err = fmt.Errorf("%s: want an object", where)
	}
	return o
}

// open opens an object inside o.
func (o *object) open(name string, raw json.RawMessage) *object {
	return openObject(o.path(name), raw)
}

// takeObject opens the named field, or returns nil when it is absent.
func (o *object) takeObject(name string) *object {
	var raw json.RawMessage
	o.take(name, &raw)
	if raw == nil {
		return nil
	}
	return o.open(name, raw)
}

// adopt closes an object inside o and takes over its error.
func (o *object) adopt(inner *object) {
	if err := inner.close(); o.err == nil {
		o.err = err
	}
}

func (o *object) path(name string) string {
	if strings.Contains(o.where, ": ") {
		return o.where + "." + name
	}
	return o.where + ": " + name
}

func (o *object) fail(name string, err error) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %w", o.path(name), err)
	}
}

// take decodes the named field into dst, if it is there.
func (o *object) take(name string, dst any) {
	raw, ok := o.fields[name]
	if !ok {
		return
	}
	delete(o.fields, name)
	if jsonx.Unmarshal(raw, dst) != nil || string(raw) == "null" {
		o.fail(name, fmt.Errorf("want %s", wanted(dst)))
	}
}

func (o *object) require(name string, dst any) {
	if _, ok := o.fields[name]; !ok {
		o.fail(name, errors.New("missing"))
	}
	o.take(name, dst)
}

func (o *object) close() error {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		o.fail(name, errors.New("no such field"))
	}
	return o.err
}

func wanted(dst any) string {
	switch dst.(type) {
	case *string:
		return "a text"
	case *int:
		return "a whole number"
	case *bool:
		return "true or false"
	case *[]json.RawMessage:
		return "a list"
	case *map[string]string:
		return "an object of texts"
	case *[]string:
		return "a list of texts"
	}
	return "a value"
}
