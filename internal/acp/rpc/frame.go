package rpc

import (
	"encoding/json"
	"errors"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// frame is one line: a request if it has a method and an id, a notification if
// it has only a method, else a response.
type frame struct {
	id       json.RawMessage // nil if there is none
	method   string
	isCall   bool // has a method
	params   json.RawMessage
	result   json.RawMessage
	failure  *schema.Error
	answered bool // has a result or an error
}

var errBatch = errors.New("batches are not part of the protocol: send one message on each line")

// parse reads a line. With an error it still returns the id, if it could be read,
// so that the sender learns which of its requests failed.
func parse(line []byte) (frame, *schema.Error) {
	var members map[string]json.RawMessage
	if err := jsonx.Unmarshal(line, &members); err != nil || members == nil {
		f := broken(line)
		switch {
		case len(line) > 0 && line[0] == '[':
			return f, failure(schema.ErrorCodeInvalidRequest, errBatch.Error())
		case err == nil || jsonx.Mismatch(err):
			return f, failure(schema.ErrorCodeInvalidRequest, "a message must be a JSON object")
		}
		return f, failure(schema.ErrorCodeParseError, "the line is not one JSON object")
	}
	f := frame{id: members["id"], params: members["params"], result: members["result"]}
	_, f.isCall = members["method"]
	_, hasID := members["id"]
	if hasID && !jsonx.ID(f.id) {
		null := string(f.id) == "null"
		f.id = nil
		if f.isCall {
			return f, failure(schema.ErrorCodeInvalidRequest, "the id of a request must be a number or a text")
		}
		if !null {
			return f, failure(schema.ErrorCodeInvalidRequest, "an id must be a number or a text")
		}
	}
	if version := jsonx.Text(members["jsonrpc"]); version != "2.0" {
		return f, failure(schema.ErrorCodeInvalidRequest, `a message must say "jsonrpc":"2.0"`)
	}
	if f.isCall {
		if f.method = jsonx.Text(members["method"]); f.method == "" {
			return f, failure(schema.ErrorCodeInvalidRequest, "the method must be a text")
		}
		return f, nil
	}
	if raw, ok := members["error"]; ok && jsonx.Present(raw) {
		f.answered, f.failure = true, new(schema.Error)
		if jsonx.Unmarshal(raw, f.failure) != nil && f.failure.Message == "" {
			f.failure.Message = "the error cannot be read"
		}
	}
	if _, ok := members["result"]; ok {
		f.answered = true
	}
	if !f.answered {
		return f, failure(schema.ErrorCodeInvalidRequest, "a message needs a method, a result or an error")
	}
	return f, nil
}

// broken finds what can be known of a line that may be malformed or cut off: its
// id, and whether it has a method.
func broken(line []byte) (f frame) {
	members, err := jsonx.Walk(line)
	for err == nil {
		var name, value []byte
		if name, value, err = members.Next(); name == nil {
			break
		}
		switch {
		case string(name) == "method":
			f.isCall = true
		case err == nil && string(name) == "id" && f.id == nil && jsonx.ID(value):
			f.id = json.RawMessage(value)
		}
	}
	return f
}

func failure(code schema.ErrorCode, text string) *schema.Error {
	return &schema.Error{Code: code, Message: text}
}

// response is the line that answers a request.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   *schema.Error   `json:"error,omitzero"`
}

// call is the line of a request or a notification.
type call struct {
	JSONRPC string `json:"jsonrpc"`
	ID      *int64 `json:"id,omitzero"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitzero"`
}
