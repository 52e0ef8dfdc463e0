package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// Egress lets the CLIs of a fleet reach the API through a proxy, which holds the key.
// Each CLI gets a sentinel that works while the CLI runs and this process owns the
// conversation: it ends with the CLI, with the lease, and with the conversation. The
// spending of conversations is charged to their keys and to their tenants, see
// [TenantOf].
type Egress struct {
	// Proxy is needed. The fleet does not close it: close it after the fleet.
	Proxy *egress.Proxy
	// URL is where the CLIs reach the proxy: what its Listen has returned, or the address
	// of a forwarder in the sandbox of the CLI. It is needed.
	URL string
	// Form is the kind of sentinel that the CLIs get.
	Form egress.Form
	// Budget returns the budget of a conversation, each time its CLI starts. Nil: no
	// limits but those of Options. It must answer at once.
	Budget func(key string) egress.Budget
}

func (e *Egress) check() error {
	switch {
	case e == nil:
		return nil
	case e.Proxy == nil:
		return errors.New("claude: fleet: Options.Egress: Proxy is missing")
	case e.URL == "":
		return errors.New("claude: fleet: Options.Egress: URL is missing")
	}
	return nil
}

// grant bounds what the CLI of a conversation may do, until its lease is lost.
func (e *Egress) grant(key string, lost <-chan struct{}) egress.Grant {
	g := egress.Grant{
		Conversation: egress.Conversation{ID: key, Tenant: TenantOf(key)},
		Form:         e.Form,
		Check: func(context.Context) error {
			select {
			case <-lost:
				return store.ErrLeaseLost
			default:
				return nil
			}
		},
	}
	if e.Budget != nil {
		g.Budget = e.Budget(key)
	}
	return g
}

// outlet is the way out of the CLI that runs. The zero value is closed.
type outlet struct{ end func() }

// open gives the options of a CLI a pass. Without an Egress it changes nothing.
func (u *outlet) open(e *Egress, key string, lost <-chan struct{}, o *claude.Options) error {
	u.close()
	if e == nil {
		return nil
	}
	pass, err := e.Proxy.Grant(e.grant(key, lost))
	if err != nil {
		return fmt.Errorf("claude: fleet: conversation %q: %w", key, err)
	}
	o.Env = pass.Env(e.URL, o.Env)
	ended := make(chan struct{})
	go func() { // a lost lease also cuts what is under way
		select {
		case <-lost:
			pass.Revoke()
		case <-ended:
		}
	}()
	u.end = sync.OnceFunc(func() {
		close(ended)
		pass.Revoke()
	})
	return nil
}

// close ends the pass, if there is one.
func (u *outlet) close() {
	if u.end != nil {
		u.end()
	}
}
