package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// lasting keeps the durable events.
func lasting(all []sse) []sse {
	return slices.DeleteFunc(slices.Clone(all), func(e sse) bool { return e.id == "" })
}

// A stream that is cut at each event, and resumed with its last id, ends equal to one
// that was not cut, even after a restart of the server.
func TestStreamCutAtEachEvent(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	path := "/v1/conversations/" + own.ID + "/events"
	ada.follow(path, untilTurns(1))
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", `{"content":"and then"}`), http.StatusAccepted)
	ada.follow(path, untilTurns(2))
	settled := func(e sse) bool { return e.event == "approval" && strings.Contains(e.data, `"ran"`) }
	ada.follow(path, settled)
	synced := func(e sse) bool { return e.event == "synced" }
	whole := lasting(ada.follow(path, synced))
	if len(whole) < 10 {
		t.Fatalf("%d events", len(whole))
	}
	check := func(c *client, when string) {
		t.Helper()
		for cut := range len(whole) + 1 {
			var got []sse
			if cut > 0 {
				n := 0
				got = lasting(c.follow(path, func(e sse) bool {
					if e.id != "" {
						n++
					}
					return n == cut
				}))
			}
			last := "0"
			if cut > 0 {
				last = got[cut-1].id
			}
			got = append(got, lasting(c.follow(path+"?after=999", synced, "Last-Event-ID", last))...)
			if !slices.Equal(got, whole) {
				t.Fatalf("%s, cut after %d events:\n%v\nwant\n%v", when, cut, got, whole)
			}
		}
	}
	check(ada, "in the same server")
	r.close()
	again := newRig(t, db, nil)
	check(again.as("ada", api.RoleOperator), "in the next server")

	end, err := strconv.Atoi(whole[len(whole)-1].id)
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []string{strconv.Itoa(end + 1), "9999", "x", "-1"} {
		events := again.as("ada", api.RoleOperator).follow(path, func(e sse) bool { return e.event == "synced" }, "Last-Event-ID", lost)
		if len(events) != 1 || events[0].event != "reset" || events[0].id != "" {
			t.Errorf("after %s: %v", lost, events)
		}
	}
}

// A reader who has seen everything waits for what comes, and need not load
// anything again.
func TestReaderAtTheEnd(t *testing.T) {
	t.Parallel()
	ada := newRig(t, store.Memory(), nil).as("ada", api.RoleOperator)
	path := "/v1/conversations/" + ada.begin("hello").ID
	ada.follow(path+"/events?after=0", untilTurns(1))
	for last := int64(-1); ; {
		now := get[api.Conversation](ada, path).LastSeq
		if now == last { // it was the end while the reader followed
			return
		}
		last = now
		events := ada.follow(fmt.Sprintf("%s/events?after=%d", path, last), func(e sse) bool { return e.event == "synced" || e.event == "reset" })
		if got := events[len(events)-1].event; got != "synced" {
			t.Errorf("a reader at %d, the end, is sent %s", last, got)
		}
	}
}

// Text that is being written comes as deltas that fit together, and in the end equals
// the text of the message. Frames at which a reader cannot resume have no id.
func TestDeltas(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}), http.StatusCreated)
	done := make(chan []sse)
	begun := make(chan struct{})
	go func() {
		var once sync.Once
		n := untilTurns(1)
		done <- ada.follow("/v1/conversations/"+own.ID+"/events", func(e sse) bool {
			if e.event == "synced" {
				once.Do(func() { close(begun) })
			}
			return n(e)
		})
	}()
	<-begun
	text := "slowly " + strings.Repeat("ä€😀", 20)
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", map[string]string{"content": text}), http.StatusAccepted)
	open := make(map[int]string)
	pieces := 0
	for _, e := range <-done {
		var event struct {
			Blocks []api.Block
			Delta  *api.Delta
		}
		if err := json.Unmarshal([]byte(e.data), &event); err != nil {
			t.Fatal(err)
		}
		switch e.event {
		case "partial":
			for _, b := range event.Blocks {
				open[b.Block] = b.Text
				pieces++
			}
		case "delta":
			d := event.Delta
			if have := units(open[d.Block]); d.Offset != have {
				t.Errorf("offset %d, have %d", d.Offset, have)
			}
			open[d.Block] += d.Text
			pieces++
		}
		if lasts := slices.Contains([]string{"conversation", "prompt", "turn", "message", "approval", "notice"}, e.event); lasts != (e.id != "") {
			t.Errorf("event %s has the id %q", e.event, e.id)
		}
	}
	if !strings.HasPrefix("You said: "+text, open[0]) || open[0] == "" || pieces < 2 {
		t.Errorf("%d pieces: %q", pieces, open[0])
	}
}

func units(text string) int {
	n := 0
	for _, r := range text {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// Of two people who decide at the same moment one wins, and the other learns who.
// Repeating the same decision is fine.
func TestTwoDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+own.ID, `{"shared":true}`), http.StatusOK)
	asked := ada.pending(1)[0]
	people := []*client{ada, r.as("bob", api.RoleApprover), r.as("kim", api.RoleApprover), r.as("lea", api.RoleApprover)}
	names := []string{"ada", "bob", "kim", "lea"}
	replies := make([]reply, len(people))
	var all sync.WaitGroup
	for i, c := range people {
		decision := api.Decision{Decision: "allow", Digest: asked.Digest}
		if i%2 == 1 {
			decision.Decision = "deny"
		}
		req := c.request("POST", "/v1/approvals/"+asked.ID+"/decision", decision)
		all.Go(func() {
			res, err := r.http.Client().Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			data, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			replies[i] = reply{res.StatusCode, res.Header, data}
		})
	}
	all.Wait()
	winner := -1
	for i, got := range replies {
		if got.status == http.StatusOK {
			if winner >= 0 {
				t.Errorf("%s and %s both won", names[winner], names[i])
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatalf("nobody won: %s", replies[0].body)
	}
	for i, got := range replies {
		if i == winner {
			continue
		}
		p := want[api.Problem](people[i], got, http.StatusConflict)
		if p.Type != "/problems/already-decided" || p.Approval == nil || p.Approval.DecidedBy != names[winner] || !strings.Contains(p.Detail, names[winner]) {
			t.Errorf("%s hears %s", names[i], got.body)
		}
	}
	decision := api.Decision{Decision: "allow", Digest: asked.Digest}
	if winner%2 == 1 {
		decision.Decision = "deny"
	}
	want[api.Approval](people[winner], people[winner].do("POST", "/v1/approvals/"+asked.ID+"/decision", decision), http.StatusOK)
	ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
	if ran := r.agent.ran(); len(ran) != 1-winner%2 {
		t.Errorf("the tool ran %d times", len(ran))
	}
}

// A decision that was taken when the fleet was gone is carried out by the next
// one, once. The approval then shows how the call ended.
func TestDecisionOutlivesTheFleet(t *testing.T) {
	t.Parallel()
	db, root := store.Memory(), t.TempDir()
	r := newRigIn(t, db, root, nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = r.fleet.Close(ctx) // at once: the process waits, and is deferred or killed
	decided := want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	if decided.State != api.ApprovalAllowed || len(r.agent.ran()) != 0 {
		t.Errorf("%+v, ran %q", decided, r.agent.ran())
	}
	r.close()
	next := newRigIn(t, db, root, nil)
	ada = next.as("ada", api.RoleOperator)
	ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
	if ran := next.agent.ran(); len(ran) != 1 {
		t.Errorf("the tool ran %d times", len(ran))
	}
}

// A reader that never reads holds up no other and costs no more than one: the others
// continue to read, however far behind the stuck one is.
func TestOneStuckReader(t *testing.T) {
	long.Test(t, "writes many megabytes")
	r, ada, path := manyReaders(t, 40)
	stuck, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	fmt.Fprintf(stuck, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, ada.token)
	readers, turns, words := 20, 3, 160_000 // more than the buffers of a connection take
	if raceDetector {
		readers, turns, words = 10, 2, 1000
	}
	grown := follows(t, ada, path, readers, turns, strings.Repeat(" word", words))
	if grown > 96<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// stuckWriter is a connection that takes the beginning of a stream, and then nothing.
type stuckWriter struct {
	header  http.Header
	synced  bool
	stuck   chan struct{} // closed when a write waits
	release chan struct{}
}

func (w *stuckWriter) Header() http.Header { return w.header }
func (w *stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Flush()              {}

func (w *stuckWriter) Write(b []byte) (int, error) {
	if !w.synced {
		w.synced = bytes.Contains(b, []byte("event: synced"))
		return len(b), nil
	}
	close(w.stuck)
	<-w.release
	return 0, os.ErrDeadlineExceeded
}

// A thousand readers, one of them stuck: the others see the same, none waits for it,
// and the process does not grow.
func TestThousandReaders(t *testing.T) {
	readers := long.Pick(200, 1000)
	if raceDetector {
		readers = 100
	}
	r, ada, path := manyReaders(t, readers)
	w := &stuckWriter{header: make(http.Header), stuck: make(chan struct{}), release: make(chan struct{})}
	request, gone := ada.request("GET", path, nil), make(chan struct{})
	request.Host = "localhost"
	go func() {
		defer close(gone)
		r.server.ServeHTTP(w, request)
	}()
	if grown := follows(t, ada, path, readers-1, 2, " word"); grown > 96<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	<-w.stuck
	select {
	case <-gone:
		t.Error("the reader that is stuck has ended")
	default:
	}
	close(w.release)
	<-gone
}

// manyReaders starts a server for many readers of one conversation.
func manyReaders(t *testing.T, readers int) (*rig, *client, string) {
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.StreamsPerUser, o.Streams = readers+10, readers+10 })
	ada := r.as("ada", api.RoleOperator)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}), http.StatusCreated)
	return r, ada, "/v1/conversations/" + own.ID + "/events"
}

// follows lets many read while prompts are answered, and returns by how much the
// heap grew. All must see the same.
func follows(t *testing.T, c *client, path string, readers, turns int, text string) int64 {
	var reading, all sync.WaitGroup
	reading.Add(readers)
	lasts := make([]string, readers)
	for i := range readers {
		all.Go(func() {
			n, synced := untilTurns(turns), sync.OnceFunc(reading.Done)
			c.follow(path, func(e sse) bool {
				if e.event == "synced" {
					synced()
				}
				if e.id != "" {
					lasts[i] = e.id
				}
				return n(e)
			})
		})
	}
	reading.Wait()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range turns {
		want[api.Prompt](c, c.do("POST", strings.TrimSuffix(path, "/events")+"/prompts", map[string]string{"content": fmt.Sprint(i, text)}), http.StatusAccepted)
	}
	all.Wait()
	for i, last := range lasts {
		if last != lasts[0] || last == "" {
			t.Fatalf("reader %d ended at %q, another at %q", i, last, lasts[0])
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// The feed begins with everything that is pending, and then hints at changes, but not
// at those of conversations that the user cannot see.
func TestFeed(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleOperator)
	first := ada.begin("tool 1")
	ada.begin("tool 2")
	ada.pending(2)
	events := make(chan []sse)
	ready := make(chan struct{})
	go func() {
		events <- ada.follow("/v1/feed", func(e sse) bool {
			if e.event == "pending" {
				close(ready)
			}
			return e.event == "hint" && strings.Contains(e.data, first.ID) && strings.Contains(e.data, `"idle"`)
		})
	}()
	<-ready
	foreign := eve.begin("hello")
	for _, a := range ada.pending(2) {
		if a.Conversation == first.ID {
			want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+a.ID+"/decision", api.Decision{Decision: "allow", Digest: a.Digest}), http.StatusOK)
		}
	}
	got := <-events
	var begin struct{ Approvals []api.Approval }
	if err := json.Unmarshal([]byte(got[0].data), &begin); err != nil || len(begin.Approvals) != 2 {
		t.Errorf("%s, %v", got[0].data, err)
	}
	for _, e := range got {
		if e.id != "" || strings.Contains(e.data, foreign.ID) {
			t.Errorf("%+v", e)
		}
	}
}

// A stream sends pings, and one too many is asked to come back: any status but 200
// would end it for good in a browser.
func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.StreamsPerUser = 1 })
	ada := r.as("ada", api.RoleViewer)
	ada.follow("/v1/feed", func(e sse) bool {
		if e.event != "pending" {
			return false
		}
		second := ada.follow("/v1/feed", func(sse) bool { return false })
		if len(second) != 1 || second[0].event != "bye" {
			t.Errorf("the second stream: %v", second)
		}
		return true
	})
}

// When the server stops, its streams announce it and end.
func TestCloseEndsStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}), http.StatusCreated)
	events := ada.follow("/v1/conversations/"+own.ID+"/events", func(e sse) bool {
		if e.event == "synced" {
			go r.server.Close()
		}
		return false
	})
	if last := events[len(events)-1]; last.event != "bye" || last.id != "" {
		t.Errorf("the last event is %+v", last)
	}
}

// Queued prompts can be taken back, and a turn can be interrupted; the log records each
// with the user who did it.
func TestTakeBackAndInterrupt(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	at := "/v1/conversations/" + own.ID
	ada.pending(1)
	later := want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"later"}`), http.StatusAccepted)
	if list := get[api.List[api.Prompt]](ada, at+"/prompts"); len(list.Items) != 2 {
		t.Errorf("%+v", list)
	}
	if got := ada.do("DELETE", at+"/prompts/"+later.ID, nil); got.status != http.StatusNoContent {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := get[api.Prompt](ada, at+"/prompts/"+later.ID); got.State != "cancelled" {
		t.Errorf("%+v", got)
	}
	if got := ada.do("POST", at+"/interrupt", nil); got.status != http.StatusAccepted {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	ended, noticed := untilTurns(2), false // in any order
	ada.follow(at+"/events", func(e sse) bool {
		noticed = noticed || e.event == "notice" && strings.Contains(e.data, "interrupted the turn") && strings.Contains(e.data, "ada") && strings.Contains(e.data, "127.0.0.1")
		return ended(e) && noticed
	})
	p := want[api.Problem](ada, ada.do("POST", at+"/interrupt", nil), http.StatusConflict)
	if p.Type != "/problems/idle" {
		t.Errorf("%+v", p)
	}
	if ran := r.agent.ran(); len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
}

// A remembered decision decides the next call of its kind without asking.
func TestRemember(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	if len(asked.Suggestions) == 0 {
		t.Fatalf("%+v", asked)
	}
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest, Remember: []int{0}, Input: json.RawMessage(`{"command":"make 1"}`)}), http.StatusOK)
	ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
	if mode := get[api.Conversation](ada, "/v1/conversations/"+own.ID).Mode; mode == string(permission.ModeBypassPermissions) {
		t.Error("the mode has changed")
	}
}
