package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Two servers on one store keep one log: anyone who reads, at either of them, sees
// the same events with the same numbers, without a gap, whichever server was
// asked to do something. When one is gone, the other finishes what was begun.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	db, root := store.Memory(), t.TempDir()
	a, b := newRigIn(t, db, root, nil), newRigIn(t, db, root, nil)
	one, two := a.as("ada", api.RoleOperator), b.as("ada", api.RoleOperator)
	own := one.begin("tool 1")
	path := "/v1/conversations/" + own.ID
	var reading sync.WaitGroup
	var seen [2][]sse
	for i, c := range []*client{one, two} {
		reading.Go(func() { seen[i] = lasting(c.follow(path+"/events?after=0", untilTurns(3))) })
	}
	asked := two.pending(1)[0]
	want[api.Approval](two, two.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	want[api.Prompt](two, two.do("POST", path+"/prompts", `{"content":"second"}`), http.StatusAccepted)
	want[api.Conversation](one, one.do("PATCH", path, `{"mode":"plan"}`), http.StatusOK)
	want[api.Prompt](one, one.do("POST", path+"/prompts", `{"content":"third"}`), http.StatusAccepted)
	reading.Wait()
	if !slices.Equal(seen[0], seen[1]) {
		t.Errorf("one server shows\n%v\nthe other\n%v", seen[0], seen[1])
	}
	for i, e := range seen[0] {
		if e.id != fmt.Sprint(i+1) {
			t.Errorf("event %d has the number %s", i+1, e.id)
		}
	}
	if n := len(a.agent.ran()) + len(b.agent.ran()); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}

	want[api.Prompt](one, one.do("POST", path+"/prompts", `{"content":"tool 4"}`), http.StatusAccepted)
	asked = one.pending(1)[0]
	a.close()
	want[api.Approval](two, two.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "deny", Digest: asked.Digest}), http.StatusOK)
	rest := lasting(two.follow(path+"/events?after=0", untilTurns(4)))
	if !slices.Equal(rest[:len(seen[0])], seen[0]) || !strings.Contains(rest[len(rest)-1].data, `"answered"`) {
		t.Errorf("the other server shows\n%v", rest)
	}
}

// A conversation that is deleted at one server ends at the other.
func TestDeletedElsewhere(t *testing.T) {
	t.Parallel()
	db, root := store.Memory(), t.TempDir()
	a := newRigIn(t, db, root, nil)
	// It runs nothing: a fleet that did would keep the conversation until it is idle.
	b := newRigFleet(t, db, root, func(o *fleet.Options) { o.MaxLive, o.Session = fleet.NoCLIs, nil }, nil)
	one, two := a.as("ada", api.RoleOperator), b.as("ada", api.RoleOperator)
	own := one.begin("hello")
	path := "/v1/conversations/" + own.ID
	one.follow(path+"/events", untilTurns(1))
	events := two.follow(path+"/events", func(e sse) bool {
		if e.event == "synced" {
			for {
				// The lease may be in use, for a moment.
				if got := one.do("DELETE", path, nil); got.status != http.StatusConflict {
					break
				}
			}
		}
		return e.event == "bye"
	})
	if last := events[len(events)-1]; !strings.Contains(last.data, "deleted") {
		t.Errorf("the last event is %v", last)
	}
	want[api.Problem](two, two.do("GET", path, nil), http.StatusNotFound)
}
