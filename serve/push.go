package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/webpush"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/login"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// Push notifies browsers that an approval is waiting, by Web Push: even if the page is
// closed, and on phones. People subscribe on the page, each in their own browser, and only
// those who may decide an approval are notified. A notice has the name of the tool and
// the title of the conversation, encrypted so that the push service cannot read it.
type Push struct {
	// Contact is a mailto: or https: address of the people who run the server, for the
	// push services. It is required.
	Contact string
	// Private allows push services at addresses that are not public, such as one in your
	// own network. The addresses come from browsers, so without it the server could be
	// made to send requests to other machines of its network.
	Private bool
	// Client sends the notices. Nil: one that connects to public addresses only, unless
	// Private is set, and uses no proxy.
	Client *http.Client
}

func (p *Push) check() error {
	if p != nil && (!strings.HasPrefix(p.Contact, "mailto:") && !strings.HasPrefix(p.Contact, "https://") || len(p.Contact) > 200) {
		return fmt.Errorf("claude: serve: Options.Push.Contact: %.200q is not an address such as mailto:ops@example.com", p.Contact)
	}
	return nil
}

// PushTarget is where a browser receives notices: its PushSubscription.
type PushTarget struct {
	Endpoint string // the address at its push service
	Key      []byte // p256dh
	Auth     []byte // auth
}

// The records of pushes: a subscription for each login, and the key of the server.
const (
	kindPush    = "serve-push"
	kindPushKey = "serve-push-key"
	pushKeyName = "key"
)

// target is a subscription of a login.
type target struct {
	webpush.Subscription
	Created time.Time     `json:"created"`
	Unknown jsonx.Unknown `json:",embed"`
}

// pushKey is the key of the server. Subscriptions are bound to it, so all servers with
// the same records share it.
type pushKey struct {
	Secret  []byte        `json:"secret"`
	Created time.Time     `json:"created"`
	Unknown jsonx.Unknown `json:",embed"`
}

// pusher sends notices to browsers.
type pusher struct {
	push    Push
	records store.Records
	project string
	gate    *login.Authenticator
	answers *answers
	logger  *slog.Logger

	asked chan string   // approvals of which people are to be notified
	sends chan struct{} // a place for each notice that is being sent
	work  sync.WaitGroup

	mu       sync.Mutex
	identity *webpush.Identity
	queues   map[string]*pushQueue // by login
}

const (
	maxAsked = 1000 // approvals that may wait
	maxQueue = 20   // notices that may wait for a browser
)

// newPusher returns nil if there are no pushes.
func newPusher(p *Push, r store.Records, project string, g *login.Authenticator, as *answers, logger *slog.Logger) *pusher {
	if p == nil {
		return nil
	}
	made := &pusher{
		push: *p, records: r, project: project, gate: g, answers: as, logger: logger,
		asked: make(chan string, maxAsked), sends: make(chan struct{}, notifySends), queues: make(map[string]*pushQueue),
	}
	if made.push.Client == nil {
		made.push.Client = webpush.Client(p.Private)
	}
	return made
}

func (p *pusher) at(kind, name string) store.RecordKey {
	return store.RecordKey{Project: p.project, Kind: kind, Name: name}
}

// self returns the key of the server, and makes it if there is none.
func (p *pusher) self(ctx context.Context) (*webpush.Identity, error) {
	p.mu.Lock()
	known := p.identity
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	k, _, err := recordio.Get[pushKey](ctx, p.records, p.at(kindPushKey, pushKeyName))
	if errors.Is(err, store.ErrNotFound) {
		k, err = p.makeKey(ctx)
	}
	if err != nil {
		return nil, err
	}
	if known, err = webpush.ParseIdentity(k.Secret); err == nil {
		p.mu.Lock()
		p.identity = known
		p.mu.Unlock()
	}
	return known, err
}

// makeKey makes the key of the server. If another server is faster, its key counts.
func (p *pusher) makeKey(ctx context.Context) (pushKey, error) {
	fresh, err := webpush.NewIdentity()
	if err != nil {
		return pushKey{}, err
	}
	secret, err := fresh.Secret()
	if err != nil {
		return pushKey{}, err
	}
	now, err := p.records.Now(ctx)
	if err != nil {
		return pushKey{}, err
	}
	k, at := pushKey{Secret: secret, Created: now.UTC()}, p.at(kindPushKey, pushKeyName)
	if _, err = recordio.Put(ctx, p.records, at, &k, 0); errors.Is(err, store.ErrConflict) {
		k, _, err = recordio.Get[pushKey](ctx, p.records, at)
	}
	return k, err
}

// subscribe keeps the subscription of a login. One that another login of the same browser
// has left behind goes: its user has left the browser.
func (p *pusher) subscribe(ctx context.Context, login string, t PushTarget) error {
	now, err := p.records.Now(ctx)
	if err != nil {
		return err
	}
	fresh := target{webpush.Subscription{Endpoint: t.Endpoint, Key: t.Key, Auth: t.Auth}, now.UTC(), nil}
	if err := fresh.Check(p.push.Private); err != nil {
		return badRequest.because("%s", strings.TrimPrefix(err.Error(), "claude: webpush: "))
	}
	for r, err := range p.records.Scan(ctx, store.Folder{Project: p.project, Kind: kindPush}, "") {
		var old target
		if err == nil {
			err = recordio.Decode(r, &old)
		}
		if err != nil {
			return err
		}
		if r.Key.Name != login && old.Endpoint == t.Endpoint {
			_ = store.Drop(ctx, p.records, r.Key, r.Revision, store.Fence{}) // if it has changed, it is another
		}
	}
	for {
		_, revision, err := recordio.Get[target](ctx, p.records, p.at(kindPush, login))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if _, err = recordio.Put(ctx, p.records, p.at(kindPush, login), &fresh, revision); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// forget drops the subscription of a login.
func (p *pusher) forget(ctx context.Context, login string) error {
	if p == nil {
		return nil
	}
	return recordio.Drop(ctx, p.records, p.at(kindPush, login))
}

// tell notifies people of an approval. It never waits.
func (p *pusher) tell(a api.Approval) {
	select {
	case p.asked <- a.ID:
	default:
		p.logger.Warn("serve: too many approvals wait to be pushed, so one is left out", "approval", a.ID)
	}
}
