package fleet

import (
	"errors"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// TestReactTo checks what each kind of change calls for. One's own changes call for
// nothing, unless something was missed.
func TestReactTo(t *testing.T) {
	record := func(kind, name string, revision int64) store.Changed {
		return store.Changed{Record: store.RecordKey{Project: "p", Kind: kind, Name: name}, Revision: revision}
	}
	at := place("acme/ada")
	lease := store.Fence{Project: "p", Name: leaseName(at), Token: 3}
	for name, c := range map[string]struct {
		changed store.Changed
		want    reaction
	}{
		"something was missed":                 {store.Changed{}, lookAtAll},
		"a prompt":                             {record(kindPrompt, at+"/1", 7), promptChanged},
		"a prompt that is gone":                {record(kindPrompt, at+"/1", 0), promptGone},
		"a prompt of nothing":                  {record(kindPrompt, "x", 7), ignore},
		"an outcome":                           {record(kindOutcome, at+"/1", 7), promptEnded},
		"an outcome that is gone":              {record(kindOutcome, at+"/1", 0), promptEnded},
		"the mark of an outcome":               {record(outcomelog.KindMark, "1", 7), outcomeMarked},
		"a mark that is in the log":            {record(outcomelog.KindMark, "1", 0), ignore},
		"a conversation":                       {record(kindConversation, at, 7), conversationChanged},
		"a conversation that is gone":          {record(kindConversation, at, 0), conversationChanged},
		"a question":                           {record(approval.Kind, "q", 7), questionChanged},
		"a question that is gone":              {record(approval.Kind, "q", 0), questionChanged},
		"a record of another program":          {record("serve.log", at, 7), ignore},
		"a lease":                              {store.Changed{Released: lease.Name, By: lease}, leaseFree},
		"a lease of something else":            {store.Changed{Released: cleaning}, ignore},
		"a transcript":                         {store.Changed{Transcript: store.Key{Project: "p", Session: "s"}, By: lease}, saidMore},
		"a transcript that was written freely": {store.Changed{Transcript: store.Key{Project: "p", Session: "s"}}, ignore},
		"a transcript under another's lease":   {store.Changed{Transcript: store.Key{Project: "p", Session: "s"}, By: store.Fence{Name: "x", Token: 1}}, ignore},
	} {
		if got := reactTo(c.changed, false); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		want := ignore
		if c.want == lookAtAll {
			want = lookAtAll
		}
		if got := reactTo(c.changed, true); got != want {
			t.Errorf("%s, written here: %s, want %s", name, got, want)
		}
	}
}

// TestJudge checks which announcements are taken for those of own changes.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		made      []int64
		announced int64
		own       bool
		left      []int64
	}{
		"nothing was made":                {nil, 5, false, nil},
		"it was":                          {[]int64{5}, 5, true, nil},
		"the first of two":                {[]int64{5, 7}, 5, true, []int64{7}},
		"the last stands for both":        {[]int64{5, 7}, 7, true, nil},
		"between two":                     {[]int64{5, 7}, 6, false, []int64{7}},
		"before them":                     {[]int64{5, 7}, 4, false, []int64{5, 7}},
		"behind them":                     {[]int64{5, 7}, 8, false, nil},
		"our drop":                        {[]int64{5, 0}, 0, true, nil},
		"made after our drop":             {[]int64{0, 9}, 9, true, nil},
		"another made it before our drop": {[]int64{0}, 6, false, []int64{0}},
		"another dropped it":              {[]int64{5}, 0, false, nil},
	} {
		own, left := judge(c.made, c.announced)
		if own != c.own || !slices.Equal(left, c.left) {
			t.Errorf("%s: %t, left %v; want %t, %v", name, own, left, c.own, c.left)
		}
	}
}

// An announcement that comes before the answer to its write waits for the revision. A
// write whose fate is unknown is looked at as that of another.
func TestAnnouncedBeforeTheAnswer(t *testing.T) {
	change := []store.RecordChange{{Key: store.RecordKey{Project: "p", Kind: kindPrompt, Name: place("ada") + "/1"}}}
	announced := func(revision int64) store.Changed { return store.Changed{Record: change[0].Key, Revision: revision} }
	for name, c := range map[string]struct {
		err    error
		before []int64 // announced before the answer, which is 5
		after  []int64
		want   []bool // own
	}{
		"before":                {nil, []int64{5}, nil, []bool{true}},
		"after":                 {nil, nil, []int64{5}, []bool{true}},
		"with that of another":  {nil, []int64{5, 6}, []int64{7}, []bool{true, false, false}},
		"not known":             {errors.New("timeout"), []int64{5}, nil, []bool{false}},
		"not known, and behind": {errors.New("timeout"), nil, []int64{5}, []bool{false}},
	} {
		e := newEar(store.Memory(), 0)
		e.hear(store.Changed{})
		var got []bool
		e.notice = func(_ store.Changed, own bool) { got = append(got, own) }
		e.begin(change)
		for _, revision := range c.before {
			e.hear(announced(revision))
		}
		if len(got) > 0 {
			t.Errorf("%s: noticed before the answer", name)
		}
		e.end(change, []int64{5}, c.err)
		for _, revision := range c.after {
			e.hear(announced(revision))
		}
		if !slices.Equal(got, c.want) || len(e.made)+len(e.writing) > 0 {
			t.Errorf("%s: own %v, want %v; left %v, %v", name, got, c.want, e.made, e.writing)
		}
	}
}
