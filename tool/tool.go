package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool made from a Go function. It is immutable: its methods return
// changed copies. The same Tool may be in several servers.
type Tool struct {
	spec  mcp.Tool
	input *schema.Schema
	call  toolFunc
	err   error // why the tool cannot be used
	// direct reports that calls need no help of the MCP SDK, because the return
	// value of the function cannot ask the client for something first.
	direct bool
}

// New returns a tool that calls f. The package documentation describes the
// types that In and Out may have. If they cannot be used, a session with this
// tool does not start, and the error gives the reason.
//
// f may be called several times at once, even by different sessions.
func New[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error)) *Tool {
	t := &Tool{spec: mcp.Tool{Name: name, Description: description}}
	out := reflect.TypeFor[Out]()
	t.direct = out.Kind() != reflect.Interface && out != reflect.TypeFor[*mcp.CallToolResult]()
	t.input, t.err = schema.ForObject(reflect.TypeFor[In]())
	switch {
	case !nameForm.MatchString(name):
		t.err = errors.New("a name has 1 to 64 letters, digits, _ and -")
	case f == nil:
		t.err = errors.New("the function is nil")
	case t.err == nil:
		t.spec.InputSchema = t.input.JSON()
	}
	t.call = func(ctx context.Context, arguments json.RawMessage) (any, error) {
		var in In
		if err := jsonx.UnmarshalExact(arguments, &in); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		return f(ctx, in)
	}
	return t
}

// nameForm is the form of a name that the model's API accepts.
var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Name returns the tool's name, without the server's name.
func (t *Tool) Name() string { return t.spec.Name }

// Schema returns the JSON Schema of the arguments, or nil if there is none.
func (t *Tool) Schema() json.RawMessage {
	if t.input == nil {
		return nil
	}
	return t.input.JSON()
}

// Err returns why the tool cannot be used; it is nil if the tool can be used.
func (t *Tool) Err() error {
	if t.err == nil {
		return nil
	}
	return fmt.Errorf("tool %q: %w", t.spec.Name, t.err)
}

// ReadOnly marks a tool that changes nothing. The CLI runs calls of such tools
// in parallel.
func (t *Tool) ReadOnly() *Tool {
	a := t.annotations()
	a.ReadOnlyHint = true
	return t.Annotate(a)
}

// Annotate sets all hints about the effects of the tool.
func (t *Tool) Annotate(a mcp.ToolAnnotations) *Tool {
	c := *t
	c.spec.Annotations = &a
	return &c
}

func (t *Tool) annotations() mcp.ToolAnnotations {
	if t.spec.Annotations == nil {
		return mcp.ToolAnnotations{}
	}
	return *t.spec.Annotations
}

// Title sets the name that people see.
func (t *Tool) Title(title string) *Tool {
	c := *t
	c.spec.Title = title
	return &c
}

// SearchHint sets words that help the model find the tool when there are so
// many tools that it must search.
func (t *Tool) SearchHint(words string) *Tool { return t.Meta("anthropic/searchHint", words) }

// AlwaysLoad shows the tool to the model from the start, without a search.
func (t *Tool) AlwaysLoad() *Tool { return t.Meta("anthropic/alwaysLoad", true) }

// MaxResultSize sets how many characters of a result the model gets directly.
// The CLI puts longer results into a file and shows their beginning.
func (t *Tool) MaxResultSize(chars int) *Tool { return t.Meta("anthropic/maxResultSizeChars", chars) }

// Meta sets an entry of the tool's metadata that has no method here.
func (t *Tool) Meta(key string, value any) *Tool {
	c := *t
	c.spec.Meta = maps.Clone(c.spec.Meta)
	if c.spec.Meta == nil {
		c.spec.Meta = make(mcp.Meta)
	}
	c.spec.Meta[key] = value
	return &c
}
