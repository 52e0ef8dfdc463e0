package message

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Frequent lines are read here in one pass: deltas, messages of the model and
// results of tools. A line with anything unusual about
// it, sound or not, is left to the general decoder; FuzzFast checks that the
// two agree. Values that are kept raw, such as the input of a tool, stay part
// of the line.

// fastReader reads one line.
type fastReader struct {
	jsonx.Scanner
	lists int // nested lists of blocks
}

// fastDecode reads a line of a frequent type, nil for any other line.
func fastDecode(typ string, raw []byte) Message {
	switch typ {
	case typeStream:
		if m := fastDelta(raw); m != nil {
			return m
		}
	case typeAssistant:
		if m := fastAssistant(raw); m != nil {
			return m
		}
	case typeUser:
		if m := fastUser(raw); m != nil {
			return m
		}
	}
	return nil
}

// header reads a member that all messages have, and reports whether it was one
// of those.
func (r *fastReader) header(h *Header, name []byte) bool {
	switch string(name) {
	case "type":
		h.Type = r.KnownText(typeAssistant, typeUser)
	case "subtype":
		h.Subtype = r.Text()
	case "uuid":
		h.UUID = r.Text()
	case "session_id":
		h.SessionID = r.Text()
	default:
		return false
	}
	return true
}

// other skips a member that has no meaning here. A member that could be taken
// for part of the envelope is left to the general decoder, which refuses it.
func (r *fastReader) other(name []byte) {
	if envelope := jsonx.EnvelopeNames(); envelope.Add(name) != nil {
		r.Fail()
	}
	r.Skip()
}

// raw reads a value that is kept unchanged.
func (r *fastReader) raw() json.RawMessage { return json.RawMessage(r.Skip()) }

// present is raw for a value that may be null, which it returns as nil.
func (r *fastReader) present() json.RawMessage {
	if r.Null() {
		return nil
	}
	return r.raw()
}

// absent reads a rare value: anything but null is left to the general decoder.
func (r *fastReader) absent() {
	if !r.Null() {
		r.Fail()
	}
}

// texts reads a list of strings.
func (r *fastReader) texts() []string {
	if r.Null() {
		return nil
	}
	list := []string{}
	r.Array()
	for r.More(len(list)) {
		list = append(list, r.Text())
	}
	return list
}

// time reads a point in time, as wireTime does.
func (r *fastReader) time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Text())
	if err != nil {
		return time.Time{}
	}
	return t
}

// origin reads the origin of a message with the general decoder: it is small
// and keeps a copy.
func (r *fastReader) origin() *Origin {
	if r.Null() {
		return nil
	}
	o := new(Origin)
	if raw := r.Skip(); !r.OK() || o.UnmarshalJSON(raw) != nil {
		r.Fail()
	}
	return o
}

// usage reads the tokens of a model call.
func (r *fastReader) usage(u *Usage) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "input_tokens":
			u.InputTokens = r.Int()
		case "output_tokens":
			u.OutputTokens = r.Int()
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens = r.Int()
		case "cache_read_input_tokens":
			u.CacheReadInputTokens = r.Int()
		case "output_tokens_details":
			r.numbers(number{"thinking_tokens", &u.OutputTokensDetails.ThinkingTokens})
		case "cache_creation":
			r.numbers(number{"ephemeral_5m_input_tokens", &u.CacheCreation.Ephemeral5mInputTokens},
				number{"ephemeral_1h_input_tokens", &u.CacheCreation.Ephemeral1hInputTokens})
		case "server_tool_use":
			r.numbers(number{"web_search_requests", &u.ServerToolUse.WebSearchRequests},
				number{"web_fetch_requests", &u.ServerToolUse.WebFetchRequests})
		case "service_tier":
			u.ServiceTier = r.KnownText("standard")
		case "inference_geo":
			u.InferenceGeo = r.Text()
		case "speed":
			u.Speed = r.Text()
		case "iterations":
			u.Iterations = r.present()
		case "fallback_credit":
			u.FallbackCredit = r.present()
		default:
			r.Skip()
		}
	}
}

// number is a member that is a number, and where it goes.
type number struct {
	name string
	to   *int
}

// numbers reads an object of numbers.
func (r *fastReader) numbers(all ...number) {
	if r.Null() {
		return
	}
	o := r.Object()
next:
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		for _, n := range all {
			if string(name) == n.name {
				*n.to = r.Int()
				continue next
			}
		}
		r.Skip()
	}
}
