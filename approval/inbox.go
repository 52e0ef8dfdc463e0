package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// Inbox is people's view of the questions. Its methods may be called from any
// goroutine.
type Inbox interface {
	// Get returns a question, or [store.ErrNotFound].
	Get(ctx context.Context, id string) (Question, error)
	// List yields the questions that the filter selects, in no particular
	// order.
	List(ctx context.Context, f Filter) iter.Seq2[Question, error]
	// Watch yields the questions that the filter selects, and from then on each
	// one that appears or changes, until ctx ends, the store fails or the loop
	// is left. A question that stops matching is yielded once more in its new
	// state.
	Watch(ctx context.Context, f Filter) iter.Seq2[Question, error]
	// Decide takes a decision and returns the question. The first of several
	// decisions counts: a later one gets a [*DecidedError], but repeating the
	// same decision by the same person is not an error. Other errors:
	// [ErrGone], [ErrChanged], [ErrForbidden], [ErrInvalid],
	// [store.ErrNotFound].
	Decide(ctx context.Context, id string, a Answer) (Question, error)
	// Acknowledge records that the person who decided a question has seen that their
	// decision was not used; see Question.Unused. It changes nothing if the decision
	// was used, or if another person made it.
	Acknowledge(ctx context.Context, id, by string) (Question, error)
}

// Questions is the inbox of a project, kept in the records of a store. Besides
// the actions of people, it has those of a gate: ask, release, settle. It may
// be used by several goroutines, and by several processes that share the store.
type Questions struct {
	records store.Records
	project string
	every   func() time.Duration // see PollEvery

	mu      sync.Mutex
	changed chan struct{} // closed at the next change made here
}

var _ Inbox = (*Questions)(nil)

// Kind is the kind of the records of questions.
const Kind = "question"

// defaultPoll is how often watchers look for changes by other processes.
const defaultPoll = time.Second

// shortestPoll is how soon a question is looked at again whose deadline is near.
const shortestPoll = 10 * time.Millisecond

// NewQuestions returns the inbox of a project.
func NewQuestions(r store.Records, project string) *Questions {
	return &Questions{records: r, project: project, every: func() time.Duration { return defaultPoll }, changed: make(chan struct{})}
}

// PollEvery sets how often Watch, Await and a [Gate] look at the store although nothing
// was announced; without it, they do every second. Use it if you call
// [Questions.Announce] for each change by another process, and before anything else. A
// question that expires is seen in time however rarely they look.
func (qs *Questions) PollEvery(every func() time.Duration) { qs.every = every }

// Ask puts a question into the inbox and returns its current state. Asking
// about the same call again returns the existing question, whatever its state,
// so that a restarted process finds the answer to its predecessor's question.
// If that question has another input, Ask returns [ErrChanged]. With a fence,
// Ask is refused in the same cases as an append.
func (qs *Questions) Ask(ctx context.Context, q Question, f store.Fence) (Question, error) {
	return qs.ask(ctx, q, nil, f)
}

// ask puts a question into the inbox. With an answer it is decided from the
// start, and no person is bothered.
func (qs *Questions) ask(ctx context.Context, q Question, a *Answer, f store.Fence) (Question, error) {
	return qs.create(ctx, q, f, func(q *Question, now time.Time) {
		if a != nil {
			q.take(*a, now)
		}
	})
}

// bury leaves a tombstone for a question whose write has failed: the store may have it, or
// get it late, and then a person would decide about a call that is over.
func (qs *Questions) bury(ctx context.Context, q Question, o Outcome, f store.Fence) error {
	q, err := qs.create(ctx, q, f, func(q *Question, now time.Time) { q.end(OutcomeWithdrawn, now) })
	if err == nil && !q.State.over() {
		err = qs.End(ctx, q.ID, o, f)
	}
	return err
}

// create puts a question into the inbox, as begin leaves it.
func (qs *Questions) create(ctx context.Context, q Question, f store.Fence, begin func(q *Question, now time.Time)) (Question, error) {
	if err := q.check(); err != nil {
		return Question{}, err
	}
	now, err := qs.records.Now(ctx)
	if err != nil {
		return Question{}, err
	}
	q.ID, q.Digest = idOf(q.Conversation, q.ToolUseID), Digest(q.Input)
	q.State, q.Asked, q.Deadline = StateOpen, now, time.Time{}
	if q.Lifetime > 0 {
		q.Deadline = now.Add(q.Lifetime)
	}
	q.Answer, q.Outcome, q.Ended, q.Successor = nil, "", time.Time{}, ""
	q.Unused, q.UnusedSeen = "", time.Time{}
	begin(&q, now)
	value, err := q.encode()
	if err != nil {
		return Question{}, err
	}
	_, err = store.Put(ctx, qs.records, qs.key(q.ID), value, 0, f)
	if errors.Is(err, store.ErrConflict) {
		known, err := qs.load(ctx, q.ID)
		if err == nil && known.Digest != q.Digest {
			err = about(q.ID, ErrChanged)
		}
		return known.Question, err
	}
	if err != nil {
		return Question{}, about(q.ID, err)
	}
	qs.announce()
	return q, nil
}

func (q *Question) check() error {
	lacks := ""
	switch {
	case q.Conversation == "":
		lacks = "conversation"
	case q.Tool == "":
		lacks = "tool"
	case q.ToolUseID == "":
		lacks = "tool use id"
	case !jsonx.Valid(q.Input):
		lacks = "input"
	default:
		return nil
	}
	return fmt.Errorf("claude: approval: %w: the question has no %s", ErrInvalid, lacks)
}

// questionRecord is the stored form of a question.
type questionRecord struct {
	*Question
	Unknown jsonx.Unknown `json:",embed"`
}

// encode encodes a question. Parts that only help a person to decide are left
// out if the record would become too large.
func (q Question) encode() ([]byte, error) {
	kept := &questionRecord{&q, q.unknown}
	value, err := recordform.Encode(kept)
	if err == nil && len(value) > store.MaxRecord && q.Diff != "" {
		q.Diff = ""
		value, err = recordform.Encode(kept)
	}
	if err != nil {
		return nil, about(q.ID, err)
	}
	return value, nil
}

// Get implements [Inbox].
func (qs *Questions) Get(ctx context.Context, id string) (Question, error) {
	v, err := qs.load(ctx, id)
	return v.Question, err
}

// List implements [Inbox].
func (qs *Questions) List(ctx context.Context, f Filter) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for v, err := range qs.scan(ctx, f.Conversation) {
			if err != nil {
				yield(Question{}, err)
				return
			}
			if f.matches(&v.Question) && !yield(v.Question, nil) {
				return
			}
		}
	}
}

// Decide implements [Inbox].
func (qs *Questions) Decide(ctx context.Context, id string, a Answer) (Question, error) {
	if err := a.check(); err != nil {
		return Question{}, about(id, err)
	}
	return qs.change(ctx, id, store.Fence{}, func(q *Question, now time.Time) error {
		switch {
		case !q.MayDecide(a.By):
			return about(id, ErrForbidden)
		case q.Digest != a.Digest:
			return about(id, ErrChanged)
		case q.State == StateGone:
			return &GoneError{ID: id, Outcome: q.Outcome, Successor: q.Successor}
		case q.Answer != nil && q.Answer.same(&a):
			return errUnchanged
		case q.Answer != nil:
			return &DecidedError{ID: id, By: q.Answer.By, At: q.Answer.At, Answer: *q.Answer}
		case q.State != StateOpen:
			return &StateError{ID: id, State: q.State, Want: StateDecided}
		}
		q.take(a, now)
		return nil
	})
}

// take takes an answer.
func (q *Question) take(a Answer, now time.Time) {
	a.At = now
	q.State, q.Answer = StateDecided, &a
}

// decideByRule decides an open question by a rule.
func (qs *Questions) decideByRule(ctx context.Context, id string, a Answer, f store.Fence) error {
	_, err := qs.change(ctx, id, f, func(q *Question, now time.Time) error {
		if q.State != StateOpen {
			return errUnchanged
		}
		q.take(a, now)
		return nil
	})
	return err
}

func (a *Answer) check() error {
	switch {
	case a.By == "":
		return fmt.Errorf("%w: the answer does not say who decided", ErrInvalid)
	case a.Decision.Behavior() == "":
		return fmt.Errorf("%w: the answer neither allows nor denies", ErrInvalid)
	}
	a.Rule = "" // a person decides
	for _, rule := range a.Always {
		if err := checkRule(rule, a.Decision.Behavior()); err != nil {
			return err
		}
	}
	// The record must hold the decision, and a changed input must be an object.
	data, err := a.Decision.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return json.Unmarshal(data, &a.Decision)
}

// Forget removes questions that were settled or gone before a time of the store's clock,
// and returns how many. It keeps those for which needed returns true; nil keeps none. It
// also keeps unused decisions until the people who made them have seen that, but for no
// more than 30 days longer.
//
// A fleet calls it for its conversations.
func (qs *Questions) Forget(ctx context.Context, before time.Time, needed func(*Question) bool) (int, error) {
	n := 0
	for v, err := range qs.scan(ctx, "") {
		if err != nil {
			return n, err
		}
		if !v.State.over() || !v.Ended.Before(before) || v.unseen() && v.Ended.After(before.Add(-unseenFor)) || needed != nil && needed(&v.Question) {
			continue
		}
		err := store.Drop(ctx, qs.records, qs.key(v.ID), v.revision, store.Fence{})
		if err == nil {
			n++
		} else if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return n, about(v.ID, err)
		}
	}
	return n, nil
}

func (qs *Questions) key(id string) store.RecordKey {
	return store.RecordKey{Project: qs.project, Kind: Kind, Name: id}
}

// version is a question with the revision of its record.
type version struct {
	Question
	revision int64
}

// mayExpire reports whether time alone can end the question.
func (v *version) mayExpire() bool { return v.State == StateOpen && !v.Deadline.IsZero() }

func (qs *Questions) load(ctx context.Context, id string) (version, error) {
	if !isID(id) {
		return version{}, about(id, store.ErrNotFound)
	}
	r, err := store.Get(ctx, qs.records, qs.key(id))
	if err != nil {
		return version{}, about(id, err)
	}
	return qs.read(ctx, r)
}

// scan yields all questions of the project. A question that this program cannot read,
// because a newer one wrote it, is an error if it belongs to the conversation, and skipped
// otherwise.
func (qs *Questions) scan(ctx context.Context, conversation string) iter.Seq2[version, error] {
	return func(yield func(version, error) bool) {
		for r, err := range qs.records.Scan(ctx, store.Folder{Project: qs.project, Kind: Kind}, "") {
			var v version
			if err == nil {
				v, err = qs.read(ctx, r)
			}
			if errors.Is(err, store.ErrNotFound) || isForeign(r, err, conversation) {
				continue // forgotten since, or not for this program
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// isForeign reports whether an unreadable record is left to the newer version of this
// program that has written it. A caller that asks about one conversation must not miss any
// of its questions.
func isForeign(r store.Record, err error, conversation string) bool {
	return errors.Is(err, store.ErrNewer) && (conversation == "" || jsonx.Text(jsonx.Member(r.Value, "conversation")) != conversation)
}

// read decodes a record. A question past its deadline ends here: no timer
// watches for that; the first reader to see it stores the end, and wakes no
// watcher.
func (qs *Questions) read(ctx context.Context, r store.Record) (version, error) {
	v := version{revision: r.Revision}
	kept := questionRecord{Question: &v.Question}
	if err := recordform.Decode(r, &kept); err != nil {
		return version{}, fmt.Errorf("claude: approval: %w", err)
	}
	v.unknown = kept.Unknown
	if !v.mayExpire() {
		return v, nil
	}
	now, err := qs.records.Now(ctx)
	if err != nil || !v.expired(now) {
		return v, err
	}
	v.end(OutcomeExpired, now)
	v.revision, err = qs.put(ctx, &v.Question, v.revision, store.Fence{})
	if errors.Is(err, store.ErrConflict) {
		return qs.load(ctx, v.ID) // another process was faster
	}
	return v, err
}

func (q *Question) end(o Outcome, now time.Time) {
	q.State, q.Outcome, q.Ended = o.state(), o, now
}

// errUnchanged is the result of a step that has nothing to write.
var errUnchanged = errors.New("unchanged")

// change takes one step of a question: it reads the question, lets step change
// it, and writes it by compare-and-set; if another writer came first, it begins
// again. It returns the stored question. An error of step ends it.
func (qs *Questions) change(ctx context.Context, id string, f store.Fence, step func(q *Question, now time.Time) error) (Question, error) {
	for {
		v, err := qs.load(ctx, id)
		if err != nil {
			return Question{}, err
		}
		now, err := qs.records.Now(ctx)
		if err != nil {
			return v.Question, err
		}
		if v.expired(now) {
			continue // load stores the end
		}
		q := v.Question
		switch err := step(&q, now); {
		case errors.Is(err, errUnchanged):
			return v.Question, nil
		case err != nil:
			return v.Question, err
		}
		_, err = qs.put(ctx, &q, v.revision, f)
		if err == nil {
			return q, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return v.Question, err
		}
	}
}

func (qs *Questions) put(ctx context.Context, q *Question, revision int64, f store.Fence) (int64, error) {
	value, err := q.encode()
	if err != nil {
		return 0, err
	}
	next, err := store.Put(ctx, qs.records, qs.key(q.ID), value, revision, f)
	if err != nil {
		return 0, about(q.ID, err)
	}
	qs.announce()
	return next, nil
}

// Erase ends the questions of a deleted conversation with the outcome [OutcomeDeleted],
// and removes the contents of all its questions, their answers and the rules of
// the conversation. A tombstone of each question stays, so that a late decision
// gets [ErrGone]; [Questions.Forget] removes that too. Erase is idempotent. With
// a fence, it is refused in the same cases as an append.
//
// A fleet calls it for its conversations.
func (qs *Questions) Erase(ctx context.Context, conversation string, f store.Fence) error {
	for v, err := range qs.scan(ctx, conversation) {
		if err != nil {
			return err
		}
		if v.Conversation != conversation {
			continue
		}
		_, err := qs.change(ctx, v.ID, f, func(q *Question, now time.Time) error {
			if string(q.Input) == erased && q.State.over() {
				return errUnchanged
			}
			if !q.State.over() {
				q.end(OutcomeDeleted, now)
			}
			*q = Question{
				ID: q.ID, Conversation: q.Conversation, Tool: q.Tool, ToolUseID: q.ToolUseID, Input: json.RawMessage(erased), Digest: q.Digest, Deciders: q.Deciders,
				State: q.State, Asked: q.Asked, Outcome: q.Outcome, Ended: q.Ended,
			}
			return nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return qs.eraseRules(ctx, conversation, f)
}

// erased is the input of a question whose conversation was deleted.
const erased = "null"

// eraseRules removes the rules of a conversation.
func (qs *Questions) eraseRules(ctx context.Context, conversation string, f store.Fence) error {
	for {
		_, revision, err := qs.rules(ctx, conversation)
		if err != nil || revision == 0 {
			return err
		}
		err = store.Drop(ctx, qs.records, qs.rulesKey(conversation), revision, f)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
