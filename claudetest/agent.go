package claudetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// agent is the loop of a scripted CLI: ask the model, which is the script, and
// run the tools it calls, until it calls no more.
type agent struct {
	script     *Script
	checkpoint bool

	replies  *sequence
	computed bool // by the script's Model, not by its replies

	mu            sync.Mutex
	edits         []edit
	counts        *counts
	conversations *conversations // nil: that of a subagent is not kept
	messages      []ModelMessage // the conversation so far; only added to
	left          *leftBehind    // how the conversation was left that is resumed from a store
}

// counts are the counts of a session, including its subagents.
type counts struct{ calls, ids atomic.Int64 }

// edit is a file that a tool changed, and the prompt it belongs to.
type edit struct{ prompt, path string }

func newAgent(s *Script, env []string, all *conversations, resumed []ModelMessage) *agent {
	a := &agent{script: s, replies: newSequence(s.Replies), computed: s.Model != nil, counts: new(counts), conversations: all, messages: resumed}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if name == "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING" {
			a.checkpoint = value == "1" || value == "true"
		}
	}
	return a
}

// subagent is the loop of a subagent: a conversation of its own, and replies of
// its own if the script has any.
func (a *agent) subagent(replies []Reply) *agent {
	sub := &agent{script: a.script, replies: a.replies, computed: a.script.Model != nil, counts: a.counts}
	if replies != nil {
		sub.replies, sub.computed = newSequence(replies), false
	}
	return sub
}

// Turn plays one turn.
func (a *agent) Turn(ctx context.Context, t *host.Turn) error {
	a.checkIn(t)
	results, err := a.begin(ctx, t)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // the model learns about the prompt with the next one
		return context.Cause(ctx)
	}
	form := newForm(t)
	for attempt := 1; ; attempt++ {
		reply := a.next(ctx, t, results)
		if !pause(ctx, reply.delay) {
			return context.Cause(ctx)
		}
		if reply.failure != nil || reply.ending != endsWhole {
			if err, again := a.fail(t, reply, attempt); !again {
				return err
			}
			continue
		}
		attempt = 0
		outputs, calls, err := a.say(ctx, t, reply)
		if err != nil {
			return err
		}
		if len(calls) > 0 {
			a.said(t, "user", resultBlocks(calls, outputs))
		}
		form.last = usageOf((&answer{reply: reply}).usage())
		if done, err := form.settle(t, calls, outputs); done || err != nil {
			return err
		}
		for _, p := range t.TakeQueued() {
			a.said(t, "user", p.Content)
		}
		results = resultsOf(calls, outputs)
	}
}

// next is the model's next reply.
func (a *agent) next(ctx context.Context, t *host.Turn, results []ToolResult) Reply {
	a.mu.Lock()
	call := &ModelCall{Number: int(a.counts.calls.Add(1)), Model: t.Model(), Prompt: t.Text(), System: strings.Join(t.Notes(), "\n"), ToolResults: results, Tools: t.MCPTools(), Messages: slices.Clip(a.messages), ctx: ctx}
	a.mu.Unlock()
	if !a.computed {
		return a.replies.next()
	}
	return a.script.Model(call)
}

// say gives one answer and runs its tools.
func (a *agent) say(ctx context.Context, t *host.Turn, r Reply) ([]host.ToolOutput, []host.Call, error) {
	ans, err := t.Answer(ctx)
	if err != nil {
		return nil, nil, err
	}
	u := (&answer{reply: r}).usage()
	ans.SetUsage(usageOf(u))
	ans.SetStopReason(r.stopReason)
	pieces := newPieces(ctx, r)
	var calls []host.Call
	for _, b := range r.blocks {
		switch b.kind {
		case kindText:
			err = ans.Text(ctx, pieces.of(b))
		case kindThinking:
			err = ans.Think(ctx, pieces.of(b))
		case kindToolUse:
			for range pieces.of(b) { // the pauses of a stream
			}
			c := a.call(t, b)
			calls = append(calls, c)
			err = ans.Use(ctx, c)
		}
	}
	if err == nil { // an answer that was cut off costs nothing
		t.Spend(usageOf(u), price(u))
		a.said(t, "assistant", contentOf(r, calls))
	}
	outputs, err := ans.End(ctx)
	return outputs, calls, err
}

// call is a tool call of the script.
func (a *agent) call(t *host.Turn, b block) host.Call {
	id := cmp.Or(b.id, fmt.Sprintf("toolu_%06d", a.counts.ids.Add(1)))
	c := host.Call{ID: id, Name: b.name, Input: b.input, ReadOnly: slices.Contains(readOnly, b.name)}
	if b.request != nil {
		c.Request = *b.request
	}
	run := a.runner(t, id, b)
	if run == nil {
		return c
	}
	c.Run = func(ctx context.Context, input json.RawMessage) (host.ToolOutput, error) {
		out, err := run(ctx, input)
		if err == nil && !out.IsError {
			a.changed(t, b.name, input)
		}
		return out, err
	}
	return c
}

// runner returns the function of a tool: the output in the call comes first, then
// the script's function for the tool, then the tool's default. Nil: a tool of a
// server in the client.
func (a *agent) runner(t *host.Turn, id string, b block) host.RunFunc {
	if b.output != nil {
		return func(context.Context, json.RawMessage) (host.ToolOutput, error) { return output(b.output) }
	}
	if run := a.script.Tools[b.name]; run != nil {
		return run
	}
	switch {
	case startsAgent(b.name):
		return func(ctx context.Context, input json.RawMessage) (host.ToolOutput, error) {
			return t.RunSubagent(ctx, id, input, a.subagent(b.replies))
		}
	case b.name == "AskUserQuestion":
		return answered
	case b.name == answerTool && t.JSONSchema() != nil:
		return newForm(t).fill
	case strings.HasPrefix(b.name, "mcp__"):
		return nil
	}
	return func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("ok"), nil }
}

// output converts a value from a script to a tool's output.
func output(v any) (host.ToolOutput, error) {
	switch v := v.(type) {
	case host.ToolOutput:
		return v, nil
	case error:
		return host.ToolOutput{}, v
	case string:
		return host.TextOutput(v), nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return host.ToolOutput{}, err
	}
	out := host.TextOutput(string(data))
	out.Result = data
	return out, nil
}

// answered tells the model what the user chose. Answers are keyed by the text of
// their question; others do not count.
func answered(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
	var in struct {
		Questions []permission.Question `json:"questions"`
		Answers   map[string]any        `json:"answers"`
	}
	if err := jsonx.Unmarshal(input, &in); err != nil && !jsonx.Mismatch(err) {
		return host.ToolOutput{}, err
	}
	if len(in.Questions) == 0 {
		return host.ToolOutput{}, errors.New("the input has no questions")
	}
	var lines []string
	for _, q := range in.Questions {
		if a, ok := in.Answers[q.Text]; ok {
			lines = append(lines, fmt.Sprintf("%q=%q", q.Text, fmt.Sprint(a)))
		}
	}
	if lines == nil {
		return host.TextOutput("The user did not answer."), nil
	}
	return host.TextOutput("The user answered: " + strings.Join(lines, ", ")), nil
}

// fail is a call of the model that fails. The CLI tries most failures again.
func (a *agent) fail(t *host.Turn, r Reply, attempt int) (err error, again bool) {
	f := cmp.Or(r.failure, &failure{http.StatusInternalServerError, "api_error", "connection lost"})
	retried := f.status == http.StatusUnauthorized || f.status == http.StatusTooManyRequests || f.status >= 500
	if retried && !r.forever && attempt <= 10 {
		return t.Emit(&message.APIRetry{Attempt: attempt, MaxRetries: 10, ErrorStatus: f.status}), true
	}
	text := fmt.Sprintf("API Error: %d %s", f.status, f.message)
	line := &message.Assistant{
		ID: uuid.New(), Model: "<synthetic>", Content: message.Content{message.Text(text)}, StopReason: "stop_sequence", Timestamp: time.Now().UTC(),
		Error: errorClass(f.status), APIErrorStatus: f.status, APIErrorType: f.kind, IsAPIErrorMessage: true,
	}
	if t.Subagent().ID != "" {
		line.APIErrorStatus = 0 // the CLI does not say it of a subagent
		return cmp.Or(t.Emit(line), errors.New("the agent ended early: "+text)), false
	}
	t.EditResult(func(res *message.Result) {
		res.IsError, res.Text, res.TerminalReason, res.APIErrorStatus = true, text, message.EndAPIError, f.status
	})
	return t.Emit(line), false
}

func errorClass(status int) message.AssistantError {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return message.AssistantErrorAuthentication
	case status == http.StatusNotFound:
		return message.AssistantErrorModelNotFound
	case status == http.StatusTooManyRequests:
		return message.AssistantErrorRateLimit
	case status >= 500: // also 529, which only the news of a retry calls overloaded
		return message.AssistantErrorServer
	}
	return message.AssistantErrorInvalidRequest
}

// checkIn remembers the prompts that files can be brought back to.
func (a *agent) checkIn(t *host.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range t.Prompts() {
		if p.UUID != "" {
			a.edits = append(a.edits, edit{prompt: p.UUID})
		}
	}
}

// changed remembers a file that a tool changed.
func (a *agent) changed(t *host.Turn, tool string, input json.RawMessage) {
	if path := editedFile(tool, input); path != "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.edits = append(a.edits, edit{t.Prompts()[0].UUID, path})
	}
}

// editedFile is the file that a call edits, empty if it edits none.
func editedFile(tool string, input json.RawMessage) string {
	if tool != "Write" && tool != "Edit" {
		return ""
	}
	return jsonx.Text(jsonx.Member(input, "file_path"))
}

// rewind answers rewind_files from what the tools said they changed. No file
// is touched, as no scripted tool touches one.
func (a *agent) rewind(_ context.Context, id string, dryRun bool) (*control.Rewind, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.checkpoint {
		return nil, errors.New("file rewinding is not enabled")
	}
	at := slices.IndexFunc(a.edits, func(e edit) bool { return e.prompt == id && e.path == "" && id != "" })
	if at < 0 {
		return nil, errors.New("no file checkpoint found for this message")
	}
	r := &control.Rewind{CanRewind: true}
	if !dryRun {
		return r, nil
	}
	for _, e := range a.edits[at:] {
		if e.path != "" && !slices.Contains(r.FilesChanged, e.path) {
			r.FilesChanged = append(r.FilesChanged, e.path)
		}
	}
	return r, nil
}

// pieces streams the blocks of a reply with its pauses.
type pieces struct {
	ctx         context.Context
	reply       Reply
	total, sent int
}

func newPieces(ctx context.Context, r Reply) *pieces {
	p := &pieces{ctx: ctx, reply: r}
	for _, b := range r.blocks {
		p.total += len(p.split(b))
	}
	return p
}

func (p *pieces) split(b block) []string { return (&answer{reply: p.reply}).split(b.payload()) }

// of streams one block.
func (p *pieces) of(b block) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, piece := range p.split(b) {
			if !yield(piece) {
				return
			}
			p.sent++
			if p.sent == (p.total+1)/2 && p.reply.holds {
				select {
				case <-p.reply.hold:
				case <-p.ctx.Done():
				}
			}
			pause(p.ctx, p.reply.chunkDelay)
		}
	}
}

func usageOf(u ReplyUsage) message.Usage {
	return message.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CacheCreationInputTokens: u.CacheCreationInputTokens, CacheReadInputTokens: u.CacheReadInputTokens,
	}
}

// price returns the cost of tokens: 4 dollars a million in, 20 out.
func price(u ReplyUsage) float64 {
	return float64(u.InputTokens)*4e-6 + float64(u.OutputTokens)*20e-6
}

// resultBlocks are the results of calls as the API sees them.
func resultBlocks(calls []host.Call, outputs []host.ToolOutput) message.Content {
	var blocks message.Content
	for i, o := range outputs {
		blocks = append(blocks, &message.ToolResultBlock{ToolUseID: calls[i].ID, Content: o.Content, Plain: o.Plain, IsError: o.IsError})
	}
	return blocks
}

// resultsOf returns the results that the model reads for its calls.
func resultsOf(calls []host.Call, outputs []host.ToolOutput) []ToolResult {
	raw, err := jsonx.Marshal(resultBlocks(calls, outputs))
	if err != nil {
		return nil
	}
	return toolResults(raw)
}
