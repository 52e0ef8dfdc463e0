package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Each member of a change is set alone, changes the ETag, and is taken back alone,
// unless another user has changed it since.
func TestEveryMemberOfAChange(t *testing.T) {
	t.Parallel()
	text, yes, labels := "new", true, []string{"new"}
	before := note{Key: "ada/1", Title: "old", Labels: []string{"old"}, Model: "old", Mode: "old"}
	tag := func(n note) string { c := n.conversation(); return ETag(&c) }
	for name, ch := range map[string]api.Change{
		"Title": {Title: &text}, "Archived": {Archived: &yes}, "Shared": {Shared: &yes}, "Labels": {Labels: &labels}, "Model": {Model: &text}, "Mode": {Mode: &text},
	} {
		n := before
		applyChange(&n, &ch)
		for i := range reflect.TypeFor[note]().NumField() {
			field := reflect.TypeFor[note]().Field(i).Name
			if changed := !reflect.DeepEqual(reflect.ValueOf(n).Field(i).Interface(), reflect.ValueOf(before).Field(i).Interface()); changed != (field == name) {
				t.Errorf("a change of %s changes %s: %v", name, field, changed)
			}
		}
		if tag(n) == tag(before) {
			t.Errorf("a change of %s leaves the ETag", name)
		}
		undone := n
		undoChange(&undone, &before, &ch)
		if !reflect.DeepEqual(undone, before) {
			t.Errorf("%s is taken back to %+v", name, undone)
		}
		later := note{Key: "ada/1", Title: "later", Labels: []string{"later"}, Model: "later", Mode: "later"}
		kept := later
		undoChange(&kept, &before, &ch)
		if !reflect.DeepEqual(kept, later) {
			t.Errorf("what another user set instead of %s becomes %+v", name, kept)
		}
	}
	n := before
	applyChange(&n, &api.Change{})
	if !reflect.DeepEqual(n, before) {
		t.Errorf("an empty change makes %+v", n)
	}
	other := before
	other.Read, other.Preset = map[string]int64{"eve": 3}, "other"
	if tag(other) != tag(before) {
		t.Error("reading changes the ETag")
	}
}

// Who may change what: the title not to nothing, the circle of readers only its owner,
// and nothing of a conversation whose preset is gone or that was not begun here.
func TestCheckChange(t *testing.T) {
	t.Parallel()
	c := &changer{presets: []Preset{{Name: "shop", Model: "opus", Models: []string{"sonnet"}, Modes: []permission.Mode{"plan"}}}}
	own, long, blank, title, yes := note{Owner: "ada", Preset: "shop"}, strings.Repeat("x", 201), " \n", "t", true
	sonnet, haiku, plan, bypass, none := "sonnet", "haiku", "plan", "bypassPermissions", ""
	labels := []string{""}
	for name, one := range map[string]struct {
		u    api.User
		n    note
		ch   api.Change
		want problemKind
	}{
		"title":            {api.User{Name: "eve", Role: api.RoleOperator}, own, api.Change{Title: &title}, problemKind{}},
		"blank title":      {api.User{Name: "ada"}, own, api.Change{Title: &blank}, badRequest},
		"long title":       {api.User{Name: "ada"}, own, api.Change{Title: &long}, badRequest},
		"blank label":      {api.User{Name: "ada"}, own, api.Change{Labels: &labels}, badRequest},
		"shared by owner":  {api.User{Name: "ada", Role: api.RoleOperator}, own, api.Change{Shared: &yes}, problemKind{}},
		"shared by admin":  {api.User{Name: "root", Role: api.RoleAdmin}, own, api.Change{Shared: &yes}, problemKind{}},
		"shared by others": {api.User{Name: "eve", Role: api.RoleOperator}, own, api.Change{Shared: &yes}, forbidden},
		"model":            {api.User{Name: "ada"}, own, api.Change{Model: &sonnet}, problemKind{}},
		"no model":         {api.User{Name: "ada"}, own, api.Change{Model: &none}, problemKind{}},
		"other model":      {api.User{Name: "ada"}, own, api.Change{Model: &haiku}, modelRefused},
		"mode":             {api.User{Name: "ada"}, own, api.Change{Mode: &plan}, problemKind{}},
		"other mode":       {api.User{Name: "ada"}, own, api.Change{Mode: &bypass}, modeRefused},
		"not begun here":   {api.User{Name: "root", Role: api.RoleAdmin}, note{}, api.Change{Title: &title}, unsupported},
		"without preset":   {api.User{Name: "ada"}, note{Owner: "ada", Preset: "gone"}, api.Change{Title: &title}, unknownPreset},
	} {
		err := c.checkChange(one.u, &one.n, &one.ch)
		if one.want.name == "" && err != nil || one.want.name != "" && !one.want.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The options of a conversation are those of its preset, with its own directory and
// choices, and never the preset's own value, which sessions may change.
func TestSessionsOfPresets(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	db := store.Memory()
	shared := &claude.Options{Env: []string{"A=1"}, Hooks: make([]hook.Hook, 1, 4), Model: "ignored", Cwd: "/ignored"}
	presets := []Preset{{Name: "shop", Roots: []string{root}, Model: "opus", Mode: permission.ModePlan, Options: shared}, {Name: "bare", Roots: []string{root}}}
	others := 0
	other := func(context.Context, string) (*claude.Options, error) {
		others++
		return &claude.Options{Model: "other"}, nil
	}
	sessions, err := Sessions(db, "p", presets, other)
	if err != nil {
		t.Fatal(err)
	}
	presets[0].Model = "changed" // the caller's
	notes := noteStore{db, "p"}
	for _, n := range []note{
		{Key: "ada/plain", Owner: "ada", Preset: "shop", Dir: root}, {Key: "ada/chosen", Owner: "ada", Preset: "shop", Dir: root, Model: "sonnet", Mode: "default"}, {Key: "ada/bare", Owner: "ada", Preset: "bare", Dir: root},
		{Key: "ada/gone", Owner: "ada", Preset: "none", Dir: root}, {Key: "ada/deleted", Owner: "ada", Preset: "shop", Dir: root, Deleted: time.Unix(1, 0)}, {Key: "ada/outside", Owner: "ada", Preset: "shop", Dir: "/"},
	} {
		if err := notes.create(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{"ada/plain": root + " opus plan", "ada/chosen": root + " sonnet default", "ada/bare": root + "  "} {
		o, err := sessions(t.Context(), key)
		if err != nil || fmt.Sprint(o.Cwd, " ", o.Model, " ", o.PermissionMode) != want {
			t.Errorf("%s: %+v, %v", key, o, err)
			continue
		}
		if key != "ada/bare" && (o == shared || len(o.Env) != 1 || len(o.Hooks) != 1 || &o.Hooks[0] == &shared.Hooks[0]) {
			t.Errorf("%s shares the preset's options", key)
		}
	}
	if shared.Cwd != "/ignored" || shared.Model != "ignored" {
		t.Errorf("the preset is now %+v", shared)
	}
	if o, err := sessions(t.Context(), "ada/deleted"); !errors.Is(err, fleet.ErrDeleted) || o == nil || len(o.Env) != 1 {
		t.Errorf("a deleted conversation, whose files are removed by its options: %+v, %v", o, err)
	}
	if _, err := sessions(t.Context(), "ada/gone"); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("without its preset: %v", err)
	}
	if _, err := sessions(t.Context(), "ada/outside"); !outside.is(err) {
		t.Errorf("outside the roots: %v", err)
	}
	if o, err := sessions(t.Context(), "foreign/1"); err != nil || o.Model != "other" || others != 1 {
		t.Errorf("not begun here: %+v, %v", o, err)
	}
	alone, err := Sessions(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone(t.Context(), "foreign/1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("not begun here, and no other: %v", err)
	}
	if _, err := Sessions(db, "p", []Preset{{Name: "x"}}, nil); err == nil {
		t.Error("a preset without roots is taken")
	}
	if name, err := PresetOf(t.Context(), db, "p", "ada/bare"); err != nil || name != "bare" {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := PresetOf(t.Context(), db, "p", "ada/deleted"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the preset of a deleted one: %v", err)
	}
}

// A conversation works below one of the roots, wherever links lead.
func TestDirOfPreset(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/in", "b", "ab", "out"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"a/escape": "out", "link": "a"} {
		if err := os.Symlink(filepath.Join(base, to), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(base, name) }
	p := Preset{Roots: []string{at("gone"), at("link"), at("b")}}
	for dir, want := range map[string]string{
		at("a"): at("a"), at("a/in"): at("a/in"), at("link/in"): at("a/in"), at("b"): at("b"), at("ab"): "", at("out"): "", at("a/escape"): "", at("a/../out"): "", at("a/none"): "", base: "", "a": "", "/": "", ".": "",
	} {
		got, err := p.dir(dir)
		if got != want || (err == nil) != (want != "") || err != nil && !outside.is(err) {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
		if p.Contains(dir) != (want != "") {
			t.Errorf("%s is contained: %v", dir, want == "")
		}
	}
	if p.Contains("") {
		t.Error("no directory is contained")
	}
	p.Roots = []string{at("b"), at("a")}
	if got, err := p.dir(""); err != nil || got != at("b") {
		t.Errorf("by default %q, %v", got, err)
	}
}

// A preset warns if tools may run without a person, and its lists are never null.
func TestInfoOfPreset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p         Preset
		unguarded bool
	}{
		{Preset{}, false}, {Preset{Mode: permission.ModePlan, Modes: []permission.Mode{permission.ModeAcceptEdits}}, false},
		{Preset{Mode: permission.ModeBypassPermissions}, true}, {Preset{Modes: []permission.Mode{permission.ModePlan, permission.ModeBypassPermissions}}, true},
	} {
		if i := c.p.info(); i.Unguarded != c.unguarded || i.Models == nil || i.Modes == nil || i.Roots == nil || i.Rewind {
			t.Errorf("%+v", i)
		}
	}
	p := Preset{Name: "n", Description: "d", Model: "m", Models: []string{"k"}, Mode: "plan", Modes: []permission.Mode{"default"}, Roots: []string{"/r"}, DailyUSD: 2, Options: &claude.Options{FileCheckpointing: true}}
	want := api.PresetInfo{Name: "n", Description: "d", Model: "m", Models: []string{"k"}, Mode: "plan", Modes: []string{"default"}, Roots: []string{"/r"}, DailyUSD: 2, Rewind: true}
	if got := p.info(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// Why a session on disk is not continued: written out, with what to do.
func TestProblemsOfSessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind problemKind
		says string
	}{
		{&fleet.ResumedError{Session: "s", Key: "ada/1"}, resumed, "fork"}, {&fleet.ResumedError{Session: "s"}, resumed, "fork"},
		{&fleet.SessionOpenError{Session: "s", PID: 42}, sessionOpen, "process 42"}, {&fleet.SessionOpenError{Session: "s"}, sessionOpen, "written to"},
		{history.ErrNotFound, notFound, "/v1/sessions"}, {history.ErrInvalidID, notFound, "/v1/sessions"}, {store.ErrDeleted, sessionDeleted, "fork"}, {history.ErrEmpty, unusable, "nothing was said"},
		{store.ErrConflict, unusable, "another session"}, {store.ErrDamaged, unusable, "missing"}, {store.ErrLeased, leased, "moment"}, {errors.New("secret"), internal, "log"},
	} {
		err := fmt.Errorf("x: %w", c.err)
		p := sessionProblem(err)
		if !c.kind.is(p) || !strings.Contains(p.Detail, c.says) || strings.Contains(p.Detail, "secret") || p.Cause != err {
			t.Errorf("%v: %+v", c.err, p)
		}
		if held, ok := c.err.(*fleet.ResumedError); ok && (p.Conversation == "ada~1") != (held.Key != "") {
			t.Errorf("it names %q", p.Conversation)
		}
	}
	without := resumedWithout(&note{Key: "ada/1"}, full.because("later"))
	if !full.is(without) || without.Conversation != "ada~1" || !strings.Contains(without.Detail, "later") || !strings.Contains(without.Detail, "send it there") {
		t.Errorf("%+v", without)
	}
}

// The text of a prompt in the log is all of its texts, cut between characters.
func TestTextOfPrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    fleet.Prompt
		want string
	}{
		{fleet.Prompt{Text: "a"}, "a"},
		{fleet.Prompt{Content: message.Content{&message.TextBlock{Text: "a"}, &message.ImageBlock{}, &message.TextBlock{Text: "b"}}}, "a\nb"},
		{fleet.Prompt{Text: strings.Repeat("x", 4000)}, strings.Repeat("x", 4000)},
		{fleet.Prompt{Text: "x" + strings.Repeat("ä", 2000)}, "x" + strings.Repeat("ä", 1999) + "…"},
	} {
		if got := textOf(&c.p); got != c.want {
			t.Errorf("%.20q (%d) is shown as %.20q (%d)", c.p.Text, len(c.p.Text), got, len(got))
		}
	}
}

// Conversations are found by each filter alone, and archived ones only if asked for.
func TestSelectsNote(t *testing.T) {
	t.Parallel()
	n := note{Key: "ada/0c1", Owner: "ada", Preset: "shop", Title: "Mend the Till", Labels: []string{"red", "blue"}}
	old := n
	old.Archived = true
	for _, c := range []struct {
		q         api.ConversationQuery
		live, old bool
	}{
		{api.ConversationQuery{}, true, false}, {api.ConversationQuery{Archived: true}, true, true}, {api.ConversationQuery{State: api.StateEnded}, true, true}, {api.ConversationQuery{State: api.StateIdle}, true, false},
		{api.ConversationQuery{Preset: "shop", Owner: "ada", Label: "blue", Text: "mend"}, true, false}, {api.ConversationQuery{Preset: "sho"}, false, false}, {api.ConversationQuery{Owner: "eve"}, false, false},
		{api.ConversationQuery{Label: "blu"}, false, false}, {api.ConversationQuery{Text: "TILL"}, true, false}, {api.ConversationQuery{Text: "ada~0C1"}, true, false}, {api.ConversationQuery{Text: "cash"}, false, false},
	} {
		if got := []bool{selectsNote(&c.q, &n), selectsNote(&c.q, &old)}; !slices.Equal(got, []bool{c.live, c.old}) {
			t.Errorf("%+v: %v", c.q, got)
		}
	}
}

// The state of a conversation is made of what the fleet and the inbox know.
func TestJoinInfo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state   fleet.State
		queued  int
		pending int
		want    api.State
	}{
		{fleet.StateStuck, 1, 0, api.StateFailed}, {fleet.StateWaiting, 1, 1, api.StateDeferred}, {fleet.StateStarting, 1, 0, api.StateStarting}, {fleet.StateAwake, 1, 1, api.StateWaiting}, {fleet.StateAwake, 1, 0, api.StateRunning},
		{fleet.StateAwake, 0, 0, api.StateIdle}, {fleet.StateHeld, 1, 0, api.StateQueued}, {fleet.StatePending, 1, 0, api.StateQueued},
	} {
		n := note{Key: "ada/1", Model: "m", Mode: "plan", Created: time.Unix(5, 0)}
		conversation := n.conversation()
		joinInfo(&conversation, &fleet.ConversationInfo{State: c.state, Queued: c.queued, Session: "s", Cost: fleet.Ledger{USD: 2, Turns: 3}, Created: time.Unix(9, 0), BudgetUSD: 4}, c.pending)
		if conversation.State != c.want || conversation.Pending != c.pending || conversation.Queued != c.queued || conversation.Session != "s" || conversation.CostUSD != 2 || conversation.Turns != 3 ||
			conversation.Model != "m" || conversation.Mode != "plan" || !conversation.Created.Equal(time.Unix(5, 0)) || (conversation.Reason != "") != (c.state == fleet.StateHeld) {
			t.Errorf("%+v: %+v", c, conversation)
		}
	}
	foreign := (&note{Key: "x"}).conversation()
	joinInfo(&foreign, &fleet.ConversationInfo{Model: "now", Mode: "default", Created: time.Unix(9, 0)}, 0)
	if foreign.Model != "now" || foreign.Mode != "default" || !foreign.Created.Equal(time.Unix(9, 0)) || foreign.Title != "x" {
		t.Errorf("%+v", foreign)
	}
	held := fleet.ConversationInfo{Cost: fleet.Ledger{USD: 2}, BudgetUSD: 4}
	if got := heldAdvice(&held); !strings.Contains(got, "$2.00 of the $4.00") {
		t.Error(got)
	}
	held.HeldUntil = time.Unix(1, 0)
	if got := heldAdvice(&held); !strings.Contains(got, "day, $4.00") || !strings.Contains(got, "midnight") {
		t.Error(got)
	}
	if got := heldAdvice(&fleet.ConversationInfo{}); !strings.Contains(got, "not valid") {
		t.Error(got)
	}
}
