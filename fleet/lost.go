package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/price"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A CLI reports the cost of a turn when the turn ends. If it is killed or closed
// before, the answers of the model are paid for and in the transcript, and no result
// will ever count them: the next CLI counts its own. So the record of a conversation
// has a mark, the last answer that its ledgers include. The process that takes the
// conversation up counts the answers behind the mark, in one write with the new mark,
// so each is counted once.

// through is the mark up to which the transcripts of a session are in the ledgers.
type through struct {
	// Answer is the id of the last answer of the main conversation.
	Answer string `json:"answer,omitzero"`
	// At is the time of the last line, including those of subagents: agents that work
	// in the background have answers on both sides of a result.
	At time.Time `json:"at,omitzero"`
	// Agents means that some were at work in the background. Then they may have answers
	// behind the mark although the main conversation has none.
	Agents bool `json:"agents,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// is reports whether two marks are at the same place.
func (t *through) is(other *through) bool {
	return t.Answer == other.Answer && t.At.Equal(other.At) && t.Agents == other.Agents
}

// advance returns the mark after more was counted. agents means that some are at work
// in the background.
func (t through) advance(answer string, at time.Time, agents bool) through {
	t.Agents = agents
	if answer != "" {
		t.Answer = answer
	}
	if at.After(t.At) {
		t.At = at
	}
	return t
}

// newest is the time of the last line that was stored of a session.
type newest struct {
	mu sync.Mutex
	at time.Time
}

func (n *newest) note(lines []store.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range lines {
		if at := lineTime(line); at.After(n.at) {
			n.at = at
		}
	}
}

func (n *newest) get() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at
}

// lineTime is the time of a line of a transcript, zero if it has none.
func lineTime(line []byte) time.Time {
	at, err := time.Parse(time.RFC3339, jsonx.Text(jsonx.Member(line, "timestamp")))
	if err != nil {
		return time.Time{}
	}
	return at
}

// paid is an answer of a model, from the transcript.
type paid struct {
	id, model string
	usage     message.Usage
	calls     []string // the tools that it calls, by the ids of the calls
	at        time.Time
}

// paidIn reads a line of a transcript. It returns nil if no model produced the line.
func paidIn(line []byte) *paid {
	if !bytes.Contains(line, []byte(`"assistant"`)) || jsonx.Text(jsonx.Member(line, "type")) != "assistant" {
		return nil
	}
	m := jsonx.Member(line, "message")
	a := &paid{id: jsonx.Text(jsonx.Member(m, "id")), model: jsonx.Text(jsonx.Member(m, "model")), at: lineTime(line)}
	if a.id == "" || a.model == "" || a.model == syntheticModel || json.Unmarshal(jsonx.Member(m, "usage"), &a.usage) != nil {
		return nil
	}
	for block := range jsonx.Elements(jsonx.Member(m, "content")) {
		if jsonx.Text(jsonx.Member(block, "type")) == "tool_use" {
			a.calls = append(a.calls, jsonx.Text(jsonx.Member(block, "id")))
		}
	}
	return a
}

// add takes in another line of the same answer. The first lines of an answer are
// written before it has ended, and report less usage.
func (a *paid) add(more *paid) {
	u, m := &a.usage, &more.usage
	u.InputTokens = max(u.InputTokens, m.InputTokens)
	u.OutputTokens = max(u.OutputTokens, m.OutputTokens)
	u.CacheCreationInputTokens = max(u.CacheCreationInputTokens, m.CacheCreationInputTokens)
	u.CacheReadInputTokens = max(u.CacheReadInputTokens, m.CacheReadInputTokens)
	u.OutputTokensDetails.ThinkingTokens = max(u.OutputTokensDetails.ThinkingTokens, m.OutputTokensDetails.ThinkingTokens)
	u.CacheCreation.Ephemeral5mInputTokens = max(u.CacheCreation.Ephemeral5mInputTokens, m.CacheCreation.Ephemeral5mInputTokens)
	u.CacheCreation.Ephemeral1hInputTokens = max(u.CacheCreation.Ephemeral1hInputTokens, m.CacheCreation.Ephemeral1hInputTokens)
	u.ServerToolUse.WebSearchRequests = max(u.ServerToolUse.WebSearchRequests, m.ServerToolUse.WebSearchRequests)
	a.calls = append(a.calls, more.calls...)
}

// tape is the answers of one transcript, each once, in the order in which they began.
type tape struct {
	answers []*paid
	byID    map[string]*paid
	last    time.Time // of its lines

	agent, call, parent string // of a subagent: its id, the call that started it, and who made that
}

// read takes in a line, and returns the answer that it belongs to.
func (t *tape) read(line []byte) *paid {
	if at := lineTime(line); at.After(t.last) {
		t.last = at
	}
	if transcript.IsAgentNote(line) {
		t.call, t.parent = jsonx.Text(jsonx.Member(line, "toolUseId")), jsonx.Text(jsonx.Member(line, "parentAgentId"))
	}
	a := paidIn(line)
	if a == nil {
		return nil
	}
	if old := t.byID[a.id]; old != nil {
		old.add(a)
		return old
	}
	if t.byID == nil {
		t.byID = make(map[string]*paid)
	}
	t.byID[a.id] = a
	t.answers = append(t.answers, a)
	return a
}

// mainTape is the tape of the main conversation, and where the marks are in it.
type mainTape struct {
	tape
	// counted and prompted are how many answers begin before the end of the mark, and
	// before the prompt; negative if they are not in the transcript.
	counted, prompted int
}

// readMain reads the transcript of a session.
func readMain(lines func(func(store.Entry, error) bool), mark through, prompt string) (*mainTape, error) {
	t := &mainTape{counted: -1, prompted: -1}
	for line, err := range lines {
		if err != nil {
			return nil, err
		}
		if a := t.read(line); a != nil && a.id == mark.Answer {
			t.counted = len(t.answers)
		}
		if prompt != "" && t.prompted < 0 && promptIn(line) == prompt {
			t.prompted = len(t.answers)
		}
	}
	return t, nil
}

// promptIn is the id of the prompt in a line, "" or another id if it has none.
func promptIn(line []byte) string {
	if taken := transcript.TakenIn(line); taken != nil {
		return jsonx.Text(jsonx.Member(taken, "uuid"))
	}
	return jsonx.Text(jsonx.Member(line, "uuid"))
}

// lost returns the answers that are not in the ledgers. A session without a mark was
// begun, or copied, before anything of it was counted here: then they are those after
// the prompt.
func (t *mainTape) lost() []*paid {
	switch {
	case t.counted >= 0:
		return t.answers[t.counted:]
	case t.prompted >= 0:
		return t.answers[t.prompted:]
	}
	return nil
}

// lostBy returns the answers of subagents that the ledgers lack. lost are the uncounted
// answers at the end of the main conversation. An agent that one of them started counts
// in full; any other counts from the mark on. The transcript of an agent may begin with
// a copy of the main conversation, which is not counted again.
func lostBy(agents []*tape, main *mainTape, lost []*paid, mark through) []*paid {
	started := make(map[string]bool) // by the ids of calls and agents
	for i, a := range main.answers {
		for _, call := range a.calls {
			if i < len(main.answers)-len(lost) {
				started[call] = false
			} else if _, before := started[call]; !before {
				started[call] = true
			}
		}
	}
	for grown := true; grown; { // agents start agents
		grown = false
		for _, t := range agents {
			if !started[t.agent] && (t.call != "" && started[t.call] || t.parent != "" && started[t.parent]) {
				started[t.agent], grown = true, true
			}
		}
	}
	seen := make(map[string]bool)
	var more []*paid
	for _, t := range agents {
		for _, a := range t.answers {
			after := !mark.At.IsZero() && a.at.After(mark.At)
			if main.byID[a.id] == nil && !seen[a.id] && (started[t.agent] || after) {
				seen[a.id] = true
				more = append(more, a)
			}
		}
	}
	return more
}

// ledgerOf is the cost of lost answers, at the prices that the CLI has reported for
// their models so far.
func ledgerOf(answers []*paid, said map[string]message.ModelUsage) Ledger {
	l := Ledger{Turns: 1}
	for _, a := range answers {
		name, reported := saidOf(a.model, said)
		u := message.ModelUsage{
			InputTokens: a.usage.InputTokens, OutputTokens: a.usage.OutputTokens, ThinkingTokens: a.usage.OutputTokensDetails.ThinkingTokens,
			CacheReadInputTokens: a.usage.CacheReadInputTokens, CacheCreationInputTokens: a.usage.CacheCreationInputTokens,
			CacheCreationEphemeral5mInputTokens: a.usage.CacheCreation.Ephemeral5mInputTokens,
			CacheCreationEphemeral1hInputTokens: a.usage.CacheCreation.Ephemeral1hInputTokens,
			WebSearchRequests:                   a.usage.ServerToolUse.WebSearchRequests,
		}
		usd, known := price.Of(a.model, a.usage, reported)
		if !known {
			l = l.plus(Ledger{Unpriced: map[string]message.ModelUsage{name: u}})
			continue
		}
		u.CostUSD = usd
		l = l.plus(Ledger{USD: usd, Models: map[string]message.ModelUsage{name: u}})
	}
	return l
}

// saidOf is the usage that the CLI has reported for a model, and the name it used.
func saidOf(model string, said map[string]message.ModelUsage) (name string, u message.ModelUsage) {
	if u, ok := said[model]; ok {
		return model, u
	}
	for other, u := range said {
		if price.Canonical(other) == price.Canonical(model) {
			return other, u
		}
	}
	return model, message.ModelUsage{}
}

// priced returns the ledger with a price for what had none, if the CLI has named one
// since.
func (l Ledger) priced(said map[string]message.ModelUsage) Ledger {
	was := l.Unpriced
	if len(was) == 0 {
		return l
	}
	l.Unpriced = nil
	for model, u := range was {
		_, reported := saidOf(model, said)
		if usd, known := price.Of(model, price.Usage(u), reported); known && reported.CostUSD > 0 {
			u.CostUSD = usd
			l = l.plus(Ledger{USD: u.CostUSD, Models: map[string]message.ModelUsage{model: u}})
		} else {
			l = l.plus(Ledger{Unpriced: map[string]message.ModelUsage{model: u}})
		}
	}
	return l
}

// lostAnswers are answers of a session that are not in the ledgers.
type lostAnswers struct {
	answers []*paid
	from    through // the mark behind which they are
	to      through // the mark once they are counted
}

// count adds them to the ledgers of a record, unless its mark has moved: then an
// earlier write, whose reply was lost, has taken effect.
func (l *lostAnswers) count(rec *record, prompt string, queue map[string]bool) error {
	if !rec.Through.is(&l.from) {
		return errUnchanged
	}
	rec.Through = l.to
	book(rec, ledgerOf(l.answers, rec.Cost.Models), prompt, queue)
	return nil
}

// meter counts, from transcripts, the answers that no result has reported.
type meter struct {
	opts    *Options
	store   *announcer
	records *records
	days    *days
}

// lostAnswers reads those of a conversation while no CLI runs for it, nil if there are
// none.
func (m *meter) lostAnswers(ctx context.Context, rec *record, prompt string) (*lostAnswers, error) {
	mark := rec.Through
	if rec.Session == "" || prompt == "" && mark.Answer == "" {
		return nil, nil
	}
	k := store.Key{Project: m.opts.Project, Session: rec.Session}
	main, err := readMain(store.Entries(ctx, m.store, k), mark, prompt)
	if err != nil {
		return nil, err
	}
	lost, last := main.lost(), main.last
	agents, err := m.agentTapes(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, t := range agents {
		if t.last.After(last) {
			last = t.last
		}
	}
	lost = slices.Concat(lost, lostBy(agents, main, lost, mark))
	if len(lost) == 0 {
		return nil, nil
	}
	answer := ""
	if n := len(main.answers); n > 0 {
		answer = main.answers[n-1].id
	}
	return &lostAnswers{lost, mark, mark.advance(answer, last, false)}, nil
}

// countDeleted adds the lost answers of a conversation that is about to be deleted to
// the budgets of the day: a turn that a deletion cuts off is paid for as well.
func (m *meter) countDeleted(ctx context.Context, key string, fence store.Fence) error {
	if m.days == nil {
		return nil
	}
	rec, err := m.records.load(ctx, key)
	if errors.Is(err, ErrDeleted) || errors.Is(err, ErrUnknown) {
		return nil // it was counted when its deletion began
	}
	if err != nil {
		return err
	}
	prompts, queue := []string(nil), make(map[string]bool)
	for p, err := range m.records.pending(ctx, key) {
		if err != nil {
			return err
		}
		queue[p.ID] = true
		if p.Sent {
			prompts = append(prompts, p.ID)
		}
	}
	for _, prompt := range append(prompts, "") { // the last one is for turns that answer no prompt
		lost, err := m.lostAnswers(ctx, &rec, prompt)
		if err == nil && lost != nil {
			rec, err = m.records.change(ctx, key, fence, func(rec *record) error { return lost.count(rec, prompt, queue) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agentTapes reads the transcripts of the subagents of a session.
func (m *meter) agentTapes(ctx context.Context, k store.Key) ([]*tape, error) {
	var all []*tape
	for sub, err := range m.store.Subagents(ctx, k.Project, k.Session) {
		if err != nil {
			return nil, err
		}
		id := transcript.AgentOf(sub)
		if id == "" {
			continue
		}
		t := &tape{agent: id}
		k.Sub = sub
		for line, err := range store.Entries(ctx, m.store, k) {
			if err != nil {
				return nil, err
			}
			t.read(line)
		}
		all = append(all, t)
	}
	return all, nil
}

// lastLook is how many messages of a transcript are looked at for its last answer.
const lastLook = 20

// syntheticModel is the model of messages that the CLI writes in place of a model.
const syntheticModel = "<synthetic>"
