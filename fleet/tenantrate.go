package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/ratelimit"
)

// tenantRates limits the prompts of tenants, in all processes together. Nil: there is no
// limit.
type tenantRates struct {
	limit  ratelimit.Limit
	shared *ratelimit.Shared
	clock  *clock
	store  *announcer
}

// newTenantRates returns nil if tenants have no rate.
func newTenantRates(o *Options, s *announcer, c *clock) *tenantRates {
	if o.TenantRate == (Rate{}) {
		return nil
	}
	return &tenantRates{o.TenantRate.limit(), ratelimit.NewShared(s, o.Project), c, s}
}

// take counts a prompt, or returns an [*OverloadedError]. If the store does not answer,
// the prompt is refused.
func (r *tenantRates) take(ctx context.Context, key string) error {
	tenant := TenantOf(key)
	if r == nil || tenant == "" {
		return nil
	}
	now, err := r.clock.about(ctx, r.store)
	var wait time.Duration
	if err == nil {
		wait, err = r.shared.Take(ctx, tenantPlace(tenant), r.limit, now)
	}
	if err != nil {
		return &ConversationError{key, fmt.Errorf("the rate of its tenant: %w", err)}
	}
	if wait > 0 {
		return &OverloadedError{Tenant: tenant, Wait: wait}
	}
	return nil
}

// keepRates is how long a rate that limits nothing is kept: longer than clocks differ.
const keepRates = time.Hour
