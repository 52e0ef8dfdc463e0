package openapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/openapi"
)

func ExampleSchemas() {
	all := make(openapi.Schemas)
	for _, t := range []reflect.Type{reflect.TypeFor[api.ReadMark](), reflect.TypeFor[api.ForkFrom]()} {
		if _, err := all.Request(t); err != nil {
			fmt.Println(err)
		}
	}
	list, err := all.Reply(reflect.TypeFor[api.List[api.LoginRequest]]())
	text, _ := json.Marshal(list)
	fmt.Println(string(text), err)
	text, _ = json.Marshal(all["ReadMark"])
	fmt.Println(string(text))
	text, _ = json.Marshal(all["LoginRequest"])
	fmt.Println(string(text))
	// Output:
	// {"$ref":"#/components/schemas/LoginRequestList"} <nil>
	// {"type":"object","description":"ReadMark marks how far a user has read a conversation.","properties":{"seq":{"type":"integer","format":"int64","description":"The number of the last event that the user has seen. Missing: all."}},"additionalProperties":false}
	// {"type":"object","description":"LoginRequest logs in.","properties":{"token":{"type":"string","description":"A one-time token, or a bearer token."}},"required":["token"]}
}
