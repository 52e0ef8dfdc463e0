package fleet

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// ear is the store, and hears what changes in it. It knows which changes this process
// has made: those wake nothing, because the code that makes a change also notifies the
// readers of this process. The fence does not show it, since prompts and decisions are
// written without one. So the ear compares revisions.
type ear struct {
	store.Fleet
	poll  time.Duration // Options.Poll
	hears atomic.Bool   // nothing is missed now, as far as is known

	mu sync.Mutex
	// made are the revisions that this process has written and that were not announced
	// yet, in order; 0 is a drop.
	made map[store.RecordKey][]int64
	// writing are the records that are being written. The announcement may come before
	// the answer, and is kept until the revision is known.
	writing map[store.RecordKey]*writes
	notice  func(c store.Changed, own bool) // called with the lock held, one call at a time
}

// writes are the writes of a record whose answers are awaited.
type writes struct {
	number int
	kept   []store.Changed
}

func newEar(s store.Fleet, poll time.Duration) *ear {
	return &ear{
		Fleet: s, poll: poll, made: make(map[store.RecordKey][]int64), writing: make(map[store.RecordKey]*writes),
		notice: func(store.Changed, bool) {},
	}
}

// deafPoll is how often the store is looked at while its changes are not heard.
const deafPoll = 2 * time.Second

// pollEvery is how often to look at the store although no change was announced.
func (e *ear) pollEvery() time.Duration {
	if e.hearing() {
		return e.poll
	}
	return min(e.poll, deafPoll)
}

// hearing reports whether changes of other processes are noticed at once.
func (e *ear) hearing() bool { return e.hears.Load() }

// hear passes a change on.
func (e *ear) hear(c store.Changed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.IsZero() {
		e.hears.Store(true)
		e.forget()
		e.notice(c, false)
		return
	}
	if w := e.writing[c.Record]; w != nil {
		w.kept = append(w.kept, c)
		return
	}
	e.notice(c, e.own(c))
}

// deaf means that changes are not heard until the next zero. All readers look at the store
// then.
func (e *ear) deaf() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hears.Store(false)
	e.forget()
	e.notice(store.Changed{}, false)
}

// forget forgets announcements that may never come, and those that all readers have just
// been told to look for.
func (e *ear) forget() {
	clear(e.made)
	for _, w := range e.writing {
		w.kept = nil
	}
}

// own reports whether this process has made a change of a record.
func (e *ear) own(c store.Changed) bool {
	own, left := judge(e.made[c.Record], c.Revision)
	if len(left) > 0 {
		e.made[c.Record] = left
	} else {
		delete(e.made, c.Record)
	}
	return own
}

// judge reports whether this process has made an announced revision, and returns its
// revisions that may still be announced: the last of several may stand for all.
func judge(made []int64, announced int64) (own bool, left []int64) {
	if i := slices.Index(made, announced); i >= 0 {
		return true, made[i+1:]
	}
	if announced == 0 {
		return false, nil
	}
	for len(made) > 0 && made[0] != 0 && made[0] < announced {
		made = made[1:]
	}
	return false, made
}

// Change implements [store.Records].
func (e *ear) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	e.begin(changes)
	next, err := e.Fleet.Change(ctx, f, changes...)
	e.end(changes, next, err)
	return next, err
}

// begin keeps the announcements of records that are about to be written.
func (e *ear) begin(changes []store.RecordChange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range changes {
		if !concerns(c) {
			continue
		}
		if e.writing[c.Key] == nil {
			e.writing[c.Key] = new(writes)
		}
		e.writing[c.Key].number++
	}
}

// end notes the revisions that were written, and passes on what was kept. After an error
// it is not known what was written: readers then look at it as at the change of another.
func (e *ear) end(changes []store.RecordChange, next []int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, c := range changes {
		if !concerns(c) {
			continue
		}
		if err == nil && e.hearing() {
			e.made[c.Key] = append(e.made[c.Key], next[i])
		}
		w := e.writing[c.Key]
		if w.number--; w.number > 0 {
			continue
		}
		delete(e.writing, c.Key)
		for _, kept := range w.kept {
			e.notice(kept, e.own(kept))
		}
	}
}

// concerns reports whether the announcement of a change would wake anything.
func concerns(c store.RecordChange) bool {
	return !c.Keep && (reactTo(store.Changed{Record: c.Key}, false) != ignore || reactTo(store.Changed{Record: c.Key, Revision: 1}, false) != ignore)
}

// lasting is how long a watch must last for the next one to be begun without delay.
const lasting = 10 * time.Second

// watch hears what changes in a project until ctx ends. A watch that ends is begun again,
// after a while if it did not last.
func (e *ear) watch(ctx context.Context, project string, failed func(error)) {
	for attempt := 0; ; attempt++ {
		begin := time.Now()
		var cause error
		for c, err := range e.Watch(ctx, project) {
			if err != nil {
				cause = err
				break
			}
			e.hear(c)
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(begin) > lasting {
			attempt = 0
		}
		if attempt == 0 {
			failed(cause)
		}
		e.deaf()
		if !pause(ctx, retryDelay(attempt)) {
			return
		}
	}
}
