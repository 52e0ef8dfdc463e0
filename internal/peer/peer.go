package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Limits bound what may pile up. A zero field means its default.
type Limits struct {
	Queued  int // calls held back until Open; 16
	Pending int // calls awaiting a reply; 64
	Running int // incoming requests being handled; 32
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Queued, 16}, {&l.Pending, 64}, {&l.Running, 32}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Handler handles the frames that a side of the protocol receives. Message,
// Accept and Fault are called by the reader and must return at once.
type Handler interface {
	// Message takes a frame that is not a control frame.
	Message(wire.Frame)
	// Accept sees each incoming request before it is handled. One that runs no user
	// code but may wait for others to come is handled aside: in a goroutine of
	// its own, and without one of the places for requests that run.
	Accept(wire.Request) (aside bool)
	// Request answers an incoming request. Its goroutine does nothing else
	// meanwhile. If it is the reader, another becomes the reader before long.
	Request(context.Context, *Incoming)
	// Refuse answers a request that may not run because too many are running.
	// It runs no user code.
	Refuse(*Incoming)
	// Fault takes a line that is not a frame.
	Fault(line []byte, err error)
}

// Config configures a Peer.
type Config struct {
	Writer  *ndjson.Writer
	Handler Handler
	Limits  Limits
	// Context gives incoming requests their values. Its end is ignored.
	Context context.Context
	// Log must not be nil.
	Log *slog.Logger
	// OnLine, if set, is called by the reader with every line before it is
	// routed. It must return at once.
	OnLine func(line []byte)
	// Classify determines where a line goes; nil is wire.Parse.
	Classify func(line []byte) (wire.Frame, error)
	// HoldUntilOpen starts the peer held back until Open.
	HoldUntilOpen bool
	// Cancels reports whether the other side understands that a call is no
	// longer awaited; nil means that it does.
	Cancels func() bool
	// OnSettled, if set, is called when an incoming request awaits nothing more:
	// its answer is written, or it was withdrawn, whatever its handler still
	// does. It must return at once.
	OnSettled func()
	// EchoesReplies is true if the other side may repeat our replies; those are
	// not worth a warning.
	EchoesReplies bool
	// NewID names the n-th call; nil is wire.NewID.
	NewID func(n uint64) wire.ID
}

// Peer is one end of the protocol. All methods are safe for concurrent use;
// Serve is called once.
type Peer struct {
	cfg    Config
	closed chan struct{}
	opened chan struct{}  // closed when what was held back begins to go out
	wg     sync.WaitGroup // incoming requests, flush, cancel notices
	open   atomic.Int64   // requests that are being served or answered
	role   readerRole

	mu sync.Mutex
	st state
}

// state is everything that changes. It is touched under Peer.mu only.
type state struct {
	held     bool
	flushing bool
	queue    []*queuedSend
	calls    map[wire.ID]chan wire.Response
	nextID   uint64
	incoming map[wire.ID]*Incoming // not yet answered, cancelled or closed
	replying int                   // answers on their way out
	written  chan struct{}         // if a caller waits: closed when replying is 0
	running  int                   // handlers that have not returned
	cause    error                 // set once, by Close
}

// closeError is the error of a call on a closed peer.
func (s *state) closeError() error {
	if s.held && !s.flushing && !errors.Is(s.cause, ErrNotOpened) {
		return fmt.Errorf("%w: %w", ErrNotOpened, s.cause)
	}
	return s.cause
}

// New returns a Peer. It does nothing until Serve and Call are used.
func New(cfg Config) *Peer {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.NewID == nil {
		cfg.NewID = wire.NewID
	}
	if cfg.OnSettled == nil {
		cfg.OnSettled = func() {}
	}
	if cfg.Classify == nil {
		cfg.Classify = wire.Parse
	}
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	cfg.Context = context.WithoutCancel(cfg.Context)
	return &Peer{
		cfg:    cfg,
		closed: make(chan struct{}),
		opened: make(chan struct{}),
		role:   readerRole{handoff: make(chan bool, 1)},
		st: state{
			held:     cfg.HoldUntilOpen,
			calls:    make(map[wire.ID]chan wire.Response),
			incoming: make(map[wire.ID]*Incoming),
		},
	}
}

// update runs f on the state. f must not block or call out.
func (p *Peer) update(f func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.st)
}

// flooded reports whether the other side asks without taking answers. Each
// open request costs a goroutine, so their number has a bound.
func (p *Peer) flooded() bool {
	return p.open.Load()-maxAnswering > int64(p.cfg.Limits.Running)
}

// route takes a line, and how much memory it holds, to where it belongs. A
// request that is to be handled is returned.
func (p *Peer) route(line []byte, held int) (j job, ok bool) {
	if p.cfg.OnLine != nil {
		p.cfg.OnLine(line)
	}
	f, err := p.cfg.Classify(line)
	switch {
	case err != nil && f.Type == wire.TypeRequest: // the rest cannot be read, but a gate must be closed
		p.rejectMalformed(f, f.CancelID(), err)
		return j, false
	case err != nil:
		p.cfg.Handler.Fault(line, err)
		return j, false
	}
	f.Retained = held
	switch f.Type {
	case wire.TypeRequest:
		return p.receiveRequest(f)
	case wire.TypeResponse:
		p.deliverReply(f)
	case wire.TypeCancel:
		p.cancelRequest(f.CancelID())
	case wire.TypeKeepAlive:
	default:
		if id := f.UntypedID(); id != "" {
			p.rejectMalformed(f, id, &wire.MissingError{Field: "type"})
			break
		}
		p.cfg.Handler.Message(f)
	}
	return j, false
}

// rejectOversized reports a dropped line. A request whose id is in the head is
// answered, so that the other side does not wait for ever.
func (p *Peer) rejectOversized(long *ndjson.TooLongError) {
	p.cfg.Handler.Fault(long.Head, long)
	f, _ := wire.Parse(long.Head)
	f.Line = long.Head
	if f.Type == wire.TypeRequest {
		p.rejectUnhandled(f.CancelID(), "request is over the line limit")
	}
}

// Close ends the peer with a cause: every waiting call fails with it, within
// ErrNotOpened if it was held back for an Open that never came, every incoming
// request's context ends with it, and nothing more is answered. The first cause
// stays. Close does not wait; Wait does.
func (p *Peer) Close(cause error) {
	var unsent error
	var queue []*queuedSend
	var incoming []*Incoming
	p.update(func(s *state) {
		if s.cause != nil {
			return
		}
		s.cause = cause
		unsent = s.closeError()
		close(p.closed)
		queue, s.queue = s.queue, nil
		for _, in := range s.incoming {
			in.settled.Store(true)
			incoming = append(incoming, in)
		}
		clear(s.incoming)
		clear(s.calls)
	})
	for _, h := range queue {
		h.done <- unsent
	}
	for _, in := range incoming {
		in.CancelContext(cause)
	}
}

// Cause returns the reason with which the peer was closed, nil while it is
// open.
func (p *Peer) Cause() (cause error) {
	p.update(func(s *state) { cause = s.cause })
	return cause
}

// Running returns how many incoming requests have handlers that have not
// returned.
func (p *Peer) Running() (n int) {
	p.update(func(s *state) { n = s.running })
	return n
}

// Unanswered returns how many incoming requests have no answer on the stream.
func (p *Peer) Unanswered() (n int) {
	p.update(func(s *state) { n = len(s.incoming) + s.replying })
	return n
}

// Undecided returns how many incoming requests have no answer begun.
func (p *Peer) Undecided() (n int) {
	p.update(func(s *state) { n = len(s.incoming) })
	return n
}

// Written returns a channel that is closed once no answer is on its way out.
func (p *Peer) Written() <-chan struct{} {
	written := make(chan struct{})
	p.update(func(s *state) {
		switch {
		case s.replying == 0:
			close(written)
		case s.written == nil:
			s.written = written
		default:
			written = s.written
		}
	})
	return written
}

// Wait blocks until every request is handled and every notice is written.
// Handlers that ignore their context keep it waiting.
func (p *Peer) Wait() { p.wg.Wait() }

// maxAnswering is how many requests beyond those that may run can wait to be
// answered. The CLI has few requests open at a time.
const maxAnswering = 4096

// ErrFlood is why Serve ends when the other side asks without end and takes no
// answers.
var ErrFlood = errors.New("too many requests without an answer: the other side does not take answers")

// cancelNoticeTimeout is how long a best-effort line may wait for the stream.
const cancelNoticeTimeout = 5 * time.Second
