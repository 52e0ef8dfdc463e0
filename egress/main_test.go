package egress_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// The roles that the test binary can play, each with its arguments in a variable.
const (
	forwardVariable = "EGRESS_TEST_FORWARD" // a port to a socket: "address socket"
	proxyVariable   = "EGRESS_TEST_PROXY"   // a proxy that will be killed: "upstream directory"
)

// TestMain lets the test binary play a role.
func TestMain(m *testing.M) {
	if address, socket, ok := strings.Cut(os.Getenv(forwardVariable), " "); ok {
		playForwarder(address, socket)
	}
	if upstream, dir, ok := strings.Cut(os.Getenv(proxyVariable), " "); ok {
		playProxy(upstream, dir)
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

// playProxy is a proxy in a process of its own. It prints its address and a sentinel, and
// runs until it is killed.
func playProxy(upstream, dir string) {
	proxy, err := egress.New(egress.Options{
		Upstream: upstream,
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: realKey}, nil
		},
		Accounts: egress.RecordAccounts(store.Files(dir), "p"),
	})
	if err != nil {
		fail(err)
	}
	url, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	pass, err := proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c1", Tenant: "acme"}, Budget: egress.Budget{USD: 0.01}})
	if err != nil {
		fail(err)
	}
	fmt.Println(url, pass.Sentinel())
	_, _ = io.Copy(io.Discard, os.Stdin) // and it ends with the test
	os.Exit(0)
}
