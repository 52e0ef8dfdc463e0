package natsfleet

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// replies receives answers that consist of several messages. All of them come by one
// subscription: the servers of a cluster announce each subscription to one another, and
// making one for an answer takes longer than the answer.
type replies struct {
	inbox  string        // the prefix of the subjects of all answers
	closed chan struct{} // with the connection

	mu   sync.Mutex
	made uint64
	open map[string]*reply // by the end of its subject
}

// reply is an answer that is on its way. One goroutine reads it.
type reply struct {
	all     *replies
	subject string
	token   string
	more    chan struct{} // one slot: something has come
	come    []*nats.Msg
}

// newReplies subscribes for as long as the connection exists.
func newReplies(nc *nats.Conn) (*replies, error) {
	r := &replies{inbox: nc.NewInbox() + ".", closed: make(chan struct{}), open: make(map[string]*reply)}
	sub, err := nc.Subscribe(r.inbox+"*", r.receive)
	if err != nil {
		return nil, err
	}
	sub.SetClosedHandler(func(string) { close(r.closed) })
	return r, sub.SetPendingLimits(-1, -1) // requests bound their answers
}

// receive passes a message on to the reader of its answer, if there still is one.
func (r *replies) receive(m *nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.open[strings.TrimPrefix(m.Subject, r.inbox)]; one != nil {
		one.come = append(one.come, m)
		select {
		case one.more <- struct{}{}:
		default:
		}
	}
}

// expect returns an answer that is to be requested. Call end when it was read.
func (r *replies) expect() *reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	token := strconv.FormatUint(r.made, 36)
	one := &reply{all: r, subject: r.inbox + token, token: token, more: make(chan struct{}, 1)}
	r.open[token] = one
	return one
}

// end forgets an answer. Messages that come later are dropped.
func (one *reply) end() {
	one.all.mu.Lock()
	defer one.all.mu.Unlock()
	delete(one.all.open, one.token)
}

// next waits for the next message of an answer.
func (one *reply) next(ctx context.Context) (*nats.Msg, error) {
	for {
		one.all.mu.Lock()
		if len(one.come) > 0 {
			m := one.come[0]
			one.come[0] = nil
			one.come = one.come[1:]
			one.all.mu.Unlock()
			return m, nil
		}
		one.all.mu.Unlock()
		select {
		case <-one.more:
		case <-one.all.closed:
			return nil, nats.ErrConnectionClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
