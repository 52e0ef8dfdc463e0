package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// problemKind is a type of problem.
type problemKind struct {
	name   string
	status int
	title  string
}

// The types of problems. /problems/NAME explains each in one line.
var (
	badRequest     = problemKind{"bad-request", http.StatusBadRequest, "The request cannot be understood"}
	unauthorized   = problemKind{"unauthorized", http.StatusUnauthorized, "Log in first"}
	forbidden      = problemKind{"forbidden", http.StatusForbidden, "Your role does not allow this"}
	loginFailed    = problemKind{"login-failed", http.StatusUnauthorized, "The login did not work"}
	loginRefused   = problemKind{"login-refused", http.StatusForbidden, "You have no access to this server"}
	providerSilent = problemKind{"login-provider", http.StatusBadGateway, "The login provider does not answer"}
	crossSite      = problemKind{"cross-site", http.StatusForbidden, "The request comes from another site"}
	notFound       = problemKind{"not-found", http.StatusNotFound, "It does not exist, or you may not see it"}
	notAllowed     = problemKind{"method-not-allowed", http.StatusMethodNotAllowed, "The path does not take this method"}
	leased         = problemKind{"leased", http.StatusConflict, "Another process runs the conversation"}
	begun          = problemKind{"begun", http.StatusConflict, "The prompt has begun"}
	idle           = problemKind{"idle", http.StatusConflict, "The conversation is not doing anything"}
	stuckHere      = problemKind{"stuck", http.StatusConflict, "The conversation is stuck"}
	busy           = problemKind{"busy", http.StatusConflict, "The conversation is at work"}
	deleting       = problemKind{"deleting", http.StatusConflict, "The conversation is being deleted"}
	noCheckpoint   = problemKind{"no-checkpoint", http.StatusConflict, "The files cannot be restored to that point"}
	ended          = problemKind{"ended", http.StatusConflict, "The conversation has ended"}
	takenBack      = problemKind{"taken-back", http.StatusConflict, "It was taken back before it began"}
	alreadyDecided = problemKind{"already-decided", http.StatusConflict, "Somebody else has decided"}
	resumed        = problemKind{"resumed", http.StatusConflict, "The session is already a conversation"}
	sessionOpen    = problemKind{"session-open", http.StatusConflict, "A CLI has the session open"}
	sessionDeleted = problemKind{"session-deleted", http.StatusConflict, "The conversation of the session was deleted"}
	inputChanged   = problemKind{"changed", http.StatusConflict, "The decision is about a different input from the one that the call has now"}
	busyKey        = problemKind{"in-progress", http.StatusConflict, "A request with this Idempotency-Key is being worked on"}
	gone           = problemKind{"gone", http.StatusGone, "The approval can no longer be decided"}
	precondition   = problemKind{"precondition", http.StatusPreconditionFailed, "The conversation has changed in the meantime"}
	tooLarge       = problemKind{"too-large", http.StatusRequestEntityTooLarge, "The request is too large"}
	mediaType      = problemKind{"media-type", http.StatusUnsupportedMediaType, "The body must be application/json"}
	misdirected    = problemKind{"misdirected", http.StatusMisdirectedRequest, "This server does not answer to that host name"}
	unknownPreset  = problemKind{"unknown-preset", http.StatusUnprocessableEntity, "There is no such preset"}
	outside        = problemKind{"outside", http.StatusUnprocessableEntity, "The directory is outside the preset's roots"}
	modeRefused    = problemKind{"mode-not-allowed", http.StatusUnprocessableEntity, "The preset does not allow this permission mode"}
	modelRefused   = problemKind{"model-not-allowed", http.StatusUnprocessableEntity, "The preset does not allow this model"}
	unusable       = problemKind{"session-unusable", http.StatusUnprocessableEntity, "The session cannot be continued here"}
	keyReused      = problemKind{"key-reused", http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"}
	full           = problemKind{"full", http.StatusTooManyRequests, "Too many prompts are waiting"}
	budget         = problemKind{"budget", http.StatusTooManyRequests, "The budget is spent"}
	tooSlow        = problemKind{"too-slow", http.StatusRequestTimeout, "The request took too long to arrive"}
	limited        = problemKind{"limited", http.StatusTooManyRequests, "Too many attempts"}
	cliMissing     = problemKind{"cli-missing", http.StatusBadGateway, "The Claude Code CLI is not installed on the server"}
	cliFailed      = problemKind{"cli-failed", http.StatusBadGateway, "The CLI could not be started, or failed"}
	unsupported    = problemKind{"unsupported", http.StatusNotImplemented, "This server cannot do that"}
	closing        = problemKind{"closing", http.StatusServiceUnavailable, "The server is stopping"}
	storeSilent    = problemKind{"store-silent", http.StatusServiceUnavailable, "The store does not answer"}
	internal       = problemKind{"internal", http.StatusInternalServerError, "Something went wrong in the server"}
)

// problemKinds returns all types, for the documents.
func problemKinds() []problemKind {
	return []problemKind{
		badRequest, unauthorized, forbidden, loginFailed, loginRefused, providerSilent, crossSite, notFound, notAllowed, leased, begun, idle, stuckHere, busy, deleting, noCheckpoint, ended, takenBack, alreadyDecided, inputChanged, resumed, sessionOpen, sessionDeleted, busyKey,
		gone, precondition, tooLarge, mediaType, misdirected, unknownPreset, outside, modeRefused, modelRefused, unusable, keyReused,
		full, budget, tooSlow, limited, cliMissing, cliFailed, unsupported, closing, storeSilent, internal,
	}
}

// because makes a problem of this type.
func (k problemKind) because(format string, args ...any) *api.Problem {
	return &api.Problem{Type: "/problems/" + k.name, Title: k.title, Status: k.status, Detail: fmt.Sprintf(format, args...)}
}

// is reports whether an error is a problem of this type.
func (k problemKind) is(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Type == "/problems/"+k.name
}

// retryStore is how many seconds to wait when the store does not answer.
const retryStore = 5

// problemOf turns an error of the fleet, the inbox or the store into a problem that
// reveals only what a client may know.
func problemOf(err error) *api.Problem {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p
	}
	p := describe(err)
	p.Cause = err
	return p
}

func describe(err error) *api.Problem {
	if over, ok := errors.AsType[*fleet.OverloadedError](err); ok {
		p := full.because("%d prompts wait; send it again later, with the same id", over.Queued)
		p.RetryAfter = max(1, int(over.Wait/time.Second))
		return p
	}
	if doubt, ok := errors.AsType[*fleet.InDoubtError](err); ok {
		p := storeSilent.because("the prompt may have been accepted: send it again with the id %s", doubt.Prompt)
		p.Prompt, p.RetryAfter = doubt.Prompt, retryStore
		return p
	}
	if ended, ok := errors.AsType[*approval.GoneError](err); ok {
		p := gone.because("it is %s", ended.Outcome)
		if p.Successor = ended.Successor; p.Successor != "" {
			p.Detail += "; decide its successor instead"
		}
		return p
	}
	if spent, ok := errors.AsType[*fleet.BudgetError](err); ok {
		return overBudget(spent, time.Now())
	}
	if ended, ok := errors.AsType[*fleet.FailedError](err); ok {
		if ended.Ticket.Status == fleet.PromptCancelled {
			return takenBack.because("nothing has changed; try again")
		}
		return cliFailed.because("%s. Fix what it names, and try again", ended.Ticket.Error)
	}
	if stuck, ok := errors.AsType[*fleet.StuckError](err); ok && stuck.Cause != "" {
		_, advice := eventlog.FailureOf(stuck.Cause, stuck.Reason)
		return stuckHere.because("%s", advice)
	}
	if start, ok := errors.AsType[*claude.StartError](err); ok {
		if start.Reason == claude.ErrNotFound {
			return cliMissing.because("%s", eventlog.MissingAdvice)
		}
		return cliFailed.because("%s. Fix what it names, and try again", start)
	}
	switch {
	case errors.Is(err, fleet.ErrTimeout):
		p := storeSilent.because("what was asked for may have been done: look, or ask again")
		p.RetryAfter = retryStore
		return p
	case errors.Is(err, fleet.ErrDeleted), errors.Is(err, eventlog.ErrErasing):
		return beingDeleted()
	case errors.Is(err, eventlog.ErrDeleted):
		return notFound.because(eventlog.WasDeleted)
	case errors.Is(err, fleet.ErrUnknown), errors.Is(err, fleet.ErrForeign), errors.Is(err, store.ErrNotFound):
		return notFound.because("check the id; lists show what you may see")
	case errors.Is(err, fleet.ErrStuck):
		return stuckHere.because("a prompt was begun again and again and never ended: POST …/retry tries again, DELETE …/prompts/{id} gives it up")
	case errors.Is(err, fleet.ErrElsewhere), errors.Is(err, store.ErrLeased), errors.Is(err, store.ErrLeaseLost):
		return leased.because("send the request to the process that runs it, or try again when its turn is over")
	case errors.Is(err, fleet.ErrBegun):
		return begun.because("interrupt it instead: POST …/interrupt")
	case errors.Is(err, fleet.ErrClosed), errors.Is(err, context.Canceled):
		return closing.because("try again in a moment; nothing that was accepted is lost")
	case errors.Is(err, approval.ErrChanged):
		return inputChanged.because("load the approval again, look at its input, and decide with its digest")
	case errors.Is(err, approval.ErrForbidden):
		return forbidden.because("this approval names who may decide it")
	case errors.Is(err, approval.ErrInvalid), errors.Is(err, store.ErrInvalid):
		return badRequest.because("%s", err)
	}
	return internal.because("the server's log has the details; try again")
}

// overBudget returns the problem of a spent budget of the fleet.
func overBudget(spent *fleet.BudgetError, now time.Time) *api.Problem {
	if spent.Resets.IsZero() {
		return budget.because("the conversation has cost $%.2f of the $%.2f that it may", spent.CostUSD, spent.OfUSD)
	}
	p := budget.because("$%.2f of the $%.2f for this day are spent; send it again after midnight UTC, with the same id", spent.CostUSD, spent.OfUSD)
	p.RetryAfter = max(1, int(spent.Resets.Sub(now)/time.Second)+1)
	return p
}

// write sends a problem.
func write(p *api.Problem, w http.ResponseWriter, r *http.Request) {
	own := *p
	own.Instance = r.URL.Path
	body, err := jsonx.Marshal(&own)
	if err != nil {
		http.Error(w, p.Title, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="claude"`)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// beingDeleted returns the problem of a request for a conversation that is being
// deleted.
func beingDeleted() *api.Problem {
	p := deleting.because("nothing more is accepted for it: begin another conversation, or try again in a moment")
	p.RetryAfter = 1
	return p
}
