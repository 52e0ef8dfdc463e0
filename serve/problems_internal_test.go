package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// What a client reads of an error: written out, with the status that it has.
func TestProblemsOfErrors(t *testing.T) {
	t.Parallel()
	at := func(err error) error {
		return fmt.Errorf("wrapped: %w", &fleet.ConversationError{Key: "a/b", Reason: err})
	}
	secret := errors.New("open /etc/secret: denied")
	for _, c := range []struct {
		err    error
		kind   string
		status int
		retry  int
	}{
		{&fleet.OverloadedError{Key: "a/b", Queued: 3, Wait: 90 * time.Second}, "full", 429, 90},
		{&fleet.OverloadedError{Tenant: "a", Wait: time.Millisecond}, "full", 429, 1},
		{at(&fleet.InDoubtError{Key: "a/b", Prompt: "p1", Err: secret}), "store-silent", 503, 5},
		{at(fleet.ErrTimeout), "store-silent", 503, 5},
		{&approval.GoneError{ID: "q", Outcome: approval.OutcomeExpired}, "gone", 410, 0},
		{&approval.GoneError{ID: "q", Outcome: approval.OutcomeSuperseded, Successor: "q2"}, "gone", 410, 0},
		{&fleet.FailedError{Ticket: fleet.Ticket{Status: fleet.PromptFailed, Error: "it broke"}}, "cli-failed", 502, 0},
		{&fleet.FailedError{Ticket: fleet.Ticket{Status: fleet.PromptCancelled}}, "taken-back", 409, 0},
		{&fleet.StuckError{Key: "a/b", Reason: "no such file", Cause: fleet.CauseCLIMissing}, "stuck", 409, 0},
		{&fleet.StuckError{Key: "a/b", Reason: "it ended"}, "stuck", 409, 0},
		{at(fleet.ErrStuck), "stuck", 409, 0},
		{at(&claude.StartError{Reason: claude.ErrNotFound}), "cli-missing", 502, 0},
		{at(&claude.StartError{Reason: errors.New("exec format error")}), "cli-failed", 502, 0},
		{at(fleet.ErrDeleted), "deleting", 409, 1},
		{at(fleet.ErrUnknown), "not-found", 404, 0},
		{at(fleet.ErrForeign), "not-found", 404, 0},
		{fmt.Errorf("x: %w", store.ErrNotFound), "not-found", 404, 0},
		{at(fleet.ErrElsewhere), "leased", 409, 0},
		{at(store.ErrLeased), "leased", 409, 0},
		{at(store.ErrLeaseLost), "leased", 409, 0},
		{at(fleet.ErrBegun), "begun", 409, 0},
		{fleet.ErrClosed, "closing", 503, 0},
		{context.Canceled, "closing", 503, 0},
		{fmt.Errorf("x: %w", approval.ErrChanged), "changed", 409, 0},
		{fmt.Errorf("x: %w", approval.ErrForbidden), "forbidden", 403, 0},
		{fmt.Errorf("x: %w", approval.ErrInvalid), "bad-request", 400, 0},
		{at(store.ErrInvalid), "bad-request", 400, 0},
		{secret, "internal", 500, 0},
		{at(secret), "internal", 500, 0},
		{fmt.Errorf("x: %w", badRequest.because("as it is")), "bad-request", 400, 0},
	} {
		p := problemOf(c.err)
		if p.Type != "/problems/"+c.kind || p.Status != c.status || p.RetryAfter != c.retry || p.Title == "" || p.Detail == "" {
			t.Errorf("%v: %+v", c.err, p)
		}
		if p.Cause == nil && c.kind != "bad-request" || p.Cause != nil && p.Cause != c.err {
			t.Errorf("%v: its cause is %v", c.err, p.Cause)
		}
		w := httptest.NewRecorder()
		write(p, w, httptest.NewRequest("GET", "/v1/here", nil))
		if strings.Contains(w.Body.String(), "secret") || w.Code != c.status || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" ||
			!strings.Contains(w.Body.String(), `"instance":"/v1/here"`) || (w.Header().Get("Retry-After") != "") != (c.retry > 0) || p.Instance != "" {
			t.Errorf("%v: %d %v %s", c.err, w.Code, w.Header(), w.Body)
		}
	}
	if p := problemOf(&approval.GoneError{ID: "q", Successor: "q2"}); p.Successor != "q2" || !strings.Contains(p.Detail, "successor") {
		t.Errorf("%+v", p)
	}
}

// Each problem has a name of its own, and a status that fits what clients do: they send
// again what is 429 or 503, and nothing else.
func TestProblemKinds(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, k := range problemKinds() {
		if seen[k.name] || k.title == "" || http.StatusText(k.status) == "" || k.status < 400 {
			t.Errorf("%+v", k)
		}
		seen[k.name] = true
		if !k.is(fmt.Errorf("x: %w", k.because("y"))) || k.is(errors.New(k.name)) {
			t.Errorf("%s is not itself", k.name)
		}
	}
}

// A preset that cannot work is refused by name.
func TestPresetsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := Preset{Name: "shop", Roots: []string{"/srv"}}
	for want, change := range map[string]func(*Preset){
		"its name must consist":              func(p *Preset) { p.Name = "" },
		`preset "a/b": its name`:             func(p *Preset) { p.Name = "a/b" },
		"budget for a day is negative":       func(p *Preset) { p.DailyUSD = -1 },
		"has no roots":                       func(p *Preset) { p.Roots = nil },
		`root "srv" is not an absolute path`: func(p *Preset) { p.Roots = []string{"/srv", "srv"} },
	} {
		p := good
		change(&p)
		if err := checkPresets([]Preset{{Name: "other", Roots: []string{"/srv"}}, p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := checkPresets([]Preset{good, good}); err == nil || !strings.Contains(err.Error(), "two presets") {
		t.Errorf("two of a name: %v", err)
	}
	if err := checkPresets([]Preset{good, {Name: "other", Roots: []string{"/srv"}}}); err != nil {
		t.Error(err)
	}
}

// People choose among what a preset offers, and nothing else.
func TestChooseOfPreset(t *testing.T) {
	t.Parallel()
	p := Preset{Name: "shop", Model: "opus", Models: []string{"sonnet", "opus"}, Mode: permission.ModeDefault, Modes: []permission.Mode{permission.ModePlan}}
	for _, c := range []struct {
		model, mode string
		want        problemKind
	}{
		{"", "", problemKind{}}, {"opus", "", problemKind{}}, {"sonnet", "plan", problemKind{}}, {"", "default", problemKind{}},
		{"haiku", "", modelRefused}, {"Opus", "plan", modelRefused}, {"", "bypassPermissions", modeRefused}, {"opus", "acceptEdits", modeRefused},
	} {
		err := p.choose(c.model, c.mode)
		if c.want.name == "" && err != nil || c.want.name != "" && !c.want.is(err) {
			t.Errorf("%q, %q: %v", c.model, c.mode, err)
		}
		if modelRefused.is(err) && !strings.Contains(err.Error(), "opus, sonnet") {
			t.Errorf("what is offered is not said: %v", err)
		}
	}
	if err := new(Preset).choose("opus", ""); !modelRefused.is(err) || !strings.Contains(err.Error(), "leave it out") {
		t.Errorf("without a choice: %v", err)
	}
}

// Titles and labels are short.
func TestTexts(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("ä", n) }
	many := func(n int) (all []string) {
		for range n {
			all = append(all, "x")
		}
		return all
	}
	for _, c := range []struct {
		title  string
		labels []string
		ok     bool
	}{
		{long(200), nil, true}, {long(201), nil, false}, {"", many(20), true}, {"", many(21), false},
		{"", []string{long(60)}, true}, {"", []string{long(61)}, false}, {"", []string{"a", ""}, false},
	} {
		if err := checkTexts(c.title, c.labels); (err == nil) != c.ok || err != nil && !badRequest.is(err) {
			t.Errorf("%d runes, %d labels: %v", len(c.title)/2, len(c.labels), err)
		}
	}
	if got := firstLine(" a\n\tb "); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := firstLine(long(80)); got != long(80) {
		t.Errorf("80 runes are cut to %q", got)
	}
	if got := firstLine(long(81)); got != long(79)+"…" {
		t.Errorf("81 runes are cut to %q", got)
	}
}

// Streams are counted for each user and in all, and each that ends makes room.
func TestStreamCount(t *testing.T) {
	t.Parallel()
	c := streamCount{users: make(map[string]int)}
	for n, one := range []struct {
		user string
		may  bool
	}{{"ada", true}, {"ada", true}, {"ada", false}, {"bob", true}, {"eve", false}} {
		if got := c.enter(one.user, 2, 3); got != one.may {
			t.Errorf("stream %d, of %s: %v", n, one.user, got)
		}
	}
	c.leave("ada")
	if !c.enter("eve", 2, 3) || c.enter("ada", 2, 3) {
		t.Errorf("%+v", c.users)
	}
	for _, user := range []string{"ada", "bob", "eve"} {
		c.leave(user)
	}
	if c.all != 0 || len(c.users) != 0 {
		t.Errorf("%d are left, %v", c.all, c.users)
	}
}

// The service itself decides by a user's role, for each pair of roles.
func TestNeed(t *testing.T) {
	t.Parallel()
	order := []api.Role{"", api.RoleViewer, api.RoleApprover, api.RoleOperator, api.RoleAdmin}
	for has, role := range order {
		for least := 1; least < len(order); least++ {
			err := need(api.User{Name: "ada", Role: role}, order[least])
			if (err == nil) != (has >= least) {
				t.Errorf("%q where %q is needed: %v", role, order[least], err)
			}
			if err != nil && !forbidden.is(err) && !unauthorized.is(err) {
				t.Errorf("%q where %q is needed: %v", role, order[least], err)
			}
		}
	}
}
