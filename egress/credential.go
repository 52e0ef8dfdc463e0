package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
)

// Form is how a secret is presented.
type Form int

const (
	// FormAPIKey is a key of the API: x-api-key, ANTHROPIC_API_KEY.
	FormAPIKey Form = iota
	// FormBearer is a token of a gateway: Authorization, ANTHROPIC_AUTH_TOKEN.
	FormBearer
	// FormOAuth is a token of a subscription: Authorization, CLAUDE_CODE_OAUTH_TOKEN.
	FormOAuth
)

// forms has what distinguishes the forms.
var forms = [...]struct {
	name, variable, prefix string
}{
	FormAPIKey: {"API key", "ANTHROPIC_API_KEY", "sk-ant-api03-" + secret.SentinelMark},
	FormBearer: {"bearer token", "ANTHROPIC_AUTH_TOKEN", secret.SentinelMark},
	FormOAuth:  {"OAuth token", "CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-" + secret.SentinelMark},
}

func (f Form) valid() bool { return f >= 0 && int(f) < len(forms) }

func (f Form) String() string {
	if !f.valid() {
		return fmt.Sprintf("form %d", int(f))
	}
	return forms[f].name
}

// Credential is a real secret. It is never printed: not by fmt, and not by slog.
type Credential struct {
	Form   Form
	Secret string
}

func (c Credential) String() string { return c.Form.String() + " [redacted]" }

// GoString returns the same text as String.
func (c Credential) GoString() string { return c.String() }

// LogValue returns the same text as String.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// oauthBeta is the beta header that the API requires beside OAuth tokens.
const oauthBeta = "oauth-2025-04-20"

// set puts the credential into the header of a request.
func (c Credential) set(h http.Header) {
	if c.Form == FormAPIKey {
		h.Set("X-Api-Key", c.Secret)
		return
	}
	h.Set("Authorization", "Bearer "+c.Secret)
	if betas := h.Values("Anthropic-Beta"); c.Form == FormOAuth && !slices.ContainsFunc(betas, func(b string) bool { return strings.Contains(b, oauthBeta) }) {
		h["Anthropic-Beta"] = []string{strings.Join(append(slices.Clone(betas), oauthBeta), ",")}
	}
}

func (c Credential) check() error {
	switch {
	case !c.Form.valid():
		return fmt.Errorf("the credential has an unknown form: %d", int(c.Form))
	case c.Secret == "":
		return errors.New("the credential is empty")
	case strings.ContainsFunc(c.Secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the credential has a blank or another character that no header can carry")
	}
	return nil
}

// purse asks for credentials, and keeps each for a while.
type purse struct {
	ask   func(context.Context, Conversation) (Credential, error)
	keep  time.Duration
	bound time.Duration
	mu    sync.Mutex
	asked map[Conversation]*asking
}

// asking is one call for a credential, which all requests of a conversation share.
type asking struct {
	done  chan struct{}
	c     Credential
	err   error
	until time.Time
}

// of returns the credential of a conversation.
func (p *purse) of(ctx context.Context, c Conversation) (Credential, error) {
	p.mu.Lock()
	a := p.asked[c]
	if a != nil {
		select {
		case <-a.done:
			if a.err != nil || !time.Now().Before(a.until) {
				a = nil
			}
		default:
		}
	}
	if a == nil {
		a = &asking{done: make(chan struct{})}
		p.asked[c] = a
		go p.fetch(context.WithoutCancel(ctx), c, a)
	}
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.c, a.err
	case <-ctx.Done():
		return Credential{}, context.Cause(ctx)
	}
}

// fetch asks. It is not its callers': none of them ends it for the others.
func (p *purse) fetch(ctx context.Context, c Conversation, a *asking) {
	ctx, cancel := context.WithTimeout(ctx, p.bound)
	defer cancel()
	defer close(a.done)
	defer func() {
		if v := recover(); v != nil {
			a.err = errors.New("the function panicked") // with a value that may hold the secret
		}
	}()
	a.c, a.err = p.ask(ctx, c)
	if a.err == nil {
		a.err = a.c.check()
	}
	a.until = time.Now().Add(p.keep)
}

// forget makes the next request ask again: the API has refused the credential, or the
// conversation has ended.
func (p *purse) forget(c Conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, c)
}
