package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Prompt is a message for a conversation.
type Prompt struct {
	// ID is a UUID that names the prompt. Empty: a random one. Sending is idempotent by
	// it: a prompt with an id that the conversation already has is not accepted a
	// second time, so one whose Send has failed can be sent again. The conversation has
	// the id for Options.Keep.
	ID string
	// Text is the message. Content is used instead if it is set.
	Text    string
	Content message.Content
	// Steer gives the prompt to the turn that runs: the model reads it with the
	// results of its next tool calls, and one result answers both. If no turn
	// takes it in, because none is running or it calls no more tools, the
	// prompt becomes the next turn, ahead of those that are waiting.
	Steer bool

	rewind *RewindTo // what is asked for instead
	fresh  bool      // its id was made here, so no other sender has it
}

// queued is a prompt in the store. It exists until the prompt has its outcome.
type queued struct {
	ID       string          `json:"id"`
	Content  message.Content `json:"content"`
	Accepted time.Time       `json:"accepted"`
	// Begun counts how often it was given to a CLI since it last made progress.
	Begun int `json:"begun,omitzero"`
	// Resets counts how often progress has set Begun back, and Since is the id of the
	// message of its turn that did so last.
	Resets int    `json:"resets,omitzero"`
	Since  string `json:"since,omitzero"`
	// Starts counts the starts of a CLI in a row that were too slow.
	Starts int `json:"starts,omitzero"`
	// Losses counts the attempts that lost their lease and were continued by their process.
	Losses int `json:"losses,omitzero"`
	// Sent means that a CLI may have seen it.
	Sent bool `json:"sent,omitzero"`
	// Steer means that a running turn may take it in.
	Steer bool `json:"steer,omitzero"`
	// Question is the id of the question that it waits for.
	Question string `json:"question,omitzero"`
	// Failure is the error that ended the last attempt.
	Failure string `json:"failure,omitzero"`
	Cause   Cause  `json:"cause,omitzero"`
	// Cancelled is when it was taken back. From then on it never runs.
	Cancelled time.Time `json:"cancelled,omitzero"`
	// Interrupted is when its turn was interrupted. If the process that ran the turn is
	// gone, the next one that finds the prompt ends it.
	Interrupted time.Time `json:"interrupted,omitzero"`
	// Rewind is a request to restore files, which takes its turn among the prompts.
	Rewind *RewindTo `json:"rewind,omitzero"`
	// Carrier is the one that [PromptTrace] has given it.
	Carrier map[string]string `json:"carrier,omitempty"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`

	name     string // of its record
	revision int64
	fresh    bool   // its id was made here, so no other sender has it
	offer    *offer // that has brought it; nil: it was in the queue
	newer    bool   // a newer version wrote it, and only its id and name are known
}

// PromptStatus is how a prompt ended, or how far it is.
type PromptStatus string

// The statuses of a prompt. The first four are not final.
const (
	PromptQueued  PromptStatus = "queued"
	PromptRunning PromptStatus = "running"
	PromptWaiting PromptStatus = "waiting" // for a person
	// PromptStuck means that it was begun again and again and never ended. Its
	// conversation waits for [Fleet.Retry] or [Fleet.Cancel].
	PromptStuck     PromptStatus = "stuck"
	PromptAnswered  PromptStatus = "answered"
	PromptFailed    PromptStatus = "failed" // its turn ended with an error
	PromptCancelled PromptStatus = "cancelled"
	// PromptExpired means that the call at which its turn was deferred was not decided in
	// time, see Lifetime in [approval.Options].
	PromptExpired PromptStatus = "expired"
)

// Done reports whether the prompt has ended: nothing more happens to it.
func (s PromptStatus) Done() bool {
	return s == PromptAnswered || s == PromptFailed || s == PromptCancelled || s == PromptExpired
}

// Ticket shows the progress of a prompt, and how it ended.
type Ticket struct {
	Prompt string       `json:"prompt"`
	Status PromptStatus `json:"status"`
	// Question is the id of the question that it waits for, or that has expired.
	Question string `json:"question,omitzero"`
	// Text is the answer, and Result the result of the CLI. Result is nil if
	// the answer was found in the transcript after a crash.
	Text   string          `json:"text,omitzero"`
	Result *message.Result `json:"result,omitzero"`
	// Output is the structured answer, if the options have an OutputSchema, even if
	// it was found in the transcript after a crash.
	Output json.RawMessage `json:"output,omitzero"`
	// Rewind is the result of [Fleet.Rewind].
	Rewind *control.Rewind `json:"rewind,omitzero"`
	// Error is why it has no answer: what ended its turn, who cancelled it, or why its
	// conversation is stuck. A prompt queued behind the one that its conversation is
	// stuck on has that reason as well.
	Error string `json:"error,omitzero"`
	// APIError is the class of the API error that ended its turn, if one did.
	APIError message.AssistantError `json:"apiError,omitzero"`
	// Cause is the kind of that reason, if its conversation is stuck.
	Cause Cause `json:"cause,omitzero"`
	// Interrupted means that [Fleet.Interrupt] has ended it: its turn, which then has a
	// Result, or the attempts to begin or continue one, without a Result.
	Interrupted bool `json:"interrupted,omitzero"`
	// Cost is the cost of the prompt so far: all of its turn, even if the turn was
	// deferred, or broke off and was resumed by other processes.
	Cost Ledger `json:"cost,omitzero"`
	// PartOf is the prompt whose turn took this one in, because it steers. One
	// result answers both, and the other prompt bears the cost.
	PartOf string `json:"partOf,omitzero"`
	// Session is the session that the answer is in.
	Session string    `json:"session,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// content returns the content of a prompt, and refuses an empty one.
func (p *Prompt) content() (message.Content, error) {
	switch {
	case p.ID != "" && !uuid.Valid(p.ID):
		return nil, fmt.Errorf("claude: fleet: %w: prompt id %q is not a UUID", store.ErrInvalid, p.ID)
	case len(p.Content) > 0 || p.rewind != nil:
		return p.Content, nil
	case p.Text == "":
		return nil, fmt.Errorf("claude: fleet: %w: the prompt is empty", store.ErrInvalid)
	}
	return message.Content{message.Text(p.Text)}, nil
}

// stamp is the name of a prompt below its conversation. It begins with the time at
// which the prompt was accepted, so names are unique and sort in that order.
func stamp(at time.Time, id string) string {
	return fmt.Sprintf("%016x-%s", at.UnixNano(), id)
}

// stamped is the id of the prompt with a name. That of an odd name is not a UUID.
func stamped(name string) string {
	_, id, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "-")
	return id
}

// pending yields the prompts of a conversation that have no outcome, in order; those of
// all conversations if key is empty. A prompt of a newer version is an error for one
// conversation; among those of all, it is yielded with only its id and name.
func (rs *records) pending(ctx context.Context, key string) iter.Seq2[*queued, error] {
	all := rs.store.Scan(ctx, store.Folder{Project: rs.project, Kind: kindPrompt}, "")
	if key != "" {
		all = rs.store.Scan(ctx, store.Folder{Project: rs.project, Kind: kindPrompt, Name: place(key)}, "")
	}
	return func(yield func(*queued, error) bool) {
		for r, err := range all {
			p := &queued{name: r.Key.Name, revision: r.Revision}
			if err == nil {
				err = decode(r, p)
			}
			if at := keyAt(p.name); key == "" && rs.newer.skips(at, err) {
				p, err = &queued{ID: stamped(p.name), name: p.name, newer: true}, nil
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// waiting yields the prompts of a conversation that are to run.
func (rs *records) waiting(ctx context.Context, key string) iter.Seq2[*queued, error] {
	return func(yield func(*queued, error) bool) {
		for p, err := range rs.pending(ctx, key) {
			if err == nil && !p.Cancelled.IsZero() {
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// accept writes a prompt. It is accepted when it is written, and not before; a write
// whose outcome is unknown is repeated.
func (rs *records) accept(ctx context.Context, key string, p *queued) error {
	for attempt := 0; ; attempt++ {
		_, err := rs.put(ctx, kindPrompt, p.name, p, 0, store.Fence{})
		if err == nil || attempt > 0 && errors.Is(err, store.ErrConflict) {
			return nil // the conflict is with our own first attempt
		}
		if errors.Is(err, store.ErrInvalid) {
			return &ConversationError{key, err}
		}
		if attempt == acceptAttempts || ctx.Err() != nil {
			return p.inDoubt(key, err)
		}
		if !pause(ctx, retryDelay(attempt)) {
			return p.inDoubt(key, context.Cause(ctx))
		}
	}
}

// inDoubt is the error of Send if the prompt may or may not have been accepted.
func (p *queued) inDoubt(key string, err error) error {
	if _, named := errors.AsType[*InDoubtError](err); named {
		return err
	}
	if at, ok := errors.AsType[*ConversationError](err); ok && at.Key == key {
		err = at.Reason // which is named already
	}
	return &InDoubtError{key, p.ID, err}
}

// acceptAttempts is how often a prompt is written again.
const acceptAttempts = 3

// known reports whether the conversation has a prompt with this id.
func (rs *records) known(ctx context.Context, key, id string) (bool, error) {
	if _, ended, err := rs.outcome(ctx, key, id); ended || err != nil {
		return ended, err
	}
	for p, err := range rs.pending(ctx, key) {
		if err != nil || p.ID == id {
			return err == nil, err
		}
	}
	return false, nil
}

// update writes a changed prompt by compare-and-set: if it was changed since it was
// read, update returns [store.ErrConflict].
func (rs *records) update(ctx context.Context, p *queued, fence store.Fence) error {
	next, err := rs.put(ctx, kindPrompt, p.name, p, p.revision, fence)
	if err == nil {
		p.revision = next
	}
	return err
}

// reread returns a prompt as the store has it now.
func (rs *records) reread(ctx context.Context, p *queued) (*queued, error) {
	r, err := store.Get(ctx, rs.store, rs.key(kindPrompt, p.name))
	if err != nil {
		return nil, fmt.Errorf("claude: fleet: read prompt %s: %w", p.ID, err)
	}
	now := &queued{name: p.name, revision: r.Revision, fresh: p.fresh, offer: p.offer}
	return now, decode(r, now)
}

// maxOutcome is how much of an answer an outcome keeps. All of it is in the
// transcript.
const maxOutcome = 256 << 10

// shorten makes an outcome fit into a record.
func (o *Ticket) shorten() {
	if o.Result != nil || len(o.Output) > maxOutcome { // the result has it
		o.Output = nil
	}
	if len(o.Text) > maxOutcome {
		o.Text = strings.ToValidUTF8(o.Text[:maxOutcome], "")
	}
	if o.Result != nil && (len(o.Result.Text) > maxOutcome || len(o.Result.StructuredOutput) > maxOutcome) {
		short := *o.Result
		short.Raw, short.Text, short.StructuredOutput = nil, o.Text, nil
		o.Result = &short
	}
}

// pause waits, false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryDelay is how long to wait before an attempt is repeated.
func retryDelay(attempt int) time.Duration {
	return min(100*time.Millisecond<<min(attempt, 10), 10*time.Second)
}

// find returns a prompt that is in the queue, nil if it is not.
func (rs *records) find(ctx context.Context, key, id string) (*queued, error) {
	for p, err := range rs.pending(ctx, key) {
		if err != nil || p.ID == id {
			return p, err
		}
	}
	return nil, nil
}

// behind returns the time for a prompt that is accepted now: later than that of all
// waiting prompts of its conversation, whichever process has accepted them. It reads
// the queue only if the clock of the store is coarse, and only the part that is not
// older than now.
func (rs *records) behind(ctx context.Context, key string, now time.Time) (time.Time, error) {
	if !coarse(now) {
		return now, nil
	}
	queue := place(key) + "/"
	for r, err := range rs.store.Scan(ctx, store.Folder{Project: rs.project, Kind: kindPrompt}, queue+stamp(now, "")) {
		if r.Key.Name != "" && !strings.HasPrefix(r.Key.Name, queue) {
			break // a faulty prompt of another conversation does not matter
		}
		if err != nil {
			return now, &ConversationError{key, err}
		}
		if at, ok := stampedAt(r.Key.Name); ok && !at.Before(now) {
			now = at.Add(1)
		}
	}
	return now, nil
}

// Prompts are named by the time of the store, and begin in the order of their names. A
// clock that counts in large steps shows several processes the same time, and tick,
// which keeps the prompts of one process apart, may even run ahead of it. Then only the
// queue shows which prompts were accepted before.

// coarse reports whether a time may come from a clock whose steps are so large that one
// Send can return and another begin within a step. Clocks of microseconds are taken for
// coarse once in a thousand times, which costs a read.
func coarse(now time.Time) bool { return now.Nanosecond()%int(time.Millisecond) == 0 }

// stampedAt is when the prompt with a name was accepted; false if the name is odd.
func stampedAt(name string) (at time.Time, ok bool) {
	text, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "-")
	ns, err := strconv.ParseInt(text, 16, 64)
	return time.Unix(0, ns), err == nil
}

// lostAttempt is an attempt of this process that ended because its lease was lost.
type lostAttempt struct {
	prompt   string
	revision int64 // of the prompt as this process has last written it
}

// startAgain makes a prompt count as not begun, because a person has been asked or has
// decided something.
func (p *queued) startAgain() { p.Begun, p.Resets, p.Starts, p.Losses = 0, 0, 0, 0 }

// rank orders the prompts of a conversation: first those that a CLI may have
// seen, then those that were to steer a turn.
func (p *queued) rank() int {
	switch {
	case p.Sent:
		return 0
	case p.Steer:
		return 1
	}
	return 2
}

// steers reports whether a prompt is to steer a turn and no CLI has it. No signal
// follows for one that was taken back.
func (p *queued) steers() bool { return p.Steer && !p.Sent }

// RewindTo asks to restore files to their state when a prompt was sent.
type RewindTo struct {
	// ID is a UUID that names the request, as that of a prompt does: sent again, it
	// returns the result of the first. Empty: a random one.
	ID string `json:"-"`
	// Prompt is the id of the prompt. Changes that Claude made after it was sent are
	// taken back, but not those of shell commands.
	Prompt string `json:"prompt"`
	// DryRun only reports what would change.
	DryRun bool `json:"dryRun,omitzero"`
}
