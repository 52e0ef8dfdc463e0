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

// dialogue is a conversation, and a tab that shows it.
type dialogue struct {
	rig     *rig
	id      string
	length  int // events at first
	client  *http.Client
	changed <-chan struct{}
	ended   <-chan string // prompts
	sent    int
}

// dialogue makes a conversation of a session of n lines, which nobody follows yet.
func (r *rig) dialogue(session string, n int) *dialogue {
	r.t.Helper()
	r.talk(session, n)
	return &dialogue{rig: r, id: r.resumed(session, n), length: n, client: r.client(ada)}
}

// followed adds an open tab.
func (d *dialogue) followed() *dialogue {
	d.rig.t.Helper()
	_, d.changed, d.ended = d.rig.watch(d.id)
	return d
}

// see loads the page, which has to show some text.
func (d *dialogue) see(want string) {
	t := d.rig.t
	t.Helper()
	if status, body := get(t, d.client, d.rig.http.URL+"/c/"+d.id); status != http.StatusOK || !strings.Contains(body, want) {
		t.Fatalf("%d events: status %d, and %q is not there", d.length, status, want)
	}
}

// rename changes the title and loads the page.
func (d *dialogue) rename() {
	t := d.rig.t
	t.Helper()
	d.sent++
	title := fmt.Sprint("title ", d.sent)
	if _, err := d.rig.server.Service().Change(t.Context(), ada, d.id, api.Change{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	<-d.changed
	d.see(title)
}

// message sends a prompt, waits for the end of its turn and loads the page.
func (d *dialogue) message() {
	t := d.rig.t
	t.Helper()
	d.sent++
	text := fmt.Sprint("message ", d.sent)
	p, err := d.rig.server.Service().Send(t.Context(), ada, d.id, api.NewPrompt{Content: api.Text(text)})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-d.ended; got != p.ID {
		t.Fatalf("the prompt that has ended is %q, not %q", got, p.ID)
	}
	d.see("You said: " + text)
}

// lengths are those that are compared: the short one fills a screen.
func lengths() []int { return []int{100, 100 + segment*long.Pick(4, 390)} }

// A conversation costs the same to look at, to add to and to talk in, however long it is:
// at most 1.5 times as much. What a message costs includes all of its turn, and so the
// scripted CLI, which is in this process too.
func TestCostDoesNotGrow(t *testing.T) {
	var talks []*dialogue
	for i, n := range lengths() {
		talks = append(talks, newRig(t).dialogue(fmt.Sprintf("00000000-0000-4000-8000-10000000000%d", i), n))
	}
	if long.Enabled() { // to write 100,000 events once is enough
		coldLoads(t, talks[1])
	}
	for _, d := range talks {
		d.followed().see(fmt.Sprintf("Answer <strong>%d</strong>", d.length-1))
	}
	compare(t, "a load", talks, long.Pick(4, 10), func(d *dialogue) { d.see("</html>") })
	compare(t, "an event and the load after it", talks, long.Pick(3, 5), (*dialogue).rename)
	for _, d := range talks {
		d.message() // it starts the CLI, which reads the whole session
	}
	compare(t, "a message, its turn and the load after it", talks, long.Pick(2, 5), (*dialogue).message)
}

// compare fails if something costs more in the second of two conversations than in the
// first. They take turns, so that a machine with other work slows down both, and the least
// of all rounds counts. There are more of them while the two differ, enough for several
// segments: the two may come to the cheap part of a segment at different times.
func compare(t *testing.T, what string, talks []*dialogue, times int, do func(*dialogue)) {
	t.Helper()
	least := []effort{{bytes: 1 << 62, cpu: 1 << 62}, {bytes: 1 << 62, cpu: 1 << 62}}
	short, whole := &least[0], &least[1]
	dear := func() bool {
		return float64(whole.cpu) > 1.5*float64(short.cpu) || float64(whole.bytes) > 1.5*float64(short.bytes)
	}
	for round := 0; round < long.Pick(4, 10) || round < 40 && dear(); round++ {
		for i, d := range talks {
			runtime.GC() // nobody pays for what others have left
			e := cheapest(1, times, func() {
				for range times {
					do(d)
				}
			})
			least[i] = effort{min(least[i].bytes, e.bytes), min(least[i].cpu, e.cpu)}
		}
	}
	t.Logf("%s: %+v among %d events, %+v among %d", what, *short, talks[0].length, *whole, talks[1].length)
	if dear() {
		t.Errorf("%s takes %v and %d bytes among %d events, %v and %d bytes among %d", what, whole.cpu, whole.bytes, talks[1].length, short.cpu, short.bytes, talks[0].length)
	}
}

// watch follows a conversation, as an open tab does, and passes on its changes and the
// prompts that have ended.
func (r *rig) watch(id string) (last int64, changed <-chan struct{}, ended <-chan string) {
	r.t.Helper()
	tail, err := r.server.Service().Tail(r.t.Context(), ada, id, 0, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	events, err := r.server.Service().Follow(r.t.Context(), ada, id, tail.Last)
	if err != nil {
		r.t.Fatal(err)
	}
	moved, prompts := make(chan struct{}, 1000), make(chan string, 1000)
	go func() {
		for e := range events {
			switch e.Type {
			case api.EventConversation:
				moved <- struct{}{}
			case api.EventTurn:
				prompts <- e.Turn.Prompt
			}
		}
	}()
	return tail.Last, moved, prompts
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
	if status, _ := get(t, r.client(api.User{Name: "eve", Role: api.RoleViewer}), r.http.URL+"/c/"+private.ID+"/call/"+use); status != http.StatusNotFound {
		t.Errorf("somebody else's: %d", status)
	}
}
