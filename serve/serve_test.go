package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// agent is a scripted CLI. A prompt "tool N" calls Bash first, "ask" asks a
// question, "plan N" ends the planning, and every other one is answered with its text.
type agent struct {
	*claudetest.CLI
	mu    sync.Mutex
	tools []string
	edit  host.RunFunc // what Edit does
	// hold, if it is not nil, keeps the model from answering until it is closed.
	hold chan struct{}
}

func newAgent() *agent {
	a := new(agent)
	a.CLI = claudetest.NewCLI(&claudetest.Script{
		Model: a.reply,
		Tools: map[string]host.RunFunc{"Bash": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.tools = append(a.tools, string(input))
			return host.TextOutput("built"), nil
		}, "Edit": func(ctx context.Context, input json.RawMessage) (host.ToolOutput, error) { return a.edit(ctx, input) }},
	})
	return a
}

func (a *agent) ran() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.tools...)
}

func (a *agent) reply(c *claudetest.ModelCall) claudetest.Reply {
	a.mu.Lock()
	hold := a.hold
	a.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-c.Context().Done():
		}
	}
	n := len(c.ToolResults)
	if n > 0 && c.ToolResults[n-1].ToolUseID == "toolu_todo" {
		inner := claudetest.ScriptedCall{ID: "toolu_inner", Name: "Bash", Input: json.RawMessage(`{"command":"make inner"}`)}
		return claudetest.DelegateAndWait("Explore", "Look at it", claudetest.UseTools(inner), claudetest.Say("Looks good."))
	}
	if n > 0 && c.Prompt == "fill another" {
		return claudetest.Say("Done.").Usage(claudetest.ReplyUsage{InputTokens: 40_000, OutputTokens: 1})
	}
	if n > 0 {
		return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
	}
	if name, ok := strings.CutPrefix(c.Prompt, "tool "); ok {
		call := claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + name, Name: "Bash", Input: json.RawMessage(`{"command":"make ` + name + `"}`)})
		if name == "fuller" {
			return call.Usage(claudetest.ReplyUsage{InputTokens: 120_000, OutputTokens: 1})
		}
		return call
	}
	if name, ok := strings.CutPrefix(c.Prompt, "plan "); ok {
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + name, Name: "ExitPlanMode", Input: json.RawMessage(`{}`)})
	}
	if path, ok := strings.CutPrefix(c.Prompt, "write "); ok {
		input, _ := json.Marshal(map[string]string{"file_path": path})
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + filepath.Base(path), Name: "Edit", Input: json.RawMessage(input)})
	}
	if names, ok := strings.CutPrefix(c.Prompt, "edit "); ok {
		var calls []claudetest.ScriptedCall
		for name := range strings.FieldsSeq(names) {
			calls = append(calls, claudetest.ScriptedCall{ID: "toolu_" + name, Name: "Edit", Input: json.RawMessage(`{"name":"` + name + `"}`)})
		}
		return claudetest.UseTools(calls...)
	}
	if tokens, err := strconv.Atoi(strings.TrimPrefix(c.Prompt, "fill ")); err == nil {
		return claudetest.Say("Read.").Usage(claudetest.ReplyUsage{InputTokens: 1, CacheCreationInputTokens: 2, CacheReadInputTokens: tokens - 3, OutputTokens: 5000})
	}
	switch c.Prompt {
	case "fill another":
		huge := claudetest.Say("Read it all.").Usage(claudetest.ReplyUsage{InputTokens: 190_000, OutputTokens: 1})
		return claudetest.DelegateAndWait("Explore", "Read it", huge).Usage(claudetest.ReplyUsage{InputTokens: 39_000, OutputTokens: 1})
	case "both":
		return claudetest.UseTools(
			claudetest.ScriptedCall{ID: "toolu_make", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
			claudetest.ScriptedCall{ID: "toolu_rm", Name: "Bash", Input: json.RawMessage(`{"command":"rm -r build"}`)})
	case "ask":
		return claudetest.UseTool("AskUserQuestion", json.RawMessage(
			`{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Blue","description":""},{"label":"Red","description":""}]}]}`))
	case "delegate":
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_todo", Name: "TodoWrite", Input: json.RawMessage(`{"todos":[{"content":"Look at it","status":"in_progress","activeForm":"Looking at it"}]}`)})
	case "city":
		return claudetest.Answer(map[string]any{"name": "Oslo"})
	case "think":
		return claudetest.Think("Let me see.", "Thought.")
	case "fail":
		return claudetest.Fail(529, "overloaded_error", "overloaded")
	}
	answer := claudetest.Say("You said: " + c.Prompt)
	if strings.HasPrefix(c.Prompt, "slowly") {
		return answer.Chunks(8, 30*time.Millisecond)
	}
	return answer
}

// rig is a server with its fleet.
type rig struct {
	t      *testing.T
	db     store.Fleet
	agent  *agent
	fleet  *fleet.Fleet
	server *serve.Server
	// options are those of the server.
	options serve.Options
	http    *httptest.Server
	tokens  map[string]string // of users by name and role

	documented documented
}

// newRig starts a server on a store.
func newRig(t *testing.T, db store.Fleet, change func(*serve.Options)) *rig {
	t.Helper()
	return newRigIn(t, db, t.TempDir(), change)
}

// newRigIn starts a server whose preset has a root.
func newRigIn(t *testing.T, db store.Fleet, root string, change func(*serve.Options)) *rig {
	t.Helper()
	return newRigGated(t, db, root, &approval.Options{Patience: time.Hour}, change)
}

// newRigGated starts a server whose fleet asks people in a way of its own.
func newRigGated(t *testing.T, db store.Fleet, root string, gate *approval.Options, change func(*serve.Options)) *rig {
	t.Helper()
	return newRigFleet(t, db, root, func(o *fleet.Options) { o.Gate = gate }, change)
}

// newRigFleet starts a server on a fleet with options of its own.
func newRigFleet(t *testing.T, db store.Fleet, root string, changeFleet func(*fleet.Options), change func(*serve.Options)) *rig {
	t.Helper()
	r := newService(t, db, root, changeFleet, change)
	r.http = httptest.NewServer(r.server)
	return r
}

// newService is newRigFleet without the network, for tests whose clock is not that of
// the machine.
func newService(t *testing.T, db store.Fleet, root string, changeFleet func(*fleet.Options), change func(*serve.Options)) *rig {
	t.Helper()
	r := &rig{t: t, db: db, agent: newAgent(), tokens: make(map[string]string)}
	presets := []serve.Preset{{
		Name: "shop", Roots: []string{root}, Models: []string{"sonnet"}, Modes: []permission.Mode{permission.ModePlan},
		Options: &claude.Options{Transport: r.agent, Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler), PartialMessages: true},
	}}
	sessions, err := serve.Sessions(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := fleet.Options{
		Store: db, Project: "p", Journal: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Session: sessions,
		Poll: time.Second, TTL: 30 * time.Second,
	}
	changeFleet(&of)
	if r.fleet, err = fleet.Open(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Records: db, Project: "p", Presets: presets, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	r.options = o
	if r.server, err = serve.New(r.fleet, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

// close ends everything. It may be called again.
func (r *rig) close() {
	_ = r.server.Close()
	if r.http != nil {
		r.http.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = r.fleet.Close(ctx)
	for n := r.server.LogsInUse(); n > 0; n = r.server.LogsInUse() { // what a test has left may end a moment later
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			r.t.Errorf("%d logs were used and not given back", n)
			return
		}
	}
}

// token returns a bearer token of a user.
func (r *rig) token(user string, role api.Role) string {
	r.t.Helper()
	name := user + " " + string(role)
	if r.tokens[name] == "" {
		made, err := serve.IssueToken(r.t.Context(), r.db, "p", api.NewToken{Name: "test", User: user, Role: role})
		if err != nil {
			r.t.Fatal(err)
		}
		r.tokens[name] = made.Secret
	}
	return r.tokens[name]
}

// as makes requests as a user.
func (r *rig) as(user string, role api.Role) *client {
	return &client{rig: r, token: r.token(user, role)}
}

// client makes requests.
type client struct {
	*rig
	token string
}

// reply is the answer to a request.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do makes a request with a body that becomes JSON, and headers in pairs.
func (c *client) do(method, path string, body any, headers ...string) reply {
	c.t.Helper()
	req := c.request(method, path, body, headers...)
	res, err := c.http.Client().Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.Header.Get("Content-Type") == "application/problem+json" {
		c.wantDocumented(method, req.URL.Path, data)
	}
	return reply{res.StatusCode, res.Header, data}
}

func (c *client) request(method, path string, body any, headers ...string) *http.Request {
	c.t.Helper()
	var reader io.Reader
	if raw, ok := body.(string); ok {
		reader = strings.NewReader(raw)
	} else if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.http.URL+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// get decodes the answer to a GET.
func get[T any](c *client, path string) T {
	c.t.Helper()
	return want[T](c, c.do("GET", path, nil), http.StatusOK)
}

// want decodes an answer that must have a status.
func want[T any](c *client, r reply, status int) T {
	c.t.Helper()
	var v T
	if r.status != status {
		c.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if err := json.Unmarshal(r.body, &v); err != nil {
		c.t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

// begin begins a conversation with a prompt.
func (c *client) begin(prompt string) api.Conversation {
	c.t.Helper()
	begin := api.NewConversation{Preset: "shop"}
	if prompt != "" {
		begin.Content = api.Text(prompt)
	}
	return want[api.Conversation](c, c.do("POST", "/v1/conversations", begin), http.StatusCreated)
}

// sse is an event as it came.
type sse struct {
	event, id, data string
}

// follow reads a stream until stop reports that it has seen enough.
func (c *client) follow(path string, stop func(sse) bool, headers ...string) []sse {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
	defer cancel()
	res, err := c.http.Client().Do(c.request("GET", path, nil, headers...).WithContext(ctx))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("status %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	var all []sse
	for e, err := range readSSE(res.Body) {
		if err != nil {
			c.t.Fatalf("after %d events: %v", len(all), err)
		}
		all = append(all, e)
		if stop(e) {
			break
		}
	}
	return all
}

// readSSE reads a stream of events.
func readSSE(r io.Reader) func(func(sse, error) bool) {
	return func(yield func(sse, error) bool) {
		var e sse
		lines := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				if err != io.EOF {
					yield(e, err)
				}
				return
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "event":
				e.event = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.event != "" && !yield(e, nil) {
					return
				}
				e = sse{}
			}
		}
	}
}

// untilTurns stops after so many turns have ended.
func untilTurns(n int) func(sse) bool {
	return func(e sse) bool {
		if e.event == "turn" {
			n--
		}
		return n <= 0
	}
}

// pending waits until there are so many pending approvals, and returns them.
func (c *client) pending(n int) []api.Approval {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		list := get[api.List[api.Approval]](c, "/v1/approvals?state=pending")
		if len(list.Items) == n {
			return list.Items
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%d approvals, want %d", len(list.Items), n)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// A prompt, its events, an approval, the result and what it cost.
func TestWholeWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("tool 1")
	if conversation.Owner != "ada" || conversation.Title != "tool 1" || conversation.Preset != "shop" {
		t.Errorf("%+v", conversation)
	}
	asked := ada.pending(1)[0]
	if asked.Tool != "Bash" || asked.Title != "make 1" || asked.Digest == "" || !asked.MayDecide || asked.Conversation != conversation.ID {
		t.Errorf("%+v", asked)
	}
	decided := want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	if decided.State != api.ApprovalAllowed || decided.DecidedBy != "ada" {
		t.Errorf("%+v", decided)
	}
	// The log may learn of the end of the turn before it has read the last words.
	ended, said := untilTurns(1), false
	over := false
	events := ada.follow("/v1/conversations/"+conversation.ID+"/events?after=0", func(e sse) bool {
		over = ended(e) || over
		said = said || e.event == "message" && strings.Contains(e.data, "It says: built")
		return over && said
	})
	var kinds []string
	next := int64(1)
	for _, e := range events {
		if e.id != "" {
			if e.id != fmt.Sprint(next) {
				t.Errorf("id %s, want %d", e.id, next)
			}
			next++
			kinds = append(kinds, e.event)
		}
	}
	for _, kind := range []string{"prompt", "message", "approval", "notice", "turn"} {
		if !strings.Contains(strings.Join(kinds, " "), kind) {
			t.Errorf("no event %s in %v", kind, kinds)
		}
	}
	if ran := r.agent.ran(); len(ran) != 1 || ran[0] != `{"command":"make 1"}` {
		t.Errorf("ran %q", ran)
	}
	messages := get[api.List[api.Message]](ada, "/v1/conversations/"+conversation.ID+"/messages")
	if last := messages.Items[len(messages.Items)-1]; !strings.Contains(string(last.Message), "It says: built") {
		t.Errorf("the last message is %s", last.Message)
	}
	usage := get[api.Usage](ada, "/v1/usage?by=user,preset,day")
	if len(usage.Items) != 1 || usage.Total.Turns != 1 || usage.Total.CostUSD <= 0 || usage.Items[0].User != "ada" || usage.Items[0].Preset != "shop" {
		t.Errorf("%+v", usage)
	}
	now := get[api.Conversation](ada, "/v1/conversations/"+conversation.ID)
	if now.State != api.StateIdle || now.Turns != 1 || now.LastSeq < next-1 || now.Pending != 0 {
		t.Errorf("%+v, last %d", now, next-1)
	}
}
