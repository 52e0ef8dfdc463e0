package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A reader is told that a compaction runs and how it ended, also one in another process,
// and one that joins in the middle. One that is over is not reported, unless it
// failed while it followed; neither is one whose boundary it has read.
func TestLiveCompaction(t *testing.T) {
	const session = "00000000-0000-4000-8000-000000000001"
	status := func(members string) message.Message {
		m, err := message.Decode([]byte(`{"type":"system","subtype":"status","session_id":"` + session + `",` + members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	begun := status(`"status":"compacting","uuid":"1"`)
	further := status(`"status":"compacting","compact_output_chars":7,"uuid":"2"`)
	ended := status(`"status":null,"compact_result":"success","uuid":"3"`)
	failed := status(`"status":null,"compact_result":"failed","compact_error":"too short","uuid":"4"`)
	bare := status(`"status":null,"uuid":"7"`)
	moved := status(`"status":null,"permissionMode":"plan","uuid":"8"`)
	boundary := `{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto"},"uuid":"5","sessionId":"` + session + `"}`
	look := message.Message(nil) // the reader looks
	for _, c := range []struct {
		name   string
		before []message.Message // the reader comes
		said   []message.Message
		stored int // the look before which the store gets the boundary
		want   []string
	}{
		{"whole", nil, []message.Message{begun, look, further, look, ended, look, look}, 4, []string{"compacting", "success", "boundary"}},
		{"failed", nil, []message.Message{begun, look, failed, look}, 0, []string{"compacting", "too short"}},
		{"twice", nil, []message.Message{begun, failed, look, begun, look, failed, look}, 0, []string{"too short", "compacting", "too short"}},
		{"joined in the middle", []message.Message{begun, further}, []message.Message{look, ended, look}, 0, []string{"compacting", "success"}},
		{"over before it came", []message.Message{begun, ended}, []message.Message{look}, 0, nil},
		{"failed before it came", []message.Message{begun, failed}, []message.Message{look}, 0, nil},
		{"over at once", nil, []message.Message{begun, ended, look, look}, 2, []string{"boundary"}},
		{"the store was faster", nil, []message.Message{look, begun, look, ended, look}, 2, []string{"boundary", "success"}},
		{"compacted long ago", []message.Message{begun}, []message.Message{look}, 1, []string{"boundary", "compacting"}},
		{"cut off by a result", nil, []message.Message{begun, look, &message.Result{}, look}, 0, []string{"compacting", "the compaction was cut off", "result"}},
		{"cut off at once", nil, []message.Message{begun, &message.Result{}, look}, 0, []string{"the compaction was cut off", "result"}},
		{"given up", nil, []message.Message{begun, look, bare, look, bare, look}, 0, []string{"compacting", "the compaction was given up: a hook may have blocked it"}},
		{"given up at once", nil, []message.Message{begun, bare, look}, 0, []string{"the compaction was given up: a hook may have blocked it"}},
		{"not ended by a mode", nil, []message.Message{begun, look, moved, look, ended, look}, 0, []string{"compacting", "success"}},
		{"not of a compaction", nil, []message.Message{status(`"status":"requesting","uuid":"6"`), ended, failed, look}, 0, nil},
	} {
		for _, elsewhere := range []bool{false, true} {
			db := store.Memory()
			f := assemble(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})
			stores := func(line string) {
				if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, store.Batch{Entries: []store.Entry{store.Entry(line)}}); err != nil {
					t.Fatal(err)
				}
			}
			live := new(liveText)
			for _, m := range c.before {
				live.add(m)
			}
			if elsewhere { // what another process has of it
				live = ask(t, live)
			}
			var got []string
			r := &eventReader{records: f.records, key: "ada", at: position{session: session}, yield: func(e ConversationEvent, _ error) bool {
				switch m := e.Message.(type) {
				case *message.Status:
					got = append(got, cmp.Or(m.Status, m.CompactError, m.CompactResult))
				case *message.CompactBoundary:
					got = append(got, "boundary")
				case *message.Result:
					got = append(got, "result")
				}
				return true
			}}
			u, _ := live.now()
			r.comes(u)
			looks := 0
			if c.stored != 1 {
				stores(`{"type":"user","uuid":"0","message":{"role":"user","content":"hello"}}`)
			}
			for _, m := range c.said {
				if m != nil {
					live.add(m)
					continue
				}
				u, _ := live.now()
				if looks++; looks == c.stored {
					stores(boundary)
				}
				if more, err := r.readSession(t.Context()); !more || err != nil {
					t.Fatal(more, err)
				}
				r.listen(u)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, elsewhere %t: yielded %q, want %q", c.name, elsewhere, got, c.want)
			}
		}
	}
}

// A process that has missed the end of a compaction learns how it ended from the next
// snapshot. One that was cut off keeps its id.
func TestMissedEndOfCompaction(t *testing.T) {
	status := func(members string) message.Message {
		m, err := message.Decode([]byte(`{"type":"system","subtype":"status","session_id":"s",` + members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for want, end := range map[string]message.Message{
		"3 success ":                          status(`"status":null,"compact_result":"success","uuid":"3"`),
		"4 failed too short":                  status(`"status":null,"compact_result":"failed","compact_error":"too short","uuid":"4"`),
		"1 failed the compaction was cut off": &message.Result{},
		"7 failed the compaction was given up: a hook may have blocked it": status(`"status":null,"uuid":"7"`),
	} {
		here, there := new(liveText), new(liveText)
		here.add(status(`"status":"compacting","uuid":"1"`))
		there.load(here.state(), nil)
		here.add(end)
		there.load(here.state(), nil)
		s := there.compact.status
		if got := fmt.Sprint(s.UUID, " ", s.CompactResult, " ", s.CompactError); got != want || there.compact.runs() {
			t.Errorf("it ended as %q, want %q", got, want)
		}
	}
}
