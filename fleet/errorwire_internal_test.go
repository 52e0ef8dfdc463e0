package fleet

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// staysText are the errors that another process reads as text only.
var staysText = map[string]string{
	"fleet.ErrClosed":    "is about the fleet of that process; it does not reply, and another takes over",
	"fleet.ErrLagging":   "is about a reader of that process",
	"fleet.FailedError":  "ends a loop over Run, in the process of the caller",
	"store.ErrNewer":     "is about the version of that process",
	"claude.ErrBusy":     "is about a loop of that process",
	"claude.ErrUsed":     "is about a loop of that process",
	"claude.ErrSlow":     "is about a loop of that process",
	"claude.ErrNoResult": "is about a loop of that process",

	"claude.ErrCancelled":      "ends a prompt, whose outcome the store has",
	"claude.ErrAnswered":       "ends a prompt, whose outcome the store has",
	"claude.ErrOutputRetries":  "ends a prompt, whose outcome the store has",
	"claude.ErrNoOutput":       "ends a prompt, whose outcome the store has",
	"claude.ErrOutputMismatch": "ends a prompt, whose outcome the store has",
	"claude.ResultError":       "ends a prompt, whose outcome the store has",
	"claude.OutputError":       "ends a prompt, whose outcome the store has",
}

// errInside is an error with a sentinel, as types have it in them.
var errInside = fmt.Errorf("on the way: %w", store.ErrConflict)

// samples are errors of each type that travels.
var samples = map[string]error{
	"fleet.ConversationError": &ConversationError{"ada", errInside},
	"fleet.InDoubtError":      &InDoubtError{"ada", "prompt", errInside},
	"fleet.OverloadedError":   &OverloadedError{"ada", "acme", 3, time.Second},
	"fleet.BudgetError":       &BudgetError{"ada", "acme", 1.5, 1, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)},
	"fleet.StuckError":        &StuckError{"ada", "prompt", "reason", "cause"},
	"fleet.DeferredError":     &DeferredError{"ada", "prompt", "question"},
	"fleet.ResumedError":      &ResumedError{"session", "ada"},
	"fleet.SessionOpenError":  &SessionOpenError{"session", 7},
	"store.KeyError":          &store.KeyError{Part: "key", Value: "a b", Reason: "has a blank"},
	"store.HeldError":         &store.HeldError{Name: "lease", Owner: "another", For: time.Minute},
	"store.NotStoredError":    &store.NotStoredError{Journal: "file", Err: errInside},
	"claude.OptionError":      &claude.OptionError{Field: "Model", Problem: "is not a model"},
	"claude.StartError":       &claude.StartError{Reason: claude.ErrSpawn, Path: "/claude", Output: "output", Nearby: []string{"one"}, Err: errInside},
	"claude.ControlError":     &claude.ControlError{Op: "set_model", RequestID: "1", Code: "code", Message: "message", Err: errInside},
	"claude.ProcessError":     &claude.ProcessError{ExitCode: -1, Signal: "KILL", Stderr: "stderr", Err: errInside},
}

// travels is the error that the caller gets if another process has err.
func travels(t *testing.T, err error) error {
	t.Helper()
	data, e := jsonx.Marshal(reply{Error: packError(err)})
	var r reply
	if e == nil {
		e = jsonx.Unmarshal(data, &r)
	}
	if e != nil || r.Error == nil {
		t.Fatalf("%s, %v", data, e)
	}
	return r.Error.unpack()
}

// exported are the sentinel errors and the error types of the packages whose errors an
// instruction can have.
func exported(t *testing.T) (sentinel, typed []string) {
	t.Helper()
	for name, dir := range map[string]string{"fleet": ".", "store": "../store", "claude": ".."} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for _, id := range n.Names {
						if strings.HasPrefix(id.Name, "Err") && id.IsExported() {
							sentinel = append(sentinel, name+"."+id.Name)
						}
					}
				case *ast.FuncDecl:
					if n.Recv != nil && n.Name.Name == "Error" && len(n.Type.Params.List) == 0 {
						of := n.Recv.List[0].Type
						if star, ok := of.(*ast.StarExpr); ok {
							of = star.X
						}
						if id, ok := of.(*ast.Ident); ok && id.IsExported() {
							typed = append(typed, name+"."+id.Name)
						}
					}
					return false
				}
				return true
			})
		}
	}
	return sentinel, typed
}

// The errors of another process match what they match there, and have the same text. Each
// exported error has a row in a table, or a reason why it stays text.
func TestErrorsTravel(t *testing.T) {
	sentinel, typed := exported(t)
	types := errorTypes()
	known := make(map[string]bool)
	for _, name := range sentinel {
		known[name] = true
		if s := sentinels[name]; (s == nil) == (staysText[name] == "") {
			t.Errorf("%s has a row: %v, and a reason to have none: %q", name, s != nil, staysText[name])
		}
	}
	for _, name := range typed {
		known[name] = true
		if _, ok := types[name]; ok == (staysText[name] != "") || ok != (samples[name] != nil) {
			t.Errorf("%s has a row: %v, a sample: %v, and a reason to have none: %q", name, ok, samples[name] != nil, staysText[name])
		}
	}
	for name := range staysText {
		if !known[name] {
			t.Errorf("%s does not exist", name)
		}
	}
	for name, s := range sentinels {
		here := fmt.Errorf("somewhere: %w", s)
		there := travels(t, here)
		if !known[name] || !errors.Is(there, s) || there.Error() != here.Error() {
			t.Errorf("%s: %v arrives as %v", name, here, there)
		}
		for other, o := range sentinels {
			if errors.Is(there, o) != errors.Is(here, o) {
				t.Errorf("%s matches %s: %v there, %v here", name, other, errors.Is(there, o), errors.Is(here, o))
			}
		}
	}
	for name, sample := range samples {
		here := fmt.Errorf("somewhere: %w", sample)
		there := travels(t, here)
		target := reflect.New(reflect.TypeOf(sample))
		if !known[name] || there.Error() != here.Error() || !errors.As(there, target.Interface()) {
			t.Errorf("%s: %v arrives as %v", name, here, there)
			continue
		}
		got, ok := target.Elem().Interface().(error)
		if !ok || got.Error() != sample.Error() || errors.Is(there, store.ErrConflict) != errors.Is(here, store.ErrConflict) ||
			errors.Is(got, store.ErrConflict) != errors.Is(sample, store.ErrConflict) {
			t.Errorf("%s: %#v arrives as %#v", name, sample, got)
		}
		for i := range reflect.TypeOf(sample).Elem().NumField() {
			field := reflect.TypeOf(sample).Elem().Field(i)
			want, came := reflect.ValueOf(sample).Elem().Field(i), reflect.ValueOf(got).Elem().Field(i)
			if want.IsZero() && field.Name != "Result" {
				t.Errorf("the sample of %s has no %s", name, field.Name)
			}
			if reason, ok := came.Interface().(error); ok && field.Name == "Reason" && name == "claude.StartError" && reason != claude.ErrSpawn {
				t.Errorf("%s.Reason is not the sentinel itself: %#v", name, reason)
			}
			if field.Type.Kind() != reflect.Interface && !reflect.DeepEqual(want.Interface(), came.Interface()) {
				t.Errorf("%s.%s: %v arrives as %v", name, field.Name, want, came)
			}
		}
	}
}

// Errors that this process does not know, by itself or because another version has sent
// them, are text.
func TestUnknownErrorsAreText(t *testing.T) {
	for name, sent := range map[string]string{
		"unknown names":  `{"text":"no luck","is":["fleet.ErrLuck"],"as":{"fleet.LuckError":{"value":{}}}}`,
		"unknown values": `{"text":"no luck","as":{"fleet.StuckError":{"value":7}}}`,
		"text":           `{"text":"no luck"}`,
	} {
		var s sentError
		if err := jsonx.Unmarshal([]byte(sent), &s); err != nil {
			t.Fatal(err)
		}
		err := s.unpack()
		if _, stuck := errors.AsType[*StuckError](err); stuck || err.Error() != "no luck" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := travels(t, errors.New("no luck")); err.Error() != "no luck" {
		t.Error(err)
	}
}
