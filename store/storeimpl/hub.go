package storeimpl

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/claude-agent-go/claude/internal/feed"
	"github.com/claude-agent-go/claude/store"
)

// Hub hands changes to the loops over Watch of a store. A reader that leaves too many changes
// unread loses them and reads the zero Changed instead, so no reader holds up a writer. Its
// methods may be called from any goroutine.
type Hub struct {
	source func(ctx context.Context) error

	coming sync.Mutex // held while readers come and go: a source has ended before the next begins

	mu      sync.Mutex
	readers map[*feed.Queue[store.Changed]]string // with their projects
	hears   bool                                  // nothing is missed now, as far as is known
	closed  error                                 // why no reader can come any more
	stop    context.CancelFunc                    // ends the source; nil if none runs
	ended   chan struct{}                         // closed when the source has returned
}

// NewHub returns a hub. The source runs while there are readers, in one goroutine, and reports
// to the hub: [Hub.Missed] when it hears everything from then on, [Hub.Deaf] when it no longer
// does. If it returns before its context ends, all readers end with its error. Without a source
// (nil), everything is heard from the beginning.
func NewHub(source func(ctx context.Context) error) *Hub {
	return &Hub{source: source, readers: make(map[*feed.Queue[store.Changed]]string), hears: source == nil}
}

// Watch is Watch of a [store.Records]. When the last loop has ended, so has the source.
func (h *Hub) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) {
		if err := store.CheckProject(project); err != nil {
			yield(store.Changed{}, err)
			return
		}
		q := feed.NewQueue[store.Changed]()
		h.join(q, project)
		defer h.leave(q)
		q.All(ctx)(yield)
	}
}

// join adds a reader, and starts the source for the first.
func (h *Hub) join(q *feed.Queue[store.Changed], project string) {
	h.coming.Lock()
	defer h.coming.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed != nil {
		q.Fail(h.closed)
		return
	}
	h.readers[q] = project
	if h.hears {
		q.Miss()
	}
	if h.source != nil && h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop, h.ended = stop, make(chan struct{})
		go h.run(ctx, h.ended)
	}
}

// run runs the source.
func (h *Hub) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	err := h.source(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	// Its readers may have left before the context ends.
	if h.hears = false; h.stop == nil {
		return
	}
	h.stop()
	h.stop = nil
	h.fail(cmp.Or(err, errEnded))
}

var errEnded = errors.New("claude: store: the source of changes has ended")

// fail ends all readers with an error. The lock is held.
func (h *Hub) fail(err error) {
	for q := range h.readers {
		q.Fail(err)
	}
	clear(h.readers)
}

// leave removes a reader. With the last, it ends the source.
func (h *Hub) leave(q *feed.Queue[store.Changed]) {
	h.coming.Lock()
	defer h.coming.Unlock()
	h.mu.Lock()
	delete(h.readers, q)
	last := len(h.readers) == 0
	h.mu.Unlock()
	if last {
		h.end()
	}
}

// end ends the source and waits for it. The lock coming is held, mu is not: the source may be
// about to report something.
func (h *Hub) end() {
	h.mu.Lock()
	stop, ended := h.stop, h.ended
	h.stop = nil
	h.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
}

// Send hands changes to the readers of their projects. While the source does not hear
// everything, they are left out: the zero Changed that follows stands for them.
func (h *Hub) Send(changes ...store.Changed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.hears {
		return
	}
	for q, project := range h.readers {
		var its []store.Changed
		for _, c := range changes {
			if projectOf(c) == project {
				its = append(its, c)
			}
		}
		if len(its) > 0 {
			q.Put(its...)
		}
	}
}

// projectOf returns the project of a change. A lease that was given back has only its fence.
func projectOf(c store.Changed) string {
	return cmp.Or(c.Record.Project, c.Transcript.Project, c.By.Project)
}

// Missed lets every reader read the zero Changed. From then on, the source hears everything.
func (h *Hub) Missed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hears = true
	for q := range h.readers {
		q.Miss()
	}
}

// Deaf means that the source does not hear everything until the next [Hub.Missed]. A new reader
// also waits for that.
func (h *Hub) Deaf() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hears = false
}

// Close ends all loops with an error, later ones too, and waits for the end of the source.
func (h *Hub) Close(err error) {
	h.coming.Lock()
	defer h.coming.Unlock()
	h.mu.Lock()
	h.closed = cmp.Or(h.closed, err)
	h.fail(h.closed)
	h.mu.Unlock()
	h.end()
}
