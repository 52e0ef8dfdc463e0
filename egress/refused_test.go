package egress_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/store"
)

// halfStore changes one record at a time. Something happens before it first writes the
// account of a tenant.
type halfStore struct {
	store.Records
	before func() error
}

func (s *halfStore) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if before := s.before; before != nil && strings.Contains(string(value), `"name":"tenant `) {
		s.before = nil
		if err := before(); err != nil {
			return 0, err
		}
	}
	return s.Records.PutRecord(ctx, k, value, revision, f)
}

// A refused request leaves no reservation behind, though it may have reached the account
// of the conversation before that of the tenant refused it.
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
			f := start(t, whole(1, 1), func(o *egress.Options) {
				o.Accounts = egress.RecordAccounts(&halfStore{memory, func() error { return c.before(accounts) }}, "p")
				o.TenantBudget = func(string) egress.Budget { return egress.Budget{Tokens: 5} }
			})
			if resp, text, err := f.ask(f.grant(nil)); err != nil || resp.StatusCode != c.status {
				t.Errorf("%d %s, %v", resp.StatusCode, text, err)
			}
			if err := accounts.Update(t.Context(), []string{"conversation c1 of acme", "tenant acme"}, func(all []egress.Balance) ([]egress.Balance, error) {
				if all[0].Requests != 1 {
					t.Errorf("the conversation's account was not reached: %+v", all[0])
				}
				for i, a := range all {
					if len(a.Held) > 0 || a.Total.Tokens != 0 {
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
