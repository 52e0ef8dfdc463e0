package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// The sessions on the disk of these tests.
const (
	talk   = "00000000-0000-4000-8000-000000000001" // in the root of the preset
	nobody = "00000000-0000-4000-8000-000000000009"
)

// saidIn is the id of a message in a session.
func saidIn(session string, n int) string { return fmt.Sprintf("1%s%04d", session[1:32], n) }

// keepSession writes a session as a CLI keeps it in its configuration directory.
func keepSession(t *testing.T, config, id, dir string, said ...string) (file string) {
	t.Helper()
	var text strings.Builder
	parent := "null"
	for i, words := range said {
		role, content := "user", fmt.Sprintf("%q", words)
		if i%2 == 1 {
			role, content = "assistant", fmt.Sprintf(`[{"type":"text","text":%q}]`, words)
		}
		uuid := fmt.Sprintf("%q", saidIn(id, i))
		fmt.Fprintf(&text, `{"parentUuid":%s,"isSidechain":false,"type":%q,"uuid":%s,"timestamp":"2026-01-01T00:00:%02dZ","sessionId":%q,"cwd":%q,"version":"2.1.325","message":{"id":"msg_%d","role":%q,"content":%s}}`+"\n",
			parent, role, uuid, i, id, dir, i, role, content)
		parent = uuid
	}
	file = filepath.Join(config, "projects", "-work", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// newDiskRig starts a server that knows the sessions on a disk: one called talk, in
// which two prompts were answered.
func newDiskRig(t *testing.T, db store.Fleet) (r *rig, config, root string) {
	t.Helper()
	config, root = t.TempDir(), t.TempDir()
	keepSession(t, config, talk, root, "one", "first", "two", "second")
	return newRigIn(t, db, root, func(o *serve.Options) { o.History = history.Disk(config) }), config, root
}

// heard waits until a conversation has a number of messages, and returns their texts.
func (c *client) heard(id string, n int) (texts []string) {
	c.t.Helper()
	seen := 0
	c.follow("/v1/conversations/"+id+"/events?after=0", func(e sse) bool {
		if e.event == "message" {
			seen++
		}
		return seen == n
	})
	for _, m := range get[api.List[api.Message]](c, "/v1/conversations/"+id+"/messages").Items {
		var line struct {
			Message struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(m.Message, &line); err != nil {
			c.t.Fatal(err)
		}
		var text string
		if json.Unmarshal(line.Message.Content, &text) != nil {
			var blocks []struct{ Text string }
			if err := json.Unmarshal(line.Message.Content, &blocks); err != nil {
				c.t.Fatal(err)
			}
			for _, b := range blocks {
				text += b.Text
			}
		}
		texts = append(texts, text)
	}
	return texts
}

// A session on disk is resumed over HTTP: the conversation shows what was said and
// continues it, and the file on disk stays as it is.
func TestResume(t *testing.T) {
	t.Parallel()
	r, config, root := newDiskRig(t, store.Memory())
	file := filepath.Join(config, "projects", "-work", talk+".jsonl")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ada := r.as("ada", api.RoleAdmin)
	list := get[api.List[api.SessionInfo]](ada, "/v1/sessions").Items
	if len(list) != 1 || list[0].ID != talk || list[0].Title != "two" && list[0].Title != "one" || !slices.Equal(list[0].Presets, []string{"shop"}) || list[0].Conversation != "" {
		t.Errorf("the sessions are %+v", list)
	}
	reply := ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk})
	c := want[api.Conversation](ada, reply, http.StatusCreated)
	if c.Resumed != talk || c.Session != talk || c.Title != list[0].Title || c.State != api.StateIdle || reply.header.Get("Location") != "/v1/conversations/"+c.ID {
		t.Errorf("%+v", c)
	}
	if real, err := filepath.EvalSymlinks(root); err != nil || c.Dir != real {
		t.Errorf("it works in %s, want %s", c.Dir, real)
	}
	if got := ada.heard(c.ID, 4); !slices.Equal(got, []string{"one", "first", "two", "second"}) {
		t.Errorf("its history is %q", got)
	}
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+c.ID+"/prompts", api.NewPrompt{Content: json.RawMessage(`"three"`)}), http.StatusAccepted)
	if got := ada.heard(c.ID, 6); !slices.Equal(got[4:], []string{"three", "You said: three"}) {
		t.Errorf("it continues with %q", got)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file on disk has changed, %v", err)
	}

	for _, user := range []*client{ada, r.as("root", api.RoleAdmin)} {
		again := want[api.Problem](user, user.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk}), http.StatusConflict)
		if again.Type != "/problems/resumed" || again.Conversation != c.ID {
			t.Errorf("a second time: %+v", again)
		}
	}
	if list := get[api.List[api.SessionInfo]](ada, "/v1/sessions?preset=shop").Items; len(list) != 1 || list[0].Conversation != c.ID {
		t.Errorf("the sessions are %+v", list)
	}
	if got := ada.do("DELETE", "/v1/conversations/"+c.ID, nil); got.status != http.StatusNoContent {
		t.Fatalf("status %d", got.status)
	}
	gone := want[api.Problem](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk}), http.StatusConflict)
	if gone.Type != "/problems/session-deleted" || !strings.Contains(gone.Detail, "fork") {
		t.Errorf("after its conversation was deleted: %+v", gone)
	}
}

// Copies of a session on disk are conversations of their own, whole or up to a
// message, with a first prompt or without.
func TestForkSession(t *testing.T) {
	t.Parallel()
	r, _, _ := newDiskRig(t, store.Memory())
	ada := r.as("ada", api.RoleAdmin)
	whole := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("more"), Fork: &api.ForkFrom{Session: talk}}), http.StatusCreated)
	part := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Title: "A part", Fork: &api.ForkFrom{Session: talk, Message: saidIn(talk, 1)}}), http.StatusCreated)
	if got := ada.heard(whole.ID, 6); !slices.Equal(got, []string{"one", "first", "two", "second", "more", "You said: more"}) {
		t.Errorf("the copy says %q", got)
	}
	if got := ada.heard(part.ID, 2); !slices.Equal(got, []string{"one", "first"}) {
		t.Errorf("the part says %q", got)
	}
	if !strings.HasPrefix(whole.Title, "Copy of ") || part.Title != "A part" || whole.Session == talk || whole.Resumed != "" {
		t.Errorf("%+v\n%+v", whole, part)
	}
	want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk}), http.StatusCreated)
}

// A session is resumed only for users who may, in a directory of the preset, and while
// no CLI has it open. A refused request makes nothing.
func TestResumeRefused(t *testing.T) {
	t.Parallel()
	const away, empty, damaged, open = "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004", "00000000-0000-4000-8000-000000000005"
	r, config, root := newDiskRig(t, store.Memory())
	keepSession(t, config, away, t.TempDir(), "elsewhere", "yes")
	keepSession(t, config, empty, root)
	file := keepSession(t, config, damaged, root, "one", "first", "two", "second")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(file, []byte(lines[0]+lines[2]+lines[3]), 0o600); err != nil {
		t.Fatal(err)
	}
	keepSession(t, config, open, root, "one", "first")
	if err := os.Mkdir(filepath.Join(config, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	running := fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, os.Getpid(), open)
	if err := os.WriteFile(filepath.Join(config, "sessions", fmt.Sprintf("%d.json", os.Getpid())), []byte(running), 0o600); err != nil {
		t.Fatal(err)
	}
	ada, eve := r.as("ada", api.RoleAdmin), r.as("eve", api.RoleOperator)
	for name, c := range map[string]struct {
		as     *client
		body   string
		status int
		kind   string
		says   string
	}{
		"an operator":        {eve, `{"preset":"shop","resume":"` + talk + `"}`, 403, "forbidden", "admin"},
		"an operator's copy": {eve, `{"preset":"shop","fork":{"session":"` + talk + `"}}`, 403, "forbidden", "admin"},
		"an operator, none":  {eve, `{"preset":"shop","resume":"` + nobody + `"}`, 403, "forbidden", "admin"},
		"unknown":            {ada, `{"preset":"shop","resume":"` + nobody + `"}`, 404, "not-found", "/v1/sessions"},
		"not an id":          {ada, `{"preset":"shop","resume":"../../etc/passwd"}`, 404, "not-found", "/v1/sessions"},
		"empty":              {ada, `{"preset":"shop","resume":"` + empty + `"}`, 404, "not-found", "/v1/sessions"},
		"another directory":  {ada, `{"preset":"shop","resume":"` + away + `"}`, 422, "outside", "GET /v1/sessions"},
		"a copy from there":  {ada, `{"preset":"shop","fork":{"session":"` + away + `"}}`, 422, "outside", "GET /v1/sessions"},
		"unknown preset":     {ada, `{"preset":"none","resume":"` + talk + `"}`, 422, "unknown-preset", "shop"},
		"damaged":            {ada, `{"preset":"shop","resume":"` + damaged + `"}`, 422, "session-unusable", "missing"},
		"open":               {ada, `{"preset":"shop","resume":"` + open + `"}`, 409, "session-open", fmt.Sprint("process ", os.Getpid())},
		"both":               {ada, `{"preset":"shop","resume":"` + talk + `","fork":{"session":"` + talk + `"}}`, 400, "bad-request", "resume or fork"},
		"a fork of nothing":  {ada, `{"preset":"shop","fork":{}}`, 400, "bad-request", "either"},
		"a fork of two":      {ada, `{"preset":"shop","fork":{"session":"` + talk + `","conversation":"x"}}`, 400, "bad-request", "either"},
		"a directory":        {ada, `{"preset":"shop","resume":"` + talk + `","dir":"` + root + `"}`, 400, "bad-request", "dir"},
		"no such message":    {ada, `{"preset":"shop","fork":{"session":"` + talk + `","message":"` + nobody + `"}}`, 404, "not-found", ""},
		"a mode":             {ada, `{"preset":"shop","resume":"` + talk + `","mode":"bypassPermissions"}`, 422, "mode-not-allowed", "plan"},
	} {
		p := want[api.Problem](c.as, c.as.do("POST", "/v1/conversations", c.body), c.status)
		if p.Type != "/problems/"+c.kind || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for info, err := range r.fleet.List(t.Context()) {
		t.Errorf("there is a conversation: %+v, %v", info, err)
	}
	if got := get[api.List[api.Conversation]](ada, "/v1/conversations").Items; len(got) != 0 {
		t.Errorf("the conversations are %+v", got)
	}
	var ids []string
	for _, s := range get[api.List[api.SessionInfo]](ada, "/v1/sessions").Items {
		ids = append(ids, s.ID)
	}
	if slices.Contains(ids, away) || !slices.Contains(ids, talk) {
		t.Errorf("the sessions are %q", ids)
	}
	want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop","fork":{"session":"`+open+`"}}`), http.StatusCreated)

	plain := newRig(t, store.Memory(), nil)
	root2 := plain.as("root", api.RoleAdmin)
	if p := want[api.Problem](root2, root2.do("POST", "/v1/conversations", `{"preset":"shop","resume":"`+talk+`"}`), http.StatusNotImplemented); p.Type != "/problems/unsupported" {
		t.Errorf("a server without a disk: %+v", p)
	}
}

// A request that is repeated makes one conversation, even if a crash came between
// the conversation and what the server notes of it.
func TestResumeAgain(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(t *testing.T, r *rig, key string){
		"answered": func(*testing.T, *rig, string) {},
		"answer lost": func(t *testing.T, r *rig, _ string) {
			forgetRecords(t, r.db, "serve-once")
		},
		"note lost": func(t *testing.T, r *rig, key string) {
			forgetRecords(t, r.db, "serve-once")
			forgetRecords(t, r.db, "serve-conversation")
		},
	} {
		for what, body := range map[string]api.NewConversation{
			"resume": {Preset: "shop", Resume: talk},
			"fork":   {Preset: "shop", Fork: &api.ForkFrom{Session: talk}},
		} {
			t.Run(what+", "+name, func(t *testing.T) {
				r, _, _ := newDiskRig(t, store.Memory())
				ada := r.as("ada", api.RoleAdmin)
				ask := func() api.Conversation {
					return want[api.Conversation](ada, ada.do("POST", "/v1/conversations", body, "Idempotency-Key", "k"), http.StatusCreated)
				}
				first := ask()
				crash(t, r, first.ID)
				if again := ask(); again.ID != first.ID {
					t.Errorf("%s and %s", first.ID, again.ID)
				}
				n := 0
				for range r.fleet.List(t.Context()) {
					n++
				}
				if n != 1 {
					t.Errorf("%d conversations", n)
				}
				if got := ada.heard(first.ID, 4); len(got) != 4 {
					t.Errorf("its history is %q", got)
				}
			})
		}
	}
}

// forgetRecords removes the records of a kind.
func forgetRecords(t *testing.T, db store.Fleet, kind string) {
	t.Helper()
	for rec, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err == nil {
			err = store.Drop(t.Context(), db, rec.Key, rec.Revision, store.Fence{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A session whose first prompt is refused is resumed anyway: a store takes it
// once. The problem names the conversation.
func TestResumeOverloaded(t *testing.T) {
	t.Parallel()
	config, root := t.TempDir(), t.TempDir()
	keepSession(t, config, talk, root, "one", "first")
	r := newRigFleet(t, store.Memory(), root, func(o *fleet.Options) { o.QueueAll, o.MaxLive = 1, 1 }, func(o *serve.Options) { o.History = history.Disk(config) })
	r.agent.hold = make(chan struct{})
	ada := r.as("ada", api.RoleAdmin)
	ada.begin("busy")
	p := want[api.Problem](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk, Content: api.Text("two")}), http.StatusTooManyRequests)
	if p.Type != "/problems/full" || p.Conversation == "" || p.RetryAfter == 0 {
		t.Fatalf("%+v", p)
	}
	close(r.agent.hold)
	if c := get[api.Conversation](ada, "/v1/conversations/"+p.Conversation); c.Resumed != talk {
		t.Errorf("%+v", c)
	}
	if got := ada.heard(p.Conversation, 2); !slices.Equal(got, []string{"one", "first"}) {
		t.Errorf("its history is %q", got)
	}
}

// together is a fleet that resumes sessions when two have asked for it.
type together struct {
	*fleet.Fleet
	both *sync.WaitGroup
	one  *sync.Mutex
}

func (f together) Resume(ctx context.Context, key string, from fleet.ResumeFrom) error {
	f.both.Done()
	f.both.Wait()
	f.one.Lock()
	defer f.one.Unlock()
	return f.Fleet.Resume(ctx, key, from)
}

// Of two who resume a session at once, each with a prompt of their own, one begins the
// conversation. The other learns where it is, and that nothing was sent.
func TestResumeAtOnce(t *testing.T) {
	t.Parallel()
	r, _, _ := newDiskRig(t, store.Memory())
	odd := together{r.fleet, new(sync.WaitGroup), new(sync.Mutex)}
	odd.both.Add(2)
	r.over(odd)
	ada := r.as("ada", api.RoleAdmin)
	prompts := []string{"left", "right"}
	var replies [2]reply
	var asking sync.WaitGroup
	for i, prompt := range prompts {
		asking.Go(func() {
			replies[i] = ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Resume: talk, Content: api.Text(prompt)})
		})
	}
	asking.Wait()
	if replies[0].status > replies[1].status {
		slices.Reverse(replies[:])
		slices.Reverse(prompts)
	}
	c := want[api.Conversation](ada, replies[0], http.StatusCreated)
	p := want[api.Problem](ada, replies[1], http.StatusConflict)
	if p.Type != "/problems/resumed" || p.Conversation != c.ID || !strings.Contains(p.Detail, "the prompt was not sent") {
		t.Errorf("%+v", p)
	}
	if got := ada.heard(c.ID, 6); !slices.Equal(got[4:], []string{prompts[0], "You said: " + prompts[0]}) {
		t.Errorf("it continues with %q", got)
	}
}
