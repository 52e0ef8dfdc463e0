package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// serveCommand is "claudectl serve" with the commands below it.
type serveCommand struct {
	Start serveStart `cmd:"" default:"withargs" help:"Serve conversations on HTTP, with a page for people."`
	Login serveLogin `cmd:"" help:"Print a link that logs you in to the server on this store."`
	Token serveToken `cmd:"" help:"Make a bearer token for programs."`

	Health serveHealth `cmd:"" help:"Ask the server on this machine whether it lives."`
}

// servePlace is where a server keeps everything.
type servePlace struct {
	Store   string `placeholder:"DIR" complete:"dir" help:"The directory that keeps everything. Default: ~/.local/state/claudectl."`
	Project string `default:"default" placeholder:"NAME" help:"The project in the store."`
}

// dir is the directory of the store.
func (p *servePlace) dir(c *console) (string, error) {
	if err := store.CheckProject(p.Project); err != nil {
		return "", &failure{exitUsage, err}
	}
	if p.Store != "" {
		return p.Store, nil
	}
	home := c.variable("HOME")
	if home == "" {
		home = c.variable("USERPROFILE")
	}
	if home == "" {
		return "", &failure{exitInput, errors.New("no home directory: set HOME or --store")}
	}
	return filepath.Join(home, ".local", "state", "claudectl"), nil
}

// serveStart is "claudectl serve start", for which "claudectl serve" is short.
type serveStart struct {
	servePlace
	serveEgress
	serveSandbox
	serveWorkspace
	serveOIDC
	Presets string        `placeholder:"FILE" complete:"file" help:"A JSON file with the presets that users can choose. Default: one preset for the current directory."`
	Listen  string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where to listen. Port 0 is any free one. unix:/PATH is a socket for a proxy."`
	Live    int           `placeholder:"N" help:"How many CLIs may run at once. Default: twice the number of cores."`
	Hold    time.Duration `default:"2m" placeholder:"TIME" help:"How long a process waits for a person to decide before it ends."`
	CLI     string        `name:"cli" placeholder:"PATH" complete:"file" help:"The CLI to run. Default: claude, as the SDK finds it."`

	TLSCert string `name:"tls-cert" placeholder:"FILE" complete:"file" help:"The certificate for https."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" complete:"file" help:"The key of the certificate."`

	BehindProxy     bool     `help:"A proxy, on another machine or at the Unix socket, terminates https for this server."`
	ProxyUserHeader string   `placeholder:"NAME" help:"The header in which the proxy names the user, such as Remote-User."`
	ProxyFrom       []string `placeholder:"CIDR" help:"The addresses of the proxy. The header counts only from there. A Unix socket needs none."`
	ProxyRole       string   `default:"operator" enum:"viewer,approver,operator,admin" help:"The role of users that the proxy names: viewer, approver, operator or admin."`
	Host            []string `placeholder:"NAME" help:"A host name by which the server is reached, besides localhost."`
	Origin          []string `placeholder:"URL" help:"Another site whose pages may use AG-UI, with a bearer token."`
	URL             string   `name:"url" placeholder:"URL" help:"The address of the server in links, if it differs from the one it listens on."`

	Webhook       string `placeholder:"URL" help:"Where to POST a notice when a person is asked."`
	WebhookSecret string `placeholder:"FILE" complete:"file" help:"A file with the secret, whsec_ and base64, that signs these notices as Standard Webhooks say."`
	Ntfy          string `placeholder:"URL" help:"A topic of an ntfy server to notify when a person is asked."`

	Push string `placeholder:"ADDRESS" help:"Let browsers receive notices by Web Push, also phones: your mailto: or https: address, for the push services."`

	User string `placeholder:"NAME" help:"Your name in the server. Default: USER."`
	QR   bool   `name:"qr" help:"Also draw the login link as a QR code, for a phone."`
	Demo bool   `help:"Show it with a simulated agent: no account, no cost, nothing is kept."`
}

// Help is shown by "claudectl serve start --help".
func (*serveStart) Help() string {
	return `The link that is printed logs you in, once, within five minutes;
"claudectl serve login" prints another. With --qr it is also drawn as a QR code for a
phone, if the server has an address that others can reach, from --url or --host.

A file of presets is JSON:

	{"presets": [{
		"name": "shop", "description": "The shop", "roots": ["~/shop"],
		"model": "sonnet", "models": ["opus"], "mode": "default", "modes": ["plan", "acceptEdits"],
		"allowed_tools": ["Bash(go test:*)"], "max_budget_usd": 5, "max_daily_usd": 50,
		"workspace": "worktrees"
	}]}

With --egress the CLIs get a made-up key each, and a proxy in the server has the real one,
from its environment. What conversations spend is counted there, even if a CLI is killed.
Commands reach no hosts through it but those of --egress-host.

With --sandbox bubblewrap each CLI and its commands see the system's programs and their
working directory, nothing else of the machine, and reach only the proxy. With
--sandbox podman or docker they see the programs of --sandbox-image instead, and are
limited to 2 GiB of memory and 512 processes, unless --sandbox-arg says otherwise. With
--workspace worktrees each conversation works on a branch of its own, claude/NAME, of the
repository that is the root of its preset; with --workspace folders it begins in an empty
folder; with --workspace snapshots also, and its state after each turn is kept in the
store. All are removed with the conversation, the branch too. "workspace" of a preset says
otherwise for its conversations; "none" lets them work in its roots.

With --oidc-issuer https://accounts.example.com --oidc-client-id ID and
--oidc-allow @example.com=operator people log in with OpenID Connect. The secret of the
client comes from a file or the environment, and a person has the greatest role of the
rules that match. Logins by links and tokens work as before.

The server listens on this machine only, unless it has a certificate or stands behind a proxy.
With --listen unix:/run/agents/serve.sock --behind-proxy --host agents.example.com it
listens on a socket that only its own user may open, for a proxy on this machine. All
connections are then from the proxy. Links begin with https:// and the name of the
host, unless --url says otherwise.`
}

// Run serves until a signal comes.
func (s *serveStart) Run(c *console) error {
	ctx, release := endOnSignal(c.ctx)
	defer release()
	if err := s.check(); err != nil {
		return &failure{exitUsage, err}
	}
	logger := s.logger(c)
	setup, err := s.setup(c)
	if err != nil {
		return err
	}
	defer func() { setup.end() }() // what is opened later adds to it
	proxy, end, err := s.serveEgress.open(c, setup, s.Project, s.Demo, logger)
	if err != nil {
		return err
	}
	defer end()
	if proxy != nil {
		c.forgetCredentials()
		if err := proc.Hide(); err != nil {
			return &failure{exitFailed, fmt.Errorf("--egress: hide the key from the CLIs: %w", err)}
		}
	}
	sessions, err := serve.Sessions(setup.store, s.Project, setup.presets, nil)
	if err != nil {
		return &failure{exitFormat, err}
	}
	if err := s.serveSandbox.apply(setup.presets, s.Demo, proxy != nil); err != nil {
		return err
	}
	folders, err := s.serveWorkspace.open(ctx, setup, s.Project, sessions, logger)
	if err != nil {
		return err
	}
	f, err := fleet.Open(ctx, fleet.Options{
		Store: setup.store, Project: s.Project, Session: sessions, MaxLive: s.live(), Journal: setup.journal, Logger: logger,
		Gate: &approval.Options{Needs: setup.needs, Patience: s.Hold}, Egress: proxy, Workspace: folders,
	})
	if err != nil {
		return err
	}
	served := s.serve(ctx, c, f, setup, logger, release)
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(served, f.Close(closing))
}

// logger writes to standard error in the form of the command's other output.
func (*serveStart) logger(c *console) *slog.Logger {
	if c.json {
		return slog.New(slog.NewJSONHandler(c.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(c.stderr, nil))
}

// live is how many CLIs may run.
func (s *serveStart) live() int {
	if s.Live > 0 {
		return s.Live
	}
	return 2 * runtime.NumCPU()
}

// check refuses a server that others could reach in the clear.
func (s *serveStart) check() error {
	path, socket := s.socketPath()
	if socket {
		if err := s.checkSocket(path); err != nil {
			return err
		}
	}
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil && !socket {
		return fmt.Errorf("--listen %s: %w", s.Listen, err)
	}
	ip, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && ip.IsLoopback()
	wildcard := !socket && host == "" || err == nil && ip.IsUnspecified()
	tls := s.TLSCert != ""
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key need each other")
	case wildcard && !tls:
		return fmt.Errorf("--listen %s means all networks of this machine: that needs --tls-cert and --tls-key, or the address of one network", s.Listen)
	case !loopback && !tls && !s.BehindProxy:
		return fmt.Errorf("--listen %s can be reached by others: that needs --tls-cert and --tls-key, or --behind-proxy", s.Listen)
	case !loopback && len(s.Host) == 0:
		return fmt.Errorf("--listen %s: say under which name the server is reached, with --host NAME", s.Listen)
	case s.ProxyUserHeader != "" && len(s.ProxyFrom) == 0 && !socket:
		return errors.New("--proxy-user-header needs --proxy-from: otherwise anyone could use any name")
	case s.Live < 0:
		return errors.New("--live must not be negative")
	}
	return nil
}

// serve answers requests until ctx ends, and then lets them end.
func (s *serveStart) serve(ctx context.Context, c *console, f *fleet.Fleet, setup *serveSetup, logger *slog.Logger, release func()) error {
	listener, err := s.listen(ctx)
	if err != nil {
		return &failure{exitFailed, err}
	}
	defer listener.Close()
	base := s.base(listener)
	if s.QR {
		if err := c.checkQR(base); err != nil {
			return err
		}
	}
	o, err := s.options(ctx, c, setup, base, listener, logger)
	if err != nil {
		return &failure{exitUsage, err}
	}
	server, err := serve.New(f, o)
	if err != nil {
		return err
	}
	telling, stopTelling := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { setup.refused.tell(telling, server.Remark, logger) })
	defer told.Wait()
	defer stopTelling()
	web := &http.Server{
		Handler: server, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() {
		if s.TLSCert != "" {
			ended <- web.ServeTLS(limitConnections(listener, maxConnections), s.TLSCert, s.TLSKey)
		} else {
			ended <- web.Serve(limitConnections(listener, maxConnections))
		}
	}()
	err = s.greet(ctx, c, server, setup, base)
	if err == nil {
		select {
		case err = <-ended:
		case <-ctx.Done():
			release() // a second signal ends the program at once
			if !c.json {
				fmt.Fprintln(c.stderr, "claudectl: stopping; what is not done is kept")
			}
		}
	}
	stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = server.Close() // ends the streams, which Shutdown would wait for
	_ = web.Shutdown(stop)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// listen opens the address or the socket.
func (s *serveStart) listen(ctx context.Context) (net.Listener, error) {
	if path, ok := s.socketPath(); ok {
		return listenUnix(ctx, path)
	}
	return net.Listen("tcp", s.Listen)
}

// base is the address of the server in links.
func (s *serveStart) base(l net.Listener) string {
	if s.URL != "" {
		return strings.TrimSuffix(s.URL, "/")
	}
	if _, ok := s.socketPath(); ok {
		return "https://" + s.Host[0] // the proxy terminates it
	}
	scheme := "http"
	if s.TLSCert != "" {
		scheme = "https"
	}
	address := l.Addr().String()
	if len(s.Host) > 0 {
		_, port, _ := net.SplitHostPort(address) // it is one of a listener
		address = net.JoinHostPort(s.Host[0], port)
	}
	return scheme + "://" + address
}

// options makes the options of the server.
func (s *serveStart) options(ctx context.Context, c *console, setup *serveSetup, base string, l net.Listener, logger *slog.Logger) (serve.Options, error) {
	o := serve.Options{
		Records: setup.store, Project: s.Project, Presets: setup.presets, Home: setup.home, Hosts: s.Host, Origins: s.Origin, Logger: logger,
		Secure:      strings.HasPrefix(base, "https:"),
		ProxyHeader: s.ProxyUserHeader, ProxyRole: api.Role(s.ProxyRole), Page: page.New, FolderPatch: setup.patch,
	}
	var err error
	if o.Login, err = s.serveOIDC.open(ctx, c, logger); err != nil {
		return o, err
	}
	o.LoginLife = s.Life
	if address, ok := l.Addr().(*net.TCPAddr); ok {
		o.Port = address.Port
	}
	_, o.ProxySocket = s.socketPath()
	for _, text := range s.ProxyFrom {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return o, fmt.Errorf("--proxy-from %s: %w", text, err)
		}
		o.ProxyFrom = append(o.ProxyFrom, prefix)
	}
	if !s.Demo {
		if s.SandboxCLI == "" { // else the version is that of the image
			o.CLIVersion = (&claude.Options{CLIPath: s.CLI, Env: c.agentEnv()}).InstalledVersion
		}
		h, err := c.history()
		if err != nil {
			return o, err
		}
		o.History = h
	}
	var notify []func(api.Approval)
	if s.Webhook != "" {
		n := &serve.Notifier{URL: s.Webhook, Form: serve.NotifyJSON, Base: base, Logger: logger}
		if s.WebhookSecret != "" {
			text, err := os.ReadFile(s.WebhookSecret)
			if err != nil {
				return o, fmt.Errorf("--webhook-secret: %w", err)
			}
			n.Secret = strings.TrimSpace(string(text))
		}
		if err := n.Check(); err != nil {
			return o, fmt.Errorf("--webhook-secret: %w", err)
		}
		notify = append(notify, n.Start(ctx))
	}
	if s.Ntfy != "" {
		notify = append(notify, (&serve.Notifier{URL: s.Ntfy, Form: serve.NotifyNtfy, Base: base, Logger: logger}).Start(ctx))
	}
	if s.Push != "" {
		o.Push = &serve.Push{Contact: s.Push}
	}
	o.Notify = func(a api.Approval) {
		for _, tell := range notify {
			tell(a)
		}
	}
	return o, nil
}

// greet prints the link, and begins the conversations of the demo.
func (s *serveStart) greet(ctx context.Context, c *console, server *serve.Server, setup *serveSetup, base string) error {
	u := api.User{Name: s.user(c), Role: api.RoleAdmin}
	if err := keepAddress(ctx, setup.store, s.Project, base); err != nil {
		return err
	}
	link, err := server.LoginLink(ctx, base, u)
	if err != nil {
		return err
	}
	if s.Demo {
		if err := beginDemo(ctx, server.Service(), u); err != nil {
			return err
		}
	}
	if c.json {
		// Not by emit: it hides tokens, and this one is to be used.
		_, err := io.WriteString(c.stdout, fmt.Sprintf("{\"url\":%q,\"login\":%q}\n", base, link))
		return err
	}
	c.printf("Serving %s on %s\nLog in, once, within five minutes:\n  %s\n", c.line(setup.about), base, link)
	if s.QR {
		return c.printQR(link)
	}
	return nil
}

// user is the name of who starts the server.
func (s *serveStart) user(c *console) string {
	for _, name := range []string{s.User, c.variable("USER"), c.variable("USERNAME")} {
		if name != "" {
			return name
		}
	}
	return "owner"
}

// serveSetup holds the parts of a server.
type serveSetup struct {
	store   store.Fleet
	dir     string // of the store; empty in the demo, which keeps nothing
	journal string
	folders *openFolders
	refused *refusedHosts
	patch   func(ctx context.Context, key string) ([]byte, error) // of a conversation's own folder; nil: none has one
	presets []serve.Preset
	kinds   map[string]string // of the folders of presets; a preset that is not here works in its roots
	home    string            // what people see as ~
	needs   needsFunc
	about   string
	end     func()
}

// setup finds the store and the presets.
func (s *serveStart) setup(c *console) (*serveSetup, error) {
	if s.Demo {
		return demoSetup()
	}
	dir, err := s.dir(c)
	if err != nil {
		return nil, err
	}
	if err := private.MkdirAll(dir); err != nil {
		return nil, &failure{exitInput, err}
	}
	presets, err := s.presets(c)
	if err != nil {
		return nil, err
	}
	db := store.Files(dir)
	presets.of = func(ctx context.Context) (string, error) {
		return serve.PresetOf(ctx, db, s.Project, approval.ConversationOf(ctx))
	}
	folders := new(openFolders)
	presets.folder = func(ctx context.Context) string { return folders.of(approval.ConversationOf(ctx)) }
	return &serveSetup{
		dir: dir, folders: folders, refused: newRefusedHosts(), store: db, journal: filepath.Join(dir, "journal"), presets: presets.all, kinds: presets.kinds, needs: presets.needs,
		about: fmt.Sprintf("%d presets from %s", len(presets.all), dir), end: func() {},
	}, nil
}
