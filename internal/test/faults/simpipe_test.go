package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/claude-agent-go/claude"
)

// simPipe is the connection of a simulated session. Nothing moves on it except as
// scheduled: a Read waits for a piece, a Write until it is taken.
type simPipe struct {
	claude.NoProcess
	begun func(line []byte) // sees each line when its Write begins

	out  chan []byte   // to the SDK
	in   chan []byte   // from the SDK
	eof  chan struct{} // closed: the output has ended
	shut chan struct{} // closed: stdin is no longer read
	stop chan struct{} // closed: the SDK said Stop
	done chan struct{} // closed: the process has ended; then code is set
	code int

	rest              []byte // of the reader alone
	reading           atomic.Bool
	writing           atomic.Int32
	shutting, halting sync.Once
}

func newSimPipe() *simPipe {
	return &simPipe{
		out: make(chan []byte), in: make(chan []byte),
		eof: make(chan struct{}), shut: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

func (p *simPipe) Start(context.Context, *claude.Launch) (claude.Conn, error) { return p, nil }

func (p *simPipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		p.reading.Store(true)
		select {
		case p.rest = <-p.out:
		case <-p.eof:
			return 0, io.EOF
		}
		p.reading.Store(false)
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *simPipe) Write(b []byte) (int, error) {
	p.begun(b)
	p.writing.Add(1)
	defer p.writing.Add(-1)
	select {
	case p.in <- bytes.Clone(b):
		return len(b), nil
	case <-p.shut:
		return 0, syscall.EPIPE
	}
}

func (p *simPipe) CloseWrite() error {
	p.shutting.Do(func() { close(p.shut) })
	return nil
}

func (p *simPipe) Stop() error {
	p.halting.Do(func() { close(p.stop) })
	<-p.done
	return nil
}

func (p *simPipe) Kill() error { return p.Stop() }

func (p *simPipe) Wait() error {
	<-p.done
	if p.code != 0 {
		return exitCode(p.code)
	}
	return nil
}

// exit ends the process: nothing more is read, written or taken.
func (p *simPipe) exit(code int) {
	p.code = code
	p.shutting.Do(func() { close(p.shut) })
	close(p.eof)
	close(p.done)
}

// exitCode is how a process ended.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// ExitCode is the method that the SDK looks for.
func (c exitCode) ExitCode() int { return int(c) }

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
