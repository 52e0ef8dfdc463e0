package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ID is a request id as it stands on the wire, quotes included: ids of the
// other side are opaque and echoed as given, even when they are numbers.
type ID string

// NewID returns the n-th id of our own.
func NewID(n uint64) ID { return ID(`"req_` + strconv.FormatUint(n, 10) + `"`) }

// Own returns the number of an id made by NewID, false for any other id.
func (id ID) Own() (uint64, bool) {
	digits, ok := strings.CutPrefix(id.String(), "req_")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && NewID(n) == id
}

// String returns the id for people: without the quotes.
func (id ID) String() string {
	if n := len(id); n > 2 && id[0] == '"' && id[n-1] == '"' && strings.IndexByte(string(id), '\\') < 0 {
		return string(id[1 : n-1])
	}
	if s := jsonx.Text([]byte(id)); s != "" {
		return s
	}
	return string(id)
}

// parseID returns an id, "" for what can be none.
func parseID(value []byte) ID {
	if !jsonx.ID(value) {
		return ""
	}
	return ID(value)
}

// Request is a control request of the other side.
type Request struct {
	ID      ID
	Subtype string
	Body    json.RawMessage // the request object, subtype included
}

// errTwoIDs refuses a frame if two readers could disagree about its request.
var errTwoIDs = errors.New("request_id differs from that of the frame around it")

// MissingError reports a request that lacks what it needs to be served.
type MissingError struct{ Field string }

func (e *MissingError) Error() string { return "Missing required field: " + e.Field }

// Request reads a control_request frame. With an error the ID is set if the
// frame had one, so that the request can still be answered: a [MissingError],
// or one about a member that could be read in two ways. If the subtype could be,
// and a tool call waits for the answer, there is no error: the decoder of the request
// refuses the body, and its gate answers with its failure, so that it stays closed.
func (f Frame) Request() (Request, error) {
	id, body, err := f.request()
	r := Request{ID: parseID(id)}
	switch {
	case err != nil:
		return r, err
	case r.ID == "":
		return r, &MissingError{"request_id"}
	case !jsonx.Present(body):
		return r, &MissingError{"request"}
	}
	r.Body = body
	var members [1][]byte
	err = uniqueMembers(body, []string{"subtype"}, members[:])
	r.Subtype = typeName(members[0])
	switch {
	case err != nil && r.Subtype != "can_use_tool" && r.Subtype != "hook_callback":
		return r, fmt.Errorf("request: %w", err)
	case r.Subtype == "":
		return r, &MissingError{"request.subtype"}
	}
	return r, nil
}

// request returns the id and the body of a request, which may be wrapped in
// "message".
func (f Frame) request() (id, body []byte, err error) {
	id, body = f.memberAt(f.idSpan, "request_id"), f.memberAt(f.requestSpan, "request")
	if jsonx.Present(body) {
		return id, body, nil
	}
	var wrapper [1][]byte
	if err := uniqueMembers(f.Line, []string{"message"}, wrapper[:]); err != nil {
		return id, nil, err
	}
	inner := wrapper[0]
	if !jsonx.Present(inner) {
		return id, body, nil
	}
	var members [2][]byte
	if err := uniqueMembers(inner, []string{"request_id", "request"}, members[:]); err != nil {
		return id, nil, fmt.Errorf("message: %w", err)
	}
	if parseID(members[0]) == "" {
		return id, members[1], nil
	}
	if outer := parseID(id); outer != "" && outer != parseID(members[0]) {
		return nil, nil, fmt.Errorf("message: %w", errTwoIDs)
	}
	return members[0], members[1], nil
}

// UntypedID returns the id of a line that has one but no type, "" for all others
// and for an evident reply. Messages have a type, so the line was meant as a
// request, and its writer may wait for an answer.
func (f Frame) UntypedID() ID {
	if f.Type != "" || jsonx.Present(f.memberAt(f.responseSpan, "response")) {
		return ""
	}
	return f.CancelID()
}

// Response is a reply to a control request.
type Response struct {
	ID      ID
	Payload json.RawMessage // nil when the reply carries none
	Err     *ReplyError     // set when the reply is an error
	Body    json.RawMessage // the response object: siblings of the payload live here
}

// ReplyError is the content of an error reply.
type ReplyError struct {
	Message string
	Code    string // error_code, if the peer sends one
}

func (e *ReplyError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Message + " (" + e.Code + ")"
}

// Response reads a control_response frame.
func (f Frame) Response() (Response, error) {
	body := f.memberAt(f.responseSpan, "response")
	if !jsonx.Present(body) {
		return Response{}, &MissingError{"response"}
	}
	var members [5][]byte
	if err := uniqueMembers(body, []string{"request_id", "subtype", "response", "error", "error_code"}, members[:]); err != nil {
		return Response{Body: body}, fmt.Errorf("response: %w", err)
	}
	id, subtype, payload, what, code := members[0], members[1], members[2], members[3], members[4]
	r := Response{Body: body, ID: parseID(id)}
	switch outer := parseID(f.memberAt(f.idSpan, "request_id")); {
	case r.ID == "":
		r.ID = outer
	case outer != "" && outer != r.ID:
		return Response{Body: body}, fmt.Errorf("response: %w", errTwoIDs)
	}
	if r.ID == "" {
		return r, &MissingError{"response.request_id"}
	}
	if jsonx.Text(subtype) != "error" {
		if jsonx.Present(payload) {
			r.Payload = payload
		}
		return r, nil
	}
	r.Err = &ReplyError{Message: jsonx.Text(what), Code: jsonx.Text(code)}
	if r.Err.Message == "" {
		r.Err.Message = string(what)
	}
	if r.Err.Message == "" {
		r.Err.Message = "error without a message"
	}
	return r, nil
}

// CancelID returns the id a control_cancel_request names, "" if it has none.
func (f Frame) CancelID() ID { return parseID(f.memberAt(f.idSpan, "request_id")) }

// EncodeRequest returns the line of a request. The payload is an object
// without subtype, or nil.
func EncodeRequest(id ID, subtype string, payload any) ([]byte, error) {
	body, err := marshalObject(payload)
	if err != nil {
		return nil, fmt.Errorf("encode %s request: %w", subtype, err)
	}
	name, err := jsonx.Marshal(subtype)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	line := make([]byte, 0, len(body)+len(id)+96)
	line = append(line, `{"type":"control_request","request_id":`...)
	line = append(line, id...)
	line = append(line, `,"request":{"subtype":`...)
	line = append(line, name...)
	if rest := body[1:]; len(rest) > 1 {
		line = append(line, ',')
		line = append(line, rest...)
	} else {
		line = append(line, '}')
	}
	return append(line, '}'), nil
}

// EncodeSuccess returns the line of a success reply; a nil payload is left out.
func EncodeSuccess(id ID, payload json.RawMessage) ([]byte, error) {
	payload, err := jsonx.Line(payload)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	line := make([]byte, 0, len(payload)+len(id)+96)
	line = append(line, `{"type":"control_response","response":{"subtype":"success","request_id":`...)
	line = append(line, id...)
	if len(payload) > 0 {
		line = append(line, `,"response":`...)
		line = append(line, payload...)
	}
	return append(line, '}', '}'), nil
}

// EncodeError returns the line of an error reply.
func EncodeError(id ID, e *ReplyError) []byte {
	type body struct {
		Subtype string          `json:"subtype"`
		ID      json.RawMessage `json:"request_id"`
		Error   string          `json:"error"`
		Code    string          `json:"error_code,omitzero"`
	}
	line, err := jsonx.Marshal(struct {
		Type     string `json:"type"`
		Response body   `json:"response"`
	}{TypeResponse, body{"error", json.RawMessage(id), e.Message, e.Code}})
	if err != nil {
		panic("wire: an error reply always encodes: " + err.Error())
	}
	return line
}

// EncodeCancel returns the line that tells the peer a request is given up.
func EncodeCancel(id ID) []byte {
	return []byte(`{"type":"control_cancel_request","request_id":` + string(id) + `}`)
}

// marshalObject encodes a payload and makes sure that it is an object on one line.
func marshalObject(payload any) ([]byte, error) {
	if payload == nil {
		return []byte("{}"), nil
	}
	body, err := jsonx.Marshal(payload)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 || body[0] != '{' {
		return nil, jsonx.ErrNotObject
	}
	return body, nil
}
