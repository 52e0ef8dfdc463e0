package tool

import (
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// encodable refuses a result that cannot become JSON. The MCP SDK would not
// answer at all, and the CLI would wait until the turn is interrupted; or it
// would panic in a goroutine of its own, which ends the program.
//
// So the result is encoded here once, merely as a proof. Values with encoding
// methods of the user are kept as JSON, so that their methods run once.
func encodable(result mcp.Result) (mcp.Result, error) {
	if v := reflect.ValueOf(result); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return result, nil
	}
	if err := complete(result); err != nil {
		return nil, err
	}
	if r, ok := result.(*mcp.CallToolResult); ok && r.StructuredContent != nil {
		data, err := marshal(r.StructuredContent)
		if err != nil {
			return nil, err
		}
		c := *r
		c.StructuredContent = data
		result = &c
	}
	if _, err := marshal(result); err != nil {
		return nil, err
	}
	return result, nil
}

// complete refuses nil pieces. As null they would be JSON, but of a kind that
// MCP does not know.
func complete(result mcp.Result) error {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		for i, content := range r.Content {
			if missing(content) {
				return fmt.Errorf("piece %d of the content is nil", i)
			}
		}
	case *mcp.GetPromptResult:
		for i, message := range r.Messages {
			if message == nil || missing(message.Content) {
				return fmt.Errorf("message %d of the prompt is nil or has no content", i)
			}
		}
	case *mcp.ReadResourceResult:
		for i, contents := range r.Contents {
			if contents == nil {
				return fmt.Errorf("piece %d of the resource is nil", i)
			}
		}
	}
	return nil
}

func missing(content mcp.Content) bool {
	if v := reflect.ValueOf(content); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	resource, ok := content.(*mcp.EmbeddedResource)
	return ok && resource.Resource == nil
}
