package serve

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Options configure a server. Records, Project and Presets are required.
type Options struct {
	// Records keeps what the server remembers: owners and titles of
	// conversations, the logs of events, tokens, logins. It is usually the store
	// of the fleet.
	Records store.Records
	// Project is the project of all its records.
	Project string
	// Presets are the kinds of conversations that users may begin.
	Presets []Preset

	// Page makes the page for people. Nil: there is only the API.
	Page func(*Service) (Page, error)
	// FolderPatch returns how the folder of a conversation, which is named by its key in the
	// fleet, differs from the state in which it began: a patch as git writes it. The screen
	// "Changes" then also shows what commands have changed. An error that matches
	// [io/fs.ErrNotExist] means that the conversation has no folder of its own, and the screen
	// shows the edits. It is called for each request, by several goroutines at once. Nil: no
	// conversation has one.
	FolderPatch func(ctx context.Context, key string) ([]byte, error)
	// Home is the directory that the page shows as ~ in paths. Empty: it shows
	// whole paths.
	Home string

	// Authenticate finds the user of a request by other means than the server's own
	// logins, such as the session of the program around it. It is asked first, and may
	// be called from several goroutines at once. Nil: only the server's own logins
	// count.
	Authenticate func(*http.Request) (api.User, bool)
	// Login lets people log in with an account that they have elsewhere. The page offers
	// it beside its own logins. Nil: only those count.
	Login LoginProvider
	// LoginLife is how long a login by Login lasts. People then log in again, so that the
	// provider can say whether they still may. 0: 24 hours.
	LoginLife time.Duration
	// ProxyHeader is the header in which a proxy names the user, such as Remote-User.
	// It counts only if the connection itself comes from ProxyFrom, or over a Unix
	// socket if ProxySocket is set. Set that only if no other program than the proxy
	// can open the server's sockets. Such a user has the role ProxyRole. Empty: no
	// header counts.
	ProxyHeader string
	ProxyFrom   []netip.Prefix
	ProxySocket bool
	ProxyRole   api.Role // empty: RoleOperator

	// Hosts are the names by which the server is reached, besides localhost and
	// loopback addresses. Ports do not matter. A request for any other host is
	// refused.
	Hosts []string
	// Origins are other sites whose pages may use AG-UI, such as
	// https://app.example. They need a bearer token: cookies and the header of
	// a proxy do not count for them. The rest of the server stays closed.
	Origins []string
	// Secure means that browsers reach the server over https, even if a proxy
	// terminates it. Cookies are then sent only over https.
	Secure bool
	// Port keeps the cookies of several servers on one host apart, because
	// browsers ignore the port. 0: there is only one server.
	Port int

	// History finds sessions of the CLI on the server's disk. Nil: none.
	History *history.History
	// CLIVersion returns the version of the CLI that conversations run on, empty if
	// it is not known. It is called for each request for GET /v1/server, from
	// several goroutines at once, so it should be quick and start nothing. Nil: the
	// version is not known.
	CLIVersion func() string
	// Notify is called when a person is asked something, once for each approval. It
	// must return quickly. Nil: there are no notifications.
	Notify func(api.Approval)
	// Push notifies browsers of approvals, if their users ask for it on the page. Nil:
	// there are no pushes.
	Push *Push

	// StreamsPerUser and Streams limit the open event streams of each user and of all
	// users. 0: 32 and 1000. An editor's connection counts as one, as does
	// each session that it has open.
	StreamsPerUser int
	Streams        int

	// Logger receives the server's log. Nil: slog.Default().
	Logger *slog.Logger
	// Trace follows requests. Nil: they are not traced.
	Trace RequestTrace
}

// withDefaults returns the options with all defaults.
func (o Options) withDefaults() Options {
	if o.StreamsPerUser <= 0 {
		o.StreamsPerUser = 32
	}
	if o.Streams <= 0 {
		o.Streams = 1000
	}
	if o.ProxyRole == "" {
		o.ProxyRole = api.RoleOperator
	}
	if o.LoginLife <= 0 {
		o.LoginLife = 24 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
