package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is a call of a tool, as found in the context of its function.
type call struct {
	conn    *conn // nil if the server is not used by a session
	useID   string
	request func() *mcp.CallToolRequest
}

type callKey struct{}

// callOf returns the call that ctx belongs to, or nil outside a call.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Request returns the MCP request of the call that ctx belongs to, or nil
// outside a call. Its Session is the connection with the CLI.
func Request(ctx context.Context) *mcp.CallToolRequest {
	c := callOf(ctx)
	if c == nil {
		return nil
	}
	return c.request()
}

// UseID returns the id of the call in the transcript (that of a
// message.ToolUseBlock), or "" outside a call.
func UseID(ctx context.Context) string {
	c := callOf(ctx)
	if c == nil {
		return ""
	}
	return c.useID
}

// ReportProgress tells the CLI how far the call has got: done out of total,
// which is 0 if not known. It does nothing if the CLI has not asked for
// progress.
func ReportProgress(ctx context.Context, done, total float64, message string) error {
	req := Request(ctx)
	if req == nil {
		return errors.New("tool: ReportProgress outside of a call")
	}
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: done, Total: total, Message: message,
	})
}

// handle serves a call. Every failure becomes an error of the tool, because the
// model can read that.
func (t *Tool) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := &call{request: func() *mcp.CallToolRequest { return req }}
	c.conn, _ = ctx.Value(connKey{}).(*conn)
	c.useID, _ = req.Params.Meta[useIDKey].(string)
	checked, err := encodable(t.serve(context.WithValue(ctx, callKey{}, c), req.Params.Arguments, t.callAside))
	if err != nil {
		return failed(err), nil
	}
	return checked.(*mcp.CallToolResult), nil
}

// toolFunc is the function of a tool.
type toolFunc func(ctx context.Context, arguments json.RawMessage) (any, error)

// serve checks the arguments, calls the function, and turns its return value
// into a result, without proof that it can be encoded.
func (t *Tool) serve(ctx context.Context, arguments json.RawMessage, f toolFunc) *mcp.CallToolResult {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := t.input.Validate(arguments); err != nil {
		return failed(fmt.Errorf("invalid arguments: %w", err))
	}
	out, err := f(ctx, arguments)
	if err != nil {
		return failed(err)
	}
	result, err := encode(out)
	if err != nil {
		return failed(err)
	}
	return result
}

func failed(err error) *mcp.CallToolResult {
	text := err.Error()
	if text == "" {
		text = "the tool failed without a message"
	}
	result := textResult(text)
	result.IsError = true
	return result
}

// callHere calls the function in the current goroutine, which the function can
// end.
func (t *Tool) callHere(ctx context.Context, arguments json.RawMessage) (out any, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("the tool panicked: %v", v)
			if c := callOf(ctx); c.conn != nil {
				c.conn.report(fmt.Errorf("tool %q, call %s: panic: %v\n%s", t.spec.Name, c.useID, v, debug.Stack()))
			}
		}
	}()
	return t.call(ctx, arguments)
}

var errGoexit = errors.New("the tool ended its goroutine")

// callAside calls the function in a goroutine of its own, so that a function
// that ends its goroutine does not end that of the server.
func (t *Tool) callAside(ctx context.Context, arguments json.RawMessage) (out any, err error) {
	done := make(chan struct{})
	err = errGoexit // unless it returns
	go func() {
		defer close(done)
		out, err = t.callHere(ctx, arguments)
	}()
	<-done
	return out, err
}

// recovering keeps a panic in a handler of a server from ending the process.
func recovering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				report(ctx, fmt.Errorf("%s: panic: %v\n%s", method, v, debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the server panicked: %v", v)}
			}
		}()
		if result, err = next(ctx, method, req); err != nil {
			return nil, err
		}
		if result, err = encodable(result); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		return result, nil
	}
}
