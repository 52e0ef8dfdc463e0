package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/inbox"
	"github.com/claude-agent-go/claude/internal/wire"
)

func frame(t testing.TB, line string) wire.Frame {
	t.Helper()
	f, err := wire.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ids writes the member that names prompts, nothing for none.
func ids(list string) string {
	if list == "" {
		return ""
	}
	return `,"user_message_uuids":["` + strings.ReplaceAll(list, "+", `","`) + `"]`
}

// play runs a script of words against an inbox and returns what a consumer
// sees. The words: send:x, init:x+y, echo:x, say:text, answer:x (which names its prompt), result:x+y, fail:x+y (a
// result that is an error), life:x=state, drop:x (abandon), ready (the handshake
// is answered), ends (the input does), take (consume one).
func play(t *testing.T, script string) string {
	t.Helper()
	b := inbox.New(0)
	b.Acquire()
	defer b.Release()
	var got []string
	known := map[string]bool{}
	take := func() bool {
		it, err := b.Next(t.Context())
		if err != nil {
			return false
		}
		got = append(got, describe(&it, known))
		return true
	}
	for word := range strings.FieldsSeq(script) {
		verb, arg, _ := strings.Cut(word, ":")
		var line string
		switch verb {
		case "send":
			known[arg] = true
			b.Sent(arg)
			continue
		case "drop":
			place := b.Abandon(arg)
			note := fmt.Sprintf("abandoned %s in standing %d", arg, place.Progress)
			if place.Shared {
				note += ", shared"
			}
			got = append(got, note)
			continue
		case "take":
			take()
			continue
		case "ready":
			b.Ready()
			continue
		case "ends":
			b.InputEnds()
			continue
		case "echo":
			line = `{"type":"user","uuid":"` + arg + `","message":{"role":"user","content":"hi"}}`
		case "fail":
			line = `{"type":"result","subtype":"error_during_execution","is_error":true` + ids(arg) + `}`
		case "init":
			line = `{"type":"system","subtype":"init"` + ids(arg) + `}`
		case "say":
			line = `{"type":"assistant","text":"` + arg + `"}`
		case "answer":
			line = `{"type":"assistant","text":"answer"` + ids(arg) + `}`
		case "result":
			line = `{"type":"result","subtype":"success"` + ids(arg) + `}`
		case "life":
			id, state, _ := strings.Cut(arg, "=")
			line = `{"type":"command_lifecycle","command_uuid":"` + id + `","state":"` + state + `"}`
		default:
			t.Fatalf("unknown word %q", word)
		}
		effect, err := b.Put(frame(t, line))
		if err != nil {
			t.Fatal(err)
		}
		if effect.StartsAbandoned {
			got = append(got, "begun")
		}
	}
	b.Close(io.EOF)
	for take() {
	}
	return strings.Join(got, "; ")
}

func describe(it *inbox.Item, known map[string]bool) string {
	s := it.Frame.Subtype
	switch it.Frame.Type {
	case "assistant":
		s = it.Frame.Text("text")
	case "result":
		s = "result"
	case "user":
		s = "echo"
	case "command_lifecycle":
		s = it.Frame.Text("state")
	}
	for _, id := range []string{"x", "y", "z"} {
		if known[id] {
			s += map[inbox.End]string{inbox.WithResult: " ends " + id, inbox.Cancelled: " drops " + id, inbox.Lost: " loses " + id, inbox.Answered: " has had " + id}[it.Ends(id)]
		}
	}
	return s
}

func TestTurns(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"one prompt", "send:x init:x say:hi result:x",
			"init; hi; result ends x"},
		{"abandoned when some of it was taken", "send:x init:x say:a say:b take take drop:x say:c result:x send:y init:y result:y",
			"init; a; abandoned x in standing 1; init; result ends y"},
		{"abandoned when its end was taken with the rest", "send:x init:x say:a result:x init: say:bg take drop:x",
			"init; abandoned x in standing 2; init; bg"},
		{"merged prompts", "send:x send:y init:x+y result:x+y",
			"init; result ends x ends y"},
		{"merged while the turn runs", "send:x init:x send:y say:hi result:x+y",
			"init; hi; result ends x ends y"},
		{"sent during the turn, answered in the next", "send:x init:x send:y say:hi result:x init:y result:y",
			"init; hi; result ends x; init; result ends y"},
		{"turn of a background task", "send:x init:x result:x init: say:bg result: send:y init:y result:y",
			"init; result ends x; init; bg; result; init; result ends y"},
		{"background turn before ours", "life:x=queued send:x life:x=queued init: say:bg result: init:x result:x",
			"queued; queued; init; bg; result; init; result ends x"},
		{"a guess taken back", "send:x init: life:x=queued say:bg result: init:x result:x",
			"init; queued; bg; result; init; result ends x"},
		{"a guess taken back, and abandoned", "send:x init: life:x=queued drop:x say:bg result:",
			"abandoned x in standing 0; init; bg; result"},
		{"the answer says whose turn it is", "send:x send:y init: answer:y result: init:x result:x",
			"init; answer; result ends y; init; result ends x"},
		{"result without names in a named turn", "send:x init:x result:",
			"init; result ends x"},
		{"result without init", "send:x result:x", "result ends x"},
		{"foreign result without init", "life:y=completed send:x result:", "completed; result"},
		{"result with nothing to go by", "send:x result: send:y send:z result: result: result:", "result ends x; result ends y; result ends z; result"},
		{"init before the prompt", "init: send:x say:hi result: send:y result:", "init; hi; result ends x; result ends y"},
		{"failure of the start", "send:x fail: result:", "result; result ends x"},
		{"failure with nothing to go by", "ready send:x fail: send:y result:", "result ends x; result ends y"},
		{"result held back", "ends send:x life:x=started init:x say:a life:x=completed init: say:b result:x result:",
			"started; init; a; completed; init; b; result ends x; result"},
		{"CLI that names nothing", "send:x init: say:hi result: send:y init: result:",
			"init; hi; result ends x; init; result ends y"},
		{"CLI that names nothing, sent during the turn", "send:x init: send:y result: init: result:",
			"init; result ends x; init; result ends y"},
		{"CLI that names nothing, one turn for each prompt", "send:x send:y send:z init: result: init: result: init: result:",
			"init; result ends x; init; result ends y; init; result ends z"},
		{"CLI that names nothing and echoes", "send:x send:y init: echo:x say:a result: init: echo:y say:b result:",
			"init; echo; a; result ends x; init; echo; b; result ends y"},
		{"folded in, as the echo says", "send:x init: echo:x say:a send:y send:z echo:y echo:z say:b result: send:x init: echo:x result:",
			"init; echo; a; echo; echo; b; result ends x ends y ends z; init; echo; result ends x"},
		{"slash command, which is not echoed", "send:x send:y init: result: init: echo:y say:a result:",
			"init; result ends x; init; echo; a; result ends y"},
		{"folded into the turn of a slash command", "send:x init: say:a send:y echo:y result:",
			"init; a; echo; result ends x ends y"},
		{"the echo corrects the guess", "send:x send:y init: echo:y say:a result: init: echo:x result:",
			"init; echo; a; result ends y; init; echo; result ends x"},
		{"an echo outside of turns", "send:x send:y echo:y init: echo:x result: init: echo:y result:",
			"echo; init; echo; result ends x; init; echo; result ends y"},
		{"result lost, CLI that names nothing", "send:x init: say:a send:y init: say:b result:",
			"init; a; init loses x; b; result ends y"},
		{"result lost before a turn that is not wanted", "send:x init: say:a send:y drop:y init: say:b result: say:after",
			"abandoned y in standing 0, shared; begun; init; a; init loses x; after"},
		{"cancelled while queued", "send:x life:x=queued life:x=cancelled", "queued; cancelled drops x"},
		{"cancelled after its result", "send:x init:x result:x life:x=cancelled", "init; result ends x; cancelled"},
		{"folded into a running turn", "send:x life:x=started init:x send:y life:y=queued life:y=started say:a life:y=completed result:x+y life:x=completed",
			"started; init; queued; started; a; completed; result ends x ends y; completed"},
		{"result lost", "send:x life:x=started init:x send:y life:y=started say:a life:y=completed life:x=completed send:z init:z result:z",
			"started; init; started; a; completed; completed loses x loses y; init; result ends z"},
		{"answered before", "send:x life:x=completed send:y init:y result:y", "completed has had x; init; result ends y"},
		{"answered before, in the queue", "send:x life:x=queued send:y life:y=started init:y life:x=completed result:y", "queued; started; init; completed has had x; result ends y"},
		{"refused", "send:x life:x=refused", "refused drops x"},

		{"abandoned in its turn", "send:x init:x say:a take take drop:x say:b result:x send:y init:y result:y",
			"init; a; abandoned x in standing 1; init; result ends y"},
		{"abandoned with frames unread", "send:x init:x say:a say:b take drop:x result:x",
			"init; abandoned x in standing 1"},
		{"abandoned after its result came", "send:x init:x say:a result:x take drop:x send:y init:y result:y",
			"init; abandoned x in standing 2; init; result ends y"},
		{"abandoned while queued behind another turn", "send:x life:x=queued init: say:bg drop:x say:bg2 result: life:x=cancelled say:after",
			"abandoned x in standing 0; init; bg; bg2; result; after"},
		{"abandoned while queued, starts anyway", "send:x life:x=queued drop:x life:x=started init:x say:a result:x say:after",
			"abandoned x in standing 0; begun; after"},
		{"abandoned while queued, starts, and is reported twice", "send:x life:x=queued drop:x init:x life:x=started result:x",
			"abandoned x in standing 0; begun"},
		{"abandoned while queued, starts silently before", "send:x life:x=queued drop:x init:x result:x",
			"abandoned x in standing 0; begun"},
		{"abandoned, before one that is wanted", "send:x drop:x send:y init: say:a result: init: say:b result:",
			"abandoned x in standing 0; begun; init; b; result ends y"},
		{"abandoned, folded together with one that is wanted", "send:x init: echo:x say:a send:y echo:y drop:x say:b result:",
			"abandoned x in standing 1, shared; init; echo; a; echo; b; result ends x ends y"},
		{"abandoned both, folded", "send:x init: echo:x say:a send:y echo:y drop:x drop:y say:b result: say:after",
			"abandoned x in standing 1, shared; abandoned y in standing 1; after"},
		{"abandoned, CLI that names nothing", "send:x drop:x init: say:a result: say:after",
			"abandoned x in standing 0; begun; after"},
		{"abandoned, but merged with one that is wanted", "send:x send:y init:x+y drop:x say:a result:x+y",
			"abandoned x in standing 1, shared; init; a; result ends x ends y"},
		{"abandoned, started together with one that is wanted", "send:x send:y life:x=started life:y=started drop:x init:x+y say:a result:x+y",
			"abandoned x in standing 1, shared; started; init; a; result ends x ends y"},
		{"abandoned while queued, starts together with one that is wanted", "send:x send:y life:x=queued drop:x life:x=started life:y=started init:x+y say:a result:x+y",
			"abandoned x in standing 0; started; init; a; result ends x ends y"},
		{"abandoned, merged into a running turn", "send:y init:y send:x life:x=queued drop:x life:x=started say:a result:x+y",
			"abandoned x in standing 0, shared; init; a; result ends x ends y"},
		{"abandoned twice", "send:x init:x drop:x drop:x result:x",
			"abandoned x in standing 1; abandoned x in standing 1"},
		{"abandoned, frames outside turns stay", "send:x init:x drop:x result:x say:later",
			"abandoned x in standing 1; later"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := play(t, tt.script); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.script, got, tt.want)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	b := inbox.New(0)
	check := func(when string, busy, control, prompted bool) {
		t.Helper()
		if b.Busy() != busy || b.NeedsControl() != control || b.Prompted() != prompted {
			t.Errorf("%s: busy %v, needs control %v, prompted %v", when, b.Busy(), b.NeedsControl(), b.Prompted())
		}
	}
	put := func(line string) { b.Put(frame(t, line)) }
	check("at first", false, false, false)
	b.Sent("x")
	check("prompt sent", true, true, true)
	put(`{"type":"system","subtype":"init","user_message_uuids":["x"]}`)
	if s := b.Progress("x"); s != inbox.Started {
		t.Errorf("standing %d", s)
	}
	check("in the turn", true, true, true)
	put(`{"type":"result","user_message_uuids":["x"]}`)
	check("after the result", false, false, false)
	put(`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_bash"}]}`)
	check("with a shell command", true, false, false)
	put(`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_agent"}]}`)
	check("with an agent", true, true, false)
	put(`{"type":"system","subtype":"background_tasks_changed","tasks":[]}`)
	check("with nothing", false, false, false)
	put(`{"type":"system","subtype":"init"}`)
	check("in an unsolicited turn", true, true, true)
	put(`{"type":"result"}`)
	put(`{"type":"system","subtype":"session_state_changed","state":"running"}`)
	check("in a state, and no turn", false, false, false)
	put(`{"type":"system","subtype":"init"}`)
	check("in an unsolicited turn of a CLI that says when it is idle", true, true, true)
	put(`{"type":"result"}`)
	b.Sent("y")
	b.Unsent("y")
	b.Unsent("never sent")
	check("prompt taken back", false, false, false)
	if s := b.Progress("y"); s != inbox.Ended {
		t.Errorf("standing %d", s)
	}
}

// A result reports whether it answers a prompt at all, and whether agents are
// still at work; other frames end nothing.
func TestResultOfATurn(t *testing.T) {
	const agent = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_type":"local_agent"}]}`
	for name, tt := range map[string]struct {
		frames           []string // the last one is looked at
		unprompted, idle bool
	}{
		"of a prompt":             {[]string{word("init:x"), word("result:x")}, false, true},
		"of a prompt, with agent": {[]string{word("init:x"), agent, word("result:x")}, false, false},
		"of a turn of its own":    {[]string{word("init:x"), word("result:x"), word("init:"), word("result:")}, true, true},
		"of another's prompt":     {[]string{word("init:x"), word("result:x"), word("init:other"), word("result:other")}, false, true},
		"not a result":            {[]string{word("init:x"), `{"type":"assistant"}`}, false, false},
	} {
		b := inbox.New(0)
		b.Acquire()
		b.Sent("x")
		var it inbox.Item
		for _, line := range tt.frames {
			b.Put(frame(t, line))
			it, _ = b.Next(t.Context())
		}
		if it.Unprompted() != tt.unprompted || it.Idle() != tt.idle {
			t.Errorf("%s: unprompted %v, idle %v", name, it.Unprompted(), it.Idle())
		}
	}
}

// Partial messages make room for others, and unwanted frames take none.
func TestRoom(t *testing.T) {
	line := func(typ string) string {
		return fmt.Sprintf(`{"type":%q,"pad":%q}`, typ, strings.Repeat("x", 1000))
	}
	const size = 1300 // about
	b := inbox.New(4 * size)
	for i, tt := range []struct {
		typ  string
		full bool
	}{{"assistant", false}, {"stream_event", false}, {"stream_event", false}, {"stream_event", false},
		{"assistant", false}, {"assistant", false}, {"assistant", false}, {"assistant", true}} {
		if _, err := b.Put(frame(t, line(tt.typ))); errors.Is(err, inbox.ErrFull) != tt.full {
			t.Errorf("frame %d: %v", i+1, err)
		}
	}
	if n := b.Dropped(); n != 3 {
		t.Errorf("%d partial messages were dropped, want 3", n)
	}
	b = inbox.New(4 * size)
	b.Sent("x")
	b.Put(frame(t, word("init:x")))
	b.Abandon("x")
	for i := range 20 {
		if _, err := b.Put(frame(t, line("assistant"))); err != nil {
			t.Fatalf("frame %d of a turn that nobody wants: %v", i+1, err)
		}
	}
}

func TestBound(t *testing.T) {
	big := func(typ string, n int) string {
		return fmt.Sprintf(`{"type":%q,"pad":%q}`, typ, strings.Repeat("x", n))
	}
	b := inbox.New(1000)
	put := func(line string) error {
		_, err := b.Put(frame(t, line))
		return err
	}
	if err := put(big("assistant", 5000)); err != nil {
		t.Errorf("the one frame that always has room: %v", err)
	}
	b.Acquire()
	b.Next(t.Context())
	for i := range 3 {
		effect, err := b.Put(frame(t, big("stream_event", 400)))
		if err != nil {
			t.Errorf("partial message over the bound: %v", err)
		}
		if first := i == 1; effect.Dropping != first {
			t.Errorf("message %d: dropping %v, want it told once", i, effect.Dropping)
		}
	}
	if n := b.Dropped(); n != 2 {
		t.Errorf("dropped %d of 3 partial messages, want 2", n)
	}
	if err := put(big("assistant", 400)); err != nil {
		t.Errorf("within the bound: %v", err)
	}
	if err := put(big("assistant", 600)); !errors.Is(err, inbox.ErrFull) {
		t.Errorf("over the bound: %v", err)
	}
	b.Close(inbox.ErrFull)
	var got []string
	for {
		it, err := b.Next(t.Context())
		if err != nil {
			if err != inbox.ErrFull {
				t.Errorf("end: %v", err)
			}
			break
		}
		got = append(got, it.Frame.Type)
	}
	if len(got) != 1 || b.Dropped() != 3 {
		t.Errorf("kept %v, dropped %d", got, b.Dropped())
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox.New(0)
		if !b.Acquire() || b.Acquire() {
			t.Error("two consumers")
		}
		got := make(chan string, 2)
		go func() {
			it, err := b.Next(t.Context())
			got <- fmt.Sprint(it.Frame.Type, err)
			_, err = b.Next(t.Context())
			got <- fmt.Sprint(err)
		}()
		synctest.Wait()
		b.Flush() // no reason to wake the consumer
		b.Put(frame(t, `{"type":"assistant"}`))
		synctest.Wait()
		if len(got) > 0 {
			t.Error("woken before the flush")
		}
		b.Flush()
		if s := <-got; s != "assistant<nil>" {
			t.Error(s)
		}
		synctest.Wait()
		b.Close(io.ErrUnexpectedEOF)
		b.Close(io.EOF)
		if s := <-got; s != io.ErrUnexpectedEOF.Error() {
			t.Error(s)
		}
		b.Release()
		if !b.Acquire() {
			t.Error("the place was not given back")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := b.Next(t.Context()); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
}

// TestQueue holds the places that are used again against a queue that grows
// for ever.
func TestQueue(t *testing.T) {
	b := inbox.New(0)
	b.Acquire()
	put, taken := 0, 0
	take := func() {
		it, err := b.Next(t.Context())
		if err != nil || it.Frame.Text("n") != fmt.Sprint(taken) {
			t.Fatalf("got %s, %v, want number %d", it.Frame.Line, err, taken)
		}
		taken++
	}
	for round := range 40 {
		for range round * round % 97 {
			b.Put(frame(t, fmt.Sprintf(`{"type":"assistant","n":"%d"}`, put)))
			put++
		}
		for range min(put-taken, round*5%61) {
			take()
		}
	}
	for taken < put {
		take()
	}
	if put < 1000 {
		t.Errorf("only %d frames were put", put)
	}
}

func TestQueueAllocations(t *testing.T) {
	b := inbox.New(0)
	b.Acquire()
	b.Put(frame(t, `{"type":"system","subtype":"init"}`)) // a turn begins
	b.Next(t.Context())
	f := frame(t, `{"type":"stream_event"}`)
	batch := func() {
		for range 60 {
			b.Put(f)
		}
		b.Flush()
		for range 60 {
			b.Next(t.Context())
		}
	}
	batch()
	if n := testing.AllocsPerRun(10, batch); n > 0 {
		t.Errorf("%v allocations for a batch of frames, want none", n)
	}
}
