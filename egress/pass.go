package egress

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/secret"
)

// Conversation names who spends. Names may have any form, and appear in the log.
type Conversation struct {
	ID string
	// Tenant is who else is charged. Empty: only the conversation is.
	Tenant string
}

// Grant lists the rights of a conversation.
type Grant struct {
	Conversation Conversation
	Budget       Budget
	// Form is the kind of sentinel that the CLI gets. It need not be that of the real
	// credential.
	Form Form
	// Sentinel is that of an earlier [Pass] of the same form. A proxy that takes the place
	// of another at the same address is given the sentinels of running CLIs, which then
	// notice a cut stream and no more. Empty: a new one.
	Sentinel string
	// Check is asked before each request. If it returns an error, the request is refused
	// as that of an ended conversation. Use it to ask whether the lease still holds. It is
	// called from many goroutines at once.
	Check func(context.Context) error
}

// Pass lets one conversation use a proxy. Its methods may be called from any goroutine. It
// lasts until Revoke or the Close of the proxy.
type Pass struct {
	proxy    *Proxy
	grant    Grant
	sentinel string
	digest   [sha256.Size]byte
	ctx      context.Context // ends with the pass
	cancel   context.CancelCauseFunc
	slots    chan struct{} // of requests and tunnels under way
	room     room          // for their bodies
}

// sentinelBytes is how much chance is in a sentinel.
const sentinelBytes = 32

// newSentinel returns one of a form.
func newSentinel(f Form) string {
	b := make([]byte, sentinelBytes)
	_, _ = rand.Read(b) // it never fails
	return forms[f].prefix + base64.RawURLEncoding.EncodeToString(b)
}

// checkSentinel refuses what newSentinel cannot have made.
func checkSentinel(s string, f Form) error {
	rest, ok := strings.CutPrefix(s, forms[f].prefix)
	b, err := base64.RawURLEncoding.DecodeString(rest)
	if !ok || err != nil || len(b) != sentinelBytes {
		return fmt.Errorf("claude: egress: the sentinel is not that of an earlier pass with an %s", f)
	}
	return nil
}

// Grant lets a conversation use the proxy. The conversation may have several passes; they
// share its account.
func (p *Proxy) Grant(g Grant) (*Pass, error) {
	if g.Conversation.ID == "" {
		return nil, errors.New("claude: egress: the conversation of a grant has no ID")
	}
	if !g.Form.valid() {
		return nil, fmt.Errorf("claude: egress: unknown form %d", int(g.Form))
	}
	if err := checkBudget(g.Budget); err != nil {
		return nil, err
	}
	pass := &Pass{proxy: p, grant: g, sentinel: cmp.Or(g.Sentinel, newSentinel(g.Form)), slots: make(chan struct{}, p.bounds.PerPass)}
	if err := checkSentinel(pass.sentinel, g.Form); err != nil {
		return nil, err
	}
	pass.room.most = max(p.bounds.Body, p.bounds.Bodies/4)
	pass.digest = sha256.Sum256([]byte(pass.sentinel))
	pass.ctx, pass.cancel = context.WithCancelCause(p.ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		pass.cancel(errClosed)
		return nil, fmt.Errorf("claude: egress: %w", errClosed)
	case p.passes[pass.digest] != nil:
		pass.cancel(errRevoked)
		return nil, errors.New("claude: egress: the sentinel is in use")
	}
	p.passes[pass.digest] = pass
	return pass, nil
}

// Revoke ends the pass: requests and tunnels under way are cut, and the sentinel is refused
// from now on. It may be called more than once.
func (p *Pass) Revoke() {
	p.proxy.mu.Lock()
	delete(p.proxy.passes, p.digest)
	p.proxy.mu.Unlock()
	p.cancel(errRevoked)
	p.proxy.purse.forget(p.grant.Conversation)
}

// Sentinel returns the placeholder for the credential. It is worth nothing without the
// proxy, and everything that the pass allows with it.
func (p *Pass) Sentinel() string { return p.sentinel }

// Spent returns the conversation's spending in the period of its limits. It includes
// the reservations of requests that were never settled, but not those of requests in
// flight.
func (p *Pass) Spent(ctx context.Context) (Amount, error) {
	names, limits := p.proxy.book.accountsOf(p.grant.Conversation, p.grant.Budget)
	accounts, err := p.proxy.book.look(ctx, names, limits)
	if err != nil {
		return Amount{}, fmt.Errorf("claude: egress: %w", err)
	}
	return accounts[0].Spent, nil
}

// passOf returns the pass that a request presents, nil if it has none. Sentinels are looked
// up by their digests, so that the time it takes reveals nothing about them.
func (p *Proxy) passOf(candidates []string) *Pass {
	for _, c := range candidates {
		digest := sha256.Sum256([]byte(c))
		p.mu.Lock()
		pass := p.passes[digest]
		p.mu.Unlock()
		if pass != nil {
			return pass
		}
	}
	return nil
}

// presented returns the credentials in a header.
func presented(h http.Header) (all []string) {
	if key := h.Get("X-Api-Key"); key != "" {
		all = append(all, key)
	}
	return append(all, tokens(h.Get("Authorization"))...)
}

// presentedToProxy returns those that a client of CONNECT presents.
func presentedToProxy(h http.Header) []string { return tokens(h.Get("Proxy-Authorization")) }

func tokens(authorization string) []string {
	scheme, value, _ := strings.Cut(authorization, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return []string{value}
	case strings.EqualFold(scheme, "Basic"):
		r := http.Request{Header: http.Header{"Authorization": {authorization}}}
		_, password, _ := r.BasicAuth()
		return []string{password}
	}
	return nil
}

// replaced are the variables that say where the API is and who asks, in upper case. A star
// stands for any ending.
var replaced = [...]string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_*", "CLAUDE_CODE_API_KEY_*", "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
	"ANTHROPIC_BASE_URL", "ANTHROPIC_UNIX_SOCKET", "ANTHROPIC_CUSTOM_HEADERS",
	"CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*_AUTH", "ANTHROPIC_BEDROCK_*", "ANTHROPIC_VERTEX_*", "ANTHROPIC_FOUNDRY_*", "ANTHROPIC_AWS_*", "AWS_BEARER_TOKEN_BEDROCK",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
}

// fits reports whether a name is one of the table.
func fits(name string) bool {
	return slices.ContainsFunc(replaced[:], func(known string) bool {
		before, after, open := strings.Cut(known, "*")
		return name == known || open && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	})
}

// leastSecret is how long a value is that is looked for in other variables.
const leastSecret = 8

// Env returns the environment of a CLI that uses the pass, in the form of os.Environ. url
// is where the CLI reaches the proxy: what [Proxy.Listen] has returned, or the address of a
// forwarder inside a container.
//
// Everything in environ that would sign in another way or go past the proxy is taken out,
// with every variable that repeats the value of such a credential. Nil stands for the
// environment of this process; of that, variables that load code into the CLI and those
// whose names mark them as secrets stay behind as well. Put in what the CLI's tools need:
//
//	opts.Env = append(pass.Env(url, nil), "GH_TOKEN="+token)
//
// The CLI can also sign in by files of its HOME, and any command can read them. Give it a
// CLAUDE_CONFIG_DIR without credentials, or set claude.StoreOptions.NoLogin, and run it in a
// sandbox.
func (p *Pass) Env(url string, environ []string) []string {
	inherited := environ == nil
	if inherited {
		environ = proc.Inherit(os.Environ())
	}
	return environment(environ, inherited, p.grant.Form, p.sentinel, url, len(p.proxy.gate.rules) > 0)
}

// environment is Env, without the process.
func environment(environ []string, inherited bool, form Form, sentinel, url string, tunnels bool) []string {
	var secrets []string
	var env []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		switch {
		case fits(name):
			if secret.IsSecretName(name) && len(value) >= leastSecret {
				secrets = append(secrets, value)
			}
		case inherited && secret.IsSecretName(name):
		default:
			env = append(env, entry)
		}
	}
	env = slices.DeleteFunc(env, func(entry string) bool {
		return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(entry, s) })
	})
	env = append(env,
		forms[form].variable+"="+sentinel,
		"ANTHROPIC_BASE_URL="+url,
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	)
	if scheme, rest, ok := strings.Cut(url, "://"); ok && tunnels {
		through := scheme + "://egress:" + sentinel + "@" + rest
		const local = "127.0.0.1,localhost,::1"
		env = append(env, "HTTPS_PROXY="+through, "https_proxy="+through, "NO_PROXY="+local, "no_proxy="+local)
	}
	return env
}
