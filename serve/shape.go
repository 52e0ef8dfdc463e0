package serve

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/claude-agent-go/claude/internal/schema"
)

// bodyShapes returns the schemas of the bodies of all routes, by type. They are made
// once in a program, because that takes most of the time in which a server starts.
var bodyShapes = sync.OnceValues(func() (map[reflect.Type]*schema.Schema, error) {
	shapes := make(map[reflect.Type]*schema.Schema)
	for _, rt := range routes() {
		if rt.body == nil || shapes[rt.body] != nil {
			continue
		}
		shape, err := schema.For(rt.body)
		if err != nil {
			return nil, fmt.Errorf("claude: serve: %s %s: %w", rt.method, rt.path, err)
		}
		shapes[rt.body] = shape
	}
	return shapes, nil
})
