package egress_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// lateStore is a store in which something happens before it first writes the account of a
// tenant.
type lateStore struct {
	store.Records
	before func() error
}

func (s *lateStore) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	tenant := func(c store.RecordChange) bool { return strings.Contains(string(c.Value), `"name":"tenant `) }
	if before := s.before; before != nil && slices.ContainsFunc(c, tenant) {
		s.before = nil
		if err := before(); err != nil {
			return nil, err
		}
	}
	return s.Records.Change(ctx, f, c...)
}

// A refused request leaves no reservation behind, neither on the account of the
// conversation nor on that of the tenant, though the store fails or others spend meanwhile.
func TestRefusedHoldsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		before func(egress.Accounts) error
		status int
	}{
		"the store fails": {func(egress.Accounts) error { return errors.New("the disk is full") }, 503},
		"others spend meanwhile": {func(a egress.Accounts) error {
			return a.Update(t.Context(), []string{"tenant acme"}, func(b []egress.Balance) ([]egress.Balance, error) {
				b[0].Spent.Tokens = 10
				return b, nil
			})
		}, 402},
	} {
		t.Run(name, func(t *testing.T) {
			memory := store.Memory()
			accounts := egress.RecordAccounts(memory, "p")
			late := &lateStore{memory, func() error { return c.before(accounts) }}
			f := start(t, whole(1, 1), func(o *egress.Options) {
				o.Accounts = egress.RecordAccounts(late, "p")
				o.TenantBudget = func(string) egress.Budget { return egress.Budget{Tokens: 5} }
			})
			if resp, text, err := f.ask(f.grant(nil)); err != nil || resp.StatusCode != c.status {
				t.Errorf("%d %s, %v", resp.StatusCode, text, err)
			}
			if err := accounts.Update(t.Context(), []string{"conversation c1 of acme", "tenant acme"}, func(all []egress.Balance) ([]egress.Balance, error) {
				if late.before != nil {
					t.Error("no account was written")
				}
				for i, a := range all {
					if len(a.Held) > 0 || a.Total.Tokens != 0 || a.Requests != 0 {
						t.Errorf("account %d: %+v", i, a)
					}
				}
				return nil, nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// An API that repeats the key in an error does not get it through by encoding it either.
func TestHidesEncodedError(t *testing.T) {
	f := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "x-rot13")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(529)
		_, _ = io.WriteString(w, "encoded")
	}, nil)
	resp, text, err := f.ask(f.grant(nil))
	if err != nil || resp.StatusCode != 529 || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Retry-After") != "7" || strings.Contains(text, "encoded") {
		t.Errorf("%d %s %v, %v", resp.StatusCode, text, resp.Header, err)
	}
	apiError(t, text)
}

// A request that ends before the API answers costs its input if it asked for a stream, and
// all that it had reserved if not: the answer may have been written and paid for.
func TestEndsBeforeAnswer(t *testing.T) {
	for body, tokens := range map[string]int64{
		`{"model":"claude-opus-4-8","max_tokens":1000,"stream":true}`:  int64(len(`{"model":"claude-opus-4-8","max_tokens":1000,"stream":true}`) / 4),
		`{"model":"claude-opus-4-8","max_tokens":1000,"stream":false}`: 1000 + int64(len(`{"model":"claude-opus-4-8","max_tokens":1000,"stream":false}`)/4),
		question: 1000 + int64(len(question)/4),
	} {
		f := start(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
		pass := f.grant(nil)
		if resp, text, err := f.do("POST", "/v1/messages", pass.Sentinel(), body); err != nil || resp.StatusCode != 502 {
			t.Errorf("%d %s, %v", resp.StatusCode, text, err)
		}
		if spent, err := pass.Spent(t.Context()); err != nil || spent.Tokens != tokens || spent.USD <= 0 {
			t.Errorf("%s: spent %+v, %v; want %d tokens", body, spent, err, tokens)
		}
	}
}

// send asks the proxy without a network. It returns the status.
func (f *fixture) send(pass *egress.Pass, body io.Reader) int {
	r := httptest.NewRequestWithContext(f.t.Context(), "POST", "/v1/messages", body)
	r.URL.Host, r.URL.Scheme = "", ""
	r.Header.Set("X-Api-Key", pass.Sentinel())
	w := httptest.NewRecorder()
	f.proxy.ServeHTTP(w, r)
	return w.Code
}

// The bodies of all requests, and those of one pass, have a bound together. What arrives
// beyond it is refused at once, and the room is free again when requests have ended.
func TestBodiesAreBounded(t *testing.T) {
	f := start(t, whole(1, 1), func(o *egress.Options) { o.Bounds = egress.Bounds{Body: 100, Bodies: 250} })
	var running sync.WaitGroup
	var ends []func()
	begin := func(id string) (pass *egress.Pass) {
		pass = f.grant(func(g *egress.Grant) { g.Conversation.ID = id })
		near, far := io.Pipe()
		running.Go(func() {
			if got := f.send(pass, near); got != 400 {
				t.Errorf("a body that breaks off: %d", got)
			}
		})
		for range 2 { // the second is taken when the first was counted
			if _, err := io.WriteString(far, strings.Repeat(" ", 40)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(far, " "); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, func() { far.CloseWithError(errors.New("gone")) })
		return pass
	}
	first := begin("c1")
	if got := f.send(first, strings.NewReader(question)); got != 429 {
		t.Errorf("more than one pass may have: %d", got)
	}
	begin("c2")
	begin("c3")
	other := f.grant(func(g *egress.Grant) { g.Conversation.ID = "c4" })
	if got := f.send(other, strings.NewReader(question)); got != 429 {
		t.Errorf("more than all may have: %d", got)
	}
	for _, end := range ends {
		end()
	}
	running.Wait()
	for _, pass := range []*egress.Pass{first, other} {
		if got := f.send(pass, strings.NewReader(question)); got != 200 {
			t.Errorf("afterwards: %d", got)
		}
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// A request that rate or budget refuse anyway is refused before its body is read.
func TestRefusesUnread(t *testing.T) {
	for status, budget := range map[int]egress.Budget{402: {Tokens: 1}, 429: {RequestsPerMinute: 1}} {
		f := start(t, whole(1, 1), nil)
		pass := f.grant(func(g *egress.Grant) { g.Budget = budget })
		if got := f.send(pass, strings.NewReader(question)); got != 200 {
			t.Fatalf("the first: %d", got)
		}
		if got := f.send(pass, unread{t}); got != status {
			t.Errorf("%d, want %d", got, status)
		}
	}
}
