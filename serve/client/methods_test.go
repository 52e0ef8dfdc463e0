package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// wireCall is a method of the client, and the request that it must make. It is written
// by hand, from the table of routes of the API.
type wireCall struct {
	method, address string
	body            string // of the request, empty: none
	keyed           bool   // it has an Idempotency-Key
	reply           string
	call            func(context.Context, *client.Client) (any, error)
	want            any
}

func first[T any](all iter.Seq2[T, error]) (v T, err error) {
	for v, err := range all {
		return v, err
	}
	return v, errors.New("nothing was yielded")
}

func nothing(err error) (any, error) { return nil, err }

// item returns one of a list, or nothing if a refusal has left the list empty.
func item[T any](all []T, i int) (v T) {
	if i < len(all) {
		v = all[i]
	}
	return v
}

// id has what must be escaped in a path.
const id, idInPath = "ada~1/?#%", "ada~1%2F%3F%23%25"

var wire = map[string]wireCall{
	"Info": {method: "GET", address: "/v1/server", reply: `{"version":"v1.2.3"}`, want: "v1.2.3",
		call: func(ctx context.Context, c *client.Client) (any, error) { i, err := c.Info(ctx); return i.Version, err }},
	"Conversations": {method: "GET", address: "/v1/conversations?archived=1&cursor=c1&label=red&limit=7&owner=ada&preset=shop&q=find+me&state=idle", reply: `{"items":[{"id":"a"}]}`, want: "a",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := first(c.Conversations(ctx, api.ConversationQuery{State: api.StateIdle, Preset: "shop", Owner: "ada", Label: "red", Text: "find me", Archived: true, Limit: 7, Cursor: "c1"}))
			return v.ID, err
		}},
	"ConversationPage": {method: "GET", address: "/v1/conversations?cursor=c1&limit=7&owner=ada", reply: `{"items":[{"id":"a"}],"next":"c2"}`, want: "a c2",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.ConversationPage(ctx, api.ConversationQuery{Owner: "ada", Limit: 7, Cursor: "c1"})
			if err != nil {
				return nil, err
			}
			return item(v.Items, 0).ID + " " + v.Next, nil
		}},
	"Conversation": {method: "GET", address: "/v1/conversations/" + idInPath, reply: `{"id":"a"}`, want: "a",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Conversation(ctx, id)
			return v.ID, err
		}},
	"Create": {method: "POST", address: "/v1/conversations", body: `"preset":"shop"`, keyed: true, reply: `{"id":"a"}`, want: "a",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Create(ctx, api.NewConversation{Preset: "shop"})
			return v.ID, err
		}},
	"Change": {method: "PATCH", address: "/v1/conversations/" + idInPath, body: `"title":"new"`, reply: `{"id":"a"}`, want: "a",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			title := "new"
			v, err := c.Change(ctx, id, api.Change{Title: &title})
			return v.ID, err
		}},
	"Delete": {method: "DELETE", address: "/v1/conversations/" + idInPath,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.Delete(ctx, id)) }},
	"Messages": {method: "GET", address: "/v1/conversations/" + idInPath + "/messages?after=4&before=9&html=1&limit=2", reply: `{"items":[{"seq":5}],"next":"5"}`, want: []any{int64(5), "5"},
		call: func(ctx context.Context, c *client.Client) (any, error) {
			l, err := c.Messages(ctx, id, api.MessageQuery{Before: 9, After: 4, Limit: 2, HTML: true})
			return []any{item(l.Items, 0).Seq, l.Next}, err
		}},
	"Commands": {method: "GET", address: "/v1/conversations/" + idInPath + "/commands", reply: `{"items":[{"name":"review"},{"name":"hi"}]}`, want: "reviewhi",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Commands(ctx, id)
			return item(v, 0).Name + item(v, 1).Name, err
		}},
	"MarkRead": {method: "POST", address: "/v1/conversations/" + idInPath + "/read", body: `"seq":3`,
		call: func(ctx context.Context, c *client.Client) (any, error) {
			return nothing(c.MarkRead(ctx, id, api.ReadMark{Seq: 3}))
		}},
	"Changes": {method: "GET", address: "/v1/conversations/" + idInPath + "/changes?prompt=p1", reply: `{"files":[{"path":"main.go"}]}`, want: "main.go",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Changes(ctx, id, "p1")
			return item(v.Files, 0).Path, err
		}},
	"Patch": {method: "GET", address: "/v1/conversations/" + idInPath + "/changes.patch?prompt=p1", reply: "diff --git a b", want: "diff --git a b",
		call: func(ctx context.Context, c *client.Client) (any, error) { return c.Patch(ctx, id, "p1") }},
	"FolderPatch": {method: "GET", address: "/v1/conversations/" + idInPath + "/folder.patch", reply: "diff --git a b", want: "diff --git a b",
		call: func(ctx context.Context, c *client.Client) (any, error) { return c.FolderPatch(ctx, id) }},
	"Send": {method: "POST", address: "/v1/conversations/" + idInPath + "/prompts", body: `"hello"`, keyed: true, reply: `{"id":"p1"}`, want: "p1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Send(ctx, id, api.NewPrompt{Content: api.Text("hello")})
			return v.ID, err
		}},
	"Prompt": {method: "GET", address: "/v1/conversations/" + idInPath + "/prompts/p%2F1", reply: `{"id":"p1"}`, want: "p1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Prompt(ctx, id, "p/1")
			return v.ID, err
		}},
	"Prompts": {method: "GET", address: "/v1/conversations/" + idInPath + "/prompts", reply: `{"items":[{"id":"p1"},{"id":"p2"}]}`, want: "p1p2",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Prompts(ctx, id)
			return item(v, 0).ID + item(v, 1).ID, err
		}},
	"CancelPrompt": {method: "DELETE", address: "/v1/conversations/" + idInPath + "/prompts/p1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			return nothing(c.CancelPrompt(ctx, id, "p1"))
		}},
	"Interrupt": {method: "POST", address: "/v1/conversations/" + idInPath + "/interrupt", keyed: true,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.Interrupt(ctx, id)) }},
	"Release": {method: "POST", address: "/v1/conversations/" + idInPath + "/release", keyed: true,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.Release(ctx, id)) }},
	"Prewarm": {method: "POST", address: "/v1/conversations/" + idInPath + "/prewarm",
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.Prewarm(ctx, id)) }},
	"Retry": {method: "POST", address: "/v1/conversations/" + idInPath + "/retry", keyed: true,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.Retry(ctx, id)) }},
	"Rewind": {method: "POST", address: "/v1/conversations/" + idInPath + "/rewind", body: `"m1"`, keyed: true, reply: `{"files":["a"]}`, want: "a",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Rewind(ctx, id, api.RewindRequest{Message: "m1"})
			return item(v.Files, 0), err
		}},
	"Approvals": {method: "GET", address: "/v1/approvals?conversation=a&cursor=c1&kind=plan&limit=7&preset=shop&q=find+me&state=pending", reply: `{"items":[{"id":"q1"}]}`, want: "q1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := first(c.Approvals(ctx, api.ApprovalQuery{State: api.ApprovalPending, Conversation: "a", Kind: api.KindPlan, Preset: "shop", Text: "find me", Limit: 7, Cursor: "c1"}))
			return v.ID, err
		}},
	"Approval": {method: "GET", address: "/v1/approvals/" + idInPath, reply: `{"id":"q1"}`, want: "q1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Approval(ctx, id)
			return v.ID, err
		}},
	"Decide": {method: "POST", address: "/v1/approvals/" + idInPath + "/decision", body: `"decision":"allow"`, keyed: true, reply: `{"id":"q1"}`, want: "q1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Decide(ctx, id, api.Decision{Decision: api.DecideAllow})
			return v.ID, err
		}},
	"Usage": {method: "GET", address: "/v1/usage?by=day%2Cuser&from=2026-01-31&to=2026-02-01", reply: `{"total":{"turns":3}}`, want: 3,
		call: func(ctx context.Context, c *client.Client) (any, error) {
			late := time.FixedZone("late", -3600) // where it is still the day before
			v, err := c.Usage(ctx, api.UsageQuery{
				From: time.Date(2026, 1, 30, 23, 30, 0, 0, late), To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), By: []api.UsageGroup{api.ByDay, api.ByUser},
			})
			return v.Total.Turns, err
		}},
	"Sessions": {method: "GET", address: "/v1/sessions?preset=shop", reply: `{"items":[{"id":"s1"}]}`, want: "s1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Sessions(ctx, "shop")
			return item(v, 0).ID, err
		}},
	"Tokens": {method: "GET", address: "/v1/tokens", reply: `{"items":[{"id":"t1"}]}`, want: "t1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Tokens(ctx)
			return item(v, 0).ID, err
		}},
	"IssueToken": {method: "POST", address: "/v1/tokens", body: `"name":"ci"`, reply: `{"id":"t1"}`, want: "t1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.IssueToken(ctx, api.NewToken{Name: "ci", Role: api.RoleViewer})
			return v.ID, err
		}},
	"RevokeToken": {method: "DELETE", address: "/v1/tokens/" + idInPath,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.RevokeToken(ctx, id)) }},
	"Logins": {method: "GET", address: "/v1/logins", reply: `{"items":[{"id":"l1"}]}`, want: "l1",
		call: func(ctx context.Context, c *client.Client) (any, error) {
			v, err := c.Logins(ctx)
			return item(v, 0).ID, err
		}},
	"EndLogin": {method: "DELETE", address: "/v1/logins/" + idInPath,
		call: func(ctx context.Context, c *client.Client) (any, error) { return nothing(c.EndLogin(ctx, id)) }},
}

// Each method makes the request that the API has for it, with all its arguments, and
// returns the answer. A method that is missing in the table fails.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[*client.Client]().NumMethod() {
		if name := reflect.TypeFor[*client.Client]().Method(i).Name; wire[name].call == nil && name != "Follow" {
			t.Errorf("%s is not in the table", name)
		}
	}
	for name, w := range wire {
		t.Run(name, func(t *testing.T) {
			var asked []string
			var keys []string
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || (len(body) > 0) != (w.body != "") || !strings.Contains(string(body), w.body) {
					t.Errorf("the body is %s, %v, want %s", body, err, w.body)
				}
				if kind := r.Header.Get("Content-Type"); (kind == "application/json") != (w.body != "") || r.Header.Get("Authorization") != "Bearer "+secret {
					t.Errorf("the headers are %v", r.Header)
				}
				asked = append(asked, r.Method+" "+r.RequestURI)
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				switch {
				case name == "Patch" || name == "FolderPatch":
					out.Header().Set("Content-Type", "text/x-diff; charset=utf-8")
				case w.reply == "":
					out.WriteHeader(http.StatusNoContent)
					return
				default:
					out.Header().Set("Content-Type", "application/json")
				}
				_, _ = io.WriteString(out, w.reply)
			}))
			defer server.Close()
			c, err := client.New(client.Options{URL: server.URL, Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.call(t.Context(), c)
			if err != nil || !reflect.DeepEqual(got, w.want) {
				t.Errorf("%v, %v, want %v", got, err, w.want)
			}
			if len(asked) != 1 || asked[0] != w.method+" "+w.address {
				t.Errorf("asked for %q, want %s %s", asked, w.method, w.address)
			}
			if len(keys) != 1 || (keys[0] != "") != w.keyed {
				t.Errorf("the keys are %q", keys)
			}
		})
	}
}

// Unset parameters are not in the address: a server has its own limits.
func TestZeroQueries(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, `{}`)
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	for range c.Conversations(t.Context(), api.ConversationQuery{}) {
		t.Error("an item of an empty list")
	}
	for range c.Approvals(t.Context(), api.ApprovalQuery{}) {
		t.Error("an item of an empty list")
	}
	_, err1 := c.Messages(t.Context(), "a", api.MessageQuery{})
	_, err2 := c.Usage(t.Context(), api.UsageQuery{})
	_, err3 := c.Sessions(t.Context(), "")
	_, err4 := c.Changes(t.Context(), "a", "")
	want := "/v1/conversations /v1/approvals /v1/conversations/a/messages /v1/usage /v1/sessions /v1/conversations/a/changes"
	if got := strings.Join(asked, " "); got != want || errors.Join(err1, err2, err3, err4) != nil {
		t.Errorf("asked for %s, want %s; %v", got, want, errors.Join(err1, err2, err3, err4))
	}
}

// All pages of a list are read, each once and with the query of the first; a loop that is
// left asks for no more, and an error is the last that it yields.
func TestAllPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"": `{"items":[{"id":"a"},{"id":"b"}],"next":"n1"}`, "n1": `{"items":[],"next":"n2"}`, "n2": `{"items":[{"id":"c"}],"next":"bad"}`}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Get("cursor")+"/"+q.Get("owner"))
		page, ok := pages[q.Get("cursor")]
		if !ok {
			out.Header().Set("Content-Type", problemKind)
			out.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(out).Encode(api.Problem{Type: "/problems/bad-request", Title: "Bad", Status: 400})
			return
		}
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(out, page)
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	failed := 0
	for v, err := range c.Conversations(t.Context(), api.ConversationQuery{Owner: "ada"}) {
		if err != nil {
			if failed++; !isStatus(400)(err) || v.ID != "" {
				t.Errorf("%+v, %v", v, err)
			}
			continue
		}
		got = append(got, v.ID)
	}
	if strings.Join(got, "") != "abc" || failed != 1 || strings.Join(asked, " ") != "/ada n1/ada n2/ada bad/ada" {
		t.Errorf("%q with %d errors, asked for %q", got, failed, asked)
	}
	asked = nil
	for v := range c.Conversations(t.Context(), api.ConversationQuery{Owner: "ada"}) {
		if v.ID == "b" {
			break
		}
	}
	if len(asked) != 1 {
		t.Errorf("a loop that was left has asked for %q", asked)
	}
}

// Every loop over a list begins at its first page.
func TestPagesAgain(t *testing.T) {
	t.Parallel()
	first, last := says(http.StatusOK, "application/json", `{"items":[{"id":"a"}],"next":"n1"}`), says(http.StatusOK, "application/json", `{"items":[{"id":"b"}]}`)
	c, r := scripted(t, first, last, first, last)
	list := c.Approvals(t.Context(), api.ApprovalQuery{Limit: 1})
	for range 2 {
		for _, err := range list {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var asked []string
	for _, request := range r.asked {
		asked = append(asked, request.URL.RawQuery)
	}
	if got := strings.Join(asked, " "); got != "limit=1 cursor=n1&limit=1 limit=1 cursor=n1&limit=1" {
		t.Errorf("asked for %s", got)
	}
}

// An answer that does not come from the API, whatever it is, is an error that explains
// this.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		status           int
		kind, body, want string
		retry            string
		after            int
	}{
		"not JSON":              {status: 200, kind: "application/json", body: `<p>`, want: "not what the API says"},
		"another shape":         {status: 200, kind: "application/json", body: `{"id":7}`, want: "not what the API says"},
		"a page":                {status: 403, kind: "text/html", body: `<p>`, want: "not one of this API"},
		"an unknown status":     {status: 499, kind: "text/html", body: `<p>`, want: "Status 499"},
		"a redirect":            {status: 302, kind: "text/html", body: ``, want: "Found"},
		"another status":        {status: 404, kind: problemKind, body: `{"title":"Fine","status":403}`, want: "Not Found"},
		"a problem":             {status: 404, kind: problemKind, body: `{"type":"/problems/not-found","title":"Gone","status":404,"detail":"far"}`, want: "Gone"},
		"a problem that waits":  {status: 422, kind: problemKind, body: `{"title":"Later","status":422,"retry_after":2}`, retry: "7", after: 7, want: "Later"},
		"a problem of its kind": {status: 422, kind: problemKind + "; charset=utf-8", body: `{"title":"Later","status":422,"retry_after":9}`, retry: "7", after: 9, want: "Later"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				out.Header().Set("Content-Type", one.kind)
				if one.retry != "" {
					out.Header().Set("Retry-After", one.retry)
				}
				out.Header().Set("Location", "https://evil.example/")
				out.WriteHeader(one.status)
				_, _ = io.WriteString(out, one.body)
			}))
			defer server.Close()
			c, err := client.New(client.Options{URL: server.URL, Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Conversation(t.Context(), "a")
			if err == nil || !strings.Contains(err.Error(), one.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v, want %s", err, one.want)
			}
			p, ok := errors.AsType[*api.Problem](err)
			if ok != (one.status != 200) || ok && (p.Status != one.status || p.RetryAfter != one.after) {
				t.Errorf("the problem is %+v", p)
			}
		})
	}
}
