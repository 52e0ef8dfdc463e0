package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/message"
)

// How often the live line is drawn, and how often the CLI is asked for the cost:
// results tell it, but only when a turn is over.
const (
	drawEvery = 200 * time.Millisecond
	costEvery = 3 * time.Second
)

// progress is the state of a turn that the live line shows. It is safe for
// concurrent use.
type progress struct {
	began time.Time

	mu      sync.Mutex
	running []string // tools, in the order they began
	answer  string   // the id of the one that is being written
	writing int      // its tokens so far
	tokens  int      // of those before
	cost    float64
}

func newProgress() *progress { return &progress{began: time.Now()} }

// add takes a message into account.
func (p *progress) add(m message.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m := m.(type) {
	case *message.StreamEvent:
		if m.Usage != nil {
			p.count(m.MessageID, m.Usage.OutputTokens)
		}
	case *message.Assistant:
		if m.ParentToolUseID == "" {
			p.count(m.ID, m.Usage.OutputTokens)
		}
	case *message.Result:
		p.cost = m.TotalCostUSD
	}
}

// count takes the tokens of an answer, which is reported several times.
func (p *progress) count(answer string, tokens int) {
	if answer != p.answer {
		p.tokens += p.writing
		p.answer, p.writing = answer, 0
	}
	p.writing = max(p.writing, tokens)
}

// tools sets the running tools; about describes each.
func (p *progress) tools(calls []*message.ToolCall, about func(*message.ToolCall) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = p.running[:0]
	for _, call := range calls {
		p.running = append(p.running, strings.TrimSpace(call.Use.Name+"  "+about(call)))
	}
}

func (p *progress) setCost(usd float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cost = usd
}

// text is the live line.
func (p *progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	doing := "thinking"
	if len(p.running) > 0 {
		doing = strings.Join(p.running, ", ")
	}
	return fmt.Sprintf("%s  %d tokens  $%.4f  %s", brief.Seconds(now.Sub(p.began)), p.tokens+p.writing, p.cost, doing)
}

// display shows the live line until the function that it returns is called. After
// that nothing is drawn any more.
func (p *progress) display(ctx context.Context, s *screen, session *claude.Session, clean func(string) string) (hide func()) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() { p.follow(ctx, session) })
	both.Go(func() { p.show(ctx, s, clean) })
	return func() {
		cancel()
		both.Wait()
	}
}

// show draws the live line until the context ends.
func (p *progress) show(ctx context.Context, s *screen, clean func(string) string) {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	defer s.clear()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.draw(clean(p.text(now)))
		}
	}
}

// follow asks for the cost until the context ends.
func (p *progress) follow(ctx context.Context, session *claude.Session) {
	tick := time.NewTicker(costEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		usage, err := session.Usage(ctx)
		if err != nil {
			return // an old CLI does not know, and will not learn
		}
		p.setCost(usage.Session.TotalCostUSD)
	}
}
