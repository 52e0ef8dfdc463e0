package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Options configures a fleet. Store, Project and Session are needed; the zero value of
// everything else is useful.
type Options struct {
	// Store keeps everything: transcripts, prompts, questions, leases.
	Store store.Fleet
	// Project is the project of all its keys in the store.
	Project string

	// Session returns the options for the CLI of a conversation. It is called
	// each time the conversation wakes, with the context of the fleet, and once
	// before that to see which CLI is installed. The fleet sets Store, Resume,
	// SessionID and, if they were changed, Model and PermissionMode; it adds
	// hooks. Delete calls it too, to find the files of the conversation: for one that
	// is not to be continued, return its options beside an error.
	Session func(ctx context.Context, key string) (*claude.Options, error)
	// Gate puts tool calls before people. Nil: no person is asked.
	Gate *approval.Options
	// Egress lets the CLIs reach the API through a proxy, without the key. Nil: they
	// have the environment that Session gives them.
	Egress *Egress

	// Workspace gives each conversation a folder of its own, which becomes the Cwd of
	// its CLI; workspace.From finds it in the context of Session. It is opened when the
	// conversation wakes, saved after each turn and when the CLI ends, before others
	// may have the conversation, and removed by Delete. A folder that cannot be opened
	// fails the attempt; one that cannot be saved is logged, and the next save includes
	// its files. With [workspace.Snapshots] a conversation finds its files on every
	// machine. A fork begins with an empty folder. Nil: Session chooses where a
	// conversation works.
	Workspace workspace.Provider

	// MaxLive is how many CLIs run at the same time: 8. With NoCLIs, this
	// process accepts prompts and shows what happens to them, and others that
	// share the store run them. Session is not needed then.
	MaxLive int
	// Runs reports whether this process may run a conversation, for example because it
	// has what the conversation needs. Nil: it may run all. It is called often, and
	// must answer at once. A conversation that it refuses is looked at again after
	// Poll, or when there is more to do for it.
	Runs func(key string) bool
	// Bus carries live text, and changes to running conversations, between the processes
	// that share the store. Nil: only the process that runs a conversation sees its live
	// text and can delete it, and a mode or a model that is chosen in another one holds from
	// the next start of its CLI.
	Bus Bus
	// IdleAfter is how long a conversation without work keeps its CLI: a
	// minute. If another one needs the place, it sleeps at once.
	IdleAfter time.Duration
	// ShellGrace is how long background shell commands keep a conversation
	// awake when it has nothing else to do: 10 minutes.
	ShellGrace time.Duration
	// Grace is how long Close lets turns run: 30 s.
	Grace time.Duration

	// Queue is how many prompts of one conversation may wait: 100.
	Queue int
	// QueueAll is how many prompts of all conversations may wait: 10,000.
	QueueAll int
	// BudgetUSD limits the cost of a conversation. A conversation that has
	// spent its budget is held: the running turn finishes, but no other prompt
	// begins, and new ones are refused with a [*BudgetError]. Waiting prompts
	// are kept for a fleet with a larger budget. 0 means no limit.
	BudgetUSD float64
	// DayBudgetUSD limits the cost of all conversations together on a day in UTC, and
	// TenantDayBudgetUSD that of each tenant's conversations. When it is spent, running
	// turns finish, new prompts are refused with a [*BudgetError] that has the end of
	// the day, and waiting ones are held until then. Turns that run at the same time
	// may exceed it together, and spending of other processes is seen two seconds late.
	// A turn counts on the day on which it ends. Set the same budgets in all processes
	// that share the store: one that has none counts nothing. 0 means no limit.
	DayBudgetUSD, TenantDayBudgetUSD float64
	// TenantDayBudgetOf returns the budget of a single tenant, 0 for
	// TenantDayBudgetUSD. It is called often, and must answer at once.
	TenantDayBudgetOf func(tenant string) float64
	// Rate limits the prompts of each conversation, and TenantRate those of
	// each tenant. Prompts that come too fast are refused with an
	// [*OverloadedError]. The zero Rate means no limit. Each process counts Rate
	// for itself. TenantRate is counted in the store, by its clock, for all processes
	// together; where it is not exact, it lets fewer prompts through: one whose Send
	// fails after it was counted still counts, and one that many processes keep from
	// being counted is refused.
	Rate, TenantRate Rate
	// MaxMemory is how many bytes the CLI of a conversation and everything it
	// has started may use together, and MaxProcesses how many processes they
	// may be. A CLI that exceeds a limit is ended after its turn, with whatever
	// it runs in the background; the conversation continues with a fresh CLI
	// when there is something to do. A turn is never cut off: if a limit must
	// hold at every moment, use a container. 0 means no limit.
	MaxMemory    int64
	MaxProcesses int
	// Measure returns the usage of the CLI of a session. Nil measures its processes on
	// Linux, where memory that processes share counts in proportion. Other systems do
	// not report this, so Open refuses these limits there unless Measure is set. You
	// also need Measure if the CLI is not a child of this process: a CLI that cannot be
	// measured is not limited, and the log reports it.
	Measure func(s *claude.Session) (ProcessUsage, error)
	// LimitsOf returns the limits of a single conversation. Nil: the limits
	// above apply to all. It is called often, and must answer at once.
	LimitsOf func(key string) ConversationLimits
	// Attempts is how often a prompt is begun without progress before the
	// conversation counts as stuck: 3. An attempt does not count if Close cut it
	// off, or if the CLI was only slow to start; the next start then has more time. One
	// that lost its lease, because the machine slept or could not reach the store, does
	// not count either if the same process continues it, up to six times.
	Attempts int
	// Resets is how often progress, a message of the model or the result of a tool,
	// restarts the count of attempts: 20. Beyond that even a turn that makes progress
	// is given up after that many attempts. A decision of a person and [Fleet.Retry]
	// restart both counts.
	Resets int

	// Keep is how long the outcomes of prompts, and settled questions, are
	// kept: 30 days. Until then, [Fleet.Prompt] finds the prompt, and sending
	// it again does not run it again. The messages are in the transcript and
	// stay. [KeepForever] removes nothing.
	Keep time.Duration

	// Owner names this fleet to the others that use the store. Empty: the name
	// of the host and the number of this process.
	Owner string
	// TTL is how long the lease of a conversation lasts if this process dies:
	// 30 s.
	TTL time.Duration
	// Poll is how often the fleet looks for prompts that other processes have accepted,
	// and for conversations that they have let go, although the store announces both by
	// Watch: 15 s, half of the usual TTL, so that a lost announcement delays a prompt by
	// less than the death of its process does. While the store cannot be watched, the
	// fleet looks every 2 s, unless Poll is shorter.
	Poll time.Duration
	// StoreTimeout is how long a call waits for the store: 10 s. Send, Prompt,
	// Cancel, Interrupt, Get, Retry, Describe, SetModel, SetPermissionMode and
	// decisions take no longer than that; Delete and Fork, which make many changes, and List
	// wait that long for each. Resume does too, but not for what it copies. Loops
	// that wait for news, such as Wait, Events and Outcomes, ask again until their
	// context ends. The error then matches [ErrTimeout]; that of Send is an
	// [*InDoubtError] if the prompt may have been accepted. What the fleet does by
	// itself, Open included, waits that long for each answer, and tries again later.
	StoreTimeout time.Duration
	// Journal is the directory for entries that the store does not take; see
	// [claude.StoreOptions].
	Journal string
	// Logger logs what happens. Nil: slog.Default().
	Logger *slog.Logger
	// Trace follows prompts. Nil: they are not traced.
	Trace *PromptTrace

	// looks replaces the look at a conversation, in tests of the decisions.
	looks func(decider) (step, *queued, error)
}

// NoCLIs is the MaxLive of a process that runs no conversations.
const NoCLIs = -1

// KeepForever is the Keep of a fleet that removes no outcomes.
const KeepForever = time.Duration(-1)

// minTTL is the shortest lease that a busy process can renew in time.
const minTTL = time.Second

// dayBudgets returns the budgets of a day.
func (o *Options) dayBudgets() dayBudgets {
	return dayBudgets{o.DayBudgetUSD, o.TenantDayBudgetUSD, o.TenantDayBudgetOf}
}

// check refuses options that cannot work, and fills in the others.
func (o *Options) check() error {
	switch {
	case o.Store == nil:
		return errors.New("claude: fleet: Options.Store is missing")
	case o.Session == nil && o.MaxLive != NoCLIs:
		return errors.New("claude: fleet: Options.Session is missing")
	case o.TTL != 0 && o.TTL < minTTL:
		return fmt.Errorf("claude: fleet: Options.TTL: %v is less than %v", o.TTL, minTTL)
	}
	if err := o.Egress.check(); err != nil {
		return err
	}
	if err := (&ConversationLimits{o.BudgetUSD, o.Rate, o.MaxMemory, o.MaxProcesses}).check(); err != nil {
		return fmt.Errorf("claude: fleet: Options.%w", err)
	}
	if b := o.dayBudgets(); b.check() != nil {
		return fmt.Errorf("claude: fleet: Options.%w", b.check())
	}
	if !o.TenantRate.valid() {
		return fmt.Errorf("claude: fleet: Options.TenantRate: %v is not a rate", o.TenantRate)
	}
	if o.Measure == nil {
		if !proc.Measures && (o.MaxMemory > 0 || o.MaxProcesses > 0) {
			return fmt.Errorf("claude: fleet: Options.MaxMemory and MaxProcesses: %w; set Options.Measure", proc.ErrNoUsage)
		}
		o.Measure = measure
	}
	if err := store.CheckProject(o.Project); err != nil {
		return fmt.Errorf("claude: fleet: Options.Project: %w", err)
	}
	for _, n := range []struct {
		name    string
		value   *int
		without int
	}{{"MaxLive", &o.MaxLive, 8}, {"Queue", &o.Queue, 100}, {"QueueAll", &o.QueueAll, 10_000}, {"Attempts", &o.Attempts, 3}, {"Resets", &o.Resets, 20}} {
		if *n.value < 0 && (n.name != "MaxLive" || *n.value != NoCLIs) {
			return fmt.Errorf("claude: fleet: Options.%s is negative", n.name)
		}
		if *n.value == 0 {
			*n.value = n.without
		}
	}
	for _, d := range []struct {
		name    string
		value   *time.Duration
		without time.Duration
	}{
		{"IdleAfter", &o.IdleAfter, time.Minute}, {"ShellGrace", &o.ShellGrace, 10 * time.Minute}, {"Grace", &o.Grace, 30 * time.Second},
		{"TTL", &o.TTL, 30 * time.Second}, {"Poll", &o.Poll, 15 * time.Second}, {"Keep", &o.Keep, 30 * 24 * time.Hour},
		{"StoreTimeout", &o.StoreTimeout, 10 * time.Second},
	} {
		if *d.value < 0 && (d.name != "Keep" || *d.value != KeepForever) {
			return fmt.Errorf("claude: fleet: Options.%s is negative", d.name)
		}
		if *d.value == 0 {
			*d.value = d.without
		}
	}
	if o.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		o.Owner = fmt.Sprintf("%s, process %d", host, os.Getpid())
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}
