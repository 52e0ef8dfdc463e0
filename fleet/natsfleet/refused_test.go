package natsfleet_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// password is one that its owner can change.
type password struct{ atomic.Pointer[string] }

func newPassword(text string) *password {
	p := new(password)
	p.Store(&text)
	return p
}

func (p *password) option() nats.Option {
	return nats.UserInfoHandler(func() (string, string) { return "fleet", *p.Load() })
}

// refusedSoon wants calls of a client to fail because of its credentials.
func refusedSoon(t *testing.T, client *natsfleet.Client) {
	t.Helper()
	eventually(t, "nothing says that the credentials are not accepted", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := client.Send(ctx, "ada", fleet.Prompt{Text: "never"})
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Fatalf("a password is in the error: %v", err)
		}
		return errors.Is(err, natsfleet.ErrRefused)
	})
}

// The credentials of a worker and of a client are revoked while they are connected.
// Calls say so. The worker ends its CLI before its lease can be taken, and another
// finishes the turn. With new credentials, both continue as before.
func TestCredentialsRevoked(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second // see TestWorkerCutOff
	var usual *server.Options
	c := natstest.Start(t, natstest.Options{Configure: func(o *server.Options) { o.Username, o.Password, usual = "fleet", "old secret", o }})
	worker := func(p *password, reply func(*claudetest.ModelCall) claudetest.Reply) {
		cli := claudetest.NewCLI(&claudetest.Script{Model: reply})
		w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{
			Options: natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet(), NATS: []nats.Option{p.option()}},
			Fleet: fleet.Options{TTL: ttl, Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { shut(t, w) })
	}
	mine := newPassword("old secret")
	client, err := natsfleet.Connect(t.Context(), natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet(), NATS: []nats.Option{mine.option()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, client) })
	asked, aborted := make(chan struct{}), make(chan struct{})
	worker(newPassword("old secret"), func(call *claudetest.ModelCall) claudetest.Reply {
		close(asked)
		<-call.Context().Done()
		close(aborted)
		return heard(call)
	})
	id, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	changed := usual.Clone()
	changed.Password = "new secret"
	if err := c.Node(0).ReloadOptions(changed); err != nil {
		t.Fatal(err)
	}
	worker(newPassword("new secret"), func(call *claudetest.ModelCall) claudetest.Reply {
		select {
		case <-aborted:
		default:
			t.Error("another worker runs the turn, and the CLI of the first is alive")
		}
		return heard(call)
	})
	refusedSoon(t, client)
	mine.Store(newPassword("new secret").Load())
	eventually(t, "new credentials do not help", func() bool {
		_, err := client.Get(t.Context(), "ada")
		return err == nil
	})
	if o := ends(t, client, "ada", id); o.Text != "heard one" {
		t.Errorf("%+v", o)
	}
}

// issuer gives out credentials that expire soon.
type issuer struct {
	account, user nkeys.KeyPair
	given         atomic.Int64
	stopped       atomic.Pointer[string] // what it gives out since then
}

// operate lets a server trust an issuer.
func (i *issuer) operate(t *testing.T) func(*server.Options) {
	t.Helper()
	var err error
	must := func(k nkeys.KeyPair, e error) (nkeys.KeyPair, string) {
		public, e2 := k.PublicKey()
		err = errors.Join(err, e, e2)
		return k, public
	}
	operator, operatorName := must(nkeys.CreateOperator())
	_, systemName := must(nkeys.CreateAccount())
	var accountName string
	i.account, accountName = must(nkeys.CreateAccount())
	i.user, _ = must(nkeys.CreateUser())
	claims := jwt.NewOperatorClaims(operatorName)
	resolver := &server.MemAccResolver{}
	for _, name := range []string{systemName, accountName} {
		a := jwt.NewAccountClaims(name)
		if name == accountName {
			a.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		text, e := a.Encode(operator)
		err = errors.Join(err, e, resolver.Store(name, text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(o *server.Options) {
		o.TrustedOperators, o.SystemAccount, o.AccountResolver = []*jwt.OperatorClaims{claims}, systemName, resolver
	}
}

// option gives out credentials whenever a connection is made.
func (i *issuer) option() nats.Option {
	return nats.UserJWT(func() (string, error) {
		if last := i.stopped.Load(); last != nil {
			return *last, nil
		}
		name, err := i.user.PublicKey()
		if err != nil {
			return "", err
		}
		claims := jwt.NewUserClaims(name)
		claims.Expires = time.Now().Add(2 * time.Second).Unix()
		i.given.Add(1)
		return claims.Encode(i.account)
	}, i.user.Sign)
}

// stop makes the credentials expire for good.
func (i *issuer) stop(t *testing.T) {
	t.Helper()
	name, err := i.user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.NewUserClaims(name)
	claims.Expires = time.Now().Add(-time.Minute).Unix()
	text, err := claims.Encode(i.account)
	if err != nil {
		t.Fatal(err)
	}
	i.stopped.Store(&text)
}

// Credentials expire while a turn runs and between turns, and are renewed: nothing is
// lost, and callers do not notice. If they are not renewed, calls return an error
// that explains it.
func TestCredentialsExpire(t *testing.T) {
	t.Parallel()
	i := new(issuer)
	c := natstest.Start(t, natstest.Options{Configure: i.operate(t)})
	o := natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet(), NATS: []nats.Option{i.option()}}
	var asked atomic.Int64
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(call *claudetest.ModelCall) claudetest.Reply {
		asked.Add(1)
		for given := i.given.Load(); i.given.Load() < given+2; { // the worker's and the client's
			<-time.After(20 * time.Millisecond)
		}
		return heard(call)
	}})
	w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{Options: o, Fleet: fleet.Options{TTL: 30 * time.Second, Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
		return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, w)
	client, err := natsfleet.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, client)
	for _, prompt := range []struct{ text, want string }{{"one", "heard one"}, {"two", "heard one, two"}} {
		if got, err := answer(t.Context(), client, "ada", prompt.text); err != nil || got != prompt.want {
			t.Fatalf("%q, %v; want %q", got, err, prompt.want)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the model was asked %d times; want 2", n)
	}
	i.stop(t)
	refusedSoon(t, client)
	i.stopped.Store(nil) // so that they can end well
	eventually(t, "new credentials do not help", func() bool {
		_, err := client.Get(t.Context(), "ada")
		return err == nil
	})
}

// limited starts a server with a user who may publish and subscribe to some subjects only.
func limited(t *testing.T, publish, subscribe []string) *natstest.Cluster {
	t.Helper()
	return natstest.Start(t, natstest.Options{Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "fleet", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}}}
	}})
}

// The permissions listed in the README suffice, even for workers that answer.
func TestPermissionsSuffice(t *testing.T) {
	t.Parallel()
	c := limited(t, []string{"claude.>", "$JS.API.>", "_INBOX.>"}, []string{"claude.>", "_INBOX.>"})
	url := strings.Replace(c.URL(), "//", "//fleet:secret@", 1)
	asked := make(chan struct{})
	startWorker(t, url, func(call *claudetest.ModelCall) claudetest.Reply {
		close(asked)
		<-call.Context().Done()
		return heard(call)
	}, nil)
	client := connect(t, url)
	ended := make(chan error, 1)
	go func() {
		_, err := answer(t.Context(), client, "ada", "one")
		ended <- err
	}()
	<-asked
	if err := client.Interrupt(t.Context(), "ada"); err != nil {
		t.Error(err)
	}
	if failed, ok := errors.AsType[*fleet.FailedError](<-ended); !ok || failed.Ticket.Status != fleet.PromptFailed {
		t.Errorf("the turn that was interrupted: %v", failed)
	}
}

// An account that lacks a permission is refused at once, and the error names it.
func TestPermissionsAreMissing(t *testing.T) {
	t.Parallel()
	all, inbox := []string{"claude.>", "$JS.API.>", "_INBOX.>"}, []string{"claude.>", "_INBOX.>"}
	for name, c := range map[string]struct {
		publish, subscribe []string
		want               string
	}{
		"API":   {[]string{"claude.>", "_INBOX.>"}, inbox, `"$JS.API.`},
		"inbox": {all, []string{"claude.>"}, `"_INBOX.`},
	} {
		t.Run(name, func(t *testing.T) {
			url := strings.Replace(limited(t, c.publish, c.subscribe).URL(), "//", "//fleet:secret@", 1)
			begin := time.Now()
			_, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: url, Logger: quiet()})
			if !errors.Is(err, natsfleet.ErrRefused) || !strings.Contains(err.Error(), c.want) || time.Since(begin) > 20*time.Second {
				t.Errorf("after %v: %v; want %s", time.Since(begin), err, c.want)
			}
		})
	}
	// Without the right to store, everything but writing works.
	url := strings.Replace(limited(t, all[1:], inbox).URL(), "//", "//fleet:secret@", 1)
	s := openNamed(t, url, "", beside{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Acquire(ctx, "p", "n", "me", time.Minute); !errors.Is(err, natsfleet.ErrRefused) || !strings.Contains(err.Error(), `"claude.l.p.n.o"`) {
		t.Errorf("without the right to publish: %v", err)
	}
}

// A server without JetStream is refused at once.
func TestWithoutJetStream(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("it takes no connections")
	}
	begin := time.Now()
	_, err = natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: s.ClientURL(), Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), "JetStream") || time.Since(begin) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}
