package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/claude-agent-go/claude/permission"
)

// approvals are the questions that wait for an answer, each under an unguessable
// ticket.
type approvals struct {
	waiting sync.Map // of chan permission.Decision
}

// asker sends each question to the page and waits for its ticket to come back.
func (a *approvals) asker(out *events) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		ticket, answer := rand.Text(), make(chan permission.Decision, 1)
		a.waiting.Store(ticket, answer)
		defer a.waiting.Delete(ticket)
		out.send("permission", map[string]any{"ticket": ticket, "tool": req.ToolName, "input": req.Input})
		select {
		case d := <-answer:
			return d, nil
		case <-ctx.Done(): // the CLI has withdrawn the question, or the page is gone
			return permission.Pass(), ctx.Err()
		}
	}
}

// answer takes "allow", or else the reason of a refusal, which the model reads.
func (a *approvals) answer(w http.ResponseWriter, r *http.Request) {
	text, ok := body(w, r)
	if !ok {
		return
	}
	answer, ok := a.waiting.LoadAndDelete(r.PathValue("ticket"))
	if !ok {
		http.Error(w, "nobody waits for that", http.StatusNotFound)
		return
	}
	d := permission.Deny(text)
	if text == "allow" {
		d = permission.Allow()
	}
	answer.(chan permission.Decision) <- d
}
