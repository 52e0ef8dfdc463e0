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

type requestKey struct{}

// Request returns the MCP request of the call that ctx belongs to, or nil
// outside a call. Its Session is the connection with the CLI.
func Request(ctx context.Context) *mcp.CallToolRequest {
	req, _ := ctx.Value(requestKey{}).(*mcp.CallToolRequest)
	return req
}

// UseID returns the id of the call in the transcript (that of a
// message.ToolUseBlock), or "" outside a call.
func UseID(ctx context.Context) string {
	req := Request(ctx)
	if req == nil {
		return ""
	}
	id, _ := req.Params.Meta[useIDKey].(string)
	return id
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

// handle serves a call. Whatever goes wrong is an error of the tool, because
// the model can read that.
func (t *Tool) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	checked, err := encodable(t.serve(ctx, req))
	if err != nil {
		return failed(err), nil
	}
	return checked.(*mcp.CallToolResult), nil
}

// serve is handle without the proof that the result can be encoded.
func (t *Tool) serve(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
	arguments := req.Params.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := t.input.Validate(arguments); err != nil {
		return failed(fmt.Errorf("invalid arguments: %w", err))
	}
	out, err := t.run(context.WithValue(ctx, requestKey{}, req), arguments)
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
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// outcome is what happened to a function.
type outcome struct {
	out any
	err error
}

// run calls the function in a goroutine of its own, so that one that ends its
// goroutine does not end that of the server.
func (t *Tool) run(ctx context.Context, arguments json.RawMessage) (any, error) {
	done := make(chan outcome, 1)
	go func() {
		growStack(0)
		o := outcome{err: errors.New("the tool ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				o = outcome{err: fmt.Errorf("the tool panicked: %v", v)}
				report(ctx, fmt.Errorf("tool %q, call %s: panic: %v\n%s", t.spec.Name, UseID(ctx), v, debug.Stack()))
			}
			done <- o
		}()
		o.out, o.err = t.call(ctx, arguments)
	}()
	o := <-done
	return o.out, o.err
}

// growStack grows the stack of a new goroutine at once, and not step by step in the
// depth of a decoder. That saves an eighth of a call.
//
//go:noinline
func growStack(i int) byte {
	var room [10 << 10]byte
	return room[i]
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
