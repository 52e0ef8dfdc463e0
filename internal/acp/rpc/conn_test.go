package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// echo answers "echo" with its parameters, waits in "wait" for the end of its
// context, and panics in "panic".
type echo struct{ notified chan string }

func (e echo) Request(method string, params json.RawMessage) Work {
	return func(ctx context.Context) (any, func(), error) {
		switch method {
		case "echo":
			return params, nil, nil
		case "wait":
			<-ctx.Done()
			return nil, nil, context.Cause(ctx)
		case "panic":
			panic("as asked")
		}
		return nil, nil, failure(schema.ErrorCodeMethodNotFound, "no method "+method)
	}
}

func (e echo) Notify(method string, params json.RawMessage) {
	if e.notified != nil {
		e.notified <- method
	}
}

// dial serves one end of a pipe and returns the other.
func dial(t testing.TB, limits Limits, h Handler) (c *Conn, peer net.Conn, lines *bufio.Scanner) {
	t.Helper()
	ours, theirs := net.Pipe()
	c = New(t.Context(), ours, h, limits, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- c.Serve(context.Background()) }()
	t.Cleanup(func() {
		theirs.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	lines = bufio.NewScanner(theirs)
	lines.Buffer(nil, 1<<20)
	return c, theirs, lines
}

func next(t testing.TB, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the connection ended: %v", lines.Err())
	}
	return lines.Text()
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ name, send, want string }{
		{"number id", `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":1}}`, `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`},
		{"text id", `{"jsonrpc":"2.0","id":"x","method":"echo","params":[]}`, `{"jsonrpc":"2.0","id":"x","result":[]}`},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no method nope"}}`},
		{"garbage", `garbage`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not one JSON object"}}`},
		{"cut off", `{"jsonrpc":"2.0","id":3,"method":"ec`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32700,"message":"the line is not one JSON object"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + errBatch.Error() + `"}}`},
		{"text", `"hi"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}}`},
		{"null", `null`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}}`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of a request must be a number or a text"}}`},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of a request must be a number or a text"}}`},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"the line is not one JSON object"}}`},
		{"version", `{"jsonrpc":"1.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a message must say \"jsonrpc\":\"2.0\""}}`},
		{"method of a kind", `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the method must be a text"}}`},
		{"nothing", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a message needs a method, a result or an error"}}`},
		{"panic", `{"jsonrpc":"2.0","id":1,"method":"panic"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the agent failed unexpectedly"}}`},
		{"long", `{"jsonrpc":"2.0","id":9,"method":"echo","params":"` + strings.Repeat("x", 4096) + `"}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"the message has 4148 bytes, at most 2048 are accepted"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, peer, lines := dial(t, Limits{Line: 2048}, echo{})
			fmt.Fprintln(peer, test.send)
			if got := next(t, lines); got != test.want {
				t.Errorf("answer %s, want %s", got, test.want)
			}
			fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":99,"method":"echo","params":1}`)
			if got := next(t, lines); got != `{"jsonrpc":"2.0","id":99,"result":1}` {
				t.Errorf("afterwards %s, want an answer as usual", got)
			}
		})
	}
}

func TestCancelRequest(t *testing.T) {
	_, peer, lines := dial(t, Limits{}, echo{})
	for _, id := range []string{`5`, `"five"`} {
		fmt.Fprintf(peer, `{"jsonrpc":"2.0","id":%s,"method":"wait"}`+"\n", id)
		fmt.Fprintf(peer, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`+"\n", id)
		fmt.Fprintf(peer, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`+"\n", id)
		want := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32800,"message":"the request was cancelled"}}`
		if got := next(t, lines); got != want {
			t.Errorf("answer %s, want %s", got, want)
		}
	}
}

func TestLimitOfRequests(t *testing.T) {
	_, peer, lines := dial(t, Limits{Running: 2}, echo{})
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	if got := next(t, lines); !strings.Contains(got, "with this id is running") {
		t.Errorf("answer %s, want the id refused", got)
	}
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":2,"method":"wait"}`)
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":3,"method":"wait"}`)
	if got := next(t, lines); !strings.Contains(got, `"id":3`) || !strings.Contains(got, "2 requests are running") {
		t.Errorf("answer %s, want the third refused", got)
	}
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
	if got := next(t, lines); !strings.Contains(got, "-32800") {
		t.Errorf("answer %s, want the cancelled", got)
	}
}

func TestCall(t *testing.T) {
	c, peer, lines := dial(t, Limits{Pending: 1}, echo{})
	type outcome struct {
		got map[string]int
		err error
	}
	calls := make(chan outcome)
	call := func(ctx context.Context) {
		var o outcome
		o.err = c.Call(ctx, "ask", map[string]int{"a": 1}, &o.got)
		calls <- o
	}
	go call(t.Context())
	if got := next(t, lines); got != `{"jsonrpc":"2.0","id":1,"method":"ask","params":{"a":1}}` {
		t.Fatalf("request %s", got)
	}
	if err := c.Call(t.Context(), "ask", nil, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a second call: %v, want ErrBusy", err)
	}
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":44,"result":{}}`) // of no call
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":1,"result":{"b":2}}`)
	if o := <-calls; o.err != nil || o.got["b"] != 2 {
		t.Errorf("outcome %+v, want b 2", o)
	}

	go call(t.Context())
	next(t, lines)
	fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no","data":{"k":1}}}`)
	o := <-calls
	if e, ok := errors.AsType[*schema.Error](o.err); !ok || e.Code != -32000 || string(e.Data) != `{"k":1}` {
		t.Errorf("error %v, want that of the peer", o.err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	go call(ctx)
	next(t, lines)
	cancel()
	if got := next(t, lines); got != `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}` {
		t.Errorf("after the end of its context %s, want the call withdrawn", got)
	}
	if o := <-calls; !errors.Is(o.err, context.Canceled) {
		t.Errorf("error %v, want that of the context", o.err)
	}

	go call(t.Context())
	next(t, lines)
	peer.Close()
	if o := <-calls; !errors.Is(o.err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", o.err)
	}
	if err := c.Notify(t.Context(), "x", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Notify: %v, want ErrClosed", err)
	}
}

// TestEnd ends the connection while requests run, a peer does not read, and a
// work does not return.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		stubborn := make(chan struct{})
		c := New(t.Context(), ours, handlerFunc(func(method string) Work {
			return func(ctx context.Context) (any, func(), error) {
				if method == "stubborn" {
					<-stubborn
				}
				return "an answer that is not read", nil, nil
			}
		}), Limits{}, slog.New(slog.DiscardHandler))
		done := make(chan error, 1)
		go func() { done <- c.Serve(context.Background()) }()
		for i := range 500 { // nonsense, without reading the refusals
			if i < 60 {
				fmt.Fprintln(theirs, "garbage")
			}
		}
		fmt.Fprintln(theirs, `{"jsonrpc":"2.0","id":1,"method":"quick"}`)
		fmt.Fprintln(theirs, `{"jsonrpc":"2.0","id":2,"method":"stubborn"}`)
		synctest.Wait()
		theirs.Close()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "did not end within") {
			t.Errorf("Serve: %v, want that a request did not end", err)
		}
		close(stubborn)
	})
}

// TestMalformedAnswer fails the call that a malformed line seems to answer, and
// sends no error with its id.
func TestMalformedAnswer(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":    `{"jsonrpc":"2.0","id":1}`,
		"no version": `{"id":1,"result":{}}`,
		"twice":      `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`,
		"cut off":    `{"jsonrpc":"2.0","id":1,"result":{"outco`,
		"long":       `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 4096) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, peer, lines := dial(t, Limits{Line: 2048}, echo{})
			failed := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { failed <- c.Call(ctx, "ask", nil, nil) }()
			next(t, lines)
			fmt.Fprintln(peer, `{"id":1,"method":"ask"}`) // a request of the peer, which may have the same id
			if got := next(t, lines); !strings.Contains(got, `"id":1,"error"`) {
				t.Errorf("a malformed request was answered with %s", got)
			}
			fmt.Fprintln(peer, line)
			fmt.Fprintln(peer, `{"jsonrpc":"2.0","id":99,"method":"echo","params":1}`)
			if got := next(t, lines); got != `{"jsonrpc":"2.0","id":99,"result":1}` {
				t.Errorf("the peer got %s, want nothing but the answer to its request", got)
			}
			if err := <-failed; errors.Is(err, context.DeadlineExceeded) || err == nil {
				t.Errorf("the call ended with %v, want the fault of its answer", err)
			}
		})
	}
}

// TestBrokenOutput ends the connection when nothing can be written, although the
// input stays open.
func TestBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input, feed := io.Pipe()
		defer feed.Close()
		_, output := io.Pipe()
		output.Close()
		rw := struct {
			io.Reader
			io.Writer
			io.Closer
		}{input, output, input}
		c := New(t.Context(), rw, echo{}, Limits{}, slog.New(slog.DiscardHandler))
		done := make(chan error, 1)
		go func() { done <- c.Serve(context.Background()) }()
		fmt.Fprintln(feed, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		default:
			t.Fatal("the connection continues without an output")
		}
	})
}

// TestUnreadRefusals ends the connection of a peer that sends nonsense and reads
// nothing.
func TestUnreadRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := New(t.Context(), ours, echo{}, Limits{Running: 2}, slog.New(slog.DiscardHandler))
		done := make(chan error, 1)
		go func() { done <- c.Serve(context.Background()) }()
		for range 3 {
			fmt.Fprintln(theirs, "garbage")
		}
		start := time.Now()
		select {
		case err := <-done:
			if err != nil || time.Since(start) != notice {
				t.Errorf("Serve ended after %v with %v, want %v", time.Since(start), err, notice)
			}
		case <-time.After(time.Minute):
			t.Error("the reader waits for a peer that does not read")
			theirs.Close()
		}
	})
}

type handlerFunc func(method string) Work

func (f handlerFunc) Request(method string, _ json.RawMessage) Work { return f(method) }
func (f handlerFunc) Notify(string, json.RawMessage)                {}

// TestLastLine handles a line that lacks only its line feed.
func TestLastLine(t *testing.T) {
	notified := make(chan string, 1)
	rw := struct {
		io.Reader
		io.Writer
		io.Closer
	}{strings.NewReader(`{"jsonrpc":"2.0","method":"bye"}`), io.Discard, io.NopCloser(nil)}
	if err := New(t.Context(), rw, echo{notified}, Limits{}, slog.New(slog.DiscardHandler)).Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-notified; got != "bye" {
		t.Errorf("notified %q, want bye", got)
	}
}

// FuzzLine sends any line; the connection answers the next request.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{"", "{", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"id":1,"result":{}}`, "\xff\xfe", `{"a":{"b":[`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":7}`, `{"jsonrpc":"2.0","id":1e999,"method":"echo"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		_, peer, lines := dial(t, Limits{Line: 1 << 16}, echo{})
		go fmt.Fprintf(peer, "%s\n%s\n", line, `{"jsonrpc":"2.0","id":"last one","method":"echo","params":1}`)
		for !strings.Contains(next(t, lines), `"last one"`) {
		}
	})
}
