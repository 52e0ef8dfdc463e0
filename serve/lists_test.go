package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// listRoute is a route that answers with a list, and how its items come and go.
type listRoute struct {
	// cursor is the parameter that asks for the next page, empty if the answer is whole.
	cursor string
	// path has no parameters for pages; id is that of ada's conversation.
	path func(id string) string
	// add adds an item and returns its name in the list, and drop removes one. Nil: the
	// test does not.
	add  func(r *rig, id string) (string, error)
	drop func(r *rig, id, name string) error
}

// listRoutes has every route that answers with a list, written by hand.
var listRoutes = map[string]listRoute{
	"GET /v1/conversations": {
		cursor: "cursor", path: func(string) string { return "/v1/conversations?label=made" },
		add: func(r *rig, _ string) (string, error) {
			c, err := r.server.Service().Create(r.t.Context(), operator, api.NewConversation{Preset: "shop", Labels: []string{"made"}})
			return c.ID, err
		},
		drop: func(r *rig, _, name string) error { return r.server.Service().Delete(r.t.Context(), operator, name) },
	},
	"GET /v1/approvals": {
		cursor: "cursor", path: func(string) string { return "/v1/approvals?state=pending" },
		add: func(r *rig, id string) (string, error) { return r.ask(id) },
		drop: func(r *rig, _, name string) error {
			a, err := r.server.Service().Approval(r.t.Context(), operator, name)
			if err == nil {
				_, err = r.server.Service().Decide(r.t.Context(), operator, name, api.Decision{Decision: "deny", Digest: a.Digest})
			}
			return err
		},
	},
	"GET /v1/tokens": {
		path: func(string) string { return "/v1/tokens" },
		add: func(r *rig, _ string) (string, error) {
			made, err := r.server.Service().IssueToken(r.t.Context(), root, api.NewToken{Name: "x", User: "ci", Role: api.RoleViewer})
			return made.ID, err
		},
		drop: func(r *rig, _, name string) error { return r.server.Service().RevokeToken(r.t.Context(), root, name) },
	},
	"GET /v1/logins": {
		path: func(string) string { return "/v1/logins" },
		add: func(r *rig, _ string) (string, error) {
			token, err := r.server.Service().IssueLogin(r.t.Context(), operator)
			if err != nil {
				return "", err
			}
			b := &browser{rig: r, address: "127.0.0.1"}
			b.login(token)
			name, _, _ := strings.Cut(b.cookie, ".") // what follows is its secret
			return strings.Replace(name, "_", "-", 1), nil
		},
		drop: func(r *rig, _, name string) error { return r.server.Service().EndLogin(r.t.Context(), root, name) },
	},
	"GET /v1/conversations/{id}/prompts": {
		path: func(id string) string { return "/v1/conversations/" + id + "/prompts" },
		add: func(r *rig, id string) (string, error) {
			p, err := r.server.Service().Send(r.t.Context(), operator, id, api.NewPrompt{ID: uuid.New(), Content: api.Text("hello")})
			return p.ID, err
		},
	},
	"GET /v1/conversations/{id}/messages": {path: func(id string) string { return "/v1/conversations/" + id + "/messages" }}, // TestPagesOfMessagesMeanwhile
	"GET /v1/conversations/{id}/commands": {path: func(id string) string { return "/v1/conversations/" + id + "/commands" }}, // it has no pages
	"GET /v1/sessions":                    {path: func(string) string { return "/v1/sessions" }},                             // it has no pages
}

// ask asks a question of a conversation, as its agent does, and returns its id.
func (r *rig) ask(id string) (string, error) {
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: strings.Replace(id, "~", "/", 1), Tool: "Bash", ToolUseID: "toolu_" + uuid.New(), Input: json.RawMessage(`{"command":"make"}`),
	}, store.Fence{})
	return q.ID, err
}

// names returns the names of the items of a list, and where the next page begins.
func names(t *testing.T, w *httptest.ResponseRecorder) (all []string, next string) {
	t.Helper()
	var list struct {
		Items []struct {
			ID  string
			Seq int64
		}
		Next string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK || list.Items == nil {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	for _, item := range list.Items {
		name := item.ID
		if name == "" {
			name = fmt.Sprint(item.Seq)
		}
		all = append(all, name)
	}
	return all, list.Next
}

// with adds a parameter to a path.
func with(path, name, value string) string {
	if strings.Contains(path, "?") {
		return path + "&" + name + "=" + value
	}
	return path + "?" + name + "=" + value
}

// All pages of a list together have each item once, in one order, even when all items are
// equally old, and if others come and go between two pages. A route without pages has all
// of them in one answer. A cursor or a limit that makes no sense is refused.
func TestPagesOfEveryList(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		for path, methods := range openAPIOf(t, r).Paths {
			for method, op := range methods {
				for kind, content := range op.Responses["200"].Content {
					if name := strings.ToUpper(method) + " " + path; kind == "application/json" && strings.HasSuffix(content.Schema.Ref, "List") && listRoutes[name].path == nil {
						t.Errorf("%s: the table of lists lacks it", name)
					}
				}
			}
		}
	})
	for name, l := range listRoutes {
		if l.add == nil {
			continue
		}
		inBubble(t, nil, func(t *testing.T, r *rig) {
			r.agent.hold = make(chan struct{})
			defer close(r.agent.hold)
			admin := r.as("root", api.RoleAdmin)
			own, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			first, _ := names(t, admin.directly("GET", l.path(own.ID), ""))
			var made []string
			for range 7 {
				item, err := l.add(r, own.ID)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				made = append(made, item)
				synctest.Wait()
			}
			whole, next := names(t, admin.directly("GET", l.path(own.ID), ""))
			if added := slices.DeleteFunc(slices.Clone(whole), func(item string) bool { return slices.Contains(first, item) }); next != "" || !sameItems(added, made) {
				t.Errorf("%s: %q and more %q, want %q", name, added, next, made)
			}
			checkCursors(t, name, admin, l, own.ID)
			switch {
			case l.drop == nil:
				return
			case l.cursor == "":
				if err := l.drop(r, own.ID, made[3]); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if left, _ := names(t, admin.directly("GET", l.path(own.ID), "")); len(left) != len(whole)-1 || slices.Contains(left, made[3]) {
					t.Errorf("%s: %q after one of %q has gone", name, left, made)
				}
				return
			}
			checkPages(t, name, r, l, own.ID, whole)
		})
	}
}

// checkPages reads the pages of a list while items come and go.
func checkPages(t *testing.T, name string, r *rig, l listRoute, id string, whole []string) {
	t.Helper()
	admin := r.as("root", api.RoleAdmin)
	var got []string
	cursor, pages := "", 0
	for pages < 20 {
		address := with(l.path(id), "limit", "2")
		if cursor != "" {
			address = with(address, l.cursor, cursor)
		}
		page, next := names(t, admin.directly("GET", address, ""))
		got, pages = append(got, page...), pages+1
		if cursor = next; next == "" {
			break
		}
		if pages == 1 { // the last that was seen, and one that was not, go; a new one comes
			for _, gone := range []string{whole[1], whole[4]} {
				if err := l.drop(r, id, gone); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			<-time.After(time.Millisecond)
			if _, err := l.add(r, id); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			synctest.Wait()
		}
	}
	if want := slices.Delete(slices.Clone(whole), 4, 5); !slices.Equal(got, want) || pages != 3 {
		t.Errorf("%s: %d pages have %q, want %q", name, pages, got, want)
	}
}

// checkCursors checks that wrong cursors and limits are refused.
func checkCursors(t *testing.T, name string, c *client, l listRoute, id string) {
	t.Helper()
	refused := func(parameter, value, says string) {
		t.Helper()
		w := c.directly("GET", with(l.path(id), parameter, value), "")
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusBadRequest || p.Type != "/problems/bad-request" || !strings.Contains(p.Detail, says) {
			t.Errorf("%s with %s=%s: %d %s", name, parameter, value, w.Code, w.Body)
		}
	}
	if l.cursor == "" {
		refused("cursor", "abc", `unknown parameter "cursor"`)
		return
	}
	refused("cursor", "$$$", "the cursor is not one that this server gave out")
	refused("cursor", "a", "the cursor is not one that this server gave out")
	for _, limit := range []string{"201", "-1", "x", "2.5"} {
		refused("limit", limit, "limit must be a number from 1 to 200")
	}
	if all, _ := names(t, c.directly("GET", with(l.path(id), "limit", "200"), "")); len(all) < 7 {
		t.Errorf("%s with 200: %q", name, all)
	}
}

// sameItems reports whether two lists have the same items, each once.
func sameItems(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// Messages are read in both directions, page by page, each once, while others are said.
func TestPagesOfMessagesMeanwhile(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		ada, s := r.as("ada", api.RoleOperator), r.server.Service()
		own, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text("one")})
		if err != nil {
			t.Fatal(err)
		}
		say := func(text string) {
			if _, err := s.Send(t.Context(), operator, own.ID, api.NewPrompt{Content: api.Text(text)}); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Second)
		}
		<-time.After(5 * time.Second)
		say("two")
		say("three")
		path := "/v1/conversations/" + own.ID + "/messages"
		whole, next := names(t, ada.directly("GET", path+"?limit=200", ""))
		if len(whole) < 6 || next != "" {
			t.Fatalf("%q, %q", whole, next)
		}
		read := func(direction, begin, add string) (got []string) {
			at := begin
			for pages := 1; pages < 30; pages++ {
				page, next := names(t, ada.directly("GET", with(path+"?limit=2", direction, at), ""))
				if direction == "before" {
					got = append(page, got...)
				} else {
					got = append(got, page...)
				}
				if at = next; next == "" {
					return got
				}
				if pages == 1 {
					say(add)
				}
			}
			return got
		}
		if got := read("before", "", "four"); !slices.Equal(got, whole) {
			t.Errorf("backwards: %q, want %q", got, whole)
		}
		if got := read("before", whole[3], "five"); !slices.Equal(got, whole[:3]) {
			t.Errorf("backwards from the middle: %q, want %q", got, whole[:3])
		}
		forward := read("after", whole[0], "six")
		now, _ := names(t, ada.directly("GET", path+"?limit=200", ""))
		if !slices.Equal(forward, now[1:]) || len(now) <= len(whole) {
			t.Errorf("forwards: %q, want %q", forward, now[1:])
		}
		for _, bad := range []string{"before=-1", "before=x", "after=-1", "after=1.5", "limit=201", "limit=x", "cursor=abc"} {
			if w := ada.directly("GET", path+"?"+bad, ""); w.Code != http.StatusBadRequest {
				t.Errorf("%s: %d %s", bad, w.Code, w.Body)
			}
		}
	})
}
