//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/wire"
)

// talkingCLI is a CLI in this process: a prompt that is a number is answered with
// so many messages.
type talkingCLI struct{}

// talkingConn is the SDK's end of one.
type talkingConn struct {
	claude.NoProcess
	io.Reader
	io.WriteCloser
	stop func()
	done chan struct{}
}

func (talkingCLI) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	fromSDK, toCLI := io.Pipe()
	fromCLI, toSDK := io.Pipe()
	c := &talkingConn{
		Reader: fromCLI, WriteCloser: toCLI, done: make(chan struct{}),
		stop: sync.OnceFunc(func() { fromSDK.Close(); toSDK.Close() }),
	}
	go func() {
		defer close(c.done)
		defer c.stop()
		talk(ndjson.NewReader(fromSDK), bufio.NewWriterSize(toSDK, 32<<10))
	}()
	return c, nil
}

func (c *talkingConn) CloseWrite() error { return c.WriteCloser.Close() }
func (c *talkingConn) Stop() error       { c.stop(); <-c.done; return nil }

func (c *talkingConn) Kill() error { return c.Stop() }
func (c *talkingConn) Wait() error { <-c.done; return nil }

// talk answers until its input ends. Failed writes are ignored.
func talk(in *ndjson.Reader, out *bufio.Writer) {
	text := strings.Repeat("A sentence of some length. ", 6)
	for {
		line, err := in.Next()
		if err != nil {
			return
		}
		f, err := wire.Parse(line)
		if err != nil {
			return
		}
		switch f.Type {
		case wire.TypeRequest:
			r, _ := f.Request()
			reply, _ := wire.EncodeSuccess(r.ID, []byte(`{"claude_code_version":"2.1.325"}`))
			fmt.Fprintf(out, "%s\n", reply)
		case "user":
			id := f.Text("uuid")
			fmt.Fprintf(out, `{"type":"system","subtype":"init","session_id":"s","user_message_uuids":[%q]}`+"\n", id)
			for i := range number(line) {
				fmt.Fprintf(out, `{"type":"assistant","n":%d,"message":{"role":"assistant","content":[{"type":"text","text":%q}]}}`+"\n", i, text)
			}
			fmt.Fprintf(out, `{"type":"result","subtype":"success","result":"done","user_message_uuids":[%q]}`+"\n", id)
		}
		if out.Flush() != nil {
			return
		}
	}
}

// number finds the number that a prompt is.
func number(line []byte) int {
	_, rest, _ := strings.Cut(string(line), `"text":"`)
	digits, _, _ := strings.Cut(rest, `"`)
	n, _ := strconv.Atoi(digits)
	return n
}
