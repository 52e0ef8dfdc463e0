package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// countedStore counts the records of logs that are read.
type countedStore struct {
	store.Fleet
	segments atomic.Int64
	scans    atomic.Int64
}

func (c *countedStore) View(ctx context.Context, v store.View) ([]store.Record, error) {
	k := v.Keys[0]
	if k.Kind == "serve-log" && !strings.HasSuffix(k.Name, "/head") {
		c.segments.Add(1)
	}
	return c.Fleet.View(ctx, v)
}

func (c *countedStore) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	if in.Kind == "serve-log" {
		c.scans.Add(1)
	}
	return c.Fleet.Scan(ctx, in, after)
}

// makeSegments makes segments of the events in the head of a log, as the server
// does when there are many, after some notices were added.
func makeSegments(t *testing.T, db store.Records, conversation string, notices int) {
	t.Helper()
	at := store.RecordKey{Project: "p", Kind: "serve-log", Name: "t/" + strings.Replace(conversation, "~", "/", 1) + "/head"}
	head, err := store.Get(t.Context(), db, at)
	if err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(head.Value, &log); err != nil {
		t.Fatal(err)
	}
	put := func(at store.RecordKey, v map[string]any, revision int64) {
		data, err := json.Marshal(v)
		if err == nil {
			_, err = store.Put(t.Context(), db, at, data, revision, store.Fence{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	events := log["events"].([]any)
	for range notices {
		events = append(events, map[string]any{"type": "notice", "seq": len(events) + 1, "notice": map[string]string{"text": "later"}})
	}
	size := max(1, len(events)/45) // of a segment: more of them than are kept in memory
	segments := 0
	for first := 0; first < len(events); first += size {
		segment := at
		segment.Name = strings.TrimSuffix(at.Name, "head") + fmt.Sprintf("%08d", segments)
		put(segment, map[string]any{"first": first + 1, "events": events[first:min(first+size, len(events))]}, 0)
		segments++
	}
	log["segments"], log["first"], log["events"] = segments, len(events)+1, []any{}
	put(at, log, head.Revision)
}

// What turns have cost is summed up without reading the logs, however long they
// are, and is the same after a restart.
func TestUsageReadsNoLogs(t *testing.T) {
	t.Parallel()
	db := &countedStore{Fleet: store.Memory()}
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("hello")
	path := "/v1/conversations/" + conversation.ID
	want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"content":"again"}`), http.StatusAccepted)
	ada.follow(path+"/events?after=0", untilTurns(2))
	before := get[api.Usage](ada, "/v1/usage?by=day,model,user,preset")
	total := get[api.Usage](ada, "/v1/usage")
	if before.Total.Turns != 2 || total.Total.Turns != 2 || total.Total.CostUSD <= 0 || total.Total.Output == 0 || before.Total.Output != total.Total.Output ||
		len(before.Items) == 0 || before.Items[len(before.Items)-1].Model == "" || before.Items[0].User != "ada" {
		t.Errorf("%+v, in total %+v", before, total)
	}
	r.close()
	makeSegments(t, db.Fleet, conversation.ID, 0)
	r = newRig(t, db, nil)
	ada = r.as("ada", api.RoleOperator)
	segments, scans := db.segments.Load(), db.scans.Load()
	after := get[api.Usage](ada, "/v1/usage?by=day,model,user,preset")
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after a restart %+v, before %+v", after, before)
	}
	get[api.List[api.Conversation]](ada, "/v1/conversations")
	if n := db.segments.Load() - segments + db.scans.Load() - scans; n != 0 {
		t.Errorf("%d parts of logs were read", n)
	}
	if old := get[api.Usage](ada, "/v1/usage?to=2020-01-01"); old.Total.Turns != 0 {
		t.Errorf("before anything happened: %+v", old.Total)
	}
}

// zoned is a store whose clock shows the time of a zone in which it is another day than in
// UTC.
type zoned struct{ store.Records }

func (z zoned) Now(ctx context.Context) (time.Time, error) {
	now, err := z.Records.Now(ctx)
	west, east := time.FixedZone("west", -12*60*60), time.FixedZone("east", 12*60*60)
	if now.UTC().Hour() < 12 {
		return now.In(west), err
	}
	return now.In(east), err
}

// A preset that has spent its budget of the day refuses prompts and names the time when
// it takes them again; others are not affected.
func TestDailyBudget(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, func(o *serve.Options) {
		o.Records = zoned{db}
		rich := o.Presets[0]
		rich.Name = "rich"
		o.Presets[0].DailyUSD = 0.000001
		o.Presets = append(o.Presets, rich)
	})
	ada := r.as("ada", api.RoleOperator)
	if info := get[api.ServerInfo](ada, "/v1/server"); info.Presets[0].DailyUSD != 0.000001 {
		t.Errorf("%+v", info.Presets)
	}
	const id = "11111111-1111-4111-8111-111111111111"
	conversation := ada.begin("")
	path := "/v1/conversations/" + conversation.ID
	first := ada.do("POST", path+"/prompts", `{"id":"`+id+`","content":"hello"}`)
	want[api.Prompt](ada, first, http.StatusAccepted)
	ada.follow(path+"/events?after=0", untilTurns(1))
	refused := ada.do("POST", path+"/prompts", `{"content":"more"}`)
	p := want[api.Problem](ada, refused, http.StatusTooManyRequests)
	if p.Type != "/problems/budget" || p.RetryAfter < 1 || p.RetryAfter > 24*60*60 || refused.header.Get("Retry-After") == "" || !strings.Contains(p.Detail, "shop") {
		t.Errorf("%+v", p)
	}
	// A repetition of what was accepted is not a new prompt.
	want[api.Prompt](ada, ada.do("POST", path+"/prompts", `{"id":"`+id+`","content":"hello"}`), http.StatusAccepted)
	bob := r.as("bob", api.RoleOperator)
	begun := bob.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("mine")})
	want[api.Problem](bob, begun, http.StatusTooManyRequests)
	if list := get[api.List[api.Conversation]](bob, "/v1/conversations"); len(list.Items) != 0 {
		t.Errorf("the refused request made %+v", list.Items)
	}
	want[api.Conversation](bob, bob.do("POST", "/v1/conversations", api.NewConversation{Preset: "rich"}), http.StatusCreated)
	if _, err := serve.New(r.fleet, serve.Options{Records: r.db, Project: "p", Presets: []serve.Preset{{Name: "x", Roots: []string{"/"}, DailyUSD: -1}}}); err == nil {
		t.Error("a negative budget was taken")
	}
}

// watchedStore counts the heads of logs that are read for a request.
type watchedStore struct {
	store.Fleet
	heads, views atomic.Int64 // views read them
	most         atomic.Int64 // heads that fit in a view; 0: any number
}

// ofRequest marks the context of the request.
type ofRequest struct{}

func (w *watchedStore) View(ctx context.Context, v store.View) ([]store.Record, error) {
	heads := int64(0)
	for _, k := range v.Keys {
		if k.Kind == "serve-log" && strings.HasSuffix(k.Name, "/head") && ctx.Value(ofRequest{}) != nil {
			heads++
		}
	}
	if heads > w.most.Load() && w.most.Load() > 0 {
		return nil, store.ErrTooLarge
	}
	if heads > 0 {
		w.heads.Add(heads)
		w.views.Add(1)
	}
	return w.Fleet.View(ctx, v)
}

// The overview has what the lists and the sums have, and reads each conversation once.
func TestOverview(t *testing.T) {
	t.Parallel()
	db := &watchedStore{Fleet: store.Memory()}
	r := newRig(t, db, nil)
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleOperator)
	for i, c := range []*client{ada, ada, ada, eve} {
		at := "/v1/conversations/" + c.begin(fmt.Sprint("hello ", i)).ID
		c.follow(at+"/events?after=0", untilTurns(1))
		if i == 0 {
			want[api.Conversation](c, c.do("PATCH", at, `{"archived":true}`), http.StatusOK)
		}
	}
	ctx := context.WithValue(t.Context(), ofRequest{}, true)
	for _, day := range []time.Duration{0, 48 * time.Hour} {
		db.heads.Store(0)
		since := time.Now().Add(day)
		got, err := r.server.Service().Overview(ctx, operator, since)
		if err != nil {
			t.Fatal(err)
		}
		if n := db.heads.Load(); n != 3 {
			t.Errorf("%d heads were read", n)
		}
		list := get[api.List[api.Conversation]](ada, "/v1/conversations?archived=1")
		if len(got.Conversations) != 3 || !slices.EqualFunc(got.Conversations, list.Items, func(a, b api.Conversation) bool {
			return a.ID == b.ID && a.LastSeq == b.LastSeq && a.State == b.State
		}) {
			t.Errorf("%+v\nand the list %+v", got.Conversations, list.Items)
		}
		if sum := get[api.Usage](ada, "/v1/usage?from="+since.UTC().Format(time.DateOnly)).Total.CostUSD; got.SpentUSD != sum || (sum > 0) != (day == 0) {
			t.Errorf("%v was spent, and the sum is %v", got.SpentUSD, sum)
		}
	}
}

// A thousand conversations are read with few calls of the store, each of them once, and
// stay in their order.
func TestOverviewOfMany(t *testing.T) {
	t.Parallel()
	const many = 1000
	db := &watchedStore{Fleet: store.Memory()}
	root := t.TempDir()
	r := newService(t, db, root, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs }, nil)
	s := r.server.Service()
	ids := make(map[string]bool)
	for i := range many {
		c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if ids[c.ID] = i%70 == 0; ids[c.ID] { // these have an event
			if _, err := s.Change(t.Context(), operator, c.ID, api.Change{Title: new("renamed")}, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for most, views := range map[int64]int64{0: 20, 20: 84} { // 1000 by 50, and by 12 after 50 and 25 were too many
		db.most.Store(most)
		db.views.Store(0)
		db.heads.Store(0)
		got, err := s.Overview(context.WithValue(t.Context(), ofRequest{}, true), operator, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if n, of := db.views.Load(), db.heads.Load(); n != views || of != many {
			t.Errorf("%d heads were read with %d views, want %d with %d", of, n, many, views)
		}
		left := maps.Clone(ids)
		for i, c := range got.Conversations {
			if i > 0 && c.Created.After(got.Conversations[i-1].Created) || (c.LastSeq > 0) != left[c.ID] {
				t.Fatalf("conversation %d: %+v", i, c)
			}
			delete(left, c.ID)
		}
		if len(left) > 0 || len(got.Conversations) != many {
			t.Errorf("%d conversations, %d are missing", len(got.Conversations), len(left))
		}
	}
}
