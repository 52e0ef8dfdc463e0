package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DefaultUpstream is the API that a proxy asks by default.
const DefaultUpstream = "https://api.anthropic.com"

// Options configure a proxy. Only Credential is needed. They are copied by [New]; the
// functions in them are called from many goroutines at once.
type Options struct {
	// Credential returns the real secret for a conversation. It is asked when a request
	// needs it, and again after KeepCredential or when the API has refused the secret, so it
	// may ask a secret manager. Its errors are logged, with what looks like a key taken out,
	// and are not shown to the conversation.
	Credential func(ctx context.Context, c Conversation) (Credential, error)
	// KeepCredential is for how long an answer of Credential is used. Zero: one minute.
	// A nanosecond: for one request.
	KeepCredential time.Duration

	// Upstream is the address of the API. Empty: [DefaultUpstream]. It must be https,
	// unless the host is this machine. The secret is sent there and nowhere else:
	// redirects are not followed.
	Upstream string
	// Transport sends requests to the API. Nil: one of this package, which goes through the
	// proxy that this process's environment names, if any.
	Transport http.RoundTripper

	// Accounts keeps what was spent. Nil: [MemoryAccounts]. With [RecordAccounts], budgets hold
	// even if this process is killed.
	Accounts Accounts
	// TenantBudget returns the budget of a tenant, at each request. Nil: no limits.
	TenantBudget func(tenant string) Budget
	// Price says what an answer costs. Nil, or if it does not know: the table of this
	// module; a model that is not in it costs as much as the dearest one.
	Price Price

	// Settings decides about requests for the settings of an organisation.
	Settings OrgSettings
	// AlsoAllow are more requests of the API, such as "GET /v1/models". They carry the
	// real credential, and no budget counts them.
	AlsoAllow []string

	// Hosts are the hosts that a conversation reaches by CONNECT, which is how programs
	// use a proxy for https: "github.com", "*.github.com" for its subdomains,
	// "registry.example:8443" for another port than 443. The bytes of such a tunnel are
	// neither read nor counted. Empty: none.
	Hosts []string
	// Networks are networks whose addresses the names in Hosts may have, though they are
	// not on the internet, such as 10.1.0.0/16 for a registry in your own. Without it,
	// a name with such an address is refused.
	Networks []netip.Prefix
	// Resolver finds the addresses of Hosts. Nil: that of the system.
	Resolver Resolver

	// Refused is called when a conversation does not get a tunnel to a target, such as
	// "github.com:443". Programs lose the reason, which is the text of the refusal, so this
	// is for people. It is called from many goroutines at once, as often as a command tries,
	// and must return soon. Nil: only the log has the reason.
	Refused func(c Conversation, target, reason string)

	// Logger gets a record for each request and each refusal, without bodies and secrets.
	// Nil: nothing is logged.
	Logger *slog.Logger
	// Bounds limit the work that a conversation can cause the proxy.
	Bounds Bounds
}

// Bounds are limits of time and space. Zero stands for the default of each.
type Bounds struct {
	// Body is how many bytes a request may have: 32 MiB, as the API allows.
	Body int64
	// Bodies is how many bytes the requests under way may have together: 512 MiB. Those
	// of one pass may have a quarter of it, and at least one Body. Beyond it, requests
	// get status 429.
	Bodies int64
	// Read is how long a request may take to arrive: 2 minutes.
	Read time.Duration
	// First is how long the API may take until it begins to answer: 10 minutes.
	First time.Duration
	// Idle is how long nothing may come on a stream or a tunnel, or nothing be taken from
	// it: 5 minutes.
	Idle time.Duration
	// Request is how long a request may take in all: 30 minutes. That long a reservation
	// is held if the program is killed.
	Request time.Duration
	// Wait is how long a request waits for the reservations of others: 1 minute.
	Wait time.Duration
	// Concurrent is how many requests and tunnels there are at a time: 256. PerPass is how
	// many of one pass: 32.
	Concurrent, PerPass int
}

// short bounds what should be quick: a credential, the accounts, a resolver, a connection.
const short = 10 * time.Second

func (b Bounds) orDefault() Bounds {
	return Bounds{
		Body:       cmp.Or(b.Body, 32<<20),
		Bodies:     cmp.Or(b.Bodies, 512<<20),
		Read:       cmp.Or(b.Read, 2*time.Minute),
		First:      cmp.Or(b.First, 10*time.Minute),
		Idle:       cmp.Or(b.Idle, 5*time.Minute),
		Request:    cmp.Or(b.Request, 30*time.Minute),
		Wait:       cmp.Or(b.Wait, time.Minute),
		Concurrent: cmp.Or(b.Concurrent, 256),
		PerPass:    cmp.Or(b.PerPass, 32),
	}
}

func (b Bounds) check() error {
	if min(b.Body, b.Bodies) < 0 || min(b.Read, b.First, b.Idle, b.Request, b.Wait) < 0 || min(b.Concurrent, b.PerPass) < 0 {
		return errors.New("claude: egress: Bounds: a bound is negative")
	}
	return nil
}

func checkBudget(l Budget) error {
	if l.USD < 0 || math.IsNaN(l.USD) || math.IsInf(l.USD, 0) || l.Tokens < 0 || l.Every < 0 || l.RequestsPerMinute < 0 {
		return errors.New("claude: egress: Budget: a limit is negative or not a number")
	}
	return nil
}

// parseUpstream refuses addresses to which a secret would go in the clear.
func parseUpstream(address string) (*url.URL, error) {
	u, err := url.Parse(cmp.Or(address, DefaultUpstream))
	if err != nil {
		return nil, errors.New("claude: egress: Upstream is not a URL") // the error would show it, with what is before an @
	}
	local := u.Hostname() == "localhost"
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		local = ip.IsLoopback()
	}
	switch {
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "":
		return nil, errors.New("claude: egress: Upstream does not have the form https://host/path")
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return nil, fmt.Errorf("claude: egress: Upstream: the secret would go to %s in the clear: use https", u.Hostname())
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// newGate reads the lists of hosts.
func (o *Options) newGate() (g gate, err error) {
	g = gate{networks: slices.Clone(o.Networks), resolver: o.Resolver}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, entry := range o.Hosts {
		rule, err := parseHostRule(entry)
		if err != nil {
			return gate{}, err
		}
		g.rules = append(g.rules, rule)
	}
	for _, n := range o.Networks {
		if !n.IsValid() {
			return gate{}, errors.New("claude: egress: Networks: one of them is not valid")
		}
	}
	return g, nil
}

// newTransport returns the transport to the API. It decodes what is compressed, so that
// answers can be counted.
func newTransport(b Bounds) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: short, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   short,
		ResponseHeaderTimeout: b.First,
		MaxIdleConnsPerHost:   b.PerPass,
		IdleConnTimeout:       90 * time.Second,
		// All requests share a connection: one whose other end has gone is noticed
		// in half a minute, not when First is over, and new requests use another.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}
