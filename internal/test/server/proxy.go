package server

import (
	"io"
	"net"
	"sync"
)

// Proxy passes connections on to a server, and can cut them.
type Proxy struct {
	listener net.Listener
	reply    func(client io.Writer, server io.Reader) error

	mu     sync.Mutex
	target string // "" refuses connections
	conns  map[net.Conn]bool
	done   sync.WaitGroup
}

// NewProxy returns a proxy for the server at an address, until the end of the test. Reply copies
// what the server sends to the client; nil copies all of it.
func NewProxy(t T, target string, reply func(client io.Writer, server io.Reader) error) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if reply == nil {
		reply = func(client io.Writer, server io.Reader) error { _, err := io.Copy(client, server); return err }
	}
	p := &Proxy{listener: l, reply: reply, target: target, conns: make(map[net.Conn]bool)}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close() // ends accept
		p.Lead("")
		p.done.Wait()
	})
	return p
}

// Addr is the address of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lead cuts all connections, and leads those that are made from now on to a server; "" refuses
// them.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		_ = c.Close() // which ends its copies
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		if p.target == target {
			p.conns[client], p.conns[server] = true, true
		} else { // it was cut in between
			_ = client.Close()
			_ = server.Close()
		}
		p.mu.Unlock()
		end := func() { _ = client.Close(); _ = server.Close() }
		p.done.Go(func() { defer end(); _, _ = io.Copy(server, client) })
		p.done.Go(func() { defer end(); _ = p.reply(client, server) })
	}
}
