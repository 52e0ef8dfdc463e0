package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// What the row of a call shows, for each decision and outcome: a denial and an unknown
// end stand above a result, and a question that nobody needs any more does not.
func TestStateOfCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		note        api.ApprovalNote
		done        bool
		state, tone string
	}{
		{api.ApprovalNote{State: api.ApprovalPending}, false, "waiting", "warn"},
		{api.ApprovalNote{State: api.ApprovalAllowed}, false, "running", ""},
		{api.ApprovalNote{State: api.ApprovalAllowed}, true, "ok", "good"},
		{api.ApprovalNote{State: api.ApprovalAllowed, Outcome: "unknown"}, true, "unknown", "warn"},
		{api.ApprovalNote{State: api.ApprovalDenied}, true, "denied", "bad"},
		{api.ApprovalNote{State: api.ApprovalExpired}, false, "expired", "warn"},
		{api.ApprovalNote{State: api.ApprovalWithdrawn}, false, "withdrawn", "warn"},
		{api.ApprovalNote{State: api.ApprovalWithdrawn}, true, "ok", "good"},
	} {
		r := toolRow{State: "running", done: c.done}
		if c.done {
			r.State = "ok"
		}
		if r.judge(&c.note); r.State != c.state || r.Tone() != c.tone {
			t.Errorf("%+v, done: %v: %s, %q", c.note, c.done, r.State, r.Tone())
		}
	}
	if got := (&toolRow{State: "failed"}).Tone(); got != "bad" {
		t.Errorf("a failed call is %q", got)
	}
}

// Times are rounded down, as the script does.
func TestAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago", 119 * time.Second: "1 minute ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 71 * time.Hour: "2 days ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The inbox shows what works or has failed, and then what has news, at most ten of it,
// but nothing twice and nothing archived.
func TestRowsOfInbox(t *testing.T) {
	t.Parallel()
	var all []api.Conversation
	for _, state := range []api.State{api.StateIdle, api.StateQueued, api.StateStarting, api.StateRunning, api.StateWaiting, api.StateDeferred, api.StateFailed, api.StateEnded} {
		all = append(all, api.Conversation{ID: string(state), State: state, Unread: true, Pending: map[bool]int{true: 1}[state == api.StateWaiting || state == api.StateDeferred], Archived: state == api.StateEnded}, api.Conversation{ID: "read", State: api.StateIdle})
	}
	for i := range 12 {
		all = append(all, api.Conversation{ID: fmt.Sprint(i), State: api.StateIdle, Unread: true})
	}
	var v inboxView
	v.rows(all)
	ids := func(list []api.Conversation) (names []string) {
		for _, c := range list {
			names = append(names, c.ID)
		}
		return names
	}
	if got := ids(v.Live); !slices.Equal(got, []string{"queued", "starting", "running"}) {
		t.Errorf("working: %q", got)
	}
	if got := ids(v.Failed); !slices.Equal(got, []string{"failed"}) {
		t.Errorf("stuck: %q", got)
	}
	if got := ids(v.Fresh); !slices.Equal(got, []string{"idle", "0", "1", "2", "3", "4", "5", "6", "7", "8"}) || v.Older != 3 {
		t.Errorf("with news: %q, and %d more", got, v.Older)
	}
}

// Only prompts that have not begun, and the one that is stuck, can be taken back.
func TestQueueOfPrompts(t *testing.T) {
	t.Parallel()
	var all []api.Prompt
	for _, state := range []api.PromptState{api.PromptQueued, api.PromptRunning, api.PromptWaiting, api.PromptStuck, api.PromptAnswered, api.PromptFailed, api.PromptCancelled, api.PromptExpired} {
		all = append(all, api.Prompt{ID: string(state), State: state, Text: "a\u202eb"})
	}
	got := queue(all)
	if len(got) != 2 || got[0].ID != "queued" || got[1].ID != "stuck" || strings.ContainsRune(got[0].Text, '\u202e') || all[0].Text != "a\u202eb" {
		t.Errorf("%+v", got)
	}
}

// A form's default value is chosen, as a text, as one of several, or as it is written.
func TestDefaultsOfFields(t *testing.T) {
	t.Parallel()
	field := func(kind api.FieldKind, format, value string) api.FormField {
		return api.FormField{Kind: kind, Format: format, Default: json.RawMessage(value)}
	}
	for value, want := range map[string]string{`"a"`: "a", `["b","a"]`: "a b", `true`: "true", ``: "", `"true"`: "true", `["ab"]`: ""} {
		var got []string
		for _, one := range []string{"a", "b", "true"} {
			if chosen(field("", "", value), one) {
				got = append(got, one)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s chooses %q", value, got)
		}
	}
	for _, c := range []struct {
		f           api.FormField
		entry, text string
	}{
		{field(api.FieldText, "", `"x"`), "text", "x"}, {field(api.FieldText, "email", `"a@b"`), "email", "a@b"}, {field(api.FieldText, "uri", ``), "url", ""}, {field(api.FieldText, "date", ``), "date", ""},
		{field(api.FieldText, "date-time", ``), "text", ""}, {field(api.FieldNumber, "", `1.5`), "number", "1.5"}, {field(api.FieldInteger, "", `3`), "number", "3"}, {field(api.FieldText, "", `3`), "text", ""},
	} {
		if entryType(c.f) != c.entry || presetText(c.f) != c.text {
			t.Errorf("%+v: %s with %q", c.f, entryType(c.f), presetText(c.f))
		}
	}
}

// Only an address that a browser may open, and that people see as it is, is a link.
func TestWebAddress(t *testing.T) {
	t.Parallel()
	long := "https://x.example/" + strings.Repeat("a", maxAddress)
	for address, want := range map[string]bool{
		"https://x.example/a?b#c": true, "http://x.example": true, "javascript:alert(1)": false, "data:text/html,x": false, "//x.example": false, "https:///x": false, "ftp://x.example": false,
		"https://x.example/\u202e": false, long: false, long[:maxAddress]: true,
	} {
		if got := webAddress(address); (got == address) != want || !want && got != "" {
			t.Errorf("%.40q: %.40q", address, got)
		}
	}
}

// The log may have the end of a turn before its last words, which go before it. Files can
// be restored at each prompt since which one was edited, and at no other.
func TestOrderOfItems(t *testing.T) {
	t.Parallel()
	user := func(id, text string) api.Event {
		return api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"user","uuid":"` + id + `","message":{"role":"user","content":"` + text + `"}}`)}
	}
	model := func(content string) api.Event {
		return api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[` + content + `]}}`)}
	}
	events := []api.Event{
		user("p1", "one"), model(`{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/srv/a","old_string":"x","new_string":"y"}}`),
		{Type: api.EventMessage, Message: json.RawMessage(`{"type":"user","uuid":"r","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`)},
		{Type: api.EventTurn, Turn: &api.Turn{Prompt: "p1", State: api.PromptAnswered, Millis: 2000, CostUSD: 0.5}}, model(`{"type":"text","text":"late"}`),
		user("p2", "two"), {Type: api.EventTurn, Turn: &api.Turn{Prompt: "p2", State: api.PromptAnswered, PartOf: "p1"}},
	}
	for i := range events {
		events[i].Seq = int64(i + 1)
	}
	tl := newTimeline("/srv", events)
	tl.offerRewind("/to")
	var got []string
	for _, it := range tl.items {
		got = append(got, strings.TrimSpace(it.Kind+" "+it.Prompt+" "+it.Rewind))
	}
	if want := []string{"prompt p1 /to", "tool", "text", "turn", "prompt p2", "turn"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a, b := tl.items[3].Text, tl.items[5].Text; !strings.Contains(a, "answered in 2") || !strings.Contains(a, "$0.50") || b != "answered in the turn that it steers" {
		t.Errorf("the turns are %q and %q", a, b)
	}
	if files := tl.changes(nil); len(files) != 1 || files[0].Path != "a" || files[0].Added != 1 || files[0].Removed != 1 {
		t.Errorf("%+v", files)
	}
	if files := tl.changes(map[string]bool{"t1": true}); len(files) != 0 {
		t.Errorf("what was taken back is listed: %+v", files)
	}
}
