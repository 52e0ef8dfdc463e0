package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// refusedHosts tells people, on the page, which hosts the proxy has refused to commands, and
// why, because a command only sees that its connection failed. Each host is told once for each conversation
// while the server runs, and a conversation cannot fill its timeline with names.
type refusedHosts struct {
	mu    sync.Mutex
	told  map[string]map[string]bool // hosts, by conversation
	queue chan refusedHost
}

type refusedHost struct{ conversation, host, reason string }

const (
	// maxRefusedHosts is how many hosts a conversation's people are told about.
	maxRefusedHosts = 20
	// maxRefusing is how many conversations are remembered. Then all are forgotten.
	maxRefusing = 10_000
	// refusedQueue is how many remarks may wait. More are left to the log.
	refusedQueue = 64
)

func newRefusedHosts() *refusedHosts {
	return &refusedHosts{told: make(map[string]map[string]bool), queue: make(chan refusedHost, refusedQueue)}
}

// take notes a refusal, and returns at once.
func (r *refusedHosts) take(c egress.Conversation, target, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hosts := r.told[c.ID]
	if hosts[target] || len(hosts) >= maxRefusedHosts {
		return
	}
	select {
	case r.queue <- refusedHost{c.ID, target, reason}:
	default:
		return // the next try is told
	}
	if hosts == nil {
		if len(r.told) >= maxRefusing {
			clear(r.told)
		}
		hosts = make(map[string]bool)
		r.told[c.ID] = hosts
	}
	hosts[target] = true
}

// tell passes refusals on until ctx ends.
func (r *refusedHosts) tell(ctx context.Context, remark func(ctx context.Context, key, text string) error, logger *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-r.queue:
			text := terminal.Clean(fmt.Sprintf("A command did not reach %s. %s", one.host, one.reason))
			if err := remark(ctx, one.conversation, text); err != nil && ctx.Err() == nil {
				logger.Warn("people do not see a refused host", "conversation", one.conversation, "host", one.host, "error", err)
			}
		}
	}
}
