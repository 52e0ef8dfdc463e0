package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

var cuts = flag.Int("cuts", long.Pick(4, 40), "how many streams TestStreamCutAtRandomBytes cuts with each seed")

// page is a client's view of a conversation after any number of connections.
type page struct {
	t      *testing.T
	last   string // the id of the last whole event
	events []sse
	live   map[int]string // text that is being written, by block
}

// take takes what came over one connection, which may end anywhere. As in a
// browser, an event counts when the blank line after it has come.
func (p *page) take(raw []byte) (ended bool) {
	p.live = make(map[int]string)
	for e, err := range readSSE(bytes.NewReader(raw)) {
		if err != nil {
			p.t.Fatal(err)
		}
		if e.id != "" {
			p.last, p.events = e.id, append(p.events, e)
		}
		var body struct {
			Blocks []api.Block
			Delta  *api.Delta
		}
		if err := json.Unmarshal([]byte(e.data), &body); err != nil {
			p.t.Fatalf("%v: %s", err, e.data)
		}
		switch e.event {
		case "reset":
			p.t.Fatalf("after %s: %s", p.last, e.data)
		case "partial":
			clear(p.live)
			for _, b := range body.Blocks {
				p.live[b.Block] = b.Text
			}
		case "delta":
			if have := units(p.live[body.Delta.Block]); have != body.Delta.Offset {
				p.t.Fatalf("a piece at %d, and there are %d", body.Delta.Offset, have)
			}
			p.live[body.Delta.Block] += body.Delta.Text
		case "turn":
			ended = true
		}
	}
	return ended
}

// connect reads one connection until a number of bytes has come.
func (p *page) connect(c *client, path string, n int) []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	req := c.request("GET", path, nil).WithContext(ctx)
	if p.last != "" {
		req.Header.Set("Last-Event-ID", p.last)
	}
	res, err := c.http.Client().Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var raw []byte
	for chunk := make([]byte, n); len(raw) < n && !turnEnded(raw); {
		got, err := res.Body.Read(chunk[:n-len(raw)])
		raw = append(raw, chunk[:got]...)
		if err != nil {
			p.t.Fatalf("%v after %q", err, raw)
		}
	}
	return raw
}

// turnEnded reports whether the last that came is the end of a turn.
func turnEnded(raw []byte) bool {
	i := bytes.LastIndex(raw, []byte("\nevent: turn\n"))
	return i >= 0 && bytes.Contains(raw[i:], []byte("\n\n"))
}

// A stream that is cut at random bytes, again and again while the conversation
// continues, ends equal to an uncut one; text that is being written fits together
// after each cut. The long level has more seeds.
func TestStreamCutAtRandomBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	for seed := range uint64(long.Pick(1, 5)) {
		cutStreams(t, r, ada, seed)
	}
}

// cutStreams cuts one stream that is being written and some that are finished, where a
// seed says.
func cutStreams(t *testing.T, r *rig, ada *client, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)

	// While it is written: short connections, until the turn has ended.
	live := ada.begin("slowly " + strings.Repeat("ä€😀 word ", 12))
	path := "/v1/conversations/" + live.ID + "/events?after=0"
	p := &page{t: t}
	for !p.take(p.connect(ada, path, 30+random.IntN(900))) {
	}
	whole := lasting(ada.follow(path, untilTurns(1)))
	if !slices.Equal(p.events, whole) {
		t.Errorf("while it was written:\n%v\nwant\n%v", p.events, whole)
	}

	// What is finished, at any byte.
	done := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
	path = "/v1/conversations/" + done.ID + "/events?after=0"
	whole = lasting(ada.follow(path, untilTurns(1)))
	size := 0
	for _, e := range whole {
		size += len(e.event) + len(e.id) + len(e.data) + len("event: \nid: \ndata: \n\n")
	}
	for range *cuts {
		p := &page{t: t}
		for len(p.events) < len(whole) {
			if p.take(p.connect(ada, path, 1+random.IntN(size))) {
				break
			}
		}
		if !slices.Equal(p.events, whole) {
			t.Fatalf("%v\nwant\n%v", p.events, whole)
		}
	}
}
