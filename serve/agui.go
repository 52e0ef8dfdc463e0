package serve

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/agui"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// aguiRun is a run of AG-UI: from a prompt, or from decisions, to the end of the turn
// or to the next questions. It is a client of the [Service] like any other, and the
// conversation continues without it.
type aguiRun struct {
	*call
	in     *agui.RunInput
	about  api.Conversation
	prompt string // the id of the newest prompt, empty if there is none
	begun  bool   // the run has begun the conversation

	events *translator
	shown  *snapshot // collects what is sent as one snapshot
	stream *stream
	broken bool // the client is gone

	asked   map[string]bool // the approvals in the log
	awaited map[string]bool // the prompts that the run waits for
	turn    *api.Turn       // the last of their turns that has ended
	used    []*api.Turn     // all of their turns that have ended
	place   int64           // the number of the last translated event
}

// runAgent serves POST /ag-ui/{preset}. A fault in the request itself is answered with
// a problem; anything later becomes an event of the stream.
func (c *call) runAgent() error {
	r := &aguiRun{call: c, in: c.body.(*agui.RunInput), asked: make(map[string]bool), awaited: make(map[string]bool)}
	content, err := r.newest()
	if err != nil {
		return err
	}
	answers, err := r.answers()
	if err != nil {
		return err
	}
	o := &c.service().opts
	if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
		return limited.because("too many streams are open: close some, or come back later")
	}
	defer c.s.streams.leave(c.user.Name)
	if r.about, err = r.thread(content); err != nil {
		return err
	}
	ctx, cancel := c.streaming()
	defer cancel()
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	r.stream = &stream{w: c.w, control: http.NewResponseController(c.w)}
	r.events = newTranslator(r.send)
	c.w.WriteHeader(http.StatusOK)
	r.send(agui.RunEvent{Type: "RUN_STARTED", ThreadID: r.in.ThreadID, RunID: r.in.RunID, ProtocolVersion: agui.Version})
	r.send(agui.RunEvent{Type: "CUSTOM", Name: "claude.conversation", Value: r.about})
	if err := r.do(ctx, content, answers); err != nil {
		r.fail(problemOf(err))
	}
	return nil
}

// newestOfUser returns the newest message of the user, nil if there is none.
func (r *aguiRun) newestOfUser() *agui.RunMessage {
	for i := range slices.Backward(r.in.Messages) {
		if r.in.Messages[i].Role == "user" {
			return &r.in.Messages[i]
		}
	}
	return nil
}

// newest returns the content of the user's newest message.
func (r *aguiRun) newest() (message.Content, error) {
	m := r.newestOfUser()
	if m == nil {
		if len(r.in.Resume) > 0 {
			return nil, nil
		}
		return nil, faulty("/messages", "none of the messages has the role user, so nothing can be sent")
	}
	content, err := partsOf(m.Content)
	if err != nil {
		return nil, faulty("/messages", "the newest message of the user: "+problemOf(err).Detail)
	}
	return content, nil
}

// thread finds the conversation of a thread, or begins it with the prompt of the run. A
// name that is not the id of a conversation visible to the user is a name of the user's
// own choice.
func (r *aguiRun) thread(content message.Content) (api.Conversation, error) {
	s, ctx := r.service(), r.ctx()
	own := r.in.ThreadID
	if !uuid.Valid(own) {
		own = uuidFrom("thread", r.user.Name, r.in.ThreadID)
	}
	preset := r.r.PathValue("preset")
	for _, id := range []string{r.in.ThreadID, idOf(tenantOf(r.user.Name) + "/" + own)} {
		c, err := s.Conversation(ctx, r.user, id)
		if notFound.is(err) {
			continue
		}
		if err == nil && c.Preset != preset {
			err = badRequest.because("the thread has the preset %q: POST /ag-ui/%s continues it", c.Preset, c.Preset)
		}
		r.prompt = r.promptOf(c.ID)
		return c, err
	}
	if len(r.in.Resume) > 0 {
		return api.Conversation{}, notFound.because("the thread to resume does not exist")
	}
	r.prompt, r.begun = r.promptOf(idOf(tenantOf(r.user.Name)+"/"+own)), true
	return s.create(ctx, r.user, creation{
		NewConversation: api.NewConversation{Preset: preset}, id: own, content: content, prompt: r.prompt,
	})
}

// promptOf returns the id of the newest prompt in a conversation, empty if there is
// none. Every run derives the same id, so a repeated run sends nothing twice.
func (r *aguiRun) promptOf(conversation string) string {
	newest := r.newestOfUser()
	if newest == nil {
		return ""
	}
	return uuidFrom("ag-ui", conversation, newest.ID)
}

// do decides, prompts and follows.
func (r *aguiRun) do(ctx context.Context, content message.Content, answers []resumeAnswer) error {
	s, user := r.service(), r.user
	if r.begun { // it began with the prompt, so everything is new
		r.awaited[r.prompt] = true
		return r.follow(ctx, 0)
	}
	past, last, err := s.Log(ctx, user, r.about.ID)
	if err != nil {
		return err
	}
	known := r.review(past)
	repeated, from, err := r.decide(ctx, answers)
	if err != nil {
		return err
	}
	switch {
	case r.prompt != "" && !known:
		if _, err := s.Send(ctx, user, r.about.ID, api.NewPrompt{ID: r.prompt, Content: encoded(content)}); err != nil {
			return err
		}
		r.awaited[r.prompt] = true
	case len(answers) == 0:
		repeated = true
	}
	if len(answers) == 0 {
		from = last
	}
	r.recall(past, from, repeated, answers)
	return r.follow(ctx, last)
}

// review notes which prompts belong to the run, and reports whether the newest one was
// sent before.
func (r *aguiRun) review(past []api.Event) (known bool) {
	open := make(map[string]bool)
	for i := range past {
		switch e := &past[i]; e.Type {
		case api.EventPrompt:
			open[e.Prompt.ID] = true
			known = known || e.Prompt.ID == r.prompt
		case api.EventTurn:
			delete(open, e.Turn.Prompt)
		case api.EventApproval:
			r.asked[e.Approval.ID] = true
		}
	}
	if len(r.in.Resume) > 0 {
		r.awaited = open
	}
	if known {
		r.awaited[r.prompt] = true
	}
	return known
}

// recall goes through the past events. The client of a repeated run may have seen any
// part of it, and gets all messages in one snapshot; otherwise it gets what it has not
// seen yet.
func (r *aguiRun) recall(past []api.Event, from int64, repeated bool, answers []resumeAnswer) {
	const context = 100 // events that may hold other blocks of the same answer
	if !repeated && len(answers) == 0 {
		skipped := max(0, len(past)-context)
		for i := range past[:skipped] {
			r.events.note(&past[i])
		}
		past = past[skipped:]
	}
	if repeated {
		r.shown = new(snapshot)
		r.events.emit = r.shown.take
	} else {
		r.events.emit = func(agui.RunEvent) {}
	}
	live := func() {
		r.events.emit = r.send
		for _, a := range answers { // the run that ended with these questions has shown them
			r.events.calls[a.approval.ToolUseID] = true
		}
		if !repeated {
			r.events.begin()
		}
	}
	sending := false
	for i := range past {
		if e := &past[i]; !sending && !repeated && e.Seq > from {
			sending = true
			live()
		}
		r.recallOne(&past[i])
	}
	if !sending {
		live()
	}
	if repeated {
		r.send(agui.RunEvent{Type: "MESSAGES_SNAPSHOT", Messages: orEmpty(r.shown.messages)})
		r.events.begin()
	}
	r.shown = nil
}

// recallOne takes an event of the past.
func (r *aguiRun) recallOne(e *api.Event) {
	if r.shown != nil && e.Type == api.EventMessage {
		if m, ok := decodeUser(e); ok {
			id := m.UUID
			for i := range r.in.Messages {
				if r.in.Messages[i].Role == "user" && uuidFrom("ag-ui", r.about.ID, r.in.Messages[i].ID) == id {
					id = r.in.Messages[i].ID
				}
			}
			r.shown.at(id, "user").Content = m.Text()
		}
	}
	r.take(e)
}

// decodeUser returns what a person said in the main conversation.
func decodeUser(e *api.Event) (*message.User, bool) {
	m, _ := message.Decode(e.Message) // an unreadable message is not shown
	user, ok := m.(*message.User)
	return user, ok && user.Text() != "" && message.SubagentOf(user) == (message.Subagent{})
}

// take translates an event, and notes the ends of turns.
func (r *aguiRun) take(e *api.Event) {
	r.events.take(e)
	if e.Seq > 0 {
		r.place = e.Seq
	}
	if e.Type == api.EventApproval {
		r.asked[e.Approval.ID] = true
	}
	if e.Type == api.EventTurn && r.awaited[e.Turn.Prompt] {
		delete(r.awaited, e.Turn.Prompt)
		r.used = append(r.used, e.Turn)
		if r.turn == nil || e.Turn.PartOf == "" {
			r.turn = e.Turn
		}
	}
}

// gatherCalls is how long a run waits for the other questions of parallel calls.
const gatherCalls = 50 * time.Millisecond

// follow sends events as they happen, until the run ends.
func (r *aguiRun) follow(ctx context.Context, after int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := r.service().follow(ctx, r.user, r.about.ID, after)
	if err != nil {
		return err
	}
	pull := make(chan eventlog.Event)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(pull)
		for e := range events {
			select {
			case pull <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-ended }()
	ping, look := time.NewTicker(pingEvery), time.NewTicker(lookAgain)
	defer ping.Stop()
	defer look.Stop()
	var due <-chan time.Time // when to check whether the run has ended
	for !r.broken {
		select {
		case e, ok := <-pull:
			if !ok || e.Type == api.EventReset || e.Type == api.EventBye {
				return closing.because("run it again with the same messages: nothing that was accepted is lost")
			}
			r.events.order.expect(&e)
			r.take(&e.Event)
			if wait, changed := r.noteworthy(&e.Event); changed {
				due = time.After(wait)
			}
		case <-due:
			if done, err := r.look(ctx, false); done || err != nil {
				return err
			}
		case <-look.C:
			if !r.stillAllowed(ctx, r.about.ID) {
				return unauthorized.because(mayNoLonger)
			}
		case <-ping.C:
			if !r.stream.write([]byte(": still here\n\n")) {
				return nil
			}
			if done, err := r.look(ctx, true); done || err != nil {
				return err
			}
		}
	}
	return nil
}

// noteworthy reports whether an event may end the run, and how long to wait for related
// ones.
func (r *aguiRun) noteworthy(e *api.Event) (time.Duration, bool) {
	switch {
	case e.Type == api.EventSynced:
		return 0, true
	case e.Type == api.EventApproval && e.Approval.State == api.ApprovalPending:
		return gatherCalls, true
	case e.Type == api.EventPrompt && e.Prompt.State == "stuck":
		return 0, true
	}
	return 0, e.Type == api.EventTurn && r.turn != nil && len(r.awaited) == 0 // the log has the answer before the turn
}

// look ends the run if its turns have ended or a person is asked. A question that the
// log does not have yet does not end it, unless it is late: the text before the
// question must come first.
func (r *aguiRun) look(ctx context.Context, late bool) (done bool, err error) {
	if len(r.awaited) == 0 {
		r.finish()
		return true, nil
	}
	asked, err := r.service().answers.approvals(ctx, r.user, api.ApprovalQuery{Conversation: r.about.ID, State: api.ApprovalPending})
	if err != nil {
		return false, err
	}
	if !late && slices.ContainsFunc(asked, func(a api.Approval) bool { return !r.asked[a.ID] }) {
		return false, nil // its event will come
	}
	if len(asked) > 0 {
		r.interrupt(asked)
		return true, nil
	}
	now, err := r.service().Conversation(ctx, r.user, r.about.ID)
	if err == nil && now.State == api.StateFailed {
		err = stuckHere.because("%s", now.Reason)
	}
	return false, err
}

// finish ends the run with its turn.
func (r *aguiRun) finish() {
	r.events.endAll()
	event := agui.RunEvent{Type: "RUN_FINISHED", ThreadID: r.in.ThreadID, RunID: r.in.RunID, Outcome: &agui.RunOutcome{Type: "success"}}
	if r.turn != nil {
		r.send(agui.RunEvent{Type: "CUSTOM", Name: "claude.turn", Value: r.turn})
		event.Usage = usageOf(r.used)
		switch r.turn.State {
		case "failed":
			r.send(agui.RunEvent{Type: "RUN_ERROR", Message: cmp.Or(r.turn.Error, "the turn has failed"), Code: "failed", Usage: event.Usage})
			return
		case "cancelled", "expired":
			event.Outcome.Type = "cancelled"
		}
	}
	r.send(event)
}

// interrupt ends the run with the questions that wait.
func (r *aguiRun) interrupt(asked []api.Approval) {
	r.events.endAll()
	slices.Reverse(asked) // the oldest first
	event := agui.RunEvent{Type: "RUN_FINISHED", ThreadID: r.in.ThreadID, RunID: r.in.RunID, Outcome: &agui.RunOutcome{Type: "interrupt"}}
	for i := range asked {
		if a := &asked[i]; a.ToolUseID != "" && a.Kind != api.KindElicitation {
			r.events.call(a.ToolUseID, a.Tool, string(a.Input)) // the transcript may not have it yet
		}
		event.Outcome.Interrupts = append(event.Outcome.Interrupts, interruptOf(&asked[i], r.place))
	}
	r.send(event)
}

// fail ends the run with an error.
func (r *aguiRun) fail(p *api.Problem) {
	if p.Status == http.StatusInternalServerError {
		r.service().opts.Logger.Error("serve: a run failed", "conversation", r.about.ID, "user", r.user.Name, "error", p.Cause)
	}
	r.events.emit = r.send
	r.events.endAll()
	r.send(agui.RunEvent{Type: "RUN_ERROR", Message: p.Title + ": " + p.Detail, Code: strings.TrimPrefix(p.Type, "/problems/")})
}

// send writes an event, unless the client is gone.
func (r *aguiRun) send(e agui.RunEvent) {
	if r.broken {
		return
	}
	data, err := jsonx.Marshal(e)
	if err != nil {
		r.broken = true
		return
	}
	var text bytes.Buffer
	text.WriteString("data: ")
	text.Write(data) // one line: JSON escapes line breaks
	text.WriteString("\n\n")
	r.broken = !r.stream.write(text.Bytes())
}

// usageOf sums up the usage of turns by model.
func usageOf(turns []*api.Turn) []agui.RunUsage {
	models := make(map[string]agui.RunUsage)
	for _, t := range turns {
		for name, u := range t.Models {
			sum := models[name]
			read, written := int64(u.CacheReadInputTokens), int64(u.CacheCreationInputTokens)
			sum.Provider, sum.Model = "anthropic", name
			sum.Input += int64(u.InputTokens) + read + written
			sum.Output += int64(u.OutputTokens)
			sum.CachedInput += read
			sum.CacheWrite += written
			models[name] = sum
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b agui.RunUsage) int { return strings.Compare(a.Model, b.Model) })
}
