package natsfleet_test

import (
	"net"
	"sync"
	"testing"
	"time"
)

// gate is a way to a server that can be cut, held up or made slow.
type gate struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	delay time.Duration
	open  chan struct{} // closed unless it is held up
	conns map[net.Conn]bool
}

func newGate(t testing.TB, target string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, target: target, open: make(chan struct{}), conns: make(map[net.Conn]bool)}
	close(g.open)
	g.wg.Go(g.accept)
	t.Cleanup(func() {
		l.Close()
		g.set(func() { g.cut = true })
		g.wg.Wait()
	})
	return g
}

func (g *gate) url() string { return "nats://" + g.listener.Addr().String() }

// set changes how the gate behaves, and ends connections that it cuts.
func (g *gate) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	if !g.cut {
		return
	}
	for c := range g.conns {
		c.Close()
	}
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) close()               { g.set(func() { g.cut = true }) }
func (g *gate) slow(d time.Duration) { g.set(func() { g.delay = d }) }

// hold lets nothing through, and ends nothing.
func (g *gate) hold() {
	g.set(func() {
		select {
		case <-g.open:
			g.open = make(chan struct{})
		default:
		}
	})
}

// heal makes it as good as new.
func (g *gate) heal() {
	g.set(func() {
		g.cut, g.delay = false, 0
		select {
		case <-g.open:
		default:
			close(g.open)
		}
	})
}

func (g *gate) accept() {
	for {
		in, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.wg.Go(func() { g.serve(in) })
	}
}

func (g *gate) serve(in net.Conn) {
	defer in.Close()
	if !g.add(in) {
		return
	}
	defer g.drop(in)
	g.mu.Lock()
	target := g.target
	g.mu.Unlock()
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer out.Close()
	if !g.add(out) {
		return
	}
	defer g.drop(out)
	var wg sync.WaitGroup
	wg.Go(func() { g.pump(out, in) })
	wg.Go(func() { g.pump(in, out) })
	wg.Wait()
}

// add takes note of a connection, false if the gate is cut.
func (g *gate) add(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.cut {
		g.conns[c] = true
	}
	return !g.cut
}

func (g *gate) drop(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// pump carries bytes in one direction until either side ends.
func (g *gate) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		g.mu.Lock()
		delay, open := g.delay, g.open
		g.mu.Unlock()
		<-open
		if delay > 0 {
			<-time.After(delay)
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
