package egress_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// The roles that the test binary can play, each with its arguments in a variable.
const (
	forwardVariable = "EGRESS_TEST_FORWARD" // a port to a socket: "address socket"
	proxyVariable   = "EGRESS_TEST_PROXY"   // a proxy that will be killed: a role in JSON
)

// TestMain lets the test binary play a role.
func TestMain(m *testing.M) {
	if address, socket, ok := strings.Cut(os.Getenv(forwardVariable), " "); ok {
		playForwarder(address, socket)
	}
	if role := os.Getenv(proxyVariable); role != "" {
		var r proxyRole
		if err := json.Unmarshal([]byte(role), &r); err != nil {
			fail(err)
		}
		r.play()
	}
	os.Exit(m.Run())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// playForwarder is the forwarder inside a network namespace.
func playForwarder(address, socket string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fail(err)
	}
	fmt.Println("ready")
	for {
		near, err := l.Accept()
		if err != nil {
			fail(err)
		}
		go func() {
			defer near.Close()
			far, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer far.Close()
			go func() { _, _ = io.Copy(far, near) }()
			_, _ = io.Copy(near, far)
		}()
	}
}

// proxyRole is a proxy in a process of its own.
type proxyRole struct {
	Upstream, Dir     string // the API, and where it keeps its accounts
	Address, Sentinel string // those of an earlier one; empty: new ones
	Budget            egress.Budget
}

// play prints the address and the sentinel, and serves until it is killed.
func (r *proxyRole) play() {
	proxy, err := egress.New(egress.Options{
		Upstream: r.Upstream,
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: realKey}, nil
		},
		Accounts: egress.RecordAccounts(store.Files(r.Dir), "p"),
		Logger:   slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		fail(err)
	}
	pass, err := proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c1", Tenant: "acme"}, Budget: r.Budget, Sentinel: r.Sentinel})
	if err != nil {
		fail(err)
	}
	url, err := proxy.Listen("tcp", cmp.Or(r.Address, "127.0.0.1:0"))
	if err != nil {
		fail(err)
	}
	fmt.Println(url, pass.Sentinel())
	_, _ = io.Copy(io.Discard, os.Stdin) // and it ends with the test
	os.Exit(0)
}

// proxyProcess is a proxy that a test can kill.
type proxyProcess struct {
	*exec.Cmd
	url, sentinel string
	log           bytes.Buffer // read it when the process has ended
	in            io.Closer
}

// start starts a process that plays the role. At the end of the test its log must hold
// neither the key nor a sentinel.
func (r proxyRole) start(t *testing.T) *proxyProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	role, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxyProcess{Cmd: exec.Command(self)}
	p.Env, p.Stderr = append(os.Environ(), proxyVariable+"="+string(role)), &p.log
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		_ = p.Wait() // it may have been killed, and waited for
		for _, secret := range []string{realKey, p.sentinel} {
			if bytes.Contains(p.log.Bytes(), []byte(secret)) {
				t.Errorf("the log has %s:\n%s", secret, p.log.Bytes())
			}
		}
	})
	if _, err := fmt.Fscan(out, &p.url, &p.sentinel); err != nil {
		t.Fatalf("%v: %s", err, p.log.Bytes())
	}
	return p
}

// kill kills the process as the kernel would, and waits until it is gone.
func (p *proxyProcess) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("the proxy ended by itself")
	}
}
