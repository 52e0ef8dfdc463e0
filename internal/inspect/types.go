package inspect

import (
	"reflect"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/operation"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// into is the decoder of a Go type.
func into[T any](doc []byte) ([]byte, error) { return again(doc, new(T)) }

// again returns the part of a document that survives decoding into a value.
func again(doc []byte, v any) ([]byte, error) {
	failed := jsonx.Unmarshal(doc, v)
	left, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	return left, failed
}

// document is JSON of a frame, with the decoder that the module has for it.
type document struct {
	name string
	body []byte
	decoder
	// unknown is the name of the whole, if the module has no decoder for it.
	unknown string
}

// messageDocument returns the type that a message is decoded as.
func messageDocument(f *Frame, m message.Message) document {
	switch m.(type) {
	case *message.Unknown, *message.System:
		return document{} // unknown as a whole, which the builder reports
	}
	name := pathName(f.Type, f.Subtype)
	if f.Type == "result" {
		name = f.Type // one Go type for all of them
	}
	return document{name: name, body: f.Msg, decoder: decoder{strict: true, decode: func(doc []byte) ([]byte, error) {
		m, failed := message.DecodeAs(f.Type, f.Subtype, doc)
		if m == nil {
			return nil, failed
		}
		m.Head().Raw = nil
		again, err := jsonx.Marshal(m)
		if err != nil {
			return nil, err
		}
		return again, failed
	}}}
}

// requestDocument returns the type that a request is decoded as.
func requestDocument(dir claudetest.Dir, r wire.Request) document {
	d := document{name: "request " + r.Subtype, body: r.Body}
	switch {
	case dir == claudetest.DirIn && r.Subtype == "initialize":
		d.decode = into[control.Initialize]
	case dir == claudetest.DirIn:
		return document{} // the SDK's own
	case r.Subtype == "can_use_tool":
		d.decode = into[permission.Request]
	case r.Subtype == "elicitation":
		d.decode = into[control.Elicitation]
	case r.Subtype == "request_user_dialog":
		d.decode = into[control.Dialog]
	case r.Subtype == "mcp_message":
		return document{} // JSON-RPC is carried, not read
	case r.Subtype == "hook_callback":
		d.body = jsonx.Member(r.Body, "input")
		event := hook.Event(jsonx.Text(jsonx.Member(d.body, "hook_event_name")))
		d.name, d.decoder = "hook "+string(event), decoder{hookInput(event), true}
		if d.decode == nil {
			d.unknown = pathName("hook", string(event))
		}
	default:
		d.unknown = d.name
	}
	return d
}

// replyDocument returns the type that a reply of the CLI is decoded as.
func replyDocument(x *Exchange, r wire.Response) document {
	if x.From != claudetest.DirIn || len(r.Payload) == 0 {
		return document{}
	}
	return document{name: "reply " + x.Subtype, body: r.Payload, decoder: decoder{decode: replyTo(x.Subtype)}}
}

// replyTo returns the decoder of the replies to an operation, nil if they have
// no type.
func replyTo(subtype string) func([]byte) ([]byte, error) {
	op := operation.Find(subtype)
	if op == nil || op.Reply == nil {
		return nil
	}
	return func(doc []byte) ([]byte, error) { return again(doc, op.Reply()) }
}

// hookInput returns the decoder for the input of an event, nil for an event that
// is not known.
func hookInput(event hook.Event) func([]byte) ([]byte, error) {
	info, known := event.Info()
	if !known {
		return nil
	}
	return func(doc []byte) ([]byte, error) { return again(doc, reflect.New(info.Input).Interface()) }
}
