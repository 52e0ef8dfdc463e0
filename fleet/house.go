package fleet

import (
	"context"
	"sync"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/internal/removal"
)

// house has the parts of a fleet. Each part gets the parts that it depends on, so
// that dependencies go one way, and no part knows the house:
//
//   - records, asked, leases and budgets know the store and keep nothing in memory;
//   - roster knows who is awake in this process and who is next;
//   - peers knows the other processes;
//   - news, meter, endings, eraser, copier, reports, admission and lookout use these.
//
// A conversation that is awake has the whole house, see [tenure].
type house struct {
	opts  Options
	ear   *ear
	store *announcer
	inbox *approval.Questions
	clock clock
	log   *outcomelog.Log

	bounds  bounds
	records *records
	asked   *asked
	leases  *leases
	budgets *budgets

	days *days // nil without a budget for a day

	newer newerRecords
	temps temporary

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	closing chan struct{}  // closed when Close begins
	running sync.WaitGroup // what looks at the store

	roster    *roster
	peers     *peers
	news      *news
	meter     *meter
	endings   *endings
	eraser    *eraser
	janitor   *janitor
	copier    *copier
	reports   *reports
	admission *admission
	lookout   *lookout
}

// newHouse makes the parts. They do nothing yet.
func newHouse(ctx context.Context, o Options) *house {
	limits := bounds{o.StoreTimeout}
	heard := newEar(&timely{o.Store, limits}, o.Poll)
	h := &house{
		opts: o, ear: heard, store: newAnnouncer(heard, o.Trace), inbox: approval.NewQuestions(heard, o.Project),
		closing: make(chan struct{}), bounds: limits,
	}
	h.inbox.PollEvery(heard.pollEvery)
	h.log = outcomelog.New(h.store, o.Project, func(name string, err error) {
		o.Logger.Warn("the mark of an outcome cannot be read, and stays", "conversation", keyAt(name), "error", err)
	})
	h.newer.log = o.Logger
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.days = newDays(h.ctx, &h.opts, h.store, &h.clock)
	h.records = &records{h.store, o.Project, h.log, h.days, &h.newer}
	h.asked = &asked{h.store, o.Project, h.inbox}
	h.leases = &leases{h.store, &h.opts, heard}
	h.budgets = &budgets{&h.opts, h.days}
	h.roster = newRoster(h.ctx, &h.opts, &h.running, heard, h.leases)
	h.peers = newPeers(h.ctx, &h.opts, &h.running, h.roster, h.leases)
	h.news = &news{&h.opts, h.store, h.roster, h.peers}
	h.meter = &meter{&h.opts, h.store, h.records, h.days}
	overdue := newOverdue()
	h.endings = &endings{&h.opts, h.ctx, h.store, overdue, h.records, h.asked, h.roster, h.news, nil}
	h.eraser = &eraser{&h.opts, h.ctx, &h.running, h.store, h.inbox, &h.newer, &h.temps, h.bounds, h.records, h.roster, h.leases, h.news, h.meter, h.peers, removal.Running{}}
	h.janitor = &janitor{&h.opts, h.ctx, h.store, h.inbox, &h.newer, h.log, h.records}
	h.copier = &copier{&h.opts, h.ctx, &h.running, h.store, &h.newer, h.records, h.leases}
	h.reports = &reports{&h.opts, h.ctx, heard, h.store, &h.newer, h.bounds, h.records, h.asked, h.roster, h.budgets}
	h.admission = &admission{
		opts: &h.opts, ctx: h.ctx, store: h.store, temps: &h.temps, days: h.days, tenants: newTenantRates(&h.opts, h.store, &h.clock),
		records: h.records, roster: h.roster, budgets: h.budgets,
	}
	h.lookout = &lookout{
		opts: &h.opts, ctx: h.ctx, ear: heard, store: h.store, inbox: h.inbox, newer: &h.newer, overdue: overdue, days: h.days, clock: &h.clock,
		records: h.records, roster: h.roster, endings: h.endings, ended: endWatch{log: h.log, logger: o.Logger}, missed: make(chan struct{}, 1),
	}
	return h
}
