package serve_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Invalid input is refused with a problem that explains what to do.
func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleAdmin)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	at, decision := "/v1/conversations/"+own.ID, "/v1/approvals/"+asked.ID+"/decision"
	outside := t.TempDir()
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		kind, says               string
	}{
		{"not JSON", "POST", "/v1/conversations", `{"preset":`, 400, "bad-request", "not JSON"},
		{"nothing", "POST", "/v1/conversations", ` `, 400, "bad-request", "not JSON"},
		{"a list", "POST", "/v1/conversations", `[]`, 400, "bad-request", "object"},
		{"a name twice", "POST", "/v1/conversations", `{"preset":"shop","preset":"x"}`, 400, "bad-request", "twice"},
		{"an unknown member", "POST", "/v1/conversations", `{"preset":"shop","options":{"args":[]}}`, 400, "bad-request", "options"},
		{"another case", "POST", "/v1/conversations", `{"Preset":"shop"}`, 400, "bad-request", "Preset"},
		{"a wrong type", "POST", "/v1/conversations", `{"preset":7}`, 400, "bad-request", "preset"},
		{"no preset", "POST", "/v1/conversations", `{}`, 400, "bad-request", "preset"},
		{"unknown preset", "POST", "/v1/conversations", `{"preset":"other"}`, 422, "unknown-preset", "shop"},
		{"outside", "POST", "/v1/conversations", `{"preset":"shop","dir":"` + filepath.ToSlash(outside) + `"}`, 422, "outside", "below"},
		{"above", "POST", "/v1/conversations", `{"preset":"shop","dir":"` + filepath.ToSlash(filepath.Dir(own.Dir)) + `"}`, 422, "outside", "below"},
		{"a relative directory", "POST", "/v1/conversations", `{"preset":"shop","dir":"x"}`, 422, "outside", "below"},
		{"not a directory", "POST", "/v1/conversations", `{"preset":"shop","dir":"` + filepath.ToSlash(own.Dir) + `/none"}`, 422, "outside", "below"},
		{"a mode", "POST", "/v1/conversations", `{"preset":"shop","mode":"bypassPermissions"}`, 422, "mode-not-allowed", "plan"},
		{"a model", "POST", "/v1/conversations", `{"preset":"shop","model":"opus"}`, 422, "model-not-allowed", "sonnet"},
		{"a long title", "POST", "/v1/conversations", `{"preset":"shop","title":"` + strings.Repeat("x", 201) + `"}`, 400, "bad-request", "200"},
		{"an empty label", "POST", "/v1/conversations", `{"preset":"shop","labels":[""]}`, 400, "bad-request", "label"},
		{"first prompt by another name", "POST", "/v1/conversations", `{"preset":"shop","prompt":"hi"}`, 400, "bad-request", "prompt"},
		{"empty first prompt", "POST", "/v1/conversations", `{"preset":"shop","content":""}`, 400, "bad-request", "content"},
		{"first prompt with a tool result", "POST", "/v1/conversations", `{"preset":"shop","content":[{"type":"tool_result","tool_use_id":"x"}]}`, 400, "bad-request", "neither"},
		{"no content", "POST", at + "/prompts", `{}`, 400, "bad-request", "content"},
		{"empty content", "POST", at + "/prompts", `{"content":""}`, 400, "bad-request", "content"},
		{"blank content", "POST", at + "/prompts", `{"content":"  "}`, 400, "bad-request", "empty"},
		{"a tool result", "POST", at + "/prompts", `{"content":[{"type":"tool_result","tool_use_id":"x"}]}`, 400, "bad-request", "neither"},
		{"not a UUID", "POST", at + "/prompts", `{"id":"x","content":"hi"}`, 400, "bad-request", "UUID"},
		{"another delivery", "POST", at + "/prompts", `{"content":"hi","delivery":"now"}`, 400, "bad-request", "delivery"},
		{"too large", "POST", at + "/prompts", `{"content":"` + strings.Repeat("x", 20<<20) + `"}`, 413, "too-large", "20971520"},
		{"too large a decision", "POST", decision, `{"decision":"allow","digest":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too-large", "1048576"},
		{"an empty title", "PATCH", at, `{"title":" "}`, 400, "bad-request", "title"},
		{"a mode later", "PATCH", at, `{"mode":"bypassPermissions"}`, 422, "mode-not-allowed", "plan"},
		{"a wrong digest", "POST", decision, `{"decision":"allow","digest":"0"}`, 409, "changed", "again"},
		{"no digest", "POST", decision, `{"decision":"allow"}`, 400, "bad-request", "digest"},
		{"no decision", "POST", decision, `{"digest":"` + asked.Digest + `"}`, 400, "bad-request", "decision"},
		{"maybe", "POST", decision, `{"decision":"maybe","digest":"` + asked.Digest + `"}`, 400, "bad-request", "decision"},
		{"an answer to a tool", "POST", decision, `{"decision":"answer","digest":"` + asked.Digest + `"}`, 400, "bad-request", "allow or deny"},
		{"no such suggestion", "POST", decision, `{"decision":"allow","digest":"` + asked.Digest + `","remember":[99]}`, 400, "bad-request", "suggestion"},
		{"an input that is a list", "POST", decision, `{"decision":"allow","digest":"` + asked.Digest + `","input":[]}`, 400, "bad-request", "object"},
		{"an unknown approval", "POST", "/v1/approvals/x/decision", `{"decision":"allow","digest":"0"}`, 404, "not-found", "id"},
		{"an unknown prompt", "DELETE", at + "/prompts/00000000-0000-4000-8000-000000000000", "", 404, "not-found", "id"},
		{"an odd id", "GET", "/v1/conversations/..%2f..%2fetc", "", 404, "not-found", "id"},
		{"an odd cursor", "GET", "/v1/conversations?cursor=%25", "", 400, "bad-request", "cursor"},
		{"a large limit", "GET", "/v1/conversations?limit=201", "", 400, "bad-request", "200"},
		{"a negative limit", "GET", "/v1/approvals?limit=-1", "", 400, "bad-request", "limit"},
		{"an odd state", "GET", "/v1/approvals?state=open", "", 400, "bad-request", "pending"},
		{"an unknown parameter", "GET", "/v1/conversations?stat=idle", "", 400, "bad-request", "stat"},
		{"an odd day", "GET", "/v1/usage?from=today", "", 400, "bad-request", "2006-01-02"},
		{"an odd group", "GET", "/v1/usage?by=mood", "", 400, "bad-request", "preset"},
		{"an odd number", "GET", at + "/messages?before=x", "", 400, "bad-request", "before"},
		{"an odd role", "POST", "/v1/tokens", `{"name":"x","role":"king"}`, 400, "bad-request", "role"},
		{"an unknown path", "GET", "/v1/nothing", "", 404, "not-found", "openapi"},
		{"another method", "PUT", "/v1/conversations", "", 405, "method-not-allowed", "GET or POST"},
		{"no page", "GET", "/", "", 404, "not-found", "openapi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body any
			if c.body != "" {
				body = c.body
			}
			got := ada.do(c.method, c.path, body)
			if got.status != c.status || got.header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("status %d, want %d: %s", got.status, c.status, got.body)
			}
			p := want[api.Problem](ada, got, c.status)
			if p.Type != "/problems/"+c.kind || p.Status != c.status || p.Title == "" || !strings.Contains(string(got.body), c.says) {
				t.Errorf("%s, want %s with %q", got.body, c.kind, c.says)
			}
			if about := ada.do("GET", p.Type, nil); about.status != http.StatusOK {
				t.Errorf("%s is not explained", p.Type)
			}
		})
	}
	if ran := r.agent.ran(); len(ran) > 0 {
		t.Errorf("a tool ran: %q", ran)
	}
	if state := get[api.Approval](ada, "/v1/approvals/"+asked.ID).State; state != api.ApprovalPending {
		t.Errorf("the approval is %s", state)
	}
}

// A decision about an approval that is gone gets the reason, and what to do. An
// approval that was not decided in time is expired, not denied.
func TestGoneApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lifetime time.Duration
		state    api.ApprovalState
		says     string
	}{
		"interrupted": {0, api.ApprovalWithdrawn, "withdrawn"},
		"too late":    {time.Millisecond, api.ApprovalExpired, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigGated(t, store.Memory(), t.TempDir(), &approval.Options{Patience: time.Hour, Lifetime: c.lifetime}, nil)
			ada := r.as("ada", api.RoleOperator)
			own := ada.begin("tool 1")
			var asked api.Approval
			for asked.ID == "" {
				if list := get[api.List[api.Approval]](ada, "/v1/approvals"); len(list.Items) > 0 {
					asked = list.Items[0]
				}
			}
			if c.lifetime == 0 {
				if got := ada.do("POST", "/v1/conversations/"+own.ID+"/interrupt", nil); got.status != http.StatusAccepted {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
			}
			ada.follow("/v1/conversations/"+own.ID+"/events", func(e sse) bool {
				return e.event == "approval" && strings.Contains(e.data, `"state":"`+string(c.state)+`"`)
			})
			p := want[api.Problem](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusGone)
			if p.Type != "/problems/gone" || !strings.Contains(p.Title+p.Detail, c.says) {
				t.Errorf("%+v", p)
			}
			if now := get[api.Approval](ada, "/v1/approvals/"+asked.ID); now.State != c.state || now.MayDecide {
				t.Errorf("%+v", now)
			}
			if ran := r.agent.ran(); len(ran) != 0 {
				t.Errorf("ran %q", ran)
			}
		})
	}
}

// A link out of the roots does not lead out of them.
func TestLinkOutOfTheRoots(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	root := get[api.ServerInfo](ada, "/v1/server").Presets[0].Roots[0]
	inside := filepath.Join(root, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(root, "out")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Dir: inside}), http.StatusCreated)
	want[api.Problem](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Dir: filepath.Join(root, "out")}), http.StatusUnprocessableEntity)
}

// A request that is repeated with its key does nothing and gets the same answer,
// for each user on their own.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada, bob := r.as("ada", api.RoleOperator), r.as("bob", api.RoleOperator)
	body := api.NewConversation{Preset: "shop", Content: api.Text("hello")}
	first := ada.do("POST", "/v1/conversations", body, "Idempotency-Key", "k1")
	again := ada.do("POST", "/v1/conversations", body, "Idempotency-Key", "k1")
	if first.status != http.StatusCreated || again.status != http.StatusCreated || string(first.body) != string(again.body) ||
		again.header.Get("Location") != first.header.Get("Location") || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
	}
	if other := bob.do("POST", "/v1/conversations", body, "Idempotency-Key", "k1"); string(other.body) == string(first.body) {
		t.Error("two users share an answer")
	}
	if reused := ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}, "Idempotency-Key", "k1"); reused.status != http.StatusUnprocessableEntity {
		t.Errorf("the key for another request: %d %s", reused.status, reused.body)
	}
	id := want[api.Conversation](ada, first, http.StatusCreated).ID
	one := want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+id+"/prompts", `{"content":"more"}`, "Idempotency-Key", "k2"), http.StatusAccepted)
	two := want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+id+"/prompts", `{"content":"more"}`, "Idempotency-Key", "k2"), http.StatusAccepted)
	if one.ID != two.ID {
		t.Errorf("prompts %s and %s", one.ID, two.ID)
	}
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 1 {
		t.Errorf("%d conversations", len(list.Items))
	}
	turns := ada.follow("/v1/conversations/"+id+"/events", untilTurns(2))
	prompts := 0
	for _, e := range turns {
		if e.event == "prompt" && strings.Contains(e.data, `"queued"`) {
			prompts++
		}
	}
	if prompts != 2 {
		t.Errorf("%d prompts were accepted", prompts)
	}
}

// A change names the version that it is based on; of two concurrent changes, one is
// refused.
func TestETag(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("hello")
	at := "/v1/conversations/" + own.ID
	tag := ada.do("GET", at, nil).header.Get("ETag")
	first := ada.do("PATCH", at, `{"title":"One","labels":["a"],"mode":"plan","model":"sonnet"}`, "If-Match", tag)
	changed := want[api.Conversation](ada, first, http.StatusOK)
	if changed.Title != "One" || changed.Mode != "plan" || changed.Model != "sonnet" || len(changed.Labels) != 1 || first.header.Get("ETag") == tag {
		t.Errorf("%+v", changed)
	}
	p := want[api.Problem](ada, ada.do("PATCH", at, `{"title":"Two"}`, "If-Match", tag), http.StatusPreconditionFailed)
	if p.Type != "/problems/precondition" {
		t.Errorf("%+v", p)
	}
	ada.turnsOf(own.ID, 1)
	tag = first.header.Get("ETag")
	for _, change := range []string{`{"mode":""}`, `{"model":""}`, `{"labels":["a","b"]}`, `{"shared":true}`, `{"title":"Three"}`, `{"title":"One"}`} {
		next := ada.do("PATCH", at, change, "If-Match", tag)
		want[api.Conversation](ada, next, http.StatusOK)
		if next.header.Get("ETag") == tag {
			t.Errorf("%s leaves the tag as it was", change)
		}
		tag = next.header.Get("ETag")
	}
	want[api.Conversation](ada, ada.do("PATCH", at, `{"archived":true}`), http.StatusOK)
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations"); len(list.Items) != 0 {
		t.Errorf("an archived conversation is listed")
	}
	if list := get[api.List[api.Conversation]](ada, "/v1/conversations?archived=1&label=a&q=ON"); len(list.Items) != 1 || list.Items[0].Title != "One" {
		t.Errorf("%+v", list)
	}
}

// overtaking is a store in which another request comes first, once, when the record of a
// conversation is written.
type overtaking struct {
	store.Fleet
	first atomic.Pointer[func()]
}

func (o *overtaking) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Key.Kind == "serve-conversation" {
		if first := o.first.Swap(nil); first != nil {
			(*first)()
		}
	}
	return o.Fleet.Change(ctx, f, c...)
}

// Of two changes that were both compared with the same version before either was written,
// the second is refused, and changes nothing.
func TestETagOvertaken(t *testing.T) {
	t.Parallel()
	db := &overtaking{Fleet: store.Memory()}
	r := newRig(t, db, nil)
	ada, bob := r.as("ada", api.RoleOperator), r.as("bob", api.RoleAdmin)
	own := ada.begin("hello")
	ada.turnsOf(own.ID, 1)
	at := "/v1/conversations/" + own.ID
	tag := ada.do("GET", at, nil).header.Get("ETag")
	theirs := bob.do("GET", at, nil).header.Get("ETag")
	between := func() {
		want[api.Conversation](bob, bob.do("PATCH", at, `{"title":"Two"}`, "If-Match", theirs), http.StatusOK)
	}
	db.first.Store(&between)
	want[api.Problem](ada, ada.do("PATCH", at, `{"title":"One"}`, "If-Match", tag), http.StatusPreconditionFailed)
	if db.first.Load() != nil {
		t.Error("nobody came first")
	}
	if now := get[api.Conversation](ada, at); now.Title != "Two" {
		t.Errorf("the title is %q", now.Title)
	}
}

// Pages of a list have every item once.
func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	made := make(map[string]bool)
	for range 7 {
		c := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}), http.StatusCreated)
		made[c.ID] = true
	}
	cursor, pages := "", 0
	for {
		list := get[api.List[api.Conversation]](ada, "/v1/conversations?limit=3&cursor="+cursor)
		pages++
		for _, c := range list.Items {
			if !made[c.ID] {
				t.Errorf("%s comes twice", c.ID)
			}
			delete(made, c.ID)
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if len(made) > 0 || pages != 3 {
		t.Errorf("%d are missing after %d pages", len(made), pages)
	}
}
