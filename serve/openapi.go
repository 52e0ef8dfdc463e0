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
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/openapi"
)

// The parts of an OpenAPI document that the server uses.
type (
	apiDocument struct {
		OpenAPI string                             `json:"openapi"`
		Info    apiInfo                            `json:"info"`
		Servers []map[string]string                `json:"servers"`
		Paths   map[string]map[string]apiOperation `json:"paths"`
		Parts   apiParts                           `json:"components"`
	}
	apiInfo struct {
		Title       string            `json:"title"`
		Description string            `json:"description"`
		Version     string            `json:"version"`
		License     map[string]string `json:"license"`
	}
	apiParts struct {
		Schemas         openapi.Schemas              `json:"schemas"`
		SecuritySchemes map[string]map[string]string `json:"securitySchemes"`
	}
	apiOperation struct {
		ID          string                `json:"operationId"`
		Summary     string                `json:"summary"`
		Role        api.Role              `json:"x-role,omitzero"`
		Security    []map[string][]string `json:"security"`
		Parameters  []apiParameter        `json:"parameters,omitempty"`
		RequestBody *apiBody              `json:"requestBody,omitzero"`
		Responses   map[string]apiReply   `json:"responses"`
	}
	apiParameter struct {
		Name        string          `json:"name"`
		In          string          `json:"in"`
		Description string          `json:"description,omitzero"`
		Required    bool            `json:"required,omitzero"`
		Schema      *openapi.Schema `json:"schema"`
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
		Schema *openapi.Schema `json:"schema"`
	}
)

// openAPI describes the routes of a server whose cookie has a name.
func openAPI(table []route, cookie string) ([]byte, error) {
	doc := apiDocument{
		OpenAPI: "3.1.0", Info: apiInfo{
			Title: "claudectl serve", Version: claude.Version, License: map[string]string{"name": "MIT", "identifier": "MIT"},
			Description: "Conversations with Claude Code. x-role is the least role that an operation needs.",
		},
		Servers: []map[string]string{{"url": "/", "description": "The server that this document comes from"}},
		Paths:   make(map[string]map[string]apiOperation),
		Parts: apiParts{Schemas: make(openapi.Schemas), SecuritySchemes: map[string]map[string]string{
			"bearer": {"type": "http", "scheme": "bearer", "description": "A token from POST /v1/tokens or claudectl serve token"},
			"cookie": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "The cookie of a browser, from POST /v1/login"},
		}},
	}
	for i := range table { // first, because they are stricter
		if table[i].body != nil {
			if _, err := doc.Parts.Schemas.Request(table[i].body); err != nil {
				return nil, fmt.Errorf("claude: serve: %s %s: %w", table[i].method, table[i].path, err)
			}
		}
	}
	for i := range table {
		op, err := doc.operation(&table[i])
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

// pathParameters describe the parameters in paths.
func pathParameters() map[string]string {
	return map[string]string{"id": "the id of what the path names", "prompt": "the id of the prompt", "preset": "the name of the preset"}
}

func (d *apiDocument) operation(rt *route) (apiOperation, error) {
	op := apiOperation{ID: rt.id, Summary: rt.about, Role: rt.least, Security: []map[string][]string{}, Responses: make(map[string]apiReply)}
	if rt.least != "" {
		op.Security = []map[string][]string{{"bearer": {}}, {"cookie": {}}}
	}
	text := &openapi.Schema{Type: "string"}
	for _, found := range pathParameter.FindAllStringSubmatch(rt.path, -1) {
		op.Parameters = append(op.Parameters, apiParameter{Name: found[1], In: "path", Description: pathParameters()[found[1]], Required: true, Schema: text})
	}
	for _, p := range rt.query {
		shape := &openapi.Schema{Type: cmp.Or(p.shape.kind, "string"), Format: p.shape.format, Enum: p.enum}
		op.Parameters = append(op.Parameters, apiParameter{Name: p.name, In: "query", Description: p.about, Schema: shape})
	}
	if rt.once {
		op.Parameters = append(op.Parameters, apiParameter{Name: "Idempotency-Key", In: "header", Description: "repeats the answer if it was sent before", Schema: text})
	}
	if rt.body != nil {
		shape, err := d.Parts.Schemas.Request(rt.body)
		if err != nil {
			return op, err
		}
		op.RequestBody = &apiBody{true, map[string]apiContent{"application/json": {shape}}}
	}
	good, err := d.reply(rt)
	if err != nil {
		return op, err
	}
	op.Responses[strconv.Itoa(rt.status)] = good
	problem, err := d.Parts.Schemas.Reply(reflect.TypeFor[api.Problem]())
	if err != nil {
		return op, err
	}
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

// reply describes the answer of a route to a request that it grants.
func (d *apiDocument) reply(rt *route) (apiReply, error) {
	good := apiReply{Description: http.StatusText(rt.status)}
	if rt.reply == nil {
		return good, nil
	}
	shape, err := d.Parts.Schemas.Reply(rt.reply)
	if err != nil {
		return good, err
	}
	kind := cmp.Or(rt.kind, "application/json")
	if rt.stream {
		kind, good.Description = "text/event-stream", "Server-sent events; the data of each is this"
		if rt.reply == reflect.TypeFor[api.Event]() {
			types, err := openapi.Dictionary()
			if err != nil {
				return good, err
			}
			good.Description += ". The event is its type:"
			for _, v := range types["EventType"].Values {
				good.Description += "\n- " + v.Value + ": " + v.About
			}
		}
	}
	good.Content = map[string]apiContent{kind: {shape}}
	return good, nil
}

// allProblems returns every problem that a request to the route may meet.
func (rt *route) allProblems() []problemKind {
	all := []problemKind{badRequest, unauthorized} // a wrong token is refused everywhere
	if rt.least != "" && rt.least != api.RoleViewer {
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
