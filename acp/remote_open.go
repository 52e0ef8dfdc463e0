package acp

import (
	"maps"

	"github.com/claude-agent-go/claude/serve/api"
)

// openPrompts are the prompts of a conversation that have not ended, as far as its
// events tell. They decide whether an editor is asked about a call.
type openPrompts struct {
	user string // of the editor
	all  map[string]api.Prompt
	// foreign is true once another user may have prompted: a subagent at work, or a
	// turn without a prompt, may be that user's.
	foreign bool
}

// asking is who is asked a question.
type asking int

const (
	askNever  asking = iota // it is not for this editor, unless a prompt of its user waits for it
	askLater                // a prompt of its user is about to run
	askEditor               // it is of its user's prompt
)

// note notes how a prompt stands.
func (o *openPrompts) note(p *api.Prompt) {
	if o.foreign = o.foreign || p.By != o.user; p.State.Done() {
		o.ended(p.ID)
		return
	}
	if o.all == nil {
		o.all = make(map[string]api.Prompt)
	}
	o.all[p.ID] = *p
}

func (o *openPrompts) ended(id string) { delete(o.all, id) }

// others reports whether a prompt beside one is open. Then that one may end without a turn
// of its own, while another turn runs.
func (o *openPrompts) others(id string) bool {
	for other := range o.all {
		if other != id {
			return true
		}
	}
	return false
}

// clear forgets all of them, before they are read anew.
func (o *openPrompts) clear() { clear(o.all) }

// may decides about a question. An editor that answers by itself must not
// decide for others, so while a prompt of another user is open, only the question that
// its own user's prompt waits for is asked: the log may have a question before it has
// the end of one prompt and the beginning of the next. sends is true if the editor has
// sent a prompt that the log may not have yet.
func (o *openPrompts) may(question string, sends bool) asking {
	runs, others := false, false
	for p := range maps.Values(o.all) {
		switch {
		case p.By != o.user || o.user == "":
			others = true
		case p.State == api.PromptWaiting && p.Approval == question:
			return askEditor
		case p.State == api.PromptRunning || p.State == api.PromptWaiting:
			runs = true
		default:
			sends = true
		}
	}
	switch {
	case others:
		return askNever
	case runs:
		return askEditor
	case sends:
		return askLater
	}
	return askNever
}
