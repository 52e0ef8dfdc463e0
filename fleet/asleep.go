package fleet

import "context"

// decideAsleep lets the plan decide about a conversation that no process runs, and carries
// out what needs no CLI: it does the same as an owner that leaves before the first step.
// The error matches [store.ErrLeased] if a process runs the conversation.
func (h *house) decideAsleep(ctx context.Context, key string) error {
	return h.leases.owning(ctx, key, func(lease *owned) error {
		c := h.roster.hold(key)
		defer h.roster.unhold(c)
		_, err := newWaking(h, c, lease, lease.lost).untilStep(ctx, &sight{held: make(map[string]bool)})
		return err
	})
}
