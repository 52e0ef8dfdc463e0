package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// connection is the connection to the servers. It repeats requests while a server cannot
// be reached, and knows why one refuses.
type connection struct {
	nc          *nats.Conn
	horizon     horizon
	refusals    refusals
	waiting     waiting
	stopWaiting func()
	log         *slog.Logger

	mu    sync.Mutex
	moved time.Time // when another node was last tried
}

// Bounds of one read.
const (
	pageCount = 1000
	pageBytes = 4 << 20
)

// dial connects. A broken connection is retried for ever; meanwhile every write
// fails at once instead of being buffered, because a late delivery would surprise
// its caller.
func dial(ctx context.Context, o *Options) (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("claude fleet " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.SyncQueueLen(2 * pageCount), // its default is half a megabyte for every read
		nats.ReconnectBufSize(-1), nats.PingInterval(3 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(), nats.Timeout(5 * time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Logger.Warn("NATS", "error", err) }),
	}
	type result struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		nc, err := nats.Connect(o.URL, append(opts, o.NATS...)...)
		done <- result{nc, err}
	}()
	select {
	case r := <-done:
		return r.nc, explain(r.err)
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.nc.Close()
			}
		}()
		return nil, fail("connect", ctx.Err())
	}
}

// explain names the errors that people can do something about. It leaves the URL out,
// which may hold a password.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		return fmt.Errorf("claude: natsfleet: %w: %w", ErrRefused, err)
	case strings.Contains(err.Error(), "parse "):
		return errors.New("claude: natsfleet: Options.URL cannot be read: want \"nats://HOST:PORT\"")
	}
	return fail("connect", err)
}

// minVersion is the oldest server that works. Atomic batches came with 2.12.0, which refuses
// some of them for good; this is the first version that was tested.
const minVersion = "2.12.15"

// checkServer refuses a server that lacks a required feature.
func (s *connection) checkServer() error {
	version := s.nc.ConnectedServerVersion()
	if !atLeast(version, minVersion) {
		return fmt.Errorf("claude: natsfleet: %w: it has version %s, and %s is needed", ErrOldServer, version, minVersion)
	}
	if s.nc.MaxPayload() < 2*room {
		return fmt.Errorf("claude: natsfleet: the server takes messages of %d bytes; max_payload must be at least %d", s.nc.MaxPayload(), 2*room)
	}
	return nil
}

// room is the space in a message for its subject and headers.
const room = 16 << 10

// part is how many bytes a message carries. Another server of the cluster may take
// less than the one before.
func (s *connection) part() int { return max(int(s.nc.MaxPayload())-room, room) }

// atLeast compares a version such as "2.15.2" or "2.12.0-RC.1" with one of numbers only.
func atLeast(version, least string) bool {
	release, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts, wanted := strings.Split(release, "."), strings.Split(least, ".")
	if len(parts) != len(wanted) {
		return false
	}
	for i, w := range wanted {
		has, err := strconv.Atoi(parts[i])
		want, err2 := strconv.Atoi(w)
		if err != nil || err2 != nil {
			return false
		}
		if has != want {
			return has > want
		}
	}
	return true
}

// request asks the API of the server and decodes its answer.
func (s *connection) request(ctx context.Context, subject string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	ctx, end := s.waiting.begin(ctx)
	reply, err := s.nc.RequestWithContext(ctx, "$JS.API."+subject, body)
	if err = end(err); err != nil {
		return err
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &failed); err != nil {
		return fmt.Errorf("%w: the server's answer cannot be read", store.ErrDamaged)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(reply.Data, answer)
}

// publish publishes a message and waits until it is stored.
func (s *connection) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	ctx, end := s.waiting.begin(ctx)
	reply, err := s.nc.RequestMsgWithContext(ctx, msg)
	if err = end(err); err != nil {
		return 0, err
	}
	var ack struct {
		Seq   uint64    `json:"seq"`
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("%w: the server's answer is not an acknowledgement", store.ErrDamaged)
	}
	switch {
	case ack.Error == nil:
		s.horizon.reach(ack.Seq)
		return ack.Seq, nil
	case ack.Error.ErrCode == codeMoved:
		return 0, errMoved
	case ack.Error.full():
		return 0, fmt.Errorf("%w: %w", ErrFull, ack.Error)
	}
	return 0, ack.Error
}

const (
	attemptBound = 3 * time.Second  // of one request
	patience     = 20 * time.Second // of all; an election takes up to nine seconds
)

// boundFor is how long a request with so many bytes may take: a slow network
// carries a megabyte in a second.
func boundFor(size int) time.Duration {
	return attemptBound + time.Duration(size>>20)*time.Second
}

// withRetry repeats do while it fails for a reason that may pass, until
// patience runs out. Each attempt has its own bound.
func (s *connection) withRetry(ctx context.Context, bound time.Duration, do func(context.Context) error) error {
	begin := time.Now()
	for attempt := 0; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return s.refusals.why(err, begin)
		}
		connection := s.nc.Stats().Reconnects
		bounded, cancel := context.WithTimeout(ctx, bound)
		err := do(bounded)
		cancel()
		if err == nil || ctx.Err() != nil || !passes(err) || time.Since(begin) > patience {
			return s.refusals.why(err, begin)
		}
		timeout := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
		if timeout && s.nc.Stats().Reconnects == connection { // otherwise the answer was lost with the one before
			s.elsewhere()
		}
		t := time.NewTimer(min(time.Millisecond<<min(attempt, 8), 100*time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// elsewhere switches to another node, at most once in a while. This one accepts
// requests but does not answer them, so it may be cut off from the others.
func (s *connection) elsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.moved) < 2*attemptBound {
		return
	}
	s.moved = time.Now()
	_ = s.nc.ForceReconnect() // it reconnects anyway
}
