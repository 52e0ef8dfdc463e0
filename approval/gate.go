package approval

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Options configures which calls a gate puts before people, and how long it
// waits for them. The zero value asks about every call and waits for two
// minutes.
type Options struct {
	// Needs reports whether a person must decide about a call, and why. All
	// other calls are left to the CLI's rules. Nil: every call needs a person,
	// except for the structured answer itself, which has no effect.
	// Needs may be called several times at once. [ConversationOf] returns whose
	// call it is. [NeedsRules] and [NeedsUnless] make a Needs from rules and
	// policies.
	Needs func(ctx context.Context, in *hook.PreToolUseInput) (reason string, needed bool)
	// Patience is how long the process waits for a decision. Then the call is
	// deferred: the turn ends, and the session can be closed until a person
	// decides. Zero means two minutes.
	Patience time.Duration
	// Lifetime is how long a question can be decided. 0 means forever.
	Lifetime time.Duration
	// Deciders are the people who may decide. Empty means everyone.
	Deciders []string
	// Repeatable reports whether a call may run again if it is unknown whether
	// it ran before. Nil: no call may.
	Repeatable func(in *hook.PreToolUseInput) bool
}

const (
	defaultPatience = 2 * time.Minute
	// margin is how long the CLI waits for a hook beyond the gate's patience:
	// enough to store the deferral. Without a limit from us the CLI applies its
	// own, which denies the call.
	margin = 30 * time.Second
	// storing limits the writes that follow the end of the question's own
	// context.
	storing = 10 * time.Second
)

// conversationKey is the key of the conversation in the context of Needs.
type conversationKey struct{}

// ConversationOf returns the conversation whose call [Options.Needs] is asked about,
// from the context that Needs got. In any other context it is empty.
func ConversationOf(ctx context.Context) string {
	key, _ := ctx.Value(conversationKey{}).(string)
	return key
}

func (o *Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return defaultPatience
}

// Gate puts the tool calls of one session before people. Install it in the
// options, connect, and attach the session:
//
//	gate := approval.NewGate(inbox, "user-42", fence, approval.Options{})
//	err := gate.Install(opts)
//	s, err := claude.Connect(ctx, opts)
//	gate.Attach(s)
//	…
//	err = gate.Park(ctx)     // before Close
//	err = s.Close()
//
// When a call is deferred, the turn ends with a result whose DeferredToolUse is
// set. Close the session then, and send it nothing more: a new prompt would
// make the CLI give up the call. Once the question is decided, resume the
// session with a new gate; the CLI asks about the call again, and the gate
// knows the answer.
//
// A gate serves one session. Its methods may be called from any goroutine.
type Gate struct {
	inbox        *Questions
	conversation string
	fence        store.Fence
	opts         Options

	parked   chan struct{} // closed by Park
	park     sync.Once
	mu       sync.Mutex
	session  *claude.Session
	takeBack func(context.Context)
	cwd      string               // of the CLI, as the last hook reported
	project  string               // where the CLI was started
	allowed  map[string]allowed   // what the hook allowed, by call
	deferred string               // the id of the call that was deferred
	pending  map[string]*Question // calls of the main thread whose questions are not known to have ended; with those whose writes have failed
	waiting  int                  // calls that wait for a person
	none     chan struct{}        // closed when no call waits any longer; nil without a watcher
}

// NewGate makes the gate of a session. The fence proves that this process owns
// the conversation; it may be zero if no other process can.
func NewGate(in *Questions, conversation string, f store.Fence, o Options) *Gate {
	return &Gate{inbox: in, conversation: conversation, fence: f, opts: o, parked: make(chan struct{}), allowed: make(map[string]allowed), pending: make(map[string]*Question)}
}

// Install adds the gate to the options of a session: a hook before every tool, which is
// asked after all hooks and guards of the session and blocks if it fails; hooks that notice
// how calls end; and a permission callback unless there is one, because without it the CLI
// has neither AskUserQuestion nor ExitPlanMode. Unless OnElicitation is set, questions of
// MCP servers also come to the inbox; see [Questions.Elicitations]. It returns a
// [*claude.OptionError] for options under which the hooks would not be asked.
func (g *Gate) Install(o *claude.Options) error {
	for _, settings := range []map[string]any{o.Settings, o.ManagedSettings} {
		if off, _ := settings["disableAllHooks"].(bool); off {
			return &claude.OptionError{Field: "Settings", Problem: "disableAllHooks would open the gate"}
		}
	}
	g.setProject(o.Cwd)
	before := hook.PreToolUse("", g.before).FailClosed().WithTimeout(g.opts.patience() + margin).At(hook.StageGate)
	o.Hooks = slices.Concat(o.Hooks, []hook.Hook{before, hook.PostToolUse("", g.ran), hook.PostToolUseFailure("", g.failed), hook.PostToolBatch(g.batch)})
	own := false
	if o.CanUseTool == nil {
		o.CanUseTool, own = g.permit, true
	}
	if o.OnElicitation == nil {
		o.OnElicitation, own = g.elicit, true
	}
	if own && o.Timeouts.Callback >= 0 && o.Timeouts.Callback < g.opts.patience()+margin {
		o.Timeouts.Callback = g.opts.patience() + margin
	}
	return nil
}

// Attach gives the gate the session it guards. Without it the gate cannot see
// queued prompts and background agents, and defers nothing.
func (g *Gate) Attach(s *claude.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session = s
}

// BeforeDefer sets the function that withdraws the prompts waiting in the CLI.
// The gate calls it before it defers a call, because a waiting prompt would make
// the CLI give the call up; after that, no prompt may be sent to the session.
// Without it, a call is not deferred while a prompt waits.
//
// A fleet calls it for its conversations.
func (g *Gate) BeforeDefer(prompts func(context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takeBack = prompts
}

// Park ends all waiting: a call that can be deferred is deferred, every other
// is denied. From then on the gate waits for no person. Park returns when all
// waiting calls are answered; read the session until its result before you
// close it. Without Park, Close would make the CLI record a refusal that no
// person gave.
func (g *Gate) Park(ctx context.Context) error {
	g.park.Do(func() { close(g.parked) })
	g.mu.Lock()
	if g.waiting == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.none == nil {
		g.none = make(chan struct{})
	}
	none := g.none
	g.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter counts a call that waits for a person.
func (g *Gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
}

// exit counts the call as answered.
func (g *Gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting--; g.waiting == 0 && g.none != nil {
		close(g.none)
		g.none = nil
	}
}

// Deferred returns the id of the question whose call was deferred, if one was.
func (g *Gate) Deferred() (id string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deferred == "" {
		return "", false
	}
	return idOf(g.conversation, g.deferred), true
}

// answerTool is the CLI's own tool by which the model gives a structured answer. It has
// no other effect, so by default it needs a person no more than a text does.
const answerTool = "StructuredOutput"

// anotherWaits is the message to the model about calls beside a deferred one.
const anotherWaits = "Another call of this answer waits for a person. Repeat this call when that one has its result."

// before is the hook before every call.
func (g *Gate) before(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	if in.ToolName == "" || in.ToolUseID == "" {
		return nil, errors.New("claude: approval: the call has no tool or no id")
	}
	// The CLI runs the other calls of an answer although one of them was
	// deferred, and keeps only the marker of the last one.
	if g.closed(in.ToolUseID) {
		return hook.DenyTool(anotherWaits), nil
	}
	reason, needed := "", in.ToolName != answerTool
	if g.opts.Needs != nil {
		reason, needed = g.opts.Needs(g.needsContext(ctx), in)
	}
	if !needed {
		return nil, nil
	}
	q := g.question(in.ToolName, in.ToolUseID, in.ToolInput, in.AgentID, g.at(in.Cwd))
	q.Prompt, q.Reason = in.PromptID, reason
	q.Suggestions = q.suggest(ctx, nil)
	q.Repeatable = g.opts.Repeatable != nil && g.opts.Repeatable(in)
	asked := q
	if in.ToolName == planTool {
		q.Plan, q.PlanPath = newestPlan(in.TranscriptPath)
		if err := g.samePlan(ctx, &q, in.TranscriptPath); err != nil {
			return nil, err
		}
	}
	d, err := g.ask(ctx, q, in.AgentID == "")
	if errors.Is(err, errDeferred) {
		return hook.DeferTool(), nil
	}
	if err != nil {
		return nil, err
	}
	g.note(asked, d)
	return output(d), nil
}

// note remembers a call that the hook allows, until it has ended.
func (g *Gate) note(q Question, d permission.Decision) {
	if d.Behavior() != permission.BehaviorAllow {
		return
	}
	input := q.Input
	if changed, ok := d.Input(); ok {
		encoded, err := jsonx.MarshalUser(changed)
		if err != nil {
			return
		}
		input = encoded
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed[q.ToolUseID] = allowed{Digest(input), d.Updates()}
}

// allowed is a call that the hook has allowed.
type allowed struct {
	digest  string // of the input
	updates []permission.Update
}

// decided reports whether the hook has allowed this very call. The CLI asks for
// permission again where a tool is itself a question, such as ExitPlanMode. A hook
// cannot change permissions, so the updates of the decision go with this answer.
func (g *Gate) decided(r *permission.Request) (permission.Decision, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.allowed[r.ToolUseID]
	if !ok || a.digest != Digest(r.Input) {
		return permission.Decision{}, false
	}
	return permission.Allow(a.updates...), true
}

func output(d permission.Decision) *hook.PreToolUseOutput {
	if d.Behavior() != permission.BehaviorAllow {
		out := hook.DenyTool(d.Message())
		if d.Interrupts() {
			out.Common = hook.StopRun(d.Message())
		}
		return out
	}
	out := hook.AllowTool("")
	if input, changed := d.Input(); changed {
		out.UpdatedInput = input
	}
	return out
}

// permit is the permission callback. It is asked about calls that Needs leaves
// to the CLI's rules and that those leave to a person. Such a call cannot be
// deferred.
func (g *Gate) permit(ctx context.Context, r *permission.Request) (permission.Decision, error) {
	if g.closed(r.ToolUseID) {
		return permission.Deny(anotherWaits), nil
	}
	if d, ok := g.decided(r); ok {
		return d, nil
	}
	q := g.question(r.ToolName, r.ToolUseID, r.Input, r.AgentID, g.at(r.Cwd))
	q.Reason = r.Reason
	q.Suggestions = q.suggest(ctx, r.Suggestions)
	d, err := g.ask(ctx, q, false)
	if err == nil && d.Behavior() == permission.BehaviorAllow {
		if input, changed := d.Input(); changed {
			return permission.AllowWith(input, d.Updates()...), nil
		}
	}
	return d, err
}

func (g *Gate) question(tool, toolUseID string, input []byte, agent, cwd string) Question {
	return Question{
		Conversation: g.conversation, Tool: tool, ToolUseID: toolUseID, Input: input, Agent: agent,
		Cwd: cwd, Diff: diffOf(cwd, tool, input), Deciders: g.opts.Deciders, Lifetime: g.opts.Lifetime,
	}
}

// at records where the CLI works, and returns it. Only hooks report that
// directory; each call passes one before its permission is asked for.
func (g *Gate) at(cwd string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cwd != "" {
		g.cwd = cwd
	}
	return g.cwd
}

// closed reports whether another call was deferred: then no call may run before
// the session is closed.
func (g *Gate) closed(toolUseID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deferred != "" && g.deferred != toolUseID
}

// errDeferred means that the call is to be deferred.
var errDeferred = errors.New("deferred")

// ask asks a person and waits for the decision. The gate follows the call until its
// question is over or the call is deferred.
func (g *Gate) ask(ctx context.Context, q Question, deferrable bool) (permission.Decision, error) {
	g.enter()
	defer g.exit()
	g.follow(&q)
	d, err := g.decision(ctx, q, deferrable)
	if err == nil && d.Behavior() != permission.BehaviorAllow || errors.Is(err, errDeferred) {
		g.unfollow(q.ToolUseID)
	}
	return d, err
}

// decision waits for the decision about a call, for as long as the CLI does.
func (g *Gate) decision(ctx context.Context, q Question, deferrable bool) (permission.Decision, error) {
	if q.HoldsProcess = !deferrable; q.HoldsProcess && (q.Lifetime == 0 || q.Lifetime > g.opts.patience()) {
		q.Lifetime = g.opts.patience() // too late to decide after that
	}
	d, err := g.await(ctx, q, deferrable)
	if err != nil && !errors.Is(err, errDeferred) && ctx.Err() != nil {
		return permission.Decision{}, g.leave(ctx, &q)
	}
	return d, err
}

// await stores a question and waits for its decision. If ctx ends, any access to the
// store may fail with its error.
func (g *Gate) await(ctx context.Context, q Question, deferrable bool) (permission.Decision, error) {
	answer, err := g.inbox.ruled(ctx, &q)
	if err != nil {
		return permission.Decision{}, err
	}
	asked, err := g.inbox.ask(ctx, q, answer, g.fence)
	if err != nil {
		if !errors.Is(err, ErrInvalid) && !errors.Is(err, store.ErrInvalid) {
			g.doubt(&q)
		}
		return permission.Decision{}, err
	}
	q = asked
	patience := time.NewTimer(g.opts.patience())
	defer patience.Stop()
	over := false // the patience: the call is deferred as soon as it can be
	for {
		changed := g.inbox.nextChange()
		v, err := g.inbox.Release(ctx, q.ID, g.fence)
		if err == nil && !v.Pending() {
			return v.Decision, nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return permission.Decision{}, err
		}
		// The answer to another question may have made a rule for this one.
		if answer, err := g.inbox.ruled(ctx, &q); err != nil {
			return permission.Decision{}, err
		} else if answer != nil {
			if err := g.inbox.decideByRule(ctx, q.ID, *answer, g.fence); err != nil {
				return permission.Decision{}, err
			}
			continue
		}
		if over {
			return g.giveUp(ctx, q, deferrable)
		}
		over = g.wait(ctx, changed, g.inbox.pause(ctx, q.Deadline), patience.C)
	}
}

// wait waits for the next event. It returns true when the call need not be
// waited for any longer.
func (g *Gate) wait(ctx context.Context, changed <-chan struct{}, every time.Duration, patience <-chan time.Time) (over bool) {
	poll := time.NewTimer(every)
	defer poll.Stop()
	select {
	case <-changed:
	case <-poll.C:
	case <-ctx.Done():
	case <-patience:
		return true
	case <-g.parked:
		return true
	}
	return false
}

// giveUp ends the wait for a question that is still open: the call is deferred
// if possible, else denied. A deferral beside a queued prompt or a background
// agent would be lost, because the CLI starts a turn for either at once.
func (g *Gate) giveUp(ctx context.Context, q Question, deferrable bool) (permission.Decision, error) {
	if deferrable {
		g.unqueue(ctx)
	}
	if deferrable && g.deferNow(q.ToolUseID) {
		now, err := g.inbox.Defer(ctx, q.ID, g.fence)
		switch {
		case err != nil:
			g.undefer()
			return permission.Decision{}, err
		case now.State == StateOpen:
			return permission.Decision{}, errDeferred
		}
		g.undefer() // decided at the last moment
		v, err := g.inbox.Release(ctx, q.ID, g.fence)
		return v.Decision, err
	}
	if err := g.inbox.abandon(ctx, q.ID, g.fence); err != nil {
		return permission.Decision{}, err
	}
	v, err := g.inbox.Release(ctx, q.ID, g.fence) // a decision may have come first
	return v.Decision, err
}

// unqueue takes back prompts that wait in the CLI.
func (g *Gate) unqueue(ctx context.Context) {
	g.mu.Lock()
	takeBack := g.takeBack
	g.mu.Unlock()
	if takeBack != nil {
		takeBack(ctx)
	}
}

// deferNow reserves the only deferral of a session for a call.
func (g *Gate) deferNow(toolUseID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session == nil || g.deferred != "" {
		return false
	}
	if a := g.session.Activity(); a.Queued > 0 || a.Agents > 0 {
		return false
	}
	g.deferred = toolUseID
	return true
}

func (g *Gate) undefer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deferred = ""
}

// leave ends the wait for a call that the CLI no longer waits for. If the CLI
// withdrew the call, its question is withdrawn. After a crash or a Close the
// CLI may ask about the call again, unless it cannot be deferred.
func (g *Gate) leave(ctx context.Context, q *Question) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, peer.ErrCancelled) && !q.HoldsProcess {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	err := g.inbox.Withdraw(ctx, idOf(g.conversation, q.ToolUseID), OutcomeWithdrawn, "", g.fence)
	if errors.Is(err, store.ErrNotFound) { // but it may be on its way
		err = g.inbox.bury(ctx, *q, OutcomeUnknown, g.fence)
	}
	return errors.Join(cause, err)
}

// ran is the hook after a call that ran.
func (g *Gate) ran(ctx context.Context, in *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
	return nil, g.settle(ctx, in.ToolUseID, OutcomeRan)
}

// failed is the hook after a call that failed.
func (g *Gate) failed(ctx context.Context, in *hook.PostToolUseFailureInput) (*hook.ContextOutput, error) {
	return nil, g.settle(ctx, in.ToolUseID, OutcomeFailed)
}

// settle records how a call ended, if a gate released it.
func (g *Gate) settle(ctx context.Context, toolUseID string, o Outcome) error {
	g.mu.Lock()
	delete(g.allowed, toolUseID)
	g.mu.Unlock()
	err := g.inbox.Settle(ctx, idOf(g.conversation, toolUseID), o, g.fence)
	if _, other := errors.AsType[*StateError](err); other || errors.Is(err, store.ErrNotFound) {
		err = nil // no question was asked about it, or it was denied
	}
	if err == nil {
		g.unfollow(toolUseID)
	}
	return err
}
