package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// peers asks the process that runs a conversation, over the Bus, and answers for the
// conversations that run here. All processes get a request; only the one that runs the
// conversation replies.
type peers struct {
	opts    *Options
	ctx     context.Context // ends with Close
	running *sync.WaitGroup
	roster  *roster
	leases  *leases
	self    string // names this process in requests

	mu      sync.Mutex
	waiting map[string]chan<- reply // by request
}

const (
	// replyBound is how long a caller waits for the reply.
	replyBound = 5 * time.Second
	// doBound is how long the process that runs a conversation may take to carry out an
	// instruction. It is shorter, so that the caller learns about a failure.
	doBound = 4 * time.Second
	// replyAgain is how long a request waits before it is sent again, or, if it may not be,
	// before the caller looks whether any process has the lease.
	replyAgain = 500 * time.Millisecond
)

// request is a request of one process to another.
type request struct {
	ID   string `json:"id"`
	From string `json:"from"`
	Key  string `json:"key"`
	// Do is the instruction to carry out. Without one the live text is asked for.
	Do *instruction `json:"do,omitzero"`
}

// reply is the answer to a request.
type reply struct {
	ID    string     `json:"id"`
	Live  *liveState `json:"live,omitzero"`
	Error *sentError `json:"error,omitzero"`
}

// errNoReply means that no process has replied. It matches [ErrElsewhere], which a reply
// may do as well.
var errNoReply = fmt.Errorf("%w", ErrElsewhere)

func newPeers(ctx context.Context, o *Options, running *sync.WaitGroup, r *roster, ls *leases) *peers {
	return &peers{opts: o, ctx: ctx, running: running, roster: r, leases: ls, self: uuid.New(), waiting: make(map[string]chan<- reply)}
}

// open subscribes to replies and, in a process that runs conversations, to requests. do
// carries out an instruction and reports whether the conversation runs here.
func (p *peers) open(ctx context.Context, do func(ctx context.Context, key string, op instruction) (here bool, err error)) error {
	if p.opts.Bus == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, replyBound)
	defer cancel()
	stop, err := p.opts.Bus.Subscribe(ctx, replyTopic(p.opts.Project, p.self), p.take)
	if err != nil {
		return fmt.Errorf("claude: fleet: Options.Bus: %w", err)
	}
	stops := []func(){stop}
	if p.opts.MaxLive != NoCLIs {
		stop, err := p.opts.Bus.Subscribe(ctx, requestTopic(p.opts.Project), func(message []byte) { p.answer(message, do) })
		if err != nil {
			stops[0]()
			return fmt.Errorf("claude: fleet: Options.Bus: %w", err)
		}
		stops = append(stops, stop)
	}
	p.running.Go(func() {
		<-p.ctx.Done()
		for _, stop := range stops {
			stop()
		}
	})
	return nil
}

// instruct has an instruction carried out by the process that runs a conversation. The
// error is errNoReply if none does.
func (p *peers) instruct(ctx context.Context, key string, op instruction) error {
	r, err := p.ask(ctx, request{Key: key, Do: &op})
	if err != nil {
		return err
	}
	if r.Error != nil {
		return &ConversationError{key, fmt.Errorf("the process that runs it answers: %w", r.Error.unpack())}
	}
	return nil
}

// live returns the live text of a conversation, from the process that runs it.
func (p *peers) live(ctx context.Context, key string) (*liveState, error) {
	r, err := p.ask(ctx, request{Key: key})
	if err == nil && r.Live == nil { // another version sent it
		err = &ConversationError{key, ErrElsewhere}
	}
	return r.Live, err
}

// ask sends a request, and waits for the reply.
func (p *peers) ask(ctx context.Context, q request) (reply, error) {
	if p.opts.Bus == nil {
		return reply{}, &ConversationError{q.Key, errNoReply}
	}
	q.ID, q.From = uuid.New(), p.self
	message, err := jsonx.Marshal(q)
	if err != nil {
		return reply{}, err
	}
	came := make(chan reply, 1)
	p.mu.Lock()
	p.waiting[q.ID] = came
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, q.ID)
		p.mu.Unlock()
	}()
	late := time.NewTimer(replyBound)
	defer late.Stop()
	again := time.NewTicker(replyAgain)
	defer again.Stop()
	// A reply may come while the store is asked, in the last moment too.
	none := func() (reply, error) {
		select {
		case r := <-came:
			return r, nil
		default:
			return reply{}, &ConversationError{q.Key, errNoReply}
		}
	}
	p.opts.Bus.Publish(requestTopic(p.opts.Project), message)
	for {
		select {
		case r := <-came:
			return r, nil
		case <-again.C:
			switch { // an instruction may not be carried out twice
			case q.Do == nil: // the request or its reply may be lost
				p.opts.Bus.Publish(requestTopic(p.opts.Project), message)
			case q.Do.Delete: // who deletes gives the lease back, and takes it again
			case p.leases.free(ctx, q.Key):
				return none()
			}
		case <-late.C:
			return none()
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		case <-p.ctx.Done():
			return reply{}, ErrClosed
		}
	}
}

// take hands a reply to its caller.
func (p *peers) take(message []byte) {
	var r reply
	if jsonx.Unmarshal(message, &r) != nil {
		return // a foreign program sent it
	}
	p.mu.Lock()
	waiter := p.waiting[r.ID]
	delete(p.waiting, r.ID)
	p.mu.Unlock()
	if waiter != nil {
		waiter <- r // has room for one
	}
}

// answer replies to a request if the conversation runs here. A slow one does not delay
// the others.
func (p *peers) answer(message []byte, do func(context.Context, string, instruction) (bool, error)) {
	var q request
	if jsonx.Unmarshal(message, &q) != nil || q.ID == "" || checkKey(p.opts.Project, q.From) != nil {
		return // a foreign program sent it: no topic has another name
	}
	p.running.Go(func() {
		r, here := reply{ID: q.ID}, false
		if q.Do == nil {
			r.Live, here = p.roster.liveState(q.Key)
		} else {
			ctx, cancel := context.WithTimeout(p.ctx, doBound)
			defer cancel()
			var err error
			here, err = do(ctx, q.Key, *q.Do)
			if errors.Is(err, ErrClosed) {
				return // it is ending, and gives the lease back
			}
			r.Error = packError(err)
		}
		if !here {
			return
		}
		if message, err := jsonx.Marshal(r); err == nil {
			p.opts.Bus.Publish(replyTopic(p.opts.Project, q.From), message)
		}
	})
}
