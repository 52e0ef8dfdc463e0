package page_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
)

// talk writes a session of n lines on the server's disk.
func (r *rig) talk(id string, n int) {
	r.t.Helper()
	var text strings.Builder
	parent := "null"
	for i := range n {
		uuid := fmt.Sprintf("%08d-0000-4000-8000-%s", i, id[len(id)-12:])
		head := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"uuid":%q,"timestamp":"2026-01-01T00:00:00Z","sessionId":%q,"cwd":%q,"version":"2.1.325",`, parent, uuid, id, r.dir)
		if i%2 == 0 {
			text.WriteString(head + fmt.Sprintf(`"type":"user","message":{"role":"user","content":"Question %d"}}`, i) + "\n")
		} else {
			text.WriteString(head + fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%d","role":"assistant","content":[{"type":"text","text":"Answer **%d**:\n\n- one\n- two"}]}}`, i, i) + "\n")
		}
		parent = fmt.Sprintf("%q", uuid)
	}
	file := filepath.Join(r.config, "projects", "-work", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// resumed makes a session a conversation, and waits until its log has all of it.
func (r *rig) resumed(id string, n int) string {
	r.t.Helper()
	c, err := r.server.Service().Create(r.t.Context(), ada, api.NewConversation{Preset: "shop-api", Resume: id})
	if err != nil {
		r.t.Fatal(err)
	}
	events, err := r.server.Service().Follow(r.t.Context(), ada, c.ID, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	messages := 0
	for e := range events {
		if e.Type == api.EventMessage {
			messages++
		}
		if messages >= n {
			break
		}
	}
	return c.ID
}

// effort is the cost of an operation: bytes allocated and processor time.
type effort struct {
	bytes uint64        // allocated
	cpu   time.Duration // of all threads
}

// cheapest is the least that one of several rounds takes, for each of its n parts. The
// least, because the server also works in the background.
func cheapest(rounds, n int, do func()) effort {
	least := effort{bytes: 1 << 62, cpu: 1 << 62}
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := cputime.Used()
		do()
		least.cpu = min(least.cpu, (cputime.Used()-began)/time.Duration(n))
		runtime.ReadMemStats(&after)
		least.bytes = min(least.bytes, (after.TotalAlloc-before.TotalAlloc)/uint64(n))
	}
	return least
}

// segment is how many events the server rewrites at most to add one: the cost of an
// event rises up to there, and falls. Lengths that are compared have to be at the same
// point of it.
const segment = 256

// A conversation costs the same to look at, and to add to, however long it is. Memory
// is counted exactly; time is not, so only several times as much of it is a fault.
func TestCostDoesNotGrow(t *testing.T) {
	lengths := []int{100, 100 + segment*long.Pick(4, 390)}
	rounds, loads, events := long.Pick(4, 10), long.Pick(4, 10), long.Pick(3, 5)
	var load, more []effort
	for i, n := range lengths {
		r := newRig(t)
		session := fmt.Sprintf("00000000-0000-4000-8000-10000000000%d", i)
		r.talk(session, n)
		id := r.resumed(session, n)
		_, watched := r.watch(id)
		c := r.client(ada)
		see := func() string {
			status, body := get(t, c, r.http.URL+"/c/"+id)
			if status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
			return body
		}
		if body := see(); !strings.Contains(body, fmt.Sprintf("Answer <strong>%d</strong>", n-1)) {
			t.Fatalf("%d lines: the page has no end", n)
		}
		load = append(load, cheapest(rounds, loads, func() {
			for range loads {
				see()
			}
		}))
		more = append(more, cheapest(rounds, events, func() {
			for k := range events {
				title := fmt.Sprint("title ", k)
				if _, err := r.server.Service().Change(t.Context(), ada, id, api.Change{Title: &title}, ""); err != nil {
					t.Fatal(err)
				}
				<-watched
				see()
			}
		}))
		t.Logf("%d events: %+v for a load, %+v for an event and the load after it", n, load[i], more[i])
	}
	for what, took := range map[string][]effort{"a load": load, "an event": more} {
		short, whole := took[0], took[1]
		if float64(whole.bytes) > 1.25*float64(short.bytes) {
			t.Errorf("%s of %d events allocates %d bytes, of %d %d", what, lengths[0], short.bytes, lengths[1], whole.bytes)
		}
		if whole.cpu > 4*short.cpu+10*time.Millisecond {
			t.Errorf("%s of %d events takes %v, of %d %v", what, lengths[0], short.cpu, lengths[1], whole.cpu)
		}
	}
}

// watch follows a conversation, as an open tab does, and signals when it has
// changed.
func (r *rig) watch(id string) (last int64, changed <-chan struct{}) {
	r.t.Helper()
	tail, err := r.server.Service().Tail(r.t.Context(), ada, id, 0, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	events, err := r.server.Service().Follow(r.t.Context(), ada, id, tail.Last)
	if err != nil {
		r.t.Fatal(err)
	}
	moved := make(chan struct{}, 1000)
	go func() {
		for e := range events {
			if e.Type == api.EventConversation {
				moved <- struct{}{}
			}
		}
	}()
	return tail.Last, moved
}

// The page leads back through a long conversation, piece by piece, and nothing is left
// out or shown twice.
func TestEarlierItems(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const session, n = "00000000-0000-4000-8000-200000000000", 330
	r.talk(session, n)
	path := "/c/" + r.resumed(session, n)
	c := r.client(ada)
	seen := make(map[string]int)
	pages := 0
	for at := path; at != ""; pages++ {
		_, body := get(t, c, r.http.URL+at)
		for i := range n {
			seen[fmt.Sprint(i)] += strings.Count(body, fmt.Sprintf(`bubble">Question %d<`, i)) + strings.Count(body, fmt.Sprintf("<strong>%d</strong>", i))
		}
		_, rest, more := strings.Cut(body, `<a href="?before=`)
		if at = ""; more {
			before, _, _ := strings.Cut(rest, `"`)
			at = path + "?before=" + before
		}
		if (pages > 0) != strings.Contains(body, "To the end") {
			t.Errorf("page %d has a link to the end: %v", pages, pages == 0)
		}
	}
	for i := range n {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("line %d is there %d times", i, seen[fmt.Sprint(i)])
		}
	}
	if pages != 4 {
		t.Errorf("%d pages", pages)
	}
}

// A call that is too long for its row can be read in full, by users who may see its
// conversation, as text that shows every character.
func TestWholeCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "hostile words")
	r.settled(path)
	c := r.client(ada)
	_, body := get(t, c, r.http.URL+path)
	_, rest, ok := strings.Cut(body, `<a href="`+path+`/call/`)
	if !ok {
		t.Fatal("the page has no link")
	}
	use, _, _ := strings.Cut(rest, `"`)
	reply, err := c.Get(r.http.URL + path + "/call/" + use)
	if err != nil {
		t.Fatal(err)
	}
	kind := reply.Header.Get("Content-Type")
	status, text := read(t, reply)
	if status != http.StatusOK || kind != "text/plain; charset=utf-8" || !strings.HasSuffix(text, strings.Repeat("x", 100<<10)+"\n") || strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "echo hostile") {
		t.Errorf("%d %s: %d bytes: %.300s", status, kind, len(text), text)
	}
	if status, _ := get(t, c, r.http.URL+path+"/call/toolu_other"); status != http.StatusNotFound {
		t.Errorf("a call that is not there: %d", status)
	}
	private, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api", Content: api.Text("hostile words")})
	if err != nil {
		t.Fatal(err)
	}
	r.settled("/c/" + private.ID)
	if status, _ := get(t, r.client(api.User{Name: "eve", Role: api.Viewer}), r.http.URL+"/c/"+private.ID+"/call/"+use); status != http.StatusNotFound {
		t.Errorf("somebody else's: %d", status)
	}
}
