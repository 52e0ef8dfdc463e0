package api

// Problem is an error as clients see it, in the form of RFC 9457. The
// methods of serve.Service and of the client return it as an error: errors.AsType
// finds it.
type Problem struct {
	// Type is a relative address, such as /problems/not-found.
	Type   string `json:"type"`
	Title  string `json:"title"`  // the kind of problem in a few words
	Status int    `json:"status"` // the status of the answer
	// Detail explains what is wrong with this request, and what to do.
	Detail   string `json:"detail,omitzero"`
	Instance string `json:"instance,omitzero"` // the path of the request

	// Errors are the faults of a request's body.
	Errors []Fault `json:"errors,omitempty"`
	// Approval is the current state of an approval that another user has decided.
	Approval *Approval `json:"approval,omitzero"`
	// Successor is the approval to decide instead.
	Successor string `json:"successor,omitzero"`
	// Conversation is the conversation that has what was asked for.
	Conversation string `json:"conversation,omitzero"`
	// Prompt is the prompt that may have been accepted: send it again with this id.
	Prompt string `json:"prompt,omitzero"`
	// RetryAfter is after how many seconds to try again.
	RetryAfter int `json:"retry_after,omitzero"`

	// Cause is the error behind the problem. It stays in the server.
	Cause error `json:"-"`
}

// Fault is one fault of a request's body.
type Fault struct {
	// Pointer is a JSON pointer to the faulty member; empty is the whole.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"` // what is wrong with it
}

// Error describes the problem.
func (p *Problem) Error() string {
	text := "claude: serve: " + p.Title
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return text
}

// Unwrap returns the error behind the problem, if there is one.
func (p *Problem) Unwrap() error { return p.Cause }
