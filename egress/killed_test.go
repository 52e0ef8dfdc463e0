package egress_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// A proxy that is killed in the middle of an answer leaves its reservation behind. When its
// time is over it counts, so killing the program does not renew a budget.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	var child *proxyProcess
	f := start(t, func(_ http.ResponseWriter, r *http.Request) {
		child.kill(t) // it has reserved, and been asked nothing else
		<-r.Context().Done()
	}, func(o *egress.Options) { o.Accounts = egress.RecordAccounts(store.Files(dir), "p") })
	child = proxyRole{Upstream: f.api.URL, Dir: dir, Budget: egress.Budget{USD: 0.01}}.start(t)
	here := f.url
	f.url = child.url
	if resp, text, err := f.do("POST", "/v1/messages", child.sentinel, question); err == nil {
		t.Errorf("%d %s from a dead proxy", resp.StatusCode, text)
	}
	f.url = here
	budget := func(g *egress.Grant) { g.Budget.USD = 0.01 }
	pass := f.grant(budget)
	if spent, err := pass.Spent(t.Context()); err != nil || spent != (egress.Amount{}) {
		t.Errorf("spent %+v, %v: the reservation lasts", spent, err)
	}
	// Let its time be over.
	var held egress.Amount
	accounts := egress.RecordAccounts(store.Files(dir), "p")
	if err := accounts.Update(t.Context(), []string{"conversation c1 of acme", "tenant acme"}, func(all []egress.Balance) ([]egress.Balance, error) {
		for _, b := range all {
			if len(b.Held) != 1 {
				t.Errorf("an account has %+v", b)
			}
			for id, h := range b.Held {
				if !h.Until.After(time.Now()) {
					t.Errorf("the reservation lasts until %v", h.Until)
				}
				held, h.Until = h.Amount, time.Now()
				b.Held[id] = h
			}
		}
		return all, nil
	}); err != nil {
		t.Fatal(err)
	}
	if spent, err := pass.Spent(t.Context()); err != nil || spent != held || held.USD <= 0.01 {
		t.Errorf("spent %+v, %v; the reservation was %+v", spent, err, held)
	}
	if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 402 || !strings.Contains(text, "conversation is spent") {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
}

// An answer that cannot be read counts as much as it had reserved.
func TestUnreadableAnswer(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("who knows"))
	}, nil)
	pass := f.grant(nil)
	if resp, text, err := f.ask(pass); err != nil || resp.StatusCode != 200 || text != "who knows" {
		t.Errorf("%d %s, %v", resp.StatusCode, text, err)
	}
	if err := f.proxy.Close(); err != nil { // it waits for the settlement
		t.Fatal(err)
	}
	if spent, err := pass.Spent(t.Context()); err != nil || spent.Tokens < 1000 || spent.USD < 0.025 {
		t.Errorf("spent %+v, %v; 1000 tokens of output were reserved", spent, err)
	}
}
