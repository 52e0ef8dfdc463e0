package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// questions shows what waits for the user.
func (c client) questions(w http.ResponseWriter, r *http.Request) error {
	open := []approval.Question{}
	for q, err := range c.Approvals().List(r.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			return err
		}
		open = append(open, q)
	}
	return reply(w, http.StatusOK, open)
}

// decide takes the user's decision about the input with the given digest. It
// wakes the conversation.
func (c client) decide(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Allow          bool
		Digest, Reason string
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	decision := permission.Deny(body.Reason)
	if body.Allow {
		decision = permission.Allow()
	}
	q, err := c.Approvals().Decide(r.Context(), r.PathValue("id"), approval.Answer{Decision: decision, By: c.user, Digest: body.Digest})
	if first, ok := errors.AsType[*approval.DecidedError](err); ok {
		http.Error(w, first.By+" was faster", http.StatusConflict)
		return nil
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, q)
}
