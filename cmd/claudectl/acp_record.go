package main

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// recording starts CLIs, each with a recording of its own.
type recording struct {
	name string
	next claude.Transport // nil: a child process
}

// Start creates the file and starts the CLI.
func (r recording) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	file, err := createNew(r.name)
	if err != nil {
		return nil, err
	}
	conn, err := claudetest.Record(r.next, file, nil).Start(ctx, launch)
	if err != nil {
		file.Close()
		return nil, err
	}
	c := &recordedConn{Conn: conn}
	c.open.Add(2)
	c.read = sync.OnceFunc(c.open.Done)
	c.waited = sync.OnceFunc(c.open.Done)
	go func() {
		c.open.Wait()
		file.Close()
	}()
	return c, nil
}

// recordedConn closes its recording when the CLI has ended and all it wrote is
// read, in whichever order: both write to the recording.
type recordedConn struct {
	claude.Conn
	open         sync.WaitGroup
	read, waited func()
}

// Read notes the end of the output.
func (c *recordedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.read()
	}
	return n, err
}

// Wait notes the end of the CLI.
func (c *recordedConn) Wait() error {
	err := c.Conn.Wait()
	c.waited()
	return err
}
