package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
)

// resumeAnswer is an answer to an interrupt.
type resumeAnswer struct {
	approval api.Approval // its current state
	id       string
	digest   string
	place    int64 // where the run that asked ended
	cancel   bool  // the person has abandoned the question
	decision api.Decision
}

// abandoned reports whether there is nothing to abandon any more.
func (a *resumeAnswer) abandoned() bool {
	return a.cancel && a.approval.State != api.ApprovalPending
}

// resumePayload is the payload of an answer.
type resumePayload struct {
	// Approved lets the call run, or not.
	Approved *bool `json:"approved"`
	// Message is for the model, if the call is denied.
	Message string `json:"message"`
	// Input runs the call with another input; for an elicitation it is the
	// content of the form.
	Input json.RawMessage `json:"input"`
	// Answers answer the questions of the agent.
	Answers []api.QuestionAnswer `json:"answers"`
}

// interruptOf shows an approval as an interrupt of a run that ends at a place in
// the log.
func interruptOf(a *api.Approval, place int64) agui.Interrupt {
	i := agui.Interrupt{
		ID: fmt.Sprintf("%s.%d.%s", a.ID, place, a.Digest), Reason: "tool_call", ToolCallID: a.ToolUseID, Message: a.Title,
		Metadata: map[string]any{"approval": a},
	}
	if !a.ExpiresAt.IsZero() {
		i.ExpiresAt = &a.ExpiresAt
	}
	switch a.Kind {
	case api.KindQuestion:
		i.Reason, i.ResponseSchema = "input_required", json.RawMessage(`{"type":"object","required":["answers"],"properties":{"answers":{"type":"array","items":{`+
			`"type":"object","required":["question"],"properties":{"question":{"type":"integer"},"choose":{"type":"array","items":{"type":"string"}},"write":{"type":"string"}}}}}}`)
	case api.KindElicitation:
		form := jsonx.Member(a.Input, "requested_schema")
		if !bytes.HasPrefix(form, []byte("{")) {
			form = []byte(`{"type":"object"}`)
		}
		i.Reason, i.ToolCallID = "input_required", ""
		i.ResponseSchema = json.RawMessage(`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},"input":` + string(form) + `}}`)
	default:
		i.ResponseSchema = json.RawMessage(`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},"message":{"type":"string"},"input":{"type":"object"}}}`)
		i.Message = a.Tool + ": " + a.Title
	}
	return i
}

// answers reads and checks the answers of a run before it acts on any.
func (r *aguiRun) answers() ([]resumeAnswer, error) {
	var all []resumeAnswer
	for i, entry := range r.in.Resume {
		where := fmt.Sprintf("/resume/%d", i)
		a := resumeAnswer{cancel: entry.Status == "cancelled"}
		var place string
		a.id, place, _ = strings.Cut(entry.InterruptID, ".")
		place, a.digest, _ = strings.Cut(place, ".")
		var err error
		if a.place, err = strconv.ParseInt(place, 10, 64); err != nil || a.id == "" || a.digest == "" {
			return nil, faulty(where+"/interruptId", "it is not the id of an interrupt of this server")
		}
		if a.decision, err = decisionOf(&entry); err != nil {
			return nil, faulty(where+"/payload", err.Error())
		}
		a.decision.Digest = a.digest
		all = append(all, a)
	}
	return all, nil
}

// decisionOf reads a payload. It allows a call only if the payload explicitly does.
func decisionOf(entry *agui.ResumeEntry) (api.Decision, error) {
	if entry.Status == "cancelled" {
		return api.Decision{Decision: api.DecideDeny}, nil
	}
	var p resumePayload
	if err := jsonx.UnmarshalExact(entry.Payload, &p); len(entry.Payload) == 0 || err != nil {
		return api.Decision{}, fmt.Errorf("it must be an object with approved, message, input and answers")
	}
	switch {
	case p.Approved != nil && !*p.Approved:
		return api.Decision{Decision: api.DecideDeny, Message: p.Message}, nil
	case len(p.Answers) > 0:
		return api.Decision{Decision: api.DecideAnswer, Answers: p.Answers}, nil
	case p.Approved == nil:
		return api.Decision{}, fmt.Errorf("approved is missing: true or false")
	}
	return api.Decision{Decision: api.DecideAllow, Input: p.Input}, nil
}

// decide takes the decisions. It reports whether any was taken before, and where the
// run that asked for them ended.
func (r *aguiRun) decide(ctx context.Context, answers []resumeAnswer) (repeated bool, from int64, err error) {
	for i := range answers {
		a := &answers[i]
		if a.approval, err = r.service().Approval(ctx, r.user, a.id); err != nil {
			return false, 0, err
		}
		if a.approval.Conversation != r.about.ID {
			return false, 0, notFound.because("the interrupt does not belong to this thread")
		}
		from = max(from, a.place)
		repeated = repeated || a.approval.State != api.ApprovalPending
		if a.approval.Kind == api.KindElicitation && a.decision.Decision == api.DecideAllow {
			a.decision.Decision = api.DecideAnswer
		}
		if a.abandoned() {
			continue
		}
		if _, _, err := r.service().answers.mayDecide(ctx, r.user, a.id, &a.decision); err != nil {
			return false, 0, err // before any call is let go
		}
	}
	for i := range answers {
		a := &answers[i]
		if a.abandoned() {
			continue
		}
		if _, err := r.service().Decide(ctx, r.user, a.id, a.decision); err != nil {
			return false, 0, err
		}
	}
	return repeated, from, nil
}

// aguiPart is a part of a user's message in AG-UI.
type aguiPart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
}

// partsOf reads a user's message in AG-UI: a text, or a list of parts.
func partsOf(raw json.RawMessage) (message.Content, error) {
	if !bytes.HasPrefix(raw, []byte("[")) {
		return contentOf(raw)
	}
	var parts []aguiPart
	if err := jsonx.Unmarshal(raw, &parts); err != nil {
		return nil, badRequest.because("its content is neither a text nor a list of parts")
	}
	var blocks []map[string]any
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == "text":
			blocks = append(blocks, map[string]any{"type": "text", "text": p.Text})
		case (p.Type == "image" || p.Type == "document") && p.Source.Type == "data":
			blocks = append(blocks, map[string]any{"type": p.Type, "source": map[string]string{"type": "base64", "media_type": p.Source.MimeType, "data": p.Source.Value}})
		case (p.Type == "image" || p.Type == "document") && p.Source.Type == "url":
			blocks = append(blocks, map[string]any{"type": p.Type, "source": map[string]string{"type": "url", "url": p.Source.Value}})
		default:
			return nil, badRequest.because("part %d: the agent takes text, images and documents, as data or by their address", i)
		}
	}
	data, err := jsonx.Marshal(blocks)
	if err != nil {
		return nil, err
	}
	return contentOf(data)
}

// encoded returns a user's message as JSON.
func encoded(content message.Content) json.RawMessage {
	data, _ := jsonx.Marshal(content) // cannot fail: it was read from JSON
	return data
}
