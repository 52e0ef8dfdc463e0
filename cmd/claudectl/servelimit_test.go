package main

import (
	"net"
	"testing"
)

// A full listener accepts another connection only when one ends, and stops at once
// when it is closed.
func TestLimitConnections(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 2)
	accepted, ended := make(chan net.Conn), make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first, second := <-accepted, <-accepted
	select {
	case <-accepted:
		t.Fatal("it has accepted three")
	default:
	}
	if n := len(l.(*limitedListener).places); n != 2 {
		t.Errorf("%d places are taken", n)
	}
	for range 2 { // once counts
		_ = first.Close()
	}
	third := <-accepted
	if n := len(l.(*limitedListener).places); n != 2 {
		t.Errorf("%d places are taken after one has ended twice", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	<-ended // although no place is free
	_ = second.Close()
	_ = third.Close()
}
