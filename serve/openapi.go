package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// The parts of an OpenAPI document that the server uses.
type (
	apiDocument struct {
		OpenAPI string                             `json:"openapi"`
		Info    apiInfo                            `json:"info"`
		Paths   map[string]map[string]apiOperation `json:"paths"`
		Parts   apiParts                           `json:"components"`
	}
	apiInfo struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	apiParts struct {
		Schemas         map[string]json.RawMessage   `json:"schemas"`
		SecuritySchemes map[string]map[string]string `json:"securitySchemes"`
	}
	apiOperation struct {
		Summary     string                `json:"summary"`
		Role        api.Role              `json:"x-role,omitzero"`
		Security    []map[string][]string `json:"security"`
		Parameters  []apiParameter        `json:"parameters,omitempty"`
		RequestBody *apiBody              `json:"requestBody,omitzero"`
		Responses   map[string]apiReply   `json:"responses"`
	}
	apiParameter struct {
		Name        string         `json:"name"`
		In          string         `json:"in"`
		Description string         `json:"description,omitzero"`
		Required    bool           `json:"required,omitzero"`
		Schema      map[string]any `json:"schema"`
	}
	apiBody struct {
		Required bool                  `json:"required"`
		Content  map[string]apiContent `json:"content"`
	}
	apiReply struct {
		Description string                `json:"description"`
		Content     map[string]apiContent `json:"content,omitempty"`
	}
	apiContent struct {
		Schema map[string]string `json:"schema"`
	}
)

// openAPI describes the routes.
func openAPI(table []route) ([]byte, error) {
	doc := apiDocument{
		OpenAPI: "3.1.0", Info: apiInfo{"claudectl serve", claude.Version},
		Paths: make(map[string]map[string]apiOperation),
		Parts: apiParts{Schemas: make(map[string]json.RawMessage), SecuritySchemes: map[string]map[string]string{
			"bearer": {"type": "http", "scheme": "bearer"},
			"cookie": {"type": "apiKey", "in": "cookie", "name": "claude-serve"},
		}},
	}
	problem, err := doc.refer(reflect.TypeFor[api.Problem]())
	if err != nil {
		return nil, err
	}
	for i := range table {
		op, err := doc.operation(&table[i], problem)
		if err != nil {
			return nil, fmt.Errorf("claude: serve: %s %s: %w", table[i].method, table[i].path, err)
		}
		path := doc.Paths[table[i].path]
		if path == nil {
			path = make(map[string]apiOperation)
			doc.Paths[table[i].path] = path
		}
		path[strings.ToLower(table[i].method)] = op
	}
	return json.MarshalIndent(&doc, "", "  ") // sorts the names, unlike jsonx
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func (d *apiDocument) operation(rt *route, problem map[string]string) (apiOperation, error) {
	op := apiOperation{Summary: rt.about, Role: rt.least, Security: []map[string][]string{}, Responses: make(map[string]apiReply)}
	if rt.least != "" {
		op.Security = []map[string][]string{{"bearer": {}}, {"cookie": {}}}
	}
	for _, found := range pathParameter.FindAllStringSubmatch(rt.path, -1) {
		op.Parameters = append(op.Parameters, apiParameter{Name: found[1], In: "path", Required: true, Schema: map[string]any{"type": "string"}})
	}
	for _, p := range rt.query {
		shape := map[string]any{"type": "string"}
		if len(p.enum) > 0 {
			shape["enum"] = p.enum
		}
		op.Parameters = append(op.Parameters, apiParameter{Name: p.name, In: "query", Description: p.about, Schema: shape})
	}
	if rt.once {
		op.Parameters = append(op.Parameters, apiParameter{
			Name: "Idempotency-Key", In: "header", Description: "repeats the answer if it was sent before", Schema: map[string]any{"type": "string"},
		})
	}
	if rt.body != nil {
		ref, err := d.refer(rt.body)
		if err != nil {
			return op, err
		}
		op.RequestBody = &apiBody{true, map[string]apiContent{"application/json": {ref}}}
	}
	good := apiReply{Description: http.StatusText(rt.status)}
	if rt.reply != nil {
		ref, err := d.refer(rt.reply)
		if err != nil {
			return op, err
		}
		kind := cmp.Or(rt.kind, "application/json")
		if rt.stream {
			kind, good.Description = "text/event-stream", "Events; the data of each is this"
		}
		good.Content = map[string]apiContent{kind: {ref}}
	}
	op.Responses[strconv.Itoa(rt.status)] = good
	for _, k := range rt.allProblems() {
		status := strconv.Itoa(k.status)
		reply := apiReply{Description: k.title, Content: map[string]apiContent{"application/problem+json": {problem}}}
		if known, ok := op.Responses[status]; ok {
			reply.Description = known.Description + "; or: " + k.title
		}
		op.Responses[status] = reply
	}
	return op, nil
}

// allProblems returns every problem that a request to the route may meet.
func (rt *route) allProblems() []problemKind {
	all := []problemKind{badRequest, unauthorized} // a wrong token is refused everywhere
	if rt.least != "" && rt.least != api.Viewer {
		all = append(all, forbidden)
	}
	if strings.Contains(rt.path, "{") {
		all = append(all, notFound)
	}
	if strings.HasPrefix(rt.path, oneConversation) {
		all = append(all, deleting)
	}
	if rt.body != nil {
		all = append(all, tooLarge, mediaType, tooSlow)
	}
	if rt.once {
		all = append(all, busyKey, keyReused)
	}
	return append(all, rt.problems...)
}

// refer adds the schema of a type to the document, with the schemas that it consists
// of, and returns a reference to it.
func (d *apiDocument) refer(t reflect.Type) (map[string]string, error) {
	name := schemaName(t)
	if _, ok := d.Parts.Schemas[name]; !ok {
		s, err := schema.For(t)
		if err != nil {
			return nil, err
		}
		if !jsonx.Valid(s.JSON()) {
			return nil, fmt.Errorf("the schema of %s is not JSON", t)
		}
		d.Parts.Schemas[name] = s.JSON()
	}
	return map[string]string{"$ref": "#/components/schemas/" + name}, nil
}

// schemaName returns the name of a type in the document: ConversationList for a list of
// conversations.
func schemaName(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		return "Any"
	}
	if list, inner, ok := strings.Cut(name, "["); ok {
		inner = strings.TrimSuffix(inner, "]")
		return inner[strings.LastIndex(inner, ".")+1:] + list
	}
	return name
}
