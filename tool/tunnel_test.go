package tool

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A session that was replaced by a new handshake ends when the last of its calls
// does, on whichever way it came, and not before.
func TestRetiredSessionEndsWithItsCalls(t *testing.T) {
	quiet := newTunnel(nil)
	quiet.retire()
	if !quiet.over() {
		t.Error("a session without calls is not over")
	}
	for name, last := range map[string]func(*tunnel){
		"direct":          func(tun *tunnel) { tun.forget(2); tun.leave("1") },
		"through the SDK": func(tun *tunnel) { tun.leave("1"); tun.forget(2) },
	} {
		busy := newTunnel(nil)
		busy.enter("1", func() {})
		busy.waiting[2] = make(chan *jsonrpc.Response, 1)
		busy.retire()
		if busy.over() {
			t.Errorf("%s: over while calls run", name)
		}
		if busy.enter("3", func() {}) {
			t.Errorf("%s: a session that ends takes a call", name)
		}
		last(busy)
		if !busy.over() {
			t.Errorf("%s: not over after its last call", name)
		}
	}
	current := newTunnel(nil)
	current.enter("1", func() {})
	current.leave("1")
	current.forget(2)
	if current.over() {
		t.Error("the current session is over after a call")
	}
}

// A goroutine that brings a message that the server does not take can give up.
func TestDeliverGivesUp(t *testing.T) {
	why := errors.New("gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := newTunnel(nil).deliver(ctx, &jsonrpc.Request{}); err != why {
		t.Errorf("error = %v, want %v", err, why)
	}
	gone := newTunnel(nil)
	gone.end()
	if err := gone.deliver(t.Context(), &jsonrpc.Request{}); err != errGone {
		t.Errorf("error = %v, want %v", err, errGone)
	}
}
