package api_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// A problem has the members that clients of all versions know, and none of its cause.
func TestProblemAsJSON(t *testing.T) {
	t.Parallel()
	p := api.Problem{
		Type: "/problems/x", Title: "T", Status: 409, Detail: "D", Instance: "/v1", Errors: []api.Fault{{Pointer: "/a", Detail: "F"}},
		Successor: "q2", Conversation: "c", Prompt: "p", RetryAfter: 3,
	}
	const want = `{"type":"/problems/x","title":"T","status":409,"detail":"D","instance":"/v1","errors":[{"pointer":"/a","detail":"F"}],"successor":"q2","conversation":"c","prompt":"p","retry_after":3}`
	got, err := json.Marshal(p)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	var back api.Problem
	if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("%+v, %v\nwant %+v", back, err, p)
	}
	p.Approval, p.Cause = &api.Approval{ID: "q1"}, &api.Problem{Title: "secret"}
	if got, err = json.Marshal(p); err != nil || !strings.Contains(string(got), `"approval":{"id":"q1"`) || strings.Contains(string(got), "secret") {
		t.Errorf("%s, %v", got, err)
	}
	if p.Unwrap() != p.Cause || p.Error() != "claude: serve: T: D" || (&api.Problem{Title: "T"}).Error() != "claude: serve: T" {
		t.Errorf("%v, caused by %v", &p, p.Unwrap())
	}
}
