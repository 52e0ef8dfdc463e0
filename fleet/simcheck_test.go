package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// check compares the outcome of the prompts with the promises.
func (w *world) check(ctx context.Context, f *fleet.Fleet, keys []string) {
	borne := make(map[string]float64)
	for i := range w.sent {
		p := &w.sent[i]
		o, err := f.Prompt(ctx, p.key, p.id)
		borne[p.key] += o.Cost.USD
		p.unpriced = len(o.Cost.Unpriced) > 0
		p.ended, p.partOf, p.givenUp = o.Status, o.PartOf, o.Interrupted && o.Result == nil
		switch {
		case o.Status == fleet.PromptCancelled && o.PartOf != "":
			w.checkPartOfCancelled(p)
		case p.cancelled || o.Status == fleet.PromptCancelled && p.unsure:
			w.checkCancelled(p, err)
		case errors.Is(err, fleet.ErrUnknown) && !p.accepted:
		case err != nil:
			w.fault("prompt %s of %s, accepted %v: %v", p.id, p.key, p.accepted, err)
		case o.Interrupted:
			w.checkInterrupted(p)
		case o.Status == fleet.PromptExpired:
			w.checkExpired(ctx, p, o.Question)
		case o.Status != fleet.PromptAnswered:
			w.fault("prompt %s of %s is %s: %s", p.id, p.key, o.Status, o.Error)
		}
	}
	for q, err := range approval.NewQuestions(w.db, "p").List(ctx, approval.Filter{States: approval.Waiting()}) {
		w.fault("question about %s of %s is left, and is %s: %v", q.ToolUseID, q.Conversation, q.State, err)
	}
	w.checkDecisions(ctx)
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		w.fault("prompt %s is left: %s, %v", r.Key.Name, r.Value, err)
	}
	for _, key := range keys {
		w.checkTranscript(ctx, f, key)
		if info, err := f.Get(ctx, key); err == nil && math.Abs(borne[key]+w.refusals(&info)-info.Cost.USD) > 1e-9 {
			w.fault("the prompts of %s bear $%v of $%v, others $%v", key, borne[key], info.Cost.USD, info.Unprompted.USD)
		} else if days := w.days(ctx, key); err == nil && (days < info.Cost.USD-1e-9 || days > info.Cost.USD+1e-9 && len(info.Cost.Unpriced) == 0) {
			// A result that was lost before it was booked may have named the price.
			w.fault("$%v of %s are in the budgets of days, of $%v", days, key, info.Cost.USD)
		}
	}
}

// days is the part of a conversation in the budgets of all days.
func (w *world) days(ctx context.Context, key string) (sum float64) {
	place := "/c/" + key + "/"
	if fleet.TenantOf(key) != "" {
		place = "/t/" + key + "/"
	}
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "day"}, "") {
		var one struct{ USD float64 }
		if err == nil {
			err = json.Unmarshal(r.Value, &one)
		}
		if err != nil {
			w.fault("days: %v", err)
		}
		if strings.Contains(r.Key.Name, place) {
			sum += one.USD
		}
	}
	return sum
}

// checkCancelled checks that a prompt that was cancelled has that outcome, and that
// it never ran afterwards: not at all, unless its conversation was stuck on it. Then
// the model may have read that a deferred call was refused.
func (w *world) checkCancelled(p *sentPrompt, err error) {
	if err != nil || p.ended != fleet.PromptCancelled {
		w.fault("prompt %s of %s was cancelled, and is %s, %v", p.id, p.key, p.ended, err)
	}
	if n := w.asked[p.text]; n > p.asked+1 || n > 0 && !p.stuck {
		w.fault("the model was asked %d times about prompt %s of %s, %d times before it was cancelled, stuck %t", n, p.id, p.key, p.asked, p.stuck)
	}
}

// refusals is the cost of answers to calls which were refused because their prompts
// were cancelled, or interrupted while they waited, and of answers that had no price
// when their prompts ended. No prompt bears it.
func (w *world) refusals(info *fleet.ConversationInfo) float64 {
	if slices.ContainsFunc(w.sent, func(p sentPrompt) bool {
		return p.key == info.Key && (p.ended == fleet.PromptCancelled && p.stuck || p.ended == fleet.PromptExpired || p.givenUp || p.unpriced)
	}) {
		return info.Unprompted.USD
	}
	return 0
}

// checkPartOfCancelled checks that a prompt which was not cancelled itself was taken in
// by a turn that was.
func (w *world) checkPartOfCancelled(p *sentPrompt) {
	for _, turn := range w.sent {
		if turn.id == p.partOf && p.steers && turn.stuck && (turn.cancelled || turn.unsure) {
			return
		}
	}
	w.fault("prompt %s of %s was cancelled with prompt %s, which was not", p.id, p.key, p.partOf)
}

// checkInterrupted checks that the turn of a prompt was interrupted, and not another
// one.
func (w *world) checkInterrupted(p *sentPrompt) {
	w.stopped++
	for _, turn := range w.sent {
		if turn.interrupted && (turn.id == p.id || turn.id == p.partOf) {
			return
		}
	}
	w.fault("prompt %s of %s was interrupted, part of %q, and nobody meant it", p.id, p.key, p.partOf)
}

// checkExpired checks that the call of an expired prompt was not decided in time, and
// that the tool has not run for it.
func (w *world) checkExpired(ctx context.Context, p *sentPrompt, question string) {
	w.expired++
	if p.partOf != "" {
		return // of a prompt that is checked itself
	}
	q, err := approval.NewQuestions(w.db, "p").Get(ctx, question)
	if err != nil || q.Outcome != approval.OutcomeExpired || q.Answer != nil || w.ran[q.ToolUseID] != 0 {
		w.fault("prompt %s of %s has expired, and its question is %s %s, %v; the tool ran %d times", p.id, p.key, q.State, q.Outcome, err, w.ran[q.ToolUseID])
	}
}

// checkDecisions checks that each decision that was taken was used, or has the reason
// why not.
func (w *world) checkDecisions(ctx context.Context) {
	in := approval.NewQuestions(w.db, "p")
	for _, id := range w.decided {
		q, err := in.Get(ctx, id)
		used := q.State == approval.StateSettled
		if err != nil || q.Answer == nil || used == (q.Unused != "") {
			w.fault("question %s of %s was decided, and is %s %s, not used: %q, %v", id, q.Conversation, q.State, q.Outcome, q.Unused, err)
		}
		if !used {
			w.unused++
		}
	}
}

// checkTranscript checks that a conversation has each prompt once, and those that
// steer no turn in order. Each has one answer, unless a turn took the next one in.
func (w *world) checkTranscript(ctx context.Context, f *fleet.Fleet, key string) {
	if _, err := f.Get(ctx, key); errors.Is(err, fleet.ErrUnknown) {
		return
	}
	var order []string
	answers := make(map[string]int)
	for _, e := range w.events(ctx, f, key) {
		switch m := e.Message.(type) {
		case *message.User:
			if len(m.ToolResults()) == 0 && w.isPrompt(m.UUID) { // and not the line of the CLI about an interrupt
				order = append(order, m.UUID)
			}
		case *message.Assistant:
			if len(m.ToolUses()) == 0 && len(order) > 0 {
				answers[order[len(order)-1]]++
			}
		}
	}
	var want, all []string
	for _, p := range w.sent {
		there := slices.Contains(order, p.id)
		if p.key != key || !there && (!p.accepted || p.ended == fleet.PromptCancelled || p.givenUp) {
			continue
		}
		if p.ended == fleet.PromptCancelled && !p.stuck && p.partOf == "" {
			w.fault("%s has prompt %s, which was cancelled", key, p.id)
		}
		if all = append(all, p.id); !p.steers {
			want = append(want, p.id)
		}
	}
	if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, all) {
		w.fault("%s has the prompts %q, want %q", key, got, all)
	}
	waited := slices.DeleteFunc(slices.Clone(order), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(waited, want) {
		w.fault("%s has the prompts that waited as %q, want %q", key, waited, want)
	}
	for id, n := range answers {
		if n != 1 {
			w.fault("prompt %s of %s has %d answers", id, key, n)
		}
	}
}

func (w *world) isPrompt(id string) bool {
	return slices.ContainsFunc(w.sent, func(p sentPrompt) bool { return p.id == id })
}

// events returns the events of a conversation, read in pieces.
func (w *world) events(ctx context.Context, f *fleet.Fleet, key string) (all []fleet.ConversationEvent) {
	var at fleet.Cursor
	for {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		n := 0
		for e, err := range f.Events(ctx, key, at) {
			if err != nil {
				break
			}
			if e.Live {
				continue
			}
			all, at = append(all, e), e.Cursor
			if n++; n == 3 {
				break
			}
		}
		cancel()
		if n < 3 {
			return all
		}
	}
}
