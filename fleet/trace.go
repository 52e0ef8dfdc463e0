package fleet

import (
	"context"
	"time"
)

// PromptTrace is a set of functions that follow prompts through a fleet, in the manner
// of [claude.Trace]. Module otelclaude makes spans and metrics of them. Any may be nil.
// They may be called from several goroutines at once, except that calls of Load come
// one after another. Their caller waits for them, so they must return at once and must
// not use the fleet.
//
// A prompt may be accepted by one process and run by another, days later. The carrier,
// a few short texts, connects the two: it is stored with the prompt.
type PromptTrace struct {
	// Sending is called by Send, with its context. The prompt keeps the carrier
	// that it returns. sent, if it is not nil, is called with what Send returns.
	Sending func(ctx context.Context, p TracePrompt) (carrier map[string]string, sent func(id string, err error))
	// Running is called each time a CLI is to work on a prompt. The CLI is
	// started and the turn is run with the context that it returns, which must be
	// derived from ctx. done, if it is not nil, is called once when the work has
	// ended. If the prompt has not, it keeps the carrier that done returns.
	Running func(ctx context.Context, p TracePrompt) (own context.Context, done func(TraceOutcome) (carrier map[string]string))
	// Load is called when its numbers change, in order. When the fleet is closed
	// both are 0.
	Load func(TraceLoad)
	// Fenced is called when the store has refused to let this process write to a
	// conversation, or renew its lease, because another process now owns it. It
	// happens to a process that was suspended, or cut off from the store, for longer
	// than its lease.
	Fenced func(key string)
}

// TracePrompt is a prompt that a [PromptTrace] learns about.
type TracePrompt struct {
	Key string // of the conversation
	ID  string // empty in Sending if the prompt gets a random one
	// Work is the work of the CLI, in Running.
	Work TraceWork
	// Attempt counts from 1, since the prompt last made progress.
	Attempt int
	// Accepted is when the prompt was accepted, by the clock of the store.
	Accepted time.Time
	Carrier  map[string]string
}

// TraceWork is a kind of work of a CLI on a prompt.
type TraceWork string

// The kinds of work.
const (
	WorkBegins  TraceWork = "begins"  // the CLI gets the prompt
	WorkDecided TraceWork = "decided" // it makes a call that was deferred
	WorkResumed TraceWork = "resumed" // it continues a turn that broke off
	WorkRewinds TraceWork = "rewinds" // it restores files: no turn
)

// TraceOutcome is how the work on a prompt ended.
type TraceOutcome struct {
	// Status is that of the prompt. PromptRunning means that it will be tried again.
	Status PromptStatus
	// Question is the id of the question that the prompt waits for, if it does.
	Question string
	// Err is the error that broke an attempt off. It may quote the conversation.
	Err error
}

// TraceLoad is how much a fleet has to do.
type TraceLoad struct {
	// Queued is how many prompts are known to have no outcome, those that run
	// included.
	Queued int
	// Live is how many conversations are awake here.
	Live int
}
