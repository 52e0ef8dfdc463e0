package main

import (
	"net"
	"sync"
)

// maxConnections is how many connections the server may have at once, which exceeds the
// number of streams that it allows. Further connections wait until others end; one that
// sends nothing ends within two minutes.
const maxConnections = 2000

// limitConnections lets a listener accept only so many connections at once.
func limitConnections(l net.Listener, n int) net.Listener {
	closed := make(chan struct{})
	return &limitedListener{l, make(chan struct{}, n), closed, sync.OnceFunc(func() { close(closed) })}
}

type limitedListener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	end    func()
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{c, sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements [net.Listener].
func (l *limitedListener) Close() error {
	l.end()
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
