package message_test

import (
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/message"
)

func ExampleDecode() {
	for _, line := range []string{
		`{"type":"assistant","message":{"content":[{"type":"text","text":"2 + 2 = 4"}]}}`,
		`{"type":"system","subtype":"brand_new","answer":42}`,
		`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"2 + 2 = 4"}`,
	} {
		msg, err := message.Decode([]byte(line))
		if err != nil {
			fmt.Println(err)
		}
		switch m := msg.(type) {
		case *message.Assistant:
			fmt.Println("assistant:", m.Text())
		case *message.System:
			fmt.Println("system:", m.Subtype)
		case *message.Result:
			fmt.Println("failed:", m.Failed(), "turns:", m.NumTurns)
		}
	}
	// Output:
	// assistant: 2 + 2 = 4
	// system: brand_new
	// failed: false turns: 1
}

func ExampleNewUser() {
	m := message.NewUser(message.Text("What is this?"), message.Image("image/png", []byte("png")))
	b, err := json.Marshal(m)
	fmt.Println(string(b), err)
	// Output:
	// {"type":"user","message":{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]},"parent_tool_use_id":null,"session_id":""} <nil>
}
